//! The real claude and codex on a runner: their bot goes or is killed while a tool runs, and another one goes on with the
//! session.

use std::path::Path;

use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Permissions};
use herder::runner::prefix;
use herder::runner::process::{Question, ask};
use herder::runtime::Launch;
use rustix::process::Signal;

use super::links::Runner;
use super::{Hearing, journal, of};
use crate::agent_rig::a_launch;
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::kill::{Running, outside_server, reap, signal};
use crate::stage::{Person, appears};
use crate::tools::killed::configuration;
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("runner::clis", name, test);
}

/// Notes each time that it is run, and works until it may end.
const COMMAND: &str = "echo begun >>begun; until [ -e go ]; do sleep 0.05; done";

async fn goes_on_with_another_bot(make: fn(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(Scenario::OneTool { command: COMMAND }).await;
    let runner = Runner::start();
    let mut spec = make(&api, runner.folder());
    spec.permissions = Permissions::Full;
    let work = spec.workspace.clone();
    let marker = format!("{}spark/1", prefix(&journal(runner.folder()), None));
    let launch = Launch { marker, ..a_launch(spec) };
    let first = runner.link(1);
    let mut hearing = Hearing::new(first.clone(), first.launch(launch), 0);
    let begun = work.join("begun");
    let begun = appears(&begun);
    tokio::pin!(begun);
    loop {
        tokio::select! {
            () = &mut begun => break,
            _ = hearing.next() => {}
        }
    }
    let decided = hearing.decided;
    first.close().await;
    drop(hearing);
    std::fs::write(work.join("go"), "").expect("written");
    let second = runner.link(2);
    let mut hearing = Hearing::new(second.clone(), second.adopt(of(), decided), decided);
    hearing.until_it_ends().await;
    let outcome = hearing.outcome.expect("it has ended");
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some(ANSWER)), "{outcome:?}");
    assert_eq!(api.messages(), 2, "the model is asked for nothing twice");
    let begun = std::fs::read_to_string(work.join("begun")).expect("it was begun");
    assert_eq!(begun, "begun\n", "the tool is run once");
    second.close().await;
    runner.end().await;
}

#[test]
fn claude_goes_on_with_another_bot() {
    alone("claude_goes_on_with_another_bot", || goes_on_with_another_bot(claude_cli::agent));
}

#[test]
fn codex_goes_on_with_another_bot() {
    alone("codex_goes_on_with_another_bot", || goes_on_with_another_bot(codex_cli::agent));
}

/// A whole bot with a runner is killed again and again while a tool runs.
async fn goes_on_when_its_bot_is_killed(runtime: &str, make: fn(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(Scenario::OneTool { command: COMMAND }).await;
    let (dir, server) = (tempfile::tempdir().expect("a folder"), outside_server().await);
    let spec = make(&api, dir.path());
    let networks = format!(
        "[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
         [access]\nadmins = [\"irc-mask:test:boss!*@localhost\"]\n[evaluator]\nkind = \"off\"\n\
         [supervisor]\nstartup_timeout = \"2m\"\n[runners]\nlocal = \"process\"\n",
        server.address().port()
    );
    let config = dir.path().join("bot.toml");
    let text = configuration(&networks, runtime, &spec) + "permissions = \"full\"\n";
    std::fs::write(&config, text).expect("written");
    let mut boss = Person::join(server.address(), "boss", None, &["#spark", "#herder"]).await;
    let mut bot = Running::start(dir.path(), &config, &[]);
    boss.reaches("herder", "#spark").await;
    boss.say("#spark", "begin the great work").await;
    let begun = spec.workspace.join("begun");
    appears(&begun).await;
    for _ in 0..3 {
        signal(&bot, Signal::KILL);
        reap(bot).await;
        bot = Running::start(dir.path(), &config, &[]);
        boss.hears("#herder", "1 session went on").await;
    }
    std::fs::write(spec.workspace.join("go"), "").expect("written");
    boss.hears("#spark", ANSWER).await;
    boss.hears("#spark", "completed").await;
    assert_eq!(api.messages(), 2, "the model is asked for nothing twice");
    let begun = std::fs::read_to_string(begun).expect("it was begun");
    assert_eq!(begun, "begun\n", "the tool is run once");
    let posts = boss.heard_in("#spark");
    let answers = posts.iter().filter(|post| post.contains(ANSWER)).count();
    assert_eq!(answers, 1, "its answer is posted once: {posts:#?}");
    signal(&bot, Signal::TERM);
    assert!(reap(bot).await.success());
    let data = dir.path().join("data");
    let status = ask(&data, Question::Status).await.expect("the runner answers");
    assert_eq!(status.sessions, [], "its end is heard");
    ask(&data, Question::Stop).await.expect("the runner ends");
}

#[test]
fn claude_goes_on_when_its_bot_is_killed() {
    alone("claude_goes_on_when_its_bot_is_killed", || {
        goes_on_when_its_bot_is_killed("claude", claude_cli::agent)
    });
}

#[test]
fn codex_goes_on_when_its_bot_is_killed() {
    alone("codex_goes_on_when_its_bot_is_killed", || {
        goes_on_when_its_bot_is_killed("codex", codex_cli::agent)
    });
}
