//! Shared parts of the benchmarks: medians, alternating pairs, and a herder process with its own configuration.
#![allow(dead_code, reason = "every benchmark uses another part")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;

/// Returns the median; the mean of the middle two for an even count.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// Returns the `q`-quantile, 0 to 1, of at least one value.
pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    assert!(!values.is_empty(), "nothing was measured");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "an index in range")]
    let index = ((last as f64) * q).round() as usize;
    sorted[index.min(last)]
}

/// Prints a row of a result table: what, herder, reference, ratio, mark.
pub(crate) fn row(what: &str, herder: &str, reference: &str, ratio: f64, mark: &str) {
    say(&format!("| {what} | {herder} | {reference} | {ratio:.2} | {mark} |"));
}

/// Prints the head of a result table.
pub(crate) fn head() {
    say("| what | herder | reference | ratio | mark |");
    say("|---|---|---|---|---|");
}

/// Prints one line on standard output.
pub(crate) fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("standard output takes a line");
}

/// A configuration for a herder without networks.
#[derive(Default)]
pub(crate) struct Toml(String);

impl Toml {
    pub(crate) fn new(data: &Path) -> Self {
        let mut text = String::new();
        writeln!(text, "name = \"herder\"\ndata_dir = {:?}", data.display().to_string()).expect("a string");
        Self(text)
    }

    pub(crate) fn raw(mut self, text: &str) -> Self {
        self.0.push_str(text);
        self.0.push('\n');
        self
    }

    /// Returns an agent of runtime `command`.
    pub(crate) fn agent(mut self, name: &str, command: &[&str], workspace: &Path, looping: bool) -> Self {
        let command = command.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>().join(", ");
        writeln!(
            self.0,
            "[[agent]]\nname = {name:?}\nruntime = \"command\"\ncommand = [{command}]\nworkspace = {:?}\naccount = \"bench\"\nloop = {looping}\nmax_task_duration = \"24h\"\ninstructions = \"go\"",
            workspace.display().to_string()
        )
        .expect("a string");
        self
    }

    pub(crate) fn write(self, dir: &Path) -> PathBuf {
        let path = dir.join("bot.toml");
        std::fs::write(&path, self.0).expect("the configuration is written");
        path
    }
}

/// A herder process; killed when dropped. `HERDER_BINARY` names another program than the one that was built with the
/// benchmark, such as that of `scripts/release`.
pub(crate) struct Herder(pub(crate) Child);

impl Herder {
    pub(crate) fn start(config: &Path) -> Self {
        let log = config.with_extension("log");
        let log = std::fs::File::create(log).expect("a log file");
        let built = env!("CARGO_BIN_EXE_herder").into();
        let child = Command::new(std::env::var_os("HERDER_BINARY").unwrap_or(built))
            .args(["run", "--config"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a handle"))
            .stderr(log)
            .spawn()
            .expect("herder starts");
        Self(child)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Asks it to end and waits.
    pub(crate) fn stop(mut self) {
        signal(self.pid(), "TERM");
        drop(self.0.wait());
    }
}

impl Drop for Herder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Gives each agent of that configuration one task, and waits until `metrics` counts a finished session for each and
/// says that all are idle again.
pub(crate) async fn let_all_work(
    socket: &Path,
    agents: &[String],
    metrics: impl AsyncFn() -> Option<String>,
) {
    let give = |agent: &String| {
        let args = vec![agent.clone(), "once".to_owned()];
        let request = herder::local::Request { command: "task add".to_owned(), args };
        let socket = socket.to_owned();
        async move {
            let answer = herder::local::ask(&socket, &request).await.expect("herder answers");
            assert!(answer.ok, "{answer:?}");
        }
    };
    futures_util::stream::iter(agents.iter().map(give)).buffer_unordered(8).collect::<()>().await;
    let idle = format!("herder_agents{{phase=\"idle\"}} {}", agents.len());
    loop {
        let numbers = metrics().await.unwrap_or_default();
        let worked = numbers.lines().filter(|line| line.starts_with("herder_sessions_total{")).count();
        if worked >= agents.len() && numbers.lines().any(|line| line.starts_with(&idle)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Sends a signal by name.
pub(crate) fn signal(pid: u32, name: &str) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    let signal = match name {
        "KILL" => rustix::process::Signal::KILL,
        "TERM" => rustix::process::Signal::TERM,
        other => panic!("no such signal here: {other}"),
    };
    rustix::process::kill_process(pid, signal).ok();
}

/// Returns the resident memory, in KiB.
pub(crate) fn rss_kib(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// Returns the memory of a process with its share of what others have as well, in KiB.
pub(crate) fn pss_kib(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Returns the voluntary context switches of all threads, by thread name: each one is a wake-up after a wait.
pub(crate) fn wakeups(pid: u32) -> std::collections::BTreeMap<String, f64> {
    let mut sums = std::collections::BTreeMap::new();
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return sums };
    for thread in threads.flatten() {
        let path = thread.path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
        let count = field(&path.join("status").display().to_string(), "voluntary_ctxt_switches:");
        *sums.entry(name).or_insert(0.0) += count;
    }
    sums
}

/// Returns the CPU time used so far, user and system, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks: f64 = [11, 12].iter().filter_map(|n| fields.get(*n)?.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn field(path: &str, key: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Polls until `done`, for measuring from outside where no event can be had.
pub(crate) fn poll_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}
