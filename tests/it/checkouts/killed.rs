//! herder is killed with -9 right before and right after each of its git commands, by a `git` that is found first. The
//! next herder puts repository, folders and journal together again.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::local;
use rustix::process::Signal;

use super::repository::{Person, Untouched, entries};
use crate::kill::{Running, asked_until, lines, outside_server, reap, signal};
use crate::stage::PATIENCE;

mod pulls;
mod queued;

/// Calls of herder's that belong to a clone are counted; at the one that is asked for, herder is killed. Those of its
/// agents and its looks at workspaces are not.
const GIT: &str = r#"#!/bin/sh
case "$HERDER_SESSION" in
*/task-*) ;;
*) exec REAL "$@" ;;
esac
# Two commands at once may get the same number.
echo >> "DIR/count"
number=$(wc -l < "DIR/count")
echo "$number $*" >> "DIR/calls"
if [ -e "DIR/match" ]; then
    # The next one that begins so.
    case "$*" in
    "$(cat "DIR/match")"*) rm "DIR/match" ;;
    *) exec REAL "$@" ;;
    esac
else
    at=$(cat "DIR/at")
    [ "$at" -gt 0 ] && [ "$number" -ge "$at" ] && [ -e "DIR/pid" ] || exec REAL "$@"
    # The next one may begin before the test has seen this.
    [ -e "DIR/each" ] && echo $((number + STEP)) > "DIR/at" || echo 0 > "DIR/at"
fi
: > "DIR/count"
victim=$PPID
if [ "VICTIM" != runner ]; then
    victim=$(cat "DIR/pid")
    # The commands of its runner go on until the next one comes.
    rm "DIR/pid"
fi
case "SIDE" in
before)
    echo "$number $*" >> "DIR/killed"
    kill -9 "$victim"
    ;;
beside)
    echo "$number $*" >> "DIR/killed"
    kill -9 "$victim"
    exec REAL "$@"
    ;;
after)
    REAL "$@"
    code=$?
    echo "$number $*" >> "DIR/killed"
    kill -9 "$victim"
    exit $code
    ;;
esac
"#;

/// The process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// herder, whose agents run in the same process.
    Herder,
    /// A bot whose agents run in a process of their own, in which git goes on.
    Bot,
    /// The process of its agents, which the bot starts again.
    Runner,
}

impl Victim {
    /// Returns the number of commands from one kill to the next. A bot waits for up to 5 s before it starts a runner
    /// again that does not live for long.
    fn step(self) -> u32 {
        if self == Self::Runner { 3 } else { 1 }
    }
}

/// The moment of a kill, as seen by a git command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The command never runs.
    Before,
    /// The command goes on without its herder.
    Beside,
    /// The command has run.
    After,
}

struct Story {
    dir: tempfile::TempDir,
    config: PathBuf,
    _server: Server,
    person: Person,
    victim: Victim,
    herder: Option<Running>,
    /// Number of kills that were seen.
    kills: usize,
}

impl Story {
    /// Begins with more settings of the agent.
    async fn begin(kill: (Victim, Side), more: &str) -> Self {
        Self::begin_at(kill, more, None).await
    }

    /// Begins with the repository of this address instead of the person's.
    async fn begin_at((victim, side): (Victim, Side), more: &str, address: Option<&str>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let person = Person::with_repository(at("app"));
        let server = outside_server().await;
        let local = if victim == Victim::Herder { "embedded" } else { "process" };
        let text = format!(
            "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
             [access]\nadmins = [\"irc:test:alice\"]\n[tools]\nenabled = false\n[evaluator]\nkind = \"off\"\n\
             [supervisor]\nstop_grace = \"1s\"\n[runners]\nlocal = \"{local}\"\n[[agent]]\nname = \"spark\"\nruntime = \"claude\"\nrepository = {:?}\n\
             git_name = \"spark\"\ngit_email = \"spark@example.org\"\ncommand = [\"sh\", {:?}]\nenv = {{ NOTES = {:?} }}\n\
             {more}\n",
            server.address().port(),
            address.map_or_else(|| person.path().display().to_string(), str::to_owned),
            super::SCRIPT,
            at("notes"),
        );
        std::fs::write(at("bot.toml"), text).expect("a file");
        let path = std::env::var("PATH").expect("a PATH");
        std::fs::create_dir(at("bin")).expect("a folder");
        for program in ["git", "gh"] {
            let real = path.split(':').map(|folder| Path::new(folder).join(program)).find(|it| it.is_file());
            // Without the other one no test here opens a pull request.
            let Some(real) = real else {
                assert_ne!(program, "git", "git is not there (package git)");
                continue;
            };
            let script = GIT
                .replace("REAL", &real.display().to_string())
                .replace("DIR", &dir.path().display().to_string())
                .replace("SIDE", &format!("{side:?}").to_lowercase())
                .replace("VICTIM", &format!("{victim:?}").to_lowercase())
                .replace("STEP", &victim.step().to_string());
            let file = at("bin").join(program);
            std::fs::write(&file, script).expect("a file");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        for (name, text) in [("count", ""), ("at", "0")] {
            std::fs::write(at(name), text).expect("a file");
        }
        let config = at("bot.toml");
        let mut story = Self { dir, config, _server: server, person, victim, herder: None, kills: 0 };
        story.starts();
        story
    }

    fn starts(&mut self) {
        let path = std::env::var("PATH").expect("a PATH");
        let path = format!("{}:{path}", self.at("bin").display());
        let herder = Running::start(self.dir.path(), &self.config, &[("PATH", &path)]);
        std::fs::write(self.at("count"), "").expect("a file");
        std::fs::write(self.at("pid"), herder.pid().to_string()).expect("a file");
        self.herder = Some(herder);
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn clone_of(&self, task: u64) -> Person {
        Person::of(self.at("data/tasks").join(task.to_string()))
    }

    fn log(&self) -> String {
        let lines = lines(&self.at("log"));
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Counts from now on, and has the victim killed at the call of this number.
    fn kills_at(&self, call: u32) {
        for (name, text) in [("count", String::new()), ("at", call.to_string())] {
            std::fs::write(self.at(name), text).expect("a file");
        }
    }

    /// Ends herder in order, and its runner if it has one.
    async fn ends(&mut self) {
        let herder = self.herder.take().expect("it runs");
        signal(&herder, Signal::TERM);
        reap(herder).await;
        if self.victim != Victim::Herder {
            let stopped = crate::runner::herder(self.dir.path(), &["runner", "stop"]);
            assert!(stopped.status.success(), "{stopped:?}");
        }
    }

    /// Asks; herder may be killed before it has answered.
    async fn ask(&self, command: &str, args: &[&str]) -> Option<local::Answer> {
        let socket = self.at("data").join(local::FILE_NAME);
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        local::ask(&socket, &local::Request { command: command.to_owned(), args }).await.ok()
    }

    async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let waiting = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{what}\n{:?}\n{}", lines(&self.at("killed")), self.log());
    }

    /// Waits for the kill that was asked for, and starts herder again. Returns false if the call never came, after
    /// `over` says that there is nothing more to wait for.
    async fn is_killed(&mut self, over: impl AsyncFn(&Self) -> bool) -> bool {
        let killed = self.is_struck(over).await;
        if killed && self.victim != Victim::Runner {
            self.starts();
        }
        killed
    }

    /// Waits for the kill that was asked for. Returns false if the call never came, likewise.
    async fn is_struck(&mut self, over: impl AsyncFn(&Self) -> bool) -> bool {
        let mut killed = false;
        self.until("it is killed, or done", async || {
            killed = lines(&self.at("killed")).len() > self.kills;
            killed || over(self).await
        })
        .await;
        if !killed {
            return false;
        }
        self.kills += 1;
        // A bot starts its runner again by itself.
        if self.victim != Victim::Runner {
            reap(self.herder.take().expect("it runs")).await;
        }
        true
    }

    /// Gives the agent its one task, waits until that is in review, and returns its number.
    async fn is_reviewed(&self, text: &str) -> String {
        let socket = self.at("data").join(local::FILE_NAME);
        asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
        self.ask("task new", &["spark", text]).await.expect("it is there");
        self.until("it is in review", async || self.is_in_state("review").await).await;
        self.task(text).await.expect("it is there").to_string()
    }

    /// Returns true if the agent's one task is in this state.
    async fn is_in_state(&self, expected: &str) -> bool {
        let listed = self.ask("task list", &["spark"]).await.and_then(|answer| answer.data);
        listed.is_some_and(|listed| listed[0]["state"] == expected)
    }

    /// Returns the number of the task with this text.
    async fn task(&self, text: &str) -> Option<u64> {
        let tasks = self.ask("task list", &["spark"]).await?.data?;
        let works = tasks.as_array()?.iter().map(|task| &task["work"]);
        works.filter(|work| work["text"] == text).find_map(|work| work["id"].as_u64())
    }

    /// Returns true if the clone of the task was read, and the agent rests.
    async fn is_read(&self, text: &str) -> bool {
        let Some(task) = self.task(text).await else { return false };
        let shown = self.ask("task show", &[&task.to_string()]).await;
        let status = self.ask("status", &["spark"]).await;
        let rests = status.and_then(|answer| answer.data).is_some_and(|data| data["phase"] == "idle");
        rests
            && shown.is_some_and(|answer| answer.lines.join("\n").contains("one commit, nothing uncommitted"))
    }

    /// Checks that the task was done once, and that its commit is in its clone and in the repository.
    async fn is_right(&self, text: &str) -> u64 {
        self.until("the task is done and read", async || self.is_read(text).await).await;
        let task = self.task(text).await.expect("it is there");
        let clone = self.clone_of(task);
        let killed = lines(&self.at("killed"));
        let branch = clone.git(&["branch", "--show-current"]);
        assert_eq!(branch, format!("herder/{task}-{}", text.replace(' ', "-")), "{killed:?}");
        assert_eq!(clone.git(&["log", "--format=%s"]), format!("{text}\nthe first"), "{killed:?}");
        let (base, head) = (clone.git(&["rev-parse", "HEAD~1"]), clone.git(&["rev-parse", "HEAD"]));
        let refs = self.person.herders_refs();
        for (name, commit) in [("base", base), ("head", head)] {
            assert!(refs.contains(&(format!("{task}/{name}"), commit)), "{killed:?}: {refs:?}");
        }
        let folder = format!("{} ", clone.path().canonicalize().expect("it is there").display());
        let runs = lines(&self.at("notes")).into_iter().filter(|line| line.starts_with(&folder)).count();
        assert_eq!(runs, 1, "{killed:?}: the agent worked on it once");
        clone.git(&["fsck", "--strict", "--no-dangling"]);
        task
    }

    /// Checks that there are the clones of these tasks and nothing beside them.
    async fn has_only(&self, tasks: &[u64]) {
        // The folder of the last merge waits for a further one for a while.
        let folders = self.at("data/tasks");
        let is_gone = async || !entries(&folders).iter().any(|name| name.starts_with("merged-"));
        self.until("nothing is left of the merge", is_gone).await;
        let mut names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        names.sort();
        let looks = std::iter::once("looks".to_owned());
        let names: Vec<String> = names.into_iter().chain(looks).collect();
        assert_eq!(entries(&self.at("data/tasks")), names, "{:?}", lines(&self.at("killed")));
        assert_eq!(
            entries(&self.at("data/tasks/looks")),
            [] as [String; 0],
            "{:?}",
            lines(&self.at("killed"))
        );
        let mut refs: Vec<String> =
            tasks.iter().flat_map(|task| ["base", "head"].map(|name| format!("{task}/{name}"))).collect();
        refs.sort();
        let mut known: Vec<String> = self.person.herders_refs().into_iter().map(|(name, _)| name).collect();
        known.sort();
        assert_eq!(known, refs, "{:?}", lines(&self.at("killed")));
    }
}

/// A name in letters alone.
fn name(number: u32) -> String {
    let letter = |digit: u32| char::from_digit(digit + 10, 36).expect("a letter");
    [letter(number / 20), letter(number % 20)].iter().collect()
}

async fn killed_at_each_command(victim: Victim, side: Side) {
    let mut story = Story::begin((victim, side), "").await;
    let before = Untouched::of(&story.person);
    let socket = story.at("data").join(local::FILE_NAME);
    let (mut tasks, mut call) = (Vec::new(), 0);
    loop {
        call += victim.step();
        asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
        story.kills_at(call);
        let text = format!("commit {}", name(call));
        // The answer may be cut short; the task is on record before the first command.
        story.ask("task new", &["spark", &text]).await;
        let over = async |story: &Story| story.is_read(&text).await;
        let killed = story.is_killed(over).await;
        tasks.push(story.is_right(&text).await);
        story.has_only(&tasks).await;
        if !killed {
            break;
        }
    }
    let mut gone = 0;
    loop {
        gone += victim.step();
        let task = tasks.pop().expect("there are more tasks than commands of a removal");
        asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
        story.kills_at(gone);
        story.ask("task drop", &[&task.to_string(), "confirm"]).await;
        let dropped = async |story: &Story| {
            let shown = story.ask("task show", &[&task.to_string()]).await;
            shown.is_some_and(|answer| answer.ok && !answer.lines.join("\n").contains("branch herder/"))
        };
        let killed = story.is_killed(&dropped).await;
        story.until("the clone is removed", async || dropped(&story).await).await;
        story.has_only(&tasks).await;
        if !killed {
            break;
        }
    }
    story.ends().await;
    // Each kind of work was met: a clone, a fetch, a removal.
    let killed = lines(&story.at("killed"));
    assert_eq!(killed.len(), usize::try_from((call + gone) / victim.step() - 2).expect("a number"));
    let all: &[&str] = match victim {
        Victim::Runner => &["update-ref refs/"],
        Victim::Herder | Victim::Bot => {
            &["clone ", "checkout ", "update-ref refs/", "fetch ", "status ", "update-ref -d"]
        }
    };
    for command in all {
        assert!(killed.iter().any(|call| call.contains(command)), "{command}: {killed:#?}");
    }
    before.holds(&story.person);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_each_command_the_next_herder_does_it() {
    killed_at_each_command(Victim::Herder, Side::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_beside_each_command_the_next_herder_does_it_once() {
    killed_at_each_command(Victim::Herder, Side::Beside).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_each_command_the_next_herder_goes_on() {
    killed_at_each_command(Victim::Herder, Side::After).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_beside_each_command_of_its_runner_has_it_done_once() {
    killed_at_each_command(Victim::Bot, Side::Beside).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_before_each_command_is_followed_by_one_that_does_it() {
    killed_at_each_command(Victim::Runner, Side::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_after_each_command_is_followed_by_one_that_goes_on() {
    killed_at_each_command(Victim::Runner, Side::After).await;
}

/// Settings by which accepted work is merged, after a check of the merged files.
const MERGES: &str = "base = \"main\"\nreview = \"person\"\non_accept = \"merge\"\ncheck = \"true\"";

/// Kills herder at each of its git commands from the acceptance of a task to the removal of its clone. `in_use`: the
/// base is checked out.
async fn killed_at_each_command_of_a_merge(victim: Victim, side: Side, in_use: bool) {
    let mut story = Story::begin((victim, side), MERGES).await;
    let person = Person::of(story.person.path().to_owned());
    match in_use {
        true => person.git(&["reset", "--quiet", "--hard"]),
        false => person.git(&["switch", "--quiet", "-c", "mine"]),
    };
    let before = Untouched::of(&person);
    let text = "commit alpha";
    let task = story.is_reviewed(text).await;
    let over = async |story: &Story| {
        let shown = story.ask("task show", &[&task]).await;
        let removed = shown.is_some_and(|answer| !answer.lines.join("\n").contains("branch herder/"));
        removed && story.is_in_state("done").await
    };
    let mut call = 1;
    // Each next one is killed at the call after.
    std::fs::write(story.at("each"), "").expect("a file");
    story.kills_at(call);
    story.ask("accept", &[&task]).await;
    // Each next one begins with the merge's first command, and gets further by one.
    while story.is_killed(&over).await {
        call += 1;
        if !in_use {
            // Somebody else moves the base, so that the merged files are new.
            person.git(&["worktree", "add", "--quiet", "--detach", "../other", "main"]);
            let other = Person::of(story.at("other"));
            std::fs::write(other.path().join(format!("by-{call}")), "x").expect("a file");
            other.git(&["add", "--all"]);
            other.git(&["commit", "--quiet", "-m", &format!("other {call}")]);
            other.git(&["update-ref", "refs/heads/main", "HEAD"]);
            person.git(&["worktree", "remove", "--force", "../other"]);
            person.git(&["worktree", "prune"]);
        }
    }
    story.until("it is merged, and its clone removed", async || over(&story).await).await;
    let landed = person.git(&["log", "--format=%s", "main"]);
    let times = landed.lines().filter(|line| *line == text).count();
    assert_eq!(times, 1, "{:?}\n{landed}", lines(&story.at("killed")));
    story.has_only(&[]).await;
    if in_use {
        assert_eq!(person.git(&["status", "--porcelain"]), "?? loose", "{:?}", lines(&story.at("killed")));
    }
    story.ends().await;
    let killed = lines(&story.at("killed"));
    let moves = if in_use { "merge --quiet" } else { "update-ref refs/heads/main" };
    let all = ["merge-tree", "commit-tree", "update-ref refs/herder", moves];
    // A runner ends the merge of a bot that is killed, so that the next one finds it done.
    for command in all.into_iter().filter(|_| victim == Victim::Herder) {
        assert!(killed.iter().any(|call| call.contains(command)), "{command}: {killed:#?}");
    }
    match in_use {
        // Its files are those of the merged commits.
        true => drop(person.git(&["fsck", "--strict", "--no-dangling"])),
        false => before.holds_but(&person, &[".git/refs/heads/main", ".git/logs/refs/heads/main"]),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_each_command_of_a_merge_the_next_herder_merges_once() {
    killed_at_each_command_of_a_merge(Victim::Herder, Side::Before, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_beside_each_command_of_a_merge_the_next_herder_merges_once() {
    killed_at_each_command_of_a_merge(Victim::Herder, Side::Beside, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_each_command_of_a_merge_the_next_herder_merges_once() {
    killed_at_each_command_of_a_merge(Victim::Herder, Side::After, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_beside_each_command_of_a_merge_the_checked_out_base_is_whole() {
    killed_at_each_command_of_a_merge(Victim::Herder, Side::Beside, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_beside_each_command_of_a_merge_has_it_merged_once() {
    killed_at_each_command_of_a_merge(Victim::Bot, Side::Beside, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_after_each_command_of_a_merge_is_followed_by_one_that_merges_once() {
    killed_at_each_command_of_a_merge(Victim::Runner, Side::After, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_beside_each_command_of_a_merge_leaves_the_checked_out_base_whole() {
    killed_at_each_command_of_a_merge(Victim::Runner, Side::Beside, true).await;
}

/// Notes its process and waits until it may go on.
const WAITS: &str = "\"echo $$ >> $NOTES.runs; while [ ! -e $NOTES.go ]; do sleep 0.02; done\"";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_a_check_runs_the_next_herder_runs_it_again_and_not_the_work() {
    killed_while_a_command_runs(Victim::Herder, "check").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_while_a_check_runs_has_it_run_again_and_not_the_work() {
    killed_while_a_command_runs(Victim::Bot, "check").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_a_setup_runs_the_next_herder_runs_it_again_before_the_work() {
    killed_while_a_command_runs(Victim::Herder, "setup").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_while_a_setup_runs_has_it_run_again_before_the_work() {
    killed_while_a_command_runs(Victim::Bot, "setup").await;
}

/// Kills herder while the command of this key runs.
async fn killed_while_a_command_runs(victim: Victim, key: &str) {
    let mut story = Story::begin((victim, Side::Before), &format!("{key} = {WAITS}")).await;
    let runs = story.at("notes.runs");
    let text = "commit alpha";
    let socket = story.at("data").join(local::FILE_NAME);
    asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
    story.ask("task new", &["spark", text]).await.expect("it is there");
    for run in 1..=3 {
        story.until("it runs", async || lines(&runs).len() == run).await;
        assert_eq!(lines(&story.at("notes")).len(), usize::from(key == "check"), "sessions before it");
        let herder = story.herder.take().expect("it runs");
        signal(&herder, Signal::KILL);
        reap(herder).await;
        story.starts();
    }
    story.until("it has run again", async || lines(&runs).len() == 4).await;
    // One that goes on without its bot may end meanwhile, and counts then.
    std::fs::write(story.at("notes.go"), "").expect("a file");
    let task = story.is_right(text).await;
    let over = async || {
        let shown = story.ask("task list", &["spark"]).await.and_then(|answer| answer.data);
        shown.is_some_and(|data| data[0]["state"] == "done")
    };
    story.until("the task is done", over).await;
    story.has_only(&[task]).await;
    assert_eq!(lines(&runs).len(), 4, "it is not run again once it has succeeded");
    for pid in lines(&runs) {
        assert!(!super::checked::lives(&pid), "{pid} of a killed herder's {key} is left");
    }
    story.ends().await;
}

/// A result that is longer than a message comes in parts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_changes_in_a_clone_on_a_runner_are_shown() {
    let mut story = Story::begin((Victim::Runner, Side::Before), "").await;
    let text = "commit alpha";
    let socket = story.at("data").join(local::FILE_NAME);
    asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
    story.ask("task new", &["spark", text]).await.expect("it is there");
    let task = story.is_right(text).await;
    let line = "\u{1}".repeat(99) + "\n";
    for name in ["one", "two", "three"] {
        std::fs::write(story.clone_of(task).path().join(name), line.repeat(900)).expect("a file");
    }
    let shown = story.ask("task diff", &[&task.to_string()]).await.expect("it is there");
    let files = shown.data.expect("it has data")["files"].clone();
    let lines = |name: &str| {
        let file = files.as_array()?.iter().find(|file| file["name"] == name)?;
        file["added"].as_u64()
    };
    for (name, added) in [("alpha", 1), ("one", 900), ("two", 900), ("three", 900)] {
        assert_eq!(lines(name), Some(added), "{name}: {files}");
    }
    let one = story.ask("task diff", &[&task.to_string(), "two"]).await.expect("it is there");
    assert!(one.ok && one.lines.len() > 5, "{:?}", one.lines);
    story.ends().await;
}
