//! The real agent CLIs at their pinned versions, through the real driver, against a model API of the tests' own.
//!
//! Each test runs again inside a network namespace that has loopback and nothing else, with an empty home and a dummy
//! key: no CLI can reach anything beyond the machine. The driver's reports go through the core, so that the post and
//! the next step are checked together with the category.
//!
//! `scripts/test` installs the CLIs; `HERDER_TEST_TOOLS` names another folder than `target/test-tools` for them.

#[path = "../sim/model_api.rs"]
pub(crate) mod model_api;
mod stories;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use herder::clock;
use herder::core::agent::{Agent, Phase};
use herder::core::ask::AskAnswer;
use herder::core::effect::Effect;
use herder::core::event::{Event, PauseReason, WaitReason};
use herder::core::file::KeptFile;
use herder::core::id::{NetworkName, SessionId, WorkId};
use herder::core::input::{Control, Input, Signal};
use herder::core::outcome::{Category, Outcome};
use herder::core::policy::Policy;
use herder::core::spec::AgentSpec;
use herder::core::work::{Actor, WorkKind};
use herder::core::{self, Context, OwedBody};
use herder::l10n::Locale;
use herder::runtime::{Clocks, Driver, Launch, Local, Order, ProcessTrees, Report, launch};
use model_api::{ModelApi, Scenario};
pub(crate) use stories::{
    DANGEROUS, asks_what_is_dangerous, begins_with_a_plan, goes_on_after_it_was_killed_in_mid_tool,
    is_shown_a_picture, leaves_nothing_when_it_is_stopped_in_mid_tool, takes_a_message_in_mid_turn,
    told_while_a_tool_runs,
};

/// Set for the run inside the namespace.
const ALONE: &str = "HERDER_TEST_ALONE";

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A hang is noticed after this long, so that the test need not wait for the default of five minutes.
pub(crate) const SILENCE: Duration = Duration::from_secs(6);

/// Runs `test` in a process of its own that can reach loopback alone.
pub(crate) fn alone<F: Future<Output = ()>>(module: &str, name: &str, test: impl FnOnce() -> F) {
    if env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime starts").block_on(test());
        return;
    }
    let root = rustix::process::geteuid().is_root();
    let output = Command::new("unshare")
        .arg(if root { "-n" } else { "-rn" })
        .args(["sh", "-c", r#"ip link set lo up && exec "$0" "$@""#])
        .arg(env::current_exe().expect("this program has a path"))
        .args([&format!("{module}::{name}"), "--exact", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("unshare is there (package util-linux)");
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{name} in its namespace:\n{said}\n{wrong}"
    );
}

/// Returns the folder in which `scripts/test` installs the CLIs.
pub(crate) fn tools() -> PathBuf {
    env::var_os("HERDER_TEST_TOOLS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools"), PathBuf::from)
}

/// The version that `scripts/test` pins in the variable of this name.
pub(crate) fn pinned(variable: &str) -> &'static str {
    let script = include_str!("../../scripts/test");
    let pinned = script.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
    pinned.expect("it is pinned")
}

/// Checks that a CLI is of the version that `scripts/test` pins in the variable of this name.
pub(crate) fn assert_pinned(cli: &Path, variable: &str) {
    let pinned = pinned(variable);
    let home = tempfile::tempdir().expect("a temporary folder");
    let mut asked = Command::new(cli);
    asked
        .arg("--version")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", env::var("PATH").expect("a PATH"));
    let output = asked.output().expect("the CLI runs");
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(version.contains(pinned), "{version} is not {pinned}");
}

/// One agent as its supervisor sees it: the core's state and its pending posts.
pub(crate) struct Supervised {
    pub(crate) agent: Agent,
    pub(crate) policy: Policy,
    pub(crate) locale: Locale,
    pub(crate) posts: Vec<String>,
    pub(crate) effects: Vec<Effect>,
    /// alice's answer to every question to people.
    pub(crate) answers: Option<AskAnswer>,
}

impl Supervised {
    pub(crate) fn new(spec: AgentSpec) -> Self {
        let mut agent = Agent::default();
        core::apply(&mut agent, &Event::Added { spec: Box::new(spec), by: alice() }, clock::now());
        let locale = Locale::load("en-US").expect("English is complete");
        Self {
            agent,
            policy: Policy::default(),
            locale,
            posts: Vec::new(),
            effects: Vec::new(),
            answers: None,
        }
    }

    /// Decides, applies and collects what follows, as a supervisor does.
    pub(crate) fn feed(&mut self, input: &Input) -> Vec<Effect> {
        let now = clock::now();
        let context = Context {
            now,
            policy: &self.policy,
            jitter: Duration::ZERO,
            hold: None,
            closed: None,
            broader: false,
            handed: None,
            parts: &[],
            fresh: WorkId(99),
        };
        let decision = core::decide(&self.agent, input, &context).expect("nothing here is refused");
        let mut effects = Vec::new();
        for event in &decision.events {
            core::apply(&mut self.agent, event, now);
            effects.extend(core::react(&self.agent, event));
            for owed in core::posts(&self.agent, event, &context) {
                self.posts.push(match owed.body {
                    OwedBody::Notice(notice) => self.locale.notice(&notice),
                    OwedBody::Words(words) => words,
                });
            }
        }
        self.effects.extend(effects.iter().cloned());
        effects
    }

    /// The answers to what is open, as orders of alice's.
    fn answered(&mut self) -> Vec<Effect> {
        let Some(answer) = self.answers.clone() else { return Vec::new() };
        let open: Vec<_> = self.agent.asks.iter().map(|ask| ask.id).collect();
        let control = |ask| Control::Answer { ask, answer: answer.clone() };
        open.into_iter()
            .flat_map(|ask| self.feed(&Input::Control { by: alice(), control: control(ask) }))
            .collect()
    }

    pub(crate) fn posted(&self, words: &[&str]) -> bool {
        self.posts.iter().any(|post| words.iter().all(|word| post.contains(word)))
    }
}

pub(crate) fn alice() -> Actor {
    Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None }
}

/// The course of a session against one scenario.
pub(crate) struct Went {
    pub(crate) supervised: Supervised,
    pub(crate) outcome: Outcome,
    pub(crate) survivors: Vec<u32>,
    pub(crate) clock_ran_out: bool,
    pub(crate) requests: u32,
}

impl Went {
    pub(crate) fn phase(&self) -> &Phase {
        &self.supervised.agent.phase
    }

    /// Says everything there is to say about a session that did not go as it should have.
    pub(crate) fn story(&self) -> String {
        format!("{:?}\n{:?}\n{:#?}", self.outcome, self.supervised.agent.phase, self.supervised.posts)
    }

    pub(crate) fn assert_category(&self, category: Category) {
        assert_eq!(self.outcome.category, category, "{}", self.story());
        assert!(self.survivors.is_empty(), "{}", self.story());
    }

    /// The session is tried again after the first step of the backoff.
    pub(crate) fn assert_backs_off(&self, expected: WaitReason) {
        let Phase::Waiting { until, reason } = self.phase() else { panic!("{}", self.story()) };
        assert_eq!(*reason, expected, "{}", self.story());
        let wait = until.since(self.supervised.agent.since);
        assert_eq!(wait, self.supervised.policy.backoff[0], "{}", self.story());
        assert_eq!(self.supervised.agent.queue.len(), 1, "the task goes back to the queue: {}", self.story());
    }

    pub(crate) fn assert_paused(&self, category: Category) {
        let paused = Phase::Paused { reason: PauseReason::Failure(category) };
        assert_eq!(*self.phase(), paused, "{}", self.story());
        let blocked = Effect::BlockAccount { account: self.supervised.agent.account(), category };
        assert!(self.supervised.effects.contains(&blocked), "{}", self.story());
        assert_eq!(self.supervised.agent.failures, 0, "nobody counts this: {}", self.story());
    }
}

/// Gives an agent of `spec` a task against `api`, and sees one session through.
pub(crate) async fn session(api: &ModelApi, spec: AgentSpec) -> Went {
    session_answered(api, spec, None).await
}

/// Runs the same with a person who gives these answers.
pub(crate) async fn session_answered(api: &ModelApi, spec: AgentSpec, answers: Option<AskAnswer>) -> Went {
    session_with_files(api, spec, answers, (Vec::new(), local())).await
}

/// Runs the same with files, which this machine has.
pub(crate) async fn session_with_files(
    api: &ModelApi,
    spec: AgentSpec,
    answers: Option<AskAnswer>,
    (files, local): (Vec<KeptFile>, Local),
) -> Went {
    let mut supervised = Supervised { answers, ..Supervised::new(spec.clone()) };
    let task =
        Control::Give { id: WorkId(1), kind: WorkKind::Task, text: "Say hello.".to_owned(), card: None };
    let mut effects = supervised.feed(&Input::Control { by: alice(), control: task });
    effects.retain(|effect| !matches!(effect, Effect::Keep { .. }));
    let [Effect::Spawn { session, work, .. }] = &effects[..] else { panic!("one spawn, not {effects:?}") };
    let (session, prompt) = (*session, work.text.clone());
    let trees = ProcessTrees::new().expect("this process can adopt");
    let driver = launch(Launch { session, prompt, files, ..a_launch(spec) }, local, trees);
    let (outcome, survivors, clock_ran_out) = see_through(&mut supervised, driver, session).await;
    Went { supervised, outcome, survivors, clock_ran_out, requests: api.messages() }
}

/// Gives an agent a task against `scenario`, and sees one session through. `agent` has its home and its workspace below a
/// folder.
pub(crate) async fn session_against(
    scenario: Scenario,
    agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec,
) -> Went {
    let api = ModelApi::start(scenario).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = agent(&api, folder.path());
    session(&api, spec).await
}

/// The conversation that a session named.
pub(crate) fn conversation_of(said: &[Signal]) -> String {
    let named = said.iter().find_map(|signal| match signal {
        Signal::Ready { conversation } => conversation.clone(),
        _ => None,
    });
    named.expect("it names its conversation")
}

/// Returns the part of a launch that this machine adds: a PATH.
pub(crate) fn local() -> Local {
    let path = env::var("PATH").expect("a PATH");
    Local { environment: BTreeMap::from([("PATH".to_owned(), path)]), ..Local::default() }
}

/// A launch of it.
pub(crate) fn a_launch(spec: AgentSpec) -> Launch {
    Launch {
        always_ask: Vec::new(),
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
        agent: spec.name.clone(),
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "Say hello.".to_owned(),
        conversation: None,
        past: None,
        look: false,
        conversed: herder::core::outcome::Usage::default(),
        together: herder::core::machine::Together::All,
        limits: herder::core::machine::Enforcement::Require,
        marker: format!("test-{}/spark/1", std::process::id()),
        clocks: Clocks {
            startup: PATIENCE,
            silence: SILENCE,
            tool: PATIENCE,
            task: PATIENCE,
            grace: Duration::from_secs(5),
            beat: Duration::from_secs(1),
        },
    }
}

/// Carries reports to the core and its orders to the driver, until the session is over.
pub(crate) async fn see_through(
    supervised: &mut Supervised,
    mut driver: Driver,
    session: SessionId,
) -> (Outcome, Vec<u32>, bool) {
    let mut clock_ran_out = false;
    loop {
        let report = tokio::time::timeout(PATIENCE, driver.reports.recv()).await;
        let report = report.expect("the session ends in time").expect("a session ends with its outcome");
        let Report::Signal(signal) = report else { continue };
        let mut effects = supervised.feed(&Input::Driver { session, signal: signal.clone() });
        effects.extend(supervised.answered());
        for effect in effects {
            let order = match effect {
                Effect::Go { .. } => Order::Go,
                Effect::Answer { key, told, .. } => Order::Answer { key, told },
                _ => continue,
            };
            driver.orders.send(order).await.expect("the driver listens");
        }
        match signal {
            Signal::Ended { outcome, survivors } => return (*outcome, survivors, clock_ran_out),
            Signal::ClockRanOut { .. } => clock_ran_out = true,
            Signal::Workspace { .. }
            | Signal::Spawned { .. }
            | Signal::Ready { .. }
            | Signal::Steered { .. }
            | Signal::Turn { .. }
            | Signal::Observed { .. }
            | Signal::Usage { .. }
            | Signal::Asked { .. }
            | Signal::ConversationLost { .. }
            | Signal::Inquired { .. }
            | Signal::AskWithdrawn { .. } => {}
        }
    }
}

pub(crate) fn refuses(status: u16, kind: &'static str, message: &'static str) -> Scenario {
    Scenario::Refuses { status, headers: Vec::new(), kind, message }
}

/// Sees a session through without a core. What it reported.
pub(crate) async fn signals(
    what: Launch,
    trees: &ProcessTrees,
    mut then: impl FnMut(&Signal, &Driver),
) -> Vec<Signal> {
    let mut driver = launch(what, local(), trees.clone());
    let mut signals = Vec::new();
    loop {
        let report = tokio::time::timeout(PATIENCE, driver.reports.recv()).await;
        let Some(report) = report.expect("the session ends in time") else { return signals };
        let Report::Signal(signal) = report else { continue };
        if matches!(signal, Signal::Spawned { .. }) {
            driver.orders.send(Order::Go).await.expect("the driver listens");
        }
        then(&signal, &driver);
        signals.push(signal);
    }
}

pub(crate) fn ended(signals: &[Signal]) -> (&Outcome, &[u32]) {
    match signals.last() {
        Some(Signal::Ended { outcome, survivors }) => (outcome, survivors),
        _ => panic!("a session ends with its outcome, not with {signals:#?}"),
    }
}

/// Gives `order` as soon as the tool runs.
pub(crate) fn once_a_tool_runs(driver: &Driver, order: Order) {
    let (mut live, orders) = (driver.live.clone(), driver.orders.clone());
    tokio::spawn(async move {
        live.wait_for(|live| live.tool.is_some()).await.expect("the session runs");
        orders.send(order).await.expect("the driver listens");
    });
}
