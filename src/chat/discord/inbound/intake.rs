//! Which message is worked on when: each once, those of a channel in order. Pure; ids go in, ids come out.
//!
//! What was written while nobody listened is fetched; what is written meanwhile waits behind it. A channel's watermark
//! stands before its first message that is not done, so whatever is fetched after it contains all that is left to do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Done messages of a channel that are remembered, so that one that comes late is told from one that comes twice.
const RECENT_MAX: usize = 256;
/// Messages of a channel that are remembered while those before them may not be read, or one before them is late; with more of
/// them those are given up.
const BEYOND_MAX: usize = 1024;

/// A message's place in time: Discord's ids grow.
pub(super) type Id = u64;

/// Between Discord's first millisecond and that of Unix.
const EPOCH_MILLIS: i64 = 1_420_070_400_000;

/// The first id of a millisecond.
pub(in crate::chat::discord) fn id_at(millis: i64) -> Id {
    u64::try_from(millis.saturating_sub(EPOCH_MILLIS)).unwrap_or_default() << 22
}

/// When an id was drawn, in milliseconds of Unix.
pub(in crate::chat::discord) fn millis_of(id: Id) -> i64 {
    i64::try_from(id >> 22).unwrap_or(i64::MAX).saturating_add(EPOCH_MILLIS)
}

/// Something about a message, in the order in which it was heard.
#[derive(Debug, Clone, PartialEq)]
enum Open<M> {
    /// Not begun.
    Waiting(M),
    /// Begun.
    UnderWay,
    /// Begun, and what is said after it does not wait for it any more. The watermark does.
    Late,
    Done,
}

/// One channel.
#[derive(Debug)]
struct Channel<M> {
    /// Up to here all is done.
    seen: Id,
    /// What is older was heard or is never heard; what is newer and done is among the `recent`.
    since: Id,
    /// What is older is never fetched.
    floor: Id,
    /// What was heard after it.
    open: BTreeMap<Id, Open<M>>,
    recent: BTreeSet<Id>,
    /// Up to here all has been heard; `None`: everything has, as far as anybody knows.
    fetched: Option<Id>,
    /// What comes after that may not be read for now. What is heard does not wait for it, and the watermark does.
    unreadable: bool,
    busy: bool,
    /// It is not known yet what is to be made of what is said there.
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

    /// Whether a message was heard before.
    fn knows(&self, id: Id) -> bool {
        let done = id <= self.since || self.recent.contains(&id);
        self.open.contains_key(&id) || (id <= self.seen && done)
    }

    /// The oldest that waits, if nothing before it is missing and nothing else of the channel is under way.
    fn next(&self) -> Option<Id> {
        let within = |id: &Id| self.unreadable || self.fetched.is_none_or(|fetched| *id <= fetched);
        let waiting = self.open.iter().find(|(_, open)| matches!(open, Open::Waiting(_)));
        waiting.map(|(id, _)| *id).filter(|id| !self.held && !self.busy && within(id))
    }

    /// Moves the watermark over what is done. Answers whether it moved.
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

/// All channels.
#[derive(Debug)]
pub(super) struct Intake<M> {
    channels: HashMap<Id, Channel<M>>,
    /// Channels whose watermark moved and is not on disk.
    moved: BTreeSet<Id>,
}

impl<M> Default for Intake<M> {
    fn default() -> Self {
        Self { channels: HashMap::new(), moved: BTreeSet::new() }
    }
}

impl<M> Intake<M> {
    /// A channel whose watermark is known; what is older than `floor` is never fetched, but heard if it comes live. One that
    /// is there already stays as it is; answers whether it is new.
    pub(super) fn follow(&mut self, channel: Id, seen: Id, floor: Id) -> bool {
        let mut new = false;
        self.channels.entry(channel).or_insert_with(|| {
            new = true;
            Channel::new(seen, floor)
        });
        new
    }

    /// Whether a channel is followed.
    pub(super) fn follows(&self, channel: Id) -> bool {
        self.channels.contains_key(&channel)
    }

    /// All channels that are followed.
    pub(super) fn channels(&self) -> Vec<Id> {
        self.channels.keys().copied().collect()
    }

    /// A message was heard live. Of a channel that is not followed it is the first, and nothing is known of what was before.
    /// Answers whether it is new.
    pub(super) fn heard(&mut self, channel: Id, id: Id, message: M) -> bool {
        self.meet(channel, id);
        let Some(channel) = self.channels.get_mut(&channel).filter(|channel| !channel.knows(id)) else {
            return false;
        };
        channel.open.insert(id, Open::Waiting(message));
        true
    }

    /// A channel that is not followed is from here on; this message is the first that is known of it. One before it that
    /// comes after it was not heard either.
    pub(super) fn meet(&mut self, channel: Id, first: Id) {
        let met = || Channel { since: 0, ..Channel::new(first.saturating_sub(1), 0) };
        self.channels.entry(channel).or_insert_with(met);
    }

    /// A message was heard live that nobody works on, herder's own for one: the watermark passes it when what was before it
    /// is done. Of a channel that is not followed nothing is noted.
    pub(super) fn passed(&mut self, channel: Id, id: Id) {
        if let Some(state) = self.channels.get_mut(&channel)
            && !state.knows(id)
        {
            state.open.insert(id, Open::Done);
            self.settle(channel);
        }
    }

    /// Something may have been missed: from here on what is heard waits until it was fetched. Answers after which id to
    /// fetch; `None`: it is not followed, or `newest`, the last message of the channel, was heard already.
    pub(super) fn missed(&mut self, channel: Id, newest: Option<Id>) -> Option<Id> {
        let channel = self.channels.get_mut(&channel)?;
        channel.unreadable = false;
        let heard = channel.open.last_key_value().map_or(channel.seen, |(id, _)| channel.seen.max(*id));
        // Only what is done counts as heard without a gap: a live message may have come in after one that was missed.
        if channel.open.is_empty() && newest.is_some_and(|newest| newest <= heard) {
            channel.fetched = None;
            return None;
        }
        let from = channel.fetched.unwrap_or(channel.seen).max(channel.seen).max(channel.floor);
        channel.fetched = Some(from);
        Some(from)
    }

    /// A page of what was missed, up to `upto`; `more` follows. What is known already is left as it is.
    pub(super) fn page(&mut self, channel: Id, messages: Vec<(Id, M)>, upto: Id, more: bool) {
        let Some(state) = self.channels.get_mut(&channel) else { return };
        for (id, message) in messages {
            if !state.open.contains_key(&id) && id > state.seen {
                state.open.insert(id, Open::Waiting(message));
            }
        }
        // The last one of the page may be nobody's to work on; when what is before it is done, so is it.
        if upto > state.seen {
            state.open.entry(upto).or_insert(Open::Done);
        }
        state.fetched = more.then_some(upto.max(state.fetched.unwrap_or_default()));
        self.settle(channel);
    }

    /// Nothing more can be fetched: the channel is gone, or closed to us.
    pub(super) fn unfetchable(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            (state.fetched, state.unreadable) = (None, false);
        }
        self.settle(channel);
    }

    /// Nothing that was said in a channel is worked on until [`Intake::let_go`].
    pub(super) fn hold(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.held = true;
        }
    }

    /// See [`Intake::hold`].
    pub(super) fn let_go(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.held = false;
        }
    }

    /// What is said in a channel from here on may not be read, until it is fetched ([`Intake::missed`]). What is heard all
    /// the same is worked on.
    pub(super) fn unreadable(&mut self, channel: Id) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.fetched.get_or_insert(state.seen.max(state.floor));
            state.unreadable = true;
        }
    }

    /// The next message to work on, with its channel, if there is one.
    pub(super) fn next(&mut self) -> Option<(Id, Id, M)> {
        let (channel, id) =
            self.channels.iter().find_map(|(channel, state)| Some((*channel, state.next()?)))?;
        let state = self.channels.get_mut(&channel)?;
        let Some(Open::Waiting(message)) = state.open.insert(id, Open::UnderWay) else { return None };
        state.busy = true;
        Some((channel, id, message))
    }

    /// A message was worked on.
    pub(super) fn done(&mut self, channel: Id, id: Id) {
        if let Some(state) = self.channels.get_mut(&channel)
            && let Some(open) = state.open.get_mut(&id)
        {
            // What is late holds up nothing that it could let go on, nor does what was given up meanwhile.
            state.busy &= matches!(std::mem::replace(open, Open::Done), Open::Late);
        }
        self.settle(channel);
    }

    /// A message is worked on for long: the next one can be begun.
    pub(super) fn late(&mut self, channel: Id, id: Id) {
        let Some(state) = self.channels.get_mut(&channel) else { return };
        if let Some(open @ Open::UnderWay) = state.open.get_mut(&id) {
            *open = Open::Late;
            state.busy = false;
            // From where it is read again is to be known before it is done: it may be the first of its channel.
            self.moved.insert(channel);
        }
    }

    /// A message that waits is changed, or taken out with `None`. Answers whether it waited.
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

    /// Whether a message was heard, or its channel is done further than to it.
    pub(super) fn has(&self, channel: Id, id: Id) -> bool {
        let state = self.channels.get(&channel);
        state.is_some_and(|state| id <= state.seen || state.open.contains_key(&id))
    }

    /// Whether a message is being worked on.
    pub(super) fn is_under_way(&self, channel: Id, id: Id) -> bool {
        let open = self.channels.get(&channel).and_then(|state| state.open.get(&id));
        matches!(open, Some(Open::UnderWay | Open::Late))
    }

    /// The watermarks that moved since they were last asked for.
    pub(super) fn moved(&mut self) -> Vec<(Id, Id)> {
        let seen = |channel: &Id| Some((*channel, self.channels.get(channel)?.seen));
        let moved = self.moved.iter().filter_map(seen).collect();
        self.moved.clear();
        moved
    }

    /// The oldest message that is heard and not worked on.
    pub(super) fn first_open(&self) -> Option<Id> {
        let first = |state: &Channel<M>| {
            state.open.iter().find(|(_, open)| !matches!(open, Open::Done)).map(|(id, _)| *id)
        };
        self.channels.values().filter_map(first).min()
    }

    /// Follows a channel no longer, if nothing of it is left to do. Answers whether that is so.
    pub(super) fn leave(&mut self, channel: Id) -> bool {
        let Some(state) = self.channels.get(&channel) else { return true };
        let is_done = state.open.is_empty() && state.fetched.is_none() && !state.busy;
        if is_done {
            self.channels.remove(&channel);
            self.moved.remove(&channel);
        }
        is_done
    }

    /// The watermark of a channel.
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
