//! The shell around the core: one supervisor task per agent that alone owns its state, and one root that owns them
//! all.
//!
//! [`start()`] reads the journal, ends processes that an earlier herder left running, and starts a supervisor for
//! every agent. [`Fleet`] is the handle that commands and networks use. The rules are in [`crate::core`], the
//! processes in [`crate::runtime`], the texts in [`crate::l10n`].

mod accounts;
mod adopting;
mod board;
mod configure;
mod fleet;
mod gates;
mod judges;
mod leading;
mod owing;
mod posting;
mod published;
mod restart;
mod root;
mod runners;
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
pub use owing::{Replied, Ungiven};
pub use posting::Listener;
pub use runners::{RunnerView, Runners, RunnersError};
pub use start::{CutShort, Settings, StartError, start, start_unless};
pub use stopping::{Resumed, StoppingAll};
pub use whispers::Offered;

use serde::{Deserialize, Serialize};

use crate::core::agent::Agent;
use crate::core::id::{AgentName, NetworkName, RunnerName, WorkId};
use crate::core::input::Input;
use crate::core::link::notes_lines_with_answers;
use crate::core::post::Target;
use crate::core::promotion::Hold;
use crate::core::speech::Inbound;
use crate::journal::{AuditEntry, Heard, Memo};
use crate::runtime::orphans::{Bereft, Ended};
use crate::runtime::{Driver, Launch, Live};

use root::ToRoot;
use shared::{Handle, Shared};

/// Network name under which the answers to commands over HTTP are remembered.
const HTTP: &str = crate::core::link::HTTP_NETWORK;

/// A command as it was given: its record, and the destination of its reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Entry for the audit trail, which is recorded with the decision.
    pub audit: AuditEntry,
    /// Destination of the reply; `None`: the caller prints it (local socket, tests).
    pub answer: Option<AnswerTo>,
    /// Id of the chat message with the command, if the network has ids. It is remembered with the decision
    /// ([`crate::journal::Heard`]), and the reply quotes it.
    pub message: Option<String>,
}

impl Asked {
    /// Returns the memo by which the chat message of the command is not handled twice; `None` if it has no id.
    pub(crate) fn heard(&self, agent: Option<AgentName>, work: Option<WorkId>) -> Option<Memo> {
        let message = self.message.as_deref()?;
        let place = Some(self.audit.place.clone());
        let network = if self.is_of_http() { &NetworkName::from(HTTP) } else { &self.audit.by.network };
        Some(Heard { agent, work, place }.memo(network, message))
    }

    /// Returns true if the command came over HTTP, whatever network its author is known on.
    fn is_of_http(&self) -> bool {
        self.audit.place == crate::core::link::HTTP_NETWORK
    }

    /// Returns true if the command's chat message is remembered only together with its reply
    /// ([`notes_lines_with_answers`]).
    pub(crate) fn is_noted_with_its_answer(&self) -> bool {
        notes_lines_with_answers(&self.audit.by.network)
    }
}

/// Destination of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTo {
    /// The network that the command came from.
    pub network: NetworkName,
    /// The channel or person on the network that gets the reply.
    pub to: Target,
    /// Nick that the reply addresses.
    pub nick: String,
    /// True if the reply is posted. Otherwise the adapter that brought the command shows the reply, and posts in that
    /// place with the same content are left out.
    pub posted: bool,
    /// Key under which a reply that is not posted is stored until it was given ([`Fleet::given`]); `None` if the
    /// adapter does not confirm that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed_under: Option<String>,
}

/// An agent's state as other parts of herder see it: published after every decision, and read without waiting.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Name of the agent.
    pub name: AgentName,
    /// State of the agent as it is on disk.
    pub agent: Arc<Agent>,
    /// State of the agent's running session, as its driver reports it.
    pub live: Live,
    /// Reason why the agent does not start its work; `None` also if the view was made without looking at the whole
    /// fleet.
    pub hold: Option<Hold>,
    /// True if the agent's account lets no session start before a time or a person's decision; false also if the view
    /// was made without looking at the whole fleet.
    pub closed: bool,
    /// Machine of the agent's open session, or else of its next one; `None`: that of the bot. A change of the settings
    /// moves no session that is open.
    pub runner: Option<RunnerName>,
}

/// Function that ends processes which an earlier herder left, and returns the result; for simulations.
pub type EndOrphans = dyn Fn(&[Bereft]) -> Ended + Send + Sync;

/// Function that ends the processes of an agent, and returns the ids of those that are left; for simulations.
pub type EndProcesses = dyn Fn(&AgentName) -> Vec<u32> + Send + Sync;

/// Replacements for everything outside of herder in a simulation: no process is started, and nothing is written to
/// workspaces.
pub struct Simulated {
    /// Replacement for [`crate::runtime::launch()`].
    pub launch: Box<dyn Fn(Launch) -> Driver + Send + Sync>,
    /// Replacement for [`crate::runtime::orphans::end`].
    pub end_orphans: Box<EndOrphans>,
    /// Replacement for the stop ladder on an agent whose driver does not end its processes; returns the ids of those
    /// that are left.
    pub end_processes: Box<EndProcesses>,
    /// Replacement for the system's random numbers.
    pub random: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Replacement for the evaluator, if the policy asks one.
    pub judge: Box<Judging>,
    /// Replacement for the program that splits tasks.
    pub split: Box<Splitting>,
}

/// Hooks for tests: they can make one task panic, or simulate everything outside.
#[derive(Clone, Default)]
pub struct FaultInjection {
    simulated: Option<Arc<Simulated>>,
    decision: Option<Arc<BeforeDecision>>,
    root: Option<Arc<BeforeRoot>>,
    line: Option<Arc<BeforeLine>>,
}

/// Function that tests have called before a supervisor decides an input.
type BeforeDecision = dyn Fn(&AgentName, &Input) + Send + Sync;

/// Function that tests have called before the root supervisor handles a message.
type BeforeRoot = dyn Fn() + Send + Sync;

/// Function that tests have called before a person's line is dispatched.
type BeforeLine = dyn Fn(&Inbound) + Send + Sync;

impl FaultInjection {
    /// Returns hooks that call `before` ahead of every decision of a supervisor.
    #[must_use]
    pub fn new(before: impl Fn(&AgentName, &Input) + Send + Sync + 'static) -> Self {
        Self { decision: Some(Arc::new(before)), ..Self::default() }
    }

    /// Returns hooks that call `before` ahead of every message to the root supervisor.
    #[must_use]
    pub fn of_root(before: impl Fn() + Send + Sync + 'static) -> Self {
        Self { root: Some(Arc::new(before)), ..Self::default() }
    }

    /// Returns hooks that call `before` ahead of every line of a person.
    #[must_use]
    pub fn of_lines(before: impl Fn(&Inbound) + Send + Sync + 'static) -> Self {
        Self { line: Some(Arc::new(before)), ..Self::default() }
    }

    /// Returns true if everything outside of herder is simulated.
    fn simulates(&self) -> bool {
        self.simulated.is_some()
    }

    /// Returns the hooks with `simulated` in place of everything outside of herder.
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
