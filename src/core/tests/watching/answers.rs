//! Tests of calls for a person, answered or not.

use super::*;

#[test]
fn a_person_lets_it_go_on_and_it_starts_clean() {
    let mut desk = Desk::escalated();
    let id = desk.agent.watch.escalation.as_ref().expect("a call").id;
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "EscalationAnswered, Resumed, SessionStarted(2)");
    assert!(step.said().contains("#alerts EscalationAnswered"), "{}", step.said());
    let Some(Effect::Spawn { whispers, .. }) =
        step.effects.iter().find(|e| matches!(e, Effect::Spawn { .. }))
    else {
        panic!("a session starts")
    };
    assert!(whispers.iter().any(|words| words.starts_with("[ESCALATION] You were paused")), "{whispers:?}");
    assert!(desk.agent.watch.window.is_empty() && desk.agent.watch.findings == 0);
    // Somebody else comes later.
    let late = desk.try_tell(&Input::Control { by: bob(), control: Control::Resume });
    let Err(Refusal::EscalationAnswered { id: answered, answer: Answer::Resume, by, .. }) = late else {
        panic!("{late:?}")
    };
    assert_eq!((answered, by.as_str()), (id, "alice"));
    desk.pass(2 * 3600);
    let later = desk.try_tell(&Input::Control { by: bob(), control: Control::Resume });
    assert!(matches!(later, Err(Refusal::NotPaused { .. })), "it is another matter by then: {later:?}");
    // Another call for the same work counts as a repeated one.
    desk.runs();
    desk.found();
    desk.found();
    desk.found();
    assert_eq!(desk.agent.watch.escalation.as_ref().map(|call| call.times), Some(2));
}

#[test]
fn a_person_gives_its_work_up_and_the_next_follows() {
    let mut desk = Desk::escalated();
    desk.give(WorkKind::Message, 2, "count the beans");
    desk.ask(Control::Whisper { id: WorkId(3), text: "bring the beans".to_owned() });
    let step = desk.ask(Control::Abort);
    assert_eq!(
        step.told(),
        "TaskEnded(1 Cancelled), WhispersDropped, EscalationAnswered, Resumed, SessionStarted(2)"
    );
    let left: Vec<String> = desk.agent.whispers.iter().map(|whisper| whisper.text.clone()).collect();
    assert_eq!(left, ["bring the beans"], "what it was told of that work would only confuse it");
    assert_eq!(desk.agent.current.as_ref().map(|work| work.id), Some(WorkId(2)));
}

#[test]
fn an_answer_while_the_session_is_still_being_stopped_counts() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.found();
    desk.found();
    let mut other = Desk { agent: desk.agent.clone(), policy: desk.policy.clone(), ..desk };
    assert_eq!(other.ask(Control::Resume).told(), "EscalationAnswered, Resumed");
    let step = other.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
}

#[test]
fn an_abort_while_the_session_is_still_being_stopped_counts() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.found();
    desk.found();
    let told = desk.ask(Control::Abort).told();
    assert_eq!(told, "TaskEnded(1 Cancelled), WhispersDropped, EscalationAnswered, Resumed");
    assert_eq!(desk.fails(Category::Interrupted).told(), "SessionEnded(Interrupted)");
    assert_eq!(desk.agent.phase, Phase::Idle);
}

#[test]
fn nobody_answers_and_people_are_reminded_twice() {
    let mut desk = Desk::escalated();
    let mut waits = Vec::new();
    while desk.agent.deadline().is_some() {
        let (wait, step) = desk.waits();
        assert_eq!(step.told(), "EscalationReminded");
        assert!(step.said().contains("#alerts Escalated"), "{}", step.said());
        waits.push(wait);
    }
    assert_eq!(waits, [4 * 3600, 4 * 3600]);
    assert_eq!(desk.ask(Control::Ack(None)).told(), "EscalationAcked");
}

#[test]
fn who_takes_care_of_it_is_not_reminded() {
    let mut desk = Desk::escalated();
    let id = desk.agent.watch.escalation.as_ref().expect("a call").id;
    assert!(matches!(desk.try_ask(Control::Ack(Some(WorkId(5)))), Err(Refusal::NoEscalation { .. })));
    desk.ask(Control::Ack(Some(id)));
    assert_eq!(desk.agent.deadline(), None);
    let again = desk.try_tell(&Input::Control { by: bob(), control: Control::Ack(Some(id)) });
    assert!(matches!(again, Err(Refusal::AlreadyAcked { by, .. }) if by == "alice"));
    assert!(matches!(desk.agent.phase, Phase::Paused { .. }), "seen is not answered");
    desk.ask(Control::Resume);
    assert!(matches!(desk.try_ask(Control::Ack(Some(id))), Err(Refusal::EscalationAnswered { .. })));
}

#[test]
fn a_call_is_answered_by_abort_also_without_work_at_hand() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.found();
    desk.found();
    desk.succeeds();
    let step = desk.ask(Control::Abort);
    assert_eq!(step.told(), "WhispersDropped, EscalationAnswered, Resumed");
    assert!(matches!(step.reply, Some(Notice::EscalationAnswered { answer: Answer::Abort, .. })));
    // A person who reads the call later is told who answered it, for a while.
    let late = desk.try_tell(&Input::Control { by: bob(), control: Control::Abort });
    assert!(matches!(late, Err(Refusal::EscalationAnswered { ref by, .. }) if by == "alice"), "{late:?}");
    desk.pass(2 * 3600);
    assert!(matches!(desk.try_ask(Control::Abort), Err(Refusal::NothingRunning { .. })));
}

#[test]
fn an_agent_that_finishes_while_it_is_being_stopped_for_a_call_waits_for_the_answer() {
    for answer in [Control::Resume, Control::Abort] {
        let mut desk = Desk::watched(Judge::Asked);
        desk.found();
        desk.found();
        desk.found();
        desk.give(WorkKind::Task, 2, "count the beans");
        let step = desk.succeeds();
        assert_eq!(step.told(), "SessionEnded(Success), TaskEnded(1 Done), Paused(Escalation)");
        assert_eq!((step.spawns(), desk.queue()), (0, vec![2]), "no task is fed to it");
        // The call is about work that is done: waiting work is not given up with it.
        let step = desk.ask(answer);
        assert!(step.told().ends_with("EscalationAnswered, Resumed, SessionStarted(2)"), "{}", step.told());
        assert_eq!(desk.agent.current.as_ref().map(|work| work.id), Some(WorkId(2)));
    }
}

/// Bob's `abort`, given while he reads a call.
fn bob_aborts(desk: &mut Desk) -> Result<Step, Refusal> {
    desk.try_tell(&Input::Control { by: bob(), control: Control::Abort })
}

#[test]
fn a_late_abort_ends_nothing_that_was_begun_since_somebody_else_has_answered() {
    for first in [Control::Resume, Control::Abort] {
        let mut desk = Desk::escalated();
        let call = desk.agent.watch.escalation.as_ref().expect("a call").id;
        desk.give(WorkKind::Task, 2, "count the beans");
        desk.ask(first.clone());
        desk.runs();
        desk.pass(2);
        let late = bob_aborts(&mut desk);
        assert!(
            matches!(&late, Err(Refusal::LateAbort { id, by, .. }) if *id == call && by == "alice"),
            "{first:?}: {late:?}"
        );
        // The person who answered means it, and so does one who was told of the answer.
        let mut alice = Desk {
            agent: desk.agent.clone(),
            policy: desk.policy.clone(),
            hold: None,
            handed: BTreeSet::new(),
            ..desk
        };
        let mut knows = Desk {
            agent: desk.agent.clone(),
            policy: desk.policy.clone(),
            hold: None,
            handed: BTreeSet::new(),
            ..desk
        };
        assert_eq!(alice.ask(Control::Abort).told(), "StopRequested(Abort)");
        let anyway = Input::Control { by: bob(), control: Control::AbortAnyway { call } };
        assert_eq!(knows.tell(&anyway).told(), "StopRequested(Abort)");
        let other = Input::Control { by: bob(), control: Control::AbortAnyway { call: WorkId(7) } };
        assert!(matches!(desk.try_tell(&other), Err(Refusal::LateAbort { .. })), "he knows of another one");
        desk.pass(58);
        assert_eq!(
            bob_aborts(&mut desk).expect("it is another matter by now").told(),
            "StopRequested(Abort)"
        );
    }
}

#[test]
fn a_late_abort_ends_nothing_that_waits_either() {
    let mut desk = Desk::escalated();
    desk.ask(Control::Resume);
    desk.runs();
    desk.fails(Category::Transient);
    assert!(matches!(bob_aborts(&mut desk), Err(Refusal::LateAbort { .. })));
    assert_eq!(desk.queue(), [1]);
}

#[test]
fn a_button_answers_what_its_post_says_and_nothing_since() {
    use crate::input::Button;
    let press = |by, at, button| Input::Control { by, control: Control::Press { at, button } };
    for button in [Button::Resume, Button::Abort] {
        let mut desk = Desk::escalated();
        let at = desk.agent.watch.escalation.as_ref().expect("a call").at;
        desk.give(WorkKind::Task, 2, "count the beans");
        // Both see the button, and one presses first.
        let step = desk.tell(&press(alice(), at, button));
        assert!(step.told().contains("EscalationAnswered, Resumed"), "{}", step.told());
        let late = desk.try_tell(&press(bob(), at, Button::Abort));
        assert!(matches!(&late, Err(Refusal::EscalationAnswered { by, .. }) if by == "alice"), "{late:?}");
        // The same applies if one person presses twice.
        assert!(desk.try_tell(&press(alice(), at, Button::Abort)).is_err());
        assert!(desk.agent.session().is_some());
    }
    // A post that is no call: a person resumed the agent meanwhile.
    let mut desk = Desk::busy_with_task();
    desk.fails(Category::Billing);
    let at = desk.now;
    desk.pass(5);
    desk.ask(Control::Resume);
    assert!(matches!(desk.try_tell(&press(bob(), at, Button::Abort)), Err(Refusal::NoEscalation { .. })));
    assert_eq!(desk.agent.current.as_ref().map(|work| work.id), Some(WorkId(1)));
}
