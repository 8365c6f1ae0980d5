//! A bot's connection to a runner in this process, with real children: what happens when it is cut anywhere, when the bot
//! is gone and another follows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use herder::core::id::{SessionId, WorkId};
use herder::core::input::Signal;
use herder::core::outcome::Category;
use herder::redact::Redactor;
use herder::runner::host::Host;
use herder::runner::link::{Bot, Link, LinkState};
use herder::runner::wire::{HelloRefusal, SessionKey, Standing};
use herder::runner::{Machine, Setup};
use herder::runtime::{Launch, Order, ProcessTrees, Report};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Hearing, PATIENCE, bot, journal, launch, of};

/// A runner in this process, which ends with the test.
pub(super) struct Runner {
    host: Host,
    folder: tempfile::TempDir,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl Runner {
    pub(super) fn start() -> Self {
        Self::start_for(Some(journal))
    }

    /// Starts a runner for the bot of this journal; without one, for that of the first bot that connects.
    pub(super) fn start_for(journal: Option<fn(&Path) -> String>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let machine = Machine::new(Setup {
            data_dir: folder.path().to_owned(),
            trees: ProcessTrees::new().expect("this process can adopt"),
            redactor: Redactor::default(),
            withheld: BTreeSet::new(),
            tools: None,
        });
        let journal = journal.map(|journal| journal(folder.path()));
        let host = Host::new(machine, journal, None, None).expect("there is randomness");
        let runner = Self { host, folder, shutdown: CancellationToken::new(), tasks: TaskTracker::new() };
        let listener = UnixListener::bind(runner.socket()).expect("a free path");
        let (host, shutdown) = (runner.host.clone(), runner.shutdown.clone());
        runner.tasks.spawn(async move { host.serve(listener, shutdown, Duration::ZERO).await });
        runner
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("runner.sock")
    }

    pub(super) fn sessions(&self) -> Vec<Standing> {
        self.host.sessions()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn link(&self, epoch: u64) -> Link {
        Link::to(self.socket(), bot(self.folder.path(), epoch))
    }

    fn launch(&self, script: &str) -> Launch {
        launch(self.folder.path(), script)
    }

    pub(super) async fn end(self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

pub(super) async fn forgotten(runner: &Runner) {
    let gone = async {
        while !runner.sessions().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("what is heard is forgotten");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_on_a_runner_is_one_like_any_other_and_forgotten_when_it_is_heard() {
    let runner = Runner::start();
    let link = runner.link(1);
    let driver = link.launch(runner.launch("echo line 1; cat >/dev/null; echo line 2; exit 3"));
    let mut hearing = Hearing::new(link.clone(), driver, 0);
    hearing.until_it_ends().await;
    hearing.assert_counted(1, 2);
    let outcome = hearing.outcome.expect("it has ended");
    assert_eq!(outcome.exit, Some(herder::core::outcome::Exit::Code(3)), "{outcome:?}");
    forgotten(&runner).await;
    link.close().await;
    runner.end().await;
}

/// Passes bytes on and cuts each connection after so many from the runner, each time at another place.
async fn cutter(from: UnixListener, to: PathBuf, cuts: Arc<AtomicUsize>) {
    let mut next = 1;
    loop {
        let (bot, _) = from.accept().await.expect("it listens");
        let runner = UnixStream::connect(&to).await.expect("the runner listens");
        let (mut bot_reader, mut bot_writer) = bot.into_split();
        let (runner_reader, mut runner_writer) = runner.into_split();
        // Every length of the first bytes, then ever longer.
        next += 1 + next / 20;
        let mut limited = runner_reader.take(next);
        tokio::select! {
            _ = copy(&mut bot_reader, &mut runner_writer) => {}
            _ = copy(&mut limited, &mut bot_writer) => {}
        }
        cuts.fetch_add(1, Ordering::Relaxed);
        let _ = bot_writer.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_cut_in_the_middle_of_messages_loses_and_doubles_nothing() {
    let runner = Runner::start();
    let through = runner.folder.path().join("through.sock");
    let cuts = Arc::<AtomicUsize>::default();
    let listener = UnixListener::bind(&through).expect("a free path");
    let cutting = tokio::spawn(cutter(listener, runner.socket(), Arc::clone(&cuts)));
    let link = Link::to(through, bot(runner.folder.path(), 1));
    // Each line waits for the one before to be read, so that there is much to cut.
    let script = "cat >/dev/null; for i in $(seq 1 40); do echo line $i; sleep 0.05; done";
    let mut hearing = Hearing::new(link.clone(), link.launch(runner.launch(script)), 0);
    hearing.until_it_ends().await;
    hearing.assert_counted(1, 40);
    assert_eq!(hearing.outcome.as_ref().map(|outcome| outcome.category), Some(Category::Success));
    assert!(cuts.load(Ordering::Relaxed) > 10, "{cuts:?} cuts");
    forgotten(&runner).await;
    cutting.abort();
    link.close().await;
    runner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_follows_goes_on_with_the_session_after_what_was_decided() {
    let runner = Runner::start();
    let first = runner.link(1);
    let script = "cat >/dev/null; for i in 1 2 3; do echo line $i; done; until [ -e go ]; do sleep 0.01; done; \
                  for i in 4 5 6; do echo line $i; done";
    let mut hearing = Hearing::new(first.clone(), first.launch(runner.launch(script)), 0);
    hearing.until("line 3").await;
    let decided = hearing.decided;
    // It is gone: orders that are dropped with it stop nothing.
    first.close().await;
    drop(hearing);
    std::fs::write(runner.folder.path().join("go"), "").expect("written");
    let second = runner.link(2);
    let mut state = second.state();
    let connected = state.wait_for(|state| matches!(state, LinkState::Connected(_)));
    let there = tokio::time::timeout(PATIENCE, connected).await.expect("it connects").expect("it is kept");
    let LinkState::Connected(sessions) = &*there else { panic!("{there:?}") };
    assert_eq!(sessions.iter().map(|standing| &standing.of).collect::<Vec<_>>(), [&of()]);
    drop(there);
    let mut hearing = Hearing::new(second.clone(), second.adopt(of(), decided), decided);
    hearing.until_it_ends().await;
    hearing.assert_counted(4, 6);
    assert_eq!(hearing.outcome.as_ref().map(|outcome| outcome.category), Some(Category::Success));
    forgotten(&runner).await;
    second.close().await;
    runner.end().await;
}

/// Orders are taken once by what they name, however often they arrive; those to a session that is gone reach nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_reaches_a_session_of_a_bot_that_is_gone_and_other_orders_do_no_harm() {
    let runner = Runner::start();
    let first = runner.link(1);
    let mut hearing =
        Hearing::new(first.clone(), first.launch(runner.launch("cat >/dev/null; echo line 1; sleep 300")), 0);
    hearing.until("line 1").await;
    let decided = hearing.decided;
    first.close().await;
    drop(hearing);
    let second = runner.link(2);
    let mut hearing = Hearing::new(second.clone(), second.adopt(of(), decided), decided);
    for _ in 0..2 {
        let steer = Order::Steer { work: WorkId(4), text: "no".to_owned(), files: Vec::new() };
        hearing.driver.orders.send(steer).await.expect("the link listens");
        hearing.driver.orders.send(Order::Go).await.expect("the link listens");
    }
    hearing.driver.orders.send(Order::Stop).await.expect("the link listens");
    hearing.until_it_ends().await;
    let outcome = hearing.outcome.as_ref().expect("it has ended");
    assert_eq!(outcome.category, Category::Interrupted, "{outcome:?}");
    forgotten(&runner).await;
    second.close().await;
    runner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_comes_back_as_another_one_has_lost_its_sessions() {
    let runner = Runner::start();
    let link = runner.link(1);
    let mut hearing =
        Hearing::new(link.clone(), link.launch(runner.launch("cat >/dev/null; echo line 1; sleep 300")), 0);
    hearing.until("line 1").await;
    let socket = runner.socket();
    let kept = runner.folder.path().join("kept.sock");
    // The first one ends without a word to its bot, as if it were killed.
    std::fs::rename(&socket, &kept).expect("renamed");
    let Runner { host, folder, shutdown, tasks } = runner;
    shutdown.cancel();
    tasks.close();
    tasks.wait().await;
    drop(host);
    let machine = Machine::new(Setup {
        data_dir: folder.path().to_owned(),
        trees: ProcessTrees::new().expect("this process can adopt"),
        redactor: Redactor::default(),
        withheld: BTreeSet::new(),
        tools: None,
    });
    let host = Host::new(machine, Some(journal(folder.path())), None, None).expect("there is randomness");
    let runner = Runner { host, folder, shutdown: CancellationToken::new(), tasks: TaskTracker::new() };
    let listener = UnixListener::bind(&socket).expect("a free path");
    let (serving, shutdown) = (runner.host.clone(), runner.shutdown.clone());
    runner.tasks.spawn(async move { serving.serve(listener, shutdown, Duration::ZERO).await });
    hearing.until_it_ends().await;
    let outcome = hearing.outcome.as_ref().expect("it has ended");
    assert_eq!(outcome.category, Category::Interrupted, "{outcome:?}");
    // The agent's next session is started by the same bot.
    let mut launch = runner.launch("cat >/dev/null; echo line 1");
    launch.session = SessionId(2);
    let mut driver = link.launch(launch);
    let spawned = tokio::time::timeout(PATIENCE, driver.reports.recv()).await.expect("in time");
    assert!(matches!(spawned, Some(Report::Signal(Signal::Spawned { .. }))), "{spawned:?}");
    link.close().await;
    runner.end().await;
}

async fn refused(runner: &Runner, bot: Bot) -> HelloRefusal {
    let link = Link::to(runner.socket(), bot);
    let mut state = link.state();
    let refused = state.wait_for(|state| matches!(state, LinkState::Refused(_)));
    let refused =
        tokio::time::timeout(PATIENCE, refused).await.expect("it answers").expect("it is kept").clone();
    link.close().await;
    match refused {
        LinkState::Refused(refusal) => refusal,
        LinkState::Away | LinkState::Connected(_) => panic!("{refused:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_of_another_journal_or_of_an_earlier_term_is_refused() {
    let runner = Runner::start();
    let link = runner.link(7);
    let mut state = link.state();
    let connected = state.wait_for(|state| matches!(state, LinkState::Connected(_)));
    drop(tokio::time::timeout(PATIENCE, connected).await.expect("it connects").expect("it is kept"));
    assert_eq!(refused(&runner, bot(runner.folder.path(), 6)).await, HelloRefusal::Epoch { highest: 7 });
    let other = Bot { journal: "another".to_owned(), epoch: 9 };
    assert_eq!(refused(&runner, other).await, HelloRefusal::Journal);
    link.close().await;
    runner.end().await;
}

/// Agents run as the same user as the runner: the socket's mode does not keep them out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_speak_with_the_runner_it_runs_on() {
    let runner = Runner::start();
    let link = runner.link(1);
    let script = r#"cat >/dev/null; exec python3 - <<'END'
import json, socket, struct
peer = socket.socket(socket.AF_UNIX)
peer.connect("runner.sock")
hello = json.dumps(dict(v=1, epoch=99, body=dict(hello=dict(journal="JOURNAL", oldest=1, newest=1)))).encode()
try:
    peer.sendall(struct.pack(">I", len(hello)) + hello)
    answer = peer.recv(100)
except OSError:
    answer = b""
print("line", len(answer))
END"#;
    let script = script.replace("JOURNAL", &journal(runner.folder.path()));
    let mut hearing = Hearing::new(link.clone(), link.launch(runner.launch(&script)), 0);
    hearing.until_it_ends().await;
    hearing.assert_counted(0, 0);
    link.close().await;
    runner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_stopped_at_adoption_is_heard_to_its_end() {
    let runner = Runner::start();
    let first = runner.link(1);
    let script = "cat >/dev/null; echo line 1; sleep 300";
    let mut hearing = Hearing::new(first.clone(), first.launch(runner.launch(script)), 0);
    hearing.until("line 1").await;
    first.close().await;
    drop(hearing);
    let second = runner.link(2);
    let sessions = second.connected(PATIENCE).await.expect("it answers");
    let [standing] = &*sessions else { panic!("{sessions:?}") };
    drop(second.adopt(standing.of.clone(), standing.next - 1));
    forgotten(&runner).await;
    second.close().await;
    runner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_reload_withholds_is_withheld_from_the_next_session_on_a_runner() {
    let runner = Runner::start();
    let link = runner.link(1);
    let show = "cat >/dev/null; echo line ${CARGO_PKG_NAME-none}";
    let launched = |session: u64, show: &str| {
        let mut launch = runner.launch(show);
        launch.session = SessionId(session);
        launch.spec = Arc::new({
            let mut spec = (*launch.spec).clone();
            spec.inherit_env = vec!["CARGO_PKG_NAME".to_owned()];
            spec
        });
        launch
    };
    let mut hearing = Hearing::new(link.clone(), link.launch(launched(1, show)), 0);
    hearing.until_it_ends().await;
    assert_eq!(hearing.words, ["line herder"]);
    link.withhold(&BTreeSet::from(["CARGO_PKG_NAME".to_owned()]));
    let next = SessionKey { session: SessionId(2), ..of() };
    let mut hearing = Hearing::of(next, link.clone(), link.launch(launched(2, show)), 0);
    hearing.until_it_ends().await;
    assert_eq!(hearing.words, ["line none"]);
    link.close().await;
    runner.end().await;
}
