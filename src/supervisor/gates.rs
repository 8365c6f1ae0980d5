//! Accounts that are closed until one agent has probed them: at a usage limit, or after a person resumed an agent of an
//! account that was closed for billing, login or budget. The root alone opens them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::root::{Root, ToRoot, account_of};
use super::shared::Published;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::id::{AccountName, AgentName};
use crate::core::input::Input;
use crate::core::notice::{Audience, Notice};
use crate::core::outcome::Category;
use crate::core::promotion::Gate;
use crate::core::quota::{JITTER_MAX, QuotaRules};
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::core::{Owed, OwedBody};
use crate::journal::{CommitError, FleetEvent, FleetState};

/// Returns the state of each account that is not open, as it applies to starts of sessions. An account closed by a
/// failure lets no session start, even if it could be probed.
pub(super) fn of(fleet: &FleetState) -> BTreeMap<AccountName, Gate> {
    let blocked = fleet.blocked.iter().map(|(account, blocked)| {
        (account.clone(), Gate::closed(blocked.category, blocked.agent.clone(), blocked.since))
    });
    fleet.gates.clone().into_iter().chain(blocked).collect()
}

/// Returns true if an event closes, opens or changes the state of an account.
pub(super) fn moves(event: &FleetEvent) -> bool {
    matches!(
        event,
        FleetEvent::AccountBlocked { .. }
            | FleetEvent::AccountOpened { .. }
            | FleetEvent::AccountExhausted { .. }
            | FleetEvent::AccountAsked { .. }
            | FleetEvent::AccountTried { .. }
            | FleetEvent::AccountProved { .. }
            | FleetEvent::ClockSet { .. }
    )
}

/// Returns the account for which an event stores a state of its own (usage limit reached, or one agent may probe). The
/// caller checks that it had none before.
pub(super) fn closes(event: &FleetEvent) -> Option<&AccountName> {
    match event {
        FleetEvent::AccountExhausted { account, .. } | FleetEvent::AccountTried { account, .. } => {
            Some(account)
        }
        _ => None,
    }
}

impl Root {
    /// Ends the closing of an account that an agent's supervisor made at once: the root records it now, or knows that
    /// it does not matter.
    pub(super) fn takes_in(&self, told: &ToRoot) {
        let turns = &self.shared.turns;
        match told {
            ToRoot::AccountBlocked { agent, account, .. } | ToRoot::Exhausted { agent, account, .. } => {
                turns.heard(agent, Some(account));
            }
            // The closing of a supervisor that failed before it could report it: its agent is looked at again, or is
            // gone.
            ToRoot::Rebuilt { agent } | ToRoot::GaveUp { agent, .. } | ToRoot::Retired { agent } => {
                turns.heard(agent, None);
            }
            _ => {}
        }
    }

    /// Sends a tick to agents that wait for accounts which were closed just now, since their tasks go to other agents
    /// after a while.
    pub(super) fn tell_waiting(&self, closed: &[AccountName]) {
        if self.shared.policy().reassign_after.is_zero() {
            return;
        }
        for agent in closed.iter().flat_map(|account| self.shared.turns.waiting(account)) {
            self.shared.input(&agent, Input::Tick);
        }
    }

    /// Returns a random delay, so that not all agents that wait for the same reset come at the same moment.
    fn jitter(&self) -> Duration {
        let millis = u64::try_from(JITTER_MAX.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.shared.random() % (millis + 1))
    }

    /// Records that the wall clock was set while herder runs, and tells people once.
    pub(super) async fn clock_set(&mut self, by: i64) -> Result<(), CommitError> {
        self.shared.turns.clock_set(by);
        let notice = Notice::ClockSet { ahead: by > 0, by: Duration::from_millis(by.unsigned_abs()) };
        let posts = self.shared.posting.announced(notice, clock::now());
        self.record(vec![FleetEvent::ClockSet { by }], posts).await
    }

    /// Records that an agent has met the usage limit of its account. `probed`: it was probing whether the account
    /// works.
    pub(super) async fn exhausted(
        &mut self,
        agent: AgentName,
        account: AccountName,
        resets_at: Option<Timestamp>,
        probed: bool,
    ) -> Result<(), CommitError> {
        let now = clock::now();
        // The wait for a reset that has passed has a length and no time of day for its end.
        let resets_at = resets_at.filter(|reset| *reset > now);
        let known = self.fleet.gates.get(&account).filter(|gate| gate.category == Category::Quota);
        let first = known.is_none();
        if known.is_some_and(|gate| !QuotaRules::says_more(gate, probed, resets_at, now)) {
            return Ok(());
        }
        let (probe_at, ask_at) = self.shared.policy().quota.closing(resets_at, now, self.jitter());
        let mut posts = Vec::new();
        // The alert is posted once per closing, since a failed probe is expected until the account works. It is
        // repeated for a person who asked for the probe and would otherwise wait for nothing.
        let waited_for = probed && probe_at.is_none() && ask_at.is_none();
        if first || waited_for {
            let notice = Notice::AccountExhausted {
                account: account.clone(),
                agent: agent.clone(),
                resets_at,
                probe_at,
                ask_at,
            };
            posts = self.shared.posting.alert(notice, now, None);
        }
        if first {
            let line = format!("QUOTA-EXHAUSTED {}", one_word(&account));
            let owed = Owed { audience: Audience::Work, body: OwedBody::Notice(Notice::WorkLine { line }) };
            posts.extend(self.shared.posting.owed(&agent, None, vec![owed], now));
        }
        let event = FleetEvent::AccountExhausted { account, agent, resets_at, probe_at, ask_at };
        self.record(vec![event], posts).await
    }

    /// Records that a session has shown that its account works, which opens the account for the others.
    pub(super) async fn proved(&mut self, agent: AgentName, account: AccountName) -> Result<(), CommitError> {
        let Some(gate) = self.fleet.gates.get(&account) else { return Ok(()) };
        let mut posts = Vec::new();
        // After a person opened the account, that was posted then.
        if gate.category == Category::Quota {
            let notice = Notice::AccountWorks { account: account.clone(), agent: agent.clone() };
            posts = self.shared.posting.alert(notice, clock::now(), None);
        }
        self.record(vec![FleetEvent::AccountProved { account, agent }], posts).await
    }

    /// Records that a person resumed an agent of a closed account: it probes whether the account works, before all
    /// others.
    pub(super) async fn try_account(
        &mut self,
        agent: &AgentName,
        account: &AccountName,
        category: Category,
        by: &Actor,
    ) -> Result<(), CommitError> {
        let mut posts = Vec::new();
        if category == Category::Quota {
            let (account, agent) = (account.clone(), agent.clone());
            let notice = Notice::AccountTried { account, agent, by: by.name.clone() };
            posts = self.shared.posting.alert(notice, clock::now(), None);
        }
        let (account, agent) = (account.clone(), agent.clone());
        let event = FleetEvent::AccountTried { account, category, agent, by: by.clone() };
        self.record(vec![event], posts).await
    }

    /// Returns the time at which [`Root::let_through`] must be called next; `None` if no account waits for a time.
    pub(super) fn gates_due(&self) -> Option<Timestamp> {
        let now = clock::now();
        let rules = &self.shared.policy().quota;
        let asks = self.fleet.gates.values().filter_map(|gate| rules.asks_at(gate, now));
        asks.chain(self.shared.turns.deadline(now)).min()
    }

    /// Asks people about accounts whose time for that has come, and lets agents start that may probe an account.
    pub(super) async fn let_through(&mut self) -> Result<(), CommitError> {
        let now = clock::now();
        let rules = &self.shared.policy().quota;
        let due: Vec<(AccountName, AgentName)> = self
            .fleet
            .gates
            .iter()
            .filter(|(_, gate)| rules.asks_at(gate, now).is_some_and(|at| at <= now))
            .map(|(account, gate)| (account.clone(), gate.agent.clone()))
            .collect();
        for (account, agent) in due {
            let asked = asked_about(&self.shared.published(), &account, &agent).map(|agent| {
                let notice = Notice::AccountAsked { account: account.clone(), agent };
                self.shared.posting.alert(notice, now, None)
            });
            // No agent of the account is left, so that no person has to be asked.
            let posts = asked.unwrap_or_default();
            self.record(vec![FleetEvent::AccountAsked { account }], posts).await?;
        }
        self.shared.promote();
        Ok(())
    }

    /// Records usage limits, before the supervisors start, that agents met when the root could not record them any
    /// more.
    pub(super) async fn recall_exhausted<'a>(
        &mut self,
        agents: impl Iterator<Item = (&'a AgentName, &'a Arc<Agent>)>,
    ) -> Result<(), CommitError> {
        if let Some(by) = self.fleet.clock_behind(clock::now()) {
            tracing::warn!(
                millis = by,
                "the wall clock was set back while herder was down; waits keep their length"
            );
            self.record(vec![FleetEvent::ClockSet { by }], Vec::new()).await?;
        }
        for (name, agent) in agents {
            self.recall_limit(name, agent).await?;
        }
        self.shared.set_gates(of(&self.fleet));
        Ok(())
    }

    /// Records the usage limit that an agent has met, if it is not recorded and still counts.
    pub(super) async fn recall_limit(&mut self, name: &AgentName, agent: &Agent) -> Result<(), CommitError> {
        let Some(met) = agent.exhausted else { return Ok(()) };
        let account = account_of(agent);
        let over = self.fleet.proved.get(&account).is_some_and(|proved| *proved >= met);
        let resets_at = agent.last_outcome.as_ref().and_then(|outcome| outcome.resets_at);
        let known = self.fleet.gates.get(&account);
        let rules = &self.shared.policy().quota;
        if !over && rules.is_unheard(known, met, resets_at, clock::now()) {
            return self.exhausted(name.clone(), account, resets_at, known.is_some()).await;
        }
        Ok(())
    }
}

/// Returns the agent of an account that people are told to resume: one with work, and of these preferably the one that
/// `met` the limit. That one may have no work any more, be on another account, or be gone. An agent without a
/// supervisor cannot be resumed.
fn asked_about(agents: &[Published], account: &AccountName, met: &AgentName) -> Option<AgentName> {
    let can = |one: &&Published| !one.agent.leaves() && !one.deserted;
    let of_it = agents.iter().filter(|one| account_of(&one.agent) == *account).filter(can);
    of_it.min_by_key(|one| (one.agent.wants().is_none(), one.name != *met)).map(|one| one.name.clone())
}

/// Returns an account's name as one word, for machines.
fn one_word(account: &AccountName) -> String {
    account.as_str().split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::agent::Phase;
    use crate::core::apply;
    use crate::core::event::Event;
    use crate::core::id::WorkId;
    use crate::core::spec::{AgentSpec, Runtime};
    use crate::core::work::{Work, WorkKind};

    fn name(agent: &str) -> AgentName {
        AgentName::new(agent).expect("a name")
    }

    fn agent(called: &str, account: &str, works: bool) -> Published {
        let (at, by) = (Timestamp::from_seconds(1_800_000_000), Actor::herder());
        let mut spec = AgentSpec::new(name(called), Runtime::Command, PathBuf::from("/srv"));
        spec.account = AccountName::from(account);
        let mut agent = Agent::default();
        apply(&mut agent, &Event::Added { spec: Box::new(spec), by: by.clone() }, at);
        if works {
            let text = "count the beans".to_owned();
            let work = Work { id: WorkId(1), kind: WorkKind::Task, text, by, at, attempts: 0, card: None };
            apply(&mut agent, &Event::Queued { work }, at);
        }
        Published { name: name(called), agent: Arc::new(agent), deserted: false }
    }

    #[test]
    fn people_are_asked_about_an_agent_that_can_go_on() {
        let account = AccountName::from("openai");
        let asked = |agents: &[Published]| asked_about(agents, &account, &name("spark"));
        let with_work = [agent("flint", "openai", true), agent("spark", "openai", true)];
        assert_eq!(asked(&with_work), Some(name("spark")), "which met the limit");
        let moved = [agent("flint", "openai", true), agent("spark", "openai", false)];
        assert_eq!(asked(&moved), Some(name("flint")), "its work is elsewhere");
        let edited = [agent("ember", "openai", false), agent("spark", "local", true)];
        assert_eq!(asked(&edited), Some(name("ember")), "it is of another account");
        let given_up = Published { deserted: true, ..agent("spark", "openai", true) };
        let others = [agent("flint", "openai", false), given_up];
        assert_eq!(asked(&others), Some(name("flint")), "nobody would take it in");
        assert_eq!(asked(&others[1..]), None);
        let mut removed = [agent("spark", "openai", true)];
        Arc::make_mut(&mut removed[0].agent).phase = Phase::Removed;
        assert_eq!(asked(&removed), None);
    }
}
