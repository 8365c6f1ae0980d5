//! A data folder on a disk that cannot be written: at a start, for an export, and from one moment to the next while
//! herder runs.
//! The real binary on real file systems.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use herder::local::{self, Request};
use rustix::process::Signal;

use crate::going_down::apart;
use crate::kill::{Running, reap, signal};
use crate::stage::appears;

/// Set for the run that may mount: its folder.
const APART: &str = "HERDER_TEST_GOING_DOWN";

/// Folder of the disk, below that of a test.
const DISK: &str = "disk";

/// A folder with a configuration, and its data on the disk.
struct Ground(PathBuf);

impl Ground {
    fn new(dir: PathBuf) -> Self {
        let text = format!(
            "data_dir = {:?}\ndrain_timeout = \"2s\"\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\n\
             workspace = {:?}\ncommand = [\"sh\", \"-c\", \"cat > /dev/null\"]\n",
            dir.join(DISK).join("data"),
            dir.join("work"),
        );
        std::fs::write(dir.join("bot.toml"), text).expect("a file");
        std::fs::create_dir(dir.join("work")).expect("a folder");
        Self(dir)
    }

    fn start(&self) -> Running {
        // A killed herder leaves its socket, which nobody listens on.
        std::fs::remove_file(self.data().join(local::FILE_NAME)).ok();
        Running::start(&self.0, &self.0.join("bot.toml"), &[])
    }

    fn data(&self) -> PathBuf {
        self.0.join(DISK).join("data")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.0.join("log")).unwrap_or_default()
    }

    async fn ask(&self, command: &str, args: &[&str]) -> Result<local::Answer, String> {
        let socket = self.data().join(local::FILE_NAME);
        appears(&socket).await;
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let answer = local::ask(&socket, &Request { command: command.to_owned(), args }).await;
        answer.map_err(|error| format!("{error}\n{}", self.log()))
    }

    /// Pauses the agent and gives it tasks, which stay in its queue.
    async fn pause_and_give(&self, texts: &[&str]) {
        assert!(self.ask("pause", &["spark"]).await.expect("herder answers").ok);
        for text in texts {
            assert!(self.ask("task add", &["spark", text]).await.expect("herder answers").ok, "{text}");
        }
    }

    async fn queued(&self) -> String {
        self.ask("queue", &["spark"]).await.expect("herder answers").lines.join("\n")
    }

    fn runs(&self, args: &[&str]) -> Output {
        let mut herder = Command::new(env!("CARGO_BIN_EXE_herder"));
        herder.args(args).current_dir(&self.0).stdin(Stdio::null()).output().expect("it can be run")
    }

    /// Exports everything and checks that the export holds these words.
    fn exports(&self, words: &[&str]) {
        let file = self.0.join("export.jsonl");
        let (data, output) = (self.data().display().to_string(), file.display().to_string());
        let exported = self.runs(&["export", "--data-dir", &data, "--output", &output]);
        let said = String::from_utf8_lossy(&exported.stderr);
        assert!(exported.status.success(), "{}: {said}", exported.status);
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert!(words.iter().all(|word| text.contains(word)), "{said}");
        std::fs::remove_file(&file).expect("it is there");
    }
}

fn mounts(disk: &Path, options: &str) {
    let status = Command::new("mount").args(["-o", options]).arg(disk).status();
    assert!(status.expect("mount is there").success(), "{options}");
}

async fn ends(herder: Running, how: Signal) {
    signal(&herder, how);
    reap(herder).await;
}

#[test]
fn on_a_disk_that_is_read_only_an_export_works_and_a_start_says_what_to_do() {
    let script = format!("mkdir \"${APART}/{DISK}\" && mount -t tmpfs tmpfs \"${APART}/{DISK}\"");
    let name = "read_only::on_a_disk_that_is_read_only_an_export_works_and_a_start_says_what_to_do";
    apart(name, &script, |dir| async move {
        let ground = Ground::new(dir);
        let disk = ground.0.join(DISK);
        for (round, end) in [Signal::TERM, Signal::KILL].into_iter().enumerate() {
            let herder = ground.start();
            let texts = [format!("first-{round}"), format!("second-{round}")];
            ground.pause_and_give(&texts.each_ref().map(String::as_str)).await;
            ends(herder, end).await;
            mounts(&disk, "remount,ro");
            ground.exports(&texts.each_ref().map(String::as_str));
            let run = ground.runs(&["run", "--config", "bot.toml"]);
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(!run.status.success());
            let data = ground.data().display().to_string();
            for part in [data.as_str(), "is read-only", "mount -o remount,rw", "herder export"] {
                assert!(said.contains(part), "{part}: {said}");
            }
            assert!(!said.contains("os error"), "{said}");
            mounts(&disk, "remount,rw");
            let herder = ground.start();
            let queued = ground.queued().await;
            assert!(texts.iter().all(|text| queued.contains(text)), "{queued}");
            assert!(ground.ask("resume", &["spark"]).await.expect("herder answers").ok);
            ends(herder, Signal::TERM).await;
        }
    });
}

/// ext4 makes itself read-only when its disk fails it, which can be asked of it by an option of its own.
#[test]
fn a_disk_that_becomes_read_only_is_said_and_nothing_acknowledged_is_lost() {
    let name = "read_only::a_disk_that_becomes_read_only_is_said_and_nothing_acknowledged_is_lost";
    if let Some(dir) = std::env::var_os(APART) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        return runtime.expect("a runtime starts").block_on(becomes_read_only(dir.into()));
    }
    let dir = tempfile::tempdir().expect("a folder");
    let script = format!(
        "cd \"${APART}\" && mkdir {DISK} && truncate -s 64M image && mkfs.ext4 -q image && mount -o loop image {DISK} \
         && \"$0\" --exact {name} --nocapture"
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .arg(std::env::current_exe().expect("this program has a path"))
        .env(APART, dir.path())
        .output()
        .expect("unshare is there (package util-linux)");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let hint = "this test is root's, on a machine with loop devices, and needs mkfs.ext4 (package e2fsprogs)";
    assert!(output.status.success() && text.contains("1 passed"), "{hint}: {text}");
}

async fn becomes_read_only(dir: PathBuf) {
    let ground = Ground::new(dir);
    let disk = ground.0.join(DISK);
    let mut herder = ground.start();
    ground.pause_and_give(&["first", "second"]).await;
    mounts(&disk, "remount,abort");
    // An answer may be missing now; it must never say that the command was carried out.
    let third = ground.ask("task add", &["spark", "third"]).await;
    assert!(third.is_err() || third.is_ok_and(|answer| !answer.ok));
    let code = tokio::task::spawn_blocking(move || herder.wait()).await.expect("it ends");
    let log = ground.log();
    assert!(code.is_some_and(|code| code != 0), "{code:?}\n{log}");
    assert!(log.contains("the journal cannot be written"), "{log}");
    ground.exports(&["first", "second"]);
    let run = ground.runs(&["run", "--config", "bot.toml"]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && said.contains("is read-only"), "{said}");
    let again = Command::new("sh")
        .args(["-c", "umount \"$0\" && mount -o loop image \"$0\""])
        .arg(&disk)
        .current_dir(&ground.0)
        .status();
    assert!(again.expect("it can be run").success());
    let herder = ground.start();
    let queued = ground.queued().await;
    assert!(queued.contains("first") && queued.contains("second"), "{queued}");
    ends(herder, Signal::TERM).await;
}
