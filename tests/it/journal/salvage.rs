//! The readable part of a database that sled refuses, and of one that is whole.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use herder::core::agent::Agent;
use herder::core::id::{NetworkName, PostId};
use herder::core::time::Timestamp;
use herder::journal::{Batch, Confirmed, Journal, Memo, Stream, export, import, salvage};

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

const FILES: [&str; 4] = ["acked", "recent.jsonl", "sled/db", "sled/conf"];

/// Returns a folder whose database is larger than a segment of sled's file. Nothing writes to it any more.
async fn left() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    filled(&journal).await;
    journal.close().await;
    drop(journal);
    File::open(dir.path().join("sled/db")).and_then(|db| db.lock()).expect("sled lets go of it");
    dir
}

/// Returns the same with other bytes in one of its files.
fn damaged(from: &Path, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    fs::create_dir(copy.path().join("sled")).expect("makes");
    for name in FILES {
        fs::copy(from.join(name), copy.path().join(name)).expect("copies");
    }
    let mut bytes = fs::read(from.join(name)).expect("reads");
    change(&mut bytes);
    fs::write(copy.path().join(name), bytes).expect("writes");
    copy
}

/// Checks that another process can read all of it; the error holds its output. sled may also leave out entries behind
/// a damaged page.
fn reads(home: &Path) -> Result<(), String> {
    let mut herder = Command::new(env!("CARGO_BIN_EXE_herder"));
    let herder = herder.args(["export", "--data-dir"]).arg(home).arg("-o").arg(home.join("plain.jsonl"));
    let output = herder.output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

/// Returns how many tasks the command line in a refusal brings back.
fn brought_back(home: &Path, why: &str) -> usize {
    assert!(why.contains(&home.display().to_string()), "{why}");
    assert!(!why.contains("backtrace") && !why.contains("Corruption") && !why.contains("Some("), "{why}");
    let (_, command) =
        why.split_once("go on with that: ").unwrap_or_else(|| panic!("no line to type: {why}"));
    let command = command.lines().next().expect("one line");
    let herder = Path::new(env!("CARGO_BIN_EXE_herder")).parent().expect("a folder");
    let path = format!("{}:{}", herder.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new("sh").args(["-c", command]).env("PATH", path).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}\n{said}");
    let (journal, _) = Journal::open(&settings(home)).expect("opens");
    journal.load::<Agent>(&of("spark")).expect("loads").state.queue.len()
}

#[tokio::test]
async fn behind_a_damaged_page_every_task_is_brought_out_by_the_line_that_the_refusal_names() {
    let dir = left().await;
    let end = fs::read(dir.path().join("sled/db")).expect("reads");
    let end = end.iter().rposition(|byte| *byte != 0).expect("written");
    let mut refused = 0;
    for part in 1..20 {
        let broken = damaged(dir.path(), "sled/db", |bytes| bytes[end * part / 20] ^= 0x10);
        let Err(why) = reads(broken.path()) else { continue };
        refused += 1;
        assert_eq!(brought_back(broken.path(), &why), TASKS as usize, "{part} of 20");
    }
    assert!(refused > 0);
}

/// No page can be read, and there is no second copy of the newest events.
#[tokio::test]
async fn what_only_the_newest_daily_export_has_is_brought_out() {
    let dir = left().await;
    let home = dir.path();
    let exports = home.join("exports");
    fs::create_dir(&exports).expect("makes");
    let (journal, _) = Journal::open(&settings(home)).expect("opens");
    export(&journal, &exports.join("1970-01-11.jsonl.gz"), at()).await.expect("exports");
    journal.close().await;
    drop(journal);
    let db = home.join("sled/db");
    File::open(&db).and_then(|db| db.lock()).expect("sled lets go of it");
    let mut bytes = fs::read(&db).expect("reads");
    bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(&db, bytes).expect("writes");
    fs::remove_file(home.join("recent.jsonl")).expect("removes");
    let file = home.join("out.jsonl");
    let salvaged = salvage(&settings(home), Some(&file), at()).expect("reads");
    assert_eq!((salvaged.exported.events, salvaged.exported.lacks), (2 * TASKS + 1, vec![]));
}

#[tokio::test]
async fn damaged_settings_of_sled_cost_nothing() {
    let dir = left().await;
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
