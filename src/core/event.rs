//! Events of an agent. Events are facts: `apply` takes every one in any state.
//!
//! Names and fields are on disk for good. A change of shape needs a new version of the journal's encoding and a
//! golden file of the old one (see `journal::encoding`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::agent::ProcessRecord;
use super::ask::{Ask, AskAnswer, AskKey, DecidedBy, Rule};
use super::dealings::Onward;
use super::detail::Detail;
use super::detector::Finding;
use super::id::{AskId, SessionId, WorkId};
use super::input::Clock;
use super::outcome::{Category, Outcome, Usage};
use super::spec::AgentSpec;
use super::time::Timestamp;
use super::turn::Turn;
use super::usage::{Cap, Unit};
use super::verdict::Lapse;
use super::watch::{Answer, Escalation, Judgement, Mark};
use super::whisper::{Way, Whisper};
use super::work::{Actor, TaskEnd, TaskReport, Work};
use super::workspace::Workspace;

/// Reason for stopping a session, which decides what follows its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// `pause now`: its work goes back to the head of the queue, and the agent is paused.
    Pause,
    /// `abort`: its work is discarded, and the next work follows.
    Abort,
    /// `restart`: its work is tried again in a clean session.
    Restart,
    /// `stop-all`: the same as for `pause now`.
    StopAll,
    /// Its task was cancelled; the next work follows.
    Cancel,
    /// The agent was removed.
    Remove,
    /// Another agent of the account failed for billing, auth or budget.
    Account(Category),
    /// The driver sent no heartbeat.
    Hung,
    /// One of the agent's own caps is reached: its work goes back to the head of the queue, and the agent is paused.
    Cap(Cap),
    /// A person is called: its work goes back to the head of the queue, and the agent is paused.
    Escalation,
    /// The configuration changed its command or account: its work is tried again with the new one.
    Configured,
}

/// Reason for a pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseReason {
    /// A person paused the agent.
    Person(Actor),
    /// A person stopped all agents.
    StopAll(Actor),
    /// Its own session failed with this category: billing, auth, budget, or "do not restart".
    Failure(Category),
    /// Another agent of its account failed with this category.
    Account(Category),
    /// Processes of its last session could not be ended.
    Survivors,
    /// One of its own caps was reached.
    Cap(Cap),
    /// A person was called, because it makes no progress by itself.
    Escalation,
}

/// Reason for a countdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitReason {
    /// Backoff after a failed session or a crashed process.
    Backoff(Category),
    /// A rate limit that ends at a known time.
    RateLimit,
    /// Rest between two rounds of a loop.
    Rest,
    /// The task is being split.
    Split,
}

/// A recorded fact about an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The agent was added.
    Added {
        /// Its configuration.
        spec: Box<AgentSpec>,
        /// The person who added it.
        by: Actor,
    },
    /// The agent's settings changed.
    Edited {
        /// Its new configuration.
        spec: Box<AgentSpec>,
        /// The person who changed it, or the configuration.
        by: Actor,
    },
    /// The agent was removed.
    Removed {
        /// The person who removed it, or the configuration.
        by: Actor,
    },
    /// Work was accepted.
    Queued {
        /// The work.
        work: Work,
    },
    /// The board has handed a task over: it waits in the queue from now on.
    TaskTaken {
        /// Number of the hand-over; each is taken once.
        number: u64,
        /// The task.
        work: Work,
    },
    /// A task that waited, failed or was blocked is the agent's no more: it goes to the board.
    TaskHandedBack {
        /// The task.
        work: WorkId,
        /// Its destination.
        onward: Onward,
        /// The person who moved it, or herder.
        by: Actor,
    },
    /// A task did not fit into one context window: somebody is asked to split it.
    SplitBegun {
        /// The task.
        work: WorkId,
        /// Number of the request, from the same sequence as evaluations.
        number: u32,
        /// Deadline for the answer.
        until: Timestamp,
    },
    /// The split of a task was answered, or was not. The parts, if there are any, follow as what becomes of the task.
    SplitEnded {
        /// Number of the request.
        number: u32,
        /// Reason why there are no parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lapse: Option<Lapse>,
        /// Usage of the model that was asked, as far as it is known.
        #[serde(default)]
        usage: Usage,
        /// True if its usage is unknown in part or whole.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmetered: bool,
    },
    /// The board has the agent's news on record.
    BoardHeard {
        /// Number of the last news that are recorded.
        up_to: u64,
    },
    /// Messages were dropped from the queue.
    Cleared {
        /// The messages.
        works: Vec<WorkId>,
        /// The person who dropped them.
        by: Actor,
    },
    /// Work that waits was given other words.
    Reworded {
        /// The work.
        work: WorkId,
        /// The new text.
        text: String,
        /// The person who changed it.
        by: Actor,
    },
    /// Work that waited was taken back.
    Withdrawn {
        /// The work.
        work: WorkId,
        /// The person who took it back.
        by: Actor,
    },
    /// A message reached the running turn.
    Steered {
        /// The session.
        session: SessionId,
        /// The message.
        work: WorkId,
    },
    /// A task is over; it leaves the queue or the session.
    TaskEnded {
        /// The task.
        work: WorkId,
        /// The end.
        end: TaskEnd,
        /// The result or the reason, bounded.
        note: Detail,
    },
    /// The agent said of its own task how it stands; that counts when its session is over.
    TaskReported {
        /// The session.
        session: SessionId,
        /// The task.
        work: WorkId,
        /// The report.
        report: TaskReport,
    },
    /// A turn was seen, for the evaluator.
    TurnObserved {
        /// The turn.
        turn: Arc<Turn>,
        /// Number of turns that are kept.
        keep: usize,
    },
    /// The last turns are being judged.
    EvaluationBegun {
        /// The evaluation's number.
        number: u32,
        /// Finding of the built-in detector from before the evaluation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finding: Option<Finding>,
    },
    /// An evaluation ended: the last turns were judged, or could not be.
    Evaluated {
        /// The evaluation's number.
        number: u32,
        /// The result.
        judgement: Box<Judgement>,
        /// Usage of the model that was asked, as far as it is known.
        #[serde(default)]
        usage: Usage,
        /// True if its usage is unknown in part or whole.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmetered: bool,
    },
    /// The evaluator has not judged, and what the built-in detector had found counts instead.
    DetectorStoodIn {
        /// The evaluation's number.
        number: u32,
    },
    /// A person is called.
    Escalated {
        /// The call.
        escalation: Box<Escalation>,
    },
    /// Nobody answered a call for a while: people are reminded of it.
    EscalationReminded {
        /// The call.
        id: WorkId,
        /// Time of the next reminder.
        next: Option<Timestamp>,
    },
    /// A person has seen a call.
    EscalationAcked {
        /// The call.
        id: WorkId,
        /// The person.
        by: Actor,
    },
    /// A person has answered a call.
    EscalationAnswered {
        /// The call.
        id: WorkId,
        /// The answer.
        answer: Answer,
        /// The person.
        by: Actor,
    },
    /// An operator said whether a whisper of the evaluator was called for.
    WhisperMarked {
        /// The whisper.
        id: WorkId,
        /// The mark.
        mark: Mark,
        /// The operator.
        by: Actor,
    },
    /// Something was said for the agent alone, by a person or the evaluator.
    Whispered {
        /// The whisper.
        whisper: Box<Whisper>,
    },
    /// Whispers reached the agent.
    WhispersDelivered {
        /// The session that has them.
        session: SessionId,
        /// The whispers.
        whispers: Vec<WorkId>,
        /// Way of delivery.
        way: Way,
    },
    /// Whispers of the evaluator that the agent has not got are not handed over any more: they are about work that is given up.
    WhispersDropped {
        /// The whispers.
        whispers: Vec<WorkId>,
        /// The person who gave the work up, or herder.
        by: Actor,
    },
    /// Work that a session had is given up (abort). Messages have no state of their own, so this is their end.
    Discarded {
        /// The work.
        work: WorkId,
        /// The person who gave it up.
        by: Actor,
    },
    /// A session begins: from here on a process may exist.
    SessionStarted {
        /// Its number.
        session: SessionId,
        /// Its work, taken from the head of the queue.
        work: Work,
        /// True if it is the breaker's trial session.
        trial: bool,
    },
    /// Before its process is started, the workspace was looked at.
    WorkspaceSeen {
        /// The session.
        session: SessionId,
        /// State of the workspace.
        workspace: Workspace,
    },
    /// The process runs.
    ProcessStarted {
        /// Its session.
        session: SessionId,
        /// Process id.
        pid: u32,
        /// Start time in clock ticks since boot.
        started: u64,
    },
    /// The process stays after its session, for the next one; or it stays no longer.
    ProcessWarm {
        /// The session that it was started for, or that it had last.
        session: SessionId,
        /// Which; none: it stays no longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<ProcessRecord>,
        /// For how long, unless a session takes it up before.
        until: Timestamp,
    },
    /// The process is ready and has its work.
    Ready {
        /// Its session.
        session: SessionId,
        /// Messages that arrived while it came up, which the running turn is offered now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        late: Vec<WorkId>,
    },
    /// The runtime named its conversation.
    ConversationNamed {
        /// The session.
        session: SessionId,
        /// Id for resuming it in a later session.
        conversation: String,
    },
    /// The conversation cannot be resumed any more: the next session begins a new one.
    ConversationLost {
        /// The session that found out.
        session: SessionId,
        /// The reason; empty in older journals.
        #[serde(default, skip_serializing_if = "Detail::is_empty")]
        why: Detail,
    },
    /// A turn ended, for `log`.
    TurnEnded {
        /// The session.
        session: SessionId,
        /// The turn's text, bounded.
        text: String,
        /// The tools it used.
        tools: Vec<String>,
    },
    /// A clock ran out.
    ClockRanOut {
        /// The session.
        session: SessionId,
        /// The clock.
        clock: Clock,
        /// The evidence.
        evidence: Detail,
    },
    /// The agent asked for permission and was told no, because there was nobody who could be asked. Not recorded any more.
    PermissionDenied {
        /// The session.
        session: SessionId,
        /// The request, bounded.
        what: String,
    },
    /// What the session has used by now, since it began.
    UsageRecorded {
        /// The session.
        session: SessionId,
        /// Usage of the session so far.
        usage: Usage,
        /// Usage of its last turn, as far as it is known.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        turn: Usage,
    },
    /// A part of one of the agent's own caps is used.
    CapNear {
        /// The cap.
        cap: Cap,
        /// Number of the hour, day or session.
        at: i64,
        /// The cap's limit.
        limit: f64,
        /// Amount that is used.
        used: f64,
        /// The level of the warning, in percent.
        percent: u8,
    },
    /// A person lets the agent go on past one of its own caps.
    CapWaived {
        /// The cap.
        cap: Cap,
        /// Number of the hour or day.
        at: i64,
        /// The limit that applies there instead.
        limit: f64,
        /// The person.
        by: Actor,
    },
    /// The agent uses far more in this hour than usual.
    Spiked {
        /// The hour, since the Unix epoch.
        hour: i64,
        /// Unit of both amounts.
        unit: Unit,
        /// Amount used in this hour.
        used: f64,
        /// Usual amount in an hour.
        usual: f64,
    },
    /// Tokens were used whose price is not known.
    PriceUnknown {
        /// The model.
        model: String,
        /// True if they are counted at the highest price, because a cap in dollars applies.
        assumed: bool,
    },
    /// The agent asks people something.
    Asked {
        /// The question.
        ask: Ask,
    },
    /// Another session for the same work asks the same: one question, one answer.
    AskedAgain {
        /// Number of the question, which is open or was answered while no session waited.
        ask: AskId,
        /// The session that waits for the answer now.
        session: SessionId,
        /// The driver's key of the question.
        key: Option<AskKey>,
    },
    /// Nobody answered a question for a while: people are reminded of it.
    AskReminded {
        /// The question.
        ask: AskId,
        /// Time of the next reminder.
        next: Option<Timestamp>,
    },
    /// A person answered what the agent asked.
    Answered {
        /// The question.
        ask: AskId,
        /// The answer.
        answer: AskAnswer,
        /// The person.
        by: Actor,
    },
    /// Nobody answered a question in time, which counts as no.
    AskExpired {
        /// The question.
        ask: AskId,
    },
    /// A question was dropped, because nobody needs its answer any more.
    AskDropped {
        /// The question.
        ask: AskId,
    },
    /// The agent asked for permission, and no person had to be asked.
    PermissionDecided {
        /// The session.
        session: SessionId,
        /// The driver's key of the question.
        key: AskKey,
        /// The tool.
        tool: String,
        /// The command, bounded.
        command: String,
        /// True if it was allowed.
        allowed: bool,
        /// The setting or rule that decided.
        by: DecidedBy,
    },
    /// A person allowed a command for good.
    RuleAdded {
        /// The rule.
        rule: Rule,
    },
    /// A person took an always-allow rule back.
    RuleRemoved {
        /// The rule.
        rule: AskId,
        /// The person.
        by: Actor,
    },
    /// The session is being stopped.
    StopRequested {
        /// The session.
        session: SessionId,
        /// The reason.
        reason: StopReason,
        /// The person who requested it; `None` if herder did.
        by: Option<Actor>,
    },
    /// The session is over.
    SessionEnded {
        /// The session.
        session: SessionId,
        /// The outcome.
        outcome: Box<Outcome>,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// The session's work goes back to the head of the queue.
    Requeued {
        /// The work.
        work: WorkId,
    },
    /// The agent waits.
    Waiting {
        /// End of the countdown.
        until: Timestamp,
        /// The reason.
        reason: WaitReason,
    },
    /// A wait is over, or was skipped.
    WaitOver,
    /// A pause after the current session was asked for.
    PausePending {
        /// The person who asked for it.
        by: Actor,
        /// It was asked of all agents at once (`stop-all`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// The agent is paused.
    Paused {
        /// The reason.
        reason: PauseReason,
    },
    /// A person let it go on, from a pause, a pending pause, the open breaker or degraded.
    Resumed {
        /// The person.
        by: Actor,
    },
    /// The account's gate was opened again: an agent that was paused for its account goes on.
    AccountOpened {
        /// The person who opened it.
        by: Actor,
    },
    /// The counters were reset by `restart`, and the next session is a clean one.
    Reset {
        /// The person who used `restart`.
        by: Actor,
    },
    /// Too many failures in the window: no restarts until a person says so.
    BreakerOpened {
        /// Number of failures in the window.
        failures: u32,
        /// True if the breaker was open before and its trial session failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trial: bool,
    },
    /// The trial session succeeded.
    BreakerClosed,
    /// Too many process crashes in the window: no restarts until a person says so.
    Degraded {
        /// Number of crashes in the window.
        crashes: u32,
    },
    /// The wall clock was set: what is measured by its own length is moved along with it.
    ClockSet {
        /// Milliseconds by which the clock was set forward; negative if it was set back.
        by: i64,
    },
    /// The supervisor panicked and was rebuilt.
    SupervisorPanicked {
        /// The panic's message.
        message: String,
    },
}
