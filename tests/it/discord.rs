//! herder on a simulated Discord: the link and its faults, messages and their handling.

mod clock;
mod files;
mod foreign;
mod idle;
mod late;
mod link;
mod load;
mod messages;
mod missed;
mod page;
mod statuses;
mod storm;
mod threads;
mod unsure;

use std::path::Path;
use std::time::Duration;

use herder::config::{AccessRules, Config, Discord as Settings, History, Reach, Subject};
use herder::core::id::AgentName;
use herder::core::link::LinkState;
use herder::journal::{self, Journal, Memo};
use herder::run::Options;
use herder::supervisor::View;
use serde_json::json;
use tempfile::TempDir;

use crate::simulated_discord::{Discord, User, permission};
use crate::stage::{self, PATIENCE, Stage};

/// The agent's script: it records its work, so that work that is done twice or left out is noticed.
const WRITES_DOWN: &str = "read -r work; echo \"$work\" >> done";

fn spark() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

/// herder on a simulated Discord, with channels that it knows from before, one agent, and alice, who may do anything.
struct Rig {
    alice: User,
    operators: Vec<Subject>,
    stage: Option<Stage>,
    dir: TempDir,
    sim: Discord,
}

impl Rig {
    async fn open(sim: Discord) -> Self {
        let rig = Self::prepare(sim).await;
        rig.started().await
    }

    /// Prepares everything but herder itself.
    async fn prepare(sim: Discord) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        remember_channels(&sim, dir.path()).await;
        Self { alice: sim.user("alice"), operators: Vec::new(), stage: None, dir, sim }
    }

    async fn started(mut self) -> Self {
        self.start().await;
        self.sees_ready().await
    }

    async fn sees_ready(self) -> Self {
        self.sim.ready().await;
        self
    }

    async fn start(&mut self) {
        self.stage = Some(Stage::open(self.config(), Options::default()).await);
    }

    /// Starts with an agent that does this with its work.
    async fn started_with(mut self, script: &str) -> Self {
        let mut config = self.config();
        config.agents = vec![stage::shell("spark", self.dir.path(), script)];
        self.stage = Some(Stage::open(config, Options::default()).await);
        self.sees_ready().await
    }

    async fn stop(&mut self) {
        if let Some(stage) = self.stage.take() {
            stage.close().await;
        }
    }

    fn config(&self) -> Config {
        let agent = stage::shell("spark", self.dir.path(), WRITES_DOWN);
        let mut config = stage::config(self.dir.path(), Vec::new(), vec![agent]);
        config.access = AccessRules {
            admins: vec![Subject::DiscordUser(self.alice.id.to_string())],
            operators: self.operators.clone(),
            viewers: vec![Subject::Everyone],
        };
        config.discord = Some(settings(&self.sim));
        config
    }

    /// Returns alice, whose client offers her every command.
    fn manager(&self) -> User {
        self.sim.role("manager", permission::MANAGE_GUILD);
        self.alice.clone().roles(["manager"])
    }

    fn stage(&self) -> &Stage {
        self.stage.as_ref().expect("herder runs")
    }

    /// Waits until the agent looks so.
    async fn agent(&self, what: &str, holds: impl FnMut(&View) -> bool) -> View {
        let name = spark();
        let waited = self.stage().herder.fleet().wait_for(&name, holds);
        match tokio::time::timeout(PATIENCE, waited).await {
            Ok(view) => view.expect("the agent is there"),
            Err(_) => {
                let view = self.stage().herder.fleet().view(&spark());
                panic!("waited for {what}: {view:?}\n{}", self.sim.report())
            }
        }
    }

    /// Waits until Discord's link stands so.
    async fn link(&self, what: &str, holds: impl Fn(&LinkState) -> bool) -> LinkState {
        let looks = async {
            loop {
                let links = self.stage().herder.fleet().links();
                let found = links.into_iter().find(|link| link.network.as_str() == "discord");
                if let Some(link) = found.filter(|link| holds(&link.state)) {
                    return link.state;
                }
                // The fleet does not announce changes of a link; nothing else is waited for here.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, looks).await {
            Ok(state) => state,
            Err(_) => panic!("waited for {what}: {:?}", self.stage().herder.fleet().links()),
        }
    }

    /// Returns the work that the agent has done, in order.
    fn done(&self) -> Vec<String> {
        let done = std::fs::read_to_string(self.dir.path().join("done")).unwrap_or_default();
        done.lines().map(str::to_owned).collect()
    }

    /// Waits until that many works were done in all.
    async fn has_done(&self, count: u64) -> Vec<String> {
        self.agent("work to be done", |view| view.agent.totals.successes >= count).await;
        self.done()
    }
}

fn settings(sim: &Discord) -> Settings {
    Settings {
        token: sim.token().into(),
        guild: sim.guild_id(),
        category: "agents".to_owned(),
        alerts_channel: "alerts".to_owned(),
        work_channel: "work".to_owned(),
        control_channel: "herder".to_owned(),
        bots: Vec::new(),
        call: herder::config::Call::default(),
        reach: Reach::Plain(sim.api_url()),
    }
}

/// Makes the channels of a herder with one agent, as one that ran before would have.
async fn remember_channels(sim: &Discord, dir: &Path) {
    let settings = journal::Settings::new(dir.join("data"), History::default());
    let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await;
    let (journal, _) = opened.expect("it does not panic").expect("a new journal opens");
    let memo = |(name, key, purpose): (&str, &str, serde_json::Value)| {
        let value = json!({ "purpose": purpose, "id": sim.makes_channel(name) }).to_string();
        Memo { key: format!("discord/channel/{key}"), value: Some(value) }
    };
    let channels = [
        ("alerts", "alerts", json!("alerts")),
        ("work", "work", json!("work")),
        ("herder", "control", json!("control")),
        ("spark", "agent/spark", json!({ "agent": "spark" })),
    ];
    journal.remember(channels.into_iter().map(memo).collect()).await.expect("a memo is kept");
    journal.close().await;
}
