//! The fleet's state for `/metrics`: only what supervisors have published, so that reading it waits for no supervisor.

use std::sync::{Arc, PoisonError};

use super::Fleet;
use crate::core::agent::{Agent, Phase};
use crate::core::id::AgentName;
use crate::core::ledger::{Scope, Used};
use crate::core::machine::Taken;
use crate::core::time::Timestamp;
use crate::core::usage::Standing;

impl Fleet {
    /// Returns the state of each agent that is not removed, as its supervisor published it last.
    #[must_use]
    pub fn published(&self) -> Vec<(AgentName, Arc<Agent>)> {
        let agents = self.shared.published().into_iter();
        agents.filter(|it| it.agent.phase != Phase::Removed).map(|it| (it.name, it.agent)).collect()
    }

    /// Returns the memory of each session that is limited, as its driver reported it last.
    #[must_use]
    pub fn taken(&self) -> Vec<(AgentName, Taken)> {
        let lives = self.shared.lives.read().unwrap_or_else(PoisonError::into_inner);
        // The sender is gone with the session.
        let runs = lives.iter().filter(|(_, live)| live.has_changed().is_ok());
        runs.filter_map(|(agent, live)| Some((agent.clone(), live.borrow().memory?))).collect()
    }

    /// Returns the use of each cap that agents share, given the usage of `agents`.
    #[must_use]
    pub fn shared_caps(&self, agents: &[(AgentName, Arc<Agent>)], now: Timestamp) -> Vec<(Scope, Standing)> {
        let caps = &self.shared.policy().caps;
        let fleet = (!caps.fleet.is_none()).then_some(None);
        let accounts = caps.accounts.iter().filter(|(_, caps)| !caps.is_none());
        let scopes = fleet.into_iter().chain(accounts.map(|(account, _)| Some(account.clone())));
        scopes
            .flat_map(|scope: Scope| {
                let there = Used::of(agents.iter().map(|(_, agent)| &agent.books), &scope, now);
                let ledger = self.shared.ledger.read().unwrap_or_else(PoisonError::into_inner);
                let standings = ledger.shared(there, caps, scope.clone(), now).caps;
                standings.into_iter().map(move |standing| (scope.clone(), standing))
            })
            .collect()
    }
}
