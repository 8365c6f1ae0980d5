//! Committing, conflicts, reopening, the outbox.

use std::sync::{Arc, Mutex};

use herder::core::id::{NetworkName, PostId};
use herder::core::notice::Notice;
use herder::core::post::{Body, Post};
use herder::core::time::Timestamp;
use herder::journal::{
    Batch, CommitError, Confirmed, FleetState, Journal, MEMO_MAX, Memo, OpenError, PostSink, Snapshot, Stream,
};

use super::{added, agent, audit, batch, post, settings, write};

#[derive(Default)]
struct Sink(Mutex<Vec<u64>>);

impl PostSink for Sink {
    fn accept(&self, posts: Vec<Post>) {
        self.0.lock().expect("not poisoned").extend(posts.iter().map(|post| post.id.0));
    }
}

#[tokio::test]
async fn what_was_committed_is_there_after_reopening() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert!(opening.fresh);
    let id = journal.id().to_owned();
    let big = "x".repeat(200_000);
    let mut first = batch(vec![
        write(Stream::Fleet, Some(0), vec![added("spark"), added("ember")]),
        write(Stream::Audit, None, vec![audit(&big)]),
    ]);
    first.posts = vec![post("libera", &big), post("oftc", "b"), post("libera", "c")];
    let receipt = journal.commit(first).await.expect("commits");
    assert_eq!(receipt.revs, [2, 1]);
    assert_eq!(receipt.posts.iter().map(|post| post.id.0).collect::<Vec<_>>(), [1, 2, 3]);
    drop(journal);

    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert!(!opening.fresh && opening.missing.is_empty() && !opening.repaired);
    assert_eq!(opening.last_commit, Some(Timestamp::from_millis(1_000)));
    assert_eq!(journal.id(), id);
    let fleet = journal.load::<FleetState>(&Stream::Fleet).expect("loads");
    assert_eq!((fleet.rev, fleet.missing), (2, 0));
    assert_eq!(fleet.state.roster.len(), 2);
    let history = journal.history(&Stream::Audit, 10, None).expect("reads");
    assert_eq!((history[0].seq, history[0].rev, &history[0].entry), (3, 1, &audit(&big)));
    let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads");
    assert_eq!(owed.iter().map(|post| post.id.0).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(owed[0].body, Body::Agent { agent: agent("spark"), text: big, is_result: false });
}

#[tokio::test]
async fn a_post_whose_beginning_was_said_otherwise_is_not_said_from_its_beginning_after_reopening() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let (journal, _) = Journal::open(&settings).expect("opens");
    let rest = Body::Kept(vec!["one".to_owned(), "two".to_owned()]);
    let posts = vec![Post { body: rest, confirmed_lines: 1, ..post("libera", "") }, post("libera", "whole")];
    journal.commit(Batch { posts, ..batch(Vec::new()) }).await.expect("commits");
    drop(journal);

    let (journal, _) = Journal::open(&settings).expect("opens");
    let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads");
    assert_eq!(owed.iter().map(|post| post.confirmed_lines).collect::<Vec<_>>(), [1, 0]);
    // Later deliveries of its lines are counted from there.
    let lines = Confirmed { network: NetworkName::from("libera"), post: PostId(1), lines: None };
    journal.confirm(vec![lines]).await.expect("confirms");
    let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads");
    assert_eq!(owed.iter().map(|post| post.id).collect::<Vec<_>>(), [PostId(2)]);
}

#[tokio::test]
async fn nothing_goes_into_files_that_sled_never_syncs() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let big = "x".repeat(100_000);
    for rev in 0..20 {
        let mut it = batch(vec![write(Stream::Audit, None, vec![audit(&big), audit(&big[..7_000])])]);
        it.posts = vec![post("libera", &big)];
        it.writes.push(write(Stream::Fleet, Some(rev), vec![added("spark")]));
        it.snapshots =
            vec![Snapshot { stream: Stream::Fleet, rev: rev + 1, state: big.clone().into_bytes() }];
        journal.commit(it).await.expect("commits");
    }
    drop(journal);
    let blobs = std::fs::read_dir(dir.path().join("sled/blobs")).map_or(0, Iterator::count);
    assert_eq!(blobs, 0);
}

#[tokio::test]
async fn a_conflict_stores_nothing_of_its_batch_and_leaves_no_gap() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    // All are queued before the writer can answer the first, so that they share groups.
    let tickets: Vec<_> = (0..64_u64)
        .map(|n| {
            let journal = journal.clone();
            tokio::spawn(async move {
                let wrong = n % 2 == 1;
                let mut it = batch(vec![
                    write(Stream::Audit, None, vec![audit("a"), audit("b")]),
                    write(Stream::Fleet, wrong.then_some(999), vec![added("spark")]),
                ]);
                it.posts = vec![post("libera", "x")];
                (wrong, journal.commit(it).await)
            })
        })
        .collect();
    for ticket in tickets {
        let (wrong, result) = ticket.await.expect("ran");
        assert_eq!(matches!(result, Err(CommitError::Conflict { expected: 999, .. })), wrong, "{result:?}");
    }
    let audit = journal.history(&Stream::Audit, 1000, None).expect("reads");
    assert_eq!(audit.iter().map(|it| it.rev).collect::<Vec<_>>(), (1..=64).collect::<Vec<_>>());
    let mut seqs: Vec<u64> = audit.iter().map(|it| it.seq).collect();
    seqs.extend(journal.history(&Stream::Fleet, 1000, None).expect("reads").iter().map(|it| it.seq));
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=96).collect::<Vec<_>>());
    let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads");
    assert_eq!(owed.iter().map(|post| post.id.0).collect::<Vec<_>>(), (1..=32).collect::<Vec<_>>());
}

#[tokio::test]
async fn posts_reach_the_sink_in_commit_order_and_leave_when_confirmed() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let (journal, _) = Journal::open(&settings).expect("opens");
    let sink = Arc::new(Sink::default());
    journal.deliver_to(sink.clone());
    let mut it = batch(vec![]);
    it.posts = vec![post("libera", "a"), post("libera", &"b".repeat(100_000)), post("libera", "c")];
    it.posts.push(Post { body: Body::Lines(vec!["not stored".into()]), ..post("libera", "") });
    it.posts.push(Post { body: Body::Notice(Notice::ShuttingDown), ..post("oftc", "") });
    journal.commit(it).await.expect("commits");
    assert_eq!(*sink.0.lock().expect("not poisoned"), [1, 2, 3, 0, 4]);
    let libera = NetworkName::from("libera");
    let confirmed = |post, lines| Confirmed { network: libera.clone(), post: PostId(post), lines };
    journal
        .confirm(vec![confirmed(1, None), confirmed(2, Some(7)), confirmed(99, Some(1)), confirmed(98, None)])
        .await
        .expect("confirms");
    drop(journal);
    let (journal, _) = Journal::open(&settings).expect("opens");
    let owed = journal.undelivered(&libera).expect("reads");
    let seen: Vec<_> = owed.iter().map(|post| (post.id.0, post.confirmed_lines)).collect();
    assert_eq!(seen, [(2, 7), (3, 0)]);
    journal.confirm(vec![confirmed(2, None), confirmed(3, None)]).await.expect("confirms");
    assert!(journal.undelivered(&libera).expect("reads").is_empty());
    let receipt =
        journal.commit(Batch { posts: vec![post("libera", "d")], ..batch(vec![]) }).await.expect("commits");
    assert_eq!(receipt.posts[0].id, PostId(5), "ids are not used twice");
}

#[tokio::test]
async fn memos_are_found_again_by_the_beginning_of_their_key() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let (journal, _) = Journal::open(&settings).expect("opens");
    let memo = |key: &str, value: Option<&str>| Memo { key: key.into(), value: value.map(str::to_owned) };
    let first = vec![memo("discord/a", Some("1")), memo("discord/b", Some("2")), memo("other/a", Some("3"))];
    journal.remember(first).await.expect("remembers");
    journal.remember(vec![memo("discord/a", None), memo("discord/b", Some("4"))]).await.expect("remembers");
    let long = "x".repeat(MEMO_MAX + 1);
    let refused = journal.remember(vec![memo("discord/c", Some(&long))]).await;
    assert!(matches!(refused, Err(CommitError::Invalid(_))), "{refused:?}");
    drop(journal);
    let (journal, _) = Journal::open(&settings).expect("opens");
    assert_eq!(journal.memos("discord/").expect("reads"), [("discord/b".to_owned(), "4".to_owned())]);
    assert_eq!(journal.memos("").expect("reads").len(), 2);
}

#[tokio::test]
async fn a_snapshot_is_asked_for_and_then_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let (journal, _) = Journal::open(&settings).expect("opens");
    let mut due_at = None;
    for n in 1..=300 {
        let it = batch(vec![
            write(Stream::Fleet, None, vec![added("spark")]),
            write(Stream::Audit, None, vec![audit("")]),
        ]);
        if journal.commit(it).await.expect("commits").snapshot_due {
            due_at.get_or_insert(n);
        }
    }
    assert_eq!(due_at, Some(32));
    // A state that no entry tells of shows that it was the snapshot that was read.
    let mut state = FleetState::default();
    state.removed.insert(agent("ghost"));
    let snapshot = |rev, state: &FleetState| Snapshot {
        stream: Stream::Fleet,
        rev,
        state: serde_json::to_vec(state).expect("JSON"),
    };
    let too_new = Batch { snapshots: vec![snapshot(301, &state)], ..batch(vec![]) };
    assert!(matches!(journal.commit(too_new).await, Err(CommitError::Invalid(_))));
    let it = Batch {
        snapshots: vec![snapshot(300, &state)],
        ..batch(vec![write(Stream::Fleet, None, vec![added("ember")])])
    };
    assert!(!journal.commit(it).await.expect("commits").snapshot_due);
    drop(journal);
    let (journal, _) = Journal::open(&settings).expect("opens");
    let loaded = journal.load::<FleetState>(&Stream::Fleet).expect("loads");
    assert_eq!((loaded.rev, loaded.missing), (301, 0));
    state.roster.insert(agent("ember"));
    assert_eq!(loaded.state, state);
}

#[tokio::test]
async fn a_second_herder_is_refused_and_told_who_holds_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let (_journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let error = Journal::open(&settings(dir.path())).expect_err("held");
    assert!(matches!(error, OpenError::Held { .. }));
    let text = error.to_string();
    assert!(text.contains(&format!("process id {} on ", std::process::id())), "{text}");
    assert!(text.contains("running since 20"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_journal_is_opened_again_although_a_task_reads_a_moment_longer() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let (reader, (reads, read)) = (journal.clone(), std::sync::mpsc::channel::<()>());
    let reading = std::thread::spawn(move || {
        // No message comes: it ends when the other side is gone, or after a while.
        let _ = read.recv_timeout(std::time::Duration::from_millis(200));
        drop(reader);
    });
    journal.close().await;
    drop(journal);
    Journal::open(&settings(dir.path())).expect("opens");
    drop(reads);
    reading.join().expect("it ends");
}

#[tokio::test]
async fn a_sign_of_life_is_one_value_that_is_overwritten() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let (journal, _) = Journal::open(&settings).expect("opens");
    for minute in 1..=9 {
        journal.live(Timestamp::from_millis(minute * 60_000)).await.expect("it is noted");
    }
    drop(journal);
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert_eq!(opening.last_commit, Some(Timestamp::from_millis(540_000)));
    assert_eq!(journal.load::<FleetState>(&Stream::Fleet).expect("loads").rev, 0, "it is no event");
}
