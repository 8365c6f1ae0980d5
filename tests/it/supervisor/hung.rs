//! A process that hangs costs its own agent little time, and other agents none.

use std::process::{Command, Stdio};

use herder::core::event::PauseReason;
use herder::core::outcome::Usage;
use herder::journal::Memory;
use herder::runtime::orphans::Ended;
use herder::runtime::process::lives;
use herder::runtime::{Driver, Launch, Live};
use herder::supervisor::Simulated;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::*;
use crate::runtime::hangs::Unreadable;

/// Drivers that take nothing, say nothing and never end; `begun` is called for each.
fn hung(begun: impl Fn(&Launch) + Send + Sync + 'static) -> Simulated {
    hung_with(&[], begun)
}

/// Returns the same, where these processes cannot be ended.
fn hung_with(survivors: &'static [u32], begun: impl Fn(&Launch) + Send + Sync + 'static) -> Simulated {
    let kept = Mutex::new(Vec::new());
    Simulated {
        launch: Box::new(move |launch| {
            begun(&launch);
            let (orders, taken) = mpsc::channel(64);
            let (said, reports) = mpsc::channel(64);
            let (seen, live) = watch::channel(Live::default());
            kept.lock().unwrap().push((taken, said, seen));
            Driver { orders, reports, live, stay: None }
        }),
        end_orphans: Box::new(|_| Ended::default()),
        end_processes: Box::new(|_| survivors.to_vec()),
        random: Box::new(|| 0),
        judge: Box::new(|_| panic!("nobody is judged: {:?}", Usage::default())),
        split: Box::new(|_| panic!("nothing is split")),
    }
}

async fn house(dir: &Path, fault: FaultInjection) -> House {
    house_of(&["worker"], dir, fault).await
}

async fn house_of(agents: &[&str], dir: &Path, fault: FaultInjection) -> House {
    // Processes are marked with its name, and other tests have some too.
    let own = dir.file_name().unwrap().to_str().unwrap();
    let journal =
        Journal::in_memory(&Memory::default(), own, History::default(), Arc::new(|_| true)).unwrap();
    House::on(journal, agents.iter().map(|agent| shell(agent, dir, "cat")).collect(), fault).await
}

/// Returns such drivers, each of which leaves a process behind.
fn littering() -> FaultInjection {
    FaultInjection::default().simulating(hung(|launch| {
        let mut left = Command::new("sh");
        left.args(["-c", "sleep 300 &"]).env("HERDER_SESSION", &launch.marker);
        let left = left.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(left.unwrap().success());
    }))
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_hangs_is_waited_for_once() {
    let dir = tempfile::tempdir().unwrap();
    let house = house(dir.path(), FaultInjection::default().simulating(hung(|_| ()))).await;
    let begin = Instant::now();
    house.give("worker", "count the beans").await.unwrap();
    house.until("worker", |view| view.agent.totals.failures == 1).await;
    // The heartbeat's limit, and hardly more.
    let took = begin.elapsed();
    assert!((15..18).contains(&took.as_secs()), "{took:?}");
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_hung_drivers_leave_is_killed_before_it_is_counted_who_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let house = house(dir.path(), littering()).await;
    house.give("worker", "count the beans").await.unwrap();
    let told = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await;
    assert_eq!(told.unwrap(), Notice::StoppedAll { agents: 1, processes: 0 });
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_hung_drivers_leave_is_killed_although_somebody_else_is_let_on() {
    let dir = tempfile::tempdir().unwrap();
    let house = house_of(&["flint", "worker"], dir.path(), littering()).await;
    for agent in ["flint", "worker"] {
        house.give(agent, "count the beans").await.unwrap();
    }
    let stopping = house.fleet.stop_all(asked("stop-all")).await.unwrap();
    house.until("flint", |view| view.agent.session().is_none()).await;
    house.control("flint", Control::Resume).await.unwrap();
    assert_eq!(stopping.done().await, Ok(Notice::StoppedAll { agents: 2, processes: 0 }));
    let left = |agent: &str| format!("{}/{agent}/", house.journal.id());
    let trees = ProcessTrees::new().unwrap();
    assert_eq!(trees.count_marked(&left("worker")).await, 0);
    assert_eq!(trees.count_marked(&left("flint")).await, 2, "what is of one that is at work is left alone");
    let told = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await;
    assert_eq!(told, Ok(Notice::StoppedAll { agents: 2, processes: 0 }));
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_that_is_gone_has_left_is_killed_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let house = house(dir.path(), FaultInjection::default().simulating(hung(|_| ()))).await;
    let mut left = Command::new("sh");
    left.args(["-c", "sleep 300 &"]).env("HERDER_SESSION", format!("{}/gone/1", house.journal.id()));
    let left = left.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(left.unwrap().success());
    let told = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await;
    assert_eq!(told, Ok(Notice::StoppedAll { agents: 1, processes: 0 }));
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_supervisor_that_is_given_up_has_left_is_killed_like_everything_else() {
    let dir = tempfile::tempdir().unwrap();
    let left = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&left);
    let drivers = hung(move |launch| {
        let mut left = Command::new("sh");
        left.args(["-c", "sleep 300 >/dev/null & echo $!"]).env("HERDER_SESSION", &launch.marker);
        let said = left.stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap().stdout;
        let pid = String::from_utf8(said).unwrap().trim().parse::<u32>().unwrap();
        *noted.lock().unwrap() = Some(look(pid).expect("it runs").identity);
    });
    let fault = FaultInjection::new(|_, input| {
        let pause = matches!(input, Input::Control { control: Control::Pause { .. }, .. });
        assert!(!pause && !matches!(input, Input::Panicked { .. }), "a fault");
    });
    let house = house(dir.path(), fault.simulating(drivers)).await;
    house.give("worker", "count the beans").await.unwrap();
    let given_up = Err(Refusal::Deserted { agent: name("worker") });
    while house.control("worker", Control::Pause { now: false }).await != given_up {
        tokio::task::yield_now().await;
    }
    let view = house.fleet.view(&name("worker")).unwrap();
    assert!(matches!(view.agent.phase, Phase::Starting { .. }), "{:?}", view.agent.phase);
    let told = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await;
    assert_eq!(told.unwrap(), Notice::StoppedAll { agents: 1, processes: 0 });
    let left = left.lock().unwrap().expect("it was begun");
    assert!(!lives(left), "it is still there");
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn who_is_added_again_beside_what_is_left_of_its_namesake_waits_for_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let begun = Arc::new(Mutex::new(0));
    let count = Arc::clone(&begun);
    let drivers = hung_with(&[4_711], move |_| *count.lock().unwrap() += 1);
    let house = house(dir.path(), FaultInjection::default().simulating(drivers)).await;
    house.give("worker", "count the beans").await.unwrap();
    house.until("worker", |view| view.agent.totals.failures == 1).await;
    let worker = name("worker");
    house.fleet.remove(&worker, asked("agent remove")).await.unwrap();
    house.fleet.wait_for(&worker, |_| false).await;
    while house.fleet.view(&worker).is_some() {
        tokio::task::yield_now().await;
    }
    house.fleet.add(shell("worker", dir.path(), "cat"), asked("agent add")).await.unwrap();
    house.give("worker", "count the beans").await.unwrap();
    let view = house.until("worker", |view| !view.agent.queue.is_empty()).await;
    assert_eq!(view.agent.phase, Phase::Paused { reason: PauseReason::Survivors });
    assert_eq!(*begun.lock().unwrap(), 1);
    let said = |(to, body): &(Target, Body)| {
        *to == Target::Alerts
            && matches!(body, Body::Notice(Notice::Survivors { pids, .. }) if pids == &[4_711])
    };
    assert_eq!(house.owed("test").iter().filter(|owed| said(owed)).count(), 2, "once for each");
    house.close().await;
}

/// One thread for all tasks, as if the others were busy.
#[tokio::test]
async fn a_secret_that_cannot_be_read_holds_up_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    std::fs::write(&key, "a-key-value\n").unwrap();
    let unreadable = Unreadable::file(&key);
    let mut slow = shell("slow", dir.path(), "cat");
    slow.env_files = [("API_KEY".to_owned(), key)].into();
    let agents = vec![slow, shell("quick", dir.path(), "cat")];
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    let begin = std::time::Instant::now();
    house.give("slow", "count the beans").await.unwrap();
    house.give("quick", "count the beans").await.unwrap();
    house.until("quick", |view| idle(view) && view.agent.totals.successes == 1).await;
    // The kernel makes a reader wait for at most three quarters of a minute.
    assert!(begin.elapsed() < Duration::from_secs(40), "it was waited for");
    assert_eq!(house.fleet.view(&name("slow")).unwrap().agent.totals.successes, 0);
    drop(unreadable);
    house.until("slow", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}
