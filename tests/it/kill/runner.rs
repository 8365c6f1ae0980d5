//! The same with a runner: the bot, the runner, or both at once are killed. A bot that is killed ends no session.

use std::sync::Arc;
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Server};
use herder::runner::process::{Question, ask};

use rustix::process::Signal;

use super::crew::{self, Crew};
use super::{Field, Moments, Running, Struck, kills_under_load, number, outside, reap, signal};

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
    // It may have been killed together with the one before.
    sends(pid, Signal::KILL).ok();
}

fn sends(pid: u32, signal: Signal) -> rustix::io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    rustix::process::kill_process(pid, signal)
}

/// Ends the runner with all that it runs.
async fn stop(field: &Field) {
    let data = field.dir.path().join("data");
    ask(&data, Question::Stop).await.expect("the runner ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_beside_its_runner_loses_nothing() {
    let field = Arc::new(Field::with(PROCESS).await);
    kills_under_load(&field, number("HERDER_KILLS", 10), async |_, _| Struck::Bot).await;
    stop(&field).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_beside_its_bot_loses_nothing() {
    let field = Arc::new(Field::with(PROCESS).await);
    let strike = async |_: u64, _: &Running| {
        kill(runner(&field).await);
        Struck::Other
    };
    kills_under_load(&field, number("HERDER_KILLS", 10), strike).await;
    stop(&field).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_and_its_runner_that_are_killed_at_once_lose_nothing() {
    let field = Arc::new(Field::with(PROCESS).await);
    let strike = async |_: u64, _: &Running| {
        kill(runner(&field).await);
        Struck::Bot
    };
    kills_under_load(&field, number("HERDER_KILLS", 10), strike).await;
    stop(&field).await;
}

/// Ends what a crew works at, and checks that the runner has ended with all that was on it.
async fn crew_is_accounted_for(field: &Field, crew: Crew, seed: u64) {
    let bot = field.start();
    crew.account(seed).await;
    let data = field.dir.path().join("data");
    let status = ask(&data, Question::Status).await.expect("the runner answers");
    signal(&bot, Signal::TERM);
    assert!(reap(bot).await.success(), "seed {seed}\n{}", field.log());
    let others: Vec<_> =
        status.sessions.iter().filter(|session| session.of.agent.as_str().starts_with("crew")).collect();
    assert!(others.is_empty(), "seed {seed}: {others:?}");
    stop(field).await;
    assert_eq!(field.lines("violations"), Vec::<String>::new(), "seed {seed}");
}

async fn field_with_a_crew() -> Arc<Field> {
    // Twenty agents say more than the server takes from one client that it slows down.
    let options = embedded_ircd::Options { paced: false, ..outside() };
    let server = Server::start(options).await.expect("a server");
    let field = Field::configured(server, |text, dir| {
        let more = crew::configuration(dir);
        let text = text.replace("boss!*", "boss*!*");
        text.replace("[supervisor]\n", &format!("[supervisor]\n{}", crew::places())) + &more
    });
    Arc::new(field)
}

/// Twenty agents. `HERDER_KILLS` sets how often; `HERDER_SEED` repeats a run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_beside_twenty_agents_ends_no_session_and_loses_nothing() {
    let seed = number("HERDER_SEED", u64::from(std::process::id()));
    let field = field_with_a_crew().await;
    let crew = Crew::of(&field, seed).await;
    let strike = async |kill: u64, _: &Running| {
        crew.is_at_work(kill).await;
        Struck::Bot
    };
    kills_under_load(&field, number("HERDER_KILLS", 10), strike).await;
    crew_is_accounted_for(&field, crew, seed).await;
}

/// The bot and its runner stand still in turn. `HERDER_FREEZES` sets how often (2), `HERDER_FREEZE_SECONDS` for how long at
/// most (6; at least 5): fifty of up to a minute are run with 50 and 60.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_or_a_runner_that_stands_still_beside_twenty_agents_ends_no_session_and_loses_nothing() {
    let seed = number("HERDER_SEED", u64::from(std::process::id()));
    let longest = number("HERDER_FREEZE_SECONDS", 6);
    let moments = std::sync::Mutex::new(Moments::new(seed.wrapping_add(3)));
    let field = field_with_a_crew().await;
    let crew = Crew::of(&field, seed).await;
    let strike = async |freeze: u64, bot: &Running| {
        crew.is_at_work(freeze).await;
        let pid = if freeze.is_multiple_of(2) { bot.pid() } else { runner(&field).await };
        let still = Duration::from_secs(5) + moments.lock().unwrap().millis(1000 * (longest - 5).max(1));
        sends(pid, Signal::STOP).expect("it runs");
        tokio::time::sleep(still).await;
        sends(pid, Signal::CONT).expect("it stands still");
        Struck::Other
    };
    kills_under_load(&field, number("HERDER_FREEZES", 2), strike).await;
    crew_is_accounted_for(&field, crew, seed).await;
}
