//! Commands while herder goes down.

use herder::core::event::Event;
use herder::journal::{Entry, Stream};
use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_something_while_herder_goes_down_is_told_that_nothing_comes_of_it() {
    let mut rig =
        Rig { sim: Discord::start().await, dir: tempfile::tempdir().expect("a folder"), stage: None };
    // Its end takes herder some seconds.
    let stubborn = "trap '' TERM; while :; do sleep 0.1; done";
    let mut config = rig.config();
    config.agents = vec![shell("spark", rig.dir.path(), stubborn)];
    config.policy.stop_grace = Duration::from_secs(600);
    rig.stage = Some(Stage::open(config, Options::default()).await);
    rig.listens().await;
    let olga = manager(&rig.sim, "olga");
    olga.slash("general", "task add", json!({ "agent": "spark", "text": "run" })).answer().await;
    rig.until("spark", |view| view.agent.process.is_some()).await;

    rig.sim.channel("#herder").await;
    let (shutdown, journal) = (CancellationToken::new(), rig.herder().fleet().journal().clone());
    let ending = tokio::spawn(rig.stage.take().expect("it runs").herder.wait(shutdown.clone()));
    shutdown.cancel();
    rig.sim.message_in("herder", |said| said.content.contains("herder is going down")).await;
    let answer = olga.slash("general", "stop-all", json!({})).answer().await;
    assert!(answer.is_ephemeral());
    assert!(answer.content.contains("This was not done"), "{}", answer.content);
    let ended = tokio::time::timeout(PATIENCE, ending).await.expect("herder ends").expect("it did not panic");
    assert_eq!(ended.processes_left, 0);
    let spark = Stream::Agent(AgentName::new("spark").expect("a name"));
    let stopped = |entry: &Entry| matches!(entry, Entry::Agent(Event::StopRequested { .. }));
    let history = journal.history(&spark, 100, None).expect("it can be read");
    assert!(!history.iter().any(|it| stopped(&it.entry)), "{history:?}");
}
