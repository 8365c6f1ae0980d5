//! `[discord]`: the guild, the token and the channels.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;

use super::section::Section;

/// Maximum length of a channel's or category's name on Discord, in characters.
const NAME_MAX: usize = 100;

/// Base URL of Discord's REST API.
pub const API_URL: &str = "https://discord.com";

/// Settings of `[discord]`.
#[derive(Debug, Clone)]
pub struct Discord {
    /// Token of the bot.
    pub token: SecretString,
    /// Id of the guild (Discord's word for a server) that herder works in.
    pub guild: u64,
    /// Name of the category that contains the agents' channels.
    pub category: String,
    /// Name of the channel for alerts.
    pub alerts_channel: String,
    /// Name of the channel for machine-readable lines about tasks.
    pub work_channel: String,
    /// Name of the channel for commands to herder itself.
    pub control_channel: String,
    /// User ids of other bots that herder listens to; all others are ignored.
    pub bots: Vec<String>,
    /// The roles and people that alerts ping; herder pings no others.
    pub call: Call,
    /// The way in which herder reaches Discord's API.
    pub reach: Reach,
}

/// The roles and people that an alert in `#alerts` pings, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Discord ids of the roles to ping.
    pub roles: Vec<String>,
    /// Discord ids of the people to ping.
    pub users: Vec<String>,
}

impl Call {
    /// Maximum number of roles and people that an alert pings: they are listed below the alert, in the same message.
    const MAX: usize = 20;
}

/// The way in which herder reaches Discord's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Over the internet, at the usual address.
    Internet,
    /// At this base URL, without encryption: a proxy with a rate limiter of its own, or a simulator.
    Plain(String),
    /// Encrypted as usual, but at a given address, whose certificate an additional authority has signed.
    At {
        /// Address and port, in place of the name server's answer.
        address: SocketAddr,
        /// Path of the PEM file with the additional trusted authority.
        ca: PathBuf,
    },
}

/// Parses `[discord]`; `None` if it is switched off.
pub(super) fn discord(section: Section<'_>) -> Option<Discord> {
    let enabled = section.flag("enabled").unwrap_or(true);
    // A section that is switched off is read for its mistakes, but its token may be missing.
    let token = if enabled { section.secret("token") } else { section.skip("token") };
    if enabled && token.is_none() && !section.has("token") {
        section.problem("token", "the bot needs its token, e.g. token = { env = \"DISCORD_TOKEN\" }");
    }
    let guild = section.number("guild", 1..=u64::from(u32::MAX) << 31);
    if enabled && guild.is_none() && !section.has("guild") {
        section.problem(
            "guild",
            "the guild's id is missing; in Discord switch on Developer Mode, right-click the server, Copy Server ID",
        );
    }
    let name = |key, default: &str| channel(&section, key, default);
    let category = name("category", "agents");
    let alerts_channel = name("alerts_channel", "alerts");
    let work_channel = name("work_channel", "work");
    let control_channel = name("control_channel", "herder");
    let own = [&alerts_channel, &work_channel, &control_channel];
    if own.iter().enumerate().any(|(at, name)| own[..at].contains(name)) {
        section
            .problem("", "alerts_channel, work_channel and control_channel must be three different channels");
    }
    let bots = bots(&section);
    let call = call(&section);
    let reach = reach(&section);
    section.finish();
    let (true, Some(token), Some(guild)) = (enabled, token, guild) else { return None };
    Some(Discord { token, guild, category, alerts_channel, work_channel, control_channel, bots, call, reach })
}

/// Parses the name of a text channel, which Discord writes in lower case and without spaces.
fn channel(section: &Section<'_>, key: &'static str, default: &str) -> String {
    let Some(name) = section.filled(key) else { return default.to_owned() };
    let bare = name.value.trim_start_matches('#').to_lowercase();
    let category = key == "category";
    if bare.is_empty()
        || bare.chars().count() > NAME_MAX
        || bare.chars().any(|c| c.is_control() || (c.is_whitespace() && !category))
    {
        section.problem(
            key,
            format!(
                "\"{}\" cannot name a channel; use up to {NAME_MAX} characters without spaces",
                name.value
            ),
        );
    }
    bare
}

fn bots(section: &Section<'_>) -> Vec<String> {
    let texts = section.texts("bots").unwrap_or_default();
    let mut bots = Vec::new();
    for text in texts {
        if is_id(&text.value) {
            bots.push(text.value);
        } else {
            section.problem_at(
                text.line,
                "bots",
                format!("\"{}\" is not a user id; right-click the bot in Discord, Copy User ID", text.value),
            );
        }
    }
    bots
}

fn call(section: &Section<'_>) -> Call {
    let mut call = Call::default();
    let texts = section.texts("call").unwrap_or_default();
    if texts.len() > Call::MAX {
        section.problem("call", format!("more than {} roles and people; name a role instead", Call::MAX));
    }
    for text in texts {
        let (kind, id) = text.value.split_once(':').unwrap_or_default();
        match kind {
            "role" if is_id(id) => call.roles.push(id.to_owned()),
            "user" if is_id(id) => call.users.push(id.to_owned()),
            _ => section.problem_at(
                text.line,
                "call",
                format!(
                    "\"{}\" is neither role:<role id> nor user:<user id>; both are copied in Discord",
                    text.value
                ),
            ),
        }
    }
    call
}

fn reach(section: &Section<'_>) -> Reach {
    let url = section.filled("api_url").map_or_else(|| API_URL.to_owned(), |url| url.value);
    let resolve = section.filled("resolve");
    let ca = section.filled("ca");
    let plain = url.starts_with("http://");
    if !plain && url != API_URL {
        section.problem("api_url", format!("\"{url}\" is neither {API_URL} nor a plain http:// address"));
    }
    match (resolve, ca) {
        (None, None) if plain => Reach::Plain(url.trim_end_matches('/').to_owned()),
        (None, None) => Reach::Internet,
        (Some(resolve), Some(ca)) if !plain => match resolve.value.parse() {
            Ok(address) => Reach::At { address, ca: section.path(&ca.value) },
            Err(_) => {
                section.problem(
                    "resolve",
                    format!("\"{}\" is not an address with a port, e.g. 127.0.0.1:8443", resolve.value),
                );
                Reach::Internet
            }
        },
        (Some(_), None) | (None, Some(_)) => {
            section.problem(
                "resolve",
                "resolve and ca belong together: an address, and whose certificate it shows",
            );
            Reach::Internet
        }
        (Some(_), Some(_)) => {
            section.problem("resolve", "a plain api_url is an address already; leave out resolve and ca");
            Reach::Internet
        }
    }
}

/// Returns true if a text has the form of a Discord id.
pub(super) fn is_id(text: &str) -> bool {
    (15..=20).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit())
}
