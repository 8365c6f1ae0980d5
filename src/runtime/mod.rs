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
//! `workspace` the inspection of its workspace.

pub mod acp;
pub mod approval;
pub mod classify;
pub mod claude;
pub mod clocks;
pub mod codex;
pub mod command;
pub mod environment;
mod feed;
pub(crate) mod folder;
mod form;
pub mod isolation;
pub mod lines;
pub mod loose;
pub mod observing;
pub mod orphans;
mod outgoing;
pub mod process;
pub mod protocol;
pub mod reason;
pub mod rpc;
mod session;
pub mod text;
mod workspace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::core::ask::{AskKey, Told};
use crate::core::danger::AskPattern;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Signal;
use crate::core::outcome::Usage;
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::outbox::redact::Redactor;

pub use crate::tools::Access;
pub use process::ProcessTrees;

/// The parameters of a session.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The agent.
    pub agent: AgentName,
    /// The session.
    pub session: SessionId,
    /// The agent's settings.
    pub spec: Arc<AgentSpec>,
    /// The whole prompt: recap, instructions, task.
    pub prompt: String,
    /// A conversation to resume, if the runtime can.
    pub conversation: Option<String>,
    /// Text to put before the prompt if that conversation turns out to be gone.
    pub past: Option<String>,
    /// Usage in the conversation so far.
    pub conversed: Usage,
    /// The value of `HERDER_SESSION` in the child's environment, which identifies orphans reliably.
    pub marker: String,
    /// herder's own environment, from which the allow-list selects; read again for every session so that a corrected
    /// key is used.
    pub environment: BTreeMap<String, String>,
    /// The timeouts.
    pub clocks: Clocks,
    /// True to inspect the workspace and report its state.
    pub look: bool,
    /// The agent's own folder, created if missing; `None` if it has none, and no HOME of its own.
    pub state: Option<PathBuf>,
    /// Access to herder's tools, if they are served.
    pub tools: Option<Access>,
    /// Patterns of actions that are always asked about, even if the agent's permissions cover them.
    pub always_ask: Vec<AskPattern>,
    /// Redacts secrets in the evaluator's input, before it is cut.
    pub redactor: Redactor,
}

impl Launch {
    /// Returns the same launch without the conversation, which is gone: the prompt begins with what was said last.
    #[must_use]
    fn begun_anew(self) -> Self {
        let prompt = anew(self.past.as_deref(), &self.prompt);
        Self { conversation: None, past: None, prompt, ..self }
    }
}

/// Returns the prompt of a conversation that begins again.
fn anew(past: Option<&str>, prompt: &str) -> String {
    past.map_or_else(|| prompt.to_owned(), |past| format!("{past}\n\n{prompt}"))
}

/// The timeouts of a driver (contract, section 5).
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// Maximum time until a process is ready.
    pub startup: Duration,
    /// Maximum silence of a model call.
    pub silence: Duration,
    /// Maximum time of a tool call.
    pub tool: Duration,
    /// Maximum time of the session.
    pub task: Duration,
    /// Time between SIGTERM and SIGKILL, and between a result and the kill of a process that does not exit.
    pub grace: Duration,
    /// Interval of heartbeats, a third of the supervisor's timeout.
    pub beat: Duration,
}

/// An order of the supervisor to a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The process's record is on disk: give it the prompt.
    Go,
    /// Put a message into the running turn. Answered by `Signal::Steered` once the runtime has it, else by
    /// [`Report::NotTaken`], unless the session ends before.
    Steer {
        /// The message.
        work: WorkId,
        /// Its text.
        text: String,
    },
    /// Like [`Order::Steer`], for a message that has waited for long: if the running turn accepts nothing, it is cut
    /// short, provided that the runtime can start another one in the same session.
    Insist {
        /// The message.
        work: WorkId,
        /// Its text.
        text: String,
    },
    /// The answer to a request of the runtime.
    Answer {
        /// The key of the question in [`Signal::Asked`] or [`Signal::Inquired`].
        key: AskKey,
        /// The answer.
        told: Told,
    },
    /// Stops or resumes the timeouts, because the agent waits for people in a call of herder's tools.
    Hold {
        /// True if it waits.
        waits: bool,
    },
    /// Interrupt, then SIGTERM, grace, SIGKILL, for the whole tree.
    Stop,
}

/// A report of a driver to its supervisor.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// A heartbeat, on evidence that the session is alive. Never stored.
    Beat,
    /// A signal for the core.
    Signal(Signal),
    /// The agent's words for its channel during the session (`relay = "all"`).
    Words(String),
    /// The runtime does not accept this message, or not now. Never stored.
    NotTaken {
        /// The message.
        work: WorkId,
    },
}

/// State of a running session that is known without asking it: for `status`, never stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// The name of the open tool call, if there is one.
    pub tool: Option<String>,
    /// The time of the last event.
    pub last_event: Option<Timestamp>,
    /// Number of turns so far.
    pub turns: u32,
    /// Tokens and money so far.
    pub usage: Usage,
}

/// Capacity of the channel of orders while the driver writes to a slow child: more than a person can type in that time.
pub const ORDERS_CAPACITY: usize = 64;

/// Capacity of the channel of reports while the supervisor commits: seconds' worth, since the driver aggregates lines.
pub const REPORTS_CAPACITY: usize = 256;

/// The supervisor's ends of a running session.
#[derive(Debug)]
pub struct Driver {
    /// Orders to the driver. Dropping the sender without `Stop` starts the stop ladder.
    pub orders: mpsc::Sender<Order>,
    /// Reports of the driver, ending with `Signal::Ended`.
    pub reports: mpsc::Receiver<Report>,
    /// The session's present state.
    pub live: watch::Receiver<Live>,
    /// Handle that gives its process another session, if it stays for one.
    pub stay: Option<Stay>,
}

/// The end of a driver by which its process is given another session. Dropped, it ends the process.
#[derive(Debug)]
pub struct Stay {
    again: mpsc::Sender<Again>,
    /// Resolves when the process is gone, to what is left of it.
    gone: oneshot::Receiver<Vec<u32>>,
}

/// Another session for a process that has stayed.
#[derive(Debug)]
struct Again {
    launch: Launch,
    orders: mpsc::Receiver<Order>,
    reports: mpsc::Sender<Report>,
    live: watch::Sender<Live>,
}

impl Stay {
    /// Gives the process another session.
    ///
    /// # Errors
    /// The launch, where its driver is gone.
    pub fn go_on(self, launch: Launch) -> Result<Driver, Box<Launch>> {
        let (orders, orders_inbox) = mpsc::channel(ORDERS_CAPACITY);
        let (reports_outbox, reports) = mpsc::channel(REPORTS_CAPACITY);
        let (live_sender, live) = watch::channel(Live::default());
        let again = Again { launch, orders: orders_inbox, reports: reports_outbox, live: live_sender };
        match self.again.try_send(again) {
            Ok(()) => Ok(Driver { orders, reports, live, stay: Some(self) }),
            Err(TrySendError::Full(again) | TrySendError::Closed(again)) => Err(Box::new(again.launch)),
        }
    }

    /// Ends the process. What is left of it.
    pub async fn end(self) -> Vec<u32> {
        let Self { again, gone } = self;
        drop(again);
        gone.await.unwrap_or_default()
    }
}

/// Starts a session. The driver always ends with exactly one [`Signal::Ended`], also if nothing could be started.
///
/// Must be called inside a tokio runtime.
#[must_use]
pub fn launch(launch: Launch, trees: ProcessTrees) -> Driver {
    let (orders, orders_inbox) = mpsc::channel(ORDERS_CAPACITY);
    let (reports_outbox, reports) = mpsc::channel(REPORTS_CAPACITY);
    let (live_sender, live) = watch::channel(Live::default());
    let ((again, again_inbox), (over, gone)) = (mpsc::channel(1), oneshot::channel());
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with its last report, and its owner reads those to the end"
    )]
    tokio::spawn(session::guarded(
        launch,
        trees,
        session::Ends {
            orders: orders_inbox,
            reports: reports_outbox,
            live: live_sender,
            again: again_inbox,
            over: Some(over),
        },
    ));
    Driver { orders, reports, live, stay: Some(Stay { again, gone }) }
}
