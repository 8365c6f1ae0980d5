//! The whole conversation on real servers: ngircd, InspIRCd with Anope, agentirc, and herder's own one.
//!
//! One script for all; only the way in which people prove their identity, and their nicks, differ.

mod minutes;
mod outages;
mod scenes;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use herder::chat::embedded_ircd::Server;
use herder::chat::irc::Connector;
use herder::config::{AccessRules, Config, IrcNetwork, Subject};
use herder::core::context::FOLDER;
use herder::core::id::NetworkName;
use herder::core::spec::Relay;
use herder::run::Options;

use crate::servers::agentirc::Agentirc;
use crate::servers::inspircd::{self, Inspircd};
use crate::servers::ngircd::Ngircd;
use crate::stage::{self, PATIENCE, Person, Stage};

/// The channels herder is in with one agent.
const ROOMS: [&str; 4] = ["#spark", "#alerts", "#work", "#herder"];

/// An agent whose work decides what becomes of it: the first session with `fail` in it crashes, `long` work takes longer than
/// any test and leaves a child that is deaf to SIGTERM, everything else is done at once.
const SPARK: &str = r#"line=$(tail -n 1)
case $line in
    *fail*) [ -e tried ] || { touch tried; echo no luck >&2; exit 3; }; echo recovered;;
    *long*) setsid sh -c 'trap "" TERM; sleep 300' & sleep 300;;
    *) echo "did: $line";;
esac"#;

/// A server and the people on it.
struct Ground {
    network: IrcNetwork,
    /// The subject that makes alice an admin.
    admin: Subject,
    /// The nick herder gets.
    herder: &'static str,
    alice: Person,
    mallory: Person,
    /// The way in which herder connects to the server.
    options: Options,
}

impl Ground {
    /// Returns a server on which people are known by their masks; every nick must begin with `before`.
    async fn by_mask(port: u16, before: &str, herder: &'static str) -> Self {
        let address = at(port);
        let nick = |name: &str| format!("{before}{name}");
        let mask = format!("{0}!*{0}@127.0.0.1", nick("alice"));
        Self {
            network: stage::network("real", address),
            admin: Subject::IrcMask { network: NetworkName::from("real"), mask },
            herder,
            alice: Person::join(address, &nick("alice"), None, &[]).await,
            mallory: Person::join(address, &nick("mallory"), None, &[]).await,
            options: Options::default(),
        }
    }

    /// Returns a server on which people are known by the accounts of services.
    async fn by_account(port: u16) -> Self {
        let address = at(port);
        let mut alice = Person::join(address, "alice", None, &[]).await;
        log_in(&mut alice).await;
        Self {
            network: stage::network("real", address),
            admin: Subject::IrcAccount { network: NetworkName::from("real"), account: "alice".to_owned() },
            herder: "herder",
            alice,
            mallory: Person::join(address, "mallory", None, &[]).await,
            options: Options::default(),
        }
    }

    /// Returns herder's own server, on which people are known by the accounts of their passwords.
    async fn embedded(server: &Server) -> Self {
        let (address, streams) = (server.address(), server.connector());
        let connector = Connector::factory(move || Ok(streams.connect("herder")));
        Self {
            network: stage::network("real", address),
            admin: Subject::IrcAccount { network: NetworkName::from("real"), account: "alice".to_owned() },
            herder: "herder",
            alice: stage::server_person(server, "alice", &[]).await,
            mallory: stage::server_person(server, "mallory", &[]).await,
            options: Options {
                connectors: [(NetworkName::from("real"), connector)].into(),
                ..Options::default()
            },
        }
    }

    fn config(&self, dir: &Path, script: &str, relay: Relay) -> Config {
        let mut spark = stage::shell("spark", dir, script);
        spark.relay = relay;
        let mut config = stage::config(dir, vec![self.network.clone()], vec![spark]);
        config.access = AccessRules {
            admins: vec![self.admin.clone()],
            operators: Vec::new(),
            viewers: vec![Subject::Everyone],
        };
        config
    }
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Registers with NickServ, which logs in. The services may not be there yet.
async fn log_in(person: &mut Person) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        person.send("PRIVMSG NickServ :REGISTER password who@test.local").await;
        let answer = person.expect("services", |line| line.contains(" 900 ") || line.contains(" 401 ")).await;
        if answer.contains(" 900 ") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the services never came");
}

/// Comes into all the rooms.
async fn enter(person: &mut Person, herder: &str) {
    come_into(person, herder, &ROOMS).await;
}

/// Comes into some rooms. herder is there first: on many servers who comes first is the one who may change the topic.
async fn come_into(person: &mut Person, herder: &str, rooms: &[&str]) {
    for room in rooms {
        waits_outside(person, herder, room).await;
        person.send(&format!("JOIN {room}")).await;
        person.expect("to have joined", |line| line.contains(" 366 ") && line.contains(room)).await;
        person.sees(herder, room).await;
    }
}

/// Waits until `herder` is in `room` without being there; joins elsewhere are not announced, so it asks. A PING
/// follows since agentirc is silent about channels that do not exist.
async fn waits_outside(person: &mut Person, herder: &str, room: &str) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        person.send(&format!("NAMES {room}\r\nPING names")).await;
        let mut there = false;
        let ended = |line: &str| line.contains(" 353 ") || line.contains(" PONG ");
        loop {
            let line = person.expect("the names", ended).await;
            if line.contains(" PONG ") {
                break;
            }
            there |= line.contains(herder);
        }
        if there {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{herder} never came into {room}");
}

/// Waits until the topic of `#spark` holds `wanted`.
async fn topic_tells(person: &mut Person, wanted: &str) {
    person.send("TOPIC #spark").await;
    let answers = |line: &str| [" 331 ", " 332 ", " TOPIC #spark "].iter().any(|verb| line.contains(verb));
    while !person.expect(wanted, answers).await.contains(wanted) {}
}

/// Runs the script: everything a person does with agents.
async fn whole_conversation(ground: Ground) {
    let (dir, claudes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut config = ground.config(dir.path(), SPARK, Relay::Final);
    config.agents.push(scenes::flint(claudes.path()));
    let Ground { mut alice, mut mallory, herder, options, .. } = ground;
    let stage = Stage::open(config, options).await;
    enter(&mut alice, herder).await;
    enter(&mut mallory, herder).await;
    come_into(&mut alice, herder, &["#flint"]).await;
    for room in ["#spark", "#flint", "#herder"] {
        alice.reaches(herder, room).await;
    }

    work_crash_and_recovery(&mut alice).await;
    a_stranger_is_refused(&mut mallory, &mut alice).await;
    pause_and_resume(&mut alice).await;
    abort_and_the_next(&mut alice).await;
    tasks(&mut alice).await;
    scenes::failures_of_the_account(&mut alice).await;
    scenes::a_usage_limit_and_a_turn_limit(&mut alice).await;
    scenes::restart(&mut alice, claudes.path()).await;
    scenes::queue_and_clear(&mut alice).await;
    scenes::what_is_on_record(&mut alice).await;
    scenes::agents_come_change_and_go(&mut alice, herder, claudes.path()).await;

    alice.say("#spark", "!resum").await;
    alice.hears("#spark", "Did you mean `!resume`?").await;
    alice.say("#herder", "!status sparc").await;
    alice.hears("#herder", "Did you mean spark?").await;

    alice.say("#spark", "long last work").await;
    alice.hears("#spark", "🐜").await;
    alice.say("#herder", "!stop-all").await;
    alice.hears("#herder", "Stopping 2 agents").await;
    alice.hears("#herder", "2 agents stopped, 0 processes left.").await;
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let marks = names.filter(|name| name != FOLDER).count();
    assert_eq!(marks, 2, "the data folder and the mark of the failure: nothing else reached the agent");
    stage.close().await;
}

async fn work_crash_and_recovery(alice: &mut Person) {
    alice.say("#herder", "@spark status").await;
    alice.hears("#herder", "idle").await;
    alice.say("#spark", "count to three").await;
    for wanted in ["🐜", "did: count to three", "✅ spark completed"] {
        alice.hears("#spark", wanted).await;
    }
    alice.say("#spark", "fail at first").await;
    let crashed = alice.hears("#spark", "❌").await;
    assert!(crashed.contains("spark crashed") && crashed.contains("Restarting in 1s"), "{crashed}");
    for wanted in ["🐜", "recovered", "✅ spark completed"] {
        alice.hears("#spark", wanted).await;
    }
}

async fn a_stranger_is_refused(mallory: &mut Person, alice: &mut Person) {
    mallory.say("#spark", "long evil work").await;
    mallory.hears("#spark", "needs the role operator").await;
    mallory.say("#herder", "!pause spark").await;
    mallory.hears("#herder", "`pause` needs the role operator").await;
    // Anybody may look.
    mallory.say("#herder", "!status spark").await;
    mallory.hears("#herder", "spark: idle").await;
    alice.say("#herder", "!queue spark").await;
    alice.hears("#herder", "Nothing waits for spark").await;
}

async fn pause_and_resume(alice: &mut Person) {
    alice.say("#spark", "pause").await;
    alice.hears("#spark", "⏸").await;
    topic_tells(alice, "paused").await;
    alice.say("#spark", "second thing").await;
    let queued = alice.hears("#spark", "👀").await;
    assert!(queued.contains("position 1, but it is paused (by "), "it says why: {queued}");
    alice.say("#herder", "!queue spark").await;
    alice.hears("#herder", "second thing").await;
    alice.say("#herder", "@spark resume").await;
    alice.hears_in_any_order("#spark", "did: second thing").await;
    alice.hears_in_any_order("#herder", "▶️ spark resumes").await;
}

async fn abort_and_the_next(alice: &mut Person) {
    alice.say("#spark", "long work").await;
    alice.hears("#spark", "🐜 spark started: long work").await;
    topic_tells(alice, "long work").await;
    alice.say("#spark", "short work").await;
    alice.hears("#spark", "👀").await;
    alice.say("#herder", "@spark abort").await;
    alice.hears_in_any_order("#spark", "did: short work").await;
    alice.hears_in_any_order("#herder", "This work is discarded").await;
}

async fn tasks(alice: &mut Person) {
    alice.say("#herder", "!pause spark").await;
    alice.hears("#herder", "⏸").await;
    alice.say("#herder", "!task add spark third thing").await;
    alice.hears("#herder", "👀 Task ").await;
    alice.say("#herder", "!task list").await;
    alice.hears("#herder", "queued · spark · third thing").await;
    alice.say("#herder", "spark: resume").await;
    alice.hears_in_any_order("#spark", "did: third thing").await;
    alice.hears_in_any_order("#work", "DONE ").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_conversation_on_ngircd() {
    let server = Ngircd::start("MaxPenaltyTime = 0");
    whole_conversation(Ground::by_mask(server.port, "", "herder").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_conversation_on_inspircd_with_accounts_of_anope() {
    let options =
        inspircd::Options { rate: 20_000, threshold: 20, services: true, ..inspircd::Options::default() };
    let server = Inspircd::start(&options);
    whole_conversation(Ground::by_account(server.port).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_conversation_on_agentirc() {
    let server = Agentirc::start();
    whole_conversation(Ground::by_mask(server.port, "desk-", "desk-herder").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_conversation_on_herders_own_server() {
    let server = stage::server().await;
    whole_conversation(Ground::embedded(&server).await).await;
}
