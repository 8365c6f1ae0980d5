//! Application commands: the whole table of commands as poise's, registered in the guild when it has changed.
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

mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use poise::serenity_prelude as serenity;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serenity::{ApplicationId, CommandOptionType, GuildId};
use tracing::{error, info, warn};

use super::Bot;
use super::rest::code;
use crate::journal::Memo;
use table::commands;

/// Under which key it is remembered what is registered.
const KEY: &str = "discord/commands";

/// Between two tries, the first time; doubled every time.
const AGAIN: Duration = Duration::from_secs(5);

/// The longest wait between two tries: a permission that is given meanwhile is found soon enough.
const AGAIN_MAX: Duration = Duration::from_secs(300);

/// What is registered, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Registered {
    application: ApplicationId,
    guild: GuildId,
    digest: String,
}

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

/// What Discord is sent, and by what it is known that it is the same as last time.
fn wanted(commands: &[poise::Command<(), ()>]) -> (Value, String) {
    let builders = poise::builtins::create_application_commands(commands);
    let mut body = serde_json::to_value(&builders).expect("builders of commands are plain data");
    words_for_places(&mut body);
    let digest = ring::digest::digest(&ring::digest::SHA256, body.to_string().as_bytes());
    let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    (body, digest)
}

/// Registers the commands if they changed, as often as it takes.
pub(super) async fn keep(bot: Arc<Bot>) {
    let (body, digest) = wanted(&commands());
    let guild = GuildId::new(bot.ports.settings.guild);
    let wanted = Registered { application: bot.application, guild, digest };
    if registered(&bot).await.as_ref() == Some(&wanted) {
        return;
    }
    let mut again = AGAIN;
    loop {
        match bot.rest.put_guild_commands(wanted.application, wanted.guild, &body).await {
            Ok(()) => break,
            Err(reason) if reason.code() == Some(code::MISSING_ACCESS) => error!(
                %reason, "the commands cannot be registered: invite the bot again with the scope applications.commands"
            ),
            Err(reason) => warn!(%reason, "the commands could not be registered; it is tried again"),
        }
        tokio::time::sleep(again).await;
        again = (again * 2).min(AGAIN_MAX);
    }
    info!(digest = wanted.digest, "the commands are registered");
    let Ok(value) = serde_json::to_string(&wanted) else { return };
    let memo = Memo { key: KEY.to_owned(), value: Some(value) };
    if let Err(reason) = bot.ports.journal.remember(vec![memo]).await {
        warn!(%reason, "what is registered could not be remembered; the next start registers it again");
    }
}

/// What was registered last.
async fn registered(bot: &Bot) -> Option<Registered> {
    let journal = bot.ports.journal.clone();
    match tokio::task::spawn_blocking(move || journal.memos(KEY)).await {
        Ok(Ok(memos)) => {
            let memo = memos.into_iter().find(|(key, _)| key == KEY);
            memo.and_then(|(_, value)| serde_json::from_str(&value).ok())
        }
        Ok(Err(reason)) => {
            warn!(%reason, "what is registered cannot be read; it is registered again");
            None
        }
        Err(_) => None,
    }
}
