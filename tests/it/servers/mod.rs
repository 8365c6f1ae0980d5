//! Real IRC servers, each started by the test that needs it: on a free port of loopback, in a folder of its own.
//!
//! A server that is not installed is a failure that names the package, not a skipped test.

pub(crate) mod agentirc;
pub(crate) mod inspircd;
pub(crate) mod ngircd;
pub(crate) mod person;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The longest a server may take to listen; agentirc is a Python program on a machine that is busy with other tests.
const START: Duration = Duration::from_secs(60);

/// Ports that no outgoing connection is given: one of those could hold the port until its server wants it, and who connects to
/// it before the server listens may reach themselves.
const PORTS: std::ops::Range<u16> = 10_000..32_000;

/// Returns a port that was free a moment ago, drawn so that tests beside each other do not get the same.
pub(crate) fn free_port() -> u16 {
    let drawn = || RandomState::new().build_hasher().finish() % u64::from(PORTS.end - PORTS.start);
    let mut ports = std::iter::repeat_with(|| PORTS.start + u16::try_from(drawn()).expect("below its bound"));
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.expect("a free port")
}

/// A server process; it ends with the test.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts `command`, which comes from `package`, with its output in `log`.
    pub(crate) fn start(command: &mut Command, package: &str, log_path: &Path) -> Self {
        let log =
            std::fs::File::options().create(true).append(true).open(log_path).expect("a writable folder");
        let errors = log.try_clone().expect("a second handle");
        // A server that crashes leaves its core in its own folder.
        let folder = log_path.parent().expect("a file in a folder");
        let spawned = command.current_dir(folder).stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        let child = spawned.unwrap_or_else(|error| {
            panic!("cannot start {}: {error}; install it with: {package}", command.get_program().display())
        });
        Self { child }
    }

    /// Waits until something listens on `port`.
    pub(crate) fn listening(&mut self, port: u16, log: &Path) {
        let end = Instant::now() + START;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let said = || std::fs::read_to_string(log).unwrap_or_default();
            if let Some(status) = self.child.try_wait().expect("our own child") {
                panic!("the server ended ({status}): {}", said());
            }
            assert!(Instant::now() < end, "the server does not listen: {}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server where it is, with its sockets open.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the server continue.
    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("not 0");
        kill_process(pid, signal).expect("our own child");
    }

    /// Kills the server without a goodbye.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
