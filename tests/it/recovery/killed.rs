//! herder is killed with -9 between a task that did not fit and its parts, and continues where it was: the parts are
//! there once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Server};
use herder::local::{self, Answer, Request};
use rustix::process::Signal;
use serde_json::Value;

use crate::kill::{Moments, Running, number, reap, signal};
use crate::stage::PATIENCE;

/// The agent takes parts alone; the program that splits records that it is asked, and answers when `go` is there.
fn configuration(dir: &Path, port: u16) -> String {
    let dir = dir.display();
    format!(
        r#"
name = "herder"
data_dir = "data"
[[irc]]
name = "test"
server = "127.0.0.1"
port = {port}
tls = false
[access]
admins = ["irc:test:alice"]
[supervisor]
stop_grace = "1s"
[evaluator]
kind = "command"
command = ["sh", "-c", "cat > /dev/null; echo x >> {dir}/asked; while [ ! -e {dir}/go ]; do sleep 0.05; done; echo '[\"left\", \"right\"]'"]
[[agent]]
name = "spark"
runtime = "command"
workspace = "{dir}"
command = ["sh", "-c", "work=$(cat); case $work in *'This is part'*) ;; *) echo full >&2; exit 1;; esac"]
patterns = [{{ match = "full", category = "context-overflow" }}]
"#
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

    async fn asks(&self, command: &str, args: &[&str]) -> Answer {
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

    /// Waits until a split was asked for that many times.
    async fn is_asked(&self, times: usize) {
        let asked = || {
            let text = std::fs::read_to_string(self.dir.path().join("asked")).unwrap_or_default();
            text.lines().count()
        };
        let asking = async {
            while asked() < times {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, asking).await;
        assert!(done.is_ok(), "asked {} times, and not {times}: {}", asked(), self.log());
    }

    /// Returns every task with its state, by number.
    async fn tasks(&self) -> Vec<String> {
        let data = self.asks("task list", &[]).await.data.expect("data");
        let task = |task: &Value| {
            let text = |of: &Value| of.as_str().unwrap_or("board").to_owned();
            let id = task["work"]["id"].as_u64().expect("a number");
            (id, format!("{} {} {}", text(&task["agent"]), text(&task["state"]), text(&task["work"]["text"])))
        };
        let mut tasks: Vec<_> = data.as_array().expect("a list").iter().map(task).collect();
        tasks.sort();
        tasks.into_iter().map(|(_, task)| task.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_a_task_that_did_not_fit_and_its_parts_they_are_there_once() {
    let mut story = Story::begin().await;
    let answer = story.asks("task add", &["spark", "whole"]).await;
    assert!(answer.ok, "{:?}\n{}", answer.lines, story.log());
    for times in 1..=3 {
        story.is_asked(times).await;
        assert_eq!(story.tasks().await, ["spark queued whole"], "it waits, and is nobody else's");
        story.is_killed().await;
    }
    story.is_asked(4).await;
    std::fs::write(story.dir.path().join("go"), "").expect("a file");
    // Around the answer, and while the parts go from one to the other.
    let mut moments = Moments::new(number("HERDER_SEED", u64::from(std::process::id())));
    for _ in 0..4 {
        tokio::time::sleep(moments.millis(150)).await;
        story.is_killed().await;
        story.asks("status", &[]).await;
    }
    let done = async {
        while story.tasks().await.iter().any(|task| !task.contains(" done ")) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let all = tokio::time::timeout(PATIENCE, done).await;
    let tasks = story.tasks().await;
    assert!(all.is_ok(), "{tasks:?}\n{}", story.log());
    assert_eq!(tasks, ["board done whole", "spark done left", "spark done right"]);
}
