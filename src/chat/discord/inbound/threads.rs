//! Messages in threads that were missed. A server lists its active threads; those archived meanwhile are requested
//! channel by channel.

use std::time::Duration;

use serenity::all::{ChannelId, Guild, GuildChannel, Timestamp};
use tracing::{debug, warn};

use super::intake::{Id, millis_of};
use super::missed::last_message;
use super::{Done, Reader};
use crate::chat::discord::directory::Purpose;
use crate::chat::discord::rest::{ArchivedThreads, RestError};
use crate::journal::Memo;

/// Wait before archived threads are requested again after a failure.
const AGAIN: Duration = Duration::from_secs(5);

/// A request for the archived threads of a channel that is still to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing {
    channel: ChannelId,
    /// Id before which missed messages are not searched: threads archived earlier contain none.
    since: Id,
    /// Only threads archived before this time are requested; `None` for the latest ones.
    before: Option<Timestamp>,
}

impl Reader {
    /// Tracks the listed threads that have messages after the id `since`. In threads of an agent's channel every
    /// message is for the agent; in others only one that addresses it.
    pub(super) fn follow_threads(&mut self, guild: &Guild, since: Id) {
        for thread in guild.threads.iter().filter(|thread| last_message(thread) > since) {
            let id = thread.id.get();
            let is_new = self.intake.follow(id, since, since);
            if is_new && !thread.parent_id.is_some_and(|parent| self.is_for_an_agent(parent)) {
                self.strange.insert(id);
            }
        }
        // Channels that still wait for their request keep their earlier start.
        let since = self.to_list.iter().map(|listing| listing.since).fold(since, Id::min);
        let directory = self.bot.directory.all().into_iter();
        let channels = directory.filter(|(purpose, _)| matches!(purpose, Purpose::Agent(_)));
        self.to_list = channels.map(|(_, channel)| Listing { channel, since, before: None }).collect();
    }

    /// Tracks threads of channels that became visible again: messages since then were missed as well.
    pub(super) fn follow_again(&mut self, threads: &[GuildChannel]) {
        let guild = self.ears.guild;
        for thread in threads.iter().filter(|thread| thread.guild_id.get() == guild) {
            let parent = thread.parent_id.filter(|parent| self.is_for_an_agent(*parent));
            let Some(since) = parent.and_then(|parent| self.intake.seen(parent.get())) else { continue };
            self.follow_thread(thread, since);
        }
    }

    fn follow_thread(&mut self, thread: &GuildChannel, since: Id) {
        let (id, last) = (thread.id.get(), last_message(thread));
        if last > since {
            self.intake.follow(id, since, since);
            self.fetch_channel(id, Some(last));
        }
    }

    fn is_for_an_agent(&self, channel: ChannelId) -> bool {
        matches!(self.bot.directory.purpose(channel), Some(Purpose::Agent(_)))
    }

    /// Returns the channel of a thread; for any other channel the channel itself.
    pub(super) fn channel_around(&self, channel: Id) -> ChannelId {
        let channel = ChannelId::new(channel.max(1));
        self.bot.threads.parent(channel).unwrap_or(channel)
    }

    pub(super) fn list(&mut self, listing: Listing, wait: Duration) {
        self.listing += 1;
        let rest = self.bot.rest.clone();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(wait).await;
            let archived = rest.archived_threads(listing.channel, listing.before).await;
            Done::Listed(listing, archived)
        }));
    }

    /// Handles a page of a channel's archived threads: those that may have missed messages are fetched.
    pub(super) fn listed(&mut self, listing: Listing, archived: Result<ArchivedThreads, RestError>) {
        let ArchivedThreads { threads, more } = match archived {
            Ok(archived) => archived,
            Err(error) if error.is_worth_another_try() => {
                warn!(channel = %listing.channel, %error, "archived threads are not told yet; it is tried again");
                return self.list(listing, AGAIN);
            }
            Err(error) => {
                debug!(channel = %listing.channel, %error, "archived threads may not be asked for");
                return;
            }
        };
        let archived_at = |thread: &GuildChannel| thread.thread_metadata?.archive_timestamp;
        let since = millis_of(listing.since);
        let is_late = |at: Timestamp| at.timestamp_millis() >= since;
        for thread in threads.iter().filter(|thread| archived_at(thread).is_none_or(is_late)) {
            self.bot.threads.saw(thread);
            self.follow_thread(thread, listing.since);
        }
        // The list begins with the thread archived last.
        let oldest = threads.iter().filter_map(archived_at).min();
        if let Some(before) = oldest.filter(|oldest| more && is_late(*oldest)) {
            self.to_list.push_back(Listing { before: Some(before), ..listing });
        }
    }

    /// Stops tracking threads that are archived or deleted; a new message tracks them again. Otherwise each would be
    /// fetched at every new session, because the server does not tell their last message. Returns the memos to store.
    pub(super) fn forget_threads(&mut self) -> Vec<Memo> {
        if !self.guild_seen || !self.has_heard_all() {
            return Vec::new();
        }
        let heard = self.memory.threads_heard().into_iter();
        let unused = heard.filter(|thread| !self.bot.threads.is_in_use(ChannelId::new((*thread).max(1))));
        let unused: Vec<Id> = unused.filter(|thread| !self.fetched.contains_key(thread)).collect();
        let left = unused.into_iter().filter(|thread| self.intake.leave(*thread));
        let memos =
            Vec::from_iter(left).into_iter().map(|thread| self.memory.forget_thread(thread)).collect();
        // Threads with nothing but talk are not on disk.
        for channel in self.intake.channels() {
            if self.is_talk_of_the_past(channel) && self.intake.leave(channel) {
                self.strange.remove(&channel);
            }
        }
        memos
    }

    /// Returns true if a channel is an inactive thread in which nobody has addressed herder.
    fn is_talk_of_the_past(&self, channel: Id) -> bool {
        let id = ChannelId::new(channel.max(1));
        let is_kept = self.memory.notes(channel) || self.memory.direct(channel);
        let is_there = self.readable.contains_key(&id) || self.bot.threads.is_in_use(id);
        !is_kept && !is_there && self.bot.directory.purpose(id).is_none()
    }
}
