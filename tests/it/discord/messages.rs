//! Messages of people: work and commands, marks, changes, missed ones, and late ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herder::core::agent::Phase;
use herder::core::id::AgentName;
use herder::core::tie::Tie;
use herder::core::work::{Actor, TaskEnd};
use herder::journal::AuditEntry;
use herder::run::Options;
use herder::supervisor::{Asked, FaultInjection, Fleet, Holder};
use serde_json::json;

use super::{Rig, spark};
use crate::simulated_discord::{Discord, Effect, Fault, Gate};
use crate::stage::{self, Stage};

fn is_paused(phase: &Phase) -> bool {
    matches!(phase, Phase::Paused { .. })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_text_is_work_and_bare_words_are_commands() {
    let mut rig = Rig::open(Discord::start().await).await;
    let said = rig.alice.says("#spark", "count to three");
    assert_eq!(rig.has_done(1).await, ["count to three"]);
    rig.sim.reaction(said, "✅").await;

    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let queued = rig.alice.says("#herder", "@spark count to four");
    rig.sim.reaction(queued, "👀").await;
    rig.alice.says("#herder", "@herder resume spark");
    assert_eq!(rig.has_done(2).await, ["count to three", "count to four"]);
    rig.sim.reaction(queued, "✅").await;
    rig.sim.no_reaction(queued, "👀").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_changes_nothing() {
    let mut rig = Rig::open(Discord::start().await).await;
    let mallory = rig.sim.user("mallory");
    mallory.says("#spark", "rm -rf");
    mallory.says("#spark", "pause");
    rig.alice.says("#spark", "count");
    assert_eq!(rig.has_done(1).await, ["count"]);
    let view = rig.stage().herder.fleet().view(&spark()).expect("it is there");
    assert!(!is_paused(&view.agent.phase) && view.agent.queue.is_empty(), "{:?}", view.agent);
    rig.stop().await;
}

/// A mention is not obeyed: people choose their own names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_reads_like_a_command_is_none() {
    let mut rig = Rig::open(Discord::start().await).await;
    let mallory = rig.sim.user("herder stop-all");
    let role = rig.sim.role("spark pause", 0);
    rig.alice.says("#herder", &format!("{} have a look", mallory.mention()));
    rig.alice.says("#herder", &format!("<@&{role}> now"));
    rig.alice.says("#spark", &format!("{} now", mallory.mention()));
    rig.sim.message_in("#spark", |post| post.content.contains("no agent")).await;
    rig.alice.says("#spark", &format!("count with {}", mallory.mention()));
    assert_eq!(rig.has_done(1).await, ["count with @herder stop-all"]);
    let view = rig.stage().herder.fleet().view(&spark()).expect("it is there");
    assert!(!is_paused(&view.agent.phase), "{:?}", view.agent.phase);

    // herder's own role addresses herder, whatever it is called.
    let own = rig.sim.look(|state| state.bot.role);
    rig.sim.renames_role(own, "bots");
    rig.stop().await;
    let mut rig = rig.started().await;
    rig.alice.says("#herder", &format!("<@&{own}> pause spark"));
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_changed_and_taken_back_with_its_message() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let first = rig.alice.says("#spark", "fix the bild");
    let second = rig.alice.says("#spark", "delete everything");
    rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    rig.alice.edits(first, "fix the build");
    rig.agent("other words", |view| view.agent.queue.iter().any(|work| work.text == "fix the build")).await;
    rig.alice.deletes(second);
    rig.agent("one work", |view| view.agent.queue.len() == 1).await;
    rig.alice.says("#spark", "resume");
    assert_eq!(rig.has_done(1).await, ["fix the build"]);
    rig.sim.reaction(first, "✅").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_changes_the_later_one_holds_whichever_comes_first() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let said = rig.alice.says("#spark", "fix the bild");
    rig.agent("work", |view| view.agent.queue.len() == 1).await;
    rig.sim.gateway().reorders("MESSAGE_UPDATE", 1);
    rig.alice.edits(said, "fix the built");
    rig.alice.edits(said, "fix the build");
    rig.agent("other words", |view| view.agent.queue[0].text == "fix the build").await;
    // A later message is heard after it.
    rig.alice.says("#spark", "go home");
    let view = rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    assert_eq!(view.agent.queue[0].text, "fix the build");
    // A file that comes slowly does not bring the words beside it back.
    let log = rig.alice.message("#spark", "see this").attaching("log.txt", "text/plain", "one\n").send();
    rig.agent("three works", |view| view.agent.queue.len() == 3).await;
    let gate = Gate::default();
    rig.sim.holds_file(&gate);
    rig.alice.edits(log, "see that");
    rig.sim.until("the file to be asked for", |state| state.held_file.is_none()).await;
    rig.alice.edits(log, "forget it");
    rig.alice.says("#spark", "and sleep");
    let view = rig.agent("four works", |view| view.agent.queue.len() == 4).await;
    assert!(view.agent.queue[2].text.starts_with("see this"), "{}", view.agent.queue[2].text);
    gate.opens();
    rig.agent("the last words", |view| view.agent.queue[2].text.starts_with("forget it")).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pin_of_a_message_that_was_changed_before_is_no_change() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.agents = vec![crate::stage::shell("spark", rig.dir.path(), "read -r work; exec sleep 600")];
    rig.stage = Some(crate::stage::Stage::open(config, herder::run::Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let said = rig.alice.says("#spark", "fix the bild");
    rig.agent("work", |view| view.agent.queue.len() == 1).await;
    rig.alice.edits(said, "fix the build");
    rig.agent("other words", |view| view.agent.queue.iter().any(|work| work.text == "fix the build")).await;
    rig.alice.says("#spark", "resume");
    rig.sim.reaction(said, "⏳").await;
    rig.alice.pins(said);
    // After it something is changed that it is too late for, and that is said.
    rig.alice.edits(said, "fix the roof");
    rig.sim.message_in("#spark", |post| post.content.contains("has this already")).await;
    rig.alice.says("#spark", "queue");
    rig.sim.message_in("#spark", |post| post.content.contains("Nothing waits for")).await;
    let told = rig.sim.posts("#spark").iter().filter(|post| post.contains("has this already")).count();
    assert_eq!(told, 1, "{:?}", rig.sim.posts("#spark"));
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_known_elsewhere_too_takes_back_and_changes_what_waits() {
    let mut rig = Rig::open(Discord::start().await).await;
    let by = Actor { network: "libera".into(), name: "alice".to_owned(), identity: None };
    let audit = AuditEntry {
        by,
        place: "private".to_owned(),
        agent: None,
        verb: "link".to_owned(),
        text: String::new(),
    };
    let tie = Tie { user: rig.alice.id.to_string(), network: "libera".into(), account: "alice".to_owned() };
    let asked = Asked { audit, answer: None, message: None };
    rig.stage().herder.fleet().link(tie, "alice".to_owned(), asked).await.expect("it is recorded");
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let first = rig.alice.says("#spark", "fix the bild");
    let second = rig.alice.says("#spark", "delete everything");
    let view = rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    let by = &view.agent.queue[0].by;
    assert!(by.identity.as_ref().is_some_and(|name| name.ends_with(" = libera:alice")), "{by:?}");
    rig.alice.edits(first, "fix the build");
    rig.agent("other words", |view| view.agent.queue.iter().any(|work| work.text == "fix the build")).await;
    rig.alice.deletes(second);
    rig.agent("one work", |view| view.agent.queue.len() == 1).await;
    rig.stop().await;
}

/// A task need not be done by whom it was given to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_followed_wherever_it_goes() {
    async fn start(mut rig: Rig) -> Rig {
        let mut config = rig.config();
        config.agents.push(stage::shell("quick", rig.dir.path(), super::WRITES_DOWN));
        rig.stage = Some(Stage::open(config, Options::default()).await);
        rig.sees_ready().await
    }
    /// Waits until these are on the board.
    async fn stand(fleet: &Fleet, texts: &[&str]) {
        let mut changes = fleet.changes();
        let stand = async {
            loop {
                let board = fleet.board();
                let mut there: Vec<&str> = board.tasks.values().map(|task| task.work.text.as_str()).collect();
                there.sort_unstable();
                if there == texts {
                    return;
                }
                changes.changed().await.expect("the fleet is there");
            }
        };
        let stand = tokio::time::timeout(stage::PATIENCE, stand).await;
        stand.unwrap_or_else(|_| panic!("{texts:?} are not on the board: {:?}", fleet.board()));
    }
    let mut rig = start(Rig::prepare(Discord::start().await).await).await;
    let fleet = rig.stage().herder.fleet().clone();
    let quick = AgentName::new("quick").expect("a good name");
    for agent in ["spark", "quick"] {
        rig.alice.says("#herder", &format!("!pause {agent}"));
    }
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    fleet.wait_for(&quick, |view| is_paused(&view.agent.phase)).await;

    // From one agent to another; its message is changed there, and marked when it is done there.
    let said = rig.alice.says("#herder", "!task add spark fix the bild");
    rig.sim.reaction(said, "👀").await;
    let task = rig.agent("a task", |view| view.agent.queue.len() == 1).await.agent.queue[0].id;
    rig.alice.says("#herder", &format!("!task assign {task} quick"));
    fleet.wait_for(&quick, |view| view.agent.queue.len() == 1).await;
    rig.alice.edits(said, "!task add spark fix the build");
    fleet.wait_for(&quick, |view| view.agent.queue.iter().any(|work| work.text == "fix the build")).await;
    // Also after a restart, for which it is still a task that was given to the first one.
    drop(fleet);
    rig.stop().await;
    let mut rig = start(rig).await;
    let fleet = rig.stage().herder.fleet().clone();
    rig.alice.edits(said, "!task add spark fix the roof");
    fleet.wait_for(&quick, |view| view.agent.queue.iter().any(|work| work.text == "fix the roof")).await;
    assert!(rig.sim.posts("#herder").iter().all(|post| !post.contains("cannot become something else")));
    // From an agent to the board, and also there after a restart.
    rig.alice.says("#herder", &format!("!task assign {task} auto"));
    stand(&fleet, &["fix the roof"]).await;
    rig.alice.edits(said, "!task add spark fix the door");
    stand(&fleet, &["fix the door"]).await;
    drop(fleet);
    rig.stop().await;
    let mut rig = start(rig).await;
    let fleet = rig.stage().herder.fleet().clone();
    rig.alice.edits(said, "!task add spark fix the floor");
    stand(&fleet, &["fix the floor"]).await;
    assert!(rig.sim.posts("#herder").iter().all(|post| !post.contains("cannot become something else")));
    // On the board no agent has it: it is changed with its message, and taken back with it.
    let boarded = rig.alice.says("#herder", "!task add auto delete everything");
    rig.sim.reaction(boarded, "👀").await;
    rig.alice.edits(boarded, "!task add auto delete nothing");
    let is_told = |content: &str| content.contains("is this now") && content.ends_with("delete nothing");
    let changed = rig.sim.message_in("#herder", |post| is_told(&post.content)).await;
    assert_eq!(changed.reply_to, Some(boarded));
    stand(&fleet, &["delete nothing", "fix the floor"]).await;
    // An edit that it cannot become is answered, and changes nothing.
    rig.alice.edits(boarded, "!status");
    rig.sim.message_in("#herder", |post| post.content.contains("cannot become something else")).await;
    rig.alice.deletes(boarded);
    stand(&fleet, &["fix the floor"]).await;
    rig.alice.says("#herder", "!resume quick");
    rig.sim.reaction(said, "✅").await;
    rig.sim.no_reaction(said, "👀").await;
    assert_eq!(rig.done(), ["fix the floor"]);
    rig.stop().await;
}

/// Only what waits is taken back with its message: a task in parts is being done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_parts_are_being_done_is_not_stopped_with_its_message() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    let script = "read -r work; until test -e go; do sleep 0.1; done; echo \"$work\" >> done";
    config.agents = vec![stage::shell("spark", rig.dir.path(), script)];
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let said = rig.alice.says("#herder", "!task add auto tidy up");
    rig.sim.reaction(said, "👀").await;
    let board = rig.stage().herder.fleet().board();
    let task = *board.tasks.keys().next().expect("a task");
    rig.alice.says("#herder", &format!("!task split {task} sweep; mop"));
    rig.sim.message_in("#herder", |post| post.content.contains("parts")).await;
    rig.alice.says("#spark", "resume");
    rig.agent("a part", |view| view.agent.current.is_some()).await;
    rig.alice.deletes(said);
    rig.alice.says("#herder", "@herder status");
    rig.sim.message_in("#herder", |post| post.content.contains("1 agent")).await;
    std::fs::write(rig.dir.path().join("go"), "").expect("a file");
    assert_eq!(rig.has_done(2).await, ["sweep", "mop"]);
    rig.stop().await;
}

/// A task on its way from an agent to the board is in no one's hands for a moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_on_its_way_to_the_board_is_taken_back_when_it_is_there() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (held, is_armed) = (Mutex::new(held), Arc::new(AtomicBool::new(false)));
    let armed = Arc::clone(&is_armed);
    let fault = FaultInjection::of_root(move || {
        if armed.load(Ordering::SeqCst) {
            held.lock().expect("it is there").recv().ok();
        }
    });
    let mut rig = Rig::prepare(Discord::start().await).await;
    rig.stage = Some(Stage::open(rig.config(), Options { fault, ..Options::default() }).await);
    let mut rig = rig.sees_ready().await;
    let fleet = rig.stage().herder.fleet().clone();
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let said = rig.alice.says("#herder", "!task add spark delete everything");
    rig.sim.reaction(said, "👀").await;
    let task = rig.agent("a task", |view| view.agent.queue.len() == 1).await.agent.queue[0].id;
    is_armed.store(true, Ordering::SeqCst);
    rig.alice.says("#herder", &format!("!task assign {task} auto"));
    rig.agent("an empty queue", |view| view.agent.queue.is_empty()).await;
    assert_eq!(fleet.holder(task), Some(Holder::Nobody));
    rig.alice.deletes(said);
    rig.alice.says("#herder", "@herder status");
    rig.sim.message_in("#herder", |post| post.content.contains("1 agent")).await;
    is_armed.store(false, Ordering::SeqCst);
    drop(release);
    let mut changes = fleet.changes();
    let taken_back = async {
        while fleet.holder(task) != Some(Holder::Over(TaskEnd::Cancelled)) {
            changes.changed().await.expect("the fleet is there");
        }
    };
    tokio::time::timeout(stage::PATIENCE, taken_back).await.expect("it is taken back");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_after_a_restart_still_finds_its_work() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let said = rig.alice.says("#spark", "fix the bild");
    rig.agent("work", |view| view.agent.queue.len() == 1).await;
    rig.stop().await;
    let mut rig = rig.started().await;
    rig.alice.edits(said, "fix the build");
    rig.agent("other words", |view| view.agent.queue.iter().any(|work| work.text == "fix the build")).await;
    rig.alice.says("#spark", "resume");
    assert_eq!(rig.has_done(1).await, ["fix the build"]);
    rig.sim.reaction(said, "✅").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_in_private_is_followed_after_a_restart_too() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let first = rig.alice.whispers("@spark fix the bild");
    let second = rig.alice.whispers("@spark delete everything");
    rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    rig.stop().await;
    let mut rig = rig.started().await;
    rig.alice.edits(first, "@spark fix the build");
    rig.agent("other words", |view| view.agent.queue.iter().any(|work| work.text == "fix the build")).await;
    rig.alice.deletes(second);
    rig.agent("one work", |view| view.agent.queue.len() == 1).await;
    rig.alice.says("#spark", "resume");
    assert_eq!(rig.has_done(1).await, ["fix the build"]);
    rig.sim.reaction(first, "✅").await;
    rig.sim.no_reaction(first, "👀").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_that_is_attached_reaches_the_agent() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let draft =
        rig.alice.message("#spark", "see this").attaching("log.txt", "text/plain", "line one\nline two\n");
    draft.attaching("cat.png", "image/png", vec![0_u8; 10]).send();
    let view = rig.agent("work", |view| view.agent.queue.len() == 1).await;
    assert_eq!(view.agent.queue[0].text, "see this\n\nlog.txt:\n```\nline one\nline two\n```");
    let names: Vec<&str> = view.agent.queue[0].card().files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["log.txt", "cat.png"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attached_file_is_asked_for_until_it_comes() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.sim.loses_files(2);
    rig.alice.message("#spark", "see this").attaching("log.txt", "text/plain", "line one\n").send();
    let view = rig.agent("work", |view| view.agent.queue.len() == 1).await;
    assert_eq!(view.agent.queue[0].text, "see this\n\nlog.txt:\n```\nline one\n```");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_read_for_now_is_not_lost_over_a_word_beside_it() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    let draft = rig.alice.message("#spark", "see this").attaching("log.txt", "text/plain", "line one\n");
    let said = draft.send();
    rig.agent("work", |view| view.agent.queue.len() == 1).await;
    // More often than it is asked for at once.
    rig.sim.loses_files(7);
    rig.alice.edits(said, "see that");
    let view = rig.agent("other words", |view| view.agent.queue[0].text.starts_with("see that")).await;
    assert_eq!(view.agent.queue[0].text, "see that\n\nlog.txt:\n```\nline one\n```");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_somebody_who_may_give_no_work_are_not_asked_for() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.sim.loses_files(u32::MAX);
    let mallory = rig.sim.user("mallory");
    let files = (0..10).fold(mallory.message("#spark", "see this"), |draft, number| {
        draft.attaching(&format!("{number}.txt"), "text/plain", "one\n")
    });
    files.send();
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    assert_eq!(rig.sim.look(|state| state.files_lost), u32::MAX, "none was asked for");
    rig.stop().await;
}

/// "Explain that" means nothing alone: what a message replies to goes with it. A command stays the command it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_message_replies_to_is_given_to_the_agent_with_it() {
    let mut rig = Rig::open(Discord::start().await).await;
    let first = rig.alice.says("#work", "the build\nfails on arm");
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.alice.message("#spark", "explain that").replying_to(first).send();
    let view = rig.agent("the reply", |view| view.agent.queue.len() == 1).await;
    assert_eq!(view.agent.queue[0].text, "explain that\n\nIn reply to alice:\n> the build\n> fails on arm");
    rig.alice.message("#spark", "clear").replying_to(first).send();
    rig.agent("an empty queue", |view| view.agent.queue.is_empty()).await;
    // Mentioning the bot, the usual way to speak to one on Discord, reaches the agent whose channel it is.
    rig.alice.says("#spark", "@herder fix the tests");
    let view = rig.agent("the work", |view| view.agent.queue.len() == 1).await;
    assert_eq!(view.agent.queue[0].text, "fix the tests");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_text_is_taken_as_far_as_it_goes_and_never_read_as_a_command() {
    let mut rig = Rig::open(Discord::start().await).await;
    // A file without a word is work, whatever it is called.
    rig.alice.message("#spark", "").attaching("pause", "text/plain", "wait for me").send();
    rig.alice.message("#spark", "").forwarding("pause").send();
    assert_eq!(rig.has_done(2).await, ["📎 pause", "↪️ pause"]);
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.alice.message("#spark", "").forwarding(&format!("<@{}> resume", rig.sim.bot_id())).send();
    let view = rig.agent("the forwarded words", |view| view.agent.queue.len() == 1).await;
    assert_eq!(view.agent.queue[0].text, "↪️ @herder resume");
    assert!(is_paused(&view.agent.phase));

    // An unreadable message is answered where it would be work, and nowhere else.
    let sticker = json!([{ "id": "1", "name": "wave", "format_type": 1 }]);
    let poll = json!({
        "question": { "text": "tea?" }, "answers": [{ "answer_id": 1, "poll_media": { "text": "yes" } }],
        "expiry": "2026-12-01T00:00:00.000000+00:00", "allow_multiselect": false, "layout_type": 1,
    });
    rig.alice.message("#herder", "").with("sticker_items", sticker.clone()).send();
    rig.alice.message("#spark", "").with("sticker_items", sticker.clone()).send();
    rig.sim.message_in("#spark", |post| post.content.contains("cannot read a sticker")).await;
    rig.alice.message("#spark", "").with("poll", poll).send();
    rig.sim.message_in("#spark", |post| post.content.contains("cannot read a poll")).await;
    rig.alice.message("#spark", "").forwarding("").send();
    rig.sim.message_in("#spark", |post| post.content.contains("nothing in what you forwarded")).await;
    rig.sim.user("mallory").message("#spark", "").with("sticker_items", sticker).send();
    rig.alice.says("#herder", "@herder status");
    rig.sim.message_in("#herder", |post| post.content.contains("1 agent")).await;
    assert!(rig.sim.posts("#herder").iter().all(|post| !post.contains("sticker")));
    let told = rig.sim.posts("#spark").iter().filter(|post| post.contains("sticker")).count();
    assert_eq!(told, 1, "a stranger is not answered");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_while_herder_was_away_is_worked_on_once_and_in_order() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    // More than a page.
    let missed: Vec<String> = (1..=130).map(|number| format!("missed {number}")).collect();
    rig.alice.says("#spark", "pause");
    for text in &missed {
        rig.alice.says("#spark", text);
    }
    let mut rig = rig.started().await;
    rig.alice.says("#spark", "live");
    let view = rig.agent("all of it", |view| view.agent.queue.len() == 131).await;
    let queued: Vec<&str> = view.agent.queue.iter().map(|work| work.text.as_str()).collect();
    let expected: Vec<&str> = missed.iter().map(String::as_str).chain(["live"]).collect();
    assert_eq!(queued, expected);
    rig.stop().await;
    // It knows them all.
    let mut rig = rig.started().await;
    rig.alice.says("#spark", "last");
    rig.agent("one more", |view| view.agent.queue.len() == 132).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_read_late_is_asked_back_and_work_is_taken() {
    let sim = Discord::builder().clock_behind(Duration::from_secs(720)).start().await;
    let mut rig = Rig::open(sim).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    rig.alice.says("#spark", "pause");
    rig.alice.says("#spark", "do this all the same");
    rig.sim.catches_up();
    let mut rig = rig.started().await;
    assert_eq!(rig.has_done(2).await, ["zero", "do this all the same"]);
    let view = rig.stage().herder.fleet().view(&spark()).expect("it is there");
    assert!(!is_paused(&view.agent.phase), "a pause of twelve minutes ago: {:?}", view.agent.phase);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_fetched_at_once_is_fetched_later() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    rig.alice.says("#spark", "one");
    rig.sim.inject(Fault::status(503, Effect::Before).on("GET /channels/{channel_id}/messages").times(3));
    let mut rig = rig.started().await;
    rig.alice.says("#spark", "two");
    assert_eq!(rig.has_done(3).await, ["zero", "one", "two"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_intent_whoever_mentions_herder_is_heard() {
    let mut rig = Rig::open(Discord::builder().without_message_content().start().await).await;
    rig.alice.says("#spark", "this cannot be read");
    rig.alice.says("#herder", "@herder pause spark");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.alice.says("#herder", "@herder task add spark count");
    let view = rig.agent("work", |view| view.agent.queue.len() == 1).await;
    assert_eq!(json!(view.agent.queue[0].text), "count");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_that_hangs_holds_up_no_other_channel_and_one_that_failed_comes_later() {
    const MARK: &str = "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me";
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| is_paused(&view.agent.phase)).await;
    rig.sim.inject(Fault::slow(Duration::from_secs(8)).on(MARK));
    rig.alice.says("#spark", "one");
    rig.sim.until("a mark", |state| state.requests.iter().any(|request| request.route == MARK)).await;
    let second = rig.alice.says("#herder", "@spark two");
    rig.sim.reaction(second, "👀").await;
    assert_eq!(rig.sim.requests(MARK)[0].status, None, "the first one is still under way");
    // Not Discord speaks so, but a guard before it: the mark is not there, and not forgotten.
    let guard = rig.sim.inject(Fault::refused(403, 0, "Just a moment...").on(MARK));
    let third = rig.alice.says("#herder", "@spark three");
    guard.spent().await;
    let fourth = rig.alice.says("#herder", "@spark four");
    rig.sim.reaction(fourth, "👀").await;
    rig.sim.reaction(third, "👀").await;
    rig.stop().await;
}
