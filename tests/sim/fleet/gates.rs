//! The gates of accounts, as they were seen to close and open.

use std::collections::HashMap;
use std::time::Duration;

use herder::core::id::{AccountName, AgentName};
use herder::core::outcome::{Category, Outcome};
use herder::core::time::Timestamp;
use herder::journal::FleetEvent;

/// How often one agent tries, where nobody says how long the limit lasts.
const TRIES_EVERY: Duration = Duration::from_secs(5 * 60);

/// A gate that is not open.
#[derive(Debug, Default)]
struct Gate {
    /// From when on one agent may go through.
    from: Option<Timestamp>,
    /// Who went through to show whether the account works, and is not back.
    tries: Option<AgentName>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Gates(HashMap<AccountName, Gate>);

impl Gates {
    /// A limit closes the gate with the very event that says so, a reset or a probe opens it a little, proof opens it.
    pub(crate) fn session_ended(
        &mut self,
        account: &AccountName,
        agent: &AgentName,
        outcome: &Outcome,
        at: Timestamp,
    ) {
        if outcome.category == Category::Quota {
            let gate = self.0.entry(account.clone()).or_default();
            if gate.tries.as_ref() == Some(agent) {
                // It has shown that nothing has changed: nobody follows it before its reset, or before the next try is due.
                gate.from = outcome.resets_at.filter(|reset| *reset > at).or(Some(at.after(TRIES_EVERY)));
            }
        }
        if let Some(gate) = self.0.get_mut(account)
            && gate.tries.as_ref() == Some(agent)
        {
            gate.tries = None;
        }
    }

    /// Whoever was to show whether an account works is gone with herder, and its process is ended before anything begins.
    pub(crate) fn herder_is_gone(&mut self) {
        self.0.values_mut().for_each(|gate| gate.tries = None);
    }

    /// The account is closed until a person says otherwise.
    pub(crate) fn refused(&mut self, account: &AccountName) {
        let gate = self.0.entry(account.clone()).or_default();
        gate.from = None;
    }

    pub(crate) fn heard(&mut self, event: &FleetEvent, at: Timestamp) {
        match event {
            FleetEvent::AccountExhausted { account, probe_at, .. } => {
                self.0.entry(account.clone()).or_default().from = *probe_at;
            }
            FleetEvent::AccountBlocked { account, .. } => self.refused(account),
            FleetEvent::AccountTried { account, .. } => {
                self.0.entry(account.clone()).or_default().from = Some(at);
            }
            FleetEvent::AccountProved { account, .. } => {
                self.0.remove(account);
            }
            _ => {}
        }
    }

    pub(crate) fn nothing_begins_past_a_closed_gate(
        &mut self,
        account: &AccountName,
        agent: &AgentName,
        now: Timestamp,
    ) -> Result<(), String> {
        let Some(gate) = self.0.get_mut(account) else { return Ok(()) };
        if gate.from.is_none_or(|from| from > now) {
            return Err(format!("{agent} begins although {account} is closed until {:?}", gate.from));
        }
        if let Some(other) = &gate.tries {
            return Err(format!("{agent} begins while {other} shows whether {account} works"));
        }
        gate.tries = Some(agent.clone());
        Ok(())
    }
}
