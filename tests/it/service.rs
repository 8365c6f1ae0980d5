//! Messages of the real binary to the service manager, over a socket of the test's own.

use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use herder::run::Options;
use herder::supervisor::FaultInjection;
use rustix::process::{Pid, Signal, kill_process};

use crate::going_down::Hanging;
use crate::stage::{self, PATIENCE, Stage};

/// The period in which herder reports that it lives, in microseconds: half of the service manager's timeout.
const WATCHDOG: &str = "400000";

/// A herder under a service manager, and what it says to that.
struct Service {
    child: Child,
    socket: UnixDatagram,
    heard: Vec<String>,
}

impl Service {
    fn start(dir: &Path) -> Self {
        let path = dir.join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("it can wait");
        let config = "[[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = \"/tmp\"\n\
                      command = [\"sh\", \"-c\", \"env > environment; cat\"]\n";
        std::fs::write(dir.join("bot.toml"), config.replace("/tmp", &dir.display().to_string()))
            .expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_herder"))
            .args(["run", "--config"])
            .arg(dir.join("bot.toml"))
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", WATCHDOG)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("herder starts");
        Self { child, socket, heard: Vec::new() }
    }

    /// The next message that has `wanted` in it.
    fn hears(&mut self, wanted: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            let length =
                self.socket.recv(&mut buffer).unwrap_or_else(|_| panic!("no {wanted} in {:#?}", self.heard));
            let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
            self.heard.push(message.clone());
            if message.contains(wanted) {
                return message;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("it runs");
        kill_process(pid, signal).expect("it can be signalled");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may be gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn each_part_of_a_life_is_told_in_its_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut service = Service::start(dir.path());
    service.hears("READY=1");
    assert!(service.heard.iter().any(|said| said.contains("EXTEND_TIMEOUT_USEC=")), "{:#?}", service.heard);
    let status = service.hears("STATUS=1 agent, 0 at work; embedded up");
    assert!(!status.contains("READY"), "{status}");
    service.hears("WATCHDOG=1");
    service.signal(Signal::HUP);
    let reloading = service.hears("RELOADING=1");
    let began = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).expect("since when");
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let age = now.tv_sec - began.parse::<i64>().expect("microseconds") / 1_000_000;
    assert!((0..PATIENCE.as_secs().cast_signed()).contains(&age), "{began} was {age} s ago");
    service.hears("READY=1");
    // One that is refused is over, too.
    std::fs::write(dir.path().join("bot.toml"), "nonsense").expect("a file");
    service.signal(Signal::HUP);
    service.hears("RELOADING=1");
    service.hears("READY=1");
    service.signal(Signal::TERM);
    let stopping = service.hears("STOPPING=1");
    let more = stopping.lines().find_map(|line| line.strip_prefix("EXTEND_TIMEOUT_USEC="));
    let more: u64 = more.and_then(|more| more.parse().ok()).expect("time for the drain");
    assert!(more >= 10_000_000, "{stopping}");
    assert!(service.child.wait().expect("it ends").success());
}

impl Service {
    /// Asserts that at most the sign that is under way still comes, for several of its periods.
    fn falls_silent(&mut self) {
        // Signs from before it hung may wait to be read on a busy machine, and one may be under way.
        self.socket.set_nonblocking(true).expect("a socket");
        let mut buffer = [0; 4096];
        while self.socket.recv(&mut buffer).is_ok() {}
        self.socket.set_nonblocking(false).expect("a socket");
        self.socket.set_read_timeout(Some(Duration::from_secs(2))).expect("it can wait");
        let mut signs = 0;
        while let Ok(length) = self.socket.recv(&mut buffer) {
            signs += usize::from(String::from_utf8_lossy(&buffer[..length]).contains("WATCHDOG=1"));
            assert!(signs <= 1, "it says that it lives while it hangs");
        }
        self.socket.set_read_timeout(Some(PATIENCE)).expect("it can wait");
    }
}

#[test]
fn no_sign_of_life_comes_while_the_journal_hangs() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut service = Service::start(dir.path());
    service.hears("WATCHDOG=1");
    let hanging = Hanging::writer_of(service.child.id());
    service.falls_silent();
    drop(hanging);
    service.hears("WATCHDOG=1");
}

/// Set for the process whose root hangs when it is told to.
const HANGS: &str = "HERDER_TEST_ROOT_HANGS";

/// A herder whose root hangs from a line of the input to the next one, and which ends with the input.
#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn hangs_at_every_line() {
    let (hangs, goes_on) = (Arc::new(Mutex::new(false)), Arc::new(Condvar::new()));
    let (held, woken) = (Arc::clone(&hangs), Arc::clone(&goes_on));
    let fault = FaultInjection::of_root(move || {
        let hangs = held.lock().expect("a lock");
        drop(woken.wait_while(hangs, |hangs| *hangs).expect("a lock"));
    });
    let (server, dir) = (stage::server().await, tempfile::tempdir().expect("a folder"));
    let config = stage::config(dir.path(), vec![stage::embedded_network(&server)], Vec::new());
    let stage = Stage::open(config, Options { fault, ..stage::inside(&server) }).await;
    let lines = tokio::task::spawn_blocking(move || {
        for _ in std::io::stdin().lines() {
            let mut hangs = hangs.lock().expect("a lock");
            *hangs = !*hangs;
            goes_on.notify_all();
        }
    });
    lines.await.expect("no panic");
    stage.close().await;
}

#[test]
fn no_sign_of_life_comes_while_the_root_hangs() {
    if std::env::var_os(HANGS).is_some() {
        return hangs_at_every_line();
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("it can wait");
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["service::no_sign_of_life_comes_while_the_root_hangs", "--exact"])
        .envs([
            (HANGS, "1".as_ref()),
            ("NOTIFY_SOCKET", path.as_os_str()),
            ("WATCHDOG_USEC", WATCHDOG.as_ref()),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program starts");
    let mut input = child.stdin.take().expect("piped");
    let mut service = Service { child, socket, heard: Vec::new() };
    service.hears("WATCHDOG=1");
    input.write_all(b"\n").expect("it reads");
    service.falls_silent();
    input.write_all(b"\n").expect("it reads");
    service.hears("WATCHDOG=1");
    drop(input);
    assert!(service.child.wait().expect("it ends").success());
}
