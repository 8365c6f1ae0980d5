//! The machine beside herder: a runner that outlives it, is killed on its own, and is started again soon after.

use std::future::Future;
use std::time::Duration;

use herder::core::time::Timestamp;
use herder::runner::link::{Bot, Link};

use super::child;
use super::random::Random;
use super::world::Sim;
use crate::simulated_machine::{BEGINNING, Door, Life, Runner, Seen, Turns};

/// The journal's id.
pub(crate) const JOURNAL: &str = "simulated";

/// The longest turn: less than the time without a word of the runner after which herder takes it for away.
const TURN_MAX: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Machine {
    sim: Sim,
    door: Door,
    seen: Seen,
    runner: Option<Runner>,
    /// When the next runner is started, if there is none.
    again: Duration,
    turns: Turns,
    dice: Random,
    at: Duration,
}

/// Returns a connection of the herder of this life to the runner.
pub(crate) fn link(door: &Door, life: u64) -> Link {
    Link::within(door.opens(), Bot { journal: JOURNAL.to_owned(), epoch: life + 1 })
}

impl Machine {
    pub(crate) fn new(sim: &Sim, seed: u64) -> Self {
        Self {
            sim: sim.clone(),
            door: Door::default(),
            seen: Seen::default(),
            runner: None,
            again: Duration::ZERO,
            turns: Turns::new(TURN_MAX),
            dice: Random::new(seed, &[21]),
            at: Duration::ZERO,
        }
    }

    /// Returns the way to the runner.
    pub(crate) fn door(&self) -> Door {
        self.door.clone()
    }

    /// There are no more faults.
    pub(crate) fn calm(&self) {
        self.seen.counts().calm = true;
    }

    /// A runner is killed with its herder now and then.
    pub(crate) fn is_hit_as_well(&mut self) {
        if self.runner.is_some() && self.dice.is(1, 6) {
            let mut world = self.sim.world();
            world.tally.both_killed += 1;
            world.runner_dies();
        }
    }

    /// Ends it. Sessions that began before `calm` are over, and all of their reports were heard.
    pub(crate) fn ends(self, calm: Timestamp) -> Result<(), String> {
        self.count();
        let standings = self.runner.iter().flat_map(|runner| runner.host.sessions());
        let world = self.sim.world();
        for standing in standings {
            let begun = world.begun_at.get(&standing.of.agent).copied();
            if begun.is_none_or(|begun| begun < calm) && world.books.is_supervised(&standing.of.agent) {
                return Err(format!("each_report_is_decided_once: {standing:?} is left, begun {begun:?}"));
            }
        }
        Ok(())
    }

    /// Notes in the tally what happened to connections.
    fn count(&self) {
        let counts = self.seen.counts();
        let tally = &mut self.sim.world().tally;
        tally.cuts = counts.cuts;
        tally.freezes = counts.freezes;
        tally.delays = counts.delays;
        tally.doubled_reports = counts.doubled_reports;
        tally.doubled_orders = counts.doubled_orders;
    }

    /// Lives on without herder until then.
    pub(crate) fn alone(&mut self, until: Timestamp) {
        let until = until.since(BEGINNING);
        while self.at < until {
            let next = self.at + self.turns.next(&self.seen, &mut self.dice);
            self.turn(next.min(until));
        }
    }

    /// Lives beside a herder until that one's life is over. Returns how it ended, and when.
    pub(crate) fn beside<T>(&mut self, begins: impl Future<Output = T>) -> (T, Timestamp) {
        let life = Life::begin(self.at);
        let mut lived = Box::pin(begins);
        let end = loop {
            let next = self.at + self.turns.next(&self.seen, &mut self.dice);
            self.turn(next);
            if let Some(end) = life.live(next, lived.as_mut()) {
                break end;
            }
        };
        // Whatever herder was about to do is not done.
        life.within(|| drop(lived));
        (end, BEGINNING.after(self.at))
    }

    fn turn(&mut self, until: Duration) {
        if self.runner.is_none() && self.again <= self.at {
            let number = self.sim.world().runner_begins();
            let starts = child::starts(&self.sim, number);
            let dice = Random::new(self.dice.next(), &[number]);
            let place = (&self.door, &self.seen);
            self.runner = Some(Runner::start((self.at, number), JOURNAL, starts, place, dice));
        }
        if let Some(runner) = &self.runner
            && runner.life.live(until, self.sim.runner_over()).is_some()
        {
            self.runner = None;
            // A herder that is started meanwhile waits for it, but not for so long.
            let seconds = if self.dice.is(1, 5) { 80 } else { 3 };
            self.again = until + self.dice.around(Duration::from_secs(seconds));
        }
        self.at = until;
    }
}
