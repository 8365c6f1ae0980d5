//! The whole conversation: a person on IRC gives work, watches crashes and recoveries, pauses, resumes, aborts.

use crate::stage::{self, ALICE, MALLORY, Person, Stage};

/// Two people in all the channels a test of one agent needs.
const ROOMS: [&str; 3] = ["#spark", "#alerts", "#herder"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_is_done_and_answered_in_the_agents_channel() {
    let dir = tempfile::tempdir().unwrap();
    let server = stage::server().await;
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &ROOMS).await;
    let agents = vec![stage::shell("spark", dir.path(), "read -r line; echo \"you said: $line\"")];
    let stage = Stage::open(
        stage::config(dir.path(), vec![stage::embedded_network(&server)], agents),
        stage::inside(&server),
    )
    .await;
    alice.sees("herder", "#spark").await;

    alice.say("#spark", "count to three").await;
    alice.hears("#spark", "🐜").await;
    alice.hears("#spark", "you said: count to three").await;
    let completed = alice.hears("#spark", "✅").await;
    assert!(completed.contains("spark completed"), "{completed}");

    alice.say("#herder", "@spark status").await;
    let status = alice.hears("#herder", "spark").await;
    assert!(status.starts_with("alice"), "an answer is addressed: {status}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_told_the_role_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = stage::server().await;
    let mut mallory = Person::join(server.address(), "mallory", Some(MALLORY), &ROOMS).await;
    let agents = vec![stage::shell("spark", dir.path(), "cat")];
    let stage = Stage::open(
        stage::config(dir.path(), vec![stage::embedded_network(&server)], agents),
        stage::inside(&server),
    )
    .await;
    mallory.sees("herder", "#spark").await;
    mallory.say("#spark", "pause").await;
    let refusal = mallory.hears("#spark", "operator").await;
    assert!(refusal.contains("operator"), "{refusal}");
    assert!(!refusal.contains("⏸"), "{refusal}");
    stage.close().await;
}
