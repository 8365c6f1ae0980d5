//! A whole herder whose disk becomes full: people are told, the agents are ended, and everything that was
//! acknowledged is there once there is room again.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use herder::config::History;
use herder::core::agent::Agent;
use herder::core::id::AgentName;
use herder::journal::{self, Journal, Stream};
use tokio_util::sync::CancellationToken;

use crate::simulated_discord::Discord;
use crate::stage::{self, ALICE, Door, PATIENCE, Person, Stage};

/// Set in the child that sees a small disk: the folder on it.
const DISK: &str = "HERDER_TEST_SMALL_DISK";

/// The length of each job's text, in bytes: so few jobs fill the rest of the disk.
const FILLER: usize = 300;

#[test]
fn a_full_disk_is_said_agents_are_ended_and_nothing_acknowledged_is_lost() {
    let disk = tempfile::tempdir().unwrap();
    // The second half is a process of its own, as the next herder is.
    let script = "mount -t tmpfs -o size=24m tmpfs \"$HERDER_TEST_SMALL_DISK\" \
                  && \"$0\" --exact storage_failure::on_a_small_disk --nocapture \
                  && exec \"$0\" --exact storage_failure::with_room_again --nocapture";
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(DISK, disk.path())
        .output()
        .expect("unshare is there (package util-linux)");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    for part in ["the small disk was full", "all is there"] {
        assert!(text.contains(part), "a child did nothing: {text}");
    }
}

/// The other half of the test above; without its disk it has nothing to do.
#[test]
fn on_a_small_disk() {
    let Some(disk) = std::env::var_os(DISK) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run_out_of_room(PathBuf::from(disk)));
    writeln!(std::io::stdout(), "the small disk was full").unwrap();
}

/// Checks the state that the next herder finds.
#[test]
fn with_room_again() {
    let Some(disk) = std::env::var_os(DISK).map(PathBuf::from) else { return };
    let acknowledged = std::fs::read_to_string(disk.join("acknowledged")).unwrap();
    let settings =
        journal::Settings { ballast: 0, ..journal::Settings::new(disk.join("data"), History::default()) };
    let (journal, opening) = Journal::open(&settings).unwrap();
    assert_eq!(opening.missing, Vec::new());
    let spark = Stream::Agent(AgentName::new("spark").unwrap());
    let agent = journal.load::<Agent>(&spark).unwrap().state;
    let kept: BTreeSet<&str> = agent.queue.iter().map(|work| work.text.as_str()).collect();
    let lost: Vec<&str> = acknowledged.lines().filter(|word| !kept.contains(word)).collect();
    assert_eq!(lost, Vec::<&str>::new());
    writeln!(std::io::stdout(), "all is there").unwrap();
}

async fn run_out_of_room(disk: PathBuf) {
    let server = stage::server().await;
    let mut alice =
        Person::join(server.address(), "alice", Some(ALICE), &["#spark", "#alerts", "#herder"]).await;
    let agents = vec![stage::shell("spark", &disk, "sleep 300"), stage::shell("flint", &disk, "cat")];
    let sim = Discord::start().await;
    let mut config = stage::config(&disk, vec![stage::embedded_network(&server)], agents);
    config.discord = Some(stage::discord(&sim, Door::Plain));
    let stage = Stage::open(config, stage::inside(&server)).await;
    for channel in ["spark", "alerts", "herder"] {
        sim.channel(channel).await;
    }
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "run").await;
    alice.hears("#spark", "🐜").await;
    let herder = tokio::spawn(stage.herder.wait(CancellationToken::new()));

    take_the_room(&disk);
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let word = format!("job-{number}-{}", "x".repeat(FILLER));
        alice.say("#spark", &word).await;
        let answer = alice
            .expect("an answer or the end", |line| {
                stage::said(line).is_some_and(|(_, to, text)| {
                    (to == "#spark" && text.contains("👀")) || (to == "#alerts" && text.contains("🚨"))
                })
            })
            .await;
        if answer.contains(" #alerts ") {
            assert!(answer.contains("cannot write its journal"), "{answer}");
            break;
        }
        acknowledged.push(word);
    }
    let ended = tokio::time::timeout(PATIENCE, herder).await.expect("herder ends by itself").unwrap();
    assert!(ended.storage_failure.is_some(), "{ended:?}");
    assert_eq!(ended.processes_left, 0, "the agents are ended");
    // On the other network too, where those who answer for it look.
    for channel in ["alerts", "herder"] {
        let posts = sim.posts(channel);
        let told = posts.iter().filter(|post| post.contains("cannot write its journal")).count();
        assert_eq!(told, 1, "told once in #{channel}: {posts:#?}");
    }

    std::fs::remove_file(disk.join("rest")).unwrap();
    std::fs::write(disk.join("acknowledged"), acknowledged.join("\n")).unwrap();
}

/// Takes all the room but what a few more answers need.
fn take_the_room(disk: &Path) {
    let mut rest = OpenOptions::new().append(true).create(true).open(disk.join("rest")).unwrap();
    let block = vec![1_u8; 64 << 10];
    while rest.write_all(&block).is_ok() {}
}
