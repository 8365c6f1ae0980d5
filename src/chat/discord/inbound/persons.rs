//! Private conversations whose start was missed: Discord does not list their channels, so that those of people known
//! by id are requested one by one.

use std::time::Duration;

use serenity::all::{MessageId, UserId};
use tracing::{debug, warn};

use super::intake::Id;
use super::{Done, Reader};
use crate::chat::discord::rest::{Direct, RestError};

/// Maximum number of people whose private channels are requested after messages may have been missed: more than command
/// a herder.
const PERSONS_MAX: usize = 64;
/// Wait before a private channel is requested again after a failure.
const ASK_AGAIN: Duration = Duration::from_secs(5);

impl Reader {
    /// Requests the private channels of people whose id is known: they may have written to herder for the first time
    /// after the id `since`.
    pub(super) fn ask_for_private_talk(&mut self, since: Id) {
        let named = self.bot.ports.dispatcher.discord_users().into_iter();
        let tied = self.bot.ports.fleet.ties().all().into_iter().map(|tie| tie.user);
        let ids = named.chain(tied).filter_map(|user| user.parse::<Id>().ok()).filter(|id| *id != 0);
        let is_heard = |id: &Id| self.private.get(id).is_some_and(|channel| self.intake.follows(*channel));
        let people: Vec<Id> = ids.filter(|id| !is_heard(id) && !self.asked.contains_key(id)).collect();
        for person in people {
            if self.asked.len() >= PERSONS_MAX {
                return warn!("more people may have written in private than are asked about");
            }
            self.asked.insert(person, since);
            self.ask_for_talk_with(person, Duration::ZERO);
        }
    }

    fn ask_for_talk_with(&mut self, person: Id, wait: Duration) {
        let rest = self.bot.rest.clone();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(wait).await;
            Done::Private { person, direct: rest.direct(UserId::new(person)).await }
        }));
    }

    /// Handles the private channel with a person: messages there that were missed are fetched.
    pub(super) fn private_talk(&mut self, person: Id, direct: Result<Direct, RestError>) {
        match direct {
            Ok(direct) => {
                let (channel, last) = (direct.id.get(), direct.last_message_id.map_or(0, MessageId::get));
                let since = self.asked.remove(&person).unwrap_or(Id::MAX);
                self.private.insert(person, channel);
                if last > since && self.intake.follow(channel, since, since) {
                    debug!(channel, "somebody wrote in private for the first time, and nobody heard it");
                    self.memory.is_direct(channel);
                    self.fetch_channel(channel, Some(last));
                }
            }
            Err(error @ RestError::Refused { .. }) => {
                debug!(person, %error, "somebody cannot be talked with in private");
                self.asked.remove(&person);
            }
            Err(error) => {
                warn!(person, %error, "whether somebody wrote in private is not told yet; it is asked again");
                self.ask_for_talk_with(person, ASK_AGAIN);
            }
        }
    }
}
