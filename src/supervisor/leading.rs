//! Agents that lead: their requests about parts of their tasks, in the root, and their waits.

use tokio::sync::oneshot;

use super::Fleet;
use super::root::{Root, ToRoot};
use super::shared::Published;
use super::task::Note;
use super::whispers::FromTools;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::board::LeadRequest;
use crate::core::card::Spent;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::lead::LeadRefusal;
use crate::journal::CommitError;

/// The answer to a model whose request reaches no root any more.
const GOES_DOWN: &str = "herder goes down at the moment; try again when it is back.";

/// A request of an agent about the parts of its task, with the channel for its answer.
#[derive(Debug)]
pub(super) struct LeadAsked {
    agent: AgentName,
    session: SessionId,
    request: LeadRequest,
    /// Receives the number of the part when the decision is on disk, and false if nothing had to be decided.
    ticket: oneshot::Sender<Result<(WorkId, bool), LeadRefusal>>,
}

impl Fleet {
    /// Adds a part to the task of an agent's session, or cancels one. Resolves when that is on disk, with the number of the
    /// part, and false if it was so already.
    ///
    /// # Errors
    /// The reason why it is not done, as a sentence for the model.
    pub async fn lead(
        &self,
        agent: &AgentName,
        session: SessionId,
        request: LeadRequest,
    ) -> Result<(WorkId, bool), String> {
        let (ticket, answer) = oneshot::channel();
        let agent = agent.clone();
        self.shared.tell_root(ToRoot::Lead(Box::new(LeadAsked { agent, session, request, ticket })));
        let answer = answer.await.map_err(|_| GOES_DOWN.to_owned())?;
        answer.map_err(|refusal| refusal.to_string())
    }

    /// Lets the task of an agent's session wait for parts of it once the session is over: those that are named, or all.
    /// Resolves with their numbers when that is on disk.
    ///
    /// # Errors
    /// The reason why it does not wait, as a sentence for the model.
    pub async fn await_parts(
        &self,
        agent: &AgentName,
        session: SessionId,
        named: &[WorkId],
    ) -> Result<Vec<WorkId>, String> {
        let view = self.view(agent).ok_or_else(|| LeadRefusal::NoTask.to_string())?;
        let parts = self.board().to_await(&view.agent, session, named);
        let parts = parts.map_err(|refusal| refusal.to_string())?;
        let (ticket, answer) = oneshot::channel();
        let told = FromTools::Await { session, parts: parts.clone(), ticket };
        self.shared.note(agent, Note::Tools(Box::new(told)));
        match answer.await {
            Ok(Ok(())) => Ok(parts),
            Ok(Err(_)) => Err("Your session is over already; nothing was noted.".to_owned()),
            Err(_) => Err(GOES_DOWN.to_owned()),
        }
    }

    /// Returns what the parts of a task have cost so far, and theirs.
    #[must_use]
    pub fn spent_by_parts(&self, task: WorkId) -> Spent {
        let views = self.shared.published();
        self.board().spent_by_parts(task, &everybody(&views))
    }
}

/// Returns the agents that take work, with their names.
fn everybody(views: &[Published]) -> Vec<(&AgentName, &Agent)> {
    views.iter().map(|view| (&view.name, &*view.agent)).collect()
}

impl Root {
    /// Decides a request of an agent about the parts of its task.
    pub(super) async fn lead(&mut self, asked: LeadAsked) -> Result<(), CommitError> {
        let LeadAsked { agent, session, request, ticket } = asked;
        let views = self.shared.published();
        let (everybody, fresh) = (everybody(&views), || self.shared.journal.fresh_work_id());
        let decided = self.fleet.board.lead(&request, (&agent, session), &everybody, clock::now(), fresh);
        let (events, part) = match decided {
            Ok(decided) => decided,
            Err(refusal) => {
                drop(ticket.send(Err(refusal)));
                return Ok(());
            }
        };
        let is_new = !events.is_empty();
        self.record_board(events).await?;
        // The session may be gone; the decision stands.
        drop(ticket.send(Ok((part, is_new))));
        self.run_all_errands();
        self.deal().await
    }
}
