//! The runner: numbers, frames, and sessions that outlive the bot.

mod bot;
mod clis;
mod files;
mod frames;
mod ledger;
mod limits;
mod links;
mod process;
mod simulated;
mod supervised;

pub(crate) use bot::herder;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use herder::core::ask::Told;
use herder::core::id::{AgentName, SessionId};
use herder::core::input::Signal;
use herder::core::outcome::{Outcome, Usage};
use herder::core::spec::{AgentSpec, Relay, Runtime};
use herder::runner::link::{Bot, Link};
use herder::runner::prefix;
use herder::runner::wire::SessionKey;
use herder::runtime::{Clocks, Driver, Launch, Order, Report};

const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the id of the journal of a test: a runner ends what is marked with it, so that no two tests share one.
fn journal(folder: &Path) -> String {
    let name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
    name.trim_start_matches('.').to_owned()
}

/// Returns a launch of a script in a folder.
fn launch(folder: &Path, script: &str) -> Launch {
    let agent = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(agent.clone(), Runtime::Command, folder.to_owned());
    spec.command = ["bash", "-c", script].map(str::to_owned).to_vec();
    spec.relay = Relay::All;
    Launch {
        marker: format!("{}spark/1", prefix(&journal(folder), None)),
        agent,
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "go".to_owned(),
        conversation: None,
        past: None,
        conversed: Usage::default(),
        clocks: Clocks {
            startup: PATIENCE,
            silence: PATIENCE,
            tool: PATIENCE,
            task: PATIENCE,
            grace: Duration::from_secs(5),
            beat: Duration::from_millis(200),
        },
        together: herder::core::machine::Together::All,
        limits: herder::core::machine::Enforcement::Require,
        look: false,
        always_ask: Vec::new(),
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
    }
}

fn bot(folder: &Path, epoch: u64) -> Bot {
    Bot { journal: journal(folder), epoch }
}

fn of() -> SessionKey {
    SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(1) }
}

/// A supervisor that decides each report as soon as it has it: what it has heard.
struct Hearing {
    of: SessionKey,
    link: Link,
    driver: Driver,
    decided: u64,
    words: Vec<String>,
    outcome: Option<Outcome>,
}

impl Hearing {
    fn new(link: Link, driver: Driver, decided: u64) -> Self {
        Self::of(of(), link, driver, decided)
    }

    fn of(of: SessionKey, link: Link, driver: Driver, decided: u64) -> Self {
        Self { of, link, driver, decided, words: Vec::new(), outcome: None }
    }

    /// Takes the next report; a process that has begun is told to go.
    async fn next(&mut self) -> Report {
        let report = loop {
            let report = tokio::time::timeout(PATIENCE, self.driver.reports.recv()).await;
            match report.expect("the session reports in time").expect("it ends with its outcome") {
                Report::Beat => {}
                report => break report,
            }
        };
        self.decided += 1;
        self.link.heard(&self.of, self.decided);
        match &report {
            Report::Words(words) => self.words.extend(words.lines().map(str::to_owned)),
            Report::Signal(Signal::Spawned { .. }) => {
                self.driver.orders.send(Order::Go).await.expect("the link listens");
            }
            Report::Signal(Signal::Asked { key, .. }) => {
                let answer = Order::Answer { key: *key, told: Told::Yes };
                self.driver.orders.send(answer).await.expect("the link listens");
            }
            Report::Signal(Signal::Ended { outcome, survivors }) => {
                assert_eq!(survivors, &[] as &[u32]);
                self.outcome = Some((**outcome).clone());
            }
            Report::Signal(_) | Report::NotTaken { .. } | Report::Beat => {}
        }
        report
    }

    async fn until_it_ends(&mut self) {
        while self.outcome.is_none() {
            self.next().await;
        }
    }

    async fn until(&mut self, words: &str) {
        while !self.words.iter().any(|line| line == words) {
            self.next().await;
        }
    }

    /// Asserts that the words are these numbers, each once and in order.
    fn assert_counted(&self, from: usize, to: usize) {
        let expected: Vec<String> = (from..=to).map(|number| format!("line {number}")).collect();
        assert_eq!(self.words, expected);
    }
}
