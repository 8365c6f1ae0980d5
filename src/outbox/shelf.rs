//! Alerts that stay on disk because there are more than anybody reads at once.
//!
//! Alerts that require an action are never dropped, however long a network is away. Those beyond [`ALERTS_MAX`] are
//! not collapsed like other posts: they stay in the journal, and are loaded when there is room.

use crate::core::id::PostId;

/// Maximum number of alerts held in memory for one network.
pub const ALERTS_MAX: usize = 1000;

/// The range of alerts that are in the journal alone.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// The last alert that was held in memory.
    last: PostId,
    /// The last alert on the shelf.
    upto: PostId,
    /// Number of alerts on the shelf.
    count: usize,
}

impl Shelf {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns true if an alert stays in the journal, with `held` alerts in memory: it must not overtake those on the shelf.
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

    /// Returns the post after which to read, and the number to read, if there is room for some.
    pub(super) fn wants(&self, held: usize) -> Option<(PostId, usize)> {
        (self.count > 0 && held <= ALERTS_MAX / 2).then(|| (self.last, ALERTS_MAX - held))
    }

    /// Records alerts that were read after [`Shelf::wants`]; `upto` was the last one on the shelf at that time.
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

    /// Returns the last alert on the shelf.
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
