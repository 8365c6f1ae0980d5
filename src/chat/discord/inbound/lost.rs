//! What did not fit into the queue of events: not what was said, but where, so that it is fetched.
//!
//! From the first event that is lost until this is handed over every event is, so that nothing overtakes what is fetched.
//! Where somebody speaks for the first time nothing would be fetched otherwise: nobody follows that channel.

use std::collections::{BTreeMap, HashMap};

use serenity::all::{ChannelId, Guild, GuildChannel, GuildId, MessageId};

use super::intake::Id;
use super::{Heard, Reader};

/// Channels where something was lost: more than a server has channels and threads in use. Beyond it all channels are
/// fetched that are followed.
const CHANNELS_MAX: usize = 2048;
/// Deletions that are kept. Of more a message that waits is worked on although it is gone.
const DELETIONS_MAX: usize = 1024;

/// What was lost in one channel.
#[derive(Debug, Default)]
struct InChannel {
    /// The first new message; `None`: some were changed, and no more.
    first: Option<Id>,
    direct: bool,
}

/// See the module.
#[derive(Debug)]
pub(in super::super) struct Lost {
    ours: GuildId,
    channels: BTreeMap<Id, InChannel>,
    /// There were more channels.
    more: bool,
    deleted: Vec<(ChannelId, Vec<MessageId>)>,
    ready: bool,
    /// Our server, as it was last told.
    guild: Option<Box<Guild>>,
    threads: Vec<GuildChannel>,
}

impl Lost {
    /// Nothing yet.
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

    /// This is lost.
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
            // What its server is like is told anew.
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
            // Everything that is followed is fetched.
            Heard::Skipped => self.more = true,
            // That is how this itself is handed over, and nothing else is said in that way.
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
    /// Makes up for what was lost.
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
            // Whatever was said there would have been worked on if it had been heard.
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
