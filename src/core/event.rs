//! What is recorded of an agent. Events are facts: `apply` takes every one, in any state.
//!
//! The names and fields are on disk for good. A change of shape needs a new version of the journal's encoding and a
//! golden file of the old one (see `journal::encoding`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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

/// Why a session is being stopped, which decides what follows when it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// `pause now`: its work goes back to the head of the queue; paused.
    Pause,
    /// `abort`: its work is discarded; the next follows.
    Abort,
    /// `restart`: its work is tried again in a clean session.
    Restart,
    /// `stop-all`: as `pause now`.
    StopAll,
    /// Its task was cancelled; the next follows.
    Cancel,
    /// The agent was removed.
    Remove,
    /// Another agent of the account failed for billing, auth or budget.
    Account(Category),
    /// The driver stopped beating.
    Hung,
    /// One of the agent's own caps is reached: its work goes back to the head of the queue; paused.
    Cap(Cap),
    /// A person is called: its work goes back to the head of the queue; paused.
    Escalation,
    /// The configuration says otherwise how it is run, or on whose account: its work is tried again so.
    Configured,
}

/// Why an agent is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseReason {
    /// A person said so.
    Person(Actor),
    /// A person stopped all agents.
    StopAll(Actor),
    /// Its own session failed so: billing, auth, budget, or "do not restart".
    Failure(Category),
    /// Another agent of its account failed so.
    Account(Category),
    /// Processes of its last session could not be ended.
    Survivors,
    /// One of its own caps is reached.
    Cap(Cap),
    /// It cannot get further by itself, and a person was called.
    Escalation,
}

/// Why an agent waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitReason {
    /// After a failed session or a crashed process.
    Backoff(Category),
    /// Until a limit ends.
    RateLimit,
    /// The rest between two rounds of a loop.
    Rest,
    /// Until its task is split.
    Split,
}

/// A recorded fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The agent was added.
    Added {
        /// What it is.
        spec: Box<AgentSpec>,
        /// Who added it.
        by: Actor,
    },
    /// The agent's settings changed.
    Edited {
        /// What it is now.
        spec: Box<AgentSpec>,
        /// Who changed it.
        by: Actor,
    },
    /// The agent was removed.
    Removed {
        /// By whom.
        by: Actor,
    },
    /// Work was accepted.
    Queued {
        /// Which.
        work: Work,
    },
    /// The board has handed a task over: it waits in the queue from now on.
    TaskTaken {
        /// The number of the hand-over: each is taken once.
        number: u64,
        /// The task.
        work: Work,
    },
    /// A task that waited, failed or was blocked is the agent's no more: it goes to the board.
    TaskHandedBack {
        /// Which.
        work: WorkId,
        /// What becomes of it there.
        onward: Onward,
        /// Who wanted it.
        by: Actor,
    },
    /// A task did not fit into one context window: somebody is asked to split it.
    SplitBegun {
        /// The task.
        work: WorkId,
        /// The number of what is asked, of the same numbers as evaluations'.
        number: u32,
        /// When nobody waits for the answer any more.
        until: Timestamp,
    },
    /// The split of a task was answered, or was not. The parts, if there are any, follow as what becomes of the task.
    SplitEnded {
        /// The number of what was asked.
        number: u32,
        /// Why there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lapse: Option<Lapse>,
        /// What it cost, as far as it is known.
        #[serde(default)]
        usage: Usage,
        /// Nobody can say what it cost, or what more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unmetered: bool,
    },
    /// The board has the agent's news on record.
    BoardHeard {
        /// The number of the last of them.
        up_to: u64,
    },
    /// Messages were dropped from the queue.
    Cleared {
        /// Which.
        works: Vec<WorkId>,
        /// By whom.
        by: Actor,
    },
    /// Work that waits was given other words.
    Reworded {
        /// Which.
        work: WorkId,
        /// What is to be done now.
        text: String,
        /// By whom.
        by: Actor,
    },
    /// Work that waited was taken back.
    Withdrawn {
        /// Which.
        work: WorkId,
        /// By whom.
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
        /// Which.
        work: WorkId,
        /// How.
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
        /// What it said.
        report: TaskReport,
    },
    /// A turn was seen, for the evaluator.
    TurnObserved {
        /// The turn.
        turn: Arc<Turn>,
        /// How many of the last turns are kept.
        keep: usize,
    },
    /// The last turns are being judged.
    EvaluationBegun {
        /// The evaluation's number.
        number: u32,
        /// What the built-in detector has found before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finding: Option<Finding>,
    },
    /// An evaluation ended: the last turns were judged, or could not be.
    Evaluated {
        /// The evaluation's number.
        number: u32,
        /// What it came to.
        judgement: Box<Judgement>,
        /// What it cost, as far as it is known.
        #[serde(default)]
        usage: Usage,
        /// Nobody can say what it cost, or what more.
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
        /// Which call.
        id: WorkId,
        /// When they are reminded next.
        next: Option<Timestamp>,
    },
    /// A person has seen a call.
    EscalationAcked {
        /// Which call.
        id: WorkId,
        /// Who.
        by: Actor,
    },
    /// A person has answered a call.
    EscalationAnswered {
        /// Which call.
        id: WorkId,
        /// What.
        answer: Answer,
        /// Who.
        by: Actor,
    },
    /// An operator said whether a whisper of the evaluator was called for.
    WhisperMarked {
        /// Which.
        id: WorkId,
        /// Whether.
        mark: Mark,
        /// Who.
        by: Actor,
    },
    /// Something was said for the agent alone, by a person or the evaluator.
    Whispered {
        /// What.
        whisper: Box<Whisper>,
    },
    /// Whispers reached the agent.
    WhispersDelivered {
        /// The session that has them.
        session: SessionId,
        /// Which.
        whispers: Vec<WorkId>,
        /// How.
        way: Way,
    },
    /// Whispers of the evaluator that the agent has not got are not handed over any more: they are about work that is given up.
    WhispersDropped {
        /// Which.
        whispers: Vec<WorkId>,
        /// Who gave the work up.
        by: Actor,
    },
    /// Work that a session had is given up (abort). Messages have no state of their own, so this is their end.
    Discarded {
        /// Which.
        work: WorkId,
        /// By whom.
        by: Actor,
    },
    /// A session begins: from here on a process may exist.
    SessionStarted {
        /// Its number.
        session: SessionId,
        /// What it works on; taken from the head of the queue.
        work: Work,
        /// Whether it is the breaker's trial.
        trial: bool,
    },
    /// Before its process is started, the workspace was looked at.
    WorkspaceSeen {
        /// The session.
        session: SessionId,
        /// How it stands.
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
        /// What a later session can resume.
        conversation: String,
    },
    /// The conversation cannot be resumed any more: the next session begins a new one.
    ConversationLost {
        /// The session that found out.
        session: SessionId,
        /// Why; empty in older journals.
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
        /// Which clock.
        clock: Clock,
        /// What was seen.
        evidence: Detail,
    },
    /// The agent asked for permission and was told no, because there was nobody who could be asked. Not recorded any more.
    PermissionDenied {
        /// The session.
        session: SessionId,
        /// What it asked for, bounded.
        what: String,
    },
    /// What the session has used by now, since it began.
    UsageRecorded {
        /// The session.
        session: SessionId,
        /// What.
        usage: Usage,
        /// What its last turn used of it, as far as that is known.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        turn: Usage,
    },
    /// A part of one of the agent's own caps is used.
    CapNear {
        /// Which cap.
        cap: Cap,
        /// In which hour, on which day, or in which session.
        at: i64,
        /// The cap's limit.
        limit: f64,
        /// What is used of it.
        used: f64,
        /// The part that was warned of, in percent.
        percent: u8,
    },
    /// A person lets the agent go on past one of its own caps.
    CapWaived {
        /// Which cap.
        cap: Cap,
        /// In which hour or on which day.
        at: i64,
        /// What holds there instead.
        limit: f64,
        /// Who.
        by: Actor,
    },
    /// The agent uses far more in this hour than usual.
    Spiked {
        /// Which hour.
        hour: i64,
        /// In what.
        unit: Unit,
        /// What was used.
        used: f64,
        /// What is usual.
        usual: f64,
    },
    /// Tokens were used whose price is not known.
    PriceUnknown {
        /// The model.
        model: String,
        /// Whether they are counted at the dearest price, since a cap in dollars holds.
        assumed: bool,
    },
    /// The agent asks people something.
    Asked {
        /// What.
        ask: Ask,
    },
    /// Another session for the same work asks the same: one question, one answer.
    AskedAgain {
        /// Which; it is open, or was answered while nobody waited.
        ask: AskId,
        /// The session that waits for the answer now.
        session: SessionId,
        /// What its driver calls the question.
        key: Option<AskKey>,
    },
    /// Nobody answered a question for a while: people are reminded of it.
    AskReminded {
        /// Which question.
        ask: AskId,
        /// When they are reminded next.
        next: Option<Timestamp>,
    },
    /// A person answered what the agent asked.
    Answered {
        /// Which question.
        ask: AskId,
        /// What.
        answer: AskAnswer,
        /// Who.
        by: Actor,
    },
    /// Nobody answered a question in time, which counts as no.
    AskExpired {
        /// Which question.
        ask: AskId,
    },
    /// A question was dropped, because nobody needs its answer any more.
    AskDropped {
        /// Which question.
        ask: AskId,
    },
    /// The agent asked for permission, and no person had to be asked.
    PermissionDecided {
        /// The session.
        session: SessionId,
        /// What its driver calls the question.
        key: AskKey,
        /// The tool.
        tool: String,
        /// The command, bounded.
        command: String,
        /// Yes or no.
        allowed: bool,
        /// Who decided.
        by: DecidedBy,
    },
    /// A person allowed a command for good.
    RuleAdded {
        /// What.
        rule: Rule,
    },
    /// A person took an always-allow rule back.
    RuleRemoved {
        /// Which rule.
        rule: AskId,
        /// Who.
        by: Actor,
    },
    /// The session is being stopped.
    StopRequested {
        /// The session.
        session: SessionId,
        /// Why.
        reason: StopReason,
        /// Who asked, if a person did.
        by: Option<Actor>,
    },
    /// The session is over.
    SessionEnded {
        /// The session.
        session: SessionId,
        /// How.
        outcome: Box<Outcome>,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// The session's work goes back to the head of the queue.
    Requeued {
        /// Which.
        work: WorkId,
    },
    /// The agent waits.
    Waiting {
        /// Until when.
        until: Timestamp,
        /// Why.
        reason: WaitReason,
    },
    /// A wait is over, or was skipped.
    WaitOver,
    /// A pause after the current session was asked for.
    PausePending {
        /// By whom.
        by: Actor,
        /// It was asked of all agents at once (`stop-all`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// The agent is paused.
    Paused {
        /// Why.
        reason: PauseReason,
    },
    /// A person let it go on, from a pause, a pending pause, the open breaker or degraded.
    Resumed {
        /// Who.
        by: Actor,
    },
    /// The account's gate was opened again: an agent that was paused for its account goes on.
    AccountOpened {
        /// Who opened it.
        by: Actor,
    },
    /// The counters were reset by `restart`, and the next session is a clean one.
    Reset {
        /// By whom.
        by: Actor,
    },
    /// Too many failures in the window: no restarts until a person says so.
    BreakerOpened {
        /// How many.
        failures: u32,
        /// Whether it was open before and its trial session failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trial: bool,
    },
    /// The trial session succeeded.
    BreakerClosed,
    /// Too many process crashes in the window: no restarts until a person says so.
    Degraded {
        /// How many.
        crashes: u32,
    },
    /// The wall clock was set: what is measured by its own length is moved along with it.
    ClockSet {
        /// By how many milliseconds; below zero: back.
        by: i64,
    },
    /// The supervisor panicked and was rebuilt.
    SupervisorPanicked {
        /// The panic's message.
        message: String,
    },
}
