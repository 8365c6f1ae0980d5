//! The real agent CLIs run in circles: the model of the tests' own retries one approach, whatever it is told, and its
//! next requests show that it was told. See `agent_rig`.

use std::path::Path;

use herder::config::Subject;
use herder::core::agent::Phase;
use herder::core::event::PauseReason;
use herder::core::spec::{AgentSpec, Permissions};

use super::{labels, spark};
use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, permission};
use crate::stage::{self, ALICE, Door, PATIENCE, Person, Stage};
use crate::webhooks::receiver::Receiver;
use crate::webhooks::{SECRET, endpoint, verifies};
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("escalation::clis", name, test);
}

/// A command that fails the same way each time.
const SPIRAL: Scenario = Scenario::Spiral { command: "ls /no/such/benchmark" };

pub(super) fn full(mut spec: AgentSpec) -> AgentSpec {
    // So that the shell is used without a question.
    spec.permissions = Permissions::Full;
    spec
}

/// The way in which the work is given up in the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Abort {
    Button,
    Words,
}

async fn round_in_circles(make: fn(&ModelApi, &Path) -> AgentSpec, abort: Abort) {
    let api = ModelApi::start(SPIRAL).await;
    let dir = tempfile::tempdir().expect("a folder");
    let (server, sim) = (stage::server().await, Discord::start().await);
    sim.role("manager", permission::MANAGE_GUILD);
    let olga = sim.user("olga").roles(["manager"]);
    let mut hook = Receiver::open([]).await;
    let agent = full(make(&api, dir.path()));
    let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent]);
    config.policy.evaluator = config.evaluator.rules();
    config.discord = Some(stage::discord(&sim, Door::Plain));
    config.access.admins.push(Subject::DiscordUser(olga.id.to_string()));
    let key = Some(herder::webhook::SigningKey::new(SECRET).expect("a secret"));
    config.webhooks = vec![herder::config::Webhook {
        secret: key,
        events: [herder::core::hook::HookEvent::Escalation].into(),
        ..endpoint("it", &hook)
    }];
    let stage = Stage::open(config, stage::inside(&server)).await;
    sim.channel("alerts").await;
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#alerts", "#spark"]).await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark nemotron").await;

    let line = alice.hears("#alerts", "[ESCALATION]").await;
    let known =
        "[ESCALATION] Agent spark appears stuck on task \"benchmark nemotron\". Retried same approach";
    assert!(line.contains(known) && line.contains("Reply @spark resume/abort"), "{line}");
    let paused = |reason: &Phase| *reason == Phase::Paused { reason: PauseReason::Escalation };
    let (fleet, agent) = (stage.herder.fleet().clone(), spark());
    let waiting = fleet.wait_for(&agent, |view| paused(&view.agent.phase));
    tokio::time::timeout(PATIENCE, waiting).await.expect("it is paused").expect("spark is there");
    // Its model was told twice, in its own conversation.
    let last = api.last();
    assert_eq!(last.matches("[CORRECTION]").count(), 2, "{last}");
    assert!(last.contains("You were told, and it goes on."), "{last}");
    let told = hook.next().await;
    assert_eq!(told.event().1, "agent_escalation");
    assert!(verifies(&told, &told.body), "the signature is herder's");

    // It continues where it was, and is told why it had stopped; it does not change, so a person is called again.
    let asked = api.messages();
    alice.say("#alerts", "@spark resume").await;
    let line = alice.hears("#alerts", "[ESCALATION]").await;
    assert!(line.contains("This is call 2 for the same work."), "{line}");
    assert!(api.messages() > asked, "its loop went on");
    assert!(api.last().contains("[ESCALATION] You were paused"), "{}", api.last());

    let open = |message: &Message| message.content.contains("call 2") && labels(message)[..1] == ["Resume"];
    let message = sim.message_in("alerts", open).await;
    match abort {
        Abort::Button => {
            let told = olga.clicks(message.id, &message.button("Abort").custom_id).answer().await;
            assert_eq!(told.id, message.id, "whoever presses is told otherwise: {told:?}");
            alice.hears("#alerts", "is answered by olga: its work is discarded").await;
        }
        Abort::Words => {
            alice.say("#alerts", "@spark abort").await;
            alice.hears("#alerts", "is answered by alice: its work is discarded").await;
            sim.message_in("alerts", |message| message.content.contains("is answered by alice: its work"))
                .await;
            let closed = sim.message(message.id, |message| labels(message)[..1] != ["Resume"]).await;
            assert_eq!(labels(&closed), ["Abort · alice (demo)", "Transcript"]);
        }
    }
    let rested = fleet.wait_for(&agent, |view| view.agent.phase == Phase::Idle);
    tokio::time::timeout(PATIENCE, rested).await.expect("it rests").expect("spark is there");
    stage.close().await;
}

#[test]
fn codex_goes_round_in_circles() {
    alone("codex_goes_round_in_circles", || round_in_circles(codex_cli::agent, Abort::Button));
}

#[test]
fn claude_goes_round_in_circles() {
    alone("claude_goes_round_in_circles", || round_in_circles(claude_cli::agent, Abort::Words));
}
