//! Events that did not fit into the queue: the channels are recorded, not the messages, so that these are fetched.
//!
//! From the first lost event until this record is handed over every event is recorded here, so that none overtakes
//! the fetched ones. The first message of an untracked channel is recorded with its id, since nothing would be
//! fetched otherwise.

use std::collections::{BTreeMap, HashMap};

use serenity::all::{ChannelId, Guild, GuildChannel, GuildId, MessageId};

use super::intake::Id;
use super::{Heard, Reader};

/// Maximum number of channels for which lost events are recorded: more than a server has in use. Beyond it all tracked
/// channels are fetched.
const CHANNELS_MAX: usize = 2048;
/// Maximum number of lost deletions that are recorded. Beyond it a deleted message that waits is still handled.
const DELETIONS_MAX: usize = 1024;

/// The events of one channel that were lost.
#[derive(Debug, Default)]
struct InChannel {
    /// Id of the first new message that was lost; `None` if only edits were lost.
    first: Option<Id>,
    direct: bool,
}

/// The record of message events that were lost because the reader's queue was full. See the module.
#[derive(Debug)]
pub(in super::super) struct Lost {
    ours: GuildId,
    channels: BTreeMap<Id, InChannel>,
    /// True if events of more channels were lost than are recorded.
    more: bool,
    deleted: Vec<(ChannelId, Vec<MessageId>)>,
    ready: bool,
    /// The last description of herder's own server among the lost events.
    guild: Option<Box<Guild>>,
    threads: Vec<GuildChannel>,
}

impl Lost {
    /// Creates an empty record; `ours` is the id of herder's server.
    pub(in super::super) fn new(ours: GuildId) -> Self {
        Self {
            ours,
            channels: BTreeMap::new(),
            more: false,
            deleted: Vec::new(),
            ready: false,
            guild: None,
            threads: Vec::new(),
        }
    }

    /// Records an event that is lost.
    pub(in super::super) fn note(&mut self, heard: Heard) {
        match heard {
            Heard::Said(message) => {
                let elsewhere = message.guild_id.is_some_and(|guild| guild != self.ours);
                if !elsewhere {
                    let (channel, direct) = (message.channel_id.get(), message.guild_id.is_none());
                    self.note_in(channel, Some(message.id.get()), direct);
                }
            }
            Heard::Unreadable { channel, created, direct } => self.note_in(channel, created, direct),
            Heard::Edited(event) => {
                let direct = event.guild_id.is_none();
                self.note_in(event.channel_id.get(), None, direct);
            }
            Heard::Deleted(channel, messages) => {
                if self.deleted.len() < DELETIONS_MAX {
                    self.deleted.push((channel, messages));
                }
            }
            // The server will be described again.
            Heard::Ready => (self.ready, self.guild) = (true, None),
            Heard::Guild(guild) => {
                if guild.id == self.ours {
                    self.guild = Some(guild);
                }
            }
            Heard::Threads(threads) => {
                let room = CHANNELS_MAX.saturating_sub(self.threads.len());
                self.threads.extend(threads.into_iter().take(room));
            }
            // Every tracked channel is fetched.
            Heard::Skipped => self.more = true,
            // This record itself arrives that way, and nothing else does.
            Heard::Missed(_) => {}
        }
    }

    fn note_in(&mut self, channel: Id, created: Option<Id>, direct: bool) {
        if self.channels.len() >= CHANNELS_MAX && !self.channels.contains_key(&channel) {
            self.more = true;
            return;
        }
        let lost = self.channels.entry(channel).or_default();
        lost.first = lost.first.into_iter().chain(created).min();
        lost.direct |= direct;
    }
}

impl Reader {
    /// Handles lost events: fetches the messages of their channels.
    pub(super) fn missed(&mut self, lost: Lost) {
        let Lost { ours: _, channels, more, deleted, ready, guild, threads } = lost;
        if ready {
            self.heard(Heard::Ready);
        }
        for (channel, lost) in &channels {
            let Some(first) = lost.first else { continue };
            if lost.direct {
                self.memory.is_direct(*channel);
            }
            // The channel's messages would have been handled if they had been received.
            self.strange.remove(channel);
            self.intake.meet(*channel, first);
        }
        if !threads.is_empty() {
            self.heard(Heard::Threads(threads));
        }
        if let Some(guild) = guild {
            self.heard(Heard::Guild(guild));
        }
        for channel in channels.into_keys() {
            self.fetch_channel(channel, None);
        }
        if more {
            self.fetch_all(&HashMap::new());
        }
        for (channel, messages) in deleted {
            self.heard(Heard::Deleted(channel, messages));
        }
        self.look_at_waiting();
    }
}
