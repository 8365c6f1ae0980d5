//! Whispers: each reaches the agent once, in one way or another, and no one else.

use serde_json::json;

use super::{Client, agent, at_work, told};
use crate::stage::{Scene, appears};

/// Reads the whispers and deliveries that the history shows, until `wanted`.
async fn history(scene: &mut Scene, wanted: &str) -> Vec<String> {
    let mut lines = Vec::new();
    scene.person.say("herder", "history spark 30").await;
    loop {
        let line = scene.person.expect("the history", |line| line.contains("PRIVMSG alice")).await;
        let done = line.contains(wanted);
        lines.push(line);
        if done {
            return lines;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whisper_goes_with_the_next_result_once_and_nowhere_else() {
    let (mut scene, mut client) = at_work(|_| {}).await;
    scene.person.say("#spark", "!whisper spark use the cache").await;
    scene.person.hears("#spark", "private message").await;
    scene.person.say("herder", "whisper spark mind the gap").await;
    scene.person.hears("alice", "spark is told, and nobody else").await;
    let told = client.does("irc_channels", json!({})).await;
    assert!(told.contains("[WHISPER] alice tells you, and you alone: mind the gap"), "{told}");
    assert!(!told.contains("use the cache"), "{told}");
    for _ in 0..3 {
        let told = client.does("irc_channels", json!({})).await;
        assert!(!told.contains("WHISPER"), "{told}");
    }
    let lines = history(&mut scene, "handed over with a tool call").await;
    assert!(lines.iter().any(|line| line.contains("mind the gap")), "{lines:#?}");
    for channel in ["#spark", "#work", "#alerts"] {
        let heard = scene.person.heard_in(channel);
        assert!(!heard.iter().any(|line| line.contains("mind the gap")), "{heard:#?}");
    }
    // In a channel the history keeps it to itself.
    scene.person.say("#spark", "!history spark 30").await;
    scene.person.hears("#spark", "handed over").await;
    assert!(!scene.person.heard_in("#spark").iter().any(|line| line.contains("mind the gap")));
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_is_answered_when_something_is_whispered() {
    let (mut scene, mut client) = at_work(|_| {}).await;
    let waiting = client.ask(
        "tools/call",
        &json!({ "name": "irc_read", "arguments": { "channel": "#work", "wait_seconds": 25 } }),
    );
    scene.person.say("herder", "whisper spark mind the gap").await;
    let (done, text) = told(&client.answer(waiting).await);
    assert!(done && text.contains("mind the gap"), "{text}");
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_call_took_along_comes_with_the_next_prompt() {
    let agents = |dir: &std::path::Path| vec![agent("spark", dir)];
    let mut scene = Scene::open("alice", &["#spark"], agents).await;
    scene.person.say("herder", "whisper spark mind the gap").await;
    scene.person.hears("alice", "spark is told").await;
    scene.person.say("#spark", "look around").await;
    let mut client = Client::meet(scene.dir.path(), "spark").await;
    let prompt = scene.dir.path().join("spark/prompt");
    appears(&prompt).await;
    let prompt = std::fs::read_to_string(prompt).expect("it is there");
    insta::assert_snapshot!(prompt, @r"
    [WHISPER] alice tells you, and you alone: mind the gap

    look around
    ");
    let told = client.does("irc_channels", json!({})).await;
    assert!(!told.contains("WHISPER"), "{told}");
    history(&mut scene, "handed over with the prompt").await;
    drop(client);
    scene.close().await;
}
