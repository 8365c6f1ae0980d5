//! herder is killed with -9 at every step of the ladder, and continues where it was: nothing is said twice or
//! forgotten.

mod anywhere;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Password, Server};
use herder::config::History;
use herder::core::agent::{Agent, Phase};
use herder::core::event::Event;
use herder::core::id::WorkId;
use herder::core::time::Timestamp;
use herder::journal::{self, Entry, Journal, Stream};
use herder::local::{self, Request};
use rustix::process::Signal;
use serde_json::Value;

use super::acp::AGENT;
use super::spark;
use crate::kill::{Running, left, reap, signal};
use crate::stage::{ALICE, PATIENCE, Person, server_person};
use crate::webhooks::receiver::Receiver;

/// A story that is interrupted after each of its steps.
struct Story {
    dir: tempfile::TempDir,
    config: PathBuf,
    server: Server,
    hook: Receiver,
    alice: Person,
    herder: Option<Running>,
    kills: u32,
    /// The token of a bot on Discord.
    token: String,
}

/// The differences between the stories.
struct Plot {
    evaluator: String,
    /// Sections beside it.
    more: String,
    admins: String,
    token: String,
    /// Seconds between two calls of the agent's tool.
    pace: &'static str,
}

impl Plot {
    /// Returns a plot on IRC alone, without a model.
    fn plain() -> Self {
        Self {
            evaluator: "kind = \"builtin\"\n".to_owned(),
            more: String::new(),
            admins: "\"irc:test:alice\"".to_owned(),
            token: String::new(),
            pace: "0.3",
        }
    }
}

fn configuration(dir: &Path, port: u16, hook: &str, plot: &Plot) -> String {
    let (told, workspace) = (dir.join("told"), dir.display());
    let Plot { evaluator, more, admins, pace, .. } = plot;
    format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\nadmins = [{admins}]\n[supervisor]\nstop_grace = \"1s\"\n\
         [evaluator]\n{evaluator}{more}\
         [[webhook]]\nname = \"it\"\nurl = \"{hook}\"\nallow_private = true\n\
         [[agent]]\nname = \"spark\"\nruntime = \"acp\"\nworkspace = \"{workspace}\"\n\
         command = [\"python3\", \"agent.py\", \"some-agent\", \"{}\", \"{pace}\"]\n",
        told.display(),
    )
}

impl Story {
    async fn begin(plot: impl FnOnce(&Path) -> Plot) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let plot = plot(dir.path());
        let options = embedded_ircd::Options {
            bot_nick: "nobody".to_owned(),
            accounts: vec![("alice".to_owned(), Password::of(ALICE))],
            guests: true,
            ..embedded_ircd::Options::default()
        };
        let server = Server::start(options).await.expect("a free port");
        let hook = Receiver::open([]).await;
        let config = dir.path().join("bot.toml");
        std::fs::write(dir.path().join("agent.py"), AGENT).expect("a file can be written");
        let text = configuration(dir.path(), server.address().port(), &hook.url(), &plot);
        std::fs::write(&config, text).expect("a file can be written");
        let alice = server_person(&server, "alice", &["#alerts", "#spark"]).await;
        let token = plot.token;
        let mut story = Self { dir, config, server, hook, alice, herder: None, kills: 0, token };
        story.starts();
        story.alice.reaches("herder", "#spark").await;
        story
    }

    fn starts(&mut self) {
        self.herder = Some(Running::start(self.dir.path(), &self.config, &[("DISCORD_TOKEN", &self.token)]));
    }

    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    async fn dies(&mut self) {
        let herder = self.herder.take().expect("it runs");
        signal(&herder, Signal::KILL);
        assert_eq!(reap(herder).await.signal(), Some(9), "it ended by itself\n{}", self.log());
        self.kills += 1;
    }

    async fn is_killed(&mut self) {
        self.dies().await;
        self.starts();
    }

    async fn ask(&self, command: &str, args: &[&str]) -> Option<local::Answer> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        let socket = self.dir.path().join("data").join(local::FILE_NAME);
        tokio::time::timeout(PATIENCE, local::ask(&socket, &request)).await.expect("an answer").ok()
    }

    async fn until(&self, what: &str, mut is: impl FnMut(&Value, &[String]) -> bool) {
        let looks = async {
            loop {
                let status = self.ask("status", &["spark"]).await.and_then(|answer| answer.data);
                let history = self.ask("history", &["spark", "500"]).await;
                if let (Some(status), Some(history)) = (status, history)
                    && is(&status, &history.lines)
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let reached = tokio::time::timeout(2 * PATIENCE, looks).await;
        reached.unwrap_or_else(|_| panic!("it never came to {what}\n{}", self.log()));
    }

    async fn has_found(&self, findings: u64) {
        let found = |status: &Value| find(status, "findings").and_then(Value::as_u64) >= Some(findings);
        self.until("a finding", |status, _| found(status)).await;
    }

    async fn has_handed_over(&self, whispers: usize) {
        self.until("a delivery", |_, history| {
            history.iter().filter(|line| line.contains("handed over with")).count() >= whispers
        })
        .await;
    }

    /// Climbs the ladder, with a kill after every step.
    async fn climbs(&mut self) {
        self.alice.say("#spark", "benchmark nemotron").await;
        for step in 1..=2 {
            self.has_found(step).await;
            self.is_killed().await;
            self.has_handed_over(usize::try_from(step).expect("small")).await;
            self.is_killed().await;
        }
        let called = self.alice.hears("#alerts", "[ESCALATION] Agent spark appears stuck on task").await;
        assert!(!called.contains("has not reached it"), "{called}");
        self.is_killed().await;
        self.alice.reaches("herder", "#spark").await;
        self.until("a pause", |status, _| find(status, "phase").is_some_and(|phase| phase == "paused")).await;
    }

    async fn answers(&mut self, answer: &str, said: &str) {
        self.alice.say("#spark", &format!("@spark {answer}")).await;
        self.alice.hears("#alerts", said).await;
        self.is_killed().await;
        self.alice.reaches("herder", "#spark").await;
    }

    /// Ends herder in order, and gives the journal and what the webhook was told.
    async fn ends(mut self) -> Ended {
        let herder = self.herder.take().expect("it runs");
        signal(&herder, Signal::TERM);
        let status = reap(herder).await;
        assert!(status.success(), "{status}\n{}", self.log());
        let settings = journal::Settings {
            ballast: 0,
            ..journal::Settings::new(self.dir.path().join("data"), History::default())
        };
        let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.expect("it runs");
        let (journal, opening) = opened.expect("the journal opens");
        assert_eq!(opening.missing, Vec::new());
        let entries = journal.history(&Stream::Agent(spark()), 10_000, None).expect("it can be read");
        let events = entries.into_iter().filter_map(|recorded| match recorded.entry {
            Entry::Agent(event) => Some((recorded.at, event)),
            _ => None,
        });
        let told = std::fs::read_to_string(self.dir.path().join("told")).expect("it was told something");
        let alerts = self.alice.heard_in("#alerts");
        let hooks: Vec<(String, String)> = self.hook.rest().iter().map(|told| told.event()).collect();
        let agent = journal.load::<Agent>(&Stream::Agent(spark())).expect("it can be read").state;
        assert_eq!(left(&journal), Vec::<u32>::new(), "orphans");
        self.server.stop().await;
        Ended { events: events.collect(), agent, told, alerts, hooks, kills: self.kills }
    }
}

/// The results of a story.
struct Ended {
    /// Events with their times.
    events: Vec<(Timestamp, Event)>,
    agent: Agent,
    told: String,
    alerts: Vec<String>,
    hooks: Vec<(String, String)>,
    kills: u32,
}

impl Ended {
    fn count(&self, is: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|(_, event)| is(event)).count()
    }

    /// Checks that each whisper is handed over or taken back, once.
    fn each_whisper_has_one_end(&self) {
        let whispers: BTreeSet<WorkId> = self
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Whispered { whisper } => Some(whisper.id),
                _ => None,
            })
            .collect();
        let mut over = BTreeMap::<WorkId, u32>::new();
        for (_, event) in &self.events {
            if let Event::WhispersDelivered { whispers, .. } | Event::WhispersDropped { whispers, .. } = event
            {
                whispers.iter().for_each(|whisper| *over.entry(*whisper).or_default() += 1);
            }
        }
        assert_eq!(over, whispers.iter().map(|whisper| (*whisper, 1)).collect(), "each has one end");
    }

    /// Checks that every transition was sent to webhooks under one id.
    fn programs_are_told(&self, wanted: &BTreeMap<&str, usize>) {
        let mut told = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (id, event) in &self.hooks {
            told.entry(event).or_default().insert(id);
        }
        let told: BTreeMap<&str, usize> = told.into_iter().map(|(event, ids)| (event, ids.len())).collect();
        assert_eq!(&told, wanted, "{:?}", self.hooks);
    }

    /// Checks that there is one call, one answer, and the agent at rest without a failure.
    fn is_called_and_answered_once(&self) {
        assert_eq!(self.count(|event| matches!(event, Event::Escalated { .. })), 1);
        assert_eq!(self.count(|event| matches!(event, Event::EscalationAnswered { .. })), 1);
        assert_eq!(self.agent.phase, Phase::Idle);
        assert_eq!((self.agent.failures, self.agent.crashes), (0, 0), "a kill of herder is nobody's failure");
        assert!(self.agent.queue.is_empty() && self.agent.whispers.is_empty());
    }

    /// Checks two whispers, one call, one answer, and every transition sent to webhooks under one id.
    fn is_as_if_nothing_had_happened(&self, resumed: bool) {
        assert_eq!(
            self.count(|event| matches!(event, Event::Whispered { .. })),
            3,
            "two, and why it was paused"
        );
        self.each_whisper_has_one_end();
        self.is_called_and_answered_once();
        // Whatever was handed over before the kill and recorded is not handed over again; a kill between the two would
        // repeat one.
        let handed = |line: &&str| !line.trim_start().starts_with("- ");
        // A session that takes the work up again reads in its recap what the one before it was told.
        let told = |words: &str| self.told.lines().filter(handed).filter(|line| line.contains(words)).count();
        assert_eq!((told("[CORRECTION]"), told("[ESCALATION]")), (2, usize::from(resumed)), "{}", self.told);
        assert_eq!(told("You were told, and it goes on."), 1, "{}", self.told);
        // IRC: at least once.
        let called: Vec<&String> = self.alerts.iter().filter(|line| line.contains("appears stuck")).collect();
        assert!(matches!(called.len(), 1 | 2), "{called:#?}");
        assert!(called.iter().all(|line| *line == called[0]), "{called:#?}");
        let mut wanted =
            BTreeMap::from([("agent_spiraling", 2), ("agent_escalation", 1), ("agent_resumed", 1)]);
        wanted.extend(resumed.then_some(("agent_complete", 1)));
        self.programs_are_told(&wanted);
        assert_eq!(self.kills, 6);
    }
}

/// Returns the first value of `key`, however deep.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key).or_else(|| map.values().find_map(|value| find(value, key))),
        Value::Array(values) => values.iter().find_map(|value| find(value, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_after_every_step_changes_nothing_and_it_is_resumed() {
    let mut story = Story::begin(|_| Plot::plain()).await;
    story.climbs().await;
    story.answers("resume", "is answered by alice: it goes on").await;
    story.alice.hears_in_any_order("#spark", "I see.").await;
    story.until("its rest", |status, _| find(status, "phase").is_some_and(|phase| phase == "idle")).await;
    story.ends().await.is_as_if_nothing_had_happened(true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_after_every_step_changes_nothing_and_its_work_is_given_up() {
    let mut story = Story::begin(|_| Plot::plain()).await;
    story.climbs().await;
    story.answers("abort", "is answered by alice: its work is discarded").await;
    story.until("its rest", |status, _| find(status, "phase").is_some_and(|phase| phase == "idle")).await;
    story.ends().await.is_as_if_nothing_had_happened(false);
}
