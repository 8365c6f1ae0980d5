//! Channels that turn out to be herder's own, or not, after messages there.

use std::time::Duration;

use herder::config::History;
use herder::core::id::AgentName;
use herder::core::time::Timestamp;
use herder::journal::{self, Journal, Memo};
use herder::run::Options;

use super::missed::cut_off;
use super::{Rig, WRITES_DOWN};
use crate::from_within::asked;
use crate::simulated_discord::{Discord, Effect, Fault, State};
use crate::stage::{self, Stage};

const MAKE: &str = "POST /guilds/{guild_id}/channels";
const LOOK: &str = "GET /guilds/{guild_id}/channels";

/// However long it takes to make the channels of agents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_where_people_are_at_home_is_heard_once_their_channel_is_not_new() {
    // All that is made is nearly not new any more when it is.
    let sim = Discord::builder().clock_behind(Duration::from_secs(297)).start().await;
    let mut rig = Rig::prepare(sim).await;
    let mut config = rig.config();
    config.agents.push(stage::shell("quick", rig.dir.path(), "cat"));
    // It is unknown whether the agent's channel was made, and it cannot be looked up.
    rig.sim.inject(Fault::dropped(Effect::Before).on(MAKE));
    rig.sim.inject(Fault::status(503, Effect::Before).on(LOOK).always());
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    let looks = |state: &State| state.requests.iter().any(|it| it.route == LOOK && it.status == Some(503));
    rig.sim.until("herder to look for the channel", looks).await;
    rig.sim.makes_channel("project");
    rig.alice.says("#project", "@herder status");
    rig.sim.message_in("#project", |post| post.content.contains("2 agents")).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_where_an_agent_was_added_meanwhile_is_for_the_agent() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    rig.sim.makes_category("agents", &["build".to_owned()]);
    rig.alice.says("#build", "is anybody here");
    let mut rig = rig.started().await;
    rig.alice.says("#spark", "one");
    rig.has_done(2).await;
    let build = stage::shell("build", rig.dir.path(), WRITES_DOWN);
    rig.stage().herder.fleet().add(build, asked()).await.expect("it can be added");
    rig.sim
        .until("herder to be at home there", |state| {
            state.channel("#build").is_some_and(|channel| channel.topic.is_some())
        })
        .await;
    cut_off(&rig, || {
        rig.alice.says("#build", "fix it");
    })
    .await;
    let name = AgentName::new("build").expect("a good name");
    let done = rig.stage().herder.fleet().wait_for(&name, |view| view.agent.totals.successes == 1);
    tokio::time::timeout(stage::PATIENCE, done).await.expect("it is heard").expect("the agent is there");
    assert_eq!(rig.done(), ["zero", "one", "fix it"]);
    rig.stop().await;
}

/// Sets the record of an earlier herder that had heard everything up to then.
async fn heard_up_to(rig: &Rig, at: Timestamp) {
    let settings = journal::Settings::new(rig.dir.path().join("data"), History::default());
    let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await;
    let (journal, _) = opened.expect("it does not panic").expect("the journal opens");
    // Discord's ids are times.
    let id = (at.as_millis() - 1_420_070_400_000) << 22;
    let memo = Memo { key: "discord/heard-up-to".to_owned(), value: Some(id.to_string()) };
    journal.remember(vec![memo]).await.expect("a memo is kept");
    journal.close().await;
}

/// The same if the channel is followed before all missed messages are fetched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_while_herder_was_away_in_a_channel_that_it_has_only_found_now_is_heard() {
    // It was said a while ago.
    let sim = Discord::builder().clock_behind(Duration::from_secs(120)).start().await;
    let mut rig = Rig::prepare(sim).await;
    heard_up_to(&rig, herder::clock::now().before(Duration::from_secs(600))).await;
    rig.sim.makes_category("agents", &["quick".to_owned()]);
    let said = rig.alice.says("#quick", "early");
    rig.sim.gateway().garbles("GUILD_CREATE", 1);
    let mut config = rig.config();
    config.agents.push(stage::shell("quick", rig.dir.path(), "cat"));
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.sim.reaction(said, "✅").await;
    rig.stop().await;
}
