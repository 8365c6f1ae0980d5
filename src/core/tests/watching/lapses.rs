//! Tests of evaluations without a verdict, and of the detector that stands in.

use super::*;

#[test]
fn five_lapses_in_a_row_are_said_once() {
    let mut desk = Desk::watched(Judge::Asked);
    let said: Vec<usize> = (0..7)
        .map(|_| desk.judged(Judgement::Lapse(Lapse::Busy)).said().matches("#alerts EvaluatorLapsed").count())
        .collect();
    assert_eq!(said, [0, 0, 0, 0, 1, 0, 0]);
    desk.judged(Judgement::Verdict(Verdict::Ok));
    assert_eq!(desk.agent.watch.lapses, 0);
}

#[test]
fn where_there_is_no_evaluator_the_detector_stands_in() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.turns("make bench", 3);
    let number = desk.agent.watch.open.clone().expect("the detector hastened it").number;
    let judgement = Judgement::Lapse(Lapse::missing("codex"));
    let step = desk.tell(&Input::Evaluated { number, judgement, usage: Some(Usage::default()) });
    assert_eq!(step.told(), "Evaluated, DetectorStoodIn, Whispered");
    assert_eq!((desk.agent.watch.findings, desk.agent.watch.counts.lapses), (1, 1));
}

#[test]
fn where_the_detector_stands_in_its_finding_nothing_starts_the_ladder_again() {
    let mut desk = Desk::watched(Judge::Asked);
    let missing = || Judgement::Lapse(Lapse::missing("codex"));
    desk.turns("make bench", 3);
    let number = desk.agent.watch.open.clone().expect("the detector hastened it").number;
    desk.tell(&Input::Evaluated { number, judgement: missing(), usage: Some(Usage::default()) });
    assert_eq!(desk.agent.watch.findings, 1);
    desk.judged(missing());
    assert_eq!(desk.agent.watch.findings, 0);
}

#[test]
fn an_answer_that_is_no_verdict_counts_as_ok_whatever_the_detector_has_found() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    desk.turns("make bench", 5);
    let open = desk.agent.watch.open.clone().expect("it is due");
    assert!(open.finding.is_some(), "the detector has found something");
    let judgement = Judgement::Lapse(Lapse::unparsable("I think that"));
    let step = desk.tell(&Input::Evaluated { number: open.number, judgement, usage: None });
    assert_eq!(step.told(), "Evaluated");
    assert_eq!((desk.agent.watch.findings, desk.agent.watch.counts.lapses), (0, 1));
}

#[test]
fn an_evaluator_at_its_limit_leaves_it_to_the_detector_only_once_people_were_told() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.found();
    let findings: Vec<u32> = (0..5)
        .map(|_| {
            desk.judged(Judgement::Lapse(Lapse::limited("429")));
            desk.agent.watch.findings
        })
        .collect();
    assert_eq!(findings, [1, 1, 1, 1, 0]);
}

/// Returns every kind of lapse.
fn lapses() -> [Lapse; 7] {
    [
        Lapse::TimedOut { after_ms: 30_000 },
        Lapse::Busy,
        Lapse::missing("codex"),
        Lapse::logged_out("401"),
        Lapse::limited("429"),
        Lapse::failed("its folder cannot be made"),
        Lapse::unparsable("I think that"),
    ]
}

#[test]
fn whatever_keeps_the_evaluator_from_judging_the_detector_stands_in_up_to_a_call_for_a_person() {
    for lapse in lapses().into_iter().filter(|lapse| !matches!(lapse, Lapse::Unparsable { .. })) {
        let mut desk = Desk::watched(Judge::Asked);
        let mut told = Vec::new();
        while told.len() < 3 {
            desk.turns("make bench", 1);
            let Some(number) = desk.agent.watch.open.as_ref().map(|open| open.number) else { continue };
            let judgement = Judgement::Lapse(lapse.clone());
            told.push(desk.tell(&Input::Evaluated { number, judgement, usage: None }).told());
        }
        assert_eq!(
            told,
            [
                "Evaluated, DetectorStoodIn, Whispered",
                "Evaluated, DetectorStoodIn, Whispered",
                "Evaluated, DetectorStoodIn, Escalated, StopRequested(Escalation), Whispered"
            ],
            "{lapse:?}"
        );
        let counts = desk.agent.watch.counts;
        assert_eq!((counts.judged, counts.lapses, counts.unmetered), (0, 3, 3), "{lapse:?}");
    }
}

#[test]
fn a_first_lapse_without_a_finding_is_an_ok_only_where_nobody_can_be_asked_or_an_answer_was_none() {
    let kept = lapses().map(|lapse| {
        let mut desk = Desk::watched(Judge::Asked);
        desk.found();
        desk.judged(Judgement::Lapse(lapse));
        desk.agent.watch.findings
    });
    assert_eq!(kept, [1, 1, 0, 0, 1, 1, 0]);
}

#[test]
fn a_stand_in_that_nobody_is_told_of_is_no_step() {
    let mut desk = Desk::watched(Judge::Asked);
    desk.turns("make bench", 3);
    let number = desk.agent.watch.open.clone().expect("the detector hastened it").number;
    desk.ask(Control::Restart);
    let step = desk.tell(&Input::Evaluated {
        number,
        judgement: Judgement::Lapse(Lapse::Busy),
        usage: Some(Usage::default()),
    });
    assert_eq!((step.told().as_str(), desk.agent.watch.findings), ("Evaluated", 0));
}
