//! What hangs costs its own agent little time, and nobody else any.

use std::process::{Command, Stdio};

use herder::core::outcome::Usage;
use herder::journal::Memory;
use herder::runtime::orphans::Ended;
use herder::runtime::{Driver, Launch, Live};
use herder::supervisor::Simulated;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::*;
use crate::runtime::hangs::Unreadable;

/// Drivers that take nothing, say nothing and never end; `begun` is told of each.
fn hung(begun: impl Fn(&Launch) + Send + Sync + 'static) -> FaultInjection {
    let kept = Mutex::new(Vec::new());
    FaultInjection::default().simulating(Simulated {
        launch: Box::new(move |launch| {
            begun(&launch);
            let (orders, taken) = mpsc::channel(64);
            let (said, reports) = mpsc::channel(64);
            let (seen, live) = watch::channel(Live::default());
            kept.lock().unwrap().push((taken, said, seen));
            Driver { orders, reports, live }
        }),
        end_orphans: Box::new(|_| Ended::default()),
        end_processes: Box::new(|_| Vec::new()),
        random: Box::new(|| 0),
        judge: Box::new(|_| panic!("nobody is judged: {:?}", Usage::default())),
        split: Box::new(|_| panic!("nothing is split")),
    })
}

async fn house(dir: &Path, fault: FaultInjection) -> House {
    // Processes are marked with its name, and other tests have some too.
    let own = dir.file_name().unwrap().to_str().unwrap();
    let journal =
        Journal::in_memory(&Memory::default(), own, History::default(), Arc::new(|_| true)).unwrap();
    House::on(journal, vec![shell("worker", dir, "cat")], fault).await
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_hangs_is_waited_for_once() {
    let dir = tempfile::tempdir().unwrap();
    let house = house(dir.path(), hung(|_| ())).await;
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
    let fault = hung(|launch| {
        let mut left = Command::new("sh");
        left.args(["-c", "sleep 300 &"]).env("HERDER_SESSION", &launch.marker);
        let left = left.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(left.unwrap().success());
    });
    let house = house(dir.path(), fault).await;
    house.give("worker", "count the beans").await.unwrap();
    let told = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await;
    assert_eq!(told.unwrap(), Notice::StoppedAll { agents: 1, processes: 0 });
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
    // The kernel lets nobody wait for longer than three quarters of a minute.
    assert!(begin.elapsed() < Duration::from_secs(40), "it was waited for");
    assert_eq!(house.fleet.view(&name("slow")).unwrap().agent.totals.successes, 0);
    drop(unreadable);
    house.until("slow", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}
