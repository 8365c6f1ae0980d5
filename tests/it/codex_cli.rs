//! The real Codex CLI at the pinned version, its app server as herder runs it; see `agent_rig`.

use std::path::{Path, PathBuf};

use herder::clock;
use herder::core::agent::Phase;
use herder::core::ask::AskAnswer;
use herder::core::event::WaitReason;
use herder::core::id::{AgentName, SessionId};
use herder::core::outcome::{Category, Exit};
use herder::core::spec::{AgentSpec, Autonomy, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::core::work::TaskEnd;
use herder::runtime::{Launch, ProcessTrees};

use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::agent_rig::{
    Went, a_launch, asks_what_is_dangerous, assert_pinned, begins_with_a_plan, conversation_of, ended,
    is_shown_a_picture, leaves_nothing_when_it_is_stopped_in_mid_tool, refuses, session_against,
    session_answered, signals, takes_a_message_in_mid_turn, tools,
};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("codex_cli", name, test);
}

/// The CLI's native binary, as `scripts/test` installs it.
pub(crate) fn cli() -> PathBuf {
    let packages = tools().join("codex/node_modules/@openai");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    let platforms = found.filter(|entry| entry.file_name().to_string_lossy().starts_with("codex-linux-"));
    platforms
        .flat_map(|entry| std::fs::read_dir(entry.path().join("vendor")).into_iter().flatten().flatten())
        .map(|target| target.path().join("bin/codex"))
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!("no codex below {}; run scripts/test, which installs it", packages.display())
        })
}

/// An agent whose home and workspace are below `folder`, and whose model is `api`.
pub(crate) fn agent(api: &ModelApi, folder: &Path) -> AgentSpec {
    let (home, workspace) = (folder.join("home"), folder.join("work"));
    std::fs::create_dir_all(home.join(".codex")).expect("a folder is made");
    std::fs::create_dir_all(&workspace).expect("a folder is made");
    let config = format!(
        "model_provider = \"tests\"\n\
         [model_providers.tests]\n\
         name = \"tests\"\nbase_url = \"{}/v1\"\nenv_key = \"TESTS_KEY\"\nwire_api = \"responses\"\n\
         request_max_retries = 1\nstream_max_retries = 1\n",
        api.url
    );
    std::fs::write(home.join(".codex/config.toml"), config).expect("the configuration is written");
    let mut spec = AgentSpec::new(AgentName::new("spark").expect("a good name"), Runtime::Codex, workspace);
    spec.command = vec![cli().display().to_string()];
    spec.model = "some-model".to_owned();
    spec.inherit_env = vec!["PATH".to_owned()];
    spec.env.insert("HOME".to_owned(), home.display().to_string());
    spec.env.insert("TESTS_KEY".to_owned(), "sk-dummy".to_owned());
    spec
}

/// Gives an agent a task against `scenario`, and sees one session through.
async fn session(scenario: Scenario, change: impl FnOnce(&mut AgentSpec)) -> Went {
    session_against(scenario, |api, folder| {
        let mut spec = agent(api, folder);
        change(&mut spec);
        spec
    })
    .await
}

#[test]
fn the_version_is_the_pinned_one() {
    assert_pinned(&cli(), "codex_version");
}

#[test]
fn success() {
    alone("success", || async {
        let api = ModelApi::start(Scenario::Success).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        spec.instructions = "Mind the herons.".to_owned();
        let went = crate::agent_rig::session(&api, spec).await;
        went.assert_category(Category::Success);
        assert_eq!(went.outcome.text.as_deref(), Some(ANSWER));
        assert_eq!(went.outcome.exit, Some(Exit::Code(0)));
        let usage = went.outcome.usage;
        assert_eq!((went.outcome.turns, usage.input_tokens, usage.output_tokens), (1, 1200, 30));
        assert!(went.supervised.posted(&["✅", "spark"]), "{}", went.story());
        assert!(went.supervised.posted(&[ANSWER]), "{}", went.story());
        assert_eq!(*went.phase(), Phase::Idle);
        assert_eq!(went.supervised.agent.finished[0].end, TaskEnd::Done);
        let asked = api.last();
        for part in ["Say hello.", "Mind the herons.", "\"model\":\"some-model\""] {
            assert!(asked.contains(part), "{part} reaches the model");
        }
    });
}

#[test]
fn refused_credentials() {
    alone("refused_credentials", || async {
        let went = session(refuses(401, "invalid_api_key", "Incorrect API key provided"), |_| {}).await;
        went.assert_category(Category::Auth);
        assert!(went.supervised.posted(&["🔐", "spark"]), "{}", went.story());
        went.assert_paused(Category::Auth);
    });
}

#[test]
fn a_key_that_is_not_there() {
    alone("a_key_that_is_not_there", || async {
        let went = session(Scenario::Success, |spec| drop(spec.env.remove("TESTS_KEY"))).await;
        went.assert_category(Category::Auth);
        assert!(went.outcome.detail.to_string().contains("TESTS_KEY"), "{}", went.story());
        assert_eq!(went.requests, 0);
    });
}

#[test]
fn no_credit() {
    alone("no_credit", || async {
        let message = "You exceeded your current quota, please check your plan and billing details.";
        let went = session(refuses(429, "insufficient_quota", message), |_| {}).await;
        went.assert_category(Category::Billing);
        went.assert_paused(Category::Billing);
    });
}

#[test]
fn unknown_model() {
    alone("unknown_model", || async {
        let went = session(refuses(404, "model_not_found", "The model `x` does not exist"), |_| {}).await;
        went.assert_category(Category::Permanent);
        assert!(went.supervised.posted(&["🚫", "spark", "does not exist", "10s"]), "{}", went.story());
    });
}

#[test]
fn context_overflow() {
    alone("context_overflow", || async {
        let message = "Your input exceeds the context window of this model.";
        let went = session(refuses(400, "context_length_exceeded", message), |_| {}).await;
        went.assert_category(Category::ContextOverflow);
    });
}

#[test]
fn rate_limit() {
    alone("rate_limit", || async {
        let went = session(refuses(429, "rate_limit_exceeded", "Slow down."), |_| {}).await;
        went.assert_category(Category::RateLimit);
        assert!(went.supervised.posted(&["⏳", "spark", "10s"]), "{}", went.story());
        went.assert_backs_off(WaitReason::RateLimit);
    });
}

/// The CLI sleeps for an hour and says nothing: that is a limit and no hang.
#[test]
fn rate_limit_with_a_long_retry_after() {
    alone("rate_limit_with_a_long_retry_after", || async {
        let scenario = Scenario::Refuses {
            status: 429,
            headers: vec![("retry-after".to_owned(), "3600".to_owned())],
            kind: "rate_limit_exceeded",
            message: "Slow down.",
        };
        let went = session(scenario, |_| {}).await;
        went.assert_category(Category::RateLimit);
        assert!(went.clock_ran_out, "{}", went.story());
        went.assert_backs_off(WaitReason::RateLimit);
    });
}

#[test]
fn usage_limit_of_a_subscription() {
    alone("usage_limit_of_a_subscription", || async {
        let resets_at = clock::now().as_millis() / 1000 + 3600;
        let header = |name: &str, value: &str| (format!("x-codex-primary-{name}"), value.to_owned());
        let scenario = Scenario::Refuses {
            status: 429,
            headers: vec![
                header("used-percent", "100"),
                header("window-minutes", "300"),
                header("reset-at", &resets_at.to_string()),
            ],
            kind: "usage_limit_reached",
            message: "The usage limit has been reached",
        };
        let went = session(scenario, |_| {}).await;
        went.assert_category(Category::Quota);
        let until = Timestamp::from_seconds(resets_at);
        assert_eq!(went.outcome.resets_at, Some(until), "{}", went.story());
        // Its account is closed until then, and its work waits for its turn.
        assert!(went.supervised.agent.wants().is_some(), "{}", went.story());
    });
}

#[test]
fn server_error() {
    alone("server_error", || async {
        let went = session(refuses(500, "server_error", "Internal server error"), |_| {}).await;
        went.assert_category(Category::Transient);
        assert!(went.supervised.posted(&["❌", "spark", "10s"]), "{}", went.story());
        went.assert_backs_off(WaitReason::Backoff(Category::Transient));
    });
}

#[test]
fn stream_that_is_cut() {
    alone("stream_that_is_cut", || async {
        let went = session(Scenario::Cut, |_| {}).await;
        went.assert_category(Category::Transient);
        assert!(went.requests >= 2, "it was tried again");
        went.assert_backs_off(WaitReason::Backoff(Category::Transient));
    });
}

/// The model's address refuses connections: the CLI would try for ever.
#[test]
fn nobody_there() {
    alone("nobody_there", || async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut api = ModelApi::start(Scenario::Success).await;
        api.url = "http://127.0.0.1:9".to_owned();
        let went = crate::agent_rig::session(&api, agent(&api, folder.path())).await;
        went.assert_category(Category::Transient);
        went.assert_backs_off(WaitReason::Backoff(Category::Transient));
    });
}

#[test]
fn stream_that_hangs() {
    alone("stream_that_hangs", || async {
        let went = session(Scenario::Hang, |_| {}).await;
        went.assert_category(Category::Hung);
        assert!(went.clock_ran_out, "{}", went.story());
        // The interrupt works even then: nothing had to be killed.
        assert_eq!(went.outcome.exit, Some(Exit::Code(0)), "{}", went.story());
        went.assert_backs_off(WaitReason::Backoff(Category::Hung));
    });
}

#[test]
fn answer_that_never_begins() {
    alone("answer_that_never_begins", || async {
        let went = session(Scenario::Silent, |_| {}).await;
        went.assert_category(Category::Hung);
        assert!(went.clock_ran_out, "{}", went.story());
        went.assert_backs_off(WaitReason::Backoff(Category::Hung));
    });
}

#[test]
fn too_many_turns() {
    alone("too_many_turns", || async {
        let went = session(Scenario::EndlessTools, |spec| {
            spec.max_turns = 2;
            spec.permissions = Permissions::Full;
        })
        .await;
        went.assert_category(Category::MaxTurns);
        assert_eq!(*went.phase(), Phase::Starting { session: SessionId(2) }, "{}", went.story());
    });
}

#[test]
fn permission_is_asked_for_and_answered() {
    alone("permission_is_asked_for_and_answered", || async {
        let (yes, no) = (AskAnswer::Allow { always: false }, AskAnswer::Deny);
        for (autonomy, answer, made) in [
            (Autonomy::Human, Some(yes), true),
            (Autonomy::Human, Some(no), false),
            (Autonomy::Strict, None, false),
            (Autonomy::Full, None, true),
        ] {
            let api = ModelApi::start(Scenario::Asks { command: "touch made" }).await;
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut spec = agent(&api, folder.path());
            (spec.permissions, spec.autonomy) = (Permissions::ReadOnly, autonomy);
            let (file, asked) = (spec.workspace.join("made"), answer.is_some());
            let went = session_answered(&api, spec, answer).await;
            went.assert_category(Category::Success);
            assert_eq!(file.exists(), made, "{autonomy:?}: {}", went.story());
            assert_eq!(went.supervised.posted(&["⚙️", "asks for permission"]), asked, "{}", went.story());
        }
    });
}

#[test]
fn what_is_dangerous_is_asked_whatever_the_autonomy() {
    alone("what_is_dangerous_is_asked_whatever_the_autonomy", || asks_what_is_dangerous(agent));
}

#[test]
fn message_in_mid_turn() {
    alone("message_in_mid_turn", || async {
        takes_a_message_in_mid_turn("sleep 4", agent).await;
    });
}

#[test]
fn stop_in_mid_tool() {
    alone("stop_in_mid_tool", || async {
        let command = "setsid sleep 600 & sleep 600";
        leaves_nothing_when_it_is_stopped_in_mid_tool(command, agent).await;
    });
}

#[test]
fn conversation_that_goes_on_and_one_that_is_gone() {
    alone("conversation_that_goes_on_and_one_that_is_gone", || async {
        let api = ModelApi::start(Scenario::Success).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let spec = agent(&api, folder.path());
        let trees = ProcessTrees::new().expect("this process can adopt");
        let run = async |conversation: Option<&str>, prompt: &str| {
            let (conversation, prompt) = (conversation.map(str::to_owned), prompt.to_owned());
            let said =
                signals(Launch { conversation, prompt, ..a_launch(spec.clone()) }, &trees, |_, _| ()).await;
            let outcome = ended(&said).0;
            assert_eq!(outcome.category, Category::Success, "{said:#?}");
            assert_eq!(outcome.usage.input_tokens, 1200, "each session counts its own");
            conversation_of(&said)
        };
        let first = run(None, "The word is heron.").await;
        assert_eq!(run(Some(&first), "What is the word?").await, first);
        assert!(api.last().contains("The word is heron."), "what was said before is still known");
        let gone = "01a1fd2f-8e4d-7c91-bf85-a5d228071427";
        let anew = run(Some(gone), "Hello?").await;
        assert!(anew != gone && anew != first);
        assert!(!api.last().contains("heron"));
    });
}

#[test]
fn killed_in_mid_tool_and_resumed() {
    alone("killed_in_mid_tool_and_resumed", || async {
        crate::agent_rig::goes_on_after_it_was_killed_in_mid_tool("sleep 600", agent, |_| ()).await;
    });
}

/// Questions of the CLI to people, and the answers that its model reads.
#[test]
fn its_questions_are_answered_by_people_alone() {
    alone("its_questions_are_answered_by_people_alone", || async {
        let calls = &[(
            "request_user_input",
            r#"{"questions":[{"id":"db","header":"DB","question":"Which database?","options":[
                {"label":"Postgres","description":"a server"},{"label":"SQLite","description":"a file"}]}]}"#,
        )];
        for (answer, read) in [("2", "SQLite"), ("neither of them", "neither of them")] {
            let api = ModelApi::start(Scenario::Calls { calls }).await;
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut spec = agent(&api, folder.path());
            spec.autonomy = Autonomy::Full;
            let answer = AskAnswer::Text { text: answer.to_owned() };
            let went = session_answered(&api, spec, Some(answer)).await;
            went.assert_category(Category::Success);
            assert!(
                went.supervised.posted(&["asks question", "Choose one by its number"]),
                "{}",
                went.story()
            );
            let outputs: serde_json::Value = serde_json::from_str(&api.last()).expect("JSON");
            let inputs = outputs["input"].as_array().expect("a list");
            let output =
                inputs.iter().find(|item| item["type"] == "function_call_output").expect("an output");
            assert!(output.to_string().contains(read), "{read} reaches the model: {output}");
        }
    });
}

/// In its mode for plans what it proposes is shown; a turn of its own carries it out.
#[test]
fn a_plan_is_shown_sent_back_and_approved() {
    alone("a_plan_is_shown_sent_back_and_approved", || async {
        let texts = &[
            "Here it is.\n<proposed_plan>\n1. Look.\n2. Leap.\n</proposed_plan>\n",
            "Then so.\n<proposed_plan>\n1. Look at the herons.\n2. Leap.\n</proposed_plan>\n",
        ];
        let plans = ["1. Look.\n2. Leap.", "1. Look at the herons.\n2. Leap."];
        let scenario = Scenario::Plans { texts, command: "touch made" };
        begins_with_a_plan(scenario, agent, plans).await;
    });
}

#[test]
fn a_picture() {
    alone("a_picture", || is_shown_a_picture(agent));
}
