//! The roles that people have on Discord who are somebody elsewhere too: without them a tie gives what a user may, and
//! not what their roles may.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serenity::all::{GuildId, UserId};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::Bot;

/// How old what is known of somebody's roles may be: a role that is taken away counts elsewhere for no longer.
const FRESH: Duration = Duration::from_secs(300);

/// How soon after a tie is made the roles are known.
const EVERY: Duration = Duration::from_secs(15);

/// Keeps the roles of tied users known, until dropped.
pub(super) async fn keep(bot: Arc<Bot>) {
    let mut asked: BTreeMap<String, Instant> = BTreeMap::new();
    loop {
        let ties = bot.ports.fleet.ties().all();
        asked.retain(|user, _| ties.iter().any(|tie| tie.user == *user));
        for user in ties.iter().map(|tie| &tie.user) {
            if asked.get(user).is_some_and(|at| at.elapsed() < FRESH) {
                continue;
            }
            ask(&bot, user).await;
            asked.insert(user.clone(), Instant::now());
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn ask(bot: &Bot, user: &str) {
    let guild = GuildId::new(bot.ports.settings.guild);
    let Some(id) = user.parse().ok().filter(|id| *id != 0).map(UserId::new) else { return };
    let roles = match bot.rest.member(guild, id).await {
        Ok(member) => member.roles.iter().map(ToString::to_string).collect(),
        Err(gone) if gone.status() == Some(404) => {
            debug!(user, "a tied user is no member of the guild");
            Vec::new()
        }
        Err(reason) => {
            // What cannot be told gives nothing.
            warn!(user, %reason, "the roles of a tied user cannot be told");
            Vec::new()
        }
    };
    bot.ports.fleet.ties().set_roles(user, roles);
}
