//! Processes that print a recorded run, as whole sessions.

use super::*;

/// Runs a process that prints a recorded run and then leaves, as a whole session.
async fn prints(output: Output, fixture: &str, exit: i32) -> Outcome {
    prints_and(output, fixture, &format!("exit {exit}")).await
}

async fn prints_and(output: Output, fixture: &str, then: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
    let script = format!("cat > /dev/null; cat '{}'; {then}", file.display());
    let mut what = session(Runtime::Command, &["sh", "-c", &script], folder.path());
    what.clocks.grace = Duration::from_millis(300);
    what.clocks.silence = Duration::from_secs(20);
    edit(&mut what, |spec| spec.output = output);
    run(what).await.0
}

#[tokio::test]
async fn a_process_that_stays_after_its_work_is_ended_and_has_done_it() {
    let outcome = prints_and(Output::Opencode, "printed/opencode/ok.jsonl", "exec sleep 1000").await;
    assert_eq!((outcome.category, outcome.unknown), (Category::Success, false), "{}", outcome.detail);
    let outcome = prints_and(Output::Opencode, "printed/opencode/401.jsonl", "exec sleep 1000").await;
    assert_eq!(outcome.category, Category::Auth, "{}", outcome.detail);
}

#[tokio::test]
async fn a_session_ends_as_was_printed_whatever_its_exit_code() {
    let outcome = prints(Output::Gemini, "printed/gemini/ok.jsonl", 1).await;
    assert_eq!(outcome.category, Category::Success);
    assert_eq!(outcome.text.as_deref(), Some("Hello from the fake model."));
    assert_eq!(outcome.usage.tokens(), 1230);
    let outcome = prints(Output::Codex, "printed/codex/401.jsonl", 0).await;
    assert_eq!(outcome.category, Category::Auth);
    // As text it is a program that prints lines.
    let outcome = prints(Output::Text, "printed/codex/401.jsonl", 0).await;
    assert_eq!(outcome.category, Category::Success);
    assert!(outcome.text.is_some_and(|text| text.contains("turn.failed")));
}
