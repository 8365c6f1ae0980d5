//! The shell around the core: one supervisor task per agent that alone owns its state, one root that owns them all.

use std::sync::Arc;

use crate::chat::LinkReport;
use crate::core::agent::Agent;
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::Control;
use crate::core::notice::{Notice, Refusal};
use crate::core::spec::AgentSpec;
use crate::core::work::WorkKind;
use crate::journal::AuditEntry;
use crate::outbox::Target;
use crate::runtime::Live;

/// A command as it was asked: the record it leaves, and where its answer goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What goes to the audit trail with the decision.
    pub audit: AuditEntry,
    /// Where the answer is posted; `None`: the caller prints it (local socket, tests).
    pub answer: Option<AnswerTo>,
}

/// Where an answer is posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerTo {
    /// The network the command came from.
    pub network: NetworkName,
    /// The place on it.
    pub to: Target,
    /// The nick that is addressed.
    pub nick: String,
}

/// One agent as it can be seen from outside: published after every decision, never waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Its name.
    pub name: AgentName,
    /// Its state.
    pub agent: Arc<Agent>,
    /// Its running session.
    pub live: Live,
}

/// A handle to the whole fleet, for commands and networks.
#[derive(Debug, Clone)]
pub struct Fleet {}

impl Fleet {
    /// All agents that are not removed, by name.
    #[must_use]
    pub fn agents(&self) -> Vec<View> {
        todo!()
    }

    /// One agent.
    #[must_use]
    pub fn view(&self, _agent: &AgentName) -> Option<View> {
        todo!()
    }

    /// How the networks stand.
    #[must_use]
    pub fn links(&self) -> Vec<LinkReport> {
        todo!()
    }

    /// Asks one agent for something; resolves when it was decided and is on disk (`Stop`, `Remove`, `Pause { now }` and
    /// `Abort` do not wait for the process to be gone).
    ///
    /// With `asked.answer` the answer is already in the outbox, in the same transaction as the decision; a refusal never is.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn control(
        &self,
        _agent: &AgentName,
        _control: Control,
        _asked: Asked,
    ) -> Result<Notice, Refusal> {
        todo!()
    }

    /// Gives an agent work: [`Fleet::control`] with a fresh id.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn give(
        &self,
        _agent: &AgentName,
        _kind: WorkKind,
        _text: String,
        _asked: Asked,
    ) -> Result<Notice, Refusal> {
        todo!()
    }

    /// Adds an agent.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn add(&self, _spec: AgentSpec, _asked: Asked) -> Result<Notice, Refusal> {
        todo!()
    }

    /// Removes an agent: its session is stopped, its history kept.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn remove(&self, _agent: &AgentName, _asked: Asked) -> Result<Notice, Refusal> {
        todo!()
    }

    /// Stops every agent now; resolves when every process tree was verified, with the number of processes left.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn stop_all(&self, _asked: Asked) -> Result<Notice, Refusal> {
        todo!()
    }

    /// Records an accepted read-only command; resolves when it is on disk.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written.
    pub async fn record(&self, _asked: &Asked) -> Result<(), Refusal> {
        todo!()
    }
}
