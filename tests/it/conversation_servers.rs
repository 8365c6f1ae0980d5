//! The whole conversation, and outages of the server in the midst of work, on real servers: ngircd, InspIRCd with Anope,
//! agentirc.
//!
//! One script for all: what differs is how people prove who they are, and what nicks they may have. The links herder has
//! are led through a [`Wire`] where a test wants to cut them, or to hold herder back until somebody listens again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use herder::config::{AccessRules, Config, IrcNetwork, Subject};
use herder::core::id::NetworkName;
use herder::core::spec::Relay;
use herder::run::Options;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::servers::agentirc::Agentirc;
use crate::servers::inspircd::{self, Inspircd};
use crate::servers::ngircd::Ngircd;
use crate::stage::{self, Person, Stage};

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
    /// What makes alice an admin.
    admin: Subject,
    /// The nick herder gets.
    herder: &'static str,
    alice: Person,
    mallory: Person,
}

impl Ground {
    /// Where people are known by their masks. `before` is what every nick must begin with.
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
        }
    }

    /// Where people are known by the accounts that services logged them in to.
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
    loop {
        person.send("PRIVMSG NickServ :REGISTER password who@test.local").await;
        let answer = person.expect("services", |line| line.contains(" 900 ") || line.contains(" 401 ")).await;
        if answer.contains(" 900 ") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Comes into all the rooms.
/// herder is there first: on many servers who comes first is the one who may change the topic.
async fn enter(person: &mut Person, herder: &str) {
    for room in ROOMS {
        waits_outside(person, herder, room).await;
        person.send(&format!("JOIN {room}")).await;
        person.expect("to have joined", |line| line.contains(" 366 ") && line.contains(room)).await;
        person.sees(herder, room).await;
    }
}

/// Waits until `herder` is in `room` without being there; nobody is told who joins elsewhere, so it is asked. A PING follows
/// since agentirc is silent about channels that do not exist.
async fn waits_outside(person: &mut Person, herder: &str, room: &str) {
    for _ in 0..1000 {
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

/// The script: everything a person does with one agent.
async fn whole_conversation(ground: Ground) {
    let dir = tempfile::tempdir().unwrap();
    let config = ground.config(dir.path(), SPARK, Relay::Final);
    let Ground { mut alice, mut mallory, herder, .. } = ground;
    let stage = Stage::open(config, Options::default()).await;
    enter(&mut alice, herder).await;
    enter(&mut mallory, herder).await;
    alice.reaches(herder, "#spark").await;
    alice.reaches(herder, "#herder").await;

    work_crash_and_recovery(&mut alice).await;
    a_stranger_is_refused(&mut mallory, &mut alice).await;
    pause_and_resume(&mut alice).await;
    abort_and_the_next(&mut alice).await;
    tasks(&mut alice).await;

    alice.say("#spark", "!resum").await;
    alice.hears("#spark", "Did you mean `!resume`?").await;
    alice.say("#herder", "!status sparc").await;
    alice.hears("#herder", "Did you mean spark?").await;

    alice.say("#spark", "long last work").await;
    alice.hears("#spark", "🐜").await;
    alice.say("#herder", "!stop-all").await;
    alice.hears("#herder", "Stopping 1 agent").await;
    alice.hears("#herder", "1 agent stopped, 0 processes left.").await;
    let marks = std::fs::read_dir(dir.path()).unwrap().count();
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
    let options = inspircd::Options { rate: 20_000, services: true, ..inspircd::Options::default() };
    let server = Inspircd::start(&options);
    whole_conversation(Ground::by_account(server.port).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_conversation_on_agentirc() {
    let server = Agentirc::start();
    whole_conversation(Ground::by_mask(server.port, "desk-", "desk-herder").await).await;
}

/// Says `count` numbered lines, those after `before` when there is a file `go`, `breath` a breath; a file `said` tells that all
/// are said. What is said in one breath is one post.
fn counter(count: usize, before: usize, breath: usize) -> String {
    format!(
        "cat > /dev/null; i=0; while [ $i -lt {count} ]; do i=$((i+1)); echo \"line $i.\"; \
         if [ $i -eq {before} ]; then until [ -e go ]; do sleep 0.05; done; fi; \
         if [ $((i % {breath})) -eq 0 ]; then sleep 2; fi; done; touch said"
    )
}

/// The wire between herder and a server: a test can cut it.
struct Wire {
    port: u16,
    whole: watch::Sender<bool>,
}

impl Wire {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(at(0)).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (whole, state) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut state = state.clone();
                // Who comes while it is cut is hung up on.
                if !*state.borrow_and_update() {
                    continue;
                }
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(at(server)).await {
                        tokio::select! {
                            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                            _ = state.wait_for(|whole| !whole) => {}
                        }
                    }
                });
            }
        });
        Self { port, whole }
    }

    fn cut(&self) {
        self.whole.send_replace(false);
    }

    fn mend(&self) {
        self.whole.send_replace(true);
    }
}

/// Waits until a file is there, which another process makes.
async fn appears(path: &Path) {
    let there = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(stage::PATIENCE, there).await.unwrap_or_else(|_| panic!("{path:?} never came"));
}

/// What an agent that counts to `count` was heard to say: every number is there once and in order, or was told to be left out
/// where it was left out. A line that was on its way when the link broke may come twice.
fn accounted(heard: &[String], count: usize, repeats: usize) {
    let (mut next, mut left_out, mut twice) = (1, 0, 0);
    let mut seen = BTreeSet::new();
    for text in heard {
        if let Some(rest) = text.strip_prefix("… ") {
            left_out += rest.split(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number");
        } else if let Some(number) = text.strip_prefix("line ").and_then(|rest| rest.strip_suffix('.')) {
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

/// Everything of the agent in `#spark` until its session is said to have ended, including what was heard before.
async fn to_the_end(person: &mut Person) -> Vec<String> {
    person.hears_in_any_order("#spark", "✅").await;
    person.heard_in("#spark")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_while_an_agent_talks_costs_nothing_and_the_absence_is_told() {
    // With a short backlog everything is said; a long one is collapsed, and how much is told exactly.
    for (count, breath) in [(25, 15), (60, 15), (150, 1000)] {
        let mut server = Ngircd::start("MaxPenaltyTime = 0");
        let wire = Wire::to(server.port).await;
        let mut ground = Ground::by_mask(server.port, "", "herder").await;
        ground.network.port = wire.port;
        let dir = tempfile::tempdir().unwrap();
        let config = ground.config(dir.path(), &counter(count, 5, breath), Relay::All);
        let mut alice = ground.alice;
        let stage = Stage::open(config, Options::default()).await;
        enter(&mut alice, "herder").await;
        alice.reaches("herder", "#spark").await;
        alice.say("#spark", "count").await;
        alice.hears("#spark", "line 1.").await;
        std::fs::write(dir.path().join("go"), "").unwrap();
        server.daemon.kill();
        wire.cut();
        alice.listens_to_the_end().await;
        appears(&dir.path().join("said")).await;
        let mut heard = alice.heard_in("#spark");
        server.restart();
        let mut alice = Person::join(at(server.port), "alice", None, &ROOMS).await;
        wire.mend();
        let back = to_the_end(&mut alice).await;
        assert!(back[0].contains("I was away from "), "the absence is told first: {back:#?}");
        assert_eq!(count > 30, back.iter().any(|text| text.contains("lines while away")), "{back:#?}");
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
    alice.hears("#spark", "line 1.").await;
    server.daemon.freeze();
    std::fs::write(dir.path().join("go"), "").unwrap();
    appears(&dir.path().join("said")).await;
    server.daemon.thaw();
    let heard = to_the_end(&mut alice).await;
    assert!(!heard.iter().any(|text| text.contains("away")), "the link held: {heard:#?}");
    accounted(&heard, 25, 0);
    stage.close().await;
}
