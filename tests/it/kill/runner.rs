//! The same with a runner: the bot, the runner, or both at once are killed. A bot that is killed ends no session.

use std::sync::Arc;

use herder::runner::process::{Question, ask};

use super::{Field, Struck, kills_under_load, number};

const PROCESS: &str = "[runners]\nlocal = \"process\"\n";

/// Returns the process id of the runner, once one listens.
async fn runner(field: &Field) -> u32 {
    let data = field.dir.path().join("data");
    let listens = async {
        loop {
            if let Ok(status) = ask(&data, Question::Status).await {
                return status.pid;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let listens = tokio::time::timeout(crate::stage::PATIENCE, listens).await;
    listens.unwrap_or_else(|_| panic!("no runner listens\n{}", field.log()))
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    // It may have been killed together with the one before.
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
}

/// Ends the runner with all that it runs.
async fn stop(field: &Field) {
    let data = field.dir.path().join("data");
    ask(&data, Question::Stop).await.expect("the runner ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_beside_its_runner_loses_nothing() {
    let field = Arc::new(Field::with(PROCESS).await);
    kills_under_load(&field, number("HERDER_KILLS", 10), async |_| Struck::Bot).await;
    stop(&field).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_beside_its_bot_loses_nothing() {
    let field = Arc::new(Field::with(PROCESS).await);
    let strike = async |_| {
        kill(runner(&field).await);
        Struck::Other
    };
    kills_under_load(&field, number("HERDER_KILLS", 10), strike).await;
    stop(&field).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_and_its_runner_that_are_killed_at_once_lose_nothing() {
    let field = Arc::new(Field::with(PROCESS).await);
    let strike = async |_| {
        kill(runner(&field).await);
        Struck::Bot
    };
    kills_under_load(&field, number("HERDER_KILLS", 10), strike).await;
    stop(&field).await;
}
