//! Application commands: the whole table of commands as poise's, registered in the guild when Discord has others.
//!
//! There is no second definition: names, groups, options, roles and texts come from [`crate::commands::COMMANDS`] and
//! `locales/`. poise takes the commands as values and makes what Discord is sent. It does not carry them out, see
//! [`super::interactions`]; their actions are there because poise leaves out a command without one.
//!
//! On a fresh server only people who may manage it see what changes something; who may do what is checked all the same,
//! in the one place where it always is. Discord knows such a permission for a group as a whole, so that a group with one
//! command that changes something is seen by those people alone.
//!
//! Registering is a task of its own that never holds up an event: a herder whose commands could not be registered hears
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

/// Between two tries, the first time; doubled every time.
const AGAIN: Duration = Duration::from_secs(5);

/// The longest wait between two tries: a permission that is given meanwhile is found soon enough.
const AGAIN_MAX: Duration = Duration::from_secs(300);

/// How often it is looked whether they are still there: nothing tells of a right that was taken away.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

/// In poise a choice is its place in the list, which another version of herder may have in another order while a person
/// still sees the old one. What is chosen is to say what was meant: the word itself.
fn words_for_places(item: &mut Value) {
    let items = item.as_array_mut().into_iter().flatten();
    for item in items {
        // poise says of every option that it is fit for all ages, which only commands can be asked.
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

/// What Discord is sent.
fn wanted(commands: &[poise::Command<(), ()>]) -> Value {
    let builders = poise::builtins::create_application_commands(commands);
    let mut body = serde_json::to_value(&builders).expect("builders of commands are plain data");
    words_for_places(&mut body);
    body
}

/// Keeps the commands registered: with each session, and when the bot comes into its server, it is looked at what Discord
/// has. They go when the bot is thrown out, and another program with the same token may change them.
pub(super) async fn keep(bot: Arc<Bot>, mut changes: broadcast::Receiver<Arc<Event>>) {
    let body = wanted(&commands());
    // As Discord showed them after they were registered, if that is not as they were sent: asking again would not help.
    let mut shown_as = None;
    let mut again = AGAIN;
    let mut due = None;
    let mut refused = false;
    loop {
        tokio::select! {
            change = changes.recv() => match change {
                Ok(event) => match (membership::told(&event, bot.guild()), &*event) {
                    // It comes after READY, and when the bot was let in.
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

/// The bot was let in without its commands, or they were taken from it: somebody has to let it in again. Posts still get
/// through.
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

/// Registers the commands if Discord has others.
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
