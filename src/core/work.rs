//! Works of agents, and the people who give them.

use serde::{Deserialize, Serialize};

use super::card::Card;
use super::detail::Detail;
use super::id::{NetworkName, WorkId};
use super::time::Timestamp;

/// The author of a command or message, for the record. It was resolved and authorised at the edge, and is never used
/// to authorise again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The network: `local` for the shell's socket, `console` for the demo's terminal, `herder` for herder itself.
    pub network: NetworkName,
    /// Name there (nick, display name).
    pub name: String,
    /// The proof of identity: services account, mask or user id.
    #[serde(default)]
    pub identity: Option<String>,
}

/// The network of herder's own actions.
const HERDER: &str = "herder";

impl Actor {
    /// Returns herder itself.
    #[must_use]
    pub fn herder() -> Self {
        Self { network: NetworkName::from(HERDER), name: HERDER.to_owned(), identity: None }
    }

    /// Returns true if it is herder itself.
    #[must_use]
    pub fn is_herder(&self) -> bool {
        self.network.as_str() == HERDER
    }
}

/// Kind of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
    /// A person's message to the agent. It is steered into a running turn if the runtime can.
    Message,
    /// A unit of work with a state of its own, listed by `task list`.
    Task,
    /// A round of a looping agent, given by herder itself.
    Round,
}

/// One piece of work in an agent's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Its number.
    pub id: WorkId,
    /// Its kind.
    pub kind: WorkKind,
    /// Its text.
    pub text: String,
    /// The person who gave it, or herder.
    pub by: Actor,
    /// Time at which it was given.
    pub at: Timestamp,
    /// Number of sessions that tried it and failed.
    #[serde(default)]
    pub attempts: u32,
    /// Its card; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Box<Card>>,
}

impl Work {
    /// Returns its card.
    #[must_use]
    pub fn card(&self) -> &Card {
        static PLAIN: Card = Card::PLAIN;
        self.card.as_deref().unwrap_or(&PLAIN)
    }

    /// Returns its card for writing.
    pub fn card_mut(&mut self) -> &mut Card {
        self.card.get_or_insert_default()
    }
}

/// The end of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEnd {
    /// The session that worked on it succeeded.
    Done,
    /// It was given up.
    Failed,
    /// A person cancelled it.
    Cancelled,
    /// Its agent reported that it cannot continue without something that only someone else can do.
    Blocked,
}

/// An agent's own report on its task, made with a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Done, failed or blocked; only a person can cancel.
    pub end: TaskEnd,
    /// The agent's words, bounded.
    pub note: String,
    /// True if the agent's own sandbox or permissions block it, so that an agent with more could do it; `None` if the
    /// report does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
}

/// A task that has ended, kept for `task list` and `task show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedTask {
    /// The task.
    pub work: Work,
    /// The end.
    pub end: TaskEnd,
    /// Time of the end.
    pub at: Timestamp,
    /// The result or the reason, bounded.
    pub note: Detail,
}
