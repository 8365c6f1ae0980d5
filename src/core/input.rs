//! Everything that can happen to an agent, as its supervisor is told.

use std::time::Duration;

use super::id::{SessionId, WorkId};
use super::outcome::{Category, Outcome};
use super::spec::AgentSpec;
use super::usage::Reading;
use super::work::{Actor, TaskReport, WorkKind};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The supervisor came up (herder started, or the supervisor was rebuilt): what is owed is decided now. Whatever
    /// processes earlier sessions left have been ended before, or named.
    Started,
    /// Before [`Input::Started`]: processes of earlier sessions, whose ends are recorded, are still there and cannot be
    /// ended, so that nothing may start beside them.
    SurvivorsFound,
    /// A deadline that [`super::agent::Agent::deadline`] named has passed.
    Tick,
    /// A person commands. Authorised before it gets here.
    Control {
        /// Who.
        by: Actor,
        /// What.
        control: Control,
    },
    /// The account's gate was closed by another agent's failure.
    AccountBlocked {
        /// Billing, auth or budget.
        category: Category,
    },
    /// The account's gate was opened again by a person.
    AccountOpened {
        /// Who.
        by: Actor,
    },
    /// The driver of a session reports. Signals of any session but the current one are ignored.
    Driver {
        /// Which session.
        session: SessionId,
        /// What.
        signal: Signal,
    },
    /// As [`Signal::Ended`], while herder goes down: what came of the session is recorded, and nothing is begun before
    /// [`Input::Started`].
    EndedAtShutdown {
        /// Which session.
        session: SessionId,
        /// What came of it.
        outcome: Box<Outcome>,
        /// See [`Signal::Ended`].
        survivors: Vec<u32>,
    },
    /// The driver sent no heartbeat for `silent`, the policy's `heartbeat_timeout`.
    DriverSilent {
        /// Which session.
        session: SessionId,
        /// How long.
        silent: Duration,
    },
    /// The agent says by its tools how its task stands. Refused if the session is not the current one, or has no task.
    Reported {
        /// Its session.
        session: SessionId,
        /// What it says.
        report: TaskReport,
    },
    /// Whispers were handed over with the result of a tool call.
    WhispersTaken {
        /// The session that has them.
        session: SessionId,
        /// Which.
        whispers: Vec<WorkId>,
    },
    /// The supervisor panicked and was rebuilt from the journal; its process tree, if any, has been ended.
    Panicked {
        /// The panic's message.
        message: String,
    },
}

/// What a person can ask of one agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Pause after the current session, or now.
    Pause {
        /// Interrupt the turn; its work goes back to the head of the queue.
        now: bool,
    },
    /// Leave any pause, half-open the breaker, start again.
    Resume,
    /// Stop the session, discard its work, go on with the next.
    Abort,
    /// A clean new session, counters reset; skips a countdown.
    Restart,
    /// Stop now and stay paused: one agent's part of `stop-all`.
    Stop,
    /// Work for it.
    Give {
        /// The id that was drawn for it.
        id: WorkId,
        /// Its kind.
        kind: WorkKind,
        /// What to do.
        text: String,
    },
    /// Other words for work that waits.
    Reword {
        /// Which.
        id: WorkId,
        /// What to do instead.
        text: String,
    },
    /// Takes work back that waits.
    Withdraw(WorkId),
    /// Cancels a task, queued or running.
    CancelTask(WorkId),
    /// Words for the agent alone.
    Whisper {
        /// The id that was drawn for them.
        id: WorkId,
        /// What they say.
        text: String,
    },
    /// Drops queued messages; tasks stay.
    Clear,
    /// A changed spec, used from the next session on.
    Edit(Box<AgentSpec>),
    /// The agent is removed: its session stopped, its supervisor ended, its history kept.
    Remove,
}

/// The clocks of the contract's section 5, and the session's own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// `startup_timeout`: the process never became ready.
    Startup,
    /// `silence_timeout`: a model call without any event.
    Silence,
    /// `tool_timeout`: a tool call.
    Tool,
    /// `max_task_duration`: the whole session.
    Task,
    /// `heartbeat_timeout`: the driver itself.
    Heartbeat,
}

/// What a driver reports of its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// The process runs. Its record must be on disk before it is given work: the supervisor answers with `Go`.
    Spawned {
        /// Process id.
        pid: u32,
        /// Start time in clock ticks since boot (`/proc/<pid>/stat` field 22), which with the pid names a process for good.
        started: u64,
    },
    /// The runtime is up and named its conversation, if it has one.
    Ready {
        /// What a later session can resume; `None`: nothing, also not what was known before.
        conversation: Option<String>,
    },
    /// A message was written into the running turn.
    Steered {
        /// Which.
        work: WorkId,
    },
    /// A turn ended and the session goes on; or the runtime said something worth keeping for `log`.
    Turn {
        /// The turn's text, bounded by the driver.
        text: String,
        /// Names of the tools it used, in order, bounded by the driver.
        tools: Vec<String>,
    },
    /// A clock ran out; the driver interrupts, then ends the process tree, then reports `Ended`.
    ClockRanOut {
        /// Which.
        clock: Clock,
        /// What was seen, for people, e.g. "no event for 5m, no tool open, no CPU time".
        evidence: String,
    },
    /// The agent asked for permission and was told no, because a person was to answer and none could be asked.
    Denied {
        /// What it asked for, in its own words.
        what: String,
    },
    /// What the session has used by now.
    Usage {
        /// What its meter shows.
        reading: Box<Reading>,
    },
    /// The session is over and its process tree verified empty, but for the survivors.
    Ended {
        /// How.
        outcome: Box<Outcome>,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
}
