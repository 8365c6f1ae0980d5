//! What the agent was told and has not got.

use super::*;
use crate::core::whisper::Whisper;

#[test]
fn what_the_agent_has_not_got_is_no_step_and_nobody_waits_for_ever() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found_deaf();
    assert_eq!(desk.found_deaf().told(), "Evaluated", "the first whisper still waits");
    assert_eq!((desk.agent.watch.findings, desk.agent.watch.unheard), (1, 1));
    let step = desk.found_deaf();
    assert_eq!(step.told(), "Evaluated, Escalated, StopRequested(Escalation), Whispered");
    assert!(step.said().contains("untold: true"), "people are told why: {}", step.said());
    let words: Vec<String> = desk.agent.whispers.iter().map(Whisper::words).collect();
    assert_eq!(
        words[1],
        "[ESCALATION] You were paused, because you could not be told in time: Read the error first."
    );
    // Nothing is lost: the next session begins with both.
    desk.fails(Category::Interrupted);
    let step = desk.ask(Control::Resume);
    let spawned = step.effects.iter().find_map(|effect| match effect {
        Effect::Spawn { whispers, .. } => Some(whispers.clone()),
        _ => None,
    });
    assert_eq!(spawned, Some(words));
}

#[test]
fn an_agent_that_was_told_late_is_told_twice_before_a_person_is_called() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found_deaf();
    assert_eq!(desk.found_deaf().told(), "Evaluated");
    assert_eq!(desk.found().told(), "Evaluated, Whispered", "it has the first by now");
    let step = desk.found();
    assert!(step.told().starts_with("Evaluated, Escalated"), "{}", step.told());
    assert!(step.said().contains("untold: false"), "{}", step.said());
}

#[test]
fn what_waits_is_overdue_after_two_turns_or_a_minute() {
    let mut desk = Desk::watched(Judge::Asked);
    let overdue = |desk: &Desk| desk.agent.overdue(desk.now).len();
    desk.ask(Control::Whisper { id: WorkId(50), text: "look at issue 42".to_owned() });
    assert_eq!(overdue(&desk), 0);
    desk.deaf_turns("make bench", 1);
    assert_eq!(overdue(&desk), 0);
    desk.deaf_turns("make bench", 1);
    assert_eq!(overdue(&desk), 1);
    desk.hears();
    assert_eq!(overdue(&desk), 0);
    // One that takes its time.
    desk.ask(Control::Whisper { id: WorkId(51), text: "and at 43".to_owned() });
    desk.pass(59);
    assert_eq!(overdue(&desk), 0);
    desk.pass(1);
    assert_eq!(overdue(&desk), 1);
    // Nobody is hurried who does not work, or who is about to read it.
    desk.fails(Category::Transient);
    assert_eq!(overdue(&desk), 0);
    desk.waits();
    assert_eq!((desk.agent.whispers.len(), overdue(&desk)), (1, 0));
}

#[test]
fn work_that_is_given_up_takes_what_was_found_with_it() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.ask(Control::Abort);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), TaskEnded(1 Cancelled), WhispersDropped");
    assert!(desk.agent.whispers.is_empty());
}
