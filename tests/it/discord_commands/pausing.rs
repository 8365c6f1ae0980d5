//! A pause by command: its answer has the same buttons as the post about it.

use herder::core::agent::Phase;
use serde_json::json;

use super::{Rig, labels, manager, plain};
use crate::simulated_discord::state::Message;

fn is_closed(message: &Message) -> bool {
    message.buttons().iter().any(|button| button.disabled)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_in_the_agents_own_channel_can_be_answered_there() {
    let mut rig = Rig::open().await;
    rig.sim.channel("#spark").await;
    let (olga, otto) = (manager(&rig.sim, "olga"), manager(&rig.sim, "otto"));
    // Discord lets people write before herder knows that the channel is one of its own.
    olga.says("#spark", "status");
    rig.sim.message_in("spark", |message| message.content.contains("idle")).await;
    let answer = olga.slash("spark", "pause", json!({})).answer().await;
    assert!(plain(&answer).contains("spark is paused"), "{}", answer.content);
    let post = rig.sim.message_in("spark", |message| !message.buttons().is_empty()).await;
    assert_eq!(labels(&post), ["Resume", "Abort", "Transcript"]);
    otto.clicks(post.id, &post.button("Resume").custom_id).acknowledged().await;
    rig.until("spark", |view| view.agent.phase == Phase::Idle).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_pause_has_buttons_and_shows_who_pressed_which() {
    let mut rig = Rig::open().await;
    let (olga, otto) = (manager(&rig.sim, "olga"), manager(&rig.sim, "otto"));
    let pause = || olga.slash("general", "pause", json!({ "agent": "spark" }));
    let answer = pause().answer().await;
    assert_eq!(labels(&answer), ["Resume", "Abort", "Transcript"]);
    // Answered by the post about it: the answer shows that, also when herder was away meanwhile.
    let post = rig.sim.message_in("spark", |message| !message.buttons().is_empty()).await;
    otto.clicks(post.id, &post.button("Resume").custom_id).acknowledged().await;
    let shown = rig.sim.message(answer.id, is_closed).await;
    assert_eq!(labels(&shown), ["Resume · otto (discord)", "Transcript"]);

    let answer = pause().answer().await;
    rig.stop().await;
    let sessions = rig.sim.gateway().identifies();
    rig.start().await;
    rig.sim.gateway().identified(sessions + 1).await;
    let shown = otto.clicks(answer.id, &answer.button("Resume").custom_id).answer().await;
    assert_eq!(labels(&shown), ["Resume · otto (discord)", "Transcript"]);
    rig.until("spark", |view| view.agent.phase == Phase::Idle).await;

    // An ephemeral answer has no buttons, and neither has an answer that the agent continues.
    let told = olga.slash("general", "resume", json!({ "agent": "spark" })).answer().await;
    assert!(told.buttons().is_empty(), "{}", told.content);
    rig.stop().await;
}
