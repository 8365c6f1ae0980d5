//! Bans on real servers: herder is told of them, waits, and is back when they are over.

use std::time::Duration;

use herder::chat::irc::{Connector, Patience, Settings};
use herder::core::link::LinkState;

use crate::irc_rig::{Rig, network, settings};
use crate::servers::inspircd::{Inspircd, Options};
use crate::servers::ngircd::Ngircd;
use crate::servers::person::Person;

/// Returns settings with a wait after a ban that a test can afford.
fn patient(port: u16) -> Settings {
    let second = Duration::from_secs(1);
    Settings { patience: Patience { barred: second, ..Patience::default() }, ..settings(network(port)) }
}

/// Has herder banned by `ban`, and waits until it is back. Returns the reason that was reported.
async fn is_back_after(port: u16, oper: &str, ban: &str) -> String {
    let mut oper = Person::new(port, oper).await;
    oper.send("OPER root root").await;
    oper.until(" 381 ").await;
    let mut rig = Rig::start(patient(port), Connector::Network, &["spark"]);
    rig.until_up().await;
    oper.send(ban).await;
    let mut told = String::new();
    let mut tries = 0;
    loop {
        match rig.report().await {
            LinkState::Barred { reason, .. } => {
                tries += 1;
                told = reason.to_string();
            }
            LinkState::Up { .. } => break,
            LinkState::Connecting { .. } => {}
            state @ LinkState::Refused { .. } => panic!("given up: {state:?}"),
        }
    }
    assert!(tries > 0, "it was never kept out");
    rig.stop().await;
    told
}

#[tokio::test]
async fn herder_is_back_when_a_ban_of_ngircd_is_over() {
    let server = Ngircd::start("[Operator]\nName = root\nPassword = root");
    for (oper, ban) in [("first", "KLINE *!*herder*@* 4 :noise"), ("second", "GLINE *!*herder*@* 3 :noise")] {
        let told = is_back_after(server.port, oper, ban).await;
        assert!(told.contains("-Line") && told.contains("banned"), "{told}");
    }
}

#[tokio::test]
async fn herder_is_back_when_a_ban_of_inspircd_is_over() {
    let server = Inspircd::start(&Options { rate: 100_000, ..Options::default() });
    for (oper, ban) in [("first", "KLINE *herder*@* 4s :noise"), ("second", "GLINE *herder*@* 4s :noise")] {
        let told = is_back_after(server.port, oper, ban).await;
        assert!(told.contains("You're banned!"), "{told}");
    }
}
