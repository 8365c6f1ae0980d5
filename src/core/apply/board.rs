//! Applies the events about tasks that come from the board or go back to it.

use super::take;
use crate::agent::Agent;
use crate::dealings::{News, Onward};
use crate::detail::Detail;
use crate::id::WorkId;
use crate::lead::PartOutcome;
use crate::review::Opinion;
use crate::time::Timestamp;
use crate::work::{Actor, TaskEnd, Work, WorkKind};

/// Inserts work into the agent's queue by priority, but never before work that a session has started.
pub(super) fn enqueue(agent: &mut Agent, work: Work) {
    let begun = usize::from(agent.held().is_some());
    let urgent = work.card().priority;
    let later = agent.queue.iter().skip(begun).position(|queued| queued.card().priority < urgent);
    match later {
        Some(index) => agent.queue.insert(begun + index, work),
        None => agent.queue.push_back(work),
    }
}

/// Inserts work before all other work that no session has started.
pub(super) fn enqueue_first(agent: &mut Agent, work: Work) {
    let begun = usize::from(agent.held().is_some());
    agent.queue.insert(begun, work);
}

/// Queues a task that the board has handed over to the agent.
pub(super) fn taken(agent: &mut Agent, number: u64, work: &Work, at: Timestamp) {
    agent.board.taken = agent.board.taken.max(number);
    let mut work = work.clone();
    work.kind = WorkKind::Task;
    work.card_mut().came = Some(at);
    agent.take_over_checkout(&mut work);
    super::queued(agent, &work);
}

/// Hands a task back to the board. A finished task can be handed back too, so that another agent tries it again.
pub(super) fn handed_back(agent: &mut Agent, id: WorkId, onward: &Onward, by: &Actor) {
    let finished = agent.finished.iter().position(|finished| finished.work.id == id);
    let work = take(agent, id)
        .or_else(|| finished.and_then(|index| agent.finished.remove(index)).map(|finished| finished.work));
    if let Some(mut work) = work {
        agent.board.leads.remove(&id);
        // The clone of a task that is split stays with its agent.
        if !matches!(onward, Onward::Split(_))
            && let Some(checkout) = agent.give_up_checkout(id)
        {
            work.card_mut().checkout = Some(checkout);
        }
        if let Onward::Broader(least) = onward {
            let needs = &mut work.card_mut().needs;
            needs.permissions = needs.permissions.max(Some(*least));
        }
        let (work, onward, by) = (Box::new(work), onward.clone(), by.clone());
        agent.board.tell(News::HandedBack { work, onward, by });
    }
}

/// Adds a message to the board that a task ended, if it is a part of another task.
pub(super) fn part_over(agent: &mut Agent, work: &Work, end: TaskEnd, note: &Detail) {
    if let Some(parent) = work.card().parent {
        let checkout = agent.checkouts.all.get(&work.id);
        let held = checkout.and_then(|checkout| checkout.held.as_ref());
        let outcome = PartOutcome {
            note: note.clone(),
            commit: held.map(|held| held.head.clone()).unwrap_or_default(),
            proof: checkout.map(|checkout| Box::new(checkout.proof())),
            spent: work.card().spent,
        };
        agent.board.tell(News::PartOver { part: work.id, parent, end, outcome: Some(Box::new(outcome)) });
    }
}

/// Adds a message to the board that a review has ended with this verdict, if the task was one.
pub(super) fn review_over(agent: &mut Agent, work: &Work, opinion: Option<Opinion>) {
    if work.card().review.is_some() {
        agent.board.tell(News::Reviewed { work: work.id, opinion });
    }
}
