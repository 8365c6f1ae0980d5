//! The journal: everything herder knows, in sled, on disk before it is done or said.

use serde::{Deserialize, Serialize};

use crate::core::event::Event;
use crate::core::id::{AccountName, AgentName};
use crate::core::outcome::Category;
use crate::core::time::Timestamp;
use crate::core::work::Actor;

/// A sequence of events with one owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// The fleet: which agents exist, accounts.
    Fleet,
    /// One agent's.
    Agent(AgentName),
    /// Who commanded what.
    Audit,
}

/// A recorded fact of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FleetEvent {
    /// An agent was added, or added again after it was removed.
    AgentAdded {
        /// Which.
        agent: AgentName,
    },
    /// An agent was removed by a person; `bot.toml` does not bring it back.
    AgentRemoved {
        /// Which.
        agent: AgentName,
    },
    /// An account's agents are paused.
    AccountBlocked {
        /// Which account.
        account: AccountName,
        /// Billing, auth or budget.
        category: Category,
        /// Whose failure showed it.
        agent: AgentName,
    },
    /// A person opened it again.
    AccountOpened {
        /// Which account.
        account: AccountName,
        /// Who.
        by: Actor,
    },
    /// A supervisor panicked.
    SupervisorPanicked {
        /// Whose.
        agent: AgentName,
        /// The panic's message.
        message: String,
    },
    /// herder started.
    Started {
        /// Its version.
        version: String,
    },
    /// herder went down on purpose.
    Stopped,
}

/// Who commanded what: one accepted command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Who.
    pub by: Actor,
    /// Where: channel, `private` or `local`.
    pub place: String,
    /// The agent it was for, if one.
    #[serde(default)]
    pub agent: Option<AgentName>,
    /// The command's verb.
    pub verb: String,
    /// What was said, redacted and bounded.
    pub text: String,
}

/// One entry of any stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// Of an agent.
    Agent(Event),
    /// Of the fleet.
    Fleet(FleetEvent),
    /// Of the audit trail.
    Audit(AuditEntry),
}

/// An entry as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its place in the whole journal, counted from 1 without gaps.
    pub seq: u64,
    /// Its stream.
    pub stream: Stream,
    /// Its place in its stream, counted from 1 without gaps.
    pub rev: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub entry: Entry,
}
