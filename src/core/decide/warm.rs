//! A process that stays after its session, for the next one of the same conversation.

use super::Draft;
use crate::agent::{Phase, ProcessRecord};
use crate::event::Event;
use crate::id::SessionId;

/// Records that the session's process stays, if the agent's settings want it.
pub(super) fn kept(draft: &mut Draft<'_>, session: SessionId, process: ProcessRecord) {
    let keep = draft.agent().spec.as_ref().map(|spec| spec.keep_warm).filter(|keep| !keep.is_zero());
    let running = draft.agent().phase == Phase::Running { session };
    if let Some(keep) = keep.filter(|_| running) {
        let until = draft.context.now.after(keep);
        draft.record(Event::ProcessWarm { session, process: Some(process), until });
    }
}

/// Records that the process does not stay any longer.
pub(super) fn gone(draft: &mut Draft<'_>) {
    if let Some(session) = draft.agent().warm.as_ref().map(|warm| warm.session) {
        draft.record(Event::ProcessWarm { session, process: None, until: draft.context.now });
    }
}

/// Lets the process go when its time is over.
pub(super) fn overdue(draft: &mut Draft<'_>) {
    let rests = draft.agent().session().is_none();
    if draft.agent().warm.as_ref().is_some_and(|warm| rests && warm.until <= draft.context.now) {
        gone(draft);
    }
}
