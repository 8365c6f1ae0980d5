//! The position up to which each channel of a network is handled, so that missed speech can be requested and each
//! line is handled once.
//!
//! A channel's mark is a time by the server's clock: every line before it is handled. The clocks of a network's
//! servers differ slightly, so that the mark stays a little behind, and handled lines after it are known by their
//! ids. A decision is stored together with the line's id ([`Heard`]); the mark is stored shortly after. If herder is
//! killed between the two, it receives the line again and recognises it.
//!
//! The marks are shared by the link, which receives lines, and the tasks that handle them. Nothing is stored about a
//! channel without a mark: its network has no history.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::core::id::NetworkName;
use crate::journal::{Heard, Memo};

/// Maximum difference between the clocks of a network's servers, and between the times of lines out of order, in ms.
const SLACK: i64 = 10_000;
/// Maximum number of handled lines after the mark whose id is kept. With more of them within [`SLACK`] the mark follows
/// more closely.
const DONE_MAX: usize = 40;
/// Maximum number of memos that are stored in one commit, unless one channel has more.
const BATCH: usize = 200;

/// The read marks of an IRC network's channels: times up to which lines are handled. See the module. Clones share the
/// same state.
#[derive(Debug, Clone)]
pub struct Marks(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    network: NetworkName,
    channels: Mutex<Channels>,
    /// Signals that marks have changed and have to be stored within some seconds.
    moved: Notify,
    /// Signals that changes have to be stored at once, because a channel is new.
    begun: Notify,
}

#[derive(Debug, Default)]
struct Channels {
    known: BTreeMap<String, Channel>,
    /// Keys of the memos that are to be deleted: of channels that are not tracked any more, and of lines that need not
    /// be remembered.
    forgotten: Vec<String>,
}

/// The read mark of a channel as it is stored in the journal.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Noted {
    at: i64,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    done: VecDeque<(i64, String)>,
}

#[derive(Debug, Default)]
struct Channel {
    noted: Noted,
    /// True if the mark was set from a clock, not from a line: the first line may be older by the server's clock.
    guessed: bool,
    /// Time and id of the lines that are being handled, in the order in which they were passed on.
    taken: VecDeque<(i64, String)>,
    /// Ids of lines about which an earlier process has decided without storing the mark. Kept until the channel's
    /// history was read once.
    decided: HashSet<String>,
    /// Ids of lines whose memo can be deleted once the mark is stored.
    over: Vec<String>,
    dirty: bool,
}

impl Channel {
    fn knows(&self, id: &str) -> bool {
        let among = |lines: &VecDeque<(i64, String)>| lines.iter().any(|(_, known)| known == id);
        self.decided.contains(id) || among(&self.noted.done) || among(&self.taken)
    }

    /// Moves the mark after a line of `time` (in milliseconds) was handled, but not past lines that are still being
    /// handled.
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
    /// Returns the prefixes of the journal's keys for a network's marks and for its decisions, as needed for
    /// [`Marks::load`].
    #[must_use]
    pub fn keys(network: &NetworkName) -> (String, String) {
        (seen(network), Heard::prefix(network))
    }

    /// Restores the marks from the journal's memos under both prefixes of [`Marks::keys`].
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

    /// Creates the marks of a network about which nothing is stored.
    #[must_use]
    pub fn new(network: NetworkName) -> Self {
        Self::load(network, Vec::new(), Vec::new())
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.0.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the channel's mark, in ms of the server's clock, and the id of the last handled line; `None` if the
    /// channel was never tracked.
    pub(crate) fn of(&self, channel: &str) -> Option<(i64, Option<String>)> {
        let channels = self.channels();
        let noted = &channels.known.get(channel)?.noted;
        Some((noted.at, noted.done.back().map(|(_, id)| id.clone())))
    }

    /// Starts to track a channel when herder has joined it for the first time, from the server's time `at`. This is
    /// stored at once, so that a herder that is killed now knows that it was there.
    pub(crate) fn came_in(&self, channel: &str, at: i64) {
        self.begin_at(channel, at, false);
        self.0.begun.notify_one();
    }

    /// Tracks a channel from the time `at` on (in milliseconds): earlier lines are never handled.
    pub(crate) fn begin(&self, channel: &str, at: i64) {
        self.begin_at(channel, at, true);
    }

    fn begin_at(&self, channel: &str, at: i64, guessed: bool) {
        let mut channels = self.channels();
        let state = channels.known.entry(channel.to_owned()).or_default();
        // Handled lines stay known, because the clocks may differ. Lines in progress may still be lost.
        let waiting = state.taken.iter().map(|(time, _)| *time).min();
        state.noted.at = waiting.map_or(at, |waiting| at.min(waiting));
        (state.guessed, state.dirty) = (guessed, true);
        let decided = std::mem::take(&mut state.decided);
        state.over.extend(decided);
        drop(channels);
        self.0.moved.notify_one();
    }

    /// Handles a line that a request for history has returned. Returns true if the line was handled before or is in
    /// progress.
    pub(crate) fn meets(&self, channel: &str, id: &str, time: i64) -> bool {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return false };
        if !state.decided.remove(id) {
            return state.knows(id);
        }
        // Its time is known now, so that it is kept like every handled line.
        state.over.push(id.to_owned());
        state.noted.done.push_back((time, id.to_owned()));
        state.follow(time);
        drop(channels);
        self.0.moved.notify_one();
        true
    }

    /// Returns true if a line was handled before or is in progress.
    pub(crate) fn knows(&self, channel: &str, id: &str) -> bool {
        self.channels().known.get(channel).is_some_and(|channel| channel.knows(id))
    }

    /// Records that the handling of a line begins. Returns true if its channel is tracked; then [`Marks::done`] has to
    /// be called.
    pub(crate) fn took(&self, channel: &str, id: &str, time: i64) -> bool {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return false };
        if std::mem::take(&mut state.guessed) {
            state.noted.at = state.noted.at.min(time.saturating_sub(SLACK));
        }
        state.taken.push_back((time, id.to_owned()));
        true
    }

    /// Records that the handling of a line has ended, so that the mark can move.
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

    /// Moves the mark of a channel after a live line that needs no handling, e.g. herder's own.
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

    /// Records that a channel's history was read completely: decisions of an earlier process can be forgotten.
    pub(crate) fn told(&self, channel: &str) {
        let mut channels = self.channels();
        let Some(state) = channels.known.get_mut(channel) else { return };
        let decided = std::mem::take(&mut state.decided);
        state.dirty |= !decided.is_empty();
        state.over.extend(decided);
        drop(channels);
        self.0.moved.notify_one();
    }

    /// Stops tracking all channels for which `stays` is false.
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
            // Lines in progress may be decided later; their memos are found at the next start.
            channels.forgotten.extend(lines.map(|id| format!("{}{id}", Heard::prefix(network))));
        }
        drop(channels);
        self.0.moved.notify_one();
    }

    /// Waits until marks have changed and have to be stored.
    pub async fn moved(&self) {
        self.0.moved.notified().await;
    }

    /// Waits until changes have to be stored at once, because a channel is new.
    pub async fn begun(&self) {
        self.0.begun.notified().await;
    }

    /// Takes the changed marks as memos, grouped into commits; each holds whole channels.
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
