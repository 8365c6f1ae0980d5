//! What has to be done once an event is on disk and applied. Never run on a replay.

use super::agent::{Agent, Phase};
use super::effect::Effect;
use super::event::{Event, PauseReason};
use super::outcome::Usage;
use super::recap::recap;
use super::spec::Runtime;
use super::whisper::Whisper;
use super::work::{Work, WorkKind};

/// The effects of one event, given the agent right after that event was applied.
#[must_use]
pub fn react(agent: &Agent, event: &Event) -> Vec<Effect> {
    match event {
        Event::SessionStarted { session, work, .. } => vec![Effect::Spawn {
            session: *session,
            work: work.clone(),
            conversation: agent.conversation.clone(),
            recap: recap(agent, work),
            whispers: agent.whispers.iter().map(Whisper::words).collect(),
        }],
        Event::Whispered { whisper } => hand_over(agent, whisper).into_iter().collect(),
        // What was whispered while it came up is in no prompt.
        Event::Ready { session } => {
            let late = agent.whispers.iter().filter(|whisper| whisper.prompted != Some(*session));
            late.filter_map(|whisper| hand_over(agent, whisper)).collect()
        }
        Event::ProcessStarted { session, .. } if matches!(agent.phase, Phase::Starting { .. }) => {
            vec![Effect::Go { session: *session }]
        }
        Event::Queued { work } => steer(agent, work).into_iter().collect(),
        Event::StopRequested { session, .. } => vec![Effect::Stop { session: *session }],
        Event::Paused { reason: PauseReason::Failure(category) } if category.is_of_account() => {
            vec![Effect::BlockAccount(*category)]
        }
        Event::Resumed { by } => vec![Effect::OpenAccount { by: by.clone() }],
        Event::Removed { .. } => vec![Effect::Retire],
        Event::UsageRecorded { .. } => vec![Effect::Spent],
        Event::SessionEnded { outcome, .. } if outcome.usage != Usage::default() => vec![Effect::Spent],
        Event::ProcessStarted { .. }
        | Event::Paused { .. }
        | Event::Added { .. }
        | Event::Edited { .. }
        | Event::Cleared { .. }
        | Event::Reworded { .. }
        | Event::Withdrawn { .. }
        | Event::Steered { .. }
        | Event::TaskEnded { .. }
        | Event::TaskReported { .. }
        | Event::Discarded { .. }
        | Event::WhispersDelivered { .. }
        | Event::ConversationNamed { .. }
        | Event::ConversationLost { .. }
        | Event::TurnEnded { .. }
        | Event::ClockRanOut { .. }
        | Event::PermissionDenied { .. }
        | Event::CapNear { .. }
        | Event::CapWaived { .. }
        | Event::Spiked { .. }
        | Event::PriceUnknown { .. }
        | Event::SessionEnded { .. }
        | Event::Requeued { .. }
        | Event::Waiting { .. }
        | Event::WaitOver
        | Event::PausePending { .. }
        | Event::AccountOpened { .. }
        | Event::Reset { .. }
        | Event::BreakerOpened { .. }
        | Event::BreakerClosed
        | Event::Degraded { .. }
        | Event::SupervisorPanicked { .. } => Vec::new(),
    }
}

fn hand_over(agent: &Agent, whisper: &Whisper) -> Option<Effect> {
    let Phase::Running { session } = agent.phase else { return None };
    Some(Effect::Whisper { session, whisper: whisper.id, text: whisper.words() })
}

/// Whether a message that arrives now is offered to the running turn.
#[must_use]
pub(super) fn steers(agent: &Agent, kind: WorkKind) -> bool {
    let can = agent.spec.as_ref().is_some_and(|spec| match spec.runtime {
        Runtime::Claude | Runtime::Codex => true,
        Runtime::Acp | Runtime::Command => false,
    });
    can && kind == WorkKind::Message && matches!(agent.phase, Phase::Running { .. })
}

fn steer(agent: &Agent, work: &Work) -> Option<Effect> {
    let session = agent.session().filter(|_| steers(agent, work.kind))?;
    Some(Effect::Steer { session, work: work.id, text: work.text.clone() })
}
