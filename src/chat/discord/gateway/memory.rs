//! What has to outlast one adapter: the root supervisor starts a new one after too many failed tries, and that one goes on
//! where the last one was.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::pace::Pace;
use crate::core::time::Timestamp;

/// What is remembered of the link when the adapter is started anew: how long to wait, whether it was ever up, since when the
/// bot is not in its server. Clones are the same memory.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Lasting>>);

/// What is in it.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    pub(super) pace: Pace,
    /// When serenity last tried to connect: it may have logged in.
    pub(super) tried: Option<Instant>,
    /// The link was up since herder was started.
    pub(super) was_up: bool,
    /// Since when we are not in our server.
    pub(super) outside: Option<Timestamp>,
}

impl Memory {
    /// For the one who keeps the link; nobody else has anything of it meanwhile.
    pub(super) fn borrow(&self) -> Borrowed {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Borrowed { memory: self.clone(), lasting: std::mem::take(&mut *kept) }
    }
}

/// Goes back to where it came from, whatever happens to the one who uses it.
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
        // A link that lasts makes up for all of it.
        next.pace.up(now);
        assert_eq!(next.pace.failed(now + Duration::from_secs(60), 1.0), Duration::from_secs(1));
        assert_eq!(next.pace.attempts(), 1);
    }
}
