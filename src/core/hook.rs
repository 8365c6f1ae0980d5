//! Events for webhooks: one per transition of an agent, derived from the notices for the agent's channel.

use serde::{Deserialize, Serialize};

use super::id::{AgentName, WorkId};
use super::notice::Notice;
use super::work::Work;

/// Maximum length of a task's text in a webhook's request, in bytes.
const TASK_MAX: usize = 2000;

/// Kind of an event for webhooks (contract, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// The evaluator has whispered a finding to the agent.
    Spiraling,
    /// A session failed, a task was given up, or the agent is paused or halted by a failure.
    Error,
    /// The agent asks people something, or calls for their attention.
    Question,
    /// A time limit of a session ran out.
    Timeout,
    /// A session completed successfully.
    Complete,
    /// Whispers did not help: the agent is paused, and a person is called.
    Escalation,
    /// The agent was resumed.
    Resumed,
    /// A task is in review.
    Review,
    /// The work of a task was accepted.
    Accepted,
    /// The work of a task in review was sent back.
    Rejected,
    /// The work of a task is merged into the base.
    Merged,
}

impl HookEvent {
    /// All kinds of events.
    pub const ALL: [Self; 11] = [
        Self::Spiraling,
        Self::Error,
        Self::Question,
        Self::Timeout,
        Self::Complete,
        Self::Escalation,
        Self::Resumed,
        Self::Review,
        Self::Accepted,
        Self::Rejected,
        Self::Merged,
    ];

    /// Returns the kind's name, as in the configuration and in requests.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Spiraling => "agent_spiraling",
            Self::Error => "agent_error",
            Self::Question => "agent_question",
            Self::Timeout => "agent_timeout",
            Self::Complete => "agent_complete",
            Self::Escalation => "agent_escalation",
            Self::Resumed => "agent_resumed",
            Self::Review => "task_review",
            Self::Accepted => "task_accepted",
            Self::Rejected => "task_rejected",
            Self::Merged => "task_merged",
        }
    }

    /// Returns the event for a notice in an agent's channel; `None` if webhooks are not told of it.
    ///
    /// A notice for the channel and for the alerts is one event, and a repeated one is none: a reminder is no event.
    #[must_use]
    pub fn of(notice: &Notice) -> Option<Self> {
        use Notice as N;
        match notice {
            N::Spiraling { .. } => Some(Self::Spiraling),
            N::Crashed { .. }
            | N::OutOfMemory { .. }
            | N::RateLimited { .. }
            | N::QuotaReached { .. }
            | N::Permanent { .. }
            | N::Overflowed { .. }
            | N::Billing { .. }
            | N::Auth { .. }
            | N::Budget { .. }
            | N::CapReached { .. }
            | N::DoNotRestart { .. }
            | N::PausedWithAccount { .. }
            | N::CheckoutFailed { .. }
            | N::TaskFailed { .. }
            | N::TaskBlocked { .. }
            | N::TaskSplitting { .. }
            | N::TaskNeedsMore { .. }
            | N::NeedsIntervention { .. }
            | N::Degraded { .. }
            | N::Survivors { .. }
            | N::SupervisorPanicked { .. }
            | N::SupervisorGaveUp { .. } => Some(Self::Error),
            N::PermissionAsked { .. }
            | N::QuestionAsked { .. }
            | N::PlanAsked { .. }
            | N::Notified { .. }
            | N::ReviewLeft { .. } => Some(Self::Question),
            N::ClockRanOut { .. } => Some(Self::Timeout),
            N::Completed { .. } => Some(Self::Complete),
            N::Escalated { reminder: 0, .. } => Some(Self::Escalation),
            N::Resuming { .. } => Some(Self::Resumed),
            N::TaskInReview { .. } => Some(Self::Review),
            N::TaskAccepted { .. } => Some(Self::Accepted),
            N::TaskRejected { .. } => Some(Self::Rejected),
            N::TaskLanded { .. } => Some(Self::Merged),
            // The clock's own notice was the event.
            N::TimedOut { .. }
            // Reminders.
            | N::Escalated { .. }
            | N::AskOpen { .. }
            // Nothing went wrong, or a person has just asked for it.
            | N::Started { .. }
            | N::WorkspaceSeen { .. }
            | N::CheckPassed { .. }
            | N::CheckFailed { .. }
            | N::TaskReturned { .. }
            | N::TaskProposed { .. }
            | N::TaskOpened { .. }
            | N::TaskDropping { .. }
            | N::CapNear { .. }
            | N::CapWaived { .. }
            | N::Spiked { .. }
            | N::PriceUnknown { .. }
            | N::EscalationAnswered { .. }
            | N::EscalationAcked { .. }
            | N::WhisperMarked { .. }
            | N::EvaluatorLapsed { .. }
            | N::PermissionDenied { .. }
            | N::PermissionAnswered { .. }
            | N::QuestionAnswered { .. }
            | N::AskExpired { .. }
            | N::BreakerClosed { .. }
            | N::ClockSet { .. }
            | N::Paused { .. }
            | N::Interrupted { .. }
            | N::ConversationLost { .. }
            | N::WorkLine { .. }
            | N::Pausing { .. }
            | N::HandedOff { .. }
            | N::Stopping { .. }
            | N::Ended { .. }
            | N::Restarting { .. }
            | N::Aborted { .. }
            | N::Accepted { .. }
            | N::Queued { .. }
            | N::QueuedWhilePaused { .. }
            | N::Steering { .. }
            | N::Reworded { .. }
            | N::Withdrawn { .. }
            | N::Whispered { .. }
            | N::Cleared { .. }
            | N::TaskEnded { .. }
            | N::TaskTaken { .. }
            | N::TaskReleased { .. }
            | N::TaskMoved { .. }
            | N::TaskSplit { .. }
            | N::RuleRemoved { .. }
            | N::AgentAdded { .. }
            | N::AgentEdited { .. }
            | N::AgentRemoved { .. }
            // Notices about the fleet or herder itself.
            | N::Boarded { .. }
            | N::BoardCancelled { .. }
            | N::BoardReworded { .. }
            | N::PartFailed { .. }
            | N::AwaitedNotDone { .. }
            | N::TaskWaits { .. }
            | N::NobodySuffices { .. }
            | N::SharedCapReached { .. }
            | N::SharedCapNear { .. }
            | N::SharedCapWaived { .. }
            | N::AccountBlocked { .. }
            | N::AccountOpened { .. }
            | N::Reloaded { .. }
            | N::NotReloaded { .. }
            | N::AccountExhausted { .. }
            | N::AccountAsked { .. }
            | N::AccountTried { .. }
            | N::AccountWorks { .. }
            | N::StoppedAll { .. }
            | N::StoppedAllHeard { .. }
            | N::Linked { .. }
            | N::Unlinked { .. }
            | N::AnswerTooLong
            | N::Away { .. }
            | N::WentOn { .. }
            | N::RunnerAway
            | N::RunnerBack { .. }
            | N::Machine { .. }
            | N::TooEarly { .. }
            | N::Collapsed { .. }
            | N::NetworkDown { .. }
            | N::NetworkUp { .. }
            | N::NetworkRefused { .. }
            | N::NickservRefused { .. }
            | N::WebhookDropped { .. }
            | N::ChannelUnavailable { .. }
            | N::TopicDenied { .. }
            | N::Mirrored { .. }
            | N::PermissionMissing { .. }
            | N::NotInvited { .. }
            | N::CommandsRefused { .. }
            | N::ChannelsFull { .. }
            | N::Netsplit { .. }
            | N::NobodyConfigured
            | N::StorageFailed { .. }
            | N::DiskLow { .. }
            | N::UpkeepLeftOut { .. }
            | N::UpkeepFailed { .. }
            | N::RevisionsMissing { .. }
            | N::ArchivesAside { .. }
            | N::EventsMissing { .. }
            | N::EntriesUnreadable { .. }
            | N::ShuttingDown => None,
        }
    }
}

/// Returns the task that a notice about a clone is for; `None` for another notice, which is about what the agent does.
#[must_use]
pub fn task_of(notice: &Notice) -> Option<WorkId> {
    use Notice as N;
    let (N::CheckoutFailed { task, .. }
    | N::TaskInReview { task, .. }
    | N::ReviewLeft { task, .. }
    | N::TaskAccepted { task, .. }
    | N::TaskRejected { task, .. }
    | N::TaskLanded { task, .. }) = notice
    else {
        return None;
    };
    Some(*task)
}

/// An event as it is sent to a webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hook {
    /// Kind of the event that is sent.
    pub event: HookEvent,
    /// The agent that the event is about.
    pub agent: AgentName,
    /// The task that the event is about, else the agent's current work, or its next one; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<HookTask>,
    /// The notice that people get about it.
    pub notice: Notice,
}

/// The work that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookTask {
    /// Number of the work.
    pub id: WorkId,
    /// Text of the work; only the beginning of a long one.
    pub text: String,
}

impl From<&Work> for HookTask {
    fn from(work: &Work) -> Self {
        let mut end = work.text.len().min(TASK_MAX);
        while !work.text.is_char_boundary(end) {
            end -= 1;
        }
        Self { id: work.id, text: work.text[..end].to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_error_while_it_lasts() {
        let agent = AgentName::new("spark").expect("a good name");
        let resume_in = std::time::Duration::from_secs(60);
        assert_eq!(HookEvent::of(&Notice::RateLimited { agent, resume_in }), Some(HookEvent::Error));
    }

    #[test]
    fn a_reminder_is_no_new_event() {
        let agent = AgentName::new("spark").expect("a good name");
        let called = |reminder| Notice::Escalated {
            agent: agent.clone(),
            id: WorkId(7),
            work: "benchmark nemotron".to_owned(),
            why: super::super::watch::Why::Said("It never reads the error".to_owned()),
            times: 3,
            reminder,
            untold: false,
        };
        assert_eq!(HookEvent::of(&called(0)), Some(HookEvent::Escalation));
        assert_eq!(HookEvent::of(&called(1)), None);
    }
}
