//! The agent's side of the protocol between an agent and the board.
//!
//! Each side is recorded by its owner alone, so a task that is handed over is known to both for a while. Numbers
//! prevent duplicates: the board numbers its hand-overs, one at a time per agent, and an agent takes a number only
//! once; an agent numbers its messages to the board (its news), and keeps them until the board has recorded them. Lost
//! messages are sent again.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::id::{AgentName, WorkId};
use super::lead::{Leading, PartOutcome};
use super::review::Opinion;
use super::spec::Permissions;
use super::work::{Actor, TaskEnd, Work};

/// The destination of a task that its agent hands back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Onward {
    /// Goes to that agent; `None`: to the next idle one that meets its needs.
    To(Option<AgentName>),
    /// Is split into parts, which go to the agent that had the task.
    Split(Vec<Cut>),
    /// Goes to the next idle agent with at least these permissions, because its agent had too few.
    Broader(Permissions),
}

/// One of the new parts that a task is split into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Number for the part, drawn by the caller.
    pub id: WorkId,
    /// Text of the part.
    pub text: String,
}

/// A message from an agent to the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum News {
    /// The agent gives a task back.
    HandedBack {
        /// The task that is handed back.
        work: Box<Work>,
        /// The destination of the task.
        onward: Onward,
        /// The person who caused the hand-back, or herder.
        by: Actor,
    },
    /// A part of a task ended.
    PartOver {
        /// Number of the part.
        part: WorkId,
        /// Number of the task that it is a part of.
        parent: WorkId,
        /// Outcome of the part.
        end: TaskEnd,
        /// Its result and the evidence for it; `None` in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Box<PartOutcome>>,
    },
    /// The review of another agent's task ended.
    Reviewed {
        /// Number of the task that was the review.
        work: WorkId,
        /// The verdict; `None` if there is none.
        opinion: Option<Opinion>,
    },
}

/// A message to the board with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered {
    /// Number of the message, counted from 1 per agent.
    pub number: u64,
    /// The message itself.
    pub news: News,
}

/// An agent's side of its exchange with the board, so that no hand-over and no message is lost or taken twice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dealings {
    /// Number of the last hand-over that the agent took.
    #[serde(default)]
    pub taken: u64,
    /// Number of the last message that the agent wrote to the board.
    #[serde(default)]
    pub told: u64,
    /// Messages that the board has not acknowledged yet, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub news: VecDeque<Numbered>,
    /// The agent's tasks that have parts of its own making.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub leads: BTreeMap<WorkId, Leading>,
}

impl Dealings {
    /// Returns true if agent and board never exchanged anything.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn tell(&mut self, news: News) {
        self.told = self.told.saturating_add(1);
        self.news.push_back(Numbered { number: self.told, news });
    }

    pub(super) fn heard(&mut self, up_to: u64) {
        self.news.retain(|news| news.number > up_to);
    }

    /// Returns the tasks that are on their way to the board, oldest first.
    pub fn handed_back(&self) -> impl Iterator<Item = &Work> {
        self.news.iter().filter_map(|news| match &news.news {
            News::HandedBack { work, .. } => Some(&**work),
            News::PartOver { .. } | News::Reviewed { .. } => None,
        })
    }

    /// Returns true if a task is on its way to the board.
    #[must_use]
    pub fn hands_back(&self, task: WorkId) -> bool {
        self.handed_back().any(|work| work.id == task)
    }
}
