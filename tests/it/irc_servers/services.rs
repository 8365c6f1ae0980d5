//! NickServ on InspIRCd with Anope, without the server's login.

use std::time::Instant;

use herder::chat::irc::Connector;
use herder::core::link::LinkState;
use secrecy::SecretString;

use crate::irc_rig::{PATIENCE, Rig, network, settings};
use crate::servers::inspircd::{Inspircd, Options};
use crate::servers::ngircd::Ngircd;
use crate::servers::person::Person;

const PASSWORD: &str = "open-sesame";

/// Starts services with the account `herder`, which is not logged in.
async fn registered() -> Inspircd {
    let server = Inspircd::start(&Options { rate: 100_000, services: true, ..Options::default() });
    let mut owner = Person::new(server.port, "herder").await;
    owner.register(PASSWORD).await;
    owner.send("QUIT").await;
    while owner.line().await.is_some() {}
    server
}

fn rig(server: &Inspircd) -> Rig {
    let mut network = network(server.port);
    network.nickserv_password = Some(SecretString::from(PASSWORD));
    Rig::start(settings(network), Connector::Network, &["spark"])
}

/// Waits until `nick` is logged in as `account`, which only a question shows.
async fn is_logged_in(asking: &mut Person, nick: &str, account: &str) {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        asking.send(&format!("WHOIS {nick}")).await;
        let line = asking.until_any(&[" 330 ", " 318 "]).await;
        if line.contains(" 330 ") {
            assert!(line.contains(&format!(" {nick} {account} ")), "{line}");
            return;
        }
    }
    panic!("{nick} was never logged in");
}

#[tokio::test]
async fn nickserv_is_told_the_password_where_there_is_no_login() {
    let server = registered().await;
    let mut alice = Person::new(server.port, "alice").await;
    let mut rig = rig(&server);
    rig.until_up().await;
    is_logged_in(&mut alice, "herder", "herder").await;
    rig.stop().await;
}

#[tokio::test]
async fn with_another_nick_nickserv_is_told_whose_password_it_is_and_the_nick_is_taken_back() {
    let server = registered().await;
    let mut squatter = Person::joined(server.port, "herder", &["#spark"]).await;
    let mut alice = Person::joined(server.port, "alice", &["#spark"]).await;
    let mut rig = rig(&server);
    rig.until_up().await;
    is_logged_in(&mut alice, "herder_", "herder").await;
    squatter.send("QUIT").await;
    alice.until("NICK :herder").await;
    is_logged_in(&mut alice, "herder", "herder").await;
    rig.stop().await;
}

/// On a network without services any client can have that nick.
#[tokio::test]
async fn who_only_bears_the_name_of_the_services_is_not_told_the_password() {
    let server = Ngircd::start("");
    let mut thief = Person::new(server.port, "NickServ").await;
    let mut network = network(server.port);
    network.nickserv_password = Some(SecretString::from(PASSWORD));
    let mut rig = Rig::start(settings(network), Connector::Network, &["spark"]);
    let refused = loop {
        if let LinkState::Up { unidentified: Some(reason), .. } = rig.report().await {
            break reason.to_string();
        }
    };
    assert_eq!(refused, "the server does not say that it is services");
    rig.stop().await;
    thief.send("PING :the-end").await;
    loop {
        let line = thief.line().await.expect("the server is there");
        assert!(!line.contains(PASSWORD), "{line}");
        if line.contains("the-end") {
            break;
        }
    }
}
