//! herder is killed with -9 between the start of a process and the hand-over of its work: whoever then reads the end of its
//! input, or has its work as an argument, must not work with it before that is on record.
//!
//! `HERDER_HANDOVERS` sets how often (25), `HERDER_SEED` repeats a run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Moments, Running, asked_until, number, outside_server, reap, signal};
use crate::stage::PATIENCE;

/// Agents of each kind: all of them begin whenever herder does.
const AGENTS: usize = 8;

/// Notes its number and what it was given, and works until it is ended.
const STDIN: &str = "given=$(cat); echo \"$$ $given\" >> runs; exec sleep 600";
const ARGUMENT: &str = "echo \"$$ $0\" >> runs; exec sleep 600";

fn configuration(workspace: &Path, port: u16) -> String {
    let mut text = format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\noperators = [\"irc-mask:test:boss!*@localhost\"]\n\
         [supervisor]\nmax_active = 0\nstop_grace = \"1s\"\n"
    );
    for n in 0..AGENTS {
        for (kind, command, prompt) in
            [("in", format!("{STDIN:?}"), "stdin"), ("arg", format!("{ARGUMENT:?}, \"{{prompt}}\""), "arg")]
        {
            text += &format!(
                "[[agent]]\nname = \"{kind}-{n}\"\nruntime = \"command\"\nworkspace = {workspace:?}\naccount = \"test\"\n\
                 command = [\"sh\", \"-c\", {command}]\nprompt = \"{prompt}\"\n"
            );
        }
    }
    text
}

/// Processes below a herder.
fn children(pid: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
        .map(|children| children.split_whitespace().count())
        .sum()
}

/// Waits until herder has as many children.
async fn has_children(herder: &Running, least: usize) {
    let seen = async {
        while children(herder.pid()) < least {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("herder starts its agents");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_works_before_the_hand_over_is_on_record() {
    let kills = number("HERDER_HANDOVERS", 25);
    let seed = number("HERDER_SEED", u64::from(std::process::id()));
    let mut moments = Moments::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let workspace = dir.path().join("work");
    std::fs::create_dir(&workspace).unwrap();
    let server = outside_server().await;
    let config = dir.path().join("bot.toml");
    std::fs::write(&config, configuration(&workspace, server.address().port())).unwrap();
    let socket = dir.path().join("data").join(herder::local::FILE_NAME);
    let mut herder = Running::start(dir.path(), &config, &[]);
    for n in 0..AGENTS {
        for kind in ["in", "arg"] {
            let agent = format!("{kind}-{n}");
            asked_until(&socket, ("task add", &[agent.as_str(), "the great work"]), |answer| answer.ok).await;
        }
    }
    for _ in 0..kills {
        let least = usize::try_from(moments.millis(2 * AGENTS as u64).as_millis()).unwrap() + 1;
        has_children(&herder, least).await;
        tokio::time::sleep(moments.millis(4)).await;
        signal(&herder, rustix::process::Signal::KILL);
        reap(herder).await;
        herder = Running::start(dir.path(), &config, &[]);
    }
    // By now everybody who was left behind is gone.
    has_children(&herder, 2 * AGENTS).await;
    asked_until(&socket, ("status", &["in-0"]), |answer| answer.ok).await;
    signal(&herder, rustix::process::Signal::TERM);
    assert!(reap(herder).await.success(), "seed {seed}");

    let file = dir.path().join("all.jsonl");
    let export = Command::new(env!("CARGO_BIN_EXE_herder"))
        .args(["export", "--data-dir"])
        .arg(dir.path().join("data"))
        .arg("-o")
        .arg(&file)
        .output()
        .unwrap();
    assert!(export.status.success(), "{}", String::from_utf8_lossy(&export.stderr));
    let recorded = recorded(&file);
    let runs = super::lines(&workspace.join("runs"));
    assert!(!runs.is_empty(), "seed {seed}: somebody worked");
    // A prompt of several lines has the pid in its first line.
    let begun = runs.iter().filter_map(|line| {
        let (pid, given) = line.split_once(' ')?;
        Some((pid.parse::<u64>().ok()?, given))
    });
    let wrong: Vec<(u64, &str)> =
        begun.filter(|(pid, given)| given.is_empty() || !recorded.contains(pid)).collect();
    assert_eq!(wrong, [], "seed {seed}: worked with nothing, or before it was on record");
}

/// The processes whose start the journal has.
fn recorded(export: &Path) -> BTreeSet<u64> {
    fn look(value: &serde_json::Value, found: &mut BTreeSet<u64>) {
        match value {
            serde_json::Value::Object(map) => {
                if let (Some(pid), true) = (map.get("pid"), map.contains_key("started")) {
                    found.extend(pid.as_u64());
                }
                map.values().for_each(|value| look(value, found));
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| look(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for line in super::lines(export) {
        look(&serde_json::from_str(&line).expect("a line is JSON"), &mut found);
    }
    found
}
