use std::process::Command;

use rustix::process::{Signal, getpid, kill_process};

use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::journal::{AuditEntry, Batch, Entry, History, Journal, Settings, Stream, Write};

use super::*;

const EVENTS: u64 = 2_000;
const HOT: u64 = 50;
const FROM: u64 = 1 << 20;
const STEPS: [Step; 6] =
    [Step::Begun, Step::Copied, Step::Synced, Step::MovedAway, Step::MovedIn, Step::Removed];

fn settings(dir: &Path, compact_from: u64) -> Settings {
    let history = History { daily_export: false, keep_events: HOT, ..History::default() };
    Settings { ballast: 0, compact_from, ..Settings::new(dir, history) }
}

/// Creates a journal whose events were nearly all archived; its file keeps its size.
async fn grown(dir: &Path) {
    let (journal, _) = Journal::open(&settings(dir, u64::MAX)).expect("opens");
    for n in 0..EVENTS / 100 {
        let entry = |m: u64| {
            let text = format!("{} {}", n * 100 + m, "x".repeat(3_000));
            let (by, place, verb) = (Actor::herder(), "local".to_owned(), "status".to_owned());
            Entry::Audit(AuditEntry { by, place, agent: None, verb, text })
        };
        let entries = (1..=100).map(entry).collect();
        let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
        journal.commit(Batch { writes, ..Batch::default() }).await.expect("commits");
    }
    journal.maintain(Timestamp::from_seconds(1)).await.expect("archives");
    journal.close().await;
    drop(journal);
    drop(store::wait_until_closed(&Paths::new(dir)).expect("sled lets go of it"));
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("makes");
    for entry in fs::read_dir(from).expect("lists") {
        let entry = entry.expect("lists");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copies");
        }
    }
}

/// Checks that all data is present, without remains of a compaction.
async fn whole(dir: &Path, compact_from: u64) {
    let (journal, opening) = Journal::open(&settings(dir, compact_from)).expect("opens");
    assert_eq!((opening.fresh, opening.missing), (false, vec![]));
    let history = journal.history(&Stream::Audit, usize::MAX, None).expect("reads");
    let revs: Vec<u64> = history.iter().map(|entry| entry.rev).collect();
    assert_eq!(revs, (1..=EVENTS).collect::<Vec<u64>>());
    let paths = Paths::new(dir);
    assert!(!paths.sled_before().exists() && !paths.compacting().exists());
    journal.close().await;
    drop(journal);
    drop(store::wait_until_closed(&paths).expect("sled lets go of it"));
}

/// Returns true in a process that is to be killed at a step.
fn is_the_one_to_be_killed() -> bool {
    let Some(dir) = std::env::var_os("HERDER_TEST_COMPACTING") else { return false };
    let step = std::env::var("HERDER_TEST_STEP").ok().and_then(|step| step.parse::<usize>().ok());
    let step = STEPS[step.expect("a step")];
    let paths = Paths::new(Path::new(&dir));
    let db = sled::Config::new().path(paths.sled()).open().expect("opens");
    let _ = at_start(&paths, db, (FROM, 0), &mut |at| {
        if at == step {
            kill_process(getpid(), Signal::KILL).expect("ends here");
        }
    });
    true
}

#[tokio::test]
async fn killed_at_any_step_everything_is_there_and_the_next_start_makes_it_small() {
    if is_the_one_to_be_killed() {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    grown(&dir.path().join("grown")).await;
    let size = |home: &Path| Paths::new(home).log().metadata().expect("there").len();
    let before = size(&dir.path().join("grown"));
    for (n, step) in STEPS.iter().enumerate() {
        let home = dir.path().join(n.to_string());
        copied(&dir.path().join("grown"), &home);
        let mut child = Command::new(std::env::current_exe().expect("this binary"));
        let test = "journal::compact::tests::killed_at_any_step_everything_is_there_and_the_next_start_makes_it_small";
        child
            .args(["--exact", test])
            .env("HERDER_TEST_COMPACTING", &home)
            .env("HERDER_TEST_STEP", n.to_string());
        let status = child.output().expect("runs").status;
        assert_eq!(status.code(), None, "{step:?}: it was not killed");
        whole(&home, u64::MAX).await;
        whole(&home, FROM).await;
        let after = size(&home);
        assert!(after < before / 2, "{step:?}: {before} bytes became {after}");
        // From now on it is not rebuilt again.
        whole(&home, FROM).await;
    }
}

#[tokio::test]
async fn without_room_for_a_second_one_the_database_stays_as_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    grown(dir.path()).await;
    let paths = Paths::new(dir.path());
    let before = paths.log().metadata().expect("there").len();
    let mut settings = settings(dir.path(), FROM);
    settings.history.warn_free = u64::MAX;
    drop(Journal::open(&settings).expect("opens"));
    assert!(paths.log().metadata().expect("there").len() >= before);
    assert!(!paths.compacting().exists());
}
