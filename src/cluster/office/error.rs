//! Reasons for which a bot neither follows nor leads.

use super::super::copies::CopyError;
use super::super::log::{ApiError, LogError};
use crate::journal::shared::ReplicaError;

/// The reason why a bot neither follows nor leads.
#[derive(Debug, thiserror::Error)]
pub enum OfficeError {
    /// The log cannot be used.
    #[error("{0}")]
    Log(#[from] LogError),
    /// No copy of the journal can be taken.
    #[error("{0}")]
    Copy(#[from] CopyError),
    /// A copy cannot be written to this machine.
    #[error("a copy of the journal cannot be written to {folder}: {reason}")]
    Disk {
        /// The data folder.
        folder: String,
        /// The reason.
        reason: std::io::Error,
    },
    /// The journal cannot be used, or differs from the log.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The log ends before this machine's journal.
    #[error(
        "the log ends at record {last}, and this machine's journal has record {own}: the servers have lost records that were \
         acknowledged. Nothing is changed; stop all bots and servers, and ask for help before anything is deleted"
    )]
    Ahead {
        /// Sequence of the log's last record.
        last: u64,
        /// Sequence of the last record in the journal.
        own: u64,
    },
    /// The log has another record than this machine's journal.
    #[error(
        "the log has another record {seq} than this machine's journal: one of them was changed. Nothing is changed; stop all \
         bots and servers, and ask for help before anything is deleted"
    )]
    OtherPast {
        /// Sequence of the record.
        seq: u64,
    },
    /// This machine has a journal that is not in the log.
    #[error(
        "this machine has a journal of its own, which is not the one of the log. Move its data folder away, all but \"cluster\", \
         and start again: it takes a copy"
    )]
    Stranger,
    /// The log does not have the records that this machine's journal needs next.
    #[error(
        "the log begins at record {first}, and this machine's journal ends at record {own}: it was away for too long. Move what is \
         in {folder} away, all but \"cluster\", and start again: it takes a copy"
    )]
    Behind {
        /// Sequence of the log's first record.
        first: u64,
        /// Sequence of the last record in the journal.
        own: u64,
        /// The data folder.
        folder: String,
    },
    /// A thread has panicked.
    #[error("following the log was cut short: {0}")]
    Join(#[from] tokio::task::JoinError),
}

impl OfficeError {
    /// Returns true if log and journal contradict one another, so that nobody may go on.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(
            self,
            Self::Ahead { .. } | Self::OtherPast { .. } | Self::Replica(ReplicaError::Chain { .. })
        )
    }

    /// Returns true if the servers have only not answered, or not yet.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Log(LogError::Api(reason)) | Self::Copy(CopyError::Api(reason)) => match reason {
                ApiError::Silent { .. } | ApiError::Refused { .. } => true,
                // Servers that were started anew need a moment to find their streams.
                ApiError::Missing { .. } => true,
                ApiError::Unreadable { .. } | ApiError::Setting { .. } => false,
            },
            _ => false,
        }
    }
}
