//! Acknowledged data that is missing is reported reliably, not only while herder is connected.

use std::fs;
use std::path::Path;

use herder::chat::irc::Connector;
use herder::core::id::NetworkName;
use herder::run::Options;

use crate::stage::{self, Stage};

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("reads").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copies");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revisions_that_are_missing_are_said_once_a_network_is_there_however_many_starts_that_takes() {
    let dir = tempfile::tempdir().unwrap();
    let server = stage::server().await;
    let config = || stage::config(dir.path(), vec![stage::embedded_network(&server)], Vec::new());
    let unreachable = || {
        let closed = Connector::factory(|| {
            Err::<tokio::io::DuplexStream, _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
        });
        Options { connectors: [(NetworkName::from("demo"), closed)].into(), ..Options::default() }
    };
    Stage::open(config(), unreachable()).await.close().await;
    // The disk goes back to how it was a start ago.
    let (sled, before) = (dir.path().join("data/sled"), dir.path().join("before"));
    copy(&sled, &before);
    Stage::open(config(), unreachable()).await.close().await;
    fs::remove_dir_all(&sled).unwrap();
    copy(&before, &sled);

    let mut alice = stage::server_person(&server, "alice", &["#alerts", "#herder"]).await;
    for _ in 0..2 {
        Stage::open(config(), unreachable()).await.close().await;
    }
    let stage = Stage::open(config(), stage::inside(&server)).await;
    let said = alice.hears("#alerts", "The journal of fleet ends at revision").await;
    assert!(said.contains("had been acknowledged"), "{said}");
    alice.reaches("herder", "#herder").await;
    let times =
        alice.heard_in("#alerts").iter().filter(|line| line.contains("had been acknowledged")).count();
    assert_eq!(times, 1, "it is said once");
    stage.close().await;
}
