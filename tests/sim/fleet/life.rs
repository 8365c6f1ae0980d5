//! The lives of herder, one after the other, and the comparisons between them.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use herder::clock;
use herder::config::History;
use herder::core::agent::Agent;
use herder::core::id::{AgentName, NetworkName};
use herder::core::input::Input;
use herder::core::policy::{Judge, Policy};
use herder::core::spec::{AgentSpec, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::core::usage::Caps;
use herder::journal::{FleetState, Journal, Stream};
use herder::l10n::Locale;
use herder::outbox::{Markup, Outbox, Renderer};
use herder::redact::Redactor;
use herder::runner::link::LinkError;
use herder::runtime::ProcessTrees;
use herder::runtime::orphans::{Bereft, Ended, Remains};
use herder::supervisor::{FaultInjection, Fleet, Settings, Simulated, StartError, start};

use super::machine::{JOURNAL, Machine};
use super::random::Random;
use super::tools::{self, Words};
use super::world::{Ending, Sim, Tally, account};
use super::{Plan, child, file, hooks, judges, links, machine, people};
use crate::simulated_machine::Door;

/// The networks that posts go to.
pub(crate) const NETWORKS: [&str; 2] = ["libera", "discord"];

/// The longest time until everything that was begun is over, once faults have ended.
const CALM: Duration = Duration::from_secs(4 * 86_400);

/// The most agents whose states are compared between two lives: the others have their turn at another kill.
const COMPARED: usize = 60;

/// The kind of end of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Over,
    Drained,
    Finished,
}

/// The times of a history.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// The last fault.
    calm: Timestamp,
    /// The end of the time on a runner, as long as agents run on one.
    on_runner: Option<Timestamp>,
    finish: Timestamp,
}

pub(crate) fn run(plan: &Plan) -> Tally {
    let sim = Sim::new(plan);
    let mut now = Timestamp::from_seconds(1_800_000_000);
    let days = Duration::from_secs(u64::from(plan.days) * 86_400);
    let calm = now.after(plan.runner.as_ref().map_or(days, |on| on.lasts));
    let on_runner = plan.runner.as_ref().map(|on| calm.after(on.calms));
    let mut times = Times { calm, on_runner, finish: calm.after(CALM) };
    let mut machine = on_runner.map(|_| Machine::new(&sim, plan.seed));
    for life in 0.. {
        if now >= calm {
            let mut world = sim.world();
            world.calm = true;
            world.file.calm(plan);
            machine.iter().for_each(Machine::calm);
        }
        // The rest of the time costs little without a runner: the configuration names none any more.
        if let Some(machine) = machine.take_if(|_| times.on_runner.is_some_and(|until| until <= now)) {
            times.on_runner = None;
            sim.world().remote = false;
            if let Err(broken) = machine.ends(calm) {
                broke(&sim, plan, now, &broken);
            }
        }
        let end;
        (end, now) = match &mut machine {
            None => alone(now, lived(&sim, plan, life, None, times)),
            Some(machine) => {
                let door = machine.door();
                machine.beside(lived(&sim, plan, life, Some(door), times))
            }
        };
        let ending = sim.world().ending.clone();
        if let Some(Ending::Broken(broken)) = ending {
            broke(&sim, plan, now, &broken);
        }
        match end {
            End::Over => sim.world().tally.kills += 1,
            End::Drained => sim.world().tally.drains += 1,
            End::Finished => break,
        }
        let wait = sim.buried();
        if let Err(broken) = compare(&sim, plan) {
            broke(&sim, plan, now, &broken);
        }
        now = now.after(wait);
        if let Some(machine) = &mut machine {
            if end == End::Over {
                machine.is_hit_as_well();
            }
            machine.alone(now);
        }
    }
    let ended = sim.world().books.everything_has_come_to_an_end();
    if let Err(broken) = ended {
        broke(&sim, plan, now, &broken);
    }
    let world = sim.world();
    Tally { events: world.books.events, digest: world.books.digest, ..world.tally.clone() }
}

/// Lives a life of herder that runs its agents itself. Returns how it ended, and when.
fn alone<T>(now: Timestamp, life: impl Future<Output = T>) -> (T, Timestamp) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        clock::simulate(now);
        let end = life.await;
        (end, clock::now())
    })
    // Whatever herder was about to do is not done.
}

fn broke(sim: &Sim, plan: &Plan, now: Timestamp, broken: &str) -> ! {
    let past = sim.world().books.past();
    let Plan { seed, agents, days, .. } = plan;
    if plan.runner.is_some() {
        panic!(
            "{broken}\n  at {now:?}, seed {seed}, {agents} agents on a runner; {past}\n  once more: \
             HERDER_FLEET_SEEDS={seed} HERDER_FLEET_AGENTS={agents} cargo test --test it agents_on_a_runner"
        );
    }
    panic!(
        "{broken}\n  at {now:?}, seed {seed}, {agents} agents, {days} days; {past}\n  once more: \
         HERDER_FLEET_SEEDS={seed} HERDER_FLEET_DAYS={days} HERDER_FLEET_AGENTS={agents} cargo test --test it fleet_sim"
    );
}

/// Returns the limits as they are written first.
pub(crate) fn policy(plan: &Plan) -> Policy {
    let mut policy = Policy {
        max_active: plan.max_active,
        // A driver that beats every few seconds of a month tells nothing more than one that does it less often.
        heartbeat_timeout: Duration::from_secs(15 * 60),
        reassign_after: Duration::from_secs(6 * 3600),
        ..Policy::default()
    };
    policy.evaluator.judge = if plan.seed.is_multiple_of(3) { Judge::Builtin } else { Judge::Asked };
    policy
}

/// Returns an agent as the configuration has it.
pub(crate) fn spec(plan: &Plan, number: usize) -> AgentSpec {
    let name = AgentName::new(&format!("agent-{number}")).expect("a good name");
    let runtime = [Runtime::Claude, Runtime::Codex, Runtime::Command][number % 3];
    let mut spec = AgentSpec::new(name, runtime, PathBuf::from(format!("/srv/{number}")));
    spec.account = account(number % plan.accounts);
    spec.permissions =
        [Permissions::ReadOnly, Permissions::WorkspaceWrite, Permissions::Full][number / 3 % 3];
    spec.command = vec!["agent".to_owned()];
    if number.is_multiple_of(7) {
        spec.tags = vec!["rust".to_owned()];
    }
    if number % 9 == 4 {
        spec.caps = Caps { usd_per_hour: 0.08, ..Caps::default() };
    }
    // A few give themselves their work.
    spec.looping = number % 29 == 28;
    spec.rest = Duration::from_secs(2 * 3600);
    spec
}

fn history() -> History {
    History { daily_export: false, ..History::default() }
}

fn faults(sim: &Sim, words: Words) -> FaultInjection {
    let (panics, launches, orphans, ends, dice) =
        (sim.clone(), sim.clone(), sim.clone(), sim.clone(), sim.clone());
    let (verdicts, parts) = (sim.clone(), sim.clone());
    let before = move |agent: &AgentName, input: &Input| {
        if panics.breaks(agent, input) {
            // Without the words of a panic on the terminal.
            std::panic::resume_unwind(Box::new("simulated"));
        }
    };
    FaultInjection::new(before).simulating(Simulated {
        launch: Box::new(move |launch| child::launch(&launches, &words, launch)),
        end_orphans: Box::new(move |agents| end_orphans(&orphans, agents)),
        end_processes: Box::new(move |agent| end_processes(&ends, agent)),
        random: Box::new(move || dice.world().random.next()),
        judge: Box::new(move |asked| judges::judge(&verdicts, asked)),
        split: Box::new(move |asked| judges::split(&parts, asked)),
    })
}

/// Ends an agent's processes and returns the survivors: a process that could not be ended once may survive the second
/// time too.
fn end_processes(sim: &Sim, agent: &AgentName) -> Vec<u32> {
    let mut world = sim.world();
    if !world.calm && world.survivors.contains(agent) && world.random.is(1, 2) {
        return vec![4_711];
    }
    world.process_ended(agent);
    Vec::new()
}

/// Ends every process of the life before, which is found by its marker.
fn end_orphans(sim: &Sim, agents: &[Bereft]) -> Ended {
    let mut world = sim.world();
    let mut ended = Ended::default();
    if world.remote {
        // It looks for none of a runner's, of which each has ended those of the one before.
        return ended;
    }
    for Bereft { agent, .. } in agents {
        if !world.processes.contains_key(agent) {
            continue;
        }
        let stuck = !world.calm && world.random.is(1, 30);
        let remains = if stuck {
            world.survivors.insert(agent.clone());
            Remains { ended: 0, survivors: vec![4_711] }
        } else {
            world.process_ended(agent);
            Remains { ended: 1, survivors: Vec::new() }
        };
        ended.by_agent.insert(agent.clone(), remains);
        world.tally.orphans += 1;
    }
    ended
}

fn renderer(markup: Markup) -> Renderer {
    static SOURCE: LazyLock<Locale> = LazyLock::new(|| Locale::load("en-US").expect("the source"));
    Renderer::new(SOURCE.clone(), Redactor::default(), markup)
}

async fn lived(sim: &Sim, plan: &Plan, life: u64, door: Option<Door>, times: Times) -> End {
    let journal = Journal::in_memory(&sim.memory, JOURNAL, history(), sim.onlooker());
    let journal = journal.expect("what is in memory is a journal");
    let networks: Vec<NetworkName> = NETWORKS.map(NetworkName::from).to_vec();
    let markups = [Markup::Irc, Markup::Plain];
    let listeners = hooks::listeners(plan);
    let mut rendered: Vec<_> = networks.iter().cloned().zip(markups.map(renderer)).collect();
    rendered.extend(listeners.iter().map(|listener| (listener.name.clone(), renderer(Markup::Plain))));
    let outbox =
        Outbox::open(&journal, rendered, herder::outbox::BACKLOG_LINES).expect("the outbox can be read");
    let written = {
        let mut world = sim.world();
        let written = world.file.clone();
        world.books.limits(&written.policy, clock::now());
        written
    };
    let (words, heard) = tools::line();
    sim.world().words = Some(words.clone());
    let settings = Settings {
        attempts: 5,
        journal,
        policy: written.policy,
        networks: networks.clone(),
        listeners: listeners.clone(),
        trees: ProcessTrees::none(),
        agents: written.agents.into_values().collect(),
        withheld: BTreeSet::new(),
        tools: None,
        runner: door.map(|door| machine::link(&door, life)),
        elsewhere: None,
        redactor: Redactor::default(),
        evaluator: None,
        fault: faults(sim, words),
    };
    let started = tokio::select! {
        biased;
        () = sim.over() => return End::Over,
        started = start(settings) => started,
    };
    let fleet = match started {
        Ok(fleet) => fleet,
        // It is tried once more.
        Err(StartError::Runner(LinkError::Away)) if plan.runner.is_some() => {
            sim.world().tally.without_runner += 1;
            return End::Over;
        }
        Err(reason) => panic!("the fleet starts: {reason}"),
    };
    {
        let mut world = sim.world();
        world.tally.adopted += fleet.went_on() as u64;
        world.books.reports.herder_is_there();
    }
    for (number, network) in (0..).zip(&networks) {
        let queue = Arc::clone(outbox.queue(network).expect("it was just made"));
        let dice = Random::new(plan.seed, &[3, life, number]);
        tokio::spawn(links::keep(sim.clone(), fleet.clone(), Arc::clone(&queue), dice));
        tokio::spawn(async move { queue.keep_settled().await });
    }
    let dice = |of| Random::new(plan.seed, &[of, life]);
    for listener in &listeners {
        let queue = Arc::clone(outbox.queue(&listener.name).expect("it was just made"));
        tokio::spawn(hooks::keep(sim.clone(), fleet.clone(), queue, dice(10)));
    }
    tokio::spawn(tools::hear(sim.clone(), fleet.clone(), heard));
    tokio::spawn(people::ask(sim.clone(), fleet.clone(), dice(4)));
    tokio::spawn(people::attend(sim.clone(), fleet.clone(), dice(5)));
    tokio::spawn(file::keep(sim.clone(), fleet.clone(), dice(9)));
    tokio::spawn(people::inspect(sim.clone(), fleet.clone()));
    tokio::spawn(trouble(sim.clone(), dice(6)));
    tokio::select! {
        biased;
        () = sim.over() => End::Over,
        end = ends(sim, &fleet, dice(7), times) => end,
    }
}

/// Ends a life that was not killed: in order now and then, and at the end of the simulated time, or of that on a runner.
async fn ends(sim: &Sim, fleet: &Fleet, mut dice: Random, times: Times) -> End {
    let now = clock::now();
    let Times { calm, on_runner, finish } = times;
    let stays = match on_runner {
        None if sim.world().calm => {
            tokio::time::sleep(finish.since(now)).await;
            return End::Finished;
        }
        None => dice.around(Duration::from_secs(10 * 86_400)).min(calm.since(now)),
        Some(until) if sim.world().calm => until.since(now),
        Some(_) => dice.around(Duration::from_secs(1800)).min(calm.since(now)),
    };
    tokio::time::sleep(stays).await;
    fleet.drain(Duration::from_secs(10)).await;
    End::Drained
}

async fn trouble(sim: Sim, mut dice: Random) {
    loop {
        // Often and rarely: a life may be over before anything that takes a day.
        tokio::time::sleep(Duration::from_secs(600)).await;
        let mut world = sim.world();
        if !world.calm && dice.is(1, 60) {
            world.trouble(clock::now());
        }
    }
}

/// Checks that the state after a replay equals the state before.
fn compare(sim: &Sim, plan: &Plan) -> Result<(), String> {
    let alone: Arc<herder::journal::Onlooker> = Arc::new(|_| true);
    let journal = Journal::in_memory(&sim.memory, "simulated", history(), alone);
    let journal = journal.map_err(|reason| reason.to_string())?;
    let mut world = sim.world();
    let fleet = journal.load::<FleetState>(&Stream::Fleet).map_err(|reason| reason.to_string())?;
    if fleet.state != world.books.fleet {
        return Err("the fleet after a replay is not what it was before".to_owned());
    }
    let first = world.random.index(plan.agents);
    for number in (0..plan.agents.min(COMPARED)).map(|number| (first + number) % plan.agents) {
        let name = AgentName::new(&format!("agent-{number}")).expect("a good name");
        let loaded =
            journal.load::<Agent>(&Stream::Agent(name.clone())).map_err(|reason| reason.to_string())?;
        let before = world.books.agents.get(&name).cloned().unwrap_or_default();
        if loaded.state != before {
            return Err(format!("{name} after a replay is not what it was before: {:?}", loaded.state));
        }
    }
    let [libera, discord] = NETWORKS.map(NetworkName::from);
    world.books.posts.are_what_the_outbox_owes(&journal, &[libera, discord, hooks::name()])
}
