//! The real agents that people have beside gemini and opencode, by the command lines that the manual names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use herder::core::ask::AskAnswer;
use herder::core::id::AgentName;
use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Autonomy, Permissions, Runtime};
use serde_json::{Value, json};

use super::Maker;
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::agent_rig::{Went, begins_with_a_plan, pinned, refuses, session_against, session_answered, tools};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("acp_cli::others", name, test);
}

/// The installed agents: the folder below the tools, the package, and the variable that pins it.
const PACKAGES: [(&str, &str, &str); 7] = [
    ("copilot", "@github/copilot", "copilot_version"),
    ("kimi", "@moonshot-ai/kimi-code", "kimi_version"),
    ("qwen", "@qwen-code/qwen-code", "qwen_version"),
    ("auggie", "@augmentcode/auggie", "auggie_version"),
    ("cline", "cline", "cline_version"),
    ("claude-acp", "@agentclientprotocol/claude-agent-acp", "claude_acp_version"),
    ("codex-acp", "@agentclientprotocol/codex-acp", "codex_acp_version"),
];

/// The folder of the Node that the tests bring along.
fn node() -> PathBuf {
    let packages = tools().join("node/node_modules");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    let mut node = found
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("node-linux-"))
        .map(|entry| entry.path().join("bin"));
    node.next().unwrap_or_else(|| {
        panic!("no node below {}; run scripts/test, which installs it", packages.display())
    })
}

/// An agent whose home and workspace are below `folder`: the program of a package, its arguments and its environment.
fn agent(folder: &Path, command: &[&str], environment: &[(&str, &str)]) -> AgentSpec {
    let (home, workspace) = (folder.join("home"), folder.join("work"));
    for path in [&home, &workspace] {
        std::fs::create_dir_all(path).expect("a folder is made");
    }
    let (package, program, arguments) = match command {
        [package, program, arguments @ ..] => (package, program, arguments),
        _ => panic!("a package and a program"),
    };
    let program = tools().join(package).join("node_modules/.bin").join(program);
    assert!(program.exists(), "no {}; run scripts/test, which installs it", program.display());
    let mut spec = AgentSpec::new(AgentName::new("spark").expect("a good name"), Runtime::Acp, workspace);
    spec.command = std::iter::once(program.display().to_string())
        .chain(arguments.iter().map(|argument| (*argument).to_owned()))
        .collect();
    spec.inherit_env = Vec::new();
    let path = std::env::var("PATH").expect("a PATH");
    let own = BTreeMap::from([
        ("HOME", home.display().to_string()),
        ("PATH", format!("{}:{path}", node().display())),
    ]);
    let given = environment.iter().map(|(name, value)| (*name, (*value).to_owned()));
    spec.env = own.into_iter().chain(given).map(|(name, value)| (name.to_owned(), value)).collect();
    spec
}

/// Puts a file into the agent's home.
fn configure(folder: &Path, file: &str, text: &str) {
    let path = folder.join("home").join(file);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder is made");
    std::fs::write(path, text).expect("the configuration is written");
}

fn copilot(api: &ModelApi, folder: &Path) -> AgentSpec {
    let own = format!("{}/v1", api.url);
    agent(
        folder,
        &["copilot", "copilot", "--acp"],
        &[
            ("COPILOT_PROVIDER_BASE_URL", own.as_str()),
            ("COPILOT_PROVIDER_API_KEY", "sk-dummy"),
            ("COPILOT_MODEL", "some-model"),
            ("COPILOT_OFFLINE", "true"),
        ],
    )
}

fn kimi(api: &ModelApi, folder: &Path) -> AgentSpec {
    let own = format!("{}/v1", api.url);
    agent(
        folder,
        &["kimi", "kimi", "acp"],
        &[
            ("KIMI_MODEL_BASE_URL", own.as_str()),
            ("KIMI_MODEL_API_KEY", "sk-dummy"),
            ("KIMI_MODEL_NAME", "some-model"),
            ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
            ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
        ],
    )
}

fn qwen(api: &ModelApi, folder: &Path) -> AgentSpec {
    let own = format!("{}/v1", api.url);
    let settings: Value = json!({
        "security": { "auth": { "selectedType": "openai" } },
        "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false },
    });
    configure(folder, ".qwen/settings.json", &settings.to_string());
    agent(
        folder,
        &["qwen", "qwen", "--acp"],
        &[("OPENAI_BASE_URL", own.as_str()), ("OPENAI_API_KEY", "sk-dummy"), ("OPENAI_MODEL", "some-model")],
    )
}

fn claude(api: &ModelApi, folder: &Path) -> AgentSpec {
    agent(
        folder,
        &["claude-acp", "claude-agent-acp"],
        &[
            ("ANTHROPIC_BASE_URL", api.url.as_str()),
            ("ANTHROPIC_API_KEY", "sk-dummy"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ],
    )
}

fn codex(api: &ModelApi, folder: &Path) -> AgentSpec {
    let config = format!(
        "check_for_update_on_startup = false\nmodel = \"some-model\"\nmodel_provider = \"tests\"\n\
         [model_providers.tests]\nname = \"tests\"\nbase_url = \"{}/v1\"\nenv_key = \"TESTS_KEY\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\
         [analytics]\nenabled = false\n",
        api.url
    );
    configure(folder, ".codex/config.toml", &config);
    agent(folder, &["codex-acp", "codex-acp"], &[("TESTS_KEY", "sk-dummy")])
}

async fn works(make: Maker) {
    let went = session_against(Scenario::Success, make).await;
    went.assert_category(Category::Success);
    assert!(went.outcome.text.as_deref().is_some_and(|text| text.contains(ANSWER)), "{}", went.story());
    assert!(went.supervised.posted(&["✅", "spark"]), "{}", went.story());
}

fn assert_wants_a_login(went: &Went) {
    went.assert_category(Category::Auth);
    assert!(went.supervised.posted(&["🔐", "spark"]), "{}", went.story());
    went.assert_paused(Category::Auth);
}

async fn a_refused_key_is_said(make: Maker) {
    let refused = refuses(401, "invalid_api_key", "Incorrect API key provided: dummy.");
    assert_wants_a_login(&session_against(refused, make).await);
}

/// However the agent calls it: no turn whose call of the model failed is one that was done.
async fn refused_calls_are_no_success(make: Maker) {
    for (status, kind, message) in [
        (402, "payment_required", "Payment required: add credits."),
        (404, "model_not_found", "The model `x` does not exist or you do not have access to it."),
    ] {
        let went = session_against(refuses(status, kind, message), make).await;
        assert_ne!(went.outcome.category, Category::Success, "{status}: {}", went.story());
        assert!(went.survivors.is_empty(), "{}", went.story());
        assert!(!went.supervised.posted(&["✅"]), "{status}: {}", went.story());
    }
}

/// A command beyond its permissions is asked about, and done only after a yes.
async fn asks(make: Maker) {
    for (answer, made) in [(AskAnswer::Allow { always: false }, true), (AskAnswer::Deny, false)] {
        let api = ModelApi::start(Scenario::Asks { command: "touch made" }).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = make(&api, folder.path());
        (spec.permissions, spec.autonomy) = (Permissions::ReadOnly, Autonomy::Human);
        let file = spec.workspace.join("made");
        let went = session_answered(&api, spec, Some(answer)).await;
        assert!(went.supervised.posted(&["⚙️", "asks for permission"]), "{}", went.story());
        assert_eq!(file.exists(), made, "{}", went.story());
        assert!(went.survivors.is_empty(), "{}", went.story());
    }
}

/// An agent that is not logged in says so before it asks a model.
async fn without_a_login(command: &'static [&'static str]) {
    let api = ModelApi::start(Scenario::Success).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let went = crate::agent_rig::session(&api, agent(folder.path(), command, &[])).await;
    assert_wants_a_login(&went);
    assert_eq!(went.requests, 0, "{}", went.story());
}

#[test]
fn the_versions_are_the_pinned_ones_and_the_readme_names_them() {
    for (folder, package, variable) in PACKAGES {
        let file = tools().join(folder).join("node_modules").join(package).join("package.json");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!("{}: {error}; run scripts/test, which installs it", file.display())
        });
        let installed: Value = serde_json::from_str(&text).expect("a package says what it is");
        assert_eq!(installed["version"], pinned(variable), "{package}");
        let named = format!("`{package}` {}", pinned(variable));
        assert!(
            include_str!("../../../docs/reference/runtimes.md").contains(&named),
            "the manual does not name {named}"
        );
    }
}

#[test]
fn copilot_works() {
    alone("copilot_works", || async { works(copilot).await });
}

#[test]
fn copilot_says_that_its_key_is_refused() {
    alone("copilot_says_that_its_key_is_refused", || async { a_refused_key_is_said(copilot).await });
}

/// The agent writes the error as its answer.
#[test]
fn copilot_calls_no_refused_call_a_success() {
    alone("copilot_calls_no_refused_call_a_success", || async {
        refused_calls_are_no_success(copilot).await
    });
}

#[test]
fn copilot_asks() {
    alone("copilot_asks", || async { asks(copilot).await });
}

#[test]
fn copilot_wants_a_login() {
    alone("copilot_wants_a_login", || async { without_a_login(&["copilot", "copilot", "--acp"]).await });
}

#[test]
fn kimi_works() {
    alone("kimi_works", || async { works(kimi).await });
}

#[test]
fn kimi_says_that_its_key_is_refused() {
    alone("kimi_says_that_its_key_is_refused", || async { a_refused_key_is_said(kimi).await });
}

/// The agent reports nothing at all.
#[test]
fn kimi_calls_no_refused_call_a_success() {
    alone("kimi_calls_no_refused_call_a_success", || async { refused_calls_are_no_success(kimi).await });
}

#[test]
fn kimi_asks() {
    alone("kimi_asks", || async { asks(kimi).await });
}

#[test]
fn qwen_works() {
    alone("qwen_works", || async { works(qwen).await });
}

#[test]
fn qwen_says_that_its_key_is_refused() {
    alone("qwen_says_that_its_key_is_refused", || async { a_refused_key_is_said(qwen).await });
}

/// By default qwen would let a model say yes.
#[test]
fn qwen_asks() {
    alone("qwen_asks", || async { asks(qwen).await });
}

#[test]
fn claude_works_by_its_adapter() {
    alone("claude_works_by_its_adapter", || async { works(claude).await });
}

#[test]
fn codex_works_by_its_adapter() {
    alone("codex_works_by_its_adapter", || async { works(codex).await });
}

#[test]
fn codex_says_by_its_adapter_that_its_key_is_refused() {
    alone("codex_says_by_its_adapter_that_its_key_is_refused", || async {
        a_refused_key_is_said(codex).await;
    });
}

#[test]
fn auggie_wants_a_login() {
    alone("auggie_wants_a_login", || async { without_a_login(&["auggie", "auggie", "--acp"]).await });
}

/// It asks to leave its mode for plans, and shows the plan with that.
#[test]
fn qwen_begins_with_a_plan() {
    alone("qwen_begins_with_a_plan", || async {
        let calls = &[
            ("exit_plan_mode", r#"{"plan":"1. Look.\n2. Leap."}"#),
            ("exit_plan_mode", r#"{"plan":"1. Look at the herons.\n2. Leap."}"#),
            (
                "run_shell_command",
                r#"{"command":"touch made","description":"does it","is_background":false}"#,
            ),
        ];
        let plans = ["1. Look.\n2. Leap.", "1. Look at the herons.\n2. Leap."];
        begins_with_a_plan(Scenario::Calls { calls }, qwen, plans).await;
    });
}

/// An agent without a mode for plans is not let work without one.
#[test]
fn codex_has_no_mode_for_plans_by_its_adapter() {
    alone("codex_has_no_mode_for_plans_by_its_adapter", || async {
        let went = session_against(Scenario::Success, |api, folder| {
            let mut spec = codex(api, folder);
            spec.permissions = Permissions::Plan;
            spec
        })
        .await;
        went.assert_category(Category::Permanent);
        assert!(went.supervised.posted(&["🚫", "no mode in which it only plans"]), "{}", went.story());
        assert_eq!(went.requests, 0, "{}", went.story());
    });
}

/// It counts each call of its model.
#[test]
fn qwen_counts() {
    alone("qwen_counts", || async {
        let went = session_against(Scenario::OneTool { command: "echo on" }, |api, folder| {
            let mut spec = qwen(api, folder);
            (spec.permissions, spec.autonomy) = (Permissions::Full, Autonomy::Full);
            spec
        })
        .await;
        went.assert_category(Category::Success);
        let usage = went.outcome.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (2400, 60), "{}", went.story());
    });
}

#[test]
fn claude_says_by_its_adapter_that_its_key_is_refused() {
    alone("claude_says_by_its_adapter_that_its_key_is_refused", || async {
        a_refused_key_is_said(claude).await;
    });
}

#[test]
fn cline_wants_a_login() {
    alone("cline_wants_a_login", || async { without_a_login(&["cline", "cline", "--acp"]).await });
}
