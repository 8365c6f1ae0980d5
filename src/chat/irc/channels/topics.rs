//! Topics, which show the agents' state. They are set one at a time, and a topic set by a person is respected for a while.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::Channels;
use super::channel::Channel;
use crate::chat::irc::isupport::ISupport;
use crate::chat::irc::wire::Outgoing;

/// Maximum number of topics of one channel within [`TOPICS_IN`]: a short burst is allowed, so that the effect of an
/// abort shows at once.
const TOPICS_MAX: usize = 3;
/// Time window of [`TOPICS_MAX`].
const TOPICS_IN: Duration = Duration::from_secs(30);
/// Minimum time between two topics of a link: everybody in the channel sees each one, and it counts against flood limits.
const TOPIC_GAP: Duration = Duration::from_secs(2);
/// Minimum time before a topic that somebody else set is replaced.
const TOPIC_RESPECT: Duration = Duration::from_secs(60);

/// The wanted and the present topic of a channel.
#[derive(Debug)]
pub(super) struct Topic {
    wanted: Option<String>,
    shown: Option<String>,
    /// The earliest time of the next change.
    next: Instant,
    /// Times of the last changes, at most [`TOPICS_MAX`].
    set: VecDeque<Instant>,
    denied: bool,
}

impl Topic {
    /// Creates the state without a wanted topic.
    pub(super) fn new(now: Instant) -> Self {
        Self { wanted: None, shown: None, next: now, set: VecDeque::with_capacity(TOPICS_MAX), denied: false }
    }

    /// Sets the wanted topic, cut to `max` bytes.
    pub(super) fn want(&mut self, topic: &str, max: usize) {
        self.wanted = Some(clip(topic, max));
    }

    /// Resets the state after our JOIN: the server sends the present topic with the names.
    pub(super) fn came_in(&mut self, now: Instant) {
        self.shown = None;
        self.denied = false;
        self.next = now + TOPIC_GAP;
    }
}

impl Channels {
    /// Returns the TOPIC line that is due.
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

    /// Returns the time of the next topic change.
    pub(super) fn topics_deadline(&self) -> Option<Instant> {
        self.list.iter().filter_map(topic_at).min().map(|at| at.max(self.topic_gap))
    }

    /// Handles a TOPIC of the server; `by_us` is true if it is the echo of our own.
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

    /// Handles 482: we may not set this channel's topic, and do not try again until its modes change or we rejoin.
    /// Returns the channel's configured name.
    pub(crate) fn topic_denied(&mut self, name: &str, server: &ISupport) -> Option<String> {
        let channel = self.find_mut(name, server)?;
        channel.topic.denied = true;
        channel.topic.shown = None;
        Some(channel.name.clone())
    }

    /// Handles a mode change: we may be allowed to set the topic now.
    pub(crate) fn modes_changed(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.topic.denied = false;
        }
    }
}

/// Returns the time at which the channel's topic has to be set, if it has to.
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
