//! Recent lines, members and topics of the channels, and the extra channels that agents have joined.
//!
//! This state is in memory only: after a restart it is empty, and the sessions that use it start anew too. People's
//! lines come from inbound messages, agents' from outgoing ones, members and topics from the IRC links; Discord
//! provides no members.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::core::id::{AgentName, NetworkName};
use crate::core::places::Place;
use crate::core::time::Timestamp;
use crate::runtime::text::bounded;

/// Maximum number of lines kept per channel for agents to read.
pub const LINES_KEPT: usize = 100;

/// Maximum length of a kept line, in bytes; a longer one is cut.
const TEXT_MAX: usize = 1000;

/// Maximum number of channels whose lines are kept; for a further one the channel that was silent for longest is
/// dropped.
const ROOMS_MAX: usize = 1000;

/// Maximum number of members kept per channel; a tool's answer says if there are more.
pub const MEMBERS_MAX: usize = 1000;

/// Maximum number of channels that one agent can join besides its own.
pub const JOINED_MAX: usize = crate::core::places::CHANNELS_MAX;

/// A line that was said in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Number of the line: later lines of any channel have higher ones.
    pub number: u64,
    /// Time at which the line was said.
    pub at: Timestamp,
    /// Nick of the line's author.
    pub nick: String,
    /// Text of the line.
    pub text: String,
}

/// Key of a channel: its network, and its name in lower case.
type Key = (NetworkName, String);

#[derive(Debug, Default)]
struct Room {
    lines: VecDeque<Line>,
    topic: Option<String>,
    members: BTreeSet<String>,
    /// True if herder is in the channel, as far as is known.
    inside: bool,
}

#[derive(Debug, Default)]
struct Known {
    rooms: HashMap<Key, Room>,
    joined: BTreeMap<AgentName, BTreeSet<Key>>,
    last: u64,
}

/// Recent lines, members and topics of all channels, and the extra channels that agents have joined; in memory only.
/// Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Rooms(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    /// Signals any change of lines, members, topics or presence, to waiting tool calls.
    changed: watch::Sender<()>,
    /// Signals a change of the extra channels that agents have joined, so that herder joins or leaves them.
    wanted: watch::Sender<()>,
}

impl Rooms {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, network: &NetworkName, channel: &str, change: impl FnOnce(&mut Room)) {
        change(self.known().room(network, channel));
        self.0.changed.send_replace(());
    }

    /// Returns a receiver that is signalled at any change of lines, members, topics or presence.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Returns a receiver that is signalled when an agent joins or leaves an extra channel.
    #[must_use]
    pub fn wishes(&self) -> watch::Receiver<()> {
        self.0.wanted.subscribe()
    }

    /// Records a line that was said in a channel, as the channel's last one.
    pub fn said(&self, network: &NetworkName, channel: &str, nick: &str, text: &str, at: Timestamp) {
        let mut known = self.known();
        known.last += 1;
        let line = Line {
            number: known.last,
            at,
            nick: bounded(nick, 64).to_owned(),
            text: bounded(text, TEXT_MAX).to_owned(),
        };
        let room = known.room(network, channel);
        while room.lines.len() >= LINES_KEPT {
            room.lines.pop_front();
        }
        room.lines.push_back(line);
        drop(known);
        self.0.changed.send_replace(());
    }

    /// Returns the last lines of a channel that came after line number `after`, at most `most`, oldest first.
    #[must_use]
    pub fn lines(&self, place: &Place, after: u64, most: usize) -> Vec<Line> {
        let known = self.known();
        let Some(room) = known.rooms.get(&key(&place.network, &place.name)) else { return Vec::new() };
        let newer: Vec<&Line> = room.lines.iter().filter(|line| line.number > after).collect();
        newer[newer.len().saturating_sub(most)..].iter().map(|line| (*line).clone()).collect()
    }

    /// Returns the number of the last line in any channel.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.known().last
    }

    /// Returns the topic of a channel; `None` if it is unknown or empty.
    #[must_use]
    pub fn topic(&self, place: &Place) -> Option<String> {
        self.known().rooms.get(&key(&place.network, &place.name))?.topic.clone()
    }

    /// Returns the nicks of a channel's members and true; or, if the network does not provide them, those of the recent
    /// speakers and false.
    #[must_use]
    pub fn members(&self, place: &Place) -> (Vec<String>, bool) {
        let known = self.known();
        let Some(room) = known.rooms.get(&key(&place.network, &place.name)) else {
            return (Vec::new(), false);
        };
        if room.members.is_empty() {
            let spoke: BTreeSet<&String> = room.lines.iter().map(|line| &line.nick).collect();
            return (spoke.into_iter().cloned().collect(), false);
        }
        (room.members.iter().cloned().collect(), true)
    }

    /// Returns true if somebody is in one of herder's channels on a network.
    #[must_use]
    pub fn has(&self, network: &NetworkName, nick: &str) -> bool {
        let known = self.known();
        let mut rooms = known.rooms.iter().filter(|((of, _), room)| of == network && room.inside);
        rooms.any(|(_, room)| room.members.contains(nick))
    }

    /// Returns true if herder is in the channel, as far as is known.
    #[must_use]
    pub fn is_inside(&self, place: &Place) -> bool {
        self.known().rooms.get(&key(&place.network, &place.name)).is_some_and(|room| room.inside)
    }

    /// Records that an agent joins an extra channel of its setting `channels`. Returns false if it has joined
    /// `JOINED_MAX` already.
    #[must_use]
    pub fn join(&self, agent: &AgentName, place: &Place) -> bool {
        let mut known = self.known();
        let joined = known.joined.entry(agent.clone()).or_default();
        let key = key(&place.network, &place.name);
        let room = joined.contains(&key) || joined.len() < JOINED_MAX;
        if room {
            joined.insert(key);
        }
        drop(known);
        self.0.wanted.send_replace(());
        room
    }

    /// Records that an agent leaves an extra channel of its setting `channels`. Returns false if the agent was not in
    /// it.
    #[must_use]
    pub fn part(&self, agent: &AgentName, place: &Place) -> bool {
        let key = key(&place.network, &place.name);
        let left = self.known().joined.get_mut(agent).is_some_and(|joined| joined.remove(&key));
        self.0.wanted.send_replace(());
        left
    }

    /// Returns true if an agent has joined this extra channel.
    #[must_use]
    pub fn has_joined(&self, agent: &AgentName, place: &Place) -> bool {
        let key = key(&place.network, &place.name);
        self.known().joined.get(agent).is_some_and(|joined| joined.contains(&key))
    }

    // ── events from a link ──

    /// Forgets the members of a network's channels at a new connection, after which the network sends them again.
    pub fn link_began(&self, network: &NetworkName) {
        let mut known = self.known();
        for (_, room) in known.rooms.iter_mut().filter(|((of, _), _)| of == network) {
            room.members.clear();
            room.inside = false;
        }
        drop(known);
        self.0.changed.send_replace(());
    }

    /// Records whether herder is in a channel; its members are forgotten.
    pub fn inside(&self, network: &NetworkName, channel: &str, inside: bool) {
        self.change(network, channel, |room| {
            room.inside = inside;
            room.members.clear();
        });
    }

    /// Records that these nicks are members of a channel.
    pub fn present(&self, network: &NetworkName, channel: &str, nicks: &[&str]) {
        self.change(network, channel, |room| {
            for nick in nicks {
                if room.members.len() < MEMBERS_MAX {
                    room.members.insert(bounded(nick, 64).to_owned());
                }
            }
        });
    }

    /// Records that a nick left a channel, or the whole network if `channel` is `None`.
    pub fn absent(&self, network: &NetworkName, channel: Option<&str>, nick: &str) {
        let mut known = self.known();
        for ((of, name), room) in &mut known.rooms {
            if of == network && channel.is_none_or(|channel| channel.eq_ignore_ascii_case(name)) {
                room.members.remove(nick);
            }
        }
        drop(known);
        self.0.changed.send_replace(());
    }

    /// Records that somebody on a network has changed their nick.
    pub fn renamed(&self, network: &NetworkName, from: &str, to: &str) {
        let mut known = self.known();
        for (_, room) in known.rooms.iter_mut().filter(|((of, _), _)| of == network) {
            if room.members.remove(from) {
                room.members.insert(bounded(to, 64).to_owned());
            }
        }
        drop(known);
        self.0.changed.send_replace(());
    }

    /// Records the topic of a channel; an empty text stands for none.
    pub fn topic_is(&self, network: &NetworkName, channel: &str, topic: &str) {
        let topic = (!topic.is_empty()).then(|| bounded(topic, TEXT_MAX).to_owned());
        self.change(network, channel, |room| room.topic = topic);
    }
}

impl Known {
    fn room(&mut self, network: &NetworkName, channel: &str) -> &mut Room {
        let key = key(network, channel);
        if !self.rooms.contains_key(&key) && self.rooms.len() >= ROOMS_MAX {
            let last = |room: &Room| room.lines.back().map_or(0, |line| line.number);
            let silent =
                self.rooms.iter().filter(|(_, room)| !room.inside).min_by_key(|(_, room)| last(room));
            if let Some(silent) = silent.map(|(key, _)| key.clone()) {
                self.rooms.remove(&silent);
            }
        }
        self.rooms.entry(key).or_default()
    }
}

fn key(network: &NetworkName, channel: &str) -> Key {
    (network.clone(), channel.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::post::Target;

    fn place(name: &str) -> Place {
        Place {
            network: "libera".into(),
            name: name.to_owned(),
            target: Target::Channel(name.to_owned()),
            extra: true,
        }
    }

    #[test]
    fn the_last_lines_of_a_channel_are_kept_in_order() {
        let rooms = Rooms::default();
        let network = NetworkName::from("libera");
        for n in 0..LINES_KEPT + 10 {
            rooms.said(&network, "#Dev", "alice", &format!("line {n}"), Timestamp::from_seconds(1));
        }
        rooms.said(&network, "#ops", "bob", "elsewhere", Timestamp::from_seconds(1));
        let lines = rooms.lines(&place("#dev"), 0, usize::MAX);
        assert_eq!(lines.len(), LINES_KEPT);
        assert_eq!(lines[0].text, "line 10");
        let last = rooms.lines(&place("#dev"), 0, 2);
        assert_eq!(last.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["line 108", "line 109"]);
        assert_eq!(rooms.lines(&place("#dev"), last[0].number, 9).len(), 1);
        assert_eq!(rooms.members(&place("#ops")), (vec!["bob".to_owned()], false));
    }

    #[test]
    fn members_come_rename_and_go() {
        let rooms = Rooms::default();
        let network = NetworkName::from("libera");
        rooms.inside(&network, "#dev", true);
        rooms.present(&network, "#DEV", &["alice", "bob", "herder"]);
        rooms.renamed(&network, "bob", "rob");
        rooms.absent(&network, None, "alice");
        assert_eq!(rooms.members(&place("#dev")), (vec!["herder".to_owned(), "rob".to_owned()], true));
        assert!(rooms.is_inside(&place("#dev")));
        rooms.link_began(&network);
        assert!(!rooms.is_inside(&place("#dev")));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let rooms = Rooms::default();
        let network = NetworkName::from("discord");
        for n in 0..ROOMS_MAX + 50 {
            rooms.said(
                &network,
                &n.to_string(),
                "alice",
                &"x".repeat(TEXT_MAX * 2),
                Timestamp::from_seconds(1),
            );
        }
        assert_eq!(rooms.known().rooms.len(), ROOMS_MAX);
        assert!(rooms.lines(&place("0"), 0, 1).is_empty());
    }
}
