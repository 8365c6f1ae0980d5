//! An agent's queue: work given, tasks cancelled, messages dropped. No work leaves it without a record.

use super::control::{excerpt, request_stop, skip_back_off};
use super::session::cancel;
use super::{Draft, asks, checkout, review, watch};
use crate::agent::{Phase, QUEUE_MAX, WORK_TEXT_MAX};
use crate::ask::AskAnswer;
use crate::card::Card;
use crate::event::{Event, StopReason, WaitReason};
use crate::id::{AgentName, WorkId};
use crate::notice::{Halt, Notice, Refusal};
use crate::react::steers;
use crate::watch::Answer;
use crate::work::{Actor, TaskEnd, Work, WorkKind};

/// New work for the queue.
pub(super) struct New<'a> {
    pub(super) id: WorkId,
    pub(super) kind: WorkKind,
    pub(super) text: &'a str,
    pub(super) card: Option<Box<Card>>,
}

pub(super) fn give(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    new: New<'_>,
) -> Result<Notice, Refusal> {
    let New { id, kind, text, ref card } = new;
    usable(&agent, text)?;
    let question = asks::answered_by_message(draft).filter(|_| kind == WorkKind::Message);
    let has_files = card.as_ref().is_some_and(|card| !card.files.is_empty());
    if (question.is_none() || has_files) && draft.agent().queue.len() >= QUEUE_MAX {
        return Err(Refusal::QueueFull { agent, max: bounded_count(QUEUE_MAX) });
    }
    if let Some(ask) = question {
        let text = asks::said(text).to_owned();
        let answered = asks::answer(draft, agent, by, ask, &AskAnswer::Text { text })?;
        if has_files {
            // An answer is text alone: the files follow as a message of their own.
            queue_up(draft, by, new);
        }
        return Ok(answered);
    }
    let (kind, steering) = queue_up(draft, by, new);
    if draft.agent().current.as_ref().is_some_and(|current| current.id == id) {
        return Ok(Notice::Accepted { agent, work: id, kind });
    }
    if steering {
        return Ok(Notice::Steering { agent, work: id });
    }
    let position = draft.agent().queue.iter().position(|work| work.id == id).map_or(0, |index| index + 1);
    let position = bounded_count(position);
    let held = draft.context.hold.filter(|_| draft.agent().wants().is_some());
    Ok(match draft.agent().halt().or_else(|| held.cloned().map(Halt::Held)) {
        Some(why) => Notice::QueuedWhilePaused { agent, work: id, kind, position, why },
        None => Notice::Queued { agent, work: id, kind, position },
    })
}

/// Adds work to the queue, and begins it if the agent is free. Returns its kind, and true if the running turn is to take it.
fn queue_up(draft: &mut Draft<'_>, by: &Actor, new: New<'_>) -> (WorkKind, bool) {
    let New { id, kind, text, card } = new;
    let work =
        Work { id, kind, text: text.to_owned(), by: by.clone(), at: draft.context.now, attempts: 0, card };
    let work = checkout::placed(draft.agent(), work);
    let kind = work.kind;
    let steering = steers(draft.agent(), kind) && draft.agent().is_of_current(&work);
    draft.record(Event::Queued { work });
    checkout::opened(draft, id, kind, by);
    if matches!(draft.agent().phase, Phase::Waiting { reason: WaitReason::Rest, .. }) {
        draft.record(Event::WaitOver);
    }
    draft.begin();
    (kind, steering)
}

/// Checks that a text can be work: it is not blank and not too long.
fn usable(agent: &AgentName, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::EmptyWork { agent: agent.clone() });
    }
    if text.len() > WORK_TEXT_MAX {
        return Err(Refusal::WorkTooLong { bytes: text.len() as u64, max: WORK_TEXT_MAX as u64 });
    }
    Ok(())
}

/// Returns the work `id` if it still waits, or the refusal that says why it cannot be changed.
fn queued<'a>(draft: &'a Draft<'_>, agent: &AgentName, id: WorkId) -> Result<&'a Work, Refusal> {
    if draft.agent().current.as_ref().is_some_and(|current| current.id == id) {
        return Err(Refusal::WorkRunning { agent: agent.clone() });
    }
    if draft.agent().board.parked().any(|parked| parked.work.id == id) {
        return Err(Refusal::AwaitsParts { agent: agent.clone(), task: id });
    }
    if handed(draft, id) || draft.agent().is_claimed(id) {
        return Err(Refusal::WorkRunning { agent: agent.clone() });
    }
    let queued = draft.agent().queue.iter().find(|work| work.id == id);
    queued.ok_or_else(|| Refusal::WorkOver { agent: agent.clone() })
}

/// Returns true if a message was handed to the running session, which may have read it already. A session that is
/// being stopped reads no more.
fn handed(draft: &Draft<'_>, id: WorkId) -> bool {
    let running = matches!(draft.agent().phase, Phase::Running { .. });
    running && draft.context.handed.is_some_and(|handed| handed.contains(&id))
}

pub(super) fn reword(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: WorkId,
    text: &str,
) -> Result<Notice, Refusal> {
    if queued(draft, &agent, id)?.card().review.is_some() {
        return Err(Refusal::IsReview { task: id });
    }
    usable(&agent, text)?;
    draft.record(Event::Reworded { work: id, text: text.to_owned(), by: by.clone() });
    Ok(Notice::Reworded { agent, work: excerpt(text) })
}

pub(super) fn withdraw(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: WorkId,
) -> Result<Notice, Refusal> {
    let work = queued(draft, &agent, id)?;
    if work.kind == WorkKind::Task {
        return cancel_task(draft, agent, by, id);
    }
    let work = excerpt(&work.text);
    let held = draft.agent().held().is_some_and(|held| held.id == id);
    draft.record(Event::Withdrawn { work: id, by: by.clone() });
    if held {
        watch::left(draft, id, Answer::Abort, by);
        skip_back_off(draft);
    }
    Ok(Notice::Withdrawn { agent, work })
}

pub(super) fn cancel_task(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
) -> Result<Notice, Refusal> {
    let is_it = |work: &Work| work.id == task && work.kind == WorkKind::Task;
    if draft.agent().current.as_ref().is_some_and(is_it) {
        return cancel_current(draft, agent, by, task);
    }
    let state = draft.agent();
    if let Some(review) = state.checkouts.review(task) {
        review::not_merging(review, task)?;
    }
    let parked = state.board.parked().map(|parked| &parked.work);
    if state.queue.iter().chain(state.checkouts.in_review()).chain(parked).any(is_it) {
        let held = draft.agent().held().is_some_and(is_it);
        cancel(draft, task, by);
        if held {
            skip_back_off(draft);
        }
        return Ok(Notice::TaskEnded { agent, task, end: TaskEnd::Cancelled });
    }
    match draft.agent().finished.iter().find(|finished| finished.work.id == task) {
        Some(finished) => Err(Refusal::TaskOver { task, end: finished.end }),
        None => Err(Refusal::NoSuchTask { task }),
    }
}

fn cancel_current(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
) -> Result<Notice, Refusal> {
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => {
            request_stop(draft, session, StopReason::Cancel, by);
            Ok(Notice::Stopping { agent, reason: StopReason::Cancel })
        }
        Phase::Stopping { reason: StopReason::Abort | StopReason::Cancel, .. } => {
            Err(Refusal::AlreadyStopping { agent })
        }
        // The session ends for another reason, or there is none; only the record has to be corrected.
        Phase::Stopping { .. }
        | Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {
            cancel(draft, task, by);
            Ok(Notice::TaskEnded { agent, task, end: TaskEnd::Cancelled })
        }
    }
}

pub(super) fn clear(draft: &mut Draft<'_>, agent: AgentName, by: &Actor) -> Result<Notice, Refusal> {
    let message = |work: &&Work| work.kind == WorkKind::Message;
    let messages = draft.agent().queue.iter().filter(message).map(|work| work.id);
    let (kept, works): (Vec<WorkId>, Vec<WorkId>) = messages.partition(|work| handed(draft, *work));
    if works.is_empty() {
        return Err(match kept.is_empty() {
            true => Refusal::QueueEmpty { agent },
            false => Refusal::WorkRunning { agent },
        });
    }
    let count = bounded_count(works.len());
    let held = draft.agent().held().map(|work| work.id).filter(|work| works.contains(work));
    draft.record(Event::Cleared { works, by: by.clone() });
    if let Some(work) = held {
        watch::left(draft, work, Answer::Abort, by);
        skip_back_off(draft);
    }
    Ok(Notice::Cleared { agent, count })
}

pub(super) fn bounded_count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
