//! Configuration: parses a file into a checked [`Config`], or returns every problem in it at once, with line numbers.
//!
//! [`load`] reads the TOML with the position of every value ([`section`]), section by section ([`discord`], [`irc`],
//! [`access`], [`agents`], [`spending`], [`evaluator`], [`webhook`], [`quota`], the rest in [`validate`]). A mistake
//! becomes a [`Problem`] and reading continues. Servers and programs are checked by `herder check`; folders are
//! checked in the background ([`unusable`]). The differences of a file that is read again are in [`changes`].

mod access;
mod agents;
mod changes;
mod cluster;
mod discord;
mod environment;
mod evaluator;
mod folders;
mod forge;
mod http;
mod irc;
mod machine;
mod passwords;
mod people;
mod problems;
mod quota;
mod repository;
mod runners;
mod secrets;
mod section;
mod spending;
mod telemetry;
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
use crate::files::FileRules;
use crate::redact::Redactor;

pub use crate::access::{AccessRules, Subject};
pub use crate::evaluator::{Judge, Settings as Evaluator};
pub use crate::journal::History;
pub use crate::webhook::{DeadMan, Webhook};
pub use cluster::Cluster;
pub use discord::{API_URL, Call, Discord, Reach};
pub use folders::{Folder, unusable};
pub use http::{Http, Listen, TlsFiles, Token};
pub(crate) use problems::printable;
pub use problems::{Problem, Problems};
pub use runners::{LocalRunner, Runners};
pub use telemetry::Telemetry;
pub use units::{duration, size};

/// Name of the default configuration file.
pub const FILE: &str = "bot.toml";

/// Name of the default data folder, in the folder of the file.
pub const DATA_DIR: &str = "data";

/// The name of the local socket in the data folder.
pub const SOCKET: &str = "herder.sock";

/// Text of the example file, which is also the manual: every key with its default.
pub const EXAMPLE: &str = include_str!("../../bot.toml.example");

/// Maximum size of a configuration file, in bytes; a fleet of thousands of agents fits.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// Reads and checks a configuration file, with secrets from the environment.
///
/// # Errors
/// Every problem of the file at once.
pub fn load(path: &Path) -> Result<Config, Problems> {
    read_file(path, |_| None)
}

/// Reads and checks a configuration file. `amiss` may refuse the text as a whole, by returning the reason.
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

/// Reads a configuration file like [`load`], for a running herder: an empty file is refused, because it is just being
/// written, and must not remove every agent.
///
/// # Errors
/// Every problem of the file at once.
pub fn load_again(path: &Path) -> Result<Config, Problems> {
    let empty = "the file is empty; while herder runs that would remove every agent";
    read_file(path, |text| text.trim().is_empty().then_some(empty))
}

/// Checks the text of a configuration file that is to be written to the current folder. Variables with secrets may be
/// unset.
///
/// # Errors
/// Every problem of the text at once.
pub fn try_text(text: &str) -> Result<(), Problems> {
    let around = section::Surroundings {
        folder: Path::new(""),
        variable: &|name| (name != runners::LOCAL).then(|| std::ffi::OsString::from("not read")),
    };
    validate::read(text, FILE, &around).map(|_| ())
}

/// Returns the data folder that a configuration file names, for commands that talk to a running herder. They need
/// nothing else of the file, and their caller may lack its secrets.
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

/// The content of a configuration file that has been checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Display name of herder; also its IRC nick unless a network sets another.
    pub name: String,
    /// Folder for the database, sockets and per-agent state.
    pub data_dir: PathBuf,
    /// Language of posts, as the name of a locale.
    pub locale: String,
    /// Discord, if it is switched on.
    pub discord: Option<Discord>,
    /// IRC networks to join.
    pub irc: Vec<IrcNetwork>,
    /// The people who may give commands, by role.
    pub access: AccessRules,
    /// The limits and rules by which agents are supervised.
    pub policy: Policy,
    /// Limits on the history that is kept in the database.
    pub history: History,
    /// Maximum time of a shutdown, after which processes are killed.
    pub drain_timeout: Duration,
    /// Settings that apply to all chat networks.
    pub networks: Networks,
    /// Settings of herder's tools for agents.
    pub tools: Tools,
    /// Limits on files that people and agents give each other.
    pub files: FileRules,
    /// The process that the agents run in.
    pub runners: Runners,
    /// The bots that can succeed this one.
    pub cluster: Cluster,
    /// Settings of the evaluator.
    pub evaluator: Evaluator,
    /// Webhooks for agents' events.
    pub webhooks: Vec<Webhook>,
    /// The dead man's switch, if it is configured.
    pub deadman: Option<DeadMan>,
    /// The listener of the web page and the API, if it is configured.
    pub http: Option<Http>,
    /// The collector of traces, if it is configured.
    pub telemetry: Option<Telemetry>,
    /// The agents that the file configures.
    pub agents: Vec<AgentSpec>,
    /// Every secret in the file, and every environment variable of an agent that looks like one, to be redacted.
    pub secrets: Vec<SecretString>,
    /// Redactor that knows these secrets, and learns more while herder runs.
    pub redactor: Redactor,
    /// Names of the environment variables that herder's own secrets come from: no agent inherits them.
    pub secret_variables: BTreeSet<String>,
    /// True if no network is configured: the embedded server on loopback is the only one.
    pub embedded: bool,
    /// The workspaces and other folders that the file names for agents, which [`unusable`] checks.
    pub folders: Vec<Folder>,
    /// Problems that do not prevent a start, such as a secret that others can read, or an empty `[access]`.
    pub warnings: Vec<Problem>,
}

/// Settings of one IRC network.
#[derive(Debug, Clone)]
pub struct IrcNetwork {
    /// Name of the network, in `[access]` and in posts.
    pub name: NetworkName,
    /// Host name or address of the server.
    pub server: String,
    /// Port of the server.
    pub port: u16,
    /// Encryption of the link.
    pub tls: Tls,
    /// Nick that herder asks for.
    pub nick: String,
    /// Password of the server (`PASS`), if one is needed.
    pub server_password: Option<SecretString>,
    /// Login to the network's services, if there is one.
    pub sasl: Option<Sasl>,
    /// Password for NickServ, for a server without SASL.
    pub nickserv_password: Option<SecretString>,
    /// Name of the channel for alerts.
    pub alerts_channel: String,
    /// Name of the channel for machine-readable lines about tasks.
    pub work_channel: String,
    /// Name of the channel for commands to herder itself.
    pub control_channel: String,
    /// Nicks of other bots that herder listens to; all others are ignored.
    pub bots: Vec<String>,
}

/// The encryption of an IRC link, and what the server's certificate is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// No encryption.
    Off,
    /// TLS; the certificate must be signed by one of the system's authorities.
    SystemRoots,
    /// TLS; the certificate must be signed by an authority in this PEM file or the system's, or be the one in the file.
    CaFile(PathBuf),
    /// TLS; the certificate must have this SHA-256 hash, whoever has signed it.
    Fingerprint([u8; 32]),
}

/// The login to an IRC network's services, by SASL.
#[derive(Debug, Clone)]
pub enum Sasl {
    /// Login with account and password (SASL PLAIN).
    Plain {
        /// Name of the account.
        account: String,
        /// Password of the account.
        password: SecretString,
    },
    /// Login with a client certificate (SASL EXTERNAL).
    External {
        /// Path of the PEM file with the certificate and those of its issuers.
        certificate: PathBuf,
        /// Path of the PEM file with the private key.
        key: PathBuf,
    },
}

/// Default of the maximum time of a shutdown (contract, section 14).
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings that apply to all chat networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Networks {
    /// Maximum wait between two attempts to connect.
    pub reconnect_max: Duration,
    /// Number of failed attempts to connect after which the other networks are told, and the network's adapter is
    /// restarted.
    pub attempts: u32,
    /// Number of lines for one channel beyond which a backlog is collapsed.
    pub backlog_lines: u32,
    /// Maximum number of times per hour that one agent answers another bot, unless a person speaks to the agent
    /// meanwhile.
    pub bot_exchanges: usize,
}

impl Networks {
    /// Returns the maximum wait between two attempts to connect, in seconds.
    #[must_use]
    pub fn longest_wait(&self) -> u32 {
        u32::try_from(self.reconnect_max.as_secs()).unwrap_or(u32::MAX)
    }
}

impl Default for Networks {
    /// Returns the defaults of the contract, sections 6 and 2.
    fn default() -> Self {
        Self {
            reconnect_max: Duration::from_secs(30),
            attempts: 5,
            backlog_lines: crate::outbox::BACKLOG_LINES,
            bot_exchanges: 20,
        }
    }
}

/// Settings of herder's tools for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tools {
    /// True if agents get herder's tools.
    pub enabled: bool,
    /// Maximum number of posts that an agent makes with the tools per minute.
    pub sends_per_minute: usize,
    /// Maximum number of times that an agent calls for people with the tools, per hour.
    pub notices_per_hour: usize,
}

impl Default for Tools {
    fn default() -> Self {
        Self { enabled: true, sends_per_minute: 10, notices_per_hour: 6 }
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
        assert_eq!(config.runners, empty.runners);
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
            "[[webhook]]\nurl = \"https://example.org/\"\n[deadman]\nurl = \"https://example.org/\"\n[telemetry]\notlp = \"http://127.0.0.1:4318\"\n[http]\n[[http.token]]\nname = \"x\"\nrole = \"viewer\"\nsecret = { env = \"PASSWORD\" }\n[[agent]]\nname = \"x\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npatterns = [{ match = \"x\", category = \"auth\" }]"
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
