//! Messages that are recovered after the link was cut off or herder was away.

use std::time::Duration;

use herder::config::{History, Subject};
use herder::core::agent::Phase;
use herder::journal::{self, Journal};
use herder::run::Options;
use serde_json::json;

use super::Rig;
use crate::from_within::giving_is_held;
use crate::simulated_discord::{Discord, Effect, Fault, Gate, State, permission};
use crate::slow_archive::SlowArchive;
use crate::slow_lines::archived;
use crate::stage::{self, Stage};

const MESSAGES: &str = "GET /channels/{channel_id}/messages";
const POST: &str = "POST /channels/{channel_id}/messages";
const PRIVATE: &str = "POST /users/@me/channels";
const MEMBER: &str = "GET /guilds/{guild_id}/members/{user_id}";

fn is_paused(phase: &Phase) -> bool {
    matches!(phase, Phase::Paused { .. })
}

/// Cuts the link off silently, calls `meanwhile`, and waits for a new session.
pub(super) async fn cut_off(rig: &Rig, meanwhile: impl FnOnce()) {
    let before = rig.sim.gateway().identifies();
    rig.sim.gateway().zombie(true);
    meanwhile();
    rig.sim.gateway().zombie(false);
    rig.sim.gateway().invalidates(false);
    rig.sim.gateway().identified(before + 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_fetched_again_that_herder_said_itself() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "count");
    rig.has_done(1).await;
    rig.sim.message_in("#spark", |post| post.content.contains("✅")).await;
    let before = rig.sim.requests(MESSAGES).len();
    cut_off(&rig, || {}).await;
    rig.alice.says("#spark", "count on");
    rig.has_done(2).await;
    let fetched = rig.sim.requests(MESSAGES).split_off(before);
    assert!(fetched.is_empty(), "{fetched:?}");

    // Not after a restart either, but for what was written meanwhile.
    rig.sim
        .until("the second answer", |state| {
            state.posts("#spark").filter(|it| it.content.contains("✅")).count() == 2
        })
        .await;
    rig.stop().await;
    rig.alice.says("#spark", "and on");
    let before = rig.sim.requests(MESSAGES).len();
    let mut rig = rig.started().await;
    rig.has_done(3).await;
    // Its own messages while it went down did not reach it.
    let spark = rig.sim.channel("#spark").await.id.to_string();
    let mut fetched = rig.sim.requests(MESSAGES).split_off(before);
    fetched.retain(|request| request.path.contains(&spark));
    assert_eq!(fetched.len(), 1, "{fetched:?}");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_discord_did_not_take_is_given_by_the_next_herder() {
    let mut rig = Rig::open(Discord::start().await).await;
    let fails = rig.sim.inject(Fault::status(503, Effect::Before).on(POST).always());
    rig.alice.says("#spark", "help");
    let refused = |state: &State| state.requests.iter().any(|it| it.route == POST && it.status == Some(503));
    rig.sim.until("an answer that is not taken", refused).await;
    rig.stop().await;
    fails.lift();
    let mut rig = rig.started().await;
    rig.sim.message_in("#spark", |post| post.content.contains("stop-all")).await;
    rig.stop().await;
}

/// A message that the line takes longer is no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_takes_too_long_is_worked_on_by_the_next_herder() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let data = rig.dir.path().join("data");
    let history = History { keep_events: 20, daily_export: false, ..History::default() };
    archived(&journal::Settings::new(data.clone(), history)).await;
    let mut slow = SlowArchive::in_place(&data.join("archive"));
    let mut config = rig.config();
    config.history = History { daily_export: false, ..History::default() };
    let options = Options { line_patience: Some(Duration::from_millis(300)), ..Options::default() };
    rig.stage = Some(Stage::open(config, options).await);
    let mut rig = rig.sees_ready().await;
    // Nothing of the kind was ever recorded, so that everything is looked through.
    rig.alice.says("#herder", "!audit spark");
    slow.is_read().await;
    rig.sim.message_in("#herder", |post| post.content.contains("Still working on it")).await;
    // A later line is answered, and recorded.
    rig.alice.says("#herder", "!help");
    rig.sim.message_in("#herder", |post| post.content.contains("stop-all")).await;
    rig.stop().await;
    // Within one process what was asked keeps the journal open until it is answered.
    let lock = std::fs::File::open(data.join("lock")).expect("a lock");
    slow.release(|| lock.try_lock().is_ok()).await;
    drop(lock);
    let mut rig = rig.started().await;
    rig.sim.message_in("#herder", |post| post.content.contains(": !audit spark")).await;
    assert_eq!(rig.sim.posts("#herder").iter().filter(|post| post.contains("stop-all")).count(), 1);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_becomes_work_late_is_followed_like_any_other() {
    let (release, fault) = giving_is_held();
    let mut rig = Rig::prepare(Discord::start().await).await;
    let options = Options { line_patience: Some(Duration::from_millis(300)), fault, ..Options::default() };
    rig.stage = Some(Stage::open(rig.config(), options).await);
    let mut rig = rig.sees_ready().await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let said = rig.alice.says("#spark", "fix the bild");
    rig.sim.message_in("#spark", |post| post.content.contains("Still working on it")).await;
    rig.alice.says("#spark", "help");
    rig.sim.message_in("#spark", |post| post.content.contains("stop-all")).await;
    rig.alice.edits(said, "fix the build");
    drop(release);
    rig.agent("the work as it is now", |view| {
        view.agent.queue.iter().any(|work| work.text == "fix the build")
    })
    .await;
    rig.sim.reaction(said, "👀").await;
    rig.stop().await;
    let mut rig = rig.started().await;
    rig.alice.edits(said, "fix the roof");
    rig.agent("other words", |view| view.agent.queue.iter().any(|work| work.text == "fix the roof")).await;
    rig.alice.says("#spark", "resume");
    assert_eq!(rig.has_done(1).await, ["fix the roof"]);
    rig.sim.reaction(said, "✅").await;
    rig.stop().await;
}

/// A code is known to the herder that drew it alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_was_not_given_in_time_is_not_given_by_the_next_herder() {
    let mut rig = Rig::open(Discord::start().await).await;
    let fails = rig.sim.inject(Fault::status(503, Effect::Before).on(POST).always());
    rig.alice.whispers("link");
    let code = |text: &str| text.split('`').find(|part| part.starts_with("!link ")).map(str::to_owned);
    let first = rig.sim.find("a code", |state: &State| {
        let mut refused = state.requests.iter().filter(|it| it.route == POST && it.status == Some(503));
        refused.find_map(|it| code(it.body["content"].as_str()?))
    });
    let first = first.await;
    rig.stop().await;
    fails.lift();
    let mut rig = rig.started().await;
    let second = rig.sim.find("a code that was said", |state: &State| {
        state.messages.values().filter(|it| it.author == state.bot.id).find_map(|it| code(&it.content))
    });
    assert_ne!(second.await, first);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_late_is_fetched_then() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    rig.alice.says("#spark", "one");
    let closed = rig.sim.inject(Fault::refused(403, 50001, "Missing Access").on(MESSAGES).times(u32::MAX));
    let mut rig = rig.started().await;
    let asked = |state: &State| {
        let spark = state.channel("#spark").map(|channel| channel.id.to_string()).unwrap_or_default();
        let of_spark = |path: &str| path.contains(&spark);
        state.requests.iter().any(|it| it.route == MESSAGES && it.status == Some(403) && of_spark(&it.path))
    };
    rig.sim.until("a refusal", asked).await;
    closed.lift();
    rig.sim.brings_guild();
    assert_eq!(rig.has_done(2).await, ["zero", "one"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_changed_unheard_is_changed_all_the_same() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let first = rig.alice.says("#spark", "fix the bild");
    let second = rig.alice.says("#spark", "delete everything");
    rig.alice.says("#spark", "go home");
    rig.agent("three works", |view| view.agent.queue.len() == 3).await;
    cut_off(&rig, || {
        rig.alice.edits(first, "fix the build");
        rig.alice.deletes(second);
    })
    .await;
    let view = rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    assert_eq!(view.agent.queue[1].text, "go home");
    rig.agent("other words", |view| view.agent.queue[0].text == "fix the build").await;

    // A message that was changed and looked at again is not changed again.
    let edits = |state: &State| state.messages.values().filter(|it| it.content.contains("changed")).count();
    let before = rig.sim.look(edits);
    cut_off(&rig, || {}).await;
    rig.alice.says("#spark", "resume");
    assert_eq!(rig.has_done(2).await, ["fix the build", "go home"]);
    assert_eq!(rig.sim.look(edits), before);
    rig.stop().await;
}

/// Waits until herder has said something in private.
async fn answered_in_private(rig: &Rig) {
    let direct =
        |state: &State, id| state.channels.get(&id).is_some_and(|channel| channel.recipient.is_some());
    let is_answer = |state: &State| {
        state.messages.values().any(|it| it.author == state.bot.id && direct(state, it.channel))
    };
    rig.sim.until("an answer in private", is_answer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_changed_while_it_is_fetched_is_worked_on_as_it_is() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.stop().await;
    let first = rig.alice.says("#spark", "fix the bild");
    let second = rig.alice.says("#spark", "delete everything");
    let before = rig.sim.requests(PRIVATE).len();
    let gate = Gate::default();
    rig.sim.inject(Fault::held(&gate).on(MESSAGES).always());
    let mut rig = rig.started().await;
    let spark = rig.sim.channel("#spark").await.id.to_string();
    let made = |state: &State| {
        let asked = state.requests.iter().filter(|asked| asked.route == PRIVATE && asked.status.is_some());
        asked.count() > before && state.kept_back.iter().any(|path| path.contains(&spark))
    };
    // Private messages from before herder has looked there are on a page, too.
    rig.sim.until("herder to ask for the messages", made).await;
    // The page is made out, and not on its way yet.
    rig.alice.edits(first, "fix the build");
    rig.alice.deletes(second);
    // A later private message is heard after it, and waits for no page.
    rig.alice.whispers("status");
    answered_in_private(&rig).await;
    gate.opens();
    rig.alice.says("#spark", "go home");
    let view =
        rig.agent("what was said last", |view| view.agent.queue.iter().any(|work| work.text == "go home"));
    let view = view.await;
    let queued: Vec<&str> = view.agent.queue.iter().map(|work| work.text.as_str()).collect();
    assert_eq!(queued, ["fix the build", "go home"]);
    rig.stop().await;
}

/// A person who may command through a role alone is not refused because Discord does not tell their roles at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_is_not_told_is_waited_for() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let role = rig.sim.role("operators", 0);
    let bob = rig.sim.user("bob").roles(["operators"]);
    rig.operators = vec![Subject::DiscordRole(role.to_string())];
    let mut rig = rig.started().await;
    bob.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    for text in ["one", "two", "three"] {
        bob.says("#spark", text);
    }
    let asked = rig.sim.requests(MEMBER).len();
    rig.sim.inject(Fault::refused(403, 0, "Access denied").on(MEMBER).times(1));
    let mut rig = rig.started().await;
    assert_eq!(rig.has_done(4).await, ["zero", "one", "two", "three"]);
    // One failed request, and one for all of them.
    let asked = rig.sim.requests(MEMBER).len() - asked;
    assert!(asked <= 3, "{asked} requests");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_discord_gave_up_waiting_for_is_not_done() {
    // All that is asked is seconds old when it comes.
    let sim = Discord::builder().clock_behind(Duration::from_secs(10)).start().await;
    let mut rig = Rig::open(sim).await;
    rig.sim.command("pause").await;
    let alice = rig.manager();
    let resumes = rig.sim.gateway().resumes();
    rig.sim.gateway().zombie(true);
    let asked = alice.slash("#spark", "pause", serde_json::json!({}));
    asked.waited_out();
    rig.sim.gateway().zombie(false);
    rig.sim.gateway().drops_rst();
    rig.sim.gateway().resumed(resumes + 1).await;
    let refused = |state: &State| {
        state.requests.iter().any(|it| it.route.contains("/callback") && it.status == Some(404))
    };
    rig.sim.until("herder to ask whether Discord still waits", refused).await;
    // A late interaction that is still in time is handled.
    let answer = alice.slash("#spark", "status", serde_json::json!({})).answer().await;
    assert!(!answer.content.contains("paused"), "{}", answer.content);
    alice.slash("#herder", "pause", serde_json::json!({ "agent": "spark" })).answer().await;
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    // So it is with buttons.
    let post = rig.sim.message_in("#spark", |message| !message.buttons().is_empty()).await;
    let resumes = rig.sim.gateway().resumes();
    rig.sim.gateway().zombie(true);
    alice.clicks(post.id, &post.button("Resume").custom_id).waited_out();
    rig.sim.gateway().zombie(false);
    rig.sim.gateway().drops_rst();
    rig.sim.gateway().resumed(resumes + 1).await;
    let refused = |state: &State| {
        let callbacks = state.requests.iter().filter(|it| it.route.contains("/callback"));
        callbacks.filter(|it| it.status == Some(404)).count() == 2
    };
    rig.sim.until("herder to ask again", refused).await;
    alice.slash("#spark", "status", serde_json::json!({})).answer().await;
    rig.agent("a pause still", |view| is_paused(&view.agent.phase)).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_where_herder_could_not_read_is_worked_on_when_it_can() {
    for taken in [permission::VIEW_CHANNEL, permission::READ_MESSAGE_HISTORY] {
        let mut rig = Rig::open(Discord::start().await).await;
        rig.alice.says("#spark", "zero");
        rig.has_done(1).await;
        let role = rig.sim.look(|state| state.bot.role);
        rig.sim.expects_violation("Missing");
        rig.sim.expects_violation("You cannot reply without permission to read message history");
        rig.sim.overwrites("spark", role, 0, permission::VIEW_CHANNEL);
        rig.sim.message_in("alerts", |post| post.content.contains("lacks the permission")).await;
        rig.alice.says("#spark", "unseen");
        if taken == permission::READ_MESSAGE_HISTORY {
            // The channel is visible again, but not its earlier messages.
            rig.sim.overwrites("spark", role, permission::VIEW_CHANNEL, taken);
            rig.alice.says("#spark", "seen");
            assert_eq!(rig.has_done(2).await, ["zero", "seen"]);
        }
        rig.sim.overwrites("spark", role, permission::VIEW_CHANNEL | permission::READ_MESSAGE_HISTORY, 0);
        let count = if taken == permission::VIEW_CHANNEL { 2 } else { 3 };
        assert_eq!(rig.has_done(count).await.last().map(String::as_str), Some("unseen"));
        rig.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_cannot_be_read_is_fetched_and_whoever_asks_so_is_told() {
    let mut rig = Rig::open(Discord::start().await).await;
    let alice = rig.manager();
    rig.sim.command("status").await;
    rig.sim.gateway().garbles("MESSAGE_CREATE", 1);
    alice.says("#spark", "one");
    assert_eq!(rig.has_done(1).await, ["one"]);
    rig.sim.gateway().garbles("INTERACTION_CREATE", 1);
    let told = alice.slash("herder", "pause", json!({ "agent": "spark" })).answer().await;
    assert!(told.is_ephemeral() && told.content.contains("went wrong"), "{}", told.content);
    let told = alice.slash("herder", "pause", json!({ "agent": "spark" })).answer().await;
    assert!(told.content.contains("is paused"), "{}", told.content);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_be_read_of_a_message_is_worked_on_and_where_nothing_can_it_is_told() {
    let mut rig = Rig::open(Discord::start().await).await;
    // However it is asked for.
    rig.alice.message("#spark", "one").with("embeds", json!("none")).send();
    assert_eq!(rig.has_done(1).await, ["one"]);
    rig.alice.message("#spark", "two").with("content", json!(2)).send();
    rig.sim.message_in("#spark", |post| post.content.contains("not even in part")).await;
    rig.alice.says("#spark", "three");
    assert_eq!(rig.has_done(2).await, ["one", "three"]);
    let told = rig.sim.posts("#spark").iter().filter(|post| post.contains("not even in part")).count();
    assert_eq!(told, 1);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_strangers_say_in_private_is_not_followed() {
    const SEEN: &str = "discord/seen/";
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.access.viewers = Vec::new();
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    for name in ["mallory", "mason", "max"] {
        rig.sim.user(name).whispers("status");
    }
    rig.alice.whispers("status");
    answered_in_private(&rig).await;
    rig.stop().await;
    let direct = rig.sim.look(|state| {
        let direct = state.channels.values().filter(|channel| channel.recipient == Some(rig.alice.id));
        direct.map(|channel| format!("{SEEN}{}", channel.id)).collect::<Vec<_>>()
    });
    let private = |(key, value): (String, String)| value.contains("direct").then_some(key);
    let settings = journal::Settings::new(rig.dir.path().join("data"), History::default());
    let read =
        tokio::task::spawn_blocking(move || Journal::open(&settings).map(|(journal, _)| journal.memos(SEEN)));
    let seen = read.await.expect("it does not panic").expect("the journal opens").expect("memos are read");
    let seen: Vec<String> = seen.into_iter().filter_map(private).collect();
    assert_eq!(seen, direct);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_read_is_looked_at() {
    let sim = Discord::start().await;
    sim.gateway().garbles("GUILD_CREATE", 1);
    let mut rig = Rig::prepare(sim).await;
    let mut config = rig.config();
    config.agents.push(stage::shell("quick", rig.dir.path(), "cat"));
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.sim.channel("#quick").await;
    rig.sim.command("status").await;
    rig.alice.says("#spark", "one");
    rig.has_done(1).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_called_an_agent_where_nobody_had_before_is_heard_afterwards() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    rig.alice.says("#general", "is anybody here");
    rig.alice.says("#general", "@spark one");
    let mut rig = rig.started().await;
    assert_eq!(rig.has_done(2).await, ["zero", "one"]);
    cut_off(&rig, || {
        rig.sim.makes_channel("lobby");
        rig.alice.says("#lobby", "@spark two");
    })
    .await;
    assert_eq!(rig.has_done(3).await, ["zero", "one", "two"]);
    rig.stop().await;
    // Work that was done is not done again.
    let mut rig = rig.started().await;
    rig.alice.says("#spark", "three");
    assert_eq!(rig.has_done(4).await, ["zero", "one", "two", "three"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_agent_hears_whoever_gives_work_is_told_once() {
    let mut rig = Rig::open(Discord::start().await).await;
    let spark = rig.sim.channel("#spark").await.id;
    rig.sim.makes_thread("aside", spark);
    rig.alice.says("#herder", "!agent remove spark");
    let asked = rig.sim.message_in("#herder", |post| post.content.contains("Within 60 s")).await;
    let code = asked.content.split("code:").nth(1).and_then(|rest| rest.split('`').next()).expect("a code");
    rig.alice.says("#herder", &format!("!agent remove spark {code}"));
    rig.sim.message_in("#herder", |post| post.content.contains("is removed")).await;
    for _ in 0..2 {
        rig.alice.says("#spark", "fix the build");
        rig.sim.message_in("#spark", |post| post.content.contains("was removed")).await;
        rig.alice.says("#aside", "fix the build");
        rig.sim.message_in("#aside", |post| post.content.contains("was removed")).await;
    }
    rig.alice.says("#herder", "@herder status");
    rig.sim.message_in("#herder", |post| post.content.contains("There are no agents")).await;
    let told = |place: &str| rig.sim.posts(place).iter().filter(|post| post.contains("was removed")).count();
    assert_eq!((told("#spark"), told("#aside")), (1, 1));
    rig.stop().await;
}

/// No list shows private messages: herder asks for those of people whose ids it knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_first_in_private_while_nobody_listens_is_worked_on() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let olga = rig.sim.user("olga");
    rig.operators = vec![Subject::DiscordUser(olga.id.to_string())];
    let mut rig = rig.started().await;
    rig.alice.says("#spark", "heard");
    rig.has_done(1).await;
    rig.stop().await;
    rig.alice.whispers("@spark said while it was away");
    let mut rig = rig.started().await;
    assert_eq!(rig.has_done(2).await[1], "said while it was away");
    // Over a gap as well.
    rig.sim.gateway().skips("MESSAGE_CREATE", 1);
    olga.whispers("@spark left out");
    rig.alice.says("#spark", "heard again");
    let mut done = rig.has_done(4).await.split_off(2);
    done.sort();
    assert_eq!(done, ["heard again", "left out"]);
    rig.stop().await;
}

/// A number in the sequence is left out: what it was about is found, and at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_discord_left_out_is_fetched_when_the_next_event_shows_it() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    let logins = rig.sim.gateway().links();
    rig.sim.gateway().skips("MESSAGE_CREATE", 1);
    rig.alice.says("#spark", "one");
    rig.alice.says("#spark", "two");
    assert_eq!(rig.has_done(3).await, ["zero", "one", "two"]);
    assert_eq!(rig.sim.gateway().links(), logins, "on the same link");
    rig.stop().await;
}
