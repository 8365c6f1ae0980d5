//! What can go wrong, in words for the person who has to do something about it.

use std::io;
use std::path::PathBuf;

use super::Stream;
use super::encoding::DecodeError;
use super::room::NoRoom;

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another herder has it.
    #[error("{} is in use by {holder}; stop that one first, or give this one another data_dir", dir.display())]
    Held {
        /// The folder.
        dir: PathBuf,
        /// Who: process id, host and since when.
        holder: String,
    },
    /// The folder is another user's, who could put anything into it.
    #[error(
        "{} belongs to another user (id {owner}); run herder as that user, change its owner (chown), or set another data_dir",
        dir.display()
    )]
    Stranger {
        /// The folder.
        dir: PathBuf,
        /// Its owner's id.
        owner: u32,
    },
    /// The folder held a journal once, and now there is none.
    #[error(
        "{} held a journal, but its database is gone or empty; herder does not start over silently. {advice}",
        dir.display()
    )]
    Vanished {
        /// The folder.
        dir: PathBuf,
        /// What to do.
        advice: String,
    },
    /// sled cannot read its files, also without its snapshot.
    #[error("the database in {} cannot be read: {cause}. {advice}", dir.display())]
    Damaged {
        /// The folder.
        dir: PathBuf,
        /// What sled said.
        cause: String,
        /// What to do.
        advice: String,
    },
    /// A later herder wrote it.
    #[error(
        "the journal in {} has format {found} and this herder reads up to {known}; start the newer herder again", dir.display()
    )]
    Newer {
        /// The folder.
        dir: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// An import into the folder was cut.
    #[error("an import into {} was not finished; run herder import again", dir.display())]
    Unfinished {
        /// The folder.
        dir: PathBuf,
    },
    /// The disk is full and there was no ballast left to give up.
    #[error("the disk of {} is full and there is nothing left to give up; free some space and start again", dir.display())]
    Full {
        /// The folder.
        dir: PathBuf,
    },
    /// The system refused.
    #[error("cannot open the journal in {}: {what}: {source}", dir.display())]
    Io {
        /// The folder.
        dir: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The cause.
        source: std::io::Error,
    },
}

/// Why a batch was not committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The stream has another revision than the batch was decided on. Nothing of the batch is stored.
    #[error("{stream} is at revision {found}, not {expected}")]
    Conflict {
        /// The stream.
        stream: Stream,
        /// What the batch expected.
        expected: u64,
        /// What it is.
        found: u64,
    },
    /// The batch cannot be stored by anyone. Nothing of it is.
    #[error("this batch cannot be stored: {0}")]
    Invalid(String),
    /// The journal has failed; whether this batch will be there after a restart is not known.
    #[error("the journal cannot be written: {0}")]
    Failed(String),
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
}

/// Why something cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// sled failed.
    #[error("the database cannot be read: {}", super::refusal::plain(_0))]
    Store(#[from] sled::Error),
    /// sled panicked.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// The same, with what to do about it.
    #[error("the database in {} cannot be read: {cause}. {advice}", dir.display())]
    Refused {
        /// The folder.
        dir: PathBuf,
        /// What sled said, in plain words.
        cause: String,
        /// What to do.
        advice: String,
    },
    /// A value is not what it should be.
    #[error("{what} cannot be read: {source}")]
    Decode {
        /// Which value.
        what: String,
        /// Why.
        source: DecodeError,
    },
    /// An archive cannot be read.
    #[error("the archive {} cannot be read: {why}", file.display())]
    Archive {
        /// Which.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// A stream has lost entries, and the journal did not say so when it was opened.
    #[error("{missing} entries of {stream} are missing after revision {after}")]
    Incomplete {
        /// Which.
        stream: Stream,
        /// How many.
        missing: u64,
        /// The last revision before the first of them.
        after: u64,
    },
    /// The journal was closed or has failed.
    #[error("the journal is closed")]
    Closed,
}

/// Why retention or the daily export could not do its work. Nothing is lost by that; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum MaintainError {
    /// The journal cannot be read, or an archive not be written.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The export cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file cannot be written.
    #[error("cannot write {}: {source}", file.display())]
    Io {
        /// Which.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal has failed or is closed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// What was written cannot be read back. It is removed.
    #[error("{} was written and cannot be read back: {why}", file.display())]
    ReadBack {
        /// Which.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Another herder has the folder, or it cannot be looked into.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It would have filled the disk.
    #[error("there is no room: {} bytes would have to be free, {} are", .0.needed, .0.free)]
    NoRoom(NoRoom),
}

/// Why an export was not imported. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is a journal already.
    #[error("{} already holds a journal; import needs a folder without one", .0.display())]
    NotEmpty(PathBuf),
    /// A line of the export is damaged.
    #[error("line {line} of {}: {why}; nothing was imported", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The file ends early.
    #[error("{} ends after line {line} without its last line, so a part is missing; nothing was imported", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// The last line.
        line: u64,
    },
    /// The file cannot be read, or the journal not written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The new database could not be written.
    #[error("cannot write the new database: {0}")]
    Store(String),
    /// The new journal's folder is in use or cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// What the database says, in words: sled shows what the operating system told it as a program would write it down.
pub(super) fn in_words(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) if error.kind() == io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        // A copy of it has lost the number, and has the other form in its text.
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
        let denied = sled::Error::Io(io::Error::from_raw_os_error(13));
        for error in [denied.clone(), denied] {
            let said = in_words(&error);
            assert!(said.to_lowercase().contains("permission denied") && !said.contains('{'), "{said}");
        }
    }
}
