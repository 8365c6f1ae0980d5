//! Tests of evaluations and of the ladder that ends with a call for a person.

mod answers;
mod lapses;
mod left;
mod untold;

use super::*;
use crate::event::PauseReason;
use crate::outcome::Usage;
use crate::policy::Judge;
use crate::turn::{End, Kind, Step as Call, Turn};
use crate::verdict::{Lapse, Verdict};
use crate::watch::{Answer, Judgement, Mark};

/// Returns a turn that runs `command`, with the same result each time.
fn turn(command: &str) -> Turn {
    let digest = command.bytes().map(u64::from).sum();
    Turn {
        session: SessionId(0),
        work: None,
        at: Timestamp::default(),
        took_ms: 1000,
        words: "Let me try that.".to_owned(),
        steps: vec![Call {
            tool: "shell".to_owned(),
            kind: Kind::Command,
            what: command.to_owned(),
            digest,
            end: Some(End { ok: false, said: "error: no such target".to_owned(), digest: 7 }),
            after_ms: 0,
            took_ms: 0,
        }],
        more: 0,
    }
}

impl Desk {
    fn watched(judge: Judge) -> Self {
        let mut desk = Self::new();
        desk.policy.evaluator.judge = judge;
        desk.give(WorkKind::Task, 1, "benchmark nemotron");
        desk.runs();
        desk
    }

    /// Delivers the whispers that wait.
    fn hears(&mut self) {
        let whispers = self.agent.whispers.iter().map(|whisper| whisper.id).collect();
        if let Some(session) = self.agent.session() {
            self.tell(&Input::WhispersTaken { session, whispers });
        }
    }

    /// Adds turns of an agent that receives its whispers.
    fn turns(&mut self, command: &str, count: usize) -> Vec<String> {
        self.hears();
        self.deaf_turns(command, count)
    }

    fn deaf_turns(&mut self, command: &str, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                self.pass(10);
                let turn = Turn { at: self.now, ..turn(command) };
                self.signal(Signal::Observed { turn: Box::new(turn) }).told()
            })
            .collect()
    }

    /// Adds turns that each change another file, so that the detector finds nothing, until the next evaluation has
    /// started.
    fn until_asked(&mut self) -> u32 {
        self.hears();
        self.deaf_until_asked()
    }

    fn deaf_until_asked(&mut self) -> u32 {
        for _ in 0..5 {
            self.quiet_turn();
            if let Some(open) = &self.agent.watch.open {
                return open.number;
            }
        }
        panic!("five turns are an interval");
    }

    /// Adds a turn in which the detector finds nothing.
    fn quiet_turn(&mut self) -> Step {
        self.pass(10);
        let mut turn = Turn { at: self.now, ..turn(&format!("src/part{}.rs", self.ids)) };
        turn.steps[0].kind = Kind::Edit;
        turn.steps[0].end = Some(End { ok: true, said: String::new(), digest: self.ids });
        self.signal(Signal::Observed { turn: Box::new(turn) })
    }

    fn judged(&mut self, judgement: Judgement) -> Step {
        let number = self.until_asked();
        self.tell(&Input::Evaluated { number, judgement, usage: Some(Usage::default()) })
    }

    fn found(&mut self) -> Step {
        self.judged(Judgement::Verdict(Verdict::correction("Read the error first.")))
    }

    /// Does the same as [`Desk::found`], with words that have no full stop.
    fn found_unended(&mut self) -> Step {
        self.judged(Judgement::Verdict(Verdict::correction("Read the error first")))
    }

    /// Does the same as [`Desk::found`] for an agent that does not receive its whispers.
    fn found_deaf(&mut self) -> Step {
        let number = self.deaf_until_asked();
        let judgement = Judgement::Verdict(Verdict::correction("Read the error first."));
        self.tell(&Input::Evaluated { number, judgement, usage: Some(Usage::default()) })
    }

    /// Climbs the whole ladder, until the agent is paused.
    fn escalated() -> Self {
        let mut desk = Self::watched(Judge::Asked);
        desk.found();
        desk.found();
        desk.found();
        desk.fails(Category::Interrupted);
        assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Escalation });
        desk
    }
}

#[test]
fn two_whispers_and_then_a_person_is_called() {
    let mut desk = Desk::watched(Judge::Asked);
    let step = desk.found();
    assert_eq!(step.told(), "Evaluated, Whispered");
    // No channel gets it, and no notice contains the words.
    assert_eq!(step.said(), "(hooks) Spiraling { work: \"benchmark nemotron\", times: 1 }");
    assert_eq!(desk.agent.whispers[0].words(), "[CORRECTION] Read the error first.");
    let step = desk.judged(Judgement::Verdict(Verdict::think_deeper("Why does it fail?")));
    assert_eq!(step.told(), "Evaluated, Whispered");
    let second = desk.agent.whispers[0].words();
    assert!(
        second.starts_with("[THINK_DEEPER] You were told, and it goes on. Why does it fail?"),
        "{second}"
    );
    let step = desk.found();
    assert_eq!(step.told(), "Evaluated, Escalated, StopRequested(Escalation), Whispered");
    assert!(step.said().contains("#alerts Escalated"), "{}", step.said());
    assert!(matches!(step.effects.as_slice(), [Effect::Stop { .. }]), "{:?}", step.effects);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), Paused(Escalation)");
    assert_eq!(desk.queue(), [1], "its work is kept");
    assert_eq!(step.spawns(), 0);
}

#[test]
fn a_call_for_a_person_is_never_the_first_thing_whatever_the_verdict_says() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.policy.evaluator.threshold = 0;
    let step = desk.judged(Judgement::Verdict(Verdict::escalation("A person must look.")));
    assert_eq!(step.told(), "Evaluated, Whispered");
    assert_eq!(desk.agent.whispers[0].words(), "[CORRECTION] A person must look.");
    let step = desk.found();
    assert!(step.told().starts_with("Evaluated, Escalated"), "the least threshold is two: {}", step.told());
}

#[test]
fn ok_starts_the_ladder_again_and_a_lapse_does_not() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.judged(Judgement::Lapse(Lapse::TimedOut { after_ms: 30_000 }));
    assert_eq!(desk.agent.watch.findings, 1);
    desk.judged(Judgement::Verdict(Verdict::Ok));
    assert_eq!(desk.agent.watch.findings, 0);
    desk.found();
    // An unreadable answer counts as OK, and is counted.
    desk.judged(Judgement::Lapse(Lapse::unparsable("I think that")));
    assert_eq!((desk.agent.watch.findings, desk.agent.watch.counts.lapses), (0, 2));
    assert_eq!(desk.found().told(), "Evaluated, Whispered");
    assert_eq!(desk.found().told(), "Evaluated, Whispered");
}

#[test]
fn the_detector_alone_needs_nobody_else() {
    let mut desk = Desk::watched(Judge::Builtin);
    let told = desk.turns("make bench", 4);
    let whispered = told.iter().position(|told| told.ends_with("EvaluationBegun, Evaluated, Whispered"));
    assert!(whispered.is_some(), "{told:?}");
    let words = desk.agent.whispers[0].words();
    assert!(words.starts_with("[CORRECTION] You ran `make bench`"), "{words}");
    let told = desk.turns("make bench", 5);
    assert!(told.iter().any(|told| told.ends_with("Whispered")), "{told:?}");
    assert!(desk.agent.whispers[0].words().contains("You were told, and it goes on."));
    let told = desk.turns("make bench", 5).join("\n");
    assert!(told.contains("Escalated, StopRequested(Escalation)"), "{told}");
    let call = desk.agent.watch.escalation.clone().expect("a person is called");
    assert_eq!((call.text.as_str(), call.times, call.work), ("benchmark nemotron", 1, Some(WorkId(1))));
}

#[test]
fn one_finding_asks_a_model_once_and_then_by_the_interval() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.turns("make bench", 3);
    let number = desk.agent.watch.open.clone().expect("the detector hastened it").number;
    let judgement = Judgement::Verdict(Verdict::Ok);
    desk.tell(&Input::Evaluated { number, judgement, usage: Some(Usage::default()) });
    let told = desk.turns("make bench", 5);
    assert_eq!(&told[..4], ["TurnObserved"; 4], "the model has said that all is well");
    assert_eq!(told[4], "TurnObserved, EvaluationBegun");
}

#[test]
fn what_an_evaluation_cost_counts_even_if_it_comes_too_late() {
    let mut desk = Desk::watched(Judge::Asked);
    let number = desk.until_asked();
    desk.ask(Control::Pause { now: true });
    desk.fails(Category::Interrupted);
    let usage = Usage { input_tokens: 4000, cost_usd: 0.25, ..Usage::default() };
    let judgement = Judgement::Verdict(Verdict::correction("Too late."));
    let step = desk.tell(&Input::Evaluated { number, judgement, usage: Some(usage) });
    assert_eq!(step.told(), "Evaluated", "a paused agent is not told");
    assert!((desk.agent.books.today(desk.now, None).cost_usd - 0.25).abs() < 1e-9);
    assert!(
        matches!(step.effects.as_slice(), [Effect::Spent { .. }]),
        "the account pays: {:?}",
        step.effects
    );
    assert_eq!((desk.agent.watch.counts.judged, desk.agent.watch.counts.lapses), (0, 1), "nobody has judged");
}

#[test]
fn a_person_s_whisper_is_no_finding() {
    let mut desk = Desk::watched(Judge::Asked);
    for id in 50..60 {
        desk.ask(Control::Whisper { id: WorkId(id), text: "look at issue 42".to_owned() });
    }
    assert_eq!(desk.found().told(), "Evaluated, Whispered");
    assert_eq!(desk.agent.watch.told.len(), 1);
}

#[test]
fn an_operator_says_whether_a_whisper_was_called_for() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    let id = desk.agent.watch.told[0].id;
    desk.ask(Control::Mark { id, mark: Mark::Wrong });
    assert_eq!(desk.ask(Control::Mark { id, mark: Mark::Right }).told(), "WhisperMarked");
    assert_eq!(desk.ask(Control::Mark { id, mark: Mark::Right }).told(), "", "once is enough");
    assert_eq!((desk.agent.watch.counts.right, desk.agent.watch.counts.wrong), (1, 0));
    let none = desk.try_ask(Control::Mark { id: WorkId(3), mark: Mark::Right });
    assert!(matches!(none, Err(Refusal::NoSuchWhisper { .. })));
}

#[test]
fn other_work_is_judged_by_itself_and_the_rounds_of_a_loop_together() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.turns("make bench", 2);
    desk.give(WorkKind::Message, 2, "count the beans");
    desk.succeeds();
    assert!(desk.agent.watch.window.is_empty(), "the next work has begun");
    let mut spec = spec(Runtime::Command);
    spec.looping = true;
    let mut desk = Desk::with(spec);
    desk.policy.evaluator.judge = Judge::Asked;
    desk.tell(&Input::Started);
    for _ in 0..2 {
        desk.runs();
        desk.turns("make bench", 1);
        desk.succeeds();
    }
    assert_eq!(desk.agent.watch.window.len(), 2);
}

#[test]
fn an_evaluation_that_ran_when_herder_was_killed_is_begun_again() {
    let mut desk = Desk::watched(Judge::Asked);
    let number = desk.until_asked();
    let step = desk.tell(&Input::Started);
    assert!(step.told().ends_with("Evaluated, EvaluationBegun"), "{}", step.told());
    assert!(step.effects.contains(&Effect::Evaluate { number: number + 1 }));
    let late = Input::Evaluated {
        number,
        judgement: Judgement::Verdict(Verdict::correction("Of another life.")),
        usage: Some(Usage::default()),
    };
    assert_eq!(desk.tell(&late).told(), "Evaluated");
    let counts = desk.agent.watch.counts;
    assert_eq!((counts.judged, counts.lapses, counts.unmetered), (0, 1, 1), "what it had cost nobody knows");
}

#[test]
fn an_evaluator_that_is_switched_off_sees_nothing() {
    let mut desk = Desk::watched(Judge::Off);
    assert_eq!(desk.turns("make bench", 3), ["", "", ""]);
    assert!(desk.agent.watch.is_new());
}

#[test]
fn a_finding_that_nobody_is_told_of_is_no_step() {
    let mut desk = Desk::watched(Judge::Asked);
    let number = desk.until_asked();
    desk.ask(Control::Restart);
    let judgement = Judgement::Verdict(Verdict::correction("Read the error first."));
    assert_eq!(
        desk.tell(&Input::Evaluated { number, judgement, usage: Some(Usage::default()) }).told(),
        "Evaluated"
    );
    assert_eq!(desk.agent.watch.findings, 0);
}

#[test]
fn who_has_nothing_to_do_is_not_told_and_that_is_no_step() {
    let mut desk = Desk::watched(Judge::Asked);
    let number = desk.until_asked();
    desk.succeeds();
    let judgement = || Judgement::Verdict(Verdict::correction("Read the error first."));
    let over = |number| Input::Evaluated { number, judgement: judgement(), usage: Some(Usage::default()) };
    assert_eq!(desk.tell(&over(number)).told(), "Evaluated");
    assert_eq!(desk.agent.watch.findings, 0);
    // Work that waits for its account continues, and starts with the finding.
    let mut desk = Desk::watched(Judge::Asked);
    let number = desk.until_asked();
    desk.fails(Category::Quota);
    assert_eq!((&desk.agent.phase, desk.queue()), (&Phase::Idle, vec![1]));
    assert_eq!(desk.tell(&over(number)).told(), "Evaluated, Whispered");
    assert_eq!(desk.agent.watch.findings, 1);
    let step = desk.tell(&Input::Promoted);
    let told = step
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::Spawn { whispers, .. } if !whispers.is_empty()));
    assert!(told, "{:?}", step.effects);
}

#[test]
fn words_without_a_full_stop_do_not_run_on_into_the_next_sentence() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found_unended();
    desk.found_unended();
    let told = desk.agent.watch.told.back().map(|told| told.text.clone()).unwrap_or_default();
    assert!(told.contains("goes on. Read the error first. Stop what you are doing"), "{told}");
}

#[test]
fn a_restart_begins_the_ladder_anew() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.found();
    desk.ask(Control::Restart);
    assert_eq!((desk.agent.watch.findings, desk.agent.watch.window.len()), (0, 0));
    desk.fails(Category::Interrupted);
    desk.runs();
    assert_eq!(desk.found().told(), "Evaluated, Whispered");
    assert_eq!(desk.found().told(), "Evaluated, Whispered");
}

#[test]
fn an_evaluation_that_ran_when_the_supervisor_panicked_is_begun_again() {
    let mut desk = Desk::watched(Judge::Asked);
    let number = desk.until_asked();
    let step = desk.tell(&Input::Panicked { message: "index out of bounds".to_owned() });
    assert!(step.told().ends_with("Evaluated, EvaluationBegun"), "{}", step.told());
    assert!(step.effects.contains(&Effect::Evaluate { number: number + 1 }));
    assert_eq!(desk.agent.watch.open.as_ref().map(|open| open.number), Some(number + 1));
}

#[test]
fn words_for_the_agent_are_not_quoted_to_everybody() {
    let mut desk = Desk::watched(Judge::Asked);
    let said: Vec<String> = (0..5)
        .map(|_| desk.judged(Judgement::Lapse(Lapse::unparsable("CORRECTION read it. OK"))).said())
        .collect();
    assert!(said[4].contains("EvaluatorLapsed") && !said[4].contains("read it"), "{}", said[4]);
}

#[test]
fn a_cap_that_an_evaluation_reaches_stops_the_session_in_the_same_decision() {
    let mut spec = spec(Runtime::Command);
    spec.caps.usd_per_day = 1.0;
    let mut desk = Desk::with(spec);
    desk.policy.evaluator.judge = Judge::Asked;
    desk.give(WorkKind::Task, 1, "benchmark nemotron");
    desk.runs();
    let mut judge = |cost_usd| {
        let number = desk.until_asked();
        let usage = Usage { input_tokens: 4000, cost_usd, ..Usage::default() };
        let judgement = Judgement::Lapse(Lapse::TimedOut { after_ms: 30_000 });
        desk.tell(&Input::Evaluated { number, judgement, usage: Some(usage) }).told()
    };
    assert_eq!(judge(0.6), "Evaluated, CapNear");
    let cap = "StopRequested(Cap(Cap { window: Day, unit: Usd }))";
    assert_eq!(judge(0.5), format!("Evaluated, {cap}"));
}

#[test]
fn one_that_was_overtaken_is_counted_once_and_is_nobody_s_failure() {
    let mut desk = Desk::watched(Judge::Asked);
    for _ in 0..6 {
        let number = desk.until_asked();
        desk.ask(Control::Pause { now: true });
        desk.fails(Category::Interrupted);
        assert_eq!(desk.agent.watch.overtaken, [number]);
        let over = Input::Evaluated { number, judgement: Judgement::Lapse(Lapse::Overtaken), usage: None };
        assert_eq!(desk.tell(&over).said(), "");
        desk.ask(Control::Resume);
        desk.runs();
    }
    assert!(desk.agent.watch.overtaken.is_empty());
    let counts = desk.agent.watch.counts;
    assert_eq!((counts.lapses, counts.unmetered, desk.agent.watch.lapses), (6, 6, 0));
}

#[test]
fn an_agent_that_is_added_again_gives_no_number_twice_and_keeps_its_sums() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    let number = desk.until_asked();
    desk.ask(Control::Remove);
    assert!(desk.fails(Category::Interrupted).told().contains("Removed"));
    let before = desk.agent.watch.counts;
    assert_eq!((before.judged, before.lapses, before.unmetered), (1, 1, 1), "its end is heard by nobody");
    let added = Event::Added { spec: Box::new(spec(Runtime::Command)), by: alice() };
    apply(&mut desk.agent, &added, desk.now);
    assert_eq!((desk.agent.watch.counts, desk.agent.watch.window.len()), (before, 0));
    desk.give(WorkKind::Task, 2, "benchmark nemotron");
    desk.runs();
    assert_eq!(desk.until_asked(), number + 1);
}
