//! A process that stays between two messages: it goes when its time is over, when its agent is changed and when herder ends;
//! what a killed herder has left of it is ended by the next one before anything begins.

use std::path::Path;

use super::{Running, asked_until, outside_server, reap, signal};
use crate::stage::{PATIENCE, appears};

/// Speaks as much of the protocol as it takes, and notes its number, its key and each prompt. Asked to, it calls a tool of
/// herder's.
const AGENT: &str = r#"
import json, os, subprocess, sys
def say(**line): print(json.dumps(dict(jsonrpc="2.0", **line)), flush=True)
def channels(server):
    env = os.environ | {pair["name"]: pair["value"] for pair in server["env"]}
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    tools = subprocess.Popen([server["command"], *server["args"]], **pipes)
    about = dict(protocolVersion="2025-06-18", capabilities={}, clientInfo=dict(name="test", version="1"))
    for line in (dict(id=1, method="initialize", params=about), dict(method="notifications/initialized"),
                 dict(id=2, method="tools/call", params=dict(name="irc_channels", arguments={}))):
        print(json.dumps(dict(jsonrpc="2.0", **line)), file=tools.stdin, flush=True)
    for line in tools.stdout:
        answer = json.loads(line)
        if answer.get("id") == 2:
            tools.stdin.close()
            return "refused" if answer.get("result", dict(isError=True)).get("isError") else "served"
for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked.get("method"), asked.get("id")
    if method == "initialize":
        say(id=number, result=dict(protocolVersion=1, agentCapabilities=dict(loadSession=True)))
    elif method in ("session/new", "session/load"):
        servers = asked["params"]["mcpServers"]
        say(id=number, result=dict(sessionId="c-1"))
    elif method == "session/prompt":
        text = asked["params"]["prompt"][0]["text"].splitlines()[-1]
        told = channels(servers[0]) if text.startswith("tool") else "-"
        with open("prompts", "a") as notes: notes.write(f"{os.getpid()} {os.environ.get('KEY')} {told} {text}\n")
        words = dict(sessionUpdate="agent_message_chunk", content=dict(type="text", text="done"))
        say(method="session/update", params=dict(sessionId="c-1", update=words))
        say(id=number, result=dict(stopReason="end_turn"))
"#;

fn configuration(dir: &Path, port: u16, keep: &str) -> String {
    let agent = |name: &str, more: &str| {
        format!(
            "[[agent]]\nname = \"{name}\"\nruntime = \"acp\"\nworkspace = {dir:?}\ncommand = [\"python3\", \"agent.py\"]\n\
             env = {{ KEY = {{ file = \"key\" }} }}\n{more}"
        )
    };
    format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\noperators = [\"irc-mask:test:boss!*@localhost\"]\n[supervisor]\nstop_grace = \"1s\"\nmax_active = 1\n{}{}",
        agent("spark", &format!("keep_warm = \"{keep}\"\n")),
        agent("flint", ""),
    )
}

/// The numbers of the processes that had the prompts, in their order.
fn pids(dir: &Path) -> Vec<i32> {
    let lines = super::lines(&dir.join("prompts")).into_iter();
    lines.filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
}

fn lives(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn is_gone(pid: i32) {
    let gone = async {
        while lives(pid) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("the process is gone");
}

struct Field {
    dir: tempfile::TempDir,
    config: std::path::PathBuf,
    socket: std::path::PathBuf,
    port: u16,
    _server: herder::chat::embedded_ircd::Server,
}

impl Field {
    async fn new(keep: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = outside_server().await;
        let port = server.address().port();
        let config = dir.path().join("bot.toml");
        std::fs::write(dir.path().join("agent.py"), AGENT).unwrap();
        has_key(dir.path(), "first");
        let socket = dir.path().join("data").join(herder::local::FILE_NAME);
        let field = Self { dir, config, socket, port, _server: server };
        field.configure(keep);
        field
    }

    fn configure(&self, keep: &str) {
        std::fs::write(&self.config, configuration(self.dir.path(), self.port, keep)).unwrap();
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config, &[])
    }

    /// Gives spark a task and waits until it is done; the process that had it.
    async fn asks(&self, text: &str) -> i32 {
        self.asks_of("spark", text).await
    }

    async fn asks_of(&self, agent: &str, text: &str) -> i32 {
        let before = pids(self.dir.path()).len();
        asked_until(&self.socket, ("task add", &[agent, text]), |answer| answer.ok).await;
        asked_until(&self.socket, ("status", &[agent]), |answer| {
            let phase = answer.data.as_ref().and_then(|data| super::find(data, "phase"));
            pids(self.dir.path()).len() > before && phase.is_some_and(|phase| phase == "idle")
        })
        .await;
        let pids = pids(self.dir.path());
        assert_eq!(pids.len(), before + 1, "{text}: the prompt came once");
        *pids.last().expect("it has noted its number")
    }

    /// Returns what the agent has noted of its last prompt, without the number of its process.
    fn noted(&self) -> String {
        let notes = super::lines(&self.dir.path().join("prompts"));
        notes.last().and_then(|note| note.split_once(' ')).expect("it has worked").1.to_owned()
    }
}

fn has_key(dir: &Path, key: &str) {
    let file = dir.join("key");
    std::fs::write(&file, key).expect("writable");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("ours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_process_is_ended_by_the_herder_after_a_kill() {
    let field = Field::new("10m").await;
    let mut herder = field.start();
    let first = field.asks("one").await;
    assert_eq!(field.asks("two").await, first, "the process has stayed");
    for round in 0..3 {
        let last = *pids(field.dir.path()).last().expect("it has worked");
        assert!(lives(last), "it stays");
        signal(&herder, rustix::process::Signal::KILL);
        reap(herder).await;
        herder = field.start();
        let next = field.asks(&format!("after kill {round}")).await;
        assert_ne!(next, last);
        assert!(!lives(last), "nothing of the herder before is left");
    }
    let last = *pids(field.dir.path()).last().expect("it has worked");
    signal(&herder, rustix::process::Signal::TERM);
    assert!(reap(herder).await.success());
    assert!(!lives(last), "it goes with herder");
    appears(&field.dir.path().join("prompts")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_process_goes_with_its_time_with_a_change_and_with_stop_all() {
    let field = Field::new("2s").await;
    let herder = field.start();
    let first = field.asks("one").await;
    is_gone(first).await;
    let second = field.asks("two").await;
    assert_ne!(first, second);
    // From here on it would stay.
    field.configure("10m");
    asked_until(&field.socket, ("reload", &[]), |answer| answer.ok).await;
    let third = field.asks("three").await;
    assert!(lives(third));
    field.configure("11m");
    asked_until(&field.socket, ("reload", &[]), |answer| answer.ok).await;
    is_gone(third).await;
    let fourth = field.asks("four").await;
    asked_until(&field.socket, ("stop-all", &[]), |answer| answer.ok && answer.lines.join(" ").contains('0'))
        .await;
    assert!(!lives(fourth), "stop-all leaves none");
    signal(&herder, rustix::process::Signal::TERM);
    assert!(reap(herder).await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_process_has_its_tools_takes_no_place_and_keeps_no_key_that_was_replaced() {
    let field = Field::new("10m").await;
    let herder = field.start();
    let first = field.asks("tool, please").await;
    assert_eq!(field.noted(), "first served tool, please");
    assert_eq!(field.asks("tool again").await, first, "the process has stayed");
    assert_eq!(field.noted(), "first served tool again");
    // One agent works at a time.
    let other = field.asks_of("flint", "in between").await;
    assert!(lives(first) && !lives(other), "only one stays");
    has_key(field.dir.path(), "second");
    let second = field.asks("with another key").await;
    assert_ne!(first, second);
    assert_eq!(field.noted(), "second - with another key");
    assert!(!lives(first), "it had the old key");
    assert_eq!(field.asks("and once more").await, second);
    asked_until(&field.socket, ("pause", &["spark"]), |answer| answer.ok).await;
    assert!(!lives(second), "a paused agent has no process");
    signal(&herder, rustix::process::Signal::TERM);
    assert!(reap(herder).await.success());
}
