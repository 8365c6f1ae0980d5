//! Roles of an author, where the message lacks them: fetched and private messages always do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serenity::all::{GuildId, UserId};
use tokio::time::Instant;
use tracing::warn;

use super::said::role_ids;
use crate::chat::discord::rest::{RestError, code};
use crate::chat::discord::{Bot, network};
use crate::core::speech::{Author, Origin};

/// Maximum age of cached roles: long enough for a page of one person's messages, too short to matter when a role is
/// removed.
const FRESH: Duration = Duration::from_secs(5);
/// Maximum number of people whose roles are cached; a page of messages has fewer authors.
const KNOWN_MAX: usize = 256;
/// Wait before somebody's roles are requested again after a failure.
const AGAIN: Duration = Duration::from_secs(5);

/// A short-lived cache of the role ids of people. See the module.
#[derive(Debug, Default)]
pub(super) struct Roles {
    known: Mutex<HashMap<UserId, (Instant, Vec<String>)>>,
}

impl Roles {
    /// Returns the role ids of a person, and requests them until Discord answers, so that a failed request does not
    /// make an operator a stranger. `None` if intake closes; then the message is read again after the next start.
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

    /// Returns true if a person has no role in herder at all. A person whose roles are unknown because intake closes
    /// does not count.
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

/// Requests the role ids that a person has on the server; empty if the person is not a member.
///
/// # Errors
/// Discord did not answer.
pub(in crate::chat::discord) async fn ask(bot: &Bot, user: UserId) -> Result<Vec<String>, RestError> {
    match bot.rest.member(GuildId::new(bot.ports.settings.guild), user).await {
        Ok(member) => Ok(role_ids(&member.roles)),
        Err(error) if matches!(error.code(), Some(code::UNKNOWN_MEMBER | code::UNKNOWN_USER)) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}
