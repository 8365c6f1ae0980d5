//! Webhooks and the dead man's switch, from an agent's event to the server that receives it.

pub(crate) mod receiver;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Password, Server};
use herder::config::{DeadMan, Webhook};
use herder::core::hook::HookEvent;
use herder::core::id::NetworkName;
use herder::core::link::LinkState;
use herder::webhook::{self, Answer, Client, Format, SigningKey};
use serde_json::{Value, json};

use crate::agent_rig::tools;
use crate::kill::Running;
use crate::stage::{self, Person, Stage};
use receiver::{Receiver, Reply, Told};

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub(crate) fn endpoint(name: &str, receiver: &Receiver) -> Webhook {
    Webhook {
        name: NetworkName(format!("webhook:{name}")),
        url: receiver.url().into(),
        format: Format::Json,
        secret: None,
        events: HookEvent::ALL.into_iter().collect(),
        allow_private: true,
    }
}

/// Fails when its work says so.
const WORKER: &str =
    "line=$(tail -n 1); case $line in *break*) echo 'the disk is on fire' >&2; exit 3;; esac; echo done";

/// A herder with one agent and these endpoints, and alice on the embedded server.
struct Scene {
    alice: Person,
    stage: Stage,
    server: Server,
    _dir: tempfile::TempDir,
}

impl Scene {
    async fn open(webhooks: Vec<Webhook>, deadman: Option<DeadMan>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = stage::server().await;
        let mut alice = stage::server_person(&server, "alice", &["#spark", "#alerts"]).await;
        let agents = vec![stage::shell("spark", dir.path(), WORKER)];
        let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], agents);
        config.webhooks = webhooks;
        config.deadman = deadman;
        let stage = Stage::open(config, stage::inside(&server)).await;
        alice.reaches("herder", "#spark").await;
        Self { alice, stage, server, _dir: dir }
    }
}

/// Returns whether the reference library accepts a request as herder's.
pub(crate) fn verifies(told: &Told, body: &[u8]) -> bool {
    const SCRIPT: &str = "import json, sys\n\
        from standardwebhooks.webhooks import Webhook, WebhookVerificationError\n\
        told = json.load(sys.stdin)\n\
        try:\n    Webhook(told['secret']).verify(told['body'], told['headers'])\n\
        except WebhookVerificationError:\n    sys.exit(9)\n";
    let python = tools().join("standardwebhooks/bin/python");
    let mut child = Command::new(&python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}; scripts/test installs it", python.display()));
    let body = String::from_utf8(body.to_vec()).expect("JSON is text");
    let input = json!({ "secret": SECRET, "body": body, "headers": told.headers });
    child.stdin.take().expect("it is piped").write_all(input.to_string().as_bytes()).expect("it reads");
    match child.wait().expect("it ends").code() {
        Some(0) => true,
        Some(9) => false,
        other => panic!("the library could not be asked: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_to_an_agent_is_told_in_three_forms_and_signed() {
    let mut json = Receiver::open([]).await;
    let (mut discord, mut slack) = (Receiver::open([]).await, Receiver::open([]).await);
    let key = Some(SigningKey::new(SECRET).expect("a secret"));
    let webhooks = vec![
        Webhook { secret: key, ..endpoint("json", &json) },
        Webhook { format: Format::Discord, ..endpoint("discord", &discord) },
        Webhook { format: Format::Slack, events: [HookEvent::Complete].into(), ..endpoint("slack", &slack) },
    ];
    let mut scene = Scene::open(webhooks, None).await;
    scene.alice.say("#spark", "break <!channel> @everyone").await;
    let error = json.next().await;
    assert_eq!(error.line, "POST /hook HTTP/1.1");
    assert_eq!(error.headers["content-type"], "application/json");
    let mut body = error.json();
    let id = body["id"].take().as_str().expect("an id").to_owned();
    assert!(id.starts_with("evt_"), "{id}");
    assert_eq!(error.headers["webhook-id"], id);
    assert!(body["time"].take().as_str().is_some_and(|time| time.ends_with('Z')), "{body}");
    assert_eq!(body["event"], "agent_error");
    assert_eq!(body["agent"], "spark");
    assert_eq!(body["task"]["text"], "break <!channel> @everyone");
    assert!(body["text"].as_str().is_some_and(|text| text.contains("the disk is on fire")), "{body}");
    assert!(verifies(&error, &error.body), "the signature is herder's");
    let forged = String::from_utf8(error.body.clone()).expect("text").replace("spark", "flint");
    assert!(!verifies(&error, forged.as_bytes()), "a forged body is not");

    let shown = discord.next().await.json();
    assert!(shown["content"].as_str().is_some_and(|text| text.contains("**spark** crashed")), "{shown}");
    assert_eq!(shown["allowed_mentions"], json!({ "parse": [] }));

    scene.alice.say("#spark", "@spark abort").await;
    scene.alice.say("#spark", "go on").await;
    assert_eq!(json.next().await.event().1, "agent_complete");
    let shown = slack.next().await.json();
    assert!(shown["text"].as_str().is_some_and(|text| text.starts_with("✅ spark completed")), "{shown}");
    scene.stage.close().await;
    assert!(slack.rest().is_empty(), "it is told of completions alone");
    assert!(json.rest().is_empty(), "one request per event");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_does_not_arrive_is_sent_again_before_those_after_it() {
    let mut receiver = Receiver::open([
        Reply::Status(503, Vec::new()),
        Reply::Status(302, vec![("location", "http://127.0.0.1:9/".to_owned())]),
    ])
    .await;
    let mut scene = Scene::open(vec![endpoint("it", &receiver)], None).await;
    scene.alice.say("#spark", "one").await;
    let first = receiver.next().await.event();
    let connecting = |state: &LinkState| matches!(state, LinkState::Connecting { .. });
    let down = scene.stage.link("webhook:it", connecting).await;
    assert!(format!("{down:?}").contains("503"), "{down:?}");
    scene.alice.hears("#spark", "✅ spark completed").await;
    scene.alice.say("#spark", "two").await;
    scene.alice.hears("#spark", "✅ spark completed").await;
    assert_eq!(receiver.next().await.event(), first, "the same event, by the same id");
    assert_eq!(receiver.next().await.event(), first, "a redirect is no arrival, and not followed");
    let second = receiver.next().await.event();
    assert_ne!(second.0, first.0);
    scene.stage.link("webhook:it", |state| matches!(state, LinkState::Up { .. })).await;
    scene.stage.close().await;
    assert!(receiver.rest().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_gone_is_told_nothing_more_and_that_is_said_once() {
    let mut receiver = Receiver::open([Reply::Status(410, Vec::new())]).await;
    let mut other = Receiver::open([]).await;
    let mut scene = Scene::open(vec![endpoint("it", &receiver), endpoint("other", &other)], None).await;
    scene.alice.say("#spark", "one").await;
    receiver.next().await;
    let line = scene.alice.hears("#alerts", "Webhook it").await;
    assert!(line.contains("is gone: it answered with status 410 Gone"), "{line}");
    assert!(line.contains("restart herder"), "{line}");
    scene.alice.say("#spark", "two").await;
    other.next().await;
    other.next().await;
    let refused = |state: &LinkState| matches!(state, LinkState::Refused { .. });
    scene.stage.link("webhook:it", refused).await;
    let said = scene.alice.heard_in("#alerts").into_iter().filter(|line| line.contains("Webhook")).count();
    assert_eq!(said, 1);
    scene.stage.close().await;
    assert!(receiver.rest().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_does_not_answer_is_said_to_be_a_webhook() {
    let mut receiver = Receiver::open(vec![Reply::Status(500, Vec::new()); 5]).await;
    let mut scene = Scene::open(vec![endpoint("it", &receiver)], None).await;
    scene.alice.say("#spark", "one").await;
    let line = scene.alice.hears("#alerts", "Webhook it").await;
    assert!(line.contains("has not taken what it is sent in 5 attempts"), "{line}");
    for _ in 0..6 {
        receiver.next().await;
    }
    scene.alice.hears("#alerts", "Webhook it takes what it is sent again").await;
    scene.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herder_that_was_killed_before_the_answer_sends_the_same_event_again() {
    let mut receiver = Receiver::open([Reply::Silence]).await;
    // herder comes in from outside here.
    let options = embedded_ircd::Options {
        accounts: vec![("alice".to_owned(), Password::of(stage::ALICE))],
        guests: true,
        ..embedded_ircd::Options::default()
    };
    let server = Server::start(options).await.unwrap();
    let mut alice = stage::server_person(&server, "alice", &["#spark"]).await;
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("bot.toml");
    let text = format!(
        "data_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\nnick = \"bot\"\n\
         [access]\nadmins = [\"irc:test:alice\"]\n\
         [[webhook]]\nname = \"it\"\nurl = \"{}\"\nallow_private = true\n\
         [[agent]]\nname = \"spark\"\nruntime = \"command\"\ncommand = [\"true\"]\nworkspace = \"{}\"\n",
        server.address().port(),
        receiver.url(),
        dir.path().display()
    );
    std::fs::write(&config, text).unwrap();
    let running = Running::start(dir.path(), &config, &[]);
    alice.reaches("bot", "#spark").await;
    alice.say("#spark", "one").await;
    let first = receiver.next().await.event();
    assert_eq!(first.1, "agent_complete");
    drop(running);
    let _running = Running::start(dir.path(), &config, &[]);
    assert_eq!(receiver.next().await.event(), first, "whoever receives it can tell that it is the same");
    alice.reaches("bot", "#spark").await;
    alice.say("#spark", "two").await;
    let second = receiver.next().await.event();
    assert_ne!(second.0, first.0, "what was answered is not sent again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_not_gone_to_by_number_or_by_name() {
    let mut receiver = Receiver::open([]).await;
    let port = receiver.address.port();
    for (host, said) in [("127.0.0.1", "127.0.0.1 is a private"), ("localhost", "localhost leads to")] {
        let url = format!("http://{host}:{port}/");
        let settings = Webhook { url: url.clone().into(), allow_private: false, ..endpoint("it", &receiver) };
        let refused = webhook::examine(&settings).await.expect_err("nobody goes there");
        assert!(refused.contains(said) && refused.contains("allow_private = true"), "{refused}");
        let allowed = webhook::examine(&Webhook { allow_private: true, ..settings }).await;
        assert_eq!(allowed.as_deref(), Ok("webhook:it took the test event, with status 204"));
        assert_eq!(receiver.next().await.event().1, "test", "{url}");
    }
    assert!(receiver.rest().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_waited_for_as_long_as_it_may_take_and_left_alone_as_long_as_it_asks() {
    let receiver =
        Receiver::open([Reply::Silence, Reply::Status(429, vec![("retry-after", "7".to_owned())])]).await;
    let client = Client::new(true, Duration::from_millis(300)).unwrap();
    let late = client.post(&receiver.url(), b"{}".to_vec(), Vec::new()).await;
    assert_eq!(late, Answer::Later { reason: "it did not answer in time".to_owned(), after: None });
    let patient = Client::new(true, stage::PATIENCE).unwrap();
    let busy = patient.post(&receiver.url(), b"{}".to_vec(), Vec::new()).await;
    let reason = "it answered with status 429 Too Many Requests".to_owned();
    assert_eq!(busy, Answer::Later { reason, after: Some(Duration::from_secs(7)) });
    assert_eq!(webhook::TIMEOUT, Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dead_mans_switch_is_held_while_a_network_is_up() {
    const EVERY: Duration = Duration::from_millis(200);
    let mut page = Receiver::open([]).await;
    let deadman = DeadMan { url: page.url().into(), every: EVERY, allow_private: true };
    let scene = Scene::open(Vec::new(), Some(deadman)).await;
    assert_eq!(page.next().await.line, "GET /hook HTTP/1.1");
    page.next().await;
    scene.server.stop().await;
    scene.stage.link("demo", |state| !matches!(state, LinkState::Up { .. })).await;
    // One may have been on its way; that none follows can only be waited for.
    tokio::time::timeout(EVERY * 2, page.next()).await.ok();
    page.rest();
    assert!(
        tokio::time::timeout(EVERY * 5, page.next()).await.is_err(),
        "a herder that nobody hears is silent"
    );
    scene.stage.close().await;
}

/// Runs `herder check` on a configuration.
fn check(dir: &Path, text: &str, more: &[&str]) -> (Option<i32>, String) {
    std::fs::write(dir.join("bot.toml"), text).expect("the file is written");
    let output = Command::new(env!("CARGO_BIN_EXE_herder"))
        .arg("check")
        .args(more)
        .current_dir(dir)
        .env("HOOK_SECRET", SECRET)
        .env("HOOK_URL", "ftp://example.org/a-password")
        .output()
        .expect("the binary starts");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_sends_a_test_event_to_every_endpoint() {
    let mut good = Receiver::open([]).await;
    let bad = Receiver::open([Reply::Status(404, Vec::new())]).await;
    let text = format!(
        "[access]\nviewers = [\"*\"]\n[[webhook]]\nname = \"good\"\nurl = \"{}\"\nsecret = {{ env = \"HOOK_SECRET\" }}\nallow_private = true\n\
         [[webhook]]\nname = \"bad\"\nurl = \"{}\"\nallow_private = true\n",
        good.url(),
        bad.url()
    );
    let checked = tokio::task::spawn_blocking(move || {
        let dir = tempfile::tempdir().expect("a folder");
        check(dir.path(), &text, &["--webhooks"])
    });
    let (code, said) = checked.await.expect("it was run");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("ok    webhook:good took the test event, with status 204\n"), "{said}");
    assert!(said.contains("FAIL  webhook:bad: it answered with status 404 Not Found\n"), "{said}");
    let told = good.next().await;
    assert!(verifies(&told, &told.body));
    assert_eq!(told.json()["agent"], Value::Null);
}

#[test]
fn every_mistake_in_a_webhook_is_reported_at_once_and_no_address_is_repeated() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = "[access]\nviewers = [\"*\"]\n\
        [[webhook]]\nurl = \"https://example.org/a-password\"\nevents = [\"agent_eror\"]\nformat = \"xml\"\n\
        [[webhook]]\nurl = { env = \"HOOK_URL\" }\nname = \"a b\"\nsecret = { env = \"HOOK_URL\" }\n\
        [[webhook]]\nurl = \"http://10.0.0.7/\"\nevents = []\n\
        [[webhook]]\nurl = \"https://example.org/another\"\n\
        [[webhook]]\nname = \"nowhere\"\n\
        [deadman]\nevery = \"10ms\"\n";
    let (code, said) = check(dir.path(), text, &["--offline"]);
    assert_eq!(code, Some(78));
    insta::assert_snapshot!(said, @r#"
    bot.toml:5: [[webhook]] events: "agent_eror" is not one of agent_spiraling, agent_error, agent_question, agent_timeout, agent_complete, agent_escalation, agent_resumed, task_review, task_accepted, task_rejected or task_merged; did you mean "agent_error"?
    bot.toml:6: [[webhook]] format: "xml" is not one of json, discord or slack
    bot.toml:8: [webhook.a b] url: this is no address; write one that starts with https:// or http://
    bot.toml:9: [webhook.a b] name: "a b" cannot name a webhook; use up to 60 letters, digits, dots and hyphens
    bot.toml:10: [webhook.a b] secret: the secret is not base64, as Standard Webhooks have it; make one with: echo whsec_$(openssl rand -base64 32)
    bot.toml:12: [[webhook]] url: 10.0.0.7 is a private address; allow_private = true lets herder go there
    bot.toml:13: [[webhook]] events: the list is empty, so that nothing is sent; take it out for all events
    bot.toml:14: [[webhook]] name: the webhook "example.org" is already in line 3; give this one another name
    bot.toml:16: [webhook.nowhere] url: the address is missing: whom it tells, e.g. url = "https://example.org/hook"
    bot.toml:18: [deadman] url: the address is missing: which page is asked for
    bot.toml:19: [deadman] every: "10ms" is too short; use at least 1s
    11 problems in bot.toml
    "#);
}
