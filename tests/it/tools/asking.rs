//! `irc_ask`: people are asked, and the answer comes back by number.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Client, at_work};
use crate::stage::{Scene, inside, number_of, server, shell};

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
