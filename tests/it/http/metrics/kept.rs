//! Counters of what is recorded go on over `kill -9`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use herder::local::{self, Request};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::kill::{Running, asked_until, reap, signal};
use crate::stage::PATIENCE;

/// The samples of a herder whose listener is a socket; none while it does not answer.
async fn samples(socket: &Path) -> BTreeMap<String, f64> {
    let asked = async {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<String, std::io::Error>(answer)
    };
    let answer = asked.await.unwrap_or_default();
    let lines = answer.lines().filter(|line| line.starts_with("herder_"));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

/// The samples once they are as wanted: nothing tells when they are.
async fn until(socket: &Path, wanted: impl Fn(&BTreeMap<String, f64>) -> bool) -> BTreeMap<String, f64> {
    let looking = async {
        loop {
            let found = samples(socket).await;
            if wanted(&found) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("herder counts")
}

const CRASHES: &str = "herder_sessions_total{agent=\"spark\",outcome=\"crash\"}";
const RESTARTS: &str = "herder_restarts_total{agent=\"spark\",cause=\"crash\"}";
const PROCESSES: &str = "herder_process_trees";
const PAUSED: &str = "herder_agents{phase=\"paused\"}";
const PAUSES: &str = "herder_commands_total{command=\"pause\",network=\"local\",result=\"done\"}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_of_what_is_recorded_go_on_over_a_kill() {
    let dir = tempfile::tempdir().expect("a folder");
    let (http, local) = (dir.path().join("http.sock"), dir.path().join("data/herder.sock"));
    let config = dir.path().join("bot.toml");
    // A slow machine lets it crash more often before the pause, and the breaker would pause it otherwise.
    let text = format!(
        "data_dir = \"data\"\n[http]\nlisten = \"unix:{}\"\n[supervisor]\nprocess_backoff = {{ base = \"50ms\", cap = \
         \"50ms\" }}\nbreaker = {{ failures = 100, window = \"60s\" }}\ndegraded = {{ restarts = 100, window = \"30m\" }}\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\ncommand = [\"sh\", \"-c\", \"kill -9 $$\"]\n\
         workspace = \"{}\"\nloop = true\ninstructions = \"go\"\n",
        http.display(),
        dir.path().display()
    );
    std::fs::write(&config, text).expect("a file");
    let mut herder = Running::start(dir.path(), &config, &[]);
    until(&http, |found| found.get(CRASHES).is_some_and(|count| *count >= 3.0)).await;
    asked_until(&local, ("pause", &["spark"]), |answer| answer.ok).await;
    // A pause lets the session at work end; it is counted once its end is recorded.
    until(&http, |found| {
        [(PAUSES, 1.0), (PROCESSES, 0.0), (PAUSED, 1.0)]
            .iter()
            .all(|(name, count)| found.get(*name) == Some(count))
    })
    .await;
    let mut before = samples(&http).await;
    for kills in 1..=3 {
        signal(&herder, Signal::KILL);
        reap(herder).await;
        herder = Running::start(dir.path(), &config, &[]);
        let after = until(&http, |found| !found.is_empty()).await;
        for name in [CRASHES, RESTARTS, PAUSES] {
            assert!(before[name] > 0.0, "{name}: {before:#?}");
            assert_eq!(after.get(name), before.get(name), "{name} after {kills} kills");
        }
        let request = Request { command: "status".to_owned(), args: vec!["spark".to_owned()] };
        local::ask(&local, &request).await.expect("an answer");
        before = until(&http, |found| {
            let looks = "herder_commands_total{command=\"status\",network=\"local\",result=\"done\"}";
            found.get(looks) == Some(&f64::from(kills))
        })
        .await;
    }
}
