//! Everything that can happen to an agent, as its supervisor is told.

use std::time::Duration;

use super::ask::{AskAnswer, AskKey, Inquiry, Part};
use super::card::Card;
use super::dealings::{Cut, Onward};
use super::detail::Own;
use super::id::{AccountName, AskId, SessionId, WorkId};
use super::outcome::{Category, Outcome, Usage};
use super::spec::AgentSpec;
use super::time::Timestamp;
use super::turn::Turn;
use super::usage::Reading;
use super::verdict::Lapse;
use super::watch::{Judgement, Mark};
use super::work::{Actor, TaskReport, Work, WorkKind};
use super::workspace::Workspace;

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The supervisor came up (herder started, or the supervisor was rebuilt): what is owed is decided now. Whatever
    /// processes earlier sessions left have been ended before, or named.
    Started,
    /// Before [`Input::Started`]: processes of earlier sessions, whose ends are recorded, are still there and cannot be
    /// ended, so that nothing may start beside them.
    SurvivorsFound,
    /// It may be its turn now: whatever it waited for is to be tried again.
    Promoted,
    /// A deadline that [`super::agent::Agent::deadline`] named has passed.
    Tick,
    /// The wall clock was set by so many milliseconds; below zero: back.
    ClockSet {
        /// By how many.
        by: i64,
    },
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
    /// An account was closed that the agent has left, and on which the session that runs may have begun.
    LeftAccountBlocked {
        /// Which.
        account: AccountName,
    },
    /// The account's gate was opened again by a person.
    AccountOpened {
        /// Who.
        by: Actor,
    },
    /// The board hands a task over. Said again until the agent has it on record; a number that it knows is ignored.
    HandedOver {
        /// The number of the hand-over.
        number: u64,
        /// The task.
        work: Box<Work>,
    },
    /// The board has the agent's news on record.
    BoardHeard {
        /// The number of the last of them.
        up_to: u64,
    },
    /// The driver of a session reports. Signals of any session but the current one are ignored.
    Driver {
        /// Which session.
        session: SessionId,
        /// What.
        signal: Signal,
    },
    /// As [`Signal::Ended`], while herder goes down or before it is up: what came of the session is recorded, and nothing is
    /// begun before [`Input::Started`].
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
    /// The agent asks people something of its own accord, and comes back for the answer. Refused unless its session runs.
    Question {
        /// Which session.
        session: SessionId,
        /// What.
        inquiry: Inquiry,
    },
    /// The evaluator has judged the agent's last turns, or could not.
    Evaluated {
        /// The evaluation's number.
        number: u32,
        /// What it came to.
        judgement: Judgement,
        /// What it cost; `None`: nobody can say.
        usage: Option<Usage>,
    },
    /// Somebody has split the agent's task, or could not.
    Divided {
        /// The number of what was asked.
        number: u32,
        /// The parts to be, or why there are none.
        answer: Result<Vec<Cut>, Lapse>,
        /// What it cost; `None`: nobody can say.
        usage: Option<Usage>,
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
    /// The same by somebody who was told that somebody else has answered the call they may have meant.
    AbortAnyway {
        /// That call.
        call: WorkId,
    },
    /// A button under a post of that moment: it counts only as long as the agent calls for somebody since then.
    Press {
        /// When the post was decided.
        at: Timestamp,
        /// Which button.
        button: Button,
    },
    /// A clean new session, counters reset; skips a countdown.
    Restart,
    /// Stop now and stay paused: one agent's part of `stop-all`.
    Stop,
    /// Go on, if it was stopped with all others: one agent's part of `resume-all`.
    LetOn,
    /// Work for it.
    Give {
        /// The id that was drawn for it.
        id: WorkId,
        /// Its kind.
        kind: WorkKind,
        /// What to do.
        text: String,
        /// What is written on it.
        card: Option<Box<Card>>,
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
    /// Hands a task back that waits, failed or was blocked: for another agent, or in parts.
    HandBack {
        /// Which.
        task: WorkId,
        /// What becomes of it.
        onward: Onward,
    },
    /// Words for the agent alone.
    Whisper {
        /// The id that was drawn for them.
        id: WorkId,
        /// What they say.
        text: String,
    },
    /// The call for a person has been seen by one; `None`: whichever stands.
    Ack(Option<WorkId>),
    /// A whisper of the evaluator was called for, or was not.
    Mark {
        /// Which.
        id: WorkId,
        /// Whether.
        mark: Mark,
    },
    /// Drops queued messages; tasks stay.
    Clear,
    /// Answers a question; the first answer counts.
    Answer {
        /// Which.
        ask: AskId,
        /// What.
        answer: AskAnswer,
    },
    /// Takes a rule back: from now on it is asked again.
    RemoveRule(AskId),
    /// A changed spec, used from the next session on.
    Edit {
        /// The agent as it is to be.
        spec: Box<AgentSpec>,
        /// What it was changed from, so that a change that somebody else made meanwhile is not undone by it. `None`: whatever
        /// it has.
        base: Option<Box<AgentSpec>>,
    },
    /// The same by the configuration: a session whose own command is another one now is cut, and its work goes on with that.
    Configure(Box<AgentSpec>),
    /// The agent is removed: its session stopped, its supervisor ended, its history kept.
    Remove,
}

/// What a button under a post that calls for somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// As [`Control::Resume`].
    Resume,
    /// As [`Control::Abort`].
    Abort,
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
    /// Before the process is started: how the workspace stands.
    Workspace {
        /// What was seen.
        seen: Workspace,
    },
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
    /// The conversation that was to be resumed cannot be: the session begins a new one.
    ConversationLost {
        /// What the runtime said of it, bounded by the driver.
        why: String,
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
    /// The agent's model gave an answer, and its tool calls are over: what the evaluator is to see of that.
    Observed {
        /// The turn; whose work it was about, the state knows.
        turn: Box<Turn>,
    },
    /// A clock ran out; the driver interrupts, then ends the process tree, then reports `Ended`.
    ClockRanOut {
        /// Which.
        clock: Clock,
        /// What was seen.
        evidence: Own,
    },
    /// The runtime asks whether the agent may do something, and waits.
    Asked {
        /// What the driver calls the question.
        key: AskKey,
        /// The tool.
        tool: String,
        /// The exact command, or what stands for it.
        command: String,
        /// Whether the command is one for a shell or the like, so that what is always asked is looked for in it.
        shell: bool,
        /// Whether it is known by a name alone, and may be anything of that name.
        vague: bool,
    },
    /// The runtime asks for words or a choice of a person's, and waits.
    Inquired {
        /// What the driver calls the question.
        key: AskKey,
        /// The question.
        inquiry: Box<Inquiry>,
        /// Its place among the questions of one call; `None`: it is the only one.
        part: Option<Part>,
    },
    /// The runtime does not wait for an answer any more.
    AskWithdrawn {
        /// What the driver calls the question.
        key: AskKey,
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
