//! herder is killed with -9 between a task that did not fit and its parts, and continues where it was: the parts are
//! there once.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::kill::process::Process;
use crate::kill::{Moments, number};
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

/// Waits until a split was asked for that many times.
async fn is_asked(herder: &Process, times: usize) {
    let asked = || {
        let text = std::fs::read_to_string(herder.path("asked")).unwrap_or_default();
        text.lines().count()
    };
    let asking = async {
        while asked() < times {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let done = tokio::time::timeout(PATIENCE, asking).await;
    assert!(done.is_ok(), "asked {} times, and not {times}: {}", asked(), herder.log());
}

/// Returns every task with its state, by number.
async fn tasks(herder: &Process) -> Vec<String> {
    let data = herder.ask("task list", &[]).await.data.expect("data");
    let task = |task: &Value| {
        let text = |of: &Value| of.as_str().unwrap_or("board").to_owned();
        let id = task["work"]["id"].as_u64().expect("a number");
        (id, format!("{} {} {}", text(&task["agent"]), text(&task["state"]), text(&task["work"]["text"])))
    };
    let mut tasks: Vec<_> = data.as_array().expect("a list").iter().map(task).collect();
    tasks.sort();
    tasks.into_iter().map(|(_, task)| task.lines().next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_a_task_that_did_not_fit_and_its_parts_they_are_there_once() {
    let mut herder = Process::begin(configuration).await;
    let answer = herder.ask("task add", &["spark", "whole"]).await;
    assert!(answer.ok, "{:?}\n{}", answer.lines, herder.log());
    for times in 1..=3 {
        is_asked(&herder, times).await;
        assert_eq!(tasks(&herder).await, ["spark queued whole"], "it waits, and is nobody else's");
        herder.is_killed().await;
    }
    is_asked(&herder, 4).await;
    std::fs::write(herder.dir.path().join("go"), "").expect("a file");
    // Around the answer, and while the parts go from one to the other.
    let mut moments = Moments::new(number("HERDER_SEED", u64::from(std::process::id())));
    for _ in 0..4 {
        tokio::time::sleep(moments.millis(150)).await;
        herder.is_killed().await;
        herder.ask("status", &[]).await;
    }
    let done = async {
        while tasks(&herder).await.iter().any(|task| !task.contains(" done ")) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let all = tokio::time::timeout(PATIENCE, done).await;
    let tasks = tasks(&herder).await;
    assert!(all.is_ok(), "{tasks:?}\n{}", herder.log());
    assert_eq!(tasks, ["board done whole", "spark done left", "spark done right"]);
}
