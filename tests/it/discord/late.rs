//! Lines that are answered after later lines.

use std::time::Duration;

use herder::core::agent::Phase;
use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::post::{Body, Lane, Post, Target};
use herder::journal::Batch;
use herder::run::Options;

use super::Rig;
use super::threads::is_noted;
use crate::from_within::giving_is_held;
use crate::simulated_discord::state::Id;
use crate::simulated_discord::{Discord, Fault, State};
use crate::stage::{self, Stage};

const CHANNELS: &str = "POST /guilds/{guild_id}/channels";

/// Returns the code in what is said.
fn code(text: &str) -> Option<String> {
    text.split('`').find(|part| part.starts_with("!link ")).map(str::to_owned)
}

/// Returns herder's private messages, with their channels.
fn in_private(state: &State) -> impl Iterator<Item = (Id, &str)> {
    let is_private = |id: &Id| state.channels.get(id).is_some_and(|channel| channel.recipient.is_some());
    let said = state.messages.values().filter(move |it| it.author == state.bot.id && is_private(&it.channel));
    said.map(|it| (it.channel, it.content.as_str()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_takes_long_is_done_once_when_the_adapter_is_started_anew_meanwhile() {
    let (release, fault) = giving_is_held();
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.networks.attempts = 1;
    let mut options =
        Options { line_patience: Some(Duration::from_millis(300)), fault, ..Options::default() };
    options.patience.anew = Duration::from_millis(10);
    rig.stage = Some(Stage::open(config, options).await);
    let mut rig = rig.sees_ready().await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    let said = rig.alice.says("#spark", "fix the build");
    rig.sim.message_in("#spark", |post| post.content.contains("Still working on it")).await;
    let sessions = rig.sim.gateway().identifies();
    rig.sim.gateway().refuses(2);
    rig.sim.gateway().drops_rst();
    // An adapter that is started again does not continue the session of the last one.
    rig.sim.gateway().identified(sessions + 1).await;
    // It is looked at after what was said before it.
    rig.alice.says("#spark", "help");
    rig.sim.message_in("#spark", |post| post.content.contains("stop-all")).await;
    drop(release);
    rig.alice.says("#spark", "go home");
    let view = rig.agent("both works", |view| view.agent.queue.iter().any(|work| work.text == "go home"));
    let view = view.await;
    let queued: Vec<&str> = view.agent.queue.iter().map(|work| work.text.as_str()).collect();
    assert_eq!(queued, ["fix the build", "go home"]);
    let told = rig.sim.posts("#spark").iter().filter(|post| post.contains("Still working")).count();
    assert_eq!(told, 1, "it is told once");
    // It is followed like any other.
    rig.sim.reaction(said, "👀").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_was_given_is_noted_whatever_else_is_owed() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.agents.push(stage::shell("quick", rig.dir.path(), "cat"));
    rig.sim.expects_violation("Missing Permissions");
    rig.sim.inject(Fault::refused(403, 50013, "Missing Permissions").on(CHANNELS).always());
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    let now = herder::clock::now();
    let owed = Post {
        id: PostId::default(),
        network: NetworkName::from("discord"),
        to: Target::Agent(AgentName::new("quick").expect("a good name")),
        lane: Lane::Normal,
        at: now,
        body: Body::Kept(vec!["for a channel that cannot be made".to_owned()]),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    };
    let batch = Batch { at: now, posts: vec![owed], ..Batch::default() };
    rig.stage().herder.fleet().journal().commit(batch).await.expect("it is recorded");
    let asked = rig.alice.whispers("link");
    let channel = rig.sim.find("a code", |state| {
        in_private(state).find(|(_, text)| code(text).is_some()).map(|(channel, _)| channel)
    });
    is_noted(&rig, channel.await, asked).await;
    rig.stop().await;
}
