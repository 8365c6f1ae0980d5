//! Channels that may turn out to be herder's own: what is said there waits until that is known. And what becomes of those that
//! have.

use std::collections::HashSet;
use std::time::Duration;

use serenity::all::ChannelId;

use super::Reader;
use super::intake::Id;
use crate::chat::discord::Bot;
use crate::chat::discord::directory::Outlook;
use crate::clock;

/// A channel that is older is none that was just made.
const YOUNG: Duration = Duration::from_secs(300);

impl Reader {
    /// Whether a channel that nobody knows may turn out to be one of herder's: while the server was not seen any, after that
    /// one that was just made.
    pub(super) fn may_be_ours(&self, channel: ChannelId) -> bool {
        let directory = &self.bot.directory;
        directory.may_be_ours(channel)
            && (directory.outlook() == Outlook::Unseen || is_young(&self.bot, channel.get()))
    }

    /// What is said in a channel that may be one of herder's is not worked on before that is known.
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

    /// Channels were learnt, or none is looked for or being made any more, or time has passed.
    pub(super) fn sure_of_channels(&mut self) {
        let unsure = std::mem::take(&mut self.unsure).into_iter();
        let (unsure, sure): (HashSet<Id>, HashSet<Id>) =
            unsure.partition(|channel| self.may_be_ours(ChannelId::new(*channel)));
        self.unsure = unsure;
        for channel in sure {
            self.intake.let_go(channel);
        }
        // What is said where herder is at home needs no call, also if it was not always at home there.
        let bot = &self.bot;
        self.strange.retain(|channel| bot.purpose_around(ChannelId::new((*channel).max(1))).is_none());
        if self.bot.directory.outlook() != Outlook::Unseen
            && let Some(guild) = self.unread.take()
        {
            self.guild(&guild);
        }
    }

    /// Channels that were made or found are followed from then on; and from where nobody heard, while that is not made up for.
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

/// Whether a channel was made only now.
fn is_young(bot: &Bot, channel: Id) -> bool {
    clock::now().since(bot.said_at(channel)) < YOUNG
}
