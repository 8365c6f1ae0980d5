//! Merges of two tasks into one repository: a real repository, and checks that are real processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::job::tests::launch;
use super::{Machine, Setup};
use crate::core::check::Check;
use crate::core::checkout::{Acted, FOLDER, Plan, Repository};
use crate::core::id::WorkId;
use crate::core::review::{Merged, Method};
use crate::redact::Redactor;
use crate::runner::job::JobResult;
use crate::runner::{Job, JobKind};
use crate::runtime::ProcessTrees;
use crate::runtime::git::merge::Order;
use crate::runtime::merge::Run;

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"]).args(words);
    let output = command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
    let output = output.expect("git is there (package git)");
    assert!(output.status.success(), "{words:?}: {output:?}");
}

struct Scene {
    dir: tempfile::TempDir,
    machine: Machine,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let app = dir.path().join("app");
        fs::create_dir(&app).expect("a folder");
        git(&app, &["init", "--quiet", "--initial-branch=main"]);
        git(&app, &["commit", "--quiet", "--allow-empty", "-m", "the first"]);
        git(&app, &["switch", "--quiet", "-c", "mine"]);
        let trees = ProcessTrees::new().expect("processes can be looked at");
        let (data_dir, redactor, withheld) = (dir.path().join("data"), Redactor::default(), [].into());
        let machine = Machine::new(Setup { data_dir, trees, redactor, withheld, tools: None });
        Self { dir, machine }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn tasks(&self) -> PathBuf {
        self.at("data").join(FOLDER)
    }

    async fn does(&self, task: u64, kind: JobKind) -> Acted {
        let marker = format!("test-{}/spark/task-{task}", std::process::id());
        match self.machine.perform(Job { marker, kind }, CancellationToken::new()).await {
            Some(JobResult::Acted(acted)) => acted,
            other => panic!("{other:?}"),
        }
    }

    /// Commits a file in the clone of a task, and returns the job that merges it.
    async fn work(&self, task: u64, check: &str) -> Job {
        let repository =
            Repository { path: self.at("app"), base: "main".to_owned(), ..Repository::default() };
        let plan = Plan {
            task: WorkId(task),
            repository,
            branch: format!("herder/{task}-x"),
            begun: false,
            onto: Some("main".to_owned()),
            worked: Vec::new(),
            check: None,
            pull: None,
        };
        let make = JobKind::Make {
            plan: Box::new(plan.clone()),
            setup: None,
            login: None,
            described: String::new(),
        };
        let Acted::Made(_) = self.does(task, make).await else { panic!("no clone") };
        let clone = self.tasks().join(task.to_string());
        fs::write(clone.join(format!("file-{task}")), "x").expect("a file");
        git(&clone, &["add", "--all"]);
        git(&clone, &["commit", "--quiet", "-m", "x"]);
        let plan = Plan { begun: true, ..plan };
        let read = JobKind::Read { plan: Box::new(plan.clone()), number: 1 };
        let Acted::Read(_, Ok(held)) = self.does(task, read).await else { panic!("it is not read") };
        let (head, text) = (held.head, "write a file".to_owned());
        let order = Order { plan, head, method: Method::Squash, text, co_author: None };
        let check = Check { command: check.to_owned(), timeout: Duration::from_secs(60), tries: 1 };
        let run = Run { order, setup: None, check: Some(check), evidence: None, login: None };
        let marker = format!("test-{}/spark/task-{task}/merge", std::process::id());
        let launch = Box::new(crate::runtime::Launch { marker: marker.clone(), ..launch() });
        Job { marker, kind: JobKind::Merge { number: 1, launch, run: Box::new(run) } }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_begins_once_all_that_a_stopped_one_has_started_is_over() {
    let scene = Scene::new();
    let (pid, seen) = (scene.at("pid"), scene.at("seen"));
    // It takes no notice of SIGTERM, so that it is at work for a while after it was stopped.
    let stubborn =
        format!("trap '' TERM; echo $$ > {}; while :; do echo x > left; sleep 0.01; done", pid.display());
    let first = scene.work(1, &stubborn).await;
    let looks =
        format!("ls > {}; test ! -e left && ! kill -0 $(cat {}) 2> /dev/null", seen.display(), pid.display());
    let second = scene.work(2, &looks).await;
    let stop = CancellationToken::new();
    let next = async {
        while !fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
        scene.machine.perform(second, CancellationToken::new()).await
    };
    let (stopped, merged) = tokio::join!(scene.machine.perform(first, stop.clone()), next);
    assert!(stopped.is_none(), "{stopped:?}");
    match merged {
        Some(JobResult::Acted(Acted::Merged(1, Ok(Merged::Landed(_))))) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_to_string(&seen).expect("it was checked"), "file-2\n");
}
