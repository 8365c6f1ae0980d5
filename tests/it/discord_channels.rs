//! herder's channels on Discord, through the simulator: made, found again, made again, archived, and its messages
//! when it lacks the permission.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use herder::config::{Config, Discord as Settings, Reach, Subject};
use herder::core::id::AgentName;
use herder::core::input::Control;
use herder::core::link::DISCORD_NETWORK;
use herder::core::spec::AgentSpec;
use herder::run::Options;

use crate::from_within::asked;
use crate::simulated_discord::{Discord, Effect, Fault, Gate, State, permission};
use crate::stage::{self, ALICE, Person, Stage};

/// The channels of a herder with one agent.
const ROOMS: [&str; 4] = ["#alerts", "#work", "#herder", "#spark"];

fn settings(sim: &Discord) -> Settings {
    Settings {
        token: sim.token().into(),
        guild: sim.guild_id(),
        category: "agents".to_owned(),
        alerts_channel: "alerts".to_owned(),
        work_channel: "work".to_owned(),
        control_channel: "herder".to_owned(),
        bots: Vec::new(),
        call: herder::config::Call::default(),
        reach: Reach::Plain(sim.api_url()),
    }
}

fn config(dir: &Path, sim: &Discord) -> Config {
    let mut config = stage::config(dir, Vec::new(), vec![spark(dir)]);
    config.discord = Some(settings(sim));
    config
}

fn spark(dir: &Path) -> AgentSpec {
    stage::shell("spark", dir, "cat")
}

fn name() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

async fn open(dir: &Path, sim: &Discord) -> Stage {
    let stage = Stage::open(config(dir, sim), Options::default()).await;
    sim.ready().await;
    stage
}

/// Waits until each of the rooms is there once, in the category.
async fn rooms_stand(sim: &Discord) {
    sim.until("every channel in the category", |state| {
        let category = state.category("agents").map(|category| category.id);
        let stands = |room: &str| state.channel(room).is_some_and(|channel| channel.parent == category);
        category.is_some() && ROOMS.iter().all(|room| stands(room))
    })
    .await;
}

/// Counts the channels and categories that are not deleted.
fn count(sim: &Discord) -> usize {
    sim.look(|state| {
        let live = |channel: &&crate::simulated_discord::state::Channel| {
            !channel.deleted && channel.recipient.is_none()
        };
        state.channels.values().filter(live).count()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn channels_are_made_once_and_found_again_after_a_restart_and_a_rename() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    // Another owner's channel of the same name is left alone.
    let foreign = sim.makes_channel("#alerts");
    let alice = sim.user("alice");
    let before = count(&sim);
    let stage = open(dir.path(), &sim).await;
    sim.until("five more channels", |state| {
        state.category("agents").is_some_and(|category| {
            state.channels.values().filter(|it| !it.deleted && it.parent == Some(category.id)).count() == 4
        })
    })
    .await;
    assert_eq!(sim.look(|state| state.channels[&foreign].parent), None);
    let spark = sim.channel("#spark").await;
    assert!(spark.topic.as_deref().is_some_and(|topic| topic.starts_with("idle · ")), "{:?}", spark.topic);
    alice.renames_channel("#spark", "#sparkle");
    // The later change is visible only when the rename was heard.
    alice.deletes_channel("#work");
    sim.channel("#work").await;
    assert_eq!(count(&sim), before + 5);
    stage.close().await;

    let stage = open(dir.path(), &sim).await;
    alice.deletes_channel("#work");
    sim.channel("#work").await;
    assert_eq!(count(&sim), before + 5, "nothing is there twice");
    assert_eq!(sim.look(|state| state.channel("#sparkle").map(|channel| channel.id)), Some(spark.id));
    stage.close().await;
}

/// A session that is resumed from its start tells what the server was like before herder made its channels.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_word_of_the_server_makes_no_channel_a_second_time() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let alice = sim.user("alice");
    let stage = open(dir.path(), &sim).await;
    rooms_stand(&sim).await;
    let (before, work) = (count(&sim), sim.channel("#work").await.id);
    let resumes = sim.gateway().resumes();
    sim.gateway().tells_all_again();
    sim.gateway().resumed(resumes + 1).await;
    // The later event was heard after it.
    alice.deletes_channel("#work");
    sim.until("the channel to be made again", |state| state.channel("work").is_some_and(|it| it.id != work))
        .await;
    rooms_stand(&sim).await;
    assert_eq!(
        count(&sim),
        before,
        "{:?}",
        sim.look(|state| state.channels.values().map(|it| it.name.clone()).collect::<Vec<_>>())
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_is_made_again_in_its_place() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let alice = sim.user("alice");
    let stage = open(dir.path(), &sim).await;
    rooms_stand(&sim).await;
    let before = sim.channel("#spark").await.id;
    alice.deletes_channel("#spark");
    rooms_stand(&sim).await;
    assert_ne!(sim.channel("#spark").await.id, before);
    let work = sim.channel("#work").await.id;
    alice.deletes_channel("agents");
    rooms_stand(&sim).await;
    assert_eq!(sim.channel("#work").await.id, work, "what stood in the category is put back, not made anew");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_removed_is_archived_and_comes_back_with_its_history() {
    let (sim, dir) = (
        {
            // A permission that the invite link does not ask for.
            let permissions = permission::BOT | permission::MANAGE_ROLES;
            Discord::builder().bot_permissions(permissions).start().await
        },
        tempfile::tempdir().unwrap(),
    );
    let stage = open(dir.path(), &sim).await;
    rooms_stand(&sim).await;
    let before = sim.channel("#spark").await.id;
    let fleet = stage.herder.fleet().clone();
    fleet.remove(&name(), asked()).await.expect("it can be removed");
    let guild = sim.guild_id();
    sim.until("spark in the archive, read-only", |state| {
        let archive = state.category("agents-archive").map(|archive| archive.id);
        let shut = |overwrite: &crate::simulated_discord::state::Overwrite| {
            overwrite.deny & permission::SEND_MESSAGES != 0
        };
        state.channel("#spark").is_some_and(|channel| {
            channel.id == before
                && archive.is_some()
                && channel.parent == archive
                && channel.overwrites.get(&guild).is_some_and(shut)
        })
    })
    .await;
    fleet.add(spark(dir.path()), asked()).await.expect("it can be added again");
    rooms_stand(&sim).await;
    let back = sim.channel("#spark").await;
    assert_eq!(back.id, before);
    assert!(back.overwrites.is_empty(), "{:?}", back.overwrites);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_channel_of_an_agent_that_cannot_be_read_stays_and_who_writes_there_is_told_what_is_wrong() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let alice = sim.user("alice");
    let open = async || {
        let mut config = config(dir.path(), &sim);
        config.access.admins.push(Subject::DiscordUser(alice.id.to_string()));
        let stage = Stage::open(config, Options::default()).await;
        sim.ready().await;
        stage
    };
    let stage = open().await;
    rooms_stand(&sim).await;
    stage.close().await;
    crate::supervisor::unreadable::damage(dir.path(), "spark", Some(1));

    let stage = open().await;
    sim.message_in("alerts", |said| said.content.contains("The agent stands still")).await;
    alice.says("#spark", "Are you there?");
    let answer = sim.message_in("spark", |said| said.content.contains("given up supervising")).await;
    assert!(!answer.content.contains("removed"), "{}", answer.content);
    // Made again only once everything before it has found its place.
    alice.deletes_channel("#work");
    rooms_stand(&sim).await;
    assert!(sim.look(|state| state.category("agents-archive").is_none()), "nothing is archived");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_named_elsewhere_and_granting_it_is_enough() {
    let sim = Discord::builder().bot_permissions(permission::EVERYONE).start().await;
    let dir = tempfile::tempdir().unwrap();
    let server = stage::server().await;
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#alerts", "#herder"]).await;
    let mut config = config(dir.path(), &sim);
    config.irc = vec![stage::embedded_network(&server)];
    let stage = Stage::open(config, stage::inside(&server)).await;
    let said = alice.hears("#alerts", "Manage Channels").await;
    assert!(said.contains("Server Settings → Roles"), "what to click: {said}");
    let tried = sim.requests("POST /guilds/{guild_id}/channels").len();
    assert_eq!(tried, 0, "nothing is asked for that is refused for certain");
    sim.grants_bot(permission::BOT);
    rooms_stand(&sim).await;
    let again = alice.heard_in("#alerts").iter().filter(|text| text.contains("Manage Channels")).count();
    assert_eq!(again, 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_and_refusals_make_no_channel_twice() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let before = count(&sim);
    sim.inject(Fault::dropped(Effect::After).on("POST /guilds/{guild_id}/channels").times(2));
    sim.inject(Fault::status(500, Effect::Before).on("POST /guilds/{guild_id}/channels").times(1));
    let stage = open(dir.path(), &sim).await;
    rooms_stand(&sim).await;
    assert_eq!(count(&sim), before + 5);
    stage.close().await;
}

/// Discord makes a channel at once and says so only after fourteen seconds: it is not made a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_is_made_once_although_discord_takes_long() {
    const CREATE: &str = "POST /guilds/{guild_id}/channels";
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let before = count(&sim);
    // The category, and a channel in it.
    let slow = sim.inject(Fault::slow(Duration::from_secs(14)).on(CREATE).times(2));
    let stage = open(dir.path(), &sim).await;
    rooms_stand(&sim).await;
    assert_eq!(slow.struck(), 2);
    let answered = |state: &State| {
        let of_creates = state.requests.iter().filter(|it| it.route == CREATE);
        of_creates.filter(|it| it.status.is_some()).count() == 5
    };
    sim.until("all answers of Discord", answered).await;
    assert_eq!((count(&sim), sim.requests(CREATE).len()), (before + 5, 5));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_follow_the_agent_without_being_refused() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let stage = open(dir.path(), &sim).await;
    rooms_stand(&sim).await;
    let fleet = stage.herder.fleet().clone();
    fleet.control(&name(), Control::Pause { now: false }, asked()).await.expect("it can be paused");
    sim.until("the topic", |state| {
        let topic = state.channel("#spark").and_then(|channel| channel.topic.as_deref());
        topic.is_some_and(|topic| topic.starts_with("paused"))
    })
    .await;
    let (set, refused) =
        sim.look(|state| (state.channel("#spark").map(|channel| channel.topics_set), state.limits.refused));
    assert_eq!((set, refused), (Some(1), 0));
    stage.close().await;
}

/// Runs `herder check` as a process; returns its exit code and output, with the folders of the machine taken out.
async fn check(dir: &Path, sim: &Discord, token: &str) -> (Option<i32>, String) {
    let text = format!(
        "[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {}\napi_url = \"{}\"\n",
        sim.guild_id(),
        sim.api_url()
    );
    std::fs::write(dir.join("bot.toml"), text).expect("the file is written");
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_herder"))
        .args(["check", "--config", "bot.toml"])
        .current_dir(dir)
        .env("DISCORD_TOKEN", token)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let discord = said.lines().filter(|line| line.contains(" discord: ")).collect::<Vec<_>>().join("\n");
    let ids = regex::Regex::new(r"\d{15,}").expect("a good pattern");
    (output.status.code(), ids.replace_all(&discord, "ID").into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_says_what_is_missing_and_what_to_click() {
    assert_eq!(DISCORD_NETWORK, "discord");
    let dir = tempfile::tempdir().unwrap();
    let sim = Discord::start().await;
    let (code, said) = check(dir.path(), &sim, &sim.token()).await;
    insta::assert_snapshot!(said, @r"
    ok    discord: the token is that of the bot herder
    ok    discord: the bot is invited with https://discord.com/oauth2/authorize?client_id=ID&scope=bot+applications.commands&permissions=274878008400&guild_id=ID
    ok    discord: the Message Content intent is on
    ok    discord: the bot is in the server Workshop
    ok    discord: the bot has every permission it needs
    ");
    assert_eq!(code, Some(0));
    let (code, said) = check(dir.path(), &sim, "MTIz.fake.token").await;
    insta::assert_snapshot!(said, @"FAIL  discord: Discord does not know the token; in the Developer Portal open the application, Bot, Reset Token, and put what it shows where `token` of [discord] points");
    assert_eq!(code, Some(1));
    assert_eq!(sim.expects_violation("GET /users/@me: 401").len(), 1);

    sim.inject(
        Fault::refused(403, 50001, "Missing Access")
            .on("GET /applications/{application_id}/guilds/{guild_id}/commands"),
    );
    let (code, said) = check(dir.path(), &sim, &sim.token()).await;
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("FAIL")).collect();
    insta::assert_snapshot!(failed.join("\n"), @"FAIL  discord: slash commands cannot be registered; let the bot in again with https://discord.com/oauth2/authorize?client_id=ID&scope=bot+applications.commands&permissions=274878008400&guild_id=ID, which has the scope applications.commands");
    assert_eq!(code, Some(1));
    sim.throws_bot_out();
    let (code, said) = check(dir.path(), &sim, &sim.token()).await;
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("FAIL")).collect();
    insta::assert_snapshot!(failed.join("\n"), @"FAIL  discord: the bot is not in the server ID; correct `guild`, or open https://discord.com/oauth2/authorize?client_id=ID&scope=bot+applications.commands&permissions=274878008400&guild_id=ID and let it in");
    assert_eq!(code, Some(1));

    let bare =
        Discord::builder().bot_permissions(permission::EVERYONE).without_message_content().start().await;
    let (code, said) = check(dir.path(), &bare, &bare.token()).await;
    insta::assert_snapshot!(said, @r"
    ok    discord: the token is that of the bot herder
    ok    discord: the bot is invited with https://discord.com/oauth2/authorize?client_id=ID&scope=bot+applications.commands&permissions=274878008400&guild_id=ID
    note  discord: the Message Content intent is off: slash commands, @mentions of the bot, buttons and private messages work, plain text in an agent's channel does not; switch it on at https://discord.com/developers/applications/ID/bot under Privileged Gateway Intents
    ok    discord: the bot is in the server Workshop
    FAIL  discord: the permission Manage Channels is missing (no channels are made, no topics set, nothing is archived); open Server Settings, Roles, the role of herder, Permissions and switch it on, or let the bot in again with https://discord.com/oauth2/authorize?client_id=ID&scope=bot+applications.commands&permissions=274878008400&guild_id=ID
    ");
    assert_eq!(code, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_a_channel_that_was_just_made_is_heard() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let alice = sim.user("alice");
    let mut config = config(dir.path(), &sim);
    config.access.admins = vec![Subject::DiscordUser(alice.id.to_string())];
    let route = "POST /guilds/{guild_id}/channels";
    // Messages are looked at in the order in which they come, whatever their channel.
    let has_heard = async || {
        let asked = alice.says("#herder", "status");
        sim.message_in("herder", |message| message.reply_to == Some(asked)).await;
    };

    // herder learns of the channel long after everybody can write there,
    let made = Gate::default();
    sim.inject(Fault::held(&made).on(route).skip(4));
    let stage = Stage::open(config, Options::default()).await;
    sim.channel("#spark").await;
    let said = alice.says("#spark", "early");
    has_heard().await;
    made.opens();
    sim.reaction(said, "✅").await;
    sim.message_in("spark", |message| message.content.contains("early")).await;

    // or is never told.
    let lost = Gate::default();
    sim.inject(Fault::dropped(Effect::After).until(&lost).on(route));
    alice.deletes_channel("#spark");
    sim.until("another channel", |state| state.channel("#spark").is_some()).await;
    let (wrong, right) = (alice.says("#spark", "erly again"), alice.says("#spark", "and again"));
    alice.edits(wrong, "early again");
    has_heard().await;
    lost.opens();
    sim.reaction(right, "✅").await;
    sim.message_in("spark", |message| message.content.contains("early again")).await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_before_herder_has_found_its_channels_is_heard() {
    let (sim, dir) = (Discord::start().await, tempfile::tempdir().unwrap());
    let alice = sim.user("alice");
    let mut config = config(dir.path(), &sim);
    config.access.admins = vec![Subject::DiscordUser(alice.id.to_string())];
    // Channels of an earlier herder that lost its record of them.
    sim.makes_category("agents", &ROOMS.map(|room| room.trim_start_matches('#').to_owned()));
    sim.gateway().garbles("GUILD_CREATE", 1);
    let found = Gate::default();
    sim.inject(Fault::held(&found).on("GET /guilds/{guild_id}/channels"));
    let stage = Stage::open(config, Options::default()).await;
    sim.ready().await;
    let said = alice.says("#spark", "early");
    // A private message is handled after it.
    alice.whispers("status");
    sim.until("an answer in private", |state| {
        let private = |id| state.channels.get(&id).is_some_and(|channel| channel.recipient.is_some());
        state.messages.values().any(|it| it.author == state.bot.id && private(it.channel))
    })
    .await;
    found.opens();
    sim.reaction(said, "✅").await;
    sim.message_in("spark", |message| message.content.contains("early")).await;
    stage.close().await;
}
