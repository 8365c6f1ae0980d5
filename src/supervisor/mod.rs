//! The shell around the core: one supervisor task per agent that alone owns its state, one root that owns them all.
//!
//! [`start()`] reads the journal, ends what an earlier herder left running, and starts a supervisor for every agent.
//! [`Fleet`] is the handle that commands and networks use. The rules live in [`crate::core`], the processes in
//! [`crate::runtime`], the texts in [`crate::l10n`].

mod accounts;
mod board;
mod configure;
mod context;
mod fleet;
mod gates;
mod judges;
mod owing;
mod posting;
mod restart;
mod root;
mod session;
mod shared;
mod speaking;
mod spending;
mod start;
mod stopping;
mod task;
mod timers;
mod turns;
mod whispers;

use std::fmt;
use std::sync::Arc;

pub use board::Holder;
pub use configure::Configured;
pub use fleet::Fleet;
pub use judges::{Judging, Splitting};
pub use owing::Ungiven;
pub use posting::Listener;
pub use start::{CutShort, Settings, StartError, start, start_unless};
pub use stopping::{Resumed, StoppingAll};
pub use whispers::Offered;

use serde::{Deserialize, Serialize};

use crate::chat::{Inbound, notes_lines_with_answers};
use crate::core::agent::Agent;
use crate::core::id::{AgentName, NetworkName, WorkId};
use crate::core::input::Input;
use crate::core::promotion::Hold;
use crate::journal::{AuditEntry, Heard, Memo};
use crate::outbox::Target;
use crate::runtime::orphans::{Bereft, Ended};
use crate::runtime::{Driver, Launch, Live};

use root::ToRoot;
use shared::{Handle, Shared};

/// A command as it was asked: the record it leaves, and where its answer goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What goes to the audit trail with the decision.
    pub audit: AuditEntry,
    /// Where the answer is posted; `None`: the caller prints it (local socket, tests).
    pub answer: Option<AnswerTo>,
    /// What the network calls the line, where lines have ids: remembered with the decision ([`crate::journal::Heard`]),
    /// and what the answer quotes.
    pub message: Option<String>,
}

impl Asked {
    /// What is remembered of the line, once it is decided on.
    pub(crate) fn heard(&self, agent: Option<AgentName>, work: Option<WorkId>) -> Option<Memo> {
        let message = self.message.as_deref()?;
        let place = Some(self.audit.place.clone());
        Some(Heard { agent, work, place }.memo(&self.audit.by.network, message))
    }

    /// Whether it is noted with its answer alone ([`notes_lines_with_answers`]).
    pub(crate) fn is_noted_with_its_answer(&self) -> bool {
        notes_lines_with_answers(&self.audit.by.network)
    }
}

/// Where an answer is posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTo {
    /// The network the command came from.
    pub network: NetworkName,
    /// The place on it.
    pub to: Target,
    /// The nick that is addressed.
    pub nick: String,
    /// Whether it is posted. Otherwise whoever brought the command there shows the answer, and what would say the same in
    /// that place is left out.
    pub posted: bool,
    /// As what an answer that is not posted is owed until it was given ([`Fleet::given`]); `None`: nobody says whether it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed_under: Option<String>,
}

/// One agent as it can be seen from outside: published after every decision, never waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Its name.
    pub name: AgentName,
    /// Its state, as it is on disk.
    pub agent: Arc<Agent>,
    /// Its running session.
    pub live: Live,
    /// Why it does not begin with the work that it has, where the whole fleet was looked at.
    pub hold: Option<Hold>,
    /// Whether its account lets nobody begin before a time or a person's word, where the whole fleet was looked at.
    pub closed: bool,
}

/// Ends what an earlier herder left, and says what came of it.
pub type EndOrphans = dyn Fn(&[Bereft]) -> Ended + Send + Sync;

/// Ends the processes of an agent, and says which are left.
pub type EndProcesses = dyn Fn(&AgentName) -> Vec<u32> + Send + Sync;

/// What is outside of herder in a simulation: no process is started, and nothing is written into workspaces.
pub struct Simulated {
    /// Stands in for [`crate::runtime::launch()`].
    pub launch: Box<dyn Fn(Launch) -> Driver + Send + Sync>,
    /// Stands in for [`crate::runtime::orphans::end`].
    pub end_orphans: Box<EndOrphans>,
    /// Stands in for the stop ladder over the processes of an agent whose driver does not end them. Answers what is left.
    pub end_processes: Box<EndProcesses>,
    /// Stands in for the system's randomness.
    pub random: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Stands in for the evaluator, where the limits say that one is asked.
    pub judge: Box<Judging>,
    /// Stands in for whoever splits tasks.
    pub split: Box<Splitting>,
}

/// A seam for tests, so that they can make one task panic, or simulate all that is outside.
#[derive(Clone, Default)]
pub struct FaultInjection {
    simulated: Option<Arc<Simulated>>,
    decision: Option<Arc<BeforeDecision>>,
    root: Option<Arc<BeforeRoot>>,
    line: Option<Arc<BeforeLine>>,
}

/// Called before a supervisor decides an input.
type BeforeDecision = dyn Fn(&AgentName, &Input) + Send + Sync;

/// Called before the root supervisor takes in what it is told.
type BeforeRoot = dyn Fn() + Send + Sync;

/// Called before a line of a person is dispatched.
type BeforeLine = dyn Fn(&Inbound) + Send + Sync;

impl FaultInjection {
    /// Calls `before` ahead of every decision.
    #[must_use]
    pub fn new(before: impl Fn(&AgentName, &Input) + Send + Sync + 'static) -> Self {
        Self { decision: Some(Arc::new(before)), ..Self::default() }
    }

    /// Calls `before` ahead of everything that the root supervisor is told.
    #[must_use]
    pub fn of_root(before: impl Fn() + Send + Sync + 'static) -> Self {
        Self { root: Some(Arc::new(before)), ..Self::default() }
    }

    /// Calls `before` ahead of every line of a person.
    #[must_use]
    pub fn of_lines(before: impl Fn(&Inbound) + Send + Sync + 'static) -> Self {
        Self { line: Some(Arc::new(before)), ..Self::default() }
    }

    /// Puts `simulated` in the place of everything outside.
    #[must_use]
    pub fn simulating(self, simulated: Simulated) -> Self {
        Self { simulated: Some(Arc::new(simulated)), ..self }
    }

    fn before(&self, agent: &AgentName, input: &Input) {
        if let Some(before) = &self.decision {
            before(agent, input);
        }
    }

    fn before_root(&self) {
        if let Some(before) = &self.root {
            before();
        }
    }

    pub(crate) fn before_line(&self, line: &Inbound) {
        if let Some(before) = &self.line {
            before(line);
        }
    }
}

impl fmt::Debug for FaultInjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seams = [self.decision.is_some(), self.root.is_some(), self.line.is_some()];
        let set = self.simulated.is_some() || seams.contains(&true);
        f.write_str(if set { "FaultInjection(set)" } else { "FaultInjection(none)" })
    }
}
