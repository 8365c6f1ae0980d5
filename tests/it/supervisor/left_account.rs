//! Agents that were given another account while theirs was closed.

use herder::core::event::PauseReason;
use herder::core::id::AccountName;
use herder::core::outcome::Category;
use herder::journal::FleetState;

use super::accounts::{agents, closed, own_journal};
use super::*;

fn account(name: &str) -> AccountName {
    AccountName::from(name)
}

/// `agent edit`, for its account alone.
async fn moves(house: &House, agent: &str, to: &str) {
    let view = house.until(agent, |_| true).await;
    let spec = AgentSpec { account: account(to), ..view.agent.spec.clone().unwrap() };
    house.control(agent, Control::Edit { spec: Box::new(spec), base: None }).await.unwrap();
}

/// Waits until it is so.
async fn comes(what: &str, mut is_so: impl FnMut() -> bool) {
    let coming = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, coming).await.unwrap_or_else(|_| panic!("{what} never came"));
}

/// Lets an agent go on, and waits until the root has done what follows from that.
async fn resumes(house: &House, agent: &str) {
    house.control(agent, Control::Resume).await.unwrap();
    comes("the root's part", || house.journal.memos("open/").unwrap().is_empty()).await;
}

fn fleet(journal: &Journal) -> FleetState {
    journal.load::<FleetState>(&Stream::Fleet).unwrap().state
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_somebody_elses_failure_has_closed_is_opened_by_nobody_who_has_left_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = own_journal(dir.path(), Arc::new(|_| true));
    let [spark, flint] = <[AgentSpec; 2]>::try_from(agents(dir.path())).unwrap();
    let flint = AgentSpec { name: flint.name, ..spark.clone() };
    let house = House::on(journal, vec![spark, flint], FaultInjection::default()).await;
    let met = Phase::Paused { reason: PauseReason::Failure(Category::Auth) };
    house.give("spark", "count the beans").await.unwrap();
    house.until("spark", |view| view.agent.phase == met).await;
    moves(&house, "spark", "other").await;
    house.control("spark", Control::Abort).await.unwrap();
    resumes(&house, "spark").await;
    assert!(fleet(&house.journal).blocked.is_empty(), "its own failure had closed it");

    house.give("flint", "count the beans").await.unwrap();
    house.until("flint", |view| view.agent.phase == met).await;
    comes("the second alert", || closed(&house).len() == 2).await;
    house.control("spark", Control::Pause { now: false }).await.unwrap();
    resumes(&house, "spark").await;
    let fleet = fleet(&house.journal);
    let by: Vec<&str> = fleet.blocked.values().map(|blocked| blocked.agent.as_str()).collect();
    assert_eq!(by, ["flint"]);
    house.close().await;
}
