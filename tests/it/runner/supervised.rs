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
use herder::supervisor::{self, Asked, FaultInjection, Fleet, Settings, View};

use super::PATIENCE;
use super::links::{Runner, forgotten};

fn asked() -> Asked {
    let by = Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None };
    let (place, verb) = ("test".to_owned(), "work".to_owned());
    let audit = AuditEntry { by, place, agent: None, verb, text: String::new() };
    Asked { audit, answer: None, message: None }
}

/// A fleet with one agent, which runs on a runner.
struct House {
    journal: Journal,
    link: Link,
    fleet: Fleet,
}

impl House {
    async fn open(runner: &Runner, epoch: u64) -> Self {
        let settings = journal::Settings::new(runner.folder().join("data"), History::default());
        let settings = journal::Settings { ballast: 0, ..settings };
        let opening = tokio::task::spawn_blocking(move || Journal::open(&settings)).await;
        let (journal, _) = opening.expect("it does not panic").expect("it can be opened");
        let link = Link::to(runner.socket(), Bot { journal: journal.id().to_owned(), epoch });
        let mut spec = AgentSpec::new(spark(), Runtime::Command, runner.folder().to_owned());
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
            elsewhere: None,
            evaluator: None,
            attempts: 5,
            fault: FaultInjection::default(),
        });
        Self { fleet: fleet.await.expect("it starts"), journal, link }
    }

    /// Waits until the process and its first line are on record, and the runner has forgotten them.
    async fn first_line(&self, runner: &Runner) {
        let open = async {
            loop {
                let memos = self.journal.memos("session/").expect("they can be read");
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
    }

    async fn until_it_is_done(&self) {
        let done = |view: &View| view.agent.phase == Phase::Idle && view.agent.totals.successes == 1;
        let spark = spark();
        let done = self.fleet.wait_for(&spark, done);
        tokio::time::timeout(PATIENCE, done).await.expect("it ends in time").expect("the agent exists");
    }

    async fn close(self) {
        assert_eq!(self.fleet.drain(PATIENCE).await, 0, "processes are left");
        self.link.close().await;
        self.journal.close().await;
    }
}

fn spark() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_acknowledged_once_their_consequences_are_on_disk() {
    let runner = Runner::start_for(None);
    let house = House::open(&runner, 1).await;
    let given = house.fleet.give(&spark(), WorkKind::Message, "count".to_owned(), asked()).await;
    given.expect("it is accepted");
    house.first_line(&runner).await;
    std::fs::write(runner.folder().join("go"), "").expect("written");
    house.until_it_is_done().await;
    assert_eq!(house.journal.memos("session/").expect("they can be read"), [], "the session is over");
    forgotten(&runner).await;
    house.close().await;
    runner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_its_herder_and_the_next_one_goes_on_with_it() {
    let runner = Runner::start_for(None);
    let house = House::open(&runner, 1).await;
    let given = house.fleet.give(&spark(), WorkKind::Message, "count".to_owned(), asked()).await;
    given.expect("it is accepted");
    house.first_line(&runner).await;
    house.close().await;
    assert_eq!(runner.sessions().len(), 1, "the end of a herder ends no session");
    std::fs::write(runner.folder().join("go"), "").expect("written");
    let house = House::open(&runner, 2).await;
    house.until_it_is_done().await;
    let posts = house.journal.undelivered(&NetworkName::from("test")).expect("they can be read");
    let said = |line: &str| posts.iter().filter(|post| format!("{:?}", post.body).contains(line)).count();
    assert_eq!((said("line 1"), said("line 2")), (1, 1), "each line is told once: {posts:?}");
    let view = house.fleet.view(&spark()).expect("the agent exists");
    assert_eq!((view.agent.totals.sessions, view.agent.totals.crashes), (1, 0));
    forgotten(&runner).await;
    house.close().await;
    runner.end().await;
}
