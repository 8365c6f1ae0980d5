//! Tests of work that leaves an agent with an open finding or call.

use super::*;
use crate::dealings::Onward;

/// Returns a desk whose agent has an undelivered whisper about its work.
fn told(kind: WorkKind) -> Desk {
    let mut desk = Desk::new();
    desk.policy.evaluator.judge = Judge::Asked;
    desk.give(kind, 1, "benchmark nemotron");
    desk.runs();
    assert_eq!(desk.found_deaf().told(), "Evaluated, Whispered");
    desk
}

/// Returns the same with a call for a person.
fn called(kind: WorkKind) -> Desk {
    let mut desk = told(kind);
    desk.found();
    desk.found();
    desk.fails(Category::Interrupted);
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Escalation });
    desk
}

/// The ways in which people take away held work, each with its event.
fn ways() -> Vec<(WorkKind, Control, &'static str)> {
    vec![
        (WorkKind::Task, Control::CancelTask(WorkId(1)), "TaskEnded(1 Cancelled)"),
        (WorkKind::Task, Control::Withdraw(WorkId(1)), "TaskEnded(1 Cancelled)"),
        (WorkKind::Task, Control::HandBack { task: WorkId(1), onward: Onward::To(None) }, "TaskHandedBack"),
        (WorkKind::Message, Control::Withdraw(WorkId(1)), "Withdrawn"),
        (WorkKind::Message, Control::Clear, "Cleared"),
    ]
}

#[test]
fn the_call_for_a_person_is_answered_and_the_agent_goes_on_with_what_is_left() {
    for (kind, control, by) in ways() {
        let mut desk = called(kind);
        desk.give(WorkKind::Task, 2, "count the beans");
        desk.ask(Control::Whisper { id: WorkId(3), text: "bring the beans".to_owned() });
        let step = desk.ask(control.clone());
        let wanted = format!("{by}, WhispersDropped, EscalationAnswered, Resumed, SessionStarted(2)");
        assert_eq!(step.told(), wanted, "{control:?}");
        let left: Vec<&str> = desk.agent.whispers.iter().map(|whisper| whisper.text.as_str()).collect();
        assert_eq!(left, ["bring the beans"], "{control:?}");
        let answered = desk.agent.watch.answered.as_ref().map(|answered| answered.answer);
        let moved = matches!(control, Control::HandBack { .. });
        assert_eq!(answered, Some(if moved { Answer::Moved } else { Answer::Abort }), "{control:?}");
    }
}

#[test]
fn what_a_person_has_paused_stays_paused() {
    for (kind, control, by) in ways() {
        let mut desk = called(kind);
        desk.ask(Control::Stop);
        let step = desk.ask(control.clone());
        assert_eq!(step.told(), format!("{by}, WhispersDropped, EscalationAnswered"), "{control:?}");
        assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Person(alice()) });
    }
}

#[test]
fn what_was_found_of_it_is_not_told_with_the_next_work() {
    // Waiting to be tried again.
    for (kind, control, by) in ways() {
        let mut desk = told(kind);
        desk.fails(Category::Transient);
        let step = desk.ask(control.clone());
        assert_eq!(step.told(), format!("{by}, WhispersDropped, WaitOver"), "{control:?}");
    }
    // While it runs.
    let mut desk = told(WorkKind::Task);
    desk.ask(Control::CancelTask(WorkId(1)));
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), TaskEnded(1 Cancelled), WhispersDropped");
    // Because the agent cannot continue, and another one is to try it.
    let mut desk = told(WorkKind::Task);
    desk.policy.reassign_after = Duration::from_secs(60);
    desk.fails(Category::Billing);
    desk.pass(60);
    assert_eq!(desk.tell(&Input::Tick).told(), "TaskHandedBack, WhispersDropped");
}

#[test]
fn other_work_that_leaves_changes_nothing() {
    let mut desk = called(WorkKind::Task);
    desk.give(WorkKind::Task, 2, "count the beans");
    assert_eq!(desk.ask(Control::CancelTask(WorkId(2))).told(), "TaskEnded(2 Cancelled)");
    assert!(desk.agent.watch.escalation.is_some() && !desk.agent.whispers.is_empty());
}

#[test]
fn work_that_is_cancelled_while_its_session_is_stopped_for_the_call_answers_it() {
    let mut desk = told(WorkKind::Task);
    desk.found();
    desk.found();
    let step = desk.ask(Control::CancelTask(WorkId(1)));
    assert_eq!(step.told(), "TaskEnded(1 Cancelled), WhispersDropped, EscalationAnswered, Resumed");
    assert_eq!(desk.fails(Category::Interrupted).told(), "SessionEnded(Interrupted)");
    assert_eq!(desk.agent.phase, Phase::Idle);
}
