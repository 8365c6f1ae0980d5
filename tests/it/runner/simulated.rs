//! A bot and a runner in virtual time: the two ends of the connection are real, sessions are scripts, and a seed decides
//! when a connection is slow, stands still or is cut at any byte, and when one of the two is killed.
//!
//! A history that breaks an invariant ends with its seed and with the command that repeats it. `HERDER_RUNNER_SEEDS`
//! (numbers, or `1..100`) chooses other ones.

mod bot;
mod driver;
mod world;

use std::ops::Range;
use std::time::Duration;

use herder::core::id::AgentName;
use herder::runner::link::{Bot, Link};

use self::world::{Ending, Party, Sim, Tally};
use crate::simulated_fleet::random::Random;
use crate::simulated_machine::{Door, Life, Runner, Seen, Turns};

/// The journal of every simulated bot.
const JOURNAL: &str = "simulated";

/// The time in which everything that was begun comes to an end, once faults have ended.
const CALM: Duration = Duration::from_secs(90);

/// The longest turn of a bot and of a runner.
const TURN_MAX: Duration = Duration::from_millis(400);

/// The parameters of a history.
#[derive(Debug, Clone)]
struct Plan {
    /// Decides everything.
    seed: u64,
    agents: usize,
    lasts: Duration,
    /// About so many steps of a bot and of a runner before it is killed.
    bot_life: u64,
    runner_life: u64,
    test: &'static str,
}

fn agent(number: usize) -> AgentName {
    AgentName::new(&format!("agent-{number}")).expect("a good name")
}

/// One of the two parties: it lives, or begins again at this time.
enum Turn<T> {
    Lives(T),
    Again(Duration),
}

fn bot(sim: &Sim, at: Duration, door: &Door) -> Life {
    let (seed, epoch) = {
        let mut world = sim.world();
        world.reborn(Party::Bot);
        (world.plan.seed, world.epoch)
    };
    let life = Life::begin(at);
    life.within(|| {
        let link = Link::within(door.opens(), Bot { journal: JOURNAL.to_owned(), epoch });
        tokio::spawn(bot::live(sim.clone(), link, Random::new(seed, &[13, epoch])));
    });
    life
}

fn runner(sim: &Sim, at: Duration, door: &Door, seen: &Seen) -> Runner {
    let (seed, number) = {
        let mut world = sim.world();
        world.reborn(Party::Runner);
        (world.plan.seed, world.runners)
    };
    let starts = driver::starts(sim, number);
    Runner::start((at, number), JOURNAL, starts, (door, seen), Random::new(seed, &[14, number]))
}

/// Lives through a history.
fn run(plan: &Plan) -> Tally {
    let (sim, door, seen) = (Sim::new(plan), Door::default(), Seen::default());
    let (mut now, finish) = (Duration::ZERO, plan.lasts + CALM);
    let mut runs = Turn::Again(now);
    let mut bots = Turn::Again(now);
    let mut turns = Turns::new(TURN_MAX);
    let mut dice = Random::new(plan.seed, &[15]);
    while now < finish {
        if now >= plan.lasts {
            sim.world().calm = true;
            seen.counts().calm = true;
        }
        let until = now + turns.next(&seen, &mut dice);
        runs = match runs {
            Turn::Again(at) if at <= now => Turn::Lives(runner(&sim, now, &door, &seen)),
            runs => runs,
        };
        if let Turn::Lives(runner) = &runs
            && runner.life.live(until, sim.over(Party::Runner)).is_some()
        {
            sim.world().tally.runners_killed += 1;
            // A bot that is started meanwhile waits for it, but not for so long.
            let seconds = if dice.is(1, 5) { 25 } else { 3 };
            runs = Turn::Again(until + dice.around(Duration::from_secs(seconds)));
        }
        bots = match bots {
            Turn::Again(at) if at <= now => Turn::Lives(bot(&sim, now, &door)),
            bots => bots,
        };
        if let Turn::Lives(bot) = &bots
            && bot.live(until, sim.over(Party::Bot)).is_some()
        {
            let mut world = sim.world();
            match world.bot {
                Some(Ending::Left) => world.tally.bots_left += 1,
                Some(Ending::WithoutRunner) => world.tally.bots_without_runner += 1,
                Some(Ending::Killed) | None => world.tally.bots_killed += 1,
            }
            bots = Turn::Again(until + dice.around(Duration::from_secs(2)));
        }
        let broken = sim.world().broken.clone();
        if let Some(broken) = broken {
            broke(&sim, now, &broken);
        }
        now = until;
    }
    let ended = sim.world().everything_has_come_to_an_end();
    let forgotten = match &runs {
        Turn::Lives(runner) if !runner.host.sessions().is_empty() => {
            Err(format!("each report is decided once: unheard is {:?}", runner.host.sessions()))
        }
        Turn::Lives(_) => Ok(()),
        Turn::Again(_) => Err("no runner is there".to_owned()),
    };
    if let Err(broken) = ended.and(forgotten) {
        broke(&sim, now, &broken);
    }
    let counts = seen.counts();
    Tally {
        cuts: counts.cuts,
        delays: counts.delays,
        freezes: counts.freezes,
        doubled_reports: counts.doubled_reports,
        doubled_orders: counts.doubled_orders,
        ..sim.world().tally.clone()
    }
}

fn broke(sim: &Sim, now: Duration, broken: &str) -> ! {
    let (past, Plan { seed, test, .. }) = {
        let world = sim.world();
        (world.past(), world.plan.clone())
    };
    panic!(
        "{broken}\n  at {now:?}, seed {seed}{past}\n  once more: HERDER_RUNNER_SEEDS={seed} cargo test --test it \
         runner::simulated::{test}"
    );
}

fn seeds() -> Option<Vec<u64>> {
    let text = std::env::var("HERDER_RUNNER_SEEDS").ok()?;
    let seed = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{text} is no seed"));
    let seeds = text.split(',').flat_map(|part| match part.split_once("..") {
        Some((from, to)) => seed(from)..seed(to),
        None => seed(part)..seed(part) + 1,
    });
    Some(seeds.collect())
}

fn histories(plan: &Plan, range: Range<u64>) {
    let chosen = seeds();
    let several = chosen.is_none();
    let tallies: Vec<Tally> = chosen
        .unwrap_or_else(|| range.collect())
        .into_iter()
        .map(|seed| run(&Plan { seed, ..plan.clone() }))
        .collect();
    if several {
        everything_happened(&tallies);
    }
}

/// Checks that every fault happened: a fault that is never simulated is never shown to be handled.
fn everything_happened(tallies: &[Tally]) {
    type Count = fn(&Tally) -> u64;
    let faults: [(&str, Count); 14] = [
        ("bot was killed", |tally| tally.bots_killed),
        ("bot has left", |tally| tally.bots_left),
        ("bot found no runner", |tally| tally.bots_without_runner),
        ("runner was killed", |tally| tally.runners_killed),
        ("session was adopted", |tally| tally.adopted),
        ("session was lost", |tally| tally.lost),
        ("session was stopped", |tally| tally.stopped),
        ("message came into a turn", |tally| tally.steered),
        ("connection was cut", |tally| tally.cuts),
        ("connection was slow", |tally| tally.delays),
        ("connection stood still", |tally| tally.freezes),
        ("report came again", |tally| tally.doubled_reports),
        ("order came again", |tally| tally.doubled_orders),
        ("report was decided", |tally| tally.decided),
    ];
    for (what, count) in faults {
        assert!(tallies.iter().map(count).sum::<u64>() > 0, "no {what}: {tallies:?}");
    }
}

fn plan(test: &'static str) -> Plan {
    let lasts = Duration::from_secs(200);
    Plan { seed: 0, agents: 4, lasts, bot_life: 600, runner_life: 3_000, test }
}

#[test]
fn each_report_is_decided_once() {
    histories(&plan("each_report_is_decided_once"), 1..9);
}

#[test]
fn what_an_adopted_session_is_owed_it_gets_once() {
    let test = "what_an_adopted_session_is_owed_it_gets_once";
    histories(&Plan { bot_life: 60, ..plan(test) }, 100..108);
}

#[test]
fn at_most_one_process_per_agent() {
    let test = "at_most_one_process_per_agent";
    histories(&Plan { bot_life: 150, runner_life: 300, ..plan(test) }, 200..208);
}

#[test]
fn a_seed_decides_everything() {
    let plan = Plan { seed: 7, bot_life: 100, ..plan("a_seed_decides_everything") };
    assert_eq!(run(&plan), run(&plan));
}
