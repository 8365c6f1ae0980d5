//! Whether the far side is still there. Any traffic from it counts.

use std::time::Duration;

use tokio::time::Instant;

/// Silence before we ask.
const QUIET: Duration = Duration::from_secs(60);
/// Silence after we asked before the link is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The watch over one link.
#[derive(Debug)]
pub(crate) struct Idle {
    heard: Instant,
    asked: Option<Instant>,
}

/// What silence asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Send a PING.
    Ask,
    /// The far side is gone.
    Dead,
}

impl Idle {
    /// A link begins.
    pub(crate) fn new(now: Instant) -> Self {
        Self { heard: now, asked: None }
    }

    /// Something came; or we were not listening, so that nothing could.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// A PING of another kind is on its way: silence from now on is counted against it.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    /// When [`Idle::check`] has something to say.
    pub(crate) fn deadline(&self) -> Instant {
        match self.asked {
            // What was asked just after something came has the whole of its time.
            Some(asked) => (self.heard + QUIET).max(asked) + PATIENCE,
            None => self.heard + QUIET,
        }
    }

    /// What is due.
    pub(crate) fn check(&mut self, now: Instant) -> Option<Silence> {
        if self.deadline() > now {
            return None;
        }
        if self.asked.is_some() {
            return Some(Silence::Dead);
        }
        self.asked = Some(now);
        Some(Silence::Ask)
    }
}
