//! Tests of a damaged page that makes sled panic: the caller gets an error, and everything that does not need the page works.

use std::path::Path;

use crate::core::id::{NetworkName, PostId};
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::journal::History;

use super::table::DAMAGED;
use super::writer::{ForgetError, Job};
use super::{
    AuditEntry, Batch, CommitError, Confirmed, Entry, ExportError, Journal, MaintainError, ReadError,
    Settings, Stream, Write,
};

fn open(dir: &Path, history: History) -> Journal {
    let settings = Settings { ballast: 0, ..Settings::new(dir, history) };
    Journal::open(&settings).expect("it opens").0
}

fn audit(text: &str) -> Batch {
    let (by, place, verb) = (Actor::herder(), "local".to_owned(), "status".to_owned());
    let entry = AuditEntry { by, place, agent: None, verb, text: text.to_owned() };
    let writes =
        vec![Write { stream: Stream::Audit, expected_rev: None, entries: vec![Entry::Audit(entry)] }];
    Batch { writes, ..Batch::default() }
}

fn said(text: &str) -> Batch {
    let post = Post {
        id: PostId::default(),
        network: NetworkName::from("net"),
        to: Target::Control,
        lane: Lane::Normal,
        at: Timestamp::default(),
        body: Body::Kept(vec![text.to_owned()]),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    };
    Batch { posts: vec![post], ..Batch::default() }
}

#[tokio::test]
async fn what_cannot_be_written_for_it_ends_the_journal_and_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = open(dir.path(), History::default());
    let posts = journal.commit(said(DAMAGED)).await.expect("it is written").posts;
    let arrived = Confirmed { network: NetworkName::from("net"), post: posts[0].id, lines: None };
    let failed = |done: Result<(), CommitError>| match done {
        Err(CommitError::Failed(reason)) => assert!(reason.contains("a page is damaged"), "{reason}"),
        other => panic!("{other:?}"),
    };
    failed(journal.confirm(vec![arrived]).await);
    assert!(journal.failed().borrow().is_some(), "whoever waits for that hears of it");
    failed(journal.commit(audit("after")).await.map(drop));
}

#[tokio::test]
async fn upkeep_fails_with_a_reason_as_often_as_it_meets_it_and_all_else_goes_on() {
    let damaged = |done: Result<_, MaintainError>| match done {
        Err(
            MaintainError::Read(ReadError::Damaged(reason))
            | MaintainError::Export(ExportError::Read(ReadError::Refused { cause: reason, .. })),
        ) => assert!(reason.contains("a page is damaged"), "{reason}"),
        other => panic!("{other:?}"),
    };
    let exporting = (History { daily_export: true, ..History::default() }, said(DAMAGED));
    let archiving = (History { daily_export: false, keep_events: 1, ..History::default() }, audit(DAMAGED));
    for (history, batch) in [exporting, archiving] {
        let dir = tempfile::tempdir().expect("a folder");
        let journal = open(dir.path(), history);
        journal.commit(batch).await.expect("it is written");
        for n in 0..3 {
            journal.commit(audit(&n.to_string())).await.expect("it is written");
        }
        for _ in 0..2 {
            damaged(journal.maintain(Timestamp::from_seconds(1_800_000_000)).await);
        }
        assert_eq!(*journal.failed().borrow(), None);
        journal.commit(audit("after")).await.expect("herder goes on");
        journal.close().await;
    }
}

#[tokio::test]
async fn events_that_cannot_be_taken_out_stay_and_cost_their_group_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = open(dir.path(), History::default());
    for text in ["before", DAMAGED] {
        journal.commit(audit(text)).await.expect("it is written");
    }
    let forget = journal.ask(|done| Job::Forget(2, done));
    let (forgotten, written) = tokio::join!(forget, journal.commit(audit("after")));
    assert!(matches!(forgotten, Ok(Err(ForgetError::Read(ReadError::Damaged(_))))), "{forgotten:?}");
    written.expect("it is written");
    assert_eq!(journal.reader().first_seq().expect("it can be read"), Some(1), "nothing is taken out");
    journal.close().await;
}
