//! Topics, within Discord's limit of two changes of a channel's name or topic in ten minutes.
//!
//! The newest topic wins; short-lived ones are never shown. The first change of a window is made at once, the second
//! one only for a lasting state, so that a channel does not show for ten minutes a state that lasted a second.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serenity::all::ChannelId;
use tokio::time::Instant;

use crate::core::id::AgentName;

/// Maximum number of changes of one channel's topic in `WINDOW`; Discord's limit.
const EDITS_MAX: usize = 2;

/// Duration of the window in which Discord counts topic changes: ten minutes, with a margin for clocks and latency.
const WINDOW: Duration = Duration::from_secs(605);

/// Time for which a wanted topic must stay the same before it is sent, for the first and the second change of a window.
const LASTS: [Duration; EDITS_MAX] = [Duration::from_secs(2), Duration::from_secs(20)];

/// Wait after Discord refused a topic change: it also counts changes that herder does not know, e.g. those before a
/// restart.
const AFTER_REFUSAL: Duration = Duration::from_secs(300);

/// Maximum number of topic changes in flight: enough for a fleet, without delaying posts.
const AT_ONCE: usize = 4;

/// Maximum length of a channel's topic, in characters.
const TOPIC_MAX: usize = 1024;

/// A change of a channel's topic, to be sent to Discord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) agent: AgentName,
    pub(super) channel: ChannelId,
    pub(super) topic: String,
}

/// The wanted and the shown topics of all agents' channels. See the module.
#[derive(Debug, Default)]
pub(super) struct Topics {
    of: BTreeMap<AgentName, Topic>,
    busy: usize,
}

#[derive(Debug)]
struct Topic {
    wanted: String,
    since: Instant,
    channel: Option<ChannelId>,
    shown: String,
    edits: Vec<Instant>,
    not_before: Option<Instant>,
    busy: bool,
}

impl Topic {
    /// Returns the time at which the topic has to be changed; `None` if it is as wanted.
    fn due(&self) -> Option<Instant> {
        if self.busy || self.channel.is_none() || self.wanted == self.shown {
            return None;
        }
        let free = match self.edits.len() {
            count if count < EDITS_MAX => self.since + LASTS[count],
            count => self.edits.get(count - EDITS_MAX).map(|at| *at + WINDOW)?,
        };
        Some(self.not_before.map_or(free, |at| at.max(free)))
    }

    fn forget(&mut self, now: Instant) {
        self.edits.retain(|at| *at + WINDOW > now);
    }
}

impl Topics {
    /// Sets the topic that an agent's channel has to show.
    pub(super) fn want(&mut self, agent: &AgentName, topic: &str, now: Instant) {
        // Discord trims topics itself, and the shown topic is compared with the wanted one.
        let topic: String = topic.trim().chars().take(TOPIC_MAX).collect();
        let entry = self.of.entry(agent.clone()).or_insert_with(|| Topic {
            wanted: topic.clone(),
            since: now,
            channel: None,
            shown: String::new(),
            edits: Vec::new(),
            not_before: None,
            busy: false,
        });
        if entry.wanted != topic {
            (entry.wanted, entry.since) = (topic, now);
        }
    }

    /// Forgets the topics of all agents except these.
    pub(super) fn keep(&mut self, agents: &BTreeSet<AgentName>) {
        self.of.retain(|agent, _| agents.contains(agent));
    }

    /// Returns the topic that an agent's channel has to show; `None` if none is set.
    pub(super) fn wanted(&self, agent: &AgentName) -> Option<String> {
        self.of.get(agent).map(|topic| topic.wanted.clone()).filter(|topic| !topic.is_empty())
    }

    /// Records the topic that an agent's channel shows at present.
    pub(super) fn shows(&mut self, agent: &AgentName, channel: ChannelId, shown: String, now: Instant) {
        let Some(topic) = self.of.get_mut(agent) else { return };
        if topic.channel != Some(channel) {
            // Another channel has a limit of its own.
            topic.edits.clear();
            (topic.channel, topic.not_before) = (Some(channel), None);
        }
        topic.forget(now);
        topic.shown = shown;
    }

    /// Records that an agent has no channel any more.
    pub(super) fn left(&mut self, agent: &AgentName) {
        if let Some(topic) = self.of.get_mut(agent) {
            topic.channel = None;
        }
    }

    /// Returns the next topic change that is due and allowed by Discord's limits, in a channel for which `may` returns
    /// true. [`Topics::done`] has to be called with its result.
    pub(super) fn next(&mut self, now: Instant, may: impl Fn(ChannelId) -> bool) -> Option<Edit> {
        if self.busy >= AT_ONCE {
            return None;
        }
        for topic in self.of.values_mut() {
            topic.forget(now);
        }
        let due = self.of.iter_mut().filter_map(|(agent, topic)| Some((topic.due()?, agent, topic)));
        let due = due.filter(|(at, _, topic)| *at <= now && topic.channel.is_some_and(&may));
        let (_, agent, topic) = due.min_by_key(|(at, ..)| *at)?;
        (topic.busy, self.busy) = (true, self.busy + 1);
        topic.edits.push(now);
        Some(Edit { agent: agent.clone(), channel: topic.channel?, topic: topic.wanted.clone() })
    }

    /// Handles the result of a topic change: whether Discord accepted it.
    pub(super) fn done(&mut self, edit: &Edit, accepted: bool, now: Instant) {
        self.busy = self.busy.saturating_sub(1);
        let Some(topic) = self.of.get_mut(&edit.agent) else { return };
        topic.busy = false;
        if topic.channel != Some(edit.channel) {
            return;
        }
        if accepted {
            topic.shown.clone_from(&edit.topic);
        } else {
            topic.not_before = Some(now + AFTER_REFUSAL);
        }
    }

    /// Returns the time at which [`Topics::next`] has to be called.
    pub(super) fn deadline(&self, may: impl Fn(ChannelId) -> bool) -> Option<Instant> {
        if self.busy >= AT_ONCE {
            return None;
        }
        let allowed = |topic: &&Topic| topic.channel.is_some_and(&may);
        self.of.values().filter(allowed).filter_map(Topic::due).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a good name")
    }

    const SHOWN: ChannelId = ChannelId::new(7);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Simulates wanted topics, each with the second in which it is wanted, and returns the topics that were set, each
    /// with its second.
    fn run(wishes: &[(u64, &str)], until: u64, refuse: bool) -> Vec<(u64, String)> {
        let start = Instant::now();
        let mut topics = Topics::default();
        topics.want(&spark(), "idle", start);
        topics.shows(&spark(), SHOWN, "idle".to_owned(), start);
        let mut set = Vec::new();
        for second in 0..=until {
            let now = start + seconds(second);
            for (_, wish) in wishes.iter().filter(|(at, _)| *at == second) {
                topics.want(&spark(), wish, now);
            }
            while let Some(edit) = topics.next(now, |_| true) {
                topics.done(&edit, !refuse, now);
                set.push((second, edit.topic));
            }
        }
        set
    }

    #[test]
    fn two_changes_in_ten_minutes_and_the_newest_wins() {
        let set = |wishes| run(wishes, 1300, false);
        assert_eq!(set(&[(10, "busy")]), [(12, "busy".to_owned())]);
        assert_eq!(set(&[(10, "busy"), (11, "idle")]), [], "nobody could have read it");
        assert_eq!(
            set(&[(10, "a"), (20, "b"), (30, "c"), (40, "d")]),
            [(12, "a".to_owned()), (60, "d".to_owned())],
            "the second one is kept for what lasts"
        );
        assert_eq!(
            set(&[(10, "a"), (100, "b"), (200, "c"), (300, "d")]),
            [(12, "a".to_owned()), (120, "b".to_owned()), (617, "d".to_owned())]
        );
        assert_eq!(set(&[(10, "a"), (100, "b"), (200, "c"), (300, "b")]).len(), 2);
    }

    #[test]
    fn a_refusal_is_waited_out() {
        assert_eq!(run(&[(0, "a")], 301, true), [(2, "a".to_owned())]);
        assert_eq!(run(&[(0, "a")], 310, true).len(), 2);
    }

    #[test]
    fn without_a_channel_or_the_permission_nothing_is_due() {
        let now = Instant::now();
        let later = now + seconds(60);
        let mut topics = Topics::default();
        topics.want(&spark(), "busy", now);
        assert_eq!(topics.next(later, |_| true), None);
        topics.shows(&spark(), SHOWN, String::new(), now);
        assert_eq!(topics.next(later, |_| false), None);
        assert_eq!(topics.deadline(|_| false), None);
        assert!(topics.deadline(|_| true).is_some());
        assert!(topics.next(later, |_| true).is_some());
        assert_eq!(topics.next(later, |_| true), None, "one at a time");
    }

    proptest! {
        #[test]
        fn never_more_than_two_in_any_ten_minutes(wishes in prop::collection::vec((0..2000_u64, "[a-d]"), 0..60)) {
            let wishes: Vec<(u64, &str)> = wishes.iter().map(|(at, wish)| (*at, wish.as_str())).collect();
            let set = run(&wishes, 3000, false);
            for three in set.windows(3) {
                prop_assert!(three[2].0 - three[0].0 >= 600, "{set:?}");
            }
            let mut sorted = wishes.clone();
            sorted.sort_by_key(|(at, _)| *at);
            let last = sorted.last().map_or("idle", |(_, wish)| wish);
            prop_assert_eq!(set.last().map_or("idle", |(_, topic)| topic), last, "in the end it is right");
        }
    }
}
