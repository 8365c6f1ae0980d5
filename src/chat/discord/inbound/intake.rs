//! The order in which messages are handled: each once, those of a channel in order. Pure; ids go in, ids come out.
//!
//! Missed messages are fetched; live ones wait behind them. A channel's watermark stands before its first message
//! that is not done, so that a fetch after it returns everything that is left to do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of handled messages remembered per channel, by which a late message is told from a repeated one.
const RECENT_MAX: usize = 256;
/// Maximum number of messages remembered per channel while earlier ones are unreadable or take long; beyond it those
/// are given up.
const BEYOND_MAX: usize = 1024;

/// The id of a message or channel on Discord. Ids grow with time.
pub(super) type Id = u64;

/// Time between the Unix epoch and Discord's, in milliseconds.
const EPOCH_MILLIS: i64 = 1_420_070_400_000;

/// Returns the smallest id that Discord gives in a millisecond of Unix time.
pub(in crate::chat::discord) fn id_at(millis: i64) -> Id {
    u64::try_from(millis.saturating_sub(EPOCH_MILLIS)).unwrap_or_default() << 22
}

/// Returns the time at which an id was given, in milliseconds of Unix time.
pub(in crate::chat::discord) fn millis_of(id: Id) -> i64 {
    i64::try_from(id >> 22).unwrap_or(i64::MAX).saturating_add(EPOCH_MILLIS)
}

/// The progress of one received message.
#[derive(Debug, Clone, PartialEq)]
enum Open<M> {
    /// The handling of the message has not begun.
    Waiting(M),
    /// The message is being handled.
    UnderWay,
    /// The message has been handled for long: later messages no longer wait for it, but the watermark does.
    Late,
    Done,
}

/// The received messages of one channel and their progress.
#[derive(Debug)]
struct Channel<M> {
    /// The watermark: the id up to which all messages are handled.
    seen: Id,
    /// Id up to which all messages count as received; handled messages between it and the watermark are in `recent`.
    since: Id,
    /// Id up to which messages are never fetched.
    floor: Id,
    /// Messages received after the watermark, with their progress.
    open: BTreeMap<Id, Open<M>>,
    recent: BTreeSet<Id>,
    /// Id up to which all messages were received; `None` if no message is missing, as far as is known.
    fetched: Option<Id>,
    /// True while messages after `fetched` cannot be fetched. Live messages do not wait for them, but the watermark
    /// does.
    unreadable: bool,
    busy: bool,
    /// True while it is unknown whether the channel is herder's, so that its messages wait.
    held: bool,
}

impl<M> Channel<M> {
    fn new(seen: Id, floor: Id) -> Self {
        Self {
            seen,
            since: seen,
            floor,
            open: BTreeMap::new(),
            recent: BTreeSet::new(),
            fetched: None,
            unreadable: false,
            busy: false,
            held: false,
        }
    }

    /// Returns true if a message of this id was received before.
    fn knows(&self, id: Id) -> bool {
        let done = id <= self.since || self.recent.contains(&id);
        self.open.contains_key(&id) || (id <= self.seen && done)
    }

    /// Returns the oldest message that waits, if no message before it is missing and none of the channel is being
    /// handled.
    fn next(&self) -> Option<Id> {
        let within = |id: &Id| self.unreadable || self.fetched.is_none_or(|fetched| *id <= fetched);
        let waiting = self.open.iter().find(|(_, open)| matches!(open, Open::Waiting(_)));
        waiting.map(|(id, _)| *id).filter(|id| !self.held && !self.busy && within(id))
    }

    /// Moves the watermark past messages that are handled. Returns true if it moved.
    fn advance(&mut self) -> bool {
        let before = self.seen;
        if self.unreadable && self.open.len() > BEYOND_MAX {
            (self.fetched, self.unreadable) = (None, false);
        }
        loop {
            let too_many = self.open.len() > BEYOND_MAX;
            let Some(first) = self.open.first_entry() else { break };
            let heard = self.fetched.is_none_or(|fetched| *first.key() <= fetched);
            let is_over = match first.get() {
                Open::Done => true,
                Open::Late => too_many,
                Open::Waiting(_) | Open::UnderWay => false,
            };
            if !heard || !is_over {
                break;
            }
            let (id, _) = first.remove_entry();
            self.seen = self.seen.max(id);
            self.recent.insert(id);
        }
        while self.recent.len() > RECENT_MAX {
            self.since = self.recent.pop_first().unwrap_or_default().max(self.since);
        }
        self.seen != before
    }
}

/// The received messages of all channels and their progress; handled in order per channel. `M` is the type of a
/// message.
#[derive(Debug)]
pub(super) struct Intake<M> {
    channels: HashMap<Id, Channel<M>>,
    /// Channels whose watermark has moved since it was last stored.
    moved: BTreeSet<Id>,
}

impl<M> Default for Intake<M> {
    fn default() -> Self {
        Self { channels: HashMap::new(), moved: BTreeSet::new() }
    }
}

impl<M> Intake<M> {
    /// Starts to track a channel whose watermark `seen` is known. Messages up to `floor` are handled if they arrive
    /// live, but never fetched. Returns true if the channel was not tracked before.
    pub(super) fn follow(&mut self, channel: Id, seen: Id, floor: Id) -> bool {
        let mut new = false;
        self.channels.entry(channel).or_insert_with(|| {
            new = true;
            Channel::new(seen, floor)
        });
        new
    }

    /// Returns true if the messages of a channel are tracked.
    pub(super) fn follows(&self, channel: Id) -> bool {
        self.channels.contains_key(&channel)
    }

    /// Returns the ids of all tracked channels.
    pub(super) fn channels(&self) -> Vec<Id> {
        self.channels.keys().copied().collect()
    }

    /// Adds a live message; it starts the tracking of an untracked channel. Returns true if the message is new.
    pub(super) fn heard(&mut self, channel: Id, id: Id, message: M) -> bool {
        self.meet(channel, id);
        let Some(channel) = self.channels.get_mut(&channel).filter(|channel| !channel.knows(id)) else {
            return false;
        };
        channel.open.insert(id, Open::Waiting(message));
        true
    }

    /// Starts to track a channel from its message `first` on. An earlier message that arrives later still counts as
    /// new.
    pub(super) fn meet(&mut self, channel: Id, first: Id) {
        let met = || Channel { since: 0, ..Channel::new(first.saturating_sub(1), 0) };
        self.channels.entry(channel).or_insert_with(met);
    }

    /// Records a live message that needs no handling, e.g. herder's own, so that the watermark can pass it. Ignored in
    /// an untracked channel.
    pub(super) fn passed(&mut self, channel: Id, id: Id) {
        if let Some(state) = self.channels.get_mut(&channel)
            && !state.knows(id)
        {
            state.open.insert(id, Open::Done);
            self.settle(channel);
        }
    }

    /// Records that messages of a channel may have been missed: live ones wait until those are fetched. Returns the id
    /// after which to fetch; `None` if the channel is untracked, or its last message `newest` was received already.
    pub(super) fn missed(&mut self, channel: Id, newest: Option<Id>) -> Option<Id> {
        let channel = self.channels.get_mut(&channel)?;
        channel.unreadable = false;
        let heard = channel.open.last_key_value().map_or(channel.seen, |(id, _)| channel.seen.max(*id));
        // Only done messages prove that there is no gap: a live message may have come after a missed one.
        if channel.open.is_empty() && newest.is_some_and(|newest| newest <= heard) {
            channel.fetched = None;
            return None;
        }
        let from = channel.fetched.unwrap_or(channel.seen).max(channel.seen).max(channel.floor);
        channel.fetched = Some(from);
        Some(from)
    }

    /// Adds a page of fetched messages up to the id `upto`; `more` is true if another page follows. Messages that are
    /// known already stay as they are.
    pub(super) fn page(&mut self, channel: Id, messages: Vec<(Id, M)>, upto: Id, more: bool) {
        let Some(state) = self.channels.get_mut(&channel) else { return };
        for (id, message) in messages {
            if !state.open.contains_key(&id) && id > state.seen {
                state.open.insert(id, Open::Waiting(message));
            }
        }
        // The last message of the page may need no handling; it is done when everything before is.
        if upto > state.seen {
            state.open.entry(upto).or_insert(Open::Done);
        }
        state.fetched = more.then_some(upto.max(state.fetched.unwrap_or_default()));
        self.settle(channel);
    }

    /// Records that missed messages of a channel cannot be fetched, because it is gone or closed to herder: live ones
    /// no longer wait.
    pub(super) fn unfetchable(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            (state.fetched, state.unreadable) = (None, false);
        }
        self.settle(channel);
    }

    /// Stops the handling of a channel's messages until [`Intake::let_go`].
    pub(super) fn hold(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.held = true;
        }
    }

    /// Resumes the handling of a channel's messages, see [`Intake::hold`].
    pub(super) fn let_go(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.held = false;
        }
    }

    /// Records that messages of a channel may be missed until they are fetched ([`Intake::missed`]), because herder
    /// cannot read it. Live messages that arrive anyway are handled.
    pub(super) fn unreadable(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.fetched.get_or_insert(state.seen.max(state.floor));
            state.unreadable = true;
        }
    }

    /// Takes the next message that can be handled: its channel, its id and the message.
    pub(super) fn next(&mut self) -> Option<(Id, Id, M)> {
        let (channel, id) =
            self.channels.iter().find_map(|(channel, state)| Some((*channel, state.next()?)))?;
        let state = self.channels.get_mut(&channel)?;
        let Some(Open::Waiting(message)) = state.open.insert(id, Open::UnderWay) else { return None };
        state.busy = true;
        Some((channel, id, message))
    }

    /// Records that a message is handled.
    pub(super) fn done(&mut self, channel: Id, id: Id) {
        if let Some(state) = self.channels.get_mut(&channel)
            && let Some(open) = state.open.get_mut(&id)
        {
            // A late message blocks nothing, nor does one that was given up meanwhile.
            state.busy &= matches!(std::mem::replace(open, Open::Done), Open::Late);
        }
        self.settle(channel);
    }

    /// Records that the handling of a message takes long: the next one of its channel can start.
    pub(super) fn late(&mut self, channel: Id, id: Id) {
        let Some(state) = self.channels.get_mut(&channel) else { return };
        if let Some(open @ Open::UnderWay) = state.open.get_mut(&id) {
            *open = Open::Late;
            state.busy = false;
            // The position to resume from has to be stored before it is done: it may be the first of its channel.
            self.moved.insert(channel);
        }
    }

    /// Changes a message that waits, or removes it if `change` returns `None`. Returns true if it was waiting.
    pub(super) fn revise(&mut self, channel: Id, id: Id, change: impl FnOnce(M) -> Option<M>) -> bool {
        let Some(state) = self.channels.get_mut(&channel) else { return false };
        let Some(open @ Open::Waiting(_)) = state.open.get_mut(&id) else { return false };
        if let Open::Waiting(message) = std::mem::replace(open, Open::Done)
            && let Some(message) = change(message)
        {
            *open = Open::Waiting(message);
        }
        self.settle(channel);
        true
    }

    /// Returns true if a message was received, or is not newer than the channel's watermark.
    pub(super) fn has(&self, channel: Id, id: Id) -> bool {
        let state = self.channels.get(&channel);
        state.is_some_and(|state| id <= state.seen || state.open.contains_key(&id))
    }

    /// Returns true if a message is being handled.
    pub(super) fn is_under_way(&self, channel: Id, id: Id) -> bool {
        let open = self.channels.get(&channel).and_then(|state| state.open.get(&id));
        matches!(open, Some(Open::UnderWay | Open::Late))
    }

    /// Takes the channels whose watermark has moved since the last call, with the new watermark.
    pub(super) fn moved(&mut self) -> Vec<(Id, Id)> {
        let seen = |channel: &Id| Some((*channel, self.channels.get(channel)?.seen));
        let moved = self.moved.iter().filter_map(seen).collect();
        self.moved.clear();
        moved
    }

    /// Returns the id of the oldest message, of any channel, that was received and is not handled yet.
    pub(super) fn first_open(&self) -> Option<Id> {
        let first = |state: &Channel<M>| {
            state.open.iter().find(|(_, open)| !matches!(open, Open::Done)).map(|(id, _)| *id)
        };
        self.channels.values().filter_map(first).min()
    }

    /// Stops tracking a channel if all of its messages are handled. Returns true if so.
    pub(super) fn leave(&mut self, channel: Id) -> bool {
        let Some(state) = self.channels.get(&channel) else { return true };
        let is_done = state.open.is_empty() && state.fetched.is_none() && !state.busy;
        if is_done {
            self.channels.remove(&channel);
            self.moved.remove(&channel);
        }
        is_done
    }

    /// Returns the watermark of a channel; `None` if it is not tracked.
    pub(super) fn seen(&self, channel: Id) -> Option<Id> {
        self.channels.get(&channel).map(|state| state.seen)
    }

    fn settle(&mut self, channel: Id) {
        if self.channels.get_mut(&channel).is_some_and(Channel::advance) {
            self.moved.insert(channel);
        }
    }
}

#[cfg(test)]
mod tests;
