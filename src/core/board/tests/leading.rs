//! Agents that lead: table tests.

use super::world::{Op, World};
use super::*;
use crate::lead::{LeadRefusal, OPEN_PARTS_MAX};
use crate::spec::{Autonomy, Permissions};

#[test]
fn a_task_waits_for_its_parts_and_goes_on_with_their_results() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let first = world.add_part(0, None, None).expect("it leads");
    let second = world.add_part(0, Some(0), None).expect("it leads");
    world.run(&[Op::Settle]);
    assert_eq!(world.current("charlie"), Some(first.0), "bravo may do more than alpha");
    assert_eq!(board_line(&world), [format!("{second} queued")], "it comes after the first");
    assert_eq!(world.await_parts(0), Ok(vec![first, second]));
    world.run(&[Op::Finish(0), Op::Settle]);
    assert_eq!((world.current("alpha"), world.parked("alpha")), (None, vec![1]), "it holds no place");
    world.run(&[Op::Kill, Op::Settle, Op::Finish(2), Op::Settle]);
    assert_eq!(world.current("alpha").or(world.current("charlie")), Some(second.0), "the second one goes on");
    assert_eq!(world.parked("alpha"), [1]);
    world.run(&[Op::Fail(0), Op::Fail(2), Op::Kill, Op::Settle, Op::Kill, Op::Settle]);
    assert_eq!((world.current("alpha"), world.parked("alpha")), (Some(1), vec![]));
    let recap = world.recap("alpha");
    assert!(recap.contains("#2 (charlie): done"), "{recap}");
    assert!(recap.contains(": failed") && recap.contains("its words: \"no luck\""), "{recap}");
    assert_eq!(world.await_parts(0), Err(LeadRefusal::NothingOpen), "it knows all results");
    world.run(&[Op::Finish(0), Op::Settle]);
    assert_eq!((world.current("alpha"), world.board.leads.len()), (None, 0), "it is done");
    world.is_settled();
}

#[test]
fn a_session_that_ends_well_and_leaves_parts_open_waits_for_them() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let part = world.add_part(0, None, None).expect("it leads");
    world.run(&[Op::Settle, Op::Finish(0), Op::Settle]);
    assert_eq!((world.current("charlie"), world.parked("alpha")), (Some(part.0), vec![1]));
    world.run(&[Op::Finish(2), Op::Settle]);
    assert_eq!(world.current("alpha"), Some(1));
}

#[test]
fn a_cancelled_task_takes_its_parts_along() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let part = world.add_part(0, None, Some(2)).expect("it leads");
    world.run(&[Op::Settle]);
    assert_eq!(world.current("charlie"), Some(part.0));
    let below = world.add_part(2, None, Some(0)).expect("a part leads as well");
    let waits = world.add_part(0, Some(0), None).expect("it leads");
    world.run(&[Op::Finish(0), Op::AwaitParts(2), Op::Finish(2), Op::Settle]);
    assert_eq!(world.current("alpha"), Some(below.0), "one does a part of its own part");
    assert_eq!((world.parked("alpha"), world.parked("charlie")), (vec![1], vec![part.0]));
    assert_eq!(world.add_part(0, None, None), Err(LeadRefusal::TooDeep));
    world.cancel(1).expect("it waits");
    world.run(&[Op::Settle, Op::Crash(0), Op::Settle]);
    assert_eq!((world.parked("alpha"), world.parked("charlie")), (vec![], vec![]));
    assert_eq!((board_line(&world), world.board.leads.len()), (vec![], 0), "{waits} is gone, too");
    world.is_settled();
}

#[test]
fn a_lead_cancels_a_part_of_its_own_and_no_other_task() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Give(1), Op::Settle]);
    let part = world.add_part(0, None, Some(2)).expect("it leads");
    world.run(&[Op::Settle]);
    let other = LeadRequest::Cancel(WorkId(2));
    assert_eq!(world.lead(0, &other), Err(LeadRefusal::NoPart { part: WorkId(2) }), "it is bravo's");
    assert_eq!(world.cancel_part(0, 0), Ok(part));
    world.run(&[Op::Settle, Op::Crash(2), Op::Settle]);
    assert_eq!((world.current("charlie"), world.queue("charlie")), (None, vec![]));
    let over = LeadRefusal::PartOver { part, end: TaskEnd::Cancelled };
    assert_eq!(world.cancel_part(0, 0), Err(over));
    assert_eq!(world.await_parts(0), Ok(vec![part]), "it was not told yet");
    world.run(&[Op::Finish(0), Op::Settle]);
    assert!(world.recap("alpha").contains(": cancelled"), "{}", world.recap("alpha"));
}

#[test]
fn what_a_lead_may_not_is_refused_with_a_sentence() {
    let mut world = World::new();
    let add = |text: &str, needs: &str, to: Option<AgentName>| LeadRequest::Add {
        text: text.to_owned(),
        to,
        needs: if needs.is_empty() { Needs::default() } else { Needs::parse(needs).expect("needs") },
        after: Vec::new(),
    };
    assert_eq!(world.lead(0, &add("x", "", None)), Err(LeadRefusal::NoTask), "it has no task");
    world.run(&[Op::Give(0), Op::Settle]);
    let (bravo, charlie) = (world.name(1), world.name(2));
    let own = crate::spec::Permissions::WorkspaceWrite;
    let nobody = AgentName::new("delta").expect("a good name");
    for (request, refusal) in [
        (add(" ", "", None), LeadRefusal::Empty),
        (add("x", "full", None), LeadRefusal::MoreRights { own }),
        (add("x", "", Some(bravo)), LeadRefusal::MoreRights { own }),
        (add("x", "rust", Some(charlie.clone())), LeadRefusal::Lacks { agent: charlie.clone() }),
        (add("x", "rust", None), LeadRefusal::Nobody { needs: "rust".to_owned() }),
        (
            add("x", "", Some(nobody.clone())),
            LeadRefusal::NoAgent { agent: nobody, others: vec![world.name(0), charlie] },
        ),
    ] {
        assert!(refusal.to_string().ends_with('.'), "{refusal}");
        assert_eq!(world.lead(0, &request), Err(refusal));
    }
    let part = world.lead(0, &add("the same", "", None)).expect("it leads");
    assert_eq!(world.lead(0, &add("the same", "", None)), Ok(part), "a call that is repeated adds nothing");
    for index in 1..OPEN_PARTS_MAX {
        let text = format!("part {index}");
        let request = LeadRequest::Add { text, to: None, needs: Needs::default(), after: vec![] };
        world.lead(0, &request).expect("there is room");
    }
    assert_eq!(world.lead(0, &add("one more", "", None)), Err(LeadRefusal::TooManyOpen));
}

#[test]
fn what_a_person_has_denied_is_given_to_nobody() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let part = world.add_part(0, None, Some(2)).expect("nothing is denied yet");
    world.run(&[Op::Settle]);
    world.deny(0);
    assert_eq!(world.add_part(0, None, Some(2)), Err(LeadRefusal::Denied));
    // The wait does not make it forgotten.
    world.run(&[Op::AwaitParts(0), Op::Finish(0), Op::Finish(2), Op::Settle]);
    assert!(world.recap("alpha").contains(&format!("#{part} (charlie): done")), "{}", world.recap("alpha"));
    assert_eq!(world.add_part(0, None, Some(2)), Err(LeadRefusal::Denied));
}

#[test]
fn parts_go_to_agents_that_are_asked_as_often_as_their_lead() {
    let mut world = World::new();
    world.set(2, |spec| spec.autonomy = Autonomy::Full);
    world.run(&[Op::Give(0), Op::Settle]);
    let own = crate::spec::Permissions::WorkspaceWrite;
    assert_eq!(world.add_part(0, None, Some(2)), Err(LeadRefusal::MoreRights { own }));
    world.set(2, |spec| spec.autonomy = Autonomy::Strict);
    world.add_part(0, None, Some(2)).expect("it may do less");
    world.run(&[Op::Settle]);
    // A part of a part is bounded by the rights of both leads.
    world.set(2, |spec| (spec.autonomy, spec.permissions) = (Autonomy::Full, Permissions::Full));
    world.set(1, |spec| spec.permissions = Permissions::Full);
    assert_eq!(world.add_part(2, None, Some(1)), Err(LeadRefusal::MoreRights { own }));
}

#[test]
fn the_same_text_for_another_agent_is_another_part() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let add = |to: Option<AgentName>| LeadRequest::Add {
        text: "look at it".to_owned(),
        to,
        needs: Needs::default(),
        after: Vec::new(),
    };
    let [anybody, charlie] = [None, Some(world.name(2))].map(|to| world.lead(0, &add(to)).expect("it leads"));
    assert_ne!(anybody, charlie);
    assert_eq!(world.lead(0, &add(Some(world.name(2)))), Ok(charlie));
}

#[test]
fn a_result_that_came_before_the_wait_is_told() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let part = world.add_part(0, None, Some(2)).expect("it leads");
    world.run(&[Op::Settle, Op::Finish(2), Op::Settle]);
    // The part is over before the session ends without a word.
    world.run(&[Op::Finish(0), Op::Settle]);
    assert_eq!((world.current("alpha"), world.parked("alpha")), (Some(1), vec![]));
    assert!(world.recap("alpha").contains(&format!("#{part} (charlie): done")), "{}", world.recap("alpha"));
    world.run(&[Op::Finish(0), Op::Settle]);
    assert_eq!((world.current("alpha"), world.board.leads.len()), (None, 0), "it is told once");
    world.is_settled();
}

#[test]
fn results_are_told_to_the_agent_that_has_the_task_by_then() {
    let mut world = World::new();
    world.run(&[Op::Pause(1), Op::Pause(2), Op::Add, Op::Settle]);
    assert_eq!(world.current("alpha"), Some(1));
    world.run(&[Op::Resume(2), Op::Settle]);
    let part = world.add_part(0, None, Some(2)).expect("it leads");
    world.run(&[Op::Settle, Op::AwaitParts(0), Op::Finish(0), Op::Settle, Op::Pause(0), Op::Remove(0)]);
    world.run(&[Op::Settle, Op::Finish(2), Op::Settle]);
    // The task goes on without a word of its part, which the next session is told.
    assert_eq!(world.current("charlie"), Some(1));
    assert!(!world.recap("charlie").contains(&format!("#{part}")), "{}", world.recap("charlie"));
    world.run(&[Op::Finish(2), Op::Settle]);
    assert_eq!(world.current("charlie"), Some(1));
    assert!(
        world.recap("charlie").contains(&format!("#{part} (charlie): done")),
        "{}",
        world.recap("charlie")
    );
    world.run(&[Op::Finish(2), Op::Settle]);
    assert_eq!((world.current("charlie"), world.board.leads.len()), (None, 0));
    world.is_settled();
}

#[test]
fn what_a_parts_own_parts_cost_is_its_leads_as_well() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    world.add_part(0, None, Some(2)).expect("it leads");
    world.run(&[Op::Settle]);
    world.set(2, |spec| spec.lead_budget_usd = 100.0);
    world.run(&[Op::AwaitParts(0), Op::Finish(0), Op::Settle]);
    for _ in 0..3 {
        world.add_part(2, None, Some(0)).expect("a part leads as well");
        world.run(&[Op::Settle, Op::Finish(0), Op::Settle]);
    }
    let refused = world.add_part(2, None, None).expect_err("alpha's budget is spent");
    assert!(refused.to_string().contains("of the $1.00 that they may"), "{refused}");
}

#[test]
fn no_part_is_added_once_the_budget_is_spent() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    for _ in 0..3 {
        world.add_part(0, None, Some(2)).expect("it leads");
        world.run(&[Op::Settle, Op::Finish(2), Op::Settle]);
    }
    let refused = world.add_part(0, None, None).expect_err("it is spent");
    assert_eq!(
        refused.to_string().split(". ").next(),
        Some("The parts of your task have cost $1.02 of the $1.00 that they may")
    );
    world.run(&[Op::AwaitParts(0), Op::Finish(0), Op::Settle]);
    assert!(world.recap("alpha").contains("$0.34"), "{}", world.recap("alpha"));
}

#[test]
fn a_part_that_waits_in_vain_is_cancelled_and_its_lead_told() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    let first = world.add_part(0, None, Some(2)).expect("it leads");
    let second = world.add_part(0, Some(0), None).expect("it leads");
    world.run(&[Op::Settle, Op::AwaitParts(0), Op::Finish(0), Op::Fail(2), Op::Settle]);
    assert_eq!(world.current("alpha"), Some(1));
    let recap = world.recap("alpha");
    assert!(recap.contains(&format!("#{first} (charlie): failed")), "{recap}");
    assert!(recap.contains(&format!("#{second}: cancelled")), "{recap}");
}

#[test]
fn parts_of_a_removed_lead_end_with_it() {
    let mut world = World::new();
    world.run(&[Op::Give(0), Op::Settle]);
    world.add_part(0, None, Some(2)).expect("it leads");
    world.run(&[Op::Settle, Op::AwaitParts(0), Op::Finish(0), Op::Settle, Op::Remove(0), Op::Settle]);
    world.run(&[Op::Crash(2), Op::Settle]);
    assert_eq!((world.current("charlie"), world.board.leads.len()), (None, 0));
    world.is_settled();
}

#[test]
fn a_cancelled_part_that_waits_with_an_agent_on_its_way_out_ends_with_it() {
    let mut world = World::new();
    world.run(&[Op::Add, Op::Add, Op::Settle]);
    let part = world.add_part(0, None, None).expect("it leads");
    world.run(&[Op::Settle]);
    let below = world.add_part(2, None, None).expect("a part leads as well");
    world.run(&[Op::AwaitParts(2), Op::Finish(2), Op::Settle]);
    assert_eq!((world.current("charlie"), world.parked("charlie")), (Some(below.0), vec![part.0]));
    // An agent that is being stopped for its removal takes no commands.
    world.run(&[Op::Remove(2), Op::Cancel(1), Op::Deny(0), Op::Settle]);
    assert_eq!(world.parked("charlie"), [part.0]);
    world.is_settled();
    world.run(&[Op::Crash(2), Op::Settle]);
    assert_eq!((world.parked("charlie"), world.board.leads.len()), (vec![], 0));
    world.is_settled();
}
