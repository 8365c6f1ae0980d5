//! Work whose agent cannot continue it: real children, on each network.

mod killed;
mod reassigned;

use std::path::Path;
use std::time::Duration;

use herder::config::Config;
use herder::core::agent::Phase;
use herder::core::event::PauseReason;
use herder::core::spec::AgentSpec;

use crate::on::{On, Story, on_each_network};
use crate::stage;

const ROOMS: [&str; 4] = ["#herder", "#spark", "#alerts", "#work"];

/// Opens a herder whose agents are tried again at once, with alice, who may command them and is in all channels.
async fn open_in(
    on: On,
    dir: tempfile::TempDir,
    agents: Vec<AgentSpec>,
    change: impl FnOnce(&mut Config),
) -> Story {
    Story::open_in(on, dir, &ROOMS, agents, |config| {
        config.policy.backoff = vec![Duration::from_millis(50)];
        config.policy.process_backoff.base = Duration::from_millis(50);
        change(config);
    })
    .await
}

impl Story {
    async fn is_called(&self) {
        let called = Phase::Paused { reason: PauseReason::Escalation };
        self.until("spark", |view| view.agent.phase == called).await;
    }

    /// Returns the content of a file of the agent.
    fn read(&self, name: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

on_each_network!(
    a_task_that_takes_too_long_is_tried_once_more_and_then_a_person_is_called,
    after_a_crash_the_next_session_knows_where_the_last_one_left_off,
    after_a_crash_in_the_midst_of_a_rebase_the_next_session_is_told_of_it,
    a_workspace_that_is_gone_calls_a_person_who_brings_it_back,
);

/// Returns a program that keeps what it is told in `prompt.0`, `prompt.1` and so on, and then does `then`, which sees
/// the number as `$n`.
fn program(dir: &Path, then: &str) -> AgentSpec {
    stage::shell("spark", dir, &format!("n=$(ls | grep -c '^prompt'); cat > prompt.$n\n{then}"))
}

async fn a_task_that_takes_too_long_is_tried_once_more_and_then_a_person_is_called(on: On) {
    let dir = tempfile::tempdir().expect("a folder");
    let agent = AgentSpec {
        max_task_duration: Some(Duration::from_millis(500)),
        ..program(dir.path(), "echo looked at file $n; exec sleep 1000")
    };
    let mut on = open_in(on, dir, vec![agent], |_| {}).await;
    on.alice.say("#herder", "!task add spark count every bean").await;
    let first = on.alice.hears("#work", "FAIL ").await;
    let second = on.alice.hears("#work", "FAIL ").await;
    assert!(first.ends_with(" timeout") && first == second, "{first}, {second}");
    let call = on.alice.hears_in_any_order("#alerts", "[ESCALATION] Agent spark appears stuck").await;
    assert!(call.contains("It took longer than it may, twice. Awaiting human guidance."), "{call}");
    on.is_called().await;
    let again = on.read("prompt.1");
    for piece in ["You were working on this before", "looked at file 0", "count every bean"] {
        assert!(again.contains(piece), "{piece} is missing in {again}");
    }

    // A person lets it go on: it has its two tries again. Then they give it up.
    on.alice.say("#herder", "@spark resume").await;
    on.alice.hears("#work", "FAIL ").await;
    on.alice.hears("#work", "FAIL ").await;
    on.alice.hears_in_any_order("#alerts", "This is call 2 for the same work.").await;
    on.is_called().await;
    on.alice.say("#herder", "@spark abort").await;
    on.alice.hears("#alerts", "its work is discarded").await;
    on.until("spark", |view| view.agent.phase == Phase::Idle && view.agent.queue.is_empty()).await;
    on.close().await;
}

/// Runs `git` as a person has it, with a name to commit by.
fn git(dir: &Path, words: &[&str]) -> bool {
    let named = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"];
    let mut command = std::process::Command::new("git");
    command.args(named).args(words).current_dir(dir).stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null()).status().expect("git is there").success()
}

/// Creates a repository in the middle of an operation, whose settings and attributes would run a program whenever it
/// is inspected.
fn repository(dir: &Path, midst: &str) {
    assert!(git(dir, &["init"]));
    for (branch, text) in [("other", "a\n"), ("main", "b\n")] {
        git(dir, &["checkout", "-b", branch]);
        std::fs::write(dir.join("file"), text).expect("a file");
        assert!(git(dir, &["add", "file"]) && git(dir, &["commit", "-m", text]));
    }
    assert!(git(dir, &["checkout", "-b", "third", "other"]));
    std::fs::write(dir.join("file"), "c\n").expect("a file");
    assert!(git(dir, &["commit", "-a", "-m", "c"]));
    assert!(!git(dir, &[midst, "main"]), "it is in conflict");
    let trap = "touch pwned; cat";
    std::fs::write(dir.join("trap.sh"), format!("#!/bin/sh\n{trap}\n")).expect("a file");
    std::fs::write(dir.join(".git/info/attributes"), "* filter=trap\n").expect("a file");
    let fsmonitor = format!("{}; false", trap.replace("; cat", ""));
    for (key, value) in [
        ("filter.trap.clean", trap),
        ("filter.trap.required", "true"),
        ("core.fsmonitor", fsmonitor.as_str()),
        ("core.pager", trap),
    ] {
        assert!(git(dir, &["config", key, value]));
    }
    // As old as the index: it has to be read to know whether it is changed.
    std::fs::write(dir.join("file"), "d\n").expect("a file");
}

async fn after_a_crash_the_next_session_knows_where_the_last_one_left_off(on: On) {
    const SECRET: &str = "hunter2-hunter2";
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = dir.path().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    repository(&workspace, "merge");
    let script =
        format!("[ $n = 0 ] && echo 'half of the {SECRET} beans' && exit 7; cat .herder/spark/context.md");
    let agent = AgentSpec { relay: herder::core::spec::Relay::Final, ..program(&workspace, &script) };
    let mut on = open_in(on, dir, vec![agent], |config| config.secrets = vec![SECRET.into()]).await;
    on.alice.say("#spark", "count all the beans").await;
    on.alice.hears("#spark", "finds its workspace so: branch third,").await;
    on.alice.hears("#spark", "a merge under way").await;
    on.alice.hears("#spark", "Where spark left off").await;
    on.alice.hears("#spark", "count all the beans").await;
    on.alice.hears("#spark", "half of the [redacted] beans").await;
    on.alice.hears_in_any_order("#spark", "completed in").await;
    let again = on.read("work/prompt.1");
    for piece in [
        "A git merge is under way: finish it or abort it",
        "the branch is \"third\"",
        "You were working on this before",
        "It ended because its process died: exit code 7",
        "beans\n\nherder keeps this in .herder/spark/context.md",
    ] {
        assert!(again.contains(piece), "{piece} is missing in {again}");
    }
    assert!(!workspace.join("pwned").exists(), "a look runs nothing of the repository's own");
    on.alice.say("#herder", "@spark status").await;
    on.alice.hears("#herder", "workspace: branch third").await;
    on.until("spark", |view| view.agent.phase == Phase::Idle).await;
    on.close().await;
}

async fn after_a_crash_in_the_midst_of_a_rebase_the_next_session_is_told_of_it(on: On) {
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = dir.path().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    repository(&workspace, "rebase");
    let agent = program(&workspace, "[ $n = 0 ] && exit 7; true");
    let mut on = open_in(on, dir, vec![agent], |_| {}).await;
    on.alice.say("#spark", "count all the beans").await;
    let seen = on.alice.hears("#spark", "finds its workspace so: no branch,").await;
    assert!(seen.contains("a rebase under way"), "{seen}");
    on.alice.hears_in_any_order("#spark", "completed in").await;
    let again = on.read("work/prompt.1");
    for piece in ["A git rebase is under way: finish it or abort it", "no branch is checked out"] {
        assert!(again.contains(piece), "{piece} is missing in {again}");
    }
    assert!(!workspace.join("pwned").exists(), "a look runs nothing of the repository's own");
    on.alice.say("#herder", "@spark status").await;
    on.alice.hears("#herder", "a rebase under way").await;
    on.close().await;
}

async fn a_workspace_that_is_gone_calls_a_person_who_brings_it_back(on: On) {
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = dir.path().join("work");
    let agent = program(&workspace, "echo all 12 beans");
    let mut on = open_in(on, dir, vec![agent], |_| {}).await;
    on.alice.say("#spark", "count all the beans").await;
    let call = on.alice.hears("#alerts", "[ESCALATION] Agent spark appears stuck").await;
    assert!(call.contains("is not there: create it or change it. Awaiting human guidance."), "{call}");
    on.is_called().await;
    std::fs::create_dir(&workspace).expect("a folder");
    on.alice.say("#herder", "@spark resume").await;
    on.alice.hears("#spark", "all 12 beans").await;
    on.close().await;
}
