//! A scrape of `/metrics` with so many agents, each of which has done one task: how long it takes and how large it is. The
//! mark is 20 ms.
//!
//! ```text
//! cargo bench --bench numbers [-- AGENTS]
//! ```
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

mod bench;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bench::{Herder, Toml, poll_until, quantile, row, say};

/// Scrapes that are measured.
const SCRAPES: usize = 200;

/// The answer, from the request to its last byte.
fn scrape(socket: &Path) -> Option<(Duration, String)> {
    let begun = Instant::now();
    let mut stream = UnixStream::connect(socket).ok()?;
    let accept = "application/openmetrics-text;version=1.0.0";
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some((begun.elapsed(), answer))
}

fn main() {
    let agents =
        std::env::args().skip(1).find_map(|argument| argument.parse::<usize>().ok()).unwrap_or(1_000);
    let dir = tempfile::tempdir().expect("a folder");
    let socket = dir.path().join("http.sock");
    let mut toml = Toml::new(&dir.path().join("data"))
        .raw(&format!("[http]\nlisten = \"unix:{}\"", socket.display()))
        .raw("[limits]\nusd_per_day = 1000.0");
    let names: Vec<String> = (0..agents).map(|n| format!("agent-{n}")).collect();
    for name in &names {
        toml = toml.agent(name, &["true"], dir.path(), false);
    }
    let herder = Herder::start(&toml.write(dir.path()));
    let all = format!("herder_agents{{phase=\"idle\"}} {agents}");
    let is_there = || scrape(&socket).is_some_and(|(_, answer)| answer.contains(&all));
    assert!(poll_until(Duration::from_secs(120), is_there), "herder did not start");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let local = dir.path().join("data").join(herder::local::FILE_NAME);
    let numbers = async || scrape(&socket).map(|(_, answer)| answer);
    runtime.block_on(bench::let_all_work(&local, &names, numbers));
    let (mut took, mut bytes) = (Vec::new(), 0);
    for _ in 0..SCRAPES {
        let (each, answer) = scrape(&socket).expect("an answer");
        took.push(each.as_secs_f64() * 1e3);
        bytes = answer.len();
    }
    herder.stop();
    say(&format!("{agents} agents, {} KB a scrape", bytes / 1000));
    bench::head();
    for (what, q) in [("scrape, median", 0.5), ("scrape, p99", 0.99)] {
        let value = quantile(&took, q);
        row(what, &format!("{value:.1} ms"), "20 ms", value / 20.0, "≤ 1");
    }
}
