//! An account that one agent finds closed is closed for all of its agents, also when a supervisor panics just then.

use herder::core::event::PauseReason;
use herder::core::outcome::Category;
use herder::core::spec::Pattern;
use herder::journal::{Memory, Step};

use super::*;

/// The account refuses it while `refused` is there.
const BILLED: &str = "[ -e refused ] && { echo no such key >&2; exit 1; }; cat";

/// Two agents of one account: spark meets its refusal, flint is at work.
fn agents(dir: &Path) -> Vec<AgentSpec> {
    std::fs::write(dir.join("refused"), "").unwrap();
    let patterns = vec![Pattern { matches: "no such key".to_owned(), category: Category::Auth }];
    vec![AgentSpec { patterns, ..shell("spark", dir, BILLED) }, shell("flint", dir, "sleep 300")]
}

/// Gives both something to do, and waits until both are paused for their account, which is said once.
async fn closes(house: &House) {
    house.give("flint", "run").await.unwrap();
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.give("spark", "count the beans").await.unwrap();
    let (met, told) = (PauseReason::Failure(Category::Auth), PauseReason::Account(Category::Auth));
    let [met, told] = [met, told].map(|reason| Phase::Paused { reason });
    house.until("spark", |view| view.agent.phase == met).await;
    let flint = house.until("flint", |view| view.agent.phase == told).await;
    assert_eq!((flint.agent.process, flint.agent.queue.len()), (None, 1), "its work is kept");
    let alerts = house.owed("test").into_iter().filter(|(_, body)| {
        matches!(body, Body::Notice(Notice::AccountBlocked { category: Category::Auth, .. }))
    });
    assert_eq!(alerts.map(|(to, _)| to).collect::<Vec<_>>(), [Target::Alerts]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_supervisor_panics_over_the_news_is_paused_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let armed = Arc::new(AtomicBool::new(true));
    let trigger = Arc::clone(&armed);
    let fault = FaultInjection::new(move |agent, input| {
        let news = agent.as_str() == "flint" && matches!(input, Input::AccountBlocked { .. });
        assert!(!(news && trigger.swap(false, Ordering::SeqCst)), "a fault");
    });
    let house = House::open(dir.path(), agents(dir.path()), fault).await;
    closes(&house).await;
    assert!(!armed.load(Ordering::SeqCst), "the fault was never reached");
    let panicked = |event: &Event| matches!(event, Event::SupervisorPanicked { .. });
    assert!(house.events("flint").iter().any(panicked));

    std::fs::remove_file(dir.path().join("refused")).unwrap();
    house.control("spark", Control::Resume).await.unwrap();
    house.until("spark", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.close().await;
}

/// The failure is on disk, and neither shown nor passed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_others_are_paused_also_when_the_supervisor_that_met_the_failure_panics_before_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let armed = Arc::new(AtomicBool::new(true));
    let trigger = Arc::clone(&armed);
    let failure = Event::Paused { reason: PauseReason::Failure(Category::Auth) };
    let onlooker = move |step: Step<'_>| {
        if let Step::Committed(batch, _) = step {
            let mut entries = batch.writes.iter().flat_map(|write| &write.entries);
            let met = entries.any(|entry| *entry == Entry::Agent(failure.clone()));
            assert!(!(met && trigger.swap(false, Ordering::SeqCst)), "a fault");
        }
        true
    };
    // Processes are marked with its name, and other tests have some too.
    let own = dir.path().file_name().unwrap().to_str().unwrap();
    let journal =
        Journal::in_memory(&Memory::default(), own, History::default(), Arc::new(onlooker)).unwrap();
    let house = House::on(journal, agents(dir.path()), FaultInjection::default()).await;
    closes(&house).await;
    assert!(!armed.load(Ordering::SeqCst), "the fault was never reached");
    let panicked = |event: &Event| matches!(event, Event::SupervisorPanicked { .. });
    assert!(house.events("spark").iter().any(panicked));
    house.close().await;
}
