//! A whole herder in virtual time: its real root, supervisors, journal and outbox, in a world that a seed decides.
//!
//! The outside is simulated: processes ([`child`]) and their agents' calls of herder's tools ([`tools`]), people
//! ([`people`]), the configuration ([`file`]), the evaluator ([`judges`]), networks ([`links`]), webhooks
//! ([`hooks`]), the disk (tables in memory, over which the journal's own code runs) and the clock. herder's tasks run
//! on one thread whose time is paused, so that it jumps to the next timer; a life of herder is one runtime, and a
//! kill drops it whole, before or after any commit, order, launch or line. The next life begins with the content of
//! the disk at that point.
//!
//! In some histories agents run on a runner for some hours ([`machine`]): its end of the connection is real too, it is
//! killed on its own and with herder, and connections are slow, stand still and end at any byte. The calls of herder's
//! tools do not go by the connection there. Orders and reports are counted ([`reports`]).
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
mod reports;
mod spent;
mod tools;
mod works;
mod world;

use std::time::Duration;

pub(crate) use world::Tally;

const HOUR: Duration = Duration::from_secs(3600);

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
    /// Between two looks after what stands still, about, and between two at everything.
    pub(crate) attend_every: Duration,
    pub(crate) look_every: Duration,
    /// Agents run on a runner first; `None` if they run in herder itself.
    pub(crate) runner: Option<OnRunner>,
}

/// The parameters of the time in which agents run on a runner.
#[derive(Debug, Clone)]
pub(crate) struct OnRunner {
    /// About so many steps of a runner before it is killed.
    pub(crate) life: u64,
    /// The time with faults.
    pub(crate) lasts: Duration,
    /// The time without faults after that, at whose end everything that the runner had is over.
    pub(crate) calms: Duration,
    /// The factor by which agents are faster than in other histories, so that more happens between two signs of life.
    pub(crate) faster: u32,
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
            attend_every: HOUR / 2,
            look_every: HOUR / 3,
            runner: None,
        }
    }

    /// Returns a few busy agents that run on a runner for some hours.
    pub(crate) fn on_a_runner(agents: usize, seed: u64) -> Self {
        let runner = OnRunner { life: 100, lasts: 2 * HOUR, calms: 2 * HOUR / 3, faster: 12 };
        Self {
            agents,
            max_active: 4,
            life: 300,
            work_every: Duration::from_secs(30),
            reload_every: Duration::from_secs(240),
            attend_every: Duration::from_secs(120),
            look_every: Duration::from_secs(300),
            runner: Some(runner),
            ..Self::few(seed, 0)
        }
    }

    /// Returns the plan with another time of faults on a runner.
    pub(crate) fn lasting(mut self, lasts: Duration) -> Self {
        self.runner.iter_mut().for_each(|runner| runner.lasts = lasts);
        self
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
            attend_every: HOUR / 2,
            look_every: HOUR / 3,
            runner: None,
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
