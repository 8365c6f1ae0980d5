//! A herder that did not run for longer than any of its clocks: by SIGSTOP, while its agents continue, and in a
//! frozen cgroup together with them, as with `docker pause`.
//!
//! `HERDER_STOPS` sets the number of each (2; `scripts/test` sets 10). Where no cgroup can be frozen the second one fails,
//! unless `HERDER_NO_FREEZER=1` says that there is none.

use std::path::PathBuf;
use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::config::History;
use herder::core::agent::Agent;
use herder::core::id::AgentName;
use herder::journal::{self, Journal, Stream};
use herder::local;
use rustix::process::Signal;

use crate::kill::{Running, asked_until, lines, number, outside_server, reap, signal};
use crate::stage::PATIENCE;

/// Longer than each of the clocks of [`LIMITS`].
const STANDS_STILL: Duration = Duration::from_secs(7);

/// The environment variable that says that no cgroup can be frozen on this machine.
const NO_FREEZER: &str = "HERDER_NO_FREEZER";

const LIMITS: &str =
    "[supervisor]\nheartbeat_timeout = \"3s\"\nsilence_timeout = \"4s\"\nstop_grace = \"1s\"\n";

/// Says something twice a second, for as many half seconds as its name says.
const AGENTS: [(&str, u32); 4] = [("a4", 4), ("b9", 9), ("c14", 14), ("d24", 24)];

const SCRIPT: &str = "cat > /dev/null; echo $1 >> begun; n=0; \
                      while [ $n -lt $2 ]; do echo at it; sleep 0.5; n=$((n + 1)); done; echo $1 >> ended";

struct Herder {
    dir: tempfile::TempDir,
    _server: Server,
    config: PathBuf,
}

impl Herder {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = outside_server().await;
        let mut text = format!(
            "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n{LIMITS}",
            server.address().port()
        );
        for (agent, halves) in AGENTS {
            text += &format!(
                "[[agent]]\nname = \"{agent}\"\nruntime = \"command\"\nworkspace = \"{}\"\ncommand = [\"sh\", \"-c\", '{SCRIPT}', \"sh\", \"{agent}\", \"{halves}\"]\n",
                dir.path().display()
            );
        }
        let config = dir.path().join("bot.toml");
        std::fs::write(&config, text).unwrap();
        Self { dir, _server: server, config }
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config, &[])
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let mut lines = lines(&self.dir.path().join(file));
        lines.sort();
        lines
    }

    /// Waits until that many lines are in a file.
    async fn until(&self, file: &str, lines: usize) {
        let there = async {
            while self.lines(file).len() < lines {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let log = || std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let waited = tokio::time::timeout(PATIENCE, there).await;
        assert!(waited.is_ok(), "{file}: {:?}\n{}", self.lines(file), log());
    }

    /// Gives every agent something to do.
    async fn give(&self) {
        let socket = self.dir.path().join("data").join(local::FILE_NAME);
        for (agent, _) in AGENTS {
            asked_until(&socket, ("task add", &[agent, "count the beans"]), |answer| answer.ok).await;
        }
    }

    /// Checks that every agent has done its work in one session.
    async fn each_has_done_its_work_once(&self, rounds: u64) {
        let settings = journal::Settings {
            ballast: 0,
            ..journal::Settings::new(self.dir.path().join("data"), History::default())
        };
        let (journal, _) =
            tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
        for (agent, _) in AGENTS {
            let stream = Stream::Agent(AgentName::new(agent).unwrap());
            let totals = journal.load::<Agent>(&stream).unwrap().state.totals;
            assert_eq!((totals.sessions, totals.successes, totals.failures), (rounds, rounds, 0), "{agent}");
        }
        journal.close().await;
    }

    /// Stops and continues herder by these, again and again.
    async fn survives(&self, herder: Running, stop: impl Fn(&Running), go_on: impl Fn(&Running)) {
        let rounds = number("HERDER_STOPS", 2);
        for round in 1..=rounds {
            let all = AGENTS.len() * usize::try_from(round).unwrap();
            self.give().await;
            self.until("begun", all).await;
            stop(&herder);
            tokio::time::sleep(STANDS_STILL).await;
            go_on(&herder);
            self.until("ended", all).await;
            assert_eq!(self.lines("begun"), self.lines("ended"), "round {round}");
            self.until_all_is_recorded(round).await;
        }
        signal(&herder, Signal::TERM);
        assert!(reap(herder).await.success());
        self.each_has_done_its_work_once(rounds).await;
    }

    /// Waits until the finished work is recorded.
    async fn until_all_is_recorded(&self, round: u64) {
        let socket = self.dir.path().join("data").join(local::FILE_NAME);
        for (agent, _) in AGENTS {
            let is_recorded = |answer: &local::Answer| {
                answer.data.as_ref().is_some_and(|status| status["totals"]["successes"] == round)
            };
            asked_until(&socket, ("status", &[agent]), is_recorded).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herder_that_was_stopped_ends_no_agent_and_has_nothing_done_twice() {
    let field = Herder::new().await;
    let herder = field.start();
    field
        .survives(herder, |herder| signal(herder, Signal::STOP), |herder| signal(herder, Signal::CONT))
        .await;
}

/// A cgroup that can be frozen.
struct Freezer {
    group: PathBuf,
    /// The file, and what is written into it to freeze and to thaw.
    state: (PathBuf, &'static str, &'static str),
}

impl Freezer {
    /// Makes one: below the freezer of version 1, or below version 2, in the root or in the test's own group.
    ///
    /// # Errors
    /// The reasons why none can be made, one for each place.
    fn make() -> Result<Self, String> {
        let name = format!("herder-it-{}", std::process::id());
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let of_version_2 = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
        let inside = of_version_2.clone().map(|root| root.join(own));
        let (frozen, thawed) = ("FROZEN", "THAWED");
        let first = (PathBuf::from("/sys/fs/cgroup/freezer"), "freezer.state", frozen, thawed);
        let later = of_version_2.into_iter().chain(inside).map(|root| (root, "cgroup.freeze", "1", "0"));
        let mut reasons = Vec::new();
        for (root, file, frozen, thawed) in std::iter::once(first).chain(later) {
            let group = root.join(&name);
            match std::fs::create_dir(&group) {
                Ok(()) if group.join(file).exists() => {
                    return Ok(Self { state: (group.join(file), frozen, thawed), group });
                }
                Ok(()) => {
                    std::fs::remove_dir(&group).ok();
                    reasons.push(format!("{} has no {file}", root.display()));
                }
                Err(reason) => reasons.push(format!("{}: {reason}", root.display())),
            }
        }
        Err(reasons.join("; "))
    }

    fn take(&self, pid: u32) {
        std::fs::write(self.group.join("cgroup.procs"), pid.to_string()).expect("it takes a process");
    }

    fn set(&self, freezes: bool) {
        let (file, frozen, thawed) = &self.state;
        std::fs::write(file, if freezes { frozen } else { thawed }).expect("it can be frozen and thawed");
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.set(false);
        // It is empty once all that was in it is gone.
        std::fs::remove_dir(&self.group).ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herder_that_was_frozen_with_its_agents_ends_none_and_has_nothing_done_twice() {
    let made = Freezer::make();
    if made.is_err() && std::env::var_os(NO_FREEZER).is_some_and(|value| value == "1") {
        return;
    }
    let freezer = made.unwrap_or_else(|reasons| {
        panic!(
            "no cgroup can be frozen here ({reasons}); run the tests as root, or in a delegated group, or set \
             {NO_FREEZER}=1 to leave this test out"
        )
    });
    let field = Herder::new().await;
    let herder = field.start();
    freezer.take(herder.pid());
    field.survives(herder, |_| freezer.set(true), |_| freezer.set(false)).await;
}
