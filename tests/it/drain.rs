//! Work that finishes while herder goes down: it is done, it is reported, and it is not done again.

use std::path::Path;

use herder::chat::irc::Connector;
use herder::config::{Config, History};
use herder::core::agent::{Agent, Phase};
use herder::core::id::{AgentName, NetworkName};
use herder::core::notice::Notice;
use herder::core::post::Body;
use herder::core::spec::{AgentSpec, Output, Relay};
use herder::core::work::WorkKind;
use herder::journal::{self, AuditEntry, Journal, Stream};
use herder::run::Options;
use herder::supervisor::Asked;

use crate::stage::{self, Scene, Stage};

/// When told to end, it finishes its work, and says so.
const LATE: &str = "cat > /dev/null; echo run >> runs; trap 'say all written; finish' TERM; say begun; touch begun; \
                    while :; do sleep 0.1; done";

fn late(dir: &Path) -> AgentSpec {
    AgentSpec { relay: Relay::All, ..printing(dir, LATE) }
}

/// Returns a program that prints what `codex exec --json` does.
fn printing(dir: &Path, script: &str) -> AgentSpec {
    let functions = r#"say() { printf '{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}\n' "$*"; }
                       finish() { echo '{"type":"turn.completed"}'; exit 0; }"#;
    AgentSpec { output: Output::Codex, ..stage::shell("spark", dir, &format!("{functions}\n{script}")) }
}

/// Returns the state on disk once herder is gone: the agent, and the number of pending completions.
async fn left(dir: &Path) -> (Agent, usize) {
    let settings =
        journal::Settings { ballast: 0, ..journal::Settings::new(dir.join("data"), History::default()) };
    let (journal, _) = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
    let spark = AgentName::new("spark").unwrap();
    let agent = journal.load::<Agent>(&Stream::Agent(spark)).unwrap().state;
    let owed = journal.undelivered(&NetworkName::from("demo")).unwrap();
    let completed = |body: &Body| matches!(body, Body::Notice(Notice::Completed { .. }));
    let owed = owed.iter().filter(|post| completed(&post.body)).count();
    journal.close().await;
    (agent, owed)
}

fn assert_done(agent: &Agent, successes: u64) {
    assert_eq!(agent.phase, Phase::Idle);
    assert_eq!((agent.totals.successes, agent.queue.len(), &agent.current), (successes, 0, &None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_finished_at_the_last_moment_is_on_disk_and_said() {
    let Scene { dir, server: _server, mut person, stage } =
        Scene::open("alice", &["#spark"], |dir| vec![late(dir)]).await;
    person.say("#spark", "write it").await;
    person.hears("#spark", "begun").await;
    stage.close().await;
    person.hears("#spark", "all written").await;
    person.hears("#spark", "✅ spark completed").await;
    let (agent, owed) = left(dir.path()).await;
    assert_done(&agent, 1);
    assert_eq!(owed, 0, "what was said is not owed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_finished_at_the_last_moment_is_said_after_the_next_start_if_nobody_could_hear_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = stage::server().await;
    let config = || -> Config {
        stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![late(dir.path())])
    };
    let closed = Connector::factory(|| {
        Err::<tokio::io::DuplexStream, _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
    });
    let options = Options { connectors: [(NetworkName::from("demo"), closed)].into(), ..Options::default() };
    let stage = Stage::open(config(), options).await;
    let by = herder::core::work::Actor {
        network: NetworkName::from("demo"),
        name: "alice".to_owned(),
        identity: None,
    };
    let audit = AuditEntry {
        by,
        place: "test".to_owned(),
        agent: None,
        verb: "work".to_owned(),
        text: String::new(),
    };
    let spark = AgentName::new("spark").unwrap();
    let asked = Asked { audit, answer: None, message: None };
    stage.herder.fleet().give(&spark, WorkKind::Message, "write it".to_owned(), asked).await.unwrap();
    stage::appears(&dir.path().join("begun")).await;
    stage.close().await;
    let (agent, owed) = left(dir.path()).await;
    assert_done(&agent, 1);
    assert_eq!(owed, 1, "nobody has heard of it yet");

    let mut alice = stage::server_person(&server, "alice", &["#spark"]).await;
    let stage = Stage::open(config(), stage::inside(&server)).await;
    alice.hears("#spark", "all written").await;
    alice.hears("#spark", "✅ spark completed").await;
    stage.close().await;
    assert_eq!(std::fs::read_to_string(dir.path().join("runs")).unwrap(), "run\n", "it is done once");
}

/// Like [`LATE`] the first time; afterwards it is done at once.
const LATE_ONCE: &str = "cat >> runs; test -e begun && say done && finish; trap 'say done; finish' TERM; touch begun; \
                         while :; do sleep 0.1; done";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_more_is_begun_when_herder_goes_down_and_what_waits_is_done_after_the_next_start() {
    let Scene { dir, server, mut person, stage } =
        Scene::open("alice", &["#spark"], |dir| vec![printing(dir, LATE_ONCE)]).await;
    person.say("#spark", "one").await;
    stage::appears(&dir.path().join("begun")).await;
    person.say("#spark", "two").await;
    person.hears("#spark", "Queued for spark").await;
    stage.close().await;
    person.hears("#spark", "✅ spark completed").await;
    let more = person.overhears("#spark").await;
    assert!(!more.iter().any(|text| text.contains("🐜")), "something was begun: {more:?}");
    let (agent, _) = left(dir.path()).await;
    assert_eq!(agent.phase, Phase::Idle);
    assert_eq!((agent.totals.sessions, agent.totals.successes, agent.queue.len()), (1, 1, 1));

    let config = stage::config(
        dir.path(),
        vec![stage::embedded_network(&server)],
        vec![printing(dir.path(), LATE_ONCE)],
    );
    let stage = Stage::open(config, stage::inside(&server)).await;
    person.hears("#spark", "✅ spark completed").await;
    stage.close().await;
    let said = person.heard_in("#spark");
    assert!(!said.iter().any(|text| text.contains("cut short")), "nothing was under way: {said:?}");
    let (agent, _) = left(dir.path()).await;
    assert_done(&agent, 2);
    assert_eq!(std::fs::read_to_string(dir.path().join("runs")).unwrap(), "one\ntwo\n");
}
