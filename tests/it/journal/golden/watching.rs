//! One of everything on disk that has to do with the evaluator.

use std::sync::Arc;

use herder::core::detail::Own;
use herder::core::detector::Finding;
use herder::core::event::Event;
use herder::core::id::{SessionId, WorkId};
use herder::core::notice::{Notice, Refusal};
use herder::core::outcome::{Category, Usage};
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, Step, Turn};
use herder::core::verdict::{Lapse, Verdict};
use herder::core::watch::{Answer, Escalation, Judgement, Mark, Why};
use herder::core::whisper::{Tone, Whisper};

use crate::journal::{agent, ann};

const CALL: WorkId = WorkId(21);
const AT: Timestamp = Timestamp::from_millis(1_763_700_300_000);

fn finding() -> Finding {
    Finding::SameCommand { command: "make bench".into(), times: 4, failed: true }
}

fn turn() -> Turn {
    let end = End { ok: false, said: "no such target".into(), digest: 81 };
    let step = |kind, end| Step {
        tool: "shell".into(),
        kind,
        what: "make bench".into(),
        digest: 7,
        end,
        after_ms: 0,
        took_ms: 0,
    };
    Turn {
        session: SessionId(3),
        work: Some(WorkId(15)),
        at: AT,
        took_ms: 1200,
        words: "Let me try again.".into(),
        steps: vec![
            step(Kind::Command, Some(end)),
            step(Kind::Edit, None),
            step(Kind::Read, None),
            step(Kind::Other, None),
        ],
        more: 2,
    }
}

fn call() -> Escalation {
    Escalation {
        id: CALL,
        at: AT,
        work: Some(WorkId(15)),
        text: "benchmark nemotron".into(),
        why: Why::Found(finding()),
        times: 2,
        untold: false,
        reminded: 1,
        remind_at: Some(AT),
        acked: Some(ann()),
    }
}

fn lapses() -> [Lapse; 8] {
    [
        Lapse::TimedOut { after_ms: 30_000 },
        Lapse::Busy,
        Lapse::missing("codex"),
        Lapse::logged_out("401"),
        Lapse::limited("429"),
        Lapse::failed("exit code 1"),
        Lapse::unparsable("hm"),
        Lapse::Overtaken,
    ]
}

pub(super) fn events() -> Vec<Event> {
    let usage = Usage { input_tokens: 900, output_tokens: 12, cost_usd: 0.125, ..Usage::default() };
    let evaluated = |judgement| {
        let unmetered = judgement == Judgement::Lapse(Lapse::Overtaken);
        Event::Evaluated { number: 4, judgement: Box::new(judgement), usage, unmetered }
    };
    let verdicts =
        [Verdict::Ok, Verdict::correction("a"), Verdict::think_deeper("b"), Verdict::escalation("c")];
    let tones = [Tone::Correction, Tone::ThinkDeeper, Tone::Escalation];
    let mut events = vec![
        Event::TurnObserved { turn: Arc::new(turn()), keep: 20 },
        Event::EvaluationBegun { number: 4, finding: Some(finding()) },
        Event::EvaluationBegun { number: 5, finding: None },
        Event::DetectorStoodIn { number: 4 },
        Event::Escalated { escalation: Box::new(call()) },
        Event::Escalated { escalation: Box::new(Escalation { untold: true, ..call() }) },
        Event::EscalationReminded { id: CALL, next: Some(AT) },
        Event::EscalationReminded { id: CALL, next: None },
        Event::EscalationAcked { id: CALL, by: ann() },
    ];
    events.extend(verdicts.map(|verdict| evaluated(Judgement::Verdict(verdict))));
    events.extend(lapses().map(|lapse| evaluated(Judgement::Lapse(lapse))));
    events.extend(
        [Answer::Resume, Answer::Abort, Answer::Remove, Answer::Moved]
            .map(|answer| Event::EscalationAnswered { id: CALL, answer, by: ann() }),
    );
    events.extend([Mark::Right, Mark::Wrong].map(|mark| Event::WhisperMarked { id: CALL, mark, by: ann() }));
    events.extend(tones.map(|tone| {
        let (text, by) = ("look at the cache first".to_owned(), ann());
        Event::Whispered { whisper: Box::new(Whisper { id: CALL, text, by, at: AT, prompted: None, tone }) }
    }));
    events
}

pub(super) fn notices() -> Vec<Notice> {
    let agent = agent("spark");
    let (id, by, work) = (CALL, "ann".to_owned(), "benchmark nemotron".to_owned());
    let called = |why, times, reminder, untold| Notice::Escalated {
        agent: agent.clone(),
        id,
        work: work.clone(),
        why,
        times,
        reminder,
        untold,
    };
    let mut notices = vec![
        Notice::Spiraling { agent: agent.clone(), work: work.clone(), times: 1 },
        called(Why::Found(finding()), 1, 0, false),
        called(Why::Said("It never reads the error".into()), 2, 1, false),
        called(Why::Found(finding()), 1, 0, true),
        called(Why::Ended { category: Category::TaskTimeout, detail: Own::TimeLimit.into() }, 1, 0, false),
        Notice::EscalationAcked { agent: agent.clone(), id, by: by.clone() },
    ];
    notices.extend(
        [Answer::Resume, Answer::Abort, Answer::Remove, Answer::Moved]
            .map(|answer| Notice::EscalationAnswered { agent: agent.clone(), id, answer, by: by.clone() }),
    );
    notices.extend([Mark::Right, Mark::Wrong].map(|mark| Notice::WhisperMarked {
        agent: agent.clone(),
        id,
        mark,
    }));
    notices.extend(lapses().map(|lapse| Notice::EvaluatorLapsed { agent: agent.clone(), times: 5, lapse }));
    notices
}

pub(super) fn refusals() -> Vec<Refusal> {
    let (agent, id, by) = (agent("spark"), CALL, "ann".to_owned());
    vec![
        Refusal::EscalationAnswered {
            agent: agent.clone(),
            id,
            answer: Answer::Resume,
            by: by.clone(),
            at: AT,
        },
        Refusal::LateAbort { agent: agent.clone(), id, answer: Answer::Abort, by: by.clone() },
        Refusal::AlreadyAcked { agent: agent.clone(), id, by },
        Refusal::NoEscalation { agent: agent.clone() },
        Refusal::NoSuchWhisper { agent, id },
        Refusal::NoSuchNumber { id },
    ]
}
