//! The roles that people have on Discord who are somebody elsewhere too: without them a tie gives what a user may, and
//! not what their roles may.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serenity::all::UserId;
use tokio::time::Instant;
use tracing::warn;

use super::rest::RestError;
use super::{Bot, inbound};

/// How old what is known of somebody's roles may be: a role that is taken away counts elsewhere for no longer.
const FRESH: Duration = Duration::from_secs(300);

/// How soon after a tie is made the roles are known.
const EVERY: Duration = Duration::from_secs(15);

/// Keeps the roles of tied users known, until dropped.
pub(super) async fn keep(bot: Arc<Bot>) {
    // When Discord last told this adapter.
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
                // A moment's trouble takes nobody's roles away; what is not told for long counts for nothing by itself.
                Err(reason) => warn!(user, %reason, "the roles of a tied user cannot be told"),
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn ask(bot: &Bot, user: &str) -> Result<Vec<String>, RestError> {
    match user.parse().ok().filter(|id| *id != 0).map(UserId::new) {
        Some(id) => inbound::roles_of(bot, id).await,
        None => Ok(Vec::new()),
    }
}
