//! The world outside of herder, and the parts of it that outlive herder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use herder::core::event::Event;
use herder::core::id::{AccountName, AgentName, SessionId};
use herder::core::outcome::Category;
use herder::core::time::Timestamp;
use herder::journal::{Entry, FleetEvent, Memory, Step};
use tokio::sync::Notify;

use super::Plan;
use super::books::Books;
use super::breaks::Breaks;
use super::file::File;
use super::hooks;
use super::random::Random;
use super::tools::Words;

/// The counts of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) posts: u64,
    pub(crate) lines: u64,
    pub(crate) sessions: u64,
    pub(crate) kills: u64,
    pub(crate) drains: u64,
    pub(crate) panics: u64,
    /// Supervisors that broke over everything until herder was started again.
    pub(crate) given_up: u64,
    pub(crate) orphans: u64,
    pub(crate) hangs: u64,
    pub(crate) limits: u64,
    pub(crate) escalations: u64,
    pub(crate) tasks: u64,
    /// The number of recorded reports by agents' tools.
    pub(crate) reported: u64,
    /// Tasks that were taken from agents which could not go on.
    pub(crate) released: u64,
    pub(crate) links_lost: u64,
    pub(crate) survivors: u64,
    pub(crate) removals: u64,
    /// The number of stops of all agents.
    pub(crate) stops: u64,
    /// The number of questions to the evaluator.
    pub(crate) asked: u64,
    /// Evaluations that are over.
    pub(crate) judged: u64,
    /// Calls for a person after what the evaluator found.
    pub(crate) stuck: u64,
    /// Caps that a person waived.
    pub(crate) waived: u64,
    /// Readings of the configuration while herder ran, and agents that were changed, cut and removed by it.
    pub(crate) reloads: u64,
    pub(crate) changed: u64,
    pub(crate) cut: u64,
    pub(crate) dropped: u64,
    /// Counts of a runner that was killed, and of the connections to it.
    pub(crate) runners_killed: u64,
    pub(crate) both_killed: u64,
    /// Herders that found no runner.
    pub(crate) without_runner: u64,
    pub(crate) delays: u64,
    pub(crate) cuts: u64,
    pub(crate) freezes: u64,
    pub(crate) doubled_reports: u64,
    pub(crate) doubled_orders: u64,
    /// Sessions that went on with another herder.
    pub(crate) adopted: u64,
    /// Decides whether two histories were the same.
    pub(crate) digest: u64,
}

/// The reason of the end of a life of herder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Killed,
    Broken(String),
}

/// The state of an account at the service.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// Its usage limit is reached until then.
    pub(crate) limited: Option<Timestamp>,
    /// True if the service says until when.
    pub(crate) says: bool,
    /// It refuses everything until a person has seen to it.
    pub(crate) refused: Option<Category>,
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    /// No more faults: what was begun is to come to an end.
    pub(crate) calm: bool,
    pub(crate) books: Books,
    /// The configuration as it is written now.
    pub(crate) file: File,
    pub(crate) processes: BTreeMap<AgentName, SessionId>,
    /// When an agent's last session on a runner began.
    pub(crate) begun_at: BTreeMap<AgentName, Timestamp>,
    /// Agents among them whose processes cannot be ended: a person does that by hand before the agent continues.
    pub(crate) survivors: BTreeSet<AgentName>,
    pub(crate) accounts: BTreeMap<AccountName, Account>,
    pub(crate) breaks: Breaks,
    pub(crate) ending: Option<Ending>,
    pub(crate) launches: u64,
    pub(crate) tally: Tally,
    /// Steps until herder is killed.
    left: u64,
    /// True while agents run on a runner.
    pub(crate) remote: bool,
    /// The runner that lives, counted from 1, and the steps until it is killed.
    runner: u64,
    runner_left: u64,
    /// The way to the tools of the herder that lives, for sessions on a runner.
    pub(crate) words: Option<Words>,
}

/// The world, shared by everybody in it.
#[derive(Clone)]
pub(crate) struct Sim {
    world: Arc<Mutex<World>>,
    pub(crate) memory: Memory,
    over: Arc<Notify>,
    runner_over: Arc<Notify>,
}

pub(crate) fn account(number: usize) -> AccountName {
    AccountName::from(format!("account-{number}").as_str())
}

impl Sim {
    pub(crate) fn new(plan: &Plan) -> Self {
        let accounts = (0..plan.accounts).map(|number| (account(number), Account::default())).collect();
        let mut random = Random::new(plan.seed, &[1]);
        let left = 1 + random.below(plan.life * 2);
        let world = World {
            plan: plan.clone(),
            random,
            calm: false,
            books: Books::new(plan.max_active, !hooks::listeners(plan).is_empty()),
            file: File::new(plan),
            processes: BTreeMap::new(),
            begun_at: BTreeMap::new(),
            survivors: BTreeSet::new(),
            accounts,
            breaks: Breaks::default(),
            ending: None,
            launches: 0,
            tally: Tally::default(),
            left,
            remote: plan.runner.is_some(),
            runner: 0,
            runner_left: 0,
            words: None,
        };
        let (over, runner_over) = (Arc::default(), Arc::default());
        Self { world: Arc::new(Mutex::new(world)), memory: Memory::default(), over, runner_over }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("nobody panics with the world in hand")
    }

    /// Takes a step that could be herder's last one. Returns whether herder lives on.
    pub(crate) fn step(&self, done: impl FnOnce(&mut World) -> Result<(), String>) -> bool {
        let mut world = self.world();
        if world.ending.is_some() {
            return false;
        }
        if let Err(broken) = done(&mut world) {
            world.ending = Some(Ending::Broken(broken));
        } else if !world.calm {
            world.left = world.left.saturating_sub(1);
            if world.left == 0 {
                world.ending = Some(Ending::Killed);
            }
        }
        if world.ending.is_some() {
            self.over.notify_one();
        }
        world.ending.is_none()
    }

    /// Takes a step of the runner with this number, which could be its last one. Returns whether it lives on.
    pub(crate) fn runner_step(
        &self,
        runner: u64,
        done: impl FnOnce(&mut World) -> Result<(), String>,
    ) -> bool {
        let mut world = self.world();
        if world.runner != runner || world.runner_left == 0 {
            return false;
        }
        if let Err(broken) = done(&mut world) {
            world.ending = Some(Ending::Broken(broken));
            self.over.notify_one();
            return false;
        }
        if !world.calm {
            world.runner_left -= 1;
        }
        if world.runner_left == 0 {
            world.tally.runners_killed += 1;
            self.runner_over.notify_one();
        }
        world.runner_left > 0
    }

    /// Looks at what is there, which is no step.
    pub(crate) fn look(&self, at: impl FnOnce(&mut World) -> Result<(), String>) {
        let mut world = self.world();
        if world.ending.is_none()
            && let Err(broken) = at(&mut world)
        {
            world.ending = Some(Ending::Broken(broken));
            self.over.notify_one();
        }
    }

    /// Resolves when the runner's life is over.
    pub(crate) async fn runner_over(&self) {
        while self.world().runner_left > 0 {
            self.runner_over.notified().await;
        }
    }

    /// Randomness for one answer of the evaluator's, and whether all goes well by now.
    pub(crate) fn dice_of_an_answer(&self) -> (Random, bool) {
        let mut world = self.world();
        world.tally.asked += 1;
        (Random::new(world.plan.seed, &[8, world.tally.asked]), world.calm)
    }

    /// Looks on while the journal is written.
    pub(crate) fn onlooker(&self) -> Arc<herder::journal::Onlooker> {
        let sim = self.clone();
        Arc::new(move |step| {
            sim.step(|world| match step {
                Step::Commits(_) | Step::Settles(_) => Ok(()),
                Step::Committed(batch, receipt) => world.committed(batch, receipt),
                Step::Settled(settled) => world.books.settled(settled),
            })
        })
    }

    /// Resolves when herder's life is over.
    pub(crate) async fn over(&self) {
        while self.world().ending.is_none() {
            self.over.notified().await;
        }
    }

    /// Buries a dead herder. Returns the time until it is started again.
    pub(crate) fn buried(&self) -> Duration {
        let mut world = self.world();
        world.ending = None;
        world.left = {
            let life = world.plan.life * 2;
            1 + world.random.below(life)
        };
        world.books.herder_is_gone();
        world.books.reports.herder_is_gone();
        world.breaks.herder_is_gone();
        let (often, long) = if world.plan.runner.is_some() { (40, 1800) } else { (4, 3600) };
        let longest = if world.random.is(1, often) { long } else { 20 };
        world.random.between(Duration::ZERO, Duration::from_secs(longest))
    }
}

/// Returns one in how many such entries is followed by a kill of herder.
fn delicate(entry: &Entry) -> u64 {
    match entry {
        Entry::Agent(Event::SessionEnded { outcome, .. })
            if outcome.category == Category::Quota || outcome.category.is_of_account() =>
        {
            8
        }
        Entry::Agent(Event::Escalated { .. } | Event::EscalationAnswered { .. }) => 10,
        Entry::Agent(Event::TaskReported { .. } | Event::TaskEnded { .. }) => 60,
        Entry::Agent(Event::TaskTaken { .. } | Event::TaskHandedBack { .. } | Event::Removed { .. }) => 30,
        Entry::Agent(Event::Edited { .. } | Event::CapWaived { .. }) => 15,
        Entry::Agent(Event::Evaluated { .. } | Event::Whispered { .. } | Event::SplitEnded { .. }) => 60,
        Entry::Fleet(FleetEvent::Configured { .. } | FleetEvent::LeftOut { .. }) => 30,
        Entry::Fleet(FleetEvent::CapWaived { .. }) => 8,
        Entry::Agent(Event::SessionStarted { .. }) => 150,
        Entry::Fleet(FleetEvent::Board { .. }) => 60,
        Entry::Fleet(
            FleetEvent::AccountBlocked { .. }
            | FleetEvent::AccountOpened { .. }
            | FleetEvent::AccountExhausted { .. }
            | FleetEvent::AccountTried { .. }
            | FleetEvent::AccountProved { .. },
        ) => 8,
        _ => u64::MAX,
    }
}

impl World {
    fn committed(
        &mut self,
        batch: &herder::journal::Batch,
        receipt: &herder::journal::Receipt,
    ) -> Result<(), String> {
        self.books.committed(batch, receipt, &mut self.tally)?;
        // A kill between two steps that must agree is tried more often.
        let one_in = batch.writes.iter().flat_map(|write| &write.entries).map(delicate).min();
        if let Some(one_in) = one_in.filter(|one_in| *one_in < u64::MAX)
            && self.random.is(1, one_in * self.plan.rarer)
        {
            self.left = self.left.min(1 + self.random.below(6));
        }
        // Between a decision and the order that follows.
        let ordered = |entry: &Entry| {
            matches!(entry, Entry::Agent(Event::ProcessStarted { .. } | Event::Answered { .. }))
        };
        if self.remote
            && batch.writes.iter().flat_map(|write| &write.entries).any(ordered)
            && self.random.is(1, 12)
        {
            self.left = 1;
        }
        Ok(())
    }

    /// Kills the runner that lives.
    pub(crate) fn runner_dies(&mut self) {
        self.runner_left = 0;
        self.tally.runners_killed += 1;
    }

    /// Begins the life of a runner, which ends first what a killed one has left. Returns its number.
    pub(crate) fn runner_begins(&mut self) -> u64 {
        let life = self.plan.runner.as_ref().map_or(1, |on| on.life);
        self.runner_left = 1 + self.random.below(life * 2);
        self.runner += 1;
        self.processes.clear();
        self.survivors.clear();
        self.runner
    }

    /// Records the end of a process, whoever ended it.
    pub(crate) fn process_ended(&mut self, agent: &AgentName) {
        self.processes.remove(agent);
        self.survivors.remove(agent);
    }

    /// Returns the service's refusal of a request of an account, if it refuses now.
    pub(crate) fn refusal(
        &mut self,
        account: &AccountName,
        now: Timestamp,
    ) -> Option<(Category, Option<Timestamp>)> {
        let calm = self.calm;
        let known = self.accounts.get_mut(account)?;
        if calm {
            *known = Account::default();
            return None;
        }
        if let Some(category) = known.refused {
            return Some((category, None));
        }
        match known.limited {
            Some(until) if until > now => Some((Category::Quota, known.says.then_some(until))),
            Some(_) => {
                known.limited = None;
                None
            }
            None => None,
        }
    }

    /// Accounts get into trouble now and then.
    pub(crate) fn trouble(&mut self, now: Timestamp) {
        let names: Vec<AccountName> = self.accounts.keys().cloned().collect();
        let Some(name) = self.random.pick(&names).cloned() else { return };
        let (hours, says) = (1 + self.random.below(6), self.random.is(2, 3));
        let refused = match self.random.below(6) {
            0 => Some(Category::Auth),
            1 => Some(Category::Billing),
            _ => None,
        };
        let Some(account) = self.accounts.get_mut(&name) else { return };
        match refused {
            Some(category) => account.refused = Some(category),
            None => {
                account.limited = Some(now.after(Duration::from_secs(hours * 3600)));
                account.says = says;
                self.tally.limits += 1;
            }
        }
    }
}
