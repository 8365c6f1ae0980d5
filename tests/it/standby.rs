//! Two bots that share a log on a real `nats-server`: one decides, and the other one succeeds it. Bots are processes of
//! their own, which are killed, stand still and end in order, while a session goes on on another machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::cluster::folder::{self, FOLDER};
use herder::local::{self, Answer, Request};
use jiff::Timestamp;
use rustix::process::Signal;

use crate::kill::{Running, lines, outside_server, reap, signal};
use crate::machines::{Owned, SCRIPT, nats_port, server};
use crate::stage::PATIENCE;

/// Exit code of a bot whose office another one has.
const DEPOSED: i32 = 75;

struct Bot {
    dir: PathBuf,
    herder: Option<Running>,
}

impl Bot {
    fn starts(&mut self) {
        self.herder = Some(Running::start(&self.dir, &self.dir.join("bot.toml"), &[]));
    }

    fn sends(&self, wanted: Signal) {
        signal(self.herder.as_ref().expect("it runs"), wanted);
    }

    async fn dies(&mut self) {
        self.sends(Signal::KILL);
        reap(self.herder.take().expect("it runs")).await;
    }

    /// Ends in order.
    async fn ends(&mut self) {
        self.sends(Signal::TERM);
        reap(self.herder.take().expect("it runs")).await;
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    async fn try_ask(&self, command: &str, args: &[&str]) -> Option<Answer> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        local::ask(&self.dir.join("data").join(local::FILE_NAME), &request).await.ok()
    }
}

/// Two bots with the same keys, and a machine for agents.
struct World {
    dir: tempfile::TempDir,
    _irc: Server,
    _nats: Owned,
    _runner: Option<Owned>,
    bots: [Bot; 2],
}

impl World {
    /// Opens a world in which the first bot is in office, the other one follows, and agent `spark` is on machine `box4`.
    async fn open() -> Self {
        let (dir, irc) = (tempfile::tempdir().expect("a folder"), outside_server().await);
        let bots = ["a", "b"].map(|name| Bot { dir: dir.path().join(name), herder: None });
        for folder in ["a/data", "b/data/cluster", "box4", "spark"] {
            std::fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        let keys = bots[0].dir.join("data").join(FOLDER);
        let made =
            folder::init(&keys, &["127.0.0.1".to_owned()], nats_port(), Timestamp::now()).expect("keys");
        for file in std::fs::read_dir(&keys).expect("a folder") {
            let file = file.expect("a file");
            let copy = bots[1].dir.join("data").join(FOLDER).join(file.file_name());
            std::fs::copy(file.path(), copy).expect("it is copied");
        }
        let text = format!(
            "[runners]\nservers = [\"{}\"]\n[cluster]\nstandby = true\noffice = \"1s\"\n[supervisor]\nstop_grace = \"1s\"\n\
             [access]\nadmins = []\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n",
            made.servers[0],
            irc.address().port()
        );
        for bot in &bots {
            std::fs::write(bot.dir.join("bot.toml"), &text).expect("a file");
        }
        let nats = server(&made.conf);
        let mut world = Self { dir, _irc: irc, _nats: nats, _runner: None, bots };
        world.bots[0].starts();
        world.says(0, "runner list", &[], "No machine has joined").await;
        world.bots[1].starts();
        world.wait("the second bot does not follow", |world| world.bots[1].log().contains("following")).await;
        world.joins().await;
        let at = world.dir.path().join("spark").display().to_string();
        let here = world.bots[0].try_ask("agent add", &["ada", "command", &at, "command=cat"]).await;
        let said = here.expect("it answers").lines.join("\n");
        assert!(said.contains("no agent runs on the bot's own machine"), "{said}");
        let command = format!("command={}", serde_json::json!(["sh", "-c", SCRIPT]));
        world.does(0, "agent add", &["spark", "command", &at, "runner=box4", &command]).await;
        world
    }

    async fn joins(&mut self) {
        let data = self.bots[0].dir.join("data").display().to_string();
        let invited = self.herder(&["--data-dir", &data, "runner", "invite", "box4"]).output();
        let said = String::from_utf8(invited.expect("it runs").stdout).expect("text");
        let invitation = said.trim().strip_prefix("herder runner join ").expect("a line to run").to_owned();
        self.wait("the machine cannot join", |world| {
            world.herder(&["runner", "join", &invitation]).output().expect("it runs").status.success()
        })
        .await;
        let log = std::fs::File::create(self.dir.path().join("runner.log")).expect("a file");
        let run = self.herder(&["runner", "run"]).stdout(Stdio::null()).stderr(log).spawn();
        self._runner = Some(Owned(run.expect("it starts")));
    }

    fn herder(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herder"));
        command.current_dir(self.dir.path().join("box4")).args(args);
        command
    }

    fn spark(&self, file: &str) -> PathBuf {
        self.dir.path().join("spark").join(file)
    }

    fn begun(&self) -> usize {
        lines(&self.spark("begun")).len()
    }

    async fn wait(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let holds = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, holds).await;
        held.unwrap_or_else(|_| panic!("{what}\n{}\n--- b\n{}", self.bots[0].log(), self.bots[1].log()));
    }

    /// Gives a bot that is in office a command, which has to succeed.
    async fn does(&self, bot: usize, command: &str, args: &[&str]) {
        let answer = self.bots[bot].try_ask(command, args).await.expect("it answers");
        assert!(answer.ok, "{:?}\n{}", answer.lines, self.bots[bot].log());
    }

    /// Asks a bot until its answer has these words.
    async fn says(&self, bot: usize, command: &str, args: &[&str], words: &str) {
        let mut last = Vec::new();
        let said = async {
            loop {
                if let Some(answer) = self.bots[bot].try_ask(command, args).await {
                    last = answer.lines;
                }
                if last.iter().any(|line| line.contains(words)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let said = tokio::time::timeout(PATIENCE, said).await;
        let logs = || format!("{}\n--- b\n{}", self.bots[0].log(), self.bots[1].log());
        said.unwrap_or_else(|_| panic!("{command} never said {words}: {last:?}\n{}", logs()));
    }

    fn close(self) {
        assert_eq!(lines(&self.spark("violations")), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_dies_is_succeeded_and_no_session_ends() {
    let mut world = World::open().await;
    world.does(0, "task new", &["spark", "look", "around"]).await;
    world.wait("no session begins", |world| world.begun() == 1).await;
    assert!(!world.bots[1].dir.join("data").join(local::FILE_NAME).exists(), "two bots decide");
    world.bots[0].dies().await;
    world.says(1, "status", &["spark"], "running").await;
    std::fs::write(world.spark("go"), "").expect("a file");
    world.says(1, "task list", &["all"], "#1 done").await;
    assert_eq!(world.begun(), 1);
    // The first one follows, and is in office again once the other one ends in order.
    world.bots[0].starts();
    world.wait("it does not follow", |world| world.bots[0].log().matches("following").count() == 2).await;
    world.bots[1].ends().await;
    world.says(0, "task list", &["all"], "#1 done").await;
    world.bots[0].ends().await;
    world.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_stood_still_is_deposed_and_follows() {
    let mut world = World::open().await;
    world.does(0, "task new", &["spark", "look", "around"]).await;
    world.wait("no session begins", |world| world.begun() == 1).await;
    world.bots[0].sends(Signal::STOP);
    world.says(1, "status", &["spark"], "running").await;
    world.bots[0].sends(Signal::CONT);
    let mut herder = world.bots[0].herder.take().expect("it runs");
    let code = tokio::task::spawn_blocking(move || herder.wait()).await.expect("it is waited for");
    assert_eq!(code, Some(DEPOSED), "{}", world.bots[0].log());
    std::fs::write(world.spark("go"), "").expect("a file");
    world.says(1, "task list", &["all"], "#1 done").await;
    assert_eq!(world.begun(), 1);
    world.bots[1].ends().await;
    world.close();
}
