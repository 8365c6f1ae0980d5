//! Entries of the journal that cannot be read are left out when it is read back, and people are told.

use std::path::Path;

use herder::core::agent::Phase;
use herder::journal::Stream;

use super::rig::{Rig, name};

/// Makes the `nth` entry of a stream something that no herder has written.
fn damage(dir: &Path, stream: &Stream, nth: usize) {
    let db = loop {
        // sled's own threads hold it a moment longer than its last handle.
        if let Ok(db) = sled::open(dir.join("data/sled")) {
            break db;
        }
        std::thread::yield_now();
    };
    let (index, events) = (db.open_tree("index").unwrap(), db.open_tree("events").unwrap());
    let (_, seq) = index.scan_prefix(format!("{stream}\0")).nth(nth).expect("it has as many").unwrap();
    events.insert(seq, b"no entry").unwrap();
    db.flush().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_back_goes_past_an_entry_that_cannot_be_read_and_says_so() {
    let rig = Rig::open().await;
    rig.do_("olga", "#quick", "task add count the beans").await;
    rig.until("quick", |view| view.agent.phase == Phase::Idle && view.agent.totals.successes == 1).await;
    let all = ["!history quick 25", "!log quick 25", "!audit 25"];
    let said = async |rig: &Rig, line: &str| rig.say("alice", "private", line).await;
    let mut before = Vec::new();
    for line in all {
        let lines = said(&rig, line).await;
        assert!(!lines[0].contains("cannot be read"), "{lines:?}");
        before.push(lines);
    }

    let quick = Stream::Agent(name("quick"));
    let rig = rig
        .started_again(|dir| {
            // The addition of the agent, and the audit entry of its task.
            damage(dir, &quick, 0);
            damage(dir, &Stream::Audit, 0);
        })
        .await;
    for (line, before) in all.into_iter().zip(before) {
        let lines = said(&rig, line).await;
        assert!(lines[0].starts_with("One entry cannot be read"), "{line}: {lines:?}");
        // The log never had anything of the entry that is gone; what was asked here is in the audit trail since.
        let left = &before[usize::from(!line.contains("log"))..];
        assert!(lines[1..].starts_with(left), "{line}: {lines:#?} {left:#?}");
    }
    rig.close().await;
}
