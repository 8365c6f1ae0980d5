//! Pieces of work for agents (messages, tasks, rounds of loops), and the people who give them.

use serde::{Deserialize, Serialize};

use super::card::Card;
use super::detail::Detail;
use super::id::{AgentName, NetworkName, WorkId};
use super::review::{Opinion, Proof};
use super::time::Timestamp;

/// The author of a command or message, for the record. The identity was proved and authorised before, and is never used
/// to authorise again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The network of the author: `local` for the shell's socket, `console` for the demo's terminal, `herder` for
    /// herder itself.
    pub network: NetworkName,
    /// Name of the author on that network (nick, display name).
    pub name: String,
    /// The proven identity: services account, mask or user id; `None` if there is none.
    #[serde(default)]
    pub identity: Option<String>,
}

/// Name of the network, and the author, of herder's own actions.
const HERDER: &str = "herder";

/// Name of the network of agents as authors.
const AGENT: &str = "agent";

impl Actor {
    /// Returns the author of herder's own actions.
    #[must_use]
    pub fn herder() -> Self {
        Self { network: NetworkName::from(HERDER), name: HERDER.to_owned(), identity: None }
    }

    /// Returns an agent as the author of its verdicts.
    #[must_use]
    pub fn agent(name: &AgentName) -> Self {
        Self { network: NetworkName::from(AGENT), name: name.to_string(), identity: None }
    }

    /// Returns true if the author is an agent.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        self.network.as_str() == AGENT
    }

    /// Returns true if the author is herder itself.
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

/// A piece of work for an agent: a message, a task, or a round of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Number of the work.
    pub id: WorkId,
    /// Kind of the work.
    pub kind: WorkKind,
    /// Text of the work, which becomes the prompt.
    pub text: String,
    /// The person who gave the work, or herder.
    pub by: Actor,
    /// Time at which the work was given.
    pub at: Timestamp,
    /// Number of sessions that tried the work and failed.
    #[serde(default)]
    pub attempts: u32,
    /// Additional data of a task, such as its priority; `None` for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Box<Card>>,
}

impl Work {
    /// Returns the work's card, that is its additional data.
    #[must_use]
    pub fn card(&self) -> &Card {
        static PLAIN: Card = Card::PLAIN;
        self.card.as_deref().unwrap_or(&PLAIN)
    }

    /// Returns the number of the task that the work belongs to, which is its own for a task.
    #[must_use]
    pub fn task(&self) -> WorkId {
        self.card().of.unwrap_or(self.id)
    }

    /// Returns the work's card for writing; it is created if there is none.
    pub fn card_mut(&mut self) -> &mut Card {
        self.card.get_or_insert_default()
    }
}

/// The end of a task: done, failed, cancelled or blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEnd {
    /// The session that worked on it succeeded.
    Done,
    /// The task was given up as failed.
    Failed,
    /// A person cancelled the task.
    Cancelled,
    /// The agent reported that it cannot continue without something that only someone else can do.
    Blocked,
}

/// An agent's own report on its task, made with a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Outcome of the task by the agent's own account: done, failed or blocked; only a person can cancel.
    pub end: TaskEnd,
    /// The agent's explanation, of bounded length.
    pub note: String,
    /// True if the agent's own sandbox or permissions block the task, so that an agent with more could do it; `None` if
    /// the report does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    /// The agent's verdict, if the task is the review of another agent's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
}

/// A task that has ended, kept for `task list` and `task show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedTask {
    /// The task itself.
    pub work: Work,
    /// The kind of end.
    pub end: TaskEnd,
    /// Time at which it ended.
    pub at: Timestamp,
    /// The result, or the reason for the end; of bounded length.
    pub note: Detail,
    /// The evidence that its work is right, and the place where it went; `None` if it had no clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<Proof>>,
}

impl FinishedTask {
    /// Returns true if it can be assigned again: it failed, or its whole task cannot be done without it.
    #[must_use]
    pub fn can_be_assigned(&self) -> bool {
        match self.end {
            TaskEnd::Failed | TaskEnd::Blocked => self.work.card().review.is_none(),
            TaskEnd::Cancelled => self.work.card().parent.is_some(),
            TaskEnd::Done => false,
        }
    }
}
