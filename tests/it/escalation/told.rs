//! The evaluator's whispers reach the real agent CLIs with a tool's result, or with the next prompt.

use std::path::Path;
use std::time::Duration;

use herder::config::{Evaluator, Judge};
use herder::core::agent::Phase;
use herder::core::spec::AgentSpec;
use herder::core::whisper::Way;

use super::clis::full;
use super::{delivered, spark};
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::stage::{self, ALICE, PATIENCE, Person, Stage};
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("escalation::told", name, test);
}

type Maker = fn(&ModelApi, &Path) -> AgentSpec;

/// Returns a scenario of more turns than the evaluator waits for, then a call of one of herder's tools.
const fn turns(tool: &'static str, arguments: &'static str) -> Scenario {
    Scenario::Turns { count: 6, command: "ls /no/such/benchmark", tool, arguments }
}

/// A scene whose evaluator answers when the file `now` is there.
struct Judged {
    api: ModelApi,
    alice: Person,
    stage: Stage,
    dir: tempfile::TempDir,
    _server: herder::chat::embedded_ircd::Server,
}

impl Judged {
    async fn open(scenario: Scenario, make: Maker, change: impl FnOnce(&mut AgentSpec)) -> Self {
        let api = ModelApi::start(scenario).await;
        let dir = tempfile::tempdir().expect("a folder");
        let server = stage::server().await;
        let mut agent = full(make(&api, dir.path()));
        change(&mut agent);
        let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent]);
        let now = dir.path().join("now");
        let judge = format!(
            "cat > /dev/null; until [ -e {} ]; do sleep 0.05; done; echo 'CORRECTION Mind the gap.'",
            now.display()
        );
        config.evaluator = Evaluator {
            judge: Judge::Command,
            command: ["sh", "-c", &judge].map(str::to_owned).to_vec(),
            timeout: PATIENCE,
            ..Evaluator::default()
        };
        config.policy.evaluator = config.evaluator.rules();
        let rooms = ["#alerts", "#spark", "#work"];
        let alice = Person::join(server.address(), "alice", Some(ALICE), &rooms).await;
        let stage = Stage::open(config, stage::inside(&server)).await;
        Self { api, alice, stage, dir, _server: server }
    }

    fn judge(&self) {
        std::fs::write(self.dir.path().join("now"), "").expect("a file can be written");
    }

    /// Checks that its model was told by then, and in which way.
    fn was_told(&self, way: Way) {
        let last = self.api.last();
        assert_eq!(last.matches("[CORRECTION] Mind the gap.").count(), 1, "{last}");
        assert_eq!(delivered(&self.stage), [way]);
    }
}

async fn with_a_result(make: Maker) {
    let waits = turns("irc_read", r##"{"channel":"#work","wait_seconds":25}"##);
    let mut on = Judged::open(waits, make, |_| {}).await;
    on.alice.reaches("herder", "#spark").await;
    on.alice.say("#spark", "benchmark nemotron").await;
    let fleet = on.stage.herder.fleet().clone();
    let open = async {
        while fleet.open_calls(&spark()) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, open).await.expect("the model calls a tool");
    on.judge();
    on.alice.hears("#spark", ANSWER).await;
    on.was_told(Way::Tool);
    on.stage.close().await;
}

async fn with_the_next_prompt(make: Maker) {
    let loops = |spec: &mut AgentSpec| {
        spec.looping = true;
        spec.rest = Duration::from_secs(3600);
    };
    let mut on = Judged::open(turns("irc_channels", "{}"), make, loops).await;
    let fleet = on.stage.herder.fleet().clone();
    let agent = spark();
    let rests = fleet.wait_for(&agent, |view| matches!(view.agent.phase, Phase::Waiting { .. }));
    tokio::time::timeout(PATIENCE, rests).await.expect("its round is over").expect("spark is there");
    on.judge();
    let found = fleet.wait_for(&agent, |view| !view.agent.whispers.is_empty());
    tokio::time::timeout(PATIENCE, found).await.expect("it is judged").expect("spark is there");
    assert_eq!(delivered(&on.stage), []);
    on.alice.reaches("herder", "#spark").await;
    on.alice.say("#spark", "go on").await;
    let over = fleet.wait_for(&agent, |view| view.agent.totals.successes == 2);
    tokio::time::timeout(PATIENCE, over).await.expect("it goes on").expect("spark is there");
    on.was_told(Way::Prompt);
    on.stage.close().await;
}

#[test]
fn claude_is_told_with_a_result() {
    alone("claude_is_told_with_a_result", || with_a_result(claude_cli::agent));
}

#[test]
fn claude_is_told_with_the_next_prompt() {
    alone("claude_is_told_with_the_next_prompt", || with_the_next_prompt(claude_cli::agent));
}

#[test]
fn codex_is_told_with_a_result() {
    alone("codex_is_told_with_a_result", || with_a_result(codex_cli::agent));
}

#[test]
fn codex_is_told_with_the_next_prompt() {
    alone("codex_is_told_with_the_next_prompt", || with_the_next_prompt(codex_cli::agent));
}
