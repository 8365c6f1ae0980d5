//! Upkeep that cannot do its work: people are told, and everything else goes on.

use std::fs;

use herder::clock;
use herder::config::History;
use herder::core::work::Actor;
use herder::journal::{self, AuditEntry, Batch, Entry, Journal, Stream, Write};

use crate::stage::{self, ALICE, Person, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_archive_is_named_in_alerts_and_herder_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let config = stage::config(dir.path(), vec![stage::embedded_network(&server)], Vec::new());
    let history = History { keep_events: 4, daily_export: false, ..History::default() };
    let settings = journal::Settings { ballast: 0, ..journal::Settings::new(&config.data_dir, history) };
    let (journal, _) = Journal::open(&settings).expect("opens");
    let entry = |n: u32| {
        Entry::Audit(AuditEntry {
            by: Actor::herder(),
            place: "local".to_owned(),
            agent: None,
            verb: "status".to_owned(),
            text: format!("status {n}"),
        })
    };
    let writes =
        vec![Write { stream: Stream::Audit, expected_rev: None, entries: (0..50).map(entry).collect() }];
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
    let told = alice.hears("#alerts", "herder cannot archive").await;
    let name = archive.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(told.contains(&name), "{told}");
    alice.reaches("herder", "#herder").await;
    stage.close().await;
}
