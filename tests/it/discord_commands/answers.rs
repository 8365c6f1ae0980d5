//! Answers whose delivery fails.

use std::time::Duration;

use serde_json::json;

use super::{Rig, manager, plain};
use crate::from_within::until_noted;
use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, Effect, Fault, Gate, State, User};

const CALLBACK: &str = "POST /interactions/{interaction_id}/{interaction_token}/callback";
const POST: &str = "POST /channels/{channel_id}/messages";
const FOLLOW_UP: &str = "POST /webhooks/{webhook_id}/{webhook_token}";

/// Returns the private messages to a person.
fn in_private<'a>(state: &'a State, to: &User) -> impl Iterator<Item = &'a Message> {
    let id = to.id;
    let to_them = move |channel| state.channels.get(channel).is_some_and(|it| it.recipient == Some(id));
    state.messages.values().filter(move |post| post.author == state.bot.id && to_them(&post.channel))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_of_what_was_used_is_a_picture() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    let spend = |config: &mut herder::config::Config| {
        let mut spark = crate::stage::scripted("spark", &config.data_dir.join(".."), &["claude-ok"]);
        spark.caps.usd_per_hour = 2.5;
        config.agents = vec![spark];
    };
    rig.stop().await;
    let mut config = rig.config();
    spend(&mut config);
    rig.stage = Some(crate::stage::Stage::open(config, herder::run::Options::default()).await);
    rig.listens().await;
    let empty = olga.slash("general", "usage", json!({ "chart": true })).answer().await;
    assert!(empty.content.contains("····"), "nothing was used yet: {}", empty.content);
    olga.slash("general", "task add", json!({ "agent": "spark", "text": "write a haiku" })).answer().await;
    rig.until("spark", |view| view.agent.totals.successes == 1).await;
    let asked = olga.slash("general", "usage", json!({ "chart": true }));
    let said = asked.answer().await;
    assert!(said.content.contains('█') && said.content.contains("in 24 h"), "{}", said.content);
    // A cap of the same period is a line in the picture, and named.
    let of_spark = olga.slash("general", "usage", json!({ "agent": "spark", "chart": true })).answer().await;
    assert!(of_spark.content.ends_with(" · cap $2.50"), "{}", of_spark.content);
    assert!(!said.content.contains("cap"), "it is not the fleet's: {}", said.content);
    let follows = asked.followups(1).await;
    let picture = &follows[0].attachments[0];
    assert_eq!(picture.name, "chart.png");
    assert!(picture.bytes.starts_with(b"\x89PNG"), "{} bytes", picture.bytes.len());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_what_is_for_one_person_is_told_in_private_if_it_can_be_told_no_more_where_they_asked() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    let name = |number: usize| format!("entry-{number:02}");
    for number in 0..12 {
        let text = format!("{} {}", name(number), "and so on ".repeat(25));
        olga.slash("general", "task add", json!({ "agent": "spark", "text": text })).answer().await;
    }
    rig.sim.inject(Fault::refused(401, 50027, "Invalid Webhook Token").on(FOLLOW_UP).always());
    let first = olga.slash("general", "history", json!({ "agent": "spark", "n": 20 })).answer().await;
    assert!(first.is_ephemeral(), "an operator reads private words in a history");
    let left: Vec<String> = (4..12).map(name).filter(|name| !first.content.contains(name.as_str())).collect();
    assert!(!left.is_empty(), "all of it is in one message: {}", first.content);
    let is_there =
        |state: &State, name: &String| in_private(state, &olga).any(|it| it.content.contains(name));
    rig.sim.until("the rest in private", |state| left.iter().all(|name| is_there(state, name))).await;
    // The part that was told is not told again, and no one else is told anything.
    let told: Vec<String> = (4..12).map(name).filter(|name| first.content.contains(name.as_str())).collect();
    assert!(rig.sim.look(|state| told.iter().all(|name| !is_there(state, name))), "{}", first.content);
    assert!(rig.sim.posts("general").iter().all(|post| !post.contains("entry-")));
    rig.stop().await;
}

/// Discord carries out what it was asked for, and says so only after fourteen seconds: nothing is said twice.
#[tokio::test(flavor = "multi_thread")]
async fn what_follows_an_answer_is_said_once_although_discord_takes_long() {
    // A late interaction is acknowledged publicly, so that a refusal follows it as a message.
    let sim = Discord::builder().clock_behind(Duration::from_millis(2300)).start().await;
    let mut rig = Rig::on(sim).await;
    let olga = manager(&rig.sim, "olga");
    olga.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
    let slow = rig.sim.inject(Fault::slow(Duration::from_secs(14)).on(FOLLOW_UP));
    olga.slash("general", "pause", json!({ "agent": "spark" })).followups(1).await;
    slow.spent().await;
    let is_answered =
        |state: &State| state.requests.iter().any(|it| it.route == FOLLOW_UP && it.status == Some(200));
    rig.sim.until("the answer of Discord", is_answered).await;
    assert_eq!(rig.sim.requests(FOLLOW_UP).len(), 1);
    rig.stop().await;
}

/// Returns the number of answers that are recorded as pending.
fn owed(rig: &Rig) -> usize {
    rig.herder().fleet().journal().memos("answer/").expect("it can be read").len()
}

/// The record of a pending answer is deleted when it is given: a restart does not say it again.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_not_answered_again() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    let gate = Gate::default();
    let held = rig.sim.inject(Fault::held(&gate).on(CALLBACK));
    let asked = olga.slash("general", "pause", json!({ "agent": "spark" }));
    held.spent().await;
    rig.until_paused("spark").await;
    assert_eq!(owed(&rig), 1, "nobody knows yet whether Discord has it");
    gate.opens();
    assert!(plain(&asked.answer().await).contains("spark is paused"));
    until_noted(rig.herder().fleet().journal(), "answer/", |owed| owed.is_empty()).await;
    // An answer that can no longer be given is posted instead, through the outbox.
    rig.sim.expects_violation("was never acknowledged");
    rig.sim.inject(Fault::refused(404, 10062, "Unknown interaction").on(CALLBACK));
    let away = rig.sim.inject(Fault::status(503, Effect::Before).on(POST).always());
    olga.slash("general", "resume", json!({ "agent": "spark" }));
    let refused = |state: &State| state.requests.iter().any(|it| it.route == POST && it.status == Some(503));
    rig.sim.until("a post that is not taken", refused).await;
    rig.stop().await;
    away.lift();
    rig.start().await;
    let answer = rig.sim.message_in("general", |post| plain(post).contains("spark resumes")).await;
    assert!(answer.content.starts_with("olga: "), "{}", answer.content);
    let told = |words: &str| {
        rig.sim.look(|state| state.posts("general").filter(|it| plain(it).contains(words)).count())
    };
    assert_eq!((told("spark is paused"), told("spark resumes")), (1, 1));
    rig.stop().await;
}
