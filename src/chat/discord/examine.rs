//! `herder check` for Discord: token, intents, server and permissions, and instructions for what is missing.

use std::sync::Arc;
use std::time::Duration;

use serenity::all::{
    ApplicationFlags, ApplicationId, CurrentApplicationInfo, CurrentUser, GuildId, Permissions,
};

use super::channels;
use super::permission::{self, Needed};
use super::rest::{Rest, RestError, code};
use crate::config;

/// Timeout of each request to Discord in `herder check`.
const PATIENCE: Duration = Duration::from_secs(20);

/// Discord's error code: the guild does not exist, or not for this bot.
const UNKNOWN_GUILD: u32 = 10004;

/// The result of one check of the Discord settings, with its text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The checked setting is correct.
    Good(String),
    /// herder can work with the checked setting, but not completely.
    Note(String),
    /// herder cannot work with the checked setting.
    Bad(String),
}

/// Runs all checks of the Discord settings for `herder check`: token, server, intents, permissions and channels.
pub async fn examine(settings: &config::Discord) -> Vec<Finding> {
    let rest = match Rest::new(settings, Arc::default()).await {
        Ok(rest) => rest.within(PATIENCE),
        Err(reason) => return vec![Finding::Bad(format!("discord: {reason}"))],
    };
    let me = match rest.current_user().await {
        Ok(me) => me,
        Err(error) => return vec![Finding::Bad(of_token(&error))],
    };
    let mut findings = vec![Finding::Good(format!("discord: the token is that of the bot {}", me.name))];
    let application = match rest.application().await {
        Ok(application) => application,
        Err(error) => {
            findings.push(Finding::Bad(format!("discord: the application cannot be asked for: {error}")));
            return findings;
        }
    };
    let invite = permission::invite(application.id.get(), settings.guild);
    findings.push(Finding::Good(format!("discord: the bot is invited with {invite}")));
    findings.push(intents(&application));
    findings.extend(server(&rest, settings, (&me, application.id), &invite).await);
    findings
}

fn of_token(error: &RestError) -> String {
    if error.is_unknown_token() {
        return "discord: Discord does not know the token; in the Developer Portal open the application, Bot, Reset \
                Token, and put what it shows where `token` of [discord] points"
            .to_owned();
    }
    format!("discord: Discord cannot be asked: {error}")
}

fn of_commands(error: &RestError, invite: &str) -> Finding {
    if error.code() == Some(code::MISSING_ACCESS) {
        return Finding::Bad(format!(
            "discord: slash commands cannot be registered; let the bot in again with {invite}, which has the scope \
             applications.commands"
        ));
    }
    Finding::Note(format!("discord: the slash commands cannot be asked for: {error}"))
}

fn intents(application: &CurrentApplicationInfo) -> Finding {
    let flags = application.flags.unwrap_or(ApplicationFlags::empty());
    let content =
        ApplicationFlags::GATEWAY_MESSAGE_CONTENT | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED;
    if flags.intersects(content) {
        return Finding::Good("discord: the Message Content intent is on".to_owned());
    }
    Finding::Note(format!(
        "discord: the Message Content intent is off: slash commands, @mentions of the bot, buttons and private messages \
         work, plain text in an agent's channel does not; switch it on at \
         https://discord.com/developers/applications/{}/bot under Privileged Gateway Intents",
        application.id
    ))
}

async fn server(
    rest: &Rest,
    settings: &config::Discord,
    (me, application): (&CurrentUser, ApplicationId),
    invite: &str,
) -> Vec<Finding> {
    let id = GuildId::new(settings.guild);
    let guild = match rest.guild(id).await {
        Ok(guild) => guild,
        Err(error) if matches!(error.code(), Some(code::MISSING_ACCESS | UNKNOWN_GUILD)) => {
            return vec![Finding::Bad(format!(
                "discord: the bot is not in the server {id}; correct `guild`, or open {invite} and let it in"
            ))];
        }
        Err(error) => {
            return vec![Finding::Bad(format!("discord: the server {id} cannot be asked for: {error}"))];
        }
    };
    let mut findings = vec![Finding::Good(format!("discord: the bot is in the server {}", guild.name))];
    let commands = rest.guild_commands(application, id).await;
    findings.extend(commands.err().map(|error| of_commands(&error, invite)));
    let standing = match channels::standing(rest, id, me.id).await {
        Ok(standing) => standing,
        Err(error) => {
            findings.push(Finding::Bad(format!("discord: the bot's roles cannot be asked for: {error}")));
            return findings;
        }
    };
    let base = standing.base();
    let lacking: Vec<Needed> = permission::missing(base).collect();
    findings.extend(lacking.iter().map(|needed| {
        Finding::Bad(format!(
            "discord: the permission {} is missing ({}); open Server Settings, Roles, the role of {}, Permissions and \
             switch it on, or let the bot in again with {invite}",
            needed.name, needed.without, me.name
        ))
    }));
    let closed = closed(rest, settings, id, |overwrites| standing.within(overwrites) | !base).await;
    let closed: Vec<Finding> = closed
        .into_iter()
        .map(|(place, needed)| {
            Finding::Bad(format!(
                "discord: the permission {} is missing for {place} ({}); right-click it, Edit, Permissions, add the role \
                 of {} and allow it",
                needed.name, needed.without, me.name
            ))
        })
        .collect();
    if lacking.is_empty() && closed.is_empty() {
        findings.push(Finding::Good("discord: the bot has every permission it needs".to_owned()));
    }
    findings.extend(closed);
    findings
}

/// Checks whether the agents' category, or a channel in it, takes away permissions that the server grants.
async fn closed(
    rest: &Rest,
    settings: &config::Discord,
    guild: GuildId,
    within: impl Fn(&[serenity::all::PermissionOverwrite]) -> Permissions,
) -> Vec<(String, Needed)> {
    /// Maximum number of channels that one result lists: as many as a person repairs before checking again.
    const SHOWN_MAX: usize = 10;
    let Ok(channels) = rest.channels(guild).await else { return Vec::new() };
    let category = channels.iter().find(|channel| {
        channel.kind == serenity::all::ChannelType::Category
            && channel.name.to_lowercase() == settings.category.to_lowercase()
    });
    let Some(category) = category else { return Vec::new() };
    let above = within(&category.permission_overwrites);
    let mut closed: Vec<(String, Needed)> = permission::missing(above)
        .map(|needed| (format!("the category {}", category.name), needed))
        .collect();
    for channel in channels.iter().filter(|channel| channel.parent_id == Some(category.id)) {
        let lacking = permission::missing_in_channel(within(&channel.permission_overwrites));
        let lacking = lacking.filter(|needed| above.contains(needed.permission()));
        closed.extend(lacking.map(|needed| (format!("#{}", channel.name), needed)));
    }
    closed.truncate(SHOWN_MAX);
    closed
}
