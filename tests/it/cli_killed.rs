//! A real agent CLI is killed with -9 while its tool runs, below a whole herder: the session continues in its
//! conversation, finished steps are not repeated, and nothing of the first session is left. See `agent_rig`.

use std::path::Path;

use herder::core::id::AgentName;
use herder::core::spec::{AgentSpec, Permissions};

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::matrix::{Feature, says};
use crate::stage::{self, PATIENCE, Scene, appears};
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("cli_killed", name, test);
}

/// Leaves a mark of each time it is run, and hangs.
const COMMAND: &str = "python3 -c \"open('begun', 'a').write('begun\\n'); import time; time.sleep(600)\"";

/// The first answer of the model is the call of the shell; the one after the kill is herder's own tool.
const SCENARIO: Scenario =
    Scenario::Turns { count: 1, command: COMMAND, tool: "irc_send", arguments: r#"{"text":"going on"}"# };

async fn goes_on_after_it_was_killed(make: fn(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(SCENARIO).await;
    let agents = |dir: &Path| {
        let mut spec = make(&api, dir);
        // So that the shell is used without a question.
        spec.permissions = Permissions::Full;
        assert!(says(&spec, Feature::GoesOn).starts_with("yes"));
        vec![spec]
    };
    let server = stage::server().await;
    let options = stage::inside(&server);
    let mut scene =
        Scene::open_configured((server, options), "alice", &["#spark", "#alerts"], agents, |config| {
            // It is started twice: on a busy machine that takes its time.
            config.policy.startup_timeout = PATIENCE;
        })
        .await;
    scene.person.say("#spark", "begin the great work").await;
    appears(&scene.dir.path().join("work/begun")).await;
    let spark = AgentName::new("spark").expect("a good name");
    let fleet = scene.stage.herder.fleet();
    let before = fleet.view(&spark).expect("spark is there").agent;
    let pid = before.process.and_then(|process| i32::try_from(process.pid).ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw).expect("its process is known");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    let told = scene.person.hears("#spark", "crashed").await;
    assert!(told.contains("❌") && told.contains("signal 9") && told.contains("Restarting in"), "{told}");
    scene.person.hears("#spark", "<spark> going on").await;
    scene.person.hears("#spark", ANSWER).await;
    scene.person.hears("#spark", "completed").await;

    let over = fleet.wait_for(&spark, |view| view.agent.session().is_none() && view.agent.queue.is_empty());
    let after =
        tokio::time::timeout(PATIENCE, over).await.expect("it is over").expect("spark is there").agent;
    assert_eq!(after.last_session.0, before.last_session.0 + 1, "one more session, and no third");
    assert_eq!(api.messages(), 3, "the model is asked once before the kill, and for nothing twice after it");
    let begun = std::fs::read_to_string(scene.dir.path().join("work/begun")).expect("it was begun");
    assert_eq!(begun, "begun\n", "what was done is not done once more");
    let last = api.last();
    assert!(
        last.contains("begin the great work") && last.contains("You were working on this before"),
        "{last}"
    );
    // It looks that no process is left.
    scene.close().await;
}

#[test]
fn claude_goes_on_after_a_kill() {
    alone("claude_goes_on_after_a_kill", || goes_on_after_it_was_killed(claude_cli::agent));
}

#[test]
fn codex_goes_on_after_a_kill() {
    alone("codex_goes_on_after_a_kill", || goes_on_after_it_was_killed(codex_cli::agent));
}

#[test]
fn gemini_goes_on_after_a_kill() {
    alone("gemini_goes_on_after_a_kill", || goes_on_after_it_was_killed(gemini::agent));
}

#[test]
fn opencode_goes_on_after_a_kill() {
    alone("opencode_goes_on_after_a_kill", || goes_on_after_it_was_killed(opencode::agent));
}
