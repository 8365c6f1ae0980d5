//! Events of an agent. Events are facts: `apply` takes every one in any state.
//!
//! Names and fields are on disk for good. A change of shape needs a new version of the journal's encoding and a
//! golden file of the old one (see `journal::encoding`).

mod reason;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::agent::ProcessRecord;
use super::ask::{Ask, AskAnswer, AskKey, DecidedBy, Rule};
use super::checkout::CheckoutEvent;
use super::dealings::Onward;
use super::detail::Detail;
use super::detector::Finding;
use super::id::{AskId, SessionId, WorkId};
use super::input::Clock;
use super::lead::PartResult;
use super::outcome::{Outcome, Usage};
use super::spec::AgentSpec;
use super::time::Timestamp;
use super::turn::Turn;
use super::usage::{Cap, Unit};
use super::verdict::Lapse;
use super::watch::{Answer, Escalation, Judgement, Mark};
use super::whisper::{Way, Whisper};
use super::work::{Actor, TaskEnd, TaskReport, Work};
use super::workspace::Workspace;

pub use reason::{PauseReason, StopReason, WaitReason};

/// A recorded fact about an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The agent was added to the fleet.
    Added {
        /// Configuration of the agent.
        spec: Box<AgentSpec>,
        /// The person who added the agent.
        by: Actor,
    },
    /// The agent's settings changed.
    Edited {
        /// New configuration of the agent.
        spec: Box<AgentSpec>,
        /// The person who changed the settings, or the configuration file.
        by: Actor,
    },
    /// The agent was removed from the fleet.
    Removed {
        /// The person who removed the agent, or the configuration file.
        by: Actor,
    },
    /// Something happens to the clone of a task.
    Checkout(CheckoutEvent),
    /// Work was accepted into the agent's queue.
    Queued {
        /// The work that was put into the queue.
        work: Work,
    },
    /// The board has handed a task over to the agent, in whose queue it waits from now on.
    TaskTaken {
        /// Number of the hand-over from the board; each is taken once.
        number: u64,
        /// The task that was handed over.
        work: Work,
    },
    /// A task that waited, failed or was blocked leaves the agent and goes back to the board.
    TaskHandedBack {
        /// Number of the task.
        work: WorkId,
        /// Destination of the task: an agent, any agent, or parts.
        onward: Onward,
        /// The person who moved the task, or herder.
        by: Actor,
    },
    /// A task did not fit into one context window: the evaluator's program is asked to split it.
    SplitBegun {
        /// Number of the task.
        work: WorkId,
        /// Number of the request to split, from the same sequence as evaluations.
        number: u32,
        /// Time at which the request counts as failed if no answer has come.
        until: Timestamp,
    },
    /// The request to split a task ended. If there are parts, the task is handed back to the board in parts next.
    SplitEnded {
        /// Number of the request that ended.
        number: u32,
        /// Reason why there are no parts; `None` if there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lapse: Option<Lapse>,
        /// Usage of the model that was asked, as far as it is known.
        #[serde(default)]
        usage: Usage,
        /// True if the usage of the model that was asked is unknown in part or whole.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmetered: bool,
    },
    /// The board has recorded the agent's messages.
    BoardHeard {
        /// Number of the last message that is recorded.
        up_to: u64,
    },
    /// Messages were dropped from the queue.
    Cleared {
        /// Numbers of the messages.
        works: Vec<WorkId>,
        /// The person who dropped the messages.
        by: Actor,
    },
    /// The text of waiting work was replaced.
    Reworded {
        /// Number of the work.
        work: WorkId,
        /// New text of the work.
        text: String,
        /// The person who changed the text.
        by: Actor,
    },
    /// Waiting work was withdrawn.
    Withdrawn {
        /// Number of the work.
        work: WorkId,
        /// The person who withdrew it.
        by: Actor,
    },
    /// A person's message reached the agent in its running turn.
    Steered {
        /// Number of the session that got it.
        session: SessionId,
        /// Number of the message.
        work: WorkId,
    },
    /// A task has ended; it leaves the queue or the session.
    TaskEnded {
        /// Number of the task.
        work: WorkId,
        /// The kind of end: done, failed, cancelled or blocked.
        end: TaskEnd,
        /// The task's result, or the reason for its end; of bounded length.
        note: Detail,
    },
    /// The agent reported the state of its own task; the report takes effect when its session is over.
    TaskReported {
        /// Number of the session.
        session: SessionId,
        /// Number of the task.
        work: WorkId,
        /// The agent's report.
        report: TaskReport,
    },
    /// The agent waits for parts of its task; the wait begins when its session is over.
    PartsAwaited {
        /// Number of the session.
        session: SessionId,
        /// Number of the task.
        work: WorkId,
        /// Numbers of the parts.
        parts: Vec<WorkId>,
    },
    /// A task is set aside until parts of it are over.
    Parked {
        /// Number of the session that has ended.
        session: SessionId,
        /// Number of the task.
        work: WorkId,
        /// Numbers of the parts.
        parts: Vec<WorkId>,
    },
    /// The parts that a task waits for are over: it is at the head of the queue again.
    PartsReported {
        /// Number of the session that ended with the wait.
        session: SessionId,
        /// Number of the task.
        work: WorkId,
        /// The results of the parts.
        results: Vec<Arc<PartResult>>,
    },
    /// A turn of the model was observed, for the evaluator.
    TurnObserved {
        /// The observed turn.
        turn: Arc<Turn>,
        /// Number of last turns to keep.
        keep: usize,
    },
    /// An evaluation of the agent's last turns began.
    EvaluationBegun {
        /// Number of the evaluation.
        number: u32,
        /// Finding of the built-in detector before the evaluation began, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finding: Option<Finding>,
    },
    /// An evaluation ended: the last turns were judged, or could not be.
    Evaluated {
        /// Number of the evaluation.
        number: u32,
        /// The verdict, or the reason why there is none.
        judgement: Box<Judgement>,
        /// Usage of the model that was asked, as far as it is known.
        #[serde(default)]
        usage: Usage,
        /// True if the usage of the model that was asked is unknown in part or whole.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmetered: bool,
    },
    /// The evaluator gave no verdict, so that the built-in detector's finding counts instead.
    DetectorStoodIn {
        /// Number of the evaluation.
        number: u32,
    },
    /// A person is called to the agent.
    Escalated {
        /// The call for a person.
        escalation: Box<Escalation>,
    },
    /// Nobody answered a call for a while: people are reminded of it.
    EscalationReminded {
        /// Number of the call.
        id: WorkId,
        /// Time of the next reminder; `None` if it was the last.
        next: Option<Timestamp>,
    },
    /// A person acknowledged a call and takes care of it.
    EscalationAcked {
        /// Number of the call.
        id: WorkId,
        /// The person who acknowledged it.
        by: Actor,
    },
    /// A person has answered a call.
    EscalationAnswered {
        /// Number of the call.
        id: WorkId,
        /// The person's answer: resume, abort and so on.
        answer: Answer,
        /// The person who answered.
        by: Actor,
    },
    /// An operator said whether a whisper of the evaluator was called for.
    WhisperMarked {
        /// Number of the whisper.
        id: WorkId,
        /// The operator's mark: right or wrong.
        mark: Mark,
        /// The operator who marked it.
        by: Actor,
    },
    /// A person or the evaluator whispered to the agent.
    Whispered {
        /// The whisper, to be delivered.
        whisper: Box<Whisper>,
    },
    /// Whispers reached the agent.
    WhispersDelivered {
        /// Number of the session that got them.
        session: SessionId,
        /// Numbers of the whispers.
        whispers: Vec<WorkId>,
        /// Way in which they were delivered.
        way: Way,
    },
    /// Whispers of the evaluator that are not delivered yet were dropped: they are about work that is given up.
    WhispersDropped {
        /// Numbers of the whispers.
        whispers: Vec<WorkId>,
        /// The person who gave the work up that the whispers are about, or herder.
        by: Actor,
    },
    /// The work of a session is given up (abort). Messages have no state of their own, so this is their end.
    Discarded {
        /// Number of the work.
        work: WorkId,
        /// The person who gave the work up.
        by: Actor,
    },
    /// A session begins: from here on a process may exist.
    SessionStarted {
        /// Number of the session, counted per agent from 1.
        session: SessionId,
        /// The work that it does, taken from the head of the queue.
        work: Work,
        /// True if it is the breaker's trial session.
        trial: bool,
    },
    /// The workspace was inspected before the session's process is started.
    WorkspaceSeen {
        /// Number of the session.
        session: SessionId,
        /// State of the workspace.
        workspace: Workspace,
    },
    /// The session's process was started.
    ProcessStarted {
        /// Number of the session.
        session: SessionId,
        /// Process id of the session's process.
        pid: u32,
        /// Start time in clock ticks since boot; it tells the process from a later one with the same id.
        started: u64,
    },
    /// The session's process stays for the next session, or does not stay any longer.
    ProcessWarm {
        /// The session that it last worked for.
        session: SessionId,
        /// The process; `None` if it does not stay any longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<ProcessRecord>,
        /// Time at which it is ended, unless a session takes it up before.
        until: Timestamp,
    },
    /// The process is ready and has its work.
    Ready {
        /// Number of the session.
        session: SessionId,
        /// Numbers of the messages that arrived during the start, and are offered to the running turn now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        late: Vec<WorkId>,
    },
    /// The runtime named its conversation.
    ConversationNamed {
        /// Number of the session.
        session: SessionId,
        /// Id with which a later session can resume the conversation.
        conversation: String,
    },
    /// The conversation cannot be resumed any more: the next session begins a new one.
    ConversationLost {
        /// Number of the session that found out.
        session: SessionId,
        /// Reason why the conversation is lost; empty in older journals.
        #[serde(default, skip_serializing_if = "Detail::is_empty")]
        why: Detail,
    },
    /// A turn of a session ended; its text is kept for the `log` command.
    TurnEnded {
        /// Number of the session.
        session: SessionId,
        /// Text of the turn, of bounded length.
        text: String,
        /// Names of the tools that the turn used.
        tools: Vec<String>,
    },
    /// A time limit of the session ran out.
    ClockRanOut {
        /// Number of the session.
        session: SessionId,
        /// The time limit that ran out.
        clock: Clock,
        /// The evidence: how long the session has been silent, and the like.
        evidence: Detail,
    },
    /// The agent's permission request was denied, because no person could be asked. Only in older journals.
    PermissionDenied {
        /// Number of the session.
        session: SessionId,
        /// Description of the request, of bounded length.
        what: String,
    },
    /// The session's usage so far was reported.
    UsageRecorded {
        /// Number of the session.
        session: SessionId,
        /// Usage of the session so far.
        usage: Usage,
        /// Usage of the session's last turn, as far as it is known.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        turn: Usage,
    },
    /// Part of one of the agent's own caps is used.
    CapNear {
        /// The cap that is partly used.
        cap: Cap,
        /// Number of the window (hour, day or session) that the cap counts over.
        at: i64,
        /// Limit of the cap, in its unit.
        limit: f64,
        /// Amount used, in the cap's unit.
        used: f64,
        /// Level of the cap at which the warning is posted, in percent.
        percent: u8,
    },
    /// A person lets the agent continue past one of its own caps.
    CapWaived {
        /// The cap that is waived.
        cap: Cap,
        /// Number of the hour or day for which the cap is waived.
        at: i64,
        /// The raised limit that applies in that window.
        limit: f64,
        /// The person who waived it.
        by: Actor,
    },
    /// The agent uses far more in this hour than usual.
    Spiked {
        /// Number of the hour since the Unix epoch.
        hour: i64,
        /// Unit of both amounts, `used` and `usual`.
        unit: Unit,
        /// Amount that the agent has used in this hour.
        used: f64,
        /// Amount that the agent usually uses in an hour.
        usual: f64,
    },
    /// Tokens were used whose price is not known.
    PriceUnknown {
        /// Name of the model.
        model: String,
        /// True if the tokens are counted at the highest price, because a cap in dollars applies.
        assumed: bool,
    },
    /// The agent asks people for a permission, an answer or the approval of a plan.
    Asked {
        /// The request.
        ask: Ask,
    },
    /// The same question is asked again for the same work; whoever asks waits for the answer from now on.
    AskedAgain {
        /// Number of the question, which is open or was answered while nobody waited.
        ask: AskId,
        /// The session that waits for the answer now.
        session: SessionId,
        /// The driver's key of the question; `None` if the agent polls for the answer.
        key: Option<AskKey>,
        /// Number of the tool call that asks, on a runner; `None` without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<u64>,
    },
    /// Nobody answered a question for a while: people are reminded of it.
    AskReminded {
        /// Number of the question.
        ask: AskId,
        /// Time of the next reminder; `None` if it was the last.
        next: Option<Timestamp>,
    },
    /// A person answered a question of the agent.
    Answered {
        /// Number of the question.
        ask: AskId,
        /// The person's answer.
        answer: AskAnswer,
        /// The person who answered.
        by: Actor,
    },
    /// No person answered a question in time; a permission request is thereby denied.
    AskExpired {
        /// Number of the question.
        ask: AskId,
    },
    /// A question was dropped, because its answer is not needed any more.
    AskDropped {
        /// Number of the question.
        ask: AskId,
    },
    /// A permission request of the agent was decided without asking a person.
    PermissionDecided {
        /// Number of the session.
        session: SessionId,
        /// The driver's key of the question; `None` if the agent polls for the answer.
        key: AskKey,
        /// Name of the tool.
        tool: String,
        /// The command, of bounded length.
        command: String,
        /// True if the permission was given.
        allowed: bool,
        /// The setting or rule that decided.
        by: DecidedBy,
    },
    /// A person allowed a command for good, by an always-allow rule.
    RuleAdded {
        /// The new rule.
        rule: Rule,
    },
    /// A person removed an always-allow rule.
    RuleRemoved {
        /// Number of the rule.
        rule: AskId,
        /// The person who removed it.
        by: Actor,
    },
    /// The session is being stopped.
    StopRequested {
        /// Number of the session.
        session: SessionId,
        /// Reason for the stop, which decides what follows.
        reason: StopReason,
        /// The person who requested the stop; `None` if herder did.
        by: Option<Actor>,
    },
    /// A session ended.
    SessionEnded {
        /// Number of the session.
        session: SessionId,
        /// The outcome of the session.
        outcome: Box<Outcome>,
        /// Process ids of processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// The session's work goes back to the head of the agent's queue.
    Requeued {
        /// Number of the work.
        work: WorkId,
    },
    /// The agent waits before its next session.
    Waiting {
        /// Time at which the agent's wait ends.
        until: Timestamp,
        /// Reason for the wait.
        reason: WaitReason,
    },
    /// The agent's countdown is over, or was skipped.
    WaitOver,
    /// A person asked for a pause after the current session.
    PausePending {
        /// The person who asked for the pause.
        by: Actor,
        /// True if it was asked of all agents at once (`stop-all`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// The agent was paused.
    Paused {
        /// Reason for the pause.
        reason: PauseReason,
    },
    /// A person resumed the agent from a pause, a pending pause, the open breaker or the degraded state.
    Resumed {
        /// The person who resumed it.
        by: Actor,
    },
    /// The agent's account was opened again, so that an agent that was paused for it continues.
    AccountOpened {
        /// The person who opened the account again.
        by: Actor,
    },
    /// The counters were reset by `restart`, and the next session is a clean one.
    Reset {
        /// The person who used `restart`.
        by: Actor,
    },
    /// Too many failures in the window: the breaker opened, and no session starts until a person resumes the agent.
    BreakerOpened {
        /// Number of failures in the breaker's time window.
        failures: u32,
        /// True if the breaker was open before and its trial session failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trial: bool,
    },
    /// The breaker's trial session succeeded, so that the breaker closed.
    BreakerClosed,
    /// Too many process crashes in the window: no session starts until a person resumes the agent.
    Degraded {
        /// Number of process crashes in the time window.
        crashes: u32,
    },
    /// The wall clock was set: recorded times that waits are measured from were moved along.
    ClockSet {
        /// Milliseconds by which the clock was set forward; negative if it was set back.
        by: i64,
    },
    /// The supervisor panicked and was rebuilt.
    SupervisorPanicked {
        /// Message of the panic.
        message: String,
    },
}
