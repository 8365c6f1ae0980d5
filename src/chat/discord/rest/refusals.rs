//! A common stop for all requests when many of them are refused. Pure.
//!
//! Discord bans an address for an hour or more after 10,000 requests within ten minutes that it refused with 401, 403
//! or 429, whatever they concerned. They are therefore counted together, with those of a proxy or a guard. A few are
//! normal: a permission is missing in a channel, a person is gone. Beyond [`FREE`] each further one makes all
//! requests wait, with a wait that grows, and then one is sent at a time until one succeeds.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Window in which refused requests are counted: Discord bans an address with too many of them.
const WINDOW: Duration = Duration::from_secs(600);
/// Number of refused requests in [`WINDOW`] that have no effect: a hundredth of Discord's limit.
const FREE: usize = 100;
/// Number of refused requests about interactions in `WINDOW` that have no effect. It is higher, because people make
/// interactions and wait no longer than three seconds.
const FREE_OF_INTERACTIONS: usize = 1000;
/// Wait of all requests after the first refusal beyond [`FREE`].
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// Number of further refusals after which the wait doubles. If everything is refused, about 160 requests are sent in a
/// window.
const DOUBLES_AFTER: usize = 16;
/// Maximum wait of all requests after a refusal.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Additional wait of requests that are not urgent, so that urgent ones come first.
const BEHIND: Duration = Duration::from_millis(100);
/// Maximum number of requests in flight while refusals are many; the number doubles with each success.
const ROOM_MAX: u32 = 64;
/// Maximum number of refused requests whose time is remembered.
const KEPT_MAX: usize = 2 * FREE_OF_INTERACTIONS;

/// The event for which a request has to wait, because many were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The request waits until this time.
    Until(Instant),
    /// The request waits for the answer to another one.
    Answer,
}

/// The refused requests of the last ten minutes, which slow down all others. See the module.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    at: VecDeque<Instant>,
    until: Option<Instant>,
    room: u32,
    under_way: u32,
}

impl Refusals {
    /// Decides whether a request can be sent: `None` if so, else the event for which it has to wait.
    pub(super) fn ask(&mut self, by_interaction: bool, urgent: bool, now: Instant) -> Option<Stop> {
        let free = if by_interaction { FREE_OF_INTERACTIONS } else { FREE };
        if self.count(now) <= free {
            return None;
        }
        let behind = if urgent { Duration::ZERO } else { BEHIND };
        if let Some(until) = self.until.map(|until| until + behind).filter(|until| *until > now) {
            return Some(Stop::Until(until));
        }
        (self.under_way >= self.room.max(1)).then_some(Stop::Answer)
    }

    /// Records that a request is in flight.
    pub(super) fn goes(&mut self) {
        self.under_way += 1;
    }

    /// Records that a request in flight has ended, answered or not.
    pub(super) fn is_over(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Records whether the answer to a request was a refusal.
    pub(super) fn answered(&mut self, refused: bool, now: Instant) {
        if !refused {
            self.room = self.room.saturating_mul(2).clamp(1, ROOM_MAX);
            return;
        }
        if self.at.len() >= KEPT_MAX {
            self.at.pop_front();
        }
        self.at.push_back(now);
        self.room = 1;
        let beyond = self.count(now).saturating_sub(FREE);
        if let Some(more) = beyond.checked_sub(1) {
            let doubled = u32::try_from(more / DOUBLES_AFTER).unwrap_or(u32::MAX);
            let factor = 1_u32.checked_shl(doubled).unwrap_or(u32::MAX);
            self.until = Some(now + WAIT_FIRST.saturating_mul(factor).min(WAIT_MAX));
        }
    }

    /// Returns the number of refusals in [`WINDOW`] if requests wait because of it and the last one was refused; else
    /// `None`.
    pub(super) fn stopped(&mut self, now: Instant) -> Option<u32> {
        let count = self.count(now);
        (count > FREE && self.room <= 1).then(|| u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn count(&mut self, now: Instant) -> usize {
        while self.at.front().is_some_and(|at| *at + WINDOW <= now) {
            self.at.pop_front();
        }
        self.at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates `wanted` concurrent requests for the time `lasts`, all of them refused after 20 ms. Returns the number
    /// of requests sent.
    fn storm(refusals: &mut Refusals, wanted: u32, lasts: Duration) -> u32 {
        let (start, moment) = (Instant::now(), Duration::from_millis(20));
        let (mut now, mut sent) = (start, 0);
        while now < start + lasts {
            let going = (0..wanted).take_while(|_| {
                let goes = refusals.ask(false, false, now).is_none();
                if goes {
                    refusals.goes();
                }
                goes
            });
            let going = u32::try_from(going.count()).expect("few");
            now += moment;
            for _ in 0..going {
                refusals.is_over();
                refusals.answered(true, now);
            }
            sent += going;
        }
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_asks_and_is_refused_stays_far_below_a_ban() {
        let mut refusals = Refusals::default();
        let sent = storm(&mut refusals, 60, WINDOW);
        assert!((100..400).contains(&sent), "{sent} of 10,000");
        let now = Instant::now() + WINDOW;
        assert!(refusals.stopped(now).is_some_and(|count| count > 100));
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_refusals_hold_up_nothing() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        for _ in 0..FREE {
            assert_eq!(refusals.ask(false, false, now), None);
            refusals.goes();
            refusals.is_over();
            refusals.answered(true, now);
        }
        assert_eq!((refusals.ask(false, false, now), refusals.stopped(now)), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_wait_one_goes_and_when_it_is_taken_more_do() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        for _ in 0..=FREE {
            refusals.goes();
            refusals.is_over();
            refusals.answered(true, now);
        }
        let until = now + WAIT_FIRST;
        assert_eq!(refusals.ask(false, true, now), Some(Stop::Until(until)));
        assert_eq!(
            refusals.ask(false, false, until),
            Some(Stop::Until(until + BEHIND)),
            "urgent ones go first"
        );
        assert_eq!(refusals.ask(true, true, now), None, "somebody waits for it");
        assert_eq!(refusals.ask(false, true, until), None);
        refusals.goes();
        assert_eq!(refusals.ask(false, true, until), Some(Stop::Answer));
        refusals.is_over();
        refusals.answered(false, until);
        assert_eq!(refusals.stopped(until), None);
        for _ in 0..2 {
            assert_eq!(refusals.ask(false, true, until), None);
            refusals.goes();
        }
        assert_eq!(refusals.ask(false, true, until), Some(Stop::Answer));
        let later = now + WINDOW;
        assert_eq!(refusals.ask(false, false, later), None, "they are forgotten after ten minutes");
    }
}
