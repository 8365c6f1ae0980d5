//! The journal beside a bare sled writer, how long a start takes with a long past, and what it takes to move a journal.
//!
//! ```text
//! cargo bench --bench journal -- [writes|start|import|compaction] [--pairs 5] [--seconds 2] [--agents 1000] [--events 1000000]
//! ```
//!
//! `writes`: 64 tasks commit batches of one event and one post each, in turn through [`Journal`] and through a thread that does
//! nothing but what sled needs (the same keys and values, one transaction per group, `flush`, `fdatasync`), in pairs
//! that follow each other, so that both see the same machine. `start`: a herder that was killed with -9 after its
//! agents wrote that many events opens its journal and loads every agent. The files are in the target folder, on a
//! real disk. `import`: an export of such a past, and its import into an empty folder, by herder's own command. `compaction`: the
//! start that builds a database anew whose events have gone to archives.
#![expect(clippy::print_stdout, reason = "a benchmark is read in the terminal")]
#![expect(
    clippy::disallowed_methods,
    reason = "real time is measured; every task that is spawned is waited for"
)]

#[path = "bench/moving.rs"]
mod moving;

use std::fs::File;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use herder::config::History;
use herder::core::agent::Agent;
use herder::core::event::Event;
use herder::core::id::{AgentName, NetworkName, PostId, SessionId};
use herder::core::notice::Notice;
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::journal::{Batch, Confirmed, Entry, FleetState, Journal, Settings, Snapshot, Stream, Write};
use sled::transaction::{ConflictableTransactionError, Transactional as _};
use tokio::sync::{mpsc, oneshot};

const TASKS: u64 = 64;

struct Arguments {
    part: Option<String>,
    pairs: usize,
    seconds: u64,
    agents: u64,
    events: u64,
}

fn arguments() -> Arguments {
    let mut given = Arguments { part: None, pairs: 5, seconds: 2, agents: 1_000, events: 1_000_000 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            words.next().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{word} takes a number"))
        };
        match &*word {
            "--pairs" => given.pairs = usize::try_from(number()).expect("small"),
            "--seconds" => given.seconds = number(),
            "--agents" => given.agents = number(),
            "--events" => given.events = number(),
            // Cargo adds it.
            "--bench" => {}
            _ => given.part = Some(word),
        }
    }
    given
}

fn main() {
    let given = arguments();
    if let Some(dir) = std::env::var_os("HERDER_BENCH_FILL") {
        return fill(Path::new(&dir), &given);
    }
    if let Some(dir) = std::env::var_os("HERDER_BENCH_START") {
        return start(Path::new(&dir), &given);
    }
    if given.part.as_deref().is_none_or(|part| part == "writes") {
        writes(&given);
    }
    if given.part.as_deref().is_none_or(|part| part == "start") {
        starts(&given);
    }
    if given.part.as_deref().is_none_or(|part| part == "import") {
        moving::import(&given);
    }
    if given.part.as_deref().is_none_or(|part| part == "compaction") {
        moving::compaction(&given);
    }
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("journal-{name}"));
    match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => dir,
    }
}

fn settings(dir: &Path) -> Settings {
    let history = History { daily_export: false, ..History::default() };
    Settings { ballast: 0, ..Settings::new(dir, history) }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn name(n: u64) -> AgentName {
    AgentName::new(&format!("agent-{n}")).expect("a name")
}

/// Returns a turn of 100 to 1,500 bytes of text.
fn turn(n: u64) -> Entry {
    let length = usize::try_from(100 + n.wrapping_mul(2_654_435_761) % 1_400).expect("small");
    Entry::Agent(Event::TurnEnded {
        session: SessionId(n),
        text: "x".repeat(length),
        tools: vec!["Bash".into()],
    })
}

fn post(agent: &AgentName) -> Post {
    Post {
        id: PostId(0),
        network: NetworkName::from("libera"),
        to: Target::Agent(agent.clone()),
        lane: Lane::Normal,
        at: Timestamp::from_millis(1_763_700_000_000),
        body: Body::Notice(Notice::Started {
            agent: agent.clone(),
            work: "fix the tests of the parser".into(),
        }),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

// ── durable events per second ──

fn writes(given: &Arguments) {
    println!("durable events per second, {TASKS} tasks, {} pairs of {} s", given.pairs, given.seconds);
    let (mut bare, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..given.pairs {
        // The order alternates, so that neither always goes first.
        let (a, b) = if pair % 2 == 0 {
            let a = through_sled(given.seconds);
            (a, through_journal(given.seconds))
        } else {
            let b = through_journal(given.seconds);
            (through_sled(given.seconds), b)
        };
        println!("  bare sled {a:>8.0}/s   journal {b:>8.0}/s   {:.2}", b / a);
        bare.push(a);
        ours.push(b);
        ratios.push(b / a);
    }
    println!(
        "median: bare sled {:.0}/s, journal {:.0}/s, ratio of a pair {:.2} (mark 0.9)\n",
        median(&mut bare),
        median(&mut ours),
        median(&mut ratios)
    );
}

fn through_journal(seconds: u64) -> f64 {
    let dir = folder("writes");
    let (journal, _) = Journal::open(&settings(&dir)).expect("opens");
    let done = Arc::new(AtomicU64::new(0));
    let rate = timed(seconds, &done, |n, stop| {
        let (journal, done) = (journal.clone(), Arc::clone(&done));
        async move {
            let agent = name(n);
            let stream = Stream::Agent(agent.clone());
            let mut rev = 0;
            while !stop.load(Ordering::Relaxed) {
                let write =
                    Write { stream: stream.clone(), expected_rev: Some(rev), entries: vec![turn(rev)] };
                let at = Timestamp::from_millis(1_763_700_000_000);
                let batch = Batch {
                    at,
                    writes: vec![write],
                    posts: vec![post(&agent)],
                    snapshots: vec![],
                    memos: Vec::new(),
                    about: None,
                };
                rev = journal.commit(batch).await.expect("commits").revs[0];
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    drop(journal);
    std::fs::remove_dir_all(dir).expect("removes");
    rate
}

fn timed<F: Future<Output = ()> + Send + 'static>(
    seconds: u64,
    done: &AtomicU64,
    task: impl Fn(u64, Arc<AtomicBool>) -> F,
) -> f64 {
    let stop = Arc::new(AtomicBool::new(false));
    runtime().block_on(async {
        let tasks: Vec<_> = (0..TASKS).map(|n| tokio::spawn(task(n, Arc::clone(&stop)))).collect();
        // The first moments make files and fill caches.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let (from, started) = (done.load(Ordering::Relaxed), Instant::now());
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let rate = (done.load(Ordering::Relaxed) - from) as f64 / started.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("runs");
        }
        rate
    })
}

/// A batch as sled stores it: event, index, head and post, by tree. The numbers in the keys are the writer's.
struct Bare {
    stream: String,
    rev: u64,
    event: Vec<u8>,
    post: Vec<u8>,
    done: oneshot::Sender<()>,
}

const TREES: [&str; 5] = ["events", "index", "heads", "outbox", "meta"];

fn bare_writer(dir: &Path, mut jobs: mpsc::Receiver<Bare>) {
    let db = sled::Config::new()
        .path(dir)
        .cache_capacity(64 << 20)
        .flush_every_ms(Some(5_000))
        .open()
        .expect("opens");
    let trees = TREES.map(|name| db.open_tree(name).expect("opens"));
    let log = File::open(dir.join("db")).expect("opens");
    let mut seq = 0_u64;
    while let Some(first) = jobs.blocking_recv() {
        let mut group = vec![first];
        while group.len() < 512
            && let Ok(job) = jobs.try_recv()
        {
            group.push(job);
        }
        let mut changes: [Vec<(sled::IVec, sled::IVec)>; TREES.len()] = Default::default();
        for Bare { stream, rev, event, post, .. } in &group {
            seq += 1;
            let numbered = |text: &str, n: u64| -> sled::IVec {
                [text.as_bytes(), &[0], &n.to_be_bytes()].concat().into()
            };
            changes[0].push((seq.to_be_bytes().as_ref().into(), event.as_slice().into()));
            changes[1].push((numbered(stream, *rev), seq.to_be_bytes().as_ref().into()));
            changes[2].push((stream.as_bytes().into(), [1_u8; 27].as_ref().into()));
            changes[3].push((numbered("libera", seq), post.as_slice().into()));
        }
        changes[4].push((b"last".as_ref().into(), [1_u8; 60].as_ref().into()));
        trees
            .as_slice()
            .transaction(|views| {
                for (view, changes) in views.iter().zip(&changes) {
                    for (key, value) in changes {
                        view.insert(key.clone(), value.clone())?;
                    }
                }
                Ok::<(), ConflictableTransactionError<()>>(())
            })
            .expect("stores");
        db.flush().expect("flushes");
        log.sync_data().expect("syncs");
        for job in group {
            // Its task may have stopped waiting.
            let _ = job.done.send(());
        }
    }
}

fn through_sled(seconds: u64) -> f64 {
    let dir = folder("bare");
    std::fs::create_dir_all(&dir).expect("makes");
    let (jobs, queue) = mpsc::channel(4_096);
    let writer = std::thread::spawn({
        let dir = dir.clone();
        move || bare_writer(&dir, queue)
    });
    let done = Arc::new(AtomicU64::new(0));
    let rate = timed(seconds, &done, |n, stop| {
        let (jobs, done) = (jobs.clone(), Arc::clone(&done));
        async move {
            let agent = name(n);
            let stream = Stream::Agent(agent.clone()).to_string();
            let mut rev = 0;
            while !stop.load(Ordering::Relaxed) {
                let at = Timestamp::from_millis(1_763_700_000_000);
                let recorded = herder::journal::Recorded {
                    seq: 0,
                    stream: Stream::Agent(agent.clone()),
                    rev,
                    at,
                    entry: turn(rev),
                };
                rev += 1;
                let event = herder::journal::encoding::encode_event(&recorded).expect("encodes");
                let post = herder::journal::encoding::encode_post(&post(&agent)).expect("encodes");
                let (ticket, stored) = oneshot::channel();
                let job = Bare { stream: stream.clone(), rev, event, post, done: ticket };
                jobs.send(job).await.expect("the writer runs");
                stored.await.expect("stored");
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    drop(jobs);
    writer.join().expect("ends");
    std::fs::remove_dir_all(dir).expect("removes");
    rate
}

// ── start after kill -9 ──

/// Runs this program again; gives its lines. It is killed with -9 after `last`.
fn child(key: &str, dir: &Path, given: &Arguments, last: &str) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--agents", &given.agents.to_string(), "--events", &given.events.to_string()])
        .env(key, dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawns");
    let lines = std::io::BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut said = Vec::new();
    for line in lines {
        let line = line.expect("reads");
        let ends = line == last;
        said.push(line);
        if ends {
            break;
        }
    }
    child.kill().expect("kills");
    child.wait().expect("reaped");
    assert_eq!(said.last().map(String::as_str), Some(last), "{said:?}");
    said
}

/// Writes the past: every agent writes its share, is snapshotted when that is due, and old events are archived on the
/// way.
fn fill(dir: &Path, given: &Arguments) {
    const ENTRIES: u64 = 20;
    let (journal, _) = Journal::open(&settings(dir)).expect("opens");
    let (agents, events) = (given.agents, given.events);
    runtime().block_on(async {
        let added =
            (0..agents).map(|n| Entry::Fleet(herder::journal::FleetEvent::AgentAdded { agent: name(n) }));
        let write = Write { stream: Stream::Fleet, expected_rev: None, entries: added.collect() };
        journal.commit(Batch { writes: vec![write], ..Batch::default() }).await.expect("commits");
        let rounds = events / agents / ENTRIES;
        let mut dues: Vec<bool> = (0..agents).map(|_| false).collect();
        for round in 0..rounds {
            let batches = (0..agents).zip(&dues).map(|(n, due)| {
                let due = *due;
                let journal = journal.clone();
                tokio::spawn(async move {
                    let agent = name(n);
                    let stream = Stream::Agent(agent.clone());
                    let entries = (0..ENTRIES).map(|i| turn(n + round * ENTRIES + i)).collect();
                    let write = Write { stream: stream.clone(), expected_rev: None, entries };
                    let mut batch =
                        Batch { writes: vec![write], posts: vec![post(&agent)], ..Batch::default() };
                    if due {
                        let state = serde_json::to_vec(&Agent::default()).expect("JSON");
                        batch.snapshots = vec![Snapshot { stream, rev: round * ENTRIES, state }];
                    }
                    let receipt = journal.commit(batch).await.expect("commits");
                    // The posts of the last round stay undelivered.
                    if round + 1 < rounds {
                        let network = NetworkName::from("libera");
                        let confirmed = Confirmed { network, post: receipt.posts[0].id, lines: None };
                        journal.confirm(vec![confirmed]).await.expect("confirms");
                    }
                    receipt.snapshot_due
                })
            });
            let batches: Vec<_> = batches.collect();
            dues.clear();
            for batch in batches {
                dues.push(batch.await.expect("runs"));
            }
            journal.maintain(Timestamp::from_millis(0)).await.expect("maintains");
        }
    });
    println!("filled");
    std::thread::park();
}

fn start(dir: &Path, given: &Arguments) {
    let started = Instant::now();
    let (journal, opening) = Journal::open(&settings(dir)).expect("opens");
    assert!(opening.missing.is_empty(), "{opening:?}");
    let opened = started.elapsed();
    let fleet = journal.load::<FleetState>(&Stream::Fleet).expect("loads");
    assert_eq!(fleet.state.roster.len() as u64, given.agents);
    for agent in &fleet.state.roster {
        journal.load::<Agent>(&Stream::Agent(agent.clone())).expect("loads");
    }
    let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads").len();
    println!("{} {} {owed}", opened.as_secs_f64(), started.elapsed().as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status").expect("reads");
    println!("{}", status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default());
    println!("started");
    std::thread::park();
}

fn starts(given: &Arguments) {
    let dir = folder("start");
    println!("start with {} agents and {} events of history, after kill -9", given.agents, given.events);
    let filling = Instant::now();
    child("HERDER_BENCH_FILL", &dir, given, "filled");
    let size = std::fs::metadata(dir.join("sled/db")).expect("there").len();
    println!("  filled in {:.0} s; the database has {} MB", filling.elapsed().as_secs_f64(), size >> 20);
    let mut totals = Vec::new();
    for run in 1..=given.pairs {
        let said = child("HERDER_BENCH_START", &dir, given, "started");
        let numbers: Vec<f64> = said[0].split(' ').filter_map(|word| word.parse().ok()).collect();
        let [opened, total, owed] = numbers[..] else { panic!("{said:?}") };
        println!("  {run}: open {opened:.3} s, all agents {total:.3} s, {owed} posts owed, {}", said[1]);
        totals.push(total);
    }
    println!(
        "first {:.3} s (it reads what was written since the last start), median {:.3} s (mark 1 s)",
        totals[0],
        median(&mut totals.clone())
    );
    std::fs::remove_dir_all(dir).expect("removes");
}
