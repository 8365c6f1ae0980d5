//! A machine whose clock is ahead of Discord's: the age of a message follows from Discord's own times.

use std::time::Duration;

use herder::core::agent::Phase;
use serde_json::json;

use super::Rig;
use crate::simulated_discord::Discord;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_ahead_makes_no_command_old() {
    let ahead = Duration::from_secs(600);
    let mut rig = Rig::open(Discord::builder().machine_ahead(ahead).start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    // A slash command is answered at once, and not acknowledged as late.
    let alice = rig.manager();
    rig.sim.command("status").await;
    let asked = alice.slash("herder", "status", json!({}));
    assert_eq!(asked.acknowledged().await.kind, 4);
    rig.alice.says("#spark", "resume");
    rig.alice.says("#spark", "one");
    assert_eq!(rig.has_done(1).await, ["one"]);
    rig.stop().await;
}

/// A message of ten minutes ago is as old as before, whichever clock is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_old_by_discords_own_clock_is_asked_about() {
    let mut rig = Rig::open(Discord::builder().clock_behind(Duration::from_secs(600)).start().await).await;
    rig.alice.says("#spark", "pause");
    rig.sim.message_in("#spark", |post| post.content.contains("10m")).await;
    rig.stop().await;
}
