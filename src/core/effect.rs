//! What has to be done once an event is on disk.

use super::id::{SessionId, WorkId};
use super::outcome::Category;
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
        /// Words for a session that follows a failed one: what it was doing.
        recap: Option<String>,
        /// Whispers for the head of its prompt, as the agent reads them.
        whispers: Vec<String>,
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
    /// Run the stop ladder over the session's process tree.
    Stop {
        /// The session.
        session: SessionId,
    },
    /// The account's gate closes: the root tells the other agents.
    BlockAccount(Category),
    /// The account's gate opens.
    OpenAccount {
        /// Who resumed an agent of it.
        by: Actor,
    },
    /// Something was used: the root looks at what the agents of the account used together.
    Spent,
    /// The agent is removed and its session gone: the supervisor ends.
    Retire,
}
