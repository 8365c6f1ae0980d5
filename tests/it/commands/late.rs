//! Two people answer the same call.

use std::time::Duration;

use herder::clock;
use herder::core::agent::Phase;
use herder::core::event::{PauseReason, StopReason};

use super::rig::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_that_comes_after_somebody_else_s_answer_is_said_again_if_it_is_meant() {
    let rig = Rig::open().await;
    let workspace = rig.dir.path().join("workspace");
    std::fs::create_dir(&workspace).expect("a workspace");
    rig.do_("alice", "#herder", &format!("!agent edit spark workspace={}", workspace.display())).await;
    std::fs::remove_dir(&workspace).expect("it goes away");
    rig.do_("olga", "#spark", "!task add benchmark nemotron").await;
    rig.until("spark", |view| view.agent.phase == Phase::Paused { reason: PauseReason::Escalation }).await;
    std::fs::create_dir(&workspace).expect("it is there again");
    rig.do_("olga", "#spark", "resume").await;
    rig.until_running("spark").await;
    let now = clock::now();
    let told = rig.say_at("alice", "#spark", "abort", now).await.join("\n");
    assert!(told.starts_with("olga has just answered call"), "{told}");
    assert!(told.ends_with("If you mean what it does now, say `abort` again."), "{told}");
    // No one else has been told.
    rig.until("spark", |view| matches!(view.agent.phase, Phase::Running { .. })).await;
    let told = rig.say_at("alice", "#spark", "abort", now.after(Duration::from_secs(2))).await;
    assert_eq!(told, Vec::<String>::new(), "it is answered as what was done");
    let stopping = |phase: &Phase| matches!(phase, Phase::Stopping { reason: StopReason::Abort, .. });
    rig.until("spark", |view| stopping(&view.agent.phase) || view.agent.phase == Phase::Idle).await;
    let tasks = rig.until("spark", |view| view.agent.phase == Phase::Idle).await;
    assert_eq!(tasks.agent.finished.len(), 1, "its task is over");
    rig.close().await;
}
