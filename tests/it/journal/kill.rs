//! `kill -9` at random moments: every acknowledged batch is there, whole batches only, no gaps, no number twice.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use herder::core::agent::Agent;
use herder::core::id::NetworkName;
use herder::core::time::Timestamp;
use herder::journal::{Aggregate, Batch, Confirmed, Journal, Snapshot, Stream};

use super::{agent, audit, batch, child, cleared, of, post, queued, settings, write};

const WRITERS: u64 = 8;
const ROUNDS: u64 = 30;

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("the parent reads");
}

fn name(n: u64) -> String {
    format!("agent-{n}")
}

/// Runs one agent's life: an entry, its record and a post in each batch; posts are confirmed now and then.
async fn live(journal: Journal, n: u64) {
    let stream = of(&name(n));
    let network = NetworkName::from(&*name(n));
    let loaded = journal.load::<Agent>(&stream).expect("loads");
    let (mut state, mut rev) = (loaded.state, loaded.rev);
    let mut due = false;
    loop {
        let id = rev + 1;
        let entry = if id.is_multiple_of(4) {
            cleared(&[id - 1, id - 2])
        } else {
            queued(id, &"x".repeat((id % 7) as usize * 300))
        };
        let mut it = batch(vec![
            write(stream.clone(), Some(rev), vec![entry.clone()]),
            write(Stream::Audit, None, vec![audit(&format!("{n} {id}"))]),
        ]);
        it.posts = vec![post(network.as_str(), &id.to_string())];
        if due {
            let state = serde_json::to_vec(&state).expect("JSON");
            it.snapshots = vec![Snapshot { stream: stream.clone(), rev, state }];
        }
        let receipt = journal.commit(it).await.expect("commits");
        rev = receipt.revs[0];
        due = receipt.snapshot_due || rev.is_multiple_of(32);
        state.apply_entry(&entry, Timestamp::from_millis(1_000));
        let id = receipt.posts[0].id;
        say(&format!("acked {n} {rev} {id}"));
        if rev.is_multiple_of(3) {
            say(&format!("confirming {n} {id}"));
            let confirmed = Confirmed { network: network.clone(), post: id, lines: None };
            journal.confirm(vec![confirmed]).await.expect("confirms");
            say(&format!("confirmed {n} {id}"));
        }
    }
}

#[test]
fn child_that_is_killed() {
    let Some(dir) = std::env::var_os("HERDER_TEST_CHILD").map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let (journal, opening) = Journal::open(&settings(&dir)).expect("opens");
    assert!(opening.missing.is_empty(), "{:?}", opening.missing);
    say("open");
    runtime.block_on(async {
        let lives: Vec<_> = (0..WRITERS).map(|n| tokio::spawn(live(journal.clone(), n))).collect();
        for life in lives {
            life.await.expect("goes on until it is killed");
        }
    });
}

/// The output of the killed children, over all rounds.
#[derive(Default)]
struct Said {
    acked: BTreeMap<u64, u64>,
    posts: BTreeMap<u64, BTreeSet<u64>>,
    confirming: BTreeSet<(u64, u64)>,
    confirmed: BTreeSet<(u64, u64)>,
}

impl Said {
    fn line(&mut self, line: &str) {
        let mut words = line.split(' ');
        let Some(word @ ("acked" | "confirming" | "confirmed")) = words.next() else { return };
        // The last line can be cut anywhere; a whole one ends where its number does.
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        match (word, &*numbers) {
            ("acked", [n, rev, post]) => {
                self.acked.insert(*n, *rev);
                self.posts.entry(*n).or_default().insert(*post);
            }
            ("confirming", [n, post]) => drop(self.confirming.insert((*n, *post))),
            ("confirmed", [n, post]) => drop(self.confirmed.insert((*n, *post))),
            _ => {}
        }
    }
}

/// The time of a kill.
enum Kill {
    /// At this time after it was spawned: also before it opens the journal, or while it does.
    After(Duration),
    /// When it has acknowledged that many batches. It continues meanwhile, so that this is anywhere in the next.
    Acknowledged(u64),
}

fn run_and_kill(dir: &Path, when: Kill, said: &mut Said) {
    let mut child = child("journal::kill::child_that_is_killed", dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("spawns");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let pid = rustix::process::Pid::from_child(&child);
    let kill = move || rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("kills");
    let (killer, mut left) = match when {
        Kill::After(after) => {
            let later = move || {
                std::thread::sleep(after);
                kill();
            };
            (Some(std::thread::spawn(later)), 0)
        }
        Kill::Acknowledged(batches) => (None, batches),
    };
    let mut line = String::new();
    while lines.read_line(&mut line).expect("reads") > 0 {
        if line.ends_with('\n') {
            said.line(line.trim_end());
        }
        if left > 0 && line.starts_with("acked") {
            left -= 1;
            if left == 0 {
                kill();
            }
        }
        line.clear();
    }
    if let Some(killer) = killer {
        killer.join().expect("killed");
    }
    let status = child.wait().expect("reaped");
    assert_eq!(status.signal(), Some(9), "the child ended by itself");
}

fn check(dir: &Path, said: &Said) {
    let (journal, opening) = Journal::open(&settings(dir)).expect("opens");
    assert!(opening.missing.is_empty(), "{:?}", opening.missing);
    let audit = journal.history(&Stream::Audit, usize::MAX, None).expect("reads");
    let mut seqs: Vec<u64> = audit.iter().map(|it| it.seq).collect();
    let mut batches = 0;
    for n in 0..WRITERS {
        let stream = of(&name(n));
        let history = journal.history(&stream, usize::MAX, None).expect("reads");
        let acked = said.acked.get(&n).copied().unwrap_or(0);
        assert!(history.len() as u64 >= acked, "{stream}: {} of {acked}", history.len());
        assert!(history.iter().zip(1..).all(|(it, rev)| it.rev == rev), "{stream} has gaps");
        seqs.extend(history.iter().map(|it| it.seq));
        batches += history.len();
        let mut replayed = Agent::default();
        history.iter().for_each(|it| replayed.apply_entry(&it.entry, it.at));
        assert_eq!(journal.load::<Agent>(&stream).expect("loads").state, replayed);

        let owed = journal.undelivered(&NetworkName::from(&*name(n))).expect("reads");
        let owed: BTreeSet<u64> = owed.iter().map(|post| post.id.0).collect();
        for post in said.posts.get(&n).into_iter().flatten() {
            let key = (n, *post);
            assert!(
                owed.contains(post) || said.confirming.contains(&key),
                "{}: post {post} is lost",
                agent(&name(n))
            );
            assert!(!owed.contains(post) || !said.confirmed.contains(&key), "post {post} came back");
        }
    }
    assert_eq!(audit.len(), batches, "a batch was torn");
    seqs.sort_unstable();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "the journal has gaps");
}

#[test]
fn killed_thirty_times_it_has_all_that_was_acknowledged() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut said = Said::default();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..ROUNDS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let when = if round % 3 == 0 {
            Kill::After(Duration::from_millis(5 + random % 120))
        } else {
            Kill::Acknowledged(1 + random % 60)
        };
        run_and_kill(dir.path(), when, &mut said);
        check(dir.path(), &said);
    }
}

#[test]
fn an_unused_batch_is_not_a_batch() {
    // An empty batch is acknowledged and changes no number.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let receipt = runtime.block_on(journal.commit(Batch::default())).expect("commits");
    assert!(receipt.revs.is_empty() && receipt.posts.is_empty());
}
