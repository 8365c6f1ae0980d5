//! How far each channel of a network is done, so that what was said while nobody listened can be asked for, and each line
//! is worked on once.
//!
//! A channel's mark is a time by the server's clock: all that was said before it is done. Servers of one network need not
//! agree to the millisecond, so the mark stays a little behind, and what is done beyond it is known by its id. What was
//! decided is on disk with the decision ([`Heard`]); how far a channel is done is noted shortly after, so that a herder that
//! was killed between the two is told a line again and knows it.
//!
//! Shared by the link, which takes lines in, and by whoever has worked on them. Without a channel's mark nothing about it is
//! kept: that is a network that cannot be asked.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::core::id::NetworkName;
use crate::journal::{Heard, Memo};

/// How far the clocks of a network's servers may be apart, and lines out of order, in milliseconds.
const SLACK: i64 = 10_000;
/// Lines beyond the mark that are known by their ids. With more of them within [`SLACK`] the mark follows more closely.
const DONE_MAX: usize = 40;
/// Memos in one commit, unless one channel has more.
const BATCH: usize = 200;

/// See the module. Clones are the same marks.
#[derive(Debug, Clone)]
pub struct Marks(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    network: NetworkName,
    channels: Mutex<Channels>,
    /// Something is to be noted.
    moved: Notify,
    /// It is to be noted at once.
    begun: Notify,
}

#[derive(Debug, Default)]
struct Channels {
    known: BTreeMap<String, Channel>,
    /// Channels that are followed no longer, and lines that need not be remembered: keys of memos to take out.
    forgotten: Vec<String>,
}

/// What is on disk of a channel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Noted {
    at: i64,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    done: VecDeque<(i64, String)>,
}

#[derive(Debug, Default)]
struct Channel {
    noted: Noted,
    /// The mark was set by a clock, not by a line: the first line may be older by the server's.
    guessed: bool,
    /// Handed over to be worked on, in the order in which that is done.
    taken: VecDeque<(i64, String)>,
    /// Lines that an earlier herder has decided and not noted, until the past was told once.
    decided: HashSet<String>,
    /// Ids whose memos can go as soon as the mark is noted.
    over: Vec<String>,
    dirty: bool,
}

impl Channel {
    fn knows(&self, id: &str) -> bool {
        let among = |lines: &VecDeque<(i64, String)>| lines.iter().any(|(_, known)| known == id);
        self.decided.contains(id) || among(&self.noted.done) || among(&self.taken)
    }

    /// The mark follows a line of `time` that is done, as far as those before it are.
    fn follow(&mut self, time: i64) {
        let waiting = self.taken.iter().map(|(time, _)| *time).min().unwrap_or(i64::MAX);
        self.noted.at = self.noted.at.max(time.saturating_sub(SLACK).min(waiting));
        while self.noted.done.len() > DONE_MAX
            && let Some((oldest, _)) = self.noted.done.pop_front()
        {
            self.noted.at = self.noted.at.max(oldest.saturating_add(1).min(waiting));
        }
        let at = self.noted.at;
        self.noted.done.retain(|(time, _)| *time >= at);
        self.dirty = true;
    }
}

fn seen(network: &NetworkName) -> String {
    format!("irc/seen/{network}/")
}

impl Marks {
    /// Under which keys the marks and the decisions of a network are kept: what [`Marks::load`] needs.
    #[must_use]
    pub fn keys(network: &NetworkName) -> (String, String) {
        (seen(network), Heard::prefix(network))
    }

    /// What is on disk of a network, under both of [`Marks::keys`].
    #[must_use]
    pub fn load(network: NetworkName, noted: Vec<(String, String)>, heard: Vec<(String, String)>) -> Self {
        let (seen, decided) = Self::keys(&network);
        let mut channels = Channels::default();
        for (key, value) in noted {
            let channel = key.strip_prefix(&seen).map(str::to_owned);
            match (channel, serde_json::from_str(&value)) {
                (Some(name), Ok(noted)) => {
                    channels.known.insert(name, Channel { noted, ..Channel::default() });
                }
                (_, _) => channels.forgotten.push(key),
            }
        }
        for (key, value) in heard {
            let place = serde_json::from_str::<Heard>(&value).unwrap_or_default().place;
            let channel = place.and_then(|place| channels.known.get_mut(&place));
            match (channel, key.strip_prefix(&decided)) {
                (Some(channel), Some(id)) => {
                    channel.decided.insert(id.to_owned());
                }
                (_, _) => channels.forgotten.push(key),
            }
        }
        Self(Arc::new(Shared {
            network,
            channels: Mutex::new(channels),
            moved: Notify::new(),
            begun: Notify::new(),
        }))
    }

    /// Of a network that nothing is known of.
    #[must_use]
    pub fn new(network: NetworkName) -> Self {
        Self::load(network, Vec::new(), Vec::new())
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.0.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Up to when `channel` is done, in milliseconds of the server's clock, and the last line that is; `None`: nobody has
    /// followed it before.
    pub(crate) fn of(&self, channel: &str) -> Option<(i64, Option<String>)> {
        let channels = self.channels();
        let noted = &channels.known.get(channel)?.noted;
        Some((noted.at, noted.done.back().map(|(_, id)| id.clone())))
    }

    /// We have come into a channel that nobody has followed before: it is followed from that line on, of the server's time
    /// `at`. A herder that is killed now must know that it was there, so that this is noted at once.
    pub(crate) fn came_in(&self, channel: &str, at: i64) {
        self.begin_at(channel, at, false);
        self.0.begun.notify_one();
    }

    /// A channel is followed from `at` on: what was said before is nobody's to work on.
    pub(crate) fn begin(&self, channel: &str, at: i64) {
        self.begin_at(channel, at, true);
    }

    fn begin_at(&self, channel: &str, at: i64, guessed: bool) {
        let mut channels = self.channels();
        let state = channels.known.entry(channel.to_owned()).or_default();
        // What is done stays known: the clocks may be apart. What is being worked on may be lost yet.
        let waiting = state.taken.iter().map(|(time, _)| *time).min();
        state.noted.at = waiting.map_or(at, |waiting| at.min(waiting));
        (state.guessed, state.dirty) = (guessed, true);
        let decided = std::mem::take(&mut state.decided);
        state.over.extend(decided);
        drop(channels);
        self.0.moved.notify_one();
    }

    /// A line of the past is told once more. Answers whether it is done, or is being worked on.
    pub(crate) fn meets(&self, channel: &str, id: &str, time: i64) -> bool {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return false };
        if !state.decided.remove(id) {
            return state.knows(id);
        }
        // Now it is known when it was said, and is remembered like everything that is done.
        state.over.push(id.to_owned());
        state.noted.done.push_back((time, id.to_owned()));
        state.follow(time);
        drop(channels);
        self.0.moved.notify_one();
        true
    }

    /// Whether a line is done, or is being worked on.
    pub(crate) fn knows(&self, channel: &str, id: &str) -> bool {
        self.channels().known.get(channel).is_some_and(|channel| channel.knows(id))
    }

    /// A line is handed over to be worked on. Answers whether it is followed: [`Marks::done`] is to be told then.
    pub(crate) fn took(&self, channel: &str, id: &str, time: i64) -> bool {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return false };
        if std::mem::take(&mut state.guessed) {
            state.noted.at = state.noted.at.min(time.saturating_sub(SLACK));
        }
        state.taken.push_back((time, id.to_owned()));
        true
    }

    /// A line was worked on.
    pub fn done(&self, channel: &str, id: &str) {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return };
        let Some(index) = state.taken.iter().position(|(_, taken)| taken == id) else { return };
        let Some((time, id)) = state.taken.remove(index) else { return };
        state.over.push(id.clone());
        state.noted.done.push_back((time, id));
        state.follow(time);
        drop(channels);
        self.0.moved.notify_one();
    }

    /// A line that nobody works on was heard live, herder's own for one.
    pub(crate) fn passed(&self, channel: &str, time: i64) {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return };
        let before = state.noted.at;
        state.follow(time);
        let moved = state.noted.at != before;
        drop(channels);
        if moved {
            self.0.moved.notify_one();
        }
    }

    /// All that was missed in a channel was told: what an earlier herder has decided is not told again.
    pub(crate) fn told(&self, channel: &str) {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return };
        let decided = std::mem::take(&mut state.decided);
        state.dirty |= !decided.is_empty();
        state.over.extend(decided);
        drop(channels);
        self.0.moved.notify_one();
    }

    /// Channels other than those that `stays` names are followed no longer: what is said there is for nobody.
    pub(crate) fn keep(&self, stays: impl Fn(&str) -> bool) {
        let (network, mut channels) = (&self.0.network, self.channels());
        let gone: Vec<String> = channels.known.keys().filter(|name| !stays(name)).cloned().collect();
        if gone.is_empty() {
            return;
        }
        for name in gone {
            let Some(state) = channels.known.remove(&name) else { continue };
            channels.forgotten.push(format!("{}{name}", seen(network)));
            let lines = state.decided.into_iter().chain(state.over);
            // What is still being worked on may be decided later; it is found at the next start.
            channels.forgotten.extend(lines.map(|id| format!("{}{id}", Heard::prefix(network))));
        }
        drop(channels);
        self.0.moved.notify_one();
    }

    /// Waits until something is to be noted.
    pub async fn moved(&self) {
        self.0.moved.notified().await;
    }

    /// Waits until something is to be noted at once.
    pub async fn begun(&self) {
        self.0.begun.notified().await;
    }

    /// What is to be noted, in commits: each holds whole channels.
    #[must_use]
    pub fn note(&self) -> Vec<Vec<Memo>> {
        let network = &self.0.network;
        let mut channels = self.channels();
        let mut commits = Vec::new();
        let gone = |key| Memo { key, value: None };
        let mut memos: Vec<Memo> = std::mem::take(&mut channels.forgotten).into_iter().map(gone).collect();
        for (name, state) in channels.known.iter_mut().filter(|(_, state)| state.dirty) {
            state.dirty = false;
            let value = serde_json::to_string(&state.noted).ok();
            memos.push(Memo { key: format!("{}{name}", seen(network)), value });
            let over = std::mem::take(&mut state.over).into_iter();
            memos.extend(over.map(|id| gone(format!("{}{id}", Heard::prefix(network)))));
            if memos.len() >= BATCH {
                commits.push(std::mem::take(&mut memos));
            }
        }
        commits.push(memos);
        commits.retain(|memos| !memos.is_empty());
        commits
    }
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
