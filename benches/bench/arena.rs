//! Children that are compiled here and say when they run.

use std::collections::HashMap;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A child that says its name and pid as the first thing it does, then sleeps: compiled here, so that nothing but the
/// exec itself is measured.
const CHILD: &str = r#"
use std::os::unix::net::UnixDatagram;
fn main() {
    let mut args = std::env::args().skip(1);
    let (socket, name) = (args.next().unwrap(), args.next().unwrap());
    let line = format!("{name} {}", std::process::id());
    UnixDatagram::unbound().unwrap().send_to(line.as_bytes(), socket).unwrap();
    loop { std::thread::sleep(std::time::Duration::from_secs(3600)); }
}
"#;

/// No waits, and the most patience that the configuration takes.
pub(crate) const POLICY: &str = r#"
[supervisor]
max_active = 0
process_backoff = { base = "0s", cap = "0s" }
breaker = { failures = 127, window = "1s" }
degraded = { restarts = 127, window = "1s" }
"#;

/// A folder with a child's program, and the socket on which children say that they run.
pub(crate) struct Arena {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) child: PathBuf,
    pub(crate) socket_path: PathBuf,
    socket: UnixDatagram,
}

impl Arena {
    /// Compiles [`CHILD`].
    pub(crate) fn new() -> Self {
        Self::of(CHILD)
    }

    /// Compiles a child of this source.
    pub(crate) fn of(text: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let (source, child) = (dir.path().join("child.rs"), dir.path().join("child"));
        std::fs::write(&source, text).expect("the child's source is written");
        let compiled =
            Command::new("rustc").args(["-O", "-o"]).arg(&child).arg(&source).status().expect("rustc runs");
        assert!(compiled.success(), "the child does not compile");
        let socket_path = dir.path().join("s");
        let socket = UnixDatagram::bind(&socket_path).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Self { dir, child, socket_path, socket }
    }

    /// Returns the command line of a child of this name.
    pub(crate) fn command<'a>(&'a self, name: &'a str) -> [&'a str; 3] {
        let text = |path: &'a Path| path.to_str().expect("a plain path");
        [text(&self.child), text(&self.socket_path), name]
    }

    /// Returns the next child that says it runs.
    pub(crate) fn heard(&self) -> (String, u32) {
        let mut buffer = [0; 256];
        let length = self.socket.recv(&mut buffer).expect("a child says that it runs within a minute");
        let line = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let (name, pid) = line.split_once(' ').expect("name and pid");
        (name.to_owned(), pid.parse().expect("a pid"))
    }

    /// Returns the pids of so many children, by name.
    pub(crate) fn hear_all(&self, count: usize) -> HashMap<String, u32> {
        let mut children = HashMap::new();
        while children.len() < count {
            let (name, pid) = self.heard();
            children.insert(name, pid);
        }
        children
    }
}
