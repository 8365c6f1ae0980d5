//! The journal of a bot that shares a log with others: its database is a prefix of that log at any moment.
//!
//! ```text
//!  in office:  writer ── group ──► records ──► Log::append ──► database ──► callers, posts
//!  standby:              the log ──► records ──► Replica ──► database
//! ```
//!
//! A group counts once the log has it, on the disks of most servers. The database is then written without waiting for
//! its disk: what a power loss takes from it is read from the log again.
//!
//! | file | content |
//! |---|---|
//! | [`record`] | a record of the log in bytes |
//! | [`chain`] | numbers and hashes of records, and the groups that are cut into several |
//! | [`leader`] | the writer's side |
//! | [`replica`] | the side of a bot that follows |

pub mod chain;
pub(super) mod leader;
pub mod record;
pub mod replica;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use super::{ImportError, disk, import};

pub use chain::{Built, Chain, Position, hash_of};
pub use replica::{Replica, ReplicaError};

/// Returns the place in the log up to which an export has everything; `None` if its journal shares no log.
///
/// # Errors
/// The file is no export, or cannot be read.
pub fn place_of(export: &Path) -> Result<Option<Position>, ImportError> {
    Ok(import::header(export)?.log)
}

/// Makes the folder of a journal, which only herder's user may read.
///
/// # Errors
/// The disk refuses.
pub fn make_folder(dir: &Path) -> io::Result<()> {
    disk::private_dir(dir)
}

/// The log that several bots share.
pub trait Log: Send {
    /// Appends a record behind the one with the sequence `behind`, and returns its own sequence. Blocks until it is known,
    /// and repeats the same bytes with the same `id` meanwhile.
    ///
    /// # Errors
    /// The record is not in the log, or this bot does not wait for it any more.
    fn append(&mut self, id: &str, record: &[u8], behind: u64) -> Result<u64, AppendError>;
}

/// The reason why a record was not appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another bot has written behind that record: it is in office.
    #[error("another bot is in office")]
    Deposed,
    /// This bot ends, and it is not known whether the log has the record.
    #[error("the log did not answer until herder ended")]
    GivenUp,
    /// The log ends before the record behind which this one belongs: the servers have lost what they had acknowledged.
    #[error("the servers have lost records that were acknowledged: the log ends at record {last}")]
    Lost {
        /// Sequence of the log's last record.
        last: u64,
    },
}
