//! An evaluation that no one waits for any more: it is ended long before its time is over, and counted.

use std::path::Path;
use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::config::{self, Config, Judge};
use herder::core::agent::Phase;
use herder::runtime::ProcessTrees;
use herder::supervisor::View;

use super::spark;
use crate::stage::{self, ALICE, PATIENCE, Person, Stage};

/// Longer than any test.
const HOURS: Duration = Duration::from_secs(3 * 60 * 60);

async fn until(stage: &Stage, what: &str, condition: impl FnMut(&View) -> bool) -> View {
    let (fleet, agent) = (stage.herder.fleet(), spark());
    let waiting = tokio::time::timeout(PATIENCE, fleet.wait_for(&agent, condition)).await;
    waiting.unwrap_or_else(|_| panic!("{what}: {:?}", fleet.view(&agent))).expect("spark is there")
}

/// Returns the configuration of an agent that runs in circles, and an evaluator that never answers.
fn never_judged(dir: &Path, server: &Server) -> Config {
    judged_by("setsid sleep 10000 & sleep 10000", dir, server)
}

/// Returns the configuration of an agent that runs in circles, and an evaluator that is a shell script.
fn judged_by(script: &str, dir: &Path, server: &Server) -> Config {
    let agent = stage::scripted("spark", dir, &["claude-spiral", "--pace", "0.05"]);
    let mut config = stage::config(dir, vec![stage::embedded_network(server)], vec![agent]);
    config.evaluator = config::Evaluator {
        judge: Judge::Command,
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        model: String::new(),
        timeout: HOURS,
        ..config::Evaluator::default()
    };
    config.policy.evaluator = config.evaluator.rules();
    config
}

#[tokio::test]
async fn a_pause_ends_the_evaluation_that_runs_and_it_is_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let stage = Stage::open(never_judged(dir.path(), &server), stage::inside(&server)).await;
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#spark"]).await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark nemotron in a spiral").await;
    until(&stage, "it is judged", |view| view.agent.watch.open.is_some()).await;

    alice.say("#spark", "@spark pause now").await;
    let over = until(&stage, "the evaluation is over", |view| view.agent.watch.counts.lapses == 1).await;
    let watch = &over.agent.watch;
    assert_eq!((watch.counts.unmetered, watch.lapses, watch.overtaken.len()), (1, 0, 0));
    until(&stage, "it is paused", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    alice.say("#spark", "@spark usage").await;
    alice.hears("#spark", "one evaluation of unknown cost").await;

    // One whose end herder does not see, because herder ends, is counted at the next start.
    alice.say("#spark", "@spark resume").await;
    until(&stage, "it is judged again", |view| view.agent.watch.open.is_some()).await;
    assert_eq!(stage.close().await.processes_left, 0);
    let stage = Stage::open(never_judged(dir.path(), &server), stage::inside(&server)).await;
    let counted = |view: &View| view.agent.watch.counts.lapses == 2 && view.agent.watch.counts.unmetered == 2;
    until(&stage, "it is counted", counted).await;
    assert_eq!(stage.close().await.processes_left, 0);
}

/// The sessions are gone before the evaluation is: it does not end when it is asked to, nor does what it has started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_all_answers_when_the_evaluation_that_runs_is_gone_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let judging = dir.path().join("judging");
    let begun = judging.display();
    let script = format!("trap '' TERM; setsid sleep 10000 & : > '{begun}'; sleep 10000; sleep 10000");
    let config = judged_by(&script, dir.path(), &server);
    let stage = Stage::open(config, stage::inside(&server)).await;
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#spark", "#herder"]).await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark nemotron in a spiral").await;
    stage::appears(&judging).await;

    let marker = format!("{}/", stage.herder.fleet().journal().id());
    let trees = ProcessTrees::new().expect("this process can adopt");
    assert!(trees.count_marked(&marker).await >= 3, "the agent, who judges it, and what that has started");
    alice.say("#herder", "!stop-all").await;
    let answer = alice.hears("#herder", "process").await;
    assert!(answer.contains("0 processes left"), "{answer}");
    assert_eq!(trees.count_marked(&marker).await, 0, "what was said is true");
    assert_eq!(stage.close().await.processes_left, 0);
}
