//! Applies the events about tasks whose agents have others do parts of them.

use std::sync::Arc;

use super::board;
use crate::agent::Agent;
use crate::id::{SessionId, WorkId};
use crate::lead::{ParkedTask, PartResult};
use crate::work::Work;

/// Notes the parts that a session waits for; a report of before does not count any more.
pub(super) fn awaited(agent: &mut Agent, session: SessionId, task: WorkId, parts: &[WorkId]) {
    if let Some(unfinished) = agent.unfinished.as_mut().filter(|unfinished| unfinished.work == task) {
        unfinished.report = None;
    }
    agent.board.leads.entry(task).or_default().asked = Some((session, parts.to_vec()));
}

/// Sets a task aside until its parts are over. The session that had it is over, well or not.
pub(super) fn parked(agent: &mut Agent, session: SessionId, task: WorkId, parts: &[WorkId]) {
    let Some(work) = agent.current.take_if(|work| work.id == task) else { return };
    let is_denied = agent.is_refused(task);
    agent.unfinished.take_if(|unfinished| unfinished.work == task);
    agent.timed_out.take_if(|timed_out| *timed_out == task);
    agent.starved.take_if(|starved| *starved == task);
    let lead = agent.board.leads.entry(task).or_default();
    lead.asked = None;
    lead.denied = is_denied;
    lead.told.clear();
    lead.parked = Some(Box::new(ParkedTask { work, session, parts: parts.to_vec() }));
}

/// Puts a task with the results of its parts at the head of the queue. Results of an earlier wait change nothing.
pub(super) fn told(agent: &mut Agent, session: SessionId, task: WorkId, results: &[Arc<PartResult>]) {
    let Some(lead) = agent.board.leads.get_mut(&task) else { return };
    let Some(parked) = lead.parked.take_if(|parked| parked.session == session) else { return };
    lead.told = results.to_vec();
    lead.given.extend(results.iter().map(|result| result.part));
    board::enqueue_first(agent, parked.work);
}

/// Notes that the current task's agent knows the results of its parts.
pub(super) fn succeeded(agent: &mut Agent) {
    if let Some(task) = agent.current.as_ref().map(|work| work.id) {
        agent.board.have_told(task);
    }
}

/// Removes a task that waits for its parts; `None` if it does not.
pub(super) fn take(agent: &mut Agent, task: WorkId) -> Option<Work> {
    let parked = agent.board.leads.get_mut(&task)?.parked.take()?;
    Some(parked.work)
}
