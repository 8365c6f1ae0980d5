//! Whole fleets in virtual time, with faults of every kind, and the invariants that always hold: see
//! `tests/sim/fleet`.
//!
//! Most of them have their agents in herder itself. Some have them on a runner: there herder's end and the runner's end of
//! the connection between them are real as well, see `histories_on_a_runner`.
//!
//! A history that breaks an invariant ends with its seed and with the command that repeats it.
//! `HERDER_FLEET_SEEDS` (numbers, or `1..100`), `HERDER_FLEET_DAYS` and `HERDER_FLEET_AGENTS` choose other ones.

use std::ops::Range;
use std::time::Duration;

use crate::simulated_fleet::{Plan, Tally, run};

/// The number of simulated days by default.
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

fn plan(seed: u64, agents: usize) -> Plan {
    let days = number("HERDER_FLEET_DAYS").unwrap_or(DAYS);
    let agents = number("HERDER_FLEET_AGENTS").map_or(agents, |agents| agents as usize);
    Plan::of(agents, seed, days)
}

/// Runs many short histories, which find more than a few long ones. Tests share the work, so that it is done in
/// parallel.
fn histories(agents: usize, range: Range<u64>) {
    let chosen = seeds();
    let several = chosen.is_none();
    let tallies: Vec<Tally> = chosen
        .unwrap_or_else(|| range.collect())
        .into_iter()
        .map(|seed| {
            let tally = run(&plan(seed, agents));
            assert!(tally.events > 1_000 && tally.kills > 2 && tally.posts > 500, "{tally:?}");
            tally
        })
        .collect();
    if several {
        everything_happened(&tallies);
    }
}

/// Checks that every fault happened: a fault that is never simulated is never shown to be handled.
fn everything_happened(tallies: &[Tally]) {
    type Count = fn(&Tally) -> u64;
    let faults: [(&str, Count); 12] = [
        ("drained", |tally| tally.drains),
        ("panicked", |tally| tally.panics),
        ("given up", |tally| tally.given_up),
        ("left a process", |tally| tally.orphans),
        ("hung", |tally| tally.hangs),
        ("met a limit", |tally| tally.limits),
        ("called a person", |tally| tally.escalations),
        ("said how a task stands", |tally| tally.reported),
        ("was freed of a task", |tally| tally.released),
        ("lost a link", |tally| tally.links_lost),
        ("read the file", |tally| tally.reloads),
        ("was judged", |tally| tally.judged),
    ];
    for (what, count) in faults {
        assert!(tallies.iter().map(count).sum::<u64>() > 0, "nobody {what}: {tallies:?}");
    }
}

#[test]
fn every_history_of_a_fleet_keeps_every_invariant() {
    histories(40, 1..5);
}

#[test]
fn other_histories_of_a_fleet_keep_every_invariant() {
    histories(40, 5..9);
}

#[test]
fn every_history_of_a_few_agents_keeps_every_invariant() {
    histories(12, 100..107);
}

#[test]
fn other_histories_of_a_few_agents_keep_every_invariant() {
    histories(12, 107..114);
}

#[test]
fn more_histories_of_a_few_agents_keep_every_invariant() {
    histories(12, 130..137);
}

/// Runs histories of agents on a runner, with faults of the connection and of the runner beside all others. Signs of
/// life cross every 2 s, which makes virtual time dear: these histories have some hours with a runner, agents that are
/// faster for that, and go on without one from the time at which everything on it is over.
fn histories_on_a_runner(range: Range<u64>) {
    let chosen = seeds();
    let several = chosen.is_none();
    let agents = number("HERDER_FLEET_AGENTS").map_or(8, |agents| agents as usize);
    let run = |seed| {
        let tally = run(&Plan::on_a_runner(agents, seed));
        assert!(tally.events > 300 && tally.kills > 2 && tally.sessions > 20, "{tally:?}");
        tally
    };
    let tallies: Vec<Tally> = chosen.unwrap_or_else(|| range.collect()).into_iter().map(run).collect();
    if !several {
        return;
    }
    type Count = fn(&Tally) -> u64;
    let faults: [(&str, Count); 12] = [
        ("herder was killed", |tally| tally.kills),
        ("herder was without a runner", |tally| tally.without_runner),
        ("herder was drained", |tally| tally.drains),
        ("supervisor panicked", |tally| tally.panics),
        ("runner was killed", |tally| tally.runners_killed),
        ("runner was killed with its herder", |tally| tally.both_killed),
        ("session was adopted", |tally| tally.adopted),
        ("connection was cut", |tally| tally.cuts),
        ("connection was slow", |tally| tally.delays),
        ("connection stood still", |tally| tally.freezes),
        ("report came again", |tally| tally.doubled_reports),
        ("order came again", |tally| tally.doubled_orders),
    ];
    for (what, count) in faults {
        assert!(tallies.iter().map(count).sum::<u64>() > 0, "no {what}: {tallies:?}");
    }
}

#[test]
fn every_history_of_agents_on_a_runner_keeps_every_invariant() {
    histories_on_a_runner(300..303);
}

#[test]
fn a_seed_decides_everything() {
    let plan = Plan { days: 1, ..plan(7, 12) };
    assert_eq!(run(&plan), run(&plan));
}

#[test]
fn a_seed_decides_everything_of_agents_on_a_runner() {
    let plan = Plan::on_a_runner(6, 8).lasting(Duration::from_secs(20 * 60));
    assert_eq!(run(&plan), run(&plan));
}
