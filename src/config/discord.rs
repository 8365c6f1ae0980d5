//! `[discord]`: the guild, the token and the channels.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;

use super::section::Section;

/// The longest name of a channel or category, in characters, as Discord has it.
const NAME_MAX: usize = 100;

/// Where Discord's REST API is.
pub const API_URL: &str = "https://discord.com";

/// Discord, as herder uses it.
#[derive(Debug, Clone)]
pub struct Discord {
    /// The bot's token.
    pub token: SecretString,
    /// The guild that herder works in.
    pub guild: u64,
    /// The category of the agents' channels.
    pub category: String,
    /// Escalations.
    pub alerts_channel: String,
    /// Task lines.
    pub work_channel: String,
    /// Talk with herder itself.
    pub control_channel: String,
    /// User ids of bots that are listened to; all others are ignored.
    pub bots: Vec<String>,
    /// Whom alerts call: nobody else is ever pinged.
    pub call: Call,
    /// How the API is reached.
    pub reach: Reach,
}

/// Whom an alert in `#alerts` pings, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Everybody with one of these roles.
    pub roles: Vec<String>,
    /// These people.
    pub users: Vec<String>,
}

impl Call {
    /// The most roles and people that are named: they stand below the alert, in the same message.
    const MAX: usize = 20;
}

/// How Discord's API is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// As everybody does.
    Internet,
    /// Under this base URL, in the clear: a proxy with a rate limiter of its own, or a simulator.
    Plain(String),
    /// As everybody does, but at this address, which shows a certificate of this authority (PEM).
    At {
        /// Instead of what the name server says.
        address: SocketAddr,
        /// One more trusted authority.
        ca: PathBuf,
    },
}

/// Reads `[discord]`; `None` if it is switched off.
pub(super) fn discord(section: Section<'_>) -> Option<Discord> {
    let enabled = section.flag("enabled").unwrap_or(true);
    // A section that is switched off is read all the same, for its mistakes; but its token need not be there.
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

/// The name of a text channel, which Discord writes in small letters and without spaces.
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

/// Whether a text is an id as Discord writes them.
pub(super) fn is_id(text: &str) -> bool {
    (15..=20).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit())
}
