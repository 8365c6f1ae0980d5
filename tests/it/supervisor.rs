//! Supervisors with a real journal and real child processes: isolation, restarts, stop-all, and the processes that
//! survive.

mod accounts;
mod asked;
mod board;
mod hung;
mod left_account;
mod links;
mod stopping;
pub(crate) mod unreadable;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use herder::config::History;
use herder::core::agent::Phase;
use herder::core::event::{Event, StopReason, WaitReason};
use herder::core::hook::HookEvent;
use herder::core::id::{AgentName, NetworkName, SessionId, WorkId};
use herder::core::input::{Control, Input, Signal};
use herder::core::notice::{Notice, Refusal};
use herder::core::policy::Policy;
use herder::core::post::{Body, Target};
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::usage::SharedCaps;
use herder::core::work::{Actor, Work, WorkKind};
use herder::journal::{self, AuditEntry, Batch, Entry, FleetEvent, Journal, Stream, Write};
use herder::runtime::ProcessTrees;
use herder::runtime::process::look;
use herder::supervisor::{self, AnswerTo, Asked, FaultInjection, Fleet, Listener, Settings, View};

/// Long enough for a loaded machine; reached only when the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A webhook that receives failures.
const HOOK: &str = "webhook:it";

struct House {
    journal: Journal,
    fleet: Fleet,
}

impl House {
    async fn open(dir: &Path, agents: Vec<AgentSpec>, fault: FaultInjection) -> Self {
        let settings =
            journal::Settings { ballast: 0, ..journal::Settings::new(dir.join("data"), History::default()) };
        let (journal, _) =
            tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
        Self::on(journal, agents, fault).await
    }

    async fn on(journal: Journal, agents: Vec<AgentSpec>, fault: FaultInjection) -> Self {
        Self::limited(journal, agents, SharedCaps::default(), fault).await
    }

    async fn limited(
        journal: Journal,
        agents: Vec<AgentSpec>,
        caps: SharedCaps,
        fault: FaultInjection,
    ) -> Self {
        let fleet = supervisor::start(Settings {
            redactor: herder::redact::Redactor::new(&[]),
            journal: journal.clone(),
            policy: Policy { stop_grace: Duration::from_secs(1), caps, ..Policy::default() },
            networks: vec![NetworkName::from("test")],
            listeners: vec![Listener { name: HOOK.into(), events: [HookEvent::Error].into() }],
            trees: ProcessTrees::new().unwrap(),
            agents,
            withheld: BTreeSet::new(),
            tools: None,
            runner: None,
            elsewhere: None,
            evaluator: None,
            attempts: 5,
            fault,
        })
        .await
        .unwrap();
        Self { journal, fleet }
    }

    async fn close(self) {
        assert_eq!(self.fleet.drain(PATIENCE).await, 0, "processes are left");
        self.journal.close().await;
    }

    /// Leaves something in the journal.
    async fn close_with(self, batch: Batch) {
        assert_eq!(self.fleet.drain(PATIENCE).await, 0, "processes are left");
        self.journal.commit(batch).await.unwrap();
        self.journal.close().await;
    }

    async fn until(&self, agent: &str, condition: impl FnMut(&View) -> bool) -> View {
        let name = name(agent);
        let waiting = self.fleet.wait_for(&name, condition);
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(view) => view.expect("the agent exists"),
            Err(_) => panic!("{agent} never got there: {:?}", self.fleet.view(&name)),
        }
    }

    async fn control(&self, agent: &str, control: Control) -> Result<Notice, Refusal> {
        self.fleet.control(&name(agent), control, asked("test")).await
    }

    async fn give(&self, agent: &str, text: &str) -> Result<Notice, Refusal> {
        self.fleet.give(&name(agent), WorkKind::Message, text.to_owned(), asked("work")).await
    }

    /// Returns the pending posts of a network, with their targets.
    fn owed(&self, network: &str) -> Vec<(Target, Body)> {
        let posts = self.journal.undelivered(&NetworkName::from(network)).unwrap();
        posts.into_iter().map(|post| (post.to, post.body)).collect()
    }

    fn events(&self, agent: &str) -> Vec<Event> {
        let recorded = self.journal.history(&Stream::Agent(name(agent)), 10_000, None).unwrap();
        let mut events: Vec<_> = recorded
            .into_iter()
            .map(|recorded| match recorded.entry {
                Entry::Agent(event) => (recorded.seq, event),
                Entry::Fleet(_) | Entry::Audit(_) => panic!("another stream's entry"),
            })
            .collect();
        events.sort_by_key(|(seq, _)| *seq);
        events.into_iter().map(|(_, event)| event).collect()
    }
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn asked(verb: &str) -> Asked {
    let by = Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None };
    let audit =
        AuditEntry { by, place: "test".to_owned(), agent: None, verb: verb.to_owned(), text: String::new() };
    Asked { audit, answer: None, message: None }
}

fn shell(agent: &str, dir: &Path, script: &str) -> AgentSpec {
    let mut spec = AgentSpec::new(name(agent), Runtime::Command, dir.to_owned());
    spec.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    spec
}

fn waiting(view: &View) -> bool {
    matches!(view.agent.phase, Phase::Waiting { reason: WaitReason::Backoff(_), .. })
}

fn idle(view: &View) -> bool {
    view.agent.phase == Phase::Idle && view.agent.queue.is_empty()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_one_supervisor_leaves_its_siblings_alone() {
    let dir = tempfile::tempdir().unwrap();
    let armed = Arc::new(AtomicBool::new(true));
    let trigger = Arc::clone(&armed);
    let fault = FaultInjection::new(move |agent, input| {
        let pause = matches!(input, Input::Control { control: Control::Pause { .. }, .. });
        assert!(!(agent.as_str() == "fragile" && pause && trigger.swap(false, Ordering::SeqCst)), "a fault");
    });
    let agents = vec![
        shell("fragile", dir.path(), "cat"),
        shell("crasher", dir.path(), "exit 3"),
        shell("worker", dir.path(), "sleep 300"),
    ];
    let house = House::open(dir.path(), agents, fault).await;
    // Two crashes: the sibling has counters and a countdown that could be lost.
    house.give("crasher", "try").await.unwrap();
    let sibling = house.until("crasher", |view| waiting(view) && view.agent.crashes >= 2).await;
    house.give("worker", "run").await.unwrap();
    let running = house.until("worker", |view| view.agent.process.is_some()).await;

    let lost = house.control("fragile", Control::Pause { now: false }).await;
    assert_eq!(lost, Err(Refusal::Fault { agent: name("fragile") }), "the request at hand is answered");
    assert!(!armed.load(Ordering::SeqCst), "the fault was never reached");

    house.until("fragile", |view| view.agent.totals.crashes == 1).await;
    assert!(house.events("fragile").iter().any(|event| matches!(event, Event::SupervisorPanicked { .. })));
    let after = house.fleet.view(&name("crasher")).unwrap();
    assert_eq!(after.agent.phase, sibling.agent.phase, "a sibling's countdown was touched");
    assert_eq!(after.agent.crashes, sibling.agent.crashes);
    let after = house.fleet.view(&name("worker")).unwrap();
    assert_eq!(after.agent.process, running.agent.process, "a sibling's process was touched");
    // The rebuilt supervisor works.
    house.control("fragile", Control::Resume).await.ok();
    house.give("fragile", "hello").await.unwrap();
    house.until("fragile", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_over_one_request_takes_nothing_with_it_that_was_decided_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (ending, ended) = std::sync::mpsc::channel();
    let (go, held) = std::sync::mpsc::channel::<()>();
    let (held, armed) = (Mutex::new(held), AtomicBool::new(true));
    let fault = FaultInjection::new(move |_, input| {
        let over = matches!(input, Input::Driver { signal: Signal::Ended { .. }, .. });
        if over && armed.swap(false, Ordering::SeqCst) {
            ending.send(()).unwrap();
            held.lock().unwrap().recv().unwrap();
        }
        let pause = matches!(input, Input::Control { control: Control::Pause { .. }, .. });
        assert!(!pause, "a fault");
    });
    let ran = dir.path().join("ran");
    let script = format!("text=$(tail -n 1); [ -n \"$text\" ] && echo \"$text\" >>{}", ran.display());
    let house = House::open(dir.path(), vec![shell("worker", dir.path(), &script)], fault).await;
    house.give("worker", "once").await.unwrap();
    tokio::task::spawn_blocking(move || ended.recv_timeout(PATIENCE)).await.unwrap().unwrap();
    // Both are in the mailbox before the end is decided, and are decided in one go with it.
    let worker = name("worker");
    let mut queued =
        Box::pin(house.fleet.give(&worker, WorkKind::Message, "twice".to_owned(), asked("work")));
    let mut pause = Box::pin(house.control("worker", Control::Pause { now: false }));
    assert!((&mut queued).now_or_never().is_none() && (&mut pause).now_or_never().is_none());
    go.send(()).unwrap();
    queued.await.expect("what was decided before the panic is answered");
    assert_eq!(
        pause.await,
        Err(Refusal::Fault { agent: name("worker") }),
        "the request at hand alone is lost"
    );
    let view = house.until("worker", |view| idle(view) && view.agent.totals.successes == 2).await;
    assert!(house.events("worker").iter().any(|event| matches!(event, Event::SupervisorPanicked { .. })));
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "once\ntwice\n", "{:?}", view.agent.totals);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_panics_again_and_again_is_given_up_and_everybody_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let fault = FaultInjection::new(|agent, input| {
        let pause = matches!(input, Input::Control { control: Control::Pause { .. }, .. });
        let again = matches!(input, Input::Panicked { .. });
        assert!(!(agent.as_str() == "fragile" && (pause || again)), "a fault");
    });
    let house = House::open(dir.path(), vec![shell("fragile", dir.path(), "cat")], fault).await;
    let pause = || house.control("fragile", Control::Pause { now: false });
    assert_eq!(pause().await, Err(Refusal::Fault { agent: name("fragile") }));
    // This one is answered only when requests are no longer taken; by then the root has been told, before the next
    // request.
    assert!(pause().await.is_err());
    house.fleet.add(shell("newcomer", dir.path(), "cat"), asked("agent add")).await.unwrap();
    let told = |network: &str| {
        let posts = house.journal.undelivered(&NetworkName::from(network)).unwrap();
        let gave_up = |body: &Body| match body {
            Body::Notice(notice) => matches!(notice, Notice::SupervisorGaveUp { .. }),
            Body::Hook(hook) => {
                hook.event == HookEvent::Error && matches!(hook.notice, Notice::SupervisorGaveUp { .. })
            }
            _ => false,
        };
        posts.into_iter().filter(|post| gave_up(&post.body)).map(|post| post.to).collect::<Vec<_>>()
    };
    assert_eq!(told("test"), [Target::Agent(name("fragile")), Target::Alerts]);
    assert_eq!(told(HOOK).len(), 1, "programs are told once");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_the_root_supervisor_costs_what_it_was_told_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let armed = Arc::new(AtomicBool::new(false));
    let trigger = Arc::clone(&armed);
    let fault = FaultInjection::of_root(move || assert!(!trigger.swap(false, Ordering::SeqCst), "a fault"));
    let agents = vec![shell("worker", dir.path(), "sleep 300"), shell("quick", dir.path(), "cat")];
    let house = House::open(dir.path(), agents, fault).await;
    house.give("worker", "run").await.unwrap();
    let running = house.until("worker", |view| view.agent.process.is_some()).await;

    armed.store(true, Ordering::SeqCst);
    let newcomer = || shell("newcomer", dir.path(), "cat");
    let lost = house.fleet.add(newcomer(), asked("agent add")).await;
    assert_eq!(lost, Err(Refusal::Fault { agent: name("newcomer") }), "the request at hand is answered");
    assert!(!armed.load(Ordering::SeqCst), "the fault was never reached");
    assert!(house.fleet.view(&name("newcomer")).is_none(), "nothing is half done");

    house.give("quick", "hello").await.unwrap();
    house.until("quick", |view| idle(view) && view.agent.totals.successes == 1).await;
    let after = house.fleet.view(&name("worker")).unwrap();
    assert_eq!(after.agent.process, running.agent.process, "a process was touched");
    // The root works on, from what it had.
    house.fleet.add(newcomer(), asked("agent add")).await.unwrap();
    house.give("newcomer", "hello").await.unwrap();
    house.until("newcomer", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paused_stays_paused_and_countdowns_go_on_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let agents = || vec![shell("calm", dir.path(), "cat"), shell("crasher", dir.path(), "exit 3")];
    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    house.control("calm", Control::Pause { now: false }).await.unwrap();
    house.give("calm", "later").await.unwrap();
    house.give("crasher", "try").await.unwrap();
    let before = house.until("crasher", |view| waiting(view) && view.agent.crashes >= 2).await;
    let calm = house.fleet.view(&name("calm")).unwrap();
    house.close().await;

    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    let after = house.fleet.view(&name("calm")).unwrap();
    assert_eq!(after.agent.phase, calm.agent.phase, "paused must stay paused");
    assert_eq!(after.agent.queue, calm.agent.queue, "queued work is kept");
    let crasher = house.fleet.view(&name("crasher")).unwrap();
    assert!(crasher.agent.crashes >= before.agent.crashes, "the counters were lost");
    let crashes = crasher.agent.crashes;
    house.until("crasher", |view| view.agent.crashes > crashes).await;
    house.control("calm", Control::Resume).await.unwrap();
    house.until("calm", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_all_answers_with_no_process_left() {
    let dir = tempfile::tempdir().unwrap();
    let agents =
        (0..5).map(|n| shell(&format!("agent-{n}"), dir.path(), "setsid sleep 300 & sleep 300")).collect();
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    for n in 0..5 {
        house.give(&format!("agent-{n}"), "run").await.unwrap();
    }
    for n in 0..5 {
        house.until(&format!("agent-{n}"), |view| view.agent.process.is_some()).await;
    }
    let answer = house.fleet.stop_all(asked("stop-all")).await.unwrap().done().await.unwrap();
    assert_eq!(answer, Notice::StoppedAll { agents: 5, processes: 0 });
    for n in 0..5 {
        let view = house.fleet.view(&name(&format!("agent-{n}"))).unwrap();
        assert!(matches!(view.agent.phase, Phase::Paused { .. }), "{:?}", view.agent.phase);
        assert_eq!(view.agent.queue.len(), 1, "the work is kept");
    }
    house.close().await;
}

#[tokio::test]
async fn whoever_is_let_on_while_others_are_still_stopping_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    // One takes its time: it goes when its grace is over.
    let slow = "trap '' TERM; while :; do sleep 0.1; done";
    let agents = vec![shell("slow", dir.path(), slow), shell("flint", dir.path(), "sleep 300")];
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    for agent in ["slow", "flint"] {
        house.give(agent, "run").await.unwrap();
        house.until(agent, |view| view.agent.process.is_some()).await;
    }
    let stopping = house.fleet.stop_all(asked("stop-all")).await.unwrap();
    house.until("flint", |view| view.agent.session().is_none()).await;
    house.control("flint", Control::Resume).await.unwrap();
    let view = house.until("flint", |view| view.agent.process.is_some()).await;
    let again = view.agent.process;
    let answer = stopping.done().await.unwrap();
    assert_eq!(answer, Notice::StoppedAll { agents: 2, processes: 0 });
    let view = house.fleet.view(&name("flint")).unwrap();
    assert_eq!(view.agent.process, again, "it works on: {:?}", view.agent.phase);
    let pid = again.expect("it works").pid;
    assert!(std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists());
    house.close().await;
}

/// Prepares the state of an earlier herder that was killed: a session that was asked to stop, and its processes.
async fn killed_while_stopping(dir: &Path, script: &str) -> tokio::process::Child {
    let settings =
        journal::Settings { ballast: 0, ..journal::Settings::new(dir.join("data"), History::default()) };
    let (journal, _) = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
    let mut left = tokio::process::Command::new("sh");
    left.args(["-c", script]).env("HERDER_SESSION", format!("{}/spark/1", journal.id()));
    let mut left = left.stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut told = String::new();
    tokio::io::AsyncBufReadExt::read_line(
        &mut tokio::io::BufReader::new(left.stdout.as_mut().unwrap()),
        &mut told,
    )
    .await
    .unwrap();
    let process = look(left.id().unwrap()).unwrap().identity;
    let (by, session) = (asked("test").audit.by, SessionId(1));
    let work = Work {
        id: WorkId(1),
        kind: WorkKind::Message,
        text: "run".to_owned(),
        by: by.clone(),
        at: herder::clock::now(),
        attempts: 0,
        card: None,
    };
    let events = vec![
        Event::Added { spec: Box::new(shell("spark", dir, script)), by: by.clone() },
        Event::Queued { work: work.clone() },
        Event::SessionStarted { session, work, trial: false },
        Event::ProcessStarted { session, pid: process.pid, started: process.started },
        Event::StopRequested { session, reason: StopReason::Pause, by: Some(by) },
    ];
    let write = |stream, entries| Write { stream, expected_rev: None, entries };
    let writes = vec![
        write(Stream::Fleet, vec![Entry::Fleet(FleetEvent::AgentAdded { agent: name("spark") })]),
        write(Stream::Agent(name("spark")), events.into_iter().map(Entry::Agent).collect()),
    ];
    let batch = Batch { at: herder::clock::now(), writes, ..Batch::default() };
    journal.commit(batch).await.unwrap();
    journal.close().await;
    left
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_a_kill_of_herder_cut_short_is_over_and_said_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut left = killed_while_stopping(dir.path(), "sleep 300 & echo up; wait").await;
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    // herder may have waited for it, as it does for what it adopts.
    drop(left.wait().await);
    let view = house.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!((view.agent.queue.len(), view.agent.totals.failures), (1, 0), "the work is kept");
    let owed = house.journal.undelivered(&NetworkName::from("test")).unwrap();
    let said: Vec<String> = owed
        .into_iter()
        .filter_map(|post| match post.body {
            Body::Notice(Notice::Ended { ended, left, .. }) => Some(format!("ended {ended}, {left} left")),
            Body::Notice(Notice::Paused { .. }) => Some("paused".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["ended 2, 0 left", "paused"]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_given_at_once_is_all_accepted_and_done_in_order() {
    const WORKS: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    let agents = vec![shell("steady", dir.path(), "cat >> done")];
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    let given = (0..WORKS).map(|n| house.give_owned("steady", n.to_string()));
    for answer in futures_util::future::join_all(given).await {
        answer.unwrap();
    }
    house.until("steady", |view| idle(view) && view.agent.totals.successes == WORKS as u64).await;
    let done = std::fs::read_to_string(dir.path().join("done")).unwrap();
    let expected: String = (0..WORKS).map(|n| format!("{n}\n")).collect();
    assert_eq!(done, expected);
    house.close().await;
}

impl House {
    async fn give_owned(&self, agent: &str, text: String) -> Result<Notice, Refusal> {
        self.give(agent, &text).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_agent_ends_its_session_and_stays_removed() {
    let dir = tempfile::tempdir().unwrap();
    let agents = || vec![shell("brief", dir.path(), "sleep 300")];
    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    house.give("brief", "run").await.unwrap();
    house.until("brief", |view| view.agent.process.is_some()).await;
    house.fleet.remove(&name("brief"), asked("agent remove")).await.unwrap();
    // The view's sender goes with the supervisor: waiting for the impossible ends when it is retired.
    let brief = name("brief");
    let gone = house.fleet.wait_for(&brief, |_| false);
    assert!(tokio::time::timeout(PATIENCE, gone).await.unwrap().is_none());
    house.close().await;
    let house = House::open(dir.path(), agents(), FaultInjection::default()).await;
    assert!(house.fleet.agents().is_empty(), "the configuration brought a removed agent back");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_by_command_holds_until_the_file_says_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let spec = |model: &str| AgentSpec { model: model.to_owned(), ..shell("brief", dir.path(), "true") };
    let starts = async |file: &str, command: Option<&str>| {
        let house = House::open(dir.path(), vec![spec(file)], FaultInjection::default()).await;
        if let Some(model) = command {
            house.control("brief", Control::Edit { spec: Box::new(spec(model)), base: None }).await.unwrap();
        }
        let view = house.until("brief", |_| true).await;
        house.close().await;
        view.agent.spec.as_ref().unwrap().model.clone()
    };
    assert_eq!(starts("of the file", Some("of a person")).await, "of a person");
    assert_eq!(starts("of the file", None).await, "of a person", "the file did not change");
    assert_eq!(starts("changed", None).await, "changed", "the file has the last word");
    assert_eq!(starts("changed", Some("again")).await, "again");
    assert_eq!(starts("changed", None).await, "again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_and_orderly_ends_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
        house.close().await;
    }
    let settings = journal::Settings {
        ballast: 0,
        ..journal::Settings::new(dir.path().join("data"), History::default())
    };
    let (journal, opening) =
        tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
    let history = journal.history(&Stream::Fleet, 10, None).unwrap();
    let started = |n: usize| matches!(history[n].entry, Entry::Fleet(FleetEvent::Started { .. }));
    let stopped = |n: usize| matches!(history[n].entry, Entry::Fleet(FleetEvent::Stopped));
    assert!(history.len() == 4 && started(0) && stopped(1) && started(2) && stopped(3), "{history:?}");
    assert_eq!(opening.last_commit, Some(history[3].at), "herder is away since it ended");
}
