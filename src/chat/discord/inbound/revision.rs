//! Edits and deletions of messages, both of waiting ones and of those that became a waiting task.

use std::collections::HashMap;
use std::time::Duration;

use tracing::debug;

use super::intake::Id;
use super::roles::Roles;
use super::said::{Names, Said, Words, line};
use super::work::{self, say, say_left_out};
use crate::access;
use crate::chat::discord::Bot;
use crate::core::id::{AgentName, WorkId};
use crate::core::notice::Refusal;
use crate::core::work::Work;
use crate::supervisor::Holder;

/// Maximum time in which the files of an edited message are fetched. The message's next edit waits meanwhile.
const FILES_WITHIN: Duration = Duration::from_secs(10);
/// Maximum number of messages whose last edit is remembered; for others a pin counts as another edit.
const EDITS_MAX: usize = 4096;
/// Interval at which a task that moves between agents is looked up, because its arrival is not signalled.
const ARRIVES_WITHIN: Duration = Duration::from_secs(5);

/// A change of a message by its author.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Revision {
    /// The message was edited; this is its new content.
    Edited(Box<Said>),
    /// The author has deleted the message.
    Deleted,
}

impl Revision {
    /// Returns a message that was not handled yet, with this change applied; `None` if it was deleted.
    pub(super) fn of_waiting(&self, said: Said) -> Option<Said> {
        match self {
            Self::Edited(now) => Some(Said { roles: now.roles.clone().or(said.roles), ..(**now).clone() }),
            Self::Deleted => None,
        }
    }
}

/// Changes or cancels the task that a message became, whichever agent has it now. Returns the change if it has to be
/// tried again.
pub(super) async fn carry_out(
    bot: &Bot,
    names: &Names,
    roles: &Roles,
    (channel, id): (Id, Id),
    revision: Revision,
    (given_to, work): (Option<AgentName>, WorkId),
) -> Option<Revision> {
    match revision {
        Revision::Edited(said) => {
            let line = work::line(bot, names, roles, &said, FILES_WITHIN).await?;
            // The task has that file's text, or will have it; an edit of a word must not remove it.
            if line.is_short && bot.ports.fleet.waiting(work).is_some() {
                debug!(id, "a message was changed, and a file of it cannot be read for now");
                return Some(Revision::Edited(said));
            }
            match bot.ports.dispatcher.reword(line.inbound.clone(), given_to.as_ref(), work).await {
                Ok(true) => say_left_out(bot, &line),
                Err(lines) if !lines.is_empty() => say(bot, &line.inbound, lines),
                Ok(false) | Err(_) => {}
            }
        }
        Revision::Deleted => loop {
            let mut changes = bot.ports.fleet.changes();
            if !withdraw(bot, roles, (channel, id), work).await? {
                break;
            }
            // Only a shutdown ends the changes.
            let _ = tokio::time::timeout(ARRIVES_WITHIN, changes.changed()).await;
        },
    }
    None
}

/// Cancels the task of a deleted message. Returns true if the task is moving between agents, so that it has to be tried
/// again; `None` if nothing can be done.
async fn withdraw(bot: &Bot, roles: &Roles, (channel, id): (Id, Id), work: WorkId) -> Option<bool> {
    let fleet = &bot.ports.fleet;
    let Some(waiting) = fleet.waiting(work) else {
        // It may have moved between two looks.
        return Some(fleet.holder(work) == Some(Holder::Nobody) || fleet.waiting(work).is_some());
    };
    let said = author_of(channel, id, &waiting)?;
    let place = work::place(bot, &said).await?;
    let roles = roles.of(bot, said.author).await?;
    let inbound = line(&said, Words::default(), place, roles, bot.said_at(said.id));
    let refused = bot.ports.dispatcher.withdraw(inbound, work).await.err();
    if let Some(refusal) = &refused {
        debug!(?refusal, id, "a message was deleted whose work cannot be taken back");
    }
    Some(matches!(refused, Some(Refusal::TaskMoving { .. })))
}

/// Builds a message by the task's author, because a deleted message does not name its author.
fn author_of(channel: Id, id: Id, waiting: &Work) -> Option<Said> {
    let by = &waiting.by;
    let author = access::discord_user(by.identity.as_deref()?)?.parse().ok()?;
    Some(Said {
        id,
        channel,
        direct: false,
        author,
        name: by.name.clone(),
        roles: None,
        text: String::new(),
        mentioned: Vec::new(),
        files: Vec::new(),
        unread: None,
        replied: None,
    })
}

/// Times of the last known edit of each message, in milliseconds. Discord reports a pin or a link preview as another
/// edit with the time of the last one.
#[derive(Debug, Default)]
pub(super) struct Edits(HashMap<Id, i64>);

impl Edits {
    /// Returns true if an edit is newer than the last known one of its message; of an unedited message only the first
    /// report is.
    pub(super) fn is_news(&mut self, id: Id, edited: Option<serenity::all::Timestamp>) -> bool {
        let Some(edited) = edited.map(|edited| edited.timestamp_millis()) else {
            return !self.0.contains_key(&id);
        };
        if self.0.get(&id).is_some_and(|known| *known >= edited) {
            return false;
        }
        self.note(id, edited);
        true
    }

    /// Records that a message was deleted, so that no later report about it counts as newer.
    pub(super) fn is_gone(&mut self, id: Id) {
        self.note(id, i64::MAX);
    }

    fn note(&mut self, id: Id, edited: i64) {
        if self.0.len() >= EDITS_MAX {
            self.0.clear();
        }
        self.0.insert(id, edited);
    }
}
