//! The place where an agent's sessions run, as its supervisor sees it.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::wire::SessionKey;
use super::{Machine, prefix};
use crate::core::check::Evidence;
use crate::core::detail::{Detail, Own};
use crate::core::id::{AgentName, SessionId};
use crate::core::review::Merged;
use crate::runtime::check::Run;
use crate::runtime::git::checkout::Checkouts;
use crate::runtime::grants::{Grants, Pass};
use crate::runtime::merge;
use crate::runtime::{Driver, Launch, Stay};

/// The place where sessions run.
#[derive(Debug)]
pub enum Place {
    /// This process: orders and reports are two channels.
    Embedded(Machine),
    /// A process of its own, which outlives this one; with the calls of herder's tools that it passes on, if they are
    /// served.
    Remote(Link, Option<Grants>),
}

impl Place {
    /// Starts a session there, with its right to use herder's tools, if they are served.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn launch(&self, launch: Launch) -> (Driver, Option<Pass>) {
        match self {
            Self::Embedded(machine) => machine.launch(launch),
            Self::Remote(link, _) => {
                let pass = self.pass(&launch.agent, launch.session);
                (link.launch(launch), pass)
            }
        }
    }

    /// Gives a session that goes on in another process its right to use herder's tools, if they are served.
    #[must_use]
    pub fn pass(&self, agent: &AgentName, session: SessionId) -> Option<Pass> {
        match self {
            Self::Embedded(_) => None,
            // There is no file that could fail.
            Self::Remote(_, tools) => tools.as_ref()?.issue(agent, session, false).ok(),
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
            Self::Remote(..) => self.launch(launch),
        }
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        match self {
            Self::Embedded(machine) => machine.withhold(more),
            // The runner has read an earlier configuration: each launch names them.
            Self::Remote(link, _) => link.withhold(more),
        }
    }

    /// Returns the number of open tool calls of an agent's session.
    #[must_use]
    pub fn calls(&self, agent: &AgentName) -> usize {
        match self {
            Self::Embedded(machine) => machine.calls(agent),
            Self::Remote(_, tools) => tools.as_ref().map_or(0, |tools| tools.calls(agent)),
        }
    }

    /// Returns the clones of tasks there, for one act; `None` if they are in another process, which knows none.
    #[must_use]
    pub(crate) fn checkouts(&self, marker: String) -> Option<Checkouts> {
        match self {
            Self::Embedded(machine) => Some(machine.checkouts(marker)),
            Self::Remote(..) => None,
        }
    }

    /// Runs the check of a task there.
    ///
    /// # Errors
    /// The clone cannot be read, the command cannot be started, or clones are in another process, which knows none.
    pub(crate) async fn check(&self, launch: Launch, run: Run) -> Result<Option<Evidence>, Detail> {
        match self {
            Self::Embedded(machine) => Box::pin(machine.check(launch, run)).await,
            Self::Remote(..) => Err(Own::DriverGone.into()),
        }
    }

    /// Merges the accepted work of a task there; `None` if it was stopped before the base moved.
    ///
    /// # Errors
    /// The base cannot be moved, git or the check cannot be run, or clones are in another process, which knows none.
    pub(crate) async fn merge(
        &self,
        launch: Launch,
        run: merge::Run,
        stop: CancellationToken,
    ) -> Option<Result<Merged, Detail>> {
        match self {
            Self::Embedded(machine) => Box::pin(machine.merge(launch, run, stop)).await,
            Self::Remote(..) => Some(Err(Own::DriverGone.into())),
        }
    }

    /// Removes what a killed herder has left of its looks at repositories. Its processes must be gone.
    pub(crate) async fn sweep(&self) {
        let checkouts = match self {
            Self::Embedded(machine) => machine.checkouts(String::new()),
            Self::Remote(..) => return,
        };
        if let Err(reason) = checkouts.sweep().await {
            tracing::warn!(%reason, "what a killed herder has left of its looks at repositories stays");
        }
    }

    /// Leaves it: sessions in another process go on.
    pub async fn leave(&self) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link, _) => link.close().await,
        }
    }

    /// Returns true if it is another process, which keeps reports until they are heard.
    #[must_use]
    pub const fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(..))
    }

    /// Acknowledges the reports of a session up to this number: their consequences are on disk.
    pub fn heard(&self, of: &SessionKey, up_to: u64) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link, _) => link.heard(of, up_to),
        }
    }

    /// Returns the beginnings of the markers of all agents' processes on this machine.
    #[must_use]
    pub fn prefixes(&self, journal: &str) -> Vec<String> {
        match self {
            Self::Embedded(_) => vec![format!("{journal}/")],
            // Others may have been started before a runner was configured.
            Self::Remote(..) => vec![format!("{journal}/"), prefix(journal)],
        }
    }

    /// Returns the beginning of the markers of its processes.
    #[must_use]
    pub fn prefix(&self, journal: &str) -> String {
        match self {
            Self::Embedded(_) => format!("{journal}/"),
            Self::Remote(..) => prefix(journal),
        }
    }
}
