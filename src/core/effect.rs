//! Effects: actions to be performed once an event is on disk.

use super::ask::{AskKey, Told};
use super::checkout::{Act, Plan};
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
        /// Number of the session.
        session: SessionId,
        /// The work that the session is to do.
        work: Work,
        /// Id of the conversation that the session resumes, if the runtime can; `None` for a new conversation.
        conversation: Option<String>,
        /// The last exchanges with the agent as text, for a conversation that has to start from scratch.
        past: Option<String>,
        /// Recap of a failed session for the one that follows it.
        recap: Option<String>,
        /// Whispers for the head of the prompt, in the agent's form.
        whispers: Vec<String>,
    },
    /// Write `context.md` with the state of unfinished work for the agent and for people; `None` removes the file.
    Keep {
        /// The whole text of the file; `None` removes it.
        context: Option<String>,
    },
    /// Deliver a whisper to the running session, if the runtime can. It waits until its delivery is reported.
    Whisper {
        /// Number of the running session.
        session: SessionId,
        /// Number of the whisper.
        whisper: WorkId,
        /// Text of the whisper in the form that the agent gets.
        text: String,
    },
    /// Start an evaluation of the agent's last turns.
    Evaluate {
        /// Number of the evaluation, which its result names.
        number: u32,
    },
    /// Ask the evaluator's program to split the task that did not fit into one context window.
    Split {
        /// Number of the request, which its answer names.
        number: u32,
    },
    /// Give the started process its work: the record of the process is on disk.
    Go {
        /// Number of the session.
        session: SessionId,
    },
    /// Write a message into the running turn, if the runtime can. It stays queued until `Signal::Steered`.
    Steer {
        /// Number of the session.
        session: SessionId,
        /// Number of the message.
        work: WorkId,
        /// Text of the message.
        text: String,
    },
    /// Give the runtime the answer to a question.
    Answer {
        /// Number of the session.
        session: SessionId,
        /// The driver's key of the question.
        key: AskKey,
        /// The answer for the runtime.
        told: Told,
    },
    /// Run the stop ladder on the session's process tree: interrupt, then SIGTERM, then SIGKILL.
    Stop {
        /// Number of the session.
        session: SessionId,
    },
    /// Close the agent's account: the root stops or pauses the other agents that share it.
    BlockAccount {
        /// The account whose billing, login or budget failed.
        account: AccountName,
        /// Category of the failure.
        category: Category,
    },
    /// Record that the account's usage limit is reached: no session of it starts until one agent has shown that it
    /// works again.
    Exhausted {
        /// The account whose limit is reached.
        account: AccountName,
        /// Reported end of the limit, if there is one.
        resets_at: Option<Timestamp>,
    },
    /// Record that a session has shown that its account works.
    Proved {
        /// The account that works.
        account: AccountName,
    },
    /// Open the agent's account again for all agents that share it.
    OpenAccount {
        /// The account of the agent that was resumed, or the one that its last session failed on.
        account: AccountName,
        /// The person who resumed the agent.
        by: Actor,
    },
    /// Check whether the agent's account is open: the agent was moved to it while paused for its old one.
    LookAtAccount,
    /// Check the caps of the account and of the fleet after usage was recorded.
    Spent {
        /// The account that paid.
        account: AccountName,
    },
    /// Make, read or remove the clone of a task; the result is an input.
    Checkout {
        /// The act.
        act: Act,
        /// The clone as it is planned.
        plan: Plan,
        /// Number of the last read, if it is to be read.
        read: u32,
    },
    /// End the supervisor: the agent is removed and its session gone.
    Retire,
}
