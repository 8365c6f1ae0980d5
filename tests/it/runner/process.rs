//! `herder runner` as a process of its own: it outlives bots, and what a killed one leaves is ended by the next.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use herder::core::id::SessionId;
use herder::core::outcome::Category;
use herder::runner::link::{Link, LinkState};
use herder::runner::process::{self, Question, SOCKET};
use herder::runner::wire::{SessionKey, Standing};

use super::{Hearing, PATIENCE, bot, launch, of};

/// A runner's process, which is killed with the test.
struct Runner(Child);

impl Runner {
    fn start(folder: &Path) -> Self {
        std::fs::write(folder.join("bot.toml"), "[runners]\nlocal = \"process\"\n").expect("written");
        let log = std::fs::File::create(folder.join("log")).expect("a file");
        let child = herder(folder, &["run"]).stdout(Stdio::null()).stderr(log).spawn();
        Self(child.expect("herder starts"))
    }

    fn is_over(&mut self) -> bool {
        self.0.try_wait().expect("it can be waited for").is_some()
    }

    fn kill(mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it is killed");
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It may be gone already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn herder(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herder"));
    command.arg("runner").args(args).arg("--config").arg(folder.join("bot.toml"));
    command.arg("--data-dir").arg(folder.join("data"));
    command
}

fn told(output: Output) -> (Option<i32>, String) {
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("UTF-8"))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("data")).expect("a folder");
    folder
}

/// Connects, as a bot of this term of office.
async fn connect(folder: &Path, epoch: u64) -> (Link, Vec<Standing>) {
    let link = Link::to(folder.join("data").join(SOCKET), bot(folder, epoch));
    let mut state = link.state();
    let connected = state.wait_for(|state| matches!(state, LinkState::Connected(_)));
    let state =
        tokio::time::timeout(PATIENCE, connected).await.expect("it connects").expect("it is kept").clone();
    match state {
        LinkState::Connected(sessions) => (link, sessions),
        LinkState::Away | LinkState::Refused(_) => panic!("{state:?}"),
    }
}

/// Works until it may end, and marks that it lives.
const WAITS: &str =
    "cat >/dev/null; echo $$ >pid; echo line 1; until [ -e go ]; do sleep 0.01; done; echo line 2";

fn child(folder: &Path) -> Option<u32> {
    std::fs::read_to_string(folder.join("pid")).ok()?.trim().parse().ok()
}

/// Returns true unless the process is gone, or waits to be reaped.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_outlives_its_bots_and_answers_without_them_and_ends_when_it_is_told_to() {
    let folder = folder();
    let mut runner = Runner::start(folder.path());
    let (first, sessions) = connect(folder.path(), 1).await;
    assert_eq!(sessions, []);
    let mut hearing = Hearing::new(first.clone(), first.launch(launch(folder.path(), WAITS)), 0);
    hearing.until("line 1").await;
    let decided = hearing.decided;
    first.close().await;
    drop(hearing);
    let (code, said) = told(herder(folder.path(), &["status"]).output().expect("herder starts"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("spark #1: at work"), "{said}");
    let (second, sessions) = connect(folder.path(), 2).await;
    assert_eq!(sessions.iter().map(|standing| standing.of.clone()).collect::<Vec<_>>(), [of()]);
    let mut hearing = Hearing::new(second.clone(), second.adopt(of(), decided), decided);
    std::fs::write(folder.path().join("go"), "").expect("written");
    hearing.until_it_ends().await;
    hearing.assert_counted(2, 2);
    // A session that works is ended with the runner, and its bot hears of it.
    std::fs::remove_file(folder.path().join("go")).expect("removed");
    let next = SessionKey { session: SessionId(2), ..of() };
    let mut more = launch(folder.path(), WAITS);
    more.session = next.session;
    let mut hearing = Hearing::of(next, second.clone(), second.launch(more), 0);
    hearing.until("line 1").await;
    let pid = child(folder.path()).expect("it was noted");
    let data = folder.path().join("data");
    let stopped = tokio::spawn(async move { process::ask(&data, Question::Stop).await });
    hearing.until_it_ends().await;
    assert_eq!(hearing.outcome.as_ref().map(|outcome| outcome.category), Some(Category::Interrupted));
    let status = stopped.await.expect("it is asked").expect("it answers");
    assert!(status.attended && status.sessions.len() == 1, "{status:?}");
    assert!(!lives(pid), "nothing is left");
    let ended = async {
        while !runner.is_over() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("it ends");
    let (code, said) = told(herder(folder.path(), &["status"]).output().expect("herder starts"));
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains("no runner runs with this data directory"), "{said}");
    second.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_runner_leaves_is_ended_by_the_next_one_before_it_listens() {
    let folder = folder();
    let first = Runner::start(folder.path());
    let (link, _) = connect(folder.path(), 1).await;
    let mut hearing = Hearing::new(link.clone(), link.launch(launch(folder.path(), WAITS)), 0);
    hearing.until("line 1").await;
    let pid = child(folder.path()).expect("it was noted");
    first.kill();
    assert!(lives(pid), "a kill of the runner alone ends no agent");
    let _second = Runner::start(folder.path());
    hearing.until_it_ends().await;
    assert!(!lives(pid), "it is gone before the bot hears of another runner");
    assert_eq!(hearing.outcome.as_ref().map(|outcome| outcome.category), Some(Category::Interrupted));
    link.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_has_one_runner() {
    let folder = folder();
    let _runner = Runner::start(folder.path());
    let (link, _) = connect(folder.path(), 1).await;
    let (code, said) = told(herder(folder.path(), &["run"]).output().expect("herder starts"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("another runner has the data folder"), "{said}");
    link.close().await;
}
