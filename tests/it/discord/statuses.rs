//! The display of an agent's session: one message that changes with it, so that a question costs two posts.

use herder::core::agent::Phase;
use herder::supervisor::View;

use super::Rig;
use crate::simulated_discord::state::{Id, Message};
use crate::simulated_discord::{Discord, Fault, Gate, State, permission};

const POST: &str = "POST /channels/{channel_id}/messages";

/// Says what it was told.
const ANSWERS: &str = "work=$(tail -n 1); echo \"$work\" >> done; echo \"answer to $work\"";

/// The same, once there is a file `open`.
const WAITS: &str = "work=$(tail -n 1); until test -e open; do sleep 0.02; done; echo \"answer to $work\"";

async fn open(sim: Discord, script: &str) -> Rig {
    Rig::prepare(sim).await.started_with(script).await
}

fn is_idle_after(view: &View, sessions: u64) -> bool {
    view.agent.session().is_none() && view.agent.queue.is_empty() && view.agent.last_session.0 >= sessions
}

fn completed(state: &State) -> usize {
    state.posts("spark").flat_map(|post| post.content.lines()).filter(|line| line.contains("✅")).count()
}

fn answers(message: &&Message) -> bool {
    message.content.starts_with("answer to ")
}

fn shown(rig: &Rig) -> Vec<(Id, String)> {
    rig.sim.look(|state| state.posts("spark").map(|post| (post.id, post.content.clone())).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_answered_costs_two_posts() {
    let mut rig = open(Discord::start().await, WAITS).await;
    let said = rig.alice.says("#spark", "one");
    let started = rig.sim.message_in("spark", |message| message.content.contains("started: one")).await;
    rig.sim.reaction(said, "⏳").await;
    std::fs::write(rig.dir.path().join("open"), "").expect("a file can be written");
    let is_over = |message: &Message| message.content.starts_with("✅ **spark** completed");
    rig.sim.message(started.id, is_over).await;
    rig.sim.reaction(said, "✅").await;
    let posts: Vec<String> = shown(&rig).into_iter().map(|(_, text)| text).collect();
    assert_eq!(posts.len(), 2, "{posts:#?}");
    assert_eq!(posts[1], "answer to one");
    rig.stop().await;
}

/// While the first status is on its way, twenty messages are answered: no more than their answers wait then, and the
/// answer to a typed command overtakes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_messages_cost_little_more_than_their_answers_and_a_command_overtakes_them() {
    let gate = Gate::default();
    let mut rig = open(Discord::start().await, ANSWERS).await;
    rig.alice.says("#spark", "first");
    rig.sim.until("the first one", |state| completed(state) == 1).await;
    let before = shown(&rig).len();
    let held = rig.sim.inject(Fault::held(&gate).on(POST).times(1));
    for number in 1..=20 {
        rig.alice.says("#spark", &format!("{number}."));
    }
    held.spent().await;
    rig.agent("twenty sessions", |view| is_idle_after(view, 21)).await;
    rig.alice.says("#spark", "status");
    // The later message is heard after it.
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    gate.opens();
    let all = |state: &State| completed(state) == 21 && state.posts("spark").filter(answers).count() == 21;
    rig.sim.until("all answers, and what became of each", all).await;
    let posts: Vec<String> = shown(&rig).into_iter().skip(before).map(|(_, text)| text).collect();
    assert!(posts.len() <= 20 + 3, "{posts:#?}");
    assert_eq!(posts.iter().position(|post| post.starts_with("answer to ")), Some(3), "{posts:#?}");
    let words: Vec<&str> = posts.iter().filter_map(|post| post.strip_prefix("answer to ")).collect();
    let words: Vec<&str> = words.into_iter().filter_map(|post| post.lines().next()).collect();
    assert_eq!(words, (1..=20).map(|number| format!("{number}.")).collect::<Vec<_>>());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_whose_message_is_gone_is_posted_anew() {
    let mut rig = open(Discord::start().await, WAITS).await;
    rig.alice.says("#spark", "one");
    let started = rig.sim.message_in("spark", |message| message.content.contains("started: one")).await;
    rig.alice.deletes(started.id);
    std::fs::write(rig.dir.path().join("open"), "").expect("a file can be written");
    let over = rig.sim.message_in("spark", |message| message.content.contains("completed")).await;
    assert_ne!(over.id, started.id);
    rig.stop().await;
}

/// Without permission for reactions, herder says in a message that it has heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_can_be_marked_it_is_said() {
    let mut rig = open(Discord::start().await, ANSWERS).await;
    let marks = rig.alice.says("#spark", "one");
    rig.sim.reaction(marks, "✅").await;
    assert!(rig.sim.posts("spark").iter().all(|post| !post.contains("is on it")));
    rig.sim.overwrites("spark", rig.sim.guild_id(), 0, permission::ADD_REACTIONS);
    let lacks =
        |state: &State| state.messages.values().any(|message| message.content.contains("Add Reactions"));
    rig.sim.until("what is missing to be said", lacks).await;
    rig.alice.says("#spark", "two");
    rig.sim.message_in("spark", |message| message.content.contains("is on it")).await;
    rig.stop().await;
}
