//! What can be read of a database that sled refuses, and of one that is whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use herder::core::agent::Agent;
use herder::core::id::{NetworkName, PostId};
use herder::core::time::Timestamp;
use herder::journal::{Batch, Confirmed, Journal, Memo, Settings, Stream, export, import, salvage};

use super::{added, audit, batch, of, post, queued, settings, write};

const TASKS: u64 = 60;

fn at() -> Timestamp {
    Timestamp::from_seconds(10 * 24 * 3600)
}

async fn filled(journal: &Journal) {
    let fleet = vec![write(Stream::Fleet, None, vec![added("spark")])];
    journal.commit(batch(fleet)).await.expect("commits");
    for n in 1..=TASKS {
        let mut it = batch(vec![
            write(of("spark"), None, vec![queued(n, &"x".repeat(30_000))]),
            write(Stream::Audit, None, vec![audit("a")]),
        ]);
        if n.is_multiple_of(5) {
            it.posts = vec![post("libera", &"p".repeat(20_000)), post("oftc", "q")];
        }
        it.memos = vec![Memo { key: format!("heard/libera/{}", n % 7), value: Some(format!("\"{n}\"")) }];
        journal.commit(it).await.expect("commits");
    }
    let libera = NetworkName::from("libera");
    let lines = Confirmed { network: libera.clone(), post: PostId(3), lines: Some(2) };
    let whole = Confirmed { network: libera, post: PostId(1), lines: None };
    journal.confirm(vec![lines, whole]).await.expect("confirms");
    let gone = Memo { key: "heard/libera/0".to_owned(), value: None };
    journal.commit(Batch { memos: vec![gone], ..batch(Vec::new()) }).await.expect("commits");
}

fn lines(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("reads");
    text.lines().skip(1).map(str::to_owned).collect()
}

#[tokio::test]
async fn of_a_database_that_is_whole_everything_is_brought_out() {
    for keep_events in [1_000, 40] {
        let dir = tempfile::tempdir().expect("a folder");
        let mut settings = settings(dir.path());
        settings.history.keep_events = keep_events;
        let (journal, _) = Journal::open(&settings).expect("opens");
        filled(&journal).await;
        journal.maintain(at()).await.expect("maintains");
        let [a, b] = [dir.path().join("a.jsonl"), dir.path().join("b.jsonl")];
        export(&journal, &a, at()).await.expect("exports");
        journal.close().await;
        drop(journal);
        let salvaged = salvage(&settings, Some(&b), at()).expect("reads");
        assert_eq!((salvaged.damaged, salvaged.exported.lacks), (0, vec![]));
        assert_eq!(lines(&b), lines(&a), "{keep_events}");
    }
}

/// A folder whose database is larger than a segment of sled's file, as it is after `kill -9`.
async fn killed() -> tempfile::TempDir {
    let (dir, copy) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    filled(&journal).await;
    fs::create_dir(copy.path().join("sled")).expect("makes");
    for name in ["acked", "sled/db", "sled/conf"] {
        fs::copy(dir.path().join(name), copy.path().join(name)).expect("copies");
    }
    copy
}

/// The same with other bytes in one of its files.
fn damaged(from: &Path, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    fs::create_dir(copy.path().join("sled")).expect("makes");
    for name in ["acked", "sled/db", "sled/conf"] {
        fs::copy(from.join(name), copy.path().join(name)).expect("copies");
    }
    let mut bytes = fs::read(from.join(name)).expect("reads");
    change(&mut bytes);
    fs::write(copy.path().join(name), bytes).expect("writes");
    copy
}

/// Whether everything that a start reads can be read.
fn opens(settings: &Settings) -> Result<(), String> {
    let (journal, _) = Journal::open(settings).map_err(|error| error.to_string())?;
    journal.load::<Agent>(&of("spark")).map_err(|error| error.to_string())?;
    journal.undelivered(&NetworkName::from("libera")).map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn behind_a_damaged_page_every_task_is_brought_out_by_the_line_that_the_refusal_names() {
    let dir = killed().await;
    let end = fs::read(dir.path().join("sled/db")).expect("reads");
    let end = end.iter().rposition(|byte| *byte != 0).expect("written");
    let (mut refused, mut whole) = (0, 0);
    for part in 1..40 {
        let broken = damaged(dir.path(), "sled/db", |bytes| bytes[end * part / 40] ^= 0x10);
        let home = broken.path();
        let Err(why) = opens(&settings(home)) else { continue };
        refused += 1;
        assert!(why.contains(&home.display().to_string()), "{why}");
        assert!(!why.contains("backtrace") && !why.contains("Corruption") && !why.contains("Some("), "{why}");
        let (_, command) = why.split_once("go on with that: ").expect("a line to type");
        let command = command.lines().next().expect("one line");
        let herder = Path::new(env!("CARGO_BIN_EXE_herder")).parent().expect("a folder");
        let path = format!("{}:{}", herder.display(), std::env::var("PATH").expect("a path"));
        // What was lost is said by its exit code; the rest of the line is what people type after it.
        let command = command.replacen(" && ", " ; ", 1);
        let output = Command::new("sh").args(["-c", &command]).env("PATH", path).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}\n{said}");
        let (journal, _) = Journal::open(&settings(home)).expect("opens");
        let loaded = journal.load::<Agent>(&of("spark")).expect("loads");
        let tasks = loaded.state.queue.len() as u64;
        assert!(tasks * 10 >= TASKS * 9, "one page is damaged, and {tasks} of {TASKS} tasks are there: {said}");
        whole += u64::from(tasks == TASKS);
    }
    assert!(refused > 0 && whole > 0, "{whole} of {refused}");
}

#[tokio::test]
async fn damaged_settings_of_sled_cost_nothing() {
    let dir = killed().await;
    for n in 0..6 {
        let broken = damaged(dir.path(), "sled/conf", |bytes| {
            let at = bytes.len() * n / 6;
            match n {
                0 => bytes.fill(0),
                1 => bytes.truncate(at),
                _ => bytes[at] ^= 0x10,
            }
        });
        let (journal, opening) = Journal::open(&settings(broken.path())).expect("opens");
        assert_eq!(opening.missing, []);
        assert_eq!(journal.load::<Agent>(&of("spark")).expect("loads").rev, TASKS);
    }
    let home = dir.path().join("home");
    let file = dir.path().join("all.jsonl");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    export(&journal, &file, at()).await.expect("exports");
    assert_eq!(import(&settings(&home), &file).expect("imports").events, 2 * TASKS + 1);
}
