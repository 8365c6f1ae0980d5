//! Drivers with real child processes: ends of sessions, the stop ladder, clocks, orphans.

mod acp;
mod acp_wire;
mod claude;
mod claude_wire;
mod codex;
mod codex_wire;
mod command;
mod cuts;
pub(crate) mod hangs;
mod isolation;
pub(crate) mod limits;
mod printed;
mod processes;
mod replayed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use herder::core::agent::ProcessRecord;
use herder::core::ask::Told;
use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::input::{Clock, Signal};
use herder::core::outcome::{Category, Exit, Outcome};
use herder::core::spec::{AgentSpec, Output, Pattern, PromptMode, Relay, Runtime};
use herder::runtime::process::{Identity, Owned, Tree, lives};
use herder::runtime::{Clocks, Driver, Launch, Local, Order, ProcessTrees, Report, launch, orphans};

/// Longer than anything here takes on a busy machine; a test that gets here has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("test-{}-{}/spark/1", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

const HERDER: &str = env!("CARGO_BIN_EXE_herder");

/// A launch of one of the scripted claudes.
fn agent(script: &[&str], workspace: &Path) -> Launch {
    session(Runtime::Claude, &[&[HERDER, "demo-agent"], script].concat(), workspace)
}

/// A launch of `command` in `workspace`, with clocks that do not run out.
fn session(runtime: Runtime, command: &[&str], workspace: &Path) -> Launch {
    let agent = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(agent.clone(), runtime, workspace.to_owned());
    spec.command = command.iter().map(|&word| word.to_owned()).collect();
    Launch {
        always_ask: Vec::new(),
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
        agent,
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "do it".to_owned(),
        conversation: None,
        past: None,
        look: false,
        conversed: herder::core::outcome::Usage::default(),
        together: herder::core::machine::Together::All,
        limits: herder::core::machine::Enforcement::Require,
        marker: marker(),
        clocks: Clocks {
            startup: PATIENCE,
            silence: PATIENCE,
            tool: PATIENCE,
            task: PATIENCE,
            grace: Duration::from_secs(5),
            beat: Duration::from_millis(200),
        },
    }
}

/// Returns the part of a launch that this machine adds: the environment of the tests.
fn local() -> Local {
    Local { environment: std::env::vars().collect(), ..Local::default() }
}

fn edit(launch: &mut Launch, change: impl FnOnce(&mut AgentSpec)) {
    change(Arc::make_mut(&mut launch.spec));
}

/// A running session and what it has reported so far.
struct Running {
    driver: Driver,
    trees: ProcessTrees,
    marker: String,
    signals: Vec<Signal>,
    words: Vec<String>,
    not_taken: Vec<WorkId>,
    beats: usize,
}

impl Running {
    fn start(what: Launch) -> Self {
        Self::start_in(what, ProcessTrees::new().expect("this process can adopt"))
    }

    fn start_in(what: Launch, trees: ProcessTrees) -> Self {
        Self::start_with((what, local()), trees)
    }

    fn start_with((what, local): (Launch, Local), trees: ProcessTrees) -> Self {
        let marker = what.marker.clone();
        let driver = launch(what, local, trees.clone());
        Self {
            driver,
            trees,
            marker,
            signals: Vec::new(),
            words: Vec::new(),
            not_taken: Vec::new(),
            beats: 0,
        }
    }

    async fn order(&self, order: Order) {
        self.driver.orders.send(order).await.expect("the driver listens");
    }

    /// Takes in the next report; `None`: it was the last. A signal is answered as well.
    async fn report(&mut self) -> Option<Option<Signal>> {
        let report = tokio::time::timeout(PATIENCE, self.driver.reports.recv());
        match report.await.expect("the driver reports in time")? {
            Report::Beat => self.beats += 1,
            Report::Words(words) => self.words.push(words),
            Report::NotTaken { work } => self.not_taken.push(work),
            Report::Signal(signal) => {
                self.signals.push(signal.clone());
                return Some(Some(signal));
            }
        }
        Some(None)
    }

    async fn first_words(&mut self) {
        while self.words.is_empty() {
            self.report().await.expect("the driver runs");
        }
    }

    /// Returns when everything ordered so far was looked at. Only for runtimes that take no message into a running turn: one
    /// that is refused comes behind it.
    async fn has_taken_orders(&mut self) {
        let barrier = WorkId(u64::MAX);
        self.order(Order::Steer { work: barrier, text: "is this taken?".to_owned(), files: Vec::new() })
            .await;
        while !self.not_taken.contains(&barrier) {
            self.report().await.expect("the driver runs");
        }
        self.not_taken.retain(|work| *work != barrier);
    }

    async fn has_a_tool_open(&self) -> String {
        let mut live = self.driver.live.clone();
        let open = tokio::time::timeout(PATIENCE, live.wait_for(|live| live.tool.is_some()));
        open.await.expect("in time").expect("it runs").tool.clone().unwrap_or_default()
    }

    async fn members(&self) -> Vec<Identity> {
        let table = self.trees.table().await;
        table.members(&std::collections::HashSet::new(), |seen| seen == self.marker)
    }

    /// The next signal, and everything before it.
    async fn signal(&mut self) -> Option<Signal> {
        loop {
            if let Some(signal) = self.report().await? {
                return Some(signal);
            }
        }
    }

    async fn until(&mut self, is: impl Fn(&Signal) -> bool) -> Signal {
        loop {
            let signal = self.signal().await.expect("the signal comes before the end");
            if is(&signal) {
                return signal;
            }
        }
    }

    async fn spawned(&mut self) -> Identity {
        match self.signal().await {
            Some(Signal::Spawned { pid, started }) => Identity { pid, started },
            other => panic!("spawned is the first signal, not {other:?}"),
        }
    }

    /// Waits for the end of the session. Nothing follows, and no process is left.
    async fn ended(&mut self) -> (Outcome, Vec<u32>) {
        let ended = self.until(|signal| matches!(signal, Signal::Ended { .. })).await;
        let Signal::Ended { outcome, survivors } = ended else { unreachable!("waited for it") };
        assert_eq!(self.signal().await, None, "nothing follows the end");
        let left = self.members().await;
        assert_eq!(left.len(), survivors.len(), "what is left is reported: {left:?}");
        (*outcome, survivors)
    }
}

/// Runs a session to its end and gives every request for permission this answer. What was asked for.
async fn run_answering(what: Launch, allow: bool) -> (Outcome, Vec<String>) {
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    let mut asked = Vec::new();
    loop {
        match running.signal().await.expect("it ends with its outcome") {
            Signal::Asked { key, command, .. } => {
                asked.push(command);
                running.order(Order::Answer { key, told: if allow { Told::Yes } else { Told::No } }).await;
            }
            Signal::Ended { outcome, survivors } => {
                assert!(survivors.is_empty(), "nothing survives: {survivors:?}");
                return (*outcome, asked);
            }
            _ => {}
        }
    }
}

/// Runs a session to its end.
async fn run(what: Launch) -> (Outcome, Vec<Signal>, Vec<String>) {
    run_with((what, local())).await
}

async fn run_with(what: (Launch, Local)) -> (Outcome, Vec<Signal>, Vec<String>) {
    let mut running = Running::start_with(what, ProcessTrees::new().expect("this process can adopt"));
    running.spawned().await;
    // A program that reads nothing may be over before it is told to begin.
    drop(running.driver.orders.send(Order::Go).await);
    let (outcome, survivors) = running.ended().await;
    assert!(survivors.is_empty(), "nothing survives: {survivors:?}");
    (outcome, running.signals, running.words)
}

/// A scripted claude in a few lines of Python: `lines` are printed after the first user message.
fn claude(body: &str, workspace: &Path) -> Launch {
    let script = format!(
        r#"
import json, sys, time
def say(**line): print(json.dumps(line), flush=True)
def init(): say(type="system", subtype="init", session_id="c-1", model="m")
def text(words): say(type="assistant", message=dict(id="m1", model="m", content=[dict(type="text", text=words)]))
def result(words, **more): say(**(dict(type="result", subtype="success", is_error=False, num_turns=1, result=words, session_id="c-1", total_cost_usd=0.5) | more))
def read():
    for line in sys.stdin:
        line = json.loads(line)
        if line.get("request", dict()).get("subtype") != "initialize": return line
first = read()
{body}
"#
    );
    session(Runtime::Claude, &["python3", "-c", &script], workspace)
}
