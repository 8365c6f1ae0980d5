//! Inputs: everything that can happen to an agent.

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

/// An input to an agent's supervisor.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The supervisor came up (herder started, or the supervisor was rebuilt): pending actions are decided now.
    /// Processes of earlier sessions have been ended before, or reported by [`Input::SurvivorsFound`].
    Started,
    /// Processes of earlier sessions, whose ends are recorded, still exist and cannot be ended, so that no session
    /// may start beside them. It comes before [`Input::Started`].
    SurvivorsFound,
    /// A place may be free for the agent: the start that it waited for is tried again.
    Promoted,
    /// The deadline named by [`super::agent::Agent::deadline`] has passed.
    Tick,
    /// The wall clock was set.
    ClockSet {
        /// Milliseconds by which it was set forward; negative if it was set back.
        by: i64,
    },
    /// A person's command, already authorised.
    Control {
        /// The person.
        by: Actor,
        /// The command.
        control: Control,
    },
    /// The account's gate was closed by another agent's failure.
    AccountBlocked {
        /// Billing, auth or budget.
        category: Category,
    },
    /// An account was closed that the agent has left, but that the running session may have started on.
    LeftAccountBlocked {
        /// The account.
        account: AccountName,
    },
    /// The account's gate was opened again by a person.
    AccountOpened {
        /// The person.
        by: Actor,
    },
    /// The board hands a task over. It is repeated until the agent has recorded it; a known number is ignored.
    HandedOver {
        /// Number of the hand-over.
        number: u64,
        /// The task.
        work: Box<Work>,
    },
    /// The board has recorded the agent's news.
    BoardHeard {
        /// Number of the last of them.
        up_to: u64,
    },
    /// A signal from the driver of a session. Signals of any session but the current one are ignored.
    Driver {
        /// The session.
        session: SessionId,
        /// The signal.
        signal: Signal,
    },
    /// The same as [`Signal::Ended`], while herder goes down or is not up yet: the outcome is recorded, and no
    /// session starts before [`Input::Started`].
    EndedAtShutdown {
        /// The session.
        session: SessionId,
        /// The outcome.
        outcome: Box<Outcome>,
        /// See [`Signal::Ended`].
        survivors: Vec<u32>,
    },
    /// The driver sent no heartbeat for `silent`, the policy's `heartbeat_timeout`.
    DriverSilent {
        /// The session.
        session: SessionId,
        /// Time without a heartbeat.
        silent: Duration,
    },
    /// The agent reports on its task with a tool. It is refused if the session is not the current one, or has no
    /// task.
    Reported {
        /// The session.
        session: SessionId,
        /// The report.
        report: TaskReport,
    },
    /// Whispers were delivered with the result of a tool call.
    WhispersTaken {
        /// The session that has them.
        session: SessionId,
        /// The whispers.
        whispers: Vec<WorkId>,
    },
    /// The agent asks people a question with a tool, and polls for the answer. It is refused unless its session runs.
    Question {
        /// The session.
        session: SessionId,
        /// The question.
        inquiry: Inquiry,
    },
    /// An evaluation ended, with a verdict or without.
    Evaluated {
        /// The evaluation's number.
        number: u32,
        /// The result.
        judgement: Judgement,
        /// Usage of the model that was asked; `None` if it is unknown.
        usage: Option<Usage>,
    },
    /// The request to split the agent's task ended.
    Divided {
        /// Number of the request.
        number: u32,
        /// The new parts, or the reason why there are none.
        answer: Result<Vec<Cut>, Lapse>,
        /// Usage of the model that was asked; `None` if it is unknown.
        usage: Option<Usage>,
    },
    /// The supervisor panicked and was rebuilt from the journal; its process tree, if any, has been ended.
    Panicked {
        /// The panic's message.
        message: String,
    },
}

/// A person's command to one agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Pause after the current session, or now.
    Pause {
        /// True to interrupt the turn; its work goes back to the head of the queue.
        now: bool,
    },
    /// Ends any pause, half-opens the breaker, starts again.
    Resume,
    /// Stops the session, discards its work, continues with the next.
    Abort,
    /// The same, from a person who was told that another person has answered the call that they may have meant.
    AbortAnyway {
        /// The call.
        call: WorkId,
    },
    /// A button below a post. It is valid as long as the call of that post is open.
    Press {
        /// Time at which the post was decided.
        at: Timestamp,
        /// The button.
        button: Button,
    },
    /// Starts a clean new session with counters reset; skips a countdown.
    Restart,
    /// Stops now and stays paused: the part of `stop-all` for one agent.
    Stop,
    /// Continues if it was stopped by `stop-all`: the part of `resume-all` for one agent.
    LetOn,
    /// Gives the agent work.
    Give {
        /// The number drawn for it.
        id: WorkId,
        /// Its kind.
        kind: WorkKind,
        /// The work's text.
        text: String,
        /// Its priority, needs and parent.
        card: Option<Box<Card>>,
    },
    /// Replaces the text of work that waits.
    Reword {
        /// The work.
        id: WorkId,
        /// The new text.
        text: String,
    },
    /// Takes back work that waits.
    Withdraw(WorkId),
    /// Cancels a task, queued or running.
    CancelTask(WorkId),
    /// Hands back a task that waits, failed or was blocked: for another agent, or in parts.
    HandBack {
        /// The task.
        task: WorkId,
        /// Its destination.
        onward: Onward,
    },
    /// Whispers to the agent.
    Whisper {
        /// The number drawn for the whisper.
        id: WorkId,
        /// Its text.
        text: String,
    },
    /// Acknowledges a call for a person; `None`: the open one.
    Ack(Option<WorkId>),
    /// Marks a whisper of the evaluator as right or wrong.
    Mark {
        /// The whisper.
        id: WorkId,
        /// The mark.
        mark: Mark,
    },
    /// Drops queued messages; tasks stay.
    Clear,
    /// Answers a question; the first answer counts.
    Answer {
        /// The question.
        ask: AskId,
        /// The answer.
        answer: AskAnswer,
    },
    /// Removes a rule: from now on its command is asked about again.
    RemoveRule(AskId),
    /// Changes the agent's configuration from the next session on.
    Edit {
        /// The new configuration.
        spec: Box<AgentSpec>,
        /// The configuration that was edited, so that a change made meanwhile by someone else is not undone; `None`
        /// skips that check.
        base: Option<Box<AgentSpec>>,
    },
    /// The same from the configuration file: a session whose own command changed is cut, and its work continues with
    /// the new one.
    Configure(Box<AgentSpec>),
    /// Removes the agent: its session is stopped, its supervisor ended, its history kept.
    Remove,
}

/// A button below a post that calls for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// The same as [`Control::Resume`].
    Resume,
    /// The same as [`Control::Abort`].
    Abort,
}

/// The clocks of the contract's section 5, and the time limit of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// `startup_timeout`: time until the process is ready.
    Startup,
    /// `silence_timeout`: time of a model call without any event.
    Silence,
    /// `tool_timeout`: duration of a tool call.
    Tool,
    /// `max_task_duration`: duration of the session.
    Task,
    /// `heartbeat_timeout`: time without a heartbeat of the driver.
    Heartbeat,
}

/// A driver's report about its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// State of the workspace before the process is started.
    Workspace {
        /// The state.
        seen: Workspace,
    },
    /// The process runs. Its record must be on disk before it is given work: the supervisor answers with `Go`.
    Spawned {
        /// Process id.
        pid: u32,
        /// Start time in clock ticks since boot (`/proc/<pid>/stat`, field 22), which together with the pid
        /// identifies a process.
        started: u64,
    },
    /// The runtime is ready and named its conversation, if it has one.
    Ready {
        /// Id for resuming the conversation later; `None` if it cannot be resumed, nor can the one known before.
        conversation: Option<String>,
    },
    /// The conversation could not be resumed: the session starts a new one.
    ConversationLost {
        /// The runtime's message, bounded by the driver.
        why: String,
    },
    /// A message was written into the running turn.
    Steered {
        /// The message.
        work: WorkId,
    },
    /// A turn ended and the session continues, or the runtime printed something for `log`.
    Turn {
        /// The turn's text, bounded by the driver.
        text: String,
        /// Names of the tools it used, in order, bounded by the driver.
        tools: Vec<String>,
    },
    /// A turn for the evaluator: the model gave an answer, and its tool calls have ended.
    Observed {
        /// The turn; its work is filled in from the state.
        turn: Box<Turn>,
    },
    /// A clock ran out; the driver interrupts, then ends the process tree, then reports `Ended`.
    ClockRanOut {
        /// The clock.
        clock: Clock,
        /// The evidence.
        evidence: Own,
    },
    /// The runtime asks for a permission, and waits.
    Asked {
        /// The driver's key of the question.
        key: AskKey,
        /// The tool.
        tool: String,
        /// The exact command, or a description of the action.
        command: String,
        /// The command with its secrets redacted, which is stored and shown instead; `None` if it holds none.
        redacted: Option<String>,
        /// True if it is a command for a shell or similar, in which always-asked commands are searched for.
        shell: bool,
        /// True if only a name is known, which may stand for different actions.
        vague: bool,
    },
    /// The runtime asks a person for words or a choice, and waits.
    Inquired {
        /// The driver's key of the question.
        key: AskKey,
        /// The question.
        inquiry: Box<Inquiry>,
        /// Position in a call of several questions; `None` if it is the only one.
        part: Option<Part>,
    },
    /// The runtime does not wait for an answer any more.
    AskWithdrawn {
        /// The driver's key of the question.
        key: AskKey,
    },
    /// A reading of the session's usage.
    Usage {
        /// The reading.
        reading: Box<Reading>,
    },
    /// The session ended, and its process tree is verified empty except for the survivors.
    Ended {
        /// The outcome.
        outcome: Box<Outcome>,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
}
