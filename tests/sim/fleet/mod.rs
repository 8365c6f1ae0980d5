//! A whole herder in virtual time: its real root, supervisors, journal and outbox, in a world that a seed decides.
//!
//! The outside is simulated: processes ([`child`]) and their agents' calls of herder's tools ([`tools`]), people
//! ([`people`]), the configuration ([`file`]), the evaluator ([`judges`]), networks ([`links`]), webhooks
//! ([`hooks`]), the disk (tables in memory, over which the journal's own code runs) and the clock. herder's tasks run
//! on one thread whose time is paused, so that it jumps to the next timer; a life of herder is one runtime, and a
//! kill drops it whole, before or after any commit, order, launch or line. The next life begins with the content of
//! the disk at that point.
//!
//! Every commit, launch and line is shown to the [`books`], which judge by their own observations. A history that
//! breaks an invariant ends with its seed.

mod books;
mod breaks;
mod child;
mod ends;
mod file;
mod gates;
mod halted;
mod hooks;
mod judges;
mod ladders;
mod life;
mod links;
mod machine;
mod people;
mod posts;
pub(crate) mod random;
mod spent;
mod tools;
mod works;
mod world;

use std::time::Duration;

pub(crate) use world::Tally;

/// The parameters of a simulation.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Decides everything.
    pub(crate) seed: u64,
    pub(crate) agents: usize,
    pub(crate) accounts: usize,
    pub(crate) days: u32,
    /// The largest number of agents at work.
    pub(crate) max_active: u32,
    /// The number of steps that herder lives between two kills, about.
    pub(crate) life: u64,
    /// The factor by which kills on purpose, at steps on which two parties must agree, are rarer than in a small
    /// fleet, in which less happens.
    pub(crate) rarer: u64,
    /// Between two things that people do, about.
    pub(crate) work_every: Duration,
    /// Between two changes of the configuration, about.
    pub(crate) reload_every: Duration,
    /// Agents run on a runner, which lives about so many steps; `None` if they run in herder itself.
    pub(crate) runner_life: Option<u64>,
}

impl Plan {
    /// Returns the plan of a fleet with that many agents.
    pub(crate) fn of(agents: usize, seed: u64, days: u32) -> Self {
        let plan = match agents {
            0..=20 => Self::few(seed, days),
            21..500 => Self::small(seed, days),
            _ => Self::large(seed, days),
        };
        Self { agents, ..plan }
    }

    /// Returns a few agents that have much to do with each other.
    pub(crate) fn few(seed: u64, days: u32) -> Self {
        let (work_every, reload_every) = (Duration::from_secs(300), Duration::from_secs(1800));
        Self {
            agents: 12,
            accounts: 3,
            max_active: 3,
            life: 500,
            work_every,
            reload_every,
            ..Self::small(seed, days)
        }
    }

    /// Returns a fleet of which every part is used.
    pub(crate) fn small(seed: u64, days: u32) -> Self {
        let (work_every, reload_every) = (Duration::from_secs(240), Duration::from_secs(3600));
        Self {
            seed,
            agents: 40,
            accounts: 4,
            days,
            max_active: 6,
            life: 1_000,
            rarer: 1,
            work_every,
            reload_every,
            runner_life: None,
        }
    }

    /// Returns a few agents that run on a runner.
    pub(crate) fn remote(agents: usize, seed: u64, days: u32) -> Self {
        Self { runner_life: Some(1_500), life: 300, ..Self::of(agents, seed, days) }
    }

    /// Returns a thousand agents on five accounts.
    pub(crate) fn large(seed: u64, days: u32) -> Self {
        let (work_every, reload_every) = (Duration::from_secs(20), Duration::from_secs(3 * 3600));
        Self {
            seed,
            agents: 1_000,
            accounts: 5,
            days,
            max_active: 60,
            life: 150_000,
            rarer: 25,
            work_every,
            reload_every,
            runner_life: None,
        }
    }
}

/// Lives through it.
///
/// # Panics
/// If an invariant does not hold, with the seed.
pub(crate) fn run(plan: &Plan) -> Tally {
    life::run(plan)
}
