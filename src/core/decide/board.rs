//! Tasks that come from the board, and go back to it: because a person says so, or because their agent cannot go on.

use super::control::skip_back_off;
use super::{Draft, watch};
use crate::core::agent::{Agent, Phase};
use crate::core::board::splittable;
use crate::core::dealings::Onward;
use crate::core::event::{Event, PauseReason, StopReason, WaitReason};
use crate::core::id::{AgentName, WorkId};
use crate::core::notice::{Notice, Refusal};
use crate::core::policy::Policy;
use crate::core::time::Timestamp;
use crate::core::watch::Answer;
use crate::core::work::{Actor, TaskEnd, Work, WorkKind};

/// The board hands a task over. A number that is known was taken before.
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

/// The board has news on record: they need not be kept.
pub(super) fn heard(draft: &mut Draft<'_>, up_to: u64) {
    if draft.agent().board.news.front().is_some_and(|news| news.number <= up_to) {
        draft.record(Event::BoardHeard { up_to });
    }
}

/// A person takes a task from the agent: for another one, or to have it done in parts.
pub(super) fn hand_back(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    task: WorkId,
    onward: &Onward,
) -> Result<Notice, Refusal> {
    let is_it = |work: &Work| work.id == task && work.kind == WorkKind::Task;
    if draft.agent().current.as_ref().is_some_and(is_it) {
        return Err(Refusal::TaskRunning { agent, task });
    }
    let queued = draft.agent().queue.iter().find(|work| is_it(work));
    let finished = draft.agent().finished.iter().find(|finished| finished.work.id == task);
    let work = match (queued, finished) {
        (Some(work), _) => work,
        (None, Some(finished)) if matches!(finished.end, TaskEnd::Failed | TaskEnd::Blocked) => {
            &finished.work
        }
        (None, Some(finished)) => return Err(Refusal::TaskOver { task, end: finished.end }),
        (None, None) if draft.agent().board.hands_back(task) => return Err(Refusal::TaskMoving { task }),
        (None, None) => return Err(Refusal::NoSuchTask { task }),
    };
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

/// Hands back what has waited for too long with an agent that cannot go on.
pub(super) fn overdue(draft: &mut Draft<'_>) {
    let (policy, now) = (draft.context.policy, draft.context.now);
    let due = |(task, at): (WorkId, Timestamp)| (at <= now).then_some(task);
    let tasks: Vec<WorkId> = draft.agent().releases(policy).filter_map(due).collect();
    for work in tasks {
        let at_hand = draft.agent().has_at_hand(work);
        draft.record(Event::TaskHandedBack { work, onward: Onward::To(None), by: Actor::herder() });
        if at_hand {
            watch::left(draft, work, Answer::Moved, &Actor::herder());
        }
    }
}

impl Agent {
    /// The tasks that go to another agent if this one stays halted, and when.
    fn releases<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = (WorkId, Timestamp)> + 'a {
        // What a person was called for, or has stopped in the middle, is theirs to decide.
        let (halted, keeps) = match &self.phase {
            Phase::NeedsIntervention | Phase::Degraded => (true, false),
            Phase::Paused {
                reason: PauseReason::Person(_) | PauseReason::Survivors | PauseReason::Escalation,
            } => (true, true),
            Phase::Paused {
                reason: PauseReason::Failure(_) | PauseReason::Account(_) | PauseReason::Cap(_),
            } => (true, false),
            Phase::Idle
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Removed => (false, false),
        };
        let kept = self.held().filter(|_| keeps).map(|work| work.id);
        let on = halted && !policy.reassign_after.is_zero();
        let tasks =
            self.queue.iter().filter(move |work| on && work.kind == WorkKind::Task && Some(work.id) != kept);
        tasks.map(move |work| {
            let came = work.card().came.unwrap_or(work.at);
            (work.id, self.since.max(came).after(policy.reassign_after))
        })
    }

    /// When `Input::Tick` is due because a task has waited for too long with an agent that cannot go on.
    #[must_use]
    pub fn release_at(&self, policy: &Policy) -> Option<Timestamp> {
        self.releases(policy).map(|(_, at)| at).min()
    }

    /// Whether it is removed, or will be as soon as its session is over.
    #[must_use]
    pub fn leaves(&self) -> bool {
        matches!(self.phase, Phase::Removed | Phase::Stopping { reason: StopReason::Remove, .. })
    }

    /// Whether it would take up a task of the board at once.
    #[must_use]
    pub fn is_free(&self, now: Timestamp) -> bool {
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
        rests && self.queue.is_empty() && self.capped(now).is_none()
    }
}
