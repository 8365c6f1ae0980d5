//! The real agent CLIs with herder's tool server, which herder itself configures in each: see `agent_rig`.
//!
//! A whole herder runs in the namespace, with its own IRC server, and the model is a script: the next request shows the
//! text that it was given.

use std::path::Path;

use herder::core::id::AgentName;
use herder::core::spec::AgentSpec;

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::matrix::{Feature, shows};
use crate::stage::Scene;
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("tools::clis", name, test);
}

type Maker = fn(&ModelApi, &Path) -> AgentSpec;

/// A call that waits for a message in the work channel, which never comes.
const WAITS: Scenario =
    Scenario::Herder { tool: "irc_read", arguments: r##"{"channel":"#work","wait_seconds":25}"## };

/// Fails unless the matrix says that herder's tools are the agent's.
fn has_tools(spec: AgentSpec) -> AgentSpec {
    shows(&spec, Feature::Tools, true);
    spec
}

/// Returns a scene with an agent at work for a model that behaves like `scenario`.
async fn at_work(scenario: Scenario, make: Maker) -> (Scene, ModelApi) {
    let api = ModelApi::start(scenario).await;
    let mut scene = Scene::open("alice", &["#spark", "#work"], |dir| vec![has_tools(make(&api, dir))]).await;
    scene.person.say("#spark", "look around").await;
    (scene, api)
}

async fn until_a_tool_is_open(scene: &Scene) {
    let spark = AgentName::new("spark").expect("a good name");
    let open = async {
        while scene.stage.herder.fleet().view(&spark).is_none_or(|view| view.live.tool.is_none()) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::agent_rig::PATIENCE, open).await.expect("the model calls a tool");
}

/// Waits until a call of herder's own tools has reached herder: until then messages to the turn are delivered in
/// another way.
async fn until_a_call_is_open(scene: &Scene) {
    let spark = AgentName::new("spark").expect("a good name");
    let open = async {
        while scene.stage.herder.fleet().open_calls(&spark) == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::agent_rig::PATIENCE, open).await.expect("the model calls a tool");
}

async fn whispers(scene: &mut Scene) {
    scene.person.say("herder", "whisper spark mind the gap").await;
    scene.person.hears("alice", "spark is told").await;
}

/// Checks that the model was told exactly once, and that the history says how.
async fn was_told_once(scene: &mut Scene, api: &ModelApi, how: &str) {
    let last = api.last();
    assert_eq!(last.matches("mind the gap").count(), 1, "{last}");
    scene.person.say("herder", "history spark 30").await;
    scene.person.expect(how, |line| line.contains(how)).await;
    assert!(!scene.person.heard_in("#spark").iter().any(|line| line.contains("mind the gap")));
}

async fn a_whisper_in_a_result(make: Maker) {
    let (mut scene, api) = at_work(WAITS, make).await;
    until_a_call_is_open(&scene).await;
    whispers(&mut scene).await;
    scene.person.hears("#spark", ANSWER).await;
    was_told_once(&mut scene, &api, "handed over with a tool call").await;
    scene.close().await;
}

async fn a_whisper_into_the_turn(make: Maker) {
    let (mut scene, api) = at_work(Scenario::OneTool { command: "sleep 4" }, make).await;
    until_a_tool_is_open(&scene).await;
    whispers(&mut scene).await;
    scene.person.hears("#spark", "completed").await;
    was_told_once(&mut scene, &api, "put into the running turn").await;
    scene.close().await;
}

async fn words_of_the_model(make: Maker) {
    let said = Scenario::Herder { tool: "irc_send", arguments: r#"{"text":"half done"}"# };
    let (mut scene, api) = at_work(said, make).await;
    scene.person.hears("#spark", "<spark> half done").await;
    scene.person.hears("#spark", ANSWER).await;
    assert!(api.last().contains("Said in #spark on demo."), "{}", api.last());
    scene.close().await;
}

const ASKS: Scenario = Scenario::Herder { tool: "irc_ask", arguments: r#"{"question":"Red or blue?"}"# };

/// Checks that the model can ask people, and that its next request has the answer.
async fn a_question_to_people(make: Maker) {
    let (mut scene, api) = at_work(ASKS, make).await;
    scene.person.hears("#spark", "Red or blue?").await;
    scene.person.say("#spark", "blue, please").await;
    scene.person.hears("#spark", ANSWER).await;
    let last = api.last();
    assert!(last.contains("alice (demo) answered question") && last.contains("blue, please"), "{last}");
    scene.close().await;
}

/// Checks a question without an answer: the call returns before the CLI loses patience, and says how to continue
/// waiting.
async fn a_question_that_nobody_answers(make: Maker) {
    let (mut scene, api) = at_work(ASKS, make).await;
    scene.person.hears("#spark", ANSWER).await;
    let last = api.last();
    assert!(last.contains("Nobody has answered question"), "{last}");
    scene.close().await;
}

fn claude(api: &ModelApi, dir: &Path) -> AgentSpec {
    let mut spec = claude_cli::agent(api, dir);
    // So that the shell is used without a question; herder's tools need no such thing.
    spec.permissions = herder::core::spec::Permissions::Full;
    spec
}

#[test]
fn claude_is_whispered_to_with_a_result() {
    alone("claude_is_whispered_to_with_a_result", || a_whisper_in_a_result(claude_cli::agent));
}

#[test]
fn claude_is_whispered_to_in_mid_turn() {
    alone("claude_is_whispered_to_in_mid_turn", || a_whisper_into_the_turn(claude));
}

#[test]
fn claude_speaks() {
    alone("claude_speaks", || words_of_the_model(claude_cli::agent));
}

#[test]
fn codex_is_whispered_to_with_a_result() {
    alone("codex_is_whispered_to_with_a_result", || a_whisper_in_a_result(codex_cli::agent));
}

#[test]
fn codex_is_whispered_to_in_mid_turn() {
    let make: Maker = |api, dir| {
        let mut spec = codex_cli::agent(api, dir);
        spec.permissions = herder::core::spec::Permissions::Full;
        spec
    };
    alone("codex_is_whispered_to_in_mid_turn", move || a_whisper_into_the_turn(make));
}

#[test]
fn codex_speaks() {
    alone("codex_speaks", || words_of_the_model(codex_cli::agent));
}

#[test]
fn claude_asks_people() {
    alone("claude_asks_people", || a_question_to_people(claude_cli::agent));
}

#[test]
fn claude_waits_in_slices() {
    alone("claude_waits_in_slices", || a_question_that_nobody_answers(claude_cli::agent));
}

#[test]
fn codex_asks_people() {
    alone("codex_asks_people", || a_question_to_people(codex_cli::agent));
}

#[test]
fn codex_waits_in_slices() {
    alone("codex_waits_in_slices", || a_question_that_nobody_answers(codex_cli::agent));
}

#[test]
fn gemini_is_whispered_to_with_a_result() {
    alone("gemini_is_whispered_to_with_a_result", || a_whisper_in_a_result(gemini::agent));
}

#[test]
fn gemini_speaks() {
    alone("gemini_speaks", || words_of_the_model(gemini::agent));
}

#[test]
fn gemini_asks_people() {
    alone("gemini_asks_people", || a_question_to_people(gemini::agent));
}

#[test]
fn gemini_waits_in_slices() {
    alone("gemini_waits_in_slices", || a_question_that_nobody_answers(gemini::agent));
}

#[test]
fn opencode_is_whispered_to_with_a_result() {
    alone("opencode_is_whispered_to_with_a_result", || a_whisper_in_a_result(opencode::agent));
}

#[test]
fn opencode_speaks() {
    alone("opencode_speaks", || words_of_the_model(opencode::agent));
}

#[test]
fn opencode_asks_people() {
    alone("opencode_asks_people", || a_question_to_people(opencode::agent));
}

#[test]
fn opencode_waits_in_slices() {
    alone("opencode_waits_in_slices", || a_question_that_nobody_answers(opencode::agent));
}
