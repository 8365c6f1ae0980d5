//! The memory of a herder after much work, and the time that a process with a large heap needs to start a child.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use herder::local::{self, Request};
use herder::runtime::ProcessTrees;
use tokio::process::Command;

use super::bench::{self, Herder, Toml, head, median, row, say};
use super::{Arena, POLICY};

/// Times of the measurements of memory, as fractions of the whole run.
const WEIGHED_AT: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 1.0];

/// Commands that are under way at once.
const AT_ONCE: usize = 16;

/// Agents that are commanded, or killed.
const AGENTS: usize = 19;

/// Spawns per heap and pair.
const SPAWNS: usize = 200;

/// The small heap, beside what the program has anyway, and the large one.
const HEAPS: [usize; 2] = [1 << 20, 200 << 20];

/// Alternating pairs of spawns.
const PAIRS: usize = 5;

/// Measures memory after `commands` commands, each with its record in the journal.
pub(crate) fn commands(count: usize) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let mut toml = Toml::new(&dir.path().join("data")).raw("[supervisor]\nmax_active = 0");
    for n in 0..AGENTS {
        toml = toml.agent(&format!("agent-{n}"), &["cat"], dir.path(), false);
    }
    let herder = Herder::start(&toml.write(dir.path()));
    let socket = dir.path().join("data").join(local::FILE_NAME);
    assert!(bench::poll_until(Duration::from_secs(60), || socket.exists()), "herder did not start");
    let runtime = tokio::runtime::Runtime::new().expect("tokio");
    let (began, mut done) = (Instant::now(), 0);
    let mut weights = vec![weigh(herder.pid())];
    for part in WEIGHED_AT {
        let until = share(count, part);
        runtime.block_on(command(&socket, done, until));
        done = until;
        weights.push(weigh(herder.pid()));
    }
    tell(&format!("{count} commands"), &weights, began.elapsed());
    herder.stop();
}

/// Gives the commands with the numbers from `from` up to `until`.
async fn command(socket: &Path, from: usize, until: usize) {
    let next = Arc::new(AtomicUsize::new(from));
    let people = (0..AT_ONCE).map(|_| {
        let (next, socket) = (Arc::clone(&next), socket.to_owned());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= until {
                    return;
                }
                let agent = format!("agent-{}", number % AGENTS);
                let (command, args) = match number / AGENTS % 3 {
                    0 => ("pause", vec![agent]),
                    1 => ("resume", vec![agent]),
                    _ => ("status", Vec::new()),
                };
                let request = Request { command: command.to_owned(), args };
                local::ask(&socket, &request).await.expect("herder answers");
            }
        })
    });
    for person in people.collect::<Vec<_>>() {
        person.await.expect("it runs");
    }
}

/// Measures memory after `count` restarts of children that were killed.
pub(crate) fn restarts(count: usize) {
    let arena = Arena::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let mut toml = Toml::new(&dir.path().join("data")).raw(POLICY);
    for n in 0..AGENTS {
        let name = format!("agent-{n}");
        toml = toml.agent(&name, &arena.command(&name), dir.path(), true);
    }
    let herder = Herder::start(&toml.write(dir.path()));
    let mut children = arena.hear_all(AGENTS);
    let (began, mut done) = (Instant::now(), 0);
    let mut weights = vec![weigh(herder.pid())];
    for part in WEIGHED_AT {
        while done < share(count, part) {
            for pid in children.values() {
                bench::signal(*pid, "KILL");
            }
            done += children.len();
            children = arena.hear_all(AGENTS);
        }
        weights.push(weigh(herder.pid()));
    }
    tell(&format!("{count} restarts"), &weights, began.elapsed());
    herder.stop();
}

fn share(count: usize, part: f64) -> usize {
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "a part of a small number")]
    let share = (count as f64 * part).round() as usize;
    share
}

fn weigh(pid: u32) -> f64 {
    bench::rss_kib(pid) / 1024.0
}

/// Prints the row of a table: the memory at the start, at each part, and its change in the last half.
fn tell(what: &str, weights: &[f64], took: Duration) {
    let each = weights.iter().map(|weight| format!("{weight:.1}")).collect::<Vec<_>>().join(", ");
    let (half, end) = (weights[weights.len() - 3], weights[weights.len() - 1]);
    row(
        &format!("memory before and after 10, 25, 50, 75, 100 % of {what}"),
        &format!("{each} MiB"),
        &format!("took {:.0} s", took.as_secs_f64()),
        end / half,
        "flat: 1.0 from half to end",
    );
}

/// Measures the duration of the call that starts a child, for a program with a small and with a large heap.
pub(crate) fn spawning() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio");
    let mut taken = [Vec::new(), Vec::new()];
    runtime.block_on(async {
        let trees = ProcessTrees::new().expect("a service");
        for _ in 0..PAIRS {
            for (heap, taken) in HEAPS.into_iter().zip(&mut taken) {
                // Written to, so that the pages are mapped.
                let heap = std::hint::black_box(vec![7_u8; heap]);
                taken.push(spawns(&trees).await);
                drop(heap);
            }
        }
    });
    let [small, large] = taken.map(|taken| median(&taken));
    head();
    row(
        "spawn at a heap of 200 MB",
        &format!("{:.0} µs", large * 1e6),
        &format!("at 1 MB {:.0} µs", small * 1e6),
        large / small,
        "1.2",
    );
}

/// Returns the median of some spawns, in seconds.
async fn spawns(trees: &ProcessTrees) -> f64 {
    let mut taken = Vec::with_capacity(SPAWNS);
    for _ in 0..SPAWNS {
        let mut command = Command::new("/bin/true");
        let began = Instant::now();
        let mut owned = trees.spawn(&mut command, "bench/spawn/1").expect("it starts");
        taken.push(began.elapsed().as_secs_f64());
        owned.wait().await.expect("it ends");
    }
    median(&taken)
}

/// Runs all of these measurements.
pub(crate) fn endurance(count: usize, killed: usize) {
    say(&format!("{AGENTS} agents"));
    head();
    commands(count);
    restarts(killed);
}
