//! Machines on which agents run, other than the bot's.

use serde::{Deserialize, Serialize};

use super::{Hold, Place, Promotion, State};
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
    /// Sets the machine that an agent runs on; `None`: that of the bot. Returns true if it is another one than before.
    pub fn runs_on(&mut self, agent: &AgentName, runner: Option<&RunnerName>) -> bool {
        let before = match runner {
            Some(runner) => self.runners.insert(agent.clone(), runner.clone()),
            None => self.runners.remove(agent),
        };
        before.as_ref() != runner
    }

    /// Sets whether sessions begin on a machine.
    pub fn set_runner(&mut self, runner: &RunnerName, shut: Option<Shut>) {
        self.shut.insert(runner.clone(), shut);
    }

    /// Returns why nothing of the agent begins on its machine.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn reaches(&self, agent: &AgentName) -> Result<(), Hold> {
        let Some(runner) = self.runners.get(agent) else { return Ok(()) };
        match self.shut.get(runner).copied().unwrap_or(Some(Shut::Away)) {
            Some(shut) => Err(Hold::Runner { runner: runner.clone(), shut }),
            None => Ok(()),
        }
    }

    /// Returns the number of other agents at work on the bot's machine.
    pub(super) fn active_here_but(&self, agent: &AgentName) -> usize {
        let is_active = |(name, place): &(&AgentName, &Place)| {
            *name != agent && !self.runners.contains_key(*name) && !matches!(place.state, State::Wants(_))
        };
        self.places.iter().filter(is_active).count()
    }
}
