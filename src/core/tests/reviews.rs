//! Reviews: what an agent calls done waits for a person, and is merged once it is accepted.

use super::checks::{TASK, acted, at_work_in, begun, check, checked, is_read, read};
use super::{Desk, Step};
use crate::checkout::{Act, Acted, CheckoutEvent, Held, Repository};
use crate::detail::{GitReason, Own};
use crate::event::Event;
use crate::id::WorkId;
use crate::input::{Control, Input};
use crate::notice::Refusal;
use crate::review::{Back, Landed, Landing, Merged, Method, OnAccept, Reviewer};
use crate::work::{TaskEnd, WorkKind};

const MERGES: OnAccept = OnAccept::Merge(Method::Squash);

/// Returns the state of a clone with one commit and this number of files that are not committed.
pub(super) fn held(head: &str, uncommitted: u32) -> Held {
    Held {
        head: head.to_owned(),
        commits: 1,
        files: 2,
        added: 10,
        removed: 3,
        uncommitted,
        ..Held::default()
    }
}

/// Returns an agent at work on a task that gets into the base so.
pub(super) fn at_work(review: Reviewer, on_accept: OnAccept) -> Desk {
    let landing = Landing { review, on_accept };
    at_work_in(Repository { path: "/srv/app".into(), landing, ..Repository::default() })
}

/// The session succeeds with a commit of this name, and nothing is to be checked.
pub(super) fn done(desk: &mut Desk, head: &str, uncommitted: u32) -> Step {
    desk.succeeds();
    read(desk, held(head, uncommitted));
    let number = desk.agent.checkouts.all[&TASK].checks;
    acted(desk, Acted::Checked(number, Ok(None)))
}

pub(super) fn accept(desk: &mut Desk) -> Step {
    desk.ask(Control::Accept(TASK))
}

pub(super) fn reject(desk: &mut Desk, why: &str) -> Step {
    desk.ask(Control::Reject { task: TASK, why: why.to_owned() })
}

/// The merge that is due ends so.
pub(super) fn merged(desk: &mut Desk, merged: Merged) -> Step {
    let number = desk.agent.checkouts.all[&TASK].merges;
    acted(desk, Acted::Merged(number, Ok(merged)))
}

fn landed(desk: &mut Desk) -> Step {
    merged(desk, Merged::Landed(place()))
}

/// Returns the merge that is to run.
pub(super) fn due(desk: &Desk) -> Option<(WorkId, u32)> {
    desk.agent.merges_due().next()
}

fn place() -> Landed {
    Landed { branch: "main".to_owned(), commit: "c".repeat(40), head: "a".to_owned(), link: String::new() }
}

fn conflict() -> Merged {
    Merged::Back(Back::Conflict { branch: "main".to_owned(), files: vec!["lib.rs".to_owned()] })
}

#[test]
fn a_task_in_review_is_done_once_a_person_accepts_it() {
    let mut desk = at_work(Reviewer::Person, OnAccept::Keep);
    let step = done(&mut desk, "a", 0);
    assert_eq!(step.told(), "Checkout(Checked, Checkout(InReview");
    let change = "Change { commits: 1, files: 2, added: 10, removed: 3, uncommitted: 0 }";
    let said = format!(
        "#work REVIEW 1\nTaskInReview {{ task: WorkId(1), change: {change}, checked: None, cost_usd: 0.0, onto: None, reviewer: None }}"
    );
    assert_eq!(step.said(), said);
    // The agent goes on with something else meanwhile.
    let step = desk.give(WorkKind::Task, 2, "another");
    assert!(step.told().contains("Checkout(Planned"), "{}", step.told());
    assert_eq!(desk.queue(), [2]);
    let step = accept(&mut desk);
    assert_eq!(step.told(), "Checkout(Accepted, TaskEnded(1 Done)");
    let accepted = "TaskAccepted { task: WorkId(1), by: \"alice\", merges: false, proposes: false }";
    assert_eq!(step.said(), format!("{accepted}\n#work DONE 1"));
    assert!(matches!(desk.try_ask(Control::Accept(TASK)), Err(Refusal::TaskOver { end: TaskEnd::Done, .. })));
}

#[test]
fn a_task_that_changed_nothing_is_done_without_a_review() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    desk.succeeds();
    read(&mut desk, Held { head: "base".to_owned(), ..Held::default() });
    let step = acted(&mut desk, Acted::Checked(1, Ok(None)));
    assert_eq!(step.told(), "Checkout(Checked, TaskEnded(1 Done)");
}

#[test]
fn a_rejected_task_goes_back_with_the_words_before_other_work() {
    let mut desk = at_work(Reviewer::Person, OnAccept::Keep);
    done(&mut desk, "a", 0);
    desk.ask(Control::Pause { now: false });
    desk.give(WorkKind::Task, 2, "another");
    let step = reject(&mut desk, "  name the error  ");
    assert_eq!(step.told(), "Checkout(Returned");
    assert_eq!(step.said(), "#work REJECTED 1\nTaskRejected { task: WorkId(1), by: \"alice\" }");
    assert_eq!(desk.queue(), [1, 2]);
    let step = desk.ask(Control::Resume);
    let recap = step.recap().expect("it is told");
    let words = "alice has looked at your work on this and sends it back:\n\nname the error\n\nGo on from";
    assert!(recap.starts_with(words), "{recap}");
    assert!(matches!(desk.try_ask(Control::Accept(TASK)), Err(Refusal::NotInReview { .. })));
    desk.runs();
    assert!(done(&mut desk, "b", 0).told().contains("Checkout(InReview"));
}

#[test]
fn what_is_not_committed_goes_back_and_then_to_a_person() {
    let landing = Landing { review: Reviewer::Person, on_accept: MERGES };
    let repository = Repository { path: "/srv/app".into(), check: check(), landing, ..Repository::default() };
    let mut desk = at_work_in(repository);
    for _ in 0..2 {
        desk.succeeds();
        read(&mut desk, held("a", 3));
        let step = checked(&mut desk, 0);
        assert!(step.told().starts_with("Checkout(Checked, Checkout(SentBack, SessionStarted("));
        let recap = step.recap().expect("it is told");
        assert!(recap.starts_with("Your work on this is not done: 3 changed files are not committed."));
        desk.runs();
    }
    desk.succeeds();
    read(&mut desk, held("a", 3));
    let step = checked(&mut desk, 0);
    assert_eq!(step.told(), "Checkout(Checked, Checkout(SentBack, Escalated, Paused(Escalation)");
    assert!(step.said().contains("3 changed files are not committed"), "{}", step.said());
}

#[test]
fn an_accepted_task_is_merged_and_its_clone_removed() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    let step = accept(&mut desk);
    assert_eq!(step.told(), "Checkout(Accepted");
    assert!(!step.said().contains("DONE"));
    assert_eq!(due(&desk), Some((TASK, 1)));
    assert!(matches!(desk.try_ask(Control::Accept(TASK)), Err(Refusal::BeingMerged { .. })));
    let step = landed(&mut desk);
    assert_eq!(step.told(), "Checkout(Landed, TaskEnded(1 Done), Checkout(Reading");
    let merged = "TaskLanded { task: WorkId(1), branch: \"main\", commit: \"cccccccccc\" }";
    assert_eq!(step.said(), format!("{merged}\n#work DONE 1"));
    assert_eq!(desk.agent.checkouts.open, None, "what is said now begins another task");
    let proof = desk.agent.finished.back().and_then(|over| over.proof.clone()).expect("it is kept");
    assert_eq!((proof.landed, proof.accepted.map(|by| by.name)), (Some(place()), Some("alice".to_owned())));
    assert_eq!(landed(&mut desk).told(), "", "a result that nobody waits for");
    let step = is_read(&mut desk, held("a", 0));
    assert_eq!(step.told(), "Checkout(Read, Checkout(Removing");
}

#[test]
fn a_clone_with_more_than_what_was_merged_stays() {
    for more in [held("b", 0), held("a", 1), Held { aside: 1, ..held("a", 0) }] {
        let mut desk = at_work(Reviewer::Person, MERGES);
        done(&mut desk, "a", 0);
        accept(&mut desk);
        landed(&mut desk);
        assert_eq!(is_read(&mut desk, more).told(), "Checkout(Read");
    }
}

#[test]
fn work_whose_clone_cannot_be_read_is_not_done() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    desk.succeeds();
    assert_eq!(desk.agent.check_due(), None, "it is not read yet");
    let step = acted(&mut desk, Acted::Read(1, Err(Own::DriverGone.into())));
    assert_eq!(step.told(), "Checkout(Failed, Paused(Failure(Permanent))");
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "Resumed, Checkout(Reading, Checkout(Checking");
    assert_eq!((step.spawns(), desk.agent.check_due()), (0, None));
    read(&mut desk, held("a", 0));
    let step = acted(&mut desk, Acted::Checked(2, Ok(None)));
    assert_eq!(step.told(), "Checkout(Checked, Checkout(InReview");
}

#[test]
fn an_earlier_read_does_not_stand_for_a_later_one() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    desk.give(WorkKind::Message, 2, "and the docs");
    desk.runs();
    desk.succeeds();
    let number = desk.agent.checkouts.all[&TASK].reads;
    assert_eq!(acted(&mut desk, Acted::Read(number - 1, Ok(held("a", 0)))).told(), "");
    assert_eq!(desk.agent.check_due(), None);
    read(&mut desk, held("b", 0));
    assert!(desk.agent.check_due().is_some());
}

#[test]
fn work_that_has_changed_since_its_review_is_not_accepted() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    desk.give(WorkKind::Message, 2, "and the docs");
    desk.runs();
    desk.ask(Control::Abort);
    desk.succeeds();
    read(&mut desk, held("b", 0));
    assert!(matches!(desk.try_ask(Control::Accept(TASK)), Err(Refusal::NotAsReviewed { .. })));
    // A message has it checked and reviewed anew.
    desk.give(WorkKind::Message, 3, "go on");
    desk.runs();
    assert!(done(&mut desk, "b", 0).told().contains("Checkout(InReview"));
    accept(&mut desk);
    assert!(matches!(desk.try_ask(Control::CancelTask(TASK)), Err(Refusal::BeingMerged { .. })));
}

#[test]
fn without_a_reviewer_a_message_after_a_failed_merge_has_it_merged_again() {
    let mut desk = at_work(Reviewer::None, MERGES);
    done(&mut desk, "a", 0);
    acted(&mut desk, Acted::Merged(1, Err(Own::DriverGone.into())));
    assert_eq!(due(&desk), None);
    desk.give(WorkKind::Message, 2, "mend it");
    desk.runs();
    let step = done(&mut desk, "b", 0);
    assert_eq!(step.told(), "Checkout(Checked, Checkout(InReview, Checkout(Accepted");
    assert_eq!(due(&desk), Some((TASK, 2)));
}

#[test]
fn stop_all_stops_merges_whatever_the_agent_does() {
    for pause in [false, true] {
        let mut desk = at_work(Reviewer::Person, MERGES);
        done(&mut desk, "a", 0);
        accept(&mut desk);
        if pause {
            desk.ask(Control::Pause { now: false });
        }
        let step = desk.ask(Control::Stop);
        assert_eq!(due(&desk), None, "{}", step.told());
        assert!(step.said().contains("alice has stopped everything"), "{}", step.said());
        accept(&mut desk);
        assert_eq!(due(&desk), Some((TASK, 2)));
    }
}

#[test]
fn without_a_reviewer_what_is_done_is_merged() {
    let mut desk = at_work(Reviewer::None, MERGES);
    let step = done(&mut desk, "a", 0);
    assert_eq!(step.told(), "Checkout(Checked, Checkout(InReview, Checkout(Accepted");
    assert!(!step.said().contains("TaskAccepted") && !step.said().contains("REVIEW"), "{}", step.said());
    assert!(landed(&mut desk).told().starts_with("Checkout(Landed, TaskEnded(1 Done)"));
}

#[test]
fn a_merge_that_herders_end_cut_short_is_due_again() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    accept(&mut desk);
    desk.tell(&Input::Started);
    assert_eq!(due(&desk), Some((TASK, 1)));
    // A paused agent's work is merged as well: a person has asked for it.
    desk.ask(Control::Pause { now: false });
    assert!(landed(&mut desk).told().contains("TaskEnded(1 Done)"));
}

#[test]
fn a_conflict_goes_back_to_the_agent_and_the_next_one_to_a_person() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    accept(&mut desk);
    let step = merged(&mut desk, conflict());
    assert_eq!(step.told(), "Checkout(Returned, SessionStarted(2)");
    let recap = step.recap().expect("it is told");
    assert!(
        recap.contains("conflicts with what is on main by now, in: lib.rs. Run `git fetch origin`"),
        "{recap}"
    );
    assert!(step.said().starts_with("#work REJECTED 1\nTaskReturned"), "{}", step.said());
    desk.runs();
    done(&mut desk, "b", 0);
    accept(&mut desk);
    let step = merged(&mut desk, conflict());
    assert_eq!(step.told(), "Checkout(Failed");
    assert!(step.said().contains("#alerts CheckoutFailed { task: WorkId(1), act: Merge"), "{}", step.said());
    // A person has it tried again, or sends it back.
    accept(&mut desk);
    let number = desk.agent.checkouts.all[&TASK].merges;
    assert_eq!(due(&desk), Some((TASK, number)));
    let why = GitReason::BaseMoved { branch: "main".to_owned() };
    let step = acted(&mut desk, Acted::Merged(number, Err(why.into())));
    assert_eq!(step.told(), "Checkout(Failed");
    assert_eq!(acted(&mut desk, Acted::Merged(number, Err(Own::DriverGone.into()))).told(), "");
    assert!(reject(&mut desk, "start anew").told().starts_with("Checkout(Returned, SessionStarted("));
}

#[test]
fn a_message_about_a_task_in_review_is_worked_on_and_reviewed_anew() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    let step = desk.give(WorkKind::Message, 2, "and the docs");
    assert_eq!(step.spawns(), 1, "{}", step.told());
    desk.runs();
    for control in [Control::Accept(TASK), Control::Reject { task: TASK, why: "no".to_owned() }] {
        assert!(matches!(desk.try_ask(control), Err(Refusal::WorkedOn { .. })));
    }
    let step = done(&mut desk, "b", 0);
    assert_eq!(step.told(), "Checkout(Checked, Checkout(InReview");
    assert!(step.said().starts_with("#work REVIEW 1"), "{}", step.said());
    // A question changes nothing, and nothing is said.
    desk.give(WorkKind::Message, 3, "which docs?");
    desk.runs();
    let step = done(&mut desk, "b", 0);
    assert_eq!((step.told().as_str(), step.said().as_str()), ("Checkout(Checked", ""));
    accept(&mut desk);
    // A message begins another task while it is merged.
    let step = desk.give(WorkKind::Message, 4, "and more");
    assert!(step.told().contains("Checkout(Opened, Checkout(Planned"), "{}", step.told());
    assert_eq!(desk.agent.checkouts.open, Some(WorkId(4)));
    merged(&mut desk, Merged::Landed(Landed { head: "b".to_owned(), ..place() }));
    let step = is_read(&mut desk, held("b", 0));
    assert_eq!(step.told(), "Checkout(Read, Checkout(Removing");
}

#[test]
fn messages_that_wait_when_a_task_is_merged_begin_tasks() {
    let mut desk = at_work(Reviewer::None, MERGES);
    desk.give(WorkKind::Message, 2, "and bump the version");
    assert_eq!(desk.queue(), [2]);
    let step = done(&mut desk, "a", 0);
    assert!(
        step.told().starts_with("Checkout(Checked, Checkout(InReview, Checkout(Accepted"),
        "{}",
        step.told()
    );
    let next = desk.agent.queue.front().expect("it waits");
    assert_eq!((next.kind, next.card().of), (WorkKind::Task, None));
    assert!(desk.agent.checkouts.is_being_made(WorkId(2)), "it has a clone of its own");
}

#[test]
fn what_follows_a_question_is_reviewed() {
    for review in [Reviewer::Person, Reviewer::None] {
        let mut desk = at_work(review.clone(), MERGES);
        desk.succeeds();
        read(&mut desk, Held { head: "base".to_owned(), ..Held::default() });
        assert!(acted(&mut desk, Acted::Checked(1, Ok(None))).told().ends_with("TaskEnded(1 Done)"));
        desk.give(WorkKind::Message, 2, "ok, mend it");
        desk.runs();
        let step = done(&mut desk, "a", 0);
        assert!(step.told().starts_with("Checkout(Checked, Checkout(InReview"), "{}", step.told());
        assert!(desk.agent.finished.is_empty(), "it is open again");
        if review == Reviewer::Person {
            accept(&mut desk);
        }
        assert!(landed(&mut desk).told().contains("TaskEnded(1 Done)"));
    }
}

#[test]
fn what_a_message_leaves_uncommitted_goes_back() {
    let mut desk = at_work(Reviewer::None, MERGES);
    done(&mut desk, "a", 0);
    acted(&mut desk, Acted::Merged(1, Err(Own::DriverGone.into())));
    desk.give(WorkKind::Message, 2, "mend it");
    desk.runs();
    let step = done(&mut desk, "a", 2);
    assert!(
        step.told().starts_with("Checkout(Checked, Checkout(Returned, SessionStarted("),
        "{}",
        step.told()
    );
    assert!(step.recap().is_some_and(|recap| recap.contains("2 changed files are not committed")));
}

#[test]
fn a_task_in_review_can_be_cancelled_and_neither_moved_nor_dropped() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    done(&mut desk, "a", 0);
    let moved = Control::HandBack { task: TASK, onward: crate::dealings::Onward::To(None) };
    for control in [moved, Control::DropCheckout(TASK)] {
        assert!(matches!(desk.try_ask(control), Err(Refusal::InReview { .. })));
    }
    let step = desk.ask(Control::CancelTask(TASK));
    assert_eq!(step.told(), "TaskEnded(1 Cancelled)");
    assert!(desk.agent.checkouts.review(TASK).is_none());
    assert_eq!(desk.agent.finished.len(), 1);
}

#[test]
fn a_removed_agent_s_task_from_the_board_goes_back_with_its_clone() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    let work = desk.agent.current.clone().expect("it is at work");
    desk.ask(Control::CancelTask(TASK));
    desk.succeeds();
    let from_the_board = crate::work::Work { id: WorkId(7), ..work };
    desk.tell(&Input::HandedOver { number: 1, work: Box::new(from_the_board) });
    desk.tell(&Input::Checkout { task: WorkId(7), acted: Acted::Made(begun()) });
    desk.runs();
    desk.succeeds();
    desk.tell(&Input::Checkout { task: WorkId(7), acted: Acted::Read(1, Ok(held("a", 0))) });
    desk.tell(&Input::Checkout { task: WorkId(7), acted: Acted::Checked(1, Ok(None)) });
    assert!(desk.agent.checkouts.review(WorkId(7)).is_some());
    desk.ask(Control::Remove);
    let back: Vec<_> = desk.agent.board.handed_back().collect();
    let [work] = back[..] else { panic!("one task, not {back:?}") };
    assert!(work.id == WorkId(7) && work.card().checkout.is_some(), "{work:?}");
}

#[test]
fn an_event_about_a_task_that_is_gone_changes_nothing() {
    let mut desk = at_work(Reviewer::Person, MERGES);
    let (task, note) = (WorkId(99), "x".into());
    let back = Back::Uncommitted { files: 1 };
    let by = crate::work::Actor::herder();
    let before = desk.agent.clone();
    for event in [
        CheckoutEvent::InReview { task, note, asked: None },
        CheckoutEvent::Returned { task, back: back.clone() },
        CheckoutEvent::SentBack { task, back },
        CheckoutEvent::Accepted { task, by },
        CheckoutEvent::Landed { task, landed: place() },
        CheckoutEvent::Failed { task, act: Act::Merge, why: Own::DriverGone.into() },
    ] {
        crate::apply(&mut desk.agent, &Event::Checkout(event), desk.now);
    }
    assert_eq!(desk.agent, before);
}
