//! Room for what upkeep writes beside the database. A disk that it filled would end herder, which lives without an archive
//! and without today's export.

use std::fs;
use std::io;
use std::path::Path;

use super::disk;
use super::store::Paths;

/// What upkeep needed, with what is to stay free, and what there is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// That would have to be free.
    pub needed: u64,
    /// That is.
    pub free: u64,
}

/// How many files of the sizes `kept`, the oldest first, are to go so that a new one of `needed` bytes makes no more than
/// `at_most` and `keep_free` stays free. The newest of them never goes, and none does in vain.
///
/// # Errors
/// There is no room even then.
pub(super) fn to_go(
    kept: &[u64],
    at_most: usize,
    needed: u64,
    free: u64,
    keep_free: u64,
) -> Result<usize, NoRoom> {
    let needed = needed.saturating_add(keep_free);
    let most = kept.len().saturating_sub(1);
    let surplus = (kept.len() + 1).saturating_sub(at_most).min(most);
    let room = |gone: usize| kept[..gone].iter().fold(free, |room, bytes| room.saturating_add(*bytes));
    (surplus..=most).find(|gone| room(*gone) >= needed).ok_or(NoRoom { needed, free })
}

/// About how large an export will be: as the last one, if that is known, and no smaller than the archives that go into it.
pub(super) fn of_export(paths: &Paths, last: Option<u64>) -> u64 {
    let archives: u64 = sizes(&paths.archives()).iter().sum();
    let guess = last.map_or(archives.saturating_add(of_database(paths)), |last| last.max(archives));
    guess.saturating_add(guess / 10)
}

/// About how large an archive will be: as the largest so far.
pub(super) fn of_archive(paths: &Paths) -> u64 {
    sizes(&paths.archives()).into_iter().max().unwrap_or_else(|| of_database(paths))
}

/// JSON is packed to less than a quarter.
fn of_database(paths: &Paths) -> u64 {
    paths.log().metadata().map_or(0, |log| log.len() / 4)
}

fn sizes(dir: &Path) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).collect()
}

/// Bytes that are free on the disk of `dir`. Where the system does not say, there are enough.
pub(super) fn free(dir: &Path) -> u64 {
    let looked: io::Result<u64> = disk::free(dir);
    looked.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_the_newest_stays_and_none_goes_in_vain() {
        for (kept, free, expected) in [
            (&[][..], 150, Ok(0)),
            (&[], 149, Err(149)),
            (&[80], 150, Ok(0)),
            (&[80], 149, Err(149)),
            (&[10, 20, 80], 150, Ok(0)),
            (&[10, 20, 80], 140, Ok(1)),
            (&[10, 20, 80], 139, Ok(2)),
            (&[10, 20, 80], 120, Ok(2)),
            (&[10, 20, 80], 119, Err(119)),
            // As many as are kept: one goes before the new one comes.
            (&[1, 1, 1, 1], 1000, Ok(1)),
            (&[1, 1, 1, 1, 1, 1], 1000, Ok(3)),
            (&[1, 1, 1, 1], 148, Ok(2)),
        ] {
            let expected = expected.map_err(|free| NoRoom { needed: 150, free });
            assert_eq!(to_go(kept, 4, 100, free, 50), expected, "{kept:?} {free}");
        }
        assert_eq!(to_go(&[1, 1], 1, 0, 9, 0), Ok(1), "one always stays");
    }
}
