//! People: some give work and change their minds, some look after halted agents, and one makes rounds and checks that
//! nothing lies idle.

use std::collections::BTreeMap;
use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::ask::AskAnswer;
use herder::core::board::{Place, Wish};
use herder::core::card::{Card, Priority};
use herder::core::dealings::{Cut, Onward};
use herder::core::event::PauseReason;
use herder::core::id::{AgentName, WorkId};
use herder::core::input::Control;
use herder::core::post::Target;
use herder::core::promotion::Hold;
use herder::core::spec::Permissions;
use herder::core::time::Timestamp;
use herder::core::work::{Actor, TaskEnd, WorkKind};
use herder::journal::AuditEntry;
use herder::supervisor::{AnswerTo, Asked, Fleet, View};
use tokio::time::sleep;

use super::life::spec;
use super::random::Random;
use super::world::Sim;

const HOUR: Duration = Duration::from_secs(3600);

fn asked(verb: &str, agent: Option<&AgentName>) -> Asked {
    let by = Actor { network: "libera".into(), name: "alice".into(), identity: Some("alice".into()) };
    let audit = AuditEntry {
        by,
        place: "#herder".to_owned(),
        agent: agent.cloned(),
        verb: verb.to_owned(),
        text: format!("!{verb}"),
    };
    let answer = AnswerTo {
        network: "libera".into(),
        to: Target::Control,
        nick: "alice".to_owned(),
        posted: true,
        owed_under: None,
    };
    Asked { audit, answer: Some(answer), message: None }
}

async fn control(fleet: &Fleet, agent: &AgentName, verb: &str, control: Control) {
    // A refusal has no effect, so the result does not matter.
    let _ = fleet.control(agent, control, asked(verb, Some(agent))).await;
}

/// Lets an agent go on. What could not be ended of its processes is ended by hand before.
async fn go_on(sim: &Sim, fleet: &Fleet, agent: &AgentName, verb: &str, how: Control) {
    {
        let mut world = sim.world();
        if world.survivors.contains(agent) {
            world.process_ended(agent);
        }
    }
    control(fleet, agent, verb, how).await;
}

/// Gives work, and every other command of people, until the calm end.
pub(crate) async fn ask(sim: Sim, fleet: Fleet, mut dice: Random) {
    let (agents, every) = {
        let world = sim.world();
        (world.plan.agents, world.plan.work_every)
    };
    let mut count = 0;
    loop {
        sleep(dice.around(every)).await;
        if sim.world().calm {
            return;
        }
        count += 1;
        let number = dice.index(agents);
        let agent = AgentName::new(&format!("agent-{number}")).expect("a good name");
        if fleet.view(&agent).is_none() {
            let spec = spec(&sim.world().plan, number);
            let _ = fleet.add(spec, asked("agent", Some(&agent))).await;
        }
        match dice.weighted(&[80, 50, 30, 6, 4, 6, 4, 4, 12, 8, 4, 3, 2, 1]) {
            0 => {
                let _ = fleet
                    .post_task(format!("task {count}"), card(&mut dice), None, asked("task", None))
                    .await;
            }
            1 => {
                let asked = asked("task", Some(&agent));
                let _ = fleet.give_task(&agent, format!("task {count}"), card(&mut dice), asked).await;
            }
            2 => {
                let text = format!("message {count}");
                let _ = fleet.give(&agent, WorkKind::Message, text, asked("ask", Some(&agent))).await;
            }
            3 => control(&fleet, &agent, "pause", Control::Pause { now: dice.is(1, 2) }).await,
            4 => control(&fleet, &agent, "abort", Control::Abort).await,
            5 => go_on(&sim, &fleet, &agent, "restart", Control::Restart).await,
            11 => {
                sim.world().tally.removals += 1;
                control(&fleet, &agent, "agent", Control::Remove).await;
            }
            12 => {
                let mut spec = spec(&sim.world().plan, number);
                spec.model = format!("model-{}", dice.below(3));
                control(&fleet, &agent, "agent", Control::Edit { spec: Box::new(spec), base: None }).await;
            }
            13 => stop_all(&sim, &fleet).await,
            6 => control(&fleet, &agent, "stop", Control::Stop).await,
            7 => control(&fleet, &agent, "clear", Control::Clear).await,
            8 => meddle(&fleet, &agent, &mut dice).await,
            9 => decide(&fleet, &mut dice).await,
            _ => {
                let (id, text) = (fleet.fresh(), "Mind the gap.".to_owned());
                control(&fleet, &agent, "whisper", Control::Whisper { id, text }).await;
            }
        }
    }
}

async fn stop_all(sim: &Sim, fleet: &Fleet) {
    let agents = fleet.agents().into_iter().map(|view| view.name).collect();
    if fleet.stop_all(asked("stop-all", None)).await.is_ok() {
        let mut world = sim.world();
        world.tally.stops += 1;
        world.books.halted.all_are_to_stop(agents, herder::clock::now());
    }
}

fn card(dice: &mut Random) -> Option<Box<Card>> {
    let mut card = Card {
        priority: [Priority::Low, Priority::Normal, Priority::High][dice.index(3)],
        ..Card::default()
    };
    if dice.is(1, 6) {
        card.needs.permissions = Some(Permissions::WorkspaceWrite);
    }
    if dice.is(1, 12) {
        card.needs.tags.insert("rust".to_owned());
    }
    dice.is(1, 2).then(|| Box::new(card))
}

fn cuts(fleet: &Fleet, dice: &mut Random) -> Vec<Cut> {
    let cut = |_| {
        let id = fleet.fresh();
        Cut { id, text: format!("part {id}") }
    };
    (0..2 + dice.below(3)).map(cut).collect()
}

/// Takes work from an agent, or changes it.
async fn meddle(fleet: &Fleet, agent: &AgentName, dice: &mut Random) {
    let Some(view) = fleet.view(agent) else { return };
    let state = &view.agent;
    let over =
        state.finished.iter().rev().filter(|task| matches!(task.end, TaskEnd::Failed | TaskEnd::Blocked));
    let mut works: Vec<WorkId> = state.queue.iter().chain(&state.current).map(|work| work.id).collect();
    works.extend(over.take(3).map(|task| task.work.id));
    let Some(task) = dice.pick(&works).copied() else { return };
    let wish = match dice.below(5) {
        0 => Control::CancelTask(task),
        1 => Control::HandBack { task, onward: Onward::To(None) },
        2 => Control::HandBack { task, onward: Onward::Split(cuts(fleet, dice)) },
        3 => Control::Withdraw(task),
        _ => Control::Reword { id: task, text: format!("reworded {task}") },
    };
    control(fleet, agent, "task", wish).await;
}

/// Asks something of the board.
async fn decide(fleet: &Fleet, dice: &mut Random) {
    let tasks: Vec<WorkId> = fleet.board().tasks.keys().copied().collect();
    let Some(task) = dice.pick(&tasks).copied() else { return };
    let wish = match dice.below(5) {
        0 => Wish::Cancel(task),
        1 => {
            let agents: Vec<AgentName> = fleet.agents().into_iter().map(|view| view.name).collect();
            Wish::Assign { task, to: dice.pick(&agents).cloned() }
        }
        2 => Wish::Assign { task, to: None },
        3 => Wish::Reword { task, text: format!("reworded {task}") },
        _ => Wish::Split { task, cuts: cuts(fleet, dice) },
    };
    let _ = fleet.wish(wish, asked("task", None)).await;
}

/// Looks after what stands still, now and then.
pub(crate) async fn attend(sim: Sim, fleet: Fleet, mut dice: Random) {
    let every = sim.world().plan.attend_every;
    loop {
        let calm = sim.world().calm;
        sleep(if calm { 2 * every } else { dice.around(every) }).await;
        for View { name, agent, hold, .. } in fleet.agents() {
            let asks: Vec<_> = agent.asks.iter().map(|ask| ask.id).collect();
            for ask in asks {
                let answer = if dice.is(2, 3) { AskAnswer::Allow { always: false } } else { AskAnswer::Deny };
                control(&fleet, &name, "approve", Control::Answer { ask, answer }).await;
            }
            if stands_still(&agent) && (calm || dice.is(1, 4)) {
                see_to(&sim, &fleet, &name, &agent, &mut dice).await;
            }
            // Its account continues when a person says so.
            let waits_for_a_word = matches!(hold, Some(Hold::Closed { until: None, .. }));
            if waits_for_a_word && (calm || dice.is(1, 4)) {
                control(&fleet, &name, "resume", Control::Resume).await;
            }
        }
        if calm {
            settle_board(&fleet).await;
        }
    }
}

fn stands_still(agent: &Agent) -> bool {
    matches!(agent.phase, Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded)
}

async fn see_to(sim: &Sim, fleet: &Fleet, name: &AgentName, agent: &Agent, dice: &mut Random) {
    let escalated = agent.phase == Phase::Paused { reason: PauseReason::Escalation };
    if escalated && dice.is(1, 3) {
        return control(fleet, name, "abort", Control::Abort).await;
    }
    if let Phase::Paused { reason: PauseReason::Failure(category) | PauseReason::Account(category) } =
        agent.phase
        && category.is_of_account()
        && dice.is(4, 5)
        && let Some(spec) = &agent.spec
        && let Some(account) = sim.world().accounts.get_mut(&spec.account)
    {
        account.refused = None;
    }
    go_on(sim, fleet, name, "resume", Control::Resume).await;
}

/// Cancels tasks that are blocked by a failed part, and tasks that no agent can do.
async fn settle_board(fleet: &Fleet) {
    let board = fleet.board();
    for (task, boarded) in &board.tasks {
        let stuck = boarded.blocked_by().is_some();
        let nobody = matches!(boarded.place, Place::Queued { .. }) && boarded.since < past(fleet);
        if stuck || nobody {
            let _ = fleet.wish(Wish::Cancel(*task), asked("task", None)).await;
        }
    }
}

fn past(_: &Fleet) -> Timestamp {
    herder::clock::now().before(40 * HOUR)
}

/// The agents that wait, since when and for what: an entry that is seen twice has waited for a whole round.
type Waits = BTreeMap<AgentName, (Timestamp, &'static str)>;

/// Goes round all the time.
pub(crate) async fn inspect(sim: Sim, fleet: Fleet) {
    let every = sim.world().plan.look_every;
    let mut before = Waits::new();
    let mut offered: BTreeMap<WorkId, Timestamp> = BTreeMap::new();
    loop {
        sleep(every).await;
        let views = fleet.agents();
        let used = fleet.usage();
        let waits = waits(&sim, &views);
        let board = fleet.board();
        let on_the_way: BTreeMap<WorkId, Timestamp> = board
            .tasks
            .iter()
            .filter(|(_, boarded)| matches!(boarded.place, Place::Offered { .. }))
            .map(|(task, boarded)| (*task, boarded.since))
            .collect();
        let now = herder::clock::now();
        let lives = sim.step(|world| {
            world.breaks.whoever_breaks_over_everything_is_given_up(now, |agent| fleet.is_deserted(agent))?;
            world.books.what_is_shown_is_what_is_on_disk(&views)?;
            // Agents without a supervisor show nothing before the next start.
            let mut views = views;
            views.retain(|view| world.books.is_supervised(&view.name));
            nobody_waits_for_what_is_there(&before, &waits)?;
            no_task_is_on_its_way_for_so_long(&offered, &on_the_way)?;
            world.books.spent.nobody_works_past_a_cap(&views, now)?;
            world.books.spent.what_is_shown_was_used(&used, now)?;
            world.books.halted.nothing_waits_for_longer(&views, now)?;
            world.books.every_work_is_somewhere(&board)
        });
        if !lives {
            return;
        }
        (before, offered) = (waits, on_the_way);
    }
}

fn waits(sim: &Sim, views: &[View]) -> Waits {
    let world = sim.world();
    let supervised = |view: &&View| world.books.is_supervised(&view.name);
    let wait = |view: &View| {
        let what = match (&view.agent.phase, &view.hold) {
            (_, Some(Hold::Turn { max, .. })) if world.books.active() < *max as usize => {
                "a place, of which there are some"
            }
            (Phase::Idle, None) if view.agent.wants().is_some() => "nothing, and does not begin",
            (_, _) if view.agent.session().is_some() && !world.processes.contains_key(&view.name) => {
                "a session without a process"
            }
            (Phase::Waiting { until, .. }, _)
                if until.after(world.plan.look_every) < herder::clock::now() =>
            {
                "a countdown that is over"
            }
            _ => return None,
        };
        Some((view.name.clone(), (view.agent.since, what)))
    };
    views.iter().filter(supervised).filter_map(wait).collect()
}

fn nobody_waits_for_what_is_there(before: &Waits, now: &Waits) -> Result<(), String> {
    match now.iter().find(|(agent, wait)| before.get(*agent) == Some(wait)) {
        Some((agent, (since, what))) => Err(format!("{agent} has waited since {since:?} for {what}")),
        None => Ok(()),
    }
}

fn no_task_is_on_its_way_for_so_long(
    before: &BTreeMap<WorkId, Timestamp>,
    now: &BTreeMap<WorkId, Timestamp>,
) -> Result<(), String> {
    match now.iter().find(|(task, since)| before.get(*task) == Some(since)) {
        Some((task, since)) => Err(format!("task {task} has been on its way since {since:?}")),
        None => Ok(()),
    }
}
