//! Tasks that their agent cannot do as they are: one that does not fit into a context window is split, one that needs
//! more permissions goes to another agent. A person is called if neither is possible.
//!
//! ```text
//!   the session's end, `FAIL <task> context-overflow` and that a split was begun    one transaction
//!        │ asked (a herder that was killed asks again)
//!        ▼
//!   the answer ──── parts ───► the task goes to the board in parts, for the agent that had it
//!        └───────── none ────► a person is called
//! ```

use std::time::Duration;

use super::control::skip_back_off;
use super::session::back_off;
use super::{Draft, review, spending, watch};
use crate::agent::{Agent, Phase};
use crate::ask::Denial;
use crate::board::splittable;
use crate::card::DEPTH_MAX;
use crate::context::{FILE, FOLDER};
use crate::cut;
use crate::dealings::{Cut, Onward};
use crate::detail::{Detail, Own};
use crate::event::{Event, WaitReason};
use crate::id::AgentName;
use crate::outcome::{Category, Outcome, Usage};
use crate::policy::Judge;
use crate::time::Timestamp;
use crate::verdict::Lapse;
use crate::work::{Actor, TaskEnd, TaskReport, Work, WorkKind};

/// Time after which no answer to a request to split is expected: twice the longest time that an evaluator can be given,
/// and a margin.
const SPLIT_WITHIN: Duration = Duration::from_secs(25 * 60);

/// Maximum length of the excerpt of a split task that is quoted in the text of each part, in bytes.
const WHOLE_MAX: usize = 120;

/// Handles a full context window. Work that is no task cannot be split, and is tried again in a new conversation.
pub(super) fn overflowed(draft: &mut Draft<'_>) {
    match held_task(draft.agent()).cloned() {
        Some(work) if work.card().review.is_some() => {
            let why =
                draft.agent().last_outcome.as_ref().map(|outcome| outcome.detail.clone()).unwrap_or_default();
            review::given_up(draft, work.id, why);
        }
        Some(work) => split(draft, &work),
        None => back_off(draft, Category::ContextOverflow),
    }
}

/// Handles a denial by the sandbox. Work that is no task stays with its agent, which is told to find a way within its
/// permissions.
pub(super) fn denied(draft: &mut Draft<'_>) {
    let category = Category::SandboxDenial;
    let Some(held) = held_task(draft.agent()) else { return back_off(draft, category) };
    let (work, is_review) = (held.id, held.card().review.is_some());
    let why = draft.agent().last_outcome.as_ref().map(|outcome| outcome.detail.clone()).unwrap_or_default();
    if is_review {
        return review::given_up(draft, work, why);
    }
    let unfinished = draft.agent().unfinished.as_ref().filter(|unfinished| unfinished.work == work);
    if unfinished.is_some_and(|unfinished| unfinished.denied == Some(Denial::Kept)) {
        // A person's denial must not be evaded through another agent.
        return watch::gave_up(draft, category, why);
    }
    let least = draft.agent().spec.as_ref().and_then(|spec| spec.permissions.broader());
    match least.filter(|_| draft.context.broader) {
        Some(least) => {
            let onward = Onward::Broader(least);
            draft.record(Event::TaskHandedBack { work, onward, by: Actor::herder() });
            draft.proceed();
        }
        None => {
            watch::gave_up(draft, category, Own::NobodyBroader.with(why.to_string()));
        }
    }
}

/// Turns the outcome of a session into a sandbox denial if its agent said that its own sandbox prevents its task,
/// however well the session ended.
pub(super) fn named(agent: &Agent, outcome: &mut Outcome) {
    if let Some(report) = agent.says_denied() {
        outcome.category = Category::SandboxDenial;
        outcome.detail = report.note.clone().into();
    }
}

fn held_task(agent: &Agent) -> Option<&Work> {
    agent.held().filter(|work| work.kind == WorkKind::Task)
}

/// Asks again for a split that was asked for before herder restarted, since that answer is lost. Its cost stays
/// unknown.
pub(super) fn started(draft: &mut Draft<'_>) {
    let Some(work) = given_up(draft) else { return };
    split(draft, &work);
}

/// Ends the running request to split without an answer, and returns the task that it was about.
pub(super) fn given_up(draft: &mut Draft<'_>) -> Option<Work> {
    let split = draft.agent().splitting.clone()?;
    let work = draft.agent().queue.iter().find(|work| work.id == split.work).cloned();
    let (number, usage) = (split.number, Usage::default());
    draft.record(Event::SplitEnded { number, lapse: Some(Lapse::Overtaken), usage, unmetered: true });
    work
}

/// Requests a split of a task, or calls a person if it cannot be split.
fn split(draft: &mut Draft<'_>, work: &Work) {
    if work.card().depth >= DEPTH_MAX {
        return not_split(draft, Own::SplitTooDeep.into());
    }
    match draft.context.policy.evaluator.judge {
        Judge::Asked => {
            let (number, until) =
                (draft.agent().watch.last.saturating_add(1), draft.context.now.after(SPLIT_WITHIN));
            draft.record(Event::SplitBegun { work: work.id, number, until });
            if matches!(draft.agent().phase, Phase::Idle | Phase::Waiting { .. }) {
                draft.record(Event::Waiting { until, reason: WaitReason::Split });
            }
        }
        Judge::Builtin | Judge::Off => not_split(draft, Own::SplitByNobody.into()),
    }
}

fn not_split(draft: &mut Draft<'_>, why: Detail) {
    watch::gave_up(draft, Category::ContextOverflow, why);
}

/// Handles the answer to a request to split: the task goes to the board in parts, or a person is called. The cost is
/// booked in any case.
pub(super) fn divided(
    draft: &mut Draft<'_>,
    number: u32,
    answer: &Result<Vec<Cut>, Lapse>,
    usage: Option<Usage>,
) {
    let open = draft.agent().splitting.clone().filter(|split| split.number == number);
    let unmetered = usage.is_none();
    let usage = usage.unwrap_or_default();
    let lapse = answer.as_ref().err().map(Lapse::hushed);
    if open.is_some() || unmetered || usage != Usage::default() {
        draft.record(Event::SplitEnded { number, lapse, usage, unmetered });
    }
    let work = open.and_then(|open| draft.agent().queue.iter().find(|work| work.id == open.work).cloned());
    if let Some(work) = work {
        match answer {
            Ok(cuts) if splittable(&work, cuts).is_ok() => {
                let onward = Onward::Split(parts(draft.agent(), &work, cuts));
                draft.record(Event::TaskHandedBack { work: work.id, onward, by: Actor::herder() });
                skip_back_off(draft);
            }
            Ok(_) => not_split(draft, Own::SplitNoList.into()),
            Err(lapse) => not_split(draft, reason(lapse)),
        }
    }
    // This comes last, so that a person who is called learns of the call first.
    if usage != Usage::default() {
        spending::held_against_caps(draft);
    }
}

/// Ends a request to split whose answer has not come in time.
pub(super) fn overdue(draft: &mut Draft<'_>) {
    let now = draft.context.now;
    let due = draft.agent().splitting.as_ref().filter(|split| split.until <= now).map(|split| split.number);
    if let Some(number) = due {
        // The cost is booked when the answer arrives after all.
        divided(draft, number, &Err(Lapse::TimedOut { after_ms: 0 }), Some(Usage::default()));
    }
}

/// Translates the failure of the splitter into the reason why the task was not split.
fn reason(lapse: &Lapse) -> Detail {
    match lapse {
        Lapse::Unparsable { .. } => Own::SplitNoList.into(),
        Lapse::TimedOut { .. } | Lapse::Busy => Own::SplitTimedOut.into(),
        Lapse::Missing { .. }
        | Lapse::LoggedOut { .. }
        | Lapse::Limited { .. }
        | Lapse::Failed { .. }
        | Lapse::Overtaken => Own::SplitFailed.with(lapse.detail()),
    }
}

/// Adds to each part a note on the task that it belongs to, since the agent that does a part is told nothing else of
/// the whole.
fn parts(agent: &Agent, work: &Work, cuts: &[Cut]) -> Vec<Cut> {
    let (count, task, whole) = (cuts.len(), work.id, cut::excerpt(&work.text, WHOLE_MAX));
    let name = agent.name().map(AgentName::as_str).unwrap_or_default();
    let part = |(index, cut): (usize, &Cut)| Cut {
        id: cut.id,
        text: format!(
            "{}\n\n(This is part {} of {count} of task {task}, which was too large for one conversation: \"{whole}\". Do this \
             part alone. What was done before is in the workspace, and {FOLDER}/{name}/{FILE} says what is known of it, if it \
             is about task {task}.)",
            cut.text.trim(),
            index + 1
        ),
    };
    cuts.iter().enumerate().map(part).collect()
}

impl Agent {
    /// Returns the agent's report on its current task, if that says that the agent's own permissions block it.
    /// Without an explicit statement, a last permission request that no person allowed counts as one.
    #[must_use]
    pub fn says_denied(&self) -> Option<&TaskReport> {
        let work = self.current.as_ref().filter(|work| work.kind == WorkKind::Task)?;
        let unfinished = self.unfinished.as_ref().filter(|unfinished| unfinished.work == work.id)?;
        let report = unfinished.report.as_deref().filter(|report| report.end == TaskEnd::Blocked)?;
        let denied = match (unfinished.denied, report.denied) {
            // A person's denial must not be evaded through another agent.
            (Some(Denial::Kept), _) => false,
            (Some(Denial::Uncovered) | None, Some(said)) => said,
            (Some(Denial::Uncovered), None) => true,
            (None, None) => false,
        };
        denied.then_some(report)
    }

    /// Returns the deadline for the parts of the work at the head of the queue, if it is being split.
    pub(super) fn split_until(&self) -> Option<Timestamp> {
        let head = self.queue.front()?;
        self.splitting.as_ref().filter(|split| split.work == head.id).map(|split| split.until)
    }
}
