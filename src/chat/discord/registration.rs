//! Application commands: the table of commands as poise's types, registered in the guild when Discord has others.
//!
//! There is no second definition: names, groups, options, roles and texts come from [`crate::commands::COMMANDS`] and
//! `locales/`. poise builds the body of the request. It does not run the commands, see [`super::interactions`]; they
//! have empty actions because poise leaves out a command without one.
//!
//! On a fresh server only people who may manage it see commands that change something; permissions are checked in
//! `crate::access` anyway. Discord knows such a permission for a group as a whole, so that a group with only such
//! commands is seen by those people alone.
//!
//! Registration is a task of its own that never delays an event: without registered commands herder still receives
//! everything else.

mod same;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use poise::serenity_prelude as serenity;
use serde_json::Value;
use serenity::{CommandOptionType, Event};
use tokio::sync::broadcast;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::membership::{self, Membership};
use super::rest::{RestError, code};
use super::{Bot, network, permission};
use crate::core::notice::Notice;
use table::commands;

/// First wait before the slash commands are registered again after a failure; it doubles.
const AGAIN: Duration = Duration::from_secs(5);

/// Maximum wait before the slash commands are registered again after a failure: a permission granted meanwhile is
/// noticed soon enough.
const AGAIN_MAX: Duration = Duration::from_secs(300);

/// Interval of checks whether the slash commands still exist, because Discord does not report a revoked right.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

/// Replaces the values of choices in a registration by their names. The library poise uses positions in the list, which
/// differ between versions of herder while a person may still see the old list.
fn words_for_places(item: &mut Value) {
    let items = item.as_array_mut().into_iter().flatten();
    for item in items {
        // poise adds an age limit to every option, which Discord accepts for commands only.
        if let Some(item) = item.as_object_mut() {
            item.remove("nsfw");
        }
        if let Some(options) = item.get_mut("options") {
            words_for_places(options);
        }
        let choices = item.get_mut("choices").and_then(Value::as_array_mut);
        let Some(choices) = choices.filter(|choices| !choices.is_empty()) else { continue };
        for choice in choices {
            choice["value"] = choice["name"].clone();
        }
        item["type"] = u8::from(CommandOptionType::String).into();
    }
}

/// Builds the JSON body of the request that registers the slash commands.
fn wanted(commands: &[poise::Command<(), ()>]) -> Value {
    let builders = poise::builtins::create_application_commands(commands);
    let mut body = serde_json::to_value(&builders).expect("builders of commands are plain data");
    words_for_places(&mut body);
    body
}

/// Keeps the slash commands registered: compares them with Discord's at each session and when the bot joins its server.
/// They vanish when the bot is removed, and another program with the same token may change them.
pub(super) async fn keep(bot: Arc<Bot>, mut changes: broadcast::Receiver<Arc<Event>>) {
    let body = wanted(&commands());
    // The commands as Discord returned them, if that differs from what was sent: another request would not help.
    let mut shown_as = None;
    let mut again = AGAIN;
    let mut due = None;
    let mut refused = false;
    loop {
        tokio::select! {
            change = changes.recv() => match change {
                Ok(event) => match (membership::told(&event, bot.guild()), &*event) {
                    // It comes after READY, and when the bot was invited.
                    (Some(Membership::Inside), Event::GuildCreate(_)) => (again, due) = (AGAIN, Some(Instant::now())),
                    (Some(Membership::Outside), _) => due = None,
                    (_, Event::Unknown(unread)) if unread.kind == "GUILD_CREATE" => due = Some(Instant::now()),
                    (Some(Membership::Inside | Membership::Unknown) | None, _) => {}
                },
                Err(broadcast::error::RecvError::Lagged(_)) => due = Some(Instant::now()),
                Err(broadcast::error::RecvError::Closed) => return,
            },
            () = until(due) => {
                let registered = register(&bot, &body, &mut shown_as).await;
                let is_refused = registered.as_ref().is_err_and(|why| why.code() == Some(code::MISSING_ACCESS));
                if is_refused && !refused {
                    say_refused(&bot).await;
                }
                refused = is_refused;
                let wait = match registered {
                    Ok(()) => {
                        again = AGAIN;
                        LOOK_EVERY
                    }
                    Err(reason) => {
                        warn!(%reason, "the commands could not be registered; it is tried again");
                        let wait = again;
                        again = (again * 2).min(AGAIN_MAX);
                        wait
                    }
                };
                due = Some(Instant::now() + wait);
            }
        }
    }
}

/// Alerts that the slash commands cannot be registered: the bot was invited without them, or they were revoked, and it
/// has to be invited again. Posts are not affected.
async fn say_refused(bot: &Bot) {
    if *bot.membership.borrow() != Membership::Inside {
        return;
    }
    error!("the commands cannot be registered: invite the bot again with the scope applications.commands");
    let invite = permission::invite(bot.application.get(), bot.guild().get());
    bot.ports.fleet.alert(Notice::CommandsRefused { network: network(), invite }).await;
}

async fn until(due: Option<Instant>) {
    match due {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Registers the slash commands if those that Discord has are different.
async fn register(bot: &Bot, body: &Value, shown_as: &mut Option<Value>) -> Result<(), RestError> {
    let (wanted, guild) = (same::told_apart(body), bot.guild());
    let there = same::told_apart(&bot.rest.guild_commands(bot.application, guild).await?);
    if there == wanted || shown_as.as_ref() == Some(&there) {
        return Ok(());
    }
    let made = bot.rest.put_guild_commands(bot.application, guild, body).await?;
    info!("the commands are registered");
    let made = same::told_apart(&made);
    if made != wanted {
        warn!("Discord shows the commands otherwise than they were sent");
        *shown_as = Some(made);
    }
    Ok(())
}
