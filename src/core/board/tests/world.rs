//! A board, three agents and the messages between them.

mod after;
mod deserted;
mod holds;
mod leading;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use proptest::prelude::*;

use crate::agent::{Agent, Phase};
use crate::board::{Board, BoardEvent, Door, Place, Wish};
use crate::card::Card;
use crate::dealings::{Cut, News, Onward};
use crate::event::Event;
use crate::id::{AgentName, SessionId, WorkId};
use crate::input::{Control, Input, Signal};
use crate::notice::{Notice, Refusal};
use crate::outcome::{Category, Outcome, Usage};
use crate::policy::{Judge, Policy};
use crate::spec::{AgentSpec, Permissions, Runtime};
use crate::time::Timestamp;
use crate::verdict::Lapse;
use crate::work::{Actor, TaskEnd, TaskReport, WorkKind};
use crate::{Context, OwedBody, apply, decide};

const NAMES: [&str; 3] = ["alpha", "bravo", "charlie"];
const RELEASE: Duration = Duration::from_secs(600);

/// Something that happens. Agents and tasks are chosen by numbers that are brought into range.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// A task for the board.
    Add,
    /// A task for the board that comes after another one.
    AddAfter(u64),
    /// A task for an agent by name.
    Give(usize),
    Assign(u64, Option<usize>),
    Split(u64, u64),
    Cancel(u64),
    Reword(u64),
    /// The agent's session succeeds, says that its task failed, or crashes.
    Finish(usize),
    Fail(usize),
    Crash(usize),
    /// The task of the agent's session does not fit into one context window, or needs more than the agent may do.
    Overflow(usize),
    Deny(usize),
    /// The splitter has split the agent's task, or failed to.
    Divide(usize, bool),
    Pause(usize),
    Resume(usize),
    Remove(usize),
    AddAgain(usize),
    /// The agent has no supervisor until herder is started again.
    Desert(usize),
    /// The agent adds a part to its task, which comes after another part of it.
    AddPart(usize, Option<usize>, Option<usize>),
    /// The agent waits for all parts of its task, and cancels one of them.
    AwaitParts(usize),
    CancelPart(usize, usize),
    /// One of the messages on their way arrives.
    Deliver(usize),
    /// herder is killed and started again: all messages on their way are lost.
    Kill,
    /// Passes more time than tasks wait for an agent that is halted.
    Wait,
    /// All messages arrive.
    Settle,
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let (agent, task) = (0..3_usize, 1..20_u64);
    prop_oneof![
        3 => Just(Op::Add),
        2 => task.clone().prop_map(Op::AddAfter),
        2 => agent.clone().prop_map(Op::Give),
        3 => (task.clone(), prop::option::of(agent.clone())).prop_map(|(task, to)| Op::Assign(task, to)),
        2 => (task.clone(), 2..4_u64).prop_map(|(task, parts)| Op::Split(task, parts)),
        1 => task.clone().prop_map(Op::Cancel),
        1 => task.prop_map(Op::Reword),
        4 => agent.clone().prop_map(Op::Finish),
        1 => agent.clone().prop_map(Op::Fail),
        1 => agent.clone().prop_map(Op::Crash),
        2 => agent.clone().prop_map(Op::Overflow),
        2 => agent.clone().prop_map(Op::Deny),
        4 => (agent.clone(), prop::bool::weighted(0.8)).prop_map(|(agent, well)| Op::Divide(agent, well)),
        2 => agent.clone().prop_map(Op::Pause),
        3 => agent.clone().prop_map(Op::Resume),
        1 => agent.clone().prop_map(Op::Remove),
        1 => agent.clone().prop_map(Op::AddAgain),
        1 => agent.clone().prop_map(Op::Desert),
        6 => (agent.clone(), prop::option::of(0..4_usize), prop::option::of(agent.clone()))
            .prop_map(|(agent, after, to)| Op::AddPart(agent, after, to)),
        4 => agent.clone().prop_map(Op::AwaitParts),
        1 => (agent, 0..4_usize).prop_map(|(agent, part)| Op::CancelPart(agent, part)),
        12 => (0..8_usize).prop_map(Op::Deliver),
        2 => Just(Op::Kill),
        1 => Just(Op::Wait),
        2 => Just(Op::Settle),
    ]
}

enum Mail {
    /// The board should look at an agent.
    Look(AgentName),
    To(AgentName, Input),
}

/// The part of an agent's state that the board reads.
type Stand = (bool, u64, u64, Option<WorkId>, Vec<(WorkId, SessionId)>);

pub(super) struct World {
    pub(super) board: Board,
    agents: BTreeMap<AgentName, Agent>,
    stands: BTreeMap<AgentName, Stand>,
    mail: VecDeque<Mail>,
    now: Timestamp,
    policy: Policy,
    pub(super) ids: u64,
    given: BTreeSet<WorkId>,
    ended: BTreeMap<WorkId, u32>,
    lines: Vec<String>,
    /// Results that agents were told of parts that they had added, since these were open last.
    told: BTreeMap<(WorkId, WorkId), u32>,
    /// Agents whose account is closed.
    closed: BTreeSet<AgentName>,
    /// Agents without a supervisor until herder is started again.
    deserted: BTreeSet<AgentName>,
}

fn person() -> Actor {
    Actor { network: "libera".into(), name: "alice".to_owned(), identity: None }
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            board: Board::default(),
            agents: BTreeMap::new(),
            stands: BTreeMap::new(),
            mail: VecDeque::new(),
            now: Timestamp::from_seconds(1_800_000_000),
            policy: Policy { reassign_after: RELEASE, ..Policy::default() },
            ids: 0,
            given: BTreeSet::new(),
            ended: BTreeMap::new(),
            lines: Vec::new(),
            told: BTreeMap::new(),
            closed: BTreeSet::new(),
            deserted: BTreeSet::new(),
        };
        world.policy.evaluator.judge = Judge::Asked;
        for index in 0..NAMES.len() {
            world.added(index);
        }
        world
    }

    pub(super) fn name(&self, index: usize) -> AgentName {
        AgentName::new(NAMES[index]).expect("a good name")
    }

    fn added(&mut self, index: usize) {
        let name = self.name(index);
        let mut spec = AgentSpec::new(name.clone(), Runtime::Command, "/srv".into());
        (spec.leads, spec.lead_budget_usd) = (true, 1.0);
        if index == 1 {
            (spec.permissions, spec.tags) = (Permissions::Full, vec!["rust".to_owned()]);
        }
        let mut agent = self.agents.remove(&name).unwrap_or_default();
        // Each a second after the one before, so that one agent has been idle for longest.
        self.now = self.now.after(Duration::from_secs(1));
        apply(&mut agent, &Event::Added { spec: Box::new(spec), by: person() }, self.now);
        self.agents.insert(name.clone(), agent);
        self.stands.remove(&name);
        self.stood(&name);
    }

    pub(super) fn run(&mut self, ops: &[Op]) {
        for op in ops {
            self.step(op);
        }
    }

    pub(super) fn step(&mut self, op: &Op) {
        match op {
            Op::Add => {
                if self.ids < 20 {
                    self.add(Card::default());
                }
            }
            Op::AddAfter(task) => self.add_after(WorkId(*task), None),
            Op::Give(agent) => {
                if self.ids < 20 {
                    let id = self.fresh().0;
                    self.give(NAMES[*agent], id, Card::default());
                }
            }
            // A refusal changes nothing.
            Op::Assign(task, to) => drop(self.assign(*task, *to)),
            Op::Split(task, parts) => {
                if self.ids < 40 {
                    drop(self.split(*task, *parts));
                }
            }
            Op::Cancel(task) => drop(self.cancel(*task)),
            Op::Reword(task) => drop(self.reword(*task, "do it otherwise")),
            Op::Finish(agent) => self.ends(*agent, Category::Success, None),
            Op::Fail(agent) => self.ends(*agent, Category::Success, Some(TaskEnd::Failed)),
            Op::Crash(agent) => self.ends(*agent, Category::Crash, None),
            Op::Overflow(agent) => self.ends(*agent, Category::ContextOverflow, None),
            Op::Deny(agent) => self.ends(*agent, Category::SandboxDenial, None),
            Op::Divide(agent, well) => self.divide(*agent, *well),
            Op::Pause(agent) => drop(self.ask(&self.name(*agent), Control::Pause { now: false })),
            Op::Resume(agent) => drop(self.ask(&self.name(*agent), Control::Resume)),
            Op::Remove(agent) => drop(self.ask(&self.name(*agent), Control::Remove)),
            Op::AddAgain(agent) => {
                if self.agents[&self.name(*agent)].phase == Phase::Removed {
                    self.retire();
                    self.added(*agent);
                }
            }
            Op::Desert(agent) => self.desert(*agent),
            Op::AddPart(agent, after, to) => drop(self.add_part(*agent, *after, *to)),
            Op::AwaitParts(agent) => drop(self.await_parts(*agent)),
            Op::CancelPart(agent, part) => drop(self.cancel_part(*agent, *part)),
            Op::Deliver(index) => {
                if !self.mail.is_empty()
                    && let Some(mail) = self.mail.remove(index % self.mail.len())
                {
                    self.deliver(mail);
                }
            }
            Op::Kill => self.kill(),
            Op::Wait => {
                self.now = self.now.after(RELEASE);
                for name in self.names() {
                    self.tell(&name, &Input::Tick);
                }
            }
            Op::Settle => {
                while let Some(mail) = self.mail.pop_front() {
                    self.deliver(mail);
                    self.check();
                }
                self.retire();
                while let Some(mail) = self.mail.pop_front() {
                    self.deliver(mail);
                }
            }
        }
        self.check();
    }

    fn names(&self) -> Vec<AgentName> {
        self.agents.keys().cloned().collect()
    }

    fn fresh(&mut self) -> WorkId {
        self.ids += 1;
        WorkId(self.ids)
    }

    // ── people ──

    pub(super) fn add(&mut self, card: Card) {
        let id = self.fresh();
        self.given.insert(id);
        let card = Some(Box::new(card));
        self.wish(&Wish::Add { id, text: "do it".to_owned(), card, to: None, fits: true })
            .expect("there is room");
    }

    pub(super) fn give(&mut self, agent: &str, id: u64, card: Card) {
        let name = AgentName::new(agent).expect("a good name");
        self.ids = self.ids.max(id);
        let (id, text, card) = (WorkId(id), "do it".to_owned(), Some(Box::new(card)));
        if self.ask(&name, Control::Give { id, kind: WorkKind::Task, text, card }).is_ok() {
            self.given.insert(id);
        }
    }

    pub(super) fn assign(&mut self, task: u64, to: Option<usize>) -> Result<Notice, Refusal> {
        let (task, to) = (WorkId(task), to.map(|index| self.name(index)));
        let gone = |to: &AgentName| self.agents[to].leaves();
        if let Some(to) = to.as_ref().filter(|to| gone(to)) {
            return Err(Refusal::Removed { agent: to.clone() });
        }
        let control = Control::HandBack { task, onward: Onward::To(to.clone()) };
        self.change(task, control, &Wish::Assign { task, to })
    }

    pub(super) fn split(&mut self, task: u64, parts: u64) -> Result<Notice, Refusal> {
        let task = WorkId(task);
        let cuts: Vec<Cut> =
            (0..parts).map(|_| Cut { id: self.fresh(), text: "a part".to_owned() }).collect();
        let control = Control::HandBack { task, onward: Onward::Split(cuts.clone()) };
        self.change(task, control, &Wish::Split { task, cuts })
    }

    pub(super) fn cancel(&mut self, task: u64) -> Result<Notice, Refusal> {
        let task = WorkId(task);
        self.change(task, Control::CancelTask(task), &Wish::Cancel(task))
    }

    /// Sends the change to the agent that has the task, or to the board, as the commands do.
    fn change(&mut self, task: WorkId, control: Control, wish: &Wish) -> Result<Notice, Refusal> {
        let has = |agent: &Agent| agent.all_works().any(|work| work.id == task);
        let over = |agent: &Agent| agent.finished.iter().any(|done| done.work.id == task);
        let with = |has: &dyn Fn(&Agent) -> bool| {
            self.agents.iter().find(|(_, agent)| has(agent)).map(|(name, _)| name.clone())
        };
        if let Some(name) = with(&has) {
            return self.ask(&name, control);
        }
        if self.board.tasks.contains_key(&task) {
            return self.wish(wish);
        }
        if with(&|agent| agent.board.hands_back(task)).is_some() {
            return Err(Refusal::TaskMoving { task });
        }
        match with(&over) {
            Some(name) => self.ask(&name, control),
            None => self.wish(wish),
        }
    }

    fn wish(&mut self, wish: &Wish) -> Result<Notice, Refusal> {
        let (events, notice) = self.board.wish(wish, &person(), self.now)?;
        self.commit(events);
        self.run_all_errands();
        self.deal();
        Ok(notice)
    }

    /// Closes the accounts of these agents and opens those of the others.
    pub(super) fn close(&mut self, closed: &[usize]) {
        self.closed = closed.iter().map(|index| self.name(*index)).collect();
        self.deal();
    }

    // ── agents ──

    fn ask(&mut self, name: &AgentName, control: Control) -> Result<Notice, Refusal> {
        let reply = self.decide(name, &Input::Control { by: person(), control })?;
        Ok(reply.expect("an accepted command is answered"))
    }

    fn tell(&mut self, name: &AgentName, input: &Input) {
        drop(self.decide(name, input));
    }

    /// Returns true if another agent may do more, and is able to do this agent's current work.
    fn broader(&self, name: &AgentName) -> bool {
        let agent = &self.agents[name];
        let (Some(work), Some(spec)) = (&agent.current, &agent.spec) else { return false };
        let others =
            self.agents.iter().filter(|(other, _)| *other != name && !self.deserted.contains(*other));
        others.into_iter().any(|(_, other)| Board::would_do_more(other, work, spec.permissions))
    }

    fn decide(&mut self, name: &AgentName, input: &Input) -> Result<Option<Notice>, Refusal> {
        if self.deserted.contains(name) {
            return Err(Refusal::Deserted { agent: name.clone() });
        }
        let broader = self.broader(name);
        let parts = self.untold_parts(name);
        let agent = self.agents.get_mut(name).expect("it is there");
        let context = Context {
            now: self.now,
            policy: &self.policy,
            jitter: Duration::ZERO,
            hold: None,
            closed: None,
            broader,
            handed: None,
            parts: &parts,
            fresh: WorkId(u64::MAX),
        };
        let decision = decide(agent, input, &context)?;
        for event in &decision.events {
            apply(agent, event, self.now);
        }
        self.note_told(&decision.events);
        self.stood(name);
        Ok(decision.reply)
    }

    /// Sends the board a message to look at the agent, if the state that the board reads has changed.
    fn stood(&mut self, name: &AgentName) {
        let agent = &self.agents[name];
        let ended = agent.finished.back().map(|finished| finished.work.id);
        let parked = agent.board.parked().map(|parked| (parked.work.id, parked.session)).collect();
        let stand = (agent.is_free(self.now), agent.board.taken, agent.board.told, ended, parked);
        if self.stands.insert(name.clone(), stand.clone()) != Some(stand) {
            self.mail.push_back(Mail::Look(name.clone()));
        }
    }

    fn ends(&mut self, agent: usize, category: Category, report: Option<TaskEnd>) {
        let name = self.name(agent);
        let Some(session) = self.agents[&name].session() else { return };
        if let Some(end) = report {
            let report = TaskReport { end, note: "no luck".to_owned(), denied: None, opinion: None };
            self.tell(&name, &Input::Reported { session, report });
        }
        let usage = Usage { cost_usd: leading::SESSION_USD, ..Usage::default() };
        let outcome = Box::new(Outcome { usage, ..Outcome::new(category, "so it was") });
        self.tell(
            &name,
            &Input::Driver { session, signal: Signal::Ended { outcome, survivors: Vec::new() } },
        );
    }

    fn divide(&mut self, agent: usize, well: bool) {
        let name = self.name(agent);
        let Some(number) = self.agents[&name].splitting.as_ref().map(|split| split.number) else { return };
        let well = well && self.ids < 60;
        let mut cut = || Cut { id: self.fresh(), text: "a part".to_owned() };
        let answer = if well { Ok(vec![cut(), cut()]) } else { Err(Lapse::Busy) };
        self.tell(&name, &Input::Divided { number, answer, usage: Some(Usage::default()) });
    }

    // ── the root ──

    fn deliver(&mut self, mail: Mail) {
        match mail {
            Mail::Look(name) => self.look(&name),
            Mail::To(name, input) => {
                if self.agents[&name].phase != Phase::Removed {
                    self.tell(&name, &input);
                }
            }
        }
    }

    fn look(&mut self, name: &AgentName) {
        let events = self.board.look(name, &self.agents[name], self.now);
        self.commit(events);
        self.run_all_errands();
        self.deal();
    }

    /// Looks at removed agents for the last time, and drops messages to them.
    fn retire(&mut self) {
        for name in self.names() {
            if self.agents[&name].phase == Phase::Removed {
                self.mail.retain(|mail| !matches!(mail, Mail::To(to, _) if *to == name));
                self.look(&name);
            }
        }
    }

    fn run_all_errands(&mut self) {
        for (name, agent) in &self.agents {
            if agent.phase != Phase::Removed {
                let errands = self.board.errands(name, agent);
                self.mail.extend(errands.into_iter().map(|errand| Mail::To(name.clone(), errand)));
            }
        }
    }

    fn deal(&mut self) {
        let there: Vec<(&AgentName, &Agent)> =
            self.agents.iter().filter(|(_, agent)| agent.phase != Phase::Removed).collect();
        let door = |name: &AgentName, _: &Agent| {
            if self.deserted.contains(name) {
                Door::Deserted
            } else if self.closed.contains(name) {
                Door::Closed
            } else {
                Door::Open
            }
        };
        let events = self.board.deal(&there, door, self.now);
        if !events.is_empty() {
            self.commit(events);
            self.run_all_errands();
        }
    }

    fn commit(&mut self, events: Vec<BoardEvent>) {
        for event in events {
            self.note_parts(&event);
            if let BoardEvent::Split { parts, .. } = &event {
                self.given.extend(parts.iter().map(|part| part.id));
            }
            if let BoardEvent::Ended { task, end, .. } = &event {
                let parts = self.board.parts(*task);
                let done = parts.iter().all(|part| part.end == Some(TaskEnd::Done));
                assert!(*end != TaskEnd::Done || done, "{task} is done and its parts are not: {parts:?}");
                *self.ended.entry(*task).or_default() += 1;
            }
            if let BoardEvent::Reopened { task, .. } = &event {
                self.ended.remove(task);
            }
            if let BoardEvent::Offered { task, .. } = &event {
                let before = self.board.tasks[task].work.card().after.iter();
                let is_open = |of: &&crate::card::Before| self.end_of(of.task) != Some(TaskEnd::Done);
                let open: Vec<_> = before.filter(is_open).collect();
                assert!(open.is_empty(), "{task} is handed over before {open:?}");
            }
            self.board.apply(&event, self.now);
            let lines = self.board.posts(&event).into_iter().filter_map(|owed| match owed.body {
                OwedBody::Notice(Notice::WorkLine { line }) => Some(line),
                OwedBody::Notice(_) | OwedBody::Words(_) => None,
            });
            self.lines.extend(lines);
        }
    }

    fn kill(&mut self) {
        self.mail.clear();
        self.stands.clear();
        self.deserted.clear();
        for name in self.names() {
            if self.agents[&name].phase == Phase::Removed {
                let events = self.board.look(&name, &self.agents[&name], self.now);
                self.commit(events);
            }
        }
        let there: BTreeSet<AgentName> = self
            .agents
            .iter()
            .filter(|(_, a)| a.phase != Phase::Removed)
            .map(|(name, _)| name.clone())
            .collect();
        let lost = self.board.look_for_lost(|name| there.contains(name), self.now);
        self.commit(lost);
        for name in there {
            self.tell(&name, &Input::Started);
            let events = self.board.look(&name, &self.agents[&name], self.now);
            self.commit(events);
        }
        self.run_all_errands();
        self.deal();
    }
}
