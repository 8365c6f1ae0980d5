//! Missed messages: those written while the link was down or herder was not running, and edits made meanwhile to
//! messages whose task still waits.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serenity::all::{ChannelId, ChannelType, Guild, GuildChannel, Message, MessageId};
use tracing::{debug, info, warn};

use super::intake::Id;
use super::revision::Revision;
use super::said::{OWN_NAME, Said};
use super::{Done, Reader};
use crate::chat::discord::directory::Purpose;
use crate::chat::discord::network;
use crate::chat::discord::rest::{Page, RestError};
use crate::clock;
use crate::core::id::PostId;
use crate::core::post::{Body, Lane, Post, Target};

/// Maximum number of requests for missed messages in flight: Discord allows some tens of requests a second in total.
pub(super) const FETCHES: usize = 8;
/// Wait before the messages of a channel are fetched again after a failure.
const FETCH_AGAIN: Duration = Duration::from_secs(5);

impl Reader {
    /// Stops the handling of all channels' messages until it is known whether messages were missed.
    pub(super) fn hold_all(&mut self) {
        self.follow_new();
        for channel in self.intake.channels() {
            self.intake.missed(channel, None);
        }
    }

    /// Handles left-out events: the server's channels are requested, and those with newer messages are fetched.
    pub(super) fn skipped(&mut self) {
        self.hold_all();
        if let Some(again) = &mut self.skipped {
            *again = true;
            return;
        }
        self.skipped = Some(false);
        self.ask_for_news(Duration::ZERO);
    }

    fn ask_for_news(&mut self, wait: Duration) {
        let (rest, guild) = (self.bot.rest.clone(), self.bot.guild());
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(wait).await;
            let last = |channel: &GuildChannel| (channel.id.get(), last_message(channel));
            Done::News(rest.channels(guild).await.map(|channels| channels.iter().map(last).collect()))
        }));
    }

    /// Handles the answer to the request for the last message of each channel: channels with newer messages are
    /// fetched.
    pub(super) fn news(&mut self, newest: Result<HashMap<Id, Id>, RestError>) {
        let more = self.skipped.take() == Some(true);
        self.ask_for_private_talk(self.memory.up_to());
        match newest {
            Ok(newest) => self.fetch_all(&newest),
            Err(error) => {
                warn!(%error, "it is not told where there is news; all channels are looked at");
                self.fetch_all(&HashMap::new());
            }
        }
        if more {
            self.skipped();
        }
    }

    /// Fetches the missed messages of all tracked channels; `newest` has the id of each channel's last message, if
    /// known.
    pub(super) fn fetch_all(&mut self, newest: &HashMap<Id, Id>) {
        self.guild_by = None;
        self.follow_new();
        self.look_at_waiting();
        let mut channels = self.intake.channels();
        // herder's own channels come first.
        channels
            .sort_by_key(|channel| self.bot.directory.purpose(ChannelId::new((*channel).max(1))).is_none());
        for channel in channels {
            self.fetch_channel(channel, newest.get(&channel).copied());
        }
    }

    /// Fetches the missed messages of one channel; `newest` is the id of its last message, if known.
    pub(super) fn fetch_channel(&mut self, channel: Id, newest: Option<Id>) {
        if let Some(again) = self.fetched.get_mut(&channel) {
            *again = true;
        } else if let Some(after) = self.intake.missed(channel, newest) {
            self.fetched.insert(channel, false);
            self.to_fetch.push_back((channel, after));
        }
    }

    /// Also fetches channels in which nobody has addressed herder before, if messages after `since` may have been
    /// missed there: one may address it.
    pub(super) fn follow_strange(&mut self, guild: &Guild, since: Id) {
        let text =
            guild.channels.values().filter(|it| matches!(it.kind, ChannelType::Text | ChannelType::News));
        for channel in text {
            // In herder's own channels that were only found now every message is for herder.
            let is_own = self.bot.directory.purpose(channel.id).is_some();
            if last_message(channel) > since && self.intake.follow(channel.id.get(), since, since) && !is_own
            {
                self.strange.insert(channel.id.get());
            }
        }
    }

    /// Returns true if no missed messages are still to be fetched.
    pub(super) fn has_heard_all(&self) -> bool {
        // Channels that are always tracked have their watermarks stored one by one.
        let is_thread = |channel: Id| self.bot.threads.parent(ChannelId::new(channel.max(1))).is_some();
        let is_noted = |channel: Id| self.memory.notes(channel) && !self.strange.contains(&channel);
        let fetching = self.fetched.keys().any(|id| !is_noted(*id) || is_thread(*id));
        let listing = self.listing > 0 || !self.to_list.is_empty();
        let asking = !self.asked.is_empty();
        self.missed_since.is_none() && self.guild_by.is_none() && !fetching && !listing && !asking
    }

    /// Returns true if a message in a channel where nobody has addressed herder before addresses herder or an agent.
    fn is_called(&self, said: &Said, agents: &[String]) -> bool {
        let words = self.names.words(said, self.bot.me).text;
        let own = [format!("{OWN_NAME}:"), format!("@{OWN_NAME}")];
        own.iter().any(|name| words.contains(name.as_str()))
            || agents.iter().any(|agent| words.contains(agent.as_str()))
    }

    /// Handles a change of the channels that the bot can read. Messages in the others count as missed, and are fetched
    /// when they can be read again.
    pub(super) fn may_read(&mut self, now: BTreeMap<ChannelId, bool>) {
        let before = std::mem::replace(&mut self.readable, now);
        let followed = self.intake.channels().into_iter();
        // Threads are readable if their channels are; private channels are not in the server's list.
        let changed = followed.filter_map(|channel| {
            let id = self.channel_around(channel);
            let (was, is) = (before.get(&id).copied().unwrap_or(true), *self.readable.get(&id)?);
            (was != is).then_some((channel, is))
        });
        for (channel, is_readable) in Vec::from_iter(changed) {
            if is_readable {
                self.fetch_channel(channel, None);
            } else {
                self.intake.unreadable(channel);
            }
        }
    }

    fn is_unreadable(&self, channel: Id) -> bool {
        self.readable.get(&self.channel_around(channel)) == Some(&false)
    }

    pub(super) fn fetch(&mut self, channel: Id, after: Id, wait: Duration) {
        self.fetching += 1;
        let rest = self.bot.rest.clone();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(wait).await;
            let page = rest.messages_after(ChannelId::new(channel), MessageId::new(after.max(1))).await;
            Done::Fetched { channel, after, page }
        }));
    }

    pub(super) fn fetched_page(&mut self, channel: Id, after: Id, page: Result<Page, RestError>) {
        match page {
            // Without permission to read the history Discord returns an empty one.
            Ok(page) if page.newest.is_none() && self.is_unreadable(channel) => {
                self.intake.unreadable(channel);
            }
            Ok(page) => {
                let upto = page.newest.map_or(after, MessageId::get).max(after);
                let direct = self.memory.direct(channel);
                if page.unreadable.iter().any(|id| !self.intake.has(channel, id.get())) {
                    self.tell_unreadable(channel);
                }
                let (mut said, mut changed) = (Vec::new(), Vec::new());
                for message in page.messages {
                    let (id, edited) = (message.id.get(), message.edited_timestamp);
                    let Some(now) = self.ears.message(message, Some(direct)) else { continue };
                    let is_news = self.edits.is_news(id, edited);
                    let is_decided = self.memory.has_decided(id);
                    if is_decided || self.intake.has(channel, id) {
                        // Only its text can be new.
                        if edited.is_some() && is_news {
                            changed.push(now.clone());
                        }
                        said.extend(is_decided.then_some((id, now)));
                    } else {
                        said.extend(self.as_it_is_now(now, is_news).map(|now| (id, now)));
                    }
                }
                if self.strange.contains(&channel) {
                    let agents = self.bot.ports.fleet.agents().into_iter();
                    let agents: Vec<String> = agents.map(|view| format!("@{}", view.name)).collect();
                    said.retain(|(_, said)| self.is_called(said, &agents));
                }
                self.intake.page(channel, said, upto, page.more);
                for now in changed {
                    self.revise(channel, now.id, Revision::Edited(Box::new(now)));
                }
                if page.more {
                    return self.to_fetch.push_back((channel, upto));
                }
            }
            Err(error) if error.is_denied() => {
                info!(channel, %error, "what was missed in a channel may not be fetched now");
                self.intake.unreadable(channel);
            }
            Err(error) if error.is_channel_gone() => {
                info!(channel, %error, "what was missed in a channel cannot be fetched");
                self.bot.threads.saw_gone(ChannelId::new(channel.max(1)));
                self.intake.unfetchable(channel);
            }
            Err(error) => {
                warn!(channel, %error, "what was missed is not fetched yet; it is tried again");
                return self.fetch(channel, after, FETCH_AGAIN);
            }
        }
        if self.fetched.remove(&channel) == Some(true)
            && let Some(after) = self.intake.missed(channel, None)
        {
            self.fetched.insert(channel, false);
            self.to_fetch.push_back((channel, after));
        }
    }

    /// Announces in an agent's channel that a message there could not be read.
    fn tell_unreadable(&self, channel: Id) {
        let around = self.channel_around(channel);
        let Some(Purpose::Agent(_)) = self.bot.directory.purpose(around) else { return };
        let line = self.bot.ports.locale.text("discord-unreadable", &[]);
        self.bot.ports.queue.push(Post {
            id: PostId::default(),
            network: network(),
            to: Target::Channel(channel.to_string()),
            lane: Lane::Urgent,
            at: clock::now(),
            body: Body::Lines(vec![line]),
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        });
    }

    /// Queues the messages whose task still waits to be fetched again, because Discord does not repeat missed edits and
    /// deletions.
    pub(super) fn look_at_waiting(&mut self) {
        let fleet = &self.bot.ports.fleet;
        for (channel, id) in self.marks.waiting(fleet) {
            if !self.to_look.contains(&(channel, id)) {
                self.to_look.push_back((channel, id));
            }
        }
    }

    pub(super) fn look(&mut self, channel: Id, id: Id, wait: Duration) {
        self.looking += 1;
        let rest = self.bot.rest.clone();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(wait).await;
            let now = rest.message(ChannelId::new(channel.max(1)), MessageId::new(id.max(1))).await;
            Done::Looked { channel, id, now: now.map(|now| now.map(Box::new)) }
        }));
    }

    /// Handles the present content of a message whose task waits: an edit or deletion that was missed is applied.
    pub(super) fn looked(&mut self, channel: Id, id: Id, now: Result<Option<Box<Message>>, RestError>) {
        match now {
            Ok(None) => self.revise(channel, id, Revision::Deleted),
            Ok(Some(message)) if message.edited_timestamp.is_some() => {
                if !self.edits.is_news(id, message.edited_timestamp) {
                    return;
                }
                let direct = self.memory.direct(channel);
                if let Some(said) = self.ears.message(*message, Some(direct)) {
                    self.revise(channel, id, Revision::Edited(Box::new(said)));
                }
            }
            Ok(Some(_)) => {}
            Err(error) if error.is_channel_gone() || error.is_denied() => {
                debug!(channel, id, %error, "a message whose work waits cannot be looked at");
            }
            Err(error) => {
                warn!(channel, id, %error, "a message whose work waits is not looked at yet; it is tried again");
                self.look(channel, id, FETCH_AGAIN);
            }
        }
    }
}

/// Returns the id of a channel's newest message, according to the server's description.
pub(super) fn last_message(channel: &GuildChannel) -> Id {
    channel.last_message_id.map_or(0, MessageId::get)
}
