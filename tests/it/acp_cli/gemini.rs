//! The real Gemini CLI.

use std::path::{Path, PathBuf};

use herder::core::event::WaitReason;
use herder::core::id::AgentName;
use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Runtime};

use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::agent_rig::{
    asks_what_is_dangerous, assert_pinned, begins_with_a_plan, goes_on_after_it_was_killed_in_mid_tool,
    is_shown_a_picture, leaves_nothing_when_it_is_stopped_in_mid_tool, refuses, session_against, tools,
};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("acp_cli::gemini", name, test);
}

/// The CLI, as `scripts/test` installs it.
fn cli() -> PathBuf {
    let path = tools().join("gemini/node_modules/.bin/gemini");
    assert!(path.is_file(), "no {}; run scripts/test, which installs it", path.display());
    path
}

/// The settings of its login.
const KEYED: &str = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;

/// An agent whose home and workspace are below `folder`, and whose model is `api`.
pub(crate) fn agent(api: &ModelApi, folder: &Path) -> AgentSpec {
    let (home, workspace) = (folder.join("home"), folder.join("work"));
    std::fs::create_dir_all(home.join(".gemini")).expect("a folder is made");
    std::fs::create_dir_all(&workspace).expect("a folder is made");
    // One attempt: by itself it tries ten times, for minutes.
    let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"maxAttempts":1}}"#;
    std::fs::write(home.join(".gemini/settings.json"), settings).expect("the settings are written");
    let mut spec = AgentSpec::new(AgentName::new("spark").expect("a good name"), Runtime::Acp, workspace);
    spec.command = vec![cli().display().to_string(), "--acp".to_owned()];
    spec.model = "gemini-2.5-flash".to_owned();
    spec.inherit_env = vec!["PATH".to_owned()];
    for (variable, value) in [
        ("HOME", home.display().to_string()),
        ("GOOGLE_GEMINI_BASE_URL", api.url.clone()),
        ("GEMINI_API_KEY", "dummy".to_owned()),
    ] {
        spec.env.insert(variable.to_owned(), value);
    }
    spec
}

/// Dates its stored conversations back by a day. It names the files by the minute, and a conversation that is
/// continued in the minute in which it began is overwritten before it is read.
fn ages(folder: &Path) {
    let mut aged = 0;
    for project in
        std::fs::read_dir(folder.join("home/.gemini/tmp")).expect("it keeps conversations").flatten()
    {
        let chats = std::fs::read_dir(project.path().join("chats")).into_iter().flatten().flatten();
        for chat in chats.map(|chat| chat.path()) {
            let name = chat.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some((_, id)) = name.rsplit_once('-') else { continue };
            std::fs::rename(&chat, chat.with_file_name(format!("session-2020-01-01T00-00-{id}")))
                .expect("a file can be renamed");
            aged += 1;
        }
    }
    assert!(aged > 0, "it has kept a conversation");
}

#[test]
fn the_version_is_the_pinned_one() {
    assert_pinned(&cli(), "gemini_version");
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
        super::refused_credentials(agent, "UNAUTHENTICATED").await;
    });
}

#[test]
fn rate_limit() {
    alone("rate_limit", || async {
        super::rate_limit(agent, "RESOURCE_EXHAUSTED").await;
    });
}

/// By default the CLI tries ten times, for minutes, and holds back even its standard error until it leaves.
#[test]
fn rate_limit_that_it_tries_again_through() {
    alone("rate_limit_that_it_tries_again_through", || async {
        let went = session_against(refuses(429, "RESOURCE_EXHAUSTED", "Slow down."), |api, folder| {
            let spec = agent(api, folder);
            std::fs::write(folder.join("home/.gemini/settings.json"), KEYED)
                .expect("the settings are written");
            spec
        })
        .await;
        went.assert_category(Category::RateLimit);
        assert!(went.clock_ran_out, "{}", went.story());
        went.assert_backs_off(WaitReason::RateLimit);
    });
}

#[test]
fn rate_limit_with_a_long_retry_after() {
    alone("rate_limit_with_a_long_retry_after", || async {
        super::rate_limit_with_a_long_retry_after(agent, "RESOURCE_EXHAUSTED").await;
    });
}

#[test]
fn no_credit() {
    alone("no_credit", || async {
        super::no_credit(refuses(402, "payment_required", "Payment required: add credits."), agent).await;
    });
}

#[test]
fn unknown_model() {
    alone("unknown_model", || async {
        super::unknown_model(
            agent,
            "NOT_FOUND",
            "models/x is not found for API version v1beta, or is not supported for generateContent.",
        )
        .await;
    });
}

#[test]
fn context_overflow() {
    alone("context_overflow", || async {
        let message = "The input token count exceeds the maximum number of tokens allowed.";
        let went = session_against(refuses(400, "INVALID_ARGUMENT", message), agent).await;
        went.assert_category(Category::ContextOverflow);
    });
}

#[test]
fn server_error() {
    alone("server_error", || async {
        super::is_tried_again(refuses(500, "INTERNAL", "Internal error."), agent, Category::Transient).await;
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
            "00000000-0000-4000-8000-000000000000",
            ages,
        )
        .await;
    });
}

#[test]
fn killed_in_mid_tool_and_resumed() {
    alone("killed_in_mid_tool_and_resumed", || async {
        goes_on_after_it_was_killed_in_mid_tool("sleep 600", agent, ages).await;
    });
}

/// It names the plan by a file that it has written.
#[test]
fn a_plan_is_shown_sent_back_and_approved() {
    alone("a_plan_is_shown_sent_back_and_approved", || async {
        let calls = &[
            ("write_file", r#"{"file_path":"$PLANS/plan.md","content":"1. Look.\n2. Leap."}"#),
            ("exit_plan_mode", r#"{"plan_filename":"plan.md"}"#),
            ("write_file", r#"{"file_path":"$PLANS/plan.md","content":"1. Look at the herons.\n2. Leap."}"#),
            ("exit_plan_mode", r#"{"plan_filename":"plan.md"}"#),
            ("run_shell_command", r#"{"command":"touch made","description":"does it"}"#),
        ];
        let plans = ["1. Look.\n2. Leap.", "1. Look at the herons.\n2. Leap."];
        begins_with_a_plan(Scenario::Calls { calls }, agent, plans).await;
    });
}

#[test]
fn a_picture() {
    alone("a_picture", || is_shown_a_picture(agent));
}
