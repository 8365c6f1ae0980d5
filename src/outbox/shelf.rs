//! Pending alerts that are held in the journal alone, because there are too many for memory.
//!
//! Alerts that require an action are never dropped, however long a network is away. Those beyond [`ALERTS_MAX`] are
//! not collapsed like other posts: they stay in the journal, and are loaded when there is room.

use crate::core::id::PostId;

/// Maximum number of pending alerts held in memory for one network.
pub const ALERTS_MAX: usize = 1000;

/// The pending alerts of a network that are in the journal alone ("on the shelf").
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// Id of the last alert that is or was held in memory.
    last: PostId,
    /// Id of the last alert in the journal alone.
    upto: PostId,
    /// Number of alerts in the journal alone.
    count: usize,
}

impl Shelf {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns true if a new alert stays in the journal alone, with `held` alerts in memory: it must not overtake those
    /// before it.
    pub(super) fn takes(&mut self, alert: PostId, held: usize) -> bool {
        // An alert before the last one in memory would not be found on the shelf.
        if (self.count == 0 && held < ALERTS_MAX) || alert <= self.last {
            self.last = self.last.max(alert);
            return false;
        }
        if alert > self.upto {
            self.upto = alert;
            self.count += 1;
        }
        true
    }

    /// Returns the post after which to read alerts from the journal, and their maximum number; `None` if there are
    /// none, or no room with `held` alerts in memory.
    pub(super) fn wants(&self, held: usize) -> Option<(PostId, usize)> {
        (self.count > 0 && held <= ALERTS_MAX / 2).then(|| (self.last, ALERTS_MAX - held))
    }

    /// Records which alerts were read from the journal; `upto` is what `Shelf::upto` returned before the reading.
    pub(super) fn gives(&mut self, read: &[PostId], upto: PostId) {
        self.last = read.last().copied().unwrap_or(upto).max(self.last);
        self.count = self.count.saturating_sub(read.len());
        if self.last >= self.upto {
            self.count = 0;
        } else {
            // Alerts shelved meanwhile come after all that were read.
            self.count = self.count.max(1);
        }
    }

    /// Returns the id of the last alert in the journal alone.
    pub(super) fn upto(&self) -> PostId {
        self.upto
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_the_journal_is_read_is_not_forgotten_and_what_is_not_there_is_not_waited_for() {
        let mut shelf = Shelf::default();
        let full = ALERTS_MAX;
        assert!(
            !shelf.takes(PostId(1), full - 1) && shelf.takes(PostId(2), full) && shelf.takes(PostId(3), 0)
        );
        assert!(shelf.takes(PostId(3), 0) && shelf.len() == 2, "it came twice");
        assert_eq!((shelf.wants(full), shelf.wants(0)), (None, Some((PostId(1), full))));
        let upto = shelf.upto();
        assert!(shelf.takes(PostId(4), 0));
        shelf.gives(&[PostId(2), PostId(3)], upto);
        assert_eq!((shelf.len(), shelf.wants(2)), (1, Some((PostId(3), full - 2))));
        let upto = shelf.upto();
        shelf.gives(&[], upto);
        assert_eq!((shelf.len(), shelf.wants(0)), (0, None), "somebody else took it");
        assert!(!shelf.takes(PostId(5), 0));
    }
}
