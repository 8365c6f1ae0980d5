//! What roles somebody has, where a message does not tell: fetched messages and private ones never do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serenity::all::{GuildId, UserId};
use tokio::time::Instant;
use tracing::warn;

use super::said::role_ids;
use crate::chat::discord::rest::{RestError, code};
use crate::chat::discord::{Bot, network};
use crate::chat::{Author, Origin};

/// How old an answer may be: long enough for a page of one person's messages, too short for a role that is taken away to
/// matter.
const FRESH: Duration = Duration::from_secs(5);
/// People whose roles are remembered at once; a page has fewer authors.
const KNOWN_MAX: usize = 256;
/// Between two tries to ask for somebody's roles.
const AGAIN: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Roles {
    known: Mutex<HashMap<UserId, (Instant, Vec<String>)>>,
}

impl Roles {
    /// Asks until Discord tells: whoever commands must not become a stranger because a request failed. `None`: no more
    /// speech is taken in, and the message is read again after the next start.
    pub(super) async fn of(&self, bot: &Bot, user: UserId) -> Option<Vec<String>> {
        if let Some(roles) = self.known(user) {
            return Some(roles);
        }
        loop {
            match ask(bot, user).await {
                Ok(roles) => {
                    self.learn(user, &roles);
                    return Some(roles);
                }
                Err(error) => {
                    warn!(%user, %error, "somebody's roles are not told; what they said waits");
                }
            }
            tokio::select! {
                () = bot.ports.hearing.cancelled() => return None,
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }

    /// Whether somebody may not even look. Whose roles are not told any more is none, as far as anybody knows.
    pub(super) async fn is_stranger(&self, bot: &Bot, user: UserId) -> bool {
        let Some(roles) = self.of(bot, user).await else { return false };
        let author = Author {
            network: network(),
            nick: String::new(),
            account: Some(user.to_string()),
            mask: None,
            roles,
            origin: Origin::Network,
        };
        bot.ports.dispatcher.role(&author).is_none()
    }

    fn known(&self, user: UserId) -> Option<Vec<String>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&user).filter(|(at, _)| at.elapsed() < FRESH).map(|(_, roles)| roles.clone())
    }

    fn learn(&self, user: UserId, roles: &[String]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.retain(|_, (at, _)| at.elapsed() < FRESH);
        }
        if known.len() < KNOWN_MAX {
            known.insert(user, (Instant::now(), roles.to_vec()));
        }
    }
}

/// The roles of somebody now; who is no member has none.
///
/// # Errors
/// Discord did not tell.
pub(in crate::chat::discord) async fn ask(bot: &Bot, user: UserId) -> Result<Vec<String>, RestError> {
    match bot.rest.member(GuildId::new(bot.ports.settings.guild), user).await {
        Ok(member) => Ok(role_ids(&member.roles)),
        Err(error) if matches!(error.code(), Some(code::UNKNOWN_MEMBER | code::UNKNOWN_USER)) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}
