//! Review of tasks that are called done, and the merge of those that are accepted.

use super::{Draft, checkout};
use crate::agent::Agent;
use crate::checkout::{Act, Checkout, CheckoutEvent, Held, Stage};
use crate::detail::{Detail, GitReason};
use crate::event::Event;
use crate::id::{AgentName, WorkId};
use crate::notice::{Notice, Refusal};
use crate::pull::{Look, Opened, PullRequest, PullState};
use crate::review::{
    Acceptance, Back, CONFLICTS_MAX, Landed, Merged, Merging, OnAccept, Opinion, ROUNDS, Review, Reviewer,
    WHY_MAX,
};
use crate::work::{Actor, TaskEnd};

/// Ends a task whose check has passed, or has it reviewed or merged first.
pub(super) fn done(draft: &mut Draft<'_>, task: WorkId, note: Detail) {
    let landing = draft.agent().landing();
    let held = draft.agent().checkouts.all.get(&task).and_then(|checkout| checkout.held.clone());
    let changed = |held: &Held| held.commits > 0 || held.uncommitted > 0 || held.head.is_empty();
    // A question is answered, and nothing is to be looked at.
    if landing.is_none() || held.as_ref().is_some_and(|held| !changed(held)) {
        return end(draft, task, note);
    }
    let files = held.map_or(0, |held| held.uncommitted);
    if files > 0 {
        draft.record(Event::Checkout(CheckoutEvent::SentBack { task, back: Back::Uncommitted { files } }));
        return checkout::tried_again(draft, task, GitReason::Uncommitted { files }.into());
    }
    begin(draft, task, note);
}

/// Begins the review of a task; without a reviewer it is accepted at once.
fn begin(draft: &mut Draft<'_>, task: WorkId, note: Detail) {
    let review = draft.agent().landing().review;
    let named = match &review {
        Reviewer::Agent { name, .. } => Some(name.clone()),
        Reviewer::None | Reviewer::Person => None,
    };
    let asked = named.clone().filter(|named| !has_worked(draft.agent(), task, named));
    let own = named.filter(|_| asked.is_none());
    draft.record(Event::Checkout(CheckoutEvent::InReview { task, note, asked }));
    if review == Reviewer::None {
        accepted(draft, task, &Actor::herder());
    }
    if let Some(named) = own {
        left_to_person(draft, task, GitReason::OwnWork { reviewer: named.to_string() }.into());
    }
    draft.begin();
}

/// Begins the review of a task anew if a message has changed its work, also of one that was done.
pub(super) fn changed(draft: &mut Draft<'_>, task: WorkId, note: Detail) {
    let (landing, state) = (draft.agent().landing(), draft.agent());
    let Some(checkout) = state.checkouts.all.get(&task).filter(|_| !landing.is_none()) else {
        return draft.begin();
    };
    let held = checkout.held.clone().unwrap_or_default();
    let over = state.finished.iter().any(|over| over.work.id == task && over.end == TaskEnd::Done);
    let reviewed = checkout.review.as_ref().map(|review| review.is_being_merged());
    let again = match reviewed {
        Some(merging) => !merging && !checkout.is_as_reviewed(),
        None => over && held.head != checkout.done_at,
    };
    match (again, held.uncommitted) {
        (false, _) => draft.begin(),
        // A merge would leave these files out.
        (true, files @ 1..) if reviewed.is_some() => {
            let back = Back::Uncommitted { files };
            draft.record(Event::Checkout(CheckoutEvent::Returned { task, back }));
            draft.begin();
        }
        (true, _) => begin(draft, task, note),
    }
}

/// Records what a look at the pull request of a task has found. News that come while the task is worked on are read at
/// a later look.
pub(super) fn followed(
    draft: &mut Draft<'_>,
    task: WorkId,
    (number, head): (u32, &str),
    look: &Result<Look, Detail>,
) {
    let agent = draft.agent();
    let Some(checkout) = agent.checkouts.all.get(&task) else { return };
    let of = |pull: &&PullRequest| pull.opened.number == number && pull.opened.head == head;
    let Some(pull) = checkout.open_pull().filter(of) else { return };
    let Some(review) = checkout.review.as_deref().filter(|_| agent.is_at_rest(task)) else { return };
    let Opened { link, branch, head, .. } = pull.opened.clone();
    let (note, is_left) = (review.note.clone(), review.left.is_some());
    match look {
        Ok(Look { state: PullState::Merged { commit }, .. }) => {
            landed(draft, task, Landed { branch, commit: commit.clone(), head, link }, note);
        }
        Ok(Look { state: PullState::Closed, .. }) => {
            not_merged(draft, task, &GitReason::PullClosed { link }.into());
        }
        Ok(look) => {
            let OnAccept::Pull { follow_ups: most } = agent.on_accept() else { return };
            let Some(news) = pull.news(look) else { return };
            let times = pull.follow_ups;
            // They are read once they go back to the agent.
            if times < most {
                draft.record(Event::Checkout(CheckoutEvent::Heard { task, news: news.clone() }));
                let back = Back::Outside { link, news: Box::new(news) };
                draft.record(Event::Checkout(CheckoutEvent::Returned { task, back }));
            } else if !is_left {
                let why = GitReason::FollowedOften { link, times, names: news.from() };
                left_to_person(draft, task, why.into());
            }
        }
        Err(why) if !is_left => {
            let why = GitReason::NotFollowed { link }.with(why.to_string());
            left_to_person(draft, task, why);
        }
        Err(_) => {}
    }
    draft.begin();
}

/// Ends a task whose work is in the base.
fn landed(draft: &mut Draft<'_>, task: WorkId, landed: Landed, note: Detail) {
    draft.record(Event::Checkout(CheckoutEvent::Landed { task, landed }));
    draft.record(Event::TaskEnded { work: task, end: TaskEnd::Done, note });
    // It is removed if nothing was added to it meanwhile.
    if draft.agent().checkouts.is_made(task) {
        draft.record(Event::Checkout(CheckoutEvent::Reading { task }));
    }
}

/// Records the verdict of a reviewing agent, or that it has given none. One on an earlier review is ignored, and one that
/// comes while the task is worked on is repeated afterwards.
pub(super) fn decided(
    draft: &mut Draft<'_>,
    task: WorkId,
    number: u32,
    by: &AgentName,
    opinion: Option<&Opinion>,
) {
    let agent = draft.agent();
    let asked = agent.checkouts.review(task).and_then(Review::asked);
    if asked.is_none_or(|asked| asked.number != number) || !agent.is_at_rest(task) {
        return;
    }
    let rejections = agent.checkouts.all.get(&task).map_or(0, |checkout| checkout.rejections);
    let is_as_reviewed = agent.checkouts.all.get(&task).is_some_and(Checkout::is_as_reviewed);
    // The settings may have changed since it was asked.
    let rounds = match agent.landing().review {
        Reviewer::Agent { rounds, .. } => rounds,
        Reviewer::Person | Reviewer::None => ROUNDS,
    };
    let reviewer = by.to_string();
    match opinion {
        Some(Opinion { accepts: true, .. }) if !is_as_reviewed => {
            left_to_person(draft, task, GitReason::ChangedSince.into());
        }
        Some(Opinion { accepts: true, .. }) => accepted(draft, task, &Actor::agent(by)),
        Some(Opinion { words, .. }) if rejections + 1 < rounds => {
            let back = Back::Rejected { by: Actor::agent(by), why: words.clone() }.bounded();
            draft.record(Event::Checkout(CheckoutEvent::Returned { task, back }));
        }
        Some(Opinion { words, .. }) => {
            let why = GitReason::RejectedOften { reviewer, times: rejections + 1 }.with(words.clone());
            left_to_person(draft, task, why);
        }
        None => left_to_person(draft, task, GitReason::NoVerdict { reviewer }.into()),
    }
    draft.begin();
}

/// Returns true if an agent has had a session in the clone of a task, or has given the task as a part of its own.
fn has_worked(agent: &Agent, task: WorkId, name: &AgentName) -> bool {
    let over = agent.finished.iter().map(|over| &over.work);
    let mut works = agent.all_works().chain(over).filter(|work| work.id == task);
    works.any(|work| work.by == Actor::agent(name))
        || agent.checkouts.all.get(&task).is_some_and(|checkout| checkout.plan.worked.contains(name))
}

fn left_to_person(draft: &mut Draft<'_>, task: WorkId, why: Detail) {
    let why = why.bounded(WHY_MAX);
    draft.record(Event::Checkout(CheckoutEvent::LeftToPerson { task, why }));
}

/// Removes the clone of a task once all that it holds is merged, or was there before, and nothing is to be done there.
pub(super) fn read(draft: &mut Draft<'_>, task: WorkId) {
    let state = draft.agent();
    let goes_on = state.all_works().any(|work| work.task() == task);
    let was_review = |checkout: &Checkout| {
        let over = state.finished.iter().find(|over| over.work.id == task);
        over.is_some_and(|over| over.work.card().review.is_some())
            && checkout.stage == Stage::Made
            && checkout.held.as_ref().is_some_and(Held::is_elsewhere)
    };
    let is_spare = |checkout: &Checkout| checkout.is_landed() || was_review(checkout);
    if !goes_on && state.checkouts.all.get(&task).is_some_and(is_spare) {
        draft.record(Event::Checkout(CheckoutEvent::Removing { task, by: Actor::herder() }));
    }
}

/// Ends a review that its agent cannot go on with; a person is called for the reviewed task.
pub(super) fn given_up(draft: &mut Draft<'_>, work: WorkId, why: Detail) {
    draft.record(Event::TaskEnded { work, end: TaskEnd::Failed, note: why.bounded(checkout::WHY_MAX) });
    spare(draft, work);
    draft.proceed();
}

/// Has the clone of a review that has ended looked at, so that it is removed.
pub(super) fn spare(draft: &mut Draft<'_>, work: WorkId) {
    let over =
        draft.agent().finished.iter().any(|over| over.work.id == work && over.work.card().review.is_some());
    if over && draft.agent().checkouts.is_made(work) && draft.agent().session().is_none() {
        draft.record(Event::Checkout(CheckoutEvent::Reading { task: work }));
    }
}

fn end(draft: &mut Draft<'_>, task: WorkId, note: Detail) {
    draft.record(Event::TaskEnded { work: task, end: TaskEnd::Done, note });
    draft.begin();
}

/// Checks that a task is in review, and that what is reviewed does not change.
fn reviewed(draft: &Draft<'_>, agent: &AgentName, task: WorkId) -> Result<(), Refusal> {
    let state = draft.agent();
    let Some(review) = state.checkouts.review(task) else {
        let over = state.finished.iter().find(|finished| finished.work.id == task);
        return Err(match over {
            Some(over) => Refusal::TaskOver { task, end: over.end },
            None => Refusal::NotInReview { task },
        });
    };
    if !state.is_at_rest(task) {
        return Err(Refusal::WorkedOn { agent: agent.clone(), task });
    }
    not_merging(review, task)
}

/// Checks that a task is not being merged.
pub(super) fn not_merging(review: &Review, task: WorkId) -> Result<(), Refusal> {
    match &review.accepted {
        Some(accepted) if review.is_being_merged() => {
            Err(Refusal::BeingMerged { task, by: accepted.by.name.clone() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Accepts the work of a task.
pub(super) fn accept(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
) -> Result<Notice, Refusal> {
    reviewed(draft, &agent, task)?;
    if !draft.agent().checkouts.all.get(&task).is_some_and(Checkout::is_as_reviewed) {
        return Err(Refusal::NotAsReviewed { agent, task });
    }
    let state = draft.agent();
    let (merges, proposes) = state.after_acceptance();
    let goes_on = state.checkouts.review(task).is_some_and(|review| review.left.is_none());
    // One that was left to a person is followed again.
    let open = state.checkouts.all.get(&task).and_then(Checkout::open_pull).filter(|_| proposes && goes_on);
    if let Some(PullRequest { opened: Opened { link, .. }, .. }) = open {
        return Err(Refusal::PullOpen { task, link: link.clone() });
    }
    accepted(draft, task, by);
    Ok(Notice::TaskAccepted { agent, task, by: by.name.clone(), merges, proposes })
}

fn accepted(draft: &mut Draft<'_>, task: WorkId, by: &Actor) {
    draft.record(Event::Checkout(CheckoutEvent::Accepted { task, by: by.clone() }));
    if draft.agent().on_accept() == OnAccept::Keep {
        let note = draft.agent().checkouts.review(task).map(|review| review.note.clone());
        end(draft, task, note.unwrap_or_default());
    }
}

/// Sends the work of a task back to its agent with a person's words.
pub(super) fn reject(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
    why: &str,
) -> Result<Notice, Refusal> {
    reviewed(draft, &agent, task)?;
    let back = Back::Rejected { by: by.clone(), why: why.to_owned() }.bounded();
    draft.record(Event::Checkout(CheckoutEvent::Returned { task, back }));
    draft.begin();
    Ok(Notice::TaskRejected { agent, task, by: by.name.clone() })
}

/// Records the result of a merge. The result of an earlier one is ignored.
pub(super) fn merged(draft: &mut Draft<'_>, task: WorkId, number: u32, result: &Result<Merged, Detail>) {
    let Some(checkout) = draft.agent().checkouts.all.get(&task) else { return };
    let conflicts = checkout.conflicts;
    let Some(review) = &checkout.review else { return };
    let awaited = |accepted: &&Acceptance| accepted.merging == Merging::Due && accepted.number == number;
    if !review.accepted.as_ref().is_some_and(|accepted| awaited(&accepted)) {
        return;
    }
    let note = review.note.clone();
    match result {
        Ok(Merged::Landed(place)) => landed(draft, task, place.clone(), note),
        Ok(Merged::Proposed(pull)) => {
            draft.record(Event::Checkout(CheckoutEvent::Proposed { task, pull: pull.clone() }));
        }
        Ok(Merged::Kept) => draft.record(Event::TaskEnded { work: task, end: TaskEnd::Done, note }),
        Ok(Merged::Back(back)) if conflicts + 1 < CONFLICTS_MAX => {
            let back = back.clone().bounded();
            draft.record(Event::Checkout(CheckoutEvent::Returned { task, back }));
        }
        Ok(Merged::Back(back)) => not_merged(draft, task, &back.why()),
        Err(why) => not_merged(draft, task, why),
    }
    draft.begin();
}

/// Stops the merges that are due, with everything else: a person accepts the tasks again.
pub(super) fn stopped(draft: &mut Draft<'_>, by: &Actor) {
    let due: Vec<WorkId> = draft.agent().merges_due().map(|(task, _)| task).collect();
    for task in due {
        not_merged(draft, task, &GitReason::Stopped { name: by.name.clone() }.into());
    }
}

fn not_merged(draft: &mut Draft<'_>, task: WorkId, why: &Detail) {
    let why = why.clone().bounded(checkout::WHY_MAX);
    draft.record(Event::Checkout(CheckoutEvent::Failed { task, act: Act::Merge, why }));
}
