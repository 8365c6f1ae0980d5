//! Whose turn it is, and accounts that meet their usage limit: a whole herder with real children, talked to over IRC.

use std::path::Path;
use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::core::agent::Phase;
use herder::core::event::Event;
use herder::core::id::{AccountName, AgentName};
use herder::core::input::{Control, Input};
use herder::core::outcome::Category;
use herder::core::policy::Policy;
use herder::core::quota::{QuotaRules, Resume};
use herder::core::spec::{AgentSpec, Pattern};
use herder::journal::{Entry, FleetEvent, Stream};
use herder::run::Options;
use herder::supervisor::FaultInjection;

use crate::stage::{PATIENCE, Person, Stage, config, embedded_network, inside, server, server_person, shell};

/// Says what it was told, unless the file `exhausted` is there: then it is at the account's limit.
const LIMITED: &str = "[ -e exhausted ] && { echo 'usage limit reached, sorry' >&2; exit 1; }; cat";

/// Works until it is ended.
const LONG: &str = "sleep 600";

struct Scene {
    dir: tempfile::TempDir,
    server: Server,
    alice: Person,
    stage: Stage,
}

async fn open(
    dir: &Path,
    server: &Server,
    agents: Vec<AgentSpec>,
    change: impl FnOnce(&mut Policy),
) -> Stage {
    let mut config = config(dir, vec![embedded_network(server)], agents);
    change(&mut config.policy);
    Stage::open(config, inside(server)).await
}

impl Scene {
    async fn open(agents: impl FnOnce(&Path) -> Vec<AgentSpec>, change: impl FnOnce(&mut Policy)) -> Self {
        let (dir, server) = (tempfile::tempdir().expect("a folder"), server().await);
        let mut alice = server_person(&server, "alice", &["#herder", "#alerts", "#work"]).await;
        let stage = open(dir.path(), &server, agents(dir.path()), change).await;
        alice.reaches("herder", "#herder").await;
        Self { dir, server, alice, stage }
    }

    async fn says(&mut self, text: &str, answer: &str) -> String {
        self.alice.say("#herder", text).await;
        self.alice.hears("#herder", answer).await
    }

    async fn rests(&self, agent: &str, sessions: u64) {
        let agent = AgentName::new(agent).expect("a name");
        let rests = self.stage.herder.fleet().wait_for(&agent, |view| {
            view.agent.phase == Phase::Idle
                && view.agent.queue.is_empty()
                && view.agent.totals.successes >= sessions
        });
        tokio::time::timeout(PATIENCE, rests).await.expect("in time").expect("it is there");
    }

    fn sessions(&self, agent: &str) -> usize {
        let stream = Stream::Agent(AgentName::new(agent).expect("a name"));
        let history = self.stage.herder.fleet().journal().history(&stream, 1000, None).expect("readable");
        let starts = |entry: &Entry| matches!(entry, Entry::Agent(Event::SessionStarted { .. }));
        history.iter().filter(|recorded| starts(&recorded.entry)).count()
    }

    fn closings(&self) -> usize {
        let history =
            self.stage.herder.fleet().journal().history(&Stream::Fleet, 1000, None).expect("readable");
        let closes = |entry: &Entry| matches!(entry, Entry::Fleet(FleetEvent::AccountExhausted { .. }));
        history.iter().filter(|recorded| closes(&recorded.entry)).count()
    }
}

/// Two agents of one account, and one of another.
fn limited(dir: &Path) -> Vec<AgentSpec> {
    let of = |agent: &str, account: &str| {
        let mut spec = shell(agent, dir, LIMITED);
        spec.account = AccountName::from(account);
        spec.patterns = vec![Pattern { matches: "usage limit".to_owned(), category: Category::Quota }];
        spec
    };
    let mut ember = of("ember", "local");
    ember.command = ["sh", "-c", "cat"].map(str::to_owned).to_vec();
    vec![of("spark", "openai"), of("flint", "openai"), ember]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_agents_work_as_may_and_the_others_wait_for_their_turn() {
    let agents = |dir: &Path| ["one", "two", "three"].map(|agent| shell(agent, dir, LONG)).to_vec();
    let mut scene = Scene::open(agents, |policy| policy.max_active = 2).await;
    scene.says("@one begin", "one is on it").await;
    scene.says("@two begin", "two is on it").await;
    let queued = scene.says("@three begin", "Queued for three").await;
    let waits = "👀 Queued for three at position 1: waits for its turn (2 of 2 active).";
    assert!(queued.ends_with(waits), "{queued}");
    let status = scene.says("@three status", "three: ").await;
    assert!(status.contains("waits for its turn (2 of 2 active)"), "{status}");
    assert_eq!((scene.sessions("one"), scene.sessions("two"), scene.sessions("three")), (1, 1, 0));

    scene.says("@one abort", "one is being stopped").await;
    let three = AgentName::new("three").expect("a name");
    let fleet = scene.stage.herder.fleet().clone();
    let works = fleet.wait_for(&three, |view| view.agent.process.is_some());
    tokio::time::timeout(PATIENCE, works).await.expect("in time").expect("it is there");
    let again = scene.says("@one once more", "Queued for one").await;
    assert!(again.contains("waits for its turn (2 of 2 active)"), "{again}");
    // A waiting agent is paused like any other, and does not begin when a place is free.
    scene.says("@one pause", "⏸️ one").await;
    scene.says("@two abort", "two is being stopped").await;
    let rested = fleet.view(&AgentName::new("one").expect("a name")).expect("it is there");
    assert!(matches!(rested.agent.phase, Phase::Paused { .. }) && rested.agent.queue.len() == 1);
    scene.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exhausted_account_waits_for_a_persons_word_also_after_a_restart_while_others_go_on() {
    let mut scene = Scene::open(limited, |_| {}).await;
    let exhausted = scene.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    scene.alice.say("#herder", "@spark count the beans").await;
    let alert = scene.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert!(alert.starts_with("⏳ Account openai: usage limit reached, seen by spark."), "{alert}");
    assert!(alert.contains("one of them tries again at"), "{alert}");
    scene.alice.hears_in_any_order("#work", "QUOTA-EXHAUSTED openai").await;
    let queued = scene.says("@flint count the peas", "flint").await;
    assert!(queued.contains("at position 1: account openai is exhausted until"), "{queued}");
    let status = scene.says("@spark status", "spark: ").await;
    assert!(status.contains("account openai is exhausted until"), "{status}");
    // Another account has nothing to do with it.
    scene.alice.say("#herder", "@ember say something").await;
    scene.rests("ember", 1).await;
    assert_eq!((scene.sessions("spark"), scene.sessions("flint"), scene.closings()), (1, 0, 1));

    let Scene { dir, server, mut alice, stage } = scene;
    stage.close().await;
    let stage = open(dir.path(), &server, limited(dir.path()), |_| {}).await;
    alice.reaches("herder", "#herder").await;
    let mut scene = Scene { dir, server, alice, stage };
    let status = scene.says("@flint status", "flint: ").await;
    assert!(status.contains("account openai is exhausted until"), "{status}");
    assert_eq!((scene.sessions("spark"), scene.sessions("flint"), scene.closings()), (1, 0, 1));

    std::fs::remove_file(&exhausted).expect("it was there");
    scene.alice.say("#herder", "@flint resume").await;
    scene.alice.hears_in_any_order("#alerts", "alice lets flint try account openai").await;
    scene.alice.hears_in_any_order("#alerts", "Account openai works again, as flint shows").await;
    scene.rests("flint", 1).await;
    scene.rests("spark", 1).await;
    scene.stage.close().await;
}

/// The gate is the fleet's: an agent's supervisor that is rebuilt finds it as it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exhausted_account_stays_closed_when_a_supervisor_of_its_agents_panics() {
    let (dir, server) = (tempfile::tempdir().expect("a folder"), server().await);
    let mut alice = server_person(&server, "alice", &["#herder", "#alerts", "#work"]).await;
    let config = config(dir.path(), vec![embedded_network(&server)], limited(dir.path()));
    // Whoever has work that may not begin, and whoever has closed the account.
    let fault = FaultInjection::new(|_, input| {
        let pause = matches!(input, Input::Control { control: Control::Pause { .. }, .. });
        assert!(!pause, "a fault");
    });
    let stage = Stage::open(config, Options { fault, ..inside(&server) }).await;
    alice.reaches("herder", "#herder").await;
    let mut scene = Scene { dir, server, alice, stage };
    std::fs::write(scene.dir.path().join("exhausted"), "").expect("a file");
    scene.alice.say("#herder", "@spark count the beans").await;
    scene.alice.hears_in_any_order("#work", "QUOTA-EXHAUSTED openai").await;
    scene.says("@flint count the peas", "account openai is exhausted until").await;
    let fleet = scene.stage.herder.fleet().clone();
    for agent in ["flint", "spark"] {
        scene.alice.say("#herder", &format!("@{agent} pause")).await;
        let name = AgentName::new(agent).expect("a name");
        // It begins again once its countdown is over, and looks at all that it owes.
        let rebuilt = fleet.wait_for(&name, |view| {
            view.agent.totals.crashes >= 1 && view.agent.phase == Phase::Idle && view.hold.is_some()
        });
        tokio::time::timeout(PATIENCE, rebuilt).await.expect("in time").expect("it is there");
        let status = scene.says(&format!("@{agent} status"), &format!("{agent}: ")).await;
        assert!(status.contains("account openai is exhausted until"), "{status}");
    }
    assert_eq!((scene.sessions("spark"), scene.sessions("flint"), scene.closings()), (1, 0, 1));
    // Another account's agent goes on meanwhile.
    scene.alice.say("#herder", "@ember say something").await;
    scene.rests("ember", 1).await;
    scene.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_agent_of_an_exhausted_account_tries_it_again_and_again_until_it_works() {
    let often = |policy: &mut Policy| policy.quota.probe_interval = Duration::from_secs(1);
    let mut scene = Scene::open(limited, often).await;
    let exhausted = scene.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    scene.alice.say("#herder", "@spark count the beans").await;
    scene.alice.hears_in_any_order("#work", "QUOTA-EXHAUSTED openai").await;
    scene.alice.say("#herder", "@flint count the peas").await;
    // Both have tried, one at a time.
    let (spark, flint) = (AgentName::new("spark").expect("a name"), AgentName::new("flint").expect("a name"));
    let fleet = scene.stage.herder.fleet().clone();
    let tried = fleet.wait_for(&flint, |view| view.agent.exhausted.is_some());
    tokio::time::timeout(PATIENCE, tried).await.expect("in time").expect("it is there");
    let tried = fleet.wait_for(&spark, |view| view.agent.totals.sessions >= 2);
    tokio::time::timeout(PATIENCE, tried).await.expect("in time").expect("it is there");
    std::fs::remove_file(&exhausted).expect("it was there");
    scene.alice.hears_in_any_order("#alerts", "Account openai works again").await;
    scene.rests("flint", 1).await;
    scene.rests("spark", 1).await;
    let tries = scene.sessions("spark") + scene.sessions("flint");
    // Every try but the last two has shown that the limit holds.
    assert_eq!(tries, scene.closings() + 2, "two at once");
    let alerts = scene.alice.heard_in("#alerts");
    let said = alerts.iter().filter(|text| text.contains("usage limit reached")).count();
    let lines = scene.alice.heard_in("#work");
    let lines = lines.iter().filter(|text| text.contains("QUOTA-EXHAUSTED")).count();
    assert_eq!((said, lines), (1, 1), "once for each closing");
    let view = fleet.view(&spark).expect("it is there");
    assert_eq!((view.agent.failures, view.agent.totals.failures), (0, 0), "the account's, not the agent's");
    scene.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_asked_before_an_exhausted_account_goes_on_if_they_want_it_so() {
    let ask = |policy: &mut Policy| {
        let probe_interval = Duration::from_secs(1);
        policy.quota = QuotaRules { probe_interval, resume: Resume::Ask, quiet: None };
    };
    let mut scene = Scene::open(limited, ask).await;
    let exhausted = scene.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    scene.alice.say("#herder", "@spark count the beans").await;
    let alert = scene.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert!(alert.contains("people are asked at"), "{alert}");
    scene.alice.hears_in_any_order("#alerts", "its usage limit should be over. `@spark resume`").await;
    assert_eq!(scene.sessions("spark"), 1, "nobody tries without a word");
    std::fs::remove_file(&exhausted).expect("it was there");
    scene.alice.say("#herder", "@spark resume").await;
    scene.alice.hears_in_any_order("#alerts", "Account openai works again").await;
    scene.rests("spark", 1).await;
    scene.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_the_board_passes_over_an_account_that_is_closed_and_waits_for_it_if_nobody_else_can() {
    let mut scene = Scene::open(limited, |_| {}).await;
    std::fs::write(scene.dir.path().join("exhausted"), "").expect("a file");
    scene.says("@spark begin", "spark is on it").await;
    scene.alice.hears("#work", "QUOTA-EXHAUSTED openai").await;
    // flint has been idle for longest, and is of the same account.
    scene.says("!task add count the ants", "is on the board").await;
    scene.alice.hears("#work", "assigned ember").await;
    scene.alice.hears("#work", "DONE").await;

    scene.says("@ember pause", "⏸️ ember").await;
    scene.says("!task add count the bees", "is on the board").await;
    scene.alice.hears("#work", "queued").await;
    scene.says("!task list", "queued · board · count the bees").await;
    assert_eq!(scene.sessions("flint"), 0);
    // A person lets the account be tried: once it works the task goes to whoever is idle.
    std::fs::remove_file(scene.dir.path().join("exhausted")).expect("a file");
    scene.says("@spark resume", "spark").await;
    scene.alice.hears("#work", "assigned flint").await;
    scene.alice.hears("#work", "DONE").await;
    scene.stage.close().await;
}
