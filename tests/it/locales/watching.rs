//! Samples of all texts about the evaluator and calls for people.

use herder::core::detail::Own;
use herder::core::detector::Finding;
use herder::core::id::WorkId;
use herder::core::notice::{Notice, Refusal};
use herder::core::outcome::Category;
use herder::core::verdict::Lapse;
use herder::core::watch::{Answer, Mark, Why};

use super::{MORNING, spark};

const CALL: WorkId = WorkId(21);

pub(super) fn notices() -> Vec<Notice> {
    let by = || "alice".to_owned();
    let called = |why, times, reminder, untold| Notice::Escalated {
        agent: spark(),
        id: CALL,
        work: "benchmark nemotron".to_owned(),
        why,
        times,
        reminder,
        untold,
    };
    let found = Finding::SameCommand { command: "make bench".to_owned(), times: 4, failed: true };
    let lapses = [
        Lapse::TimedOut { after_ms: 30_000 },
        Lapse::Busy,
        Lapse::missing("codex"),
        Lapse::logged_out("401 Unauthorized"),
        Lapse::limited("429"),
        Lapse::failed("exit code 1"),
        Lapse::unparsable("Everything seems fine to me."),
    ];
    let mut notices = vec![
        Notice::Spiraling { agent: spark(), work: "benchmark nemotron".to_owned(), times: 2 },
        called(Why::Found(found.clone()), 1, 0, false),
        called(Why::Said("It never reads the error".to_owned()), 2, 1, false),
        called(Why::Found(found), 1, 0, true),
        called(Why::Ended { category: Category::TaskTimeout, detail: Own::TimeLimit.into() }, 1, 0, false),
        Notice::EscalationAcked { agent: spark(), id: CALL, by: by() },
    ];
    notices.extend(
        [Answer::Resume, Answer::Abort, Answer::Remove, Answer::Moved]
            .map(|answer| Notice::EscalationAnswered { agent: spark(), id: CALL, answer, by: by() }),
    );
    notices.extend([Mark::Right, Mark::Wrong].map(|mark| Notice::WhisperMarked {
        agent: spark(),
        id: CALL,
        mark,
    }));
    notices.extend(lapses.map(|lapse| Notice::EvaluatorLapsed { agent: spark(), times: 5, lapse }));
    notices
}

pub(super) fn refusals() -> Vec<Refusal> {
    let by = || "alice".to_owned();
    let mut refusals: Vec<Refusal> = [Answer::Resume, Answer::Abort, Answer::Remove, Answer::Moved]
        .map(|answer| Refusal::EscalationAnswered { agent: spark(), id: CALL, answer, by: by(), at: MORNING })
        .into();
    refusals.extend([Answer::Resume, Answer::Abort, Answer::Moved].map(|answer| Refusal::LateAbort {
        agent: spark(),
        id: CALL,
        answer,
        by: by(),
    }));
    refusals.extend([
        Refusal::AlreadyAcked { agent: spark(), id: CALL, by: by() },
        Refusal::NoEscalation { agent: spark() },
        Refusal::NoSuchWhisper { agent: spark(), id: WorkId(3) },
        Refusal::NoSuchNumber { id: WorkId(3) },
    ]);
    refusals
}
