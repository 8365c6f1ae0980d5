//! The same with serenity and poise, as herder uses them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use poise::serenity_prelude as serenity;
use serenity::{GatewayIntents, Mentionable as _};
use tokio::task::JoinHandle;

use super::*;
use crate::simulated_discord::asked::Asked;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Context<'a> = poise::Context<'a, Heard, Error>;

const CALLBACK: &str = "POST /interactions/{interaction_id}/{interaction_token}/callback";
const MESSAGES: &str = "POST /channels/{channel_id}/messages";

/// The events that the bot has received, for the bot itself.
#[derive(Default)]
struct Heard {
    resumes: AtomicU32,
}

/// Answers later.
#[poise::command(slash_command)]
async fn slow(ctx: Context<'_>, #[description = "words"] words: String) -> Result<(), Error> {
    ctx.defer_ephemeral().await?;
    ctx.say(format!("you said {words}")).await?;
    ctx.say("and more").await?;
    Ok(())
}

#[expect(clippy::unused_async, reason = "poise asks for a future")]
async fn names(_: Context<'_>, typed: &str) -> serenity::CreateAutocompleteResponse {
    let names = ["spark", "spring", "owl"].into_iter().filter(|name| name.starts_with(typed));
    serenity::CreateAutocompleteResponse::new()
        .set_choices(names.map(|name| serenity::AutocompleteChoice::new(name, name)).collect())
}

/// Pauses an agent.
#[poise::command(slash_command, default_member_permissions = "MANAGE_GUILD")]
async fn pause(
    ctx: Context<'_>,
    #[description = "which"]
    #[autocomplete = "names"]
    agent: String,
) -> Result<(), Error> {
    let button = serenity::CreateButton::new(format!("resume:{agent}")).label("Resume");
    let row = serenity::CreateActionRow::Buttons(vec![button]);
    ctx.send(poise::CreateReply::default().content(format!("{agent} is paused")).components(vec![row]))
        .await?;
    Ok(())
}

#[derive(Debug, poise::Modal)]
struct Long {
    #[name = "What to do"]
    prompt: String,
}

/// Adds a task.
#[poise::command(slash_command, subcommands("add"), subcommand_required)]
#[expect(clippy::unused_async, reason = "poise asks for a future")]
async fn task(_: Context<'_>) -> Result<(), Error> {
    Ok(())
}

/// Adds a task.
#[poise::command(slash_command)]
async fn add(ctx: poise::ApplicationContext<'_, Heard, Error>) -> Result<(), Error> {
    use poise::Modal as _;
    if let Some(long) = Long::execute(ctx).await? {
        ctx.say(format!("to do: {}", long.prompt)).await?;
    }
    Ok(())
}

async fn event(ctx: &serenity::Context, event: &serenity::FullEvent, heard: &Heard) -> Result<(), Error> {
    match event {
        serenity::FullEvent::Message { new_message } if !new_message.author.bot => {
            let echo = format!("heard {:?} of {}", new_message.content, new_message.author.mention());
            let silent = serenity::CreateAllowedMentions::new();
            let message = serenity::CreateMessage::new().content(echo).allowed_mentions(silent);
            new_message.channel_id.send_message(ctx, message.reference_message(new_message)).await?;
            new_message.react(ctx, '👀').await?;
        }
        serenity::FullEvent::InteractionCreate { interaction: serenity::Interaction::Component(click) } => {
            let message = serenity::CreateInteractionResponseMessage::new()
                .content(format!("{} by {}", click.data.custom_id, click.user.name))
                .components(Vec::new());
            click.create_response(ctx, serenity::CreateInteractionResponse::UpdateMessage(message)).await?;
        }
        serenity::FullEvent::Resume { .. } => {
            heard.resumes.fetch_add(1, Ordering::SeqCst);
        }
        _ => {}
    }
    Ok(())
}

/// The way in which the bot connects to its Discord.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Encrypted,
}

fn http(sim: &Discord, way: Way) -> serenity::Http {
    match way {
        Way::Plain => {
            serenity::HttpBuilder::new(sim.token()).proxy(sim.api_url()).ratelimiter_disabled(true).build()
        }
        Way::Encrypted => {
            let authority = reqwest::Certificate::from_pem(sim.ca_pem().as_bytes()).expect("a certificate");
            let client = reqwest::Client::builder()
                .use_rustls_tls()
                .add_root_certificate(authority)
                .resolve("discord.com", sim.address())
                .build()
                .expect("a client");
            serenity::HttpBuilder::new(sim.token()).client(client).build()
        }
    }
}

/// Starts a bot and returns the task of its client.
async fn bot(sim: &Discord, way: Way, intents: GatewayIntents) -> JoinHandle<Result<(), serenity::Error>> {
    let guild = serenity::GuildId::new(sim.guild_id());
    let framework = poise::Framework::builder()
        .options(poise::FrameworkOptions {
            commands: vec![slow(), pause(), task()],
            event_handler: |ctx, happened| Box::pin(event(ctx.serenity_context, happened, ctx.user_data)),
            initialize_owners: true,
            ..Default::default()
        })
        .setup(move |ctx, _, framework| {
            Box::pin(async move {
                poise::builtins::register_in_guild(ctx, &framework.options().commands, guild).await?;
                Ok(Heard::default())
            })
        })
        .build();
    let mut client = serenity::ClientBuilder::new_with_http(http(sim, way), intents)
        .framework(framework)
        .await
        .expect("a client");
    tokio::spawn(async move { client.start().await })
}

fn intents() -> GatewayIntents {
    GatewayIntents::non_privileged() | GatewayIntents::MESSAGE_CONTENT | GatewayIntents::GUILD_MEMBERS
}

async fn started(sim: &Discord, way: Way) -> JoinHandle<Result<(), serenity::Error>> {
    let bot = bot(sim, way, intents()).await;
    sim.command("pause").await;
    bot
}

#[tokio::test]
async fn a_conversation() {
    for way in [Way::Plain, Way::Encrypted] {
        let sim = Discord::builder().any_bot().start().await;
        let _bot = started(&sim, way).await;
        let alice = sim.user("alice").locale("de");

        let said = alice.says("#general", "hello @herder");
        let echo = sim.message_in("#general", |message| message.reply_to == Some(said)).await;
        assert_eq!(echo.content, format!("heard \"hello <@{}>\" of {}", sim.bot_id(), alice.mention()));
        assert!(echo.pings.is_empty(), "{:?}", echo.pings);
        sim.reaction(said, "👀").await;

        let asked = alice.slash("#general", "slow", json!({ "words": "now" }));
        let ack = asked.acknowledged().await;
        assert_eq!((ack.kind, ack.ephemeral), (5, true));
        assert!(ack.latency < Duration::from_secs(3));
        let answer = asked.answer().await;
        assert_eq!((answer.content.as_str(), answer.is_ephemeral()), ("you said now", true));
        let more = asked.followups(1).await;
        assert_eq!((more[0].content.as_str(), more[0].is_ephemeral()), ("and more", false));
    }
}

#[tokio::test]
async fn completion_buttons_and_modals() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    let alice = sim.user("alice");
    assert!(!alice.is_offered("pause") && alice.is_offered("task"));
    sim.role("operator", permission::MANAGE_GUILD);
    let alice = alice.roles(["operator"]);

    let choices = alice.autocompletes("#general", "pause", "agent", "sp", json!({})).choices().await;
    assert_eq!(choices, [("spark".to_owned(), json!("spark")), ("spring".to_owned(), json!("spring"))]);

    let paused = alice.slash("#general", "pause", json!({ "agent": "spark" })).answer().await;
    assert_eq!(paused.content, "spark is paused");
    let click = alice.clicks(paused.id, &paused.button("Resume").custom_id);
    assert_eq!(click.answer().await.content, "resume:spark by alice");
    assert_eq!(sim.message(paused.id, |message| !message.history.is_empty()).await.buttons(), []);

    let asked = alice.slash("#general", "task add", json!({}));
    let modal = asked.modal().await;
    assert_eq!((modal.title.as_str(), modal.fields[0].label.as_str()), ("Long", "What to do"));
    let sent = alice.submits_modal(&asked, &[("prompt", "mend it")]).await;
    assert_eq!(sent.acknowledged().await.kind, 6);
    let words = sim.message_in("#general", |message| message.content.starts_with("to do")).await;
    assert_eq!(words.content, "to do: mend it");
}

#[tokio::test]
async fn what_is_missed_is_replayed_after_each_way_to_lose_a_connection() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    let alice = sim.user("alice");
    let gateway = sim.gateway();
    let ways: [&dyn Fn(); 5] = [
        &|| gateway.drops_fin(),
        &|| gateway.drops_rst(),
        &|| gateway.closes(4000),
        &|| gateway.asks_to_reconnect(),
        &|| gateway.invalidates(true),
    ];
    for (number, lose) in (1..).zip(ways) {
        lose();
        let said = alice.says("#general", &format!("missed {number}"));
        gateway.resumed(number).await;
        sim.reaction(said, "👀").await;
    }
    assert_eq!(gateway.identifies(), 1);
    assert_eq!(sim.look(|state| state.posts("#general").count()), 5);
}

#[tokio::test]
async fn a_token_or_an_intent_that_is_refused_ends_the_client() {
    let sim = Discord::builder().any_bot().start().await;
    let bot = started(&sim, Way::Plain).await;
    sim.changes_token("another");
    sim.gateway().drops_fin();
    // The resume is refused with 4004.
    assert!(bot.await.expect("no panic").is_err());

    let sim = Discord::builder().any_bot().without_message_content().start().await;
    let bot = self::bot(&sim, Way::Plain, intents()).await;
    let ended = bot.await.expect("no panic").expect_err("4014").to_string();
    assert!(ended.contains("intents"), "{ended}");
}

#[tokio::test]
async fn without_the_intent_only_what_is_meant_for_the_bot_has_words() {
    let sim = Discord::builder().any_bot().without_message_content().start().await;
    let _bot = bot(&sim, Way::Plain, GatewayIntents::non_privileged()).await;
    sim.command("pause").await;
    let alice = sim.user("alice");
    alice.says("#general", "psst");
    alice.says("#general", "@herder listen");
    sim.message_in("#general", |message| message.content.contains("listen")).await;
    assert!(sim.posts("#general")[0].starts_with("heard \"\""), "{:?}", sim.posts("#general"));
}

#[tokio::test]
async fn an_answer_that_never_comes_is_a_violation() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    let alice = sim.user("alice");
    sim.inject(Fault::status(500, Effect::Before).on(CALLBACK).always());
    let asked = alice.slash("#general", "slow", json!({ "words": "a" }));
    sim.until("a try", |state| state.requests.iter().any(|request| request.route.contains("/callback")))
        .await;
    assert_eq!(sim.violations(), [] as [String; 0]);
    asked.waited_out();
    assert_eq!(sim.expects_violation("never acknowledged").len(), 1);
}

/// Posts an answer to an interaction, as only the bot could.
async fn acknowledges(sim: &Discord, asked: &Asked) -> u16 {
    let known = asked.now();
    let path = format!("/interactions/{}/{}/callback", known.id, known.token);
    let body = json!({ "type": 4, "data": { "content": "a" } });
    Raw::new(sim).send(Method::POST, &path, &body).await.0.as_u16()
}

#[tokio::test]
async fn a_second_acknowledgement_is_refused() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    let asked = sim.user("alice").slash("#general", "slow", json!({ "words": "a" }));
    asked.answer().await;
    assert_eq!(acknowledges(&sim, &asked).await, 400);
    only_violation(&sim, "40060");
}

#[tokio::test]
async fn an_acknowledgement_whose_answer_was_lost_may_be_repeated() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    // poise takes the loss for a failure and tells the user, which is a second acknowledgement.
    sim.inject(Fault::dropped(Effect::After).on(CALLBACK));
    sim.user("alice").slash("#general", "slow", json!({ "words": "a" })).acknowledged().await;
    sim.until("the second", |state| {
        state.requests.iter().filter(|request| request.status == Some(400)).count() == 1
    })
    .await;
}

#[tokio::test]
async fn an_acknowledgement_that_comes_late_is_refused() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    // The bot does not get through with its own.
    let blocked = sim.inject(Fault::status(500, Effect::Before).on(CALLBACK).times(2));
    let asked = sim.user("alice").slash("#general", "slow", json!({ "words": "a" }));
    blocked.spent().await;
    asked.waited_out();
    assert_eq!(acknowledges(&sim, &asked).await, 404);
    assert_eq!(sim.expects_violation("10062").len(), 1);
    assert_eq!(sim.expects_violation("never acknowledged").len(), 1);
}

#[tokio::test]
async fn with_the_rate_limiter_of_production_a_429_is_waited_out() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Encrypted).await;
    let limited = sim.inject(Fault::rate_limited(0.2).on(MESSAGES));
    let said = sim.user("alice").says("#general", "a");
    sim.message_in("#general", |message| message.reply_to == Some(said)).await;
    assert_eq!((limited.struck(), sim.requests(MESSAGES).len()), (1, 2));
}

#[tokio::test]
async fn events_come_twice_and_in_the_wrong_order() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    let alice = sim.user("alice");
    sim.gateway().duplicates("MESSAGE_CREATE", 1);
    alice.says("#general", "twice");
    sim.until("both", |state| state.posts("#general").count() == 2).await;

    sim.gateway().reorders("MESSAGE_CREATE", 1);
    let (first, second) = (alice.says("#general", "first"), alice.says("#general", "second"));
    sim.until("both", |state| state.posts("#general").count() == 4).await;
    let answered: Vec<_> = sim.look(|state| state.posts("#general").skip(2).map(|m| m.reply_to).collect());
    assert_eq!(answered, [Some(second), Some(first)]);
}

#[tokio::test]
async fn what_cannot_be_resumed_begins_anew() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    let gateway = sim.gateway();
    gateway.invalidates(false);
    gateway.identified(2).await;
    gateway.forgets(1);
    gateway.closes(4000);
    gateway.identified(3).await;
    assert_eq!(gateway.resumes(), 0);
}

#[tokio::test]
async fn a_zombie_is_left_for_a_new_session() {
    let sim = Discord::builder().any_bot().start().await;
    sim.gateway().heartbeat(Duration::from_millis(200));
    let _bot = started(&sim, Way::Plain).await;
    sim.gateway().zombie(true);
    let before = sim.gateway().connections();
    sim.until("a new connection", |state| state.gateway.connections > before).await;
    sim.gateway().zombie(false);
    sim.gateway().identified(2).await;
}

#[tokio::test]
async fn nothing_gets_through_while_discord_is_offline() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    sim.goes_offline();
    sim.gateway().silent().await;
    let said = sim.user("alice").says("#general", "missed");
    sim.comes_back();
    // serenity gives the session up when the first try fails, or resumes when it came late enough.
    sim.until("a link", |state| state.gateway.resumes + state.gateway.identifies == 2).await;
    if sim.gateway().resumes() == 1 {
        sim.reaction(said, "👀").await;
    }
}

/// Lets everything happen, so that each event is sent once at least.
async fn everything_happens(sim: &Discord) {
    let alice = sim.user("alice").roles(["operator"]);
    let said = alice.says("#general", "one");
    alice.edits(said, "two");
    alice.reacts(said, "✅");
    alice.takes_back(said, "✅");
    alice.deletes(said);
    alice.message("#general", "file").attaching("a.txt", "text/plain", "words").send();
    alice.whispers("psst");
    sim.makes_channel("#spark");
    sim.overwrites("#spark", alice.id, permission::SEND_MESSAGES, 0);
    alice.renames_channel("#spark", "#owl");
    alice.deletes_channel("#owl");
    sim.grants_bot(permission::BOT | permission::ADMINISTRATOR);
    let owner = sim.user("owner");
    owner.autocompletes("#general", "pause", "agent", "sp", json!({})).choices().await;
    let paused = owner.slash("#general", "pause", json!({ "agent": "spark" })).answer().await;
    owner.clicks(paused.id, "resume:spark").answer().await;
    let asked = owner.slash("#general", "task add", json!({}));
    owner.submits_modal(&asked, &[("prompt", "mend it")]).await.acknowledged().await;
    sim.user("bob").leaves();
}

#[tokio::test]
async fn every_event_is_one_that_the_client_understands() {
    let sim = Discord::builder().any_bot().start().await;
    let _bot = started(&sim, Way::Plain).await;
    everything_happens(&sim).await;
    let sent: Vec<String> = sim.look(|state| state.gateway.sessions[0].sent().map(str::to_owned).collect());
    let mut kinds = std::collections::BTreeSet::new();
    for payload in sent {
        let payload: Value = serde_json::from_str(&payload).expect("JSON");
        kinds.insert(payload["t"].as_str().expect("a name").to_owned());
        let understood: Result<serenity::Event, _> = serde_json::from_value(payload.clone());
        let event = understood.unwrap_or_else(|error| panic!("{error}: {payload}"));
        assert!(!matches!(event, serenity::Event::Unknown(_)), "{payload}");
    }
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    insta::assert_snapshot!(kinds.join("\n"), @"
    CHANNEL_CREATE
    CHANNEL_DELETE
    CHANNEL_UPDATE
    GUILD_CREATE
    GUILD_MEMBER_ADD
    GUILD_MEMBER_REMOVE
    GUILD_MEMBER_UPDATE
    GUILD_ROLE_CREATE
    GUILD_ROLE_UPDATE
    INTERACTION_CREATE
    MESSAGE_CREATE
    MESSAGE_DELETE
    MESSAGE_REACTION_ADD
    MESSAGE_REACTION_REMOVE
    MESSAGE_UPDATE
    READY
    ");
}
