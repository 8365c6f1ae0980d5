//! Reloads during another action: another reload, a session that does not end, a task that is being split, an agent
//! that was denied something, one whose account is closed.

use super::{Field, agent};
use crate::kill::{reap, signal};
use crate::on::{On, on_each_network};
use crate::stage::{self, PATIENCE};
use rustix::process::Signal;
use serde_json::Value;

on_each_network!(
    a_section_that_is_back_before_its_agent_is_gone_has_its_agent_again,
    of_several_readings_at_once_the_last_word_counts,
    what_is_under_way_with_agents_that_change_goes_on,
);

/// A program that ignores the signal to end, records it, and has to be killed.
const STUBBORN: &str = r#"["sh", "-c", "trap 'echo x >> asked' TERM INT; echo first $$ >> spark.runs; while :; do sleep 0.05; done"]"#;

async fn a_section_that_is_back_before_its_agent_is_gone_has_its_agent_again(on: On) {
    let field = Field::new(on).await;
    let dir = field.dir.path();
    let (spark, calm) = (agent(dir, "spark", STUBBORN, ""), agent(dir, "calm", "[\"true\"]", ""));
    field.write("alice", "", &[spark.clone(), calm.clone()]);
    let herder = field.start();
    let mut alice = field.person("alice").await;
    alice.say("#herder", "@spark work").await;
    field.runs("spark", 1).await;

    field.write("alice", "", std::slice::from_ref(&calm));
    signal(&herder, Signal::HUP);
    stage::appears(&dir.join("asked")).await;
    // Its session is being ended, and is not over for a second.
    field.write("alice", "", &[spark, calm]);
    let again = field.ask("reload", &[]).await;
    assert!(again.ok, "{again:?}");
    let told = alice.hears("#herder", "configuration was read again").await;
    assert!(told.contains("removed spark"), "{told}");
    assert!(again.lines.iter().any(|line| line.contains("added spark")), "{again:?}");
    let agents = field.ask("agent list", &[]).await.lines.join("\n");
    assert!(agents.contains("spark") && agents.contains("calm"), "{agents}");
    field.ask("task add", &["spark", "work"]).await;
    field.runs("spark", 2).await;
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}

async fn of_several_readings_at_once_the_last_word_counts(on: On) {
    const TIMES: usize = 6;
    let field = Field::new(on).await;
    let dir = field.dir.path();
    let name = |number: usize| format!("agent{number}");
    let of = |numbers: std::ops::Range<usize>, words: &str| -> Vec<String> {
        let section =
            |number| agent(dir, &name(number), "[\"true\"]", &format!("instructions = \"{words}\""));
        numbers.map(section).collect()
    };
    field.write("alice", "", &of(0..4, "first"));
    let herder = field.start();
    let mut alice = field.person("alice").await;
    for round in 0..TIMES {
        // One more comes, one goes, and all others are changed, while the last ones are still being brought in.
        field.write("alice", "", &of(round..round + 4, &format!("{round}")));
        alice.say("#herder", "!reload").await;
        signal(&herder, Signal::HUP);
    }
    let last = field.ask("reload", &[]).await;
    assert!(last.ok, "{last:?}");
    let agents = field.ask("agent list", &[]).await.lines.join("\n");
    for number in 0..TIMES + 3 {
        let is_there = (TIMES - 1..TIMES + 3).contains(&number);
        assert_eq!(agents.contains(&name(number)), is_there, "{agents}");
    }
    let shown = field.ask("agent show", &[&name(TIMES)]).await.lines.join("\n");
    assert!(shown.contains(&format!("{}", TIMES - 1)), "{shown}");
    let nothing = field.ask("reload", &[]).await.lines.join("\n");
    assert!(nothing.contains("nothing has changed"), "{nothing}");
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}

/// Waits until every task that is asked for stands as it is to; all are shown as `agent state text`.
async fn tasks(field: &Field, wanted: &[&str]) {
    let all = async || {
        let data = field.ask("task list", &[]).await.data.expect("data");
        let task = |task: &Value| {
            let text = |of: &Value| of.as_str().unwrap_or("board").to_owned();
            let words = text(&task["work"]["text"]);
            let words = words.lines().next().unwrap_or_default();
            format!("{} {} {words}", text(&task["agent"]), text(&task["state"]))
        };
        data.as_array().expect("a list").iter().map(task).collect::<Vec<_>>()
    };
    let there = async {
        loop {
            let tasks = all().await;
            if wanted.iter().all(|wanted| tasks.iter().any(|task| task == wanted)) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(PATIENCE, there).await.is_err() {
        panic!("{wanted:?} of {:?}", all().await);
    }
}

async fn what_is_under_way_with_agents_that_change_goes_on(on: On) {
    let field = Field::new(on).await;
    let dir = field.dir.path();
    let evaluator = format!(
        "[evaluator]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; echo x >> {dir}/split; \
         while [ ! -e {dir}/go ]; do sleep 0.05; done; echo '[\\\"left\\\", \\\"right\\\"]'\"]\n",
        dir = dir.display()
    );
    // This agent takes parts alone, and records its prompt.
    let small = |name: &str, words: &str| {
        let command = format!(
            r#"["sh", "-c", "work=$(cat); case $work in *'This is part'*) echo \"$work\" >> {name}.parts;; *) echo full >&2; exit 1;; esac"]"#
        );
        let more = format!(
            "instructions = \"{words}\"\npatterns = [{{ match = \"full\", category = \"context-overflow\" }}]"
        );
        agent(dir, name, &command, &more)
    };
    // May do too little until it is changed.
    let denied = |command: &str| {
        let pattern = "patterns = [{ match = \"denied\", category = \"sandbox-denial\" }]";
        agent(dir, "flint", &format!("[\"sh\", \"-c\", \"{command}\"]"), pattern)
    };
    // Its account is at its limit until it is of another one.
    let limited = |account: &str| {
        let more =
            format!("account = \"{account}\"\npatterns = [{{ match = \"used up\", category = \"quota\" }}]");
        agent(
            dir,
            "nova",
            "[\"sh\", \"-c\", \"[ -e more ] || { touch more; echo used up >&2; exit 1; }\"]",
            &more,
        )
    };
    let before = [
        small("spark", "before"),
        small("gone", "before"),
        denied("echo denied >&2; exit 1"),
        limited("one"),
    ];
    field.write("alice", &evaluator, &before);
    let herder = field.start();
    let mut alice = field.person("alice").await;
    for name in ["spark", "gone", "flint", "nova"] {
        let answer = field.ask("task add", &[name, &format!("{name}s")]).await;
        assert!(answer.ok, "{answer:?}");
    }
    alice.hears_in_any_order("#alerts", "Agent flint appears stuck").await;
    alice.hears_in_any_order("#alerts", "Account one: usage limit reached").await;
    let asked = async {
        while std::fs::read_to_string(dir.join("split")).unwrap_or_default().lines().count() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.expect("both are being split");

    field.write("alice", &evaluator, &[small("spark", "wear a hat"), denied("true"), limited("two")]);
    let read = field.ask("reload", &[]).await;
    assert!(read.ok && read.lines.iter().any(|line| line.contains("removed gone")), "{read:?}");
    // With another account it continues at once; a call for a person is still open.
    tasks(&field, &["nova done novas"]).await;
    let status = field.ask("status", &["flint"]).await.lines.join("\n");
    assert!(status.contains("⏸") || status.contains("paused"), "{status}");
    std::fs::write(dir.join("go"), "").expect("a file");
    tasks(&field, &["spark done left", "spark done right", "board done sparks"]).await;
    let parts = std::fs::read_to_string(dir.join("spark.parts")).expect("they were done");
    assert!(parts.contains("wear a hat") && !parts.contains("wear gloves"), "{parts}");
    assert!(!dir.join("gone.parts").exists(), "nobody splits for an agent that is gone");
    let resumed = field.ask("resume", &["flint"]).await;
    assert!(resumed.ok, "{resumed:?}");
    tasks(&field, &["flint done flints"]).await;
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}
