//! Whether the far side is still there. Any traffic from it counts.

use std::time::Duration;

use tokio::time::Instant;

use super::patience::Patience;

/// The watch over one link.
#[derive(Debug)]
pub(crate) struct Idle {
    patience: Patience,
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
    pub(crate) fn new(patience: Patience, now: Instant) -> Self {
        Self { patience, heard: now, asked: None }
    }

    /// Something came; or we were not listening, so that nothing could.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// How long nothing has come.
    pub(crate) fn silent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.heard)
    }

    /// A PING of another kind is on its way: silence from now on is counted against it.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    /// When [`Idle::check`] has something to say.
    pub(crate) fn deadline(&self) -> Instant {
        match self.asked {
            // What was asked just after something came has the whole of its time.
            Some(asked) => (self.heard + self.patience.quiet).max(asked) + self.patience.answer,
            None => self.heard + self.patience.quiet,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_late_has_the_whole_of_its_time() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut idle = Idle::new(Patience::default(), begin);
        assert_eq!(idle.check(at(59)), None);
        // The machine slept.
        assert_eq!(idle.check(at(100)), Some(Silence::Ask));
        assert_eq!(idle.check(at(129)), None);
        assert_eq!(idle.check(at(130)), Some(Silence::Dead));
        idle.heard(at(130));
        assert_eq!(idle.check(at(189)), None);
        assert_eq!(idle.check(at(190)), Some(Silence::Ask));
    }
}
