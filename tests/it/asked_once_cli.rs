//! The real CLIs as runtime `command` runs them: asked once, and read by their output. See `agent_rig`.

use std::path::Path;

use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Output, Runtime};

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::agent_rig::{refuses, session};
use crate::stage::{self, Scene};
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("asked_once_cli", name, test);
}

type Maker = fn(&ModelApi, &Path) -> AgentSpec;

/// Returns the CLI of an agent with other arguments.
fn once(mut spec: AgentSpec, output: Output, arguments: &[&str]) -> AgentSpec {
    spec.command.truncate(1);
    spec.command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    (spec.runtime, spec.output) = (Runtime::Command, output);
    spec
}

fn claude(api: &ModelApi, dir: &Path) -> AgentSpec {
    let arguments = ["-p", "--output-format", "stream-json", "--verbose"];
    once(claude_cli::agent(api, dir), Output::Claude, &arguments)
}

fn codex(api: &ModelApi, dir: &Path) -> AgentSpec {
    let arguments = ["exec", "--json", "--skip-git-repo-check", "-m", "some-model"];
    once(codex_cli::agent(api, dir), Output::Codex, &arguments)
}

fn gemini(api: &ModelApi, dir: &Path) -> AgentSpec {
    let arguments = ["--output-format", "stream-json", "-m", "gemini-2.5-flash"];
    once(gemini::agent(api, dir), Output::Gemini, &arguments)
}

fn opencode(api: &ModelApi, dir: &Path) -> AgentSpec {
    let arguments = ["run", "--format", "json", "-m", "tests/some-model"];
    once(opencode::agent(api, dir), Output::Opencode, &arguments)
}

/// Checks an answer with its words, tokens and dollars; credentials that are refused; and a limit, where `limited` is
/// the API's word.
async fn is_read(make: Maker, names_cost: bool, refused: &'static str) {
    let went = {
        let api = ModelApi::start(Scenario::Success).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let went = session(&api, make(&api, folder.path())).await;
        assert!(api.last().contains("Say hello."), "the task reaches the model: {}", went.story());
        went
    };
    went.assert_category(Category::Success);
    assert_eq!(went.outcome.text.as_deref(), Some(ANSWER), "{}", went.story());
    let usage = went.outcome.usage;
    assert_eq!((went.outcome.turns, usage.output_tokens), (1, 30), "{}", went.story());
    assert!(usage.input_tokens >= 1200, "{}", went.story());
    assert_eq!(usage.cost_usd > 0.0, names_cost, "{}", went.story());
    assert!(went.supervised.posted(&["✅", "spark"]), "{}", went.story());

    let api = ModelApi::start(refuses(401, refused, "Incorrect API key provided: dummy.")).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let went = session(&api, make(&api, folder.path())).await;
    went.assert_category(Category::Auth);
    went.assert_paused(Category::Auth);
}

#[test]
fn claude_is_read() {
    alone("claude_is_read", || is_read(claude, true, "authentication_error"));
}

#[test]
fn codex_is_read() {
    alone("codex_is_read", || is_read(codex, false, "invalid_api_key"));
}

#[test]
fn gemini_is_read() {
    alone("gemini_is_read", || is_read(gemini, false, "UNAUTHENTICATED"));
}

#[test]
fn opencode_is_read() {
    alone("opencode_is_read", || is_read(opencode, true, "invalid_api_key"));
}

/// Usage in the output counts against the caps.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_printed_of_tokens_closes_the_agent_at_its_cap() {
    let printed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/printed/codex/ok.jsonl");
    let mut scene = Scene::open("alice", &["#spark"], |dir| {
        let mut spec = stage::shell("spark", dir, &format!("cat > /dev/null; cat '{printed}'"));
        spec.output = Output::Codex;
        spec.caps.tokens_per_day = 1000;
        vec![spec]
    })
    .await;
    scene.person.say("#spark", "say hello").await;
    let told = scene.person.hears("#spark", "budget cap").await;
    assert!(told.contains("💰") && told.contains("Pausing until resumed"), "{told}");
    scene.person.say("#spark", "!log spark").await;
    scene.person.hears("#spark", "conversation 01a1fd2f-24f4-7c92-967a-36ffed002a4a").await;
    scene.close().await;
}
