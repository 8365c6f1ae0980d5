//! The place where an agent's sessions run, as its supervisor sees it.

use std::collections::BTreeSet;

use super::link::Link;
use super::wire::SessionKey;
use super::{Machine, prefix};
use crate::core::id::AgentName;
use crate::runtime::grants::Pass;
use crate::runtime::{Driver, Launch, Stay};

/// The place where sessions run.
#[derive(Debug)]
pub enum Place {
    /// This process: orders and reports are two channels.
    Embedded(Machine),
    /// A process of its own, which outlives this one.
    Remote(Link),
}

impl Place {
    /// Starts a session there, with its right to use herder's tools, if they are served.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn launch(&self, launch: Launch) -> (Driver, Option<Pass>) {
        match self {
            Self::Embedded(machine) => machine.launch(launch),
            Self::Remote(link) => (link.launch(launch), None),
        }
    }

    /// Gives a process that has stayed another session, with its right to use herder's tools.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn go_on(&self, stay: Stay, launch: Launch) -> (Driver, Option<Pass>) {
        match self {
            Self::Embedded(machine) => machine.go_on(stay, launch),
            // No process stays there.
            Self::Remote(link) => (link.launch(launch), None),
        }
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        match self {
            Self::Embedded(machine) => machine.withhold(more),
            // The runner has read an earlier configuration: each launch names them.
            Self::Remote(link) => link.withhold(more),
        }
    }

    /// Returns the number of open tool calls of an agent's session.
    #[must_use]
    pub fn calls(&self, agent: &AgentName) -> usize {
        match self {
            Self::Embedded(machine) => machine.calls(agent),
            // Its calls end at the runner.
            Self::Remote(_) => 0,
        }
    }

    /// Leaves it: sessions in another process go on.
    pub async fn leave(&self) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link) => link.close().await,
        }
    }

    /// Returns true if it is another process, which keeps reports until they are heard.
    #[must_use]
    pub const fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    /// Acknowledges the reports of a session up to this number: their consequences are on disk.
    pub fn heard(&self, of: &SessionKey, up_to: u64) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link) => link.heard(of, up_to),
        }
    }

    /// Returns the beginning of the markers of its processes.
    #[must_use]
    pub fn prefix(&self, journal: &str) -> String {
        match self {
            Self::Embedded(_) => format!("{journal}/"),
            Self::Remote(_) => prefix(journal),
        }
    }
}
