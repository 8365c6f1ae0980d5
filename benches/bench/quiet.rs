//! The cost of a herder that has nothing to do, and of one whose agents crash in a loop.

use std::path::Path;
use std::time::{Duration, Instant};

use herder::local::{self, Request};

use super::bench::{self, Herder, Toml, median, say};

/// The time that a herder which has just started needs to settle.
const SETTLES: Duration = Duration::from_secs(5);

/// The duration of one count of wake-ups.
const COUNTED: Duration = Duration::from_secs(10);

/// The duration for which a child that crashes at once is watched; the same as for other supervisors.
const WATCHED: Duration = Duration::from_secs(30);

/// Herders whose crash loops are watched at once; each has one agent, for which herder uses no jitter.
const LOOPS: usize = 5;

/// Measures memory and wake-ups of a herder whose agents have nothing to do.
pub(crate) fn idle(agents: usize) {
    let dir = tempfile::tempdir().expect("a folder");
    let herder = fleet(dir.path(), agents);
    rest(&herder, &format!("{agents} idle agents"));
    herder.stop();
}

/// Measures the same after every agent was paused.
pub(crate) fn paused(agents: usize) {
    let dir = tempfile::tempdir().expect("a folder");
    let herder = fleet(dir.path(), agents);
    let socket = dir.path().join("data").join(local::FILE_NAME);
    let runtime = tokio::runtime::Runtime::new().expect("tokio");
    runtime.block_on(async {
        for n in 0..agents {
            let request = Request { command: "pause".to_owned(), args: vec![format!("agent-{n}")] };
            local::ask(&socket, &request).await.expect("herder answers");
        }
    });
    rest(&herder, &format!("{agents} paused agents"));
    herder.stop();
}

/// Returns a herder with agents that have no work, that can be talked to.
fn fleet(dir: &Path, agents: usize) -> Herder {
    let mut toml = Toml::new(&dir.join("data"));
    for n in 0..agents {
        toml = toml.agent(&format!("agent-{n}"), &["cat"], dir, false);
    }
    let herder = Herder::start(&toml.write(dir));
    let socket = dir.join("data").join(local::FILE_NAME);
    assert!(bench::poll_until(Duration::from_secs(60), || socket.exists()), "herder did not start");
    herder
}

/// Prints memory, CPU time and wake-ups of a herder that is asked nothing.
fn rest(herder: &Herder, what: &str) {
    std::thread::sleep(SETTLES);
    let (before, cpu) = (bench::wakeups(herder.pid()), bench::cpu_seconds(herder.pid()));
    std::thread::sleep(COUNTED);
    let (after, cpu_after) = (bench::wakeups(herder.pid()), bench::cpu_seconds(herder.pid()));
    let percent = (cpu_after - cpu) / COUNTED.as_secs_f64() * 100.0;
    say(&format!("{what}: {:.1} MiB resident", bench::rss_kib(herder.pid()) / 1024.0));
    say(&format!("{what}: {percent:.2} % CPU over 10 s"));
    for (thread, count) in after {
        let woken = count - before.get(&thread).copied().unwrap_or(0.0);
        if woken > 0.0 {
            say(&format!("{what}: {woken} wake-ups in 10 s by threads named {thread}"));
        }
    }
}

/// Counts the starts within half a minute of a child that crashes at once, under the default policy, and prints their
/// times.
pub(crate) fn crash_loop() {
    let dir = tempfile::tempdir().expect("a folder");
    let began = Instant::now();
    let herders: Vec<Herder> = (0..LOOPS)
        .map(|n| {
            let home = dir.path().join(n.to_string());
            std::fs::create_dir(&home).expect("a folder");
            let starts = home.join("starts");
            let script = format!("date +%s.%N >> {:?}; exit 1", starts.display().to_string());
            let toml = Toml::new(&home.join("data")).agent("looper", &["sh", "-c", &script], &home, true);
            Herder::start(&toml.write(&home))
        })
        .collect();
    std::thread::sleep(WATCHED.saturating_sub(began.elapsed()));
    let runs: Vec<Vec<f64>> =
        (0..LOOPS).map(|n| started(&dir.path().join(n.to_string()).join("starts"))).collect();
    for herder in herders {
        herder.stop();
    }
    let counts: Vec<f64> = runs.iter().map(|times| times.len() as f64).collect();
    let when: Vec<String> = runs[0].iter().map(|time| format!("{:.1}", time - runs[0][0])).collect();
    say(&format!(
        "a child that crashes at once: {} runs in 30 s (median of {LOOPS}); the first herder's after {} s",
        median(&counts),
        when.join(", ")
    ));
}

/// Returns the start times of a child, in seconds since 1970.
fn started(file: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(file).expect("the child ran");
    text.lines().map(|line| line.parse().expect("a time")).collect()
}
