//! Inputs: everything that can happen to an agent.

use std::sync::Arc;
use std::time::Duration;

use super::agent::ProcessRecord;
use super::ask::{AskAnswer, AskKey, Inquiry, Part};
use super::card::Card;
use super::checkout::Acted;
use super::dealings::{Cut, Onward};
use super::detail::{Detail, Own};
use super::handoff::Places;
use super::id::{AccountName, AgentName, AskId, SessionId, WorkId};
use super::lead::PartResult;
use super::outcome::{Category, Outcome, Usage};
use super::pull::Look;
use super::review::Opinion;
use super::spec::AgentSpec;
use super::time::Timestamp;
use super::turn::Turn;
use super::usage::Reading;
use super::verdict::Lapse;
use super::watch::{Judgement, Mark};
use super::work::{Actor, TaskReport, Work, WorkKind};
use super::workspace::Workspace;

/// An input to an agent's supervisor: everything that can change the agent's state arrives as one.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The supervisor came up (herder started, or the supervisor was rebuilt): pending actions are decided now.
    /// Processes of earlier sessions have been ended before, or reported by [`Input::SurvivorsFound`].
    Started,
    /// The supervisor came up, and the session that was open goes on: it runs in a process that herder's end did not
    /// touch. What it is owed is [`super::owed`].
    Adopted {
        /// Number of the session.
        session: SessionId,
    },
    /// Processes of earlier sessions, whose ends are recorded, still exist and cannot be ended, so that no session
    /// may start beside them. It comes before [`Input::Started`].
    SurvivorsFound,
    /// A place may be free for the agent, so that it should try again to start its waiting work.
    Promoted,
    /// The time named by [`super::agent::Agent::deadline`] has come: something is due.
    Tick,
    /// The wall clock was set.
    ClockSet {
        /// Milliseconds by which the clock was set forward; negative if it was set back.
        by: i64,
    },
    /// A person's command, already authorised.
    Control {
        /// The person who gave the command.
        by: Actor,
        /// The command itself.
        control: Control,
    },
    /// The account's gate was closed by another agent's failure.
    AccountBlocked {
        /// Category of the failure: billing, auth or budget.
        category: Category,
    },
    /// An account was closed that the agent has left, but that the running session may have started on.
    LeftAccountBlocked {
        /// The account that was closed.
        account: AccountName,
    },
    /// The account's gate was opened again by a person.
    AccountOpened {
        /// The person who opened it.
        by: Actor,
    },
    /// The board hands a task over. It is repeated until the agent has recorded it; a known number is ignored.
    HandedOver {
        /// Number of the hand-over, by which the agent takes it only once.
        number: u64,
        /// The task that is handed over.
        work: Box<Work>,
    },
    /// The board has recorded the agent's messages.
    BoardHeard {
        /// Number of the last message that is recorded.
        up_to: u64,
    },
    /// A signal from the driver of a session. Signals of any session but the current one are ignored.
    Driver {
        /// Number of the session.
        session: SessionId,
        /// The driver's report.
        signal: Signal,
    },
    /// The process of the session stays after the session, whose end is the next input.
    Kept {
        /// The session.
        session: SessionId,
        /// The process.
        process: ProcessRecord,
    },
    /// A session ended while herder shuts down or before it is up: the outcome is recorded, and no session starts
    /// before [`Input::Started`].
    EndedAtShutdown {
        /// Number of the session.
        session: SessionId,
        /// The outcome of the session.
        outcome: Box<Outcome>,
        /// Process ids of processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// The driver sent no heartbeat for `silent`, the policy's `heartbeat_timeout`.
    DriverSilent {
        /// Number of the session.
        session: SessionId,
        /// Time since the last heartbeat.
        silent: Duration,
    },
    /// The agent reports on its task with a tool. The report is refused if the session is not the current one, or has
    /// no task.
    Reported {
        /// Number of the session.
        session: SessionId,
        /// The agent's report on its task.
        report: TaskReport,
    },
    /// The agent waits, with a tool, for parts of its task. The wait is refused if the session is not the current one, or
    /// has no task.
    AwaitsParts {
        /// Number of the session.
        session: SessionId,
        /// Numbers of the parts, of which at least one is open, or has a result that was not told.
        parts: Vec<WorkId>,
    },
    /// The parts that a task waits for are over. It is repeated until the agent has recorded it.
    PartsOver {
        /// Number of the task.
        task: WorkId,
        /// Number of the session that ended with the wait; another one is ignored.
        session: SessionId,
        /// The results of the parts.
        results: Vec<Arc<PartResult>>,
    },
    /// Whispers were delivered with the result of a tool call.
    WhispersTaken {
        /// Number of the session that got them.
        session: SessionId,
        /// Numbers of the whispers.
        whispers: Vec<WorkId>,
    },
    /// The agent asks people a question with a tool, and polls for the answer. The question is refused unless the
    /// agent's session runs.
    Question {
        /// Number of the session.
        session: SessionId,
        /// Number of the tool call on a runner; `None` without one.
        call: Option<u64>,
        /// The question or plan.
        inquiry: Inquiry,
    },
    /// An evaluation ended, with a verdict or without.
    Evaluated {
        /// Number of the evaluation.
        number: u32,
        /// The verdict, or the reason why there is none.
        judgement: Judgement,
        /// Usage of the model that evaluated; `None` if it is unknown.
        usage: Option<Usage>,
    },
    /// The request to split the agent's task ended.
    Divided {
        /// Number of the request that ended.
        number: u32,
        /// The new parts, or the reason why there are none.
        answer: Result<Vec<Cut>, Lapse>,
        /// Usage of the model that was asked to split; `None` if it is unknown.
        usage: Option<Usage>,
    },
    /// An act on the clone of a task ended.
    Checkout {
        /// Number of the task.
        task: WorkId,
        /// The result.
        acted: Acted,
    },
    /// The pull request of a task was looked at.
    Followed {
        /// Number of the task.
        task: WorkId,
        /// Number of the pull request.
        number: u32,
        /// The pushed commit that was looked at.
        head: String,
        /// The pull request as it is; or the reason why it was not seen for long.
        look: Result<Look, Detail>,
    },
    /// The review of a task by another agent ended.
    Reviewed {
        /// Number of the task.
        task: WorkId,
        /// Number of the review.
        number: u32,
        /// The agent that was to review it.
        by: AgentName,
        /// Its verdict; `None` if there is none.
        opinion: Option<Opinion>,
    },
    /// The supervisor panicked and was rebuilt from the journal; its process tree, if any, has been ended.
    Panicked {
        /// Message of the panic.
        message: String,
    },
}

/// A command of a person to one agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Pause after the current session, or now.
    Pause {
        /// True to interrupt the running turn, whose work goes back to the head of the queue.
        now: bool,
    },
    /// Pauses like [`Control::Pause`], for a person who takes the conversation up in a terminal.
    HandOff {
        /// True to interrupt the running turn.
        now: bool,
        /// The folders that the line for the terminal depends on.
        places: Box<Places>,
    },
    /// Resumes the agent: ends any pause, half-opens the breaker, starts again.
    Resume,
    /// Stops the session, discards its work and continues with the next work.
    Abort,
    /// Aborts like [`Control::Abort`], although another person has answered the call for a person meanwhile: this
    /// person has been told so.
    AbortAnyway {
        /// Number of the answered call.
        call: WorkId,
    },
    /// A press of a button below a post. It is valid as long as the call for a person in that post is open.
    Press {
        /// Time at which the post was made.
        at: Timestamp,
        /// The button that was pressed.
        button: Button,
    },
    /// Starts a clean new session with the failure counters reset; skips a countdown.
    Restart,
    /// Stops the agent now and leaves it paused: the part of `stop-all` for one agent.
    Stop,
    /// Lets the agent continue if `stop-all` stopped it: the part of `resume-all` for one agent.
    LetOn,
    /// Gives the agent new work.
    Give {
        /// Number for the new work, drawn by the caller.
        id: WorkId,
        /// Kind of the work: message or task.
        kind: WorkKind,
        /// Text of the work.
        text: String,
        /// The task's priority, needs and parent; `None` for the defaults.
        card: Option<Box<Card>>,
    },
    /// Gives the agent a task, to which what is said in its channel belongs from now on.
    Begin {
        /// Number for the new task, drawn by the caller.
        id: WorkId,
        /// Text of the task.
        text: String,
        /// The task's further data; `None` for the defaults.
        card: Option<Box<Card>>,
    },
    /// Lets what is said in the agent's channel belong to the task with this number.
    OpenTask(WorkId),
    /// Removes the clone of the task with this number, with all that is nowhere else.
    DropCheckout(WorkId),
    /// Accepts the work of the task with this number.
    Accept(WorkId),
    /// Sends the work of a task back to its agent.
    Reject {
        /// Number of the task.
        task: WorkId,
        /// The person's words, which the agent is told.
        why: String,
    },
    /// Replaces the text of work that waits.
    Reword {
        /// Number of the work.
        id: WorkId,
        /// New text of the work.
        text: String,
    },
    /// Withdraws the work with this number, which still waits.
    Withdraw(WorkId),
    /// Cancels the task with this number, queued or running.
    CancelTask(WorkId),
    /// Hands back a task that waits, failed or was blocked: for another agent, or in parts.
    HandBack {
        /// Number of the task.
        task: WorkId,
        /// Destination of the task: an agent, any agent, or parts.
        onward: Onward,
    },
    /// Gives the agent a whisper: words for it alone.
    Whisper {
        /// Number for the whisper, drawn by the caller.
        id: WorkId,
        /// Text of the whisper.
        text: String,
    },
    /// Acknowledges the call for a person with this number; `None`: the open one.
    Ack(Option<WorkId>),
    /// Marks a whisper of the evaluator as right or wrong.
    Mark {
        /// Number of the whisper.
        id: WorkId,
        /// The mark: right or wrong.
        mark: Mark,
    },
    /// Drops the messages that wait in the queue; tasks stay.
    Clear,
    /// Answers a question; the first answer counts.
    Answer {
        /// Number of the question.
        ask: AskId,
        /// The person's answer.
        answer: AskAnswer,
    },
    /// Removes the always-allow rule with this number: its command is asked about again.
    RemoveRule(AskId),
    /// Changes the agent's configuration from the next session on.
    Edit {
        /// The new configuration of the agent.
        spec: Box<AgentSpec>,
        /// The configuration that was edited, so that a change made meanwhile by someone else is not undone; `None`
        /// skips that check.
        base: Option<Box<AgentSpec>>,
    },
    /// Changes the agent's configuration like [`Control::Edit`], from the configuration file: a session whose own
    /// command changed is stopped, and its work continues with the new one.
    Configure(Box<AgentSpec>),
    /// Removes the agent: its session is stopped, its supervisor ended, its history kept.
    Remove,
}

/// A button below a post that calls a person to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// Acts as [`Control::Resume`].
    Resume,
    /// Acts as [`Control::Abort`].
    Abort,
}

/// A time limit of a session (contract, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// `startup_timeout`: time until the process is ready.
    Startup,
    /// `silence_timeout`: time that a model call may take without any event.
    Silence,
    /// `tool_timeout`: time that one tool call may take.
    Tool,
    /// `max_task_duration`: time that a whole session may take.
    Task,
    /// `heartbeat_timeout`: time that the driver may send no heartbeat.
    Heartbeat,
}

/// A driver's report about its session.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// State of the workspace before the process is started.
    Workspace {
        /// The state that was found.
        seen: Workspace,
    },
    /// The process runs. Its record must be on disk before it is given work: the supervisor answers with `Go`.
    Spawned {
        /// Process id of the session's process.
        pid: u32,
        /// Start time in clock ticks since boot (`/proc/<pid>/stat`, field 22), which together with the pid
        /// identifies a process.
        started: u64,
    },
    /// The runtime is ready and named its conversation, if it has one.
    Ready {
        /// Id with which a later session can resume the conversation; `None` if it cannot be resumed, nor can the one
        /// known before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
    },
    /// The conversation could not be resumed: the session starts a new one.
    ConversationLost {
        /// The runtime's message about the lost conversation, bounded by the driver.
        why: String,
    },
    /// A message was written into the running turn.
    Steered {
        /// Number of the message.
        work: WorkId,
    },
    /// A turn ended and the session continues, or the runtime printed something for `log`.
    Turn {
        /// Text of the turn, bounded by the driver.
        text: String,
        /// Names of the tools that the turn used, in order, bounded by the driver.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<String>,
    },
    /// A whole turn was observed, for the evaluator: the model gave an answer, and the tool calls in it have ended.
    Observed {
        /// The turn that ended; the work it belongs to is filled in from the state.
        turn: Box<Turn>,
    },
    /// A time limit ran out; the driver interrupts, then ends the process tree, then reports `Ended`.
    ClockRanOut {
        /// The time limit that ran out.
        clock: Clock,
        /// The evidence: how long the session has been silent, and the like.
        evidence: Own,
    },
    /// The runtime asks for a permission, and waits for the answer.
    Asked {
        /// The driver's key of the question.
        key: AskKey,
        /// Name of the tool.
        tool: String,
        /// The exact command, or a description of the action.
        command: String,
        /// The command with its secrets redacted, which is stored and shown instead; `None` if it holds none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redacted: Option<String>,
        /// True if the command is for a shell or similar, so that it is searched for commands that are always asked
        /// about.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shell: bool,
        /// True if only the action's name is known, which may stand for different actions.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
    },
    /// The runtime asks a person for words or a choice, and waits.
    Inquired {
        /// The driver's key of the question.
        key: AskKey,
        /// The question or plan.
        inquiry: Box<Inquiry>,
        /// Position in a tool call that asks several questions; `None` if it is the only one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<Part>,
    },
    /// The runtime does not wait for the answer to a question any more.
    AskWithdrawn {
        /// The driver's key of the question.
        key: AskKey,
    },
    /// The runtime reported the usage of the session so far.
    Usage {
        /// The reported usage.
        reading: Box<Reading>,
    },
    /// The session ended, and its process tree is verified empty except for the survivors.
    Ended {
        /// The outcome of the session.
        outcome: Box<Outcome>,
        /// Process ids of processes that could not be ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<u32>,
    },
}
