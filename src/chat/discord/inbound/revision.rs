//! Messages that are changed or deleted: while they wait here, or when they are work that waits for an agent.

use tracing::debug;

use super::intake::Id;
use super::roles::Roles;
use super::said::{Names, Said, Words, line};
use super::work::{self, say, say_left_out};
use crate::access;
use crate::chat::discord::Bot;
use crate::core::id::{AgentName, WorkId};

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

/// Changes or takes back the work that a message became, whoever has it now.
pub(super) async fn carry_out(
    bot: &Bot,
    names: &Names,
    roles: &Roles,
    (channel, id): (Id, Id),
    revision: Revision,
    (given_to, work): (Option<AgentName>, WorkId),
) {
    match revision {
        Revision::Edited(said) => {
            let Some((inbound, left_out)) = work::line(bot, names, roles, &said).await else { return };
            match bot.ports.dispatcher.reword(inbound.clone(), given_to.as_ref(), work).await {
                Ok(true) => say_left_out(bot, &inbound, &left_out),
                Err(lines) if !lines.is_empty() => say(bot, &inbound, lines),
                Ok(false) | Err(_) => {}
            }
        }
        Revision::Deleted => {
            let Some(said) = author_of(bot, channel, id, work) else { return };
            let Some(place) = work::place(bot, &said).await else { return };
            let Some(roles) = roles.of(bot, said.author).await else { return };
            let inbound = line(&said, Words::default(), place, roles);
            if let Err(refusal) = bot.ports.dispatcher.withdraw(inbound, work).await {
                debug!(?refusal, id, "a message was deleted whose work does not wait any more");
            }
        }
    }
}

/// Whose work it was: a message that is gone does not say.
fn author_of(bot: &Bot, channel: Id, id: Id, work: WorkId) -> Option<Said> {
    let waiting = bot.ports.fleet.waiting(work)?;
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
    })
}
