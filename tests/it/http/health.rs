//! `/readyz` and since when a part is as it is. The wall clock is set ahead before each look, so that the time of the look
//! cannot pass for that of the change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use herder::clock;
use herder::core::link::LinkState;
use herder::core::time::Timestamp;
use herder::supervisor::FaultInjection;
use reqwest::Client;
use rustix::process::Signal;
use serde_json::Value;

use super::{House, json as ask};
use crate::going_down::Hanging;
use crate::kill::{Running, reap, signal};
use crate::stage::{PATIENCE, appears};

/// An hour, in milliseconds.
const HOUR: i64 = 3_600_000;

async fn part(house: &House, name: &str) -> (u16, String, Timestamp) {
    clock::set(HOUR);
    let (status, parts) = ask(house.get("/readyz")).await;
    let state = parts[name]["state"].as_str().expect("a state").to_owned();
    let since: Timestamp =
        serde_json::from_value::<Timestamp>(Value::clone(&parts[name]["since"])).expect("a time");
    (status, state, since)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readyz_says_since_when_no_network_is_joined() {
    let before = clock::now();
    let house = House::open("cat").await;
    let (status, state, since) = part(&house, "network").await;
    assert_eq!((status, state.as_str()), (200, "ok"));
    let opened = clock::now().moved(-HOUR);
    assert!(since >= before && since <= opened, "{since:?} in {before:?}..{opened:?}");
    let fleet = house.scene.stage.herder.fleet().clone();
    let mut changes = fleet.changes();
    let began = clock::now();
    house.scene.server.stop().await;
    let is_up = || fleet.links().iter().any(|link| matches!(link.state, LinkState::Up { .. }));
    while is_up() {
        tokio::time::timeout(PATIENCE, changes.changed()).await.expect("it goes down").expect("herder runs");
    }
    let ended = clock::now();
    let url = house.url.clone();
    clock::set(HOUR);
    let response = house.client.get(format!("{url}/readyz")).send().await.expect("an answer");
    assert_eq!(response.status(), 503);
    let parts: Value = response.json().await.expect("JSON");
    assert_eq!(parts["network"]["state"], "failing");
    let since: Timestamp = serde_json::from_value(parts["network"]["since"].clone()).expect("a time");
    assert!(since >= began && since <= ended, "{since:?} in {began:?}..{ended:?}");
    assert_eq!(parts["journal"]["state"], "ok");
    house.scene.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readyz_says_since_when_the_root_does_not_answer() {
    let (hangs, gate) = (Arc::new(AtomicBool::new(false)), Arc::new((Mutex::new(None), Condvar::new())));
    let (wanted, held) = (Arc::clone(&hangs), Arc::clone(&gate));
    // The first message after `hangs` is set waits until it is taken back.
    let fault = FaultInjection::of_root(move || {
        let mut at = held.0.lock().expect("a lock");
        while wanted.load(Ordering::SeqCst) {
            at.get_or_insert_with(clock::now);
            at = held.1.wait(at).expect("a lock");
        }
    });
    let before = clock::now();
    let house = House::open_with("cat", |options, _| options.fault = fault).await;
    let (status, state, since) = part(&house, "root").await;
    assert_eq!((status, state.as_str()), (200, "ok"));
    assert!(since >= before && since <= clock::now().moved(-HOUR), "{since:?}");
    hangs.store(true, Ordering::SeqCst);
    // A probe is what the root hangs on; the clock goes on before the next one is looked at.
    let (status, state, _) = part(&house, "root").await;
    assert_eq!((status, state.as_str()), (503, "failing"));
    let hung = gate.0.lock().expect("a lock").expect("it hangs");
    let (status, state, since) = part(&house, "root").await;
    assert_eq!((status, state.as_str()), (503, "failing"));
    assert!(hung.since(since) < std::time::Duration::from_secs(5), "{since:?}, but it hangs since {hung:?}");
    hangs.store(false, Ordering::SeqCst);
    gate.1.notify_all();
    assert!(house.scene.stage.herder.fleet().root_answers(PATIENCE).await);
    let freed = clock::now();
    let (status, state, since) = part(&house, "root").await;
    assert_eq!((status, state.as_str()), (200, "ok"));
    assert!(since > hung.moved(HOUR / 2) && since <= freed.moved(HOUR), "{since:?}, freed {freed:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readyz_names_the_journal_while_it_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, socket) = (folder.path().join("bot.toml"), folder.path().join("http.sock"));
    std::fs::write(&config, format!("data_dir = \"data\"\n[http]\nlisten = \"unix:{}\"\n", socket.display()))
        .expect("a file");
    let herder = Running::start(folder.path(), &config, &[]);
    appears(&socket).await;
    let looked = async || {
        let client = Client::builder().unix_socket(&*socket).no_proxy().build().expect("a client");
        ask(client.get("http://localhost/readyz")).await
    };
    let until = async |wanted: u16| {
        let looking = async {
            loop {
                let (status, parts) = looked().await;
                if status == wanted {
                    return parts;
                }
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("it becomes so")
    };
    until(200).await;
    let hanging = Hanging::writer_of(herder.pid());
    let before = clock::now();
    let parts = until(503).await;
    assert_eq!(parts["journal"]["state"], "failing", "{parts}");
    assert_eq!(parts["root"]["state"], "ok", "nothing else is named: {parts}");
    let since: Timestamp = serde_json::from_value(parts["journal"]["since"].clone()).expect("a time");
    assert!(since >= before && since <= clock::now(), "{since:?} after {before:?}");
    drop(hanging);
    let parts = until(200).await;
    assert_eq!(parts["journal"]["state"], "ok", "{parts}");
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}
