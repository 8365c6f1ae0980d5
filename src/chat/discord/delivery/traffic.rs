//! Flow control of messages to Discord: one at a time per channel or person, and none while it would certainly fail.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serenity::all::{ChannelId, UserId};
use tokio::time::Instant;

use crate::chat::absence::{ABSENCE, Silence};

/// Maximum number of messages in flight. A server has 500 channels, each with one at a time; the rest is for private
/// messages.
pub(super) const PARALLEL: usize = 600;

/// The first and the longest wait after Discord did not answer, before a message is sent again.
const LATER: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// The first and the longest wait before another message to a channel in which herder may not speak. Such requests
/// count towards a ban.
const DENIED: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(300));
/// Wait before another message to a channel that is gone; its replacement is another channel.
const GONE: Duration = Duration::from_secs(60);
/// Maximum number of channels and people whose wait is remembered; a message to any other is tried and made to wait
/// again.
const HELD_MAX: usize = 4096;

/// The destination of a message on Discord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// A channel, by its id.
    Channel(ChannelId),
    /// A person in private, by their user id.
    Person(UserId),
    /// No destination: a channel or person of this name cannot exist.
    Nowhere,
}

/// The reason why messages to a destination wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Discord did not answer a message.
    Later,
    /// A message was refused for an unknown reason.
    Odd,
    /// The channel does not exist any more.
    Gone,
    /// herder may not speak in the channel.
    Denied,
}

#[derive(Debug)]
struct Held {
    until: Instant,
    reason: Reason,
    failures: u32,
}

/// The messages in flight, and the destinations whose messages wait.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    busy: HashSet<Place>,
    held: HashMap<Place, Held>,
    /// Measures the time for which nothing was delivered.
    silence: Silence,
    /// True if deliveries succeed again after an absence, so that backlogs have to be shortened before anything is
    /// sent.
    is_back: bool,
}

impl Traffic {
    /// Creates the state of a new adapter. Backlogs are shortened first if nothing was delivered for at least
    /// `ABSENCE`.
    pub(super) fn after(silence: Silence, now: Instant) -> Self {
        let is_back = silence.was(ABSENCE, now);
        Self { silence, is_back, ..Self::default() }
    }

    /// Returns true if a message can be sent to this destination now: none is in flight there, and no wait is open.
    pub(super) fn is_free(&self, place: Place, now: Instant) -> bool {
        let held = self.held.get(&place).is_some_and(|held| held.until > now);
        !self.busy.contains(&place) && !held
    }

    /// Returns the number of messages to this destination in a row that were refused for an unknown reason.
    pub(super) fn odd(&self, place: Place) -> u32 {
        self.held.get(&place).filter(|held| held.reason == Reason::Odd).map_or(0, |held| held.failures)
    }

    /// Returns the number of further messages that may be put in flight.
    pub(super) fn room(&self) -> usize {
        if self.is_back { 0 } else { PARALLEL.saturating_sub(self.busy.len()) }
    }

    /// Records that a message to this destination is in flight.
    pub(super) fn departed(&mut self, place: Place) {
        self.busy.insert(place);
    }

    /// Records that the message in flight to this destination was delivered or dropped.
    pub(super) fn arrived(&mut self, place: Place, now: Instant) {
        self.busy.remove(&place);
        self.held.remove(&place);
        self.is_back |= self.silence.ends(now) >= ABSENCE;
    }

    /// Records that the message in flight to this destination failed, and makes the next one wait.
    pub(super) fn failed(&mut self, place: Place, reason: Reason, now: Instant) {
        self.busy.remove(&place);
        if matches!(reason, Reason::Later | Reason::Odd) {
            self.silence.begins(now);
        }
        let before =
            self.held.get(&place).filter(|held| held.reason == reason).map_or(0, |held| held.failures);
        let (first, longest) = match reason {
            Reason::Later | Reason::Odd => LATER,
            Reason::Denied => DENIED,
            Reason::Gone => (GONE, GONE),
        };
        let wait = first.saturating_mul(1_u32.checked_shl(before).unwrap_or(u32::MAX)).min(longest);
        if self.held.len() < HELD_MAX {
            self.held.insert(
                place,
                Held { until: now + wait, reason, failures: before.saturating_add(1).min(16) },
            );
        }
    }

    /// Ends the waits of destinations in which herder could not speak, after a change of permissions.
    pub(super) fn allowed(&mut self) {
        self.held.retain(|_, held| held.reason != Reason::Denied);
    }

    /// Returns the time at which the next wait ends; `None` if nothing waits.
    pub(super) fn next_release(&self, now: Instant) -> Option<Instant> {
        self.held.values().map(|held| held.until).filter(|until| *until > now).min()
    }

    /// Returns true, once, if backlogs have to be shortened now: after an absence, when nothing is in flight any more.
    pub(super) fn take_return(&mut self) -> bool {
        let now = self.is_back && self.busy.is_empty();
        self.is_back &= !now;
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Place = Place::Nowhere;

    fn place(id: u64) -> Place {
        Place::Channel(ChannelId::new(id))
    }

    #[test]
    fn one_message_at_a_time_in_each_place() {
        let (mut traffic, now) = (Traffic::default(), Instant::now());
        traffic.departed(place(1));
        assert!(!traffic.is_free(place(1), now) && traffic.is_free(place(2), now));
        assert_eq!(traffic.room(), PARALLEL - 1);
        traffic.arrived(place(1), now);
        assert!(traffic.is_free(place(1), now));
    }

    #[test]
    fn a_place_that_fails_waits_longer_each_time() {
        let (mut traffic, mut now) = (Traffic::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..7 {
            traffic.departed(A);
            traffic.failed(A, Reason::Later, now);
            let until = traffic.next_release(now).expect("it waits");
            assert!(!traffic.is_free(A, now) && traffic.is_free(A, until));
            waits.push(until.duration_since(now).as_secs());
            now = until;
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60]);
        traffic.failed(A, Reason::Denied, now);
        assert_eq!(traffic.next_release(now), Some(now + DENIED.0), "another reason begins anew");
        traffic.allowed();
        assert!(traffic.is_free(A, now));
        traffic.failed(A, Reason::Gone, now);
        traffic.allowed();
        assert!(!traffic.is_free(A, now));
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_is_the_end_of_an_absence_only_if_there_was_one() {
        let now = Instant::now();
        let mut traffic = Traffic::after(Silence::after(ABSENCE), now);
        assert!(traffic.take_return() && !traffic.take_return());
        let mut traffic = Traffic::after(Silence::after(ABSENCE / 2), now);
        assert!(!traffic.take_return());
        // The next adapter continues with the state of the last one.
        traffic.departed(place(1));
        traffic.failed(place(1), Reason::Later, now);
        let mut traffic = Traffic::after(traffic.silence, now + ABSENCE);
        assert!(traffic.take_return());
    }

    #[test]
    fn after_an_absence_nothing_goes_until_backlogs_are_shortened() {
        let (mut traffic, start) = (Traffic::default(), Instant::now());
        traffic.departed(place(1));
        traffic.departed(place(2));
        traffic.failed(place(1), Reason::Later, start);
        traffic.arrived(place(2), start + Duration::from_secs(59));
        assert!(!traffic.take_return(), "a short one is none");
        traffic.departed(place(1));
        traffic.departed(place(2));
        traffic.departed(place(3));
        traffic.failed(place(1), Reason::Later, start);
        traffic.arrived(place(2), start + ABSENCE);
        assert!(!traffic.take_return() && traffic.room() == 0, "something is under way");
        traffic.arrived(place(3), start + ABSENCE);
        assert!(traffic.take_return() && !traffic.take_return());
        assert_eq!(traffic.room(), PARALLEL);
    }
}
