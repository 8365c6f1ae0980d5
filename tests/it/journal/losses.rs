//! Files beside the database that are lost, gone or of another version: reported, while everything else continues.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use herder::core::agent::Agent;
use herder::core::id::NetworkName;
use herder::core::time::Timestamp;
use herder::journal::{
    Aside, Batch, Journal, Maintained, Settings, Snapshot, Span, Stream, export, import, listed,
};

use super::{added, audit, batch, of, post, queued, settings, write};

fn keeping(dir: &Path, keep_events: u64) -> Settings {
    let mut settings = settings(dir);
    settings.history.keep_events = keep_events;
    settings
}

fn at_day(day: i64) -> Timestamp {
    Timestamp::from_seconds(day * 24 * 3600)
}

async fn filled(journal: &Journal, commits: u64) {
    for n in 0..commits {
        let it = vec![
            write(of("spark"), None, vec![queued(n + 1, "work")]),
            write(Stream::Audit, None, vec![audit("a")]),
        ];
        journal.commit(batch(it)).await.expect("commits");
    }
}

async fn maintained(journal: &Journal, day: i64) -> Maintained {
    journal.maintain(at_day(day)).await.expect("maintains")
}

fn archives(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir.join("archive"))
        .expect("reads")
        .map(|entry| entry.expect("reads").path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("makes");
    for entry in fs::read_dir(from).expect("reads") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("reads");
        match path.is_dir() {
            true => copied(&path, &to.join(name)),
            false => assert!(fs::copy(&path, to.join(name)).is_ok(), "{}", path.display()),
        }
    }
}

/// Runs `herder` on a data folder.
fn herder(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herder"));
    command.arg("--data-dir").arg(dir).args(arguments).current_dir(dir).env_remove("RUST_LOG");
    command.output().expect("it runs")
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the last seq of a journal.
fn last_seq(journal: &Journal) -> u64 {
    let streams = [Stream::Fleet, Stream::Audit, of("spark")];
    let last = |stream: &Stream| journal.history(stream, 1, None).expect("reads").last().map(|it| it.seq);
    streams.iter().filter_map(last).max().unwrap_or_default()
}

#[tokio::test]
async fn an_old_database_beside_newer_archives_keeps_all_it_has_and_uses_no_number_twice() {
    let (dir, backup) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let settings = keeping(dir.path(), 40);
    let (journal, _) = Journal::open(&settings).expect("opens");
    filled(&journal, 60).await;
    maintained(&journal, 1).await;
    filled(&journal, 5).await;
    journal.close().await;
    drop(journal);
    copied(&dir.path().join("sled"), &backup.path().join("sled"));
    fs::copy(dir.path().join("acked"), backup.path().join("acked")).expect("copies");
    let (journal, _) = Journal::open(&settings).expect("opens");
    let before = journal.history(&of("spark"), usize::MAX, None).expect("reads");
    assert_eq!((before.len(), last_seq(&journal)), (65, 130));
    filled(&journal, 100).await;
    maintained(&journal, 2).await;
    assert_eq!((archives(dir.path()).len(), last_seq(&journal)), (2, 330));
    journal.close().await;
    drop(journal);

    // As a restore does that removes nothing.
    fs::remove_dir_all(dir.path().join("sled")).expect("removes");
    copied(&backup.path().join("sled"), &dir.path().join("sled"));
    fs::copy(backup.path().join("acked"), dir.path().join("acked")).expect("copies");
    let newer = archives(dir.path()).pop().expect("one");
    let name = newer.file_name().expect("a name").to_owned();
    let aside = Aside {
        folder: dir.path().join("archive/aside-1").display().to_string(),
        events: Span { first: 81, last: 290 },
        ends: 130,
    };
    for cut in [false, true] {
        let (journal, opening) = Journal::open(&settings).expect("opens");
        assert_eq!(opening.aside.as_ref(), Some(&aside), "as long as nobody was told");
        assert_eq!(journal.history(&of("spark"), usize::MAX, None).expect("reads"), before);
        drop(journal);
        if !cut {
            // Killed before it was moved.
            fs::rename(dir.path().join("archive/aside-1").join(&name), &newer).expect("moves");
        }
    }
    let output = herder(dir.path(), &["export", "-o", "all.jsonl"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(complained(&output).contains("the database ends at event 130"), "{output:?}");

    let (journal, _) = Journal::open(&settings).expect("opens");
    let told = Batch { memos: vec![Journal::told_aside()], ..batch(Vec::new()) };
    journal.commit(told).await.expect("commits");
    filled(&journal, 60).await;
    assert_eq!(last_seq(&journal), 290 + 120);
    for day in [3, 4] {
        assert_eq!(maintained(&journal, day).await.lacks, []);
    }
    journal.close().await;
    drop(journal);
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert_eq!((opening.aside, opening.missing), (None, vec![]));
    let after = journal.history(&of("spark"), usize::MAX, None).expect("reads");
    assert_eq!((&after[..65], after.len()), (&before[..], 125));
    assert_eq!(journal.load::<Agent>(&of("spark")).expect("loads").missing, 0);
    let exported = export(&journal, &dir.path().join("now.jsonl"), at_day(5)).await.expect("exports");
    assert_eq!((exported.events, exported.lacks), (250, vec![]));
    let home = dir.path().join("home");
    assert_eq!(import(&keeping(&home, 40), &dir.path().join("now.jsonl")).expect("imports").lacks, []);
    let (restored, opening) = Journal::open(&keeping(&home, 40)).expect("opens");
    assert_eq!(
        (opening.aside, restored.history(&of("spark"), usize::MAX, None).expect("reads")),
        (None, after)
    );
    assert!(dir.path().join("archive/aside-1").join(name).exists(), "nothing is removed");
}

#[tokio::test]
async fn an_archive_of_another_history_takes_nothing_out_of_the_database() {
    let dir = tempfile::tempdir().expect("a folder");
    let [one, other] = [dir.path().join("one"), dir.path().join("other")];
    let file = dir.path().join("begin.jsonl");
    let (journal, _) = Journal::open(&settings(&one)).expect("opens");
    filled(&journal, 10).await;
    export(&journal, &file, at_day(1)).await.expect("exports");
    drop(journal);
    import(&settings(&other), &file).expect("imports");
    // Both go on with the same numbers, one with other words.
    for (home, text) in [(&one, "here"), (&other, "there")] {
        let (journal, _) = Journal::open(&keeping(home, 40)).expect("opens");
        for n in 0..90 {
            let it = vec![write(of("spark"), None, vec![queued(n, text)])];
            journal.commit(batch(it)).await.expect("commits");
        }
        if home == &one {
            assert_eq!(maintained(&journal, 1).await.archived, 70);
        }
    }
    fs::create_dir(other.join("archive")).expect("makes");
    for archive in archives(&one) {
        fs::copy(&archive, other.join("archive").join(archive.file_name().expect("a name"))).expect("copies");
    }
    // Put there while herder runs: nothing is taken out, and that is said.
    let (journal, opening) = Journal::open(&settings(&other)).expect("opens");
    let before = journal.history(&of("spark"), usize::MAX, None).expect("reads");
    let aside = opening.aside.expect("it is set aside");
    assert_eq!((aside.events, aside.ends), (Span { first: 1, last: 70 }, 110));
    let back = archives(Path::new(&aside.folder).parent().expect("a folder").parent().expect("a folder"));
    assert_eq!(back, Vec::<PathBuf>::new());
    for entry in fs::read_dir(&aside.folder).expect("reads") {
        let entry = entry.expect("reads");
        fs::rename(entry.path(), other.join("archive").join(entry.file_name())).expect("moves");
    }
    let error = journal.maintain(at_day(2)).await.expect_err("it does not fit");
    assert!(error.to_string().contains("of another history"), "{error}");
    assert_eq!(journal.history(&of("spark"), usize::MAX, None).expect("reads"), before);
}

#[tokio::test]
async fn a_missing_archive_is_said_and_no_whole_export_goes_for_one_that_lacks_its_events() {
    let (dir, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut settings = keeping(dir.path(), 40);
    settings.history.daily_export = true;
    settings.history.export_copy = Some(elsewhere.path().to_owned());
    let (journal, _) = Journal::open(&settings).expect("opens");
    for day in 1..=3 {
        filled(&journal, 60).await;
        assert_eq!(maintained(&journal, day).await.lacks, []);
    }
    let gone = archives(dir.path());
    assert_eq!(gone.len(), 3);
    fs::remove_file(&gone[1]).expect("removes");
    let lacks = vec![Span { first: 81, last: 200 }];
    for day in 4..=20 {
        let done = maintained(&journal, day).await;
        assert_eq!((&done.lacks, done.exported.expect("written").lacks), (&lacks, lacks.clone()));
        assert_eq!(maintained(&journal, day).await.lacks, lacks, "also when nothing is written");
    }
    for place in [&dir.path().join("exports"), elsewhere.path()] {
        let mut names: Vec<_> = fs::read_dir(place)
            .expect("reads")
            .map(|entry| entry.expect("reads").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        let days = ["02", "03", "04"].map(|day| format!("1970-01-{day}.jsonl.gz"));
        let poor = ["20", "21"].map(|day| format!("1970-01-{day}-lacking.jsonl.gz"));
        assert_eq!(names, [&days[..], &poor[..]].concat(), "{}", place.display());
    }
    journal.close().await;
    drop(journal);
    let output = herder(dir.path(), &["export", "-o", "all.jsonl"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(complained(&output).contains("the export lacks events 81-200"), "{output:?}");
    let home = dir.path().join("home");
    let imported = import(&keeping(&home, 40), &dir.path().join("all.jsonl")).expect("imports");
    assert_eq!((imported.events, listed(&imported.lacks)), (240, "81-200".to_owned()));
    // It continues without them, and no longer misses them.
    let (journal, opening) = Journal::open(&keeping(&home, 40)).expect("opens");
    assert_eq!((opening.missing, opening.aside), (vec![], None));
    filled(&journal, 60).await;
    assert_eq!(maintained(&journal, 21).await.lacks, []);
    let exported = export(&journal, &dir.path().join("again.jsonl"), at_day(21)).await.expect("exports");
    assert_eq!((exported.events, exported.lacks), (360, vec![]));
}

#[tokio::test]
async fn a_flipped_bit_in_one_archive_costs_an_export_no_more_than_that_archive() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = keeping(dir.path(), 40);
    let (journal, _) = Journal::open(&settings).expect("opens");
    for day in 1..=3 {
        filled(&journal, 60).await;
        maintained(&journal, day).await;
    }
    let damaged = archives(dir.path()).remove(1);
    let whole = fs::read(&damaged).expect("reads");
    for part in 1..10 {
        let mut bytes = whole.clone();
        bytes[whole.len() * part / 10] ^= 1;
        fs::write(&damaged, bytes).expect("writes");
        let file = dir.path().join("all.jsonl");
        let exported = export(&journal, &file, at_day(4)).await.expect("exports");
        let lost: u64 = exported.lacks.iter().map(|span| span.last - span.first + 1).sum();
        assert_eq!(exported.events + lost, 360, "{exported:?}");
        assert!(exported.lacks.iter().all(|span| (81..=200).contains(&span.first) && span.last <= 200));
        assert!(lost > 0, "a flipped bit is never passed over");
        let home = dir.path().join(format!("home-{part}"));
        assert_eq!(import(&super::settings(&home), &file).expect("imports").lacks, exported.lacks);
    }
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

/// Changes the stored texts of a tree that contain `what`.
fn rewrite(dir: &Path, tree: &str, what: &str, into: &str) {
    let db = database(dir);
    let tree = db.open_tree(tree).expect("opens");
    for row in tree.iter() {
        let (key, value) = row.expect("reads");
        let text = String::from_utf8_lossy(&value);
        if text.contains(what) {
            tree.insert(key, text.replace(what, into).as_bytes()).expect("writes");
        }
    }
    db.flush().expect("writes");
}

#[tokio::test]
async fn a_post_and_an_entry_of_the_fleet_from_a_newer_herder_are_kept_and_left_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let home = dir.path().join("home");
    let newer = Settings { version: "9.1.0".into(), ..settings(&home) };
    let (journal, _) = Journal::open(&newer).expect("opens");
    let libera = NetworkName::from("libera");
    let mut first =
        batch(vec![write(Stream::Fleet, None, vec![added("spark"), added("ember"), added("flint")])]);
    first.posts = ["one", "unheard-of", "newer", "nothing", "last"].map(|text| post("libera", text)).into();
    journal.commit(first).await.expect("commits");
    journal.close().await;
    drop(journal);
    rewrite(
        &home,
        "events",
        "\"type\":\"agent-added\",\"agent\":\"ember\"",
        "\"type\":\"agent-cloned\",\"agent\":\"ember\"",
    );
    rewrite(&home, "outbox", "\"text\":\"unheard-of\"", "\"sung\":\"unheard-of\"");
    rewrite(
        &home,
        "outbox",
        "\"body\":{\"agent\":{\"agent\":\"spark\",\"text\":\"newer\"",
        "\"body\":{\"choir\":{\"agent\":\"spark\",\"text\":\"newer\"",
    );

    let read = async |home: &Path| {
        let (journal, opening) = Journal::open(&settings(home)).expect("opens");
        assert_eq!(opening.missing, []);
        let fleet = journal.load_fleet().expect("it starts");
        let roster: Vec<String> = fleet.state.roster.iter().map(ToString::to_string).collect();
        assert_eq!((roster, fleet.rev, fleet.missing), (vec!["flint".to_owned(), "spark".into()], 3, 0));
        let owed = journal.undelivered(&libera).expect("reads");
        assert_eq!(owed.iter().map(|post| post.id.0).collect::<Vec<_>>(), [1, 4, 5]);
        let unreadable = journal.unreadable();
        assert_eq!((unreadable.events.len(), unreadable.posts.len()), (1, 2));
        assert_eq!(unreadable.version.as_deref(), Some("9.1.0"));
        // A snapshot that lacks an unreadable event is not written over it.
        let state = serde_json::to_vec(&fleet.state).expect("JSON");
        let snapshots = vec![Snapshot { stream: Stream::Fleet, rev: 3, state }];
        journal.commit(Batch { snapshots, ..batch(Vec::new()) }).await.expect("commits");
        journal
    };
    let journal = read(&home).await;
    let [a, b] = [dir.path().join("a.jsonl"), dir.path().join("b.jsonl")];
    assert_eq!(export(&journal, &a, at_day(1)).await.expect("exports").posts, 5);
    let copy = dir.path().join("copy");
    assert_eq!(import(&settings(&copy), &a).expect("imports").unreadable, 3);
    let journal = read(&copy).await;
    export(&journal, &b, at_day(1)).await.expect("exports");
    assert_eq!(fs::read_to_string(a).expect("reads"), fs::read_to_string(&b).expect("reads"));
    journal.close().await;
    drop(journal);

    // The newer herder, as it was before the downgrade.
    rewrite(&copy, "events", "agent-cloned", "agent-added");
    rewrite(&copy, "outbox", "\"sung\"", "\"text\"");
    rewrite(&copy, "outbox", "\"choir\"", "\"agent\"");
    let (journal, _) = Journal::open(&settings(&copy)).expect("opens");
    assert_eq!(journal.load_fleet().expect("loads").state.roster.len(), 3);
    assert_eq!(journal.undelivered(&libera).expect("reads").len(), 5);
    assert_eq!(journal.unreadable(), herder::journal::Unreadable::default());
}
