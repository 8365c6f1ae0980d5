//! Requests of a session's tool server to the agent's supervisor: whispers for a result, and reports on the task.
//!
//! A whisper that is being delivered is *offered*: with a tool's result, until the tool server confirms it, or to the
//! running turn, until the runtime does. While it is offered in one way it is not offered in another. Offers are kept
//! with the session and end with it; whispers that were not delivered by then go into the next prompt.

use tokio::sync::oneshot;

use super::task::Note;
use super::{Fleet, Shared};
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::notice::Refusal;
use crate::core::work::TaskReport;

/// A whisper that is on its way to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Number of the whisper.
    pub whisper: WorkId,
    /// Text for the agent, with a keyword in brackets before it.
    pub text: String,
}

/// A message of the session's tool server to the agent's supervisor.
#[derive(Debug)]
pub(super) enum FromTools {
    /// A tool call is about to return; the reply lists the whispers to deliver with its result.
    Collect { session: SessionId, ticket: oneshot::Sender<Vec<Offered>> },
    /// The agent has received these whispers with the result of a tool call.
    Taken { session: SessionId, whispers: Vec<WorkId> },
    /// The tool call failed: these whispers, and those that waited for its result, must be delivered in another way.
    Returned { session: SessionId, whispers: Vec<WorkId> },
    /// The agent waits for these parts of its task once its session is over.
    Await { session: SessionId, parts: Vec<WorkId>, ticket: oneshot::Sender<Result<(), Refusal>> },
    /// The agent reports on its task.
    Report { session: SessionId, report: TaskReport, ticket: oneshot::Sender<Result<(), Refusal>> },
}

impl Fleet {
    /// Returns the number of an agent's open tool calls.
    #[must_use]
    pub fn open_calls(&self, agent: &AgentName) -> usize {
        self.shared.place(agent).calls(agent)
    }

    /// Returns the whispers to deliver with the result of a tool call. They count as under way until
    /// [`Fleet::whispers_taken`] or [`Fleet::whispers_returned`].
    pub async fn whispers_for(&self, agent: &AgentName, session: SessionId) -> Vec<Offered> {
        let (ticket, offered) = oneshot::channel();
        tell(&self.shared, agent, FromTools::Collect { session, ticket });
        offered.await.unwrap_or_default()
    }

    /// Records that the agent has received whispers.
    pub fn whispers_taken(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>) {
        tell(&self.shared, agent, FromTools::Taken { session, whispers });
    }

    /// Records that a tool call failed, so that its whispers were not delivered.
    pub fn whispers_returned(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>) {
        tell(&self.shared, agent, FromTools::Returned { session, whispers });
    }

    /// Records the agent's report on its task; resolves when it is on disk.
    ///
    /// # Errors
    /// If the session has ended or has no task.
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
