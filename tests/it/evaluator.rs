//! The evaluator with real processes: its answers, every way in which it gives none, and that it leaves no process
//! behind.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use herder::config::{self, Judge};
use herder::core::id::{SessionId, WorkId};
use herder::core::outcome::Usage;
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, Step, Turn};
use herder::core::usage::Prices;
use herder::core::verdict::{Lapse, Verdict};
use herder::evaluator::{Asked, Brief, Divided, Evaluated, Evaluator, FOLDER, Setup, Whole};
use herder::journal::{self, Journal};
use herder::redact::Redactor;
use herder::runtime::ProcessTrees;
use herder::supervisor;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An evaluator with a folder of its own.
pub(crate) struct Rig {
    pub(crate) evaluator: Evaluator,
    pub(crate) trees: ProcessTrees,
    pub(crate) folder: TempDir,
    /// The mark of its evaluations.
    marker: String,
}

/// Rigs so far: tests can share a process, and each looks for what is left of its own evaluations.
static RIGS: AtomicUsize = AtomicUsize::new(0);

impl Rig {
    pub(crate) fn new(settings: config::Evaluator) -> Self {
        Self::within(tempfile::tempdir().expect("a temporary folder"), settings)
    }

    pub(crate) fn within(folder: TempDir, settings: config::Evaluator) -> Self {
        let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
        let setup = Setup {
            settings,
            prices: Prices::default(),
            redactor: Redactor::new(&[SecretString::from("the-secret-of-herder")]),
            trees: trees.clone(),
            data_dir: folder.path().to_owned(),
            withheld: BTreeSet::from(["NEXTEST_EXECUTION_MODE".to_owned()]),
        };
        let number = RIGS.fetch_add(1, Ordering::Relaxed);
        let marker = format!("test-{}-{number}/spark/evaluation", std::process::id());
        Self { evaluator: Evaluator::new(setup), trees, folder, marker }
    }

    fn asked(&self) -> Asked {
        let marker = self.marker.clone();
        Asked { marker, brief: brief(), capped: false, overtaken: CancellationToken::new() }
    }

    pub(crate) async fn ask(&self) -> Evaluated {
        let evaluated = tokio::time::timeout(PATIENCE * 2, self.evaluator.evaluate(self.asked())).await;
        let evaluated = evaluated.expect("an evaluation ends in time");
        self.assert_clean().await;
        evaluated
    }

    /// Checks that no process and no home is left.
    pub(crate) async fn assert_clean(&self) {
        assert_eq!(self.trees.count_marked(&self.marker).await, 0, "processes are left");
        assert_eq!(self.homes(), 0, "homes are left");
    }

    pub(crate) fn homes(&self) -> usize {
        fs::read_dir(self.folder.path().join(FOLDER)).map_or(0, Iterator::count)
    }
}

fn brief() -> Brief {
    let end = Some(End { ok: false, said: "no GPU, says the-secret-of-herder".to_owned(), digest: 1 });
    let step = Step {
        tool: "Bash".to_owned(),
        kind: Kind::Command,
        what: "make bench".to_owned(),
        digest: 1,
        end,
        after_ms: 0,
        took_ms: 0,
    };
    let turn = Turn {
        session: SessionId(1),
        work: Some(WorkId(1)),
        at: Timestamp::from_seconds(0),
        took_ms: 1000,
        words: "Once more.".to_owned(),
        steps: vec![step],
        more: 0,
    };
    Brief {
        task: "benchmark nemotron".to_owned(),
        turns: (0..5).map(|_| Arc::new(turn.clone())).collect(),
        said: Vec::new(),
        whispers: Vec::new(),
        finding: None,
        now: Timestamp::from_seconds(60),
    }
}

/// Returns a judge that is a shell script.
fn script(text: &str) -> config::Evaluator {
    let command = ["sh", "-c", text].map(str::to_owned).to_vec();
    config::Evaluator { judge: Judge::Command, command, model: String::new(), ..config::Evaluator::default() }
}

fn with_timeout(text: &str, timeout: Duration) -> config::Evaluator {
    config::Evaluator { timeout, ..script(text) }
}

async fn said(text: &str) -> Result<Verdict, Lapse> {
    Rig::new(script(text)).ask().await.verdict
}

#[tokio::test]
async fn a_program_reads_prompt_and_transcript_and_answers_with_one_line() {
    let text = r#"
        cat > "$HOME/in"
        for word in "BEGIN DATA" "benchmark nemotron" "| Bash: make bench" "it FAILED" "Answer now with exactly one line"; do
            grep -qF "$word" "$HOME/in" || { echo "the input lacks $word"; exit; }
        done
        grep -q "secret-of-herder" "$HOME/in" && { echo "a secret"; exit; }
        echo "CORRECTION Look at the driver."
    "#;
    let evaluated = Rig::new(script(text)).ask().await;
    assert_eq!(evaluated.verdict, Ok(Verdict::correction("Look at the driver.")));
    assert_eq!(evaluated.usage, None, "such a program does not say what it used");
}

#[tokio::test]
async fn its_home_and_its_environment_are_its_own() {
    let text = r#"
        [ "$(stat -c %a "$HOME")" = 700 ] || { echo "mode"; exit; }
        [ "$(stat -c %a "$TMPDIR")" = 700 ] || { echo "mode of TMPDIR"; exit; }
        [ "$PWD" = "$HOME/work" ] && [ -z "$(ls -A)" ] || { echo "works in $PWD"; exit; }
        [ "$(ls -A "$HOME" | tr '\n' ' ')" = "tmp work " ] || { ls -A "$HOME"; exit; }
        [ -z "$CARGO_MANIFEST_DIR$NEXTEST" ] || { env; exit; }
        [ -n "$PATH" ] && [ "$COLOUR" = blue ] || { env; exit; }
        echo OK
    "#;
    let mut settings = script(text);
    settings.env.insert("COLOUR".to_owned(), "blue".to_owned());
    settings.env.insert("HOME".to_owned(), "/".to_owned());
    let rig = Rig::new(settings);
    assert_eq!(rig.ask().await.verdict, Ok(Verdict::Ok));
}

#[tokio::test]
async fn what_is_no_verdict_is_none() {
    for text in
        ["echo hello", "true", "echo OK; echo OK", "echo 'OK CORRECTION look'", "head -c 1000 /dev/urandom"]
    {
        let lapse = said(text).await.expect_err("this is no verdict");
        assert_eq!(lapse.name(), "unparsable", "{text}: {lapse:?}");
    }
    assert_eq!(
        said("echo a verdict of the-secret-of-herder").await,
        Err(Lapse::unparsable("a verdict of [redacted]"))
    );
    assert_eq!(
        said("echo CORRECTION tell nobody the-secret-of-herder").await,
        Ok(Verdict::correction("tell nobody [redacted]"))
    );
}

#[tokio::test]
async fn a_crash_is_told_with_its_last_words_whatever_it_said_before() {
    let text = "echo OK; echo first >&2; echo 'it is broken' >&2; exit 3";
    assert_eq!(said(text).await, Err(Lapse::failed("exit status: 3: it is broken")));
    assert_eq!(said("echo OK; kill -9 $$").await, Err(Lapse::failed("signal: 9 (SIGKILL)")));
    // A program that does not read its input works too.
    assert_eq!(said("exec <&-; echo OK").await, Ok(Verdict::Ok));
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let command = vec!["no-such-judge".to_owned()];
    let rig = Rig::new(config::Evaluator { command, ..script("") });
    let lapse = rig.ask().await.verdict.expect_err("it is not there");
    assert!(matches!(&lapse, Lapse::Missing { program } if program.contains("no-such-judge")), "{lapse:?}");
    let path = vec!["/no/such/judge".to_owned()];
    let rig = Rig::new(config::Evaluator { command: path, ..script("") });
    assert_eq!(rig.ask().await.verdict.expect_err("it is not there").name(), "missing");
}

/// A CLI that could do nothing is not started; the error says how to correct that.
#[tokio::test]
async fn a_login_that_is_not_there_is_named() {
    let settings = config::Evaluator { command: vec!["true".to_owned()], ..config::Evaluator::default() };
    let rig = Rig::new(config::Evaluator { login: Some("/no/such/auth.json".into()), ..settings });
    let lapse = rig.ask().await.verdict.expect_err("there is no login");
    let how = "there is no login /no/such/auth.json: run codex login, or set OPENAI_API_KEY where herder is started";
    assert_eq!(lapse, Lapse::logged_out(how));
}

#[tokio::test]
async fn one_that_would_not_stop_printing_is_ended() {
    for text in ["yes OK", "echo OK; exec yes >&2 & yes"] {
        assert_eq!(said(text).await, Err(Lapse::failed("it would not stop printing")), "{text}");
    }
}

#[tokio::test]
async fn one_that_hangs_is_ended_with_what_has_left_its_group() {
    let hang = "trap '' TERM; setsid sh -c \"trap '' TERM; while :; do sleep 1000; done\" & while :; do sleep 1000; done";
    let rig = Rig::new(with_timeout(hang, Duration::from_secs(1)));
    assert_eq!(rig.ask().await.verdict, Err(Lapse::TimedOut { after_ms: 1000 }));
    // An answer that is never finished is none either.
    let rig = Rig::new(with_timeout("echo OK; exec sleep 1000", Duration::from_secs(1)));
    assert_eq!(rig.ask().await.verdict, Err(Lapse::TimedOut { after_ms: 1000 }));
}

#[tokio::test]
async fn an_answer_counts_though_somebody_it_started_holds_the_line() {
    let rig = Rig::new(with_timeout("setsid sleep 1000 & echo OK", PATIENCE));
    assert_eq!(rig.ask().await.verdict, Ok(Verdict::Ok));
}

#[tokio::test]
async fn so_many_run_at_a_time_and_the_next_is_told_so() {
    let settings = with_timeout("trap '' TERM; while :; do sleep 1000; done", Duration::from_secs(1));
    let rig = Rig::new(config::Evaluator { at_once: 1, ..settings });
    let (one, other) = tokio::join!(rig.evaluator.evaluate(rig.asked()), rig.evaluator.evaluate(rig.asked()));
    let mut names = [one, other].map(|evaluated| evaluated.verdict.expect_err("nobody answers").name());
    names.sort_unstable();
    assert_eq!(names, ["busy", "timed-out"]);
    rig.assert_clean().await;
}

/// Waits until the script has said so through a pipe in the file system.
async fn until_it_runs(pipe: &Path) {
    let pipe = pipe.to_owned();
    let read = tokio::task::spawn_blocking(move || fs::read(pipe));
    tokio::time::timeout(PATIENCE, read).await.expect("it runs in time").expect("a thread").expect("a pipe");
}

#[tokio::test]
async fn an_evaluation_that_nobody_waits_for_any_more_leaves_nothing() {
    let pipes = tempfile::tempdir().expect("a temporary folder");
    let pipe = pipes.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let text = format!("setsid sleep 1000 & echo run > '{}'; sleep 1000", pipe.display());
    let rig = Rig::new(with_timeout(&text, PATIENCE));
    tokio::select! {
        evaluated = rig.evaluator.evaluate(rig.asked()) => panic!("{evaluated:?}"),
        () = until_it_runs(&pipe) => {}
    }
    rig.evaluator.stop().await;
    rig.assert_clean().await;
    assert!(rig.evaluator.evaluate(rig.asked()).await.verdict.is_err(), "nothing is asked after the end");
}

#[tokio::test]
async fn what_a_killed_herder_left_is_removed_at_the_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let left = folder.path().join(FOLDER).join("0011223344556677/.codex");
    fs::create_dir_all(&left).expect("it is made");
    fs::write(left.join("auth.json"), "{}").expect("it is written");
    let rig = Rig::within(folder, script("echo OK"));
    assert!(rig.evaluator.is_littered());
    rig.evaluator.sweep().await;
    assert_eq!(rig.homes(), 0);
    assert_eq!(rig.ask().await.verdict, Ok(Verdict::Ok));
}

/// Returns a program that takes the place of a CLI.
fn stands_for(folder: &Path, judge: Judge, text: &str) -> config::Evaluator {
    let program = folder.join("cli");
    fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("it is written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("it can be run");
    let command = vec![program.display().to_string()];
    config::Evaluator { judge, command, ..config::Evaluator::default() }
}

/// An evaluation that no one waits for any more is ended at once with all its processes, and its cost is unknown.
#[tokio::test]
async fn an_evaluation_that_was_overtaken_is_ended_and_says_so() {
    let pipes = tempfile::tempdir().expect("a temporary folder");
    let pipe = pipes.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let text = format!("setsid sleep 1000 & echo run > '{}'; sleep 1000", pipe.display());
    let rig = Rig::new(with_timeout(&text, PATIENCE * 2));
    let asked = rig.asked();
    let overtaken = asked.overtaken.clone();
    let ((), evaluated) = tokio::join!(
        async {
            until_it_runs(&pipe).await;
            overtaken.cancel();
        },
        tokio::time::timeout(PATIENCE, rig.evaluator.evaluate(asked)),
    );
    let evaluated = evaluated.expect("it ends before its time is over");
    assert_eq!(evaluated, Evaluated { verdict: Err(Lapse::Overtaken), usage: None });
    rig.assert_clean().await;
}

#[tokio::test]
async fn who_waits_for_a_turn_costs_nothing_when_it_is_overtaken() {
    let rig = Rig::new(script("echo OK"));
    let asked = rig.asked();
    asked.overtaken.cancel();
    let settings = config::Evaluator { at_once: 0, ..script("echo OK") };
    let waiting = Rig::new(settings).evaluator.evaluate(asked).await;
    assert_eq!(waiting, Evaluated { verdict: Err(Lapse::Overtaken), usage: Some(Usage::default()) });
    assert_eq!(rig.ask().await.verdict, Ok(Verdict::Ok));
}

#[tokio::test]
async fn whoever_is_logged_out_is_not_asked_again_before_the_login_is_another_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (count, login) = (folder.path().join("count"), folder.path().join("auth.json"));
    fs::write(&login, "{\"tokens\":1}").expect("it is written");
    let failed = r#"{"type":"turn.failed","error":{"message":"401 Unauthorized"}}"#;
    let text = format!("echo x >> '{}'; echo '{failed}'; exit 1", count.display());
    let settings = stands_for(folder.path(), Judge::Codex, &text);
    let rig = Rig::new(config::Evaluator { login: Some(login.clone()), ..settings });
    let asked = || fs::read_to_string(&count).map_or(0, |text| text.lines().count());
    for (times, expected) in [(1, 1), (3, 1)] {
        for _ in 0..times {
            let evaluated = rig.ask().await;
            assert_eq!(evaluated.verdict, Err(Lapse::logged_out("401 Unauthorized")), "it is said each time");
            assert_eq!(evaluated.usage, Some(Usage::default()), "a refusal costs nothing");
        }
        assert_eq!(asked(), expected);
    }
    fs::write(&login, "{\"tokens\":22}").expect("it is written");
    assert!(rig.ask().await.verdict.is_err());
    assert_eq!(asked(), 2, "somebody has logged in again");
}

/// A login is renewed while the old one is being refused.
#[tokio::test]
async fn a_login_that_comes_while_the_old_one_is_refused_is_asked_with_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let login = folder.path().join("auth.json");
    fs::write(&login, "{\"tokens\":1}").expect("it is written");
    let failed = r#"{"type":"turn.failed","error":{"message":"401 Unauthorized"}}"#;
    let said = [
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"OK"}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#,
    ];
    let text = format!(
        "if grep -q new '{login}'; then echo '{}'; echo '{}'; else printf '{{\"tokens\":\"new\"}}' > '{login}'; echo '{failed}'; exit 1; fi",
        said[0],
        said[1],
        login = login.display(),
    );
    let settings = stands_for(folder.path(), Judge::Codex, &text);
    let rig = Rig::new(config::Evaluator { login: Some(login.clone()), ..settings });
    assert_eq!(rig.ask().await.verdict, Err(Lapse::logged_out("401 Unauthorized")));
    assert_eq!(rig.ask().await.verdict, Ok(Verdict::Ok), "the new one is good");
}

/// Usage that is known when the time is over counts, also that of tries that failed before.
#[tokio::test]
async fn an_answer_that_is_cut_short_costs_what_it_has_said_so_far() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let piece = |event: serde_json::Value| {
        let line = serde_json::json!({ "type": "stream_event", "event": event });
        format!("echo '{line}'\n")
    };
    let begins = |sent: u32| {
        let usage =
            serde_json::json!({ "input_tokens": sent, "cache_read_input_tokens": 100, "output_tokens": 1 });
        piece(serde_json::json!({ "type": "message_start", "message": { "usage": usage } }))
    };
    let goes_on = piece(serde_json::json!({ "type": "message_delta", "usage": { "output_tokens": 40 } }));
    let text = format!("{}{}{goes_on}printf '{{\"type\":\"resu'; sleep 1000", begins(1000), begins(2000));
    let settings = stands_for(folder.path(), Judge::Claude, &text);
    let settings = config::Evaluator { timeout: Duration::from_secs(1), ..settings };
    let rig = Rig::new(config::Evaluator { key: Some(SecretString::from("k")), ..settings });
    let evaluated = rig.ask().await;
    assert_eq!(evaluated.verdict, Err(Lapse::TimedOut { after_ms: 1000 }));
    let usage = evaluated.usage.expect("it is known so far");
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (3200, 200, 41));
}

/// A CLI that outlived its herder renews its login when it is asked to end: it is ended first, then its home is removed.
#[tokio::test]
async fn a_login_that_is_renewed_after_herder_was_killed_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join("auth.json");
    fs::write(&own, "{\"tokens\":1}").expect("the login is written");
    let settings = journal::Settings {
        ballast: 0,
        ..journal::Settings::new(folder.path().join("data"), config::History::default())
    };
    let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.expect("a thread");
    let (journal, _) = opened.expect("a journal");
    let rig = Rig::within(folder, script("echo OK"));
    let home = rig.folder.path().join(FOLDER).join("0011223344556677");
    fs::create_dir_all(&home).expect("it is made");
    let home = fs::canonicalize(home).expect("it is there");
    let link = home.join("auth.json");
    let record = serde_json::json!({ "link": link, "to": own, "seen": 0 });
    fs::write(home.with_extension("login"), record.to_string()).expect("it is written");
    // The process that renews the login is not to be ended by a second signal.
    let renews = "trap 'trap \"\" TERM; printf {\\\"tokens\\\":2} > new; mv new auth.json; exit' TERM; echo ready; while :; do sleep 1000 & wait; done";
    let mut orphan = std::process::Command::new("sh")
        .args(["-c", renews])
        .current_dir(&home)
        .env("HERDER_SESSION", format!("{}/gone/evaluation-3", journal.id()))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell is there");
    let mut ready = [0; 6];
    orphan.stdout.take().expect("a pipe").read_exact(&mut ready).expect("it is ready");
    let fleet = supervisor::start(supervisor::Settings {
        redactor: herder::redact::Redactor::new(&[]),
        journal: journal.clone(),
        policy: herder::core::policy::Policy::default(),
        networks: Vec::new(),
        listeners: Vec::new(),
        trees: rig.trees.clone(),
        agents: Vec::new(),
        withheld: BTreeSet::new(),
        tools: None,
        runner: None,
        elsewhere: None,
        evaluator: Some(rig.evaluator.clone()),
        attempts: 5,
        fault: supervisor::FaultInjection::default(),
    });
    let fleet = fleet.await.expect("a fleet without agents");
    assert_eq!(fs::read_to_string(&own).expect("it is there"), "{\"tokens\":2}");
    assert_eq!(rig.homes(), 0);
    assert_eq!(fleet.drain(PATIENCE).await, 0);
    journal.close().await;
    drop(orphan.wait());
}

/// herder starts all the same, and says each time why evaluations are not possible.
#[tokio::test]
async fn where_no_home_can_be_made_it_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join(FOLDER), "a file in its place").expect("it is written");
    let rig = Rig::within(folder, script("echo OK"));
    rig.evaluator.sweep().await;
    let evaluated = rig.ask().await;
    let lapse = evaluated.verdict.expect_err("there is nowhere to be asked");
    assert!(
        matches!(&lapse, Lapse::Failed { why } if why.starts_with("its home cannot be made")),
        "{lapse:?}"
    );
    assert_eq!(evaluated.usage, Some(Usage::default()));
}

async fn parts(text: &str) -> Divided {
    let rig = Rig::new(with_timeout(text, Duration::from_secs(2)));
    let brief = Whole {
        task: "benchmark nemotron with the-secret-of-herder".to_owned(),
        context: "> half of it".to_owned(),
    };
    let asked =
        Asked { marker: rig.marker.clone(), brief, capped: false, overtaken: CancellationToken::new() };
    let divided = rig.evaluator.split(asked).await;
    rig.assert_clean().await;
    divided
}

/// A task that is too large for one conversation is split by the evaluator's program, within the same bounds.
#[tokio::test]
async fn a_task_is_split_by_the_same_program_in_a_home_of_its_own() {
    let text = r#"
        [ "$PWD" = "$HOME/work" ] && [ -z "$(ls -A)" ] || { echo "works in $PWD"; exit; }
        cat > "$HOME/in"
        for word in "You split the task" "| benchmark nemotron with [redacted]" "| > half of it" "of 2 to 5 strings"; do
            grep -qF "$word" "$HOME/in" || { echo "the input lacks $word"; exit; }
        done
        echo '["build it for the-secret-of-herder", "run it"]'
    "#;
    let expected = ["build it for [redacted]", "run it"].map(str::to_owned).to_vec();
    assert_eq!(parts(text).await, Divided { parts: Ok(expected), usage: None });
    for text in ["echo OK", "echo '[\"one\"]'", "true"] {
        let lapse = parts(text).await.parts.expect_err("this is no list");
        assert_eq!(lapse.name(), "unparsable", "{text}");
    }
    let lapse = parts("echo '[\"a\", \"b\"]'; exit 3").await.parts.expect_err("it failed");
    assert_eq!(lapse, Lapse::failed("exit status: 3"));
    let late = parts("echo '[\"a\", \"b\"]'; exec sleep 1000").await.parts;
    assert_eq!(late, Err(Lapse::TimedOut { after_ms: 8000 }), "four times as long as a verdict");
}
