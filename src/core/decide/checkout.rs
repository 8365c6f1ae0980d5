//! Clones of tasks: planned before their first session, read after each, checked before work in them is done, removed
//! when a person says so, or all that they hold is merged.

use super::{Draft, queue, review, watch};
use crate::agent::{Agent, Phase};
use crate::check::{Claim, Evidence, Progress};
use crate::checkout::{Act, Acted, Base, CheckoutEvent, Plan, Stage};
use crate::detail::{Detail, Own};
use crate::event::{Event, PauseReason};
use crate::id::{AgentName, WorkId};
use crate::notice::{Notice, Refusal};
use crate::outcome::Category;
use crate::work::{Actor, Work, WorkKind};

pub(super) use crate::checkout::WHY_MAX;

/// Returns work with the task that it belongs to: a message belongs to the task that is open, or begins one.
pub(super) fn placed(agent: &Agent, mut work: Work) -> Work {
    if agent.has_repository() && work.kind == WorkKind::Message {
        match agent.checkouts.open.filter(|open| !agent.checkouts.is_being_merged(*open)) {
            Some(task) => work.card_mut().of = Some(task),
            None => work.kind = WorkKind::Task,
        }
    }
    work
}

/// Opens a task that was just given, if none is open, or the open one is being merged.
pub(super) fn opened(draft: &mut Draft<'_>, task: WorkId, kind: WorkKind, by: &Actor) {
    let agent = draft.agent();
    let open = agent.checkouts.open.filter(|open| !agent.checkouts.is_being_merged(*open));
    if agent.has_repository() && kind == WorkKind::Task && open.is_none() {
        draft.record(Event::Checkout(CheckoutEvent::Opened { task, by: by.clone() }));
    }
}

/// Gives the agent a task and opens it.
pub(super) fn begin(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    new: queue::New<'_>,
) -> Result<Notice, Refusal> {
    let task = new.id;
    let given = queue::give(draft, agent, by, new)?;
    if draft.agent().has_repository() && draft.agent().checkouts.open != Some(task) {
        draft.record(Event::Checkout(CheckoutEvent::Opened { task, by: by.clone() }));
    }
    Ok(given)
}

/// Opens an earlier task again.
pub(super) fn open(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
) -> Result<Notice, Refusal> {
    let removing = |agent: &Agent| {
        agent.checkouts.all.get(&task).is_none_or(|checkout| checkout.stage == Stage::Removing)
    };
    let waits = |agent: &Agent| {
        agent.has_repository()
            && agent.queue.iter().any(|work| work.id == task && work.kind == WorkKind::Task)
    };
    let is_review = |work: &Work| work.id == task && work.card().review.is_some();
    if draft.agent().all_works().any(is_review) {
        return Err(Refusal::IsReview { task });
    }
    if removing(draft.agent()) && !waits(draft.agent()) {
        return Err(Refusal::NoCheckout { task });
    }
    draft.record(Event::Checkout(CheckoutEvent::Opened { task, by: by.clone() }));
    Ok(Notice::TaskOpened { agent, task })
}

/// Removes the clone of a task that is not worked on.
pub(super) fn remove(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
) -> Result<Notice, Refusal> {
    let state = draft.agent();
    let stage = state.checkouts.all.get(&task).map(|checkout| checkout.stage);
    if !matches!(stage, Some(Stage::Made | Stage::NotMade)) {
        return Err(Refusal::NoCheckout { task });
    }
    let parked = state.board.parked().map(|parked| &parked.work);
    if state.current.iter().chain(&state.queue).chain(parked).any(|work| work.task() == task) {
        return Err(Refusal::TaskRunning { agent, task });
    }
    if state.checkouts.review(task).is_some() {
        return Err(Refusal::InReview { agent, task });
    }
    draft.record(Event::Checkout(CheckoutEvent::Removing { task, by: by.clone() }));
    Ok(Notice::TaskDropping { agent, task })
}

/// Returns true if a session can start with this work: its clone is there, or it needs none. Else the clone is planned.
pub(super) fn is_ready(draft: &mut Draft<'_>, work: &Work) -> bool {
    let agent = draft.agent();
    let (task, known) = (work.task(), agent.checkouts.all.get(&work.task()));
    let repository = agent.spec.as_ref().and_then(|spec| spec.repository.as_ref());
    let plan = match (known, &work.card().review, repository) {
        (Some(checkout), ..) => match checkout.stage {
            Stage::Made => {
                let Some(claim) = checkout.claim.clone().filter(|_| checkout.is_being_checked()) else {
                    return true;
                };
                if claim.progress == Progress::NotRun {
                    let Claim { work, note, .. } = claim;
                    draft.record(Event::Checkout(CheckoutEvent::Reading { task }));
                    draft.record(Event::Checkout(CheckoutEvent::Checking { task, work, note }));
                }
                return false;
            }
            Stage::Planned | Stage::Removing => return false,
            Stage::NotMade => checkout.plan.clone(),
        },
        (None, Some(review), _) => Plan::review(review, work),
        (None, None, Some(repository)) => Plan::new(repository, work),
        (None, None, None) => return true,
    };
    debug_assert_eq!(plan.task, task, "a clone is that of its task");
    draft.record(Event::Checkout(CheckoutEvent::Planned { plan }));
    false
}

/// Repeats the acts that herder's end cut short. Each of them finds what it has done before.
pub(super) fn started(draft: &mut Draft<'_>) {
    let mut again = Vec::new();
    for (task, checkout) in &draft.agent().checkouts.all {
        match checkout.stage {
            Stage::Planned => again.push(CheckoutEvent::Planned { plan: checkout.plan.clone() }),
            Stage::Removing => again.push(CheckoutEvent::Removing { task: *task, by: Actor::herder() }),
            Stage::Made if checkout.unread => again.push(CheckoutEvent::Reading { task: *task }),
            Stage::Made | Stage::NotMade => {}
        }
    }
    for event in again {
        draft.record(Event::Checkout(event));
    }
}

/// Has the current work checked that its agent calls done; false if nothing checks it. It goes back to the head of the
/// queue, where it waits for the result.
pub(super) fn claimed(draft: &mut Draft<'_>, work: &Work, note: &Detail) -> bool {
    if !draft.agent().is_checked(work) {
        return false;
    }
    draft.record(Event::Requeued { work: work.id });
    let (task, note) = (work.task(), note.clone());
    draft.record(Event::Checkout(CheckoutEvent::Checking { task, work: work.id, note }));
    true
}

/// Records the result of a check: the work is done, goes to review or back to its agent, or a person is called. The
/// result of an earlier check is ignored.
fn checked(draft: &mut Draft<'_>, task: WorkId, number: u32, result: &Result<Option<Box<Evidence>>, Detail>) {
    let claim = draft.agent().checkouts.all.get(&task).and_then(|checkout| checkout.claim.clone());
    let awaited = |claim: &Claim| claim.progress == Progress::Checking && claim.number == number;
    let Some(claim) = claim.filter(awaited) else { return };
    let evidence = match result {
        Ok(evidence) => evidence.clone(),
        Err(why) => return failed(draft, task, Act::Check, why),
    };
    let mut queue = draft.agent().queue.iter();
    let is_task = queue.any(|work| work.id == claim.work && work.kind == WorkKind::Task);
    draft.record(Event::Checkout(CheckoutEvent::Checked { task, evidence: evidence.clone() }));
    let Some(red) = evidence.filter(|evidence| !evidence.is_green()) else {
        return match is_task {
            true => review::done(draft, task, claim.note),
            false => review::changed(draft, task, claim.note),
        };
    };
    let (command, times) = (red.command.clone(), claim.failed.saturating_add(1));
    tried_again(draft, task, Own::CheckFailed { command, times }.with(red.why().to_string()));
}

/// Lets the agent mend its work, or calls a person for this reason once it has tried often enough.
pub(super) fn tried_again(draft: &mut Draft<'_>, task: WorkId, why: Detail) {
    if draft.agent().is_tried_again(task) {
        return draft.begin();
    }
    watch::gave_up(draft, Category::Permanent, why);
}

/// Records that an act has failed, and pauses an agent whose next session needs it.
fn failed(draft: &mut Draft<'_>, task: WorkId, act: Act, why: &Detail) {
    // Work whose state is not known is not checked.
    let checked = act == Act::Check || act == Act::Read && draft.agent().checkouts.is_being_checked(task);
    let needed = (act == Act::Make || checked)
        && draft.agent().phase == Phase::Idle
        && draft.agent().queue.front().is_some_and(|work| work.task() == task);
    let why = why.clone().bounded(WHY_MAX);
    let is_review =
        draft.agent().queue.front().is_some_and(|work| work.id == task && work.card().review.is_some());
    draft.record(Event::Checkout(CheckoutEvent::Failed { task, act, why: why.clone() }));
    if needed && is_review {
        review::given_up(draft, task, why);
    } else if needed {
        draft.pause(PauseReason::Failure(Category::Permanent));
    } else {
        draft.begin();
    }
}

/// Records the result of an act; a session that waits for a clone begins. Results of acts that are not under way are
/// ignored.
pub(super) fn acted(draft: &mut Draft<'_>, task: WorkId, acted: &Acted) {
    let Some(checkout) = draft.agent().checkouts.all.get(&task) else { return };
    let (stage, read) = (checkout.stage, checkout.unread.then_some(checkout.reads));
    let event = match acted {
        Acted::Checked(number, result) => return checked(draft, task, *number, result),
        Acted::Merged(number, result) => return review::merged(draft, task, *number, result),
        Acted::Made(Base { commit, onto }) if stage == Stage::Planned => {
            CheckoutEvent::Made { task, base: commit.clone(), onto: Some(onto.clone()) }
        }
        Acted::Read(number, result) if read == Some(*number) => match result {
            Ok(held) => CheckoutEvent::Read { task, held: held.clone() },
            Err(why) => return failed(draft, task, Act::Read, why),
        },
        Acted::Removed if stage == Stage::Removing => CheckoutEvent::Removed { task },
        Acted::Failed(act, why) => {
            let under_way = match act {
                Act::Make => stage == Stage::Planned,
                Act::Remove => stage == Stage::Removing,
                // Their results say which of them they are.
                Act::Read | Act::Check | Act::Merge => false,
            };
            if under_way {
                failed(draft, task, *act, why);
            }
            return;
        }
        Acted::Made(_) | Acted::Read(..) | Acted::Removed => return,
    };
    draft.record(Event::Checkout(event));
    match acted {
        Acted::Read(..) => review::read(draft, task),
        // It may have ended meanwhile.
        Acted::Made(_) => review::spare(draft, task),
        Acted::Removed | Acted::Checked(..) | Acted::Merged(..) | Acted::Failed(..) => {}
    }
    draft.begin();
}
