//! The writer's side of the log, for the bot that is in office.

use std::time::{Duration, Instant};

use super::super::staging::Changes;
use super::chain::{Chain, Position, cut};
use super::record::Body;
use super::{AppendError, Log};

/// Maximum time for which the database is not synced to its disk, while the log has everything.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Maximum time for which the place in the log is not stored if nothing else is: so many records of an idle bot are
/// read again after a crash.
const NOTE_EVERY: Duration = Duration::from_secs(60);

/// The log and the place in it.
pub(in super::super) struct Leader {
    log: Box<dyn Log>,
    chain: Chain,
    synced: Option<Instant>,
    noted: Option<Instant>,
}

impl Leader {
    /// Returns the writer of an epoch whose first record is in the log.
    pub(in super::super) fn new(log: Box<dyn Log>, chain: Chain) -> Self {
        Self { log, chain, synced: None, noted: None }
    }

    /// Returns the place of the last record.
    pub(in super::super) fn position(&self) -> Position {
        self.chain.position()
    }

    /// Appends a group. It counts when this returns.
    pub(in super::super) fn group(&mut self, changes: &Changes) -> Result<(), AppendError> {
        cut(changes).into_iter().try_for_each(|part| self.append(part))
    }

    /// Appends a record without changes.
    pub(in super::super) fn append(&mut self, body: Body) -> Result<(), AppendError> {
        let built = self.chain.next(crate::clock::now(), body);
        let seq = self.log.append(&built.id, &built.bytes, built.behind)?;
        self.chain.appended(&built, seq);
        Ok(())
    }

    /// Returns true if the database is to be synced with the present transaction.
    pub(in super::super) fn is_sync_due(&mut self, now: Instant) -> bool {
        is_due(&mut self.synced, now, SYNC_EVERY)
    }

    /// Returns true if the place is to be stored although nothing else is.
    pub(in super::super) fn is_note_due(&mut self, now: Instant) -> bool {
        is_due(&mut self.noted, now, NOTE_EVERY)
    }
}

fn is_due(last: &mut Option<Instant>, now: Instant, every: Duration) -> bool {
    let is_due = last.is_none_or(|last| now.duration_since(last) >= every);
    if is_due {
        *last = Some(now);
    }
    is_due
}
