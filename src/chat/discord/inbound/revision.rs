//! Messages that are changed or deleted: while they wait here, or when they are work that waits for an agent.

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

/// How long the files of a message that was changed are tried for at once. What is changed about it next waits meanwhile.
const FILES_WITHIN: Duration = Duration::from_secs(10);
/// Changes of messages that are remembered; of one that is not, a pin is taken for another change.
const EDITS_MAX: usize = 4096;
/// Between two looks at work that is on its way, where nothing tells that it has arrived.
const ARRIVES_WITHIN: Duration = Duration::from_secs(5);

/// What became of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Revision {
    /// It says this now.
    Edited(Box<Said>),
    /// It is gone.
    Deleted,
}

impl Revision {
    /// A message that was not worked on yet.
    pub(super) fn of_waiting(&self, said: Said) -> Option<Said> {
        match self {
            Self::Edited(now) => Some(Said { roles: now.roles.clone().or(said.roles), ..(**now).clone() }),
            Self::Deleted => None,
        }
    }
}

/// Changes or takes back the work that a message became, whoever has it now. Answers what is to be tried again.
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
            // The work has the text of that file, or will; it is not to lose it over a word beside it.
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
            // Only who goes down hears of no more changes.
            let _ = tokio::time::timeout(ARRIVES_WITHIN, changes.changed()).await;
        },
    }
    None
}

/// Takes back the work of a message that is gone. Answers whether it is on its way to whoever has it next; `None`: there is
/// nothing to be done.
async fn withdraw(bot: &Bot, roles: &Roles, (channel, id): (Id, Id), work: WorkId) -> Option<bool> {
    let fleet = &bot.ports.fleet;
    let Some(waiting) = fleet.waiting(work) else {
        // It may have come from one to the other between two looks.
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

/// Whose work it was: a message that is gone does not say.
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

/// When messages were last changed, as far as it was heard. Discord tells of a pin, or of a link that it previews, as if the
/// message were changed once more, with the time of the last change.
#[derive(Debug, Default)]
pub(super) struct Edits(HashMap<Id, i64>);

impl Edits {
    /// Whether the words are newer than those that were heard last; those of a message that nobody changed are the first.
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

    /// A message was deleted: nothing that comes late about it is newer.
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
