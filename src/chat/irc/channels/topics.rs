//! The topics, which show the agents' state: set one after the other, and not against people.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::Channels;
use super::channel::Channel;
use crate::chat::irc::isupport::ISupport;
use crate::chat::irc::wire::Outgoing;

/// So many topics of one channel may follow each other closely, so that what an abort leads to is not shown late …
const TOPICS_MAX: usize = 3;
/// … and no more than those in so long.
const TOPICS_IN: Duration = Duration::from_secs(30);
/// Between two topics of a link: each is seen by everybody in its channel, and counts against flood limits.
const TOPIC_GAP: Duration = Duration::from_secs(2);
/// Before a topic that somebody else set is replaced.
const TOPIC_RESPECT: Duration = Duration::from_secs(60);

/// What a channel's topic is to be, and is.
#[derive(Debug)]
pub(super) struct Topic {
    wanted: Option<String>,
    shown: Option<String>,
    /// Not before.
    next: Instant,
    /// When the last ones were set, at most [`TOPICS_MAX`].
    set: VecDeque<Instant>,
    denied: bool,
}

impl Topic {
    /// None is wanted yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { wanted: None, shown: None, next: now, set: VecDeque::with_capacity(TOPICS_MAX), denied: false }
    }

    /// From now on it is to be this one, as much of it as the server takes.
    pub(super) fn want(&mut self, topic: &str, max: usize) {
        self.wanted = Some(clip(topic, max));
    }

    /// We came in: the topic that is already there comes with the names.
    pub(super) fn came_in(&mut self, now: Instant) {
        self.shown = None;
        self.denied = false;
        self.next = now + TOPIC_GAP;
    }
}

impl Channels {
    /// The topic that is due, if one is.
    pub(super) fn topic_due(&mut self, now: Instant) -> Option<Outgoing> {
        if self.topic_gap > now {
            return None;
        }
        let channel = self.list.iter_mut().find(|channel| topic_at(channel).is_some_and(|at| at <= now))?;
        let wanted = channel.topic.wanted.clone()?;
        channel.topic.shown = Some(wanted.clone());
        let set = &mut channel.topic.set;
        if set.len() == TOPICS_MAX {
            set.pop_front();
        }
        set.push_back(now);
        self.topic_gap = now + TOPIC_GAP;
        Some(Outgoing::new("TOPIC").word(channel.actual()).text(wanted))
    }

    /// When a topic is due.
    pub(super) fn topics_deadline(&self) -> Option<Instant> {
        self.list.iter().filter_map(topic_at).min().map(|at| at.max(self.topic_gap))
    }

    /// The server says what a channel's topic is; `by_us` if we have just set it.
    pub(crate) fn topic(&mut self, name: &str, topic: &str, by_us: bool, server: &ISupport, now: Instant) {
        let Some(channel) = self.find_mut(name, server) else { return };
        if by_us {
            return;
        }
        // Whoever set it meant it: it stands for a while before the agent's state is shown again.
        if channel.topic.shown.is_some() {
            channel.topic.next = now + TOPIC_RESPECT;
        }
        channel.topic.shown = Some(topic.to_owned());
    }

    /// 482: we may not set this channel's topic. It is not tried again until its modes change or we come in anew. The
    /// channel's name, if it is one of ours.
    pub(crate) fn topic_denied(&mut self, name: &str, server: &ISupport) -> Option<String> {
        let channel = self.find_mut(name, server)?;
        channel.topic.denied = true;
        channel.topic.shown = None;
        Some(channel.name.clone())
    }

    /// Whoever was denied the topic may be allowed to set it now.
    pub(crate) fn modes_changed(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.topic.denied = false;
        }
    }
}

/// When a channel's topic has to be set, if it has.
fn topic_at(channel: &Channel) -> Option<Instant> {
    let topic = &channel.topic;
    let due = channel.is_in() && !topic.denied && topic.wanted.is_some() && topic.wanted != topic.shown;
    let full = topic.set.front().filter(|_| topic.set.len() == TOPICS_MAX);
    due.then(|| full.map_or(topic.next, |first| topic.next.max(*first + TOPICS_IN)))
}

fn clip(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
