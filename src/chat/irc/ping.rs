//! Detection of a dead peer. Any traffic from it proves that it is alive.

use std::time::Duration;

use tokio::time::Instant;

use super::patience::Patience;

/// The keepalive timer of one link.
#[derive(Debug)]
pub(crate) struct Idle {
    patience: Patience,
    heard: Instant,
    asked: Option<Instant>,
}

/// The action that silence requires.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Send a PING.
    Ask,
    /// The peer counts as dead.
    Dead,
}

impl Idle {
    /// Starts the timer of a new link.
    pub(crate) fn new(patience: Patience, now: Instant) -> Self {
        Self { patience, heard: now, asked: None }
    }

    /// Resets the timer after a line, or after a time in which we did not read.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// Returns how long nothing was received.
    pub(crate) fn silent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.heard)
    }

    /// Records that another kind of PING was sent: its answer is awaited like a keepalive's.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    /// Returns the time at which [`Idle::check`] has to be called.
    pub(crate) fn deadline(&self) -> Instant {
        match self.asked {
            // A PING sent just after a received line still has the whole timeout.
            Some(asked) => (self.heard + self.patience.quiet).max(asked) + self.patience.answer,
            None => self.heard + self.patience.quiet,
        }
    }

    /// Returns the action that is due.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_late_has_the_whole_of_its_time() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut idle = Idle::new(Patience::default(), begin);
        assert_eq!(idle.check(at(59)), None);
        // The machine was suspended.
        assert_eq!(idle.check(at(100)), Some(Silence::Ask));
        assert_eq!(idle.check(at(129)), None);
        assert_eq!(idle.check(at(130)), Some(Silence::Dead));
        idle.heard(at(130));
        assert_eq!(idle.check(at(189)), None);
        assert_eq!(idle.check(at(190)), Some(Silence::Ask));
    }
}
