//! Messages of the real binary to the service manager, over a socket of the test's own.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::going_down::Hanging;
use crate::stage::PATIENCE;

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

#[test]
fn no_sign_of_life_comes_while_the_journal_hangs() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut service = Service::start(dir.path());
    service.hears("WATCHDOG=1");
    let hanging = Hanging::writer_of(service.child.id());
    // Signs from before it hung may wait to be read on a busy machine, and one may be under way.
    service.socket.set_nonblocking(true).expect("a socket");
    let mut before = [0; 4096];
    while service.socket.recv(&mut before).is_ok() {}
    service.socket.set_nonblocking(false).expect("a socket");
    service.socket.set_read_timeout(Some(Duration::from_secs(2))).expect("it can wait");
    let mut buffer = [0; 4096];
    let mut signs = 0;
    while let Ok(length) = service.socket.recv(&mut buffer) {
        signs += usize::from(String::from_utf8_lossy(&buffer[..length]).contains("WATCHDOG=1"));
        assert!(signs <= 1, "it says that it lives while it cannot write");
    }
    drop(hanging);
    service.socket.set_read_timeout(Some(PATIENCE)).expect("it can wait");
    service.hears("WATCHDOG=1");
}
