//! A thousand agents on five accounts over thirty days in virtual time: how many events that are, and how long a million
//! of them takes. The mark is a minute.
//!
//! ```text
//! cargo bench --bench fleet [-- DAYS AGENTS SEED]
//! ```
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

#[path = "../tests/sim/fleet/mod.rs"]
#[expect(dead_code, reason = "what is measured has its agents in herder itself")]
mod simulated_fleet;
#[path = "../tests/sim/machine/mod.rs"]
mod simulated_machine;

use std::time::Instant;

use simulated_fleet::{Plan, run};

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let days = numbers.next().unwrap_or(30);
    let agents = numbers.next().unwrap_or(1_000);
    let seed = numbers.next().unwrap_or(1);
    let days = u32::try_from(days).expect("a number of days");
    let agents = usize::try_from(agents).expect("a number of agents");
    let began = Instant::now();
    let tally = run(&Plan::of(agents, seed, days));
    let took = began.elapsed().as_secs_f64();
    #[expect(clippy::print_stdout, reason = "this is the figure")]
    {
        let million = took * 1e6 / tally.events as f64;
        println!("{agents} agents, {days} days, seed {seed}: {tally:#?}");
        println!(
            "{:.0} events per second; a million in {million:.1} s; {took:.1} s in all",
            tally.events as f64 / took
        );
    }
}
