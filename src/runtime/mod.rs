//! How an agent is run: a [`Driver`] owns one child process for one session.
//!
//! The driver speaks the runtime's protocol, keeps the clocks, beats to the supervisor on evidence, runs the stop ladder
//! over the whole tree of descendants, and reports how the session ended. It decides nothing about restarts.
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
//! The rooms: `session` is the loop; [`protocol`] the seam to a runtime's own language, which [`claude`], [`codex`],
//! [`acp`] and [`command`] fill, with [`rpc`], [`loose`] and [`classify`] for what they have in common; [`clocks`] the pure part of hangs; [`process`] the process trees and the stop ladder; [`orphans`] what a killed
//! herder left; [`environment`] what a child is given; [`isolation`] what is kept from it; `workspace` a look at where it is to work.

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

use tokio::sync::{mpsc, watch};

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

/// What a session is started with.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The agent.
    pub agent: AgentName,
    /// The session.
    pub session: SessionId,
    /// What a person decided about it.
    pub spec: Arc<AgentSpec>,
    /// The whole prompt: recap, instructions, work.
    pub prompt: String,
    /// A conversation to resume, if the runtime can.
    pub conversation: Option<String>,
    /// What the prompt begins with where that conversation turns out to be gone.
    pub past: Option<String>,
    /// What was used in it before.
    pub conversed: Usage,
    /// The value of `HERDER_SESSION` in the child's environment, by which orphans are known for certain.
    pub marker: String,
    /// The environment the allow-list is taken from: herder's own, read again for every session so that a fixed key counts.
    pub environment: BTreeMap<String, String>,
    /// The clocks.
    pub clocks: Clocks,
    /// Whether to look how the workspace stands, and to say so.
    pub look: bool,
    /// The agent's own folder, made when it is not there; none: it has none, and no HOME of its own.
    pub state: Option<PathBuf>,
    /// The way to herder's tools, if they are served.
    pub tools: Option<Access>,
    /// What is asked about even where the agent's permissions cover it.
    pub always_ask: Vec<AskPattern>,
    /// Takes secrets out of what the evaluator is shown, before it is cut.
    pub redactor: Redactor,
}

impl Launch {
    /// The same without the conversation, which turned out to be gone: the prompt begins with what was said last.
    #[must_use]
    fn begun_anew(self) -> Self {
        let prompt = anew(self.past.as_deref(), &self.prompt);
        Self { conversation: None, past: None, prompt, ..self }
    }
}

/// The prompt of a conversation that begins anew.
fn anew(past: Option<&str>, prompt: &str) -> String {
    past.map_or_else(|| prompt.to_owned(), |past| format!("{past}\n\n{prompt}"))
}

/// The clocks a driver keeps (contract, section 5).
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// A process must be ready within.
    pub startup: Duration,
    /// A model call may be silent for.
    pub silence: Duration,
    /// A tool call may take.
    pub tool: Duration,
    /// The session may take.
    pub task: Duration,
    /// Between SIGTERM and SIGKILL, and between a result and the kill of a process that will not exit.
    pub grace: Duration,
    /// Between two heartbeats, a third of the supervisor's timeout.
    pub beat: Duration,
}

/// What the supervisor tells a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The process's record is on disk: give it its work.
    Go,
    /// Put a message into the running turn. Answered by `Signal::Steered` once the runtime has it, else by
    /// [`Report::NotTaken`], unless the session ends before.
    Steer {
        /// Which.
        work: WorkId,
        /// Its text.
        text: String,
    },
    /// The same for a message that has waited for long enough: where the running turn takes nothing, it is cut short for it,
    /// if the runtime can be asked for another one in the same session.
    Insist {
        /// Which.
        work: WorkId,
        /// Its text.
        text: String,
    },
    /// The end of what the runtime asked.
    Answer {
        /// What [`Signal::Asked`] or [`Signal::Inquired`] called the question.
        key: AskKey,
        /// The end.
        told: Told,
    },
    /// Whether the agent waits for people in a call of herder's tools: meanwhile no clock runs out.
    Hold {
        /// Whether it does.
        waits: bool,
    },
    /// Interrupt, then SIGTERM, grace, SIGKILL, to the whole tree.
    Stop,
}

/// What a driver tells its supervisor.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// It has evidence that the session is alive. Never stored.
    Beat,
    /// Something the core must hear of.
    Signal(Signal),
    /// Words of the agent for its channel while the session runs (`relay = "all"`).
    Words(String),
    /// The runtime does not take this message, or not now. Never stored.
    NotTaken {
        /// Which.
        work: WorkId,
    },
}

/// What can be seen of a running session without asking it: for `status`, never stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// The tool call that is open, if one is.
    pub tool: Option<String>,
    /// When the last event came.
    pub last_event: Option<Timestamp>,
    /// Turns so far.
    pub turns: u32,
    /// Tokens and money so far.
    pub usage: Usage,
}

/// Orders wait here while the driver writes to a slow child; a person cannot type more than this in that time.
pub const ORDERS_CAPACITY: usize = 64;

/// Reports wait here while the supervisor commits; the driver aggregates lines, so that this many are seconds' worth.
pub const REPORTS_CAPACITY: usize = 256;

/// A running session, seen from its supervisor.
#[derive(Debug)]
pub struct Driver {
    /// Orders to it. Dropping the sender without `Stop` makes it run the stop ladder.
    pub orders: mpsc::Sender<Order>,
    /// Reports from it. It ends after `Signal::Ended`.
    pub reports: mpsc::Receiver<Report>,
    /// What can be seen meanwhile.
    pub live: watch::Receiver<Live>,
}

/// Starts a session. The driver always ends with exactly one [`Signal::Ended`], also when nothing could be started.
///
/// Must be called inside a tokio runtime.
#[must_use]
pub fn launch(launch: Launch, trees: ProcessTrees) -> Driver {
    let (orders, orders_inbox) = mpsc::channel(ORDERS_CAPACITY);
    let (reports_outbox, reports) = mpsc::channel(REPORTS_CAPACITY);
    let (live_sender, live) = watch::channel(Live::default());
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with its last report, and its owner reads those to the end"
    )]
    tokio::spawn(session::guarded(
        launch,
        trees,
        session::Ends { orders: orders_inbox, reports: reports_outbox, live: live_sender },
    ));
    Driver { orders, reports, live }
}
