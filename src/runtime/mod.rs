//! Runtimes: a [`Driver`] owns one child process for one session of an agent.
//!
//! The driver speaks the runtime's protocol, keeps its timeouts, sends heartbeats to the supervisor on evidence, runs
//! the stop ladder over the whole process tree, and reports how the session ended. It decides nothing about restarts.
//!
//! ```text
//!             Go                    result                exit, or grace is over
//!   Held ───────────► Working ──────────────► Leaving ─────────────────────────► Ending ───► Draining ───► Ended
//!     │                │    ▲                   │                                   ▲
//!     │                │    └── another turn ───┘                                   │
//!     │                └ Stop, or a clock ran out ──► Interrupting ─────────────────┤
//!     └──────────────── Stop ───────────────────────────────────────────────────────┘
//! ```
//!
//! Modules: `session` is the driver's loop; [`protocol`] the interface to a runtime's own protocol, which [`claude`],
//! [`codex`], [`acp`] and [`command`] implement, with [`rpc`], [`loose`] and [`classify`] for common parts;
//! [`clocks`] the pure part of timeouts; [`process`] the process trees and the stop ladder; [`orphans`] the processes
//! that a killed herder left; [`environment`] a child's variables; [`isolation`] what is kept from a child;
//! `workspace` the inspection of its workspace; `inbox` the files that are brought there; `git` herder's own git, for the clones of tasks;
//! `check` the command that checks an agent's work there.

pub mod acp;
pub mod approval;
pub(crate) mod check;
pub mod classify;
pub mod claude;
pub mod clocks;
pub mod codex;
pub mod command;
pub(crate) mod context;
pub mod environment;
mod feed;
pub(crate) mod folder;
pub(crate) mod forge;
mod form;
pub(crate) mod git;
pub mod grants;
mod inbox;
pub(crate) mod inside;
pub mod isolation;
pub mod lines;
pub mod loose;
pub(crate) mod merge;
pub mod observing;
pub mod orphans;
pub(crate) mod outbox;
mod outgoing;
pub mod process;
pub mod protocol;
pub mod reason;
pub mod rpc;
mod session;
pub(crate) mod setup;
pub mod text;
mod warm;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

use crate::core::ask::{AskKey, Told};
use crate::core::danger::AskPattern;
use crate::core::file::KeptFile;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Signal;
use crate::core::machine::{Enforcement, Taken, Together};
use crate::core::outcome::Usage;
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::files::FileSource;
use crate::redact::Redactor;

pub use grants::Access;
pub use inbox::Picture;
pub use process::ProcessTrees;
pub use warm::Stay;

/// The parameters with which a driver starts a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Name of the agent.
    pub agent: AgentName,
    /// Number of the session.
    pub session: SessionId,
    /// The agent's settings.
    pub spec: Arc<AgentSpec>,
    /// The whole prompt: recap, instructions, work.
    pub prompt: String,
    /// Id of the conversation to resume, if the runtime can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// End of the earlier conversation, to be put before the prompt if that conversation turns out to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<String>,
    /// Usage of the conversation before this session.
    #[serde(default)]
    pub conversed: Usage,
    /// Value of `HERDER_SESSION` in the child's environment, by which processes of the session are found even as
    /// orphans.
    pub marker: String,
    /// The time limits of the session.
    pub clocks: Clocks,
    /// Memory that all sessions together may take; the limits of this one are in its agent's settings.
    #[serde(default, skip_serializing_if = "Together::is_all")]
    pub together: Together,
    /// The way in which the limits are held.
    #[serde(default, skip_serializing_if = "Enforcement::is_strict")]
    pub limits: Enforcement,
    /// True if the workspace is to be inspected, and its state reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look: bool,
    /// Patterns of actions that are always asked about, even if the agent's permissions cover them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always_ask: Vec<AskPattern>,
    /// True if the session reviews another agent's task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reviews: bool,
    /// Names of environment variables that no agent gets from now on, beside those that the machine withholds already.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub withheld: BTreeSet<String>,
    /// Files for the agent's inbox, under their names there; they are named to it with the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<KeptFile>,
    /// The task whose clone on the runner's machine the agent works in; `None` if it works in its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<WorkId>,
}

/// The part of a session's parameters that belongs to the machine on which it runs. It is resolved there and never
/// leaves it: it holds secrets, paths and access to that machine's services.
#[derive(Debug, Clone, Default)]
pub struct Local {
    /// herder's own environment, from which the agent's variables are selected. It is read again for every session, so
    /// that a corrected key is used.
    pub environment: BTreeMap<String, String>,
    /// Path of the agent's own folder, created if missing; `None` if the agent has neither a folder nor a HOME of its
    /// own.
    pub state: Option<PathBuf>,
    /// Access to herder's tools, if they are served.
    pub tools: Option<Access>,
    /// Redactor for the texts of the session, applied before they are cut.
    pub redactor: Redactor,
    /// The place from which the session gets files; `None` if there is none.
    pub files: Option<FileSource>,
    /// Pictures for the prompt, once they are there.
    pub pictures: Vec<Picture>,
}

impl Launch {
    /// Returns the parameters for a second try without the conversation, which is gone: the prompt begins with its end.
    #[must_use]
    fn begun_anew(self) -> Self {
        let prompt = anew(self.past.as_deref(), &self.prompt);
        Self { conversation: None, past: None, prompt, ..self }
    }
}

/// Returns the prompt for a conversation that starts from scratch.
fn anew(past: Option<&str>, prompt: &str) -> String {
    past.map_or_else(|| prompt.to_owned(), |past| format!("{past}\n\n{prompt}"))
}

/// The time limits and intervals of a driver (contract, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Maximum time until the process is ready.
    pub startup: Duration,
    /// Maximum time that a model call may take without any event.
    pub silence: Duration,
    /// Maximum duration of a tool call.
    pub tool: Duration,
    /// Maximum duration of the session.
    pub task: Duration,
    /// Time between SIGTERM and SIGKILL, and between a result and the kill of a process that does not exit.
    pub grace: Duration,
    /// Interval of heartbeats, a third of the time after which the supervisor takes the driver for hung.
    pub beat: Duration,
}

/// An order of the supervisor to a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Give the process its prompt: the record of the process is on disk.
    Go,
    /// Write a message into the running turn. Answered by `Signal::Steered` once the runtime has it, else by
    /// [`Report::NotTaken`], unless the session ends before.
    Steer {
        /// Number of the message.
        work: WorkId,
        /// Text of the message.
        text: String,
        /// Files that came with it, as in [`Launch::files`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<KeptFile>,
    },
    /// Like [`Order::Steer`], for a message that has waited for long: if the running turn accepts nothing, it is cut
    /// short, provided that the runtime can start another one in the same session.
    Insist {
        /// Number of the message.
        work: WorkId,
        /// Text of the message.
        text: String,
        /// Files that came with it, as in [`Launch::files`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<KeptFile>,
    },
    /// Give the runtime the answer to a request.
    Answer {
        /// The key of the request in [`Signal::Asked`] or [`Signal::Inquired`].
        key: AskKey,
        /// The answer itself.
        told: Told,
    },
    /// Stop or resume the time limits, because the agent waits for people in a call of one of herder's tools.
    Hold {
        /// True if the agent waits for people now.
        waits: bool,
    },
    /// Stop the session: interrupt, then SIGTERM, grace, SIGKILL, for the whole process tree.
    Stop,
}

/// A report of a driver to its supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// A heartbeat, on evidence that the session is alive. Never stored.
    Beat,
    /// A signal for the supervisor to decide on.
    Signal(Signal),
    /// The agent's words for its channel during the session (`relay = "all"`).
    Words(String),
    /// The runtime does not accept a message into its turn, or not now. Never stored.
    NotTaken {
        /// Number of the message.
        work: WorkId,
    },
}

/// State of a running session, which `status` shows without asking the agent. Never stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    /// Name of the tool call that is open, if there is one.
    pub tool: Option<String>,
    /// Time of the last event from the process.
    pub last_event: Option<Timestamp>,
    /// Number of turns so far.
    pub turns: u32,
    /// Tokens and dollars used so far.
    pub usage: Usage,
    /// Memory of the session, if it is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Taken>,
}

/// Capacity of the channel of orders, which fills while the driver writes to a slow child: more than a person can type
/// in that time.
pub const ORDERS_CAPACITY: usize = 64;

/// Capacity of the channel of reports, which fills while the supervisor commits: seconds' worth, since the driver
/// aggregates lines.
pub const REPORTS_CAPACITY: usize = 256;

/// The supervisor's ends of the channels of a running session.
#[derive(Debug)]
pub struct Driver {
    /// Orders to the driver. Dropping the sender without `Stop` starts the stop ladder.
    pub orders: mpsc::Sender<Order>,
    /// Reports of the driver, ending with `Signal::Ended`.
    pub reports: mpsc::Receiver<Report>,
    /// State of the session for `status`, updated by the driver.
    pub live: watch::Receiver<Live>,
    /// Gives the process another session, if it stays for one; `None` if it cannot.
    pub stay: Option<Stay>,
}

/// Starts a session on this machine. The driver always ends with exactly one [`Signal::Ended`], also if nothing could be started.
///
/// Must be called inside a tokio runtime.
#[must_use]
pub fn launch(launch: Launch, local: Local, trees: ProcessTrees) -> Driver {
    let (ends, driver) = warm::connected();
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with its last report, and its owner reads those to the end"
    )]
    tokio::spawn(session::guarded((launch, local), trees, ends));
    driver
}
