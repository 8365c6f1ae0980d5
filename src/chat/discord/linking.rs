//! Roles of Discord users who are linked to an account elsewhere: without them a link gives the user's own
//! permissions but not those of their roles. Also roles of people with a session of the page, when they look at it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serenity::all::UserId;
use tokio::time::Instant;
use tracing::warn;

use super::rest::RestError;
use super::{Bot, inbound};
use crate::access::RolesWanted;

/// Maximum age of the Discord roles of a linked user before they are requested again: a removed role counts on other
/// networks for no longer.
const FRESH: Duration = Duration::from_secs(300);

/// Interval at which linked users are checked for roles that are unknown or too old.
const EVERY: Duration = Duration::from_secs(15);

/// Keeps the Discord roles of linked users up to date, until dropped; they count on other networks too.
pub(super) async fn keep(bot: Arc<Bot>) {
    // The time of Discord's last answer for each user, in this adapter.
    let mut told: BTreeMap<String, Instant> = BTreeMap::new();
    loop {
        let ties = bot.ports.fleet.ties().all();
        told.retain(|user, _| ties.iter().any(|tie| tie.user == *user));
        for user in ties.iter().map(|tie| &tie.user) {
            if told.get(user).is_some_and(|at| at.elapsed() < FRESH) {
                continue;
            }
            match ask(&bot, user).await {
                Ok(roles) => {
                    bot.ports.fleet.ties().set_roles(user, roles);
                    told.insert(user.clone(), Instant::now());
                }
                // A short failure removes no roles; roles that are too old stop counting by themselves.
                Err(reason) => warn!(user, %reason, "the roles of a tied user cannot be told"),
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Answers the questions about roles of people who have a session of the page, until dropped.
pub(super) async fn answer(bot: Arc<Bot>) {
    let mut questions = bot.ports.fleet.ties().role_questions();
    while let Some(RolesWanted { user, mut answer }) = questions.recv().await {
        let told = tokio::select! {
            // The page has given up, and others wait.
            () = answer.closed() => continue,
            told = ask(&bot, &user) => told,
        };
        match told {
            Ok(roles) => drop(answer.send(roles)),
            Err(reason) => warn!(user, %reason, "the roles of a page's user cannot be told"),
        }
    }
}

async fn ask(bot: &Bot, user: &str) -> Result<Vec<String>, RestError> {
    match user.parse().ok().filter(|id| *id != 0).map(UserId::new) {
        Some(id) => inbound::roles_of(bot, id).await,
        None => Ok(Vec::new()),
    }
}
