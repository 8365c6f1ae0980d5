//! Reports that an agent makes with tools: on its task, and that it waits for parts of it.

use std::sync::Arc;

use super::Draft;
use super::session::DETAIL_MAX;
use crate::agent::Phase;
use crate::event::{Event, WaitReason};
use crate::id::{SessionId, WorkId};
use crate::lead::{PARTS_EVER_MAX, PartResult};
use crate::notice::Refusal;
use crate::outcome::Category;
use crate::recap::{bounded, one_line};
use crate::work::{TaskEnd, TaskReport, Work, WorkKind};

/// Records the agent's report on its task. The last report takes effect when the session ends.
pub(super) fn reported(
    draft: &mut Draft<'_>,
    session: SessionId,
    report: &TaskReport,
) -> Result<(), Refusal> {
    let agent = draft.name()?;
    if draft.agent().session() != Some(session) || report.end == TaskEnd::Cancelled {
        return Err(Refusal::WorkOver { agent });
    }
    let current = draft.agent().current.as_ref().filter(|work| work.kind == WorkKind::Task);
    let Some(work) = current.map(|work| work.id) else { return Err(Refusal::NoTask { agent }) };
    let report = TaskReport { note: bounded(&one_line(&report.note), DETAIL_MAX), ..report.clone() };
    // A repeated report is not recorded, as the journal keeps every event.
    let known = draft.agent().unfinished.as_ref();
    if known.and_then(|known| known.report.as_deref()) != Some(&report) {
        draft.record(Event::TaskReported { session, work, report });
    }
    Ok(())
}

/// Records that the session waits for parts of its task. The last report or wait takes effect when it ends.
pub(super) fn awaits(draft: &mut Draft<'_>, session: SessionId, parts: &[WorkId]) -> Result<(), Refusal> {
    let agent = draft.name()?;
    if draft.agent().session() != Some(session) {
        return Err(Refusal::WorkOver { agent });
    }
    let current = draft.agent().current.as_ref().filter(|work| is_led(work));
    let Some(work) = current.map(|work| work.id) else { return Err(Refusal::NoTask { agent }) };
    let parts = &parts[..parts.len().min(PARTS_EVER_MAX)];
    if !parts.is_empty() && draft.agent().board.awaited_by(work, session) != Some(parts) {
        draft.record(Event::PartsAwaited { session, work, parts: parts.to_vec() });
    }
    Ok(())
}

/// Returns true if work can have parts that its own agent makes.
fn is_led(work: &Work) -> bool {
    work.kind == WorkKind::Task && work.card().review.is_none()
}

/// Sets the work of a session that has ended aside if its agent waits for parts of it. One that says nothing, and leaves
/// parts open, waits for them.
pub(super) fn parks(draft: &mut Draft<'_>, work: &Work, category: Category) -> bool {
    let session = draft.agent().last_session;
    let asked = draft.agent().board.awaited_by(work.id, session);
    let open = draft.context.parts;
    let left = Some(open).filter(|open| category == Category::Success && is_led(work) && !open.is_empty());
    let Some(parts) = asked.or(left).map(<[WorkId]>::to_vec) else { return false };
    draft.record(Event::Parked { session, work: work.id, parts });
    true
}

/// Takes a task up again whose parts are over. Results of an earlier wait are ignored.
pub(super) fn parts_over(
    draft: &mut Draft<'_>,
    task: WorkId,
    session: SessionId,
    results: &[Arc<PartResult>],
) {
    let waits = draft.agent().board.parked().any(|it| it.work.id == task && it.session == session);
    if !waits || draft.agent().phase == Phase::Removed {
        return;
    }
    draft.record(Event::PartsReported { session, work: task, results: results.to_vec() });
    if matches!(draft.agent().phase, Phase::Waiting { reason: WaitReason::Rest, .. }) {
        draft.record(Event::WaitOver);
    }
    draft.begin();
}
