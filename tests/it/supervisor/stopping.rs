//! `stop-all` that does not finish within one life of herder.

use herder::journal::{Memory, Step};

use super::accounts::journal_on;
use super::*;

/// Returns a sender of a command whose answer can be posted.
fn ordered() -> Asked {
    let answer = AnswerTo {
        network: NetworkName::from("test"),
        to: Target::Control,
        nick: "alice".to_owned(),
        posted: true,
        owed_under: None,
    };
    Asked { answer: Some(answer), ..asked("stop-all") }
}

/// Waits for the answer that this number of agents is stopped, with no processes left.
async fn answered(house: &House, agents: u32) {
    let all = (Target::Control, Body::Notice(Notice::StoppedAll { agents, processes: 0 }));
    let answered = async {
        while !house.owed("test").contains(&all) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.expect("the answer comes");
}

fn paused(view: &View) -> bool {
    matches!(view.agent.phase, Phase::Paused { .. })
}

fn sessions(house: &House, agent: &str) -> usize {
    let events = house.events(agent);
    events.iter().filter(|event| matches!(event, Event::SessionStarted { .. })).count()
}

/// One thread for all tasks: they go on in the order in which they were woken.
#[tokio::test]
async fn an_order_to_stop_all_that_is_given_while_herder_goes_down_is_carried_out_by_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let stubborn = "trap '' TERM; while :; do sleep 0.1; done";
    let agents = || vec![shell("busy", dir.path(), stubborn), shell("calm", dir.path(), "sleep 300")];
    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    house.give("busy", "run").await.unwrap();
    house.until("busy", |view| view.agent.process.is_some()).await;
    let fleet = house.fleet.clone();
    let draining = tokio::spawn(async move { fleet.drain(PATIENCE).await });
    // The view's sender goes with the supervisor.
    let calm = name("calm");
    assert!(house.fleet.wait_for(&calm, |_| false).await.is_none());
    let stopping = house.fleet.stop_all(ordered()).await.unwrap();
    assert_eq!(stopping.agents, 2, "this is what is said, and from now on it holds");
    assert_eq!(house.control("calm", Control::Pause { now: false }).await, Err(Refusal::Closing));
    assert_eq!(stopping.done().await, Err(Refusal::GoingDown));
    assert_eq!(draining.await.unwrap(), 0);
    house.journal.close().await;
    drop(house);

    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    answered(&house, 2).await;
    for agent in ["busy", "calm"] {
        let view = house.fleet.view(&name(agent)).unwrap();
        assert!(paused(&view), "{agent}: {:?}", view.agent.phase);
    }
    assert_eq!(sessions(&house, "busy"), 1, "nothing is begun by a herder that is to stop all");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn whoever_is_let_on_before_all_have_stopped_is_left_alone_by_the_next_herder() {
    let dir = tempfile::tempdir().unwrap();
    let agents = || ["flint", "slow"].map(|agent| shell(agent, dir.path(), "sleep 300")).to_vec();
    // One of them never gets as far as to stop.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let fault = FaultInjection::new(move |agent, input| {
        if agent.as_str() == "slow" && matches!(input, Input::Control { control: Control::Stop, .. }) {
            held.lock().unwrap().recv().ok();
        }
    });
    let house = House::open(dir.path(), agents(), fault).await;
    for agent in ["flint", "slow"] {
        house.give(agent, "run").await.unwrap();
        house.until(agent, |view| view.agent.process.is_some()).await;
    }
    let stopping = house.fleet.stop_all(ordered()).await.unwrap();
    house.until("flint", paused).await;
    house.control("flint", Control::Resume).await.unwrap();
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.journal.close().await;
    drop((release, stopping));
    house.close().await;

    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    answered(&house, 2).await;
    let view = house.fleet.view(&name("slow")).unwrap();
    assert!(paused(&view), "{:?}", view.agent.phase);
    let view = house.fleet.view(&name("flint")).unwrap();
    assert!(!paused(&view), "a person has let it on: {:?}", view.agent.phase);
    house.until("flint", |view| matches!(view.agent.phase, Phase::Running { .. })).await;
    assert_eq!(sessions(&house, "slow"), 1);
    assert_eq!(house.journal.memos("stop-all/").unwrap(), [], "it is over");
    house.close().await;
}

fn pair(dir: &Path) -> Vec<AgentSpec> {
    ["flint", "fragile"].map(|agent| shell(agent, dir, "sleep 300")).to_vec()
}

/// Both work, and are stopped.
async fn stop_both(house: &House) {
    for agent in ["flint", "fragile"] {
        house.give(agent, "run").await.unwrap();
        house.until(agent, |view| view.agent.process.is_some()).await;
    }
    let answer = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await.unwrap();
    assert_eq!(answer, Notice::StoppedAll { agents: 2, processes: 0 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_supervisor_is_given_up_over_it_is_stopped_by_the_next_herder() {
    let dir = tempfile::tempdir().unwrap();
    let fault = FaultInjection::new(|agent, input| {
        let stop = matches!(input, Input::Control { control: Control::Stop, .. });
        let again = matches!(input, Input::Panicked { .. });
        assert!(!(agent.as_str() == "fragile" && (stop || again)), "a fault");
    });
    let house = House::open(dir.path(), pair(dir.path()), fault).await;
    stop_both(&house).await;
    house.close().await;

    let house = House::open(dir.path(), pair(dir.path()), FaultInjection::default()).await;
    house.until("fragile", paused).await;
    assert_eq!(sessions(&house, "fragile"), 1, "nothing is begun after everything was to stop");
    while !house.journal.memos("stop-all/").unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_supervisor_breaks_over_it_once_is_told_again() {
    let dir = tempfile::tempdir().unwrap();
    let armed = AtomicBool::new(true);
    let fault = FaultInjection::new(move |agent, input| {
        let stop = matches!(input, Input::Control { control: Control::Stop, .. });
        let breaks = agent.as_str() == "fragile" && stop && armed.swap(false, Ordering::SeqCst);
        assert!(!breaks, "a fault");
    });
    let house = House::open(dir.path(), pair(dir.path()), fault).await;
    stop_both(&house).await;
    let view = house.fleet.view(&name("fragile")).unwrap();
    assert!(paused(&view), "{:?}", view.agent.phase);
    assert_eq!(sessions(&house, "fragile"), 1);
    house.close().await;
}

/// Leaves `stop-all` undone behind: it is on disk, and its agent was never told.
async fn killed_over(asked: Asked, dir: &Path) {
    // It never gets as far as to stop its agent.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let fault = FaultInjection::new(move |_, input| {
        if matches!(input, Input::Control { control: Control::Stop, .. }) {
            held.lock().unwrap().recv().ok();
        }
    });
    let house = House::open(dir, agents(dir), fault).await;
    house.give("spark", "run").await.unwrap();
    house.until("spark", |view| view.agent.process.is_some()).await;
    let stopping = house.fleet.stop_all(asked).await.unwrap();
    assert_eq!(stopping.agents, 1, "this is what is said, and from now on it holds");
    house.journal.close().await;
    drop((release, stopping));
    house.close().await;
}

fn agents(dir: &Path) -> Vec<AgentSpec> {
    vec![shell("spark", dir, "sleep 300")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_order_to_stop_all_is_carried_out_by_the_next_herder_if_this_one_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    killed_over(ordered(), dir.path()).await;

    let house = House::open(dir.path(), agents(dir.path()), FaultInjection::default()).await;
    answered(&house, 1).await;
    let view = house.fleet.view(&name("spark")).unwrap();
    assert!(paused(&view), "{:?}", view.agent.phase);
    assert_eq!(sessions(&house, "spark"), 1, "nothing is begun by a herder that is to stop all");
    // Once it is answered, it is over: an agent that is resumed stays so.
    assert!(house.control("spark", Control::Resume).await.is_ok());
    house.close().await;
    let house = House::open(dir.path(), agents(dir.path()), FaultInjection::default()).await;
    house.until("spark", |view| view.agent.process.is_some()).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_the_shell_asked_of_a_herder_that_was_killed_is_answered_in_the_control_channels() {
    for answer in [None, Some("local")] {
        let dir = tempfile::tempdir().unwrap();
        let mut asked = asked("stop-all");
        asked.audit.by.network = NetworkName::from("local");
        asked.answer = answer.map(|network| AnswerTo {
            network: NetworkName::from(network),
            to: Target::Person("alice".to_owned()),
            nick: "alice".to_owned(),
            posted: false,
            owed_under: None,
        });
        killed_over(asked, dir.path()).await;

        let house = House::open(dir.path(), agents(dir.path()), FaultInjection::default()).await;
        answered(&house, 1).await;
        let whose = Notice::Mirrored {
            by: "alice".to_owned(),
            network: NetworkName::from("local"),
            text: "!stop-all".to_owned(),
        };
        let owed = house.owed("test");
        assert!(owed.contains(&(Target::Control, Body::Notice(whose))), "{owed:?}");
        assert!(
            !owed.iter().any(|(to, _)| *to == Target::Alerts),
            "nothing is left that needs anybody: {owed:?}"
        );
        assert_eq!(house.owed("local"), [], "nobody is there who would take it");
        house.close().await;
    }
}

/// More agents that cannot be asked than one memo has room for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_stands_and_is_answered_however_many_agents_cannot_be_asked() {
    const LOST: usize = 400;
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    let lost: Vec<AgentName> = (0..LOST).map(|n| name(&format!("agent-{n:024}"))).collect();
    let by = asked("test").audit.by;
    let write = |stream, entries| Write { stream, expected_rev: None, entries };
    let roster = lost.iter().map(|agent| Entry::Fleet(FleetEvent::AgentAdded { agent: agent.clone() }));
    let mut writes = vec![write(Stream::Fleet, roster.collect())];
    writes.extend(lost.iter().map(|agent| {
        let spec = Box::new(shell(agent.as_str(), dir.path(), "cat"));
        write(Stream::Agent(agent.clone()), vec![Entry::Agent(Event::Added { spec, by: by.clone() })])
    }));
    house.close_with(Batch { at: herder::clock::now(), writes, ..Batch::default() }).await;
    super::unreadable::damage_all(dir.path(), &lost);

    let agents = || vec![shell("flint", dir.path(), "cat")];
    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    assert_eq!(house.fleet.unreadable().len(), LOST);
    let told = house.fleet.stop_all(ordered()).await.unwrap().done().await;
    assert_eq!(told, Ok(Notice::StoppedAll { agents: 1, processes: 0 }));
    let orders = house.journal.memos("stop-all/").unwrap();
    assert_eq!(orders.len(), LOST + 1, "each of them is still to stop");
    house.control("flint", Control::Resume).await.unwrap();
    house.close().await;

    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    house.give("flint", "hello").await.unwrap();
    house.until("flint", |view| idle(view) && view.agent.totals.successes == 1).await;
    assert_eq!(house.journal.memos("stop-all/").unwrap(), orders);
    house.close().await;
}

/// The agent that was left has decided its stop when herder is killed: the next herder only deletes the memo.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_order_that_is_over_nothing_stays_noted_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::default();
    let fault = FaultInjection::new(|agent, input| {
        let stop = matches!(input, Input::Control { control: Control::Stop, .. });
        let again = matches!(input, Input::Panicked { .. });
        assert!(!(agent.as_str() == "fragile" && (stop || again)), "a fault");
    });
    let journal = journal_on(&memory, dir.path(), Arc::new(|_| true));
    let house = House::on(journal, pair(dir.path()), fault).await;
    stop_both(&house).await;
    house.close().await;

    let killed = Arc::new(AtomicBool::new(false));
    let (kills, mut over) = tokio::sync::mpsc::unbounded_channel();
    let onlooker = move |step: Step<'_>| {
        if let Step::Committed(batch, _) = step
            && batch.memos.iter().any(|memo| memo.key.ends_with("/fragile") && memo.value.is_some())
            && !killed.swap(true, Ordering::SeqCst)
        {
            kills.send(()).unwrap();
        }
        !killed.load(Ordering::SeqCst)
    };
    let journal = journal_on(&memory, dir.path(), Arc::new(onlooker));
    let starting = House::on(journal, pair(dir.path()), FaultInjection::default());
    let killed = async { tokio::time::timeout(PATIENCE, over.recv()).await.expect("it decides") };
    // It may be killed while it is starting.
    tokio::select! {
        killed = killed => killed.unwrap(),
        () = async { drop(starting.await); std::future::pending().await } => {}
    }

    let journal = journal_on(&memory, dir.path(), Arc::new(|_| true));
    let house = House::on(journal, pair(dir.path()), FaultInjection::default()).await;
    let forgotten = async {
        while !house.journal.memos("stop-all/").unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, forgotten).await.expect("it is over");
    assert!(paused(&house.fleet.view(&name("fragile")).unwrap()));
    house.close().await;
}
