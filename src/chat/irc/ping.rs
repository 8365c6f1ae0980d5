//! Detection of a dead peer. Any traffic from it proves that it is alive.

use std::time::Duration;

use tokio::time::Instant;

use super::patience::Patience;

/// The timer of one link that notices a silent server.
#[derive(Debug)]
pub(crate) struct Idle {
    patience: Patience,
    heard: Instant,
    asked: Option<Instant>,
}

/// The action that a silent server requires.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Send a PING to the server, to find out whether it still answers.
    Ask,
    /// Give the link up, because the server has not answered a PING.
    Dead,
}

impl Idle {
    /// Starts the timer of a new link at `now`.
    pub(crate) fn new(patience: Patience, now: Instant) -> Self {
        Self { patience, heard: now, asked: None }
    }

    /// Restarts the timer after a line, or after a time in which herder did not read.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// Returns the time since the last line from the server.
    pub(crate) fn silent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.heard)
    }

    /// Records that a PING was sent for another purpose: its answer is waited for as well.
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

    /// Returns the action that is due now; `None` if there is none.
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
