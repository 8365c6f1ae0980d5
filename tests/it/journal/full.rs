//! A full disk: it is reported, nothing acknowledged is lost, and the ballast opens the journal again.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use herder::core::agent::Agent;
use herder::journal::{CommitError, Journal, Settings};

use super::{batch, child, of, queued, settings, write};

/// Returns a disk of 24 MB at `disk` that only these children see, one after the other.
fn on_a_small_disk(disk: &Path, tests: &[&str]) -> Option<Command> {
    let mount = "mount -t tmpfs -o size=24m tmpfs \"$HERDER_TEST_CHILD\"";
    let unshared = |script: String| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script]).arg(std::env::current_exe().expect("this binary"));
        command.env("HERDER_TEST_CHILD", disk);
        command
    };
    if !unshared(mount.to_owned()).output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let runs = tests.iter().map(|test| format!(" && \"$0\" --exact {test} --nocapture"));
    Some(unshared(mount.to_owned() + &runs.collect::<String>()))
}

/// Limits files to 8 MB, where no small disk can be mounted.
fn under_a_limit(test: &str, dir: &Path) -> Command {
    let inner = child(test, dir);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 16384; exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command
}

fn passes(mut command: Command) {
    let output = command.output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed") && !text.contains("0 passed"), "{text}");
}

/// Commits until the disk is full. Gives how much was acknowledged.
async fn fill(settings: &Settings) -> u64 {
    let (journal, _) = Journal::open(settings).expect("opens");
    let failed = journal.failed();
    let mut acked = 0;
    let text = "x".repeat(30_000);
    let error = loop {
        let it = batch(vec![write(of("spark"), Some(acked), vec![queued(acked + 1, &text)])]);
        match journal.commit(it).await {
            Ok(receipt) => acked = receipt.revs[0],
            Err(error) => break error,
        }
    };
    let CommitError::Failed(reason) = error else { panic!("{error}") };
    assert_eq!(*failed.borrow(), Some(reason.clone()));
    let again = journal.commit(batch(vec![])).await;
    assert_eq!(again, Err(CommitError::Failed(reason)), "a journal that failed stays failed");
    acked
}

fn small_disk() -> Option<(PathBuf, Settings, tokio::runtime::Runtime)> {
    let dir = PathBuf::from(std::env::var_os("HERDER_TEST_CHILD")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let settings = Settings { ballast: 4 << 20, ..settings(&dir.join("home")) };
    Some((dir, settings, runtime))
}

/// Takes whatever room is left.
fn take_the_rest(dir: &Path) {
    let mut rest = OpenOptions::new().append(true).create(true).open(dir.join("rest")).expect("opens");
    while rest.write_all(&[1_u8; 512]).is_ok() {}
}

#[test]
fn child_that_fills_a_small_disk() {
    let Some((dir, settings, runtime)) = small_disk() else { return };
    // Its block is taken now: later there is none.
    let said = fs::File::create(dir.join("said")).expect("makes");
    said.write_all_at(&[b' '; 20], 0).expect("writes");
    let acked = runtime.block_on(fill(&settings));
    assert!(acked > 100, "{acked}");
    said.write_all_at(acked.to_string().as_bytes(), 0).expect("writes");
}

#[test]
fn child_that_opens_on_a_full_disk() {
    let Some((dir, settings, runtime)) = small_disk() else { return };
    let acked: u64 = fs::read_to_string(dir.join("said")).expect("said").trim().parse().expect("a number");
    take_the_rest(&dir);
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert!(opening.ballast_released, "{opening:?}");
    assert!(opening.missing.is_empty(), "{opening:?}");
    let loaded = journal.load::<Agent>(&of("spark")).expect("loads");
    assert!(loaded.rev >= acked && loaded.missing == 0, "{} of {acked}", loaded.rev);
    let mut low = journal.disk_low();
    let it = batch(vec![write(of("spark"), None, vec![queued(1, "there is room to say so")])]);
    runtime.block_on(journal.commit(it)).expect("commits");
    runtime.block_on(low.wait_for(Option::is_some)).expect("the warning comes");
}

#[test]
fn child_with_nothing_left_to_give_up() {
    let Some((dir, settings, _)) = small_disk() else { return };
    assert!(!settings.dir.join("ballast").exists());
    take_the_rest(&dir);
    let error = Journal::open(&settings).expect_err("full");
    assert!(error.to_string().contains("is full and there is nothing left to give up"), "{error}");
}

#[test]
fn a_full_disk_is_said_and_the_ballast_opens_the_journal_again() {
    let children = ["that_fills_a_small_disk", "that_opens_on_a_full_disk", "with_nothing_left_to_give_up"]
        .map(|child| format!("journal::full::child_{child}"));
    // Without the permission to mount, the limit on the size of files below stands in for it.
    let disk = tempfile::tempdir().expect("a folder");
    let Some(command) = on_a_small_disk(disk.path(), &children.each_ref().map(String::as_str)) else {
        return;
    };
    passes(command);
}

#[test]
fn child_under_a_limit() {
    let Some(dir) = std::env::var_os("HERDER_TEST_CHILD").map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let acked = runtime.block_on(fill(&settings(&dir)));
    fs::write(dir.join("said"), acked.to_string()).expect("writes");
}

#[test]
fn a_file_that_cannot_grow_fails_the_journal_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    passes(under_a_limit("journal::full::child_under_a_limit", dir.path()));
    let acked: u64 = fs::read_to_string(dir.path().join("said")).expect("said").parse().expect("a number");
    assert!(acked > 50, "{acked}");
    let (journal, opening) = Journal::open(&settings(dir.path())).expect("opens");
    assert!(opening.missing.is_empty(), "{opening:?}");
    assert!(journal.load::<Agent>(&of("spark")).expect("loads").rev >= acked);
}
