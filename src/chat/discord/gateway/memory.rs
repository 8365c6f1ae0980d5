//! State that outlives one adapter: the root supervisor starts a new one after too many failed attempts, and that one
//! continues from here.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::pace::Pace;
use crate::core::time::Timestamp;

/// State of the link to the gateway that outlives one adapter: the backoff, whether it was ever up, and the time since
/// which the bot is not in its server. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Lasting>>);

/// The state in a `Memory`.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    pub(super) pace: Pace,
    /// Time of serenity's last connection attempt, which may have been a login; `None` before the first.
    pub(super) tried: Option<Instant>,
    /// True if the link to the gateway was up at any time since herder started.
    pub(super) was_up: bool,
    /// Time since which the bot is not a member of its server; `None` while it is.
    pub(super) outside: Option<Timestamp>,
}

impl Memory {
    /// Takes the state out for the task that keeps the link up; meanwhile the default is in its place.
    pub(super) fn borrow(&self) -> Borrowed {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Borrowed { memory: self.clone(), lasting: std::mem::take(&mut *kept) }
    }
}

/// State taken out of a [`Memory`]; its drop puts the state back, also after a panic.
pub(super) struct Borrowed {
    memory: Memory,
    lasting: Lasting,
}

impl Deref for Borrowed {
    type Target = Lasting;

    fn deref(&self) -> &Lasting {
        &self.lasting
    }
}

impl DerefMut for Borrowed {
    fn deref_mut(&mut self) -> &mut Lasting {
        &mut self.lasting
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let mut kept = self.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = std::mem::take(&mut self.lasting);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::chat::reconnect::MOST;

    #[tokio::test(start_paused = true)]
    async fn the_next_adapter_waits_as_long_as_the_last_one_would_have_and_counts_anew() {
        let (memory, now) = (Memory::default(), Instant::now());
        {
            let mut first = memory.borrow();
            first.pace.goes_on(MOST);
            for _ in 0..5 {
                first.pace.failed(now, 1.0);
            }
            assert_eq!(first.pace.attempts(), 5);
            (first.was_up, first.outside) = (true, Some(Timestamp::from_seconds(7)));
        }
        let mut next = memory.borrow();
        next.pace.goes_on(MOST);
        assert!(next.was_up && next.outside == Some(Timestamp::from_seconds(7)));
        assert_eq!((next.pace.attempts(), next.pace.fruitless()), (0, 0));
        assert_eq!(next.pace.opens(), Some(now + Duration::from_secs(16)), "what was due is due still");
        assert_eq!(next.pace.failed(now, 1.0), Duration::from_secs(30), "and not one second again");
        assert_eq!(next.pace.attempts(), 1);
        // A link that lasts resets the backoff.
        next.pace.up(now);
        assert_eq!(next.pace.failed(now + Duration::from_secs(60), 1.0), Duration::from_secs(1));
        assert_eq!(next.pace.attempts(), 1);
    }
}
