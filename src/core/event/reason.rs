//! Reasons for a stop, a pause and a countdown.

use serde::{Deserialize, Serialize};

use crate::outcome::Category;
use crate::usage::Cap;
use crate::work::Actor;

/// Reason for stopping a session, which decides what follows its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// `pause now`: the session's work goes back to the head of the queue, and the agent is paused.
    Pause,
    /// `abort`: the session's work is discarded, and the next work follows.
    Abort,
    /// `restart`: the session's work is tried again in a clean session.
    Restart,
    /// `stop-all`: its work goes back to the head of the queue, and the agent is paused.
    StopAll,
    /// The session's task was cancelled; the next work follows.
    Cancel,
    /// The agent was removed from the fleet.
    Remove,
    /// Another agent of the account failed for this category: billing, auth or budget.
    Account(Category),
    /// The session's driver sent no heartbeat.
    Hung,
    /// One of the agent's own caps is reached: its work goes back to the head of the queue, and it is paused.
    Cap(Cap),
    /// A person is called: the session's work goes back to the head of the queue, and the agent is paused.
    Escalation,
    /// The configuration changed the agent's command, environment or account: the work is tried again with the new one.
    Configured,
}

/// Reason for which an agent is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseReason {
    /// A person paused the agent.
    Person(Actor),
    /// A person stopped all agents.
    StopAll(Actor),
    /// The agent's own session failed with this category: billing, auth, budget, or "do not restart".
    Failure(Category),
    /// Another agent of the same account failed with this category.
    Account(Category),
    /// Processes of the agent's last session could not be ended.
    Survivors,
    /// One of the agent's own caps was reached.
    Cap(Cap),
    /// A person was called, because the agent makes no progress by itself.
    Escalation,
}

/// Reason for a countdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitReason {
    /// Backoff after a failed session or a crashed process.
    Backoff(Category),
    /// A rate limit that ends at a known time.
    RateLimit,
    /// Rest between two rounds of a loop.
    Rest,
    /// Time for an answer to the request to split the task into parts.
    Split,
}
