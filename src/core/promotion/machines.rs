//! Machines on which agents run, other than the bot's.

use serde::{Deserialize, Serialize};

use super::{Hold, Promotion};
use crate::id::{AgentName, RunnerName};

/// Reason why no session begins on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shut {
    /// It does not answer.
    Away,
    /// A person has asked for it.
    Drained,
}

impl Promotion {
    /// Sets the machine that an agent runs on; `None`: that of the bot.
    pub fn runs_on(&mut self, agent: &AgentName, runner: Option<&RunnerName>) {
        match runner {
            Some(runner) => drop(self.runners.insert(agent.clone(), runner.clone())),
            None => drop(self.runners.remove(agent)),
        }
    }

    /// Sets whether sessions begin on a machine.
    pub fn set_runner(&mut self, runner: &RunnerName, shut: Option<Shut>) {
        self.open.insert(runner.clone(), shut);
    }

    /// Returns why nothing of the agent begins on its machine.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn reaches(&self, agent: &AgentName) -> Result<(), Hold> {
        let Some(runner) = self.runners.get(agent) else { return Ok(()) };
        match self.open.get(runner).copied().unwrap_or(Some(Shut::Away)) {
            Some(shut) => Err(Hold::Runner { runner: runner.clone(), shut }),
            None => Ok(()),
        }
    }
}
