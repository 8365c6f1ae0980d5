//! What an agent and the board have between them, on the agent's side.
//!
//! Both sides are recorded by their owners alone, so that a task on its way is known to both for a while. Numbers make it
//! exact: the board numbers what it hands to agents, one at a time each, and an agent takes a number only once; an agent
//! numbers its news, and keeps them until the board has them on record. What is lost with a message is said again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::id::{AgentName, WorkId};
use super::spec::Permissions;
use super::work::{Actor, TaskEnd, Work};

/// What becomes of a task that its agent hands back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Onward {
    /// To that agent; none: to the next idle one that suffices.
    To(Option<AgentName>),
    /// It is split: its parts go to the agent that had it.
    Split(Vec<Cut>),
    /// To the next idle one that suffices and may do at least this, because its agent may do too little.
    Broader(Permissions),
}

/// A part to be: its number and what is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The number that was drawn for it.
    pub id: WorkId,
    /// What to do.
    pub text: String,
}

/// Something that the board must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum News {
    /// A task that the agent has no more.
    HandedBack {
        /// The task.
        work: Box<Work>,
        /// What becomes of it.
        onward: Onward,
        /// Who wanted it.
        by: Actor,
    },
    /// A part of a task is over.
    PartOver {
        /// The part.
        part: WorkId,
        /// The task it is a part of.
        parent: WorkId,
        /// How.
        end: TaskEnd,
    },
}

/// News with their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered {
    /// Counted from 1.
    pub number: u64,
    /// What.
    pub news: News,
}

/// One agent's dealings with the board.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dealings {
    /// The number of the last task that the board has handed to it.
    #[serde(default)]
    pub taken: u64,
    /// The number of its last news.
    #[serde(default)]
    pub told: u64,
    /// News that the board does not have on record yet, as far as the agent knows, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub news: VecDeque<Numbered>,
}

impl Dealings {
    /// Whether there were none.
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

    /// The tasks that are on their way to the board, oldest first.
    pub fn handed_back(&self) -> impl Iterator<Item = &Work> {
        self.news.iter().filter_map(|news| match &news.news {
            News::HandedBack { work, .. } => Some(&**work),
            News::PartOver { .. } => None,
        })
    }

    /// Whether a task is on its way to the board.
    #[must_use]
    pub fn hands_back(&self, task: WorkId) -> bool {
        self.handed_back().any(|work| work.id == task)
    }
}
