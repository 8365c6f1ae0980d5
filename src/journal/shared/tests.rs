//! A writer and a reader of a log in memory, with real databases.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::super::layout::Tree;
use super::super::staging::Changes;
use super::super::{Batch, Entry, Journal, Memo, Settings, Stream, Write, export};
use super::chain::{ChainError, Read, Reading, cut};
use super::record::{Body, PART_MAX, Record, RecordError};
use super::*;
use crate::core::time::Timestamp;
use crate::journal::{CommitError, FleetEvent, History};

/// A log in memory, with the rules of its server.
#[derive(Clone, Default)]
struct InMemory(Arc<Mutex<Vec<Appended>>>);

/// A record with its id.
type Appended = (String, Vec<u8>);

impl InMemory {
    fn records(&self) -> Vec<(u64, Vec<u8>)> {
        (1..).zip(self.0.lock().unwrap().iter().map(|(_, bytes)| bytes.clone())).collect()
    }
}

impl Log for InMemory {
    fn append(&mut self, id: &str, record: &[u8], behind: u64) -> Result<u64, AppendError> {
        let mut records = self.0.lock().unwrap();
        if records.iter().any(|(known, _)| known == id) || behind != records.len() as u64 {
            return Err(AppendError::Deposed);
        }
        records.push((id.to_owned(), record.to_vec()));
        Ok(records.len() as u64)
    }
}

struct Machine {
    _folder: tempfile::TempDir,
    settings: Settings,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings =
            Settings { ballast: 0, ..Settings::new(folder.path().join("data"), History::default()) };
        Self { _folder: folder, settings }
    }

    fn replica(&self) -> Replica {
        Replica::open(&self.settings).unwrap()
    }

    /// Follows the log to its end.
    fn followed(&self, log: &InMemory) -> Replica {
        let mut replica = self.replica();
        let from = replica.position().seq;
        for (seq, bytes) in log.records().into_iter().filter(|(seq, _)| *seq > from) {
            replica.apply(seq, &bytes).unwrap();
        }
        replica
    }

    /// Comes into office.
    fn lead(&self, log: &InMemory, name: &str) -> Journal {
        let replica = self.followed(log);
        let (mut chain, built) = replica.claim(name, name, Timestamp::from_millis(1)).unwrap();
        let seq = log.clone().append(&built.id, &built.bytes, built.behind).unwrap();
        chain.appended(&built, seq);
        Journal::lead(replica, Box::new(log.clone()), chain).unwrap().0
    }

    async fn exported(&self, journal: &Journal) -> String {
        let file = self.settings.dir.join("export.jsonl");
        export(journal, &file, Timestamp::from_millis(5)).await.unwrap();
        std::fs::read_to_string(file).unwrap()
    }
}

fn batch(n: u64, size: usize) -> Batch {
    let version = format!("{n}-{}", "x".repeat(size));
    let entry = Entry::Fleet(FleetEvent::Started { version });
    Batch {
        at: Timestamp::from_millis(i64::try_from(n).unwrap()),
        writes: vec![Write { stream: Stream::Fleet, expected_rev: None, entries: vec![entry] }],
        memos: vec![Memo { key: format!("test/{}", n % 7), value: Some(n.to_string()) }],
        ..Batch::default()
    }
}

/// Returns an export without the lines that name its journal's place in the log.
fn content(export: &str) -> Vec<&str> {
    export.lines().skip(1).collect()
}

#[tokio::test]
async fn a_copy_that_follows_has_what_the_bot_in_office_has() {
    let (log, [first, second]) = (InMemory::default(), [Machine::new(), Machine::new()]);
    let journal = first.lead(&log, "box1");
    for n in 1..60 {
        // Some groups are cut into several records.
        journal.commit(batch(n, if n % 20 == 0 { 2 * PART_MAX } else { 10 })).await.unwrap();
    }
    journal.mark().await.unwrap();
    let led = first.exported(&journal).await;
    journal.close().await;
    drop(journal);

    let journal = second.lead(&log, "box2");
    assert_eq!(journal.id().len(), 16);
    let followed = second.exported(&journal).await;
    assert_eq!(content(&led), content(&followed));
}

#[tokio::test]
async fn whoever_is_deposed_acknowledges_nothing_more() {
    let (log, [first, second]) = (InMemory::default(), [Machine::new(), Machine::new()]);
    let old = first.lead(&log, "box1");
    old.commit(batch(1, 10)).await.unwrap();
    let new = second.lead(&log, "box2");
    assert!(matches!(old.commit(batch(2, 10)).await, Err(CommitError::Failed(_))));
    assert!(matches!(old.commit(batch(3, 10)).await, Err(CommitError::Failed(_))));
    new.commit(batch(4, 10)).await.unwrap();
    let text = second.exported(&new).await;
    for (n, is_there) in [(1, true), (2, false), (3, false), (4, true)] {
        assert_eq!(text.contains(&format!("\"{n}-xxx")), is_there, "{n}");
    }
}

#[tokio::test]
async fn a_group_whose_last_part_is_missing_does_not_count() {
    let (log, machine) = (InMemory::default(), Machine::new());
    let journal = machine.lead(&log, "box1");
    journal.commit(batch(1, 10)).await.unwrap();
    journal.commit(batch(2, 3 * PART_MAX)).await.unwrap();
    journal.close().await;
    drop(journal);
    // The bot died before the last part, and before it resigned.
    let kept = log.records().len() - 2;
    log.0.lock().unwrap().truncate(kept);
    let second = Machine::new();
    let mut replica = second.followed(&log);
    replica.sync().unwrap();
    assert!(replica.noted().seq < replica.position().seq, "it is read again from the group's beginning");
    drop(replica);
    let journal = second.lead(&log, "box2");
    let text = second.exported(&journal).await;
    assert!(text.contains("\"1-xxx") && !text.contains("\"2-xxx"));
}

#[tokio::test]
async fn a_new_machine_takes_a_copy_and_goes_on_from_its_place() {
    let (log, [first, second]) = (InMemory::default(), [Machine::new(), Machine::new()]);
    let journal = first.lead(&log, "box1");
    for n in 1..10 {
        journal.commit(batch(n, 10)).await.unwrap();
    }
    first.exported(&journal).await;
    let copy = first.settings.dir.join("copy.jsonl");
    std::fs::rename(first.settings.dir.join("export.jsonl"), &copy).unwrap();
    let place = place_of(&copy).unwrap().unwrap();
    assert_eq!(place.seq, log.records().len() as u64);
    journal.commit(batch(10, 10)).await.unwrap();
    let led = first.exported(&journal).await;

    assert!(Replica::is_empty(&second.settings.dir));
    Replica::import(&second.settings, &copy).unwrap();
    let replica = second.replica();
    assert_eq!(replica.position(), place);
    drop(replica);
    journal.close().await;
    drop(journal);
    let journal = second.lead(&log, "box2");
    assert_eq!(content(&led), content(&second.exported(&journal).await));
}

#[tokio::test]
async fn an_export_of_a_bot_alone_is_no_copy() {
    let machine = Machine::new();
    let (journal, _) = Journal::open(&machine.settings).unwrap();
    machine.exported(&journal).await;
    let copy = machine.settings.dir.join("export.jsonl");
    assert_eq!(place_of(&copy).unwrap(), None);
    let error = Replica::import(&Machine::new().settings, &copy).unwrap_err();
    insta::assert_snapshot!(error.to_string().split(": ").last().unwrap(), @"it names no place in the log, so that it is no copy of a journal in a cluster; nothing was imported");
}

#[test]
fn records_of_another_past_are_refused() {
    let (log, machine) = (InMemory::default(), Machine::new());
    drop(machine.lead(&log, "box1"));
    let records = log.records();
    assert_eq!(records.len(), 3, "it has come, named its version, and resigned");
    let read = |seq, bytes: &[u8], reading: &mut Reading| reading.read(seq, bytes).map(drop);
    let mut reading = Reading::new(Position::default(), None);
    assert_eq!(read(2, &records[1].1, &mut reading), Err(ChainError::Gap { expected: 1, found: 2 }));
    read(1, &records[0].1, &mut reading).unwrap();
    let mut other = Record::decode(&records[1].1).unwrap();
    other.before[0] ^= 1;
    assert_eq!(read(2, &other.encode(), &mut reading), Err(ChainError::OtherPast));
    let mut other = Record::decode(&records[1].1).unwrap();
    other.journal = "0123456789abcdef".to_owned();
    assert!(matches!(read(2, &other.encode(), &mut reading), Err(ChainError::OtherJournal { .. })));
    let mut other = Record::decode(&records[1].1).unwrap();
    other.number += 1;
    assert_eq!(read(2, &other.encode(), &mut reading), Err(ChainError::Number));
    read(2, &records[1].1, &mut reading).unwrap();
}

fn record(body: Body) -> Record {
    Record {
        journal: "00ff00ff00ff00ff".to_owned(),
        by: "box1".to_owned(),
        epoch: 3,
        number: 17,
        before: [7; 32],
        at: Timestamp::from_millis(1_764_547_200_123),
        body,
    }
}

#[test]
fn records_of_version_1_stay_readable() {
    let mut changes = Changes::default();
    changes.set(Tree::Events, b"key".as_slice(), b"value".as_slice());
    changes.memo(Memo { key: "gone".to_owned(), value: None });
    let bodies = [
        Body::Epoch { events: 9 },
        cut(&changes).remove(0),
        Body::Forget { upto: 8 },
        Body::Mark,
        Body::Resign,
    ];
    let written: Vec<String> =
        bodies.into_iter().map(|body| data_encoding::HEXLOWER.encode(&record(body).encode())).collect();
    let golden = include_str!("../../../tests/golden/log/v1/records.txt");
    assert_eq!(written, golden.lines().collect::<Vec<&str>>());
    for line in written {
        let bytes = data_encoding::HEXLOWER.decode(line.as_bytes()).unwrap();
        assert_eq!(Record::decode(&bytes).unwrap().encode(), bytes);
    }
    assert_eq!(Record::decode(&[2, 1]), Err(RecordError::Newer { found: 2 }));
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_a_record_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(record) = Record::decode(&bytes) {
            prop_assert_eq!(record.encode(), bytes.clone());
        }
        let whole = [&record(Body::Group { part: 1, parts: 1, bytes }).encode()[..]].concat();
        let mut reading = Reading::new(Position { seq: 4, epoch: 3, number: 16, hash: [7; 32] }, None);
        if let Ok((Read::Group(changes), _)) = reading.read(5, &whole) {
            prop_assert!(changes.0.iter().flatten().count() <= 300);
        }
    }

    #[test]
    fn changes_are_read_as_they_were_written(
        rows in proptest::collection::vec((0..7_usize, any::<Vec<u8>>(), any::<Option<Vec<u8>>>()), 0..20),
    ) {
        let mut changes = Changes::default();
        for (tree, key, value) in rows {
            changes.0[tree].push((key.into(), value.map(Into::into)));
        }
        let mut reading = Reading::new(Position::default(), None);
        let chain = Chain::after(Position::default(), "j", "b", "i");
        let mut before = chain.next(Timestamp::default(), Body::Epoch { events: 0 });
        let mut chain = chain;
        reading.read(1, &before.bytes).unwrap();
        chain.appended(&before, 1);
        let mut read = None;
        for (body, seq) in cut(&changes).into_iter().zip(2..) {
            before = chain.next(Timestamp::default(), body);
            chain.appended(&before, seq);
            if let Read::Group(group) = reading.read(seq, &before.bytes).unwrap().0 {
                read = Some(group);
            }
        }
        prop_assert_eq!(read.map(|it| it.0).unwrap_or_default(), changes.0);
    }
}
