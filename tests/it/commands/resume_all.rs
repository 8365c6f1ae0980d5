//! `resume-all`: the end of `stop-all`, without a change to agents that are halted for other reasons.

use herder::core::agent::Phase;

use super::rig::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn resume_all_lets_those_on_that_stop_all_stopped_and_says_who_stays() {
    let rig = Rig::open().await;
    rig.say("alice", "#quick", "pause").await;
    rig.until("quick", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    rig.say("alice", "#spark", "dig").await;
    rig.until("spark", |view| matches!(view.agent.phase, Phase::Running { .. })).await;
    let none = rig.say("alice", "#herder", "!resume all").await;
    rig.say("alice", "#herder", "!stop-all").await;
    rig.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    let status = rig.say("alice", "#herder", "!status spark").await;
    let resumed = rig.say("olga", "#herder", "!resume all").await;
    rig.until("spark", |view| matches!(view.agent.phase, Phase::Running { .. })).await;
    let refused = rig.say("vera", "#herder", "!resume all").await;
    let told = [none, vec![status[0].split(" · ").next().unwrap_or_default().to_owned()], resumed, refused];
    insta::assert_snapshot!(told.map(|lines| lines.join("\n")).join("\n\n"), @r"
    No agent is paused by `stop-all`.
    quick stays as it is: paused (by alice).

    spark: paused (stop-all by alice)

    1 agent goes on: spark.
    quick stays as it is: paused (by alice).

    `resume-all` needs the role operator.
    ");
}
