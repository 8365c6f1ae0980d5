//! Health of one serenity session. Pure.
//!
//! serenity connects without a timeout, waits for READY without one, and does not report a shard that it lost. All of
//! that is bounded here.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use crate::core::detail::DiscordReason;

/// Maximum time from an attempt to READY. Discord takes some seconds for the largest guild; serenity waits fifteen
/// for a greeting.
const UP_WITHIN: Duration = Duration::from_secs(30);
/// Maximum time for which a shard may be gone without another attempt, per shard. serenity waits five seconds for a
/// shard to end, and five between two starts.
const GONE_MAX: Duration = Duration::from_secs(20);
/// Time without any event or answered heartbeat after which the link counts as dead: three of Discord's heartbeats.
const SILENT_MAX: Duration = Duration::from_secs(125);

/// Watches one session with the gateway, to notice that it does not connect, lacks shards, or is dead.
#[derive(Debug)]
pub(super) struct Watch {
    shards: u32,
    up: BTreeSet<u32>,
    /// Time of the last connection attempt that has not led to a link; `None` while all shards are connected.
    trying: Option<Instant>,
    /// Time since which serenity lists too few shards although nothing blocks its attempts; `None` if it lists all.
    gone: Option<Instant>,
    /// Time of the last sign of life: an event or an answered heartbeat.
    alive: Instant,
    seen: (u64, Vec<Option<Duration>>),
    /// True if, since the link was last up, Discord was asked why it refuses the bot.
    asked: bool,
}

impl Watch {
    /// Starts the watch over a session with this number of shards.
    pub(super) fn new(shards: u32, now: Instant) -> Self {
        let (up, seen) = (BTreeSet::new(), (0, Vec::new()));
        Self { shards, up, trying: Some(now), gone: None, alive: now, seen, asked: false }
    }

    /// Records that serenity makes a connection attempt.
    pub(super) fn tried(&mut self, now: Instant) {
        self.trying = Some(now);
    }

    /// Records that a shard is connected. Returns true if all shards are, as far as is known.
    pub(super) fn up(&mut self, shard: u32, now: Instant) -> bool {
        self.up.insert(shard);
        self.alive = now;
        let all = u32::try_from(self.up.len()).is_ok_and(|up| up >= self.shards);
        if all {
            self.trying = None;
            self.asked = false;
        }
        all
    }

    /// Returns true if all shards are connected, as far as is known.
    pub(super) fn is_up(&self) -> bool {
        self.trying.is_none()
    }

    /// Returns true if all shards are connected and serenity lists all of them.
    pub(super) fn is_well(&self) -> bool {
        self.is_up() && self.gone.is_none()
    }

    /// Returns true, once per refusal, if Discord is to be asked why it refuses the bot. `is_in_vain` is true if
    /// attempts fail repeatedly.
    pub(super) fn may_ask(&mut self, is_in_vain: bool) -> bool {
        is_in_vain && self.trying.is_some() && !std::mem::replace(&mut self.asked, true)
    }

    /// Returns the reason to end the session, if there is one. `events` is the number of events so far, `pulse` the
    /// latency of each shard that serenity lists; `is_open` is true if serenity may make an attempt.
    pub(super) fn look(
        &mut self,
        events: u64,
        pulse: Vec<Option<Duration>>,
        is_open: bool,
        now: Instant,
    ) -> Option<DiscordReason> {
        let is_gone = is_open && u32::try_from(pulse.len()).is_ok_and(|known| known < self.shards);
        let gone = is_gone.then(|| self.gone.unwrap_or(now));
        self.gone = gone;
        let seen = (events, pulse);
        if seen != self.seen {
            self.seen = seen;
            self.alive = now;
        }
        match self.trying {
            // Discord's limits make shards start one after the other.
            Some(since) if now >= since + UP_WITHIN => Some(DiscordReason::NotLetIn { within: UP_WITHIN }),
            None if gone.is_some_and(|since| now >= since + GONE_MAX * self.shards) => {
                Some(DiscordReason::NotAgain)
            }
            None if now >= self.alive + SILENT_MAX => {
                debug!(?self.seen, "no sign of life");
                Some(DiscordReason::Dead { silent: SILENT_MAX })
            }
            Some(_) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse(millis: u64) -> Vec<Option<Duration>> {
        vec![Some(Duration::from_millis(millis))]
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_never_comes_up_is_given_up() {
        let start = Instant::now();
        let mut watch = Watch::new(1, start);
        assert_eq!(watch.look(0, vec![], true, start + UP_WITHIN / 2), None);
        watch.tried(start + UP_WITHIN / 2);
        assert_eq!(watch.look(0, vec![], true, start + UP_WITHIN), None, "serenity tries again itself");
        assert!(watch.look(0, vec![], true, start + UP_WITHIN * 2).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_shows_no_life_is_given_up() {
        let start = Instant::now();
        let mut watch = Watch::new(1, start);
        assert!(watch.up(0, start));
        assert_eq!(watch.look(1, pulse(10), true, start + SILENT_MAX / 2), None);
        assert_eq!(watch.look(1, pulse(11), true, start + SILENT_MAX), None, "a heartbeat was answered");
        assert_eq!(watch.look(2, pulse(11), true, start + SILENT_MAX * 3 / 2), None, "there was an event");
        assert_eq!(watch.look(2, pulse(11), true, start + SILENT_MAX * 2), None);
        assert!(watch.look(2, pulse(11), true, start + SILENT_MAX * 5 / 2).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_shard_that_serenity_forgot_is_missed() {
        let start = Instant::now();
        let mut watch = Watch::new(1, start);
        assert!(watch.up(0, start));
        assert_eq!(watch.look(1, vec![], true, start), None);
        assert_eq!(watch.look(1, pulse(1), true, start + GONE_MAX / 2), None, "it is back");
        assert_eq!(watch.look(1, vec![], false, start + GONE_MAX), None, "herder itself keeps it waiting");
        assert_eq!(watch.look(1, vec![], true, start + GONE_MAX * 2), None, "from now on it counts");
        assert!(watch.look(1, vec![], true, start + GONE_MAX * 3).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn discord_is_asked_once_why_it_lets_nobody_in() {
        let now = Instant::now();
        let mut watch = Watch::new(1, now);
        assert_eq!([watch.may_ask(false), watch.may_ask(true), watch.may_ask(true)], [false, true, false]);
        watch.up(0, now);
        assert!(!watch.may_ask(true), "it is in");
        watch.tried(now);
        assert!(watch.may_ask(true), "it was in meanwhile");
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_is_up_when_all_its_shards_are() {
        let now = Instant::now();
        let mut watch = Watch::new(2, now);
        assert_eq!([watch.up(0, now), watch.up(0, now), watch.up(1, now)], [false, false, true]);
    }
}
