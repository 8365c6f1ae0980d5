//! ngircd (`apt-get install ngircd`): one capability only, no services, and it disconnects a client that sends a long
//! line.

use std::process::Command;

use super::{Daemon, free_port};

pub(crate) struct Ngircd {
    pub(crate) port: u16,
    pub(crate) daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Ngircd {
    /// Starts a server with its default penalties for clients that send too much, and `limits` in its section
    /// `[Limits]`.
    pub(crate) fn start(limits: &str) -> Self {
        Self::start_with("", &format!("MaxNickLength = 16\n{limits}"))
    }

    /// Starts a server with `global` in its first section, too.
    pub(crate) fn start_with(global: &str, limits: &str) -> Self {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a folder");
        let config = format!(
            "[Global]\nName = irc.test.local\nInfo = test\nListen = 127.0.0.1\nPorts = {port}\nMotdPhrase = hello\n\
             AdminEMail = a@test.local\n{global}\n[Limits]\nMaxConnectionsIP = 0\n{limits}\n\
             [Options]\nDNS = no\nIdent = no\nPAM = no\n"
        );
        std::fs::write(folder.path().join("ngircd.conf"), config).expect("writable");
        let daemon = spawn(&folder, port);
        Self { port, daemon, folder }
    }

    /// Starts it again on the same port.
    pub(crate) fn restart(&mut self) {
        self.daemon = spawn(&self.folder, self.port);
    }
}

fn spawn(folder: &tempfile::TempDir, port: u16) -> Daemon {
    let log = folder.path().join("log");
    let mut command = Command::new("/usr/sbin/ngircd");
    command.arg("-n").arg("-f").arg(folder.path().join("ngircd.conf"));
    let mut daemon = Daemon::start(&mut command, "apt-get install ngircd", &log);
    daemon.listening(port, &log);
    daemon
}
