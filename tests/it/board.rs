//! The task board, with real agents on each network: assignment, moves, parts, and kills of herder in between.

mod killed;

use crate::on::{On, Story, on_each_network};
use crate::stage;

const ROOMS: [&str; 5] = ["#herder", "#work", "#alerts", "#alpha", "#bravo"];

/// Says what it was told; `wait` takes until the file `go` is there.
const SCRIPT: &str = r#"
work=$(cat)
case $work in *"wait here"*) while [ ! -e go ]; do sleep 0.05; done;; esac
echo "did ${work##*
}"
"#;

async fn open(on: On) -> Story {
    let agents =
        |dir: &std::path::Path| ["alpha", "bravo"].map(|name| stage::shell(name, dir, SCRIPT)).to_vec();
    Story::open(on, &ROOMS, agents, |_| {}).await
}

on_each_network!(
    a_task_of_nobody_goes_to_the_idle_agent_and_a_queued_one_is_moved,
    a_task_is_done_in_parts_and_listed_with_them,
);

async fn a_task_of_nobody_goes_to_the_idle_agent_and_a_queued_one_is_moved(on: On) {
    let mut story = open(on).await;
    let alice = &mut story.alice;
    alice.say("#herder", "!task add alpha wait here").await;
    alice.hears("#alpha", "🐜").await;
    alice.say("#herder", "!task add count to three").await;
    alice.hears_in_any_order("#herder", "Task 2 is on the board.").await;
    alice.hears_in_any_order("#bravo", "bravo has task 2 from the board: count to three").await;
    alice.hears_in_any_order("#bravo", "did count to three").await;
    alice.hears_in_any_order("#work", "DONE 2").await;

    alice.say("#herder", "!task add alpha second thing").await;
    let queued = alice.hears("#herder", "is queued for alpha").await;
    // Numbers are not in a row: other things have them too.
    let number: String =
        queued.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    alice.say("#herder", "!task assign 1 bravo").await;
    alice.hears("#herder", "alpha works on task 1.").await;
    alice.say("#herder", &format!("!task assign {number} bravo")).await;
    alice.hears("#herder", &format!("Task {number} goes from alpha to bravo.")).await;
    alice.hears_in_any_order("#bravo", "did second thing").await;
    alice.hears_in_any_order("#work", &format!("DONE {number}")).await;
    let work = alice.heard_in("#work");
    for task in ["2", &number] {
        let of = work.iter().filter(|line| line.split(' ').nth(1) == Some(task));
        let lines =
            [format!("TASK {task} queued"), format!("TASK {task} assigned bravo"), format!("DONE {task}")];
        assert_eq!(of.collect::<Vec<_>>(), lines.iter().collect::<Vec<_>>());
    }
    story.close().await;
}

async fn a_task_is_done_in_parts_and_listed_with_them(on: On) {
    let mut story = open(on).await;
    let alice = &mut story.alice;
    alice.say("#herder", "!pause alpha").await;
    alice.hears("#herder", "⏸").await;
    alice.say("#herder", "!task add alpha priority=high build it").await;
    alice.hears("#herder", "Task 1 is queued for alpha").await;
    alice.say("#herder", "!task split 1 just one").await;
    alice.hears("#herder", "task 1 was to have 1.").await;
    alice.say("#herder", "!task split 1 plan it; make it").await;
    alice.hears("#herder", "Task 1 is done in parts: ").await;
    // Both are with the agent before the list is asked for.
    for part in ["plan it", "make it"] {
        alice.hears_in_any_order("#alpha", part).await;
    }
    alice.say("#herder", "!task list").await;
    let whole = alice.hears("#herder", "build it").await;
    assert!(whole.contains("#1 in parts (0/2) · board · ↑ build it"), "{whole}");
    alice.say("#herder", "!resume alpha").await;
    alice.hears_in_any_order("#work", "DONE 1").await;
    for did in ["did plan it", "did make it"] {
        alice.hears_in_any_order("#alpha", did).await;
    }
    story.close().await;
}
