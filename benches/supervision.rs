//! Children: how fast a dead one is followed by its successor, how fast many are, and what they cost while nothing
//! happens; beside a minimal tokio supervisor that records nothing, and the same one with an `fdatasync` before each spawn.
//!
//! ```text
//! cargo bench --bench supervision [-- AGENTS]
//! cargo bench --bench supervision -- flat [COMMANDS RESTARTS]    memory after much work
//! cargo bench --bench supervision -- spawn                       a spawn with a large heap
//! cargo bench --bench supervision -- paused [AGENTS]             wake-ups of a fleet that is paused
//! cargo bench --bench supervision -- loop                        how often a child that crashes at once is started
//! cargo bench --bench supervision -- running [AGENTS …]          memory of herder for each agent at work
//! ```
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

#[path = "bench/arena.rs"]
mod arena;
mod bench;
#[path = "bench/endurance.rs"]
mod endurance;
#[path = "bench/quiet.rs"]
mod quiet;
#[path = "bench/running.rs"]
mod running;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use arena::{Arena, POLICY};
use bench::{Herder, Toml, head, median, quantile, row, signal};

/// Alternating pairs per figure.
const PAIRS: usize = 5;

/// Kills per pair for the latency of one restart.
const KILLS: usize = 200;

/// Either kind of supervisor, running.
enum Supervisor {
    Herder { _dir: tempfile::TempDir, herder: Herder },
    Reference(Child),
}

impl Supervisor {
    fn herder(arena: &Arena, agents: usize) -> Self {
        let dir = tempfile::tempdir_in(arena.dir.path()).expect("a folder");
        let mut toml = Toml::new(&dir.path().join("data")).raw(POLICY);
        for n in 0..agents {
            let name = format!("agent-{n}");
            toml = toml.agent(&name, &arena.command(&name), arena.dir.path(), true);
        }
        let config = toml.write(dir.path());
        Self::Herder { herder: Herder::start(&config), _dir: dir }
    }

    fn reference(arena: &Arena, agents: usize) -> Self {
        Self::tokio(arena, agents, "reference")
    }

    fn synced(arena: &Arena, agents: usize) -> Self {
        Self::tokio(arena, agents, "synced")
    }

    fn tokio(arena: &Arena, agents: usize, mode: &str) -> Self {
        let myself = std::env::current_exe().expect("a path");
        let child = Command::new(myself)
            .args([mode, &agents.to_string()])
            .args([&arena.child, &arena.socket_path])
            .stdin(Stdio::null())
            .spawn()
            .expect("the reference starts");
        Self::Reference(child)
    }

    fn pid(&self) -> u32 {
        match self {
            Self::Herder { herder, .. } => herder.pid(),
            Self::Reference(child) => child.id(),
        }
    }

    fn stop(self, children: &HashMap<String, u32>) {
        match self {
            Self::Herder { herder, .. } => herder.stop(),
            Self::Reference(mut child) => {
                drop(child.kill());
                drop(child.wait());
                for pid in children.values() {
                    signal(*pid, "KILL");
                }
            }
        }
    }
}

/// Writes a block over another in a file of its own beside the socket and waits until it is on disk.
fn sync_a_block(file: &std::fs::File) {
    use std::os::unix::fs::FileExt as _;
    file.write_all_at(&[7; 512], 0).expect("writes");
    file.sync_data().expect("syncs");
}

/// Runs the reference: spawn, wait, spawn again; with an `fdatasync` in between if it is `synced`.
fn reference(agents: usize, child: &Path, socket: &Path, synced: bool) {
    let file = std::fs::File::create(socket.with_extension("sync")).expect("a file");
    file.set_len(512).expect("a length");
    let file = std::sync::Arc::new(file);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio");
    runtime.block_on(async {
        let tasks = (0..agents).map(|n| {
            let mut command = tokio::process::Command::new(child);
            command.arg(socket).arg(format!("agent-{n}")).stdin(Stdio::piped()).stdout(Stdio::piped());
            command.stderr(Stdio::piped()).process_group(0);
            let file = std::sync::Arc::clone(&file);
            tokio::spawn(async move {
                loop {
                    let mut running = command.spawn().expect("the child starts");
                    drop(running.wait().await);
                    if synced {
                        let file = std::sync::Arc::clone(&file);
                        tokio::task::spawn_blocking(move || sync_a_block(&file)).await.expect("syncs");
                    }
                }
            })
        });
        futures_util::future::join_all(tasks).await;
    });
}

struct Round {
    start_seconds: f64,
    restarts_millis: Vec<f64>,
    mass_seconds: f64,
    cpu_per_restart_millis: f64,
}

fn round(arena: &Arena, agents: usize, start: fn(&Arena, usize) -> Supervisor) -> Round {
    let begun = Instant::now();
    let supervisor = start(arena, agents);
    let mut children = arena.hear_all(agents);
    let start_seconds = begun.elapsed().as_secs_f64();

    let mut restarts_millis = Vec::with_capacity(KILLS);
    for n in 0..KILLS {
        let name = format!("agent-{}", n % agents);
        let killed = Instant::now();
        signal(children[&name], "KILL");
        let (who, pid) = arena.heard();
        restarts_millis.push(killed.elapsed().as_secs_f64() * 1000.0);
        children.insert(who, pid);
    }
    let half = (agents / 2).max(1);
    let cpu = bench::cpu_seconds(supervisor.pid());
    let killed = Instant::now();
    for n in 0..half {
        signal(children[&format!("agent-{n}")], "KILL");
    }
    let back = arena.hear_all(half);
    let mass_seconds = killed.elapsed().as_secs_f64();
    children.extend(back);
    let cpu_per_restart_millis = (bench::cpu_seconds(supervisor.pid()) - cpu) * 1000.0 / half as f64;
    supervisor.stop(&children);
    Round { start_seconds, restarts_millis, mass_seconds, cpu_per_restart_millis }
}

fn compare(agents: usize) {
    let arena = Arena::new();
    let (mut herder, mut tokio, mut synced) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        herder.push(round(&arena, agents, Supervisor::herder));
        tokio.push(round(&arena, agents, Supervisor::reference));
        synced.push(round(&arena, agents, Supervisor::synced));
    }
    let print = |what: &str, unit: &str, mark: &str, pick: &dyn Fn(&Round) -> f64| {
        let [mine, theirs, durable] =
            [&herder, &tokio, &synced].map(|rounds| median(&rounds.iter().map(pick).collect::<Vec<_>>()));
        row(
            &format!("{what} ({agents} agents)"),
            &format!("{mine:.2} {unit}"),
            &format!("tokio {theirs:.2} {unit}, with fdatasync {durable:.2} {unit}"),
            mine / durable,
            mark,
        );
    };
    print("start of all children", "s", "1.3", &|round| round.start_seconds);
    print("kill -9 to successor's exec, p50", "ms", "1.3", &|round| quantile(&round.restarts_millis, 0.5));
    print("kill -9 to successor's exec, p99", "ms", "2", &|round| quantile(&round.restarts_millis, 0.99));
    print("half of them crash at once: all back", "s", "at most 0.5 s", &|round| round.mass_seconds);
    print("CPU per restart", "ms", "0.5 ms", &|round| round.cpu_per_restart_millis);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [mode, agents, child, socket] = args.as_slice()
        && (mode == "reference" || mode == "synced")
    {
        let agents = agents.parse().expect("a count");
        reference(agents, Path::new(child), Path::new(socket), mode == "synced");
        return;
    }
    let number = |n: usize, default| args.get(n).and_then(|count| count.parse().ok()).unwrap_or(default);
    match args.first().map(String::as_str) {
        Some("flat") => return endurance::endurance(number(1, 100_000), number(2, 10_000)),
        Some("spawn") => return endurance::spawning(),
        Some("paused") => return quiet::paused(number(1, 1_000)),
        Some("loop") => return quiet::crash_loop(),
        Some("running") => {
            let given: Vec<usize> = args[1..].iter().filter_map(|count| count.parse().ok()).collect();
            return running::memory(if given.is_empty() { &[50, 100] } else { &given });
        }
        Some(_) | None => {}
    }
    let agents = args.first().and_then(|count| count.parse().ok()).unwrap_or(1000);
    for count in [0, agents] {
        quiet::idle(count);
    }
    head();
    for count in [19, agents] {
        compare(count);
    }
}
