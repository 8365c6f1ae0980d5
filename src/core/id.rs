//! Names and numbers that identify agents, accounts, networks, work, questions, sessions and posts.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// Maximum length of an agent's name, in bytes: it becomes a channel, a folder and a nick, and leaves room for a
/// prefix in each.
pub const AGENT_NAME_MAX: usize = 30;

/// An agent's name: checked once, here, because it becomes a channel, a folder and a nick.
///
/// It consists of lower-case ASCII letters, digits and inner hyphens, starts with a letter, and has at most
/// [`AGENT_NAME_MAX`] bytes. It is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentName(Arc<str>);

/// Reason why a text cannot be an agent's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The given name is empty.
    #[error("an agent needs a name")]
    Empty,
    /// The given name is longer than [`AGENT_NAME_MAX`].
    #[error("\"{0}\" is too long: an agent's name has at most {AGENT_NAME_MAX} characters")]
    TooLong(String),
    /// The given name has a character that cannot be part of a channel, a folder and a nick at once.
    #[error(
        "\"{0}\" cannot name an agent: use small letters, digits and hyphens inside, starting with a letter, e.g. spark-codex"
    )]
    Character(String),
    /// The text is a word that herder reserves for itself.
    #[error("\"{0}\" cannot name an agent: herder uses that word itself")]
    Reserved(String),
}

/// Words that cannot name an agent, because a channel, a network author or a target of herder's own has them.
pub const RESERVED_NAMES: [&str; 8] =
    ["herder", "alerts", "work", "all", "fleet", "here", "everyone", "agents"];

impl AgentName {
    /// Checks `text`. Upper-case letters are converted to lower case, since no chat network distinguishes them.
    ///
    /// # Errors
    /// A [`NameError`] that says what is wrong in the user's terms.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let name = text.to_ascii_lowercase();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > AGENT_NAME_MAX {
            return Err(NameError::TooLong(name));
        }
        if !is_plain(&name) {
            return Err(NameError::Character(name));
        }
        if RESERVED_NAMES.contains(&name.as_str()) {
            return Err(NameError::Reserved(name));
        }
        Ok(Self(name.into()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(&text)
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl Serialize for AgentName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Maximum length of a runner's name, in bytes: it becomes a part of subjects and markers.
pub const RUNNER_NAME_MAX: usize = 30;

/// Words that cannot name a runner: the one beside the bot, and what herder calls itself between machines.
const RESERVED_RUNNERS: [&str; 4] = ["bot", "join", "local", "system"];

/// Name of a machine that runs agents: lower-case ASCII letters, digits and inner hyphens, a letter first. It is cheap
/// to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct RunnerName(Arc<str>);

/// Reason why a text cannot be a runner's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" cannot name a runner: use 1 to {RUNNER_NAME_MAX} small letters, digits and hyphens inside, starting with a letter, \
     e.g. box4; herder uses bot, join, local and system itself"
)]
pub struct RunnerNameError(String);

impl RunnerName {
    /// Checks `text`. Upper-case letters are converted to lower case, as in the name of an agent.
    ///
    /// # Errors
    /// It cannot name a runner.
    pub fn new(text: &str) -> Result<Self, RunnerNameError> {
        let name = text.to_ascii_lowercase();
        let is_short = (1..=RUNNER_NAME_MAX).contains(&name.len());
        if is_short && is_plain(&name) && !RESERVED_RUNNERS.contains(&name.as_str()) {
            return Ok(Self(name.into()));
        }
        Err(RunnerNameError(name.chars().take(2 * RUNNER_NAME_MAX).collect()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunnerName {
    type Error = RunnerNameError;
    fn try_from(text: String) -> Result<Self, RunnerNameError> {
        Self::new(&text)
    }
}

impl Serialize for RunnerName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for RunnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if a text consists of lower-case ASCII letters, digits and inner hyphens, and begins with a letter.
fn is_plain(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    text.bytes().next().is_some_and(|c| c.is_ascii_lowercase())
        && text.bytes().all(inner)
        && !text.ends_with('-')
}

macro_rules! text_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

text_id!(
    /// The credential that an agent's model calls are billed to; agents can share one.
    AccountName
);
text_id!(
    /// The name of a configured chat network, e.g. `libera`, or of herder's own pseudo networks.
    NetworkName
);

macro_rules! number_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number_id!(
    /// Number of a piece of work (message or task), unique in the fleet.
    WorkId
);
number_id!(
    /// Number of a question of an agent, unique in the fleet and never the number of a piece of work.
    AskId
);
number_id!(
    /// Number of a session, counted per agent from 1.
    SessionId
);
number_id!(
    /// Number of a post in the outbox, unique in the journal and in the order of commits.
    PostId
);

impl NetworkName {
    /// Prefix of the network name under which a webhook is kept in the outbox.
    pub const WEBHOOK: &str = "webhook:";

    /// Returns the name of a webhook; `None` if the network is none.
    #[must_use]
    pub fn webhook(&self) -> Option<&str> {
        self.0.strip_prefix(Self::WEBHOOK)
    }
}
