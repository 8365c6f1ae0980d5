use proptest::prelude::*;

use super::*;
use crate::id::{SessionId, WorkId};
use crate::time::Timestamp;
use crate::turn::{End, Kind, Step};

fn digest(text: &str) -> u64 {
    let mut hash = shape::Hash::new();
    hash.push(text.as_bytes());
    hash.end()
}

fn step(kind: Kind, what: &str, ok: bool, said: &str) -> Step {
    let end = End { ok, said: said.to_owned(), digest: digest(said) };
    Step {
        tool: format!("{kind:?}"),
        kind,
        what: what.to_owned(),
        digest: digest(what),
        end: Some(end),
        after_ms: 0,
        took_ms: 0,
    }
}

fn turn(at: i64, words: &str, steps: Vec<Step>) -> Turn {
    Turn {
        session: SessionId(1),
        work: Some(WorkId(1)),
        at: Timestamp::from_seconds(at * 20),
        took_ms: 1000,
        words: words.to_owned(),
        steps,
        more: 0,
    }
}

fn fails(at: i64) -> Turn {
    turn(
        at,
        "",
        vec![step(Kind::Command, "cargo test 2>&1 | tail -20", false, "error: linker `cc` not found\n")],
    )
}

/// An edit that occurs once.
fn edits(at: i64) -> Turn {
    let mut edit = step(Kind::Edit, "src/lib.rs", true, "");
    edit.digest = digest(&format!("unlike any other, {at}"));
    turn(at, "", vec![edit])
}

#[test]
fn a_command_that_fails_the_same_way_is_found_the_third_time() {
    let turns: Vec<Turn> = (0..3).map(fails).collect();
    assert_eq!(find(&turns[..2]), None);
    assert_eq!(
        find(&turns).expect("three times the same").sentence(),
        "You ran `cargo test 2>&1 | tail -20` 3 times with the same failure and changed nothing between."
    );
}

#[test]
fn it_is_no_longer_said_when_something_else_is_done() {
    let mut turns: Vec<Turn> = (0..4).map(fails).collect();
    assert!(find(&turns).is_some());
    turns.push(turn(5, "", vec![step(Kind::Read, "build.rs", true, "fn main() {}")]));
    assert_eq!(find(&turns), None, "it looks for the reason");
    turns.push(fails(6));
    assert!(find(&turns).is_some(), "and did not find one");
    turns.push(edits(7));
    assert_eq!(find(&turns), None, "a change is a new try");
}

#[test]
fn each_round_of_a_loop_is_a_work_of_its_own() {
    let mut turns: Vec<Turn> = (0..8).map(fails).collect();
    for (round, turn) in (1..).zip(&mut turns) {
        turn.work = Some(WorkId(round));
    }
    assert_eq!(find(&turns), None);
}

/// Names are stored with the ladder's state, so that they must stay readable for good.
#[test]
fn findings_keep_their_names_on_disk() {
    let text = |text: &str| text.to_owned();
    let findings = [
        (
            Finding::SameCommand { command: text("make"), times: 4, failed: true },
            r#"{"same-command":{"command":"make","times":4,"failed":true}}"#,
        ),
        (
            Finding::SameCall { tool: text("Read"), what: text("a.rs"), times: 4 },
            r#"{"same-call":{"tool":"Read","what":"a.rs","times":4}}"#,
        ),
        (
            Finding::SameEdit { file: text("a.rs"), times: 3, failed: false },
            r#"{"same-edit":{"file":"a.rs","times":3,"failed":false}}"#,
        ),
        (
            Finding::SameError { error: text("no"), times: 5, edited: true },
            r#"{"same-error":{"error":"no","times":5,"edited":true}}"#,
        ),
        (
            Finding::SameWords { words: text("I will"), times: 4 },
            r#"{"same-words":{"words":"I will","times":4}}"#,
        ),
        (Finding::NoChange { turns: 14, idle: 9 }, r#"{"no-change":{"turns":14,"idle":9}}"#),
        (
            Finding::LongGaps { times: 3, longest_ms: 240_000 },
            r#"{"long-gaps":{"times":3,"longest-ms":240000}}"#,
        ),
    ];
    for (finding, json) in findings {
        assert_eq!(serde_json::to_string(&finding).expect("it is plain data"), json);
        assert_eq!(serde_json::from_str::<Finding>(json).expect("it was written so"), finding);
        let name = serde_json::to_string(&finding.pattern()).expect("a word");
        assert_eq!(name, format!("\"{}\"", finding.pattern().name()));
    }
}

/// Steps from a small stock, so that they repeat.
fn some_step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![Kind::Command, Kind::Edit, Kind::Read, Kind::Other]);
    let what = prop::sample::select(vec![
        "make test",
        "sed -i s/a/b/ x",
        "src/a.rs",
        "sleep 9; gh run view 4",
        "ls",
    ]);
    let said = prop::sample::select(vec![
        "",
        "error: no such thing",
        "3 passed, 1 failed",
        "error[E0308]: a.rs:4:2",
    ]);
    (kind, what, any::<bool>(), said).prop_map(|(kind, what, ok, said)| step(kind, what, ok, said))
}

fn some_turns(most: usize) -> impl Strategy<Value = Vec<Turn>> {
    let words =
        prop::sample::select(vec!["", "Again.", "I will run all of the tests of this crate once more now."]);
    let pause = prop::sample::select(vec![0_i64, 0, 0, 1, 30]);
    prop::collection::vec((words, prop::collection::vec(some_step(), 0..3), pause), 0..most).prop_map(
        |parts| {
            let mut at = 0;
            let turns = parts.into_iter().map(|(words, steps, pause)| {
                at += 1 + pause;
                turn(at, words, steps)
            });
            turns.collect()
        },
    )
}

/// Text that a hostile agent could write, and text that shells and programs write.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z0-9 '\"|&;<>()$`\\\\\n:=./-]{0,120}",
        "(bash -lc ')?(sed|git|cargo|python3|\\./x|sleep) [-a-z0-9./:= ]{0,20}(<<E\n)?[|>&;]{0,3}[^\u{0}]{0,20}",
        "(error|E  |-->|FAILED)?[:\\[( ]{0,2}[0-9a-f.:x/,ö日]{0,30}\u{1b}?\\[?3?1?m?",
    ]
}

proptest! {
    #[test]
    fn two_turns_are_never_enough(turns in some_turns(TURNS_MIN)) {
        prop_assert_eq!(find(&turns), None);
    }

    #[test]
    fn what_is_older_than_the_window_does_not_matter(turns in some_turns(40)) {
        let recent = &turns[turns.len().saturating_sub(WINDOW)..];
        prop_assert_eq!(find(&turns), find(recent));
    }

    /// After a change, only an error that survived earlier changes can still be the finding.
    #[test]
    fn a_change_dissolves_what_was_found(mut turns in some_turns(30)) {
        turns.push(edits(10_000));
        let found = find(&turns);
        prop_assert!(matches!(found, None | Some(Finding::SameError { .. })), "{:?}", found);
    }

    /// A few failures with a change between each two are honest work.
    #[test]
    fn changes_between_make_it_another_try(times in 1_i64..5) {
        let turns: Vec<Turn> = (0..times).flat_map(|at| [fails(2 * at), edits(2 * at + 1)]).collect();
        prop_assert_eq!(find(&turns), None);
    }

    #[test]
    fn no_text_is_too_strange_and_every_sentence_is_short(
        parts in prop::collection::vec((any_text(), any_text(), any_text(), any::<bool>()), 1..4),
        again in 1_usize..12,
    ) {
        let kinds = [Kind::Command, Kind::Edit, Kind::Read, Kind::Other];
        let mut turns = Vec::new();
        for at in 0..again {
            for (words, what, said, ok) in &parts {
                let steps = kinds.iter().map(|kind| step(*kind, what, *ok, said)).collect();
                turns.push(turn(i64::try_from(at).expect("few"), words, steps));
            }
        }
        if let Some(finding) = find(&turns) {
            prop_assert!(finding.sentence().len() <= 3 * EVIDENCE_MAX, "{}", finding.sentence());
            prop_assert!(!finding.sentence().contains('\n'));
        }
    }
}
