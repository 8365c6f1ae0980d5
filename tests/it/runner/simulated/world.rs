//! The bot's disk, the machine's processes and the words of both sides, by which the invariants are judged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use herder::core::ask::AskKey;
use herder::core::detail::Own;
use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::input::Signal;
use herder::core::outcome::Category;
use herder::runner::wire::SessionKey;
use herder::runtime::{Order, Report};
use tokio::sync::Notify;

use super::Plan;
use crate::simulated_fleet::random::Random;

/// Counts of the events of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sessions: u64,
    pub(super) decided: u64,
    pub(super) bots_killed: u64,
    pub(super) bots_left: u64,
    pub(super) bots_without_runner: u64,
    pub(super) runners_killed: u64,
    pub(super) adopted: u64,
    pub(super) lost: u64,
    pub(super) stopped: u64,
    pub(super) steered: u64,
    pub(super) cuts: u64,
    pub(super) delays: u64,
    pub(super) freezes: u64,
    pub(super) doubled_reports: u64,
    pub(super) doubled_orders: u64,
    /// Decides whether two histories were the same.
    pub(super) digest: u64,
}

/// The part of an agent's session that is on the bot's disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// The last session.
    pub(super) session: u64,
    /// True until its end is decided.
    pub(super) open: bool,
    pub(super) heard: u64,
    /// Number of decided reports that are the driver's own.
    pub(super) said: usize,
    pub(super) spawned: bool,
    pub(super) ready: bool,
    pub(super) stopping: bool,
    pub(super) answered: Vec<AskKey>,
    /// Messages that no turn has yet.
    pub(super) waiting: BTreeSet<WorkId>,
}

/// The words between the driver of a session and its bots.
#[derive(Debug, Default)]
struct Said {
    /// Its reports.
    reports: Vec<Report>,
    /// By the name of an order, how often bots gave it and how often it came.
    given: BTreeMap<String, u64>,
    came: BTreeMap<String, u64>,
    /// The runner that has it.
    runner: u64,
}

/// The end of a life, or of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Killed,
    Left,
    WithoutRunner,
}

/// The party whose step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    Bot,
    Runner,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) random: Random,
    pub(super) calm: bool,
    /// The invariant that broke.
    pub(super) broken: Option<String>,
    pub(super) bot: Option<Ending>,
    pub(super) runner: Option<Ending>,
    /// Steps until a kill.
    bot_left: u64,
    runner_left: u64,
    pub(super) epoch: u64,
    pub(super) runners: u64,
    pub(super) disk: BTreeMap<AgentName, Record>,
    pub(super) processes: BTreeMap<AgentName, SessionId>,
    said: BTreeMap<SessionKey, Said>,
    next: u64,
    past: VecDeque<String>,
    pub(super) tally: Tally,
}

/// The world, shared by everybody in it.
#[derive(Debug, Clone)]
pub(super) struct Sim {
    world: Arc<Mutex<World>>,
    bot_over: Arc<Notify>,
    runner_over: Arc<Notify>,
}

impl Sim {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut random = Random::new(plan.seed, &[11]);
        let (bot_left, runner_left) = (life(&mut random, plan.bot_life), life(&mut random, plan.runner_life));
        let world = World {
            plan: plan.clone(),
            random,
            calm: false,
            broken: None,
            bot: None,
            runner: None,
            bot_left,
            runner_left,
            epoch: 0,
            runners: 0,
            disk: BTreeMap::new(),
            processes: BTreeMap::new(),
            said: BTreeMap::new(),
            next: 0,
            past: VecDeque::new(),
            tally: Tally::default(),
        };
        let (bot_over, runner_over) = (Arc::default(), Arc::default());
        Self { world: Arc::new(Mutex::new(world)), bot_over, runner_over }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("nobody panics with the world in hand")
    }

    /// Takes a step that could be the last one of its party, which then does nothing any more.
    pub(super) async fn step<T>(
        &self,
        party: Party,
        step: impl FnOnce(&mut World) -> Result<T, String>,
    ) -> T {
        let taken = {
            let mut world = self.world();
            if world.over(party).is_some() || world.broken.is_some() { None } else { world.take(party, step) }
        };
        match taken {
            Some(taken) if self.world().over(party).is_none() => taken,
            _ => {
                self.notify(party).notify_one();
                std::future::pending().await
            }
        }
    }

    /// Ends the life of a bot that was not killed.
    pub(super) fn ends(&self, ending: Ending) {
        self.world().bot.get_or_insert(ending);
        self.bot_over.notify_one();
    }

    /// Resolves when the life of the party is over.
    pub(super) async fn over(&self, party: Party) {
        loop {
            {
                let mut world = self.world();
                if world.over(party).is_some() || world.broken.is_some() {
                    return;
                }
            }
            self.notify(party).notified().await;
        }
    }

    fn notify(&self, party: Party) -> &Notify {
        match party {
            Party::Bot => &self.bot_over,
            Party::Runner => &self.runner_over,
        }
    }
}

fn life(random: &mut Random, about: u64) -> u64 {
    1 + random.below(about * 2)
}

/// Names an order by what a session takes once.
fn name(order: &Order) -> String {
    match order {
        Order::Go => "go".to_owned(),
        Order::Steer { work, .. } | Order::Insist { work, .. } => format!("message {work}"),
        Order::Answer { key, .. } => format!("answer {}", key.0),
        Order::Hold { waits } => format!("hold {waits}"),
        Order::Stop => "stop".to_owned(),
    }
}

impl World {
    fn over(&mut self, party: Party) -> &mut Option<Ending> {
        match party {
            Party::Bot => &mut self.bot,
            Party::Runner => &mut self.runner,
        }
    }

    fn take<T>(&mut self, party: Party, step: impl FnOnce(&mut Self) -> Result<T, String>) -> Option<T> {
        let taken = match step(self) {
            Ok(taken) => taken,
            Err(broken) => {
                self.broken = Some(broken);
                return None;
            }
        };
        let calm = self.calm;
        let left = match party {
            Party::Bot => &mut self.bot_left,
            Party::Runner => &mut self.runner_left,
        };
        *left = left.saturating_sub(1);
        if *left == 0 && !calm {
            *self.over(party) = Some(Ending::Killed);
            self.note(|| format!("{party:?} is killed"));
        }
        Some(taken)
    }

    /// Begins the next life of a party.
    pub(super) fn reborn(&mut self, party: Party) {
        *self.over(party) = None;
        self.note(|| format!("{party:?} is there"));
        match party {
            Party::Bot => {
                self.bot_left = life(&mut self.random, self.plan.bot_life);
                self.epoch += 1;
            }
            Party::Runner => {
                self.runner_left = life(&mut self.random, self.plan.runner_life);
                self.runners += 1;
                // A runner ends what one that was killed has left before it listens.
                self.processes.clear();
            }
        }
    }

    /// Notes what happened, for people who look at a history that breaks an invariant.
    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        const KEPT: usize = 40;
        self.past.push_back(what());
        if self.past.len() > KEPT {
            self.past.pop_front();
        }
    }

    /// Returns what happened lately.
    pub(super) fn past(&self) -> String {
        self.past.iter().map(|what| format!("\n  {what}")).collect()
    }

    /// Draws a number that nobody has drawn.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A session is started on the machine.
    pub(super) fn launched(&mut self, of: &SessionKey) -> Result<u64, String> {
        if let Some(alive) = self.processes.insert(of.agent.clone(), of.session) {
            return Err(format!(
                "at most one process per agent: {} #{} is started while #{alive} has a process",
                of.agent, of.session
            ));
        }
        let known = self.said.entry(of.clone()).or_default();
        if known.runner > 0 {
            return Err(format!(
                "at most one process per agent: {} #{} is started twice",
                of.agent, of.session
            ));
        }
        known.runner = self.runners;
        self.tally.sessions += 1;
        Ok(self.number())
    }

    /// A driver reports.
    pub(super) fn reported(&mut self, of: &SessionKey, report: &Report) -> Result<(), String> {
        if matches!(report, Report::Signal(Signal::Ended { .. })) {
            self.processes.remove(&of.agent);
        }
        self.said.entry(of.clone()).or_default().reports.push(report.clone());
        if matches!(report, Report::Signal(_)) {
            self.note(|| format!("{} #{} says {report:?}", of.agent, of.session));
        }
        Ok(())
    }

    /// A bot gives an order.
    pub(super) fn gives(&mut self, of: &SessionKey, order: &Order) -> Result<(), String> {
        *self.said.entry(of.clone()).or_default().given.entry(name(order)).or_default() += 1;
        self.note(|| format!("{} #{} is given {}", of.agent, of.session, name(order)));
        Ok(())
    }

    /// An order comes to a driver.
    pub(super) fn came(&mut self, of: &SessionKey, order: &Order) -> Result<(), String> {
        let said = self.said.entry(of.clone()).or_default();
        let name = name(order);
        let came = said.came.entry(name.clone()).or_default();
        *came += 1;
        let mut most = said.given.get(&name).copied().unwrap_or_default();
        if let Order::Steer { work, .. } = order {
            // Those which follow from adoptions are dropped by the runner.
            let refused = said.reports.iter().filter(|report| **report == Report::NotTaken { work: *work });
            most = most.min(1 + refused.count() as u64);
        }
        if *came > most {
            return Err(format!(
                "what a session is owed it gets once: {} #{} got {name} {came} times instead of {most}",
                of.agent, of.session
            ));
        }
        Ok(())
    }

    /// The bot decides a report of an open session; returns whether the session is over.
    pub(super) fn decided(&mut self, of: &SessionKey, report: &Report) -> Result<bool, String> {
        let record = self.disk.get_mut(&of.agent).expect("it has begun");
        let once =
            |why: String| Err(format!("each report is decided once: of {} #{} {why}", of.agent, of.session));
        if !record.open || record.session != of.session.0 {
            return once(format!("one is decided after its end: {report:?}"));
        }
        let said = self.said.get(of);
        if let Report::Signal(Signal::Ended { outcome, .. }) = report
            && outcome.category == Category::Interrupted
            && let Some(own @ (Own::Restarted | Own::NotEnded)) = &outcome.detail.own
        {
            // It is said by the bot's own end, of a session that a runner which is gone had, if any.
            if *own == Own::NotEnded {
                return once("the launch is refused".to_owned());
            }
            if said.is_some_and(|said| said.runner == self.runners) && self.runner.is_none() {
                return once(format!("it is said that it is lost, and runner {} has it", self.runners));
            }
            self.tally.lost += 1;
            record.open = false;
            self.note(|| format!("{} #{} is lost", of.agent, of.session));
            return Ok(true);
        }
        let n = record.heard;
        let expected = said.and_then(|said| said.reports.get(record.said));
        if expected == Some(report) {
            record.said += 1;
        } else if !matches!(report, Report::NotTaken { .. }) {
            // A runner says that as well, of a driver that has no room.
            return once(format!("{report:?} is decided as number {n}, which is {expected:?}"));
        }
        record.heard += 1;
        self.tally.decided += 1;
        match report {
            Report::Signal(Signal::Spawned { .. }) => record.spawned = true,
            Report::Signal(Signal::Ready { .. }) => record.ready = true,
            Report::Signal(Signal::Asked { key, .. }) => record.answered.push(*key),
            Report::Signal(Signal::Steered { work }) => {
                if !record.waiting.remove(work) {
                    return once(format!("message {work} is in a turn twice"));
                }
                self.tally.steered += 1;
            }
            Report::Signal(Signal::Ended { .. }) => record.open = false,
            Report::Signal(_) | Report::Words(_) | Report::NotTaken { .. } | Report::Beat => {}
        }
        self.tally.digest = Random::new(self.tally.digest, &[of.session.0, n, self.tally.decided]).next();
        let over = !record.open;
        if over {
            self.note(|| format!("{} #{} is over", of.agent, of.session));
        }
        Ok(over)
    }

    /// Checks at the end that nothing is missing.
    pub(super) fn everything_has_come_to_an_end(&self) -> Result<(), String> {
        for (agent, record) in &self.disk {
            if record.open {
                let of = SessionKey { agent: agent.clone(), session: SessionId(record.session) };
                let said = self.said.get(&of);
                return Err(format!(
                    "what a session is owed it gets once: {agent} is never over, on disk {record:?}, said {said:?}"
                ));
            }
        }
        if let Some((agent, session)) = self.processes.first_key_value() {
            return Err(format!("at most one process per agent: that of {agent} #{session} is left"));
        }
        Ok(())
    }
}
