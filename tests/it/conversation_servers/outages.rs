//! Outages of the server during work: restarted, frozen, behind a black hole.
//!
//! A [`Wire`] carries herder's links where a test wants to cut them, or to hold herder back until a person listens
//! again.

use std::collections::BTreeSet;
use std::time::Duration;

use herder::chat::irc::Patience;
use herder::config::Subject;
use herder::core::link::LinkState;
use herder::core::spec::Relay;
use herder::run::Options;

use super::wire::Wire;
use super::{Ground, ROOMS, at, enter};
use crate::servers::inspircd::{self, Inspircd};
use crate::servers::ngircd::Ngircd;
use crate::stage::{self, Person, Stage};

/// Says `count` numbered lines, those after `before` when there is a file `go`, `breath` a breath; a file `said` tells that all
/// are said. What is said in one breath is one post.
fn counter(count: usize, before: usize, breath: usize) -> String {
    format!(
        "cat > /dev/null; i=0; while [ $i -lt {count} ]; do i=$((i+1)); echo \"line $i.\"; \
         if [ $i -eq {before} ]; then until [ -e go ]; do sleep 0.05; done; fi; \
         if [ $((i % {breath})) -eq 0 ]; then sleep 2; fi; done; touch said"
    )
}

/// Checks the lines of an agent that counts to `count`: every number is there once and in order, or was reported as
/// left out at its place. A line that was on its way when the link broke may come twice.
fn accounted(heard: &[String], count: usize, repeats: usize) {
    let (mut next, mut left_out, mut twice) = (1, 0, 0);
    let mut seen = BTreeSet::new();
    for text in heard {
        if let Some(rest) = text.strip_prefix("… ") {
            left_out += rest.split(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number");
        } else if let Some(number) = text.strip_prefix("│ line ").and_then(|rest| rest.strip_suffix('.')) {
            let number: usize = number.parse().expect("a number");
            if !seen.insert(number) {
                twice += 1;
                continue;
            }
            assert_eq!(
                number,
                next + left_out,
                "something is lost, out of order or wrongly told: {heard:#?}"
            );
            (next, left_out) = (number + 1, 0);
        }
    }
    assert_eq!(next + left_out, count + 1, "the end is lost: {heard:#?}");
    assert!(twice <= repeats, "{twice} repeats: {heard:#?}");
}

/// Returns all lines of the agent in `#spark` until its session is said to have ended, including earlier ones.
async fn to_the_end(person: &mut Person) -> Vec<String> {
    person.hears_in_any_order("#spark", "✅").await;
    person.heard_in("#spark")
}

/// An agent that has begun to count behind a wire that can be cut.
struct Counting {
    server: Ngircd,
    wire: Wire,
    dir: tempfile::TempDir,
    alice: Person,
    stage: Stage,
}

impl Counting {
    async fn begin() -> Self {
        let server = Ngircd::start("MaxPenaltyTime = 0");
        let wire = Wire::to(server.port).await;
        let mut ground = Ground::by_mask(server.port, "", "herder").await;
        ground.network.port = wire.port;
        let dir = tempfile::tempdir().unwrap();
        let config = ground.config(dir.path(), &counter(25, 5, 15), Relay::All);
        let mut alice = ground.alice;
        let stage = Stage::open(config, Options { patience: SHORT, ..Options::default() }).await;
        enter(&mut alice, "herder").await;
        alice.reaches("herder", "#spark").await;
        alice.say("#spark", "count").await;
        alice.hears("#spark", "line 5.").await;
        Self { server, wire, dir, alice, stage }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_while_an_agent_talks_costs_nothing_and_the_absence_is_told() {
    // Everything is said, however much it is; after a real absence a long backlog is collapsed, and how much is told exactly.
    for (count, breath, absence) in [(25, 15, 60), (60, 15, 60), (25, 15, 0), (150, 1000, 0)] {
        let patience = Patience { absence: Duration::from_secs(absence), ..Patience::default() };
        let mut server = Ngircd::start("MaxPenaltyTime = 0");
        let wire = Wire::to(server.port).await;
        let mut ground = Ground::by_mask(server.port, "", "herder").await;
        ground.network.port = wire.port;
        let dir = tempfile::tempdir().unwrap();
        let config = ground.config(dir.path(), &counter(count, 5, breath), Relay::All);
        let mut alice = ground.alice;
        let stage = Stage::open(config, Options { patience, ..Options::default() }).await;
        enter(&mut alice, "herder").await;
        alice.reaches("herder", "#spark").await;
        alice.say("#spark", "count").await;
        // Lines that a server has taken and not passed on when it is killed are lost with it; so all lines are heard
        // first.
        alice.hears("#spark", "line 5.").await;
        std::fs::write(dir.path().join("go"), "").unwrap();
        server.daemon.kill();
        wire.cut();
        alice.listens_to_the_end().await;
        stage::appears(&dir.path().join("said")).await;
        let mut heard = alice.heard_in("#spark");
        server.restart();
        let mut alice = Person::join(at(server.port), "alice", None, &ROOMS).await;
        wire.mend();
        let back = to_the_end(&mut alice).await;
        assert!(back[0].contains("I was away from "), "the absence is told first: {back:#?}");
        let is_long = count > 30 && absence == 0;
        assert_eq!(is_long, back.iter().any(|text| text.contains("lines while away")), "{back:#?}");
        heard.extend(back);
        accounted(&heard, count, 8);
        alice.hears_in_any_order("#work", "HEARTBEAT herder").await;
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_frozen_while_an_agent_talks_hears_everything_when_it_goes_on() {
    let server = Inspircd::start(&inspircd::Options { rate: 100_000, ..inspircd::Options::default() });
    let mut ground = Ground::by_mask(server.port, "", "herder").await;
    ground.mallory.send("QUIT").await;
    let dir = tempfile::tempdir().unwrap();
    let config = ground.config(dir.path(), &counter(25, 5, 15), Relay::All);
    let mut alice = ground.alice;
    let stage = Stage::open(config, Options::default()).await;
    enter(&mut alice, "herder").await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "count").await;
    alice.hears("#spark", "line 5.").await;
    server.daemon.freeze();
    std::fs::write(dir.path().join("go"), "").unwrap();
    stage::appears(&dir.path().join("said")).await;
    server.daemon.thaw();
    let heard = to_the_end(&mut alice).await;
    assert!(!heard.iter().any(|text| text.contains("away")), "the link held: {heard:#?}");
    accounted(&heard, 25, 0);
    stage.close().await;
}

/// Waits that a test of dead links can afford; each is long for a server that is there.
const SHORT: Patience = Patience {
    quiet: Duration::from_secs(3),
    answer: Duration::from_secs(2),
    flight: Duration::from_secs(5),
    retry: Duration::from_millis(100),
    most: 30,
    barred: Duration::from_secs(60),
    absence: Duration::from_secs(60),
    anew: Duration::from_millis(100),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stays_away_is_told_on_the_other_network_and_joined_anew_when_it_is_there_again() {
    let mut server = Ngircd::start("MaxPenaltyTime = 0");
    let home = stage::server().await;
    let mut bob = stage::server_person(&home, "alice", &["#spark", "#alerts"]).await;
    let ground = Ground::by_mask(server.port, "", "herder").await;
    let dir = tempfile::tempdir().unwrap();
    let mut config = ground.config(dir.path(), "cat", Relay::All);
    config.irc.push(stage::embedded_network(&home));
    let demo = config.irc[1].name.clone();
    config.access.admins.push(Subject::IrcAccount { network: demo, account: "alice".to_owned() });
    let mut alice = ground.alice;
    let stage = Stage::open(config, Options { patience: SHORT, ..stage::inside(&home) }).await;
    enter(&mut alice, "herder").await;
    alice.reaches("herder", "#spark").await;
    bob.reaches("herder", "#spark").await;
    server.daemon.kill();
    alice.listens_to_the_end().await;
    let alert = bob.hears_in_any_order("#alerts", "cannot be reached").await;
    assert!(alert.contains("real") && alert.contains("after 5 attempts"), "{alert}");
    // Agents continue meanwhile, and the network that is up receives their posts.
    bob.say("#spark", "go on").await;
    bob.hears("#spark", "✅ spark completed").await;
    server.restart();
    let mut alice = Person::join(at(server.port), "alice", None, &ROOMS).await;
    let back = bob.hears_in_any_order("#alerts", "is back").await;
    assert!(back.contains("real"), "{back}");
    alice.hears_in_any_order("#spark", "✅ spark completed").await;
    alice.reaches("herder", "#spark").await;
    assert_eq!(bob.heard_in("#alerts").len(), 2, "said once: {:#?}", bob.heard_in("#alerts"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_is_noticed_while_nothing_is_said_and_the_absence_is_told() {
    let server = Ngircd::start("MaxPenaltyTime = 0");
    let wire = Wire::to(server.port).await;
    let mut ground = Ground::by_mask(server.port, "", "herder").await;
    ground.network.port = wire.port;
    let dir = tempfile::tempdir().unwrap();
    let config = ground.config(dir.path(), "cat", Relay::Final);
    let mut alice = ground.alice;
    let stage = Stage::open(config, Options { patience: SHORT, ..Options::default() }).await;
    enter(&mut alice, "herder").await;
    alice.reaches("herder", "#spark").await;

    wire.darken();
    let failing = |state: &LinkState| matches!(state, LinkState::Connecting { reason: Some(_), .. });
    let lost = stage.link("real", failing).await;
    let LinkState::Connecting { reason: Some(reason), .. } = lost else { panic!("{lost:?}") };
    assert!(reason.to_string().contains("silent"), "{reason}");
    wire.mend();
    alice.hears("#herder", "I was away from ").await;
    stage.link("real", |state| matches!(state, LinkState::Up { .. })).await;
    alice.say("#spark", "are you there").await;
    alice.hears("#spark", "✅").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_while_an_agent_talks_costs_nothing_and_the_absence_is_told() {
    let Counting { server: _server, wire, dir, mut alice, stage } = Counting::begin().await;

    wire.darken();
    std::fs::write(dir.path().join("go"), "").unwrap();
    stage::appears(&dir.path().join("said")).await;
    stage.link("real", |state| matches!(state, LinkState::Connecting { reason: Some(_), .. })).await;
    wire.mend();
    let heard = to_the_end(&mut alice).await;
    assert!(heard.iter().any(|text| text.contains("I was away from ")), "{heard:#?}");
    // One window was on its way when it became dark, and no other can have been.
    accounted(&heard, 25, 4);
    alice.hears_in_any_order("#work", "HEARTBEAT herder").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_until_the_adapter_is_begun_anew_costs_nothing_and_the_absence_is_told() {
    let Counting { mut server, wire, dir, mut alice, stage } = Counting::begin().await;

    let since = std::time::Instant::now();
    server.daemon.kill();
    wire.cut();
    alice.listens_to_the_end().await;
    let mut heard = alice.heard_in("#spark");
    let failed = |state: &LinkState, enough: bool| matches!(state, LinkState::Connecting { attempts, .. } if (*attempts >= 5) == enough);
    stage.link("real", |state| failed(state, true)).await;
    // After the fifth failure the adapter is started again, and counts its own failures from then on, which continue.
    std::fs::write(dir.path().join("go"), "").unwrap();
    stage.link("real", |state| failed(state, false)).await;
    stage.link("real", |state| matches!(state, LinkState::Connecting { attempts: 1..5, .. })).await;
    stage::appears(&dir.path().join("said")).await;
    let away = since.elapsed().as_secs();

    server.restart();
    let mut alice = Person::join(at(server.port), "alice", None, &ROOMS).await;
    wire.mend();
    let back = to_the_end(&mut alice).await;
    assert!(back[0].contains("I was away from "), "the absence is told first: {back:#?}");
    let told = back[0].rsplit_once('(').and_then(|(_, told)| told.strip_suffix("s).")).expect("how long");
    let told: u64 = told.parse().expect("seconds");
    assert!(
        (away.saturating_sub(2)..away + 60).contains(&told),
        "away for {away} s or a little more: {}",
        back[0]
    );
    heard.extend(back);
    accounted(&heard, 25, 8);
    alice.hears_in_any_order("#work", "HEARTBEAT herder").await;
    stage.close().await;
}
