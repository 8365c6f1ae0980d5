//! An agent runs in circles: it is told twice without others seeing it, then a person is called on every network, and
//! the first answer decides.

mod acp;
mod clis;
mod judge;
mod killed;
mod overtaken;
mod told;

use herder::config::Subject;
use herder::core::agent::Phase;
use herder::core::event::PauseReason;
use herder::core::id::AgentName;
use herder::core::whisper::Way;
use herder::journal::{Entry, Stream};
use herder::supervisor::View;
use serde_json::json;

use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, User, permission};
use crate::stage::{self, ALICE, Door, PATIENCE, Person, Stage};

struct Conversation {
    sim: Discord,
    olga: User,
    alice: Person,
    stage: Stage,
    /// They end with this.
    _server: herder::chat::embedded_ircd::Server,
    _dir: tempfile::TempDir,
}

fn spark() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

fn labels(message: &Message) -> Vec<String> {
    message.buttons().into_iter().map(|button| button.label).collect()
}

impl Conversation {
    async fn open() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let (server, sim) = (stage::server().await, Discord::start().await);
        sim.role("manager", permission::MANAGE_GUILD);
        let olga = sim.user("olga").roles(["manager"]);
        let agent = stage::scripted("spark", dir.path(), &["claude-obey", "--once", "yes", "--pace", "0.05"]);
        let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent]);
        config.policy.evaluator = config.evaluator.rules();
        config.discord = Some(stage::discord(&sim, Door::Plain));
        config.access.admins.push(Subject::DiscordUser(olga.id.to_string()));
        let stage = Stage::open(config, stage::inside(&server)).await;
        sim.command("resume").await;
        let rooms = ["#spark", "#alerts", "#herder"];
        let mut alice = Person::join(server.address(), "alice", Some(ALICE), &rooms).await;
        alice.reaches("herder", "#herder").await;
        alice.reaches("herder", "#spark").await;
        Self { sim, olga, alice, stage, _server: server, _dir: dir }
    }

    async fn until(&self, condition: impl FnMut(&View) -> bool) {
        let seen =
            tokio::time::timeout(PATIENCE, self.stage.herder.fleet().wait_for(&spark(), condition)).await;
        seen.expect("it gets there").expect("spark is there");
    }

    /// Waits for the call for a person because of `work`: the line on IRC, and the message with buttons on Discord.
    async fn called(&mut self, work: &str) -> (String, Message) {
        let line = self.alice.hears("#alerts", &format!("appears stuck on task \"{work}\"")).await;
        let open = |message: &Message| message.content.contains(work) && labels(message)[..1] == ["Resume"];
        let message = self.sim.message_in("alerts", open).await;
        self.until(|view| view.agent.phase == Phase::Paused { reason: PauseReason::Escalation }).await;
        (line, message)
    }
}

/// Returns the ways in which whispers have reached spark.
fn delivered(stage: &Stage) -> Vec<Way> {
    let entries = stage.herder.fleet().journal().history(&Stream::Agent(spark()), 1000, None);
    let ways =
        entries.expect("the journal can be read").into_iter().filter_map(|recorded| match recorded.entry {
            Entry::Agent(herder::core::event::Event::WhispersDelivered { whispers, way, .. }) => {
                Some(vec![way; whispers.len()])
            }
            _ => None,
        });
    ways.flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn told_twice_then_a_person_is_called_and_the_first_answer_wins() {
    let mut on = Conversation::open().await;
    on.alice.say("#spark", "benchmark nemotron in a spiral").await;
    let (line, message) = on.called("benchmark nemotron in a spiral").await;
    let known = "[ESCALATION] Agent spark appears stuck on task \"benchmark nemotron in a spiral\". Retried same approach";
    assert!(line.contains(known), "{line}");
    assert!(line.contains("times. Awaiting human guidance. Reply @spark resume/abort"), "{line}");
    assert_eq!(labels(&message), ["Resume", "Abort", "Transcript"]);
    assert_eq!(delivered(&on.stage), [Way::Turn, Way::Turn], "both whispers reached the running turn");
    // It waits, and what it is given meanwhile with it.
    on.alice.say("#spark", "count the ants").await;
    on.alice.hears("#spark", "but it is paused (a person is called)").await;

    // Answered from IRC: Discord shows it, and who comes late is told.
    on.alice.say("#herder", "@spark resume").await;
    let closed =
        on.sim.message(message.id, |message| labels(message) != ["Resume", "Abort", "Transcript"]).await;
    assert_eq!(labels(&closed), ["Resume · alice (demo)", "Transcript"]);
    on.sim.message_in("alerts", |message| message.content.contains("is answered by alice: it goes on")).await;
    on.alice.hears("#spark", "Done: benchmark nemotron in a spiral").await;
    on.alice.hears("#spark", "Done: count the ants").await;
    let late = on.olga.slash("spark", "resume", json!({})).answer().await;
    assert!(late.content.contains("alice has answered call"), "{}", late.content);

    // Once more: a button lets it go on, and everybody is told who pressed it.
    on.alice.say("#spark", "another spiral").await;
    let (_, message) = on.called("another spiral").await;
    let resume = message.button("Resume").custom_id;
    let shown = on.olga.clicks(message.id, &resume).answer().await;
    assert_eq!(labels(&shown), ["Resume · olga (discord)", "Transcript"]);
    on.alice.hears("#alerts", "is answered by olga: it goes on").await;
    on.alice.hears("#spark", "Done: another spiral").await;
    on.alice.say("#spark", "@spark resume").await;
    let late = on.alice.hears("#spark", "has answered call").await;
    assert!(late.contains("olga"), "{late}");

    // And again: a button gives the work up: the next follows.
    on.alice.say("#spark", "a third spiral").await;
    let (_, message) = on.called("a third spiral").await;
    on.alice.say("#spark", "count the bees").await;
    on.alice.hears("#spark", "but it is paused (a person is called)").await;
    let shown = on.olga.clicks(message.id, &message.button("Abort").custom_id).answer().await;
    assert_eq!(labels(&shown), ["Abort · olga (discord)", "Transcript"]);
    on.alice.hears("#alerts", "is answered by olga: its work is discarded").await;
    on.alice.hears("#spark", "Done: count the bees").await;

    // Its whispers stay private: not in any channel, and in the history for people with permission.
    for channel in ["spark", "alerts", "herder", "work"] {
        let told: Vec<String> =
            on.sim.posts(channel).into_iter().filter(|text| text.contains("make bench")).collect();
        assert!(told.is_empty(), "{told:?}");
    }
    on.alice.say("herder", "!history spark 60").await;
    on.alice.hears("alice", "You ran `make bench`").await;
    on.stage.close().await;
}

/// herder is killed, as far as its journal knows, while a person is called: nothing is forgotten, and nothing starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_stands_over_a_restart_and_is_acknowledged() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let agent = || stage::scripted("spark", dir.path(), &["claude-obey", "--once", "yes", "--pace", "0.05"]);
    let config = || {
        let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent()]);
        config.policy.evaluator = config.evaluator.rules();
        config
    };
    let rooms = ["#herder", "#alerts", "#spark"];
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &rooms).await;
    let stage = Stage::open(config(), stage::inside(&server)).await;
    alice.reaches("herder", "#herder").await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark in a spiral").await;
    let line = alice.hears("#alerts", "[ESCALATION]").await;
    let id = line.rsplit("!ack ").next().and_then(|rest| rest.split('`').next()).map(str::to_owned);
    let id =
        id.and_then(|id| id.split(['(', ')', ':']).next().map(|id| id.trim().to_owned())).expect("an id");
    stage.close().await;

    let stage = Stage::open(config(), stage::inside(&server)).await;
    alice.reaches("herder", "#herder").await;
    let view = stage.herder.fleet().view(&spark()).expect("spark is there");
    assert_eq!(view.agent.phase, Phase::Paused { reason: PauseReason::Escalation });
    assert_eq!(view.agent.totals.sessions, 1, "nothing was started");
    alice.say("#herder", "@spark ack").await;
    alice.hears("#alerts", &format!("alice takes care of call {id}")).await;
    alice.say("#herder", "@spark status").await;
    alice.hears("#herder", "alice takes care of it").await;
    alice.say("#herder", "@spark resume").await;
    alice.hears("#spark", "Done: benchmark in a spiral").await;
    stage.close().await;
}

/// A program judges: it is shown the task and the turns, its words are whispered, and what it cost is the agent's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_asked_judges_by_what_it_is_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let agent = stage::scripted("spark", dir.path(), &["claude-obey", "--once", "yes", "--pace", "0.05"]);
    let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent]);
    let shown = dir.path().join("shown");
    let judge =
        format!("cat > {}; echo 'CORRECTION Read the error before you run it again.'", shown.display());
    config.evaluator = herder::config::Evaluator {
        judge: herder::config::Judge::Command,
        command: ["sh", "-c", &judge].map(str::to_owned).to_vec(),
        ..herder::config::Evaluator::default()
    };
    config.policy.evaluator = config.evaluator.rules();
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#alerts", "#spark"]).await;
    let stage = Stage::open(config, stage::inside(&server)).await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark in a spiral").await;
    alice.hears("#alerts", "[ESCALATION] Agent spark appears stuck").await;
    let transcript = std::fs::read_to_string(&shown).expect("the judge was shown something");
    for piece in ["benchmark in a spiral", "make bench", "No rule to make target", "Read the error before"] {
        assert!(transcript.contains(piece), "{piece} is missing in {transcript}");
    }
    alice.say("herder", "!history spark 60").await;
    alice.hears("alice", "Read the error before you run it again.").await;
    alice.say("herder", "!status spark").await;
    alice.hears("alice", "evaluator: 3 judged, 3 with a finding, 0 skipped").await;
    stage.close().await;
}

/// The evaluator's program is missing: the detector's findings count, and the status says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_program_the_detector_stands_in_and_status_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let agent = stage::scripted("spark", dir.path(), &["claude-obey", "--once", "yes", "--pace", "0.05"]);
    let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent]);
    config.evaluator = herder::config::Evaluator {
        judge: herder::config::Judge::Command,
        command: vec!["no-such-judge".to_owned()],
        ..herder::config::Evaluator::default()
    };
    config.policy.evaluator = config.evaluator.rules();
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#alerts", "#spark"]).await;
    let stage = Stage::open(config, stage::inside(&server)).await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark in a spiral").await;
    alice.hears("#alerts", "[ESCALATION] Agent spark appears stuck").await;
    alice.say("herder", "!status spark").await;
    let line = alice.hears("alice", "evaluator: 0 judged, 0 with a finding, 3 skipped").await;
    assert!(line.contains("there is no program"), "{line}");
    stage.close().await;
}
