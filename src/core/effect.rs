//! Effects: actions to be performed once an event is on disk.

use super::ask::{AskKey, Told};
use super::id::{AccountName, SessionId, WorkId};
use super::outcome::Category;
use super::time::Timestamp;
use super::work::{Actor, Work};

/// An action that follows an event. Effects are derived from events by `react` and never stored: a replay must not
/// perform them.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Start the process of a session.
    Spawn {
        /// The session.
        session: SessionId,
        /// The work of the session.
        work: Work,
        /// Id of the conversation to resume, if the runtime can.
        conversation: Option<String>,
        /// The last exchanges, for a conversation that has to start from scratch.
        past: Option<String>,
        /// Recap of a failed session for the one that follows it.
        recap: Option<String>,
        /// Whispers for the head of the prompt, in the agent's form.
        whispers: Vec<String>,
    },
    /// Write `context.md` with the state of unfinished work for the agent and for people; `None` removes the file.
    Keep {
        /// The whole text of `context.md`.
        context: Option<String>,
    },
    /// Deliver a whisper to the running session, if the runtime can. It waits until its delivery is reported.
    Whisper {
        /// The session.
        session: SessionId,
        /// The whisper.
        whisper: WorkId,
        /// Its text in the agent's form.
        text: String,
    },
    /// Start an evaluation of the last turns.
    Evaluate {
        /// Number of the evaluation.
        number: u32,
    },
    /// Ask the evaluator's program to split the task that did not fit into one context window.
    Split {
        /// Number of the request.
        number: u32,
    },
    /// Give the process its work: its record is on disk.
    Go {
        /// The session.
        session: SessionId,
    },
    /// Write a message into the running turn, if the runtime can. It stays queued until `Signal::Steered`.
    Steer {
        /// The session.
        session: SessionId,
        /// The message.
        work: WorkId,
        /// Its text.
        text: String,
    },
    /// Give the runtime the answer to a question.
    Answer {
        /// The session.
        session: SessionId,
        /// The driver's key of the question.
        key: AskKey,
        /// The answer.
        told: Told,
    },
    /// Run the stop ladder on the session's process tree.
    Stop {
        /// The session.
        session: SessionId,
    },
    /// Close the account's gate: the root tells the other agents.
    BlockAccount {
        /// The account whose billing, login or budget failed.
        account: AccountName,
        /// Category of the failure.
        category: Category,
    },
    /// Record that the account's usage limit is reached: no session of it starts until one agent has shown that it
    /// works again.
    Exhausted {
        /// The account.
        account: AccountName,
        /// Reported end of the limit.
        resets_at: Option<Timestamp>,
    },
    /// Record that a session has shown that its account works.
    Proved {
        /// The account.
        account: AccountName,
    },
    /// Open the account's gate.
    OpenAccount {
        /// The account of the agent that was resumed, or the one that its last session failed on.
        account: AccountName,
        /// The person who resumed the agent.
        by: Actor,
    },
    /// Check the account's gate for an agent whose account was changed while it was paused for the old one.
    LookAtAccount,
    /// Check the caps of the account and of the fleet after usage was recorded.
    Spent {
        /// The account.
        account: AccountName,
    },
    /// End the supervisor: the agent is removed and its session gone.
    Retire,
}
