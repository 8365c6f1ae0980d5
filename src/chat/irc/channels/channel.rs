//! The state of one channel: membership, and the topic to show.

use std::time::Duration;

use tokio::time::Instant;

use super::topics::Topic;

/// First wait before herder tries to join a channel again that has refused it; it doubles.
const RETRY: Duration = Duration::from_secs(15);
/// Maximum wait before herder tries to join a channel again, also if it is in too many channels.
pub(super) const RETRY_MAX: Duration = Duration::from_secs(600);

/// The progress of a joined channel until its lines are live: the list of names, then a fence (a PING that proves that
/// all earlier lines have arrived).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Live {
    Names,
    Named,
    Fence(u64),
    Yes,
}

/// herder's membership of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Out { join_at: Instant },
    Joining { since: Instant },
    In { live: Live, since: Instant },
}

/// A wanted channel and its state.
#[derive(Debug)]
pub(super) struct Channel {
    /// Name of the channel in the configuration.
    pub(super) name: String,
    /// Name of the channel to which the server has forwarded herder; `None` if it has not.
    pub(super) forwarded: Option<String>,
    pub(super) state: State,
    /// True if the first JOIN of the channel was answered, with success or not.
    pub(super) tried: bool,
    pub(super) refusals: u32,
    pub(super) kicks: u32,
    pub(super) denials: u32,
    /// True if a post was refused although nothing said that herder has left the channel: a JOIN without an answer then
    /// means that it is still in.
    pub(super) still_in: bool,
    /// True if the channel is unavailable, so that its posts go to the control channel.
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

    /// Returns the server's name for the channel.
    pub(super) fn actual(&self) -> &str {
        self.forwarded.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn is_in(&self) -> bool {
        matches!(self.state, State::In { .. })
    }

    /// Marks the channel as left and schedules the next JOIN, after a wait that doubles. Returns true if the channel's
    /// posts go to the control channel from now on and did not before.
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
