//! State of messages across restarts: the watermark of each channel, and the results of messages after it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::{error, warn};

use super::intake::{Id, id_at, millis_of};
use crate::chat::discord::directory::Purpose;
use crate::chat::discord::reactions::Marks;
use crate::chat::discord::{Bot, network};
use crate::clock;
use crate::core::id::AgentName;
use crate::journal::{Heard, Memo};

/// Prefix of the journal's keys under which the channels' watermarks are stored.
const SEEN: &str = "discord/seen/";
/// Key in the journal of the id up to which messages of all channels were received.
const UP_TO: &str = "discord/heard-up-to";
/// Interval at which the id up to which messages were received is stored; after a restart newer messages are looked at
/// again.
const UP_TO_EVERY: Duration = Duration::from_secs(10);
/// Time before the first message of a new channel from which the channel is tracked, because Discord's clock differs
/// from this machine's.
const BEFORE_FIRST: Duration = Duration::from_secs(60);
/// Maximum number of people whose private channel is tracked: more than command a herder.
const DIRECT_MAX: usize = 256;
/// Name of every private conversation in the audit trail; it does not name the person.
const PRIVATE: &str = "private";
/// Time after which a stored decision about a message is forgotten if its channel is unknown.
const STRAY: Duration = Duration::from_secs(24 * 3600);

/// The stored watermark of a channel.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Seen {
    id: Id,
    /// Id up to which messages are never fetched; they are from before the channel was tracked.
    #[serde(default, skip_serializing_if = "is_zero")]
    floor: Id,
    /// True if the channel is private.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    direct: bool,
    /// True if the channel is a thread, which is forgotten when it is archived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    thread: bool,
}

fn is_zero(id: &Id) -> bool {
    *id == 0
}

/// A message about which the dispatcher has decided.
#[derive(Debug, Clone, Copy)]
struct Decided {
    /// Id of the message's channel; `None` if it is not known.
    channel: Option<Id>,
    /// True if the message became a task and is still tracked: the task is not over, or the reaction that says so is
    /// not set yet.
    open: bool,
}

/// Watermarks of channels and decisions about messages, as stored in the journal, with the changes that are not stored
/// yet. See the module.
#[derive(Debug, Default)]
pub(super) struct Memory {
    seen: HashMap<Id, Seen>,
    /// Messages about which was decided, by id.
    decided: HashMap<Id, Decided>,
    /// Decisions about tasks given in private whose channel is not stored yet, by message.
    unplaced: HashMap<Id, Heard>,
    direct: HashSet<Id>,
    /// Private channels with people without any role, which need not be tracked any more.
    strangers: HashSet<Id>,
    threads: HashSet<Id>,
    /// New channels whose first watermark is not stored yet.
    new: HashMap<Id, Id>,
    /// The stored id up to which messages of all channels were received; `None` on the first run.
    up_to: Option<Id>,
}

impl Memory {
    /// Loads the state from the journal. Messages that became tasks are passed to `marks`, which maintains their
    /// reactions.
    pub(super) async fn load(bot: &Bot, marks: &Marks) -> Self {
        let journal = bot.ports.journal.clone();
        let read = move || {
            Ok((journal.memos(SEEN)?, journal.memos(&Heard::prefix(&network()))?, journal.memos(UP_TO)?))
        };
        let read: Result<_, crate::journal::ReadError> = match tokio::task::spawn_blocking(read).await {
            Ok(read) => read,
            Err(reason) => {
                error!(%reason, "what was seen of Discord could not be read");
                return Self::default();
            }
        };
        match read {
            Ok((seen, heard, up_to)) => {
                let up_to = up_to.into_iter().find_map(|(_, value)| serde_json::from_str(&value).ok());
                Self { up_to, ..Self::from_memos(bot, marks, seen, heard) }
            }
            Err(reason) => {
                error!(%reason, "what was seen of Discord cannot be read");
                Self::default()
            }
        }
    }

    fn from_memos(
        bot: &Bot,
        marks: &Marks,
        seen: Vec<(String, String)>,
        heard: Vec<(String, String)>,
    ) -> Self {
        let mut memory = Self::default();
        for (key, value) in seen {
            let channel = key.strip_prefix(SEEN).and_then(|id| id.parse::<Id>().ok());
            match (channel, serde_json::from_str::<Seen>(&value)) {
                (Some(channel), Ok(seen)) => {
                    memory.seen.insert(channel, seen);
                    if seen.direct {
                        memory.direct.insert(channel);
                    }
                    if seen.thread {
                        memory.threads.insert(channel);
                    }
                }
                (_, _) => warn!(key, "how far a channel is done cannot be read; it is followed from now on"),
            }
        }
        let prefix = Heard::prefix(&network());
        for (key, value) in heard {
            let Some(id) = key.strip_prefix(&prefix).and_then(|id| id.parse::<Id>().ok()) else { continue };
            let heard: Heard = serde_json::from_str(&value).unwrap_or_default();
            let channel = heard.place.as_deref().and_then(|place| channel_of(bot, place));
            let open = channel.is_some_and(|channel| marks.restore(channel, id, &heard));
            memory.decided.insert(id, Decided { channel, open });
            memory.became(id, heard);
        }
        memory
    }

    /// Returns the id up to which messages of all channels were received when herder last ran; on the first run the id
    /// of the present time.
    pub(super) fn up_to(&self) -> Id {
        self.up_to.unwrap_or_else(|| id_at(clock::now().as_millis()))
    }

    /// Records that all messages up to `id` were received. Returns a memo to store, but at most every `UP_TO_EVERY`
    /// unless `at_last`.
    pub(super) fn heard_up_to(&mut self, id: Id, at_last: bool) -> Option<Memo> {
        let every = i64::try_from(UP_TO_EVERY.as_millis()).unwrap_or(i64::MAX);
        let is_due = |noted: Id| millis_of(id) - millis_of(noted) >= every || (at_last && id > noted);
        if !self.up_to.is_none_or(is_due) {
            return None;
        }
        self.up_to = Some(id);
        Some(Memo { key: UP_TO.to_owned(), value: serde_json::to_string(&id).ok() })
    }

    /// Returns the tracked channels, each with its watermark and the id after which messages are fetched.
    pub(super) fn watermarks(&self) -> Vec<(Id, Id, Id)> {
        self.seen.iter().map(|(channel, seen)| (*channel, seen.id, seen.floor)).collect()
    }

    /// Returns true if a channel's watermark is stored.
    pub(super) fn notes(&self, channel: Id) -> bool {
        self.seen.contains_key(&channel)
    }

    /// Returns the id from which a channel is fetched that was never seen before. Messages newer than `unheard` were missed.
    pub(super) fn first_seen(&mut self, channel: Id, unheard: Option<Id>) -> Id {
        let before = i64::try_from(BEFORE_FIRST.as_millis()).unwrap_or(i64::MAX);
        let floor = id_at(clock::now().as_millis().saturating_sub(before)).min(unheard.unwrap_or(Id::MAX));
        self.new.insert(channel, floor);
        floor
    }

    /// Returns true if the dispatcher has decided about a message of `channel` before.
    pub(super) fn knows(&mut self, channel: Id, id: Id) -> bool {
        let Some(decided) = self.decided.get_mut(&id) else { return false };
        decided.channel = Some(channel);
        true
    }

    /// Returns true if the dispatcher has decided about a message before, in any channel.
    pub(super) fn has_decided(&self, id: Id) -> bool {
        self.decided.contains_key(&id)
    }

    /// Records that a message is decided. `open` is true if it is tracked until its task is over and its reaction says
    /// so.
    pub(super) fn decided(&mut self, channel: Id, id: Id, open: bool) {
        self.decided.insert(id, Decided { channel: Some(channel), open });
        // Somebody who addressed herder once may do so again there.
        if !self.direct.contains(&channel) {
            let thread = self.threads.contains(&channel);
            self.seen.entry(channel).or_insert(Seen { id: 0, floor: 0, direct: false, thread });
        }
    }

    /// Records the stored decision about a message. The channel of a task given in private is stored later.
    pub(super) fn became(&mut self, id: Id, heard: Heard) {
        if heard.work.is_some() && heard.place.as_deref() == Some(PRIVATE) {
            self.unplaced.insert(id, heard);
        }
    }

    /// Takes the stored decision about a task given in private whose channel was unknown until now.
    pub(super) fn unplaced(&mut self, id: Id) -> Option<Heard> {
        let heard = self.unplaced.get(&id)?.clone();
        self.decided.get_mut(&id)?.open = true;
        Some(heard)
    }

    /// Records that a channel is private.
    pub(super) fn is_direct(&mut self, channel: Id) {
        self.direct.insert(channel);
    }

    /// Records that a person wrote in private. Channels of people without any role are not tracked for long, so that
    /// they take no room.
    pub(super) fn spoke_in_private(&mut self, channel: Id, is_strangers: bool) {
        if is_strangers {
            self.strangers.insert(channel);
        } else {
            self.strangers.remove(&channel);
            self.seen.entry(channel).or_insert(Seen { id: 0, floor: 0, direct: true, thread: false });
        }
    }

    /// Returns the private channels that need no tracking once their messages are handled: those of people without any
    /// role, and those idle for longest beyond `DIRECT_MAX`.
    pub(super) fn unneeded(&self) -> Vec<Id> {
        let kept = |channel: &&Id| !self.strangers.contains(*channel);
        let kept = self.seen.iter().filter(|(channel, seen)| seen.direct && kept(channel));
        let mut kept: Vec<(Id, Id)> = kept.map(|(channel, seen)| (seen.id, *channel)).collect();
        kept.sort_unstable();
        let oldest = kept.len().saturating_sub(DIRECT_MAX);
        self.strangers
            .iter()
            .copied()
            .chain(kept.into_iter().take(oldest).map(|(_, channel)| channel))
            .collect()
    }

    /// Stops tracking a private channel. Returns the memo that deletes its watermark, if one is stored.
    pub(super) fn forget_direct(&mut self, channel: Id) -> Option<Memo> {
        self.strangers.remove(&channel);
        self.direct.remove(&channel);
        self.seen.remove(&channel).map(|_| Memo { key: format!("{SEEN}{channel}"), value: None })
    }

    /// Returns true if a channel is private.
    pub(super) fn direct(&self, channel: Id) -> bool {
        self.direct.contains(&channel)
    }

    /// Records that a channel is a thread.
    pub(super) fn is_thread(&mut self, channel: Id) {
        self.threads.insert(channel);
    }

    /// Returns the tracked threads whose watermark is below the id up to which messages of all channels were received:
    /// later messages there are found without it.
    pub(super) fn threads_heard(&self) -> Vec<Id> {
        let up_to = self.up_to.unwrap_or_default();
        let heard = |thread: &&Id| self.seen.get(thread).is_some_and(|seen| seen.id <= up_to);
        self.threads.iter().filter(heard).copied().collect()
    }

    /// Stops tracking a thread. Returns the memo that deletes its watermark.
    pub(super) fn forget_thread(&mut self, channel: Id) -> Memo {
        self.threads.remove(&channel);
        self.seen.remove(&channel);
        Memo { key: format!("{SEEN}{channel}"), value: None }
    }

    /// Returns the memos to store. `moved` are changed watermarks, `finished` messages whose task is over and marked
    /// so, `kept` herder's own channels, whose watermarks are stored even if they are new.
    pub(super) fn note(
        &mut self,
        moved: Vec<(Id, Id)>,
        finished: Vec<Id>,
        kept: &HashSet<Id>,
        seen: impl Fn(Id) -> Option<Id>,
    ) -> Vec<Memo> {
        let new = std::mem::take(&mut self.new);
        let mut memos = Vec::new();
        let new = new.into_iter().map(|(channel, floor)| (channel, channel, floor));
        for (channel, id, floor) in new.chain(moved.into_iter().map(|(channel, id)| (channel, id, 0))) {
            let direct = self.direct.contains(&channel);
            let known = self.seen.contains_key(&channel);
            if !(known || kept.contains(&channel)) {
                continue;
            }
            let noted = Seen { id, floor, direct, thread: self.threads.contains(&channel) };
            self.seen.insert(channel, noted);
            let value = serde_json::to_string(&noted).ok();
            memos.push(Memo { key: format!("{SEEN}{channel}"), value });
        }
        let stray = i64::try_from(STRAY.as_millis()).unwrap_or(i64::MAX);
        let stray = id_at(clock::now().as_millis().saturating_sub(stray));
        // A task is identified by its message until it is over.
        for id in finished {
            if let Some(decided) = self.decided.get_mut(&id) {
                decided.open = false;
            }
        }
        let over = |(id, decided): &(&Id, &Decided)| {
            let done = decided.channel.and_then(&seen).map_or(**id < stray, |seen| **id <= seen);
            done && !decided.open
        };
        let forgotten: Vec<Id> = self.decided.iter().filter(over).map(|(id, _)| *id).collect();
        for id in forgotten {
            self.decided.remove(&id);
            memos.push(Memo { key: format!("{}{id}", Heard::prefix(&network())), value: None });
        }
        memos.extend(self.places());
        memos
    }

    /// Returns the memos that store the channels of tasks given in private.
    fn places(&mut self) -> Vec<Memo> {
        let Self { unplaced, decided, .. } = self;
        unplaced.retain(|id, _| decided.contains_key(id));
        let channel = |id: &Id| decided.get(id).and_then(|decided| decided.channel);
        let placed = unplaced.extract_if(|id, _| channel(id).is_some());
        let memo = |(id, heard): (Id, Heard)| {
            let place = channel(&id).map(|channel| channel.to_string());
            Heard { place, ..heard }.memo(&network(), &id.to_string())
        };
        placed.map(memo).collect()
    }
}

/// Returns the id of the channel that the audit trail names as a place; `None` if it is none.
fn channel_of(bot: &Bot, place: &str) -> Option<Id> {
    let Some(name) = place.strip_prefix('#') else { return place.parse().ok() };
    let purpose = if name == bot.ports.settings.control_channel {
        Purpose::Control
    } else {
        Purpose::Agent(AgentName::new(name).ok()?)
    };
    bot.directory.of(&purpose).map(serenity::all::ChannelId::get)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::WorkId;

    fn keys(memos: &[Memo]) -> Vec<(&str, bool)> {
        memos.iter().map(|memo| (memo.key.as_str(), memo.value.is_some())).collect()
    }

    #[test]
    fn talk_in_private_is_remembered_of_those_who_may_look_and_not_of_any_number() {
        let mut memory = Memory::default();
        let seen = |channel: Id| Some(channel);
        for (channel, is_strangers) in [(1, true), (2, false)] {
            memory.is_direct(channel);
            memory.spoke_in_private(channel, is_strangers);
            memory.decided(channel, channel, false);
        }
        let noted = memory.note(vec![(1, 1), (2, 2)], Vec::new(), &HashSet::new(), seen);
        assert!(keys(&noted).contains(&("discord/seen/2", true)), "{noted:?}");
        assert!(!keys(&noted).contains(&("discord/seen/1", true)), "{noted:?}");
        assert_eq!(memory.unneeded(), [1]);
        assert_eq!(memory.forget_direct(1), None);
        assert_eq!((memory.unneeded(), memory.direct(1), memory.has_decided(1)), (Vec::new(), false, false));

        // Beyond the maximum the oldest is removed, also from disk.
        let more: Vec<(Id, Id)> = (10..10 + DIRECT_MAX as Id).map(|channel| (channel, channel)).collect();
        for (channel, _) in &more {
            memory.is_direct(*channel);
            memory.spoke_in_private(*channel, false);
        }
        memory.note(more, Vec::new(), &HashSet::new(), seen);
        assert_eq!(memory.unneeded(), [2]);
        let forgotten = memory.forget_direct(2).expect("it was noted");
        assert_eq!((forgotten.key.as_str(), forgotten.value), ("discord/seen/2", None));
        assert_eq!(memory.unneeded(), [] as [Id; 0]);
    }

    #[test]
    fn work_that_was_given_in_private_is_noted_with_its_channel() {
        let heard = || Heard { agent: None, work: Some(WorkId(7)), place: Some(PRIVATE.to_owned()) };
        let id = id_at(clock::now().as_millis());
        let noted = |memory: &mut Memory| memory.note(Vec::new(), Vec::new(), &HashSet::new(), |_| Some(id));
        let placed = [Heard { place: Some("5".to_owned()), ..heard() }.memo(&network(), &id.to_string())];
        let mut memory = Memory::default();
        memory.decided(5, id, true);
        memory.became(id, heard());
        assert_eq!((noted(&mut memory), noted(&mut memory)), (placed.to_vec(), Vec::new()));

        // A process killed before that leaves it to the next one, which learns the channel when it reads the message again.
        let mut memory = Memory::default();
        memory.decided.insert(id, Decided { channel: None, open: false });
        memory.became(id, heard());
        assert_eq!(noted(&mut memory), []);
        assert!(memory.knows(5, id));
        assert_eq!(memory.unplaced(id), Some(heard()));
        assert_eq!((noted(&mut memory), memory.unplaced(id)), (placed.to_vec(), None));
    }
}
