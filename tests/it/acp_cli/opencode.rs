//! The real opencode.

use std::path::{Path, PathBuf};

use herder::core::id::AgentName;
use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Runtime};
use serde_json::json;

use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::agent_rig::{
    asks_what_is_dangerous, assert_pinned, begins_with_a_plan, goes_on_after_it_was_killed_in_mid_tool,
    leaves_nothing_when_it_is_stopped_in_mid_tool, refuses, session_against, tools,
};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("acp_cli::opencode", name, test);
}

/// The CLI's native binary, as `scripts/test` installs it.
fn cli() -> PathBuf {
    let packages = tools().join("opencode/node_modules");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    let mut platforms: Vec<PathBuf> = found
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("opencode-linux-"))
        .map(|entry| entry.path().join("bin/opencode"))
        .filter(|path| path.is_file())
        .collect();
    // The one for processors of today before the one for older ones.
    platforms.sort();
    platforms.into_iter().next().unwrap_or_else(|| {
        panic!("no opencode below {}; run scripts/test, which installs it", packages.display())
    })
}

/// An agent whose home and workspace are below `folder`, and whose model is `api`.
pub(crate) fn agent(api: &ModelApi, folder: &Path) -> AgentSpec {
    let (home, workspace) = (folder.join("home"), folder.join("work"));
    std::fs::create_dir_all(home.join(".config/opencode")).expect("a folder is made");
    std::fs::create_dir_all(&workspace).expect("a folder is made");
    let model = json!({
        "name": "some-model", "limit": { "context": 128_000, "output": 8_000 },
        "cost": { "input": 3, "output": 15 },
    });
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "tests/some-model",
        "provider": { "tests": {
            "npm": "@ai-sdk/openai-compatible", "name": "tests",
            "options": { "baseURL": format!("{}/v1", api.url), "apiKey": "sk-dummy" },
            "models": { "some-model": model },
        } },
    });
    std::fs::write(home.join(".config/opencode/opencode.json"), config.to_string())
        .expect("the configuration is written");
    let mut spec = AgentSpec::new(AgentName::new("spark").expect("a good name"), Runtime::Acp, workspace);
    spec.command = vec![cli().display().to_string(), "acp".to_owned()];
    spec.model = "tests/some-model".to_owned();
    spec.inherit_env = vec!["PATH".to_owned()];
    spec.env.insert("HOME".to_owned(), home.display().to_string());
    for off in ["MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        spec.env.insert(format!("OPENCODE_DISABLE_{off}"), "1".to_owned());
    }
    spec
}

#[test]
fn the_version_is_the_pinned_one() {
    assert_pinned(&cli(), "opencode_version");
}

#[test]
fn success() {
    alone("success", || async {
        super::success(agent).await;
    });
}

#[test]
fn refused_credentials() {
    alone("refused_credentials", || async {
        super::refused_credentials(agent, "invalid_api_key").await;
    });
}

#[test]
fn rate_limit() {
    alone("rate_limit", || async {
        super::rate_limit(agent, "rate_limit_exceeded").await;
    });
}

#[test]
fn rate_limit_with_a_long_retry_after() {
    alone("rate_limit_with_a_long_retry_after", || async {
        super::rate_limit_with_a_long_retry_after(agent, "rate_limit_exceeded").await;
    });
}

#[test]
fn no_credit() {
    alone("no_credit", || async {
        super::no_credit(refuses(402, "payment_required", "Payment required: add credits."), agent).await;
    });
}

/// opencode tries again for as long as it may, and gives the reason on standard error alone.
#[test]
fn no_quota() {
    alone("no_quota", || async {
        let message = "You exceeded your current quota, please check your plan and billing details.";
        super::no_credit(refuses(429, "insufficient_quota", message), agent).await;
    });
}

#[test]
fn unknown_model() {
    alone("unknown_model", || async {
        super::unknown_model(
            agent,
            "model_not_found",
            "The model `x` does not exist or you do not have access to it.",
        )
        .await;
    });
}

#[test]
fn context_overflow() {
    alone("context_overflow", || async {
        let message = "Your input exceeds the context window of this model.";
        let went = session_against(refuses(400, "context_length_exceeded", message), agent).await;
        went.assert_category(Category::ContextOverflow);
    });
}

/// However often it sums the conversation up, the next answer fills the window again.
#[test]
fn context_that_stays_full() {
    alone("context_that_stays_full", || async {
        let went = session_against(Scenario::Full, agent).await;
        went.assert_category(Category::ContextOverflow);
    });
}

/// A region that the API does not serve.
#[test]
fn forbidden() {
    alone("forbidden", || async {
        let message = "Country, region, or territory not supported";
        let went =
            session_against(refuses(403, "unsupported_country_region_territory", message), agent).await;
        went.assert_category(Category::Auth);
    });
}

#[test]
fn server_error() {
    alone("server_error", || async {
        super::is_tried_again(refuses(500, "server_error", "Internal error."), agent, Category::Hung).await;
    });
}

#[test]
fn stream_that_is_cut() {
    alone("stream_that_is_cut", || async {
        super::is_tried_again(Scenario::Cut, agent, Category::Transient).await;
    });
}

#[test]
fn stream_that_hangs() {
    alone("stream_that_hangs", || async {
        super::hangs(Scenario::Hang, agent).await;
    });
}

#[test]
fn answer_that_never_begins() {
    alone("answer_that_never_begins", || async {
        super::hangs(Scenario::Silent, agent).await;
    });
}

#[test]
fn stop_in_mid_answer() {
    alone("stop_in_mid_answer", || async {
        super::stopped_in_mid_answer(agent).await;
    });
}

#[test]
fn stop_in_mid_tool() {
    alone("stop_in_mid_tool", || async {
        leaves_nothing_when_it_is_stopped_in_mid_tool("setsid sleep 600 & sleep 600", agent).await;
    });
}

#[test]
fn message_in_mid_turn() {
    alone("message_in_mid_turn", || async {
        super::keeps_its_turn_when_a_message_comes(agent).await;
    });
}

#[test]
fn permission_is_asked_for_and_answered() {
    alone("permission_is_asked_for_and_answered", || async {
        super::asks_for_permission(agent).await;
    });
}

#[test]
fn what_is_dangerous_is_asked_whatever_the_autonomy() {
    alone("what_is_dangerous_is_asked_whatever_the_autonomy", || async {
        asks_what_is_dangerous(agent).await;
    });
}

#[test]
fn conversation_that_goes_on_and_one_that_is_gone() {
    alone("conversation_that_goes_on_and_one_that_is_gone", || async {
        super::conversation_that_goes_on_and_one_that_is_gone(
            agent,
            "ses_e02cd9d6efferc0cHNF5RlUjup",
            |_| (),
        )
        .await;
    });
}

#[test]
fn killed_in_mid_tool_and_resumed() {
    alone("killed_in_mid_tool_and_resumed", || async {
        goes_on_after_it_was_killed_in_mid_tool("sleep 600", agent, |_| ()).await;
    });
}

/// It never asks to leave its mode for plans: its answer is the plan.
#[test]
fn a_plan_is_shown_sent_back_and_approved() {
    alone("a_plan_is_shown_sent_back_and_approved", || async {
        let plans = ["1. Look.\n2. Leap.", "1. Look at the herons.\n2. Leap."];
        begins_with_a_plan(
            Scenario::Plans {
                texts: &["1. Look.\n2. Leap.", "1. Look at the herons.\n2. Leap."],
                command: "touch made",
            },
            agent,
            plans,
        )
        .await;
    });
}
