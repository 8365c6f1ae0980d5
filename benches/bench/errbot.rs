//! errbot, a widely used chat bot, without a rate limit of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// errbot, at work until it is dropped.
pub(crate) struct Errbot(Child);

fn program() -> PathBuf {
    let tools = std::env::var_os("HERDER_TEST_TOOLS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools"), PathBuf::from);
    tools.join("errbot/bin/errbot")
}

impl Errbot {
    pub(crate) fn is_installed() -> bool {
        program().exists()
    }

    /// Starts it with its files in `dir`; `None` if it is not installed.
    pub(crate) fn start(server: SocketAddr, dir: &Path, room: &str) -> Option<Self> {
        if !Self::is_installed() {
            return None;
        }
        let home = dir.join("errbot");
        std::fs::create_dir_all(home.join("data")).expect("a folder");
        let config = format!(
            "import logging\nBACKEND = 'IRC'\nBOT_DATA_DIR = {data:?}\nBOT_LOG_FILE = {log:?}\n\
             BOT_LOG_LEVEL = logging.ERROR\nBOT_ADMINS = ('alice!*@*',)\nBOT_PREFIX = '!'\nBOT_EXTRA_PLUGIN_DIR = {data:?}\n\
             BOT_IDENTITY = {{'nickname': 'errbot', 'server': '127.0.0.1', 'port': {port}}}\n\
             CHATROOM_PRESENCE = ({room:?},)\nIRC_CHANNEL_RATE = None\nIRC_PRIVATE_RATE = None\n",
            data = home.join("data").display().to_string(),
            log = home.join("log").display().to_string(),
            port = server.port(),
        );
        let path = home.join("config.py");
        std::fs::write(&path, config).expect("a file");
        let started = Command::new(program())
            .arg("-c")
            .arg(&path)
            .current_dir(&home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Some(Self(started.expect("it starts")))
    }
}

impl Drop for Errbot {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
