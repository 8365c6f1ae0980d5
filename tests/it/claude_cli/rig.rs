//! One agent with the real CLI, a model API of the tests' own, and the core behind it.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::model_api::{ModelApi, Scenario};
use herder::clock;
use herder::core::agent::{Agent, Phase};
use herder::core::effect::Effect;
use herder::core::event::{Event, PauseReason, WaitReason};
use herder::core::id::{AgentName, NetworkName, SessionId, WorkId};
use herder::core::input::{Control, Input, Signal};
use herder::core::outcome::{Category, Outcome};
use herder::core::policy::Policy;
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::work::{Actor, WorkKind};
use herder::core::{self, Context, OwedBody};
use herder::l10n::Locale;
use herder::runtime::{Clocks, Driver, Launch, Order, ProcessTrees, Report, launch};

/// Set for the run inside the namespace.
const ALONE: &str = "HERDER_TEST_ALONE";

/// Longer than anything here takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A hang is noticed after this long, so that the test need not wait for the default of five minutes.
const SILENCE: Duration = Duration::from_secs(6);

/// Runs `test` in a process of its own that can reach loopback alone.
pub(super) fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
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
        .args([&format!("claude_cli::{name}"), "--exact", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("unshare is there (package util-linux)");
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{name} in its namespace:\n{said}\n{wrong}"
    );
}

/// The CLI's native binary, as `scripts/test` installs it.
pub(super) fn cli() -> PathBuf {
    let tools = env::var_os("HERDER_TEST_TOOLS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools"), PathBuf::from);
    let packages = tools.join("claude/node_modules/@anthropic-ai");
    let platform = |name: &str| name.starts_with("claude-code-linux-") && !name.ends_with("-musl");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    found
        .filter(|entry| entry.file_name().to_str().is_some_and(platform))
        .map(|entry| entry.path().join("claude"))
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!("no claude below {}; run scripts/test, which installs it", packages.display())
        })
}

/// One agent as its supervisor sees it: the core's state and what it owes.
pub(super) struct Supervised {
    pub(super) agent: Agent,
    pub(super) policy: Policy,
    pub(super) locale: Locale,
    pub(super) posts: Vec<String>,
    pub(super) effects: Vec<Effect>,
}

impl Supervised {
    pub(super) fn new(spec: AgentSpec) -> Self {
        let mut agent = Agent::default();
        core::apply(&mut agent, &Event::Added { spec: Box::new(spec), by: alice() }, clock::now());
        let locale = Locale::load("en-US").expect("English is complete");
        Self { agent, policy: Policy::default(), locale, posts: Vec::new(), effects: Vec::new() }
    }

    /// Decides, applies and collects what follows, as a supervisor does.
    pub(super) fn feed(&mut self, input: &Input) -> Vec<Effect> {
        let now = clock::now();
        let context = Context { now, policy: &self.policy, jitter: Duration::ZERO, fresh: WorkId(99) };
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

    pub(super) fn posted(&self, words: &[&str]) -> bool {
        self.posts.iter().any(|post| words.iter().all(|word| post.contains(word)))
    }
}

fn alice() -> Actor {
    Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None }
}

/// How a session against one scenario went.
pub(super) struct Went {
    pub(super) supervised: Supervised,
    pub(super) outcome: Outcome,
    pub(super) survivors: Vec<u32>,
    pub(super) clock_ran_out: bool,
    pub(super) requests: u32,
}

impl Went {
    pub(super) fn phase(&self) -> &Phase {
        &self.supervised.agent.phase
    }

    /// Says everything there is to say about a session that did not go as it should have.
    pub(super) fn story(&self) -> String {
        format!("{:?}\n{:?}\n{:#?}", self.outcome, self.supervised.agent.phase, self.supervised.posts)
    }

    pub(super) fn assert_category(&self, category: Category) {
        assert_eq!(self.outcome.category, category, "{}", self.story());
        assert!(self.survivors.is_empty(), "{}", self.story());
    }

    /// The session is tried again after the first step of the backoff.
    pub(super) fn assert_backs_off(&self, expected: WaitReason) {
        let Phase::Waiting { until, reason } = self.phase() else { panic!("{}", self.story()) };
        assert_eq!(*reason, expected, "{}", self.story());
        let wait = until.since(self.supervised.agent.since);
        assert_eq!(wait, self.supervised.policy.backoff[0], "{}", self.story());
        assert_eq!(self.supervised.agent.queue.len(), 1, "the task goes back to the queue: {}", self.story());
    }

    pub(super) fn assert_paused(&self, category: Category) {
        let paused = Phase::Paused { reason: PauseReason::Failure(category) };
        assert_eq!(*self.phase(), paused, "{}", self.story());
        assert!(self.supervised.effects.contains(&Effect::BlockAccount(category)), "{}", self.story());
        assert_eq!(self.supervised.agent.failures, 0, "nobody counts this: {}", self.story());
    }
}

/// Gives an agent a task against `scenario`, and sees one session through.
pub(super) async fn session(scenario: Scenario, change: impl FnOnce(&mut AgentSpec)) -> Went {
    let api = ModelApi::start(scenario).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut spec = agent(&api, folder.path());
    change(&mut spec);
    let mut supervised = Supervised::new(spec.clone());
    let task = Control::Give { id: WorkId(1), kind: WorkKind::Task, text: "Say hello.".to_owned() };
    let effects = supervised.feed(&Input::Control { by: alice(), control: task });
    let [Effect::Spawn { session, work, .. }] = &effects[..] else { panic!("one spawn, not {effects:?}") };
    let (session, prompt) = (*session, work.text.clone());
    let trees = ProcessTrees::new().expect("this process can adopt");
    let driver = launch(Launch { session, prompt, ..a_launch(spec) }, trees);
    let (outcome, survivors, clock_ran_out) = see_through(&mut supervised, driver, session).await;
    Went { supervised, outcome, survivors, clock_ran_out, requests: api.messages() }
}

/// An agent whose home and workspace are below `folder`, and whose model is `api`.
pub(super) fn agent(api: &ModelApi, folder: &Path) -> AgentSpec {
    let (home, workspace) = (folder.join("home"), folder.join("work"));
    for path in [&home, &workspace] {
        std::fs::create_dir(path).expect("a folder is made");
    }
    let name = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(name, Runtime::Claude, workspace);
    spec.command = vec![cli().display().to_string()];
    spec.inherit_env = vec!["PATH".to_owned()];
    for (variable, value) in [
        ("HOME", home.display().to_string()),
        ("ANTHROPIC_BASE_URL", api.url.clone()),
        ("ANTHROPIC_API_KEY", "sk-ant-api03-dummy".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ] {
        spec.env.insert(variable.to_owned(), value);
    }
    spec
}

/// A launch of it.
pub(super) fn a_launch(spec: AgentSpec) -> Launch {
    Launch {
        agent: spec.name.clone(),
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "Say hello.".to_owned(),
        conversation: None,
        marker: format!("test-{}/spark/1", std::process::id()),
        environment: BTreeMap::from([("PATH".to_owned(), env::var("PATH").expect("a PATH"))]),
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
async fn see_through(
    supervised: &mut Supervised,
    mut driver: Driver,
    session: SessionId,
) -> (Outcome, Vec<u32>, bool) {
    let mut clock_ran_out = false;
    loop {
        let report = tokio::time::timeout(PATIENCE, driver.reports.recv()).await;
        let report = report.expect("the session ends in time").expect("a session ends with its outcome");
        let Report::Signal(signal) = report else { continue };
        for effect in supervised.feed(&Input::Driver { session, signal: signal.clone() }) {
            if effect == (Effect::Go { session }) {
                driver.orders.send(Order::Go).await.expect("the driver listens");
            }
        }
        match signal {
            Signal::Ended { outcome, survivors } => return (*outcome, survivors, clock_ran_out),
            Signal::ClockRanOut { .. } => clock_ran_out = true,
            Signal::Spawned { .. }
            | Signal::Ready { .. }
            | Signal::Steered { .. }
            | Signal::Turn { .. }
            | Signal::Denied { .. } => {}
        }
    }
}

pub(super) fn refuses(status: u16, kind: &'static str, message: &'static str) -> Scenario {
    Scenario::Refuses { status, headers: Vec::new(), kind, message }
}
