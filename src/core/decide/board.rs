//! Tasks that come from the board or go back to it, by a person's command or because their agent cannot continue.

use super::control::skip_back_off;
use super::{Draft, watch};
use crate::agent::{Agent, Phase};
use crate::ask::Denial;
use crate::board::splittable;
use crate::dealings::Onward;
use crate::event::{Event, PauseReason, StopReason, WaitReason};
use crate::id::{AgentName, WorkId};
use crate::notice::{Notice, Refusal};
use crate::policy::Policy;
use crate::time::Timestamp;
use crate::usage;
use crate::watch::Answer;
use crate::work::{Actor, Work, WorkKind};

/// Takes a task that the board hands over, unless the agent is leaving or has taken this number before.
pub(super) fn handed_over(draft: &mut Draft<'_>, number: u64, work: &Work) {
    if draft.agent().leaves() || draft.agent().spec.is_none() || number <= draft.agent().board.taken {
        return;
    }
    draft.record(Event::TaskTaken { number, work: work.clone() });
    if matches!(draft.agent().phase, Phase::Waiting { reason: WaitReason::Rest, .. }) {
        draft.record(Event::WaitOver);
    }
    draft.begin();
}

/// Drops the agent's messages up to the number `up_to`, which the board has recorded.
pub(super) fn heard(draft: &mut Draft<'_>, up_to: u64) {
    if draft.agent().board.news.front().is_some_and(|news| news.number <= up_to) {
        draft.record(Event::BoardHeard { up_to });
    }
}

/// Takes a task away from the agent by a person's command: for another agent, or to be split.
pub(super) fn hand_back(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
    onward: &Onward,
) -> Result<Notice, Refusal> {
    let is_it = |work: &Work| work.id == task && work.kind == WorkKind::Task;
    if draft.agent().board.parked().any(|parked| is_it(&parked.work)) {
        return Err(Refusal::AwaitsParts { agent, task });
    }
    if draft.agent().current.as_ref().is_some_and(is_it) {
        return Err(Refusal::TaskRunning { agent, task });
    }
    let queued = draft.agent().queue.iter().find(|work| is_it(work));
    let finished = draft.agent().finished.iter().find(|finished| finished.work.id == task);
    let work = match (queued, finished) {
        (Some(work), _) => work,
        (None, Some(finished)) if finished.can_be_assigned() => &finished.work,
        (None, Some(finished)) => return Err(Refusal::TaskOver { task, end: finished.end }),
        (None, None) if draft.agent().checkouts.review(task).is_some() => {
            return Err(Refusal::InReview { agent, task });
        }
        (None, None) if draft.agent().board.hands_back(task) => return Err(Refusal::TaskMoving { task }),
        (None, None) => return Err(Refusal::NoSuchTask { task }),
    };
    if work.card().review.is_some() {
        return Err(Refusal::IsReview { task });
    }
    match onward {
        Onward::To(Some(to)) if *to == agent && queued.is_some() => {
            return Err(Refusal::TaskKept { agent, task });
        }
        Onward::To(_) | Onward::Broader(_) => {}
        Onward::Split(cuts) => splittable(work, cuts)?,
    }
    let held = draft.agent().held().is_some_and(is_it);
    draft.record(Event::TaskHandedBack { work: task, onward: onward.clone(), by: by.clone() });
    if held {
        watch::left(draft, task, Answer::Moved, by);
        skip_back_off(draft);
    }
    Ok(match onward {
        Onward::To(to) => Notice::TaskMoved { task, from: Some(agent), to: to.clone() },
        Onward::Broader(permissions) => Notice::TaskNeedsMore { agent, task, permissions: *permissions },
        Onward::Split(cuts) => Notice::TaskSplit { task, parts: cuts.iter().map(|cut| cut.id).collect() },
    })
}

/// Hands back tasks that have waited too long for an agent that cannot continue.
pub(super) fn overdue(draft: &mut Draft<'_>) {
    let (policy, now) = (draft.context.policy, draft.context.now);
    let due = |(task, at): (WorkId, Timestamp)| (at <= now).then_some(task);
    let tasks: Vec<WorkId> = draft.agent().releases(policy, draft.context.closed).filter_map(due).collect();
    for work in tasks {
        let at_hand = draft.agent().has_at_hand(work);
        draft.record(Event::TaskHandedBack { work, onward: Onward::To(None), by: Actor::herder() });
        if at_hand {
            watch::left(draft, work, Answer::Moved, &Actor::herder());
        }
    }
}

/// Hands the tasks from the board back when the agent is removed, except work for which a person denied permission.
pub(super) fn left(draft: &mut Draft<'_>, by: &Actor) {
    let agent = draft.agent();
    let back = |work: &&Work| {
        work.kind == WorkKind::Task
            && work.card().came.is_some()
            && work.card().review.is_none()
            && !agent.is_refused(work.id)
    };
    let works = agent.all_works().filter(back);
    let tasks: Vec<WorkId> = works.map(|work| work.id).collect();
    for work in tasks {
        draft.record(Event::TaskHandedBack { work, onward: Onward::To(None), by: by.clone() });
    }
}

impl Agent {
    /// Returns the tasks that go to another agent if this one stays halted or its account closed, each with the time
    /// when. `closed`: the time since which its account has been closed.
    fn releases<'a>(
        &'a self,
        policy: &'a Policy,
        closed: Option<Timestamp>,
    ) -> impl Iterator<Item = (WorkId, Timestamp)> + 'a {
        // Work that a person was called for, or stopped in the middle, stays until a person decides.
        let (since, keeps) = match &self.phase {
            Phase::NeedsIntervention | Phase::Degraded => (Some(self.since), false),
            Phase::Paused {
                reason:
                    PauseReason::Person(_)
                    | PauseReason::StopAll(_)
                    | PauseReason::Survivors
                    | PauseReason::Escalation,
            } => (Some(self.since), true),
            Phase::Paused {
                reason: PauseReason::Failure(_) | PauseReason::Account(_) | PauseReason::Cap(_),
            }
            | Phase::Waiting { reason: WaitReason::RateLimit, .. } => (Some(self.since), false),
            // The time counts from the account's closing: an idle agent may try the account again and again.
            Phase::Idle => (closed, false),
            Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Removed => (None, false),
        };
        let kept = self.held().filter(|_| keeps).map(|work| work.id);
        let since = since.filter(|_| !policy.reassign_after.is_zero());
        // A task that is called done waits for its check here.
        let is_open = |work: &&Work| {
            work.kind == WorkKind::Task && work.card().review.is_none() && !self.is_claimed(work.id)
        };
        let tasks = self.queue.iter().filter(is_open);
        let tasks = tasks.filter(move |work| Some(work.id) != kept && !self.is_refused(work.id));
        tasks.filter_map(move |work| {
            let came = work.card().came.unwrap_or(work.at);
            Some((work.id, since?.max(came).after(policy.reassign_after)))
        })
    }

    /// Returns true if a person denied the last permission request of this work. It must not get that permission through
    /// another agent.
    pub(crate) fn is_refused(&self, work: WorkId) -> bool {
        let unfinished = self.unfinished.as_ref().filter(|unfinished| unfinished.work == work);
        unfinished.is_some_and(|unfinished| unfinished.denied == Some(Denial::Kept))
            || self.board.leads.get(&work).is_some_and(|lead| lead.denied)
    }

    /// Returns the time at which the first task has waited too long for an agent that cannot continue, and the next
    /// `Input::Tick` is due. `closed`: the time since which its account has been closed.
    #[must_use]
    pub fn release_at(&self, policy: &Policy, closed: Option<Timestamp>) -> Option<Timestamp> {
        self.releases(policy, closed).map(|(_, at)| at).min()
    }

    /// Returns true if the agent is removed, or will be when its session ends.
    #[must_use]
    pub fn leaves(&self) -> bool {
        matches!(self.phase, Phase::Removed | Phase::Stopping { reason: StopReason::Remove, .. })
    }

    /// Returns true if the agent has nothing to do and no reached cap, so that it would start a task from the board at
    /// once.
    #[must_use]
    pub fn is_free(&self, now: Timestamp) -> bool {
        self.rests() && self.capped(now).is_none()
    }

    /// Returns the time at which the agent can take tasks from the board again, if only a cap of its own prevents that;
    /// else `None`.
    #[must_use]
    pub fn uncapped_at(&self, now: Timestamp) -> Option<Timestamp> {
        let capped = if self.rests() { self.capped(now) } else { None };
        usage::ends(capped?.cap.window, now)
    }

    fn rests(&self) -> bool {
        let rests = match self.phase {
            Phase::Idle => self.spec.as_ref().is_some_and(|spec| !spec.looping),
            Phase::Waiting { reason: WaitReason::Rest, .. } => true,
            Phase::Waiting { .. }
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Paused { .. }
            | Phase::NeedsIntervention
            | Phase::Degraded
            | Phase::Removed => false,
        };
        rests && self.queue.is_empty()
    }
}
