//! The process of an ACP agent stays between two messages: the real gemini and opencode below a whole herder, see `agent_rig`.

use std::path::Path;
use std::time::Duration;

use herder::core::agent::{Agent, ProcessRecord};
use herder::core::id::AgentName;
use herder::core::spec::AgentSpec;
use herder::runtime::process::{Identity, lives};

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::stage::{self, PATIENCE, Scene};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("warm_cli", name, test);
}

fn spark() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

fn identity(process: ProcessRecord) -> Identity {
    Identity { pid: process.pid, started: process.started }
}

/// Waits until spark rests, and says how it is then.
async fn rests(scene: &Scene, is: impl Fn(&Agent) -> bool) -> Agent {
    let fleet = scene.stage.herder.fleet();
    let resting = |agent: &Agent| agent.session().is_none() && agent.queue.is_empty();
    let name = spark();
    let seen = fleet.wait_for(&name, |view| resting(&view.agent) && is(&view.agent));
    let view = tokio::time::timeout(PATIENCE, seen).await.expect("in time").expect("spark is there");
    (*view.agent).clone()
}

async fn stays_between_messages(make: fn(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(Scenario::Success).await;
    let agents = |dir: &Path| {
        let mut spec = make(&api, dir);
        spec.keep_warm = Duration::from_secs(600);
        vec![spec]
    };
    let server = stage::server().await;
    let options = stage::inside(&server);
    let mut scene =
        Scene::open_configured((server, options), "alice", &["#spark", "#alerts"], agents, |config| {
            config.policy.startup_timeout = PATIENCE;
        })
        .await;
    scene.person.say("#spark", "The word is heron.").await;
    scene.person.hears("#spark", ANSWER).await;
    let warm = rests(&scene, |agent| agent.warm.is_some()).await.warm.expect("it stays");
    assert!(lives(identity(warm.process)));

    scene.person.say("#spark", "What is the word?").await;
    scene.person.hears("#spark", ANSWER).await;
    let again =
        rests(&scene, |agent| agent.warm.as_ref().is_some_and(|now| now.session != warm.session)).await;
    let again = again.warm.expect("it stays");
    assert_eq!(again.process, warm.process, "no other process was started");
    let last = api.last();
    assert!(last.contains("The word is heron.") && last.contains("What is the word?"), "{last}");

    // It is killed while it stays: the next message is answered by another one.
    let pid = i32::try_from(again.process.pid).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a pid"), rustix::process::Signal::KILL).expect("it lives");
    scene.person.say("#spark", "And now?").await;
    scene.person.hears("#spark", ANSWER).await;
    let other =
        rests(&scene, |agent| agent.warm.as_ref().is_some_and(|now| now.session != again.session)).await;
    let other = other.warm.expect("it stays");
    assert_ne!(other.process, again.process);

    // A paused agent keeps no process.
    scene.person.say("#spark", "pause").await;
    scene.person.hears("#spark", "⏸️").await;
    rests(&scene, |agent| agent.warm.is_none()).await;
    assert!(!lives(identity(other.process)), "it was ended with the pause");
    scene.close().await;
}

#[test]
fn gemini_stays_between_messages() {
    alone("gemini_stays_between_messages", || stays_between_messages(gemini::agent));
}

#[test]
fn opencode_stays_between_messages() {
    alone("opencode_stays_between_messages", || stays_between_messages(opencode::agent));
}
