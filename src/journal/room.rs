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

/// How many of the files of the sizes `may_go` are to go, in this order, so that there is room for a new one of `needed` bytes
/// and `keep_free` stays free. None goes in vain.
///
/// # Errors
/// There is no room even then.
pub(super) fn to_go(may_go: &[u64], needed: u64, free: u64, keep_free: u64) -> Result<usize, NoRoom> {
    let needed = needed.saturating_add(keep_free);
    let room = |gone: usize| may_go[..gone].iter().fold(free, |room, bytes| room.saturating_add(*bytes));
    (0..=may_go.len()).find(|gone| room(*gone) >= needed).ok_or(NoRoom { needed, free })
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
    fn the_oldest_go_first_and_none_goes_in_vain() {
        for (may_go, free, expected) in [
            (&[][..], 150, Ok(0)),
            (&[], 149, Err(149)),
            (&[10, 20], 150, Ok(0)),
            (&[10, 20], 140, Ok(1)),
            (&[10, 20], 139, Ok(2)),
            (&[10, 20], 120, Ok(2)),
            (&[10, 20], 119, Err(119)),
        ] {
            let expected = expected.map_err(|free| NoRoom { needed: 150, free });
            assert_eq!(to_go(may_go, 100, free, 50), expected, "{may_go:?} {free}");
        }
    }
}
