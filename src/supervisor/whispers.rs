//! What a session's tool server asks of the agent's supervisor: whispers for a result, and word of the task.
//!
//! A whisper that is being handed over is *offered*: with a tool's result, until the tool server says that the agent has it,
//! or to the running turn, until the runtime says so. While it is offered in one way it is not offered in another. Offers are
//! kept with the session and end with it; what was not handed over by then goes into the next prompt.

use tokio::sync::oneshot;

use super::task::Note;
use super::{Fleet, Shared};
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::notice::Refusal;
use crate::core::work::TaskReport;

/// A whisper on its way to the agent, as the agent reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Which.
    pub whisper: WorkId,
    /// What it says.
    pub text: String,
}

/// What the tool server tells a supervisor.
#[derive(Debug)]
pub(super) enum FromTools {
    /// A call is about to be answered: what is there for its result?
    Collect { session: SessionId, ticket: oneshot::Sender<Vec<Offered>> },
    /// The agent has these.
    Taken { session: SessionId, whispers: Vec<WorkId> },
    /// The call came to nothing: these, and what waited for its answer, are to be handed over another way.
    Returned { session: SessionId, whispers: Vec<WorkId> },
    /// The agent says how its task stands.
    Report { session: SessionId, report: TaskReport, ticket: oneshot::Sender<Result<(), Refusal>> },
}

impl Fleet {
    /// How many calls of an agent's tools are not answered yet.
    #[must_use]
    pub fn open_calls(&self, agent: &AgentName) -> usize {
        self.shared.tools.as_ref().map_or(0, |tools| tools.calls(agent))
    }

    /// What is there for the result of a call of a session's tools. It stays on its way until [`Fleet::whispers_taken`] or
    /// [`Fleet::whispers_returned`].
    pub async fn whispers_for(&self, agent: &AgentName, session: SessionId) -> Vec<Offered> {
        let (ticket, offered) = oneshot::channel();
        tell(&self.shared, agent, FromTools::Collect { session, ticket });
        offered.await.unwrap_or_default()
    }

    /// The agent has them.
    pub fn whispers_taken(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>) {
        tell(&self.shared, agent, FromTools::Taken { session, whispers });
    }

    /// The call came to nothing.
    pub fn whispers_returned(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>) {
        tell(&self.shared, agent, FromTools::Returned { session, whispers });
    }

    /// The agent says how its task stands; resolves when that is on disk.
    ///
    /// # Errors
    /// If the session is over or has no task.
    pub async fn report(
        &self,
        agent: &AgentName,
        session: SessionId,
        report: TaskReport,
    ) -> Result<(), Refusal> {
        let (ticket, answer) = oneshot::channel();
        tell(&self.shared, agent, FromTools::Report { session, report, ticket });
        answer.await.unwrap_or_else(|_| Err(Refusal::Fault { agent: agent.clone() }))
    }
}

fn tell(shared: &Shared, agent: &AgentName, told: FromTools) {
    shared.note(agent, Note::Tools(Box::new(told)));
}
