//! The real claude and codex on a runner: their bot is gone while a tool runs, and another one goes on with the session.

use std::path::Path;

use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Permissions};
use herder::runner::prefix;
use herder::runtime::Launch;

use super::links::Runner;
use super::{Hearing, journal, of};
use crate::agent_rig::a_launch;
use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::stage::appears;
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
    let marker = format!("{}spark/1", prefix(&journal(runner.folder())));
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
