//! `irc_ask`: people are asked, and the answer comes back by number.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Client, at_work};
use crate::stage::{Scene, asking, inside, number_of, server, shell};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_asks_and_is_answered() {
    let (mut scene, mut client) = at_work(|_| {}).await;
    let call = json!({ "name": "irc_ask", "arguments": { "question": "Red or blue?" } });
    let waits = client.ask("tools/call", &call);
    let asked = scene.person.hears("#spark", "asks question").await;
    scene.person.hears("#spark", "Red or blue?").await;
    let number = number_of(&asked);
    // The only question that is open is what a plain line answers.
    scene.person.say("#spark", "blue, please").await;
    let (done, text) = super::told(&client.answer(waits).await);
    assert!(done && text == format!("alice (demo) answered question {number}:\nblue, please"), "{text}");
    let id: u64 = number.parse().expect("a number");
    let again = client.does("irc_ask", json!({ "id": id })).await;
    assert_eq!(again, text, "an answer can be read again");

    // A whisper ends a slice; the wait continues by number.
    let call = json!({ "name": "irc_ask", "arguments": { "question": "Now or later?" } });
    let waits = client.ask("tools/call", &call);
    let asked = scene.person.hears("#spark", "asks question").await;
    let number = number_of(&asked);
    scene.person.say("herder", "whisper spark be brief").await;
    let (done, text) = super::told(&client.answer(waits).await);
    assert!(done && text.contains("be brief"), "{text}");
    assert!(text.contains(&format!("Call irc_ask again with {{\"id\": {number}}}")), "{text}");
    scene.person.say("#herder", &format!("@spark answer {number} later")).await;
    scene.person.hears("#spark", "answered by alice").await;
    let id: u64 = number.parse().expect("a number");
    let text = client.does("irc_ask", json!({ "id": id })).await;
    assert_eq!(text, format!("alice (demo) answered question {number}:\nlater"));
    drop(client);
    scene.close().await;
}

/// A question that is open holds no clock: only a call that waits for its answer does.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hangs_after_it_asked_is_noticed() {
    // It speaks until it is told to be quiet, so that nothing runs out before.
    let agents = |dir: &Path| {
        let herder = env!("CARGO_BIN_EXE_herder");
        let home = dir.join("spark");
        std::fs::create_dir_all(&home).expect("a folder is made");
        let script = format!(
            "mkfifo calls && {herder} mcp < calls > answers & while ! test -e quiet; do echo here; sleep 0.5; done; wait"
        );
        vec![shell("spark", &home, &script)]
    };
    let server = server().await;
    let options = inside(&server);
    let mut scene = Scene::open_configured((server, options), "alice", &["#spark"], agents, |config| {
        config.policy.silence_timeout = Duration::from_secs(5);
    })
    .await;
    scene.person.say("#spark", "look around").await;
    let mut client = Client::meet(scene.dir.path(), "spark").await;
    let call = json!({ "name": "irc_ask", "arguments": { "question": "Red or blue?" } });
    let waits = client.ask("tools/call", &call);
    scene.person.hears("#spark", "asks question").await;
    // A whisper ends the call; the question stays open.
    scene.person.say("herder", "whisper spark be brief").await;
    let (done, text) = super::told(&client.answer(waits).await);
    assert!(done && text.contains("Nobody has answered"), "{text}");
    std::fs::write(scene.dir.path().join("spark/quiet"), "").expect("it is told");
    scene.person.hears("#spark", "no tool open").await;
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_refused() {
    let (scene, mut client) = at_work(|_| {}).await;
    for arguments in [
        json!({}),
        json!({ "question": " " }),
        json!({ "question": 7 }),
        json!({ "question": "x".repeat(5000) }),
        json!({ "question": "x\n".repeat(40) }),
        json!({ "id": 987_654 }),
        json!({ "id": "one" }),
    ] {
        client.is_refused("irc_ask", arguments).await;
    }
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_offered_are_chosen_by_number_and_the_only_question_needs_none() {
    let (mut scene, mut client) = at_work(|_| {}).await;
    let offered =
        json!([{ "label": "Red", "description": "as blood" }, { "label": "Blue" }, { "label": "Green" }]);
    let arguments = json!({ "question": "Which ones?", "options": offered, "several": true });
    let waits = client.ask("tools/call", &json!({ "name": "irc_ask", "arguments": arguments }));
    let asked = scene.person.hears("#spark", "asks question").await;
    let number = number_of(&asked);
    scene.person.hears("#spark", "1. Red — as blood").await;
    scene.person.hears("#spark", "3. Green").await;
    scene.person.say("#herder", "!status spark").await;
    scene.person.hears("#herder", &format!("question {number}")).await;
    // Nothing is asked that a yes could be for, and there is no fourth answer.
    scene.person.say("#herder", "!approve").await;
    scene.person.hears("#herder", "Nothing is asked").await;
    scene.person.say("#herder", "!answer 1,4").await;
    scene.person.hears("#herder", "numbers from 1 to 3").await;
    scene.person.say("#herder", "!answer 1,3").await;
    let (done, text) = super::told(&client.answer(waits).await);
    assert!(done && text == format!("alice (demo) answered question {number}:\nRed, Green"), "{text}");
    drop(client);
    scene.close().await;
}

/// A client that waits for an answer waits for ever if there is none.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_too_long_is_answered() {
    let (scene, mut client) = at_work(|_| {}).await;
    let call = json!({ "name": "irc_send", "arguments": { "text": "x".repeat(2 * 1024 * 1024) } });
    let waits = client.ask("tools/call", &call);
    let (done, text) = super::told(&client.answer(waits).await);
    assert!(!done && text.contains("longer than 1024 KiB"), "{text}");
    client.does("irc_channels", json!({})).await;
    drop(client);
    scene.close().await;
}

/// Returns the texts of a journal, as an export has them.
async fn exported(scene: Scene) -> String {
    let file = scene.dir.path().join("all.jsonl");
    let journal = scene.stage.herder.fleet().journal().clone();
    herder::journal::export(&journal, &file, herder::clock::now()).await.expect("it is exported");
    drop(journal);
    let text = std::fs::read_to_string(&file).expect("it is there");
    scene.close().await;
    text
}

/// A secret in the arguments of a tool is neither posted nor stored, and no part of it where a text is cut.
#[tokio::test(flavor = "multi_thread")]
async fn what_agents_write_by_their_tools_is_stored_without_secrets() {
    let secret = "hunter2-canary-of-the-tools";
    let server = server().await;
    let options = inside(&server);
    let rooms = ["#spark", "#work", "#alerts"];
    let agents = |dir: &Path| vec![super::agent("spark", dir)];
    let mut scene = Scene::open_configured((server, options), "alice", &rooms, agents, |config| {
        config.redactor.learn(&[secret.into()]);
    })
    .await;
    scene.person.say("#spark", "!task add look around").await;
    let mut client = Client::meet(scene.dir.path(), "spark").await;
    let (before, after) = secret.split_at(10);
    client.does("irc_send", json!({ "text": format!("sends {secret}, {before}\u{200b}{after}") })).await;
    assert_eq!(scene.person.hears("#spark", "<spark> sends").await, "<spark> sends [redacted], [redacted]");
    // A note is cut after 500 bytes.
    for length in (475..=500).step_by(5) {
        let text = format!("calls {} {secret} and more", "x".repeat(length - 7));
        client.does("notify", json!({ "text": text })).await;
        scene.person.hears("#alerts", "spark says: calls").await;
    }
    let options = json!([{ "label": format!("with {secret}"), "description": secret }, { "label": "Blue" }]);
    let arguments = json!({ "question": format!("With {secret}?"), "options": options });
    let waits = client.ask("tools/call", &json!({ "name": "irc_ask", "arguments": arguments }));
    scene.person.hears("#spark", "With [redacted]?").await;
    scene.person.hears("#spark", "1. with [redacted] — [redacted]").await;
    scene.person.say("#spark", "1").await;
    let (done, text) = super::told(&client.answer(waits).await);
    assert!(done && text.ends_with("with [redacted]"), "{text}");
    let note = format!("{} {secret}", "y".repeat(485));
    client.does("task_blocked", json!({ "reason": note })).await;
    drop(client);
    scene.person.hears("#spark", "blocked").await;
    for room in rooms {
        let heard = scene.person.heard_in(room).concat();
        assert!(!heard.contains("hunt"), "{room}: {heard}");
    }
    let stored = exported(scene).await;
    assert!(stored.contains("With [redacted]?") && stored.contains("yyy [redacted]"), "{stored}");
    assert!(!stored.contains("hunt"), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn approve_alone_answers_the_only_open_request_and_is_told_which_there_are() {
    let agents = |dir: &Path| {
        vec![
            asking("spark", dir, "git push"),
            asking("flint", dir, "git push"),
            asking("nova", dir, "git push"),
        ]
    };
    let rooms = ["#spark", "#flint", "#nova", "#herder"];
    let mut scene = Scene::open("alice", &rooms, agents).await;
    scene.person.say("#spark", "publish it").await;
    scene.person.hears("#spark", "asks for permission").await;
    scene.person.say("#herder", "!approve").await;
    scene.person.hears("#spark", "was told yes").await;
    let mut open = Vec::new();
    for room in ["#flint", "#nova"] {
        scene.person.say(room, "publish it").await;
        open.push(number_of(&scene.person.hears(room, "asks for permission").await));
    }
    for word in ["!approve", "!deny"] {
        scene.person.say("#herder", word).await;
        let told = scene.person.hears("#herder", "Several are open").await;
        assert!(open.iter().all(|number| told.contains(number)), "{told}");
    }
    // In the channel of an agent it is that one's.
    scene.person.say("#nova", "!approve").await;
    scene.person.hears("#nova", "was told yes").await;
    scene.person.say("#herder", "!deny").await;
    scene.person.hears("#flint", "was told no").await;
    scene.person.say("#herder", "!approve").await;
    scene.person.hears("#herder", "Nothing is asked").await;
    scene.close().await;
}
