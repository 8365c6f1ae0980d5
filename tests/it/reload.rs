//! A running herder reloads its configuration: by SIGHUP and by command, with agents at work, on each network.

mod meanwhile;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Password, Server};
use herder::local::{self, Request};
use rustix::process::Signal;

use crate::kill::{Running, reap, signal};
use crate::on::{Network, On, Somebody, on_each_network};
use crate::stage::{ALICE, MALLORY, PATIENCE};

/// Notes that it runs, and how, and works until it is ended.
fn busy(name: &str, how: &str) -> String {
    format!("[\"sh\", \"-c\", \"echo {how} $$ >> {name}.runs; exec sleep 600\"]")
}

fn agent(dir: &Path, name: &str, command: &str, more: &str) -> String {
    format!(
        "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = {dir:?}\ncommand = {command}\npermissions = \"read-only\"\n{more}\n"
    )
}

/// Starts a server to which herder connects from outside, under a nick that it does not reserve.
async fn server() -> Server {
    let account = |name: &str, password: &str| (name.to_owned(), Password::of(password));
    let options = embedded_ircd::Options {
        bot_nick: "nobody".to_owned(),
        guests: true,
        accounts: vec![account("alice", ALICE), account("mallory", MALLORY)],
        ..embedded_ircd::Options::default()
    };
    Server::start(options).await.expect("a free port")
}

struct Field {
    dir: tempfile::TempDir,
    network: Network,
    config: PathBuf,
}

impl Field {
    async fn new(on: On) -> Self {
        let network = match on {
            On::Irc => Network::Irc(server().await),
            On::Discord => Network::start(on).await,
        };
        let dir = tempfile::tempdir().expect("a folder");
        let config = dir.path().join("bot.toml");
        Self { dir, network, config }
    }

    /// Writes the file: who is admin, what else is said before the agents, and these.
    fn write(&self, admin: &str, more: &str, agents: &[String]) {
        let (network, admin) = match &self.network {
            Network::Irc(server) => {
                let port = server.address().port();
                let network =
                    format!("[[irc]]\nname = \"demo\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false");
                (network, format!("irc:demo:{admin}"))
            }
            Network::Discord(sim) => {
                let (guild, url) = (sim.guild_id(), sim.api_url());
                let network = format!(
                    "[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {guild}\napi_url = \"{url}\""
                );
                (network, format!("discord:{}", sim.user(admin).id))
            }
        };
        let evaluator = if more.contains("[evaluator]") { "" } else { "[evaluator]\nkind = \"builtin\"\n" };
        let text = format!(
            "{network}\n[access]\nadmins = [\"{admin}\"]\nviewers = [\"*\"]\n[supervisor]\nstop_grace = \"1s\"\n\
             {evaluator}{more}\n{}",
            agents.concat()
        );
        std::fs::write(&self.config, text).expect("the file is written");
    }

    fn start(&self) -> Running {
        let token = match &self.network {
            Network::Irc(_) => String::new(),
            Network::Discord(sim) => sim.token(),
        };
        Running::start(self.dir.path(), &self.config, &[("DISCORD_TOKEN", &token)])
    }

    async fn person(&self, name: &str) -> Somebody {
        let mut person = self.network.somebody(name, &["#herder", "#alerts"]).await;
        person.is_heard_in(&["#herder"]).await;
        person
    }

    /// Returns the command lines and processes of an agent's runs, once there are that many.
    async fn runs(&self, agent: &str, often: usize) -> Vec<(String, u32)> {
        let file = self.dir.path().join(format!("{agent}.runs"));
        let enough = async {
            loop {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                if lines.len() >= often && text.ends_with('\n') {
                    let words = lines.iter().filter_map(|line| line.split_once(' '));
                    return words.map(|(how, pid)| (how.to_owned(), pid.parse().expect("a pid"))).collect();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, enough)
            .await
            .unwrap_or_else(|_| panic!("{agent} never ran {often} times"))
    }

    async fn ask(&self, command: &str, args: &[&str]) -> local::Answer {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        let socket = self.dir.path().join("data").join(local::FILE_NAME);
        local::ask(&socket, &request).await.expect("herder answers")
    }

    /// Returns the exit code and output of `herder reload` in a shell.
    fn shell(&self) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_herder"))
            .args(["reload", "--config"])
            .arg(&self.config)
            .output()
            .expect("the binary runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), self.plain(&String::from_utf8_lossy(&said)))
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.dir.path().display().to_string(), "<folder>")
    }
}

fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

async fn dies(pid: u32) {
    let dead = async {
        while lives(pid) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, dead).await.unwrap_or_else(|_| panic!("{pid} goes on"));
}

on_each_network!(
    a_changed_file_is_taken_in_and_what_did_not_change_goes_on,
    who_may_command_changes_with_the_next_line,
    a_start_takes_in_what_a_reload_would,
);

async fn a_changed_file_is_taken_in_and_what_did_not_change_goes_on(on: On) {
    let field = Field::new(on).await;
    let dir = field.dir.path();
    let (keep, calm) = (agent(dir, "keep", &busy("keep", "first"), ""), agent(dir, "calm", "[\"true\"]", ""));
    let (cut, gone) =
        (agent(dir, "cut", &busy("cut", "first"), ""), agent(dir, "gone", &busy("gone", "first"), ""));
    field.write("alice", "", &[keep, calm, cut.clone(), gone.clone()]);
    let herder = field.start();
    let mut alice = field.person("alice").await;
    for name in ["keep", "cut", "gone"] {
        alice.say("#herder", &format!("@{name} work")).await;
    }
    let (kept, was_cut) = (field.runs("keep", 1).await, field.runs("cut", 1).await);
    let was_gone = field.runs("gone", 1).await;

    // Nothing of `keep` that runs is changed, and nothing of `calm`; `cut` has another command.
    let keep = agent(dir, "keep", &busy("keep", "first"), "instructions = \"take care\"");
    let calm = agent(dir, "calm", "[\"true\"]", "");
    let cut = agent(dir, "cut", &busy("cut", "second"), "");
    let fresh = agent(dir, "fresh", &busy("fresh", "first"), "");
    let limits = "[limits]\nusd_per_day = 30\n[tools]\nsends_per_minute = 5";
    field.write("alice", limits, &[keep.clone(), calm.clone(), cut.clone(), fresh.clone()]);
    signal(&herder, Signal::HUP);
    let told = alice.hears("#herder", "configuration was read again").await;
    assert_eq!(
        told,
        "🔄 The configuration was read again: added fresh; changed keep (from the next session on); restarted cut with another command; removed gone, history kept; from now on: [limits]; from the next start on: [tools]."
    );
    let now_cut = field.runs("cut", 2).await;
    assert_eq!(now_cut[1].0, "second");
    dies(was_cut[0].1).await;
    dies(was_gone[0].1).await;
    assert!(lives(kept[0].1), "{kept:?}");
    alice.say("#herder", "@fresh work").await;
    field.runs("fresh", 1).await;
    let agents = field.ask("agent list", &[]).await.lines.join("\n");
    assert!(agents.contains("fresh") && !agents.contains("gone"), "{agents}");

    // Changes that need a restart are named until then.
    alice.say("#herder", "!reload").await;
    let told = alice.hears("#herder", "configuration was read again").await;
    assert!(told.ends_with("read again: from the next start on: [tools]."), "{told}");

    // Mistakes change nothing, and who is told depends on who asked.
    let mistakes = "nam = \"x\"\nlocale = \"fr\"\nshape = 3\ncolour = 4\n";
    std::fs::write(&field.config, mistakes).expect("it is written");
    signal(&herder, Signal::HUP);
    let told = alice.hears("#alerts", "nothing has changed").await;
    assert!(told.contains("it has 4 mistakes: ") && told.contains("bot.toml:1: nam: "), "{told}");
    alice.say("#herder", "!reload").await;
    let told = alice.hears("#herder", "nothing has changed").await;
    assert!(told.contains("it has 4 mistakes: ") && told.contains("bot.toml:1: nam: "), "{told}");
    let (code, said) = field.shell();
    assert_eq!(code, Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(said.lines().count() == 5 && last.starts_with("<folder>/bot.toml:4: "), "{said}");
    std::fs::write(&field.config, "\n").expect("it is written");
    let (code, said) = field.shell();
    assert!(
        code == Some(1) && said.contains("it has a mistake: ") && said.contains("the file is empty"),
        "{said}"
    );
    std::fs::remove_file(&field.config).expect("it was there");
    let vanished = field.ask("reload", &[]).await;
    assert!(!vanished.ok);
    assert!(vanished.lines.iter().any(|line| line.contains("there is no such file")), "{vanished:?}");
    assert!(lives(kept[0].1) && lives(now_cut[1].1), "{kept:?} {now_cut:?}");

    // A section that is written again is there again.
    field.write("alice", limits, &[keep, calm, cut, fresh, gone]);
    let (code, said) = field.shell();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("read again: added gone; from the next start on: [tools]."), "{said}");
    assert_eq!(field.runs("keep", 1).await, kept, "it was not started again");
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}

async fn who_may_command_changes_with_the_next_line(on: On) {
    let field = Field::new(on).await;
    let idle = [agent(field.dir.path(), "idle", "[\"true\"]", "")];
    field.write("alice", "", &idle);
    let herder = field.start();
    let (mut alice, mut mallory) = (field.person("alice").await, field.person("mallory").await);
    mallory.say("#herder", "!pause idle").await;
    mallory.hears("#herder", "needs the role").await;
    field.write("mallory", "", &idle);
    alice.say("#herder", "!reload").await;
    let told = alice.hears("#herder", "configuration was read again").await;
    assert!(told.ends_with("read again: from now on: [access]."), "{told}");
    mallory.say("#herder", "!pause idle").await;
    mallory.hears("#herder", "idle is paused").await;
    alice.say("#herder", "!reload").await;
    alice.hears("#herder", "needs the role").await;
    let audit = field.ask("audit", &[]).await.lines;
    assert!(audit.iter().any(|line| line.contains("alice") && line.contains("reload")), "{audit:?}");
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}

/// Kills herder during a reload, or before one: the next start does what the file says.
async fn a_start_takes_in_what_a_reload_would(on: On) {
    let field = Field::new(on).await;
    let dir = field.dir.path();
    let first = |name: &str| agent(dir, name, &busy(name, "first"), "");
    field.write("alice", "", &[first("cut"), first("gone")]);
    let herder = field.start();
    let mut alice = field.person("alice").await;
    for name in ["cut", "gone"] {
        alice.say("#herder", &format!("@{name} work")).await;
        field.runs(name, 1).await;
    }
    signal(&herder, Signal::KILL);
    assert!(!reap(herder).await.success());
    field.write("alice", "", &[agent(dir, "cut", &busy("cut", "second"), "")]);
    let herder = field.start();
    let runs = field.runs("cut", 2).await;
    assert_eq!(runs[1].0, "second", "by the old command it never runs again");
    alice.is_heard_in(&["#herder"]).await;
    let agents = field.ask("agent list", &[]).await.lines.join("\n");
    assert!(agents.contains("cut") && !agents.contains("gone"), "{agents}");
    assert_eq!(field.runs("gone", 1).await.len(), 1);
    alice.say("#herder", "!reload").await;
    alice.hears("#herder", "nothing has changed").await;
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}
