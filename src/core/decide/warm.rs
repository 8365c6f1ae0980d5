//! A process that stays after its session, for the next one of the same conversation.

use super::Draft;
use crate::core::agent::{Phase, ProcessRecord};
use crate::core::event::Event;
use crate::core::id::SessionId;

/// Records that the session's process stays, if its agent is to have it so.
pub(super) fn kept(draft: &mut Draft<'_>, session: SessionId, pid: u32, started: u64) {
    let keep = draft.agent().spec.as_ref().map(|spec| spec.keep_warm).filter(|keep| !keep.is_zero());
    let running = matches!(draft.agent().phase, Phase::Running { .. });
    if let Some(keep) = keep.filter(|_| running) {
        let process = Some(ProcessRecord { pid, started });
        let until = draft.context.now.after(keep);
        draft.record(Event::ProcessWarm { session, process, until });
    }
}

/// Records that the process stays no longer.
pub(super) fn gone(draft: &mut Draft<'_>) {
    if let Some(warm) = draft.agent().warm {
        draft.record(Event::ProcessWarm { session: warm.session, process: None, until: draft.context.now });
    }
}

/// Lets the process go when its time is over.
pub(super) fn overdue(draft: &mut Draft<'_>) {
    let rests = draft.agent().session().is_none();
    if draft.agent().warm.is_some_and(|warm| rests && warm.until <= draft.context.now) {
        gone(draft);
    }
}
