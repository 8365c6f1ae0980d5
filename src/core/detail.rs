//! Reasons and observations for people: herder's own as typed values, which a locale puts into words, and texts of
//! others (a program, a server, the operating system), which stay as they are.
//!
//! Stored as plain text if no part is herder's own; older journals hold plain text as well.

mod discord;
mod git;
mod link;

use std::fmt;
use std::time::Duration;

pub use discord::DiscordReason;
pub use git::GitReason;
pub use link::{Distrust, LinkReason};
use serde::{Deserialize, Serialize};

use super::machine::of_limit;
use super::recap::{bounded, one_line};

/// Explanation for people of an outcome or a state, such as a failure: a reason of herder's own, text of another
/// program, or both.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Detail {
    /// Herder's own reason, which is translated.
    pub own: Option<Own>,
    /// Text of another program, such as an agent or a server, shown unchanged; it follows herder's own reason if there
    /// are both.
    pub said: String,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Said(String),
    Own {
        own: Own,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        said: String,
    },
}

impl From<Stored> for Detail {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Said(said) => Self { own: None, said },
            Stored::Own { own, said } => Self { own: Some(own), said },
        }
    }
}

impl From<Detail> for Stored {
    fn from(detail: Detail) -> Self {
        match detail {
            Detail { own: None, said } => Self::Said(said),
            Detail { own: Some(own), said } => Self::Own { own, said },
        }
    }
}

impl From<String> for Detail {
    fn from(said: String) -> Self {
        Self { own: None, said }
    }
}

impl From<&str> for Detail {
    fn from(said: &str) -> Self {
        said.to_owned().into()
    }
}

impl From<Own> for Detail {
    fn from(own: Own) -> Self {
        Self { own: Some(own), said: String::new() }
    }
}

impl Detail {
    /// Returns true if it has neither a reason of herder's own nor other text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.said.trim().is_empty()
    }

    /// Returns true if herder's own reason is `own`.
    #[must_use]
    pub fn is(&self, own: &Own) -> bool {
        self.own.as_ref() == Some(own)
    }

    /// Returns the detail with every text in it on one line of at most `max` bytes.
    #[must_use]
    pub(super) fn bounded(mut self, max: usize) -> Self {
        let own = self.own.iter_mut().flat_map(Own::texts);
        for text in own.chain([&mut self.said]) {
            *text = bounded(&one_line(text), max);
        }
        self
    }
}

/// Formats the detail as its English sentence.
impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// English, for agents, logs and records that no locale is applied to.
impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.own {
            Some(own) if self.said.is_empty() => own.fmt(f),
            Some(own) => write!(f, "{own}: {}", self.said),
            None => f.write_str(&self.said),
        }
    }
}

/// A reason of herder's own. Every variant has a message `own-…` of the same name in `locales/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]
pub enum Own {
    // ── how a process left ──
    /// The process ended with an exit code other than 0.
    ExitCode { code: i32 },
    /// The process was ended by a signal.
    Signal { signal: i32 },
    /// The process could not be waited for, so its exit status is unknown.
    NotWaitedFor,
    /// The process ended well, but without a result.
    NoResult,

    // ── why it was not started ──
    /// The workspace does not exist.
    WorkspaceMissing { path: String },
    /// The workspace is no folder.
    WorkspaceNoFolder { path: String },
    /// The workspace cannot be read or written to.
    WorkspaceLocked { path: String },
    /// The workspace's file system does not answer.
    WorkspaceSilent { path: String },
    /// The start did not finish: the file system of the workspace, of the program or of one of its files does not
    /// answer.
    StartSilent { path: String },
    /// No command is configured.
    NoCommand,
    /// The command's first word is empty.
    EmptyCommand,
    /// The program's file does not exist.
    ProgramMissing { path: String },
    /// No folder of the search path has the program.
    NotInstalled { program: String, path: String },
    /// The prompt does not fit into the program's arguments.
    ArgumentsTooLong { program: String },
    /// The operating system could not start the program.
    NotStarted { program: String },
    /// The session's limits on memory, CPU and processes cannot be set on this machine.
    LimitsNotSet,

    /// The agent's own folder cannot be created or filled.
    StateFolder { path: String },
    /// A file listed for the agent's HOME does not exist in the user's.
    CredentialMissing { path: String },
    /// The file for an environment variable holds no usable value.
    VariableUnreadable { path: String },

    // ── what was seen when a clock ran out ──
    /// Hung: neither events nor CPU time for the time `silent`; `cpu` is the time since CPU time was used, if it ever
    /// was.
    Silent { silent: Duration, cpu: Option<Duration> },
    /// Hung: no events for the time `silent`. CPU time was used, but that alone does not count for ever.
    OnlyCpu { silent: Duration },
    /// Hung: no event at all in the time `waited` since the start.
    NothingYet { waited: Duration },
    /// Hung: a tool call has been open for the time `open`.
    ToolOpen { tool: String, open: Duration },
    /// The session exceeded its time limit: it has taken the time `takes`, and its last event was `silent` ago.
    TakesLong { takes: Duration, silent: Duration },
    /// The session exceeded its time limit while a tool call was open.
    TakesLongWithTool { takes: Duration, tool: String, open: Duration },
    /// The driver sent no heartbeat for the time `silent`.
    NoHeartbeat { silent: Duration },

    // ── herder's own part ──
    /// The driver sends no heartbeat, and nothing else is known.
    NoSignOfLife,
    /// The session's driver has ended without a report.
    DriverGone,
    /// The process that runs the agents is of an older version, which does no work on clones.
    OldRunner,
    /// The process that runs the agents does not answer.
    RunnerAway,
    /// The task that drives the process panicked.
    DriverFailed,
    /// The driver did not end its session in time.
    DriverOverdue,
    /// Processes of the session could not be ended.
    NotEnded,
    /// herder was restarted.
    Restarted,
    /// The agent's supervisor panicked.
    SupervisorPanicked,
    /// The work reached its time limit once too often.
    TimeLimit,
    /// A task does not fit into one context window, and no model is configured to split it.
    SplitByNobody,
    /// The task is a part of a part already.
    SplitTooDeep,
    /// The splitter's answer was no list of parts.
    SplitNoList,
    /// The splitter did not answer in time.
    SplitTimedOut,
    /// The splitter failed for another reason.
    SplitFailed,
    /// A task needs more permissions than its agent has, and no other agent has more.
    NobodyBroader,
    /// The check of the agent's work has failed this often, and its output is known to the agent.
    CheckFailed { command: String, times: u32 },
    /// A person of this name ended it.
    By { name: String },

    // ── what runtimes say by a sign, not in words ──
    /// The kernel ended the session at a limit on memory: it had taken `used` of `limit` bytes, most of them in `program`,
    /// if that is known.
    OutOfMemory { used: u64, limit: u64, program: String },
    /// The configured limit of turns was reached.
    TurnLimit { turns: u32 },
    /// The agent's own limit of turns was reached.
    AgentsTurnLimit,
    /// The turn was interrupted, but not by herder.
    TurnInterrupted,
    /// The turn was cancelled, but not by herder.
    TurnCancelled,
    /// The model's answer exceeded its maximum length.
    AnswerTooLong,
    /// The model's answer was cut off, and the agent took it as complete.
    AnswerBrokenOff,
    /// The turn ended well by the agent's report, without words or tool calls.
    NothingSaid,
    /// The model refused to answer.
    ModelRefused,
    /// The turn ended with a status that herder does not know.
    TurnEndedAs { status: String },
    /// The runtime does not find its conversation, or cannot open it.
    ConversationGone,
    /// The model refuses the history of the conversation.
    HistoryRefused,
    /// The conversation does not fit into the context window.
    ConversationFull,
    /// No conversation was opened.
    NoConversation,
    /// The program speaks another version of the protocol, or names none.
    OtherProtocol { spoken: Option<i64>, ours: i64 },
    /// The model cannot be selected.
    ModelNotSet { model: String },
    /// The agent has no mode in which it plans and changes nothing.
    NoPlanMode,

    /// A reason of herder's own git.
    Git(GitReason),

    // ── why a network is not to be had ──
    /// A reason that the connection to any network can have.
    Link(LinkReason),
    /// A reason that only the Discord connection has.
    Discord(DiscordReason),
}

impl From<LinkReason> for Own {
    fn from(reason: LinkReason) -> Self {
        Self::Link(reason)
    }
}

impl From<DiscordReason> for Own {
    fn from(reason: DiscordReason) -> Self {
        Self::Discord(reason)
    }
}

impl From<LinkReason> for Detail {
    fn from(reason: LinkReason) -> Self {
        Own::from(reason).into()
    }
}

impl From<DiscordReason> for Detail {
    fn from(reason: DiscordReason) -> Self {
        Own::from(reason).into()
    }
}

impl Own {
    /// True if the reason is an unusable workspace, or may be.
    #[must_use]
    pub fn is_of_workspace(&self) -> bool {
        matches!(
            self,
            Self::WorkspaceMissing { .. }
                | Self::WorkspaceNoFolder { .. }
                | Self::WorkspaceLocked { .. }
                | Self::WorkspaceSilent { .. }
                | Self::StartSilent { .. }
        )
    }

    /// Returns a detail with this reason, followed by text of another program.
    #[must_use]
    pub fn with(self, said: impl Into<String>) -> Detail {
        Detail { own: Some(self), said: said.into() }
    }

    /// Returns the text fields of the reason, which may come from any program and so are bounded and redacted.
    fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::NotInstalled { program, path } => vec![program, path],
            Self::Link(reason) => reason.texts(),
            Self::Discord(reason) => reason.texts(),
            Self::Git(reason) => reason.texts(),
            Self::WorkspaceMissing { path: text }
            | Self::WorkspaceNoFolder { path: text }
            | Self::WorkspaceLocked { path: text }
            | Self::WorkspaceSilent { path: text }
            | Self::StartSilent { path: text }
            | Self::ProgramMissing { path: text }
            | Self::StateFolder { path: text }
            | Self::CredentialMissing { path: text }
            | Self::VariableUnreadable { path: text }
            | Self::ArgumentsTooLong { program: text }
            | Self::NotStarted { program: text }
            | Self::ToolOpen { tool: text, .. }
            | Self::TakesLongWithTool { tool: text, .. }
            | Self::CheckFailed { command: text, .. }
            | Self::By { name: text }
            | Self::TurnEndedAs { status: text }
            | Self::OutOfMemory { program: text, .. }
            | Self::ModelNotSet { model: text } => vec![text],
            Self::ExitCode { .. }
            | Self::Signal { .. }
            | Self::NotWaitedFor
            | Self::NoResult
            | Self::LimitsNotSet
            | Self::NoCommand
            | Self::EmptyCommand
            | Self::Silent { .. }
            | Self::OnlyCpu { .. }
            | Self::NothingYet { .. }
            | Self::TakesLong { .. }
            | Self::NoHeartbeat { .. }
            | Self::NoSignOfLife
            | Self::DriverGone
            | Self::OldRunner
            | Self::RunnerAway
            | Self::DriverFailed
            | Self::DriverOverdue
            | Self::NotEnded
            | Self::Restarted
            | Self::SupervisorPanicked
            | Self::TimeLimit
            | Self::SplitByNobody
            | Self::SplitTooDeep
            | Self::SplitNoList
            | Self::SplitTimedOut
            | Self::SplitFailed
            | Self::NobodyBroader
            | Self::TurnLimit { .. }
            | Self::AgentsTurnLimit
            | Self::TurnInterrupted
            | Self::TurnCancelled
            | Self::AnswerTooLong
            | Self::AnswerBrokenOff
            | Self::NothingSaid
            | Self::ModelRefused
            | Self::ConversationGone
            | Self::HistoryRefused
            | Self::ConversationFull
            | Self::NoConversation
            | Self::NoPlanMode
            | Self::OtherProtocol { .. } => Vec::new(),
        }
    }
}

/// The wording of the English locale; a test compares the two.
impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExitCode { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => write!(f, "ended by signal {signal}"),
            Self::NotWaitedFor => f.write_str("the process could not be waited for"),
            Self::NoResult => f.write_str("the process left without a result"),
            Self::WorkspaceMissing { path } => {
                write!(f, "the workspace {path} is not there: create it or change it")
            }
            Self::WorkspaceNoFolder { path } => {
                write!(f, "the workspace {path} is no folder: move what is there or change it")
            }
            Self::WorkspaceLocked { path } => {
                write!(f, "the workspace {path} cannot be written to: see to its owner, its rights and the disk")
            }
            Self::WorkspaceSilent { path } => {
                write!(f, "the workspace {path} does not answer: see to its disk or network mount")
            }
            Self::StartSilent { path } => write!(
                f,
                "it could not be started in time: see to the disks of its program, of its workspace {path} and of the files that it is given"
            ),
            Self::NoCommand => f.write_str("it has no command to run: set `command`"),
            Self::EmptyCommand => f.write_str("the command's first word is empty: name a program"),
            Self::ProgramMissing { path } => write!(f, "there is no program {path}"),
            Self::NotInstalled { program, path } => {
                write!(f, "{program} is not installed: no such program in {path}")
            }
            Self::ArgumentsTooLong { program } => {
                write!(f, "{program} cannot be started: its arguments are too long; use prompt = \"stdin\"")
            }
            Self::NotStarted { program } => write!(f, "{program} cannot be started"),
            Self::LimitsNotSet => f.write_str(
                "its limits on memory, CPU and processes cannot be set: run herder in a service with Delegate=yes, or by systemd-run --user --scope -p Delegate=yes",
            ),
            Self::StateFolder { path } => write!(f, "its own folder {path} cannot be made"),
            Self::CredentialMissing { path } => {
                write!(f, "there is no {path} to give it: log in, or take it out of `credentials`")
            }
            Self::VariableUnreadable { path } => {
                write!(f, "{path} holds no line that a variable could be set to: put the secret there, alone")
            }
            Self::OnlyCpu { silent } => {
                write!(f, "no event for {}, no tool open, only CPU time was used", brief(*silent))
            }
            Self::Silent { silent, cpu: None } => {
                write!(f, "no event for {}, no tool open, no CPU time", brief(*silent))
            }
            Self::Silent { silent, cpu: Some(cpu) } => {
                let (silent, cpu) = (brief(*silent), brief(*cpu));
                write!(f, "no event for {silent}, no tool open, no CPU time for {cpu}")
            }
            Self::NothingYet { waited } => write!(f, "nothing from the process for {}", brief(*waited)),
            Self::ToolOpen { tool, open } => write!(f, "tool {tool} open for {}", brief(*open)),
            Self::TakesLong { takes, silent } => {
                write!(f, "the session takes {}, last event {} ago", brief(*takes), brief(*silent))
            }
            Self::TakesLongWithTool { takes, tool, open } => {
                write!(f, "the session takes {}, tool {tool} open for {}", brief(*takes), brief(*open))
            }
            Self::NoHeartbeat { silent } => write!(f, "no heartbeat for {}", brief(*silent)),
            Self::NoSignOfLife => f.write_str("its driver gave no sign of life"),
            Self::DriverGone => f.write_str("the driver stopped without a word"),
            Self::RunnerAway => f.write_str("the process that runs the agents does not answer"),
            Self::OldRunner => f.write_str(
                "the process that runs the agents is of an older version: herder runner restart --when-idle",
            ),
            Self::DriverFailed => f.write_str("the driver failed"),
            Self::DriverOverdue => f.write_str("the driver did not end its session in time"),
            Self::NotEnded => f.write_str("its processes could not be ended"),
            Self::Restarted => f.write_str("herder was restarted"),
            Self::SupervisorPanicked => f.write_str("its supervisor panicked"),
            Self::TimeLimit => f.write_str("it took longer than it may, twice"),
            Self::SplitByNobody => f.write_str(
                "its context window was full, and nobody is asked to split the task: name a model in `[evaluator]`, or use `!task split`",
            ),
            Self::SplitTooDeep => f.write_str(
                "its context window was full, and the task is a part of a part already",
            ),
            Self::SplitNoList => f.write_str(
                "its context window was full, and the evaluator's answer was no list of 2 to 5 parts",
            ),
            Self::SplitTimedOut => f.write_str(
                "its context window was full, and the evaluator did not split the task in time",
            ),
            Self::SplitFailed => f.write_str(
                "its context window was full, and the evaluator could not split the task",
            ),
            Self::NobodyBroader => f.write_str(
                "its sandbox denied what the task needs, and no other agent may do more",
            ),
            Self::CheckFailed { command, times } => {
                write!(f, "`{command}` has failed {times} times on what the agent called done")
            }
            Self::By { name } => write!(f, "by {name}"),
            Self::OutOfMemory { used, limit, program } => {
                write!(f, "{}", of_limit(*used, *limit))?;
                if program.is_empty() { Ok(()) } else { write!(f, ", `{program}`") }
            }
            Self::TurnLimit { turns } => write!(f, "reached the maximum number of turns ({turns})"),
            Self::AgentsTurnLimit => f.write_str("reached the agent's own maximum number of turns"),
            Self::TurnInterrupted => f.write_str("the turn was interrupted"),
            Self::TurnCancelled => f.write_str("the turn was cancelled"),
            Self::AnswerTooLong => f.write_str("the answer was longer than the model may answer"),
            Self::AnswerBrokenOff => f.write_str("the model's answer broke off"),
            Self::NothingSaid => {
                f.write_str("the agent said and did nothing; its call of the model may have failed")
            }
            Self::ModelRefused => f.write_str("the model refused"),
            Self::TurnEndedAs { status } => write!(f, "the turn ended as \"{status}\""),
            Self::ConversationGone => f.write_str("it cannot be opened any more"),
            Self::HistoryRefused => f.write_str("the model refuses its history"),
            Self::ConversationFull => f.write_str("it does not fit into the model's context window"),
            Self::NoConversation => f.write_str(
                "the agent opened no conversation, or one without an id: this version speaks another protocol than herder does",
            ),
            Self::OtherProtocol { spoken, ours } => {
                let spoken = spoken.map_or_else(|| "no version".to_owned(), |spoken| format!("version {spoken}"));
                write!(
                    f,
                    "the agent speaks {spoken} of its protocol and herder speaks version {ours}; use a release of it that does"
                )
            }
            Self::ModelNotSet { model } => write!(f, "the model {model} cannot be set"),
            Self::NoPlanMode => f.write_str(
                "the agent offers no mode in which it only plans; set permissions to read-only, workspace-write or full",
            ),
            Self::Link(reason) => reason.fmt(f),
            Self::Discord(reason) => reason.fmt(f),
            Self::Git(reason) => reason.fmt(f),
        }
    }
}

/// Formats a duration in its two largest units, in English.
#[must_use]
pub fn brief(duration: Duration) -> String {
    let rounded = duration.saturating_add(Duration::from_millis(500)).as_secs();
    let seconds = rounded.max(u64::from(!duration.is_zero()));
    let (large, small) = match seconds {
        0..100 => return format!("{seconds}s"),
        100..3600 => ((seconds / 60, 'm'), (seconds % 60, 's')),
        3600..86_400 => ((seconds / 3600, 'h'), (seconds / 60 % 60, 'm')),
        86_400.. => ((seconds / 86_400, 'd'), (seconds / 3600 % 24, 'h')),
    };
    match (large, small) {
        ((count, unit), (0, _)) => format!("{count}{unit}"),
        ((count, unit), (rest, part)) => format!("{count}{unit} {rest}{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_journals_hold_is_somebody_s_words() {
        let old: Detail = serde_json::from_str("\"exit code 3: gone\"").expect("plain text");
        assert_eq!(old, Detail::from("exit code 3: gone"));
        assert_eq!(serde_json::to_string(&old).expect("JSON"), "\"exit code 3: gone\"");
    }

    #[test]
    fn herder_s_own_words_are_stored_as_what_they_mean() {
        let detail = Own::ExitCode { code: 3 }.with("gone");
        let stored = serde_json::to_string(&detail).expect("JSON");
        assert_eq!(stored, r#"{"own":{"exit-code":{"code":3}},"said":"gone"}"#);
        assert_eq!(serde_json::from_str::<Detail>(&stored).expect("what was written"), detail);
        assert_eq!(detail.to_string(), "exit code 3: gone");
    }

    #[test]
    fn every_text_in_it_is_bounded_and_on_one_line() {
        let tool = "a\nb".repeat(1000);
        let detail = Own::ToolOpen { tool: tool.clone(), open: Duration::ZERO }.with(tool).bounded(20);
        let Some(Own::ToolOpen { tool, .. }) = &detail.own else { panic!("{detail:?}") };
        for text in [tool, &detail.said] {
            assert!(text.len() <= 24 && !text.contains('\n'), "{text}");
        }
    }
}
