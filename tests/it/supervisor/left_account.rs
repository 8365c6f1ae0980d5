//! Agents that were given another account while theirs was closed.

use herder::core::event::PauseReason;
use herder::core::id::AccountName;
use herder::core::outcome::{Category, Outcome, Usage};
use herder::core::usage::{Cap, Caps, Unit, Warned, Window, day};
use herder::journal::{FleetState, Memory};

use super::accounts::{agents, closed, closes, journal_on, own_journal};
use super::*;

fn account(name: &str) -> AccountName {
    AccountName::from(name)
}

/// Changes the account of an agent with `agent edit`.
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

fn sessions(journal: &Journal, agent: &str) -> usize {
    let history = journal.history(&Stream::Agent(name(agent)), 10_000, None).unwrap();
    let starts = |entry: &Entry| matches!(entry, Entry::Agent(Event::SessionStarted { .. }));
    history.iter().filter(|recorded| starts(&recorded.entry)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_waits_for_its_account_goes_on_with_another_one_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let journal = own_journal(dir.path(), Arc::new(|_| true));
    let house = House::on(journal, agents(dir.path()), FaultInjection::default()).await;
    closes(&house).await;
    moves(&house, "flint", "other").await;
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.close().await;
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

/// Returns caps of ten dollars a day for all agents together.
fn caps() -> SharedCaps {
    SharedCaps { fleet: Caps { usd_per_day: 10.0, ..Caps::default() }, ..SharedCaps::default() }
}

/// A fleet that has used them up, and more: what spark's session on the account `old` came to, and how spark stands since.
async fn used_up(journal: &Journal, dir: &Path, category: Category, reason: PauseReason) {
    let now = herder::clock::now();
    let by = asked("test").audit.by;
    let write = |stream, entries| Write { stream, expected_rev: None, entries };
    let spec = |agent: &str, of: &str| AgentSpec { account: account(of), ..shell(agent, dir, "cat") };
    let usage = Usage { cost_usd: 12.0, ..Usage::default() };
    let outcome = Box::new(Outcome { usage, ..Outcome::new(category, "") });
    let session = SessionId(1);
    let (text, at) = ("count".to_owned(), now);
    let work =
        Work { id: WorkId(1), kind: WorkKind::Message, text, by: by.clone(), at, attempts: 0, card: None };
    let spark = vec![
        Event::Added { spec: Box::new(spec("spark", "old")), by: by.clone() },
        Event::SessionStarted { session, work: work.clone(), trial: false },
        Event::SessionEnded { session, outcome, survivors: Vec::new() },
        Event::Requeued { work: work.id },
        Event::Paused { reason },
    ];
    let flint = vec![
        Event::Added { spec: Box::new(spec("flint", "third")), by },
        Event::Paused { reason: PauseReason::Account(Category::Budget) },
    ];
    let limit =
        Warned { cap: Cap { window: Window::Day, unit: Unit::Usd }, at: day(now), limit: 10.0, percent: 100 };
    let blocked = |of: &str| FleetEvent::AccountBlocked {
        account: account(of),
        category: Category::Budget,
        agent: name("spark"),
    };
    let mut fleet = ["spark", "flint"].map(|agent| FleetEvent::AgentAdded { agent: name(agent) }).to_vec();
    fleet.extend([blocked("old"), blocked("third"), FleetEvent::CapNear { account: None, warned: limit }]);
    let writes = vec![
        write(Stream::Agent(name("spark")), spark.into_iter().map(Entry::Agent).collect()),
        write(Stream::Agent(name("flint")), flint.into_iter().map(Entry::Agent).collect()),
        write(Stream::Fleet, fleet.into_iter().map(Entry::Fleet).collect()),
    ];
    journal.commit(Batch { at: now, writes, ..Batch::default() }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_past_a_cap_of_all_agents_with_another_account_now_or_after_a_restart() {
    for restarted in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::default();
        let journal = journal_on(&memory, dir.path(), Arc::new(|_| true));
        used_up(&journal, dir.path(), Category::Interrupted, PauseReason::Account(Category::Budget)).await;
        if restarted {
            // It was given the other account, and herder was killed right then.
            let spec = AgentSpec { account: account("new"), ..shell("spark", dir.path(), "cat") };
            let edited = Event::Edited { spec: Box::new(spec), by: asked("test").audit.by };
            let entries = vec![Entry::Agent(edited)];
            let write = Write { stream: Stream::Agent(name("spark")), expected_rev: None, entries };
            let batch = Batch { at: herder::clock::now(), writes: vec![write], ..Batch::default() };
            journal.commit(batch).await.unwrap();
        }
        let house = House::limited(journal.clone(), Vec::new(), caps(), FaultInjection::default()).await;
        if !restarted {
            moves(&house, "spark", "new").await;
        }
        let new = account("new");
        comes("that it is closed as well", || fleet(&journal).blocked.contains_key(&new)).await;
        let owed = house.owed("test");
        // All inputs are processed once its supervisor has ended.
        house.close().await;
        assert_eq!(sessions(&journal, "spark"), 1, "restarted: {restarted}");
        let is_told = |body: &Body| matches!(body, Body::Notice(Notice::SharedCapReached { .. }));
        assert!(!owed.iter().any(|(_, body)| is_told(body)), "people know: {owed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_left_an_account_goes_on_when_that_is_open_with_all_others() {
    let dir = tempfile::tempdir().unwrap();
    let journal = own_journal(dir.path(), Arc::new(|_| true));
    used_up(&journal, dir.path(), Category::Budget, PauseReason::Failure(Category::Budget)).await;
    let house = House::limited(journal, Vec::new(), caps(), FaultInjection::default()).await;
    moves(&house, "spark", "new").await;
    house.control("flint", Control::Resume).await.unwrap();
    house.until("spark", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}
