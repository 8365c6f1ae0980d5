//! The real Claude Code at the pinned version; see `agent_rig`.

use std::path::{Path, PathBuf};

use herder::clock;
use herder::core::agent::Phase;
use herder::core::ask::{AskAnswer, Told};
use herder::core::event::WaitReason;
use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::input::Signal;
use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Autonomy, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::core::work::TaskEnd;
use herder::runtime::{Launch, Order, ProcessTrees};

use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::agent_rig::{
    DANGEROUS, Went, a_launch, asks_what_is_dangerous, assert_pinned, begins_with_a_plan, conversation_of,
    ended, is_shown_a_picture, leaves_nothing_when_it_is_stopped_in_mid_tool, refuses, session_against,
    session_answered, signals, takes_a_message_in_mid_turn, tools,
};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("claude_cli", name, test);
}

/// The CLI's native binary, as `scripts/test` installs it.
pub(crate) fn cli() -> PathBuf {
    let packages = tools().join("claude/node_modules/@anthropic-ai");
    let platform = |name: &str| name.starts_with("claude-code-linux-") && !name.ends_with("-musl");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    found
        .filter(|entry| entry.file_name().to_str().is_some_and(platform))
        .map(|entry| entry.path().join("claude"))
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!("no claude below {}; run scripts/test, which installs it", packages.display())
        })
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

/// An agent whose home and workspace are below `folder`, and whose model is `api`.
pub(crate) fn agent(api: &ModelApi, folder: &Path) -> AgentSpec {
    let (home, workspace) = (folder.join("home"), folder.join("work"));
    for path in [&home, &workspace] {
        std::fs::create_dir(path).expect("a folder is made");
    }
    let name = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(name, Runtime::Claude, workspace);
    spec.command = vec![cli().display().to_string()];
    spec.inherit_env = vec!["PATH".to_owned()];
    for (variable, value) in [
        ("HOME", home.display().to_string()),
        ("ANTHROPIC_BASE_URL", api.url.clone()),
        ("ANTHROPIC_API_KEY", "sk-ant-api03-dummy".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ] {
        spec.env.insert(variable.to_owned(), value);
    }
    spec
}

#[test]
fn the_version_is_the_pinned_one() {
    assert_pinned(&cli(), "claude_version");
}

#[test]
fn success() {
    alone("success", || async {
        let went = session(Scenario::Success, |_| {}).await;
        went.assert_category(Category::Success);
        assert_eq!(went.outcome.text.as_deref(), Some(ANSWER));
        assert!(
            went.outcome.usage.input_tokens >= 1200 && went.outcome.usage.cost_usd > 0.0,
            "{}",
            went.story()
        );
        assert!(went.supervised.posted(&["✅", "spark"]), "{}", went.story());
        assert!(went.supervised.posted(&[ANSWER]), "{}", went.story());
        assert_eq!(*went.phase(), Phase::Idle);
        assert_eq!(went.supervised.agent.finished[0].end, TaskEnd::Done);
    });
}

#[test]
fn rate_limit_with_a_long_retry_after() {
    alone("rate_limit_with_a_long_retry_after", || async {
        let scenario = Scenario::Refuses {
            status: 429,
            headers: vec![("retry-after".to_owned(), "3600".to_owned())],
            kind: "rate_limit_error",
            message: "This request would exceed your rate limit.",
        };
        let went = session(scenario, |_| {}).await;
        went.assert_category(Category::RateLimit);
        // The CLI keeps the header to itself: without a time it is backoff.
        assert_eq!(went.outcome.resets_at, None);
        assert!(went.supervised.posted(&["⏳", "spark", "10s"]), "{}", went.story());
        went.assert_backs_off(WaitReason::RateLimit);
    });
}

#[test]
fn usage_limit_of_a_subscription() {
    alone("usage_limit_of_a_subscription", || async {
        let resets_at = clock::now().as_millis() / 1000 + 3600;
        let header =
            |name: &str, value: &str| (format!("anthropic-ratelimit-unified-{name}"), value.to_owned());
        let scenario = Scenario::Refuses {
            status: 429,
            headers: vec![
                header("status", "rejected"),
                header("reset", &resets_at.to_string()),
                header("representative-claim", "five_hour"),
                header("5h-status", "rejected"),
                header("5h-reset", &resets_at.to_string()),
                header("5h-utilization", "1.0"),
                header("overage-status", "rejected"),
            ],
            kind: "rate_limit_error",
            message: "This request would exceed your account's rate limit.",
        };
        let went = session(scenario, |spec| {
            spec.env.remove("ANTHROPIC_API_KEY");
            spec.env.insert("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), "sk-ant-oat01-dummy".to_owned());
        })
        .await;
        went.assert_category(Category::Quota);
        assert_eq!(went.outcome.resets_at, Some(Timestamp::from_seconds(resets_at)), "{}", went.story());
        assert!(went.supervised.posted(&["⏳", "spark"]), "{}", went.story());
        // Its account is closed until then, and its work waits for its turn.
        assert!(went.supervised.agent.wants().is_some(), "{}", went.story());
    });
}

#[test]
fn refused_credentials() {
    alone("refused_credentials", || async {
        let went = session(refuses(401, "authentication_error", "invalid x-api-key"), |_| {}).await;
        went.assert_category(Category::Auth);
        assert!(went.supervised.posted(&["🔐", "spark"]), "{}", went.story());
        went.assert_paused(Category::Auth);
    });
}

#[test]
fn credit_too_low() {
    alone("credit_too_low", || async {
        let message =
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.";
        let went = session(refuses(400, "invalid_request_error", message), |_| {}).await;
        went.assert_category(Category::Billing);
        assert!(went.supervised.posted(&["💳", "spark"]), "{}", went.story());
        went.assert_paused(Category::Billing);
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
        assert!(!went.supervised.posted(&["❌"]) && !went.supervised.posted(&["✅"]), "{}", went.story());
        // Silently on with the same task, at once.
        assert_eq!(*went.phase(), Phase::Starting { session: SessionId(2) }, "{}", went.story());
        assert_eq!(went.supervised.agent.failures, 0);
        assert!(went.requests >= 2, "{} requests", went.requests);
    });
}

#[test]
fn server_error() {
    alone("server_error", || async {
        let went = session(refuses(500, "api_error", "Internal server error"), |_| {}).await;
        went.assert_category(Category::Transient);
        assert!(went.supervised.posted(&["❌", "spark", "500", "10s"]), "{}", went.story());
        went.assert_backs_off(WaitReason::Backoff(Category::Transient));
    });
}

#[test]
fn stream_that_is_cut() {
    alone("stream_that_is_cut", || async {
        let went = session(Scenario::Cut, |_| {}).await;
        went.assert_category(Category::Transient);
        assert!(went.supervised.posted(&["❌", "spark", "10s"]), "{}", went.story());
        went.assert_backs_off(WaitReason::Backoff(Category::Transient));
    });
}

#[test]
fn stream_that_hangs() {
    alone("stream_that_hangs", || async {
        let went = session(Scenario::Hang, |_| {}).await;
        went.assert_category(Category::Hung);
        assert!(went.clock_ran_out, "{}", went.story());
        assert!(went.supervised.posted(&["❌", "spark", "10s"]), "{}", went.story());
        went.assert_backs_off(WaitReason::Backoff(Category::Hung));
    });
}

#[test]
fn unknown_model() {
    alone("unknown_model", || async {
        let went = session(refuses(404, "not_found_error", "model: nope"), |_| {}).await;
        went.assert_category(Category::Permanent);
        assert!(went.supervised.posted(&["🚫", "spark", "10s"]), "{}", went.story());
    });
}

#[test]
fn context_overflow() {
    alone("context_overflow", || async {
        let message = "prompt is too long: 210000 tokens > 200000 maximum";
        let went = session(refuses(400, "invalid_request_error", message), |_| {}).await;
        went.assert_category(Category::ContextOverflow);
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

/// A command is asked about even if the user's own settings allow it.
#[test]
fn what_is_dangerous_is_asked_whatever_the_autonomy() {
    alone("what_is_dangerous_is_asked_whatever_the_autonomy", || {
        asks_what_is_dangerous(|api, folder| {
            let spec = agent(api, folder);
            allows_every_command(folder);
            spec
        })
    });
}

/// Commands that no prefix rule matches, so that the CLI's own rules would let them pass.
const DISGUISED: [&str; 3] = [
    "git -C . push origin main; touch made",
    "mkdir -p gone && /bin/rm -r gone; touch made",
    "env -u X git push origin main; touch made",
];

/// A dangerous command is asked about even if the CLI itself allows removal of files, and the user's settings allow
/// every command.
#[test]
fn what_is_dangerous_is_asked_where_edits_are_accepted() {
    alone("what_is_dangerous_is_asked_where_edits_are_accepted", || async {
        for command in DANGEROUS.into_iter().chain(DISGUISED) {
            let api = ModelApi::start(Scenario::Asks { command }).await;
            let folder = tempfile::tempdir().expect("a temporary folder");
            let spec = agent(&api, folder.path());
            allows_every_command(folder.path());
            let file = spec.workspace.join("made");
            let went = session_answered(&api, spec, Some(AskAnswer::Deny)).await;
            went.assert_category(Category::Success);
            assert!(went.supervised.posted(&["⚙️", "always asked"]), "{command}: {}", went.story());
            assert!(!file.exists(), "{command}: {}", went.story());
        }
    });
}

/// The user's own settings, in their home.
fn allows_every_command(folder: &Path) {
    let settings = folder.join("home/.claude");
    std::fs::create_dir_all(&settings).expect("a folder is made");
    let allowed = r#"{"permissions":{"allow":["Bash"]}}"#;
    std::fs::write(settings.join("settings.json"), allowed).expect("a file can be written");
}

#[test]
fn message_in_mid_turn() {
    alone("message_in_mid_turn", || async {
        // The CLI refuses to run a bare `sleep`.
        let command = "python3 -c 'import time; time.sleep(4)'";
        takes_a_message_in_mid_turn(command, agent).await;
    });
}

#[test]
fn stop_in_mid_tool() {
    alone("stop_in_mid_tool", || async {
        let command =
            "setsid python3 -c 'import time; time.sleep(600)' & python3 -c 'import time; time.sleep(600)'";
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
            assert_eq!(ended(&said).0.category, Category::Success, "{said:#?}");
            // The CLI's own sums go on with the conversation; a session is charged for what is its own.
            let used = ended(&said).0.usage;
            assert_eq!((used.input_tokens, used.output_tokens), (1200, 30));
            assert!((used.cost_usd - 0.0054).abs() < 1e-9, "{used:?}");
            let processes = said.iter().filter(|signal| matches!(signal, Signal::Spawned { .. })).count();
            (conversation_of(&said), processes)
        };
        let (first, _) = run(None, "The word is heron.").await;
        assert_eq!(run(Some(&first), "What is the word?").await, (first.clone(), 1));
        assert!(api.last().contains("The word is heron."), "what was said before is still known");
        let gone = "00000000-0000-4000-8000-000000000000";
        let (anew, processes) = run(Some(gone), "Hello?").await;
        assert_eq!(processes, 2, "the first one did not know the conversation");
        assert!(anew != gone && anew != first);
        assert!(!api.last().contains("heron"));
    });
}

/// The cost limit of a session is given to each process, which counts from its own start: a conversation that has
/// cost more before is not ended for that.
#[test]
fn budget_of_a_conversation_that_goes_on() {
    alone("budget_of_a_conversation_that_goes_on", || async {
        let api = ModelApi::start(Scenario::Success).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        let trees = ProcessTrees::new().expect("this process can adopt");
        // An answer costs 0.0054.
        let mut conversation = None;
        for (budget, category) in [
            (0.008, Category::Success),
            (0.008, Category::Success),
            (0.008, Category::Success),
            (0.005, Category::Budget),
        ] {
            spec.max_budget_usd = budget;
            let what = Launch { conversation: conversation.clone(), ..a_launch(spec.clone()) };
            let said = signals(what, &trees, |_, _| ()).await;
            assert_eq!(ended(&said).0.category, category, "{said:#?}");
            conversation = Some(conversation_of(&said));
        }
    });
}

/// A message that came too late for a turn begins another one, in which herder is asked as in any other.
#[test]
fn message_at_the_end_of_a_turn() {
    alone("message_at_the_end_of_a_turn", || async {
        let api = ModelApi::start(Scenario::Held { command: "touch made" }).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        spec.permissions = Permissions::ReadOnly;
        let made = spec.workspace.join("made");
        let trees = ProcessTrees::new().expect("this process can adopt");
        let said = signals(a_launch(spec), &trees, |signal, driver| {
            let give = |order| driver.orders.try_send(order).expect("the driver listens");
            match signal {
                // The CLI takes it up when the turn that it has begun is over.
                Signal::Ready { .. } => {
                    give(Order::Steer {
                        work: WorkId(9),
                        text: "And touch it.".to_owned(),
                        files: Vec::new(),
                    });
                    api.release();
                }
                Signal::Asked { key, .. } => give(Order::Answer { key: *key, told: Told::Yes }),
                _ => {}
            }
        })
        .await;
        assert_eq!(ended(&said).0.category, Category::Success, "{said:#?}");
        assert!(said.contains(&Signal::Steered { work: WorkId(9) }), "{said:#?}");
        assert!(made.exists(), "it was asked, and answered: {said:#?}");
    });
}

#[test]
fn killed_in_mid_tool_and_resumed() {
    alone("killed_in_mid_tool_and_resumed", || async {
        // The CLI refuses to run a bare `sleep`.
        let command = "python3 -c 'import time; time.sleep(600)'";
        crate::agent_rig::goes_on_after_it_was_killed_in_mid_tool(command, agent, |_| ()).await;
    });
}

/// Questions of the CLI to people, and the answers that its model reads.
#[test]
fn its_questions_are_answered_by_people_alone() {
    alone("its_questions_are_answered_by_people_alone", || async {
        let calls = &[(
            "AskUserQuestion",
            r#"{"questions":[
                {"question":"Which database?","header":"DB","multiSelect":false,"options":[
                    {"label":"Postgres","description":"a server"},{"label":"SQLite","description":"a file"}]},
                {"question":"Which parts?","header":"Parts","multiSelect":true,"options":[
                    {"label":"Login","description":"who"},{"label":"Search","description":"what"}]}]}"#,
        )];
        for (answer, read) in [
            (Some("2"), &["\\\"Which database?\\\"=\\\"SQLite\\\"", "=\\\"Search\\\""][..]),
            (Some("neither of them"), &["=\\\"neither of them\\\""]),
        ] {
            for autonomy in [Autonomy::Human, Autonomy::Full] {
                let api = ModelApi::start(Scenario::Calls { calls }).await;
                let folder = tempfile::tempdir().expect("a temporary folder");
                let mut spec = agent(&api, folder.path());
                (spec.permissions, spec.autonomy) = (Permissions::Full, autonomy);
                let answer = answer.map(|text| AskAnswer::Text { text: text.to_owned() });
                let went = session_answered(&api, spec, answer).await;
                went.assert_category(Category::Success);
                assert!(
                    went.supervised.posted(&["asks question", "Choose one by its number"]),
                    "{}",
                    went.story()
                );
                assert!(went.supervised.posted(&["asks question", "Choose one or more"]), "{}", went.story());
                for words in read {
                    assert!(api.last().contains(words), "{words} reaches the model: {}", api.last());
                }
            }
        }
    });
}

/// The lines of a message say what was known when it began; what it came to is known when it ends.
#[test]
fn each_answer_counts_what_it_has_used() {
    alone("each_answer_counts_what_it_has_used", || async {
        let api = ModelApi::start(Scenario::Turns {
            count: 2,
            command: "echo on",
            tool: "irc_send",
            arguments: r#"{"text":"on"}"#,
        })
        .await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        spec.permissions = Permissions::Full;
        let trees = ProcessTrees::new().expect("this process can adopt");
        let said = signals(a_launch(spec), &trees, |_, _| ()).await;
        let (outcome, _) = ended(&said);
        assert_eq!((outcome.category, outcome.usage.output_tokens), (Category::Success, 120), "{said:#?}");
        let readings: Vec<_> = said
            .iter()
            .filter_map(|signal| match signal {
                Signal::Usage { reading } => Some((reading.turn.output_tokens, reading.usage.output_tokens)),
                _ => None,
            })
            .collect();
        assert_eq!(readings.last(), Some(&(30, 120)), "the last of four answers had 30: {readings:?}");
    });
}

/// The CLI takes the plan from a file that its model has written, and shows it with the question.
#[test]
fn a_plan_is_shown_sent_back_and_approved() {
    alone("a_plan_is_shown_sent_back_and_approved", || async {
        let calls = &[
            // An empty plan is sent back without a question.
            ("ExitPlanMode", "{}"),
            ("Write", r#"{"file_path":"$PLAN","content":"1. Look.\n2. Leap."}"#),
            ("ExitPlanMode", "{}"),
            ("Write", r#"{"file_path":"$PLAN","content":"1. Look at the herons.\n2. Leap."}"#),
            ("ExitPlanMode", "{}"),
            ("Bash", r#"{"command":"touch made","description":"does it"}"#),
        ];
        let plans = ["1. Look.\n2. Leap.", "1. Look at the herons.\n2. Leap."];
        begins_with_a_plan(Scenario::Calls { calls }, agent, plans).await;
    });
}

#[test]
fn a_picture() {
    alone("a_picture", || is_shown_a_picture(agent));
}
