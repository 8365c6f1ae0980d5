//! Discord in trouble beside an IRC that works: a bot that is not in its server, or was removed, says so where it can
//! and continues as soon as it is let in; one that Discord refuses for good leaves IRC as it was.

use herder::chat::embedded_ircd::Server;
use herder::config::Subject;
use herder::core::link::LinkState;
use serde_json::json;
use tempfile::TempDir;

use crate::simulated_discord::{Discord, Fault, User, permission};
use crate::stage::{self, ALICE, Door, Person, Stage};

const PUT: &str = "PUT /applications/{application_id}/guilds/{guild_id}/commands";
const GET: &str = "GET /applications/{application_id}/guilds/{guild_id}/commands";

/// herder on IRC and Discord, with an agent that repeats what it is told.
struct Rig {
    sim: Discord,
    olga: User,
    alice: Person,
    stage: Stage,
    dir: TempDir,
    _server: Server,
}

impl Rig {
    async fn open(sim: Discord) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let server = stage::server().await;
        sim.role("manager", permission::MANAGE_GUILD);
        let olga = sim.user("olga").roles(["manager"]);
        let spark = stage::shell("spark", dir.path(), "read -r work; echo \"did $work\"");
        let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![spark]);
        config.discord = Some(stage::discord(&sim, Door::Plain));
        config.access.admins.push(Subject::DiscordUser(olga.id.to_string()));
        let rooms = ["#spark", "#herder", "#alerts"];
        let alice = Person::join(server.address(), "alice", Some(ALICE), &rooms).await;
        let stage = Stage::open(config, stage::inside(&server)).await;
        let mut rig = Self { sim, olga, alice, stage, dir, _server: server };
        rig.alice.reaches("herder", "#herder").await;
        rig
    }

    async fn is_up(&self) {
        self.stage.link("discord", |state| matches!(state, LinkState::Up { .. })).await;
    }

    async fn is_outside(&self) {
        let outside = |state: &LinkState| matches!(state, LinkState::Connecting { attempts: 0, reason: Some(reason) } if reason.to_string().contains("not in its server"));
        self.stage.link("discord", outside).await;
    }

    async fn talks(&self, words: &str) {
        self.olga.says("#spark", words);
        self.sim.message_in("spark", |message| message.content.contains(&format!("did {words}"))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_thrown_out_says_so_and_goes_on_when_it_is_let_in_again() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.is_up().await;
    rig.sim.command("status").await;
    rig.sim.channel("#spark").await;
    rig.talks("before").await;

    rig.sim.throws_bot_out();
    let told = rig.alice.hears("#alerts", "not in its server").await;
    assert!(told.contains("https://discord.com/oauth2/authorize?client_id="), "{told}");
    rig.is_outside().await;
    rig.alice.say("#herder", "!status").await;
    rig.alice.hears("#herder", "discord waiting: the bot is not in its server").await;
    // Pending posts are kept meanwhile, and no one is told of permissions that cannot be given.
    rig.alice.say("#spark", "meanwhile").await;
    rig.alice.hears("#spark", "did meanwhile").await;
    let alerts = rig.alice.heard_in("#alerts");
    assert!(alerts.iter().all(|line| !line.contains("lacks the permission")), "{alerts:?}");

    rig.sim.invites_bot();
    rig.alice.hears("#alerts", "is back after").await;
    rig.is_up().await;
    rig.sim.message_in("spark", |message| message.content.contains("did meanwhile")).await;
    rig.sim.command("status").await;
    rig.talks("after").await;
    let status = rig.olga.slash("general", "status", json!({})).answer().await;
    assert!(status.content.contains("discord up"), "{}", status.content);
    assert_eq!(rig.sim.gateway().identifies(), 1, "the link was never given up");
    rig.stage.close().await;
    drop(rig.dir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_was_never_invited_waits_for_it() {
    let sim = Discord::start().await;
    sim.throws_bot_out();
    let mut rig = Rig::open(sim).await;
    rig.is_outside().await;
    // A new link changes nothing about it, and it is not reported again.
    rig.sim.gateway().invalidates(false);
    rig.sim.gateway().identified(2).await;
    rig.sim.invites_bot();
    rig.is_up().await;
    for room in ["#alerts", "#work", "#herder", "#spark"] {
        rig.sim.channel(room).await;
    }
    rig.alice.hears("#alerts", "is back after").await;
    let told = rig.alice.heard_in("#alerts");
    assert_eq!(told.iter().filter(|line| line.contains("not in its server")).count(), 1, "{told:?}");
    rig.sim.command("status").await;
    rig.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_discord_lost_are_registered_again_and_others_are_left_alone() {
    let rig = Rig::open(Discord::start().await).await;
    rig.sim.command("pause").await;
    assert_eq!((rig.sim.requests(GET).len(), rig.sim.requests(PUT).len()), (1, 1));
    rig.sim.gateway().invalidates(false);
    rig.sim
        .until("another look", |state| {
            state.requests.iter().filter(|it| it.route == GET && it.status == Some(200)).count() == 2
        })
        .await;
    rig.sim.loses_command("pause");
    rig.sim.gateway().invalidates(false);
    rig.sim.command("pause").await;
    assert_eq!((rig.sim.requests(GET).len(), rig.sim.requests(PUT).len()), (3, 2));
    rig.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_to_commands_that_is_gone_is_said_with_what_gives_it_back() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.sim.command("pause").await;
    rig.sim.inject(Fault::refused(403, 50001, "Missing Access").on(GET).times(1));
    rig.sim.gateway().invalidates(false);
    let told = rig.alice.hears("#alerts", "applications.commands").await;
    assert!(told.contains("https://discord.com/oauth2/authorize"), "{told}");
    rig.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn irc_goes_on_when_discord_refuses_the_token_for_good() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.is_up().await;
    rig.sim.channel("#spark").await;
    rig.sim.gateway().closes_at_connect(u32::MAX, 4004);
    rig.sim.gateway().closes(4004);
    let told = rig.alice.hears("#alerts", "does not let herder in").await;
    assert!(told.contains("Put the bot's token"), "{told}");
    rig.alice.say("#spark", "go on").await;
    rig.alice.hears("#spark", "did go on").await;
    rig.alice.say("#herder", "!status").await;
    rig.alice.hears("#herder", "discord given up").await;
    rig.alice.say("#spark", "pause").await;
    rig.alice.hears("#spark", "paused").await;
    let connections = rig.sim.gateway().connections();
    rig.alice.say("#spark", "resume").await;
    rig.alice.hears("#spark", "spark").await;
    assert_eq!(rig.sim.gateway().connections(), connections, "nothing more is tried");
    rig.stage.close().await;
}
