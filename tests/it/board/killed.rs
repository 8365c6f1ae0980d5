//! herder is killed with -9 right after each step of the board: every task is with one agent, and done once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Server};
use herder::local::{self, Request};
use rustix::process::Signal;
use serde_json::Value;

use crate::kill::{Running, reap, signal};
use crate::stage::PATIENCE;

fn configuration(dir: &Path, port: u16) -> String {
    let agent = |name: &str| {
        let dir = dir.display();
        format!(
            "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = \"{dir}\"\ntags = [\"{name}\"]\n\
             command = [\"sh\", \"-c\", \"tail -n 1 >> runs\"]\n"
        )
    };
    format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\nadmins = [\"irc:test:alice\"]\n[supervisor]\nstop_grace = \"1s\"\nreassign_after = \"1s\"\n{}{}",
        agent("alpha"),
        agent("bravo"),
    )
}

struct Story {
    dir: tempfile::TempDir,
    config: PathBuf,
    _server: Server,
    herder: Option<Running>,
}

impl Story {
    async fn begin() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let options = embedded_ircd::Options {
            bot_nick: "nobody".to_owned(),
            guests: true,
            ..embedded_ircd::Options::default()
        };
        let server = Server::start(options).await.expect("a free port");
        let config = dir.path().join("bot.toml");
        std::fs::write(&config, configuration(dir.path(), server.address().port())).expect("a file");
        let mut story = Self { dir, config, _server: server, herder: None };
        story.starts();
        story
    }

    fn starts(&mut self) {
        self.herder = Some(Running::start(self.dir.path(), &self.config, &[]));
    }

    async fn is_killed(&mut self) {
        let herder = self.herder.take().expect("it runs");
        signal(&herder, Signal::KILL);
        reap(herder).await;
        self.starts();
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Asks until herder answers; a command that is given again must be one that can be.
    async fn ask(&self, command: &str, args: &[&str]) -> local::Answer {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let socket = self.dir.path().join("data").join(local::FILE_NAME);
        let asking = async {
            loop {
                let request = Request { command: command.to_owned(), args: args.clone() };
                if let Ok(answer) = local::ask(&socket, &request).await {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let answer = tokio::time::timeout(PATIENCE, asking).await;
        answer.unwrap_or_else(|_| panic!("no answer to {command}: {}", self.log()))
    }

    /// Does it, and is killed as soon as that is answered.
    async fn then_killed(&mut self, command: &str, args: &[&str]) {
        let answer = self.ask(command, args).await;
        assert!(answer.ok, "{:?}\n{}", answer.lines, self.log());
        self.is_killed().await;
    }

    /// Returns every task with its state, by number.
    async fn tasks(&self) -> Vec<(u64, String, String)> {
        let data = self.ask("task list", &[]).await.data.expect("data");
        let task = |task: &Value| {
            let text = |of: &Value| of.as_str().unwrap_or("board").to_owned();
            let id = task["work"]["id"].as_u64().expect("a number");
            (id, text(&task["agent"]), text(&task["state"]))
        };
        let mut tasks: Vec<_> = data.as_array().expect("a list").iter().map(task).collect();
        tasks.sort();
        tasks
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_every_step_each_task_is_with_one_agent_and_done_once() {
    let mut story = Story::begin().await;
    story.then_killed("pause", &["alpha"]).await;
    story.then_killed("pause", &["bravo"]).await;
    story.then_killed("task add", &["needs=alpha", "first"]).await;
    story.then_killed("task add", &["bravo", "second"]).await;
    // From one agent to another, and from the board to one by name.
    story.then_killed("task assign", &["2", "alpha"]).await;
    story.then_killed("task assign", &["1", "bravo"]).await;
    story.then_killed("task add", &["auto", "third"]).await;
    story.then_killed("task split", &["3", "left; right"]).await;
    story.then_killed("resume", &["alpha"]).await;
    // bravo's tasks go to alpha by themselves, since bravo stays paused; except those that alpha does not suffice
    // for.
    let done = async {
        // One that is on its way between an agent and the board is not listed meanwhile.
        loop {
            let tasks = story.tasks().await;
            if tasks.len() == 5 && tasks.iter().all(|(_, _, state)| state == "done") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let all = tokio::time::timeout(PATIENCE, done).await;
    let tasks = story.tasks().await;
    assert!(all.is_ok(), "{tasks:?}\n{}", story.log());
    let shown: Vec<String> = tasks.iter().map(|(id, agent, state)| format!("{id} {agent} {state}")).collect();
    assert_eq!(shown, ["1 alpha done", "2 alpha done", "3 board done", "4 alpha done", "5 alpha done"]);
    let runs = std::fs::read_to_string(story.dir.path().join("runs")).expect("it was done");
    let mut runs: Vec<&str> = runs.lines().collect();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs, ["first", "left", "right", "second"]);
}
