//! Retention, history across archives, export and import.

use std::fs;
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::config::History;
use herder::core::agent::Agent;
use herder::core::id::{NetworkName, PostId};
use herder::core::time::Timestamp;
use herder::journal::{
    Batch, Confirmed, Filter, FleetState, Followed, ImportError, Imported, Journal, Memo, OpenError, Reach,
    Recorded, Settings, Stream, export, import,
};

use crate::slow_archive::SlowArchive;

use super::{added, audit, batch, cleared, of, post, queued, revs, settings, write};

const DAY: i64 = 24 * 3600 * 1000;

fn keeping(dir: &Path, keep_events: u64) -> Settings {
    let mut settings = settings(dir);
    settings.history.keep_events = keep_events;
    settings
}

fn at_day(day: i64) -> Timestamp {
    Timestamp::from_millis(day * DAY + 1)
}

/// Two agents, the fleet and the audit trail, some posts, one of them large, one confirmed in part.
async fn filled(journal: &Journal, commits: u64) {
    for n in 1..=commits {
        let agent = if n.is_multiple_of(2) { "spark" } else { "ember" };
        let entry = if n.is_multiple_of(7) { cleared(&[n - 2, n - 4]) } else { queued(n, "work \"é\"\n") };
        let mut it = batch(vec![
            write(of(agent), None, vec![entry]),
            write(Stream::Audit, None, vec![audit(if n == 5 { "x" } else { "y" })]),
        ]);
        it.at = at_day(i64::try_from(n).expect("small"));
        if n == 1 {
            it.writes.push(write(Stream::Fleet, None, vec![added("spark"), added("ember")]));
        }
        if n.is_multiple_of(10) {
            it.posts = vec![post("libera", &"p".repeat(100_000)), post("oftc", "q")];
        }
        journal.commit(it).await.expect("commits");
    }
    let libera = NetworkName::from("libera");
    let confirmed = Confirmed { network: libera, post: PostId(1), lines: Some(3) };
    journal.confirm(vec![confirmed]).await.expect("confirms");
}

/// Everything that can be asked of a journal.
#[derive(Debug, PartialEq)]
struct Everything {
    history: Vec<Vec<Recorded>>,
    agents: Vec<Agent>,
    fleet: FleetState,
    posts: Vec<herder::core::post::Post>,
    id: String,
}

fn everything(journal: &Journal) -> Everything {
    let streams = [Stream::Fleet, Stream::Audit, of("spark"), of("ember")];
    let networks = ["libera", "oftc"].map(NetworkName::from);
    Everything {
        history: streams
            .iter()
            .map(|stream| journal.history(stream, usize::MAX, None).expect("reads"))
            .collect(),
        agents: streams[2..].iter().map(|stream| journal.load(stream).expect("loads").state).collect(),
        fleet: journal.load(&Stream::Fleet).expect("loads").state,
        posts: networks.iter().flat_map(|network| journal.undelivered(network).expect("reads")).collect(),
        id: journal.id().to_owned(),
    }
}

fn archive_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir.join("archive"))
        .expect("archives")
        .map(|entry| entry.expect("reads").path())
        .collect();
    files.sort();
    files
}

fn archives(dir: &Path) -> usize {
    fs::read_dir(dir.join("archive")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn what_moves_to_archives_is_still_in_every_answer() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = keeping(dir.path(), 40);
    let (journal, _) = Journal::open(&settings).expect("opens");
    filled(&journal, 100).await;
    let before = everything(&journal);
    let done = journal.maintain(at_day(101)).await.expect("maintains");
    assert_eq!((done.archived, archives(dir.path())), (162, 1), "202 events, 40 stay");
    assert_eq!(everything(&journal), before);
    assert_eq!(journal.maintain(at_day(101)).await.expect("maintains").archived, 0);
    filled(&journal, 30).await;
    let before = everything(&journal);
    assert!(journal.maintain(at_day(101)).await.expect("maintains").archived > 0);
    assert_eq!((everything(&journal), archives(dir.path())), (before, 2));
    drop(journal);
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert!(opening.missing.is_empty() && !opening.fresh, "{opening:?}");
    // A page at a time, out of both archives and the database.
    let mut pages = Vec::new();
    let mut before = None;
    loop {
        let page = journal.history(&Stream::Audit, 7, before).expect("reads");
        let Some(first) = page.first() else { break };
        before = Some(first.rev);
        pages.splice(0..0, revs(&page));
    }
    assert_eq!(pages, (1..=130).collect::<Vec<_>>());
}

#[tokio::test]
async fn looking_back_gives_the_same_as_the_history_and_stops_when_it_is_told_to() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&keeping(dir.path(), 40)).expect("opens");
    for _ in 0..3 {
        filled(&journal, 60).await;
        journal.maintain(at_day(101)).await.expect("maintains");
    }
    assert_eq!(archives(dir.path()), 3);
    for stream in [Stream::Audit, Stream::Fleet, of("spark"), of("nobody")] {
        let all = journal.history(&stream, usize::MAX, None).expect("reads");
        assert_eq!(journal.latest(stream.clone(), usize::MAX).await.expect("reads"), all, "{stream}");
        for limit in [1, 30, 100] {
            let last = all[all.len().saturating_sub(limit)..].to_vec();
            assert_eq!(journal.latest(stream.clone(), limit).await.expect("reads"), last, "{stream} {limit}");
        }
    }
}

#[tokio::test]
async fn pieces_read_backwards_have_every_entry_once_and_end_where_they_say() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&keeping(dir.path(), 40)).expect("opens");
    for _ in 0..3 {
        filled(&journal, 60).await;
        journal.maintain(at_day(101)).await.expect("maintains");
    }
    assert_eq!(archives(dir.path()), 3);
    let of_stream = |stream: Stream| journal.history(&stream, usize::MAX, None).expect("reads");
    let mut all: Vec<Recorded> =
        [Stream::Audit, Stream::Fleet, of("spark"), of("ember")].into_iter().flat_map(of_stream).collect();
    all.sort_by_key(|recorded| recorded.seq);
    for stream in [None, Some(Stream::Audit), Some(Stream::Fleet), Some(of("spark")), Some(of("nobody"))] {
        let wanted: Vec<&Recorded> =
            all.iter().rev().filter(|it| stream.as_ref().is_none_or(|stream| it.stream == *stream)).collect();
        for (entries, files) in [(1, 1), (7, 1), (1_000, 1), (50, 2), (1_000, 10)] {
            let reach = Reach { entries, files };
            let (mut before, mut found, mut pieces) = (u64::MAX, Vec::new(), 0);
            loop {
                let take = |found: &mut Vec<Recorded>, recorded| {
                    found.push(recorded);
                    ControlFlow::Continue(())
                };
                let from = (stream.clone(), before);
                let piece = journal.look_back_from(from, reach, Vec::new(), take).await.expect("reads");
                assert!(piece.gathered.len() <= entries, "{stream:?} {reach:?}");
                assert_eq!(piece.unreadable, 0);
                pieces += 1;
                found.extend(piece.gathered);
                match piece.next {
                    Some(next) => assert!(next < before, "{stream:?} {reach:?}: {next} after {before}"),
                    None => break,
                }
                before = piece.next.unwrap_or_default();
            }
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{stream:?} {reach:?}");
            // Each piece has as much as it may have; one more may find that there is nothing left.
            assert!(
                pieces <= wanted.len() / entries + 3 / files + 2,
                "{stream:?} {reach:?}: {pieces} pieces"
            );
        }
    }
    // Without archives it ends where the database does.
    let take = |count: &mut usize, _| {
        *count += 1;
        ControlFlow::Continue(())
    };
    let reach = Reach { entries: 1_000, files: 0 };
    let piece = journal.look_back_from((None, u64::MAX), reach, 0, take).await.expect("reads");
    assert!(piece.gathered < 50 && piece.next.is_some(), "{piece:?}");
}

#[tokio::test]
async fn looking_back_says_whether_it_came_to_the_beginning() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&keeping(dir.path(), 4)).expect("opens");
    let look = async |stop_at: u64| {
        let looked = journal.look_back(Stream::Audit, 0, move |last, recorded| {
            *last = recorded.rev;
            if recorded.rev == stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let looked = looked.await.expect("reads");
        (looked.gathered, looked.whole)
    };
    assert_eq!(look(0).await, (0, true), "there is nothing");
    for made in 1..=12 {
        filled(&journal, 10).await;
        journal.maintain(at_day(101)).await.expect("maintains");
        assert_eq!(archives(dir.path()), made);
        // Ten archives are read for one question.
        let (oldest, whole) = look(0).await;
        assert_eq!(whole, made <= 10, "{made}");
        assert_eq!(oldest == 1, whole, "{made}: {oldest}");
    }
    assert_eq!(look(119).await, (119, false), "in the database");
    assert_eq!(look(100).await, (100, false), "in an archive");
}

#[test]
fn archives_that_take_long_leave_threads_for_everything_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let threads = 4;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(threads)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (journal, _) = Journal::open(&keeping(dir.path(), 40)).expect("opens");
        filled(&journal, 60).await;
        journal.maintain(at_day(101)).await.expect("maintains");
        let mut slow = SlowArchive::in_place(&dir.path().join("archive"));
        let looks: Vec<_> = (0..threads * 2)
            .map(|_| {
                let journal = journal.clone();
                tokio::spawn(async move { journal.latest(Stream::Audit, usize::MAX).await })
            })
            .collect();
        slow.is_read().await;
        let others = async {
            for _ in 0..threads * 2 {
                tokio::task::spawn_blocking(|| ()).await.expect("runs");
            }
            journal.latest(Stream::Audit, 3).await.expect("reads").len()
        };
        let others = tokio::time::timeout(Duration::from_secs(20), others).await;
        let waiting = looks.iter().filter(|look| !look.is_finished()).count();
        slow.release(|| looks.iter().all(tokio::task::JoinHandle::is_finished)).await;
        assert_eq!((others.ok(), waiting), (Some(3), threads * 2));
    });
}

#[tokio::test]
async fn old_events_are_archived_by_age_and_an_agent_at_rest_gets_its_snapshot() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut settings = settings(dir.path());
    settings.history =
        History { keep: Duration::from_secs(30 * 24 * 3600), daily_export: false, ..settings.history };
    let (journal, _) = Journal::open(&settings).expect("opens");
    filled(&journal, 100).await;
    assert_eq!(journal.maintain(at_day(30)).await.expect("maintains").archived, 0);
    let before = everything(&journal);
    // Days 1 to 70 are older than 30 days on day 101: two events each, and two of the fleet.
    assert_eq!(journal.maintain(at_day(101)).await.expect("maintains").archived, 142);
    assert_eq!(everything(&journal), before);
}

#[tokio::test]
async fn an_archive_whose_events_were_not_yet_forgotten_is_counted_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let copy = tempfile::tempdir().expect("a folder");
    let settings = keeping(dir.path(), 40);
    let (journal, _) = Journal::open(&settings).expect("opens");
    filled(&journal, 100).await;
    let before = everything(&journal);
    // Killed between the archive and the transaction that forgets: the old database beside the new archive.
    let exported = copy.path().join("all.jsonl");
    export(&journal, &exported, at_day(101)).await.expect("exports");
    journal.maintain(at_day(101)).await.expect("maintains");
    drop(journal);
    let home = copy.path().join("home");
    import(&keeping(&home, 40), &exported).expect("imports");
    fs::create_dir(home.join("archive")).expect("makes");
    for entry in fs::read_dir(dir.path().join("archive")).expect("reads") {
        let entry = entry.expect("reads");
        fs::copy(entry.path(), home.join("archive").join(entry.file_name())).expect("copies");
    }
    let (journal, _) = Journal::open(&keeping(&home, 40)).expect("opens");
    assert_eq!(everything(&journal), before);
    journal.maintain(at_day(101)).await.expect("maintains");
    assert_eq!((everything(&journal), archives(&home)), (before, 1));
}

#[tokio::test]
async fn an_export_becomes_the_same_journal_again() {
    for (keep, name) in [(1_000, "all.jsonl"), (40, "all.jsonl.gz")] {
        let dir = tempfile::tempdir().expect("a folder");
        let (journal, _) = Journal::open(&keeping(dir.path(), keep)).expect("opens");
        filled(&journal, 100).await;
        journal.maintain(at_day(101)).await.expect("maintains");
        let memo = Memo { key: "discord/channel/work".to_owned(), value: Some("{}".to_owned()) };
        journal.remember(vec![memo]).await.expect("remembers");
        let before = everything(&journal);
        let fresh = journal.fresh_work_id();
        let file = dir.path().join(name);
        let exported = export(&journal, &file, at_day(101)).await.expect("exports");
        assert_eq!((exported.events, exported.posts), (202, 20));
        let home = dir.path().join("home");
        let imported = import(&keeping(&home, keep), &file).expect("imports");
        assert_eq!(imported, Imported { events: 202, streams: 4, posts: 20, unreadable: 0, lacks: vec![] });
        let (restored, opening) = Journal::open(&keeping(&home, keep)).expect("opens");
        assert!(!opening.fresh && opening.missing.is_empty(), "{opening:?}");
        assert_eq!(everything(&restored), before);
        assert_eq!(restored.memos("").expect("reads"), journal.memos("").expect("reads"));
        assert_eq!(restored.memos("").expect("reads").len(), 1);
        assert_eq!(restored.fresh_work_id(), fresh);
        assert_eq!(archives(&home), archives(dir.path()));
        // Both go on with the same numbers, and a second export is the first but for that.
        for journal in [&journal, &restored] {
            let it = Batch {
                posts: vec![post("libera", "x")],
                ..batch(vec![write(of("spark"), Some(50), vec![queued(1, "")])])
            };
            let receipt = journal.commit(it).await.expect("commits");
            assert_eq!((receipt.revs, receipt.posts[0].id), (vec![51], PostId(21)));
        }
        let [a, b] = [dir.path().join("a.jsonl"), dir.path().join("b.jsonl")];
        export(&journal, &a, at_day(102)).await.expect("exports");
        export(&restored, &b, at_day(102)).await.expect("exports");
        assert!(fs::read(a).expect("reads") == fs::read(b).expect("reads"), "the exports differ");
    }
}

#[tokio::test]
async fn a_damaged_export_is_refused_by_line_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    filled(&journal, 20).await;
    let file = dir.path().join("all.jsonl");
    export(&journal, &file, at_day(21)).await.expect("exports");
    let text = fs::read_to_string(&file).expect("reads");
    let lines: Vec<&str> = text.lines().collect();
    let home = dir.path().join("home");
    let refused = |text: String| -> String {
        fs::write(&file, text).expect("writes");
        let error = import(&settings(&home), &file).expect_err("damaged");
        assert!(!home.exists(), "nothing is made");
        error.to_string().replace(&*dir.path().to_string_lossy(), "…")
    };
    insta::assert_snapshot!(refused(text.replacen("\"verb\":\"pause\"", "\"verb\":\"abort\"", 1)), @"line 3 of …/all.jsonl: its checksum does not match: it was damaged or changed by hand; nothing was imported");
    insta::assert_snapshot!(refused(lines[..9].join("\n") + "\n"), @"…/all.jsonl ends after line 9 without its last line, so a part is missing; nothing was imported");
    insta::assert_snapshot!(refused(text[..text.len() - 9].to_owned()), @"…/all.jsonl ends after line 54 without its last line, so a part is missing; nothing was imported");
    let without: Vec<&str> =
        lines.iter().enumerate().filter(|(n, _)| *n != 4).map(|(_, line)| *line).collect();
    insta::assert_snapshot!(refused(without.join("\n") + "\n"), @"line 54 of …/all.jsonl: it closes 54 lines; there are 53; nothing was imported");
    insta::assert_snapshot!(refused("hello\n".to_owned()), @"line 1 of …/all.jsonl: it is not a line of a herder export; nothing was imported");
    insta::assert_snapshot!(refused(lines[1..].join("\n") + "\n"), @"line 1 of …/all.jsonl: it is not the first line of a herder export; nothing was imported");
    insta::assert_snapshot!(refused(String::new()), @"…/all.jsonl ends after line 0 without its last line, so a part is missing; nothing was imported");

    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).expect("compresses");
    let gz = gz.finish().expect("compresses");
    fs::write(&file, &gz[..gz.len() / 2]).expect("writes");
    let error = import(&settings(&home), &file).expect_err("cut");
    assert!(matches!(error, ImportError::Truncated { .. }), "{error}");
}

#[tokio::test]
async fn import_wants_a_folder_without_a_journal() {
    let dir = tempfile::tempdir().expect("a folder");
    let home = dir.path().join("home");
    let (journal, _) = Journal::open(&settings(&home)).expect("opens");
    filled(&journal, 3).await;
    let file = dir.path().join("all.jsonl.gz");
    export(&journal, &file, at_day(4)).await.expect("exports");
    assert!(matches!(import(&settings(&home), &file), Err(ImportError::Open(OpenError::Held { .. }))));
    drop(journal);
    assert!(matches!(import(&settings(&home), &file), Err(ImportError::NotEmpty(_))));
    fs::remove_dir_all(home.join("sled")).expect("removes");
    assert!(matches!(import(&settings(&home), &file), Err(ImportError::NotEmpty(_))), "it held one before");
    // One that was cut: it says so, and the next one takes its place.
    fs::remove_dir_all(&home).expect("removes");
    fs::create_dir_all(home.join("importing/sled")).expect("makes");
    fs::create_dir_all(home.join("archive")).expect("makes");
    fs::write(home.join("archive/000000000001-000000000002.jsonl.gz"), b"").expect("writes");
    assert!(matches!(Journal::open(&settings(&home)), Err(OpenError::Unfinished { .. })));
    import(&settings(&home), &file).expect("imports");
    let (journal, _) = Journal::open(&settings(&home)).expect("opens");
    assert_eq!(journal.history(&Stream::Audit, 9, None).expect("reads").len(), 3);
    drop(journal);
    // One that was cut after its last step has nothing left to do.
    fs::create_dir_all(home.join("importing")).expect("makes");
    let (journal, _) = Journal::open(&settings(&home)).expect("opens");
    assert_eq!(journal.history(&Stream::Audit, 9, None).expect("reads").len(), 3);
    assert!(!home.join("importing").exists());
}

#[tokio::test]
async fn upkeep_that_would_fill_the_disk_is_left_out_until_there_is_room() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut settings = keeping(dir.path(), 40);
    settings.history.daily_export = true;
    let exports = || -> Vec<String> {
        let entries = fs::read_dir(dir.path().join("exports")).expect("reads");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("reads").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    };
    let (journal, _) = Journal::open(&settings).expect("opens");
    filled(&journal, 10).await;
    journal.maintain(at_day(1)).await.expect("maintains");
    assert_eq!(exports(), ["1970-01-02.jsonl.gz"]);
    filled(&journal, 90).await;
    journal.close().await;
    drop(journal);

    let keep_free = settings.history.warn_free;
    settings.history.warn_free = u64::MAX / 2;
    let (journal, _) = Journal::open(&settings).expect("opens");
    for day in 2..20 {
        let done = journal.maintain(at_day(day)).await.expect("maintains");
        assert_eq!((done.archived, done.exported), (0, None));
        let short = done.no_room.expect("there is no room");
        assert!(short.needed > settings.history.warn_free && short.free < short.needed, "{short:?}");
    }
    assert_eq!((exports(), archives(dir.path())), (vec!["1970-01-02.jsonl.gz".to_owned()], 0));
    journal.close().await;
    drop(journal);

    // A herder that was killed while it wrote one.
    fs::write(dir.path().join("exports/.1970-01-03.jsonl.gz.tmp"), "half").expect("writes");
    settings.history.warn_free = keep_free;
    let (journal, _) = Journal::open(&settings).expect("opens");
    let done = journal.maintain(at_day(20)).await.expect("maintains");
    assert!(done.archived > 0 && done.exported.is_some() && done.no_room.is_none(), "{done:?}");
    assert_eq!(exports(), ["1970-01-02.jsonl.gz", "1970-01-21.jsonl.gz"]);
}

#[tokio::test]
async fn a_daily_export_is_written_once_a_day_and_seven_are_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut settings = settings(dir.path());
    settings.history.daily_export = true;
    let (journal, _) = Journal::open(&settings).expect("opens");
    filled(&journal, 3).await;
    for day in 0..10 {
        let first = journal.maintain(at_day(20_000 + day)).await.expect("maintains").exported;
        assert_eq!(first.expect("written").events, 8);
        assert_eq!(journal.maintain(at_day(20_000 + day)).await.expect("maintains").exported, None);
    }
    let mut names: Vec<String> = fs::read_dir(dir.path().join("exports"))
        .expect("reads")
        .map(|entry| entry.expect("reads").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 7);
    assert_eq!((&*names[0], &*names[6]), ("2024-10-07.jsonl.gz", "2024-10-13.jsonl.gz"));
    let mut text = String::new();
    let newest = fs::File::open(dir.path().join("exports").join(&names[6])).expect("opens");
    flate2::read::GzDecoder::new(newest).read_to_string(&mut text).expect("reads");
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

/// All that a follower finds from behind `after`, as numbers; of a gap its last one, below zero.
async fn followed(journal: &Journal, after: u64, limit: usize) -> Vec<i64> {
    let mut follower = journal.follow(after, Filter::default());
    let mut found = Vec::new();
    loop {
        let page = follower.page(limit).await.expect("reads");
        assert!(page.steps.len() <= limit.max(1) + 1, "{}", page.steps.len());
        found.extend(page.steps.iter().map(|step| match step {
            Followed::Event(recorded) => recorded.seq.cast_signed(),
            Followed::Gap(span) => -span.last.cast_signed(),
        }));
        if page.is_end {
            assert_eq!(page.upto, journal.end());
            return found;
        }
    }
}

#[tokio::test]
async fn a_follower_finds_everything_once_out_of_archives_and_the_database() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&keeping(dir.path(), 40)).expect("opens");
    for _ in 0..3 {
        filled(&journal, 60).await;
        journal.maintain(at_day(101)).await.expect("maintains");
    }
    assert_eq!(archives(dir.path()), 3);
    let end = journal.end().cast_signed();
    for limit in [1, 7, 100, 1000] {
        for after in [0, 1, 59, 60, 100, end - 1, end] {
            let found = followed(&journal, after.cast_unsigned(), limit).await;
            assert_eq!(found, (after + 1..=end).collect::<Vec<_>>(), "{limit} from {after}");
        }
    }
    // While it is on its way, what it has not read yet goes to an archive.
    let mut follower = journal.follow(0, Filter::default());
    let mut found = Vec::new();
    for _ in 0..4 {
        filled(&journal, 60).await;
        let page = follower.page(50).await.expect("reads");
        found.extend(page.steps);
        journal.maintain(at_day(101)).await.expect("maintains");
    }
    while let page = follower.page(50).await.expect("reads")
        && !page.steps.is_empty()
    {
        found.extend(page.steps);
    }
    let seqs: Vec<u64> = found
        .iter()
        .map(|step| match step {
            Followed::Event(recorded) => recorded.seq,
            Followed::Gap(span) => panic!("{span} is missing"),
        })
        .collect();
    assert_eq!(seqs, (1..=journal.end()).collect::<Vec<_>>());
    // Only one stream.
    let only = Filter { streams: Some([of("spark")].into()), kinds: None };
    let page = journal.follow(0, only).page(usize::MAX).await.expect("reads");
    let all = journal.history(&of("spark"), usize::MAX, None).expect("reads");
    let found: Vec<_> = page
        .steps
        .into_iter()
        .map(|step| match step {
            Followed::Event(recorded) => *recorded,
            Followed::Gap(span) => panic!("{span} is missing"),
        })
        .collect();
    assert_eq!(found, all);
}

#[tokio::test]
async fn a_follower_says_what_is_missing_and_waits_for_what_comes() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&keeping(dir.path(), 40)).expect("opens");
    for _ in 0..3 {
        filled(&journal, 60).await;
        journal.maintain(at_day(101)).await.expect("maintains");
    }
    let files = archive_files(dir.path());
    // The first is gone, the second ends in the middle.
    std::fs::remove_file(&files[0]).expect("removed");
    let bytes = std::fs::read(&files[1]).expect("reads");
    std::fs::write(&files[1], &bytes[..bytes.len() / 2]).expect("written");
    let found = followed(&journal, 0, 1000).await;
    let end = journal.end().cast_signed();
    assert!(found[0] < 0 && found.iter().filter(|seq| **seq < 0).count() <= 2, "{found:?}");
    assert_eq!(found.last(), Some(&end));
    let mut at = 0;
    for seq in found {
        // A gap ends where it says, and an event follows on the one before.
        assert!(if seq < 0 { -seq > at } else { seq == at + 1 }, "{seq} after {at}");
        at = seq.abs();
    }
    let mut follower = journal.follow(journal.end(), Filter::default());
    assert!(follower.page(10).await.expect("reads").is_end);
    let waiting = follower.grows();
    tokio::pin!(waiting);
    assert!(futures_util::FutureExt::now_or_never(waiting.as_mut()).is_none(), "there is nothing to come");
    filled(&journal, 1).await;
    assert!(waiting.await);
}
