//! Topics, which show the agents' state. They are set one at a time, and a topic set by a person is respected for a while.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::Channels;
use super::channel::Channel;
use crate::chat::irc::isupport::ISupport;
use crate::chat::irc::wire::Outgoing;

/// Maximum number of topics that herder sets in one channel within `TOPICS_IN`: a short burst is allowed, so that the
/// effect of an abort shows at once.
const TOPICS_MAX: usize = 3;
/// Window in which `TOPICS_MAX` counts.
const TOPICS_IN: Duration = Duration::from_secs(30);
/// Minimum time between two topics on a network: everybody in the channel sees each one, and it counts against flood
/// limits.
const TOPIC_GAP: Duration = Duration::from_secs(2);
/// Minimum time before herder replaces a topic that somebody else has set.
const TOPIC_RESPECT: Duration = Duration::from_secs(60);

/// The wanted and the present topic of a channel.
#[derive(Debug)]
pub(super) struct Topic {
    wanted: Option<String>,
    shown: Option<String>,
    /// Time before which the topic is not changed.
    next: Instant,
    /// Times of herder's last changes of the topic, at most [`TOPICS_MAX`].
    set: VecDeque<Instant>,
    denied: bool,
}

impl Topic {
    /// Creates the state of a channel for which no topic is wanted yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { wanted: None, shown: None, next: now, set: VecDeque::with_capacity(TOPICS_MAX), denied: false }
    }

    /// Sets the wanted topic, cut to `max` bytes.
    pub(super) fn want(&mut self, topic: &str, max: usize) {
        self.wanted = Some(clip(topic, max));
    }

    /// Resets the state when herder has joined the channel: the server sends the present topic then.
    pub(super) fn came_in(&mut self, now: Instant) {
        self.shown = None;
        self.denied = false;
        self.next = now + TOPIC_GAP;
    }
}

impl Channels {
    /// Returns the TOPIC command that is due, if there is one.
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

    /// Returns the time at which the next topic is due; `None` if all are as wanted.
    pub(super) fn topics_deadline(&self) -> Option<Instant> {
        self.list.iter().filter_map(topic_at).min().map(|at| at.max(self.topic_gap))
    }

    /// Handles the news of a channel's topic; `by_us` is true if it was set by herder.
    pub(crate) fn topic(&mut self, name: &str, topic: &str, by_us: bool, server: &ISupport, now: Instant) {
        let Some(channel) = self.find_mut(name, server) else { return };
        if by_us {
            return;
        }
        // A person set it on purpose, so that it stays for a while before the agent's state is shown again.
        if channel.topic.shown.is_some() {
            channel.topic.next = now + TOPIC_RESPECT;
        }
        channel.topic.shown = Some(topic.to_owned());
    }

    /// Handles reply 482: herder may not set the channel's topic, and does not try again until the channel's modes
    /// change or it rejoins. Returns the channel's configured name.
    pub(crate) fn topic_denied(&mut self, name: &str, server: &ISupport) -> Option<String> {
        let channel = self.find_mut(name, server)?;
        channel.topic.denied = true;
        channel.topic.shown = None;
        Some(channel.name.clone())
    }

    /// Handles a change of a channel's modes: herder may be allowed to set the topic now.
    pub(crate) fn modes_changed(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.topic.denied = false;
        }
    }
}

/// Returns the time at which the channel's topic has to be set; `None` if it is as wanted.
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
