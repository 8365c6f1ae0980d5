//! Checks of work that an agent calls done: a failure goes back to it, and then to a person.

use std::path::Path;
use std::time::Duration;

use herder::config::Config;
use herder::core::agent::Phase;
use herder::core::check::Check;
use herder::core::id::WorkId;
use herder::core::spec::AgentSpec;

use super::repository::Person;
use super::{ROOMS, agent, open, rests};
use crate::kill::lines;
use crate::on::{On, Story, on_each_network};
use crate::stage::{PATIENCE, shell};

/// Returns true if a process of this number runs. One that has ended may still wait for its parent.
pub(super) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Fails until the files are there, and notes each run with the agent that it runs for.
const CHECK: &str = "echo \"$HERDER_AGENT in $PWD\" >> \"$NOTES.checks\"; \
                     for name in alpha FILE; do test -e $name || { echo \"missing: $name\" >&2; exit 2; }; done";

/// Has the agents checked for this file; a failure goes back twice.
fn checked(agents: &mut Vec<AgentSpec>, file: &str) {
    for agent in agents {
        let repository = agent.repository.as_mut().expect("it has one");
        let command = CHECK.replace("FILE", file);
        repository.check = Some(Box::new(Check { command, timeout: Check::TIMEOUT, tries: 2 }));
    }
}

/// Returns a check with this command and this limit of seconds; a failure goes back once.
pub(crate) fn check(command: &str, seconds: u64) -> Option<Box<Check>> {
    let timeout = Duration::from_secs(seconds);
    Some(Box::new(Check { command: command.to_owned(), timeout, tries: 1 }))
}

/// Returns a story with one agent that is checked so.
async fn one(check: Option<Box<Check>>) -> Story {
    let dir = tempfile::tempdir().expect("a folder");
    drop(Person::with_repository(dir.path().join("app")));
    let mut agent = agent("spark", dir.path());
    agent.repository.as_mut().expect("it has one").check = check;
    let secrets = |config: &mut Config| config.secrets = vec!["hunter2-and-more".into()];
    Story::open_in(On::Irc, dir, &ROOMS[..4], vec![agent], secrets).await
}

impl Story {
    /// Waits until a line is in a file of the tests' folder, and returns it.
    async fn noted(&self, name: &str, line: usize) -> String {
        let path = self.dir.path().join(name);
        let there = async || lines(&path).get(line).cloned();
        let waiting = async {
            loop {
                match there().await {
                    Some(line) => break line,
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it is noted")
    }

    /// Returns the runs of an agent's check.
    fn checks(&self, agent: &str) -> Vec<String> {
        lines(&self.dir.path().join(format!("{agent}.checks")))
    }
}

on_each_network!(a_failed_check_goes_back_and_what_passes_is_done);

async fn a_failed_check_goes_back_and_what_passes_is_done(on: On) {
    let (mut story, _person) = open(on, |agents| checked(agents, "beta")).await;
    story.alice.say("#spark", "commit alpha").await;
    let failed = story.alice.hears("#spark", "failed after").await;
    assert!(
        failed.starts_with("❌ Task 1 of spark: `") && failed.contains("exit code 2: missing: beta"),
        "{failed}"
    );
    assert!(failed.ends_with("It goes back to spark."), "{failed}");
    let passed = story.alice.hears("#spark", "passed after").await;
    assert!(passed.starts_with("✅ Task 1 of spark: `"), "{passed}");
    story.alice.hears("#work", "DONE 1").await;
    story.until("spark", |view| rests(&view.agent)).await;
    let clone = story.clone_of(WorkId(1));
    let started = |conversation: &str| format!("{} {conversation}", clone.display());
    assert_eq!(story.started_with("spark"), [started("none"), started("about-1")], "one conversation");
    let ran = format!("spark in {}", clone.display());
    assert_eq!(story.checks("spark"), [ran.clone(), ran.clone()]);
    let shown = story.says("!task show 1", "Checked: `").await;
    assert!(shown.ends_with(": passed"), "{shown}");

    // Nothing was changed: nothing is checked.
    story.gives("spark", "name the files").await;
    assert_eq!(story.checks("spark").len(), 2);
    // A later message has changed something.
    story.gives("spark", "commit gamma").await;
    story.alice.hears("#spark", "passed after").await;
    assert_eq!(story.checks("spark").len(), 3);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_of_a_task_goes_before_that_of_its_agent() {
    let (mut story, _person) = open(On::Irc, |agents| checked(agents, "alpha")).await;
    let add = "!task add spark check=\"test -e beta || { echo 'missing: beta'; exit 2; }\" commit alpha";
    story.alice.say("#spark", add).await;
    let failed = story.alice.hears("#spark", "failed after").await;
    assert!(failed.contains("`test -e beta ||") && failed.contains("exit code 2: missing: beta"), "{failed}");
    story.alice.hears("#spark", "passed after").await;
    story.alice.hears("#work", "DONE 1").await;
    let shown = story.says("!task show 1", "check `test -e beta").await;
    assert!(shown.contains("exit 2; }`"), "{shown}");
    // A later message about it is checked by it, too, and another task by the agent's own.
    story.until("spark", |view| rests(&view.agent)).await;
    story.gives("spark", "commit gamma").await;
    let passed = story.alice.hears("#spark", "passed after").await;
    assert!(passed.contains("`test -e beta ||") && story.checks("spark").is_empty(), "{passed}");
    story.alice.say("#spark", "!task new commit alpha").await;
    story.alice.hears("#work", "DONE 4").await;
    assert_eq!(story.checks("spark").len(), 1);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_of_a_task_needs_an_agent_with_a_repository() {
    let dir = tempfile::tempdir().expect("a folder");
    drop(Person::with_repository(dir.path().join("app")));
    let agents = vec![shell("nova", dir.path(), "cat"), agent("spark", dir.path())];
    let mut story = Story::open_in(On::Irc, dir, &ROOMS, agents, |_| {}).await;
    let none = "nova has no repository";
    story.says("!task add nova check=\"make test\" commit alpha", none).await;
    story.says("!pause spark", "is paused").await;
    story.says("!task add spark check=\"test -e alpha\" commit alpha", "is queued").await;
    story.says("!task assign 1 nova", none).await;
    let late =
        story.says("!task add spark commit alpha check=\"make test\"", "check=\"make test\" <text>").await;
    assert!(late.contains("Usage"), "{late}");
    // The next one that suffices is the one with a repository, although the other has been idle for longer.
    story.says("!resume spark", "resumes").await;
    story.alice.hears("#work", "DONE 1").await;
    story.until("spark", |view| rests(&view.agent)).await;
    story.alice.say("#herder", "!task add auto check=\"test -e beta\" commit beta").await;
    story.alice.hears("#work", "DONE 3").await;
    assert_eq!(story.started_with("spark").len(), 2);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_keeps_failing_calls_a_person() {
    let (mut story, _person) = open(On::Irc, |agents| checked(agents, "nothing/there")).await;
    story.alice.say("#spark", "commit alpha").await;
    let called = story.alice.hears_in_any_order("#alerts", "has failed 3 times").await;
    assert!(called.contains("missing: nothing/there"), "{called}");
    story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!((story.started_with("spark").len(), story.checks("spark").len()), (3, 3));
    // A person resumes it in vain, and then gives up.
    story.says("!resume spark", "resumes").await;
    story.alice.hears_in_any_order("#alerts", "has failed 4 times").await;
    story.says("!abort spark", "spark").await;
    story.until("spark", |view| rests(&view.agent)).await;
    assert_eq!(story.checks("spark").len(), 4);
    assert!(!story.alice.heard_in("#work").iter().any(|line| line.starts_with("DONE")));
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_takes_too_long_is_ended_with_all_that_it_has_started() {
    let command = "sleep 1000 & echo $! >> $NOTES.pid; echo working; sleep 1000";
    let mut story = one(check(command, 1)).await;
    story.alice.say("#spark", "commit alpha").await;
    let failed = story.alice.hears("#spark", "failed after").await;
    assert!(failed.contains("was not done in time") && failed.contains("working"), "{failed}");
    let left = story.noted("spark.pid", 0).await;
    assert!(!lives(&left), "{left}");
    story.alice.hears_in_any_order("#alerts", "has failed 2 times").await;
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_check_prints_is_shown_without_secrets_and_colours() {
    // The complaint of a program around it is shown as well, and the number of its lines is no matter.
    let command =
        "for n in 1 2 3; do echo; done; printf 'key \\033[31mhun\\033[0mter2-and-more \\377\\n'; exit 4";
    let mut story = one(check(command, 60)).await;
    story.alice.say("#spark", "commit alpha").await;
    let failed = story.alice.hears("#spark", "failed after").await;
    let shown = failed.split("exit code 4: ").nth(1).expect("it is shown");
    assert!(shown.starts_with("key [redacted]"), "{failed}");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_not_checked_out_is_sent_back() {
    let mut story = one(check("echo ran >> $NOTES.checks", 60)).await;
    story.gives("spark", "name the files").await;
    assert!(story.checks("spark").is_empty(), "there is nothing to check");
    story.alice.say("#spark", "commit alpha and stray").await;
    let failed = story.alice.hears("#spark", "failed after").await;
    let why = "the last commit of its branch `herder/1-name-the-files` is not checked out there";
    assert!(failed.contains(why), "{failed}");
    // The agent strays again, and a person is called.
    story.alice.hears_in_any_order("#alerts", why).await;
    assert!(story.checks("spark").is_empty(), "what is checked out is not what would land");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_ends_with_its_task_and_begins_anew_after_a_stop() {
    let command = "echo $$ >> $NOTES.checks; while [ ! -e $NOTES.go ]; do sleep 0.02; done";
    let mut story = one(check(command, 600)).await;
    story.alice.say("#spark", "commit alpha").await;
    let first = story.noted("spark.checks", 0).await;
    story.says("!task list", "being checked").await;
    story.says("!status spark", "spark: checking its work").await;
    // Everything is stopped, which is no failure of the check.
    story.says("!stop-all", "1 agent stopped, 0 processes left").await;
    story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    story.alice.say("#herder", "!resume-all").await;
    let second = story.noted("spark.checks", 1).await;
    assert!(!lives(&first), "{first}");
    story.says("!task cancel 1", "Task 1").await;
    story.until("spark", |view| rests(&view.agent)).await;
    // Another task is worked on and checked.
    story.alice.say("#herder", "!task new spark commit beta").await;
    let third = story.noted("spark.checks", 2).await;
    assert!(!lives(&second) && lives(&third), "{second} {third}");
    story.goes_on("spark", "go");
    story.alice.hears("#spark", "passed after").await;
    assert_eq!(story.checks("spark").len(), 3);
    assert_eq!(story.started_with("spark").len(), 2, "no session mends what a stop has cut short");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_moves_meanwhile_is_checked_again_at_most_three_times() {
    // It moves during the first run of each check, and during each run once a person says so.
    let command = "echo ran >> $NOTES.checks; \
                   [ -e $NOTES.once ] && [ ! -e $NOTES.always ] || git commit --quiet --allow-empty -m moved; \
                   touch $NOTES.once";
    let mut story = one(check(command, 60)).await;
    story.alice.say("#spark", "commit alpha").await;
    story.alice.hears("#spark", "passed after").await;
    assert_eq!(story.checks("spark").len(), 2);
    story.goes_on("spark", "always");
    story.alice.say("#spark", "commit beta").await;
    let failed = story.alice.hears("#spark", "failed after").await;
    assert!(failed.contains("its branch moved while the check ran"), "{failed}");
    story.alice.hears_in_any_order("#alerts", "has failed 2 times").await;
    assert_eq!(story.checks("spark").len(), 2 + 3 + 3);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_runs_in_the_agent_s_sandbox_whose_complaints_are_told() {
    let script = "case \"$*\" in *'exec 2>&1'*) echo 'no room here' >&2; exit 9 ;; esac; exec \"$@\"";
    let dir = tempfile::tempdir().expect("a folder");
    drop(Person::with_repository(dir.path().join("app")));
    let mut agent = agent("spark", dir.path());
    agent.repository.as_mut().expect("it has one").check = check("true", 60);
    agent.sandbox = ["sh", "-c", script, "sandbox"].map(str::to_owned).to_vec();
    let mut story = Story::open_in(On::Irc, dir, &ROOMS[..4], vec![agent], |_: &mut Config| {}).await;
    story.alice.say("#spark", "commit alpha").await;
    let failed = story.alice.hears("#spark", "failed after").await;
    assert!(failed.contains("exit code 9: no room here"), "{failed}");
    story.close().await;
}
