//! The fleet as numbers show it: published states alone, so that no supervisor and no turn is waited for.

use std::sync::{Arc, PoisonError};

use super::Fleet;
use crate::core::agent::{Agent, Phase};
use crate::core::id::AgentName;
use crate::core::ledger::{Scope, Used};
use crate::core::time::Timestamp;
use crate::core::usage::Standing;

impl Fleet {
    /// All agents that are not removed, by name, as their supervisors published them last.
    #[must_use]
    pub fn published(&self) -> Vec<(AgentName, Arc<Agent>)> {
        let agents = self.shared.published().into_iter();
        agents.filter(|it| it.agent.phase != Phase::Removed).map(|it| (it.name, it.agent)).collect()
    }

    /// The caps that agents share and how they stand, by the books of `agents`.
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
