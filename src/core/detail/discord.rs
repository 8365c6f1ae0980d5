//! Reasons why Discord cannot be reached or refuses.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Detail, Own, brief};

/// A reason of the link to Discord. Every variant has a message `discord-link-…` of the same name in `locales/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]
pub enum DiscordReason {
    // ── for good, with the code that Discord gives ──
    /// Discord does not know the token (4004).
    Token,
    /// Discord refuses the shard (4010).
    Shard,
    /// Discord requires more shards (4011).
    MoreShards,
    /// Discord has another version of its gateway (4012).
    Version,
    /// Discord does not know an intent (4013).
    IntentUnknown,
    /// Discord does not allow an intent (4014).
    IntentRefused,
    /// No Discord client can be created with this configuration.
    Client,

    // ── for now ──
    /// The intent for message content is switched off at Discord; herder works without it.
    NoContent,
    /// All logins that Discord allows per period are used up; `total` per `within`.
    Logins { total: u64, within: Duration },
    /// The bot is not a member of the guild, or not any more.
    Outside,
    /// The Discord library did not finish when a link ended.
    Stuck,
    /// The Discord library starts no new link.
    NotAgain,
    /// The link to Discord was not ready within this time.
    NotLetIn { within: Duration },
    /// The link to Discord brought neither events nor heartbeats for the time `silent`.
    Dead { silent: Duration },
    /// The link to Discord broke.
    Broke,
    /// The thread for the link to Discord cannot be started.
    Thread,
    /// The thread for the link to Discord died.
    ThreadDied,

    // ── requests ──
    /// Discord refused a request.
    Refused { request: String, status: u16, code: u32 },
    /// A server between herder and Discord refused a request.
    Foreign { request: String, status: u16 },
    /// Discord refused that many requests within ten minutes, so herder sends only few.
    Stopped { refused: u32 },
    /// Discord did not answer a request in time.
    NotAnswered { request: String },
    /// Discord's answer to a request cannot be read.
    Unreadable { request: String },
    /// The request cannot be sent to Discord.
    Unaskable { request: String },
}

impl DiscordReason {
    /// Returns a detail with this reason, followed by text of another program.
    #[must_use]
    pub fn with(self, said: impl Into<String>) -> Detail {
        Own::Discord(self).with(said)
    }

    /// Returns the text fields of the reason, which may come from any program and so are bounded and redacted.
    pub(super) fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Refused { request, .. }
            | Self::Foreign { request, .. }
            | Self::NotAnswered { request }
            | Self::Unreadable { request }
            | Self::Unaskable { request } => vec![request],
            Self::Token
            | Self::Shard
            | Self::MoreShards
            | Self::Version
            | Self::IntentUnknown
            | Self::IntentRefused
            | Self::Client
            | Self::NoContent
            | Self::Logins { .. }
            | Self::Stopped { .. }
            | Self::Outside
            | Self::Stuck
            | Self::NotAgain
            | Self::NotLetIn { .. }
            | Self::Dead { .. }
            | Self::Broke
            | Self::Thread
            | Self::ThreadDied => Vec::new(),
        }
    }
}

/// The wording of the English locale; a test compares the two.
impl fmt::Display for DiscordReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str(
                "Discord does not know the token. Put the bot's token (Developer Portal, Bot, Reset Token) into `token` of \
                 [discord], or into the variable or file that it names, and start herder again",
            ),
            Self::Shard => f.write_str(
                "Discord refuses the shard that herder asked for (code 4010). Another program may be logged in with the \
                 same token and other shards; stop it and start herder again",
            ),
            Self::MoreShards => f.write_str(
                "Discord wants this bot to use more shards (code 4011): it is in too many guilds for one. Start herder \
                 again, so that it asks anew how many",
            ),
            Self::Version => f.write_str(
                "Discord does not speak this version of its gateway any more (code 4012). Install a newer herder",
            ),
            Self::IntentUnknown => f.write_str(
                "Discord does not know an intent that herder asks for (code 4013). Install a newer herder",
            ),
            Self::IntentRefused => f.write_str(
                "Discord does not allow an intent that herder asks for (code 4014). Switch on Message Content Intent in \
                 the Developer Portal under Bot, Privileged Gateway Intents, and start herder again",
            ),
            Self::Client => f.write_str("no client for Discord can be made"),
            Self::NoContent => {
                f.write_str("the Message Content intent is not switched on; herder goes on without it")
            }
            Self::Logins { total, within } => write!(
                f,
                "Discord allows this bot no more logins ({total} a day); the next one is in {}",
                brief(*within)
            ),
            Self::Outside => {
                f.write_str("the bot is not in its server; `herder check` prints the link that invites it")
            }
            Self::Stuck => f.write_str("Discord ended the link, and serenity hung over it"),
            Self::NotAgain => {
                f.write_str("the connection to Discord broke, and serenity does not begin another one")
            }
            Self::NotLetIn { within } => write!(f, "Discord did not let us in within {}", brief(*within)),
            Self::Dead { silent } => write!(
                f,
                "the connection to Discord is dead: no event and no answered heartbeat for {}",
                brief(*silent)
            ),
            Self::Broke => f.write_str("the connection to Discord broke"),
            Self::Thread => f.write_str("the link's thread cannot be started"),
            Self::ThreadDied => f.write_str("the link's thread died"),
            Self::Refused { request, status, code } => {
                write!(f, "Discord refused {request} (status {status}, code {code})")
            }
            Self::Foreign { request, status } => write!(
                f,
                "{request} was answered by something between herder and Discord (status {status}), such as a proxy; herder \
                 asks again"
            ),
            Self::Stopped { refused } => write!(
                f,
                "{refused} requests were refused within ten minutes, so herder asks Discord only now and then until it is \
                 answered again; the log names what was refused"
            ),
            Self::NotAnswered { request } => write!(f, "{request} was not answered in time"),
            Self::Unreadable { request } => write!(f, "the answer to {request} cannot be read"),
            Self::Unaskable { request } => write!(f, "{request} cannot be asked"),
        }
    }
}
