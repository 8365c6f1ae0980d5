//! Many agents on one repository: herder and its runner are killed with -9 again and again, work that was accepted
//! conflicts with other work, and somebody else pushes to the base.
//!
//! `HERDER_LAND_AGENTS`, `_TASKS`, `_KILLS` and `_FILES` make it larger.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use herder::local;
use herder::runner::process::{Question, ask};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use super::repository::{Person, Untouched, entries};
use crate::kill::process::Process;
use crate::kill::{Moments, lines, number};

/// The longest time in which nothing is merged.
const STANDSTILL: Duration = Duration::from_secs(180);

/// Number of files into which the agents put their lines: fewer than agents, so that they conflict.
const SHARED: u64 = 7;

/// States of tasks that are over.
const OVER: [&str; 3] = ["done", "failed", "cancelled"];

/// The agent of this test.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/checkouts/many.sh");

struct Crowd {
    process: Process,
    person: Person,
    other: Person,
    /// Texts of the tasks that were given.
    given: Vec<String>,
    /// Commits that somebody else has pushed.
    pushed: Vec<String>,
    /// Answers to each task in review so far.
    answers: BTreeMap<u64, u32>,
    /// Agents that had to be resumed, with the reasons.
    resumed: Vec<String>,
}

impl Crowd {
    /// Asks; herder may be killed before it has answered.
    async fn ask(&self, command: &str, args: &[&str]) -> Option<local::Answer> {
        tokio::time::timeout(Duration::from_secs(20), self.process.try_ask(command, args)).await.ok()?
    }

    /// Returns the open tasks with their states; `None` while herder does not answer.
    async fn open(&self) -> Option<Vec<(u64, String, String)>> {
        let answer = self.ask("task list", &[]).await?;
        let task = |task: &serde_json::Value| {
            let state = task["state"].as_str().filter(|state| !OVER.contains(state))?.to_owned();
            Some((task["work"]["id"].as_u64()?, task["work"]["text"].as_str()?.to_owned(), state))
        };
        Some(answer.data?.as_array()?.iter().filter_map(task).collect())
    }

    fn merged(&self) -> Vec<String> {
        self.person.git(&["log", "--format=%s", "main"]).lines().map(str::to_owned).collect()
    }

    /// Gives the task of this number, once.
    async fn gives(&mut self, task: usize, agents: usize) {
        let text = format!("put l{task} into f{}", task as u64 % SHARED);
        let agent = format!("a{}", task % agents);
        loop {
            if self.ask("task new", &[&agent, &text]).await.is_some_and(|answer| answer.ok) {
                break;
            }
            // It may be on record although the answer was cut short.
            if let Some(open) = self.open().await
                && (open.iter().any(|(_, known, _)| *known == text) || self.merged().contains(&text))
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.given.push(text);
    }

    /// Answers what is in review, and resumes agents that are paused.
    async fn looks_after(&mut self, open: &[(u64, String, String)]) {
        for (task, ..) in open.iter().filter(|(.., state)| state == "review") {
            let count = self.answers.entry(*task).or_default();
            *count += 1;
            let (accepts, number) = (*count % 2 == 1, task.to_string());
            if accepts {
                self.ask("accept", &[&number]).await;
            } else {
                // The merge has met a conflict for the second time.
                self.ask("reject", &[&number, "take in main, there is a conflict"]).await;
            }
        }
        let Some(status) = self.ask("status", &[]).await.and_then(|answer| answer.data) else { return };
        for agent in status.as_array().into_iter().flatten() {
            let phase = agent["phase"].to_string();
            if ["paused", "halted"].iter().any(|held| phase.contains(held)) {
                let name = agent["name"].as_str().unwrap_or_default().to_owned();
                self.ask("resume", &[&name]).await;
                self.resumed.push(format!("{name}: {agent}"));
            }
        }
    }

    /// Somebody else pushes a commit to the base.
    fn pushes(&mut self) {
        let name = format!("other-{}", self.pushed.len());
        fs::write(self.other.path().join(&name), "o\n").expect("a file");
        self.other.git(&["add", "--all"]);
        self.other.git(&["commit", "--quiet", "-m", &name]);
        let receive = "git -c core.hooksPath=/dev/null -c receive.autogc=false receive-pack";
        loop {
            self.other.git(&["pull", "--quiet", "--rebase", "origin", "main"]);
            // The base moves while it is pulled, too.
            if self.other.tries(&["push", "--quiet", "--receive-pack", receive, "origin", "HEAD:main"]) {
                break;
            }
        }
        self.pushed.push(name);
    }

    async fn kills(&mut self, what: Struck) {
        if what != Struck::Bot
            && let Ok(status) = ask(&self.process.path("data"), Question::Status).await
            && let Some(pid) = i32::try_from(status.pid).ok().and_then(Pid::from_raw)
        {
            kill_process(pid, Signal::KILL).ok();
        }
        if what != Struck::Runner {
            self.process.is_killed().await;
        }
    }
}

/// The process that a kill hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Struck {
    Bot,
    Runner,
    Both,
}

fn repository(dir: &Path, files: u64) -> (Person, Person) {
    let person = Person::with_repository(dir.join("app"));
    // The person is on a branch of their own.
    person.git(&["branch", "mine"]);
    let full = dir.join("full");
    person.git(&["symbolic-ref", "HEAD", "refs/heads/mine"]);
    person.git(&["worktree", "add", "--quiet", &full.display().to_string(), "main"]);
    let filled = Person::of(full.clone());
    for (folder, count) in [("shared", SHARED), ("bulk", files)] {
        for number in 0..count {
            let path = full.join(folder).join(if folder == "bulk" {
                (number % 100).to_string()
            } else {
                String::new()
            });
            fs::create_dir_all(&path).expect("a folder");
            fs::write(path.join(format!("f{number}")), "begin\n").expect("a file");
        }
    }
    filled.git(&["add", "--all"]);
    filled.git(&["commit", "--quiet", "-m", "the second"]);
    person.git(&["worktree", "remove", &full.display().to_string()]);
    let other = dir.join("other");
    person.git(&["clone", "--quiet", "--branch", "main", ".", &other.display().to_string()]);
    (person, Person::of(other))
}

/// Returns the settings of a herder with these agents of a repository.
fn configuration(port: u16, person: &Person, agents: usize) -> String {
    let mut text = format!(
        "data_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\nadmins = [\"irc:test:alice\"]\n[tools]\nenabled = false\n[evaluator]\nkind = \"off\"\n\
         [supervisor]\nstop_grace = \"1s\"\n[runners]\nlocal = \"process\"\n",
    );
    for agent in 0..agents {
        let review = if agent % 2 == 0 { "person" } else { "none" };
        writeln!(
            text,
            "[[agent]]\nname = \"a{agent}\"\nruntime = \"command\"\nrepository = {:?}\nbase = \"main\"\n\
             git_name = \"a{agent}\"\ngit_email = \"a{agent}@example.org\"\ncommand = [\"sh\", {SCRIPT:?}]\n\
             check = \"! grep -rq '[<>]' shared\"\nreview = \"{review}\"\non_accept = \"merge\"",
            person.path(),
        )
        .expect("a string");
    }
    text
}

async fn begin(agents: usize, files: u64) -> Crowd {
    let mut people = None;
    let process = Process::begin(|dir, port| {
        let (person, _) = people.insert(repository(dir, files));
        configuration(port, person, agents)
    })
    .await;
    let (person, other) = people.expect("they are made");
    Crowd {
        process,
        person,
        other,
        given: Vec::new(),
        pushed: Vec::new(),
        answers: BTreeMap::new(),
        resumed: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_work_of_many_agents_is_merged_once_whatever_is_killed() {
    let [agents, tasks, kills] =
        [("HERDER_LAND_AGENTS", 4), ("HERDER_LAND_TASKS", 12), ("HERDER_LAND_KILLS", 8)]
            .map(|(name, default)| usize::try_from(number(name, default)).expect("a number"));
    let mut crowd = begin(agents, number("HERDER_LAND_FILES", 200)).await;
    let before = Untouched::of(&crowd.person);
    let mut moments = Moments::new(number("HERDER_LAND_SEED", 7));
    let mut killed = 0;
    let mut next = Instant::now() + Duration::from_secs(2);
    let (mut merged, mut moved, mut last) = (0, Instant::now(), Instant::now());
    loop {
        // Tasks come while there are kills to come.
        let due = if killed == kills { tasks } else { tasks.min(agents + tasks * killed / kills.max(1)) };
        if crowd.given.len() < due {
            crowd.gives(crowd.given.len(), agents).await;
        }
        // Kills are spread over the work, and a standstill is no reason to wait with one.
        let is_ahead = killed * tasks > (merged + 1) * kills && last.elapsed() < Duration::from_secs(10);
        if killed < kills && next <= Instant::now() && !is_ahead {
            let what = [Struck::Bot, Struck::Runner, Struck::Both][killed % 3];
            crowd.kills(what).await;
            (killed, last) = (killed + 1, Instant::now());
            if killed % 5 == 0 {
                crowd.pushes();
            }
            // A runner that is killed again and again is started again after up to 5 s.
            next = Instant::now() + Duration::from_millis(300) + moments.millis(1500);
        }
        let Some(open) = crowd.open().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        crowd.looks_after(&open).await;
        let now = crowd.merged().len();
        if now != merged {
            (merged, moved) = (now, Instant::now());
        }
        if open.is_empty() && crowd.given.len() == tasks && killed == kills {
            break;
        }
        let log = lines(&crowd.process.path("log"));
        let tail = log[log.len().saturating_sub(20)..].join("\n");
        assert!(moved.elapsed() < STANDSTILL, "nothing is merged: {open:#?}\n{:#?}\n{tail}", crowd.resumed);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The folders of merged tasks are removed after the merge.
    let folders = crowd.process.path("data/tasks");
    // A runner that was started again has looked at nothing yet.
    let are_left = || entries(&folders).iter().any(|name| name != "looks");
    let removed = async {
        while are_left() || !crowd.person.herders_refs().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let removed = tokio::time::timeout(STANDSTILL, removed).await;
    assert!(removed.is_ok(), "{:?} {:?}", entries(&folders), crowd.person.herders_refs());
    crowd.process.ends().await;
    // The last kill may have left none: a bot starts it again after up to 5 s.
    let stopped = crate::runner::herder(crowd.process.dir.path(), &["runner", "stop"]);
    assert!(matches!(stopped.status.code(), Some(0 | 69)), "{stopped:?}");

    let mut expected: Vec<String> = crowd.given.iter().chain(&crowd.pushed).cloned().collect();
    expected.extend(["the first", "the second"].map(str::to_owned));
    expected.sort();
    let mut merged = crowd.merged();
    merged.sort();
    assert_eq!(merged, expected, "each task and each push is in the base once");
    for file in 0..SHARED {
        let text = crowd.person.git(&["show", &format!("main:shared/f{file}")]);
        let mut found: Vec<&str> = text.lines().collect();
        found.sort_unstable();
        let of_file = (0..tasks).filter(|task| *task as u64 % SHARED == file);
        let mut expected: Vec<String> = of_file.map(|task| format!("l{task}")).collect();
        expected.push("begin".to_owned());
        expected.sort();
        assert_eq!(found, expected, "lines of file {file}");
    }
    before.holds_but(&crowd.person, &[".git/refs/heads/main", ".git/logs/refs/heads/main"]);
    assert_eq!(crowd.resumed, [] as [String; 0], "a kill pauses no agent");
}
