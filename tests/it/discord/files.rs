//! Files that people attach on Discord: they come to the agent's inbox, and are named to it.

use std::fs;

use herder::run::Options;
use serde_json::json;

use super::{Rig, WRITES_DOWN};
use crate::simulated_discord::Discord;
use crate::stage::Stage;
use crate::tools;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nno more of it";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attached_files_come_to_the_inbox_and_are_named_with_their_digests() {
    let rig = Rig::prepare(Discord::start().await).await;
    let mut rig = rig.started_with("cat > prompt").await;
    rig.alice
        .message("#spark", "see these")
        .attaching("log.txt", "text/plain", "line one\n")
        // Neither the names nor the types are to be believed.
        .attaching("cat.pdf", "application/pdf", PNG)
        .attaching("..\u{202e}evil name.png", "image/png", b"\x7fELF\x01\x01\x01\0".to_vec())
        .send();
    rig.has_done(1).await;
    let prompt = fs::read_to_string(rig.dir.path().join("prompt")).expect("the prompt");
    let inbox = rig.dir.path().join(".herder/spark/inbox");
    let mut names: Vec<String> = fs::read_dir(&inbox)
        .expect("an inbox")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    let [log, cat, evil] = &names[..] else { panic!("three files: {names:?}") };
    assert!(log.ends_with("-1-log.txt") && cat.ends_with("-2-cat.pdf"), "{names:?}");
    assert!(evil.ends_with("-3-_evil_name.png"), "{names:?}");
    assert!(
        prompt.starts_with("see these\n\nlog.txt:\n```\nline one\n```\n\nFiles that came with"),
        "{prompt}"
    );
    for (name, media, bytes) in [
        (log, "text/plain; charset=utf-8", &b"line one\n"[..]),
        (cat, "image/png", PNG),
        (evil, "application/octet-stream", b"\x7fELF\x01\x01\x01\0"),
    ] {
        assert_eq!(fs::read(inbox.join(name)).expect("it is there"), bytes, "{name}");
        let (size, sha256) = (bytes.len(), herder::files::digest(bytes));
        let line = format!("\n- {name} ({media}, {size} bytes, SHA-256 {sha256})");
        assert!(prompt.contains(&line), "{line} in {prompt}");
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_too_many_or_too_large_are_named_to_their_author() {
    let rig = Rig::prepare(Discord::start().await).await;
    let mut rig = rig.started_with(WRITES_DOWN).await;
    let draft = rig.alice.message("#spark", "see these").attaching("huge.bin", "", vec![0; (8 << 20) + 1]);
    let draft =
        (0..11).fold(draft, |draft, number| draft.attaching(&format!("{number}.bin"), "", vec![0, number]));
    draft.send();
    let told = rig.sim.message_in("#spark", |post| post.content.contains("`huge.bin`")).await;
    assert!(told.content.contains("`10.bin`") && !told.content.contains("`9.bin`"), "{}", told.content);
    rig.has_done(1).await;
    let inbox = rig.dir.path().join(".herder/spark/inbox");
    assert_eq!(fs::read_dir(inbox).expect("an inbox").count(), 10);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_an_agent_sends_is_attached() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.agents = vec![tools::agent("spark", rig.dir.path())];
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.alice.says("#spark", "look around");
    let mut client = tools::Client::meet(rig.dir.path(), "spark").await;
    fs::write(rig.dir.path().join("spark/shot.png"), PNG).expect("a file");
    client.does("send_file", json!({ "path": "shot.png", "text": "the *odd* one" })).await;
    let post = rig.sim.message_in("#spark", |post| post.content.contains("shot.png")).await;
    let [file] = &post.attachments[..] else { panic!("one file goes along: {:?}", post.attachments) };
    assert_eq!((file.name.as_str(), &file.bytes[..]), ("shot.png", PNG));
    rig.sim.message_in("#spark", |post| post.content.contains("> the *odd* one")).await;
    rig.stop().await;
}
