//! A whole herder as a process of its own, which is asked over its socket and killed with -9.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::local::{self, Answer, Request};
use rustix::process::Signal;

use super::{Running, outside_server, reap, signal};
use crate::stage::PATIENCE;

/// A herder with its folder, and the server that it is on.
pub(crate) struct Process {
    pub(crate) dir: tempfile::TempDir,
    _server: Server,
    herder: Option<Running>,
}

impl Process {
    /// Starts a herder. Its configuration is made for its folder and the port of its server.
    pub(crate) async fn begin(configuration: impl FnOnce(&Path, u16) -> String) -> Self {
        let (dir, server) = (tempfile::tempdir().expect("a folder"), outside_server().await);
        let text = configuration(dir.path(), server.address().port());
        std::fs::write(dir.path().join("bot.toml"), text).expect("a file");
        let mut process = Self { dir, _server: server, herder: None };
        process.starts();
        process
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn starts(&mut self) {
        self.herder = Some(Running::start(self.dir.path(), &self.path("bot.toml"), &[]));
    }

    /// Kills herder with -9, and starts it again.
    pub(crate) async fn is_killed(&mut self) {
        let herder = self.herder.take().expect("it runs");
        signal(&herder, Signal::KILL);
        reap(herder).await;
        self.starts();
    }

    /// Starts herder again, once it has ended.
    pub(crate) fn is_started(&mut self) {
        self.starts();
    }

    /// Ends herder in order.
    pub(crate) async fn ends(&mut self) {
        let herder = self.herder.take().expect("it runs");
        signal(&herder, Signal::TERM);
        reap(herder).await;
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Asks once; herder may be killed before it has answered.
    pub(crate) async fn try_ask(&self, command: &str, args: &[&str]) -> Option<Answer> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        local::ask(&self.path("data").join(local::FILE_NAME), &request).await.ok()
    }

    /// Asks until herder answers; a command that is given again must be one that can be.
    pub(crate) async fn ask(&self, command: &str, args: &[&str]) -> Answer {
        let asking = async {
            loop {
                if let Some(answer) = self.try_ask(command, args).await {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let answer = tokio::time::timeout(PATIENCE, asking).await;
        answer.unwrap_or_else(|_| panic!("no answer to {command}: {}", self.log()))
    }

    /// Gives a command, which has to succeed.
    pub(crate) async fn does(&self, command: &str, args: &[&str]) {
        let answer = self.ask(command, args).await;
        assert!(answer.ok, "{:?}\n{}", answer.lines, self.log());
    }
}
