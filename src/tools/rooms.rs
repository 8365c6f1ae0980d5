//! What was said in the channels lately, who is there, and which extra channels agents have joined.
//!
//! It is memory and nothing else: after a restart it begins anew, and so do the sessions that ask. People's words come from
//! where they are heard, agents' from where they are sent, members and topics from the IRC links; Discord tells no members.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::places::Place;
use crate::core::id::{AgentName, NetworkName};
use crate::core::time::Timestamp;
use crate::runtime::text::bounded;

/// Lines that are kept of one channel.
pub const LINES_KEPT: usize = 100;

/// The most of one line.
const TEXT_MAX: usize = 1000;

/// Channels that are remembered; beyond it the one that was silent longest is forgotten.
const ROOMS_MAX: usize = 1000;

/// Members that are kept of one channel; it is said that there are more.
pub const MEMBERS_MAX: usize = 1000;

/// Channels that one agent can have joined beside its own.
pub const JOINED_MAX: usize = super::places::CHANNELS_MAX;

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number: later lines of any channel have higher ones.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub nick: String,
    /// What.
    pub text: String,
}

/// A channel of a network, its name in small letters.
type Key = (NetworkName, String);

#[derive(Debug, Default)]
struct Room {
    lines: VecDeque<Line>,
    topic: Option<String>,
    members: BTreeSet<String>,
    /// herder is in it, as far as that can be told.
    inside: bool,
}

#[derive(Debug, Default)]
struct Known {
    rooms: HashMap<Key, Room>,
    joined: BTreeMap<AgentName, BTreeSet<Key>>,
    last: u64,
}

/// See the module. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Rooms(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    /// Rings when anything has changed.
    changed: watch::Sender<()>,
    /// Rings when the channels that agents have joined have changed.
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

    /// Rings when anything has changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Rings when agents have joined or left channels.
    #[must_use]
    pub fn wishes(&self) -> watch::Receiver<()> {
        self.0.wanted.subscribe()
    }

    /// Somebody said something.
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

    /// The last lines of a channel after the one of that number, oldest first.
    #[must_use]
    pub fn lines(&self, place: &Place, after: u64, most: usize) -> Vec<Line> {
        let known = self.known();
        let Some(room) = known.rooms.get(&key(&place.network, &place.name)) else { return Vec::new() };
        let newer: Vec<&Line> = room.lines.iter().filter(|line| line.number > after).collect();
        newer[newer.len().saturating_sub(most)..].iter().map(|line| (*line).clone()).collect()
    }

    /// The number of the last line that was heard anywhere.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.known().last
    }

    /// The topic of a channel, if it is known.
    #[must_use]
    pub fn topic(&self, place: &Place) -> Option<String> {
        self.known().rooms.get(&key(&place.network, &place.name))?.topic.clone()
    }

    /// Who is in a channel, if the network tells; else whoever has spoken there lately.
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

    /// Whether herder is in a channel.
    #[must_use]
    pub fn is_inside(&self, place: &Place) -> bool {
        self.known().rooms.get(&key(&place.network, &place.name)).is_some_and(|room| room.inside)
    }

    /// An agent joins a channel of its list. False: it has as many as it may.
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

    /// An agent leaves a channel of its list. False: it was not in it.
    #[must_use]
    pub fn part(&self, agent: &AgentName, place: &Place) -> bool {
        let key = key(&place.network, &place.name);
        let left = self.known().joined.get_mut(agent).is_some_and(|joined| joined.remove(&key));
        self.0.wanted.send_replace(());
        left
    }

    /// Whether an agent has joined a channel of its list.
    #[must_use]
    pub fn has_joined(&self, agent: &AgentName, place: &Place) -> bool {
        let key = key(&place.network, &place.name);
        self.known().joined.get(agent).is_some_and(|joined| joined.contains(&key))
    }

    // ── what a link sees ──

    /// A link is new: who is where will be told anew.
    pub fn link_began(&self, network: &NetworkName) {
        let mut known = self.known();
        for (_, room) in known.rooms.iter_mut().filter(|((of, _), _)| of == network) {
            room.members.clear();
            room.inside = false;
        }
        drop(known);
        self.0.changed.send_replace(());
    }

    /// herder is in a channel now, or no more.
    pub fn inside(&self, network: &NetworkName, channel: &str, inside: bool) {
        self.change(network, channel, |room| {
            room.inside = inside;
            room.members.clear();
        });
    }

    /// Somebody is in a channel.
    pub fn present(&self, network: &NetworkName, channel: &str, nicks: &[&str]) {
        self.change(network, channel, |room| {
            for nick in nicks {
                if room.members.len() < MEMBERS_MAX {
                    room.members.insert(bounded(nick, 64).to_owned());
                }
            }
        });
    }

    /// Somebody is in a channel no more; without one: in none.
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

    /// Somebody has another nick.
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

    /// A channel has this topic.
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
    use crate::outbox::Target;

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
