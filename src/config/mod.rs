//! Configuration: a raw file becomes a validated [`Config`], or every problem at once, with line numbers.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::core::id::NetworkName;
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;

/// A configuration that has been checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Display name; the IRC nick unless a network says otherwise.
    pub name: String,
    /// Database, sockets, per-agent state.
    pub data_dir: PathBuf,
    /// Language of posts.
    pub locale: String,
    /// IRC networks.
    pub irc: Vec<IrcNetwork>,
    /// Who may command.
    pub access: AccessRules,
    /// The supervisor's limits.
    pub policy: Policy,
    /// What is kept, and for how long.
    pub history: History,
    /// Agents written in the file.
    pub agents: Vec<AgentSpec>,
    /// Every secret of the file, for redaction.
    pub secrets: Vec<SecretString>,
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
    /// Warn when less is free on the disk, in bytes.
    pub warn_free: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 24 * 3600),
            keep_events: 500_000,
            daily_export: true,
            warn_free: 1_000_000_000,
        }
    }
}
