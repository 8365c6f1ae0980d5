//! Decides whether and when a webhook's event is sent again after an attempt. Pure, so that days can pass in a test.

use std::time::Duration;

use super::client::Answer;

/// Maximum wait before another attempt unless the endpoint asks for a longer one, in seconds.
const WAIT_MAX: u32 = 300;

/// Maximum wait before another attempt that an endpoint can ask for.
const ASKED_MAX: Duration = Duration::from_secs(3600);

/// Waits after the refusals of one event, in seconds; after one more it is dropped. A proxy that is being restarted
/// answers with 404 for a minute; an endpoint that refuses for minutes refuses the event, and others wait behind it.
const REFUSED_WAITS: [u32; 4] = [2, 10, 60, 120];

/// Counts of an endpoint's failed attempts, from which the next wait follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Number of failed attempts in a row, of any events.
    failures: u32,
    /// Number of times in a row that the endpoint refused the event that is being sent.
    refusals: usize,
}

/// The action after one attempt to deliver an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The event was delivered; the next one can be sent.
    Done,
    /// The same event is sent again after a wait.
    Again {
        /// The wait before the next attempt.
        wait: Duration,
        /// Number of failed attempts in a row, of any events.
        attempts: u32,
        /// Description of the failed attempt.
        reason: String,
    },
    /// The event was refused too often: it is dropped, and the next one is sent.
    Dropped {
        /// Number of failed attempts in a row, this refusal included; not only refusals of this event.
        attempts: u32,
        /// Description of the last refusal.
        reason: String,
    },
    /// The endpoint is gone: no more events are sent to it.
    Gone {
        /// Description of the endpoint's response.
        reason: String,
    },
}

impl Standing {
    /// Updates the counts with the answer to an attempt and returns the next action. `jitter`, between 0 and 1, varies
    /// the wait.
    pub fn after(&mut self, answer: &Answer, jitter: f64) -> Next {
        let (reason, seconds, asked) = match answer {
            Answer::Taken { .. } => {
                *self = Self::default();
                return Next::Done;
            }
            Answer::Gone { reason } => return Next::Gone { reason: reason.clone() },
            Answer::Later { reason, after } => {
                self.refusals = 0;
                let seconds = 1_u32.checked_shl(self.failures).unwrap_or(WAIT_MAX).min(WAIT_MAX);
                (reason, seconds, *after)
            }
            Answer::Refused { reason } => {
                let Some(seconds) = REFUSED_WAITS.get(self.refusals) else {
                    let attempts = self.failures.saturating_add(1);
                    *self = Self::default();
                    return Next::Dropped { attempts, reason: reason.clone() };
                };
                self.refusals += 1;
                (reason, *seconds, None)
            }
        };
        self.failures = self.failures.saturating_add(1);
        // Between 80 % and 100 % of the step, so that endpoints of one server are not all asked at once.
        let wait = Duration::from_secs(seconds.into()).mul_f64(0.8 + 0.2 * jitter.clamp(0.0, 1.0));
        let wait = asked.map_or(wait, |asked| wait.max(asked.min(ASKED_MAX)));
        Next::Again { wait, attempts: self.failures, reason: reason.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(after: Option<u64>) -> Answer {
        Answer::Later { reason: "no answer".to_owned(), after: after.map(Duration::from_secs) }
    }

    fn refused() -> Answer {
        Answer::Refused { reason: "404".to_owned() }
    }

    fn wait(next: &Next) -> u64 {
        match next {
            Next::Again { wait, .. } => wait.as_secs(),
            Next::Done | Next::Dropped { .. } | Next::Gone { .. } => {
                panic!("it is not tried again: {next:?}")
            }
        }
    }

    #[test]
    fn waits_double_up_to_five_minutes_and_begin_anew_once_something_arrived() {
        let mut standing = Standing::default();
        let waits: Vec<u64> = (0..11).map(|_| wait(&standing.after(&later(None), 1.0))).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(standing.after(&Answer::Taken { status: 204 }, 1.0), Next::Done);
        assert_eq!(wait(&standing.after(&later(None), 1.0)), 1);
    }

    #[test]
    fn an_endpoint_that_asks_for_time_is_given_it_within_reason() {
        let mut standing = Standing::default();
        assert_eq!(wait(&standing.after(&later(Some(120)), 0.0)), 120);
        assert_eq!(wait(&standing.after(&later(Some(1_000_000)), 0.0)), 3600);
        // A wait shorter than herder's own does not shorten it.
        assert_eq!(wait(&standing.after(&later(Some(0)), 1.0)), 4);
    }

    #[test]
    fn what_does_not_arrive_is_never_dropped_and_what_is_refused_after_minutes() {
        let mut standing = Standing::default();
        for _ in 0..1000 {
            wait(&standing.after(&later(None), 0.5));
        }
        standing.after(&Answer::Taken { status: 200 }, 0.5);
        // The next event has minutes of its own, also if nothing was accepted in between.
        for _ in 0..2 {
            let waits: Vec<u64> = (0..4).map(|_| wait(&standing.after(&refused(), 1.0))).collect();
            assert_eq!(waits, [2, 10, 60, 120]);
            let dropped = Next::Dropped { attempts: 5, reason: "404".to_owned() };
            assert_eq!(standing.after(&refused(), 1.0), dropped);
        }
    }

    #[test]
    fn refusals_count_in_a_row() {
        let mut standing = Standing::default();
        for _ in 0..20 {
            for _ in 0..4 {
                wait(&standing.after(&refused(), 0.5));
            }
            wait(&standing.after(&later(None), 0.5));
        }
    }

    #[test]
    fn an_endpoint_that_is_gone_is_gone_at_once() {
        let gone = Answer::Gone { reason: "410".to_owned() };
        assert_eq!(Standing::default().after(&gone, 0.5), Next::Gone { reason: "410".to_owned() });
    }
}
