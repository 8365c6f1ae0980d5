//! The journal on real disks: acknowledged data survives whatever happens to the process or the files.

mod archive;
mod files;
mod full;
mod golden;
mod kill;
mod losses;
mod model;
mod salvage;
mod small_machine;
mod soon;
mod store;

use std::path::Path;
use std::process::Command;

use herder::config::History;
use herder::core::event::Event;
use herder::core::id::{AgentName, NetworkName, PostId, WorkId};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::core::work::{Actor, Work, WorkKind};
use herder::journal::{AuditEntry, Batch, Entry, FleetEvent, Recorded, Settings, Stream, Write};

fn settings(dir: &Path) -> Settings {
    Settings { ballast: 0, ..Settings::new(dir, History { daily_export: false, ..History::default() }) }
}

fn agent(name: &str) -> AgentName {
    AgentName::new(name).expect("a name")
}

fn of(name: &str) -> Stream {
    Stream::Agent(agent(name))
}

fn ann() -> Actor {
    Actor { network: NetworkName::from("libera"), name: "ann".into(), identity: Some("account ann".into()) }
}

fn added(name: &str) -> Entry {
    Entry::Fleet(FleetEvent::AgentAdded { agent: agent(name) })
}

fn queued(id: u64, text: &str) -> Entry {
    let at = Timestamp::from_millis(7);
    let work = Work {
        id: WorkId(id),
        kind: WorkKind::Message,
        text: text.into(),
        by: ann(),
        at,
        attempts: 0,
        card: None,
    };
    Entry::Agent(Event::Queued { work })
}

fn cleared(ids: &[u64]) -> Entry {
    Entry::Agent(Event::Cleared { works: ids.iter().copied().map(WorkId).collect(), by: ann() })
}

fn audit(text: &str) -> Entry {
    Entry::Audit(AuditEntry {
        by: ann(),
        place: "#spark".into(),
        agent: None,
        verb: "pause".into(),
        text: text.into(),
    })
}

fn post(network: &str, text: &str) -> Post {
    Post {
        id: PostId(0),
        network: NetworkName::from(network),
        to: Target::Agent(agent("spark")),
        lane: Lane::Normal,
        at: Timestamp::from_millis(5),
        body: Body::Agent { agent: agent("spark"), text: text.into(), is_result: false },
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

fn write(stream: Stream, expected_rev: Option<u64>, entries: Vec<Entry>) -> Write {
    Write { stream, expected_rev, entries }
}

fn batch(writes: Vec<Write>) -> Batch {
    Batch { at: Timestamp::from_millis(1_000), writes, ..Batch::default() }
}

fn revs(history: &[Recorded]) -> Vec<u64> {
    history.iter().map(|it| it.rev).collect()
}

/// Returns a child that runs one test of this binary, which does its part when it finds `HERDER_TEST_CHILD` set.
fn child(test: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--nocapture"]).env("HERDER_TEST_CHILD", dir);
    command
}
