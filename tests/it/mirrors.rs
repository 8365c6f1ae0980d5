//! One agent on two networks: a command on one is seen on the other, with its sender and place, once.

use herder::chat::embedded_ircd::Server;
use herder::chat::irc::Connector;
use herder::core::id::NetworkName;
use herder::run::Options;

use crate::stage::{self, ALICE, MALLORY, Person, Stage};

/// The channels of a herder with one agent.
const ROOMS: [&str; 4] = ["#spark", "#alerts", "#work", "#herder"];

/// A herder on two networks, and a person on each.
struct Two {
    stage: Stage,
    left: Person,
    right: Person,
    dir: tempfile::TempDir,
    servers: [Server; 2],
}

impl Two {
    /// Opens a herder on two networks, whose one agent runs `script`.
    async fn open(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let servers = [stage::server().await, stage::server().await];
        let mut left = Person::join(servers[0].address(), "alice", Some(ALICE), &ROOMS).await;
        let mut right = Person::join(servers[1].address(), "alice", Some(ALICE), &ROOMS).await;
        let named = || ["left", "right"].into_iter().zip(&servers);
        let networks = named().map(|(name, server)| stage::network(name, server.address())).collect();
        let connectors = named().map(|(name, server)| {
            let streams = server.connector();
            (NetworkName::from(name), Connector::factory(move || Ok(streams.connect("herder"))))
        });
        let options = Options { connectors: connectors.collect(), ..Options::default() };
        let config = stage::config(dir.path(), networks, vec![stage::shell("spark", dir.path(), script)]);
        let stage = Stage::open(config, options).await;
        for person in [&mut left, &mut right] {
            person.reaches("herder", "#spark").await;
            person.reaches("herder", "#herder").await;
        }
        Self { stage, left, right, dir, servers }
    }

    /// Returns the lines that were mirrored to each network so far.
    async fn mirrored(&mut self) -> [Vec<String>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        for (person, found) in [&mut self.left, &mut self.right].into_iter().zip(&mut found) {
            for channel in ROOMS {
                person.overhears(channel).await;
                found.extend(person.heard_in(channel).into_iter().filter(|text| text.contains('💬')));
            }
        }
        found
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_on_one_network_is_seen_on_the_other() {
    let mut two = Two::open("read -r line; echo \"$line\" >> works; echo \"did: $line\"").await;
    let (left, right) = (&mut two.left, &mut two.right);
    left.say("#spark", "fix the build").await;
    assert_eq!(right.hears("#spark", "💬").await, "💬 alice (left): fix the build");
    right.hears("#spark", "🐜").await;
    right.hears("#spark", "✅").await;
    left.hears("#spark", "✅").await;

    // An answer from the other network: who paused is seen where the agent was given its work.
    right.say("#herder", "@spark pause").await;
    assert_eq!(left.hears("#spark", "💬").await, "💬 alice (right): @spark pause");
    left.hears("#spark", "⏸").await;
    right.hears("#spark", "⏸").await;
    left.say("#spark", "and the tests").await;
    assert_eq!(right.hears("#spark", "💬").await, "💬 alice (left): and the tests");
    let queued = right.hears("#spark", "👀").await;
    assert!(queued.contains("Queued for spark at position 1, but it is paused (by alice)"), "{queued}");
    assert!(!queued.starts_with("alice"), "it is nobody's answer there: {queued}");
    right.say("#spark", "resume").await;
    left.hears("#spark", "💬").await;
    left.hears("#spark", "✅").await;
    right.hears("#spark", "✅").await;

    // A command that changes nothing is not mirrored.
    left.say("#spark", "status").await;
    left.hears("#spark", "idle").await;
    left.say("#herder", "!stop-all").await;
    right.hears("#herder", "0 processes left").await;
    left.hears("#herder", "0 processes left").await;
    let [on_left, on_right] = two.mirrored().await;
    assert_eq!(on_left, ["💬 alice (right): @spark pause", "💬 alice (right): resume"]);
    assert_eq!(
        on_right,
        ["💬 alice (left): fix the build", "💬 alice (left): and the tests", "💬 alice (left): !stop-all"]
    );
    let works = std::fs::read_to_string(two.dir.path().join("works")).unwrap();
    assert_eq!(works, "fix the build\nand the tests\n", "what is mirrored is work for nobody");
    two.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_refused_or_sets_up_an_agent_shows_nothing_of_itself_elsewhere() {
    let mut two = Two::open("cat").await;
    let mut mallory = Person::join(two.servers[0].address(), "mallory", Some(MALLORY), &ROOMS).await;
    mallory.say("#spark", "pause").await;
    mallory.hears("#spark", "operator").await;
    two.left.say("#spark", "resume").await;
    two.left.hears("#spark", "spark").await;
    two.left.say("#herder", "!agent edit spark env.RUST_LOG=warn").await;
    two.left.hears("#herder", "changed").await;
    two.right.hears("#spark", "changed").await;
    let newt =
        format!("!agent add newt command {} command=\"cat\" env.RUST_LOG=warn", two.dir.path().display());
    two.left.say("#herder", &newt).await;
    two.right.hears("#herder", "newt").await;
    let [on_left, on_right] = two.mirrored().await;
    assert_eq!(on_left, <[String; 0]>::default());
    assert_eq!(on_right, ["💬 alice (left): !agent edit spark", "💬 alice (left): !agent add newt"]);
    two.stage.close().await;
}
