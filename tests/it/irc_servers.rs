//! The IRC network against real servers: ngircd, InspIRCd with Anope, agentirc.

mod bans;
mod netsplit;
mod prompt;
mod services;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use herder::chat::irc::Connector;
use herder::config::{Sasl, Tls};
use herder::core::link::LinkState;
use herder::core::post::{Lane, Target};
use herder::core::speech::Place;
use secrecy::SecretString;

use crate::irc_rig::{PATIENCE, Rig, agent, network, settings};
use crate::servers::agentirc::Agentirc;
use crate::servers::inspircd::{Inspircd, Options};
use crate::servers::ngircd::Ngircd;
use crate::servers::person::Person;

/// Lines that tell their own order, long enough to count against limits.
fn numbered(count: usize, padding: usize) -> Vec<String> {
    (0..count).map(|n| format!("line {n:04} {}", "x".repeat(padding))).collect()
}

/// Collects the lines in `channel` until `last`.
async fn hear_until(person: &mut Person, channel: &str, last: &str) -> Vec<String> {
    let mut heard = Vec::new();
    let listen = async {
        while let Some(text) = person.hear(channel).await {
            let done = text == last;
            heard.push(text);
            if done {
                return;
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, listen).await.is_ok();
    assert!(in_time, "only {} lines came: {:?}", heard.len(), heard.last());
    heard
}

/// Checks that every one of `said` is there, in order; `heard` repeats at most `repeats` of them, and is without
/// repeats in order too.
fn nothing_lost(said: &[String], heard: &[String], repeats: usize) {
    let mut first_seen: Vec<&String> = Vec::new();
    for text in heard.iter().filter(|text| said.contains(text)) {
        if !first_seen.contains(&text) {
            first_seen.push(text);
        }
    }
    assert_eq!(first_seen, said.iter().collect::<Vec<_>>(), "something is lost or out of order");
    let extra = heard.iter().filter(|text| said.contains(text)).count() - said.len();
    assert!(extra <= repeats, "{extra} repeats");
}

#[tokio::test]
async fn ngircd_takes_a_backlog_of_200_lines_without_a_word_of_complaint() {
    let server = Ngircd::start("");
    let mut person = Person::joined(server.port, "carol", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
    rig.until_up().await;
    let said = numbered(200, 340);
    for text in &said {
        rig.say(&agent("spark"), Lane::Normal, text);
    }
    let heard = hear_until(&mut person, "#spark", said.last().expect("some")).await;
    assert_eq!(heard, said);
    rig.drained().await;
    assert!(rig.reports.try_recv().is_err(), "the link was lost");
    rig.stop().await;
}

#[tokio::test]
async fn inspircd_takes_a_backlog_of_200_lines_without_a_word_of_complaint() {
    let server = Inspircd::start(&Options { rate: 20_000, ..Options::default() });
    let mut person = Person::joined(server.port, "carol", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
    rig.until_up().await;
    let said = numbered(200, 340);
    for text in &said {
        rig.say(&agent("spark"), Lane::Normal, text);
    }
    let heard = hear_until(&mut person, "#spark", said.last().expect("some")).await;
    assert_eq!(heard, said);
    rig.drained().await;
    assert!(rig.reports.try_recv().is_err(), "the link was lost");
    rig.stop().await;
}

#[tokio::test]
async fn long_lines_arrive_whole_on_every_server() {
    let text = "ähnlich 🐜 wie überall, nur länger ".repeat(40);
    let whole: String = text.split_whitespace().collect();
    let ngircd = Ngircd::start("");
    let inspircd = Inspircd::start(&Options { rate: 20_000, ..Options::default() });
    let agentirc = Agentirc::start();
    for (port, nick) in [(ngircd.port, "carol"), (inspircd.port, "carol"), (agentirc.port, "desk-carol")] {
        let mut person = Person::joined(port, nick, &["#spark"]).await;
        let mut rig = Rig::start(settings(network(port)), Connector::Network, &["spark"]);
        rig.until_up().await;
        rig.say(&agent("spark"), Lane::Normal, &text);
        rig.say(&agent("spark"), Lane::Normal, "end");
        let heard = hear_until(&mut person, "#spark", "end").await;
        let joined: String = heard[..heard.len() - 1].concat().split_whitespace().collect();
        assert_eq!(joined, whole, "on port {port}");
        rig.stop().await;
    }
}

#[tokio::test]
async fn on_inspircd_an_account_counts_and_a_nick_does_not() {
    let server = Inspircd::start(&Options { rate: 20_000, services: true, ..Options::default() });
    let mut alice = Person::joined(server.port, "alice", &["#spark"]).await;
    alice.register("secret").await;
    let mut bot = Person::new(server.port, "herder").await;
    bot.register("sasl").await;
    drop(bot);
    let mut mallory = Person::joined(server.port, "alice2", &["#spark"]).await;

    let mut network = network(server.port);
    let password = SecretString::from("sasl");
    network.sasl = Some(Sasl::Plain { account: "herder".to_owned(), password });
    let mut rig = Rig::start(settings(network), Connector::Network, &["spark"]);
    rig.until_up().await;

    mallory.send("CAP REQ :message-tags\r\n@+account=alice;account=alice PRIVMSG #spark :pause").await;
    let heard = rig.hear().await;
    assert_eq!((heard.text.as_str(), heard.author.account), ("pause", None));
    alice.say("#spark", "resume").await;
    let heard = rig.hear().await;
    assert_eq!((heard.text.as_str(), heard.author.account.as_deref()), ("resume", Some("alice")));
    assert_eq!(heard.author.mask.as_deref(), Some("alice!alice@127.0.0.1"));
    alice.say("herder", "!status").await;
    assert_eq!(rig.hear().await.place, Place::Direct("alice".to_owned()));
    rig.stop().await;
}

#[tokio::test]
async fn without_account_tags_inspircd_is_asked_who_it_was() {
    let without = &["ircv3_accounttag"];
    let server = Inspircd::start(&Options { rate: 20_000, services: true, without, ..Options::default() });
    let mut alice = Person::joined(server.port, "alice", &["#spark"]).await;
    alice.register("secret").await;
    let mut mallory = Person::joined(server.port, "mallory", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
    rig.until_up().await;
    alice.say("#spark", "one").await;
    assert_eq!(rig.hear().await.author.account.as_deref(), Some("alice"));
    mallory.say("#spark", "two").await;
    assert_eq!(rig.hear().await.author.account, None);
    rig.stop().await;
}

#[tokio::test]
async fn what_inspircd_replays_on_joining_is_not_heard() {
    // With and without the capabilities that mark a replay as one.
    for without in [&[] as &[&str], &["ircv3_batch", "ircv3_servertime", "ircv3_msgid"]] {
        let server = Inspircd::start(&Options { rate: 20_000, without, ..Options::default() });
        let mut alice = Person::joined(server.port, "alice", &["#spark"]).await;
        alice.send("MODE #spark +H 20:1h").await;
        alice.until(" MODE #spark ").await;
        alice.say("#spark", "abort").await;
        alice.send("PING done").await;
        alice.until("done").await;
        let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
        rig.until_up().await;
        rig.say(&agent("spark"), Lane::Normal, "here");
        while alice.hear("#spark").await.as_deref() != Some("here") {}
        alice.say("#spark", "status").await;
        assert_eq!(rig.hear().await.text, "status");
        rig.stop().await;
    }
}

#[tokio::test]
async fn agentirc_is_joined_though_it_tells_little_of_itself() {
    let mut server = Agentirc::start();
    let mut person = Person::joined(server.port, "desk-carol", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
    rig.until_up().await;
    person.say("#spark", "status").await;
    let heard = rig.hear().await;
    assert_eq!((heard.text.as_str(), heard.own_nick.as_str()), ("status", "desk-herder"));
    rig.say(&agent("spark"), Lane::Normal, "fine");
    assert_eq!(person.hear("#spark").await.as_deref(), Some("fine"));

    server.daemon.kill();
    rig.say(&agent("spark"), Lane::Normal, "meanwhile");
    assert!(matches!(rig.report().await, LinkState::Connecting { reason: Some(_), .. }));
    server.restart();
    let mut person = Person::joined(server.port, "desk-carol", &["#spark"]).await;
    let heard = hear_until(&mut person, "#spark", "meanwhile").await;
    assert!(heard[0].contains("away"), "{heard:?}");
    rig.stop().await;
}

/// The actions of the tests on a server.
trait Server {
    fn port(&self) -> u16;
    fn kill(&mut self);
    fn restart(&mut self);
}

impl Server for Ngircd {
    fn port(&self) -> u16 {
        self.port
    }
    fn kill(&mut self) {
        self.daemon.kill();
    }
    fn restart(&mut self) {
        Ngircd::restart(self);
    }
}

impl Server for Inspircd {
    fn port(&self) -> u16 {
        self.port
    }
    fn kill(&mut self) {
        self.daemon.kill();
    }
    fn restart(&mut self) {
        Inspircd::restart(self);
    }
}

/// Returns a connector that can be shut: the person who is to hear herder must reconnect before herder does.
fn gated(port: u16) -> (Connector, Arc<AtomicBool>) {
    let gate = Arc::new(AtomicBool::new(true));
    let open = Arc::clone(&gate);
    let connect = move || {
        if !open.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::ConnectionRefused.into());
        }
        let stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nonblocking(true)?;
        tokio::net::TcpStream::from_std(stream)
    };
    (Connector::factory(connect), gate)
}

/// Kills the server twice in the middle of a delivery.
async fn killed_under_load(server: &mut impl Server) {
    let port = server.port();
    let mut person = Person::joined(port, "carol", &["#spark"]).await;
    let (connector, gate) = gated(port);
    let mut rig = Rig::start(settings(network(port)), connector, &["spark"]);
    rig.until_up().await;
    let said = numbered(20, 40);
    let mut heard = Vec::new();
    for round in said.chunks(10) {
        for text in round {
            rig.say(&agent("spark"), Lane::Normal, text);
        }
        heard.push(person.hear("#spark").await.expect("up"));
        gate.store(false, Ordering::SeqCst);
        server.kill();
        while let Some(text) = person.hear("#spark").await {
            heard.push(text);
        }
        server.restart();
        person = Person::joined(port, "carol", &["#spark"]).await;
        gate.store(true, Ordering::SeqCst);
        rig.until_up().await;
    }
    rig.say(&agent("spark"), Lane::Normal, "end");
    heard.extend(hear_until(&mut person, "#spark", "end").await);
    nothing_lost(&said, &heard, 8);
    rig.stop().await;
}

#[tokio::test]
async fn ngircd_killed_under_load_loses_nothing() {
    killed_under_load(&mut Ngircd::start("MaxPenaltyTime = 0")).await;
}

#[tokio::test]
async fn inspircd_killed_under_load_loses_nothing() {
    killed_under_load(&mut Inspircd::start(&Options { rate: 100_000, ..Options::default() })).await;
}

#[tokio::test]
async fn a_server_that_is_frozen_under_load_loses_nothing_and_is_not_given_up_too_soon() {
    let server = Inspircd::start(&Options { rate: 100_000, ..Options::default() });
    let mut person = Person::joined(server.port, "carol", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
    rig.until_up().await;
    let said = numbered(60, 100);
    for text in &said {
        rig.say(&agent("spark"), Lane::Normal, text);
    }
    let mut heard = vec![person.hear("#spark").await.expect("up")];
    server.daemon.freeze();
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.daemon.thaw();
    heard.extend(hear_until(&mut person, "#spark", said.last().expect("some")).await);
    assert_eq!(heard, said);
    assert!(rig.reports.try_recv().is_err(), "the link was given up");
    rig.stop().await;
}

#[tokio::test]
async fn where_the_server_has_no_more_channels_posts_go_to_the_control_channel() {
    let server = Ngircd::start("MaxJoins = 4");
    let mut person = Person::joined(server.port, "carol", &["#control"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark", "flint"]);
    rig.until_up().await;
    let trouble = person.hear("#control").await.expect("up");
    assert!(trouble.contains("#flint"), "{trouble}");
    rig.say(&agent("flint"), Lane::Normal, "finished");
    assert_eq!(person.hear("#control").await.as_deref(), Some("[flint] finished"));
    rig.stop().await;
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn tls_by_fingerprint_and_by_file_and_a_login_by_certificate() {
    let server = Inspircd::start(&Options { rate: 20_000, services: true, ..Options::default() });
    let own = rcgen::generate_simple_self_signed(vec!["herder".to_owned()]).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, own.cert.pem()).expect("writable");
    std::fs::write(&key, own.signing_key.serialize_pem()).expect("writable");
    let sha256 = |der: &[u8]| {
        let digest = ring::digest::digest(&ring::digest::SHA256, der);
        <[u8; 32]>::try_from(digest.as_ref()).expect("32 bytes")
    };
    let mut account = Person::secure(server.tls_port, "herder", &server.certificate, &own).await;
    account.register("secret").await;
    account.say("NickServ", "CERT ADD").await;
    account.until("added").await;
    drop(account);

    let pinned = sha256(server.certificate.der());
    for tls in [Tls::Fingerprint(pinned), Tls::CaFile(server.certificate_file())] {
        let mut network = network(server.tls_port);
        network.tls = tls;
        network.sasl = Some(Sasl::External { certificate: certificate.clone(), key: key.clone() });
        let mut rig = Rig::start(settings(network), Connector::Network, &[]);
        rig.until_up().await;
        rig.stop().await;
    }
    for tls in [Tls::Fingerprint([0; 32]), Tls::SystemRoots] {
        let mut network = network(server.tls_port);
        network.tls = tls;
        let mut rig = Rig::start(settings(network), Connector::Network, &[]);
        assert_eq!(rig.report().await, LinkState::Connecting { attempts: 0, reason: None });
        let refused = rig.report().await;
        let LinkState::Connecting { attempts: 1, reason: Some(reason) } = refused else {
            panic!("{refused:?}")
        };
        let reason = reason.to_string();
        for said in ["the certificate of", &hex(&pinned), "tls_fingerprint", "tls_ca"] {
            assert!(reason.contains(said), "{said}: {reason}");
        }
        rig.stop().await;
    }
}

#[tokio::test]
async fn a_wrong_password_is_refused_for_good_and_frozen_services_are_not() {
    let server = Inspircd::start(&Options { rate: 20_000, services: true, ..Options::default() });
    Person::new(server.port, "herder").await.register("secret").await;
    let mut network = network(server.port);
    let password = SecretString::from("wrong");
    network.sasl = Some(Sasl::Plain { account: "herder".to_owned(), password });
    let mut rig = Rig::start(settings(network.clone()), Connector::Network, &[]);
    rig.report().await;
    let state = rig.report().await;
    let LinkState::Refused { reason } = state else { panic!("{state:?}") };
    assert!(reason.to_string().contains("SASL"), "{reason}");

    server.services.as_ref().expect("there are").freeze();
    let mut rig = Rig::start(settings(network), Connector::Network, &[]);
    rig.report().await;
    let state = rig.report().await;
    let LinkState::Connecting { attempts: 1, reason: Some(reason) } = state else { panic!("{state:?}") };
    assert!(reason.to_string().contains("services"), "{reason}");
    rig.say(&Target::Alerts, Lane::Urgent, "kept");
    assert_eq!(rig.queue.len(), 1);
    rig.stop().await;
}

#[tokio::test]
async fn ngircd_asks_for_a_password_and_for_short_nicks() {
    let server = Ngircd::start_with("Password = let me in", "MaxNickLength = 10");
    let mut network = network(server.port);
    network.nick = "herder-of-agents".to_owned();
    let mut rig = Rig::start(settings(network.clone()), Connector::Network, &[]);
    rig.report().await;
    let state = rig.report().await;
    assert!(
        matches!(&state, LinkState::Refused { reason } if reason.to_string().contains("assword")),
        "{state:?}"
    );

    network.server_password = Some(SecretString::from("let me in"));
    let mut rig = Rig::start(settings(network), Connector::Network, &[]);
    rig.until_up().await;
    rig.stop().await;
}

/// ngircd keeps no past, so that what is said before herder listens has to be said again.
#[tokio::test]
async fn on_ngircd_who_speaks_as_herder_comes_in_is_heard_or_told_to_say_it_again() {
    let server = Ngircd::start("");
    let mut person = Person::joined(server.port, "carol", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(server.port)), Connector::Network, &["spark"]);
    person.until(":herder!").await;
    person.say("#spark", "status").await;
    tokio::select! {
        heard = rig.hear() => assert_eq!(heard.text, "status"),
        told = person.until("carol: I was not here yet") => assert!(told.contains("PRIVMSG #spark"), "{told}"),
    }
    rig.stop().await;
}
