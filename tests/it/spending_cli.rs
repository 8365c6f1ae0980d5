//! Caps with the real CLIs: the cost of the model's answers closes the agent in the middle of its session. See
//! `agent_rig`.

use std::path::Path;

use herder::core::agent::Phase;
use herder::core::id::AgentName;
use herder::core::spec::{AgentSpec, Permissions};

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::matrix::{Feature, says};
use crate::stage::{PATIENCE, Scene};
use crate::{claude_cli, codex_cli};

/// Commands of an agent that would continue for ever. The last call takes longer than any stop, so that the number of
/// requests until then does not depend on the machine.
const ENDLESS: [&str; 8] =
    ["echo 1", "echo 2", "echo 3", "echo 4", "echo 5", "echo 6", "echo 7", "sleep 1000"];

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("spending_cli", name, test);
}

/// Checks that an agent that would continue for ever is stopped at its cap, before another turn is over, and keeps
/// its work.
async fn is_stopped_at_its_cap(make: fn(&ModelApi, &Path) -> AgentSpec, cap: fn(&mut AgentSpec)) {
    let api = ModelApi::start(Scenario::Wanders { commands: &ENDLESS }).await;
    let mut scene = Scene::open("alice", &["#spark"], |dir| {
        let mut spec = make(&api, dir);
        // So that the shell is used without a question.
        spec.permissions = Permissions::Full;
        assert!(says(&spec, Feature::Budget).ends_with("in mid-session"));
        cap(&mut spec);
        vec![spec]
    })
    .await;
    scene.person.say("#spark", "count to infinity").await;
    let told = scene.person.hears("#spark", "budget cap").await;
    assert!(told.contains("💰") && told.contains("Pausing until resumed"), "{told}");
    let spark = AgentName::new("spark").expect("a good name");
    let fleet = scene.stage.herder.fleet();
    let paused = fleet.wait_for(&spark, |view| matches!(view.agent.phase, Phase::Paused { .. }));
    let view = tokio::time::timeout(PATIENCE, paused).await.expect("it is paused").expect("spark is there");
    let asked = api.messages();
    assert!((3..=8).contains(&asked), "{asked} requests until it was stopped");
    assert_eq!(view.agent.queue.len(), 1, "its work is kept");
    let survivors = scene.close().await;
    assert_eq!(api.messages(), asked, "nothing was asked after that: {survivors:?}");
}

/// Checks that an agent that reports its usage at the end of a turn is stopped then.
async fn is_stopped_after_its_turn(make: fn(&ModelApi, &Path) -> AgentSpec, cap: fn(&mut AgentSpec)) {
    let api = ModelApi::start(Scenario::Success).await;
    let mut scene = Scene::open("alice", &["#spark"], |dir| {
        let mut spec = make(&api, dir);
        assert!(says(&spec, Feature::Budget).contains("at the end of a turn"));
        cap(&mut spec);
        vec![spec]
    })
    .await;
    scene.person.say("#spark", "say hello").await;
    let told = scene.person.hears("#spark", "budget cap").await;
    assert!(told.contains("💰") && told.contains("Pausing until resumed"), "{told}");
    let spark = AgentName::new("spark").expect("a good name");
    let fleet = scene.stage.herder.fleet();
    let paused = fleet.wait_for(&spark, |view| matches!(view.agent.phase, Phase::Paused { .. }));
    tokio::time::timeout(PATIENCE, paused).await.expect("it is paused").expect("spark is there");
    scene.close().await;
    assert_eq!(api.messages(), 1);
}

#[test]
fn gemini_reaches_its_tokens() {
    alone("gemini_reaches_its_tokens", || {
        is_stopped_after_its_turn(gemini::agent, |spec| spec.caps.tokens_per_day = 1000)
    });
}

#[test]
fn opencode_reaches_its_dollars() {
    alone("opencode_reaches_its_dollars", || {
        is_stopped_after_its_turn(opencode::agent, |spec| spec.caps.usd_per_day = 0.001)
    });
}

#[test]
fn claude_reaches_its_dollars() {
    alone("claude_reaches_its_dollars", || {
        // Half a cent for each answer.
        is_stopped_at_its_cap(claude_cli::agent, |spec| spec.caps.usd_per_day = 0.02)
    });
}

#[test]
fn codex_reaches_its_tokens() {
    alone("codex_reaches_its_tokens", || {
        is_stopped_at_its_cap(codex_cli::agent, |spec| spec.caps.tokens_per_session = 5000)
    });
}
