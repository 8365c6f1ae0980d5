//! What an agent is given to do, and by whom.

use serde::{Deserialize, Serialize};

use super::card::Card;
use super::detail::Detail;
use super::id::{NetworkName, WorkId};
use super::time::Timestamp;

/// Who said something, for the record: resolved and authorised at the edge, never used to authorise again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The network, `local` for the shell's socket, `console` for the demo's terminal, `herder` for herder itself.
    pub network: NetworkName,
    /// What people call them there (nick, display name).
    pub name: String,
    /// The proof they were known by: services account, mask or user id.
    #[serde(default)]
    pub identity: Option<String>,
}

/// The network of what herder does on its own account.
const HERDER: &str = "herder";

impl Actor {
    /// herder itself.
    #[must_use]
    pub fn herder() -> Self {
        Self { network: NetworkName::from(HERDER), name: HERDER.to_owned(), identity: None }
    }

    /// Whether it is herder itself.
    #[must_use]
    pub fn is_herder(&self) -> bool {
        self.network.as_str() == HERDER
    }
}

/// Kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
    /// What a person said to the agent. Steered into a running turn if the runtime can.
    Message,
    /// A unit of work with a state of its own, listed by `task list`.
    Task,
    /// A round of a looping agent, given by herder itself.
    Round,
}

/// One piece of work in an agent's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Its id.
    pub id: WorkId,
    /// Its kind.
    pub kind: WorkKind,
    /// What to do.
    pub text: String,
    /// Who gave it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// Sessions that tried it and failed.
    #[serde(default)]
    pub attempts: u32,
    /// What is written on it, if anything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Box<Card>>,
}

impl Work {
    /// What is written on it.
    #[must_use]
    pub fn card(&self) -> &Card {
        static PLAIN: Card = Card::PLAIN;
        self.card.as_deref().unwrap_or(&PLAIN)
    }

    /// The same, to write on.
    pub fn card_mut(&mut self) -> &mut Card {
        self.card.get_or_insert_default()
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEnd {
    /// The session that worked on it succeeded.
    Done,
    /// It was given up.
    Failed,
    /// A person cancelled it.
    Cancelled,
    /// Its agent says that it cannot go on without something that only somebody else can do.
    Blocked,
}

/// What an agent says of its own task, by its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Done, failed or blocked; never cancelled, which is a person's.
    pub end: TaskEnd,
    /// In its own words, bounded.
    pub note: String,
    /// Whether it is blocked by what its own sandbox or permissions deny it, so that an agent that may do more could do it;
    /// `None`: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
}

/// A task that is over, kept for `task list` and `task show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedTask {
    /// The task.
    pub work: Work,
    /// How it ended.
    pub end: TaskEnd,
    /// When.
    pub at: Timestamp,
    /// Its result or the reason, bounded.
    pub note: Detail,
}
