//! Tools of an agent that leads: its parts are done by others while it waits, and herder is killed with -9 meanwhile.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, agent};
use crate::kill::lines;
use crate::kill::process::Process;
use crate::stage::PATIENCE;

/// Returns the settings of a herder with spark, which leads, and nova and ember, which do what they are given; root may do
/// more than spark.
fn configuration(dir: &Path, port: u16) -> String {
    let spark = agent("spark", dir);
    let helper = |name: &str, more: &str| {
        let script = format!("cat >> prompts; echo \"{name} has built it\"");
        let home = dir.join(name);
        std::fs::create_dir_all(&home).expect("a folder");
        format!(
            "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = {home:?}\n\
             command = [\"sh\", \"-c\", {script:?}]\n{more}"
        )
    };
    format!(
        "data_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\nadmins = [\"irc-mask:test:boss!*@localhost\"]\n[supervisor]\nstop_grace = \"1s\"\n\
         [[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = {:?}\ncommand = {:?}\nleads = true\n\
         lead_budget_usd = 2.5\n{}{}{}",
        spark.workspace,
        spark.command,
        helper("nova", "tags = [\"web\"]\n"),
        helper("ember", ""),
        helper("root", "permissions = \"full\"\n"),
    )
}

/// Waits until a task is in this state, and returns what is told of it.
async fn until(herder: &Process, task: &str, state: &str) -> (Value, Vec<String>) {
    let reached = async {
        loop {
            let answer = herder.ask("task show", &[task]).await;
            let data = answer.data.unwrap_or_default();
            if data["state"] == state {
                return (data, answer.lines);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reached = tokio::time::timeout(PATIENCE, reached).await;
    reached.unwrap_or_else(|_| panic!("task {task} is not {state}: {}", herder.log()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lead_waits_for_its_parts_over_a_herder_that_is_killed_and_is_told_their_results() {
    let mut herder = Process::begin(configuration).await;
    for name in ["nova", "ember"] {
        herder.does("pause", &[name]).await;
    }
    herder.does("task add", &["spark", "build the site"]).await;
    let mut spark = Client::meet(herder.dir.path(), "spark").await;
    let listed = spark.request("tools/list", &json!({})).await.to_string();
    assert!(
        ["task_add", "task_list", "task_show", "task_wait", "task_cancel"]
            .iter()
            .all(|tool| listed.contains(tool))
    );
    let told = spark.is_refused("task_wait", json!({})).await;
    assert!(told.contains("no part to wait for"), "{told}");
    let told = spark.is_refused("task_add", json!({ "text": "do it all", "agent": "root" })).await;
    assert!(told.contains("at most your permissions (workspace-write)"), "{told}");
    let told = spark.is_refused("task_add", json!({ "text": "port it", "needs": "rust" })).await;
    assert!(
        told.contains("No agent that may do as much as you, or less, has what the part needs (rust)"),
        "{told}"
    );
    let told = spark.does("task_add", json!({ "text": "the header", "needs": "web" })).await;
    assert!(told.starts_with("Part #2 is added; it is for the next idle agent"), "{told}");
    let told = spark.does("task_add", json!({ "text": "the footer", "agent": "ember", "after": [2] })).await;
    assert!(told.starts_with("Part #3 is added; it is for ember."), "{told}");
    let again = spark.does("task_add", json!({ "text": "the header", "needs": "web" })).await;
    assert!(again.starts_with("Part #2 was there already"), "{again}");
    let told = spark.does("task_add", json!({ "text": "the map" , "after": "3" })).await;
    assert!(told.starts_with("Part #"), "{told}");
    let map: u64 =
        told.trim_start_matches("Part #").split(' ').next().and_then(|id| id.parse().ok()).expect("a number");
    let told = spark.does("task_cancel", json!({ "part": map })).await;
    assert_eq!(told, format!("Part #{map} is cancelled."));
    let told = spark.is_refused("task_cancel", json!({ "part": 1 })).await;
    assert!(told.contains("#1 is no part of your task"), "{told}");
    let told = spark.is_refused("task_done", json!({ "result": "built" })).await;
    assert!(told.contains("Parts of your task are open: #2, #3."), "{told}");
    let told = spark.does("task_list", json!({})).await;
    assert!(told.contains("#3: waits for #2; begins \"the footer\""), "{told}");
    assert!(told.contains("$0.00 of $2.50") && told.contains("nova (workspace-write, web)"), "{told}");
    assert!(!told.contains("root"), "{told}");
    let told = spark.does("task_wait", json!({ "parts": [2, 3] })).await;
    assert!(told.contains("your task waits for #2, #3") && told.contains("end your turn"), "{told}");
    drop(spark);

    let (data, shown) = until(&herder, "1", "waiting").await;
    assert_eq!((&data["parts"][0]["id"], &data["parts"][1]["id"]), (&json!(2), &json!(3)), "{data}");
    assert!(
        shown[0].contains("waits for #2, #3") && shown.iter().any(|line| line.contains("→ #2")),
        "{shown:?}"
    );
    herder.is_killed().await;
    let (part, _) = until(&herder, "2", "queued").await;
    assert_eq!(part["parent"], 1, "{part}");
    until(&herder, "1", "waiting").await;
    herder.does("resume", &["nova"]).await;
    until(&herder, "2", "done").await;
    herder.is_killed().await;
    until(&herder, "1", "waiting").await;
    assert_eq!(
        herder.ask("status", &["spark"]).await.data.expect("data")["phase"],
        "idle",
        "it holds no place"
    );
    herder.does("resume", &["ember"]).await;

    let mut spark = Client::meet(herder.dir.path(), "spark").await;
    let prompt = std::fs::read_to_string(herder.dir.path().join("spark/prompt")).expect("a prompt");
    for result in
        ["#2 (nova): done", "nova has built it", "#3 (ember): done", "ember has built it", "build the site"]
    {
        assert!(prompt.contains(result), "{result}: {prompt}");
    }
    assert!(!prompt.contains(&format!("#{map}")), "{prompt}");
    let told = spark.is_refused("task_wait", json!({ "parts": [2] })).await;
    assert!(told.contains("you have been told the results"), "{told}");
    let told = spark.does("task_show", json!({ "part": 3 })).await;
    assert!(told.contains("#3 (ember): done") && told.contains("Its text:\nthe footer"), "{told}");
    spark.does("task_done", json!({ "result": "built" })).await;
    drop(spark);
    let (data, _) = until(&herder, "1", "done").await;
    assert_eq!(data["note"], "built");
    herder.is_killed().await;
    let (data, _) = until(&herder, "1", "done").await;
    assert_eq!(data["parts"].as_array().map(Vec::len), Some(3), "{data}");
    for (name, text) in [("nova", "the header"), ("ember", "the footer")] {
        let prompts = lines(&herder.dir.path().join(name).join("prompts"));
        assert_eq!(prompts, [text], "{name} did it once");
    }
    herder.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_task_takes_its_parts_along_also_when_herder_is_killed() {
    let mut herder = Process::begin(configuration).await;
    for name in ["nova", "ember"] {
        herder.does("pause", &[name]).await;
    }
    herder.does("task add", &["spark", "build the site"]).await;
    let mut spark = Client::meet(herder.dir.path(), "spark").await;
    spark.does("task_add", json!({ "text": "the header", "agent": "nova" })).await;
    spark.does("task_add", json!({ "text": "the footer", "after": [2] })).await;
    // It ends its turn and forgets to say that it waits.
    drop(spark);
    until(&herder, "1", "waiting").await;
    herder.does("task cancel", &["1"]).await;
    herder.is_killed().await;
    for task in ["1", "2", "3"] {
        until(&herder, task, "cancelled").await;
    }
    herder.ends().await;
}
