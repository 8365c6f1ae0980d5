//! One agent's state: what `apply` writes, `decide` reads, and views show.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::{Ask, Denial, Rule, Settled};
use super::dealings::Dealings;
use super::event::{PauseReason, StopReason, WaitReason};
use super::id::{AccountName, AgentName, AskId, SessionId, WorkId};
use super::notice::Halt;
use super::outcome::{Outcome, Usage};
use super::past::Exchange;
use super::promotion::Standing;
use super::spec::AgentSpec;
use super::time::Timestamp;
use super::usage::{Books, Waived, Warned};
use super::watch::Watch;
use super::whisper::Whisper;
use super::work::{Actor, FinishedTask, TaskReport, Work};
use super::workspace::Workspace;

/// The most finished tasks an agent remembers for `task list`; older ones are in the history.
pub const FINISHED_MAX: usize = 50;

/// The longest work, in bytes: one value in the journal holds it with room to spare, and a chat line is far below it.
pub const WORK_TEXT_MAX: usize = 32 * 1024;

/// The most works an agent's queue holds: a person who types is far below it, a loop that feeds itself is told.
pub const QUEUE_MAX: usize = 1000;

/// What an agent is doing.
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
    /// Nothing to do, or waiting for its turn to do it.
    Idle,
    /// A process is owed or not yet ready.
    Starting {
        /// The session.
        session: SessionId,
    },
    /// A process works.
    Running {
        /// The session.
        session: SessionId,
    },
    /// The stop ladder runs.
    Stopping {
        /// The session.
        session: SessionId,
        /// Why.
        reason: StopReason,
    },
    /// A countdown runs.
    Waiting {
        /// Until when.
        until: Timestamp,
        /// Why.
        reason: WaitReason,
    },
    /// Paused until a person resumes it.
    Paused {
        /// Why.
        reason: PauseReason,
    },
    /// The circuit breaker is open.
    NeedsIntervention,
    /// Too many process crashes.
    Degraded,
    /// Removed.
    Removed,
}

/// The circuit breaker's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breaker {
    /// Sessions may start.
    #[default]
    Closed,
    /// None may.
    Open,
    /// One trial session may: success closes, failure opens.
    HalfOpen,
}

/// A process that may exist: recorded before it is given work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub started: u64,
}

/// Sums since the agent was added.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Sessions started.
    pub sessions: u64,
    /// Sessions that succeeded.
    pub successes: u64,
    /// Sessions that failed, of every kind that counts.
    pub failures: u64,
    /// Process crashes.
    pub crashes: u64,
    /// Failures that no row of the runtime's table knew.
    #[serde(default)]
    pub unknown: u64,
    /// Turns.
    pub turns: u64,
    /// Tokens and money.
    pub usage: Usage,
}

/// What is known of work that a session had, kept until the work is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The work.
    pub work: WorkId,
    /// Sessions that had it and are over.
    pub tries: u32,
    /// What the agent said last about it, bounded.
    pub progress: String,
    /// The turns of those sessions in a line each, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub done: VecDeque<String>,
    /// Messages that were steered into those sessions: a new session must hear of them again.
    pub steered: VecDeque<String>,
    /// Whispers that those sessions were given about it: a session in a new conversation must hear of them again.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub whispered: VecDeque<Whisper>,
    /// What the agent has said of it by its tools: it counts when the session is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<TaskReport>,
    /// What its session asked for last was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denial>,
}

/// A task that is being split, because it did not fit into one context window. It waits at the head of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splitting {
    /// The task.
    pub work: WorkId,
    /// The number of what is asked.
    pub number: u32,
    /// When nobody waits for the answer any more.
    pub until: Timestamp,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// What a person decided about it; `None` before `Added`.
    pub spec: Option<AgentSpec>,
    /// What it is doing.
    pub phase: Phase,
    /// Since when.
    pub since: Timestamp,
    /// Who asked for a pause after the current session.
    pub pause_pending: Option<Actor>,
    /// That pause was asked of all agents at once, and `resume-all` ends it.
    #[serde(default)]
    pub pause_of_all: bool,
    /// Work to come, in order.
    pub queue: VecDeque<Work>,
    /// The work of the current session, and of the next one while a countdown runs after a failure it stays in `queue`.
    pub current: Option<Work>,
    /// Tasks that are over, oldest first.
    pub finished: VecDeque<FinishedTask>,
    /// Whispers that were not handed over yet, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub whispers: VecDeque<Whisper>,
    /// What the evaluator has seen of it and said.
    #[serde(default, skip_serializing_if = "Watch::is_new")]
    pub watch: Watch,
    /// What is known of work that a session had and did not finish, for the next session's recap.
    #[serde(default)]
    pub unfinished: Option<Unfinished>,
    /// The work whose last session ran into its time limit: it is tried once more, then a person is called.
    #[serde(default)]
    pub timed_out: Option<WorkId>,
    /// The task that is being split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splitting: Option<Box<Splitting>>,
    /// How its workspace stood when that was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// Who asked for the stop that runs, if a person did.
    #[serde(default)]
    pub stopped_by: Option<Actor>,
    /// The current session's process.
    pub process: Option<ProcessRecord>,
    /// The process of the last session, if it could not be ended with it.
    #[serde(default)]
    pub survivor: Option<ProcessRecord>,
    /// What the next session can resume.
    pub conversation: Option<String>,
    /// What was said last, for a conversation that begins anew.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub exchanges: VecDeque<Exchange>,
    /// Consecutive failed sessions.
    pub failures: u32,
    /// Consecutive process crashes.
    pub crashes: u32,
    /// Consecutive rate limits whose reset was already past.
    pub past_resets: u32,
    /// Consecutive sessions that reached their limit of turns and did nothing new.
    #[serde(default, skip_serializing_if = "super::ask::is_zero")]
    pub stalls: u32,
    /// Times of the last failures, oldest first, for the breaker.
    pub failure_times: VecDeque<Timestamp>,
    /// Times of the last process crashes, oldest first, for degraded.
    pub crash_times: VecDeque<Timestamp>,
    /// The breaker.
    pub breaker: Breaker,
    /// The last session's number.
    pub last_session: SessionId,
    /// How the last session ended.
    pub last_outcome: Option<Outcome>,
    /// When it met the usage limit of its account, unless a session of it has succeeded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Timestamp>,
    /// The account of the last session where it is not the agent's any more: what a process began with it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_on: Option<AccountName>,
    /// Sums.
    pub totals: Totals,
    /// What the current session has used, or the last one.
    #[serde(default)]
    pub meter: Usage,
    /// What the last turn of that session has used, as far as that is known.
    #[serde(default, skip_serializing_if = "Usage::is_none")]
    pub turn: Usage,
    /// What was used in the conversation that the next session can resume.
    #[serde(default)]
    pub conversed: Usage,
    /// The session whose conversation is not gone on with, because the agent was changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<SessionId>,
    /// What it used by hour and day.
    #[serde(default)]
    pub books: Books,
    /// Caps that a person let it go past.
    #[serde(default)]
    pub waived: Vec<Waived>,
    /// Caps that were warned of.
    #[serde(default)]
    pub warned: Vec<Warned>,
    /// The last hour that was said to be a spike.
    #[serde(default)]
    pub spiked: Option<i64>,
    /// The last model whose price was said to be unknown.
    #[serde(default)]
    pub unpriced: Option<String>,
    /// What its tokens came to by the runtime's own word, as a part of [`super::usage::PROVISIONAL`].
    #[serde(default)]
    pub rate: Option<f64>,
    /// Questions that are open, oldest first.
    #[serde(default)]
    pub asks: Vec<Ask>,
    /// Questions that are over, oldest first.
    #[serde(default)]
    pub settled: VecDeque<Settled>,
    /// What is allowed without asking, oldest first.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What it and the board have between them.
    #[serde(default, skip_serializing_if = "Dealings::is_none")]
    pub board: Box<Dealings>,
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
            splitting: None,
            workspace: None,
            stopped_by: None,
            process: None,
            survivor: None,
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
            meter: Usage::default(),
            turn: Usage::default(),
            conversed: Usage::default(),
            forgotten: None,
            books: Books::default(),
            waived: Vec::new(),
            warned: Vec::new(),
            spiked: None,
            unpriced: None,
            rate: None,
            asks: Vec::new(),
            settled: VecDeque::new(),
            rules: Vec::new(),
            board: Box::default(),
        }
    }
}

impl Agent {
    /// Its name, once it was added.
    #[must_use]
    pub fn name(&self) -> Option<&AgentName> {
        self.spec.as_ref().map(|spec| &spec.name)
    }

    /// The work at the head of the queue that an earlier session had and did not finish.
    #[must_use]
    pub fn held(&self) -> Option<&Work> {
        let unfinished = self.unfinished.as_ref()?;
        self.queue.front().filter(|work| work.id == unfinished.work)
    }

    /// Whether it is the work of its session, or that of the session before which did not finish it.
    #[must_use]
    pub fn has_at_hand(&self, work: WorkId) -> bool {
        self.current.as_ref().or_else(|| self.held()).is_some_and(|at_hand| at_hand.id == work)
    }

    /// How much work it has, waiting or in hand.
    #[must_use]
    pub fn works(&self) -> u32 {
        u32::try_from(self.queue.len() + usize::from(self.current.is_some())).unwrap_or(u32::MAX)
    }

    /// A question that is open.
    #[must_use]
    pub fn open_ask(&self, id: AskId) -> Option<&Ask> {
        self.asks.iter().find(|ask| ask.id == id)
    }

    /// A question that is over, as long as it is known.
    #[must_use]
    pub fn settled_ask(&self, id: AskId) -> Option<&Settled> {
        self.settled.iter().rev().find(|settled| settled.ask.id == id)
    }

    /// When `Input::Tick` is due: a countdown or the time for an answer ends, or people are to be reminded.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let asks = self.asks.iter().map(|ask| ask.remind_at.map_or(ask.until, |at| at.min(ask.until)));
        let split = self.splitting.as_ref().map(|split| split.until);
        asks.chain(self.countdown()).chain(split).chain(self.watch.remind_at()).min()
    }

    /// When the countdown to the next session ends, if one runs.
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

    /// The account that its next session begins on.
    #[must_use]
    pub fn account(&self) -> AccountName {
        self.spec.as_ref().map(|spec| spec.account.clone()).unwrap_or_default()
    }

    /// The account that the session which runs began on, or the last one.
    #[must_use]
    pub fn session_account(&self) -> AccountName {
        self.began_on.clone().unwrap_or_else(|| self.account())
    }

    /// The session whose process may exist.
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

    /// Since when it has work that it could begin with; `None`: it has none, or is in no state to.
    #[must_use]
    pub fn wants(&self) -> Option<Timestamp> {
        let spec = self.spec.as_ref().filter(|_| self.phase == Phase::Idle)?;
        match self.queue.front() {
            Some(work) => Some(self.since.max(work.at)),
            None => spec.looping.then_some(self.since),
        }
    }

    /// How it stands in the line for a place at work.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if self.session().is_some() {
            return Standing::Active;
        }
        self.wants().map_or(Standing::Rests, Standing::Wants)
    }

    /// Whether a post of `at` still calls for somebody: the agent stands still, and has since before the post. `closed`: it
    /// waits for its account, and can be let on for as long as it does.
    #[must_use]
    pub fn calls_for_somebody(&self, at: Timestamp, closed: bool) -> bool {
        let halted = self.stands_still();
        // A call for a person stands until it is answered, also while its session is still being stopped.
        let called = self.watch.escalation.as_ref().is_some_and(|call| call.at <= at);
        let held = self.phase == Phase::Idle && closed;
        called || held || halted && self.since <= at
    }

    /// Whether it goes on only when somebody lets it.
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

    /// Why it does not take up work now, if it is not simply busy.
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

    /// Whether it stands still because all agents were stopped, or is about to.
    #[must_use]
    pub fn is_stopped_with_all(&self) -> bool {
        self.pause_of_all
            || matches!(
                self.phase,
                Phase::Paused { reason: PauseReason::StopAll(_) }
                    | Phase::Stopping { reason: StopReason::StopAll, .. }
            )
    }

    /// How long it has been in its phase.
    #[must_use]
    pub fn in_phase(&self, now: Timestamp) -> Duration {
        now.since(self.since)
    }
}
