//! Tests of tasks that leave their agent because it is removed or halted for too long.

use super::reassigning::asks;
use super::*;
use crate::ask::AskAnswer;
use crate::spec::Permissions;
use crate::work::Work;

/// A task as the board hands it over.
fn hands_over(desk: &mut Desk, number: u64, id: u64) {
    let (id, text, by, at) = (WorkId(id), "of the board".to_owned(), alice(), desk.now);
    let work = Box::new(Work { id, kind: WorkKind::Task, text, by, at, attempts: 0, card: None });
    desk.tell(&Input::HandedOver { number, work });
}

#[test]
fn what_an_agent_has_from_the_board_goes_back_there_when_it_is_removed() {
    let mut desk = Desk::new();
    hands_over(&mut desk, 1, 1);
    desk.runs();
    hands_over(&mut desk, 2, 2);
    desk.give(WorkKind::Task, 3, "its own");
    assert_eq!(desk.ask(Control::Remove).told(), "StopRequested(Remove)");
    let step = desk.ends(Outcome::new(Category::Interrupted, ""));
    assert_eq!(
        step.told(),
        "SessionEnded(Interrupted), Requeued(1), TaskHandedBack, TaskHandedBack, Removed, TaskEnded(3 Cancelled)"
    );
    let said = step.said();
    for words in
        ["TaskMoved { task: WorkId(1)", "TaskMoved { task: WorkId(2)", "works: 1", "#work TASK 3 cancelled"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("TASK 1") && !said.contains("TASK 2"), "{said}");

    // Without a session the reply counts the works that are given up, as the post does.
    let mut desk = Desk::new();
    desk.ask(Control::Pause { now: false });
    hands_over(&mut desk, 1, 1);
    desk.give(WorkKind::Task, 2, "its own");
    let step = desk.ask(Control::Remove);
    assert_eq!(step.reply, Some(Notice::AgentRemoved { agent: desk.name(), works: 1 }));
    assert!(
        step.said().contains("works: 1") && step.said().contains("#work TASK 2 cancelled"),
        "{}",
        step.said()
    );
}

#[test]
fn what_a_person_has_given_up_or_denied_goes_to_nobody_else_when_its_agent_is_removed() {
    for control in [Control::CancelTask(WorkId(1)), Control::Abort] {
        let mut desk = Desk::new();
        hands_over(&mut desk, 1, 1);
        desk.runs();
        desk.ask(control);
        let step = desk.ask(Control::Remove);
        assert_eq!(step.told(), "TaskEnded(1 Cancelled), StopRequested(Remove)");
        let step = desk.ends(Outcome::new(Category::Interrupted, ""));
        assert_eq!(step.told(), "SessionEnded(Interrupted), Removed");
    }
    let mut desk = Desk::with(AgentSpec { permissions: Permissions::ReadOnly, ..spec(Runtime::Command) });
    hands_over(&mut desk, 1, 1);
    desk.runs();
    asks(&mut desk, 1, "touch /etc/motd");
    let ask = desk.agent.asks.first().expect("it is open").id;
    desk.ask(Control::Answer { ask, answer: AskAnswer::Deny });
    desk.fails(Category::SandboxDenial);
    let step = desk.ask(Control::Remove);
    assert!(step.told().ends_with("Removed, TaskEnded(1 Cancelled)"), "{}", step.told());
}

/// Returns the tasks that a tick takes from an agent with three works, a started task among them, and the works that
/// are left.
fn released(reach: impl FnOnce(&mut Desk), closed: bool) -> (String, Vec<u64>) {
    let mut desk = Desk::busy_with_task();
    desk.give(WorkKind::Task, 2, "next");
    desk.give(WorkKind::Message, 3, "hello");
    reach(&mut desk);
    desk.policy.reassign_after = Duration::from_secs(600);
    desk.closed = closed.then_some(desk.now);
    let at = desk.agent.release_at(&desk.policy, desk.closed);
    desk.pass(599);
    assert_eq!(desk.tell(&Input::Tick).told(), "", "before its time");
    desk.pass(1);
    assert!(at.is_none_or(|at| at == desk.now), "{at:?}");
    (desk.tell(&Input::Tick).told(), desk.queue())
}

#[test]
fn what_waits_for_an_account_or_a_limit_for_too_long_goes_to_others() {
    let limit = |resets_at| Outcome { resets_at, ..Outcome::new(Category::Quota, "used up") };
    let held = |desk: &mut Desk| {
        let account = "openai".into();
        desk.hold = Some(Hold::Closed { account, category: Category::Quota, until: None });
        desk.ends(limit(None));
    };
    let both = "TaskHandedBack, TaskHandedBack".to_owned();
    assert_eq!(released(held, true), (both.clone(), vec![3]), "also the one that met the limit");
    assert_eq!(released(held, false), (String::new(), vec![1, 2, 3]), "it waits for its turn");
    let denied = |desk: &mut Desk| {
        asks(desk, 1, "git push");
        let ask = desk.agent.asks.first().expect("it is open").id;
        desk.ask(Control::Answer { ask, answer: AskAnswer::Deny });
        held(desk);
    };
    let other = "TaskHandedBack".to_owned();
    assert_eq!(released(denied, true), (other, vec![1, 3]), "past a person's no nobody else is let");
    let rate = |desk: &mut Desk| {
        let resets_at = Some(desk.now.after(Duration::from_secs(86_400)));
        desk.ends(Outcome { resets_at, ..Outcome::new(Category::RateLimit, "slow down") });
    };
    assert_eq!(released(rate, false), (both, vec![3]));
}
