//! A fleet under random histories: agents at work and waiting, accounts that meet their limit, people, kills.
//!
//! The simulation stands in for the supervisors and the root: it asks for places as they do, records what they record, and
//! judges by what it has seen itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use herder::core::id::{AccountName, AgentName};
use herder::core::outcome::Category;
use herder::core::promotion::{Gate, Hold, Promotion, Standing};
use herder::core::quota::QuotaRules;
use herder::core::time::Timestamp;
use herder::core::work::Actor;
use herder::journal::{Aggregate as _, Entry, FleetEvent, FleetState};
use proptest::prelude::*;

const ACCOUNTS: usize = 3;

/// The end of a session.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Its work is done; `more`: the next waits already.
    Done { more: bool },
    /// The usage limit; the reset may be named, in seconds from now.
    Quota { resets_in: Option<i64> },
    /// It crashes, and waits for its countdown.
    Crash,
}

#[derive(Debug, Clone)]
enum Happening {
    Passes(u64),
    /// An agent gets work, or its countdown ends.
    Works(usize),
    /// The model of a running session answers.
    Answers(usize),
    Ends(usize, End),
    /// A person pauses an agent that waits.
    Pauses(usize),
    /// A person resumes an agent of a closed account.
    Resumes(usize),
    /// herder is killed and started again.
    Killed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Rests,
    Wants(Timestamp),
    Works,
}

struct Fleet {
    promotion: Promotion,
    max: u32,
    rules: QuotaRules,
    agents: Vec<Agent>,
    disk: FleetState,
    now: Timestamp,
    /// The agent whose session passed a closed gate, and runs.
    probing: BTreeMap<AccountName, usize>,
    /// The account that is closed, which is not recorded yet.
    closing: Option<AccountName>,
    /// Everybody who has worked since this was last cleared.
    worked: BTreeSet<usize>,
}

fn name(agent: usize) -> AgentName {
    AgentName::new(&format!("agent-{agent}")).expect("a name")
}

fn account(agent: usize) -> AccountName {
    AccountName::from(format!("account-{}", agent % ACCOUNTS).as_str())
}

fn person() -> Actor {
    Actor { network: "libera".into(), name: "alice".to_owned(), identity: None }
}

impl Fleet {
    fn of(agents: usize, max: u32) -> Self {
        let mut fleet = Self {
            promotion: Promotion::default(),
            max,
            rules: QuotaRules::default(),
            agents: vec![Agent::Rests; agents],
            disk: FleetState::default(),
            now: Timestamp::from_seconds(1_800_000_000),
            probing: BTreeMap::new(),
            closing: None,
            worked: BTreeSet::new(),
        };
        fleet.promotion.limit(max, fleet.rules.probe_interval, fleet.rules.quiet.clone());
        fleet
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Passes(seconds) => self.pass(*seconds),
            Happening::Works(agent) => self.works(agent % self.agents.len()),
            Happening::Answers(agent) => self.proves(agent % self.agents.len()),
            Happening::Ends(agent, end) => self.ends(agent % self.agents.len(), *end),
            Happening::Pauses(agent) => {
                let agent = agent % self.agents.len();
                if let Agent::Wants(_) = self.agents[agent] {
                    self.stands(agent, Agent::Rests);
                }
            }
            Happening::Resumes(agent) => self.resumes(agent % self.agents.len()),
            Happening::Killed => self.killed(),
        }
        self.promote();
        self.at_most_so_many_work();
        self.nobody_waits_beside_a_free_place();
    }

    fn pass(&mut self, seconds: u64) {
        let then = self.now.after(Duration::from_secs(seconds));
        // The root sleeps no longer than until an agent may be let through.
        while let Some(due) = self.promotion.deadline(self.now).filter(|due| *due < then) {
            self.now = due;
            self.promote();
        }
        self.now = then;
    }

    fn works(&mut self, agent: usize) {
        if self.agents[agent] != Agent::Rests {
            return;
        }
        // A supervisor tries at once, and waits if it may not.
        if !self.begins(agent, self.now) {
            self.stands(agent, Agent::Wants(self.now));
        }
    }

    fn begins(&mut self, agent: usize, since: Timestamp) -> bool {
        let begun = self.promotion.begin(&name(agent), &account(agent), since, false, self.now);
        if begun.is_ok() {
            self.a_closed_gate_lets_one_agent_through(agent);
            self.agents[agent] = Agent::Works;
            self.worked.insert(agent);
        }
        begun.is_ok()
    }

    fn stands(&mut self, agent: usize, state: Agent) {
        self.agents[agent] = state;
        if self.probing.get(&account(agent)) == Some(&agent) && state != Agent::Works {
            self.probing.remove(&account(agent));
        }
        self.promotion.stands(&name(agent), &account(agent), standing(state), self.now);
    }

    fn ends(&mut self, agent: usize, end: End) {
        if self.agents[agent] != Agent::Works {
            return;
        }
        match end {
            End::Done { more } => {
                self.proves(agent);
                // The next step is decided before the place is given back.
                if !more || !self.begins(agent, self.now) {
                    self.stands(agent, if more { Agent::Wants(self.now) } else { Agent::Rests });
                }
            }
            End::Quota { resets_in } => {
                let resets_at = resets_in.map(|seconds| {
                    Timestamp::from_millis(self.now.as_millis().saturating_add(seconds * 1000))
                });
                self.exhausted(agent, resets_at);
            }
            End::Crash => self.stands(agent, Agent::Rests),
        }
    }

    fn exhausted(&mut self, agent: usize, resets_at: Option<Timestamp>) {
        let probed = self.promotion.close(&name(agent), &account(agent), Category::Quota, self.now);
        assert_eq!(probed, self.probing.get(&account(agent)) == Some(&agent), "who was to show it");
        self.stands(agent, Agent::Wants(self.now));
        // Until the root has recorded it, no agent of the account begins.
        let at_work = self.at_work(&account(agent));
        self.closing = Some(account(agent));
        self.promote();
        // Something of another account is recorded first.
        self.promotion.set_gates(self.disk.gates.clone());
        self.promote();
        self.closing = None;
        let known = self.disk.gates.get(&account(agent));
        if probed || known.is_none() {
            assert_eq!(self.at_work(&account(agent)), at_work, "somebody begins on a closed account");
        }
        self.promotion.heard(&name(agent), Some(&account(agent)));
        if known.is_some_and(|gate| !QuotaRules::says_more(gate, probed, resets_at, self.now)) {
            return;
        }
        let (probe_at, ask_at) = self.rules.closing(resets_at, self.now, Duration::ZERO);
        let (agent, account) = (name(agent), account(agent));
        self.record(FleetEvent::AccountExhausted { account, agent, resets_at, probe_at, ask_at });
    }

    fn proves(&mut self, agent: usize) {
        if self.agents[agent] == Agent::Works && self.promotion.probes(&name(agent), &account(agent)) {
            let (agent, account) = (name(agent), account(agent));
            self.record(FleetEvent::AccountProved { account, agent });
        }
    }

    fn resumes(&mut self, agent: usize) {
        let Some(category) = self.disk.gates.get(&account(agent)).map(|gate| gate.category) else { return };
        let (agent, account) = (name(agent), account(agent));
        self.record(FleetEvent::AccountTried { account, category, agent, by: person() });
    }

    fn record(&mut self, event: FleetEvent) {
        if let FleetEvent::AccountProved { account, .. } = &event {
            self.probing.remove(account);
        }
        self.disk.apply_entry(&Entry::Fleet(event), self.now);
        self.promotion.set_gates(self.disk.gates.clone());
    }

    /// Kills herder: only the data on disk remains, the gates and the states of agents.
    fn killed(&mut self) {
        let bytes = serde_json::to_vec(&self.disk).expect("it can be written");
        self.disk = serde_json::from_slice(&bytes).expect("it can be read");
        self.probing.clear();
        self.promotion = Promotion::default();
        self.promotion.limit(self.max, self.rules.probe_interval, self.rules.quiet.clone());
        for (agent, state) in self.agents.iter().enumerate() {
            self.promotion.stands(&name(agent), &account(agent), standing(*state), self.now);
        }
        self.promotion.set_gates(self.disk.gates.clone());
        // Sessions that were cut short go on.
        for agent in 0..self.agents.len() {
            if self.agents[agent] != Agent::Works {
                continue;
            }
            let goes_on = self.promotion.begin(&name(agent), &account(agent), self.now, true, self.now);
            match goes_on {
                Ok(()) => self.a_closed_gate_lets_one_agent_through(agent),
                Err(hold) => {
                    assert!(!matches!(hold, Hold::Turn { .. }), "there was a place for it: {hold:?}");
                    self.stands(agent, Agent::Wants(self.now));
                }
            }
        }
    }

    fn promote(&mut self) {
        let before = self.agents.clone();
        let mut given: BTreeMap<AccountName, usize> = BTreeMap::new();
        for promoted in self.promotion.promote(self.now) {
            let agent = (0..before.len()).find(|agent| name(*agent) == promoted).expect("it is there");
            let Agent::Wants(since) = self.agents[agent] else { panic!("{promoted} has nothing to do") };
            self.the_account_with_fewer_at_work_is_next(agent, &given);
            *given.entry(account(agent)).or_default() += 1;
            assert!(self.begins(agent, since), "{promoted} was told that it is its turn");
        }
    }

    fn at_work(&self, of: &AccountName) -> usize {
        let works = |agent: &usize| self.agents[*agent] == Agent::Works && account(*agent) == *of;
        (0..self.agents.len()).filter(works).count()
    }

    fn gate(&self, agent: usize) -> Option<&Gate> {
        self.disk.gates.get(&account(agent))
    }

    fn at_most_so_many_work(&self) {
        let works = self.agents.iter().filter(|agent| **agent == Agent::Works).count();
        assert!(self.max == 0 || works <= self.max as usize, "{works} work");
        assert_eq!(works, self.promotion.active(), "places are lost, or given away twice");
    }

    fn a_closed_gate_lets_one_agent_through(&mut self, agent: usize) {
        let Some(gate) = self.gate(agent) else { return };
        let open = gate.probe_at.is_some_and(|at| at <= self.now);
        assert!(open, "{} began behind {gate:?} at {:?}", name(agent), self.now);
        let probing = self.probing.insert(account(agent), agent);
        assert!(probing.is_none_or(|probing| probing == agent), "{probing:?} and {agent} at once");
    }

    fn the_account_with_fewer_at_work_is_next(&self, agent: usize, given: &BTreeMap<AccountName, usize>) {
        let others = (0..self.agents.len()).filter(|other| {
            let waits = matches!(self.agents[*other], Agent::Wants(_));
            let open = self.gate(*other).is_none() && self.closing != Some(account(*other));
            waits && open && account(*other) != account(agent)
        });
        let fewest = others.map(|other| self.at_work(&account(other))).min();
        let own = self.at_work(&account(agent));
        assert!(
            fewest.is_none_or(|fewest| own <= fewest),
            "{own} of it work, {fewest:?} of another: {given:?}"
        );
    }

    fn nobody_waits_beside_a_free_place(&self) {
        let free = self.max == 0 || self.promotion.active() < self.max as usize;
        let waits = |agent: &usize| matches!(self.agents[*agent], Agent::Wants(_));
        let waiting = (0..self.agents.len()).filter(waits).find(|agent| self.gate(*agent).is_none());
        assert!(!free || waiting.is_none(), "agent {waiting:?} waits beside a free place");
    }

    /// Lets every working agent succeed, and time pass: no agent waits for ever.
    fn everybody_with_work_is_promoted_in_the_end(&mut self) {
        self.worked.clear();
        let waiting: Vec<usize> =
            (0..self.agents.len()).filter(|agent| matches!(self.agents[*agent], Agent::Wants(_))).collect();
        for _ in 0..4 * self.agents.len() + 4 {
            for agent in 0..self.agents.len() {
                self.happen(&Happening::Ends(agent, End::Done { more: agent % 2 == 0 }));
            }
            // Longer than any reset that was named.
            self.happen(&Happening::Passes(10_000));
        }
        for agent in waiting {
            assert!(self.worked.contains(&agent), "agent {agent} waited for ever: {:?}", self.promotion);
        }
    }
}

fn standing(agent: Agent) -> Standing {
    match agent {
        Agent::Rests => Standing::Rests,
        Agent::Wants(since) => Standing::Wants(since),
        Agent::Works => Standing::Active,
    }
}

fn happening() -> impl Strategy<Value = Happening> {
    let resets_in = prop::option::of(-100i64..5_000);
    let end = prop_oneof![
        4 => any::<bool>().prop_map(|more| End::Done { more }),
        2 => resets_in.prop_map(|resets_in| End::Quota { resets_in }),
        2 => Just(End::Crash),
    ];
    let agent = 0usize..24;
    prop_oneof![
        3 => (0u64..600).prop_map(Happening::Passes),
        8 => agent.clone().prop_map(Happening::Works),
        3 => agent.clone().prop_map(Happening::Answers),
        8 => (agent.clone(), end).prop_map(|(agent, end)| Happening::Ends(agent, end)),
        1 => agent.clone().prop_map(Happening::Pauses),
        1 => agent.prop_map(Happening::Resumes),
        1 => Just(Happening::Killed),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn turns_are_taken_in_every_history(
        agents in 1usize..12,
        max in 0u32..5,
        happenings in prop::collection::vec(happening(), 1..200),
    ) {
        let mut fleet = Fleet::of(agents, max);
        for happening in &happenings {
            fleet.happen(happening);
        }
        fleet.everybody_with_work_is_promoted_in_the_end();
    }
}
