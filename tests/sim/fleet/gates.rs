//! The gates of accounts, as the events open and close them.

use std::collections::HashMap;
use std::time::Duration;

use herder::core::id::{AccountName, AgentName};
use herder::core::outcome::{Category, Outcome};
use herder::core::quota::{QuotaRules, Resume};
use herder::core::time::Timestamp;
use herder::journal::FleetEvent;

/// The interval between tries of one agent where the service does not say how long the limit lasts.
const TRIES_EVERY: Duration = Duration::from_secs(5 * 60);

/// A gate that is not open.
#[derive(Debug, Default)]
struct Gate {
    /// No agent passes before a person allows it.
    blocked: bool,
    /// The time from which on one agent may try whether the account works; `None`: when a person says so.
    half: Option<Option<Timestamp>>,
    /// A person has said that one may, at any hour.
    said: bool,
    /// True if a usage limit closed it.
    limit: bool,
    /// The agent that passed to try whether the account works, and has no result yet.
    tries: Option<AgentName>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    gates: HashMap<AccountName, Gate>,
    /// The rules for accounts that have reached their limit.
    rules: QuotaRules,
    /// The time since which these rules hold.
    since: Timestamp,
}

impl Gates {
    /// Sets other rules from now on.
    pub(crate) fn rule(&mut self, rules: QuotaRules, now: Timestamp) {
        (self.rules, self.since) = (rules, now);
    }

    /// Records the end of a session: a limit closes the gate with the very event that reports it, a reset or a probe
    /// opens it a little, proof opens it.
    pub(crate) fn session_ended(
        &mut self,
        account: &AccountName,
        agent: &AgentName,
        outcome: &Outcome,
        at: Timestamp,
    ) {
        if outcome.category == Category::Quota {
            let gate = self.gates.entry(account.clone()).or_default();
            if gate.tries.as_ref() == Some(agent) {
                // Its try has shown that nothing has changed: no agent follows before the reset, or before the next
                // try is due.
                let again = outcome.resets_at.filter(|reset| *reset > at).or(Some(at.after(TRIES_EVERY)));
                (gate.half, gate.said) = (Some(again), false);
            } else if gate.half.is_none() {
                gate.half = Some(None);
            }
            gate.limit = true;
        }
        if let Some(gate) = self.gates.get_mut(account)
            && gate.tries.as_ref() == Some(agent)
        {
            gate.tries = None;
        }
    }

    /// Forgets the agents that were to try an account: they are gone with herder, and their processes are ended
    /// before any session begins.
    pub(crate) fn herder_is_gone(&mut self) {
        self.gates.values_mut().for_each(|gate| gate.tries = None);
    }

    /// Records that an agent's supervisor is given up and its process ended: it cannot try an account any more.
    pub(crate) fn is_lost(&mut self, agent: &AgentName) {
        let tries = self.gates.values_mut().filter(|gate| gate.tries.as_ref() == Some(agent));
        tries.for_each(|gate| gate.tries = None);
    }

    /// Closes the account until a person says otherwise.
    pub(crate) fn refused(&mut self, account: &AccountName) {
        let gate = self.gates.entry(account.clone()).or_default();
        gate.blocked = true;
        if !gate.limit {
            gate.half = None;
        }
    }

    pub(crate) fn heard(&mut self, event: &FleetEvent, at: Timestamp) -> Result<(), String> {
        match event {
            FleetEvent::AccountExhausted { account, probe_at, ask_at, .. } => {
                self.it_goes_on_by_the_rules(account, *probe_at, *ask_at, at)?;
                let gate = self.gates.entry(account.clone()).or_default();
                (gate.half, gate.said, gate.limit) = (Some(*probe_at), false, true);
            }
            FleetEvent::AccountAsked { account } if self.is_quiet(at) && self.counts_since_before(at) => {
                return Err(format!("people are asked for {account} in quiet hours"));
            }
            FleetEvent::AccountBlocked { account, .. } => self.refused(account),
            FleetEvent::AccountOpened { account, .. } => {
                if let Some(gate) = self.gates.get_mut(account) {
                    gate.blocked = false;
                }
            }
            FleetEvent::AccountTried { account, .. } => {
                let gate = self.gates.entry(account.clone()).or_default();
                (gate.half, gate.said) = (Some(Some(at)), true);
            }
            FleetEvent::AccountProved { account, .. } => {
                if let Some(gate) = self.gates.get_mut(account) {
                    (gate.half, gate.said, gate.limit, gate.tries) = (None, false, false, None);
                }
            }
            _ => {}
        }
        self.gates.retain(|_, gate| gate.blocked || gate.half.is_some());
        Ok(())
    }

    /// Checks a closed gate: after a limit, herder tries by itself, after a question to a person, or on a person's
    /// command.
    fn it_goes_on_by_the_rules(
        &self,
        account: &AccountName,
        probe_at: Option<Timestamp>,
        ask_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<(), String> {
        if !self.counts_since_before(at) {
            return Ok(());
        }
        let right = match self.rules.resume {
            Resume::Auto => probe_at.is_some() && ask_at.is_none(),
            Resume::Ask => probe_at.is_none() && ask_at.is_some(),
            Resume::Never => probe_at.is_none() && ask_at.is_none(),
        };
        let due = probe_at.or(ask_at);
        if !right || due.is_some_and(|due| self.is_quiet(due) || due < at) {
            let rules = &self.rules;
            return Err(format!("{account} goes on at {probe_at:?} or asks at {ask_at:?}, by {rules:?}"));
        }
        Ok(())
    }

    /// Returns whether these rules have held for a moment: a decision just before them is still being carried out.
    fn counts_since_before(&self, at: Timestamp) -> bool {
        self.since.after(Duration::from_secs(1)) < at
    }

    /// Returns whether these are quiet hours: whole hours in UTC.
    fn is_quiet(&self, at: Timestamp) -> bool {
        let Some(quiet) = &self.rules.quiet else { return false };
        let hour = at.as_millis().div_euclid(3_600_000).rem_euclid(24);
        let (from, to) = (i64::from(quiet.from.hour()), i64::from(quiet.to.hour()));
        if from < to { (from..to).contains(&hour) } else { hour >= from || hour < to }
    }

    pub(crate) fn nothing_begins_past_a_closed_gate(
        &mut self,
        account: &AccountName,
        agent: &AgentName,
        now: Timestamp,
    ) -> Result<(), String> {
        let quiet = self.is_quiet(now) && self.counts_since_before(now);
        let Some(gate) = self.gates.get_mut(account) else { return Ok(()) };
        if gate.blocked {
            return Err(format!("{agent} begins although {account} is closed until a person opens it"));
        }
        let Some(from) = gate.half else { return Ok(()) };
        if from.is_none_or(|from| from > now) {
            return Err(format!("{agent} begins although {account} is closed until {from:?}"));
        }
        if quiet && gate.limit && !gate.said {
            return Err(format!("{agent} tries {account} in quiet hours, and nobody said so"));
        }
        if let Some(other) = &gate.tries {
            return Err(format!("{agent} begins while {other} shows whether {account} works"));
        }
        gate.tries = Some(agent.clone());
        Ok(())
    }
}
