//! `herder run` with a runner of its own: what people see, and what its agents may.

use std::path::{Path, PathBuf};

use herder::chat::embedded_ircd::Server;
use herder::runner::process::{Question, ask};
use herder::runner::wire::Status;
use rustix::process::Signal;

use super::PATIENCE;
use crate::kill::{Running, lines, outside_server, reap, signal};
use crate::stage::{Person, appears};

/// A bot's folder, and the network that it is on.
pub(super) struct Home {
    pub(super) dir: tempfile::TempDir,
    server: Server,
}

impl Home {
    pub(super) async fn with(script: &str, local: &str) -> Self {
        let home = Self { dir: tempfile::tempdir().expect("a folder"), server: outside_server().await };
        home.configure(script, local);
        home
    }

    fn configure(&self, script: &str, local: &str) {
        let text = format!(
            "data_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
             [access]\nadmins = [\"irc-mask:test:boss!*@localhost\"]\n[supervisor]\nstop_grace = \"1s\"\n\
             [runners]\nlocal = \"{local}\"\n\
             [[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = {:?}\nrelay = \"all\"\n\
             command = [\"bash\", \"-c\", {script:?}]\n",
            self.server.address().port(),
            self.dir.path(),
        );
        std::fs::write(self.config(), text).expect("written");
    }

    pub(super) fn config(&self) -> PathBuf {
        self.dir.path().join("bot.toml")
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config(), &[])
    }

    pub(super) async fn boss(&self) -> Person {
        Person::join(self.server.address(), "boss", None, &["#spark", "#herder", "#alerts"]).await
    }

    pub(super) async fn runner(&self) -> Status {
        ask(&self.data(), Question::Status).await.expect("the runner answers")
    }

    /// Starts a bot, and has its agent begin to count.
    async fn counting(&self) -> (Person, Running) {
        let mut boss = self.boss().await;
        let bot = self.start();
        boss.reaches("herder", "#spark").await;
        boss.say("#spark", "count").await;
        boss.hears("#spark", "line 1").await;
        (boss, bot)
    }

    /// Ends the bot, then its runner.
    pub(super) async fn end(&self, bot: Running) {
        signal(&bot, Signal::TERM);
        assert!(reap(bot).await.success());
        assert!(herder(self.dir.path(), &["runner", "stop"]).status.success());
    }

    fn go(&self) {
        std::fs::write(self.dir.path().join("go"), "").expect("written");
    }
}

/// Works until it may end.
const WAITS: &str =
    "cat >/dev/null; echo line 1; echo $$ >pid; until [ -e go ]; do sleep 0.01; done; rm go pid; echo line 2";

pub(crate) fn herder(dir: &Path, args: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_herder"));
    command.args(args).arg("--config").arg(dir.join("bot.toml")).output().expect("herder starts")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_ends_ends_no_session_and_says_one_line() {
    let home = Home::with(WAITS, "process").await;
    let (mut boss, mut bot) = home.counting().await;
    appears(&home.dir.path().join("pid")).await;
    // A kill may repeat what the server has not confirmed yet.
    boss.reaches("herder", "#spark").await;
    let runner = home.runner().await.pid;
    for end in [Signal::KILL, Signal::TERM] {
        signal(&bot, end);
        let status = reap(bot).await;
        assert_eq!(status.success(), end == Signal::TERM, "{status}");
        let told = herder(home.dir.path(), &["runner", "status"]);
        let told = String::from_utf8(told.stdout).expect("UTF-8");
        assert!(told.contains("no bot is connected") && told.contains("spark #1: at work"), "{told}");
        bot = home.start();
        boss.hears("#herder", "1 session went on").await;
        boss.reaches("herder", "#spark").await;
    }
    home.go();
    boss.hears("#spark", "line 2").await;
    boss.hears("#spark", "completed").await;
    assert_eq!(home.runner().await.pid, runner, "the runner outlives its bots");
    let of = |text: &str, channel| boss.heard_in(channel).iter().filter(|line| line.contains(text)).count();
    for (text, channel, times) in [
        ("line 1", "#spark", 1),
        ("line 2", "#spark", 1),
        ("went on", "#herder", 2),
        ("going down", "#herder", 0),
    ] {
        assert_eq!(of(text, channel), times, "{text} in {channel}: {:#?}", boss.heard_in(channel));
    }
    home.end(bot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_command_a_session_that_went_on() {
    let home = Home::with(WAITS, "process").await;
    let (mut boss, bot) = home.counting().await;
    signal(&bot, Signal::KILL);
    reap(bot).await;
    let bot = home.start();
    boss.hears("#herder", "1 session went on").await;
    boss.reaches("herder", "#spark").await;
    boss.say("#herder", "!stop-all").await;
    boss.hears("#herder", "0 processes left").await;
    assert_eq!(home.runner().await.sessions, [], "its end is heard");
    home.end(bot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_stands_still_for_a_while_loses_no_session() {
    let home = Home::with(WAITS, "process").await;
    let text = std::fs::read_to_string(home.config()).expect("it is there");
    let text = text.replace("stop_grace = \"1s\"", "stop_grace = \"1s\"\nheartbeat_timeout = \"6s\"");
    std::fs::write(home.config(), text).expect("written");
    let (mut boss, bot) = home.counting().await;
    let runner = home.runner().await.pid;
    let runner = i32::try_from(runner).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    rustix::process::kill_process(runner, Signal::STOP).expect("it runs");
    // Longer than a driver may be silent.
    tokio::time::sleep(std::time::Duration::from_secs(9)).await;
    rustix::process::kill_process(runner, Signal::CONT).expect("it stands still");
    home.go();
    boss.hears("#spark", "line 2").await;
    boss.hears("#spark", "completed").await;
    let begun = boss.heard_in("#spark").iter().filter(|line| line.contains("line 1")).count();
    assert_eq!(begun, 1, "{:#?}", boss.heard_in("#spark"));
    home.end(bot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_a_runner_commands_no_bot() {
    let herder_program = env!("CARGO_BIN_EXE_herder");
    let asks = format!(
        "cat >/dev/null; until [ -e go ]; do sleep 0.01; done; {herder_program} stop-all >said 2>&1; \
         (setsid env -u HERDER_SESSION {herder_program} runner stop >>said 2>&1); mv said told; echo asked"
    );
    let home = Home::with(&asks, "process").await;
    let mut boss = home.boss().await;
    let bot = home.start();
    boss.reaches("herder", "#spark").await;
    boss.say("#spark", "look around").await;
    boss.hears("#spark", "spark started: look around").await;
    // The next bot is no ancestor of the agent.
    signal(&bot, Signal::KILL);
    reap(bot).await;
    let bot = home.start();
    boss.reaches("herder", "#spark").await;
    home.go();
    boss.hears("#spark", "asked").await;
    let told = lines(&home.dir.path().join("told"));
    assert!(told[0].contains("an agent may not command the herder it runs under"), "{told:#?}");
    assert!(home.runner().await.attended, "nor does it end the runner: {told:#?}");
    home.end(bot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_run_in_the_bot_again_run_once() {
    let home = Home::with(WAITS, "process").await;
    let (mut boss, bot) = home.counting().await;
    let pid = home.dir.path().join("pid");
    appears(&pid).await;
    let first = std::fs::read_to_string(&pid).expect("it was noted");
    signal(&bot, Signal::TERM);
    assert!(reap(bot).await.success());
    home.configure(WAITS, "embedded");
    let bot = home.start();
    boss.hears("#spark", "line 1").await;
    assert!(
        !Path::new("/proc").join(first.trim()).exists(),
        "the first one is over before the second begins"
    );
    let told = tokio::time::timeout(PATIENCE, ask(&home.data(), Question::Status)).await;
    assert!(told.expect("it answers at once").is_err(), "no runner is left");
    home.go();
    boss.hears("#spark", "completed").await;
    signal(&bot, Signal::TERM);
    assert!(reap(bot).await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_to_be_replaced_waits_for_its_sessions() {
    let home = Home::with(WAITS, "process").await;
    let (mut boss, bot) = home.counting().await;
    let first = home.runner().await;
    let dir = home.dir.path().to_owned();
    let waits = tokio::task::spawn_blocking(move || herder(&dir, &["runner", "restart", "--when-idle"]));
    assert_eq!(home.runner().await.pid, first.pid);
    home.go();
    boss.hears("#spark", "completed").await;
    let told = tokio::time::timeout(PATIENCE, waits).await.expect("it ends").expect("it is asked");
    assert!(told.status.success(), "{told:?}");
    boss.say("#spark", "count again").await;
    boss.hears("#spark", "line 1").await;
    assert_ne!(home.runner().await.pid, first.pid, "another one is there");
    home.go();
    boss.hears("#spark", "completed").await;
    home.end(bot).await;
}
