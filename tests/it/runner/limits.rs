//! Limits of sessions on a runner, on real cgroups: `scripts/test-limits` runs this in a virtual machine.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::bot::{Home, herder};
use crate::kill::{Running, find};
use crate::runtime::limits::{EATEN, EATS_WHEN_TOLD};

/// Begins the program behind it in a cgroup of its own, as a service manager does.
const IN_ITS_OWN: &str = r#"echo $$ >"$0/cgroup.procs"; exec "$@""#;

/// Returns a cgroup for the bot alone, below that of this test.
fn group() -> PathBuf {
    let own = fs::read_to_string("/proc/self/cgroup").expect("the kernel tells");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).expect("there is a unified hierarchy");
    let own = PathBuf::from("/sys/fs/cgroup").join(own);
    // A group with processes of its own cannot have limited groups.
    let (tests, bot) = (own.join("tests"), own.join("bot"));
    for group in [&tests, &bot] {
        fs::create_dir(group).expect("a group");
    }
    fs::write(tests.join("cgroup.procs"), std::process::id().to_string()).expect("moved");
    fs::write(own.join("cgroup.subtree_control"), "+cpu +memory +pids").expect("switched on");
    bot
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn an_agent_that_eats_memory_on_a_runner_is_ended_and_named() {
    let script = format!("case $(cat) in *eat*) {EATS_WHEN_TOLD} ;; *) echo well ;; esac");
    let home = Home::with(&script, "process").await;
    // The machine has no other shell.
    let text = fs::read_to_string(home.config()).expect("it is there").replace("\"bash\"", "\"sh\"");
    fs::write(home.config(), format!("{text}memory = \"64MB\"\n")).expect("written");
    let mut boss = home.boss().await;
    let bot = group();
    let mut command = Command::new("sh");
    command.args(["-c", IN_ITS_OWN]).arg(&bot).arg(env!("CARGO_BIN_EXE_herder"));
    let running = Running::by(command, home.dir.path(), &home.config(), &[]);
    boss.reaches("herder", "#spark").await;
    boss.say("#spark", "eat").await;
    // herder knows the program that took the most from its last look before the kernel ended it.
    let was_looked_at = || {
        let status = herder(home.dir.path(), &["status", "spark", "--json"]).stdout;
        let status: serde_json::Value = serde_json::from_slice(&status).unwrap_or_default();
        find(&status, "memory").and_then(|memory| memory["now"].as_u64()).is_some_and(|now| now >= EATEN)
    };
    let looked_at = async {
        while !was_looked_at() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(super::PATIENCE, looked_at).await.expect("it is looked at");
    fs::write(home.dir.path().join("eat"), "").expect("a file");
    let said = boss.hears_in_any_order("#spark", "was ended for want of memory").await;
    assert!(said.contains("of 64 MB") && said.contains("awk"), "{said}");
    boss.say("#herder", "!abort spark").await;
    boss.reaches("herder", "#spark").await;
    boss.say("#spark", "look").await;
    boss.hears_in_any_order("#spark", "well").await;
    let runner = home.runner().await;
    let main = fs::read_to_string(bot.join("herder-main/cgroup.procs")).expect("the kernel tells");
    for pid in [running.pid(), runner.pid] {
        assert!(main.lines().any(|line| line == pid.to_string()), "{pid} is in {main}");
    }
    home.end(running).await;
}
