//! herder is killed with -9 while a real agent CLI waits for a person's answer; the person answers the next herder.

use std::collections::BTreeSet;
use std::path::Path;

use herder::chat::embedded_ircd::{self, Password, Server};
use herder::core::spec::AgentSpec;
use serde_json::json;

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::kill::{Running, reap, signal};
use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, permission};
use crate::stage::{ALICE, Person, appears, number_of};
use crate::{claude_cli, codex_cli};

/// A command that the CLIs always ask about.
const COMMAND: &str = "python3 -c \"open('made', 'w')\"";

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("tools::killed", name, test);
}

/// Returns a configuration with `networks` and the agent.
pub(crate) fn configuration(networks: &str, runtime: &str, spec: &AgentSpec) -> String {
    let env: Vec<String> = spec.env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    format!(
        "name = \"herder\"\ndata_dir = \"data\"\n{networks}\
         [[agent]]\nname = \"spark\"\nruntime = \"{runtime}\"\nworkspace = {:?}\ncommand = {:?}\nmodel = {:?}\n\
         inherit_env = [\"PATH\"]\nenv = {{ {} }}\n",
        spec.workspace,
        spec.command,
        spec.model,
        env.join(", ")
    )
}

async fn a_question_outlives_a_herder_that_is_killed(runtime: &str, make: fn(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(Scenario::Asks { command: COMMAND }).await;
    let dir = tempfile::tempdir().expect("a folder");
    let options = embedded_ircd::Options {
        bot_nick: "nobody".to_owned(),
        guests: true,
        accounts: vec![("alice".to_owned(), Password::of(ALICE))],
        ..embedded_ircd::Options::default()
    };
    let server = Server::start(options).await.expect("a server");
    let config = dir.path().join("bot.toml");
    let networks = format!(
        "[[irc]]\nname = \"demo\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
         [access]\nadmins = [\"irc:demo:alice\"]\n",
        server.address().port()
    );
    let text = configuration(&networks, runtime, &make(&api, dir.path()));
    std::fs::write(&config, text).expect("a file can be written");
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#spark"]).await;

    let herder = Running::start(dir.path(), &config, &[]);
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "make it").await;
    let asked = alice.hears("#spark", "asks for permission").await;
    let number = number_of(&asked);
    signal(&herder, rustix::process::Signal::KILL);
    assert!(!reap(herder).await.success());

    let made = dir.path().join("work/made");
    let herder = Running::start(dir.path(), &config, &[]);
    alice.reaches("herder", "#spark").await;
    assert!(!made.exists(), "nobody has answered yet");
    alice.say("#spark", &format!("approve {number}")).await;
    alice.hears("#spark", &format!("{number} approved by alice")).await;
    appears(&made).await;
    alice.hears("#spark", "completed").await;
    let asked = alice.heard_in("#spark");
    let numbers: BTreeSet<String> = asked
        .iter()
        .filter(|line| line.contains("asks for permission"))
        .map(|line| number_of(line))
        .collect();
    assert_eq!(numbers, [number].into(), "the same is not asked again: {asked:#?}");
    signal(&herder, rustix::process::Signal::TERM);
    assert!(reap(herder).await.success());
}

#[test]
fn a_question_of_claude_outlives_a_herder_that_is_killed() {
    alone("a_question_of_claude_outlives_a_herder_that_is_killed", || {
        a_question_outlives_a_herder_that_is_killed("claude", claude_cli::agent)
    });
}

#[test]
fn a_question_of_codex_outlives_a_herder_that_is_killed() {
    alone("a_question_of_codex_outlives_a_herder_that_is_killed", || {
        a_question_outlives_a_herder_that_is_killed("codex", codex_cli::agent)
    });
}

#[test]
fn a_question_of_gemini_outlives_a_herder_that_is_killed() {
    alone("a_question_of_gemini_outlives_a_herder_that_is_killed", || {
        a_question_outlives_a_herder_that_is_killed("acp", gemini::agent)
    });
}

#[test]
fn a_question_of_opencode_outlives_a_herder_that_is_killed() {
    alone("a_question_of_opencode_outlives_a_herder_that_is_killed", || {
        a_question_outlives_a_herder_that_is_killed("acp", opencode::agent)
    });
}

/// Checks that a button of a herder that was killed still works.
async fn a_button_outlives_a_herder_that_is_killed(runtime: &str, make: fn(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(Scenario::Asks { command: COMMAND }).await;
    let dir = tempfile::tempdir().expect("a folder");
    let sim = Discord::start().await;
    sim.role("manager", permission::MANAGE_GUILD);
    let alice = sim.user("alice").roles(["manager"]);
    let networks = format!(
        "[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {}\napi_url = \"{}\"\n\
         [access]\nadmins = [\"discord:{}\"]\n",
        sim.guild_id(),
        sim.api_url(),
        alice.id
    );
    let config = dir.path().join("bot.toml");
    let text = configuration(&networks, runtime, &make(&api, dir.path()));
    std::fs::write(&config, text).expect("a file can be written");
    let start = async || {
        let sessions = sim.gateway().identifies();
        let herder = Running::start(dir.path(), &config, &[("DISCORD_TOKEN", &sim.token())]);
        sim.command("status").await;
        sim.gateway().identified(sessions + 1).await;
        herder
    };
    let is_asked = |message: &Message| message.buttons().iter().any(|button| button.label == "✅ Approve");

    let herder = start().await;
    alice.slash("general", "task add", json!({ "agent": "spark", "text": "make it" })).answer().await;
    let post = sim.message_in("spark", is_asked).await;
    signal(&herder, rustix::process::Signal::KILL);
    assert!(!reap(herder).await.success());

    let made = dir.path().join("work/made");
    let herder = start().await;
    assert!(!made.exists(), "nobody has answered yet");
    let shown = alice.clicks(post.id, &post.button("✅ Approve").custom_id).answer().await;
    assert!(shown.buttons()[0].disabled, "{shown:?}");
    appears(&made).await;
    sim.message_in("spark", |message| message.content.contains("completed")).await;
    signal(&herder, rustix::process::Signal::TERM);
    assert!(reap(herder).await.success());
}

#[test]
fn a_button_of_claude_outlives_a_herder_that_is_killed() {
    alone("a_button_of_claude_outlives_a_herder_that_is_killed", || {
        a_button_outlives_a_herder_that_is_killed("claude", claude_cli::agent)
    });
}

#[test]
fn a_button_of_codex_outlives_a_herder_that_is_killed() {
    alone("a_button_of_codex_outlives_a_herder_that_is_killed", || {
        a_button_outlives_a_herder_that_is_killed("codex", codex_cli::agent)
    });
}

#[test]
fn a_button_of_gemini_outlives_a_herder_that_is_killed() {
    alone("a_button_of_gemini_outlives_a_herder_that_is_killed", || {
        a_button_outlives_a_herder_that_is_killed("acp", gemini::agent)
    });
}

#[test]
fn a_button_of_opencode_outlives_a_herder_that_is_killed() {
    alone("a_button_of_opencode_outlives_a_herder_that_is_killed", || {
        a_button_outlives_a_herder_that_is_killed("acp", opencode::agent)
    });
}
