//! Configuration: a file becomes a checked [`Config`], or every problem in it at once, with line numbers.
//!
//! [`load`] reads the TOML with the place of every value ([`section`]), section by section ([`discord`],
//! [`irc`], [`access`], [`agents`], [`spending`], [`evaluator`], [`webhook`], [`quota`], the rest in [`validate`]). A mistake becomes a [`Problem`] and reading goes on. Whether servers answer and
//! programs exist is not asked here but by `herder check`; whether folders are there is asked beside everything else ([`unusable`]). What a file that is read again says otherwise, and what of that
//! counts at once, is in [`changes`].

mod access;
mod agents;
mod changes;
mod discord;
mod environment;
mod evaluator;
mod folders;
mod http;
mod irc;
mod problems;
mod quota;
mod secrets;
mod section;
mod spending;
mod units;
mod validate;
mod webhook;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;

use crate::core::id::NetworkName;
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;
use crate::outbox::Redactor;

pub use discord::{API_URL, Call, Discord, Reach};
pub use evaluator::{Evaluator, Judge, TIMEOUT_MAX as EVALUATOR_TIMEOUT_MAX};
pub use folders::{Folder, unusable};
pub use http::{Http, Listen, Token};
pub(crate) use problems::printable;
pub use problems::{Problem, Problems};
pub use units::{duration, size};
pub use webhook::{DeadMan, Webhook};

/// The file that is read when no other is named.
pub const FILE: &str = "bot.toml";

/// The data folder when the file names none.
pub const DATA_DIR: &str = "data";

/// The name of the embedded server's network in `[access]` and in posts.
pub const EMBEDDED_NETWORK: &str = "embedded";

/// The name of Discord as a network, in posts and in the audit trail.
pub const DISCORD_NETWORK: &str = "discord";

/// The example, which is also the manual: every key with its default.
pub const EXAMPLE: &str = include_str!("../../bot.toml.example");

/// The largest file that is read: a fleet of thousands of agents fits.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// Reads and checks a file, with the environment that secrets come from.
///
/// # Errors
/// Every problem of the file at once.
pub fn load(path: &Path) -> Result<Config, Problems> {
    read_file(path, |_| None)
}

/// Reads and checks a file, unless there is something about its text as a whole.
fn read_file(path: &Path, amiss: impl Fn(&str) -> Option<&'static str>) -> Result<Config, Problems> {
    let file = path.display().to_string();
    let text = text_of(path).and_then(|text| match amiss(&text) {
        Some(why) => Err(why.to_owned()),
        None => Ok(text),
    });
    let text = match text {
        Ok(text) => text,
        Err(why) => return Err(Problems::whole_file(file, why)),
    };
    let around = section::Surroundings { folder: folder_of(path), variable: &|name| std::env::var_os(name) };
    validate::read(&text, &file, &around).map(|read| read.config)
}

/// [`load`] for a herder that runs: a file with nothing in it is one that is being written, and no wish to stop everything.
///
/// # Errors
/// Every problem of the file at once.
pub fn load_again(path: &Path) -> Result<Config, Problems> {
    let empty = "the file is empty; while herder runs that would remove every agent";
    read_file(path, |text| text.trim().is_empty().then_some(empty))
}

/// Checks a text that is to become a file in the current folder. Variables with secrets need not be set yet.
///
/// # Errors
/// Every problem of the text at once.
pub fn try_text(text: &str) -> Result<(), Problems> {
    let around = section::Surroundings {
        folder: Path::new(""),
        variable: &|_| Some(std::ffi::OsString::from("not read")),
    };
    validate::read(text, FILE, &around).map(|_| ())
}

/// The data folder that a file names, for commands that talk to a running herder: they need nothing else of the file, and
/// whoever types them may lack its secrets.
#[must_use]
pub fn data_dir(path: &Path) -> PathBuf {
    let text = text_of(path).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let named = table.get("data_dir").and_then(toml::Value::as_str).filter(|dir| !dir.is_empty());
    folder_of(path).join(named.unwrap_or(DATA_DIR))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn text_of(path: &Path) -> Result<String, String> {
    let found = fs::metadata(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            "there is no such file; write one with `herder init`, or name another with --config".to_owned()
        } else {
            format!("the file cannot be read: {error}")
        }
    })?;
    if !found.is_file() || found.len() > FILE_MAX {
        return Err("this is no configuration file; name one with --config".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| format!("the file cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("line {line} is not UTF-8 text; save the file as UTF-8")
    })
}

/// A configuration that has been checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Display name; the IRC nick unless a network says otherwise.
    pub name: String,
    /// Database, sockets, per-agent state.
    pub data_dir: PathBuf,
    /// Language of posts.
    pub locale: String,
    /// Discord, if it is switched on.
    pub discord: Option<Discord>,
    /// IRC networks.
    pub irc: Vec<IrcNetwork>,
    /// Who may command.
    pub access: AccessRules,
    /// The supervisor's limits.
    pub policy: Policy,
    /// What is kept, and for how long.
    pub history: History,
    /// How long going down may take in all.
    pub drain_timeout: Duration,
    /// What holds for every chat network.
    pub networks: Networks,
    /// The agents' own tools.
    pub tools: Tools,
    /// Who judges their turns.
    pub evaluator: Evaluator,
    /// Who outside is told of agents.
    pub webhooks: Vec<Webhook>,
    /// Which page is asked for while herder is well.
    pub deadman: Option<DeadMan>,
    /// The listener of the page and the API, if there is one.
    pub http: Option<Http>,
    /// Agents written in the file.
    pub agents: Vec<AgentSpec>,
    /// Every secret of the file, and every variable an agent gets that looks like one, for redaction.
    pub secrets: Vec<SecretString>,
    /// Knows them, and what is learnt while herder runs.
    pub redactor: Redactor,
    /// Variables of the environment that herder's own secrets come from: no agent ever inherits them.
    pub secret_variables: BTreeSet<String>,
    /// No network is configured: the embedded server on loopback is the only one.
    pub embedded: bool,
    /// The agents' folders. Whether they are there is for [`unusable`] to find out.
    pub folders: Vec<Folder>,
    /// What should be known but keeps nothing from running: readable secrets, nobody in `[access]`.
    pub warnings: Vec<Problem>,
}

/// One IRC network.
#[derive(Debug, Clone)]
pub struct IrcNetwork {
    /// Its name in `[access]` and in posts.
    pub name: NetworkName,
    /// Host name or address.
    pub server: String,
    /// Port.
    pub port: u16,
    /// How the link is protected.
    pub tls: Tls,
    /// The nick to ask for.
    pub nick: String,
    /// A server password (`PASS`), if one is needed.
    pub server_password: Option<SecretString>,
    /// How to log in to services.
    pub sasl: Option<Sasl>,
    /// The password for NickServ, where the server has no SASL.
    pub nickserv_password: Option<SecretString>,
    /// Escalations.
    pub alerts_channel: String,
    /// Task lines.
    pub work_channel: String,
    /// Talk with herder itself.
    pub control_channel: String,
    /// Nicks of bots that are listened to; all others are ignored.
    pub bots: Vec<String>,
}

/// How an IRC link is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Off,
    /// By the system's certificate authorities.
    SystemRoots,
    /// By the authorities or the certificate in this PEM file, beside the system's.
    CaFile(PathBuf),
    /// By the SHA-256 of the server's certificate, whoever signed it.
    Fingerprint([u8; 32]),
}

/// How to log in to an IRC network's services.
#[derive(Debug, Clone)]
pub enum Sasl {
    /// Account and password.
    Plain {
        /// The account.
        account: String,
        /// Its password.
        password: SecretString,
    },
    /// A client certificate.
    External {
        /// PEM chain.
        certificate: PathBuf,
        /// PEM private key.
        key: PathBuf,
    },
}

/// Who may command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// Everything.
    pub admins: Vec<Subject>,
    /// Pause, resume, abort, tasks, work.
    pub operators: Vec<Subject>,
    /// Status, log, help.
    pub viewers: Vec<Subject>,
}

/// Somebody named in `[access]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// `*`: everybody; viewers alone may be that.
    Everyone,
    /// `discord:<user id>`.
    DiscordUser(String),
    /// `discord-role:<role id>`.
    DiscordRole(String),
    /// `irc:<network>:<account>`.
    IrcAccount {
        /// The network.
        network: NetworkName,
        /// The services account.
        account: String,
    },
    /// `irc-mask:<network>:<nick!user@host>`, with `*` and `?`.
    IrcMask {
        /// The network.
        network: NetworkName,
        /// The mask.
        mask: String,
    },
}

/// What is kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Older events move to archives.
    pub keep: Duration,
    /// So do those beyond this many.
    pub keep_events: u64,
    /// Whether a logical export is written every day.
    pub daily_export: bool,
    /// A second place for it.
    pub export_copy: Option<PathBuf>,
    /// Warn when less is free on the disk, in bytes.
    pub warn_free: u64,
}

/// How long going down may take in all, where the configuration does not say otherwise (contract, section 14).
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// What holds for every chat network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Networks {
    /// The longest wait between two attempts to connect.
    pub reconnect_max: Duration,
    /// Failed attempts after which the others are told and the adapter is restarted clean.
    pub attempts: u32,
    /// A backlog of more lines for one channel is collapsed.
    pub backlog_lines: u32,
    /// Exchanges of another bot with one agent in an hour, unless a person speaks.
    pub bot_exchanges: usize,
}

impl Networks {
    /// The longest wait in seconds, which is in first waits as well.
    #[must_use]
    pub fn longest_wait(&self) -> u32 {
        u32::try_from(self.reconnect_max.as_secs()).unwrap_or(u32::MAX)
    }
}

impl Default for Networks {
    /// The contract's, section 6 and 2.
    fn default() -> Self {
        Self {
            reconnect_max: Duration::from_secs(30),
            attempts: 5,
            backlog_lines: crate::outbox::BACKLOG_LINES,
            bot_exchanges: 20,
        }
    }
}

/// The agents' own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tools {
    /// Whether agents are given them.
    pub enabled: bool,
    /// What an agent may say in a minute.
    pub sends_per_minute: usize,
    /// How often an agent may call for people in an hour.
    pub notices_per_hour: usize,
}

impl Default for Tools {
    fn default() -> Self {
        Self { enabled: true, sends_per_minute: 10, notices_per_hour: 6 }
    }
}

impl Default for History {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 24 * 3600),
            keep_events: 500_000,
            daily_export: true,
            export_copy: None,
            warn_free: 1_000_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::core::spec::AgentSpec;

    fn read(text: &str) -> Result<validate::Read, Problems> {
        let around = section::Surroundings {
            folder: Path::new("/tmp"),
            variable: &|name| name.ends_with("PASSWORD").then(|| OsString::from("a long password of tests")),
        };
        validate::read(text, "bot.toml", &around)
    }

    #[test]
    fn the_example_says_what_the_defaults_are() {
        let config = read(EXAMPLE).expect("the example has no problem").config;
        let empty = read("").expect("an empty file is a configuration").config;
        assert_eq!(config.policy, empty.policy);
        assert_eq!(config.history, empty.history);
        assert_eq!(config.tools, empty.tools);
        assert_eq!(format!("{:?}", config.evaluator), format!("{:?}", empty.evaluator));
        assert_eq!(config.access, empty.access);
        assert_eq!((config.name, config.data_dir, config.locale), (empty.name, empty.data_dir, empty.locale));
        let short = "[[irc]]\nname = \"libera\"\nserver = \"irc.libera.chat\"";
        let short = read(short).expect("the rest has defaults").config;
        assert_eq!(format!("{:?}", config.irc), format!("{:?}", short.irc));
        let mut agent = config.agents[0].clone();
        assert_eq!(agent.max_task_duration.take(), Some(config.policy.max_task_duration));
        let mut default = AgentSpec::new(agent.name.clone(), agent.runtime, agent.workspace.clone());
        default.command = agent.command.clone();
        assert_eq!(agent, default);
    }

    #[test]
    fn the_example_has_every_key() {
        let all = format!(
            "{EXAMPLE}\n[[irc]]\nname = \"x\"\nserver = \"x\"\nserver_password = {{ env = \"PASSWORD\" }}\n{}\n{}",
            "sasl = { mechanism = \"plain\", account = \"a\", password = { env = \"PASSWORD\" } }",
            "[[webhook]]\nurl = \"https://example.org/\"\n[deadman]\nurl = \"https://example.org/\"\n[http]\n[[http.token]]\nname = \"x\"\nrole = \"viewer\"\nsecret = { env = \"PASSWORD\" }\n[[agent]]\nname = \"x\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npatterns = [{ match = \"x\", category = \"auth\" }]"
        );
        let known = read(&all).expect("this has no problem").known;
        assert!(known.len() > 60, "the keys were not collected: {known:?}");
        for path in known {
            let key = path.rsplit('.').next().expect("a path has a last part");
            let written =
                [format!("\n{key} = "), format!("\n# {key} = "), format!(" {key} = "), format!("[{key}]")];
            assert!(written.iter().any(|text| EXAMPLE.contains(text)), "{path} is not in the example");
        }
    }

    #[test]
    fn what_is_commented_out_in_the_example_can_be_taken_in() {
        for (line, text) in EXAMPLE.lines().enumerate() {
            let Some(setting) = text.strip_prefix("# ").filter(|text| text.contains(" = {")) else {
                continue;
            };
            if [".crt", ".secret", ".token"].iter().any(|file| setting.contains(file)) {
                continue;
            }
            let taken_in: Vec<&str> =
                EXAMPLE.lines().enumerate().map(|(n, l)| if n == line { setting } else { l }).collect();
            let read = read(&taken_in.join("\n"));
            assert!(read.is_ok(), "{setting}: {}", read.unwrap_err());
        }
    }
}
