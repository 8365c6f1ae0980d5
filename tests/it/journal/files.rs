//! Damage: torn snapshots, cut and flipped logs, a database that is gone, one from the future.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use herder::config::History;
use herder::core::agent::Agent;
use herder::core::id::NetworkName;
use herder::core::time::Timestamp;
use herder::journal::{Journal, Missing, OpenError, Recorded, Stream, export, import};

use super::{added, audit, batch, of, post, queued, settings, write};

/// Returns a folder as it is after `kill -9`: the log and what was acknowledged, without sled's snapshots.
async fn killed(commits: u64) -> tempfile::TempDir {
    let (dir, copy) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    for n in 1..=commits {
        let mut it = batch(vec![
            write(of("spark"), Some(n - 1), vec![queued(n, &"x".repeat(500))]),
            write(Stream::Audit, None, vec![audit("a")]),
        ]);
        it.posts = vec![post("libera", "p")];
        journal.commit(it).await.expect("commits");
    }
    fs::create_dir(copy.path().join("sled")).expect("makes");
    for name in ["acked", "sled/db", "sled/conf"] {
        fs::copy(dir.path().join(name), copy.path().join(name)).expect("copies");
    }
    copy
}

fn snapshots(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir.join("sled")).expect("reads");
    let paths = entries.map(|entry| entry.expect("reads").path());
    paths
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("snap.")))
        .collect()
}

#[tokio::test]
async fn a_torn_snapshot_is_moved_away_and_nothing_is_lost() {
    let dir = killed(300).await;
    drop(Journal::open(&settings(dir.path())).expect("opens"));
    let snapshots = snapshots(dir.path());
    assert!(!snapshots.is_empty(), "a close leaves one");
    for snapshot in snapshots {
        let bytes = fs::read(&snapshot).expect("reads");
        fs::write(&snapshot, &bytes[..bytes.len() / 2]).expect("writes");
    }
    let (journal, opening) = Journal::open(&settings(dir.path())).expect("opens");
    assert!(opening.repaired && opening.missing.is_empty(), "{opening:?}");
    assert_eq!(journal.load::<Agent>(&of("spark")).expect("loads").rev, 300);
    assert_eq!(journal.undelivered(&NetworkName::from("libera")).expect("reads").len(), 300);
}

#[tokio::test]
async fn a_cut_log_is_opened_and_what_is_missing_is_said_until_the_next_commit() {
    let dir = killed(300).await;
    let log = dir.path().join("sled/db");
    // sled has room ahead at the end of the file; the cut goes into what was written last.
    let bytes = fs::read(&log).expect("reads");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("written");
    fs::write(&log, &bytes[..end - 20_000]).expect("writes");
    for _ in 0..2 {
        let (journal, opening) = Journal::open(&settings(dir.path())).expect("opens");
        let found = journal.load::<Agent>(&of("spark")).expect("loads").rev;
        assert!(found < 300, "{found}");
        let missing = |stream: Stream, found| Missing { stream, expected: 300, found };
        assert_eq!(opening.missing, [missing(of("spark"), found), missing(Stream::Audit, found)]);
    }
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    journal.commit(batch(vec![write(Stream::Fleet, None, vec![added("spark")])])).await.expect("commits");
    drop(journal);
    let (_, opening) = Journal::open(&settings(dir.path())).expect("opens");
    assert_eq!(opening.missing, []);
}

#[tokio::test]
async fn a_database_that_is_gone_or_empty_is_not_made_anew() {
    let dir = killed(3).await;
    fs::write(dir.path().join("sled/db"), b"").expect("writes");
    let error = Journal::open(&settings(dir.path())).expect_err("empty");
    assert!(matches!(error, OpenError::Vanished { .. }), "{error}");
    fs::remove_dir_all(dir.path().join("sled")).expect("removes");
    let error = Journal::open(&settings(dir.path())).expect_err("gone");
    assert!(error.to_string().contains("There is no daily export in its folder"), "{error}");
    let exports = dir.path().join("exports");
    fs::create_dir(&exports).expect("makes");
    for day in ["2026-11-20", "2026-11-21"] {
        fs::write(exports.join(format!("{day}.jsonl.gz")), b"").expect("writes");
    }
    let text = Journal::open(&settings(dir.path())).expect_err("gone").to_string();
    assert!(text.contains("herder import") && text.contains("2026-11-21.jsonl.gz"), "{text}");
    assert!(!dir.path().join("sled").exists(), "a refusal leaves the folder as it was");
}

#[tokio::test]
async fn flipped_bits_never_crash_and_what_they_cost_is_said() {
    let dir = killed(200).await;
    let whole = fs::read(dir.path().join("sled/db")).expect("reads");
    let acked = fs::read(dir.path().join("acked")).expect("reads");
    let end = whole.iter().rposition(|byte| *byte != 0).expect("written");
    for seed in 0..24_usize {
        let broken = tempfile::tempdir().expect("a folder");
        fs::create_dir(broken.path().join("sled")).expect("makes");
        fs::copy(dir.path().join("sled/conf"), broken.path().join("sled/conf")).expect("copies");
        fs::write(broken.path().join("acked"), &acked).expect("writes");
        let mut bytes = whole.clone();
        bytes[end * (2 * seed + 1) / 48] ^= 1 << (seed % 8);
        fs::write(broken.path().join("sled/db"), bytes).expect("writes");
        let (journal, opening) = match Journal::open(&settings(broken.path())) {
            Ok(opened) => opened,
            Err(error) => {
                assert!(error.to_string().contains("herder import"), "{error}");
                continue;
            }
        };
        let Ok(loaded) = journal.load::<Agent>(&of("spark")) else { continue };
        let whole = loaded.rev == 200 && loaded.missing == 0;
        let said = !opening.missing.is_empty() || loaded.missing > 0;
        assert!(whole || said, "seed {seed}: {opening:?}");
    }
}

#[tokio::test]
async fn a_newer_format_is_refused_with_a_sentence() {
    let dir = killed(3).await;
    {
        let db = sled::open(dir.path().join("sled")).expect("opens");
        let meta = db.open_tree("meta").expect("opens");
        let text = meta.get("journal").expect("reads").expect("there");
        let newer = String::from_utf8_lossy(&text).replace("\"format\":1", "\"format\":2");
        meta.insert("journal", newer.as_bytes()).expect("writes");
        db.flush().expect("writes");
    }
    let error = Journal::open(&settings(dir.path())).expect_err("newer");
    assert!(error.to_string().contains("has format 2 and this herder reads up to 1"), "{error}");
}

#[tokio::test]
async fn an_entry_from_the_future_is_an_error_and_not_a_guess() {
    let dir = killed(3).await;
    {
        let db = sled::open(dir.path().join("sled")).expect("opens");
        let events = db.open_tree("events").expect("opens");
        let (key, text) = events.first().expect("reads").expect("there");
        let newer = String::from_utf8_lossy(&text).replace("{\"v\":1,", "{\"v\":2,");
        events.insert(key, newer.as_bytes()).expect("writes");
        db.flush().expect("writes");
    }
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let error = journal.load::<Agent>(&of("spark")).expect_err("newer");
    assert_eq!(
        error.to_string(),
        "event 1 cannot be read: it has encoding 2 and this herder reads up to 1; start the newer herder again"
    );
}

/// Returns the database of a journal that is closed.
fn database(dir: &Path) -> sled::Db {
    loop {
        // sled's own threads hold it a moment longer than its last handle.
        if let Ok(db) = sled::open(dir.join("sled")) {
            return db;
        }
        std::thread::yield_now();
    }
}

/// A stored text as another herder, or a damaged disk, would have it.
type Rewritten = fn(&str) -> Vec<u8>;

/// Changes the stored texts of some events.
fn rewrite(dir: &Path, texts: &[(u64, Rewritten)]) {
    let db = database(dir);
    let events = db.open_tree("events").expect("opens");
    for (seq, rewritten) in texts {
        let text = events.get(seq.to_be_bytes()).expect("reads").expect("there");
        events.insert(seq.to_be_bytes(), rewritten(&String::from_utf8_lossy(&text))).expect("writes");
    }
    db.flush().expect("writes");
}

fn newer(text: &str) -> Vec<u8> {
    text.replace("{\"v\":1,", "{\"v\":2,").into_bytes()
}

/// Returns the text without its first piece, so that the rest begins within a letter.
fn beheaded(text: &str) -> Vec<u8> {
    [b"\xa9".as_slice(), &text.as_bytes()[text.len() / 2..]].concat()
}

#[tokio::test]
async fn entries_that_cannot_be_read_hold_up_neither_upkeep_nor_other_streams() {
    let a_day = Duration::from_secs(24 * 3600);
    for (keep_events, keep, archived) in [(20, a_day * 365, 222), (1_000, a_day, 242)] {
        let dir = killed(100).await;
        rewrite(dir.path(), &[(1, newer), (2, newer), (3, beheaded), (8, beheaded)]);
        let mut settings = settings(dir.path());
        settings.history = History { keep_events, keep, daily_export: true, ..settings.history };
        let (journal, opening) = Journal::open(&settings).expect("opens");
        assert_eq!(opening.missing, []);
        journal.commit(batch(vec![write(Stream::Fleet, None, vec![added("flint")])])).await.expect("commits");
        for n in 1..=41 {
            journal
                .commit(batch(vec![write(of("flint"), None, vec![queued(n, "x")])]))
                .await
                .expect("commits");
        }
        let flint = |journal: &Journal| {
            let history = journal.history(&of("flint"), usize::MAX, None).expect("reads");
            (history, journal.load::<Agent>(&of("flint")).expect("loads"))
        };
        let before = flint(&journal);
        let now = Timestamp::from_seconds(10 * 24 * 3600);
        let done = journal.maintain(now).await.expect("maintains");
        assert_eq!((done.archived, journal.maintain(now).await.expect("maintains").archived), (archived, 0));
        assert_eq!(flint(&journal), before);
        let error = journal.load::<Agent>(&of("spark")).expect_err("newer");
        assert!(error.to_string().contains("encoding 2"), "{error}");
        drop(journal);
        {
            let db = database(dir.path());
            let left = ["events", "index"].map(|tree| db.open_tree(tree).expect("opens").len());
            assert_eq!(
                left,
                [usize::try_from(242 - archived).expect("few"); 2],
                "nothing is left of the archived"
            );
            // From here on states are built out of the archives alone.
            db.open_tree("snapshots").expect("opens").clear().expect("clears");
            db.flush().expect("writes");
        }
        let (journal, _) = Journal::open(&settings).expect("opens");
        assert_eq!(flint(&journal), before);
        drop(journal);
        let home = dir.path().join("home");
        let file = done.exported.expect("written").file;
        let imported = import(&super::settings(&home), &file).expect("imports");
        assert_eq!((imported.events, imported.unreadable), (242, 4));
        let (journal, opening) = Journal::open(&super::settings(&home)).expect("opens");
        assert_eq!((flint(&journal), opening.missing), (before, vec![]));
        let again = dir.path().join("again.jsonl");
        export(&journal, &again, now).await.expect("exports");
        let text = fs::read_to_string(&again).expect("reads");
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
        assert_eq!(text.matches("{\"v\":2,").count(), 2, "what cannot be read is kept as it is");
    }
}

#[tokio::test]
async fn looking_back_goes_past_what_cannot_be_read_and_counts_it() {
    // In the database, and in an archive; there it is known by its revision if even its head is lost.
    for keep_events in [1_000, 20] {
        let dir = killed(100).await;
        rewrite(dir.path(), &[(2, newer), (8, beheaded), (7, newer), (199, newer)]);
        let mut settings = settings(dir.path());
        settings.history = History { keep_events, ..settings.history };
        let (journal, _) = Journal::open(&settings).expect("opens");
        journal.maintain(Timestamp::from_seconds(10 * 24 * 3600)).await.expect("maintains");
        for (stream, lost) in [(of("spark"), [4, 100]), (Stream::Audit, [1, 4])] {
            let take = |found: &mut Vec<u64>, recorded: Recorded| {
                found.push(recorded.rev);
                ControlFlow::Continue(())
            };
            let looked = journal.look_back(stream.clone(), Vec::new(), take).await.expect("reads");
            let others: Vec<u64> = (1..=100).rev().filter(|rev| !lost.contains(rev)).collect();
            assert_eq!(looked.gathered, others, "{stream}");
            assert_eq!((looked.unreadable, looked.whole), (2, true), "{stream}");
            let history = journal.history(&stream, usize::MAX, None).expect("reads");
            assert_eq!(history.len(), others.len(), "{stream}");
        }
    }
}

#[tokio::test]
async fn looking_back_goes_past_what_is_lost_and_counts_it() {
    let dir = killed(100).await;
    {
        let db = database(dir.path());
        let events = db.open_tree("events").expect("opens");
        // One in the midst of the audit trail, and its last one.
        for seq in [100_u64, 200] {
            assert!(events.remove(seq.to_be_bytes()).expect("removes").is_some());
        }
        db.flush().expect("writes");
    }
    let mut settings = settings(dir.path());
    settings.history = History { keep_events: 20, ..settings.history };
    let look = async || {
        let (journal, _) = Journal::open(&settings).expect("opens");
        let take = |found: &mut Vec<u64>, recorded: Recorded| {
            found.push(recorded.rev);
            ControlFlow::Continue(())
        };
        let looked = journal.look_back(Stream::Audit, Vec::new(), take).await.expect("reads");
        let history = journal.history(&Stream::Audit, usize::MAX, None).expect("reads");
        assert!(history.iter().rev().map(|recorded| recorded.rev).eq(looked.gathered.iter().copied()));
        (journal, looked)
    };
    let (journal, looked) = look().await;
    let others: Vec<u64> = (1..=99).rev().filter(|rev| *rev != 50).collect();
    assert_eq!((&looked.gathered, looked.unreadable, looked.whole), (&others, 2, true));
    journal.maintain(Timestamp::from_seconds(10 * 24 * 3600)).await.expect("maintains");
    drop(journal);
    let (journal, looked) = look().await;
    assert_eq!((&looked.gathered, looked.unreadable, looked.whole), (&others, 2, true));
    drop(journal);

    // An archive that ends too early, and one of which nothing is left.
    let archive =
        fs::read_dir(dir.path().join("archive")).expect("lists").next().expect("one").expect("a name");
    let whole = fs::read(archive.path()).expect("reads");
    fs::write(archive.path(), &whole[..whole.len() / 2]).expect("writes");
    let (journal, looked) = look().await;
    let kept = looked.gathered.len() as u64;
    assert!(looked.gathered.starts_with(&others[..9]) && looked.gathered.ends_with(&[2, 1]), "{looked:?}");
    assert_eq!((kept + looked.unreadable, looked.whole), (100, true));
    assert!(kept < 98, "some of it is lost");
    drop(journal);
    fs::write(archive.path(), b"no archive").expect("writes");
    let (_journal, looked) = look().await;
    assert_eq!((looked.gathered.as_slice(), looked.unreadable, looked.whole), (&others[..9], 2, false));
}

#[tokio::test]
async fn the_advice_after_damage_can_be_carried_out_word_for_word() {
    let dir = tempfile::tempdir().expect("a folder");
    let home = dir.path().join("ann's data");
    let mut settings = settings(&home);
    settings.history.daily_export = true;
    let exports = home.join("exports");
    fs::create_dir_all(&exports).expect("makes");
    fs::create_dir(home.join("homes")).expect("makes");
    // Before the first of the dates, after the last, and between them.
    let mine =
        ["1969-before.jsonl.gz", "before-upgrade.jsonl.gz", "1970-01-05-mine.jsonl.gz", ".mine.jsonl.gz.tmp"];
    let (journal, _) = Journal::open(&super::settings(&home)).expect("opens");
    journal.commit(batch(vec![write(of("spark"), None, vec![queued(1, "x")])])).await.expect("commits");
    journal.close().await;
    drop(journal);
    for name in mine {
        fs::write(exports.join(name), "mine").expect("writes");
    }
    let (journal, _) = Journal::open(&settings).expect("opens");
    for day in 1..=10 {
        let now = Timestamp::from_seconds(day * 24 * 3600);
        assert!(journal.maintain(now).await.expect("maintains").exported.is_some());
    }
    journal.close().await;
    drop(journal);
    assert_eq!(fs::read_dir(&exports).expect("reads").count(), mine.len() + 7);

    fs::rename(home.join("sled"), dir.path().join("lost")).expect("moves");
    fs::create_dir(home.join("sled")).expect("makes");
    fs::write(home.join("sled/db"), b"").expect("writes");
    let text = Journal::open(&settings).expect_err("empty").to_string();
    let (_, command) = text.split_once("the newest daily export: ").expect("one is named");
    assert!(command.contains("1970-01-11.jsonl.gz"), "{command}");
    let herder = Path::new(env!("CARGO_BIN_EXE_herder")).parent().expect("a folder");
    let path = format!("{}:{}", herder.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new("sh").args(["-c", command]).env("PATH", path).output().expect("runs");
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert_eq!(opening.missing, []);
    assert_eq!(journal.load::<Agent>(&of("spark")).expect("loads").rev, 1);
    assert!(home.join("homes").is_dir(), "what is not the journal's stays where it is");
    for name in mine {
        assert_eq!(fs::read(home.join("damaged-1/exports").join(name)).expect("kept"), b"mine");
    }
}
