//! Whose turn it is: agents with work become active up to a limit, in queue order, fair across accounts, and past the gates
//! of their accounts.
//!
//! Supervisors say how their agents stand; a session begins only where [`Promotion::begin`] lets it. What is here is not
//! stored: it follows from the agents' states and the stored [`Gate`]s, and is made anew from them at start.
//!
//! The queue is the one of the agents: whoever has waited longest is next, and whoever was at work comes after those who
//! waited meanwhile. Of two accounts the one with fewer agents at work is next.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{AccountName, AgentName};
use super::outcome::Category;
use super::quota::QuietHours;
use super::time::Timestamp;

/// The gate of an account that is not open: nothing of it begins, but one agent that shows whether it works again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Why it was closed: quota, billing, auth or budget.
    pub category: Category,
    /// Whose failure showed it.
    pub agent: AgentName,
    /// Since when.
    pub since: Timestamp,
    /// When the limit ends, if the runtime said so.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// From when on one agent is let through; `None`: when a person says so.
    #[serde(default)]
    pub probe_at: Option<Timestamp>,
    /// When people are asked whether one is.
    #[serde(default)]
    pub ask_at: Option<Timestamp>,
    /// Whom a person wants to be that one, if it has work.
    #[serde(default)]
    pub first: Option<AgentName>,
}

impl Gate {
    /// A gate that only a person opens.
    #[must_use]
    pub fn closed(category: Category, agent: AgentName, since: Timestamp) -> Self {
        Self { category, agent, since, resets_at: None, probe_at: None, ask_at: None, first: None }
    }

    fn prefers(&self, agent: &AgentName) -> bool {
        self.first.as_ref() == Some(agent)
    }
}

/// How an agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has nothing to begin: no work, a countdown, a pause.
    Rests,
    /// It has work and waits for its turn, since then.
    Wants(Timestamp),
    /// A session of it is owed, or not all of its processes are gone.
    Active,
}

/// Why an agent with work does not begin with it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// As many agents are at work as may be, or others are before it.
    Turn {
        /// Agents at work.
        active: u32,
        /// How many may be; 0: as many as there are.
        max: u32,
    },
    /// Its account is closed.
    Closed {
        /// The account.
        account: AccountName,
        /// Why.
        category: Category,
        /// Until one agent is let through; `None`: until a person says so.
        until: Option<Timestamp>,
    },
    /// Another agent shows whether the account works again.
    Tried {
        /// The account.
        account: AccountName,
        /// Which agent.
        agent: AgentName,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    account: AccountName,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Wants(Timestamp),
    /// It was told that it is its turn, and has a place until it says how it stands.
    Promised(Timestamp),
    Active,
}

/// The agent that shows whether an account works.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Probe {
    agent: AgentName,
    /// Its session is over since then, and has shown nothing.
    over: Option<Timestamp>,
}

/// An account that an agent has closed, as long as that is not in the gates that are stored.
#[derive(Debug, Clone)]
struct Closing {
    /// Where nothing is stored.
    gate: Gate,
    /// What is stored lets somebody through, and the agent has shown that it was to let nobody.
    probed: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Promotion {
    /// How many agents may be at work; 0: no limit.
    max: u32,
    /// Between two agents that show whether an account works.
    interval: Duration,
    /// When nobody shows whether an account works that has reached its usage limit, unless a person said so.
    quiet: Option<QuietHours>,
    places: BTreeMap<AgentName, Place>,
    gates: BTreeMap<AccountName, Gate>,
    probes: BTreeMap<AccountName, Probe>,
    /// What agents have closed, and whoever stores gates has not taken in.
    closings: BTreeMap<(AgentName, AccountName), Closing>,
}

/// Those of one account that could be next, the first of them first.
#[derive(Default)]
struct Line<'a> {
    active: usize,
    /// Not whom a person wants, since when, who.
    waiting: Vec<(bool, Timestamp, &'a AgentName)>,
}

impl Promotion {
    /// Sets how many agents may be at work (0: no limit), and how long after an agent that has shown nothing the next one of
    /// a closed account is let through, and when none is.
    pub fn limit(&mut self, max_active: u32, probe_interval: Duration, quiet: Option<QuietHours>) {
        self.max = max_active;
        self.interval = probe_interval;
        self.quiet = quiet;
    }

    /// The gates as they are stored. What was closed and is not stored yet stays closed: news of another account opens nothing.
    pub fn set_gates(&mut self, gates: BTreeMap<AccountName, Gate>) {
        let known = std::mem::replace(&mut self.gates, gates);
        let gates = &self.gates;
        self.probes.retain(|account, probe| match (known.get(account), gates.get(account)) {
            (_, None) => false,
            // What a person says now counts more than one that has shown nothing.
            (before, after) => probe.over.is_none() || before == after,
        });
        for ((_, account), closing) in &self.closings {
            let gate = self.gates.entry(account.clone()).or_insert_with(|| closing.gate.clone());
            if closing.probed {
                gate.probe_at = None;
            }
        }
    }

    /// The wall clock was set: whoever waits for a probe waits as long as before.
    pub fn clock_set(&mut self, by: i64) {
        self.gates.values_mut().for_each(|gate| gate.clock_set(by));
        self.closings.values_mut().for_each(|closing| closing.gate.clock_set(by));
        let over = self.probes.values_mut().filter_map(|probe| probe.over.as_mut());
        over.for_each(|at| *at = at.moved(by));
    }

    /// Whoever stores gates takes in what an agent has shown of an account, or (`None`) whatever it may have shown: from now on
    /// what is stored counts.
    pub fn heard(&mut self, agent: &AgentName, account: Option<&AccountName>) {
        self.closings.retain(|(closer, closed), _| closer != agent || account.is_some_and(|it| it != closed));
    }

    /// An agent has shown that its account does not work: nothing of it begins from now on, and until [`Promotion::heard`] no
    /// gates that are stored change that. Answers whether it was let through to show that.
    pub fn close(
        &mut self,
        agent: &AgentName,
        account: &AccountName,
        category: Category,
        now: Timestamp,
    ) -> bool {
        let closed = Gate::closed(category, agent.clone(), now);
        let gate = self.gates.entry(account.clone()).or_insert_with(|| closed.clone());
        let probed = self.probes.get(account).is_some_and(|probe| probe.agent == *agent);
        if probed {
            self.probes.remove(account);
            gate.probe_at = None;
        }
        self.closings.insert((agent.clone(), account.clone()), Closing { gate: closed, probed });
        probed
    }

    /// Whether it is for the agent to show whether an account works, which its session began on: it has not been anybody else
    /// since, also where the agent's next session has begun elsewhere with the decision that this one is over.
    #[must_use]
    pub fn probes(&self, agent: &AgentName, account: &AccountName) -> bool {
        self.probes.get(account).is_some_and(|probe| probe.agent == *agent)
    }

    /// An agent says how it stands, or is gone (`Rests`). Answers whether that is news.
    pub fn stands(
        &mut self,
        agent: &AgentName,
        account: &AccountName,
        standing: Standing,
        now: Timestamp,
    ) -> bool {
        let state = match standing {
            Standing::Rests => None,
            Standing::Wants(since) => Some(State::Wants(since)),
            Standing::Active => Some(State::Active),
        };
        let before = match state {
            Some(state) => {
                if let Some(place) = self.places.get(agent)
                    && place.state == state
                    && place.account == *account
                {
                    return false;
                }
                self.places.insert(agent.clone(), Place { account: account.clone(), state })
            }
            None => self.places.remove(agent),
        };
        let Some(before) = before else { return standing != Standing::Rests };
        // A session goes on with the account that it began on, whatever the agent is changed to.
        if standing != Standing::Active {
            self.shows_no_more(agent, None, before.state, now);
        }
        true
    }

    /// An agent that was in this `state` is not at work any more, or is now on account `but`: whatever else it was to show it
    /// does not show now.
    fn shows_no_more(&mut self, agent: &AgentName, but: Option<&AccountName>, state: State, now: Timestamp) {
        self.probes.retain(|account, probe| {
            if probe.agent != *agent || Some(account) == but {
                return true;
            }
            match state {
                State::Active => {
                    probe.over.get_or_insert(now);
                    true
                }
                // It did not begin. One that is over was another session.
                State::Promised(_) => probe.over.is_some(),
                State::Wants(_) => true,
            }
        });
    }

    /// Whether a session of the agent may begin now; if so, it has a place from now on. `since`: since when it waits. One that
    /// `keeps` its place was at work when herder went down.
    ///
    /// # Errors
    /// Why not.
    pub fn begin(
        &mut self,
        agent: &AgentName,
        account: &AccountName,
        since: Timestamp,
        keeps: bool,
        now: Timestamp,
    ) -> Result<(), Hold> {
        let probe = self.lets(agent, account, now)?;
        let state = self.places.get(agent).filter(|place| place.account == *account).map(|place| place.state);
        let promised = matches!(state, Some(State::Promised(_)));
        // A fleet without a limit waits for nobody but one that a person wants to go first.
        if !promised && (self.max != 0 || probe) {
            let others = self.active_but(agent);
            let full = self.max != 0 && others >= self.max as usize;
            let keeps = keeps && state == Some(State::Active);
            if full || !keeps && self.next(Some((agent, account, since)), now) != Some(agent) {
                return Err(self.turn());
            }
        }
        if probe {
            self.probes.insert(account.clone(), Probe { agent: agent.clone(), over: None });
        }
        let place = Place { account: account.clone(), state: State::Active };
        if let Some(before) = self.places.insert(agent.clone(), place) {
            self.shows_no_more(agent, Some(account), before.state, now);
        }
        Ok(())
    }

    /// Gives free places to those whose turn it is. They are to be told, and try to begin.
    pub fn promote(&mut self, now: Timestamp) -> Vec<AgentName> {
        let mut promoted = Vec::new();
        let mut free = match self.max {
            0 => usize::MAX,
            max => (max as usize).saturating_sub(self.active()),
        };
        let mut lines = self.lines(None, now);
        while free > 0 {
            let next = lines.values_mut().filter(|line| !line.waiting.is_empty()).min_by_key(|line| {
                (line.active, line.waiting.last().map(|(_, since, agent)| (*since, *agent)))
            });
            let Some(line) = next else { break };
            if let Some((_, _, agent)) = line.waiting.pop() {
                line.active += 1;
                promoted.push(agent.clone());
                free -= 1;
            }
        }
        for agent in &promoted {
            let Some(place) = self.places.get_mut(agent) else { continue };
            if let State::Wants(since) = place.state {
                place.state = State::Promised(since);
            }
            if self.gates.contains_key(&place.account) {
                self.probes.insert(place.account.clone(), Probe { agent: agent.clone(), over: None });
            }
        }
        promoted
    }

    /// When [`Promotion::promote`] is to be asked again although nobody has said anything.
    #[must_use]
    pub fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let opens = self.gates.values().filter_map(|gate| self.opens(gate, now));
        let again = self.probes.values().filter_map(|probe| Some(probe.over?.after(self.interval)));
        opens.chain(again).filter(|at| *at > now).min()
    }

    /// Why an agent that has work waits, if it does.
    #[must_use]
    pub fn hold(&self, agent: &AgentName, now: Timestamp) -> Option<Hold> {
        let place = self.places.get(agent)?;
        match place.state {
            State::Wants(_) => {
                Some(self.lets(agent, &place.account, now).err().unwrap_or_else(|| self.turn()))
            }
            State::Promised(_) | State::Active => None,
        }
    }

    /// How an account is closed for an agent, if it is.
    #[must_use]
    pub fn closed(&self, agent: &AgentName, account: &AccountName, now: Timestamp) -> Option<Hold> {
        self.lets(agent, account, now).err()
    }

    /// Since when an account has been closed, if it is, or is being tried.
    #[must_use]
    pub fn closed_since(&self, account: &AccountName) -> Option<Timestamp> {
        self.gates.get(account).map(|gate| gate.since)
    }

    /// The agents of an account that wait for their turn.
    pub fn waiting(&self, account: &AccountName) -> impl Iterator<Item = &AgentName> {
        let waits = |place: &Place| place.account == *account && matches!(place.state, State::Wants(_));
        self.places.iter().filter(move |(_, place)| waits(place)).map(|(agent, _)| agent)
    }

    /// How many agents are at work, or about to be.
    #[must_use]
    pub fn active(&self) -> usize {
        self.places.values().filter(|place| !matches!(place.state, State::Wants(_))).count()
    }

    fn active_but(&self, agent: &AgentName) -> usize {
        let own = self.places.get(agent).is_some_and(|place| !matches!(place.state, State::Wants(_)));
        self.active() - usize::from(own)
    }

    fn turn(&self) -> Hold {
        Hold::Turn { active: u32::try_from(self.active()).unwrap_or(u32::MAX), max: self.max }
    }

    /// Whether the account's gate lets the agent through, and whether as the one that shows whether the account works.
    fn lets(&self, agent: &AgentName, account: &AccountName, now: Timestamp) -> Result<bool, Hold> {
        let Some(gate) = self.gates.get(account) else { return Ok(false) };
        let opens = self.opens(gate, now);
        if opens.is_none_or(|at| at > now) {
            let (account, category) = (account.clone(), gate.category);
            return Err(Hold::Closed { account, category, until: opens });
        }
        match self.probes.get(account) {
            Some(probe) if probe.agent != *agent => {
                let again = probe.over.is_some_and(|over| over.after(self.interval) <= now);
                if again {
                    return Ok(true);
                }
                Err(Hold::Tried { account: account.clone(), agent: probe.agent.clone() })
            }
            Some(_) | None => Ok(true),
        }
    }

    /// From when on a gate lets somebody through; `None`: when a person says so. One that could have been tried before is not in
    /// quiet hours that have begun meanwhile.
    fn opens(&self, gate: &Gate, now: Timestamp) -> Option<Timestamp> {
        let at = gate.probe_at?;
        // A person's word counts at any hour.
        let heeds = gate.category == Category::Quota && gate.first.is_none() && at <= now;
        let quiet = self.quiet.as_ref().filter(|_| heeds);
        Some(quiet.map_or(at, |quiet| quiet.end(now)))
    }

    /// The agent that is next for a place, `also` among those who wait for one.
    fn next<'a>(
        &'a self,
        also: Option<(&'a AgentName, &'a AccountName, Timestamp)>,
        now: Timestamp,
    ) -> Option<&'a AgentName> {
        let lines = self.lines(also, now);
        let waiting = lines.values().filter_map(|line| {
            let (_, since, agent) = *line.waiting.last()?;
            Some((line.active, since, agent))
        });
        waiting.min().map(|(_, _, agent)| agent)
    }

    /// Who waits at each account that lets somebody through, the next one last.
    fn lines<'a>(
        &'a self,
        also: Option<(&'a AgentName, &'a AccountName, Timestamp)>,
        now: Timestamp,
    ) -> BTreeMap<&'a AccountName, Line<'a>> {
        let mut lines: BTreeMap<&AccountName, Line<'a>> = BTreeMap::new();
        let also_named = also.map(|(agent, ..)| agent);
        let mut waits = |agent: &'a AgentName, account: &'a AccountName, since| {
            if self.lets(agent, account, now).is_ok() {
                let other = self.gates.get(account).is_some_and(|gate| !gate.prefers(agent));
                lines.entry(account).or_default().waiting.push((other, since, agent));
            }
        };
        for (agent, place) in self.places.iter().filter(|(agent, _)| Some(*agent) != also_named) {
            if let State::Wants(since) = place.state {
                waits(agent, &place.account, since);
            }
        }
        if let Some((agent, account, since)) = also {
            waits(agent, account, since);
        }
        for (_, place) in self.places.iter().filter(|(agent, _)| Some(*agent) != also_named) {
            if !matches!(place.state, State::Wants(_))
                && let Some(line) = lines.get_mut(&place.account)
            {
                line.active += 1;
            }
        }
        for (account, line) in &mut lines {
            line.waiting.sort_unstable_by(|one, other| other.cmp(one));
            if self.gates.contains_key(*account) {
                // One agent shows whether it works.
                let others = line.waiting.len().saturating_sub(1);
                line.waiting.drain(..others);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests;
