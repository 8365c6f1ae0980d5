//! A journal that moves: out into an export, from an export into an empty folder, and from a database that has grown into a
//! new one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use herder::config::History;
use herder::core::time::Timestamp;
use herder::journal::{Journal, Settings};

use super::{Arguments, child, folder, median, runtime, settings};

/// Events that stay in the database when the others have gone to archives.
const KEPT: u64 = 10_000;

/// Interval between looks at the memory of a process: its highest point only grows, so that no more than its last moment is missed.
const LOOK: Duration = Duration::from_millis(10);

/// Seconds and the most memory, in MB, that a command of herder took.
fn herder(arguments: &[&str]) -> (f64, f64) {
    let began = Instant::now();
    let mut process = Command::new(env!("CARGO_BIN_EXE_herder"))
        .args(arguments)
        .stderr(Stdio::null())
        .spawn()
        .expect("herder starts");
    let status = format!("/proc/{}/status", process.id());
    let mut most = 0.0;
    let left = loop {
        if let Some(left) = process.try_wait().expect("it can be waited for") {
            break left;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = f64::max(most, kib.unwrap_or(0.0));
        std::thread::sleep(LOOK);
    };
    assert!(left.success(), "herder {arguments:?}: {left}");
    (began.elapsed().as_secs_f64(), most * 1024.0 / 1e6)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Prints what an export and an import of that many events take.
pub(super) fn import(given: &Arguments) {
    let dir = folder("import");
    println!("export and import of {} events of {} agents", given.events, given.agents);
    let (from, to, file) = (dir.join("from"), dir.join("to"), dir.join("export"));
    std::fs::create_dir_all(&dir).expect("makes");
    child("HERDER_BENCH_FILL", &from, given, "filled");
    let (mut seconds, mut most) = (Vec::new(), Vec::new());
    let (took, held) = herder(&["--data-dir", text(&from), "export", "--output", text(&file)]);
    println!("  export: {took:.1} s, at most {held:.0} MB of memory");
    for run in 1..=given.pairs {
        let (took, held) = herder(&["--data-dir", text(&to), "import", text(&file)]);
        println!("  import {run}: {took:.1} s, at most {held:.0} MB of memory");
        seconds.push(took);
        most.push(held);
        std::fs::remove_dir_all(&to).expect("removes");
    }
    println!("median of imports: {:.1} s, {:.0} MB (mark 150 MB)\n", median(&mut seconds), median(&mut most));
    std::fs::remove_dir_all(dir).expect("removes");
}

/// Prints what the start takes that builds a database anew, and the one after it.
pub(super) fn compaction(given: &Arguments) {
    let dir = folder("compaction");
    println!("start after {} events, of which {KEPT} stay in the database", given.events);
    let mut seconds = Vec::new();
    for run in 1..=given.pairs {
        child("HERDER_BENCH_FILL", &dir, given, "filled");
        let history = History { daily_export: false, keep_events: KEPT, ..History::default() };
        let kept = Settings { history, compact_from: u64::MAX, ..settings(&dir) };
        let (journal, _) = Journal::open(&kept).expect("opens");
        runtime().block_on(async {
            journal.maintain(Timestamp::from_millis(0)).await.expect("maintains");
            journal.close().await;
        });
        drop(journal);
        let size = || std::fs::metadata(dir.join("sled/db")).expect("there").len() >> 20;
        let before = size();
        let opened = || {
            let began = Instant::now();
            let (journal, _) = Journal::open(&settings(&dir)).expect("opens");
            let took = began.elapsed().as_secs_f64();
            runtime().block_on(journal.close());
            took
        };
        let (first, after) = (opened(), size());
        let second = opened();
        println!(
            "  {run}: {before} MB become {after} MB in {first:.2} s; the next start opens in {second:.2} s"
        );
        seconds.push(first);
        std::fs::remove_dir_all(&dir).expect("removes");
    }
    println!("median {:.2} s", median(&mut seconds));
}
