//! The evaluator with the real Codex CLI and the real Claude Code, each alone with a model API of the tests' own:
//! they log in from a home that holds only the one credential, and the user's own files stay unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use herder::config::{self, Judge};
use herder::core::outcome::Usage;
use herder::core::verdict::{Lapse, Verdict};
use herder::evaluator::Evaluated;
use secrecy::SecretString;

use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::agent_rig::{PATIENCE, SILENCE, refuses};
use crate::evaluator::Rig;
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("evaluator_cli", name, test);
}

/// The model's answer when it finds something.
const FOUND: Scenario =
    Scenario::Says { text: "CORRECTION You ran make bench five times; look at the driver." };

fn found() -> Verdict {
    Verdict::correction("You ran make bench five times; look at the driver.")
}

/// Returns `codex exec` as evaluator, with `api` as its model.
pub(crate) fn codex(api: &ModelApi) -> config::Evaluator {
    let provider = format!(
        "model_providers.tests={{ name = \"tests\", base_url = \"{}/v1\", wire_api = \"responses\", \
         requires_openai_auth = true, request_max_retries = 1, stream_max_retries = 1 }}",
        api.url
    );
    let command =
        [&codex_cli::cli().display().to_string(), "-c", "model_provider=\"tests\"", "-c", &provider]
            .map(str::to_owned)
            .to_vec();
    config::Evaluator { command, timeout: PATIENCE, ..config::Evaluator::default() }
}

/// Returns `claude -p` as evaluator, with `api` as its model.
fn claude(api: &ModelApi) -> config::Evaluator {
    let mut settings = config::Evaluator {
        judge: Judge::Claude,
        command: vec![claude_cli::cli().display().to_string()],
        model: "sonnet".to_owned(),
        timeout: PATIENCE,
        ..config::Evaluator::default()
    };
    settings.env.insert("ANTHROPIC_BASE_URL".to_owned(), api.url.clone());
    settings
}

pub(crate) fn key(settings: config::Evaluator) -> config::Evaluator {
    config::Evaluator { key: Some(SecretString::from("sk-key")), ..settings }
}

/// Returns the result of an evaluation with `scenario`.
async fn ask(scenario: Scenario, settings: impl FnOnce(&ModelApi) -> config::Evaluator) -> Evaluated {
    let api = ModelApi::start(scenario).await;
    Rig::new(key(settings(&api))).ask().await
}

fn assert_lapse(evaluated: &Evaluated, name: &str) {
    let lapse = evaluated.verdict.as_ref().expect_err("there is no verdict");
    assert_eq!(lapse.name(), name, "{lapse:?}");
}

/// A user's own folder: it is the same afterwards as it was before.
struct Own {
    folder: tempfile::TempDir,
    login: PathBuf,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Own {
    fn with(file: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let login = folder.path().join(file);
        fs::write(&login, text).expect("the login is written");
        fs::write(folder.path().join("config.toml"), "model = \"mine\"\n").expect("a setting is written");
        let before = contents(folder.path());
        Self { folder, login, before }
    }

    fn assert_untouched(&self) {
        assert_eq!(contents(self.folder.path()), self.before);
    }
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    let mut contents: Vec<_> =
        entries.map(|entry| (entry.path(), fs::read(entry.path()).expect("it is a file"))).collect();
    contents.sort();
    contents
}

#[test]
fn codex_logs_in_with_its_own_login_and_finds_something() {
    alone("codex_logs_in_with_its_own_login_and_finds_something", || async {
        let api = ModelApi::start(FOUND).await;
        let own = Own::with("auth.json", "{\"OPENAI_API_KEY\":\"sk-login\"}");
        let rig = Rig::new(config::Evaluator { login: Some(own.login.clone()), ..codex(&api) });
        let evaluated = rig.ask().await;
        assert_eq!(evaluated.verdict, Ok(found()), "{}", api.last());
        let used = Usage { input_tokens: 1200, output_tokens: 30, ..Usage::default() };
        assert_eq!(evaluated.usage, Some(used));
        assert_eq!(api.credential(), "Bearer sk-login");
        own.assert_untouched();
        let asked = api.last();
        for part in ["\"model\":\"gpt-5.4\"", "benchmark nemotron", "BEGIN DATA"] {
            assert!(asked.contains(part), "{part} is in {asked}");
        }
        assert_eq!(api.messages(), 1);
        let request: serde_json::Value = serde_json::from_str(&asked).expect("the request is JSON");
        let tools = request["tools"].to_string();
        for tool in ["exec_command", "shell", "apply_patch", "web_search", "spawn_agent", "view_image"] {
            assert!(!tools.contains(tool), "the model is offered {tools}");
        }
    });
}

#[test]
fn codex_with_a_key() {
    alone("codex_with_a_key", || async {
        let api = ModelApi::start(Scenario::Says { text: "OK" }).await;
        let evaluated = Rig::new(key(codex(&api))).ask().await;
        assert_eq!(evaluated.verdict, Ok(Verdict::Ok), "{}", api.last());
        assert_eq!(api.credential(), "Bearer sk-key");
    });
}

#[test]
fn codex_that_is_refused_limited_or_chatty() {
    alone("codex_that_is_refused_limited_or_chatty", || async {
        let refused = refuses(401, "invalid_api_key", "Incorrect API key provided");
        assert_lapse(&ask(refused, codex).await, "logged-out");
        let limited = refuses(429, "rate_limit_exceeded", "Slow down.");
        assert_lapse(&ask(limited, codex).await, "limited");
        let credit = refuses(429, "insufficient_quota", "You exceeded your current quota.");
        assert_lapse(&ask(credit, codex).await, "limited");
        let chatty = ask(Scenario::Success, codex).await;
        assert_eq!(chatty.verdict, Err(Lapse::unparsable("Hello from the model.")));
        assert!(chatty.usage.is_some(), "it costs all the same");
        let broken = refuses(404, "model_not_found", "The model `x` does not exist");
        assert_lapse(&ask(broken, codex).await, "failed");
    });
}

#[test]
fn codex_that_hangs() {
    alone("codex_that_hangs", || async {
        let hung = |api: &ModelApi| config::Evaluator { timeout: SILENCE, ..codex(api) };
        let unknown = ask(Scenario::Hang, hung).await;
        assert_lapse(&unknown, "timed-out");
        assert_eq!(unknown.usage, None, "this CLI says what it used when it is done, and not before");
        // The CLI sleeps for an hour and has said why.
        let long = Scenario::Refuses {
            status: 429,
            headers: vec![("retry-after".to_owned(), "3600".to_owned())],
            kind: "rate_limit_exceeded",
            message: "Slow down.",
        };
        assert_lapse(&ask(long, hung).await, "limited");
    });
}

#[test]
fn claude_logs_in_with_its_own_login_and_finds_something() {
    alone("claude_logs_in_with_its_own_login_and_finds_something", || async {
        let api = ModelApi::start(FOUND).await;
        let login = serde_json::json!({ "claudeAiOauth": {
            "accessToken": "sk-ant-oat01-dummy", "refreshToken": "sk-ant-ort01-dummy",
            "expiresAt": 4_102_444_800_000_u64, "scopes": ["user:inference"], "subscriptionType": "pro",
        } });
        let own = Own::with(".credentials.json", &login.to_string());
        let rig = Rig::new(config::Evaluator { login: Some(own.login.clone()), ..claude(&api) });
        let evaluated = rig.ask().await;
        assert_eq!(evaluated.verdict, Ok(found()), "{}", api.last());
        assert_eq!(api.credential(), "Bearer sk-ant-oat01-dummy");
        own.assert_untouched();
        let asked = api.last();
        for part in ["benchmark nemotron", "BEGIN DATA", "You judge the work of a coding agent"] {
            assert!(asked.contains(part), "{part} is in {asked}");
        }
        let request: serde_json::Value = serde_json::from_str(&asked).expect("the request is JSON");
        let tools = request["tools"].as_array().map_or(0, Vec::len);
        assert_eq!(tools, 0, "the model is offered {}", request["tools"]);
    });
}

#[test]
fn claude_with_a_key() {
    alone("claude_with_a_key", || async {
        let api = ModelApi::start(Scenario::Says { text: "OK" }).await;
        let evaluated = Rig::new(key(claude(&api))).ask().await;
        assert_eq!(evaluated.verdict, Ok(Verdict::Ok), "{}", api.last());
        assert_eq!(api.credential(), "sk-key");
        let usage = evaluated.usage.expect("it says what it used");
        assert_eq!((usage.input_tokens, usage.output_tokens), (1200, 30));
        assert!(usage.cost_usd > 0.0 && usage.estimated_usd == 0.0, "{usage:?}");
    });
}

#[test]
fn claude_that_is_refused_limited_or_hangs() {
    alone("claude_that_is_refused_limited_or_hangs", || async {
        let refused = refuses(401, "authentication_error", "invalid x-api-key");
        assert_lapse(&ask(refused, claude).await, "logged-out");
        let limited = refuses(429, "rate_limit_error", "Slow down.");
        assert_lapse(&ask(limited, claude).await, "limited");
        assert_lapse(&ask(Scenario::Success, claude).await, "unparsable");
        let hung = |api: &ModelApi| config::Evaluator { timeout: SILENCE, ..claude(api) };
        let hung = ask(Scenario::Hang, hung).await;
        assert_lapse(&hung, "timed-out");
        // The model had begun to answer, and each of its tries costs.
        let used = hung.usage.expect("it is known so far");
        assert!(used.input_tokens >= 1200 && used.output_tokens >= 1, "{used:?}");
    });
}
