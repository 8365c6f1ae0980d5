//! Tests of undelivered whispers.

use super::*;
use crate::whisper::Whisper;

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
    // A turn that takes long.
    desk.ask(Control::Whisper { id: WorkId(51), text: "and at 43".to_owned() });
    desk.pass(59);
    assert_eq!(overdue(&desk), 0);
    desk.pass(1);
    assert_eq!(overdue(&desk), 1);
    // An agent is not interrupted if it does not work, or is about to get the whisper.
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

#[test]
fn it_is_judged_by_the_turns_after_it_was_told() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found_deaf();
    (0..3).for_each(|_| drop(desk.quiet_turn()));
    desk.hears();
    let told: Vec<String> = (0..5).map(|_| desk.quiet_turn().told()).collect();
    assert_eq!(told[..4], ["TurnObserved"; 4], "it has had no time to follow it");
    assert_eq!(told[4], "TurnObserved, EvaluationBegun");
}

#[test]
fn what_was_judged_before_it_was_told_is_no_step() {
    for judgement in [
        Judgement::Verdict(Verdict::correction("Read the error first.")),
        Judgement::Lapse(Lapse::TimedOut { after_ms: 30_000 }),
    ] {
        let mut desk = Desk::watched(Judge::Asked);
        desk.found_deaf();
        desk.deaf_turns("make bench", 5);
        let number = desk.agent.watch.open.as_ref().expect("it is due").number;
        // The whisper is delivered while its last turns are judged.
        desk.hears();
        let step = desk.tell(&Input::Evaluated { number, judgement, usage: Some(Usage::default()) });
        assert_eq!(step.told(), "Evaluated");
        assert_eq!((desk.agent.watch.findings, desk.agent.watch.unheard), (1, 0));
        assert_eq!(desk.agent.watch.told[0].followed, None, "nobody has seen it since");
        assert_eq!(desk.found().told(), "Evaluated, Whispered");
        assert_eq!(desk.agent.watch.told[0].followed, Some(false));
        desk.judged(Judgement::Verdict(Verdict::Ok));
        let followed: Vec<_> = desk.agent.watch.told.iter().map(|told| told.followed).collect();
        assert_eq!(followed, [Some(false), Some(true)]);
    }
}

#[test]
fn an_evaluation_of_before_is_read_as_one_of_an_agent_that_had_been_told() {
    let open: crate::watch::Open = serde_json::from_str(r#"{"number":3}"#).expect("it is read");
    assert!(!open.untold);
}

#[test]
fn what_people_whisper_is_known_to_the_judge_once_it_was_read() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.ask(Control::Whisper { id: WorkId(50), text: "look at issue 42".to_owned() });
    let said = |desk: &Desk| desk.agent.said().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(said(&desk), [] as [&str; 0]);
    desk.found();
    desk.hears();
    assert_eq!(said(&desk), ["look at issue 42"], "the evaluator's own words are not among them");
    // A pause changes nothing of what was asked for.
    desk.ask(Control::Pause { now: true });
    desk.fails(Category::Interrupted);
    desk.ask(Control::Resume);
    assert_eq!(said(&desk), ["look at issue 42"]);
    desk.runs();
    desk.succeeds();
    desk.give(WorkKind::Task, 2, "count the beans");
    assert_eq!(said(&desk), [] as [&str; 0], "it was about the work before");
}

#[test]
fn what_people_say_into_a_running_turn_is_known_to_the_judge() {
    let mut desk = Desk::with(spec(Runtime::Codex));
    desk.policy.evaluator.judge = Judge::Asked;
    desk.give(WorkKind::Task, 1, "benchmark nemotron");
    desk.runs();
    desk.give(WorkKind::Message, 2, "document it first");
    assert_eq!(desk.agent.said().count(), 0, "it waits");
    desk.signal(Signal::Steered { work: WorkId(2) });
    assert_eq!(desk.agent.said().collect::<Vec<_>>(), ["document it first"]);
}

#[test]
fn the_rounds_of_a_loop_are_judged_by_what_people_said_since_the_turns_that_are_known() {
    let mut spec = spec(Runtime::Codex);
    spec.looping = true;
    let mut desk = Desk::with(spec);
    desk.policy.evaluator.judge = Judge::Asked;
    desk.tell(&Input::Started);
    desk.runs();
    desk.deaf_turns("make bench", 1);
    desk.ask(Control::Whisper { id: WorkId(50), text: "look at issue 42".to_owned() });
    desk.hears();
    desk.succeeds();
    desk.runs();
    assert_eq!(desk.agent.said().collect::<Vec<_>>(), ["look at issue 42"]);
    desk.ask(Control::Restart);
    assert_eq!(desk.agent.said().count(), 0, "nothing is known of before");
}
