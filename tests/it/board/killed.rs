//! herder is killed with -9 right after each step of the board: every task is with one agent, and done once.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::kill::process::Process;
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

/// Gives a command, and kills herder as soon as that is answered.
async fn then_killed(herder: &mut Process, command: &str, args: &[&str]) {
    herder.does(command, args).await;
    herder.is_killed().await;
}

/// Returns every task with its state, by number.
async fn tasks(herder: &Process) -> Vec<(u64, String, String)> {
    let data = herder.ask("task list", &[]).await.data.expect("data");
    let task = |task: &Value| {
        let text = |of: &Value| of.as_str().unwrap_or("board").to_owned();
        let id = task["work"]["id"].as_u64().expect("a number");
        (id, text(&task["agent"]), text(&task["state"]))
    };
    let mut tasks: Vec<_> = data.as_array().expect("a list").iter().map(task).collect();
    tasks.sort();
    tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_every_step_each_task_is_with_one_agent_and_done_once() {
    let mut herder = Process::begin(configuration).await;
    then_killed(&mut herder, "pause", &["alpha"]).await;
    then_killed(&mut herder, "pause", &["bravo"]).await;
    then_killed(&mut herder, "task add", &["needs=alpha", "first"]).await;
    then_killed(&mut herder, "task add", &["bravo", "second"]).await;
    // From one agent to another, and from the board to one by name.
    then_killed(&mut herder, "task assign", &["2", "alpha"]).await;
    then_killed(&mut herder, "task assign", &["1", "bravo"]).await;
    then_killed(&mut herder, "task add", &["auto", "third"]).await;
    then_killed(&mut herder, "task split", &["3", "left; right"]).await;
    then_killed(&mut herder, "resume", &["alpha"]).await;
    // bravo's tasks go to alpha by themselves, since bravo stays paused; except those that alpha does not suffice
    // for.
    let done = async {
        // One that is on its way between an agent and the board is not listed meanwhile.
        loop {
            let tasks = tasks(&herder).await;
            if tasks.len() == 5 && tasks.iter().all(|(_, _, state)| state == "done") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let all = tokio::time::timeout(PATIENCE, done).await;
    let tasks = tasks(&herder).await;
    assert!(all.is_ok(), "{tasks:?}\n{}", herder.log());
    let shown: Vec<String> = tasks.iter().map(|(id, agent, state)| format!("{id} {agent} {state}")).collect();
    assert_eq!(shown, ["1 alpha done", "2 alpha done", "3 board done", "4 alpha done", "5 alpha done"]);
    let runs = std::fs::read_to_string(herder.dir.path().join("runs")).expect("it was done");
    let mut runs: Vec<&str> = runs.lines().collect();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs, ["first", "left", "right", "second"]);
}
