//! The topics, which show the agents' state: set one after the other, and not against people.

use std::time::Duration;

use tokio::time::Instant;

use super::Channels;
use super::channel::Channel;
use crate::chat::irc::isupport::ISupport;
use crate::chat::irc::wire::Outgoing;

/// Between two topics of one channel.
const TOPIC_EVERY: Duration = Duration::from_secs(10);
/// Between two topics of a link: each is seen by everybody in its channel, and counts against flood limits.
const TOPIC_GAP: Duration = Duration::from_secs(2);
/// Before a topic that somebody else set is replaced.
const TOPIC_RESPECT: Duration = Duration::from_secs(60);

/// What a channel's topic is to be, and is.
#[derive(Debug)]
pub(super) struct Topic {
    wanted: Option<String>,
    shown: Option<String>,
    next: Instant,
    denied: bool,
}

impl Topic {
    /// None is wanted yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { wanted: None, shown: None, next: now, denied: false }
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
        channel.topic.next = now + TOPIC_EVERY;
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
    due.then_some(topic.next)
}

fn clip(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
