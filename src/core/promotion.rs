//! The assignment of places: agents with work become active up to a limit (`max_active`), in the order of waiting,
//! fairly across accounts, and only if their account is open or they may probe it (see [`Gate`]).
//!
//! Supervisors report the state of their agents; a session starts only if [`Promotion::begin`] allows it. This state
//! is not stored: it is rebuilt at start from the agents' states and the stored [`Gate`]s.
//!
//! The agent that has waited longest is next, and one that was at work comes after those that waited meanwhile. Of
//! two accounts the one with fewer active agents is next.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{AccountName, AgentName, RunnerName};
use super::machine::{Room, Shortage};
use super::outcome::Category;
use super::quota::QuietHours;
use super::time::Timestamp;

mod machines;

pub use machines::Shut;

/// State of a closed account (its gate): no session of it starts, except of one agent that probes whether the account
/// works again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Reason why the account was closed: quota, billing, auth or budget.
    pub category: Category,
    /// The agent whose failure closed the account.
    pub agent: AgentName,
    /// Time at which the account was closed.
    pub since: Timestamp,
    /// Reported end of the usage limit.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// Time from which one agent may probe the account; `None`: a person decides.
    #[serde(default)]
    pub probe_at: Option<Timestamp>,
    /// Time at which people are asked whether one agent may probe the account; `None` if they are not asked.
    #[serde(default)]
    pub ask_at: Option<Timestamp>,
    /// The agent that a person chose to probe first, if that agent has work.
    #[serde(default)]
    pub first: Option<AgentName>,
}

impl Gate {
    /// Returns the state of an account that only a person opens.
    #[must_use]
    pub fn closed(category: Category, agent: AgentName, since: Timestamp) -> Self {
        Self { category, agent, since, resets_at: None, probe_at: None, ask_at: None, first: None }
    }

    fn prefers(&self, agent: &AgentName) -> bool {
        self.first.as_ref() == Some(agent)
    }
}

/// State of an agent for the assignment of the `max_active` places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The agent has nothing to start: no work, a countdown, or a pause.
    Rests,
    /// The agent has work and has waited for a place since this time.
    Wants(Timestamp),
    /// The agent has a session, or processes of one that are not gone.
    Active,
}

/// Reason why an agent with work does not start it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// The maximum number of agents is at work, or other agents come first.
    Turn {
        /// Number of agents at work.
        active: u32,
        /// Maximum number of agents at work; 0: no limit.
        max: u32,
    },
    /// The agent's account is closed.
    Closed {
        /// The account that is closed.
        account: AccountName,
        /// Reason why the account was closed.
        category: Category,
        /// Time from which one agent may probe the account; `None`: a person decides.
        until: Option<Timestamp>,
    },
    /// Processes of the machine wait for memory.
    Pressure {
        /// Time for which they have waited lately, in percent.
        percent: u8,
        /// Time from which no session begins, in percent.
        max: u8,
    },
    /// Less memory is free than the agent's session needs, in bytes.
    Memory {
        /// Memory that the session needs.
        needs: u64,
        /// Memory that is free.
        free: u64,
    },
    /// Nothing begins on the machine that the agent runs on.
    Runner {
        /// The machine.
        runner: RunnerName,
        /// The reason.
        shut: Shut,
    },
    /// Another agent probes whether the account works again.
    Tried {
        /// The account that is probed.
        account: AccountName,
        /// The agent that probes.
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
    /// The agent was given a place, which it keeps until it reports its state; the time since which it had waited.
    Promised(Timestamp),
    Active,
}

/// The agent that probes whether an account works.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Probe {
    agent: AgentName,
    /// Time at which the agent's session ended without showing whether the account works.
    over: Option<Timestamp>,
}

/// The closing of an account by an agent's failure, which is not among the stored gates yet.
#[derive(Debug, Clone)]
struct Closing {
    /// The gate that applies if none is stored for the account.
    gate: Gate,
    /// True if this agent's probe failed, so that a stored gate must not allow another one.
    probed: bool,
}

/// The assignment of places to agents: which agents are at work or wait, which accounts are closed, and which agents
/// probe them. It is not stored, but rebuilt at start.
#[derive(Debug, Clone, Default)]
pub struct Promotion {
    /// Maximum number of agents at work; 0: no limit.
    max: u32,
    /// Time after which another agent may probe, if a probe ended without a result.
    interval: Duration,
    /// Hours in which an account at its usage limit is not probed, unless a person asks for it.
    quiet: Option<QuietHours>,
    places: BTreeMap<AgentName, Place>,
    gates: BTreeMap<AccountName, Gate>,
    probes: BTreeMap<AccountName, Probe>,
    /// Gates of accounts that agents have closed, until they are stored.
    closings: BTreeMap<(AgentName, AccountName), Closing>,
    /// Memory of the machine when it was last looked at; `None` if sessions are not let in by it.
    room: Option<(Room, Timestamp)>,
    /// Pressure on memory from which no session begins, in percent; 0: no limit.
    pressure: u8,
    /// Memory that the sessions of agents need, in bytes; an agent without an entry needs none.
    needs: BTreeMap<AgentName, u64>,
    /// Machines of agents that do not run on the bot's.
    runners: BTreeMap<AgentName, RunnerName>,
    /// Reason for which no session begins on a machine; `None` if they begin. One that was never heard of is away.
    shut: BTreeMap<RunnerName, Option<Shut>>,
    /// Times at which agents were let in, for those that may not have taken their memory yet.
    entered: BTreeMap<AgentName, Timestamp>,
}

/// Time after its start in which a session is taken to have none of its memory yet.
const GROWS: Duration = Duration::from_secs(10);

/// Time between two looks at the machine's memory while an agent waits for it.
pub const LOOK: Duration = Duration::from_secs(1);

/// The waiting agents of one account, the next one last, and the number of those at work.
#[derive(Default)]
struct Line<'a> {
    active: usize,
    /// For each waiting agent: true if a person prefers another one, the time since which it has waited, and its name.
    waiting: Vec<(bool, Timestamp, &'a AgentName)>,
}

impl Promotion {
    /// Sets the maximum number of agents at work (0: no limit), the time between two probes of a closed account, and
    /// the hours without probes.
    pub fn limit(&mut self, max_active: u32, probe_interval: Duration, quiet: Option<QuietHours>) {
        self.max = max_active;
        self.interval = probe_interval;
        self.quiet = quiet;
    }

    /// Sets the machine's memory as it is now, and the pressure from which no session begins, in percent.
    pub fn measured(&mut self, room: Option<Room>, pressure: u8, now: Timestamp) {
        self.room = room.map(|room| (room, now));
        self.pressure = pressure;
        self.entered.retain(|_, at| at.after(GROWS) > now);
    }

    /// Returns true if the machine's memory was looked at less than [`LOOK`] ago.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.room.is_some_and(|(_, at)| at <= now && at.after(LOOK) > now)
    }

    /// Sets the memory that the agent's next session needs, in bytes.
    pub fn needs(&mut self, agent: &AgentName, bytes: u64) {
        if bytes == 0 {
            self.needs.remove(agent);
        } else {
            self.needs.insert(agent.clone(), bytes);
        }
    }

    /// Returns why the agent's session cannot begin on its machine; `besides`: agents that are let in together with it.
    ///
    /// # Errors
    /// The machine is shut, or short of memory.
    fn fits(&self, agent: &AgentName, besides: &[AgentName]) -> Result<(), Hold> {
        self.reaches(agent)?;
        self.has_room(agent, besides)
    }

    /// Returns why the agent's session has no room; `besides`: agents that are let in together with it. One that would be
    /// alone has room, whatever it needs: it would wait for ever for what others than agents take.
    ///
    /// # Errors
    /// The memory that the machine is short of.
    fn has_room(&self, agent: &AgentName, besides: &[AgentName]) -> Result<(), Hold> {
        // Only the bot's machine is looked at.
        let is_here = |agent: &AgentName| !self.runners.contains_key(agent);
        let Some((room, _)) = self.room.filter(|_| is_here(agent)) else { return Ok(()) };
        let need =
            |agent: &AgentName| self.needs.get(agent).copied().filter(|_| is_here(agent)).unwrap_or_default();
        let alone = besides.is_empty() && self.active_here_but(agent) == 0;
        let needs = if alone { 0 } else { need(agent) };
        let promised = if needs == 0 {
            0
        } else {
            let others = self.entered.keys().chain(besides).filter(|other| *other != agent);
            others.map(need).fold(0, u64::saturating_add)
        };
        room.lets(needs, self.pressure, promised).map_err(|short| match short {
            Shortage::Pressure { percent } => Hold::Pressure { percent, max: self.pressure },
            Shortage::Memory { needs, free } => Hold::Memory { needs, free },
        })
    }

    /// Replaces the stored gates of accounts. Accounts that were closed and are not stored yet stay closed.
    pub fn set_gates(&mut self, gates: BTreeMap<AccountName, Gate>) {
        let known = std::mem::replace(&mut self.gates, gates);
        let gates = &self.gates;
        self.probes.retain(|account, probe| match (known.get(account), gates.get(account)) {
            (_, None) => false,
            // A person's present decision takes precedence over a probe without a result.
            (before, after) => probe.over.is_none() || before == after,
        });
        for ((_, account), closing) in &self.closings {
            let gate = self.gates.entry(account.clone()).or_insert_with(|| closing.gate.clone());
            if closing.probed {
                gate.probe_at = None;
            }
        }
    }

    /// Moves all recorded times by `by` milliseconds after the wall clock was set, so that waits for a probe keep their
    /// length.
    pub fn clock_set(&mut self, by: i64) {
        self.gates.values_mut().for_each(|gate| gate.clock_set(by));
        self.closings.values_mut().for_each(|closing| closing.gate.clock_set(by));
        let over = self.probes.values_mut().filter_map(|probe| probe.over.as_mut());
        over.for_each(|at| *at = at.moved(by));
        if let Some((_, at)) = &mut self.room {
            *at = at.moved(by);
        }
        self.entered.values_mut().for_each(|at| *at = at.moved(by));
    }

    /// Records that the stored gates now include the closing by this agent of this account or, for `None`, of any.
    pub fn heard(&mut self, agent: &AgentName, account: Option<&AccountName>) {
        self.closings.retain(|(closer, closed), _| closer != agent || account.is_some_and(|it| it != closed));
    }

    /// Closes an account after an agent's session has shown that the account does not work. No stored gate changes that
    /// until [`Promotion::heard`]. Returns true if the agent was probing the account.
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

    /// Returns true if the agent probes the account with its session. This stays so even if the agent's next session
    /// has started on another account with the same decision.
    #[must_use]
    pub fn probes(&self, agent: &AgentName, account: &AccountName) -> bool {
        self.probes.get(account).is_some_and(|probe| probe.agent == *agent)
    }

    /// Records the state of an agent; `Rests` also if the agent is gone. Returns true if the state is new.
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
        if state != Some(State::Active) {
            self.entered.remove(agent);
        }
        let Some(before) = before else { return standing != Standing::Rests };
        // A session keeps the account that it started on, whatever the agent is changed to.
        if standing != Standing::Active {
            self.shows_no_more(agent, None, before.state, now);
        }
        true
    }

    /// Ends the probes of an agent that is not at work any more, except on the account `but`: a probe without a result
    /// is kept for a while, one that never started is dropped.
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
                // It did not start. A probe that is over belongs to another session.
                State::Promised(_) => probe.over.is_some(),
                State::Wants(_) => true,
            }
        });
    }

    /// Gives the agent a place if a session of it may start now. `since`: time since which it has waited. `keeps`: it
    /// was at work when herder went down.
    ///
    /// # Errors
    /// The reason why the agent may not start.
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
        self.reaches(agent)?;
        if !promised {
            self.has_room(agent, &[])?;
        }
        // A fleet without a limit waits only for an agent that a person wants to go first.
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
        self.entered.insert(agent.clone(), now);
        let place = Place { account: account.clone(), state: State::Active };
        if let Some(before) = self.places.insert(agent.clone(), place) {
            self.shows_no_more(agent, Some(account), before.state, now);
        }
        Ok(())
    }

    /// Gives the free places to the agents that are next, and returns these agents, which must then be told to start.
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
            if let Some((_, _, agent)) = line.waiting.pop()
                && self.fits(agent, &promoted).is_ok()
            {
                line.active += 1;
                promoted.push(agent.clone());
                free -= 1;
            }
        }
        for agent in &promoted {
            self.entered.insert(agent.clone(), now);
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

    /// Returns the time at which [`Promotion::promote`] must be called again although no agent's state changed, because
    /// a probe becomes possible, or the machine may have memory again; `None` if there is none.
    #[must_use]
    pub fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let opens = self.gates.values().filter_map(|gate| self.opens(gate, now));
        let again = self.probes.values().filter_map(|probe| Some(probe.over?.after(self.interval)));
        let mut wants = self.places.iter().filter(|(_, place)| matches!(place.state, State::Wants(_)));
        let looks = self.room.filter(|_| wants.any(|(agent, _)| self.has_room(agent, &[]).is_err()));
        let looks = looks.map(|(_, at)| at.after(LOOK));
        opens.chain(again).filter(|at| *at > now).chain(looks).min()
    }

    /// Returns the reason why an agent with work waits; `None` if it does not wait.
    #[must_use]
    pub fn hold(&self, agent: &AgentName, now: Timestamp) -> Option<Hold> {
        let place = self.places.get(agent)?;
        match place.state {
            State::Wants(_) => {
                let held = self.lets(agent, &place.account, now).err();
                Some(held.or_else(|| self.fits(agent, &[]).err()).unwrap_or_else(|| self.turn()))
            }
            State::Promised(_) | State::Active => None,
        }
    }

    /// Returns the reason why an agent may not use an account now; `None` if the account is open to it.
    #[must_use]
    pub fn closed(&self, agent: &AgentName, account: &AccountName, now: Timestamp) -> Option<Hold> {
        self.lets(agent, account, now).err()
    }

    /// Returns the time since which an account has been closed, also while it is probed; `None` if it is open.
    #[must_use]
    pub fn closed_since(&self, account: &AccountName) -> Option<Timestamp> {
        self.gates.get(account).map(|gate| gate.since)
    }

    /// Returns the agents of an account that wait for a place.
    pub fn waiting(&self, account: &AccountName) -> impl Iterator<Item = &AgentName> {
        let waits = |place: &Place| place.account == *account && matches!(place.state, State::Wants(_));
        self.places.iter().filter(move |(_, place)| waits(place)).map(|(agent, _)| agent)
    }

    /// Returns the number of agents that have a place, at work or about to be.
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

    /// Returns true if the agent may use the account as its probe, and false if the account is open.
    ///
    /// # Errors
    /// The reason why the agent may not use it.
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

    /// Returns the time from which a closed account may be probed; `None`: a person decides. A probe that was due
    /// before is put off until quiet hours that have begun meanwhile are over.
    fn opens(&self, gate: &Gate, now: Timestamp) -> Option<Timestamp> {
        let at = gate.probe_at?;
        // A person's decision counts at any hour.
        let heeds = gate.category == Category::Quota && gate.first.is_none() && at <= now;
        let quiet = self.quiet.as_ref().filter(|_| heeds);
        Some(quiet.map_or(at, |quiet| quiet.end(now)))
    }

    /// Returns the agent that is next for a place; `also` is counted among those that wait.
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

    /// Returns the waiting agents by account, as far as the account is open or may be probed; the next one is last.
    fn lines<'a>(
        &'a self,
        also: Option<(&'a AgentName, &'a AccountName, Timestamp)>,
        now: Timestamp,
    ) -> BTreeMap<&'a AccountName, Line<'a>> {
        let mut lines: BTreeMap<&AccountName, Line<'a>> = BTreeMap::new();
        let also_named = also.map(|(agent, ..)| agent);
        let mut waits = |agent: &'a AgentName, account: &'a AccountName, since| {
            if self.lets(agent, account, now).is_ok() && self.fits(agent, &[]).is_ok() {
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
                // One agent probes whether the account works.
                let others = line.waiting.len().saturating_sub(1);
                line.waiting.drain(..others);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests;
