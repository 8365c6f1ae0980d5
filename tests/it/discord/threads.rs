//! Threads of an agent's channel: messages there are for the agent, whether herder was running or not.

use std::time::Duration;

use herder::core::agent::Phase;
use herder::core::id::{NetworkName, PostId};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::journal::{AuditEntry, Batch, Entry, Stream};
use serde_json::json;

use super::Rig;
use crate::from_within::until_noted;
use crate::simulated_discord::state::{Id, Message};
use crate::simulated_discord::{Discord, Effect, Fault, State, permission};

const CHANNEL: &str = "GET /channels/{channel_id}";
const MESSAGES: &str = "GET /channels/{channel_id}/messages";
const POST: &str = "POST /channels/{channel_id}/messages";

/// Returns herder with an agent that has worked, and a thread in its channel.
async fn with_thread() -> (Rig, Id) {
    let rig = Rig::open(Discord::start().await).await;
    let spark = rig.sim.channel("#spark").await.id;
    let thread = rig.sim.makes_thread("aside", spark);
    (rig, thread)
}

/// Stops herder, calls `meanwhile`, and starts it again.
async fn away(mut rig: Rig, meanwhile: impl FnOnce(&Rig)) -> Rig {
    rig.stop().await;
    meanwhile(&rig);
    rig.started().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_a_thread_is_for_its_agent_and_answered_there() {
    let (mut rig, _) = with_thread().await;
    rig.alice.says("#aside", "pause");
    rig.sim.message_in("#aside", |post| post.content.contains("is paused")).await;
    rig.agent("a pause", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    // Everybody looks in the channel.
    rig.sim.message_in("#spark", |post| post.content.contains("is paused")).await;
    let said = rig.alice.says("#aside", "one");
    let queued = rig.sim.message_in("#aside", |post| post.content.contains("position 1")).await;
    assert_eq!(queued.reply_to, Some(said));
    rig.sim.reaction(said, "👀").await;
    let taken_back = rig.alice.says("#aside", "delete everything");
    rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    rig.alice.edits(said, "one, well");
    rig.alice.deletes(taken_back);
    rig.agent("one work in other words", |view| {
        view.agent.queue.iter().map(|work| work.text.as_str()).eq(["one, well"])
    })
    .await;
    // A slash command means the agent, too.
    rig.sim.command("resume").await;
    let alice = rig.manager();
    let answer = alice.slash("#aside", "resume", json!({})).answer().await;
    assert!(answer.content.contains("spark"), "{}", answer.content);
    assert_eq!(rig.has_done(1).await, ["one, well"]);
    rig.sim.reaction(said, "✅").await;
    rig.stop().await;
}

/// Work that was done is not done again, and other work is done, in threads that are in use, archived or gone by
/// then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_threads_while_herder_is_away_is_done_once() {
    let (rig, thread) = with_thread().await;
    rig.alice.says("#aside", "zero");
    rig.has_done(1).await;
    let rig = away(rig, |rig| {
        rig.alice.says("#aside", "one");
    })
    .await;
    assert_eq!(rig.has_done(2).await, ["zero", "one"]);
    // Threads without earlier messages, in use and archived; and an archived one with earlier messages.
    let rig = away(rig, |rig| {
        let spark =
            rig.sim.look(|state| state.channel("#spark").map(|channel| channel.id)).expect("it is there");
        let closed = rig.sim.makes_thread("closed", spark);
        rig.alice.says("#closed", "two");
        rig.sim.archives(closed);
        rig.sim.makes_thread("open", spark);
        rig.alice.says("#open", "three");
        rig.alice.says("#aside", "four");
        rig.sim.archives(thread);
    })
    .await;
    let mut done = rig.has_done(5).await.split_off(2);
    done.sort();
    assert_eq!(done, ["four", "three", "two"]);
    // A message in an archived one takes it out of the archive.
    rig.alice.says("#aside", "five");
    rig.has_done(6).await;
    let rig = away(rig, |rig| {
        rig.alice.says("#open", "unseen");
        let open =
            rig.sim.look(|state| state.channel("#open").map(|channel| channel.id)).expect("it is there");
        rig.sim.archives(open);
        rig.alice.deletes_channel("#open");
        rig.alice.says("#closed", "six");
    })
    .await;
    assert_eq!(rig.has_done(7).await.last().map(String::as_str), Some("six"));
    let mut rig = away(rig, |_| {}).await;
    rig.alice.says("#spark", "seven");
    assert_eq!(rig.has_done(8).await.split_off(5), ["five", "six", "seven"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_herder_was_not_told_of_is_asked_for() {
    let mut rig = Rig::open(Discord::start().await).await;
    let spark = rig.sim.channel("#spark").await.id;
    // The event that tells of it is lost; and at first it is not told when it is asked for.
    let asked = rig.sim.inject(Fault::refused(403, 0, "Access denied").on(CHANNEL).times(1));
    rig.sim.gateway().loses("THREAD_CREATE", 1);
    rig.sim.makes_thread("aside", spark);
    rig.alice.says("#aside", "one");
    asked.spent().await;
    assert_eq!(rig.has_done(1).await, ["one"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_herder_may_not_speak_in_threads_it_answers_in_the_channel() {
    let (mut rig, thread) = with_thread().await;
    let role = rig.sim.look(|state| state.bot.role);
    rig.sim.expects_violation("Missing Permissions");
    rig.sim.overwrites("spark", role, 0, permission::SEND_MESSAGES_IN_THREADS);
    rig.alice.says("#aside", "status");
    rig.sim.message_in("#spark", |post| post.content.contains("idle")).await;
    rig.sim.message_in("alerts", |post| post.content.contains("Send Messages in Threads")).await;
    rig.sim.overwrites("spark", role, permission::SEND_MESSAGES_IN_THREADS, 0);
    rig.alice.says("#aside", "status");
    rig.sim.message_in("#aside", |post| post.content.contains("idle")).await;
    // Nor where one was locked, by alice herself.
    rig.sim.locks(thread);
    rig.alice.says("#aside", "usage");
    rig.sim.message_in("#spark", |post| post.content.contains("this hour")).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_a_thread_where_herder_could_not_read_is_done_when_it_can() {
    let (mut rig, _) = with_thread().await;
    rig.alice.says("#aside", "zero");
    rig.has_done(1).await;
    let role = rig.sim.look(|state| state.bot.role);
    rig.sim.expects_violation("Missing");
    rig.sim.overwrites("spark", role, 0, permission::VIEW_CHANNEL);
    rig.sim.message_in("alerts", |post| post.content.contains("lacks the permission")).await;
    rig.alice.says("#aside", "unseen");
    rig.sim.overwrites("spark", role, permission::VIEW_CHANNEL, 0);
    assert_eq!(rig.has_done(2).await, ["zero", "unseen"]);
    rig.stop().await;
}

/// The record names the thread, which is what a person can look at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_asked_in_a_thread_is_on_record_as_such() {
    let (mut rig, thread) = with_thread().await;
    rig.alice.says("#aside", "pause");
    rig.sim.message_in("#aside", |post| post.content.contains("is paused")).await;
    let journal = rig.stage().herder.fleet().journal();
    let entries = journal.history(&Stream::Audit, 100, None).expect("it can be read");
    let record = entries.iter().find_map(|recorded| match &recorded.entry {
        Entry::Audit(AuditEntry { place, verb, .. }) if verb == "pause" => Some(place.clone()),
        Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => None,
    });
    assert_eq!(record, Some(thread.to_string()));
    rig.stop().await;
}

/// Waits until it is on disk that a channel is done up to a message.
pub(super) async fn is_noted(rig: &Rig, channel: Id, message: Id) {
    let key = format!("discord/seen/{channel}");
    let seen = |memos: Vec<(String, String)>| {
        let value = memos.into_iter().find(|(found, _)| *found == key)?.1;
        serde_json::from_str::<serde_json::Value>(&value).ok()?["id"].as_u64()
    };
    let is_done = |memos| seen(memos).is_some_and(|seen| seen >= message);
    until_noted(rig.stage().herder.fleet().journal(), &key, is_done).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_with_nothing_but_talk_are_not_asked_for_once_they_are_archived() {
    let rig = Rig::open(Discord::start().await).await;
    let general = rig.sim.makes_channel("talk");
    let threads: Vec<Id> =
        (0..3).map(|number| rig.sim.makes_thread(&format!("aside-{number}"), general)).collect();
    for number in 0..3 {
        rig.alice.says(&format!("#aside-{number}"), "how was your weekend");
    }
    rig.alice.says("#spark", "one");
    rig.has_done(1).await;
    for thread in &threads {
        rig.sim.archives(*thread);
    }
    // Later messages are recorded in the same step that drops the threads that are no longer followed.
    let spark = rig.sim.channel("#spark").await.id;
    for text in ["two", "three"] {
        let said = rig.alice.says("#spark", text);
        is_noted(&rig, spark, said).await;
    }
    let sessions = rig.sim.gateway().identifies();
    rig.sim.gateway().invalidates(false);
    rig.sim.gateway().identified(sessions + 1).await;
    rig.alice.says("#spark", "four");
    rig.has_done(4).await;
    let asked = rig.sim.requests(MESSAGES);
    let of_threads = asked.iter().filter(|it| threads.iter().any(|id| it.path.contains(&id.to_string())));
    assert_eq!(of_threads.count(), 0, "{asked:?}");
    // A call of an agent there is heard, whether herder is running or not.
    rig.alice.says("#aside-0", "@spark five");
    rig.has_done(5).await;
    let mut rig = away(rig, |rig| {
        rig.alice.says("#aside-1", "@spark six");
    })
    .await;
    assert_eq!(rig.has_done(6).await, ["one", "two", "three", "four", "five", "six"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_to_a_thread_that_was_locked_before_herder_was_there_comes_in_its_channel() {
    let (mut rig, thread) = with_thread().await;
    let spark = rig.sim.channel("#spark").await.id;
    let away = rig.sim.inject(Fault::status(503, Effect::Before).on(POST).always());
    let asked = rig.alice.says("#aside", "usage");
    let refused = |state: &State| state.requests.iter().any(|it| it.route == POST && it.status == Some(503));
    rig.sim.until("an answer that is not taken", refused).await;
    is_noted(&rig, thread, asked).await;
    rig.sim.archives(thread);
    rig.sim.locks(thread);
    // By then it is known to be archived, and archived threads are not looked at.
    for text in ["one", "two"] {
        let said = rig.alice.says("#spark", text);
        is_noted(&rig, spark, said).await;
    }
    rig.stop().await;
    away.lift();
    let mut rig = rig.started().await;
    rig.sim.message_in("#spark", |post| post.content.contains("this hour")).await;
    assert_eq!(rig.sim.posts("#aside"), [""; 0]);
    rig.stop().await;
}

/// Adds these answers to the outbox for a channel, each with its time.
async fn owes(rig: &Rig, channel: Id, answers: &[(Timestamp, &str)]) {
    let owed = |(at, text): &(Timestamp, &str)| Post {
        id: PostId::default(),
        network: NetworkName::from("discord"),
        to: Target::Channel(channel.to_string()),
        lane: Lane::Urgent,
        at: *at,
        body: Body::Kept(vec![(*text).to_owned()]),
        answers: Some("alice".to_owned()),
        quotes: None,
        confirmed_lines: 0,
    };
    let posts = answers.iter().map(owed).collect();
    let batch = Batch { at: herder::clock::now(), posts, ..Batch::default() };
    rig.stage().herder.fleet().journal().commit(batch).await.expect("it is recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_to_a_locked_thread_is_not_given_up_because_discord_does_not_tell_what_it_is() {
    let (mut rig, thread) = with_thread().await;
    let spark = rig.sim.channel("#spark").await.id;
    rig.sim.archives(thread);
    rig.sim.locks(thread);
    // Archived threads are not looked at.
    for text in ["one", "two"] {
        let said = rig.alice.says("#spark", text);
        is_noted(&rig, spark, said).await;
    }
    rig.stop().await;
    let mut rig = rig.started().await;
    let asked = rig.sim.inject(Fault::refused(403, 0, "Access denied").on(CHANNEL).times(1));
    let long_ago = herder::clock::now().before(Duration::from_secs(2 * 3600));
    owes(&rig, thread, &[(long_ago, "of old")]).await;
    asked.spent().await;
    rig.sim.message_in("#spark", |post| post.content.contains("of old")).await;
    assert!(rig.sim.posts("#herder").iter().all(|post| !post.contains("given up")));
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_where_herder_may_not_speak_any_more_is_given_up_and_that_is_said() {
    let mut rig = Rig::open(Discord::start().await).await;
    let lobby = rig.sim.makes_channel("lobby");
    let role = rig.sim.look(|state| state.bot.role);
    rig.sim.expects_violation("Missing Permissions");
    rig.sim.overwrites("lobby", role, 0, permission::SEND_MESSAGES);
    let now = herder::clock::now();
    owes(&rig, lobby, &[(now.before(Duration::from_secs(2 * 3600)), "of old"), (now, "of now")]).await;
    let told = rig.sim.message_in("#herder", |post| post.content.contains("given up")).await;
    assert!(told.content.contains(&lobby.to_string()), "{}", told.content);
    // It does not come later either, and a newer answer does.
    rig.alice.says("#lobby", "@herder status");
    let denied = |state: &State| {
        let to_lobby = |path: &str| path.contains(&lobby.to_string());
        let posts = state.requests.iter().filter(|it| it.route == POST && it.status == Some(403));
        posts.filter(|it| to_lobby(&it.path)).count() > 2
    };
    rig.sim.until("another refusal", denied).await;
    rig.sim.overwrites("lobby", role, permission::SEND_MESSAGES, 0);
    rig.sim.message_in("#lobby", |post| post.content.contains("of now")).await;
    rig.sim.message_in("#lobby", |post| post.content.contains("1 agent")).await;
    assert!(rig.sim.posts("#lobby").iter().all(|post| !post.contains("of old")));
    rig.stop().await;
}

/// Words go where the work was given: in a thread, in the channel, and in the channel in place of a
/// thread that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_about_work_that_was_given_in_a_thread_come_in_the_thread() {
    let script = "work=$(tail -n 1); until test -e open; do sleep 0.02; done; echo \"answer to $work\"";
    let mut rig = Rig::prepare(Discord::start().await).await.started_with(script).await;
    let door = rig.dir.path().join("open");
    let opens = || std::fs::write(&door, "").expect("a file can be written");
    let shuts = || std::fs::remove_file(&door).expect("it was open");
    let says = |text: &'static str| move |post: &Message| post.content.starts_with(text);
    let spark = rig.sim.channel("#spark").await.id;
    let thread = rig.sim.makes_thread("aside", spark);

    let one = rig.alice.says("#aside", "one");
    rig.sim.message_in("spark", |post| post.content.contains("started: one")).await;
    // Another herder than the one that was asked answers.
    rig.stop().await;
    let mut rig = rig.started_with(script).await;
    opens();
    rig.sim.message_in("#aside", says("answer to one")).await;
    rig.sim.reaction(one, "✅").await;
    rig.alice.says("#aside", "two");
    rig.sim.message_in("#aside", says("answer to two")).await;
    // A task for it as well, and what is said in the channel is answered there.
    rig.alice.says("#aside", "task add three");
    rig.sim.message_in("#aside", says("answer to three")).await;
    rig.alice.says("#spark", "four");
    rig.sim.message_in("spark", says("answer to four")).await;
    assert!(rig.sim.posts("spark").iter().all(|post| !post.contains("answer to t")));

    shuts();
    rig.alice.says("#aside", "five");
    rig.sim.message_in("spark", |post| post.content.contains("started: five")).await;
    rig.alice.deletes_channel("#aside");
    opens();
    rig.sim.message_in("spark", says("answer to five")).await;
    // Nor does a later herder, to which nobody tells what the thread was, keep its words to itself.
    shuts();
    let other = rig.sim.makes_thread("other", spark);
    assert_ne!(thread, other);
    rig.alice.says("#other", "six");
    rig.sim.message_in("spark", |post| post.content.contains("started: six")).await;
    rig.stop().await;
    rig.alice.deletes_channel("#other");
    let mut rig = rig.started_with(script).await;
    opens();
    rig.sim.message_in("spark", says("answer to six")).await;
    rig.stop().await;
}
