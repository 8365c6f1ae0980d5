//! The state of one agent: written by `apply`, read by `decide`, and shown in views.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::{Ask, Denial, Rule, Settled};
use super::checkout::Checkouts;
use super::dealings::Dealings;
use super::event::{PauseReason, StopReason, WaitReason};
use super::id::{AccountName, AgentName, AskId, SessionId, WorkId};
use super::notice::Halt;
use super::outcome::{Category, Outcome, Usage};
use super::past::Exchange;
use super::promotion::Standing;
use super::spec::AgentSpec;
use super::strip::Strip;
use super::time::Timestamp;
use super::usage::{Books, Waived, Warned};
use super::watch::Watch;
use super::whisper::Whisper;
use super::work::{Actor, FinishedTask, TaskReport, Work};
use super::workspace::Workspace;

/// Maximum number of finished tasks kept in the state for `task list`; older ones are only in the journal.
pub const FINISHED_MAX: usize = 50;

/// Maximum length of the text of a piece of work, in bytes. Chat lines are far shorter, and a journal value holds
/// this much with room to spare.
pub const WORK_TEXT_MAX: usize = 32 * 1024;

/// Maximum number of works in an agent's queue. A person who types stays far below it; a loop that feeds itself is
/// refused.
pub const QUEUE_MAX: usize = 1000;

/// The activity of an agent: the state of its state machine.
///
/// ```text
///            work                Ready                 Ended
///   Idle ──────────► Starting ─────────► Running ──────────────► Idle | Waiting | Paused | NeedsIntervention | Degraded
///                        │ stop              │ stop
///                        └────► Stopping ◄───┘
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum Phase {
    /// No session. The queue is empty, or the agent waits for one of the `max_active` places.
    Idle,
    /// A session was started; its process is not ready yet.
    Starting {
        /// Number of the starting session.
        session: SessionId,
    },
    /// The session's process is at work.
    Running {
        /// Number of the running session.
        session: SessionId,
    },
    /// The session's process is being stopped by the stop ladder: interrupt, then SIGTERM, then SIGKILL.
    Stopping {
        /// Number of the session that is being stopped.
        session: SessionId,
        /// Reason for the stop; it decides what happens after the session has ended.
        reason: StopReason,
    },
    /// A countdown runs before the next session.
    Waiting {
        /// End of the countdown, when the next session may start.
        until: Timestamp,
        /// Tokens and dollars used.
        reason: WaitReason,
    },
    /// The agent is paused until a person resumes it.
    Paused {
        /// Reason for the agent's pause.
        reason: PauseReason,
    },
    /// The circuit breaker is open; a person has to resume the agent.
    NeedsIntervention,
    /// Too many process crashes: no restarts until a person resumes the agent.
    Degraded,
    /// The agent was removed; its finished tasks and usage are kept.
    Removed,
}

/// State of the circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breaker {
    /// Breaker closed: sessions may start.
    #[default]
    Closed,
    /// Breaker open: no session may start until a person resumes the agent.
    Open,
    /// Breaker half-open: one trial session may start. Success closes the breaker, failure opens it again.
    HalfOpen,
}

/// Identity of a process that may exist, recorded on disk before the process is given work, so that a later herder can
/// find and end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Process id on this machine.
    pub pid: u32,
    /// Start time of the process, in clock ticks since boot; it tells the process from a later one with the same id.
    pub started: u64,
}

/// A process that stays after its session, for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warm {
    /// The process.
    pub process: ProcessRecord,
    /// The session that it last worked for.
    pub session: SessionId,
    /// Time at which it is ended, unless a session takes it up before.
    pub until: Timestamp,
}

/// Counters and usage of an agent since it was (last) added.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Number of sessions started.
    pub sessions: u64,
    /// Number of sessions that succeeded.
    pub successes: u64,
    /// Number of failed sessions and process crashes. Account failures (billing, login, budget, usage limit), stops and
    /// turn limits do not count; a rate limit counts only without a usable reset time.
    pub failures: u64,
    /// Number of process crashes, which are also counted in `failures`.
    pub crashes: u64,
    /// Failures that matched no row of the runtime's classification table.
    #[serde(default)]
    pub unknown: u64,
    /// Number of turns of the model.
    pub turns: u64,
    /// Tokens and dollars used.
    pub usage: Usage,
}

/// State that is kept about unfinished work from one session to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Number of the unfinished work.
    pub work: WorkId,
    /// Number of sessions that have worked on the unfinished work and have ended.
    pub tries: u32,
    /// The agent's last words about the unfinished work, at most `PROGRESS_MAX` bytes.
    pub progress: String,
    /// Summaries of the turns of its ended sessions, one line each, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub done: VecDeque<String>,
    /// Messages that were written into a running turn of those earlier sessions; a new session must be told them again.
    pub steered: VecDeque<String>,
    /// Whispers that were delivered to the earlier sessions of this work; a session in a new conversation must be told
    /// them again.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub whispered: VecDeque<Whisper>,
    /// The agent's own report on the task, made with a tool. The last one takes effect when the session ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<TaskReport>>,
    /// Reason why the last permission request of its session was denied; `None` if it was allowed or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denial>,
}

/// A task that is being split into parts, because it did not fit into one context window. It stays at the head of the
/// queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splitting {
    /// Number of the task.
    pub work: WorkId,
    /// Number of the request to split; an answer with another number is stale.
    pub number: u32,
    /// Time at which the request counts as failed if no parts have come.
    pub until: Timestamp,
}

/// State of one agent: configuration, phase, queue, counters and open questions. Only `apply` changes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// The agent's configuration, as set by a person; `None` before `Added`.
    pub spec: Option<AgentSpec>,
    /// Current phase of the agent.
    pub phase: Phase,
    /// Time at which the agent entered its current phase.
    pub since: Timestamp,
    /// The person who asked for a pause after the current session; `None` if no pause is pending.
    pub pause_pending: Option<Actor>,
    /// True if the pending or present pause was asked of all agents by `stop-all`; `resume-all` ends it.
    #[serde(default)]
    pub pause_of_all: bool,
    /// Works that wait, in the order in which they will be started.
    pub queue: VecDeque<Work>,
    /// The work of the current session. It goes back to `queue` when the session fails.
    pub current: Option<Work>,
    /// Finished tasks, oldest first.
    pub finished: VecDeque<FinishedTask>,
    /// Whispers that are not delivered yet, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub whispers: VecDeque<Whisper>,
    /// State of the evaluator's watch over the agent.
    #[serde(default, skip_serializing_if = "Watch::is_new")]
    pub watch: Watch,
    /// State of the unfinished work, for the recap that the next session gets.
    #[serde(default)]
    pub unfinished: Option<Unfinished>,
    /// The work whose last session reached its time limit. After a second time in a row a person is called.
    #[serde(default)]
    pub timed_out: Option<WorkId>,
    /// The work whose last session ran out of memory. After a second time in a row a person is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starved: Option<WorkId>,
    /// The task that is being split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splitting: Option<Box<Splitting>>,
    /// State of the workspace when it was last inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// The person who requested the running stop; `None` if herder did.
    #[serde(default)]
    pub stopped_by: Option<Actor>,
    /// The current session's process.
    pub process: Option<ProcessRecord>,
    /// Process of the last session, if it could not be ended with the session.
    #[serde(default)]
    pub survivor: Option<ProcessRecord>,
    /// The process that stays for the next session, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Box<Warm>>,
    /// Id of the conversation that the next session can resume.
    pub conversation: Option<String>,
    /// The last exchanges of prompt and answer, told to a conversation that starts from scratch.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub exchanges: VecDeque<Exchange>,
    /// Consecutive failed sessions.
    pub failures: u32,
    /// Consecutive process crashes.
    pub crashes: u32,
    /// Consecutive rate limits whose reset was already past.
    pub past_resets: u32,
    /// Consecutive sessions that reached their limit of turns without progress.
    #[serde(default, skip_serializing_if = "super::ask::is_zero")]
    pub stalls: u32,
    /// Times of the last failures, oldest first; the breaker counts them.
    pub failure_times: VecDeque<Timestamp>,
    /// Times of the last process crashes, oldest first; the degraded state is decided by them.
    pub crash_times: VecDeque<Timestamp>,
    /// State of the circuit breaker.
    pub breaker: Breaker,
    /// Number of the last session.
    pub last_session: SessionId,
    /// Outcome of the last session.
    pub last_outcome: Option<Outcome>,
    /// Time at which the agent met its account's usage limit; cleared when a later session succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Timestamp>,
    /// Account that the last session started on, if the agent has been moved to another one since. A running process
    /// keeps its account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_on: Option<AccountName>,
    /// Counters and usage since the agent was added.
    pub totals: Totals,
    /// Tokens and dollars used since the agent was added, by the account that paid.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paid_by: BTreeMap<AccountName, Usage>,
    /// Usage of the current session so far, or the total of the last one.
    #[serde(default)]
    pub meter: Usage,
    /// Usage of the last turn of the session that `meter` counts, as far as the runtime reports it.
    #[serde(default, skip_serializing_if = "Usage::is_none")]
    pub turn: Usage,
    /// Usage of the conversation that the next session can resume.
    #[serde(default)]
    pub conversed: Usage,
    /// Session whose conversation must not be resumed, because the agent's configuration changed during it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<SessionId>,
    /// The agent's usage by hour and by day, for caps and `cost`.
    #[serde(default)]
    pub books: Books,
    /// Hours of the last day in which sessions ran, and the failures in each.
    #[serde(default, skip_serializing_if = "Strip::is_empty")]
    pub strip: Strip,
    /// Caps that a person waived, each with the raised limit.
    #[serde(default)]
    pub waived: Vec<Waived>,
    /// Caps for which a warning was posted.
    #[serde(default)]
    pub warned: Vec<Warned>,
    /// Last hour that was reported as a spike, in hours since the Unix epoch.
    #[serde(default)]
    pub spiked: Option<i64>,
    /// Last model that was reported to have no known price.
    #[serde(default)]
    pub unpriced: Option<String>,
    /// Ratio of the cost that the runtime reported to the cost by the list prices in [`super::usage::PROVISIONAL`].
    #[serde(default)]
    pub rate: Option<f64>,
    /// Open questions, oldest first.
    #[serde(default)]
    pub asks: Vec<Ask>,
    /// Settled questions, oldest first, at most [`super::ask::SETTLED_MAX`].
    #[serde(default)]
    pub settled: VecDeque<Settled>,
    /// Rules that allow an exact command without asking, oldest first.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// The agent's side of its exchange with the board: numbers of hand-overs, and messages that are not acknowledged
    /// yet.
    #[serde(default, skip_serializing_if = "Dealings::is_none")]
    pub board: Box<Dealings>,
    /// The clones of the agent's tasks, if it has a repository.
    #[serde(default, skip_serializing_if = "Checkouts::is_none")]
    pub checkouts: Box<Checkouts>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            spec: None,
            phase: Phase::Idle,
            since: Timestamp::default(),
            pause_pending: None,
            pause_of_all: false,
            queue: VecDeque::new(),
            current: None,
            finished: VecDeque::new(),
            whispers: VecDeque::new(),
            watch: Watch::default(),
            unfinished: None,
            timed_out: None,
            starved: None,
            splitting: None,
            workspace: None,
            stopped_by: None,
            process: None,
            survivor: None,
            warm: None,
            conversation: None,
            exchanges: VecDeque::new(),
            failures: 0,
            crashes: 0,
            past_resets: 0,
            stalls: 0,
            failure_times: VecDeque::new(),
            crash_times: VecDeque::new(),
            breaker: Breaker::default(),
            last_session: SessionId::default(),
            last_outcome: None,
            exhausted: None,
            began_on: None,
            totals: Totals::default(),
            paid_by: BTreeMap::new(),
            meter: Usage::default(),
            turn: Usage::default(),
            conversed: Usage::default(),
            forgotten: None,
            books: Books::default(),
            strip: Strip::default(),
            waived: Vec::new(),
            warned: Vec::new(),
            spiked: None,
            unpriced: None,
            rate: None,
            asks: Vec::new(),
            settled: VecDeque::new(),
            rules: Vec::new(),
            board: Box::default(),
            checkouts: Box::default(),
        }
    }
}

impl Agent {
    /// Returns the agent's name; `None` before it was added.
    #[must_use]
    pub fn name(&self) -> Option<&AgentName> {
        self.spec.as_ref().map(|spec| &spec.name)
    }

    /// Returns the work at the head of the queue that an earlier session started and did not finish.
    #[must_use]
    pub fn held(&self) -> Option<&Work> {
        let unfinished = self.unfinished.as_ref()?;
        self.queue.front().filter(|work| work.id == unfinished.work)
    }

    /// True if `work` is the current session's work, or the unfinished work at the head of the queue.
    #[must_use]
    pub fn has_at_hand(&self, work: WorkId) -> bool {
        self.current.as_ref().or_else(|| self.held()).is_some_and(|at_hand| at_hand.id == work)
    }

    /// Returns the number of the agent's works: those in the queue and the current one.
    #[must_use]
    pub fn works(&self) -> u32 {
        u32::try_from(self.queue.len() + usize::from(self.current.is_some())).unwrap_or(u32::MAX)
    }

    /// Returns the open question with this number.
    #[must_use]
    pub fn open_ask(&self, id: AskId) -> Option<&Ask> {
        self.asks.iter().find(|ask| ask.id == id)
    }

    /// Returns the settled question with this number, if it is still kept.
    #[must_use]
    pub fn settled_ask(&self, id: AskId) -> Option<&Settled> {
        self.settled.iter().rev().find(|settled| settled.ask.id == id)
    }

    /// Returns the time at which the supervisor must send the next `Input::Tick`: a countdown or the time for an answer
    /// ends, or a reminder is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let asks = self.asks.iter().map(|ask| ask.remind_at.map_or(ask.until, |at| at.min(ask.until)));
        let split = self.splitting.as_ref().map(|split| split.until);
        let warm = self.warm.as_ref().filter(|_| self.session().is_none()).map(|warm| warm.until);
        asks.chain(self.countdown()).chain(split).chain(self.watch.remind_at()).chain(warm).min()
    }

    /// Returns true if a process is kept for the next session: only between two sessions of one conversation, and in no
    /// phase that only a person ends.
    #[must_use]
    pub fn keeps_warm(&self) -> bool {
        let rests = matches!(self.phase, Phase::Idle | Phase::Waiting { .. });
        rests && self.warm.is_some() && self.conversation.is_some()
    }

    /// Returns the end of the countdown to the next session, if one runs.
    #[must_use]
    pub fn countdown(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Waiting { until, .. } => Some(until),
            Phase::Idle
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Paused { .. }
            | Phase::NeedsIntervention
            | Phase::Degraded
            | Phase::Removed => None,
        }
    }

    /// Returns the account that the next session will start on.
    #[must_use]
    pub fn account(&self) -> AccountName {
        self.spec.as_ref().map(|spec| spec.account.clone()).unwrap_or_default()
    }

    /// Returns the account that the current session, or else the last one, started on.
    #[must_use]
    pub fn session_account(&self) -> AccountName {
        self.began_on.clone().unwrap_or_else(|| self.account())
    }

    /// Returns the session that is starting, running or being stopped, whose process may exist; `None` in every other
    /// phase.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self.phase {
            Phase::Starting { session } | Phase::Running { session } | Phase::Stopping { session, .. } => {
                Some(session)
            }
            Phase::Idle
            | Phase::Waiting { .. }
            | Phase::Paused { .. }
            | Phase::NeedsIntervention
            | Phase::Degraded
            | Phase::Removed => None,
        }
    }

    /// Returns the time since which the agent has had work that it could start; `None` if it has none or is not idle.
    #[must_use]
    pub fn wants(&self) -> Option<Timestamp> {
        let spec = self.spec.as_ref().filter(|_| self.phase == Phase::Idle && !self.waits_for_checkout())?;
        match self.queue.front() {
            Some(work) => Some(self.since.max(work.at)),
            None => spec.looping.then_some(self.since),
        }
    }

    /// Returns the agent's state for the assignment of the `max_active` places: it has a session, wants one (and since
    /// when), or needs none.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if self.session().is_some() {
            return Standing::Active;
        }
        self.wants().map_or(Standing::Rests, Standing::Wants)
    }

    /// Returns the memory that the agent's next session needs, in bytes: the peak of its last one if that was measured,
    /// else its limit; none if its process has stayed, and has its memory already.
    #[must_use]
    pub fn needs(&self) -> u64 {
        let peak = self.last_outcome.as_ref().map_or(0, |outcome| outcome.peak);
        let limit = self.spec.as_ref().map_or(0, |spec| spec.share.memory);
        match (peak, limit) {
            _ if self.warm.is_some() => 0,
            (0, limit) => limit,
            (peak, 0) => peak,
            (peak, limit) => peak.min(limit),
        }
    }

    /// True if the call for a person that was posted at `at` is still open: the agent has been halted since before
    /// the post. `closed`: its account is closed, so that a person can still release it.
    #[must_use]
    pub fn calls_for_somebody(&self, at: Timestamp, closed: bool) -> bool {
        let halted = self.stands_still();
        // A call for a person stands until it is answered, also while its session is still being stopped.
        let called = self.watch.escalation.as_ref().is_some_and(|call| call.at <= at);
        let held = self.phase == Phase::Idle && closed;
        called || held || halted && self.since <= at
    }

    /// Returns true if the agent needs a person now: it has called one, asks something, has a task in review, or
    /// stands still for a reason that only a person ends. The one definition for the page, the metrics and the service manager.
    #[must_use]
    pub fn needs_a_person(&self, now: Timestamp) -> bool {
        let asks = self.asks.iter().any(|ask| ask.until > now) || self.checkouts.is_reviewed();
        self.watch.escalation.is_some() || asks || self.stands_still_by_itself()
    }

    /// Returns true if the agent stands still although no person wanted it to.
    #[must_use]
    pub fn stands_still_by_itself(&self) -> bool {
        let by_person =
            matches!(self.phase, Phase::Paused { reason: PauseReason::Person(_) | PauseReason::StopAll(_) });
        self.stands_still() && !by_person
    }

    /// Returns the account that keeps the agent paused, and why it is closed: its own, or the one that its last session
    /// failed on.
    #[must_use]
    pub fn closed_account(&self) -> Option<(AccountName, Category)> {
        match self.phase {
            Phase::Paused { reason: PauseReason::Account(category) } => Some((self.account(), category)),
            Phase::Paused { reason: PauseReason::Failure(category) } if category.is_of_account() => {
                Some((self.session_account(), category))
            }
            _ => None,
        }
    }

    /// Returns true if the agent is paused, needs intervention or is degraded.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        match self.phase {
            Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded => true,
            Phase::Idle
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Removed => false,
        }
    }

    /// Returns the reason why the agent starts no work now: a pause, a halt or a countdown; `None` if it is idle, busy
    /// or removed.
    #[must_use]
    pub fn halt(&self) -> Option<Halt> {
        match &self.phase {
            Phase::Paused { reason } => Some(Halt::Paused(reason.clone())),
            Phase::NeedsIntervention => Some(Halt::NeedsIntervention),
            Phase::Degraded => Some(Halt::Degraded),
            Phase::Waiting { until, .. } => Some(Halt::Waiting(*until)),
            Phase::Idle
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Removed => None,
        }
    }

    /// True if `stop-all` has paused the agent, or is about to.
    #[must_use]
    pub fn is_stopped_with_all(&self) -> bool {
        self.pause_of_all
            || matches!(
                self.phase,
                Phase::Paused { reason: PauseReason::StopAll(_) }
                    | Phase::Stopping { reason: StopReason::StopAll, .. }
            )
    }

    /// Returns the time that the agent has been in its phase.
    #[must_use]
    pub fn in_phase(&self, now: Timestamp) -> Duration {
        now.since(self.since)
    }
}
