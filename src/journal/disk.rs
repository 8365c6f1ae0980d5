//! Disk space: how much is free, and the ballast that is released when there is none.
//!
//! On a full disk sled cannot even open, because it writes a snapshot then. The ballast is a file of real blocks
//! beside the database; deleting it makes room to open, to report the problem, and to end in order.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::FallocateFlags;

/// Creates a folder and its parents for herder's user alone: they contain prompts and agents' output.
pub(super) fn private_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Returns the owner of a folder if it is not herder's user. Removes write permission of other users.
pub(super) fn stranger(dir: &Path) -> io::Result<Option<u32>> {
    let found = dir.metadata()?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(Some(found.uid()));
    }
    let mode = found.permissions().mode();
    if mode & 0o022 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(mode & 0o7755))?;
        tracing::warn!(folder = %dir.display(), "others could write in the data folder; that is taken from them");
    }
    Ok(None)
}

/// Returns the number of bytes that herder's user can still write to the disk of `path`.
///
/// # Errors
/// The system call failed.
pub(super) fn free(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Space that a start needs, in bytes: sled's snapshot, a few of its segments, the first commits.
const ROOM: u64 = 16 << 20;

/// Returns true if the disk has less space than a start needs; false if the system does not tell.
pub(super) fn is_short(dir: &Path) -> bool {
    free(dir).is_ok_and(|free| free < ROOM)
}

/// Creates the ballast (a file that is deleted when the disk is full), unless it exists or would itself bring the disk
/// below `keep_free` bytes. Returns true if it exists.
pub(super) fn lay_ballast(file: &Path, bytes: u64, keep_free: u64) -> io::Result<bool> {
    if bytes == 0 {
        return Ok(false);
    }
    if file.metadata().is_ok_and(|found| found.len() >= bytes) {
        return Ok(true);
    }
    let dir = file.parent().unwrap_or(Path::new("."));
    if free(dir)? < bytes.saturating_add(keep_free) {
        return Ok(false);
    }
    let made = fill(file, bytes);
    if made.is_err() {
        release(file)?;
    }
    made.map(|()| true)
}

/// Creates a file whose blocks are allocated on the disk; where the file system cannot reserve them, they are written.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    if rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).is_err() {
        let block = [0x5a_u8; 64 * 1024];
        let mut left = bytes;
        while left > 0 {
            let n = left.min(block.len() as u64);
            file.write_all(&block[..usize::try_from(n).unwrap_or(block.len())])?;
            left -= n;
        }
    }
    file.sync_all()
}

/// Deletes the ballast, to have its space on a full disk. Returns true if there was one.
pub(super) fn release(file: &Path) -> io::Result<bool> {
    match fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Syncs the list of a folder's entries to disk.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Returns true if the error is that of a full disk, quota or size limit.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ballast_is_made_of_real_blocks_and_can_be_given_up_once() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("ballast");
        assert!(lay_ballast(&file, 1 << 20, 0).expect("laid"));
        assert!(lay_ballast(&file, 1 << 20, 0).expect("laid"), "it is there already");
        let blocks = file.metadata().expect("there").blocks() * 512;
        assert!(blocks >= 1 << 20, "{blocks}");
        assert!(release(&file).expect("released"));
        assert!(!release(&file).expect("released"));
    }

    #[test]
    fn ballast_never_takes_the_room_that_is_to_stay_free() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("ballast");
        assert!(!lay_ballast(&file, 1 << 20, u64::MAX).expect("judged"));
        assert!(!file.exists());
    }

    #[test]
    fn a_data_folder_is_of_herders_user_and_only_that_one_writes_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
        assert_eq!(stranger(folder.path()).expect("it is there"), None);
        assert_eq!(folder.path().metadata().expect("it is there").permissions().mode() & 0o777, 0o755);
        // Only root can change a folder's owner.
        if std::os::unix::fs::chown(folder.path(), Some(12_345), None).is_ok() {
            assert_eq!(stranger(folder.path()).expect("it is there"), Some(12_345));
        }
    }
}
