//! The time from start to JOIN with a long past: agents that exist, events in the journal, and a predecessor that was
//! killed with -9.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use herder::config::History;
use herder::core::event::Event;
use herder::core::id::{AgentName, SessionId};
use herder::core::time::Timestamp;
use herder::journal::{Batch, Entry, Journal, Settings, Stream, Write};

use super::bench::{Herder, median, row, say};
use super::{Person, configuration, folder, until_join};

/// Entries in one batch of one agent.
const ENTRIES: u64 = 20;

/// Writes the past itself through the journal, with its retention, until the process is killed.
pub(crate) fn fill(dir: &Path, agents: u64, events: u64) {
    let history = History { daily_export: false, ..History::default() };
    let (journal, _) = Journal::open(&Settings { ballast: 0, ..Settings::new(dir, history) }).expect("opens");
    let runtime = tokio::runtime::Runtime::new().expect("tokio");
    runtime.block_on(async {
        for round in 0..events / agents / ENTRIES {
            let batches = (0..agents).map(|n| {
                let journal = journal.clone();
                let turn = |n: u64| {
                    Entry::Agent(Event::TurnEnded {
                        session: SessionId(round),
                        text: "x".repeat(
                            usize::try_from(100 + n.wrapping_mul(2_654_435_761) % 1_400).expect("small"),
                        ),
                        tools: vec!["Bash".into()],
                    })
                };
                let entries = (0..ENTRIES).map(|i| turn(n + i)).collect();
                let stream = Stream::Agent(AgentName::new(&format!("agent-{n}")).expect("a name"));
                let write = Write { stream, expected_rev: None, entries };
                tokio::spawn(async move {
                    let batch = Batch { at: herder::clock::now(), writes: vec![write], ..Batch::default() };
                    journal.commit(batch).await.expect("commits");
                })
            });
            for batch in batches.collect::<Vec<_>>() {
                batch.await.expect("runs");
            }
            journal.maintain(Timestamp::from_millis(0)).await.expect("maintains");
        }
    });
    say("filled");
    std::thread::park();
}

/// Starts herder on that past again and again, and kills it with -9 each time.
pub(crate) fn start(server: SocketAddr, agents: usize, events: u64, times: usize) {
    let dir = folder();
    let mut toml = configuration(dir.path(), server, 0);
    for n in 0..agents {
        toml = toml.agent(&format!("agent-{n}"), &["cat"], dir.path(), false);
    }
    let config = toml.write(dir.path());
    let mut person = Person::log_in(server);
    // The agents are made known by herder itself.
    let (_, herder) = until_join(&mut person, "herder", || Herder::start(&config));
    herder.stop();
    person.sees_quit("herder");
    let began = Instant::now();
    let mut filler = Command::new(std::env::current_exe().expect("a path"))
        .arg("fill")
        .arg(dir.path().join("data"))
        .args([agents.to_string(), events.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let said = BufReader::new(filler.stdout.take().expect("piped")).lines().next();
    filler.kill().expect("kills");
    filler.wait().expect("reaped");
    assert!(matches!(said, Some(Ok(line)) if line == "filled"), "the past could not be written");
    say(&format!("{events} events written in {:.0} s", began.elapsed().as_secs_f64()));
    let seconds: Vec<f64> = (0..times)
        .map(|_| {
            let (seconds, herder) = until_join(&mut person, "herder", || Herder::start(&config));
            // Dropped: killed with -9.
            drop(herder);
            person.sees_quit("herder");
            seconds
        })
        .collect();
    let each = seconds.iter().map(|seconds| format!("{seconds:.2}")).collect::<Vec<_>>().join(", ");
    let middle = median(&seconds);
    row(
        &format!("start to JOIN after kill -9, {agents} agents, {events} events"),
        &format!("{middle:.2} s (each: {each})"),
        "",
        middle,
        "1 s",
    );
}
