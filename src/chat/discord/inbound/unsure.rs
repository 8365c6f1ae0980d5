//! Channels that may turn out to be herder's own: their messages wait until that is known.

use std::collections::HashSet;
use std::time::Duration;

use serenity::all::ChannelId;

use super::Reader;
use super::intake::Id;
use crate::chat::discord::Bot;
use crate::chat::discord::directory::Outlook;
use crate::clock;

/// Maximum age of an unknown channel at which it may be one that herder has just created.
const YOUNG: Duration = Duration::from_secs(300);

impl Reader {
    /// Returns true if an unknown channel may be one of herder's: any channel until the server was read, later only a
    /// new one.
    pub(super) fn may_be_ours(&self, channel: ChannelId) -> bool {
        let directory = &self.bot.directory;
        directory.may_be_ours(channel)
            && (directory.outlook() == Outlook::Unseen || is_young(&self.bot, channel.get()))
    }

    /// Holds back the messages of an unknown channel, of which `first` is the first, until it is known whether the
    /// channel is herder's.
    pub(super) fn wait_for_its_purpose(&mut self, channel: Id, first: Id) {
        if self.unsure.insert(channel) {
            if is_young(&self.bot, channel) {
                self.intake.follow(channel, channel, 0);
            } else {
                self.intake.meet(channel, first);
            }
            self.intake.hold(channel);
        }
    }

    /// Releases the messages of channels about which it is now known whether they are herder's.
    pub(super) fn sure_of_channels(&mut self) {
        let unsure = std::mem::take(&mut self.unsure).into_iter();
        let (unsure, sure): (HashSet<Id>, HashSet<Id>) =
            unsure.partition(|channel| self.may_be_ours(ChannelId::new(*channel)));
        self.unsure = unsure;
        for channel in sure {
            self.intake.let_go(channel);
        }
        // In herder's own channels every message is for it, also in one that became its own only now.
        let bot = &self.bot;
        self.strange.retain(|channel| bot.purpose_around(ChannelId::new((*channel).max(1))).is_none());
        if self.bot.directory.outlook() != Outlook::Unseen
            && let Some(guild) = self.unread.take()
        {
            self.guild(&guild);
        }
    }

    /// Starts to track herder's channels that were created or found, from now on or from the beginning of a gap that is
    /// not fetched yet.
    pub(super) fn follow_new(&mut self) {
        for (_, channel) in self.bot.directory.all() {
            let channel = channel.get();
            if !self.intake.follows(channel) {
                let floor = self.memory.first_seen(channel, self.missed_since);
                self.intake.follow(channel, channel, floor);
            }
        }
    }
}

/// Returns true if a channel was created recently.
fn is_young(bot: &Bot, channel: Id) -> bool {
    clock::now().since(bot.said_at(channel)) < YOUNG
}
