//! The wall clock is set while herder runs, and while it is down.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herder::clock;
use herder::config::History;
use herder::core::agent::{Agent, Phase};
use herder::core::ask::{AskAnswer, AskKey};
use herder::core::event::WaitReason;
use herder::core::id::{AgentName, NetworkName};
use herder::core::input::{Control, Signal};
use herder::core::notice::Notice;
use herder::core::outcome::{Category, Outcome, Usage};
use herder::core::policy::Policy;
use herder::core::post::Body;
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::time::Timestamp;
use herder::core::work::{Actor, WorkKind};
use herder::journal::{AuditEntry, Journal, Memory};
use herder::runtime::orphans::Ended;
use herder::runtime::{Driver, Launch, Live, ProcessTrees, Report};
use herder::supervisor::{self, Asked, FaultInjection, Fleet, Settings, Simulated, View};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

const MORNING: Timestamp = Timestamp::from_seconds(1_772_360_430);

const THREE_HOURS: i64 = 3 * 3_600_000;

/// The delay of a limit's reset after the morning began.
const RESETS_AFTER: Duration = Duration::from_secs(600);

/// The agents, what each waits for, and for how long.
const WAITS: [(&str, u64); 7] = [
    ("backoff", 10),
    ("crash", 1),
    ("rest", 20),
    ("limit", 10),
    ("quota", 300),
    ("past", 300),
    ("question", 1800),
];

fn name(agent: &str) -> AgentName {
    AgentName::new(agent).unwrap()
}

/// Sessions that are over at once, each in the way of its agent; the second one of each stays.
fn simulated() -> Simulated {
    let kept = Mutex::new(Vec::new());
    Simulated {
        launch: Box::new(move |launch: Launch| {
            let (orders, taken) = mpsc::channel(64);
            let (said, reports) = mpsc::channel(64);
            let (seen, live) = watch::channel(Live::default());
            let say = |signal| said.try_send(Report::Signal(signal)).unwrap();
            say(Signal::Spawned { pid: 1, started: 1 });
            say(Signal::Ready { conversation: None });
            let outcome = match launch.agent.as_str() {
                "backoff" => Some(Outcome::new(Category::Transient, "overloaded")),
                "crash" => Some(Outcome::new(Category::Crash, "exit code 1")),
                "rest" => Some(Outcome::new(Category::Success, "")),
                "limit" => Some(Outcome::new(Category::RateLimit, "slow down")),
                "quota" => Some(Outcome::new(Category::Quota, "the week is over")),
                // Its reset was before it was met.
                "past" => {
                    let resets_at = Some(MORNING.before(Duration::from_secs(60)));
                    Some(Outcome { resets_at, ..Outcome::new(Category::Quota, "the week is over") })
                }
                "reset" => {
                    let resets_at = Some(MORNING.after(RESETS_AFTER));
                    Some(Outcome { resets_at, ..Outcome::new(Category::RateLimit, "") })
                }
                _ => None,
            };
            match outcome.filter(|_| launch.session.0 == 1) {
                Some(outcome) => {
                    say(Signal::Ended { outcome: Box::new(outcome), survivors: Vec::new() });
                }
                None if launch.agent.as_str() == "question" => say(Signal::Asked {
                    key: AskKey(1),
                    tool: "Bash".to_owned(),
                    command: "git push".to_owned(),
                    redacted: None,
                    shell: true,
                    vague: false,
                }),
                None => {}
            }
            let beats = said.clone();
            tokio::spawn(async move {
                while beats.send(Report::Beat).await.is_ok() {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                }
            });
            kept.lock().unwrap().push((taken, said, seen));
            Driver { orders, reports, live, stay: None }
        }),
        end_orphans: Box::new(|_| Ended::default()),
        end_processes: Box::new(|_| Vec::new()),
        random: Box::new(|| 0),
        judge: Box::new(|_| panic!("nobody is judged: {:?}", Usage::default())),
        split: Box::new(|_| panic!("nothing is split")),
    }
}

struct House {
    journal: Journal,
    fleet: Fleet,
}

impl House {
    async fn open(memory: &Memory, agents: &[&str]) -> Self {
        let journal = Journal::in_memory(memory, "clocks", History::default(), Arc::new(|_| true)).unwrap();
        let spec = |agent: &&str| {
            let mut spec = AgentSpec::new(name(agent), Runtime::Command, PathBuf::from("/"));
            spec.command = vec!["true".to_owned()];
            spec.account = (*agent).into();
            (spec.looping, spec.rest) = (*agent == "rest", Duration::from_secs(20));
            spec
        };
        let fleet = supervisor::start(Settings {
            redactor: herder::redact::Redactor::new(&[]),
            journal: journal.clone(),
            policy: Policy { max_active: 0, ..Policy::default() },
            networks: vec![NetworkName::from("test")],
            listeners: Vec::new(),
            trees: ProcessTrees::none(),
            agents: agents.iter().map(spec).collect(),
            withheld: Default::default(),
            tools: None,
            runner: None,
            elsewhere: None,
            evaluator: None,
            attempts: 5,
            fault: FaultInjection::default().simulating(simulated()),
        })
        .await
        .unwrap();
        Self { journal, fleet }
    }

    fn asked(verb: &str) -> Asked {
        let by = Actor { network: NetworkName::from("test"), name: "ann".to_owned(), identity: None };
        let (verb, text) = (verb.to_owned(), String::new());
        let audit = AuditEntry { by, place: "test".to_owned(), agent: None, verb, text };
        Asked { audit, answer: None, message: None }
    }

    async fn give(&self, agent: &str) {
        let asked = Self::asked("task");
        let given = self.fleet.give(&name(agent), WorkKind::Message, "count".to_owned(), asked).await;
        given.unwrap();
    }

    /// Waits for a condition, for longer than any wait takes; the time is simulated.
    async fn until(&self, agent: &str, condition: impl FnMut(&View) -> bool) -> View {
        let agent_name = name(agent);
        let waiting = self.fleet.wait_for(&agent_name, condition);
        match timeout(Duration::from_secs(7200), waiting).await {
            Ok(view) => view.expect("it is there"),
            Err(_) => panic!("{agent} waits still: {:?}", self.fleet.view(&agent_name)),
        }
    }

    /// Waits until its first session is over, or has asked.
    async fn until_it_waits(&self, agent: &str) -> View {
        self.until(agent, |view| {
            let over = view.agent.last_outcome.is_some() && view.agent.session().is_none();
            over || !view.agent.asks.is_empty()
        })
        .await
    }

    /// Waits until its wait is over.
    async fn until_it_goes_on(&self, agent: &str) {
        let asks = agent == "question";
        let goes_on = |agent: &Agent| agent.totals.sessions == 2 || asks && agent.asks.is_empty();
        self.until(agent, |view| goes_on(&view.agent)).await;
    }

    fn told_of_the_clock(&self) -> Vec<Notice> {
        let posts = self.journal.undelivered(&NetworkName::from("test")).unwrap().into_iter();
        let notices = posts.filter_map(|post| match post.body {
            Body::Notice(notice @ Notice::ClockSet { .. }) => Some(notice),
            _ => None,
        });
        notices.collect()
    }

    async fn close(self) {
        self.fleet.drain(Duration::from_secs(10)).await;
        self.journal.close().await;
    }
}

/// Checks the length of each wait when the clock is set in the middle of the shortest one.
async fn waits_when_set_by(by: i64) {
    for (agent, seconds) in WAITS {
        clock::simulate(MORNING);
        let house = House::open(&Memory::default(), &[agent]).await;
        if agent != "rest" {
            house.give(agent).await;
        }
        house.until_it_waits(agent).await;
        let began = Instant::now();
        tokio::time::sleep(Duration::from_millis(seconds * 300)).await;
        clock::set(by);
        house.until_it_goes_on(agent).await;
        let took = began.elapsed();
        let length = Duration::from_secs(seconds);
        assert!(took >= length && took <= length + Duration::from_secs(11), "{agent}: {took:?} by {by}");
        // A look a little later gives no second notice.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let millis = Duration::from_millis(by.unsigned_abs());
        assert_eq!(house.told_of_the_clock(), [Notice::ClockSet { ahead: by > 0, by: millis }], "{agent}");
        house.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_wait_is_longer_when_the_clock_is_set_back() {
    waits_when_set_by(-THREE_HOURS).await;
}

#[tokio::test(start_paused = true)]
async fn no_wait_is_shorter_when_the_clock_is_set_ahead() {
    waits_when_set_by(THREE_HOURS).await;
}

/// The answer comes before the timer has noticed that the clock was set.
#[tokio::test(start_paused = true)]
async fn an_answer_right_after_the_clock_was_set_is_in_time() {
    for by in [THREE_HOURS, -THREE_HOURS] {
        clock::simulate(MORNING);
        let house = House::open(&Memory::default(), &["question"]).await;
        house.give("question").await;
        let ask = house.until_it_waits("question").await.agent.asks[0].id;
        clock::set(by);
        let answer = Control::Answer { ask, answer: AskAnswer::Allow { always: false } };
        let answered = house.fleet.control(&name("question"), answer, House::asked("approve")).await;
        assert!(matches!(answered, Ok(Notice::PermissionAnswered { allowed: true, .. })), "{answered:?}");
        house.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_ends_at_a_time_goes_by_the_wall_clock() {
    for (by, waits) in [(-300_000, 900), (300_000, 300)] {
        clock::simulate(MORNING);
        let house = House::open(&Memory::default(), &["reset"]).await;
        house.give("reset").await;
        house.until_it_waits("reset").await;
        let began = Instant::now();
        clock::set(by);
        house.until_it_goes_on("reset").await;
        let (took, waits) = (began.elapsed(), Duration::from_secs(waits));
        assert!(took >= waits && took <= waits + Duration::from_secs(11), "{took:?}");
        house.close().await;
    }
}

/// Within ten seconds, and the failures that count for the breaker are as long ago as they were.
#[tokio::test(start_paused = true)]
async fn what_is_shown_of_a_wait_is_what_is_left_of_it() {
    clock::simulate(MORNING);
    let house = House::open(&Memory::default(), &["rest"]).await;
    house.until_it_waits("rest").await;
    let began = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    clock::set(-THREE_HOURS);
    let view = house.until("rest", |view| view.agent.since <= clock::now()).await;
    assert!(began.elapsed() <= Duration::from_secs(12), "{:?}", began.elapsed());
    let left = view.agent.countdown().expect("it waits").since(clock::now());
    assert_eq!(left.as_secs() + began.elapsed().as_secs(), 20, "{left:?}");
    assert!(matches!(view.agent.phase, Phase::Waiting { reason: WaitReason::Rest, .. }));
    house.close().await;
}

/// As after a reboot: the time since boot is useless then. A reset that was reported counts by the wall clock, and may
/// lie ahead again.
#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_while_herder_was_down_makes_no_wait_longer_than_it_was() {
    for (agent, seconds) in WAITS.into_iter().filter(|(agent, _)| !["question", "past"].contains(agent)) {
        clock::simulate(MORNING);
        let memory = Memory::default();
        let house = House::open(&memory, &[agent]).await;
        if agent != "rest" {
            house.give(agent).await;
        }
        house.until_it_waits(agent).await;
        house.close().await;
        clock::simulate(MORNING.moved(-THREE_HOURS));
        let house = House::open(&memory, &[agent]).await;
        let began = Instant::now();
        house.until_it_goes_on(agent).await;
        let (took, length) = (began.elapsed(), Duration::from_secs(seconds));
        assert!(took <= length + Duration::from_secs(11), "{agent}: {took:?}");
        house.close().await;
    }
}

/// The clock was not set: time has passed, and a wait continues while herder is down.
#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_while_herder_is_down() {
    clock::simulate(MORNING);
    let memory = Memory::default();
    let house = House::open(&memory, &["quota"]).await;
    house.give("quota").await;
    house.until_it_waits("quota").await;
    house.close().await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    let house = House::open(&memory, &["quota"]).await;
    let began = Instant::now();
    house.until_it_goes_on("quota").await;
    assert!(began.elapsed() <= Duration::from_secs(111), "{:?}", began.elapsed());
    assert_eq!(house.told_of_the_clock(), []);
    house.close().await;
}
