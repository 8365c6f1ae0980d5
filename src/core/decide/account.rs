//! Closed accounts: billing, auth and budget failures pause every agent of the account until a person opens it again.

use super::Draft;
use super::session::give_up_stopped_work;
use crate::agent::Phase;
use crate::event::{Event, PauseReason, StopReason};
use crate::id::AccountName;
use crate::outcome::Category;
use crate::work::Actor;

/// Pauses the agent, or stops its session, because another agent's failure closed their account.
pub(super) fn blocked(draft: &mut Draft<'_>, category: Category) {
    if draft.agent().spec.is_none() {
        return;
    }
    match draft.agent().phase {
        Phase::Idle | Phase::Waiting { .. } => draft.pause(PauseReason::Account(category)),
        Phase::Starting { session } | Phase::Running { session } => {
            draft.record(Event::StopRequested { session, reason: StopReason::Account(category), by: None });
        }
        Phase::Stopping {
            session,
            reason:
                StopReason::Abort
                | StopReason::Cancel
                | StopReason::Restart
                | StopReason::Configured
                | StopReason::Hung
                | StopReason::Cap(_),
        } => {
            // The stopped work is given up now; afterwards the account's pause applies.
            give_up_stopped_work(draft);
            draft.record(Event::StopRequested { session, reason: StopReason::Account(category), by: None });
        }
        // These start nothing afterwards; a person who resumes the agent opens the account as well.
        Phase::Stopping {
            reason:
                StopReason::Pause
                | StopReason::StopAll
                | StopReason::Remove
                | StopReason::Account(_)
                | StopReason::Escalation,
            ..
        }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

/// Stops the running session if it started on an account that the agent has left since and that closes now. Its work
/// continues at once on the agent's present account.
pub(super) fn left_blocked(draft: &mut Draft<'_>, account: &AccountName) {
    let began_there = draft.agent().session_account() == *account;
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session }
            if began_there && draft.agent().account() != *account =>
        {
            draft.record(Event::StopRequested { session, reason: StopReason::Configured, by: None });
        }
        // Sessions that are ending, and those on the present account, are left alone.
        Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

/// Resumes the agent if it was paused because of its account, after a person opened the account.
pub(super) fn opened(draft: &mut Draft<'_>, by: &Actor) {
    let waits_for_account = match &draft.agent().phase {
        Phase::Paused { reason: PauseReason::Account(_) }
        | Phase::Stopping { reason: StopReason::Account(_), .. } => true,
        Phase::Paused { reason: PauseReason::Failure(category) } => category.is_of_account(),
        Phase::Paused {
            reason:
                PauseReason::Person(_)
                | PauseReason::StopAll(_)
                | PauseReason::Survivors
                | PauseReason::Cap(_)
                | PauseReason::Escalation,
        }
        | Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Waiting { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => false,
    };
    if waits_for_account {
        draft.record(Event::AccountOpened { by: by.clone() });
        draft.begin();
    }
}
