//! The real Claude Code at the pinned version, through the real driver, against a model API of the tests' own.
//!
//! Each test runs again inside a network namespace that has loopback and nothing else, with an empty home and a dummy
//! key: whatever the CLI tries to reach, it cannot leave the machine. What the driver reports goes through the core, so
//! that the post and the next step are checked together with the category.
//!
//! `scripts/test` installs the CLI; `HERDER_TEST_TOOLS` names another folder than `target/test-tools` for it.

#[path = "../sim/model_api.rs"]
mod model_api;
mod rig;

use std::process::Command;

use herder::clock;
use herder::core::agent::Phase;
use herder::core::event::WaitReason;
use herder::core::id::{SessionId, WorkId};
use herder::core::input::Signal;
use herder::core::outcome::{Category, Outcome};
use herder::core::spec::Permissions;
use herder::core::time::Timestamp;
use herder::core::work::TaskEnd;
use herder::runtime::{Driver, Launch, Order, ProcessTrees, Report, launch};
use model_api::{ANSWER, ModelApi, Scenario};
use rig::{PATIENCE, a_launch, agent, alone, cli, refuses, session};

#[test]
fn the_version_is_the_pinned_one() {
    let script = include_str!("../../scripts/test");
    let pinned = script.lines().find_map(|line| line.strip_prefix("claude_version=")).expect("it is pinned");
    let output = Command::new(cli()).arg("--version").env_clear().output().expect("the CLI runs");
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(version.starts_with(pinned), "{version} is not {pinned}");
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
        let until = Timestamp::from_seconds(resets_at);
        assert_eq!(*went.phase(), Phase::Waiting { until, reason: WaitReason::RateLimit });
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

/// Sees a session through without a core. What it reported.
async fn signals(what: Launch, trees: &ProcessTrees, mut then: impl FnMut(&Signal, &Driver)) -> Vec<Signal> {
    let mut driver = launch(what, trees.clone());
    let mut signals = Vec::new();
    loop {
        let report = tokio::time::timeout(PATIENCE, driver.reports.recv()).await;
        let Some(report) = report.expect("the session ends in time") else { return signals };
        let Report::Signal(signal) = report else { continue };
        if matches!(signal, Signal::Spawned { .. }) {
            driver.orders.send(Order::Go).await.expect("the driver listens");
        }
        then(&signal, &driver);
        signals.push(signal);
    }
}

fn ended(signals: &[Signal]) -> (&Outcome, &[u32]) {
    match signals.last() {
        Some(Signal::Ended { outcome, survivors }) => (outcome, survivors),
        _ => panic!("a session ends with its outcome, not with {signals:#?}"),
    }
}

/// Gives `order` as soon as the tool runs.
fn once_a_tool_runs(driver: &Driver, order: Order) {
    let (mut live, orders) = (driver.live.clone(), driver.orders.clone());
    tokio::spawn(async move {
        live.wait_for(|live| live.tool.is_some()).await.expect("the session runs");
        orders.send(order).await.expect("the driver listens");
    });
}

#[test]
fn message_in_mid_turn() {
    alone("message_in_mid_turn", || async {
        // The CLI refuses to run a bare `sleep`.
        let command = "python3 -c 'import time; time.sleep(4)'";
        let api = ModelApi::start(Scenario::OneTool { command }).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        spec.permissions = Permissions::Full;
        let trees = ProcessTrees::new().expect("this process can adopt");
        let said = signals(a_launch(spec), &trees, |signal, driver| {
            if matches!(signal, Signal::Ready { .. }) {
                once_a_tool_runs(
                    driver,
                    Order::Steer { work: WorkId(7), text: "look left first".to_owned() },
                );
            }
        })
        .await;
        let (outcome, survivors) = ended(&said);
        assert_eq!((outcome.category, survivors.len()), (Category::Success, 0), "{said:#?}");
        assert!(said.contains(&Signal::Steered { work: WorkId(7) }), "{said:#?}");
        assert!(api.last().contains("look left first"), "the model was told");
        assert_eq!(api.messages(), 2, "in the same turn");
    });
}

#[test]
fn stop_in_mid_tool() {
    alone("stop_in_mid_tool", || async {
        let command =
            "setsid python3 -c 'import time; time.sleep(600)' & python3 -c 'import time; time.sleep(600)'";
        let api = ModelApi::start(Scenario::OneTool { command }).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        spec.permissions = Permissions::Full;
        let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
        let said = signals(a_launch(spec), &trees, |signal, driver| {
            if matches!(signal, Signal::Ready { .. }) {
                once_a_tool_runs(driver, Order::Stop);
            }
        })
        .await;
        let (outcome, survivors) = ended(&said);
        assert_eq!((outcome.category, survivors.len()), (Category::Interrupted, 0), "{said:#?}");
        let marker = format!("test-{}/", std::process::id());
        assert_eq!(trees.count_marked(&marker).await, 0);
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
            let named = said.iter().find_map(|signal| match signal {
                Signal::Ready { conversation } => conversation.clone(),
                _ => None,
            });
            let processes = said.iter().filter(|signal| matches!(signal, Signal::Spawned { .. })).count();
            (named.expect("it names its conversation"), processes)
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
