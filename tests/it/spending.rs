//! Caps with real child processes: the usage of agents together closes their account, in the middle of their
//! sessions.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use herder::config::History;
use herder::core::agent::Phase;
use herder::core::event::{Event, PauseReason};
use herder::core::id::{AccountName, AgentName, NetworkName};
use herder::core::input::Control;
use herder::core::outcome::Category;
use herder::core::policy::Policy;
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::usage::{Caps, Price};
use herder::core::work::WorkKind;
use herder::journal::{self, Entry, FleetEvent, Journal, Stream};
use herder::runtime::ProcessTrees;
use herder::supervisor::{self, FaultInjection, Fleet, Settings, View};

use crate::from_within::asked;

/// Long enough for a loaded machine; reached only when the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says that it has used a million tokens, and works on.
const SPENDS: &str = r#"read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"assistant","message":{"id":"m","model":"dear","content":[],"usage":{"input_tokens":1000000}}}'
while read -r line; do :; done
sleep 600"#;

fn name(text: &str) -> AgentName {
    AgentName::new(text).expect("a good name")
}

fn team() -> AccountName {
    AccountName::from("team")
}

fn agents(dir: &Path) -> Vec<AgentSpec> {
    let spends = |agent| {
        let mut spec = AgentSpec::new(name(agent), Runtime::Claude, dir.to_owned());
        spec.command = ["sh", "-c", SPENDS, "claude"].map(str::to_owned).to_vec();
        spec.account = team();
        spec
    };
    vec![spends("spark"), spends("flint")]
}

/// Opens a fleet with six dollars a session, and a cap of ten a day for the account.
async fn open(dir: &Path) -> (Journal, Fleet) {
    let settings =
        journal::Settings { ballast: 0, ..journal::Settings::new(dir.join("data"), History::default()) };
    let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await;
    let (journal, _) = opened.expect("no panic").expect("a journal");
    let mut policy = Policy { stop_grace: Duration::from_secs(1), ..Policy::default() };
    policy.prices.0.insert("dear".to_owned(), Price { input: 6.0, cached: 6.0, output: 6.0 });
    policy.caps.accounts.insert(team(), Caps { usd_per_day: 10.0, ..Caps::default() });
    let fleet = supervisor::start(Settings {
        redactor: herder::redact::Redactor::new(&[]),
        journal: journal.clone(),
        policy,
        networks: vec![NetworkName::from("test")],
        listeners: Vec::new(),
        trees: ProcessTrees::new().expect("process trees"),
        agents: agents(dir),
        withheld: BTreeSet::new(),
        tools: None,
        runner: None,
        elsewhere: None,
        evaluator: None,
        attempts: 5,
        fault: FaultInjection::default(),
    })
    .await
    .expect("a fleet");
    (journal, fleet)
}

async fn until(fleet: &Fleet, agent: &str, condition: impl FnMut(&View) -> bool) -> View {
    let agent = name(agent);
    match tokio::time::timeout(PATIENCE, fleet.wait_for(&agent, condition)).await {
        Ok(view) => view.expect("the agent exists"),
        Err(_) => panic!("{agent} never got there: {:?}", fleet.view(&agent)),
    }
}

fn is_closed(view: &View) -> bool {
    view.agent.phase == Phase::Paused { reason: PauseReason::Account(Category::Budget) }
}

fn sessions(journal: &Journal, agent: &str) -> usize {
    let history = journal.history(&Stream::Agent(name(agent)), 10_000, None).expect("readable");
    let starts = |entry: &Entry| matches!(entry, Entry::Agent(Event::SessionStarted { .. }));
    history.iter().filter(|recorded| starts(&recorded.entry)).count()
}

async fn close(journal: Journal, fleet: Fleet) {
    assert_eq!(fleet.drain(PATIENCE).await, 0, "processes are left");
    journal.close().await;
}

#[tokio::test]
async fn what_agents_use_together_stops_them_all_keeps_their_work_and_holds_across_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, fleet) = open(dir.path()).await;
    let give = |agent: &'static str| {
        let fleet = fleet.clone();
        async move { fleet.give(&name(agent), WorkKind::Task, "beans".to_owned(), asked()).await }
    };
    give("spark").await.expect("accepted");
    until(&fleet, "spark", |view| view.agent.meter.cost_usd == 6.0).await;
    give("flint").await.expect("accepted");
    for agent in ["spark", "flint"] {
        let view = until(&fleet, agent, is_closed).await;
        assert_eq!((view.agent.queue.len(), view.agent.queue[0].attempts), (1, 0), "its work is kept");
    }
    let together = fleet.usage().into_iter().find(|shared| shared.scope == Some(team()));
    let together = together.expect("the account is there");
    assert_eq!((together.today.cost_usd, together.today.estimated_usd), (12.0, 12.0));
    assert!(together.reached().is_some());
    let fleet_events = journal.history(&Stream::Fleet, 100, None).expect("readable");
    let closes = |entry: &Entry| matches!(entry, Entry::Fleet(FleetEvent::AccountBlocked { .. }));
    assert_eq!(fleet_events.iter().filter(|recorded| closes(&recorded.entry)).count(), 1, "one alert");
    close(journal, fleet).await;

    let (journal, fleet) = open(dir.path()).await;
    fleet.control(&name("flint"), Control::Clear, asked()).await.expect_err("tasks stay");
    assert!(is_closed(&fleet.view(&name("flint")).expect("it is there")));
    assert_eq!((sessions(&journal, "spark"), sessions(&journal, "flint")), (1, 1));

    // A person's word carries to twenty dollars, for both.
    fleet.control(&name("spark"), Control::Resume, asked()).await.expect("accepted");
    for agent in ["spark", "flint"] {
        until(&fleet, agent, |view| view.agent.last_session.0 == 2).await;
        until(&fleet, agent, is_closed).await;
    }
    let together = fleet.usage().into_iter().find(|shared| shared.scope == Some(team()));
    let together = together.expect("the account is there");
    assert_eq!((together.today.cost_usd, together.caps[0].limit), (24.0, 20.0));
    close(journal, fleet).await;
}

#[tokio::test]
async fn a_session_that_began_on_an_account_ends_at_its_cap_although_its_agent_has_another_by_now() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, fleet) = open(dir.path()).await;
    let give = |agent: &'static str| {
        let fleet = fleet.clone();
        async move { fleet.give(&name(agent), WorkKind::Task, "beans".to_owned(), asked()).await }
    };
    give("spark").await.expect("accepted");
    let view = until(&fleet, "spark", |view| view.agent.meter.cost_usd == 6.0).await;
    let other = AccountName::from("other");
    let spec = AgentSpec { account: other.clone(), ..view.agent.spec.clone().expect("it was added") };
    let moved = Control::Edit { spec: Box::new(spec), base: None };
    fleet.control(&name("spark"), moved, asked()).await.expect("accepted");
    give("flint").await.expect("accepted");
    until(&fleet, "flint", is_closed).await;
    // The session that began on the old account continues with the new one, which has room.
    let again = |view: &View| view.agent.last_session.0 == 2 && view.agent.meter.cost_usd == 6.0;
    let view = until(&fleet, "spark", again).await;
    assert_eq!(
        (view.agent.phase.clone(), view.agent.failures),
        (Phase::Running { session: view.agent.last_session }, 0)
    );
    let used = |scope: &AccountName| {
        let shared = fleet.usage().into_iter().find(|shared| shared.scope.as_ref() == Some(scope));
        shared.map(|shared| shared.today.cost_usd)
    };
    assert_eq!((used(&team()), used(&other)), (Some(12.0), Some(6.0)));
    close(journal, fleet).await;
}
