//! A fleet whose agents run on a runner: the runner keeps reports until their consequences are on the fleet's disk.

use std::collections::BTreeSet;
use std::time::Duration;

use herder::config::History;
use herder::core::agent::Phase;
use herder::core::id::{AgentName, NetworkName};
use herder::core::policy::Policy;
use herder::core::spec::{AgentSpec, Relay, Runtime};
use herder::core::work::{Actor, WorkKind};
use herder::journal::{self, AuditEntry, Journal};
use herder::redact::Redactor;
use herder::runner::link::{Bot, Link};
use herder::runtime::ProcessTrees;
use herder::supervisor::{self, Asked, FaultInjection, Settings};

use super::PATIENCE;
use super::links::{Runner, forgotten};

fn asked() -> Asked {
    let by = Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None };
    let (place, verb) = ("test".to_owned(), "work".to_owned());
    let audit = AuditEntry { by, place, agent: None, verb, text: String::new() };
    Asked { audit, answer: None, message: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_acknowledged_once_their_consequences_are_on_disk() {
    let runner = Runner::start_for(None);
    let settings = journal::Settings::new(runner.folder().join("data"), History::default());
    let settings = journal::Settings { ballast: 0, ..settings };
    let opening = tokio::task::spawn_blocking(move || Journal::open(&settings)).await;
    let (journal, _) = opening.expect("it does not panic").expect("it can be opened");
    let link = Link::to(runner.socket(), Bot { journal: journal.id().to_owned(), epoch: 1 });
    let spark = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(spark.clone(), Runtime::Command, runner.folder().to_owned());
    let script = "cat >/dev/null; echo line 1; until [ -e go ]; do sleep 0.01; done; echo line 2";
    spec.command = ["bash", "-c", script].map(str::to_owned).to_vec();
    spec.relay = Relay::All;
    let fleet = supervisor::start(Settings {
        redactor: Redactor::default(),
        journal: journal.clone(),
        policy: Policy { stop_grace: Duration::from_secs(1), ..Policy::default() },
        networks: vec![NetworkName::from("test")],
        listeners: Vec::new(),
        trees: ProcessTrees::new().expect("this process can adopt"),
        agents: vec![spec],
        withheld: BTreeSet::new(),
        tools: None,
        runner: Some(link.clone()),
        evaluator: None,
        attempts: 5,
        fault: FaultInjection::default(),
    });
    let fleet = fleet.await.expect("it starts");
    fleet.give(&spark, WorkKind::Message, "count".to_owned(), asked()).await.expect("it is accepted");
    // The process, and the first line.
    let open = async {
        loop {
            let memos = journal.memos("session/").expect("they can be read");
            let sessions = runner.sessions();
            if let ([(key, record)], [standing]) = (&*memos, &*sessions)
                && standing.next > 2
                && standing.unheard == standing.next
                && *record == format!(r#"{{"runner":"local","session":1,"heard":{}}}"#, standing.next - 1)
            {
                break assert_eq!(key, "session/spark");
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, open).await.expect("what is reported is on record, and heard");
    std::fs::write(runner.folder().join("go"), "").expect("written");
    let idle =
        fleet.wait_for(&spark, |view| view.agent.phase == Phase::Idle && view.agent.totals.successes == 1);
    tokio::time::timeout(PATIENCE, idle).await.expect("it ends in time").expect("the agent exists");
    assert_eq!(journal.memos("session/").expect("they can be read"), [], "the session is over");
    forgotten(&runner).await;
    assert_eq!(fleet.drain(PATIENCE).await, 0, "processes are left");
    link.close().await;
    journal.close().await;
    runner.end().await;
}
