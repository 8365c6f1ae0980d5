//! What has to be done once an event is on disk.

use super::ask::{AskKey, Told};
use super::id::{AccountName, SessionId, WorkId};
use super::outcome::Category;
use super::time::Timestamp;
use super::work::{Actor, Work};

/// Something to do. Effects are derived from events by `react`, never stored: a replay must not run them.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Start the process of a session.
    Spawn {
        /// The session.
        session: SessionId,
        /// What it is to do.
        work: Work,
        /// What to resume, if the runtime can.
        conversation: Option<String>,
        /// What was said last, for a conversation that has to be begun anew.
        past: Option<String>,
        /// Words for a session that follows a failed one: what it was doing.
        recap: Option<String>,
        /// Whispers for the head of its prompt, as the agent reads them.
        whispers: Vec<String>,
    },
    /// Keep what is known of work that is not done where the agent and people can read it; none: there is nothing to keep.
    Keep {
        /// The whole text of `context.md`.
        context: Option<String>,
    },
    /// Hand a whisper over while the session runs, if there is a way. It waits until it is said that it was.
    Whisper {
        /// The session.
        session: SessionId,
        /// Which.
        whisper: WorkId,
        /// As the agent reads it.
        text: String,
    },
    /// Ask the evaluator about the last turns.
    Evaluate {
        /// The evaluation's number.
        number: u32,
    },
    /// Ask somebody to split the task that did not fit into one context window.
    Split {
        /// The number of what is asked.
        number: u32,
    },
    /// The process's record is on disk: the driver may give it its work.
    Go {
        /// The session.
        session: SessionId,
    },
    /// Put a message into the running turn, if the runtime can. It stays queued until `Signal::Steered`.
    Steer {
        /// The session.
        session: SessionId,
        /// Which message.
        work: WorkId,
        /// Its text.
        text: String,
    },
    /// Tell the runtime the end of what it asked.
    Answer {
        /// The session.
        session: SessionId,
        /// What its driver calls the question.
        key: AskKey,
        /// The end.
        told: Told,
    },
    /// Run the stop ladder over the session's process tree.
    Stop {
        /// The session.
        session: SessionId,
    },
    /// The account's gate closes: the root tells the other agents.
    BlockAccount {
        /// Whose failure it is.
        account: AccountName,
        /// Why.
        category: Category,
    },
    /// The usage limit of the account is reached: nothing of it begins until one agent has shown that it works again.
    Exhausted {
        /// Which.
        account: AccountName,
        /// When the limit ends, if the runtime said so.
        resets_at: Option<Timestamp>,
    },
    /// A session has shown that its account works.
    Proved {
        /// Which.
        account: AccountName,
    },
    /// The account's gate opens.
    OpenAccount {
        /// The account of an agent that was resumed, or the one that its last session has failed on.
        account: AccountName,
        /// Who resumed it.
        by: Actor,
    },
    /// The agent was changed while it waits for its account: the root looks whether the one that it has now keeps it.
    LookAtAccount,
    /// Something was used: the root looks at what the agents of the account used together.
    Spent {
        /// Which.
        account: AccountName,
    },
    /// The agent is removed and its session gone: the supervisor ends.
    Retire,
}
