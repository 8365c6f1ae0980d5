//! Disk space for the files of maintenance. A disk that they filled would end herder, which works without an archive
//! and without today's export.

use std::fs;
use std::io;
use std::path::Path;

use super::disk;
use super::store::Paths;

/// Disk space that maintenance lacked: needed and available, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// Number of bytes needed, including those that have to stay free.
    pub needed: u64,
    /// Number of bytes available.
    pub free: u64,
}

/// Returns how many of the files with the sizes `may_go` have to be removed, in this order, so that a new one of
/// `needed` bytes fits and `keep_free` bytes stay free.
///
/// # Errors
/// There is not enough room even then.
pub(super) fn to_go(may_go: &[u64], needed: u64, free: u64, keep_free: u64) -> Result<usize, NoRoom> {
    let needed = needed.saturating_add(keep_free);
    let room = |gone: usize| may_go[..gone].iter().fold(free, |room, bytes| room.saturating_add(*bytes));
    (0..=may_go.len()).find(|gone| room(*gone) >= needed).ok_or(NoRoom { needed, free })
}

/// Estimates the size of an export in bytes: that of the last one, if known, but at least that of the archives that go
/// into it, and a tenth more.
pub(super) fn of_export(paths: &Paths, last: Option<u64>) -> u64 {
    let archives: u64 = sizes(&paths.archives()).iter().sum();
    let guess = last.map_or(archives.saturating_add(of_database(paths)), |last| last.max(archives));
    guess.saturating_add(guess / 10)
}

/// Estimates the size of an archive in bytes: that of the largest so far.
pub(super) fn of_archive(paths: &Paths) -> u64 {
    sizes(&paths.archives()).into_iter().max().unwrap_or_else(|| of_database(paths))
}

/// Estimates the compressed size of the database in bytes: JSON shrinks to less than a quarter.
fn of_database(paths: &Paths) -> u64 {
    paths.log().metadata().map_or(0, |log| log.len() / 4)
}

fn sizes(dir: &Path) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).collect()
}

/// Returns the number of free bytes on the disk of `dir`; the maximum if the system does not tell.
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
