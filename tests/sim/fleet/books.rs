//! The observations of a run, and the invariants that hold after each event. Each invariant is one function, and its
//! name states it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::apply;
use herder::core::board::Board;
use herder::core::event::{Event, PauseReason};
use herder::core::id::{AccountName, AgentName, NetworkName, SessionId, WorkId};
use herder::core::policy::Policy;
use herder::core::time::Timestamp;
use herder::core::work::WorkKind;
use herder::journal::{Aggregate as _, Batch, Entry, FleetEvent, FleetState, Receipt, Settled, Stream};
use herder::outbox::Line;
use herder::supervisor::View;

use super::ends::Ends;
use super::file::Reads;
use super::gates::Gates;
use super::halted::Halted;
use super::hooks::each_transition_is_told_once;
use super::ladders::Ladders;
use super::posts::Posts;
use super::reports::Reports;
use super::spent::Spent;
use super::works::Works;
use super::world::Tally;

/// The number of last events that a failure shows.
const PAST: usize = 40;

/// See the module.
pub(crate) struct Books {
    /// Every agent as its events tell it.
    pub(crate) agents: HashMap<AgentName, Agent>,
    /// The fleet, in the same way.
    pub(crate) fleet: FleetState,
    pub(crate) posts: Posts,
    pub(crate) events: u64,
    pub(crate) digest: u64,
    /// The limit of active agents, and the limit that held just before.
    max_active: usize,
    before: (usize, Timestamp),
    /// Observations of reloads of the configuration.
    pub(crate) reads: Reads,
    ladders: Ladders,
    pub(crate) spent: Spent,
    pub(crate) ends: Ends,
    pub(crate) halted: Halted,
    pub(crate) reports: Reports,
    /// Agents whose supervisors panic at every input and are given up.
    lost: BTreeSet<AgentName>,
    /// The accounts that the last sessions began on: they cost those, whatever is written of their agents since.
    began_on: HashMap<AgentName, AccountName>,
    /// Sessions that have begun and not ended.
    open: BTreeMap<AgentName, (SessionId, WorkId)>,
    works: Works,
    gates: Gates,
    /// True if webhooks receive events.
    told: bool,
    /// Escalations that are not answered yet.
    calls: HashMap<WorkId, AgentName>,
    past: VecDeque<(Timestamp, Stream, Entry)>,
    /// The state that was shown of each agent when it was last compared with the disk; it is compared again only when
    /// it changes.
    compared: HashMap<AgentName, Arc<Agent>>,
}

impl Books {
    pub(crate) fn new(max_active: u32, told: bool) -> Self {
        Self {
            agents: HashMap::new(),
            fleet: FleetState::default(),
            posts: Posts::default(),
            events: 0,
            digest: 0,
            max_active: max_active as usize,
            before: (0, Timestamp::default()),
            reads: Reads::default(),
            ladders: Ladders::default(),
            spent: Spent::default(),
            ends: Ends::default(),
            halted: Halted::default(),
            reports: Reports::default(),
            lost: BTreeSet::new(),
            began_on: HashMap::new(),
            open: BTreeMap::new(),
            works: Works::default(),
            gates: Gates::default(),
            told,
            calls: HashMap::new(),
            past: VecDeque::new(),
            compared: HashMap::new(),
        }
    }

    /// Sets the limits from now on.
    pub(crate) fn limits(&mut self, policy: &Policy, now: Timestamp) {
        // An agent that was given a place just before keeps it.
        self.before = (self.max_active, now.after(Duration::from_secs(1)));
        self.max_active = policy.max_active as usize;
        self.halted.rule(policy.reassign_after, now);
        self.gates.rule(policy.quota.clone(), now);
        self.spent.cap(policy.caps.clone(), now);
    }

    fn may_be_active(&self, at: Timestamp) -> usize {
        let (before, until) = self.before;
        if at <= until { self.max_active.max(before) } else { self.max_active }
    }

    /// Records a batch that is on disk.
    pub(crate) fn committed(
        &mut self,
        batch: &Batch,
        receipt: &Receipt,
        tally: &mut Tally,
    ) -> Result<(), String> {
        for write in &batch.writes {
            for entry in &write.entries {
                self.events += 1;
                self.digest = self.digest.rotate_left(5) ^ sum(batch.at, &write.stream, entry);
                if self.past.len() >= PAST {
                    self.past.pop_front();
                }
                self.past.push_back((batch.at, write.stream.clone(), entry.clone()));
                match (&write.stream, entry) {
                    (Stream::Agent(name), Entry::Agent(event)) => self.agent(name, event, batch.at, tally)?,
                    (_, Entry::Fleet(event)) => self.fleet(entry, event, batch.at, tally)?,
                    _ => {}
                }
            }
            if let Stream::Agent(name) = &write.stream
                && let Some(agent) = self.agents.get(name)
            {
                self.works.of_an_agent_are_those_it_has(name, agent)?;
                a_call_stands_until_it_is_answered(&self.calls, name, agent)?;
                self.ladders.what_waits_is_what_it_has(name, agent)?;
                self.ladders.what_is_found_is_told(name)?;
                self.spent.whoever_reaches_its_own_cap_is_stopped(name, agent, batch.at)?;
                self.reads.whoever_runs_otherwise_is_cut(name)?;
            }
        }
        self.ends.committed(batch, receipt)?;
        self.ends.what_was_said_is_how_it_ends()?;
        each_transition_is_told_once(batch, receipt, self.told)?;
        for post in &receipt.posts {
            tally.posts += 1;
            self.posts.owed(post)?;
        }
        Ok(())
    }

    fn agent(
        &mut self,
        name: &AgentName,
        event: &Event,
        at: Timestamp,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let (may, active) = (self.may_be_active(at), self.active());
        let agent = self.agents.entry(name.clone()).or_default();
        let account = agent.spec.as_ref().map(|spec| spec.account.clone()).unwrap_or_default();
        if let Event::SessionStarted { session, work, .. } = event {
            a_session_starts_only_from_rest(agent, name)?;
            at_most_so_many_are_active(active, may)?;
            let waits = self.calls.values().any(|called| called == name);
            whoever_calls_for_a_person_starts_nothing(waits, name)?;
            if let Some((other, _)) = self.open.iter().find(|(_, (_, at_work))| *at_work == work.id) {
                return Err(format!("work {} is run by {other} and by {name}", work.id));
            }
            self.open.insert(name.clone(), (*session, work.id));
            self.began_on.insert(name.clone(), account.clone());
            self.gates.nothing_begins_past_a_closed_gate(&account, name, at)?;
        }
        let began_on = self.began_on.get(name).unwrap_or(&account).clone();
        self.works.heard(name, event, agent)?;
        self.reports.each_report_is_decided_once(name, event)?;
        self.ends.heard(name, event, agent)?;
        let closed = self.fleet.gates.contains_key(&account) || self.fleet.blocked.contains_key(&account);
        self.halted.whoever_was_stopped_begins_nothing(name, event, at)?;
        self.halted.nothing_is_taken_early(name, event, agent, closed, at, tally)?;
        self.ladders.heard(name, event, agent, tally)?;
        self.spent.heard(name, event, agent, &began_on, at, tally)?;
        self.reads.heard(name, event, agent, self.fleet.configured.get(name), tally)?;
        self.calls(name, event, tally)?;
        self.compared.remove(name);
        apply(agent_of(&mut self.agents, name), event, at);
        match event {
            Event::SessionEnded { outcome, .. } => {
                self.open.remove(name);
                self.gates.session_ended(&began_on, name, outcome, at);
            }
            Event::Paused { reason: PauseReason::Failure(category) } if category.is_of_account() => {
                self.gates.refused(&began_on);
            }
            _ => {}
        }
        Ok(())
    }

    fn calls(&mut self, name: &AgentName, event: &Event, tally: &mut Tally) -> Result<(), String> {
        match event {
            Event::Escalated { escalation } => {
                tally.escalations += 1;
                self.calls.insert(escalation.id, name.clone());
            }
            Event::EscalationAnswered { id, .. } if self.calls.remove(id).is_none() => {
                return Err(format!("call {id} of {name} is answered twice"));
            }
            Event::EscalationReminded { id, .. } if !self.calls.contains_key(id) => {
                return Err(format!("people are reminded of call {id} of {name}, which is answered"));
            }
            _ => {}
        }
        Ok(())
    }

    fn fleet(
        &mut self,
        entry: &Entry,
        event: &FleetEvent,
        at: Timestamp,
        tally: &mut Tally,
    ) -> Result<(), String> {
        self.gates.heard(event, at)?;
        self.spent.fleet(event, tally);
        if let FleetEvent::Board { event } = event {
            self.works.boarded(event, &self.fleet.board, tally)?;
        }
        self.fleet.apply_entry(entry, at);
        Ok(())
    }

    /// Records the end of a life of herder, by a kill or in order.
    pub(crate) fn herder_is_gone(&mut self) {
        self.posts.herder_is_gone();
        self.gates.herder_is_gone();
        self.lost.clear();
    }

    /// Records that an agent's supervisor is given up: its process is ended, and nothing of its session is recorded
    /// before the next start.
    pub(crate) fn breaks_over_everything(&mut self, agent: &AgentName) {
        self.gates.is_lost(agent);
        self.lost.insert(agent.clone());
    }

    /// Returns whether the agent has a supervisor.
    pub(crate) fn is_supervised(&self, agent: &AgentName) -> bool {
        !self.lost.contains(agent)
    }

    /// Records lines that have arrived on a network.
    pub(crate) fn arrived(&mut self, network: &NetworkName, lines: &[Line]) -> Result<(), String> {
        self.posts.arrived(network, lines)?;
        self.ends.arrived(network, lines)
    }

    /// Records that the deliveries of posts are on disk.
    pub(crate) fn settled(&mut self, settled: &[Settled]) -> Result<(), String> {
        self.ends.settled(settled);
        self.posts.settled(settled)
    }

    /// Returns the number of open sessions of agents that have a supervisor.
    pub(crate) fn active(&self) -> usize {
        self.open.keys().filter(|agent| self.is_supervised(agent)).count()
    }

    /// Every accepted work has a place.
    pub(crate) fn every_work_is_somewhere(&self, board: &Board) -> Result<(), String> {
        self.works.every_one_is_somewhere(&self.agents, board)
    }

    pub(crate) fn what_is_shown_is_what_is_on_disk(&mut self, views: &[View]) -> Result<(), String> {
        // A decision is committed and shown in the same step: at rest there is no difference.
        for view in views {
            let known = self.compared.insert(view.name.clone(), Arc::clone(&view.agent));
            if known.is_some_and(|known| Arc::ptr_eq(&known, &view.agent)) {
                continue;
            }
            let disk = self.agents.get(&view.name);
            if disk != Some(&*view.agent) {
                return Err(format!("{} is shown as {:?} and is {disk:?}", view.name, view.agent));
            }
        }
        Ok(())
    }

    /// Checks, after some days without faults, that nothing is left.
    pub(crate) fn everything_has_come_to_an_end(&self) -> Result<(), String> {
        if let Some((call, agent)) = self.calls.iter().min_by_key(|(call, _)| **call) {
            let phase = self.agents.get(agent).map(|agent| &agent.phase);
            return Err(format!("call {call} of {agent} was never answered: it is {phase:?}"));
        }
        self.works.everything_has_come_to_an_end(&self.agents)?;
        self.ladders.every_evaluation_is_over(&self.agents)?;
        self.posts.everything_was_said()?;
        self.ends.machines_know_how_every_task_ended()
    }

    /// Returns the last events, for the search of a failure's cause.
    pub(crate) fn past(&self) -> String {
        let line = |(at, stream, entry): &(Timestamp, Stream, Entry)| {
            let mut text = format!("{entry:?}");
            text.truncate(text.char_indices().nth(300).map_or(text.len(), |(at, _)| at));
            format!("\n    {} {stream} {text}", at.as_millis())
        };
        format!("before that:{}", self.past.iter().map(line).collect::<String>())
    }
}

fn agent_of<'a>(agents: &'a mut HashMap<AgentName, Agent>, name: &AgentName) -> &'a mut Agent {
    agents.get_mut(name).expect("it was just there")
}

/// Tells two histories apart.
fn sum(at: Timestamp, stream: &Stream, entry: &Entry) -> u64 {
    let kind = match entry {
        Entry::Agent(event) => hashed(&std::mem::discriminant(event)),
        Entry::Fleet(event) => hashed(&std::mem::discriminant(event)),
        Entry::Audit(_) => 7,
    };
    let name = match stream {
        Stream::Agent(name) => {
            name.as_str().bytes().fold(11, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte))
        }
        Stream::Fleet => 1,
        Stream::Audit => 2,
    };
    at.as_millis().unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ kind.rotate_left(17) ^ name
}

fn hashed(value: &impl Hash) -> u64 {
    // Without randomness of its own: the same in every process.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn a_session_starts_only_from_rest(agent: &Agent, name: &AgentName) -> Result<(), String> {
    if agent.phase == Phase::Idle { Ok(()) } else { Err(format!("{name} starts from {:?}", agent.phase)) }
}

fn at_most_so_many_are_active(open: usize, max: usize) -> Result<(), String> {
    if open < max { Ok(()) } else { Err(format!("one more session beside {open}, and {max} may be")) }
}

fn whoever_calls_for_a_person_starts_nothing(waits: bool, name: &AgentName) -> Result<(), String> {
    if waits { Err(format!("{name} starts while it calls for a person")) } else { Ok(()) }
}

fn a_call_stands_until_it_is_answered(
    calls: &HashMap<WorkId, AgentName>,
    name: &AgentName,
    agent: &Agent,
) -> Result<(), String> {
    let stands = agent.watch.escalation.as_ref().map(|call| call.id);
    let known = match stands {
        Some(call) => calls.get(&call) == Some(name),
        None => !calls.values().any(|called| called == name),
    };
    if known { Ok(()) } else { Err(format!("{name} shows the call {stands:?}, and there are {calls:?}")) }
}

/// Returns whether a person asked for this kind of work; rounds are herder's own.
pub(crate) fn is_asked_for(kind: WorkKind) -> bool {
    kind != WorkKind::Round
}
