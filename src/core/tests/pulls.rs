//! Pull requests: accepted work is looked at by others before it is merged.

use super::checks::{TASK, acted};
use super::reviews::{accept, at_work, done, due, merged, reject};
use super::{Desk, Step};
use crate::apply::apply;
use crate::checkout::{Acted, CheckoutEvent, Plan};
use crate::detail::{Detail, GitReason};
use crate::event::Event;
use crate::id::WorkId;
use crate::input::Input;
use crate::notice::Refusal;
use crate::outcome::Category;
use crate::pull::{FailedCheck, ITEMS_MAX, Look, News, Opened, PullRequest, PullState, Remark, RemarkKind};
use crate::review::{Landed, Merged, OnAccept, Reviewer};
use crate::work::WorkKind;

const LINK: &str = "https://forge.example/moss/app/pull/5";

fn opened(head: &str) -> Opened {
    Opened { number: 5, link: LINK.to_owned(), branch: "main".to_owned(), head: head.to_owned() }
}

/// Returns an agent whose task has an open pull request.
fn proposed(review: Reviewer, follow_ups: u32) -> Desk {
    let is_reviewed = review != Reviewer::None;
    let mut desk = at_work(review, OnAccept::Pull { follow_ups });
    done(&mut desk, "a", 0);
    if is_reviewed {
        accept(&mut desk);
    }
    merged(&mut desk, Merged::Proposed(opened("a")));
    desk
}

fn open(failed: &[&str], remarks: &[u64]) -> Look {
    let check = |name: &&str| FailedCheck {
        name: (*name).to_owned(),
        text: "1 failed".to_owned(),
        link: String::new(),
    };
    Look {
        state: PullState::Open,
        failed: failed.iter().map(check).collect(),
        remarks: remarks.iter().map(|number| remark(RemarkKind::Comment, *number)).collect(),
    }
}

fn remark(kind: RemarkKind, number: u64) -> Remark {
    let (by, place) = ("moss".to_owned(), String::new());
    Remark { kind, number, by, place, text: "name the error".to_owned() }
}

fn over(state: PullState) -> Look {
    Look { state, failed: Vec::new(), remarks: Vec::new() }
}

fn looked(desk: &mut Desk, look: Result<Look, Detail>) -> Step {
    let head = desk.agent.checkouts.all[&TASK]
        .pull
        .as_ref()
        .map_or_else(String::new, |pull| pull.opened.head.clone());
    desk.tell(&Input::Followed { task: TASK, number: 5, head, look })
}

fn pull(desk: &Desk) -> PullRequest {
    desk.agent.checkouts.all[&TASK].pull.as_deref().cloned().expect("it has one")
}

fn is_open(desk: &Desk) -> bool {
    desk.agent.open_pulls().next().is_some()
}

#[test]
fn accepted_work_is_done_once_its_pull_request_is_merged() {
    let mut desk = at_work(Reviewer::Person, OnAccept::Pull { follow_ups: 3 });
    done(&mut desk, "a", 0);
    let step = accept(&mut desk);
    let accepted = "TaskAccepted { task: WorkId(1), by: \"alice\", merges: false, proposes: true }";
    assert_eq!((step.told(), step.said()), ("Checkout(Accepted".to_owned(), accepted.to_owned()));
    assert_eq!(due(&desk), Some((TASK, 1)));
    let step = merged(&mut desk, Merged::Proposed(opened("a")));
    assert_eq!(step.told(), "Checkout(Proposed");
    assert_eq!(step.said(), format!("TaskProposed {{ task: WorkId(1), link: \"{LINK}\" }}"));
    assert!(is_open(&desk) && due(&desk).is_none() && !desk.agent.checkouts.is_reviewed());
    assert_eq!(looked(&mut desk, Ok(open(&[], &[]))).told(), "", "nothing is new");
    let merged = PullState::Merged { commit: "c".repeat(40) };
    let step = looked(&mut desk, Ok(over(merged.clone())));
    assert_eq!(step.told(), "Checkout(Landed, TaskEnded(1 Done), Checkout(Reading");
    assert!(step.said().ends_with("#work DONE 1"), "{}", step.said());
    let proof = desk.agent.finished.back().and_then(|over| over.proof.clone()).expect("it is kept");
    let (branch, commit, head) = ("main".to_owned(), "c".repeat(40), "a".to_owned());
    assert_eq!(proof.landed, Some(Landed { branch, commit, head, link: LINK.to_owned() }));
    assert_eq!(looked(&mut desk, Ok(over(merged))).told(), "", "it is over");
}

#[test]
fn failed_checks_and_remarks_go_back_to_the_agent_once() {
    let mut desk = proposed(Reviewer::Person, 3);
    let step = looked(&mut desk, Ok(open(&["test"], &[7])));
    assert!(step.told().starts_with("Checkout(Heard, Checkout(Returned, SessionStarted("), "{}", step.told());
    assert!(step.said().contains("#work REJECTED 1"), "{}", step.said());
    assert!(!is_open(&desk), "nobody looks while it is worked on");
    let told = step.recap().expect("it is told");
    assert!(
        told.contains("A check has failed:\n> test\n> 1 failed\n\nA remark:\n> moss:\n> name the error"),
        "somebody else's words are marked: {told}"
    );
    desk.runs();
    assert_eq!(looked(&mut desk, Ok(open(&["test"], &[7, 8]))).told(), "");
    // It is reviewed again, and pushed to the same pull request.
    assert!(done(&mut desk, "b", 0).told().contains("Checkout(InReview"));
    accept(&mut desk);
    assert_eq!(due(&desk), Some((TASK, 2)));
    merged(&mut desk, Merged::Proposed(opened("b")));
    assert_eq!(
        (pull(&desk).seen.is_unread(RemarkKind::Comment, 7), pull(&desk).follow_ups),
        (false, 1),
        "what was read stays read"
    );
    assert_eq!(looked(&mut desk, Ok(open(&[], &[7]))).told(), "");
    let step = looked(&mut desk, Ok(open(&["test"], &[7])));
    assert!(step.told().starts_with("Checkout(Heard, Checkout(Returned"), "it fails for another commit");
}

#[test]
fn a_person_is_called_once_it_has_gone_back_often() {
    let mut desk = proposed(Reviewer::None, 1);
    looked(&mut desk, Ok(open(&[], &[7])));
    desk.runs();
    done(&mut desk, "b", 0);
    merged(&mut desk, Merged::Proposed(opened("b")));
    let step = looked(&mut desk, Ok(open(&[], &[7, 8])));
    assert_eq!(step.told(), "Checkout(LeftToPerson");
    assert!(desk.agent.checkouts.is_reviewed() && is_open(&desk));
    assert_eq!(looked(&mut desk, Ok(open(&[], &[8, 9]))).told(), "", "they are called once");
    // Somebody accepts it once more: it is followed again.
    accept(&mut desk);
    assert_eq!(due(&desk), Some((TASK, 3)));
    merged(&mut desk, Merged::Proposed(opened("b")));
    assert!(!desk.agent.checkouts.is_reviewed());
    assert_eq!(pull(&desk).follow_ups, 0);
    let step = looked(&mut desk, Ok(open(&[], &[7, 8, 9])));
    assert!(step.told().contains("Checkout(Returned"), "{}", step.told());
    let told = step.recap().expect("it is told");
    assert_eq!(told.matches("name the error").count(), 2, "what was said meanwhile is not lost: {told}");
}

#[test]
fn a_person_can_send_back_what_others_look_at_and_not_accept_it_twice() {
    let mut desk = proposed(Reviewer::Person, 3);
    let refused = desk.try_ask(crate::input::Control::Accept(TASK));
    assert!(matches!(refused, Err(Refusal::PullOpen { task: TASK, link }) if link == LINK));
    let step = reject(&mut desk, "name the error");
    assert!(step.told().starts_with("Checkout(Returned, SessionStarted("), "{}", step.told());
    assert!(!is_open(&desk));
}

#[test]
fn a_pull_request_that_is_closed_or_cannot_be_looked_at_is_left_to_a_person() {
    let mut desk = proposed(Reviewer::Person, 3);
    let why = || Detail::from("no answer");
    let step = looked(&mut desk, Err(why()));
    assert_eq!(step.told(), "Checkout(LeftToPerson");
    assert!(step.said().contains(&format!("{LINK} cannot be looked at")), "{}", step.said());
    assert_eq!(looked(&mut desk, Err(why())).told(), "", "they are called once");
    let step = looked(&mut desk, Ok(over(PullState::Closed)));
    assert_eq!(step.told(), "Checkout(Failed");
    assert!(step.said().contains("was closed without a merge"), "{}", step.said());
    assert!(!is_open(&desk) && desk.agent.checkouts.is_reviewed());
    // Accepted once more, another one is opened; remarks there are counted anew.
    accept(&mut desk);
    merged(&mut desk, Merged::Proposed(Opened { number: 6, ..opened("a") }));
    assert_eq!(pull(&desk), PullRequest::pushed(None, &Opened { number: 6, ..opened("a") }));
    assert_eq!(looked(&mut desk, Ok(over(PullState::Closed))).told(), "", "another one's look");
}

#[test]
fn a_branch_that_cannot_be_pushed_is_accepted_once_more() {
    let mut desk = at_work(Reviewer::Person, OnAccept::Pull { follow_ups: 3 });
    done(&mut desk, "a", 0);
    accept(&mut desk);
    let why = GitReason::BranchMoved { branch: "herder/1-x".to_owned() };
    let step = acted(&mut desk, Acted::Merged(1, Err(why.into())));
    assert_eq!(step.told(), "Checkout(Failed");
    accept(&mut desk);
    assert_eq!(due(&desk), Some((TASK, 2)));
}

#[test]
fn what_is_said_about_it_meanwhile_is_reviewed_before_it_is_pushed() {
    let mut desk = proposed(Reviewer::Person, 3);
    desk.give(WorkKind::Message, 9, "name the error");
    desk.runs();
    assert_eq!(looked(&mut desk, Ok(open(&[], &[7]))).told(), "", "it is worked on");
    let step = done(&mut desk, "b", 0);
    assert!(step.told().contains("Checkout(InReview"), "{}", step.told());
    assert!(!is_open(&desk));
    accept(&mut desk);
    merged(&mut desk, Merged::Proposed(opened("b")));
    assert!(is_open(&desk));
}

#[test]
fn news_are_few_short_and_none_is_lost() {
    let mut pull = PullRequest::pushed(None, &opened("a"));
    let all: Vec<Remark> =
        (1..=2 * ITEMS_MAX as u64 + 3).rev().map(|number| remark(RemarkKind::Line, number)).collect();
    let mut read = Vec::new();
    let look = Look { remarks: all, ..open(&[], &[]) };
    while let Some(News { remarks, .. }) = pull.news(&look) {
        assert!(remarks.len() <= ITEMS_MAX);
        for remark in &remarks {
            pull.seen.read(remark);
            read.push(remark.number);
        }
    }
    assert_eq!(read, (1..=2 * ITEMS_MAX as u64 + 3).collect::<Vec<_>>());
    let long = Remark { text: "x".repeat(100_000), by: "a\nb".repeat(300), ..remark(RemarkKind::Review, 1) };
    let news = pull.news(&Look { remarks: vec![long], ..open(&[], &[]) }).expect("it is new");
    assert!(news.words(LINK).len() < 10_000 && !news.from().contains('\n'));
}

#[test]
fn a_look_at_another_commit_counts_for_nothing() {
    let mut desk = proposed(Reviewer::Person, 3);
    let late =
        Input::Followed { task: TASK, number: 5, head: "earlier".to_owned(), look: Ok(open(&["test"], &[])) };
    assert_eq!(desk.tell(&late).told(), "");
    assert!(looked(&mut desk, Ok(open(&["test"], &[]))).told().contains("Checkout(Returned"));
}

#[test]
fn a_failed_check_that_nobody_mends_comes_to_a_person() {
    let mut desk = proposed(Reviewer::None, 1);
    looked(&mut desk, Ok(open(&["test"], &[])));
    desk.runs();
    // The agent answers without a commit.
    done(&mut desk, "a", 0);
    merged(&mut desk, Merged::Proposed(opened("a")));
    let step = looked(&mut desk, Ok(open(&["test"], &[])));
    assert_eq!(step.told(), "Checkout(LeftToPerson");
}

#[test]
fn a_task_that_goes_to_another_agent_takes_its_pull_request_along() {
    let mut desk = proposed(Reviewer::None, 3);
    looked(&mut desk, Ok(open(&[], &[7])));
    desk.fails(Category::Transient);
    let plan = desk.agent.give_up_checkout(TASK).expect("it has a clone");
    assert_eq!(plan.pull.as_ref().map(|pull| (pull.opened.number, pull.follow_ups)), Some((5, 1)));
    let text = serde_json::to_string(&plan).expect("JSON");
    let read: Plan = serde_json::from_str(&text).expect("it is read");
    assert_eq!(read, *plan);
    let mut other = at_work(Reviewer::None, OnAccept::Pull { follow_ups: 3 });
    let planned = Event::Checkout(CheckoutEvent::Planned { plan: Plan { task: WorkId(9), ..read } });
    apply(&mut other.agent, &planned, other.now);
    let checkout = &other.agent.checkouts.all[&WorkId(9)];
    assert_eq!(checkout.pull, plan.pull);
    assert_eq!(checkout.plan.pull, None, "it is in one place");
}

#[test]
fn a_review_that_was_begun_before_another_and_sent_after_it_is_read() {
    let mut pull = PullRequest::pushed(None, &opened("a"));
    pull.seen.read(&remark(RemarkKind::Review, 9));
    assert!(pull.seen.is_unread(RemarkKind::Review, 8) && !pull.seen.is_unread(RemarkKind::Review, 9));
    for number in 10..2000 {
        pull.seen.read(&remark(RemarkKind::Review, number));
    }
    assert!(!pull.seen.is_unread(RemarkKind::Review, 10) && pull.seen.is_unread(RemarkKind::Review, 2000));
    assert!(serde_json::to_string(&pull).expect("JSON").len() < 5000, "it is bounded");
}
