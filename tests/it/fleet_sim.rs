//! Whole fleets in virtual time, with faults of every kind, and what holds whatever happens: see `tests/sim/fleet`.
//!
//! A history that breaks an invariant ends with its seed and with the command that lives through it once more.
//! `HERDER_FLEET_SEEDS` (numbers, or `1..100`), `HERDER_FLEET_DAYS` and `HERDER_FLEET_AGENTS` choose other ones.

use std::ops::Range;

use crate::simulated_fleet::{Plan, Tally, run};

/// How many days are simulated where nobody says otherwise.
const DAYS: u32 = 1;

fn number(name: &str) -> Option<u32> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text}, and is to be a number")))
}

fn seeds() -> Option<Vec<u64>> {
    let text = std::env::var("HERDER_FLEET_SEEDS").ok()?;
    let seed = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{text} is no seed"));
    let seeds = text.split(',').flat_map(|part| match part.split_once("..") {
        Some((from, to)) => seed(from)..seed(to),
        None => seed(part)..seed(part) + 1,
    });
    Some(seeds.collect())
}

fn plan(seed: u64) -> Plan {
    let days = number("HERDER_FLEET_DAYS").unwrap_or(DAYS);
    match number("HERDER_FLEET_AGENTS") {
        Some(agents) if agents >= 500 => Plan { agents: agents as usize, ..Plan::large(seed, days) },
        Some(agents) => Plan { agents: agents as usize, ..Plan::small(seed, days) },
        None => Plan::small(seed, days),
    }
}

/// Tests share the work, so that it is done beside each other.
fn histories(range: Range<u64>) {
    let seeds = seeds().unwrap_or_else(|| range.clone().collect());
    for seed in seeds {
        let tally = run(&plan(seed));
        something_happened(&tally);
    }
}

fn something_happened(tally: &Tally) {
    assert!(tally.events > 1_000 && tally.kills > 2 && tally.posts > 500, "{tally:?}");
}

#[test]
fn every_history_of_a_fleet_keeps_every_invariant() {
    histories(1..4);
}

#[test]
fn a_seed_decides_everything() {
    let plan = Plan { days: 1, ..plan(7) };
    assert_eq!(run(&plan), run(&plan));
}
