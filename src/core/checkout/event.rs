//! Events about the clone of a task, and the acts that follow them.

use serde::{Deserialize, Serialize};

use super::{Held, Plan};
use crate::check::Evidence;
use crate::detail::Detail;
use crate::id::{AgentName, WorkId};
use crate::pull::{News, Opened};
use crate::review::{Back, Landed, Merged};
use crate::work::Actor;

/// Work of herder on a clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// The clone is made.
    Make,
    /// The commits are fetched into the repository, and the clone is looked at.
    Read,
    /// The clone is removed.
    Remove,
    /// The check runs in the clone.
    Check,
    /// The accepted work is merged into the base, or its branch pushed for a pull request.
    Merge,
}

impl Act {
    /// Returns the name of the act, as in the journal.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Read => "read",
            Self::Remove => "remove",
            Self::Check => "check",
            Self::Merge => "merge",
        }
    }
}

/// An event about the clone of a task. Those of an act that begins are on disk before it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum CheckoutEvent {
    /// The clone is about to be made.
    Planned {
        /// The clone as it is planned.
        plan: Plan,
    },
    /// The clone is there.
    Made {
        /// Number of the task.
        task: WorkId,
        /// The commit that the task begins from.
        base: String,
        /// Name of the branch that the task's work gets into; empty if the base is a tag or a commit, `None` if it is not
        /// known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
    },
    /// The clone is about to be read.
    Reading {
        /// Number of the task.
        task: WorkId,
    },
    /// The commits are in the repository.
    Read {
        /// Number of the task.
        task: WorkId,
        /// The state of the clone.
        held: Held,
    },
    /// A person lets the clone be removed.
    Removing {
        /// Number of the task.
        task: WorkId,
        /// The person.
        by: Actor,
    },
    /// The clone is removed.
    Removed {
        /// Number of the task.
        task: WorkId,
    },
    /// The agent says that its work is done: the check runs once the agent is not paused.
    Checking {
        /// Number of the task.
        task: WorkId,
        /// Number of the work: the task, or a message about it.
        work: WorkId,
        /// The agent's last words about it.
        note: Detail,
    },
    /// The check has run.
    Checked {
        /// Number of the task.
        task: WorkId,
        /// Its result; `None` if there was nothing to check.
        evidence: Option<Box<Evidence>>,
    },
    /// The work goes back to its agent instead of being reviewed.
    SentBack {
        /// Number of the task.
        task: WorkId,
        /// The reason.
        back: Back,
    },
    /// The task is in review: it waits for a person, or for another agent.
    InReview {
        /// Number of the task.
        task: WorkId,
        /// The agent's last words about it.
        note: Detail,
        /// The agent that is asked for a verdict; `None`: a person is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<AgentName>,
    },
    /// A person is to decide about the task instead of the reviewing agent.
    LeftToPerson {
        /// Number of the task.
        task: WorkId,
        /// The reason.
        why: Detail,
    },
    /// The work is accepted.
    Accepted {
        /// Number of the task.
        task: WorkId,
        /// The person or agent, or herder if nobody reviews it.
        by: Actor,
    },
    /// The task goes back from its review, or from its merge, to the agent.
    Returned {
        /// Number of the task.
        task: WorkId,
        /// The reason.
        back: Back,
    },
    /// The branch is pushed, and its pull request is open.
    Proposed {
        /// Number of the task.
        task: WorkId,
        /// The pull request.
        pull: Opened,
    },
    /// Checks have failed at the forge, or somebody has said something there.
    Heard {
        /// Number of the task.
        task: WorkId,
        /// The checks and remarks.
        news: News,
    },
    /// The accepted work is in the base.
    Landed {
        /// Number of the task.
        task: WorkId,
        /// The place of the work there.
        landed: Landed,
    },
    /// An act failed; the clone is as it was.
    Failed {
        /// Number of the task.
        task: WorkId,
        /// The act.
        act: Act,
        /// The reason.
        why: Detail,
    },
    /// The agent's channel: its messages belong to this task from now on.
    Opened {
        /// Number of the task.
        task: WorkId,
        /// The person who opened it.
        by: Actor,
    },
}

/// The beginning of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Base {
    /// The commit that it begins from.
    pub commit: String,
    /// Name of the branch that its work gets into; empty if its base is a tag or a commit.
    pub onto: String,
}

/// The result of an act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acted {
    /// The clone is there, and begins from this.
    Made(Base),
    /// The read of this number has ended.
    Read(u32, Result<Held, Detail>),
    /// The clone is removed.
    Removed,
    /// The check of this number has run, without a result if there was nothing to check; or it could not.
    Checked(u32, Result<Option<Box<Evidence>>, Detail>),
    /// The merge of this number has ended.
    Merged(u32, Result<Merged, Detail>),
    /// Another act failed.
    Failed(Act, Detail),
}

impl Acted {
    /// Returns the act, with its number if it has one.
    #[must_use]
    pub const fn act(&self) -> (Act, u32) {
        match self {
            Self::Made(_) => (Act::Make, 0),
            Self::Read(number, _) => (Act::Read, *number),
            Self::Removed => (Act::Remove, 0),
            Self::Checked(number, _) => (Act::Check, *number),
            Self::Merged(number, _) => (Act::Merge, *number),
            Self::Failed(act, _) => (*act, 0),
        }
    }
}
