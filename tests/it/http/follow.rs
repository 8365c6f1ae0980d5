//! `herder events --follow` in a shell: the stream of events over the local socket, also over a herder that is killed.

use std::path::Path;
use std::process::Stdio;

use herder::local::{self, Request};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::kill::{Running, asked_until, outside_server};
use crate::stage::PATIENCE;

/// A shell that follows.
struct Shell {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Shell {
    fn open(config: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_herder"))
            .args(words)
            .arg("--config")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("a shell");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { _child: child, lines }
    }

    async fn shows(&mut self, wanted: &str) -> String {
        let hearing = async {
            loop {
                let line = self.lines.next_line().await.expect("read").expect("it goes on");
                if line.contains(wanted) {
                    return line;
                }
            }
        };
        tokio::time::timeout(PATIENCE, hearing).await.unwrap_or_else(|_| panic!("no {wanted}"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_follows_one_agent_or_all_over_a_kill() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = outside_server().await;
    let config = dir.path().join("bot.toml");
    let agent = |name: &str| {
        format!(
            "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = {:?}\ncommand = [\"sh\", \"-c\", \"cat; echo done\"]\n",
            dir.path()
        )
    };
    let text = format!(
        "data_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n{}{}",
        server.address().port(),
        agent("spark"),
        agent("nova")
    );
    std::fs::write(&config, text).expect("written");
    let socket = dir.path().join("data").join(local::FILE_NAME);
    let running = Running::start(dir.path(), &config, &[]);
    let command = async |name: &str, args: &[&str]| {
        asked_until(&socket, (name, args), |answer| answer.ok).await;
    };
    command("pause", &["spark"]).await;
    let mut of_spark = Shell::open(&config, &["events", "spark", "--follow"]);
    // Earlier events come first.
    of_spark.shows("paused").await;
    let mut all = Shell::open(&config, &["events", "--follow", "--json"]);
    let mut log = Shell::open(&config, &["log", "spark", "-f"]);
    all.shows("started").await;
    log.shows("spark").await;
    command("resume", &["spark"]).await;
    of_spark.shows("resumed").await;
    command("pause", &["nova"]).await;
    let paused = all.shows("\"type\":\"paused\"").await;
    let event: serde_json::Value = serde_json::from_str(&paused).expect("JSON");
    assert_eq!(event["stream"], "agent:nova");
    drop(running);
    let running = Running::start(dir.path(), &config, &[]);
    command("task add", &["spark", "sweep the floor"]).await;
    of_spark.shows("sweep the floor").await;
    all.shows("sweep the floor").await;
    log.shows("done").await;
    // A mistake is an answer, not a wait.
    let request = Request { command: "pause".to_owned(), args: vec!["spark".to_owned()] };
    let (answer, _) =
        local::follow::Stream::open(&socket, &request, Default::default()).await.expect("an answer");
    assert!(!answer.ok && answer.lines[0].contains("--follow"), "{answer:?}");
    drop(running);
}
