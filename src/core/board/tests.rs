//! The board against agents: table tests, and any order of messages, losses and kills.

mod leading;
mod world;

use proptest::prelude::*;

use super::*;
use crate::card::{Card, Needs, Priority};
use crate::notice::Notice;
use world::{Op, World, op};

fn board_line(world: &World) -> Vec<String> {
    let place = |boarded: &Boarded| match &boarded.place {
        Place::Queued { to } => format!("queued {}", to.as_ref().map_or("", AgentName::as_str)),
        Place::Offered { to, number } => format!("offered {to} {number}"),
        Place::Split { parts, cancelled } => {
            let parts: Vec<String> = parts.iter().map(|part| format!("{}:{:?}", part.id, part.end)).collect();
            format!("split {} {}", parts.join(" "), if cancelled.is_some() { "cancelled" } else { "" })
        }
    };
    let tasks = world.board.tasks.iter();
    tasks.map(|(id, boarded)| format!("{id} {}", place(boarded)).trim_end().to_owned()).collect()
}

#[test]
fn a_task_goes_to_the_agent_that_has_been_idle_for_longest_and_suffices() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    assert_eq!(world.current("alpha"), Some(1), "alpha is busy");
    let needs = Needs::parse("full,rust").expect("needs");
    world.add(Card { needs: needs.clone(), ..Card::default() });
    world.run(&[Op::Settle]);
    assert_eq!(world.current("bravo"), Some(2), "bravo alone has the tag");
    world.add(Card { needs, ..Card::default() });
    world.run(&[Op::Settle]);
    assert_eq!(board_line(&world), ["3 queued"], "charlie is idle and does not suffice");
    world.run(&[Op::Finish(1), Op::Settle]);
    assert_eq!((world.current("bravo"), board_line(&world)), (Some(3), vec![]));
}

#[test]
fn a_task_with_a_check_waits_for_an_agent_with_a_repository() {
    let mut world = World::new();
    world.add(Card { check: Some("make test".into()), ..Card::default() });
    world.run(&[Op::Settle]);
    assert_eq!(board_line(&world), ["1 queued"], "all are idle, and none has a clone to check it in");
}

#[test]
fn an_agent_whose_account_is_closed_is_passed_over_unless_it_is_named() {
    let mut world = World::new();
    world.close(&[0]);
    world.run(&[Op::Add, Op::Settle]);
    assert_eq!(world.current("bravo"), Some(1), "alpha has been idle for longer, and could not begin");
    world.close(&[0, 1, 2]);
    world.run(&[Op::Add, Op::Settle]);
    assert_eq!(board_line(&world), ["2 queued"], "nobody could begin");
    world.assign(2, Some(2)).expect("it waits");
    world.run(&[Op::Settle]);
    assert_eq!((world.current("charlie"), board_line(&world)), (Some(2), vec![]), "who is named has it");
    world.run(&[Op::Add, Op::Settle]);
    world.close(&[]);
    world.run(&[Op::Settle]);
    assert_eq!((world.current("alpha"), board_line(&world)), (Some(3), vec![]));
    world.is_settled();
}

#[test]
fn what_is_urgent_goes_first_on_the_board_and_in_a_queue() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Give(1), Op::Give(2), Op::Settle]);
    let card = |priority| Card { priority, ..Card::default() };
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        world.add(card(priority));
    }
    world.run(&[Op::Settle, Op::Finish(0), Op::Settle]);
    assert_eq!(world.current("alpha"), Some(6), "the urgent one");
    for (task, priority) in [(7, Priority::Low), (8, Priority::Normal), (9, Priority::High)] {
        world.give("bravo", task, card(priority));
    }
    assert_eq!(world.queue("bravo"), [9, 8, 7]);
    world.run(&[Op::Crash(1)]);
    assert_eq!(world.queue("bravo"), [2, 9, 8, 7], "what a session has begun stays in front");
    world.give("bravo", 10, card(Priority::High));
    assert_eq!(world.queue("bravo"), [2, 9, 10, 8, 7]);
}

#[test]
fn a_queued_task_is_moved_and_a_running_one_is_not() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Give(0), Op::Settle]);
    let refused = world.assign(1, Some(1)).expect_err("it runs");
    assert_eq!(refused, Refusal::TaskRunning { agent: world.name(0), task: WorkId(1) });
    let refused = world.assign(2, Some(0)).expect_err("it has it");
    assert_eq!(refused, Refusal::TaskKept { agent: world.name(0), task: WorkId(2) });
    let notice = world.assign(2, Some(1)).expect("it waits");
    let (from, to) = (Some(world.name(0)), Some(world.name(1)));
    assert_eq!(notice, Notice::TaskMoved { task: WorkId(2), from, to });
    assert_eq!(world.assign(2, None), Err(Refusal::TaskMoving { task: WorkId(2) }));
    world.run(&[Op::Settle]);
    assert_eq!((world.current("bravo"), world.queue("alpha")), (Some(2), vec![]));
}

#[test]
fn what_waits_on_the_board_can_be_given_other_words_and_nothing_else_can() {
    let mut world = World::new();
    world.run(&[Op::Pause(0), Op::Pause(1), Op::Pause(2), Op::Add, Op::Settle]);
    let notice = world.reword(1, "do it\nwell").expect("it waits on the board");
    assert_eq!(notice, Notice::BoardReworded { task: WorkId(1), work: "do it well".to_owned() });
    let long = "x".repeat(crate::agent::WORK_TEXT_MAX + 1);
    assert!(matches!(world.reword(1, &long), Err(Refusal::WorkTooLong { .. })));
    world.assign(1, Some(0)).expect("it waits");
    // On its way it is unknown whether the agent has it already.
    assert_eq!(world.reword(1, "do it again"), Err(Refusal::TaskMoving { task: WorkId(1) }));
    world.run(&[Op::Settle]);
    assert_eq!(world.texts("alpha"), ["do it\nwell"]);
    assert_eq!(world.reword(1, "do it again"), Err(Refusal::NoSuchTask { task: WorkId(1) }), "it is alpha's");
    world.run(&[Op::Add, Op::Settle]);
    world.split(2, 2).expect("it waits");
    assert_eq!(world.reword(2, "do it again"), Err(Refusal::TaskIsSplit { task: WorkId(2) }));
}

#[test]
fn a_task_is_done_when_its_parts_are_and_blocked_when_one_is_not() {
    let mut world = World::new();
    world.run(&[Op::Pause(0), Op::Give(0), Op::Settle]);
    world.split(1, 2).expect("it waits");
    world.run(&[Op::Settle, Op::Resume(0)]);
    assert_eq!((world.current("alpha"), world.queue("alpha")), (Some(2), vec![3]));
    assert_eq!(board_line(&world), ["1 split 2:None 3:None"]);
    world.run(&[Op::Fail(0), Op::Settle]);
    assert_eq!(board_line(&world), ["1 split 2:Some(Failed) 3:None"]);
    assert_eq!(world.said(), ["TASK 1 queued", "TASK 1 split 2 3", "BLOCKED 1 part-failed"]);
    world.assign(2, Some(1)).expect("a failed one is tried anew");
    world.run(&[Op::Settle, Op::Finish(1), Op::Finish(0), Op::Settle]);
    assert_eq!(board_line(&world), [""; 0]);
    assert_eq!(world.said()[3..], ["TASK 2 queued", "DONE 1"]);
}

#[test]
fn a_cancelled_part_blocks_its_whole_until_it_is_tried_anew() {
    let mut world = World::new();
    world.run(&[Op::Pause(0), Op::Pause(1), Op::Pause(2), Op::Add, Op::Settle]);
    world.split(1, 2).expect("it waits");
    // On the board, and with an agent.
    world.cancel(3).expect("it waits on the board");
    assert_eq!(world.said()[2..], ["TASK 3 cancelled", "BLOCKED 1 part-failed"]);
    world.assign(2, Some(0)).expect("it waits on the board");
    world.run(&[Op::Settle]);
    world.cancel(2).expect("alpha has it");
    world.run(&[Op::Settle]);
    assert_eq!(board_line(&world), ["1 split 2:Some(Cancelled) 3:Some(Cancelled)"]);
    assert_eq!(world.said()[4..], [""; 0], "blocked once");
    for part in [2, 3] {
        world.assign(part, Some(0)).expect("it is tried anew");
    }
    world.run(&[Op::Settle, Op::Kill, Op::Resume(0), Op::Finish(0), Op::Finish(0), Op::Settle]);
    assert_eq!(board_line(&world), [""; 0]);
    assert_eq!(world.said()[4..], ["TASK 3 queued", "TASK 2 queued", "DONE 1"]);
    assert_eq!(world.assign(3, None), Err(Refusal::TaskOver { task: WorkId(3), end: TaskEnd::Done }));

    // The parts of a task that was cancelled itself cannot be opened again.
    world.run(&[Op::Pause(0), Op::Add, Op::Settle]);
    let whole = world.ids;
    world.split(whole, 2).expect("it waits");
    let part = world.ids;
    world.cancel(whole).expect("it and its parts");
    let refused = world.assign(part, None);
    assert_eq!(refused, Err(Refusal::TaskOver { task: WorkId(part), end: TaskEnd::Cancelled }));
}

#[test]
fn a_task_is_not_handed_over_before_those_that_it_comes_after_are_done() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    world.add_after(WorkId(1), None);
    world.add_after(WorkId(1), Some(2));
    world.run(&[Op::Settle, Op::Kill, Op::Settle]);
    assert_eq!(board_line(&world), ["2 queued", "3 queued charlie"], "bravo and charlie are idle");
    world.run(&[Op::Crash(0), Op::Pause(0), Op::Settle]);
    world.assign(1, Some(1)).expect("it waits");
    world.run(&[Op::Settle]);
    assert_eq!((world.current("bravo"), board_line(&world).len()), (Some(1), 2), "it moved, and is not over");
    world.run(&[Op::Finish(1), Op::Settle]);
    assert_eq!((world.current("bravo"), world.current("charlie")), (Some(2), Some(3)));
    assert_eq!(board_line(&world), [""; 0]);
    world.run(&[Op::Give(1), Op::Settle]);
    let last = world.ids;
    world.add_after(WorkId(last), None);
    // It ends while the agent has more to do, so that nothing else would have the board look.
    world.run(&[Op::Finish(1), Op::Settle, Op::Finish(1), Op::Settle]);
    assert_eq!(board_line(&world), [""; 0]);
}

#[test]
fn people_are_told_once_of_a_task_that_is_waited_for_in_vain() {
    let mut world = World::new();
    world.run(&[Op::Pause(1), Op::Pause(2), Op::Give(0), Op::Settle]);
    world.add_after(WorkId(1), None);
    world.run(&[Op::Fail(0), Op::Settle, Op::Kill, Op::Settle]);
    assert_eq!(world.said(), ["TASK 2 queued", "BLOCKED 2 after-failed"]);
    assert_eq!(world.board.tasks[&WorkId(2)].work.card().awaits_in_vain(), Some(WorkId(1)));
    world.assign(1, Some(0)).expect("it is tried anew");
    world.run(&[Op::Settle]);
    assert_eq!(world.board.tasks[&WorkId(2)].work.card().awaits_in_vain(), None);
    world.run(&[Op::Fail(0), Op::Settle]);
    assert_eq!(world.said().last().map(String::as_str), Some("BLOCKED 2 after-failed"), "and failed again");
    world.assign(1, Some(0)).expect("it is tried anew");
    world.run(&[Op::Settle, Op::Finish(0), Op::Settle]);
    assert_eq!((world.current("alpha"), board_line(&world)), (Some(2), vec![]));
}

#[test]
fn parts_of_a_task_that_waits_wait_too_and_its_end_is_theirs() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    world.add_after(WorkId(1), None);
    world.split(2, 2).expect("it waits");
    world.add_after(WorkId(2), None);
    world.run(&[Op::Settle]);
    assert_eq!(board_line(&world), ["2 split 3:None 4:None", "3 queued", "4 queued", "5 queued"]);
    world.run(&[Op::Finish(0), Op::Settle]);
    assert_eq!(board_line(&world), ["2 split 3:None 4:None", "5 queued"]);
    world.run(&[Op::Finish(0), Op::Finish(1), Op::Finish(2), Op::Settle]);
    assert_eq!(board_line(&world), [""; 0], "the last one began when the whole was done");
    world.run(&[Op::Finish(0), Op::Finish(1), Op::Finish(2), Op::Settle]);
    world.run(&[Op::Pause(1), Op::Pause(2), Op::Give(0), Op::Settle]);
    let first = world.ids;
    world.add_after(WorkId(first), None);
    world.split(first + 1, 2).expect("it waits");
    world.run(&[Op::Fail(0), Op::Settle]);
    let blocked = world.said().into_iter().filter(|line| line.starts_with("BLOCKED"));
    assert_eq!(blocked.collect::<Vec<_>>(), [format!("BLOCKED {} after-failed", first + 1)]);
}

#[test]
fn who_may_do_more_and_stands_still_is_nobody_to_wait_for() {
    let mut world = World::new();
    world.run(&[Op::Pause(1), Op::Give(0), Op::Deny(0), Op::Settle]);
    assert_eq!((world.queue("alpha"), board_line(&world)), (vec![1], vec![]), "a person is called");
}

#[test]
fn a_task_of_the_board_is_not_lost_with_the_agent_that_had_it() {
    let mut world = World::new();
    world.run(&[Op::Give(2), Op::Give(1), Op::Add, Op::Settle, Op::Give(0)]);
    assert_eq!((world.current("alpha"), world.queue("alpha")), (Some(3), vec![4]));
    // Its own task is given up; the one from the board is continued by another agent.
    world.run(&[Op::Crash(0), Op::Remove(0), Op::Settle]);
    assert_eq!(board_line(&world), ["3 queued"]);
    world.run(&[Op::Finish(1), Op::Settle]);
    assert_eq!((world.current("bravo"), board_line(&world)), (Some(3), vec![]));
}

#[test]
fn a_task_that_is_too_large_is_done_in_parts_by_the_agent_that_had_it_also_over_a_kill() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Overflow(0), Op::Settle]);
    assert_eq!((world.queue("alpha"), board_line(&world)), (vec![1], vec![]), "it waits for its parts");
    world.run(&[Op::Kill, Op::Divide(0, true), Op::Kill, Op::Settle]);
    assert_eq!(world.said(), ["TASK 1 queued", "TASK 1 split 2 3"]);
    assert_eq!((world.current("alpha"), world.queue("alpha")), (Some(2), vec![3]));
    assert_eq!((world.current("bravo"), world.current("charlie")), (None, None));
    world.run(&[Op::Finish(0), Op::Finish(0), Op::Settle]);
    assert_eq!((board_line(&world), world.said().last().map(String::as_str)), (vec![], Some("DONE 1")));
}

#[test]
fn a_task_that_was_denied_goes_to_an_agent_that_may_do_more_and_waits_for_it() {
    let mut world = World::new();
    world.run(&[Op::Give(1), Op::Give(0), Op::Deny(0), Op::Settle]);
    assert_eq!(world.current("bravo"), Some(1));
    assert_eq!(board_line(&world), ["2 queued"], "alpha and charlie are idle, and may do too little");
    world.run(&[Op::Kill, Op::Settle, Op::Finish(1), Op::Settle]);
    assert_eq!((world.current("bravo"), board_line(&world)), (Some(2), vec![]));
    world.run(&[Op::Deny(1), Op::Settle]);
    assert_eq!((world.queue("bravo"), board_line(&world)), (vec![2], vec![]), "a person is called");
    assert_eq!(world.said(), ["TASK 2 queued"]);
}

#[test]
fn a_split_has_two_to_five_parts_and_two_levels() {
    let mut world = World::new();
    world.run(&[Op::Pause(0), Op::Pause(1), Op::Pause(2), Op::Add, Op::Settle]);
    for parts in [0, 1, 6] {
        let refused = world.split(1, parts).expect_err("too few or too many");
        assert!(matches!(refused, Refusal::SplitParts { max: 5, .. }), "{refused:?}");
    }
    world.split(1, 2).expect("it waits on the board");
    let first = world.ids;
    world.split(first, 2).expect("a part may be split");
    let second = world.ids;
    assert_eq!(world.split(second, 2), Err(Refusal::SplitTooDeep { task: WorkId(second), max: 2 }));
    assert_eq!(world.split(1, 2), Err(Refusal::TaskIsSplit { task: WorkId(1) }));
    world.cancel(1).expect("it and all its parts");
    assert_eq!(board_line(&world), [""; 0]);
}

#[test]
fn parts_that_agents_have_are_cancelled_with_the_whole() {
    let mut world = World::new();
    world.run(&[Op::Pause(1), Op::Give(1), Op::Settle]);
    world.split(1, 2).expect("it waits");
    world.run(&[Op::Settle, Op::Resume(1)]);
    assert_eq!((world.current("bravo"), world.queue("bravo")), (Some(2), vec![3]));
    let notice = world.cancel(1).expect("it is cancelled");
    assert_eq!(notice, Notice::BoardCancelled { task: WorkId(1), parts: 2 });
    world.run(&[Op::Kill, Op::Settle]);
    assert_eq!((world.current("bravo"), world.queue("bravo")), (Some(2), vec![]), "one is being stopped");
    world.run(&[Op::Finish(1), Op::Settle]);
    assert_eq!(board_line(&world), [""; 0]);
}

#[test]
fn queued_tasks_of_an_agent_that_stays_halted_go_to_another() {
    let mut world = World::new();
    world.run(&[Op::Give(1), Op::Give(1), Op::Crash(1), Op::Pause(1)]);
    assert_eq!(world.queue("bravo"), [1, 2]);
    world.run(&[Op::Wait, Op::Settle]);
    assert_eq!(world.queue("bravo"), [1], "what a person stopped in the middle is theirs to decide");
    assert_eq!(world.current("alpha"), Some(2));
}

#[test]
fn an_agent_that_leaves_gives_back_what_it_was_about_to_get() {
    let mut world = World::new();
    world.run(&[Op::Pause(0), Op::Pause(2), Op::Add, Op::Remove(1), Op::Settle]);
    assert_eq!(board_line(&world), ["1 queued"]);
    world.run(&[Op::Resume(0), Op::Settle]);
    assert_eq!(world.current("alpha"), Some(1));
}

#[test]
fn what_was_offered_to_an_agent_that_nobody_takes_anything_in_for_goes_to_another() {
    let mut world = World::new();
    world.run(&[Op::Add]);
    assert_eq!(board_line(&world), ["1 offered alpha 1"]);
    world.run(&[Op::Desert(0)]);
    assert_eq!(board_line(&world), ["1 offered bravo 2"]);
    world.run(&[Op::Settle, Op::Add, Op::Settle, Op::Add]);
    assert_eq!((world.current("bravo"), world.current("charlie")), (Some(1), Some(2)));
    world.assign(3, Some(0)).expect("it waits");
    world.run(&[Op::Settle]);
    assert_eq!(board_line(&world), ["3 queued alpha"], "what is for it by name can be given to others");
    world.run(&[Op::Kill, Op::Settle]);
    assert_eq!((world.current("alpha"), board_line(&world)), (Some(3), vec![]), "it is back");
    world.is_settled();
}

#[test]
fn what_such_an_agent_has_on_record_stays_with_it() {
    let mut world = World::new();
    // The message that it recorded the task was still on its way.
    world.run(&[Op::Add]);
    world.arrives("alpha");
    world.run(&[Op::Desert(0)]);
    assert_eq!((world.current("alpha"), board_line(&world)), (Some(1), vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Any order of what people and sessions do, of messages that arrive, are lost with herder, and are said again. The
    /// invariants are checked after every step, see [`World`].
    #[test]
    fn no_task_is_lost_doubled_or_ended_twice(ops in prop::collection::vec(op(), 0..120)) {
        let mut world = World::new();
        for op in &ops {
            world.step(op);
        }
        world.step(&Op::Settle);
        world.is_settled();
    }
}
