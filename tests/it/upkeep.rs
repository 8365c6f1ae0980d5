//! Upkeep that cannot do its work: people are told, and everything else continues.

use std::fs;

use herder::clock;
use herder::config::History;
use herder::core::work::Actor;
use herder::journal::{self, AuditEntry, Batch, Entry, FleetEvent, Journal, Stream, Write};

use crate::stage::{self, ALICE, Person, Stage};

fn status(n: u32) -> Entry {
    Entry::Audit(AuditEntry {
        by: Actor::herder(),
        place: "local".to_owned(),
        agent: None,
        verb: "status".to_owned(),
        text: format!("status {n}"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_damaged_archive_cost_is_said_in_alerts_and_herder_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let config = stage::config(dir.path(), vec![stage::embedded_network(&server)], Vec::new());
    let history = History { keep_events: 4, daily_export: false, ..History::default() };
    let settings = journal::Settings { ballast: 0, ..journal::Settings::new(&config.data_dir, history) };
    let (journal, _) = Journal::open(&settings).expect("opens");
    let writes =
        vec![Write { stream: Stream::Audit, expected_rev: None, entries: (0..50).map(status).collect() }];
    let at = clock::now();
    journal.commit(Batch { at, writes, ..Batch::default() }).await.expect("commits");
    assert_eq!(journal.maintain(at).await.expect("maintains").archived, 46);
    journal.close().await;
    drop(journal);
    let mut archives = fs::read_dir(config.data_dir.join("archive")).expect("reads");
    let archive = archives.next().expect("there is one").expect("reads").path();
    let mut bytes = fs::read(&archive).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).expect("writes");

    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#herder", "#alerts"]).await;
    let stage = Stage::open(config, stage::inside(&server)).await;
    alice.hears("#alerts", "of the journal are in no archive that can be read").await;
    alice.reaches("herder", "#herder").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_herder_wrote_and_an_archive_that_is_gone_are_said_in_alerts_and_keep_nobody() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let config = stage::config(dir.path(), vec![stage::embedded_network(&server)], Vec::new());
    let history = History { keep_events: 4, daily_export: false, ..History::default() };
    let settings = journal::Settings {
        ballast: 0,
        version: "9.1.0".into(),
        ..journal::Settings::new(&config.data_dir, history)
    };
    let (journal, _) = Journal::open(&settings).expect("opens");
    let at = clock::now();
    let entries = (0..50).map(status).collect();
    let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
    journal.commit(Batch { at, writes, ..Batch::default() }).await.expect("commits");
    assert_eq!(journal.maintain(at).await.expect("maintains").archived, 46);
    let entries = vec![Entry::Fleet(FleetEvent::Stopped)];
    let writes = vec![Write { stream: Stream::Fleet, expected_rev: None, entries }];
    journal.commit(Batch { at, writes, ..Batch::default() }).await.expect("commits");
    journal.close().await;
    drop(journal);
    fs::remove_dir_all(config.data_dir.join("archive")).expect("removes");
    let db = loop {
        // sled's own threads hold it a moment longer than its last handle.
        if let Ok(db) = sled::open(config.data_dir.join("sled")) {
            break db;
        }
        std::thread::yield_now();
    };
    let events = db.open_tree("events").expect("opens");
    let (key, text) = events.last().expect("reads").expect("one");
    let newer = String::from_utf8_lossy(&text).replace("\"stopped\"", "\"dreamt\"");
    events.insert(key, newer.as_bytes()).expect("writes");
    db.flush().expect("writes");
    drop((events, db));

    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#herder", "#alerts"]).await;
    let stage = Stage::open(config, stage::inside(&server)).await;
    let said = [
        "herder 9.1.0 wrote what this one cannot read (entries of the fleet: 1, posts: 0)",
        "Events 1-46 of the journal",
    ];
    let mut heard = Vec::new();
    for _ in said {
        heard.push(alice.hears("#alerts", "🚨").await);
    }
    for what in said {
        assert!(heard.iter().any(|line| line.contains(what)), "{heard:?}");
    }
    alice.reaches("herder", "#herder").await;
    stage.close().await;
}
