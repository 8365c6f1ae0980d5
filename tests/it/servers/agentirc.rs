//! agentirc (PyPI): no 005, no 376, nicks that begin with the server's name.
//!
//! Installed by `scripts/test` into `target/test-tools/agentirc` (elsewhere with `HERDER_TEST_TOOLS`):
//!
//! ```text
//! python3 -m venv target/test-tools/agentirc
//! target/test-tools/agentirc/bin/pip install agentirc-cli==9.11.0 'opentelemetry-instrumentation-aiohttp-server==0.60b0'
//! ```
//!
//! The second package is named because all its versions are pre-releases; pip takes one, and what it pins, only so.

use std::path::PathBuf;
use std::process::Command;

use super::{Daemon, free_port};

pub(crate) struct Agentirc {
    pub(crate) port: u16,
    pub(crate) daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Agentirc {
    /// Returns a server called `desk`.
    pub(crate) fn start() -> Self {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a folder");
        let daemon = spawn(&folder, port);
        Self { port, daemon, folder }
    }

    /// Starts it again on the same port, with the same history.
    pub(crate) fn restart(&mut self) {
        self.daemon = spawn(&self.folder, self.port);
    }
}

fn spawn(folder: &tempfile::TempDir, port: u16) -> Daemon {
    let tools = std::env::var_os("HERDER_TEST_TOOLS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-tools"), PathBuf::from);
    let log = folder.path().join("log");
    let mut command = Command::new(tools.join("agentirc/bin/agentirc"));
    command
        .args(["serve", "--name", "desk", "--host", "127.0.0.1"])
        .args(["--port", &port.to_string(), "--webhook-port", &free_port().to_string()])
        .arg("--data-dir")
        .arg(folder.path())
        .env("HOME", folder.path());
    let mut daemon = Daemon::start(&mut command, "scripts/test (pip: agentirc-cli)", &log);
    daemon.listening(port, &log);
    daemon
}
