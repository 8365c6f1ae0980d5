//! An account that one agent finds closed is closed for all of its agents, also when a supervisor panics just then.

use herder::core::event::PauseReason;
use herder::core::outcome::{Category, Outcome};
use herder::core::spec::Pattern;
use herder::journal::{Memory, Onlooker, Step};

use super::*;

/// The account refuses it while `refused` is there.
const BILLED: &str = "[ -e refused ] && { echo no such key >&2; exit 1; }; cat";

/// Returns two agents of one account: spark meets its refusal, flint is at work.
pub(super) fn agents(dir: &Path) -> Vec<AgentSpec> {
    std::fs::write(dir.join("refused"), "").unwrap();
    let patterns = vec![Pattern { matches: "no such key".to_owned(), category: Category::Auth }];
    vec![AgentSpec { patterns, ..shell("spark", dir, BILLED) }, shell("flint", dir, "sleep 300")]
}

/// Gives both something to do, and waits until both are paused for their account, which is said once.
pub(super) async fn closes(house: &House) {
    house.give("flint", "run").await.unwrap();
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.give("spark", "count the beans").await.unwrap();
    both_are_paused(house).await;
}

pub(super) async fn both_are_paused(house: &House) {
    let (met, told) = (PauseReason::Failure(Category::Auth), PauseReason::Account(Category::Auth));
    let [met, told] = [met, told].map(|reason| Phase::Paused { reason });
    house.until("spark", |view| view.agent.phase == met).await;
    let flint = house.until("flint", |view| view.agent.phase == told).await;
    assert_eq!((flint.agent.process, flint.agent.queue.len()), (None, 1), "its work is kept");
    assert_eq!(closed(house), [Target::Alerts]);
}

/// Returns the channels in which people were told that an account is closed, one per message.
pub(super) fn closed(house: &House) -> Vec<Target> {
    let alerts = house.owed("test").into_iter().filter(|(_, body)| {
        matches!(body, Body::Notice(Notice::AccountBlocked { category: Category::Auth, .. }))
    });
    alerts.map(|(to, _)| to).collect()
}

/// Makes the supervisor of `agent` panic over the first news of that kind.
fn panicking(agent: &'static str, news: fn(&Input) -> bool) -> (FaultInjection, Arc<AtomicBool>) {
    let armed = Arc::new(AtomicBool::new(true));
    let trigger = Arc::clone(&armed);
    let fault = FaultInjection::new(move |it, input| {
        let meant = it.as_str() == agent && news(input);
        assert!(!(meant && trigger.swap(false, Ordering::SeqCst)), "a fault");
    });
    (fault, armed)
}

/// Returns a journal of its own: processes are marked with its name, and other tests have some too.
pub(super) fn own_journal(dir: &Path, onlooker: Arc<Onlooker>) -> Journal {
    journal_on(&Memory::default(), dir, onlooker)
}

/// Returns the same on the data of an earlier herder.
pub(super) fn journal_on(memory: &Memory, dir: &Path, onlooker: Arc<Onlooker>) -> Journal {
    let own = dir.file_name().unwrap().to_str().unwrap();
    Journal::in_memory(memory, own, History::default(), onlooker).unwrap()
}

/// Returns whether this step stores the `resume` of an agent.
fn is_resumed(step: Step<'_>) -> bool {
    let Step::Committed(batch, _) = step else { return false };
    let mut entries = batch.writes.iter().flat_map(|write| &write.entries);
    entries.any(|entry| matches!(entry, Entry::Agent(Event::Resumed { .. })))
}

/// Returns the same agents, where flint is done as soon as the account works.
fn ready_agents(dir: &Path) -> Vec<AgentSpec> {
    let mut agents = agents(dir);
    agents[1].command = ["sh", "-c", "[ -e refused ] && sleep 300; cat"].map(str::to_owned).to_vec();
    agents
}

/// Waits until the account works again, and no agent waits for it.
async fn both_go_on(house: &House) {
    for agent in ["spark", "flint"] {
        house.until(agent, |view| idle(view) && view.agent.totals.successes == 1).await;
    }
    assert_eq!(house.journal.memos("open/").unwrap(), [], "it is done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_supervisor_panics_over_the_news_is_paused_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (fault, armed) = panicking("flint", |input| matches!(input, Input::AccountBlocked { .. }));
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_supervisor_panics_over_the_good_news_goes_on_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (fault, armed) = panicking("flint", |input| matches!(input, Input::AccountOpened { .. }));
    let house = House::open(dir.path(), agents(dir.path()), fault).await;
    closes(&house).await;
    std::fs::remove_file(dir.path().join("refused")).unwrap();
    house.control("spark", Control::Resume).await.unwrap();
    house.until("flint", |view| view.agent.totals.crashes == 1).await;
    assert!(!armed.load(Ordering::SeqCst));
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_stays_open_when_the_supervisor_of_whoever_had_closed_it_panics_over_that() {
    let dir = tempfile::tempdir().unwrap();
    let (fault, armed) = panicking("spark", |input| matches!(input, Input::AccountOpened { .. }));
    let house = House::open(dir.path(), agents(dir.path()), fault).await;
    closes(&house).await;
    std::fs::remove_file(dir.path().join("refused")).unwrap();
    house.control("flint", Control::Resume).await.unwrap();
    house.until("spark", |view| view.agent.totals.crashes == 1).await;
    assert!(!armed.load(Ordering::SeqCst));
    // The root has looked at what was rebuilt.
    house.fleet.add(shell("newcomer", dir.path(), "cat"), asked("agent add")).await.unwrap();
    assert_eq!(closed(&house), [Target::Alerts], "once");
    // It continues as well, after the agent that tries whether the account works.
    house.until("spark", |view| view.agent.phase == Phase::Idle).await;
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.close().await;
}

/// herder is killed when it is on disk that the account is open, and before any of its agents was told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_not_told_before_a_kill_that_its_account_is_open_goes_on_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let journal = own_journal(dir.path(), Arc::new(|_| true));
    let by = asked("test").audit.by;
    let opened_at = herder::clock::now();
    let closed_at = opened_at.before(Duration::from_secs(60));
    let account = AgentSpec::new(name("spark"), Runtime::Command, dir.path().to_owned()).account;
    let write = |stream, entries| Write { stream, expected_rev: None, entries };
    let mut writes = Vec::new();
    let mut fleet = Vec::new();
    // The first met the failure; the second was told of it; the third met it too, when it had another account
    // already.
    for (id, agent) in [(1, "spark"), (2, "flint"), (3, "newt")] {
        let spec = shell(agent, dir.path(), "cat");
        let (kind, text, by) = (WorkKind::Message, "count".to_owned(), by.clone());
        let work =
            Work { id: WorkId(id), kind, text, by: by.clone(), at: closed_at, attempts: 0, card: None };
        let mut events = vec![
            Event::Added { spec: Box::new(spec.clone()), by: by.clone() },
            Event::Queued { work: work.clone() },
        ];
        let mut reason = PauseReason::Failure(Category::Auth);
        match agent {
            "flint" => reason = PauseReason::Account(Category::Auth),
            "newt" => {
                let (session, moved) = (SessionId(1), AgentSpec { account: "other".into(), ..spec });
                let outcome = Box::new(Outcome::new(Category::Auth, "no such key"));
                events.extend([
                    Event::SessionStarted { session, work, trial: false },
                    Event::Edited { spec: Box::new(moved), by },
                    Event::SessionEnded { session, outcome, survivors: Vec::new() },
                    Event::Requeued { work: WorkId(id) },
                ]);
            }
            _ => {}
        }
        events.push(Event::Paused { reason });
        fleet.push(FleetEvent::AgentAdded { agent: name(agent) });
        writes.push(write(Stream::Agent(name(agent)), events.into_iter().map(Entry::Agent).collect()));
    }
    let category = Category::Auth;
    fleet.push(FleetEvent::AccountBlocked { account: account.clone(), category, agent: name("spark") });
    writes.push(write(Stream::Fleet, fleet.into_iter().map(Entry::Fleet).collect()));
    journal.commit(Batch { at: closed_at, writes, ..Batch::default() }).await.unwrap();
    let opened = Entry::Fleet(FleetEvent::AccountOpened { account, by });
    let writes = vec![write(Stream::Fleet, vec![opened])];
    journal.commit(Batch { at: opened_at, writes, ..Batch::default() }).await.unwrap();

    let house = House::on(journal, Vec::new(), FaultInjection::default()).await;
    assert_eq!(closed(&house), [], "nothing has failed since it was opened");
    for agent in ["spark", "flint", "newt"] {
        house.until(agent, |view| idle(view) && view.agent.totals.successes == 1).await;
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_opened_by_whoever_has_left_it_with_the_failure_that_closed_it() {
    let dir = tempfile::tempdir().unwrap();
    let met =
        "while [ ! -e go ]; do sleep 0.05; done; [ -e refused ] && { echo no such key >&2; exit 1; }; cat";
    let mut agents = agents(dir.path());
    agents[0].command = ["sh", "-c", met].map(str::to_owned).to_vec();
    let spark = AgentSpec { account: "other".into(), ..agents[0].clone() };
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    for agent in ["spark", "flint"] {
        house.give(agent, "count the beans").await.unwrap();
        house.until(agent, |view| view.agent.process.is_some()).await;
    }
    house.control("spark", Control::Edit { spec: Box::new(spark), base: None }).await.unwrap();
    std::fs::write(dir.path().join("go"), "").unwrap();
    both_are_paused(&house).await;
    std::fs::remove_file(dir.path().join("refused")).unwrap();
    // As people were told to do.
    house.control("spark", Control::Resume).await.unwrap();
    house.until("flint", |view| view.agent.process.is_some()).await;
    house.until("spark", |view| idle(view) && view.agent.totals.successes == 1).await;
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
    let journal = own_journal(dir.path(), Arc::new(onlooker));
    let house = House::on(journal, agents(dir.path()), FaultInjection::default()).await;
    closes(&house).await;
    assert!(!armed.load(Ordering::SeqCst), "the fault was never reached");
    let panicked = |event: &Event| matches!(event, Event::SupervisorPanicked { .. });
    assert!(house.events("spark").iter().any(panicked));
    house.close().await;
}

/// herder is killed when it is on disk that spark resumes, and before its account is open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resume_that_was_on_disk_before_a_kill_opens_the_account_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let (memory, killed) = (Memory::default(), Arc::new(AtomicBool::new(false)));
    let (kills, mut over) = tokio::sync::mpsc::unbounded_channel();
    let onlooker = move |step: Step<'_>| {
        if is_resumed(step) && !killed.swap(true, Ordering::SeqCst) {
            kills.send(()).unwrap();
        }
        !killed.load(Ordering::SeqCst)
    };
    let journal = journal_on(&memory, dir.path(), Arc::new(onlooker));
    let agents = ready_agents(dir.path());
    let house = House::on(journal, agents.clone(), FaultInjection::default()).await;
    closes(&house).await;
    std::fs::remove_file(dir.path().join("refused")).unwrap();
    tokio::select! {
        answer = house.control("spark", Control::Resume) => panic!("nobody answers any more: {answer:?}"),
        killed = over.recv() => killed.unwrap(),
    }

    let journal = journal_on(&memory, dir.path(), Arc::new(|_| true));
    let house = House::on(journal, agents, FaultInjection::default()).await;
    both_go_on(&house).await;
    assert_eq!(closed(&house), [Target::Alerts], "once");
    house.close().await;
}

/// spark's `resume` is on disk, and its supervisor panics before it passes that on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resume_opens_the_account_also_when_the_supervisor_panics_before_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let armed = Arc::new(AtomicBool::new(true));
    let trigger = Arc::clone(&armed);
    let onlooker = move |step: Step<'_>| {
        assert!(!(is_resumed(step) && trigger.swap(false, Ordering::SeqCst)), "a fault");
        true
    };
    let journal = own_journal(dir.path(), Arc::new(onlooker));
    let house = House::on(journal, ready_agents(dir.path()), FaultInjection::default()).await;
    closes(&house).await;
    std::fs::remove_file(dir.path().join("refused")).unwrap();
    let lost = house.control("spark", Control::Resume).await;
    assert_eq!(lost, Err(Refusal::Fault { agent: name("spark") }));
    assert!(!armed.load(Ordering::SeqCst), "the fault was never reached");
    both_go_on(&house).await;
    assert_eq!(closed(&house), [Target::Alerts], "once");
    house.close().await;
}
