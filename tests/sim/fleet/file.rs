//! The configuration: its agents and limits, people who change and reload it, several at once too, and the invariants
//! of that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use herder::clock;
use herder::core::agent::{Agent, Phase};
use herder::core::event::{Event, StopReason};
use herder::core::id::AgentName;
use herder::core::policy::{Judge, Policy};
use herder::core::quota::{QuietHours, QuotaRules, Resume};
use herder::core::spec::{AgentSpec, Permissions};
use herder::core::usage::{Caps, SharedCaps};
use herder::core::work::Actor;
use herder::supervisor::{Configured, Fleet};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use tokio::time::sleep;

use super::Plan;
use super::life::{policy, spec};
use super::random::Random;
use super::world::{Sim, Tally, account};

/// The file as it is written now.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) agents: BTreeMap<usize, AgentSpec>,
    pub(crate) policy: Policy,
    /// The number of times that it was written.
    version: u64,
}

impl File {
    pub(crate) fn new(plan: &Plan) -> Self {
        let agents = (0..plan.agents).map(|number| (number, spec(plan, number))).collect();
        Self { agents, policy: policy(plan), version: 0 }
    }

    /// Writes a changed file.
    pub(crate) fn write(&mut self, plan: &Plan, dice: &mut Random) {
        self.version += 1;
        for _ in 0..=dice.below(4) {
            match dice.weighted(&[4, 2]) {
                0 => self.section(plan, dice),
                _ => self.limits(plan, dice),
            }
        }
    }

    /// Resets the policy, removes every cap and adds every missing agent, for the calm end of the simulation.
    pub(crate) fn calm(&mut self, plan: &Plan) {
        self.version += 1;
        self.policy = policy(plan);
        for number in 0..plan.agents {
            let section = self.agents.entry(number).or_insert_with(|| spec(plan, number));
            section.caps = Caps::default();
        }
    }

    fn section(&mut self, plan: &Plan, dice: &mut Random) {
        let number = dice.index(plan.agents);
        // Never as it was before: a section that is written back is another case.
        let version = self.version;
        let Some(section) = self.agents.get_mut(&number) else {
            let mut fresh = spec(plan, number);
            fresh.instructions = format!("version {version}");
            self.agents.insert(number, fresh);
            return;
        };
        match dice.below(8) {
            0 => drop(self.agents.remove(&number)),
            1 | 2 => section.command = vec!["agent".to_owned(), format!("--version={version}")],
            3 => section.model = format!("model-{version}"),
            4 => section.account = account(dice.index(plan.accounts)),
            5 => {
                let all = [Permissions::ReadOnly, Permissions::WorkspaceWrite, Permissions::Full];
                section.permissions = all[dice.index(3)];
            }
            6 => section.caps = own_caps(dice),
            _ => section.instructions = format!("version {version}"),
        }
    }

    fn limits(&mut self, plan: &Plan, dice: &mut Random) {
        match dice.below(8) {
            0 => self.policy.max_active = plan.max_active - 2 + u32::try_from(dice.below(4)).expect("small"),
            1 => self.policy.caps = shared_caps(plan, dice),
            2 | 3 => self.policy.quota = quota(dice),
            4 | 5 => self.policy.reassign_after = reassign_after(dice),
            6 => self.calls(dice),
            _ => {
                self.policy.evaluator.judge = [Judge::Off, Judge::Builtin, Judge::Asked][dice.index(3)];
                self.policy.evaluator.interval = [2, 5, 9][dice.index(3)];
            }
        }
    }

    /// Changes the times that herder waits for people.
    fn calls(&mut self, dice: &mut Random) {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        self.policy.confirm_timeout = minutes(5 + dice.below(60));
        self.policy.escalation.after = minutes(30 + dice.below(360));
        self.policy.escalation.times = u32::try_from(dice.below(4)).expect("small");
    }
}

/// Draws the time after which tasks go to others; for tasks that wait already it is often over at once. Sometimes it
/// is never.
fn reassign_after(dice: &mut Random) -> Duration {
    Duration::from_secs([0, 600, 3600, 4 * 3600][dice.index(4)])
}

fn own_caps(dice: &mut Random) -> Caps {
    match dice.below(3) {
        0 => Caps::default(),
        1 => Caps { usd_per_hour: 0.05, tokens_per_day: 60_000, ..Caps::default() },
        _ => Caps { usd_per_day: 0.4, tokens_per_session: 15_000, ..Caps::default() },
    }
}

fn shared_caps(plan: &Plan, dice: &mut Random) -> SharedCaps {
    #[expect(clippy::cast_precision_loss, reason = "a few agents")]
    let agents = plan.agents as f64;
    let mut caps = SharedCaps::default();
    if dice.is(1, 3) {
        caps.fleet.usd_per_day = agents * 0.3;
    }
    for number in 0..plan.accounts {
        if dice.is(1, 3) {
            let team = Caps { usd_per_hour: 0.4, tokens_per_day: 1_500_000, ..Caps::default() };
            caps.accounts.insert(account(number), team);
        }
    }
    caps
}

fn quota(dice: &mut Random) -> QuotaRules {
    let hour = |hour: u64| Time::constant(i8::try_from(hour).expect("an hour"), 0, 0, 0);
    // They begin soon, while accounts are closed that were closed before they were written.
    let now = u64::try_from(clock::now().as_millis().div_euclid(3_600_000).rem_euclid(24)).expect("an hour");
    let (from, long) = ((now + dice.below(4)) % 24, 1 + dice.below(10));
    let quiet = QuietHours { from: hour(from), to: hour((from + long) % 24), zone: TimeZone::UTC };
    QuotaRules {
        resume: [Resume::Auto, Resume::Auto, Resume::Ask, Resume::Never][dice.index(4)],
        quiet: dice.is(1, 2).then_some(quiet),
        ..QuotaRules::default()
    }
}

/// Writes the file and reloads it, sometimes by several people at once, until the calm end.
pub(crate) async fn keep(sim: Sim, fleet: Fleet, mut dice: Random) {
    let every = sim.world().plan.reload_every;
    loop {
        sleep(dice.around(every)).await;
        if sim.world().calm {
            return;
        }
        for _ in 0..1 + dice.weighted(&[4, 2, 1]) {
            {
                let mut world = sim.world();
                let plan = world.plan.clone();
                world.file.write(&plan, &mut dice);
            }
            tokio::spawn(reload(sim.clone(), fleet.clone()));
            if dice.is(1, 2) {
                sleep(dice.around(Duration::from_millis(500))).await;
            }
        }
    }
}

/// Reads it as it is now.
async fn reload(sim: Sim, fleet: Fleet) {
    let file = {
        let mut world = sim.world();
        world.tally.reloads += 1;
        let file = world.file.clone();
        world.books.limits(&file.policy, clock::now());
        file
    };
    fleet.set_policy(file.policy.clone());
    let Ok(done) = fleet.configure(file.agents.values().cloned().collect()).await else { return };
    sim.step(|world| {
        world.tally.changed += (done.added.len() + done.changed.len() + done.removed.len()) as u64;
        world.tally.cut += done.restarted.len() as u64;
        if world.file.version != file.version {
            return Ok(());
        }
        let agents: HashMap<AgentName, AgentSpec> = fleet
            .agents()
            .into_iter()
            .filter(|view| !is_going(&view.agent.phase))
            .filter_map(|view| Some((view.name.clone(), view.agent.spec.clone()?)))
            .collect();
        world.books.reads.agents_are_as_the_file_says(&file, &agents, &done)
    });
}

/// Returns whether an agent is removed, or will be when its session is over.
fn is_going(phase: &Phase) -> bool {
    matches!(phase, Phase::Removed | Phase::Stopping { reason: StopReason::Remove, .. })
}

/// Observations of reloads.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Agents that people have changed since the file did.
    by_people: BTreeSet<AgentName>,
    /// The agents of which the file has changed what runs: their sessions are cut, and no others.
    outdated: BTreeSet<AgentName>,
    /// Agents that are removed when their sessions are over.
    leaving: BTreeSet<AgentName>,
}

fn is_the_file(by: &Actor) -> bool {
    by.name == "bot.toml"
}

/// Returns whether the change needs another process.
fn runs_otherwise(one: &AgentSpec, other: &AgentSpec) -> bool {
    one.command != other.command || one.model != other.model || one.permissions != other.permissions
}

impl Reads {
    /// Checks an agent's event; `agent` is its state before, `noted` the section of it that was known.
    pub(crate) fn heard(
        &mut self,
        name: &AgentName,
        event: &Event,
        agent: &Agent,
        noted: Option<&AgentSpec>,
        tally: &mut Tally,
    ) -> Result<(), String> {
        match event {
            Event::Edited { spec, by } if is_the_file(by) => {
                if noted == Some(&**spec) {
                    return Err(format!("{name} is changed, and nothing of it has changed in the file"));
                }
                self.by_people.remove(name);
                let runs = matches!(agent.phase, Phase::Starting { .. } | Phase::Running { .. });
                if runs && agent.spec.as_ref().is_some_and(|old| runs_otherwise(old, spec)) {
                    self.outdated.insert(name.clone());
                }
            }
            // The file no longer names it, which is recorded when its session is being ended.
            Event::StopRequested { reason: StopReason::Remove, by: Some(by), .. } if is_the_file(by) => {
                Self::leaves(name, noted)?;
                self.leaving.insert(name.clone());
            }
            Event::Removed { by } if is_the_file(by) => {
                tally.dropped += 1;
                if !self.leaving.remove(name) {
                    Self::leaves(name, noted)?;
                }
            }
            Event::Added { by, .. } if is_the_file(by) => {
                self.by_people.remove(name);
            }
            Event::Edited { .. } | Event::Added { .. } | Event::Removed { .. } => {
                self.by_people.insert(name.clone());
            }
            // The account that it began on is closed, and not its own any more.
            Event::StopRequested { reason: StopReason::Configured, by: None, .. }
                if agent.session_account() != agent.account() => {}
            Event::StopRequested { reason: StopReason::Configured, .. } if !self.outdated.remove(name) => {
                return Err(format!("{name} is cut, and what it runs as has not changed"));
            }
            _ => {}
        }
        Ok(())
    }

    fn leaves(name: &AgentName, noted: Option<&AgentSpec>) -> Result<(), String> {
        match noted {
            Some(_) => Ok(()),
            None => Err(format!("{name} is removed, and the file never spoke of it")),
        }
    }

    /// Checks after a batch: a session whose command line has changed was cut with the same batch.
    pub(crate) fn whoever_runs_otherwise_is_cut(&mut self, name: &AgentName) -> Result<(), String> {
        if self.outdated.remove(name) { Err(format!("{name} goes on by an old command")) } else { Ok(()) }
    }

    fn agents_are_as_the_file_says(
        &self,
        file: &File,
        agents: &HashMap<AgentName, AgentSpec>,
        done: &Configured,
    ) -> Result<(), String> {
        let excused = |name: &AgentName| {
            self.by_people.contains(name) || done.failed.contains(name) || done.stayed.contains(name)
        };
        for section in file.agents.values().filter(|section| !excused(&section.name)) {
            if agents.get(&section.name) != Some(section) {
                let is = agents.get(&section.name);
                return Err(format!("{} is {is:?} after a reading of {section:?}", section.name));
            }
        }
        let written: BTreeSet<&AgentName> = file.agents.values().map(|section| &section.name).collect();
        match agents.keys().find(|name| !written.contains(name) && !excused(name)) {
            Some(name) => Err(format!("{name} is there, and is not in the file that was read")),
            None => Ok(()),
        }
    }
}
