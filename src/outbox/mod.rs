//! Posts on their way out: at least once, in order per channel, an urgent lane for alerts and answers.
//!
//! A [`Post`] is committed in the same transaction as the decision that owes it. The [`queue::NetworkQueue`] of its
//! network renders it (locale text, redaction, splitting), hands it to the network's task in windows, and is told what
//! the far side confirmed. A confirmed window is recorded in the journal before the next one is sent, so that a killed
//! herder repeats at most one window.

use serde::{Deserialize, Serialize};

use crate::core::id::{AgentName, NetworkName, PostId};
use crate::core::notice::{Notice, Refusal};
use crate::core::time::Timestamp;

/// Where a post goes on its network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The agent's channel.
    Agent(AgentName),
    /// The alerts channel.
    Alerts,
    /// The work channel.
    Work,
    /// The control channel.
    Control,
    /// A channel by its name on the network: where a command was given.
    Channel(String),
    /// A person, in private.
    Person(String),
}

/// Which posts overtake which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Alerts and answers.
    Urgent,
    /// Everything else.
    Normal,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// herder speaks.
    Notice(Notice),
    /// herder refuses, in answer to a command.
    Refusal(Refusal),
    /// The agent speaks: markup, ANSI and mentions are made harmless, code is kept readable.
    Agent {
        /// Which agent.
        agent: AgentName,
        /// Its words.
        text: String,
    },
    /// Lines that are already in the reader's language (read-only commands' answers); never stored.
    Lines(Vec<String>),
}

/// A post that is owed to a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Its place in the order of commits. Zero: not stored (answers to read-only commands).
    pub id: PostId,
    /// The network.
    pub network: NetworkName,
    /// Where on it.
    pub to: Target,
    /// Its lane.
    pub lane: Lane,
    /// When it was decided.
    pub at: Timestamp,
    /// What it says.
    pub body: Body,
    /// Whom it answers, by nick: the first line is addressed to them.
    #[serde(default)]
    pub answers: Option<String>,
    /// Lines of it that were already confirmed before herder was restarted.
    #[serde(default)]
    pub confirmed_lines: u32,
}
