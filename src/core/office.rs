//! The office: which one of several bots decides.
//!
//! All bots share one log, in which each record is accepted only behind the one that its writer names. Whoever writes
//! is in office; a record `epoch` behind the last one begins a new office, and refuses whatever an earlier holder still
//! writes. Who is in office is therefore never a question of clocks; when that changes is.
//!
//! ```text
//!            silence, or resigned      accepted            nothing accepted for `hold`
//! Following ──────────────► Claiming ──────────► Leading ─────────────────────────────► Suspended ── refused ──► Deposed
//!     ▲                        │ refused            ▲                                       │
//!     └────────────────────────┘                    └────────────── accepted ───────────────┘
//! ```
//!
//! Times are readings of the machine's clock since its start, time asleep included. Clocks of different machines are
//! never compared.

use std::time::Duration;

/// Durations of the office.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Interval at which the holder writes if it has nothing else to write.
    pub renew: Duration,
    /// Time for which one accepted record keeps its writer in office, from the start of the attempt.
    pub hold: Duration,
    /// Silence of the log after which another bot claims the office; more than `hold`.
    pub wait: Duration,
    /// The same after nobody could write for longer than `hold`, because the log itself was away.
    pub calm: Duration,
}

impl Terms {
    /// Returns the terms for a `hold`: silence of a second more, and attempts every sixth of it.
    #[must_use]
    pub fn of(hold: Duration) -> Self {
        Self { renew: hold / 6, hold, wait: hold + Duration::from_secs(1), calm: hold * 2 / 5 }
    }
}

/// A bot's part in the office.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// Another bot is in office, or nobody.
    Following,
    /// It has written an `epoch` behind the record of this number, and waits for the answer.
    Claiming(u64),
    /// It decides and speaks.
    Leading,
    /// None of its records was accepted for too long: it neither decides nor speaks, and goes on trying.
    Suspended,
    /// Another bot has come into office, or this one has given it up: it ends.
    Deposed,
}

/// The state of one bot.
#[derive(Debug, Clone)]
pub struct Office {
    terms: Terms,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Following(Watch),
    Claiming { behind: u64, heard: Option<Duration> },
    Leading { until: Duration },
    Suspended,
    Deposed,
}

/// The end of the log as a bot that waits has seen it.
#[derive(Debug, Clone, Copy, Default)]
struct Watch {
    seen: Option<Seen>,
    /// Number of the last record in its own copy.
    copied: u64,
    /// True if that record says that the holder has resigned.
    is_resigned: bool,
    /// Time of the last answer of the log.
    heard: Option<Duration>,
}

/// The end of the log, as seen last.
#[derive(Debug, Clone, Copy)]
struct Seen {
    last: u64,
    /// Time of the first answer with this end.
    since: Duration,
    /// True if the log was away before that answer.
    was_away: bool,
}

impl Office {
    /// Returns the state of a bot that has just been started.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Self { terms, state: State::Following(Watch::default()) }
    }

    /// Returns the bot's part.
    #[must_use]
    pub fn seat(&self) -> Seat {
        match self.state {
            State::Following(_) => Seat::Following,
            State::Claiming { behind, .. } => Seat::Claiming(behind),
            State::Leading { .. } => Seat::Leading,
            State::Suspended => Seat::Suspended,
            State::Deposed => Seat::Deposed,
        }
    }

    /// Returns true if the bot may decide and speak at this time.
    #[must_use]
    pub fn is_in_office(&self, now: Duration) -> bool {
        matches!(self.state, State::Leading { until } if now < until)
    }

    /// Returns the time at which the bot is suspended if nothing is accepted until then.
    #[must_use]
    pub fn until(&self) -> Option<Duration> {
        match self.state {
            State::Leading { until } => Some(until),
            _ => None,
        }
    }

    /// Notes the last record of the bot's own copy.
    pub fn copied(&mut self, last: u64, is_resigned: bool) {
        if let State::Following(watch) = &mut self.state {
            (watch.copied, watch.is_resigned) = (last, is_resigned);
        }
    }

    /// Notes where the log ends, as its leader has answered a question. Returns true if the bot claims the office now: it
    /// writes `epoch` behind that record.
    pub fn looked(&mut self, asked: Duration, answered: Duration, last: u64) -> bool {
        let State::Following(watch) = &mut self.state else { return false };
        let was_away = watch.heard.is_some_and(|heard| answered.saturating_sub(heard) > self.terms.hold);
        watch.heard = Some(answered);
        match &watch.seen {
            // An answer that was overtaken says nothing of the end.
            Some(seen) if last < seen.last => return false,
            Some(seen) if last == seen.last && !was_away => {}
            _ => watch.seen = Some(Seen { last, since: answered, was_away }),
        }
        let Some(seen) = watch.seen else { return false };
        let silence = if seen.was_away { self.terms.calm } else { self.terms.wait };
        let is_free = watch.is_resigned || asked.saturating_sub(seen.since) >= silence;
        let claims = watch.copied == last && is_free;
        if claims {
            self.state = State::Claiming { behind: last, heard: watch.heard };
        }
        claims
    }

    /// Notes that a record was accepted: the claim, or one of the holder. `began` is the start of the attempt that stored
    /// it. Where it is not known which attempt did, it is the start of the first one: a later one is answered as well, long
    /// after the record was stored.
    pub fn accepted(&mut self, began: Duration, now: Duration) {
        let until = began + self.terms.hold;
        match &mut self.state {
            State::Leading { until: before } => *before = until.max(*before),
            State::Claiming { .. } | State::Suspended => self.state = State::Leading { until },
            State::Following(_) | State::Deposed => {}
        }
        self.passed(now);
    }

    /// Notes that a record was refused, because another bot has written.
    pub fn refused(&mut self) {
        self.state = match self.state {
            State::Claiming { behind, heard } => {
                State::Following(Watch { copied: behind, heard, ..Watch::default() })
            }
            State::Leading { .. } | State::Suspended | State::Deposed => State::Deposed,
            State::Following(watch) => State::Following(watch),
        };
    }

    /// Notes that the bot gives the office up, before it writes `resign`.
    pub fn leaves(&mut self) {
        self.state = State::Deposed;
    }

    /// Notes the time. Returns true if the bot is suspended by it.
    pub fn passed(&mut self, now: Duration) -> bool {
        let is_over = matches!(self.state, State::Leading { until } if now >= until);
        if is_over {
            self.state = State::Suspended;
        }
        is_over
    }
}

#[cfg(test)]
mod tests;
