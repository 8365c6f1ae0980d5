//! Channels that turn out to be herder's own, or not, after something was said there.

use std::time::Duration;

use herder::run::Options;

use super::Rig;
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
    // Nobody knows whether the agent's channel was made, and it cannot be looked up.
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
