//! Agents that take no message into a running turn: the turn is cut short for messages that they must get, or people
//! are told that the agent could not be told.

use std::path::Path;

use herder::core::id::AgentName;
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::whisper::Way;

use super::delivered;
use crate::stage::{self, ALICE, Person, Stage};

/// See there.
pub(super) const AGENT: &str = include_str!("agent.py");

fn agent(name: &str, dir: &Path) -> AgentSpec {
    let mut spec =
        AgentSpec::new(AgentName::new("spark").expect("a good name"), Runtime::Acp, dir.to_owned());
    let told = dir.join("told").display().to_string();
    spec.command = ["python3", "-c", AGENT, name, &told, "0.05"].map(str::to_owned).to_vec();
    spec
}

struct Scene {
    alice: Person,
    stage: Stage,
    dir: tempfile::TempDir,
    _server: herder::chat::embedded_ircd::Server,
}

impl Scene {
    async fn open(name: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let server = stage::server().await;
        let network = stage::embedded_network(&server);
        let mut config = stage::config(dir.path(), vec![network], vec![agent(name, dir.path())]);
        config.policy.evaluator = config.evaluator.rules();
        let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#alerts", "#spark"]).await;
        let stage = Stage::open(config, stage::inside(&server)).await;
        alice.reaches("herder", "#spark").await;
        Self { alice, stage, dir, _server: server }
    }

    fn told(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("told")).expect("it was told something")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_turn_is_cut_short_for_what_it_must_hear() {
    let mut on = Scene::open("some-agent").await;
    on.alice.say("#spark", "benchmark nemotron").await;
    on.alice.say("herder", "!whisper spark mind the gap").await;
    let line = on.alice.hears("#alerts", "[ESCALATION]").await;
    assert!(!line.contains("has not reached it"), "{line}");
    let told = on.told();
    assert_eq!(told.matches("[CORRECTION]").count(), 2, "{told}");
    assert_eq!(told.matches("You were told, and it goes on.").count(), 1, "{told}");
    assert_eq!(told.matches("mind the gap").count(), 1, "{told}");
    let ways = delivered(&on.stage);
    // A person's may have come before the first prompt.
    assert!(ways.len() == 3 && ways[..2] == [Way::Anew; 2], "{ways:?}");
    on.alice.say("herder", "!history spark 100").await;
    on.alice.hears("alice", "handed over with the next turn, for which the running one was cut short").await;
    on.alice.say("#spark", "@spark resume").await;
    on.alice.hears("#spark", "I see.").await;
    on.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_told_goes_on_no_longer_for_it_and_people_are_told_so() {
    let mut on = Scene::open("@agentclientprotocol/codex-acp").await;
    on.alice.say("#spark", "benchmark nemotron").await;
    let line = on.alice.hears("#alerts", "[ESCALATION]").await;
    assert!(line.contains("What it was told about this has not reached it."), "{line}");
    assert_eq!(delivered(&on.stage), []);
    assert!(!on.told().contains("[CORRECTION]"));
    // It reads all of it before it continues.
    on.alice.say("#spark", "@spark resume").await;
    on.alice.hears("#spark", "I see.").await;
    assert_eq!(on.told().matches("[CORRECTION] You ran `make bench`").count(), 1, "{}", on.told());
    assert_eq!(delivered(&on.stage), [Way::Prompt; 2]);

    // Given up: what it has not got is taken back, and that is on the record.
    on.alice.say("#spark", "once more").await;
    on.alice.hears("#alerts", "[ESCALATION]").await;
    on.alice.say("#spark", "@spark abort").await;
    on.alice.hears("#alerts", "its work is discarded").await;
    on.alice.say("herder", "!history spark 100").await;
    on.alice.hears("alice", "taken back, not handed over").await;
    assert_eq!(delivered(&on.stage), [Way::Prompt; 2]);
    on.stage.close().await;
}
