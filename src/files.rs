//! Bytes of files that people and agents give each other, in the data folder, by their SHA-256.
//!
//! ```text
//!  Discord, IRC ─► FileStore::keep ─► <data>/files/<sha256> ─► event that names it ─► session: FileSource ─► inbox, model
//!  send_file    ─► FileStore::keep ─► the same                ─► post: attachment, link
//! ```
//!
//! A file is on disk before an event names it. One that nothing names is removed when it is a day old, so that neither a
//! kill between the two nor a link loses anything.

mod links;
mod wanted;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

use crate::core::file::{FileKind, KeptFile, Sha256, file_name};
use crate::core::time::Timestamp;

pub use links::{FileLinks, LINKED_FOR, encoded};
pub use wanted::{FileSource, WantedFiles};

/// Name of the folder below the data folder.
const FOLDER: &str = "files";

/// Prefix of the names of files that are being written.
const NEW: &str = "new-";

/// Age from which a file is removed that nothing names: a link to a file lives for as long.
pub const KEPT_FOR: Duration = Duration::from_secs(25 * 3600);

/// Maximum length of a piece of a file in a message between bot and runner, in bytes.
pub const PIECE_MAX: usize = 384 * 1024;

/// Limits on files that people and agents give each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRules {
    /// Maximum length of a file, in bytes.
    pub max: u64,
    /// Maximum number of files that an agent sends per hour.
    pub per_hour: usize,
    /// True if files may be fetched from private addresses.
    pub allow_private: bool,
}

impl Default for FileRules {
    fn default() -> Self {
        Self { max: 8 << 20, per_hour: 20, allow_private: false }
    }
}

impl FileRules {
    /// Returns the maximum length of a file in whole mebibytes, for people.
    #[must_use]
    pub const fn max_mebibytes(&self) -> u64 {
        self.max >> 20
    }
}

/// Returns the SHA-256 of bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Sha256 {
    let mut digest = [0; 32];
    digest.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    Sha256(digest)
}

fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or_default())
}

/// Adds the digests of all files that a value names, in whatever part of it.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn add_named(value: &impl Serialize, named: &mut BTreeSet<Sha256>) -> io::Result<()> {
    fn look(value: &Value, named: &mut BTreeSet<Sha256>) {
        match value {
            Value::Object(fields) => {
                named.extend(
                    fields.get("sha256").and_then(Value::as_str).and_then(|text| text.parse::<Sha256>().ok()),
                );
                fields.values().for_each(|value| look(value, named));
            }
            Value::Array(values) => values.iter().for_each(|value| look(value, named)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    look(&serde_json::to_value(value)?, named);
    Ok(())
}

/// The files of one data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: Arc<Path>,
}

impl FileStore {
    /// Returns the files below this data folder. Nothing is created before the first file is kept.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER).into() }
    }

    fn path(&self, of: Sha256) -> PathBuf {
        self.folder.join(of.to_string())
    }

    /// Keeps a file, which is on disk when this returns. `stated` is its name, as somebody states it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, stated: &str, bytes: &[u8]) -> io::Result<KeptFile> {
        let kept = KeptFile {
            name: file_name(stated),
            size: bytes.len() as u64,
            sha256: digest(bytes),
            kind: FileKind::of(bytes),
        };
        let path = self.path(kept.sha256);
        // One that is there already counts as young again, so that it is not removed before an event names it.
        if let Ok(file) = OpenOptions::new().write(true).open(&path)
            && file.metadata()?.len() == kept.size
        {
            file.set_modified(system_time(crate::clock::now()))?;
            file.sync_all()?;
            return Ok(kept);
        }
        if !self.folder.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            if let Some(parent) = self.folder.parent() {
                File::open(parent)?.sync_all()?;
            }
        }
        let drawn = getrandom::u64().map_err(|reason| io::Error::other(reason.to_string()))?;
        let new = self.folder.join(format!("{NEW}{drawn:016x}"));
        let written =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()?;
                fs::rename(&new, &path)?;
                File::open(&self.folder)?.sync_all()
            });
        if written.is_err() {
            drop(fs::remove_file(&new));
        }
        written.map(|()| kept)
    }

    /// Reads a whole file. Bytes that are not those of the digest count as missing.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn read(&self, file: &KeptFile) -> io::Result<Vec<u8>> {
        let bytes = self.piece(file.sha256, 0, usize::try_from(file.size).unwrap_or(usize::MAX))?;
        if digest(&bytes) == file.sha256 { Ok(bytes) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Returns the length of a file, in bytes.
    ///
    /// # Errors
    /// The file is missing.
    pub fn size(&self, of: Sha256) -> io::Result<u64> {
        Ok(fs::metadata(self.path(of))?.len())
    }

    /// Reads a piece of a file, at most `most` bytes long; fewer only at its end.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn piece(&self, of: Sha256, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path(of))?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes the files that are old enough at `now` and that nothing names, which is asked only if there are old ones; also
    /// what a killed herder has left half written. Returns their number.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be removed.
    pub fn prune(
        &self,
        now: Timestamp,
        named: impl FnOnce() -> io::Result<BTreeSet<Sha256>>,
    ) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        // One that is gone meanwhile is not old.
        let is_old = |entry: &fs::DirEntry| {
            let modified = entry.metadata().and_then(|found| found.modified());
            modified.is_ok_and(|at| system_time(now).duration_since(at).unwrap_or_default() > KEPT_FOR)
        };
        let mut old = Vec::new();
        for entry in entries {
            let entry = entry?;
            if is_old(&entry) {
                old.push(entry);
            }
        }
        if old.is_empty() {
            return Ok(0);
        }
        let (named, mut removed) = (named()?, 0);
        for entry in old {
            let name = entry.file_name();
            let is_named =
                name.to_str().and_then(|name| name.parse().ok()).is_some_and(|of| named.contains(&of));
            // One that was given again meanwhile is young.
            if !is_named && is_old(&entry) {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(hours: u64) -> Timestamp {
        crate::clock::now().after(Duration::from_secs(hours * 3600))
    }

    #[test]
    fn a_file_is_kept_once_and_removed_once_nothing_names_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(dir.path());
        assert_eq!(store.prune(later(100), || Ok(BTreeSet::new())).expect("no folder is no mistake"), 0);
        let kept = store.keep("../log.txt", b"one\n").expect("it can be written");
        assert_eq!((kept.name.as_str(), kept.size, kept.kind), ("log.txt", 4, FileKind::Text));
        assert_eq!(store.read(&kept).expect("it is there"), b"one\n");
        assert_eq!(store.keep("again", b"one\n").expect("it is there").sha256, kept.sha256);
        let other = store.keep("b", b"two").expect("it can be written");
        assert_eq!(store.piece(other.sha256, 1, 1).expect("it is there"), b"w");
        let named = || Ok(BTreeSet::from([kept.sha256]));
        assert_eq!(store.prune(later(24), named).expect("it can be pruned"), 0);
        assert_eq!(store.prune(later(26), named).expect("it can be pruned"), 1);
        assert_eq!(store.read(&kept).expect("it is named"), b"one\n");
        store.read(&other).expect_err("it is gone");
    }

    #[test]
    fn bytes_that_are_not_those_of_the_digest_are_missing() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(dir.path());
        let kept = store.keep("a", b"right").expect("it can be written");
        fs::write(store.path(kept.sha256), "wrong").expect("a file");
        store.read(&kept).expect_err("it is another one");
    }
}
