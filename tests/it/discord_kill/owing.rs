//! herder is killed after a slash command is decided and on disk, and before Discord has its answer.

use std::time::Duration;

use herder::config::History;
use herder::core::id::NetworkName;
use herder::core::tie::Tie;
use herder::core::work::Actor;
use herder::journal::{self, Batch, Entry, FleetEvent, Journal, Stream, Write};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Field;
use crate::kill::{Running, reap, signal};
use crate::simulated_discord::{Discord, Effect, Fault, Gate, State};
use crate::stage::PATIENCE;

const ORIGINAL: &str = "GET /webhooks/{webhook_id}/{webhook_token}/messages/@original";
const CALLBACK: &str = "POST /interactions/{interaction_id}/{interaction_token}/callback";

/// Gives herder a command, and kills it before it learns whether its answer arrived. Returns the next herder.
async fn is_killed_over(
    herder: Running,
    field: &Field,
    effect: Effect,
    channel: &str,
    (command, given): (&str, Value),
) -> Running {
    field.sim.ready().await;
    field.sim.command(command.split(' ').next().unwrap_or_default()).await;
    let gate = Gate::default();
    let held = field.sim.inject(Fault::dropped(effect).on(CALLBACK).until(&gate).always());
    let asked = |state: &State| state.requests.iter().filter(|it| it.route == CALLBACK).count();
    let before = field.sim.look(asked);
    field.alice.slash(channel, command, given);
    field.sim.until_within(PATIENCE, "an answer on its way", |state| asked(state) > before).await;
    signal(&herder, Signal::KILL);
    reap(herder).await;
    held.lift();
    gate.opens();
    field.sim.gateway().silent().await;
    field.start()
}

/// Links alice's account with one on IRC.
async fn is_tied(field: &Field) {
    let settings = journal::Settings {
        ballast: 0,
        ..journal::Settings::new(field.dir.path().join("data"), History::default())
    };
    let (journal, _) = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
    let (user, network) = (field.alice.id.to_string(), NetworkName::from("libera"));
    let by = Actor { network: network.clone(), name: "alice".to_owned(), identity: None };
    let tie = Tie { user, network, account: "alice".to_owned() };
    let linked = Entry::Fleet(FleetEvent::Linked { tie, name: "alice".to_owned(), by });
    let writes = vec![Write { stream: Stream::Fleet, expected_rev: None, entries: vec![linked] }];
    journal.commit(Batch { at: herder::clock::now(), writes, ..Batch::default() }).await.unwrap();
    journal.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_discord_has_of_an_answer_is_not_said_again_by_the_next_herder() {
    let field = Field::new().await;
    let herder = field.start();
    field.sim.channel("calm").await;
    field.calms(1).await;
    let resume = ("resume", json!({ "agent": "calm" }));
    let herder = is_killed_over(herder, &field, Effect::After, "general", resume).await;
    let looked =
        |state: &State| state.requests.iter().any(|it| it.route == ORIGINAL && it.status == Some(200));
    field.sim.until_within(PATIENCE, "a look at the answer", looked).await;
    // The next line stands behind all pending posts of that channel.
    field.alice.says("general", "@calm help");
    field.sim.message_in("general", |post| post.content.contains("stop-all")).await;
    let answers: Vec<String> = field.sim.posts("general");
    let answers = answers.iter().filter(|post| post.replace("**", "").contains("calm resumes"));
    assert_eq!(answers.count(), 1, "{}", field.log());
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success(), "{}", field.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_came_to_is_said_by_the_next_herder_where_nobody_was_told() {
    let field = Field::new().await;
    field.sim.expects_violation("was never acknowledged");
    is_tied(&field).await;
    let herder = field.start();
    field.sim.channel("calm").await;
    field.calms(1).await;
    // In the agent's own channel the answer is all that would be seen there.
    let herder = is_killed_over(herder, &field, Effect::Before, "calm", ("resume", json!({}))).await;
    field.sim.message_in("calm", |post| post.content.replace("**", "").contains("calm resumes")).await;
    // Elsewhere it is for all readers of the channel.
    let task = json!({ "agent": "spark", "text": "spark-1." });
    let herder = is_killed_over(herder, &field, Effect::Before, "general", ("task add", task)).await;
    let answer = field.sim.message_in("general", |post| post.content.contains("takes up task")).await;
    assert!(answer.content.starts_with("alice: "), "{}", answer.content);
    // And what is for one person alone is told to them.
    let whisper = json!({ "agent": "spark", "text": "mind the budget" });
    let herder = is_killed_over(herder, &field, Effect::Before, "general", ("whisper", whisper)).await;
    let told = |state: &State| {
        let to_alice = |id| state.channels.get(&id).is_some_and(|it| it.recipient == Some(field.alice.id));
        state.messages.values().any(|post| post.author == state.bot.id && to_alice(post.channel))
    };
    field.sim.until_within(PATIENCE, "an answer in private", told).await;
    // The same for a decision of the root.
    let herder =
        is_killed_over(herder, &field, Effect::Before, "general", ("link", json!({ "code": "remove" })))
            .await;
    let told = |state: &State| {
        let to_alice = |id| state.channels.get(&id).is_some_and(|it| it.recipient == Some(field.alice.id));
        state.messages.values().any(|post| to_alice(post.channel) && post.content.contains("1 tie undone"))
    };
    field.sim.until_within(PATIENCE, "that the tie is undone", told).await;
    for channel in ["general", "spark", "herder"] {
        assert!(field.sim.posts(channel).iter().all(|post| !post.contains("nobody else")), "{channel}");
    }
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success(), "{}", field.log());
}

/// An answer that only one person sees is in no channel: the token alone can show that it is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_person_was_told_alone_is_not_told_them_again_by_the_next_herder() {
    let field = Field::new().await;
    is_tied(&field).await;
    let mut herder = field.start();
    field.sim.channel("calm").await;
    field.calms(1).await;
    let looks = |state: &State| {
        state.requests.iter().filter(|it| it.route == ORIGINAL && it.status == Some(200)).count()
    };
    for (command, given) in [
        ("whisper", json!({ "agent": "spark", "text": "mind the budget" })),
        ("link", json!({ "code": "remove" })),
    ] {
        let looked = field.sim.look(looks);
        herder = is_killed_over(herder, &field, Effect::After, "general", (command, given)).await;
        field.sim.until_within(PATIENCE, "a look at the answer", |state| looks(state) > looked).await;
    }
    is_told_nothing_more(&field).await;
    let alone = field.sim.look(|state| {
        let answers = state.messages.values().filter(|post| post.ephemeral_to == Some(field.alice.id));
        answers.count()
    });
    assert_eq!(alone, 2, "{}", field.log());
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success(), "{}", field.log());
}

/// The same for an answer that was announced, and takes the place of its announcement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_for_one_person_that_was_announced_comes_once() {
    for effect in [Effect::Before, Effect::After] {
        let sim = Discord::builder().clock_behind(Duration::from_millis(2300)).start().await;
        let field = Field::on(sim).await;
        let herder = field.start();
        field.sim.ready().await;
        field.sim.command("whisper").await;
        let gate = Gate::default();
        let held = field.sim.inject(Fault::dropped(effect).on(EDIT).until(&gate).always());
        let edits = |state: &State| state.requests.iter().filter(|it| it.route == EDIT).count();
        let asked =
            field.alice.slash("general", "whisper", json!({ "agent": "spark", "text": "mind the budget" }));
        assert!(asked.acknowledged().await.ephemeral);
        field.sim.until_within(PATIENCE, "an answer on its way", |state| edits(state) > 0).await;
        signal(&herder, Signal::KILL);
        reap(herder).await;
        held.lift();
        gate.opens();
        field.sim.gateway().silent().await;
        let herder = field.start();
        let told = asked.answer().await;
        assert!(told.content.contains("nobody else"), "{effect:?}: {}", told.content);
        is_told_nothing_more(&field).await;
        signal(&herder, Signal::TERM);
        assert!(reap(herder).await.success(), "{}", field.log());
    }
}

/// Checks that alice has got nothing in private but the answer to a line of hers, which comes after all that was
/// pending for her.
async fn is_told_nothing_more(field: &Field) {
    field.sim.ready().await;
    field.alice.whispers("help");
    let told = |state: &State| {
        let to_alice = |id| state.channels.get(&id).is_some_and(|it| it.recipient == Some(field.alice.id));
        let posts =
            state.messages.values().filter(|post| post.author == state.bot.id && to_alice(post.channel));
        posts.map(|post| post.content.clone()).collect::<Vec<_>>()
    };
    let helped = |state: &State| told(state).iter().any(|post| post.contains("stop-all"));
    field.sim.until_within(PATIENCE, "the answer to a line in private", helped).await;
    let told = field.sim.look(told);
    let again = told.iter().find(|post| ["nobody else", "tie undone"].iter().any(|text| post.contains(text)));
    assert_eq!(again, None, "{told:#?}");
}

const EDIT: &str = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original";
const STATUS_EDIT: &str = "PATCH /channels/{channel_id}/messages/{message_id}";

/// The commands are so old when they come that the answers are announced first; herder is killed between the two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announced_answer_comes_from_the_next_herder_and_once() {
    let sim = Discord::builder().clock_behind(Duration::from_millis(2300)).start().await;
    let field = Field::on(sim).await;
    let mut herder = field.start();
    field.sim.channel("calm").await;
    field.calms(1).await;
    for (number, effect, command, given, answer) in [
        (0, Effect::Before, "resume", json!({ "agent": "calm" }), "calm resumes"),
        (1, Effect::After, "pause", json!({ "agent": "calm" }), "calm is paused"),
        (2, Effect::Before, "status", json!({}), "herder was restarted before it could answer here"),
        (3, Effect::After, "status", json!({}), "3 agents"),
    ] {
        field.sim.ready().await;
        field.sim.command(command).await;
        let gate = Gate::default();
        let held = field.sim.inject(Fault::dropped(effect).on(EDIT).until(&gate).always());
        let edits = |state: &State| state.requests.iter().filter(|it| it.route == EDIT).count();
        let before = field.sim.look(edits);
        let posts = field.sim.posts("general").len();
        let asked = field.alice.slash("general", command, given);
        assert_eq!(asked.acknowledged().await.kind, 5);
        field.sim.until_within(PATIENCE, "an answer on its way", |state| edits(state) > before).await;
        signal(&herder, Signal::KILL);
        reap(herder).await;
        held.lift();
        gate.opens();
        field.sim.gateway().silent().await;
        herder = field.start();
        let told = asked.answer().await;
        assert!(told.content.replace("**", "").contains(answer), "{number}: {}", told.content);
        // The next answer comes after all that were pending there.
        field.sim.ready().await;
        let help = field.alice.says("general", "@calm help");
        field.sim.message_in("general", |post| post.reply_to == Some(help)).await;
        let new = field.sim.posts("general").split_off(posts);
        let answers = new.iter().filter(|post| post.replace("**", "").contains(answer));
        assert_eq!(answers.count(), 1, "{number}: {new:#?}");
    }
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success(), "{}", field.log());
}

/// The message that shows a session is changed, and herder is killed before that is on disk, or before it is done at
/// all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_that_was_being_changed_is_changed_by_the_next_herder_and_posted_once() {
    for effect in [Effect::Before, Effect::After] {
        let field = Field::new().await;
        let herder = field.start();
        field.sim.channel("spark").await;
        field.sim.ready().await;
        let gate = Gate::default();
        let held = field.sim.inject(Fault::dropped(effect).on(STATUS_EDIT).until(&gate).always());
        let edits = |state: &State| state.requests.iter().filter(|it| it.route == STATUS_EDIT).count();
        field.alice.says("spark", "spark-1.");
        field.sim.message_in("spark", |post| post.content.contains("done spark-1.")).await;
        field.sim.until_within(PATIENCE, "a status on its way", |state| edits(state) > 0).await;
        signal(&herder, Signal::KILL);
        reap(herder).await;
        held.lift();
        gate.opens();
        field.sim.gateway().silent().await;
        let herder = field.start();
        field.sim.message_in("spark", |post| post.content.contains("completed")).await;
        // The next answer comes after all that were pending there.
        field.sim.ready().await;
        field.alice.says("spark", "spark-2.");
        field.sim.message_in("spark", |post| post.content.contains("done spark-2.")).await;
        let posts = field.sim.posts("spark");
        let of = |text: &str| posts.iter().filter(|post| post.contains(text)).count();
        assert_eq!((of("done spark-1."), of("started: spark-1.")), (1, 0), "{effect:?}: {posts:#?}");
        let shown = of("completed") + of("started: spark-2.");
        assert_eq!(shown, 2, "{effect:?}: each session is shown by one message: {posts:#?}");
        signal(&herder, Signal::TERM);
        assert!(reap(herder).await.success(), "{}", field.log());
    }
}
