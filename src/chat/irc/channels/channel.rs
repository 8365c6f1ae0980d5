//! One channel: where we stand with it, and what it is to show.

use std::time::Duration;

use tokio::time::Instant;

use super::topics::Topic;

/// The first wait after a JOIN that was refused; it doubles.
const RETRY: Duration = Duration::from_secs(15);
/// The longest wait between two tries, also for a server that has no more channels for us.
pub(super) const RETRY_MAX: Duration = Duration::from_secs(600);

/// Whether what is said in it is live, or what we still wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Live {
    Names,
    Named,
    Fence(u64),
    Yes,
}

/// Where we stand with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Out { join_at: Instant },
    Joining { since: Instant },
    In { live: Live, since: Instant },
}

/// One channel.
#[derive(Debug)]
pub(super) struct Channel {
    /// By which it is wanted.
    pub(super) name: String,
    /// By which the server forwarded us, if it did.
    pub(super) forwarded: Option<String>,
    pub(super) state: State,
    /// The first JOIN was answered, one way or the other.
    pub(super) tried: bool,
    pub(super) refusals: u32,
    pub(super) kicks: u32,
    pub(super) denials: u32,
    /// A post was refused and nothing else was said of our being in it: a JOIN without an answer then means that we are.
    pub(super) still_in: bool,
    /// Posts for it go elsewhere.
    pub(super) lost: bool,
    pub(super) topic: Topic,
}

impl Channel {
    pub(super) fn new(name: &str, now: Instant) -> Self {
        Self {
            name: name.to_owned(),
            forwarded: None,
            state: State::Out { join_at: now },
            tried: false,
            refusals: 0,
            kicks: 0,
            denials: 0,
            still_in: false,
            lost: false,
            topic: Topic::new(now),
        }
    }

    /// What the server calls it.
    pub(super) fn actual(&self) -> &str {
        self.forwarded.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn is_in(&self) -> bool {
        matches!(self.state, State::In { .. })
    }

    /// Out of it for a while that doubles. True if posts go elsewhere from now on, and did not before.
    pub(super) fn refused(&mut self, now: Instant, patience: u32) -> bool {
        let wait = RETRY.saturating_mul(1_u32.checked_shl(self.refusals).unwrap_or(u32::MAX)).min(RETRY_MAX);
        self.refusals = self.refusals.saturating_add(1);
        self.tried = true;
        self.still_in = false;
        self.forwarded = None;
        self.state = State::Out { join_at: now + wait };
        self.refusals > patience && !std::mem::replace(&mut self.lost, true)
    }
}
