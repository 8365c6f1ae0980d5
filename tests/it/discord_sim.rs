//! The simulated Discord itself, with the real client and with bare requests.

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::simulated_discord::{Discord, Effect, Fault, permission};
use crate::stage::{self, Door, Stage};

/// Bare requests, as any program could send them.
struct Raw {
    client: reqwest::Client,
    base: String,
    token: String,
}

impl Raw {
    fn new(sim: &Discord) -> Self {
        let agent = "DiscordBot (https://example.org, 1.0)";
        let client = reqwest::Client::builder().user_agent(agent).build().expect("a client");
        Self { client, base: format!("{}/api/v10", sim.api_url()), token: format!("Bot {}", sim.token()) }
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = request.header("authorization", &self.token);
        let request = if body.is_null() { request } else { request.json(body) };
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.json().await.unwrap_or_default())
    }

    async fn says(&self, channel: u64, body: Value) -> (StatusCode, Value) {
        self.send(Method::POST, &format!("/channels/{channel}/messages"), &body).await
    }
}

/// Returns the simulator's only violation, as `field: text`, and checks that it is recorded.
fn only_violation(sim: &Discord, part: &str) {
    let found = sim.expects_violation(part);
    assert_eq!(found.len(), 1, "{part:?} in {:?}", sim.violations());
    assert_eq!(sim.violations(), [] as [String; 0]);
}

#[tokio::test]
async fn what_discord_refuses_is_refused_and_recorded() {
    let cases = [
        (json!({ "content": "x".repeat(2001) }), 50035, "Must be 2000 or fewer"),
        (json!({ "content": " \n " }), 50006, "Cannot send an empty message"),
        (json!({ "content": 7 }), 50035, "/content: 7 is not of types"),
        (json!({ "content": "a", "nonce": "x".repeat(26) }), 50035, "/nonce"),
        (json!({ "content": "a", "embeds": [{ "fields": [{ "name": "a" }] }] }), 50035, "/embeds/0/fields/0"),
        (
            json!({ "content": "a", "components": [{ "type": 1, "components": [
            { "type": 2, "style": 1, "label": "a", "custom_id": "x".repeat(101) }] }] }),
            50035,
            "custom_id",
        ),
        (
            json!({ "content": "a", "components": [{ "type": 1, "components": [
            { "type": 2, "style": 1, "label": "a", "custom_id": "same" },
            { "type": 2, "style": 1, "label": "b", "custom_id": "same" }] }] }),
            50035,
            "cannot be duplicated",
        ),
        (
            json!({ "content": "a", "allowed_mentions": { "parse": ["users"], "users": ["1"] } }),
            50035,
            "mutually exclusive",
        ),
    ];
    for (body, code, part) in cases {
        let sim = Discord::builder().any_bot().start().await;
        let general = sim.channel("general").await.id;
        let (status, answer) = Raw::new(&sim).says(general, body).await;
        assert_eq!((status.as_u16(), &answer["code"]), (400, &json!(code)), "{answer}");
        only_violation(&sim, part);
    }
}

#[tokio::test]
async fn commands_are_held_to_the_rules_the_contract_lacks() {
    let option = |name: &str, required: bool| json!({ "type": 3, "name": name, "description": "d", "required": required });
    let cases = [
        (json!([{ "name": "Pause", "description": "d" }]), "Command name is invalid"),
        (json!([{ "name": "a", "description": "" }]), "/0/description"),
        (json!([{ "name": "a", "description": "x".repeat(101) }]), "/0/description"),
        (json!([{ "name": "a", "description": "d" }, { "name": "a", "description": "d" }]), "must be unique"),
        (
            json!([{ "name": "a", "description": "d", "options": [option("b", false), option("c", true)] }]),
            "Required options",
        ),
        (
            json!([{ "name": "a", "description": "d", "name_localizations": { "xx": "a" } }]),
            "one of the locales",
        ),
        (
            json!([{ "name": "a", "description": "d", "options": [{ "type": 3, "name": "b" }] }]),
            "/0/options/0",
        ),
        ((0..101).map(|n| json!({ "name": format!("c{n}"), "description": "d" })).collect(), "reached (100)"),
    ];
    for (body, part) in cases {
        let sim = Discord::builder().any_bot().start().await;
        let path = format!("/applications/{}/guilds/{}/commands", sim.bot_id(), sim.guild_id());
        let (status, answer) = Raw::new(&sim).send(Method::PUT, &path, &body).await;
        assert_eq!((status.as_u16(), &answer["code"]), (400, &json!(50035)), "{part}: {answer}");
        only_violation(&sim, part);
    }
}

#[tokio::test]
async fn who_may_not_is_told_so() {
    let sim = Discord::builder().any_bot().bot_permissions(permission::EVERYONE).start().await;
    let raw = Raw::new(&sim);
    let path = format!("/guilds/{}/channels", sim.guild_id());
    let (status, answer) = raw.send(Method::POST, &path, &json!({ "name": "spark" })).await;
    assert_eq!((status.as_u16(), &answer["code"]), (403, &json!(50013)));
    only_violation(&sim, "Missing Permissions");

    sim.overwrites("general", sim.guild_id(), 0, permission::VIEW_CHANNEL);
    let general = sim.channel("general").await.id;
    let (status, answer) = raw.says(general, json!({ "content": "a" })).await;
    assert_eq!((status.as_u16(), &answer["code"]), (403, &json!(50001)));
    only_violation(&sim, "Missing Access");

    let stranger = Raw { token: "Bot another".to_owned(), ..Raw::new(&sim) };
    let (status, _) = stranger.send(Method::GET, "/users/@me", &Value::Null).await;
    assert_eq!(status.as_u16(), 401);
    only_violation(&sim, "401");
}

#[tokio::test]
async fn a_violation_nobody_announced_fails_the_test() {
    let sim = Discord::builder().any_bot().start().await;
    let general = sim.channel("general").await.id;
    Raw::new(&sim).says(general, json!({})).await;
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(sim)));
    let said = ended.expect_err("it panics").downcast::<String>().expect("words");
    assert!(said.contains("Cannot send an empty message"), "{said}");
}

#[tokio::test]
async fn a_misspelt_field_is_a_warning() {
    let sim = Discord::builder().any_bot().start().await;
    let general = sim.channel("general").await.id;
    let body = json!({ "content": "a", "embeds": [{ "titel": "b" }], "allowed_mention": {} });
    let (status, _) = Raw::new(&sim).says(general, body).await;
    assert_eq!(status, StatusCode::OK);
    let warnings = sim.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings.iter().all(|line| line.contains("/embeds/0/titel") || line.contains("/allowed_mention"))
    );
}

#[tokio::test]
async fn a_nonce_that_is_enforced_makes_one_message_of_two() {
    let sim = Discord::builder().any_bot().start().await;
    let general = sim.channel("general").await.id;
    let raw = Raw::new(&sim);
    let lost = sim.inject(Fault::dropped(Effect::After).on("POST /channels/{channel_id}/messages"));
    let body = json!({ "content": "once", "nonce": "n1", "enforce_nonce": true });
    let url = format!("{}/channels/{general}/messages", raw.base);
    let answer = raw.client.post(url).header("authorization", &raw.token).json(&body).send().await;
    assert!(answer.is_err(), "the answer was dropped");
    lost.spent().await;
    let (status, message) = raw.says(general, body).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(sim.posts("general"), ["once"]);
    assert_eq!(message["id"], json!(sim.message_in("general", |_| true).await.id.to_string()));
}

#[tokio::test]
async fn topics_change_twice_in_ten_minutes() {
    let sim = Discord::builder().any_bot().start().await;
    let general = sim.channel("general").await.id;
    let raw = Raw::new(&sim);
    let path = format!("/channels/{general}");
    for (topic, wanted) in [("a", 200), ("b", 200), ("b", 200), ("c", 429)] {
        let (status, answer) = raw.send(Method::PATCH, &path, &json!({ "topic": topic })).await;
        assert_eq!(status.as_u16(), wanted);
        if wanted == 429 {
            assert!(answer["retry_after"].as_f64().expect("a number") > 500.0, "{answer}");
        }
    }
}

#[tokio::test]
async fn buckets_are_announced_and_enforced() {
    let sim = Discord::builder().any_bot().real_limits().start().await;
    let general = sim.channel("general").await.id;
    let raw = Raw::new(&sim);
    for number in 0..6 {
        let url = format!("{}/channels/{general}/messages", raw.base);
        let request = raw.client.post(url).header("authorization", &raw.token);
        let answer = request.json(&json!({ "content": number.to_string() })).send().await.expect("an answer");
        let header = |name: &str| answer.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(header("x-ratelimit-limit"), "5");
        assert_eq!(header("x-ratelimit-remaining"), 4_i32.saturating_sub(number).max(0).to_string());
        assert_eq!(answer.status().as_u16(), if number < 5 { 200 } else { 429 });
    }
    assert_eq!(sim.look(|state| state.limits.refused), 1);
}

#[tokio::test]
async fn files_are_kept_and_served() {
    let sim = Discord::builder().any_bot().start().await;
    let general = sim.channel("general").await.id;
    let raw = Raw::new(&sim);
    let form = reqwest::multipart::Form::new()
        .text(
            "payload_json",
            json!({ "content": "log", "attachments": [{ "id": 0, "filename": "a.txt" }] }).to_string(),
        )
        .part("files[0]", reqwest::multipart::Part::bytes(b"one\r\ntwo".to_vec()).file_name("a.txt"));
    let url = format!("{}/channels/{general}/messages", raw.base);
    let answer = raw
        .client
        .post(url)
        .header("authorization", &raw.token)
        .multipart(form)
        .send()
        .await
        .expect("an answer");
    let message: Value = answer.json().await.expect("a message");
    let url = message["attachments"][0]["url"].as_str().unwrap_or_else(|| panic!("a url in {message}"));
    let served = raw.client.get(url).send().await.expect("an answer").text().await.expect("text");
    assert_eq!(served, "one\r\ntwo");
}

#[tokio::test]
async fn history_is_read_from_both_ends() {
    let sim = Discord::builder().any_bot().start().await;
    let alice = sim.user("alice");
    let ids: Vec<u64> = (0..5).map(|n| alice.says("general", &n.to_string())).collect();
    let raw = Raw::new(&sim);
    let general = sim.channel("general").await.id;
    for (query, wanted) in [
        (format!("after={}&limit=2", ids[0]), "2 1"),
        (format!("before={}&limit=2", ids[4]), "3 2"),
        (format!("around={}&limit=3", ids[2]), "3 2 1"),
        ("limit=1".to_owned(), "4"),
    ] {
        let (_, list) =
            raw.send(Method::GET, &format!("/channels/{general}/messages?{query}"), &Value::Null).await;
        let found: Vec<&str> =
            list.as_array().expect("a list").iter().filter_map(|m| m["content"].as_str()).collect();
        assert_eq!(found.join(" "), wanted, "{query}");
    }
}

/// A bare connection to the gateway.
struct Wire(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Wire {
    async fn open(sim: &Discord) -> Self {
        let address = format!("{}/?v=10", sim.api_url().replacen("http", "ws", 1));
        let (socket, _) = connect_async(address).await.expect("a connection");
        Self(socket)
    }

    async fn says(&mut self, payload: Value) {
        self.0.send(Frame::Text(payload.to_string())).await.expect("it is sent");
    }

    /// Logs in; the id of the session and the last number.
    async fn identifies(&mut self, sim: &Discord) -> (String, u64) {
        self.says(json!({ "op": 2, "d": { "token": sim.token(), "intents": 1 | 1 << 9, "properties": {} } }))
            .await;
        let ready = self.hears("READY").await;
        let guild = self.hears("GUILD_CREATE").await;
        let session = ready["d"]["session_id"].as_str().expect("an id").to_owned();
        (session, guild["s"].as_u64().expect("a number"))
    }

    async fn resumes(&mut self, sim: &Discord, (session, since): &(String, u64)) {
        self.says(json!({ "op": 6, "d": { "token": sim.token(), "session_id": session, "seq": since } }))
            .await;
    }

    /// Returns the next payload.
    async fn next(&mut self) -> Value {
        match tokio::time::timeout(stage::PATIENCE, self.0.next()).await {
            Ok(Some(Ok(Frame::Text(text)))) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("a payload, not {other:?}"),
        }
    }

    /// Returns the next event of this name.
    async fn hears(&mut self, event: &str) -> Value {
        loop {
            let payload = self.next().await;
            if payload["t"] == event {
                return payload;
            }
        }
    }

    /// Closes and waits until the other end has, too.
    async fn leaves(mut self) {
        self.0.close(None).await.expect("it is closed");
        while self.0.next().await.is_some_and(|frame| frame.is_ok()) {}
    }
}

#[tokio::test]
async fn a_session_that_has_moved_is_not_ended_by_the_connection_it_left() {
    let sim = Discord::start().await;
    let mut former = Wire::open(&sim).await;
    let session = former.identifies(&sim).await;
    let mut latter = Wire::open(&sim).await;
    latter.resumes(&sim, &session).await;
    latter.hears("RESUMED").await;
    former.leaves().await;
    sim.user("alice").says("general", "still there?");
    assert_eq!(latter.hears("MESSAGE_CREATE").await["d"]["channel_id"], {
        json!(sim.channel("general").await.id.to_string())
    });
}

#[tokio::test]
async fn a_session_that_a_code_ends_is_over_before_the_client_hears_of_it() {
    let sim = Discord::start().await;
    let mut former = Wire::open(&sim).await;
    let session = former.identifies(&sim).await;
    sim.gateway().closes(4009);
    // The close frame is there when the connection ends, whatever the client has read of it.
    sim.gateway().silent().await;
    let mut latter = Wire::open(&sim).await;
    latter.resumes(&sim, &session).await;
    assert_eq!(latter.next().await["op"], 10);
    let refused = latter.next().await;
    assert_eq!((&refused["op"], &refused["d"]), (&json!(9), &json!(false)));
}

#[tokio::test]
async fn who_logs_in_twice_has_two_sessions_that_hear_the_same() {
    let sim = Discord::start().await;
    let (mut one, mut other) = (Wire::open(&sim).await, Wire::open(&sim).await);
    one.identifies(&sim).await;
    other.identifies(&sim).await;
    sim.user("alice").says("general", "to both");
    one.hears("MESSAGE_CREATE").await;
    other.hears("MESSAGE_CREATE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn herder_comes_in_by_both_doors() {
    for door in [Door::Plain, Door::Encrypted] {
        let sim = Discord::builder().any_bot().start().await;
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut config = stage::config(dir.path(), Vec::new(), Vec::new());
        config.discord = Some(stage::discord(&sim, door));
        let stage = Stage::open(config, herder::run::Options::default()).await;
        sim.ready().await;
        stage.close().await;
        assert_eq!(sim.warnings(), [] as [String; 0], "{door:?}");
    }
}

mod client;
