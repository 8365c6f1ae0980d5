//! The place where an agent's sessions run, as its supervisor sees it.

use std::collections::BTreeSet;

use super::Machine;
use crate::core::id::AgentName;
use crate::runtime::grants::Pass;
use crate::runtime::{Driver, Launch};

/// The place where sessions run.
#[derive(Debug)]
pub enum Place {
    /// This process: orders and reports are two channels.
    Embedded(Machine),
}

impl Place {
    /// Starts a session there, with its right to use herder's tools, if they are served.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn launch(&self, launch: Launch) -> (Driver, Option<Pass>) {
        match self {
            Self::Embedded(machine) => machine.launch(launch),
        }
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        match self {
            Self::Embedded(machine) => machine.withhold(more),
        }
    }

    /// Returns the number of open tool calls of an agent's session.
    #[must_use]
    pub fn calls(&self, agent: &AgentName) -> usize {
        match self {
            Self::Embedded(machine) => machine.calls(agent),
        }
    }
}
