//! Errors of the journal, worded for the person who has to act.

use std::io;
use std::path::PathBuf;

use super::Stream;
use super::encoding::DecodeError;
use super::room::NoRoom;

/// The reason why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another herder holds the lock on the journal's folder.
    #[error("{} is in use by {holder}; stop that one first, or give this one another data_dir", dir.display())]
    Held {
        /// The journal's folder.
        dir: PathBuf,
        /// Description of the holder of the lock: process id, host and start time.
        holder: String,
    },
    /// The folder belongs to another user, who could put anything into it.
    #[error(
        "{} belongs to another user (id {owner}); run herder as that user, change its owner (chown), or set another data_dir",
        dir.display()
    )]
    Stranger {
        /// The journal's folder.
        dir: PathBuf,
        /// User id of the owner.
        owner: u32,
    },
    /// The folder contained a journal earlier, and now there is none.
    #[error(
        "{} held a journal, but its database is gone or empty; herder does not start over silently. {advice}",
        dir.display()
    )]
    Vanished {
        /// The journal's folder.
        dir: PathBuf,
        /// The remedy, as text with shell commands.
        advice: String,
    },
    /// sled cannot read the database's files, even without its snapshot.
    #[error("the database in {} cannot be read: {cause}. {advice}", dir.display())]
    Damaged {
        /// The journal's folder.
        dir: PathBuf,
        /// sled's error message.
        cause: String,
        /// The remedy, as text with shell commands.
        advice: String,
    },
    /// A newer herder wrote the journal, in a format that this one does not know.
    #[error(
        "the journal in {} has format {found} and this herder reads up to {known}; start the newer herder again", dir.display()
    )]
    Newer {
        /// The journal's folder.
        dir: PathBuf,
        /// Format of the journal.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// An import into the folder was interrupted.
    #[error("an import into {} was not finished; run herder import again", dir.display())]
    Unfinished {
        /// The journal's folder.
        dir: PathBuf,
    },
    /// The disk is full and no ballast is left to release.
    #[error("the disk of {} is full and there is nothing left to give up; free some space and start again", dir.display())]
    Full {
        /// The journal's folder.
        dir: PathBuf,
    },
    /// The disk of the folder is read-only.
    #[error(
        "the disk of {dir} is read-only, and herder writes down what it does before it does it. See the kernel's log (dmesg) \
         for the cause, make the disk writable again (mount -o remount,rw) and start herder again. Nothing is lost; \
         herder export --data-dir {dir} --output FILE works meanwhile, with FILE on another disk",
        dir = dir.display()
    )]
    ReadOnly {
        /// The journal's folder.
        dir: PathBuf,
    },
    /// The operating system refused an action on the journal's files.
    #[error("cannot open the journal in {}: {what}: {source}", dir.display())]
    Io {
        /// The journal's folder.
        dir: PathBuf,
        /// The action that failed.
        what: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// The reason why a batch was not committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The stream has another revision than the batch expects: another writer was faster. Nothing of the batch is
    /// stored.
    #[error("{stream} is at revision {found}, not {expected}")]
    Conflict {
        /// Name of the stream whose revision differs.
        stream: Stream,
        /// The revision that the batch expects.
        expected: u64,
        /// The stream's revision in the journal.
        found: u64,
    },
    /// The batch is invalid. Nothing of it is stored.
    #[error("this batch cannot be stored: {0}")]
    Invalid(String),
    /// The journal has failed; it is unknown whether this batch will exist after a restart.
    #[error("the journal cannot be written: {0}")]
    Failed(String),
    /// The journal was closed before the commit.
    #[error("the journal is closed")]
    Closed,
}

/// The reason why something cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// sled failed to read.
    #[error("the database cannot be read: {}", super::refusal::plain(_0))]
    Store(#[from] sled::Error),
    /// sled panicked, which some damage causes.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// sled failed or panicked, with a remedy.
    #[error("the database in {} cannot be read: {cause}. {advice}", dir.display())]
    Refused {
        /// The journal's folder.
        dir: PathBuf,
        /// sled's error message, in plain words.
        cause: String,
        /// The remedy, as text with shell commands.
        advice: String,
    },
    /// A stored value cannot be parsed.
    #[error("{what} cannot be read: {source}")]
    Decode {
        /// Description of the value, such as `event 17`.
        what: String,
        /// The reason why it cannot be parsed.
        source: DecodeError,
    },
    /// An archive cannot be read.
    #[error("the archive {} cannot be read: {why}", file.display())]
    Archive {
        /// Path of the archive file.
        file: PathBuf,
        /// The reason why it cannot be read.
        why: String,
    },
    /// A stream lacks entries although the journal did not report that when it was opened.
    #[error("{missing} entries of {stream} are missing after revision {after}")]
    Incomplete {
        /// Name of the stream that lacks entries.
        stream: Stream,
        /// Number of missing entries.
        missing: u64,
        /// The last revision before the first missing one.
        after: u64,
    },
    /// The journal was closed or has failed, so that it cannot be read.
    #[error("the journal is closed")]
    Closed,
}

/// The reason why maintenance (retention or the daily export) failed. Nothing is lost, and it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum MaintainError {
    /// The journal cannot be read, or an archive cannot be written.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The export cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// The reason why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The export's file cannot be written.
    #[error("cannot write {}: {source}", file.display())]
    Io {
        /// The file that cannot be written.
        file: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal has failed or is closed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The file was written but cannot be read back, and so was removed.
    #[error("{} was written and cannot be read back: {why}", file.display())]
    ReadBack {
        /// The file that was removed.
        file: PathBuf,
        /// The reason why it cannot be read.
        why: String,
    },
    /// Another herder holds the folder, or it cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The export would have filled the disk.
    #[error("there is no room: {} bytes would have to be free, {} are", .0.needed, .0.free)]
    NoRoom(NoRoom),
}

/// The reason why an export was not imported. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The folder already contains a journal.
    #[error("{} already holds a journal; import needs a folder without one", .0.display())]
    NotEmpty(PathBuf),
    /// A line of the export is damaged.
    #[error("line {line} of {}: {why}; nothing was imported", file.display())]
    Line {
        /// The file of the export.
        file: PathBuf,
        /// The line's number, counted from 1.
        line: u64,
        /// The reason why the line is not valid.
        why: String,
    },
    /// The export ends too early: its last line is missing.
    #[error("{} ends after line {line} without its last line, so a part is missing; nothing was imported", file.display())]
    Truncated {
        /// The file of the export.
        file: PathBuf,
        /// Number of the last line, counted from 1.
        line: u64,
    },
    /// The file cannot be read, or the journal cannot be written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// The action that failed.
        what: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The new database could not be written.
    #[error("cannot write the new database: {0}")]
    Store(String),
    /// The new journal's folder is in use or cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Describes a database error in words: sled formats system errors for programmers.
pub(super) fn in_words(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) if error.kind() == io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        sled::Error::Io(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            "the disk is read-only".to_owned()
        }
        // A clone of the error has no error number, and its text contains the programmers' form.
        sled::Error::Io(error) if error.raw_os_error().is_none() => error.kind().to_string(),
        sled::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod in_words_tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_in_words() {
        let full = sled::Error::Io(io::Error::from_raw_os_error(28));
        for error in [full.clone(), full] {
            assert_eq!(in_words(&error), "the disk is full");
        }
        let read_only = sled::Error::Io(io::Error::from_raw_os_error(30));
        for error in [read_only.clone(), read_only] {
            assert_eq!(in_words(&error), "the disk is read-only");
        }
        let denied = sled::Error::Io(io::Error::from_raw_os_error(13));
        for error in [denied.clone(), denied] {
            let said = in_words(&error);
            assert!(said.to_lowercase().contains("permission denied") && !said.contains('{'), "{said}");
        }
    }
}
