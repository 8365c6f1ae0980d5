//! A server that is away for more than a minute while agents work, with the waits of production: frozen, and behind a
//! black hole. Nothing is lost, the order is kept, and people are told how long herder was away.
//!
//! Both run at once, since almost all of it is waiting.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use herder::core::link::LinkState;
use herder::core::spec::Relay;
use herder::local::{self, Request};
use herder::run::Options;

use super::wire::Wire;
use super::{Ground, come_into};
use crate::servers::ngircd::Ngircd;
use crate::stage::{self, PATIENCE, Person, Stage};

const AGENTS: [&str; 3] = ["spark", "flint", "newt"];

/// Jobs that each agent is given just before the server is away, and while it is: with their starts and ends few
/// enough that a channel's pending posts are never collapsed.
const BEFORE: usize = 2;
const WHILE: usize = 5;

/// Lines that one window holds: what may be seen twice after a link has broken.
const WINDOW: usize = 4;

/// The channel in which people are told how long herder was away, beside the agents' channels.
const CONTROL: &str = "#herder";

/// A herder with agents that do their work at once, and a person who hears all of it.
struct Load {
    server: Ngircd,
    wire: Wire,
    dir: tempfile::TempDir,
    alice: Person,
    stage: Stage,
    given: usize,
}

impl Load {
    async fn begin() -> Self {
        let server = Ngircd::start("MaxPenaltyTime = 0");
        let wire = Wire::to(server.port).await;
        let mut ground = Ground::by_mask(server.port, "", "herder").await;
        ground.network.port = wire.port;
        let dir = tempfile::tempdir().unwrap();
        let mut config = ground.config(dir.path(), "", Relay::Final);
        let worker = "echo \"done $(tail -n 1)\"";
        config.agents = AGENTS.map(|agent| stage::shell(agent, dir.path(), worker)).into();
        let mut alice = ground.alice;
        let stage = Stage::open(config, Options::default()).await;
        let rooms = AGENTS.map(|agent| format!("#{agent}"));
        let rooms: Vec<&str> = rooms.iter().map(String::as_str).chain(["#work", CONTROL]).collect();
        come_into(&mut alice, "herder", &rooms).await;
        alice.reaches("herder", CONTROL).await;
        Self { server, wire, dir, alice, stage, given: 0 }
    }

    /// Gives each agent a job from the shell, which works while the server does not.
    async fn gives(&mut self) {
        self.given += 1;
        let socket = self.dir.path().join("data").join(local::FILE_NAME);
        for agent in AGENTS {
            let args = vec![agent.to_owned(), format!("{agent} {}.", self.given)];
            let request = Request { command: "task add".to_owned(), args };
            let asked = tokio::time::timeout(PATIENCE, local::ask(&socket, &request));
            let answer = asked.await.expect("an answer").expect("the socket is there");
            assert!(answer.ok, "{:?}", answer.lines);
        }
    }

    /// Lets agents work for that long, until herder knows as well that the server is away.
    async fn goes_on(&mut self, how_long: Duration) {
        for _ in 0..WHILE {
            self.gives().await;
            // So that the server does not take her for gone.
            self.alice.send("PING :awake").await;
            tokio::time::sleep(how_long / u32::try_from(WHILE).unwrap()).await;
        }
        self.stage.link("real", |state| !matches!(state, LinkState::Up { .. })).await;
    }

    async fn away(mut self, how_long: Duration, strike: fn(&Self), mend: fn(&Self)) {
        for _ in 0..BEFORE {
            self.gives().await;
        }
        let since = Instant::now();
        strike(&self);
        self.goes_on(how_long).await;
        let away = since.elapsed();
        mend(&self);
        for agent in AGENTS {
            let last = format!("done {agent} {}.", self.given);
            self.alice.hears_in_any_order(&format!("#{agent}"), &last).await;
        }
        let Self { server: _server, mut alice, stage, given, .. } = self;
        while numbers(&alice).len() < given * AGENTS.len() {
            alice.hears("#work", "DONE ").await;
        }
        alice.hears_in_any_order("#work", "HEARTBEAT herder").await;
        // Repeated lines would have come by the end.
        stage.close().await;
        alice.overhears(CONTROL).await;
        everything_is_there_in_order(&alice, given);
        for room in AGENTS.map(|agent| format!("#{agent}")).iter().map(String::as_str).chain([CONTROL]) {
            is_told_how_long(&alice.heard_in(room), away);
        }
    }
}

/// Tasks that are told to machines to be done.
fn numbers(person: &Person) -> BTreeSet<String> {
    let heard = person.heard_in("#work").into_iter();
    heard.filter_map(|line| line.strip_prefix("DONE ").map(str::to_owned)).collect()
}

/// Checks that every job is reported in the order it was given, and no more than a window of lines twice.
fn everything_is_there_in_order(person: &Person, given: usize) {
    let mut twice = 0;
    for agent in AGENTS {
        let heard = person.heard_in(&format!("#{agent}"));
        let mut told: Vec<&String> = Vec::new();
        for line in heard.iter().filter(|line| line.starts_with("│ done ")) {
            if told.contains(&line) {
                twice += 1;
            } else {
                told.push(line);
            }
        }
        let expected: Vec<String> = (1..=given).map(|number| format!("│ done {agent} {number}.")).collect();
        assert_eq!(told, expected.iter().collect::<Vec<_>>(), "{heard:#?}");
        let over = heard.iter().filter(|line| line.contains('✅')).count();
        assert!((given..=given + WINDOW).contains(&over), "each is told to be over: {heard:#?}");
    }
    assert!(twice <= WINDOW, "{twice} lines came twice");
}

/// Checks that the reported absence is as long as it was for a person who waited, not counted from herder's loss of
/// the server.
fn is_told_how_long(heard: &[String], away: Duration) {
    let told: Vec<&String> = heard.iter().filter(|line| line.contains("I was away from ")).collect();
    let [told] = told[..] else { panic!("it is told once: {heard:#?}") };
    let length = told.rsplit_once('(').and_then(|(_, length)| length.strip_suffix(").")).expect("how long");
    let seconds: u64 = length
        .split(' ')
        .map(|part| match part.split_at(part.len() - 1) {
            (count, "m") => 60 * count.parse::<u64>().expect("minutes"),
            (count, _) => count.parse().expect("seconds"),
        })
        .sum();
    let away = away.as_secs();
    assert!((away.saturating_sub(2)..away + 60).contains(&seconds), "away for {away} s: {told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_for_more_than_a_minute_under_load_costs_nothing_and_it_is_told_how_long() {
    let frozen = async {
        let load = Load::begin().await;
        let thaw: fn(&Load) = |load| load.server.daemon.thaw();
        load.away(Duration::from_secs(65), |load| load.server.daemon.freeze(), thaw).await;
    };
    let dark = async {
        let load = Load::begin().await;
        load.away(Duration::from_secs(95), |load| load.wire.darken(), |load| load.wire.mend()).await;
    };
    tokio::join!(frozen, dark);
}
