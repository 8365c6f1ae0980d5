//! A line whose answer takes long delays no one in another place.

use herder::config::History;
use herder::core::id::NetworkName;
use herder::core::time::Timestamp;
use herder::core::work::Actor;
use herder::journal::{AuditEntry, Batch, Entry, Journal, Settings, Stream, Write};

use crate::slow_archive::SlowArchive;
use crate::stage::{self, Stage};

const ROOMS: [&str; 3] = ["#spark", "#alerts", "#herder"];

/// Fills more than the database keeps, so that a search for a missing entry reads an archive.
pub(crate) async fn archived(settings: &Settings) {
    let settings = settings.clone();
    let (journal, _) = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
    let by = Actor { network: NetworkName::from("demo"), name: "ann".into(), identity: None };
    let (verb, place) = ("pause".to_owned(), "#spark".to_owned());
    let entry = Entry::Audit(AuditEntry { by, place, agent: None, verb, text: String::new() });
    let audit = Write { stream: Stream::Audit, expected_rev: None, entries: vec![entry; 60] };
    journal.commit(Batch { writes: vec![audit], ..Batch::default() }).await.unwrap();
    journal.maintain(Timestamp::from_seconds(1)).await.unwrap();
    journal.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_takes_long_keeps_nobody_waiting_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let server = stage::server().await;
    let mut alice = stage::server_person(&server, "alice", &ROOMS).await;
    let agents = vec![stage::shell("spark", dir.path(), "cat")];
    let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], agents);
    config.history = History { keep_events: 20, daily_export: false, ..History::default() };
    archived(&Settings::new(&config.data_dir, config.history.clone())).await;
    let mut slow = SlowArchive::in_place(&config.data_dir.join("archive"));
    config.history = History { daily_export: false, ..History::default() };
    let stage = Stage::open(config, stage::inside(&server)).await;
    alice.reaches("herder", ROOMS[0]).await;

    let before = alice.heard_in("#spark");
    // Nothing of the kind was ever recorded, so that everything is looked through.
    alice.say("#spark", "!audit spark").await;
    slow.is_read().await;
    alice.say("#spark", "!help").await;
    alice.say("#herder", "!status spark").await;
    alice.hears("#herder", "spark").await;
    assert_eq!(alice.heard_in("#spark"), before, "answers keep their order in one place");
    slow.release(|| true).await;
    alice.hears("#spark", "One entry cannot be read").await;
    alice.hears("#spark", "help").await;
    stage.close().await;
}
