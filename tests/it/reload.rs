//! A herder that runs reads its configuration again: by SIGHUP and by command, with agents at work.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Password, Server};
use herder::local::{self, Request};
use rustix::process::Signal;

use crate::kill::{Running, reap, signal};
use crate::stage::{ALICE, MALLORY, PATIENCE, Person};

/// Notes that it runs, and how, and works until it is ended.
fn busy(name: &str, how: &str) -> String {
    format!("[\"sh\", \"-c\", \"echo {how} $$ >> {name}.runs; exec sleep 600\"]")
}

fn agent(dir: &Path, name: &str, command: &str, more: &str) -> String {
    format!(
        "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = {dir:?}\ncommand = {command}\npermissions = \"read-only\"\n{more}\n"
    )
}

struct Field {
    dir: tempfile::TempDir,
    server: Server,
    config: PathBuf,
}

impl Field {
    async fn new() -> Self {
        let account = |name: &str, password: &str| (name.to_owned(), Password::of(password));
        // herder comes in from outside here, under a nick that is nobody's.
        let options = embedded_ircd::Options {
            bot_nick: "nobody".to_owned(),
            guests: true,
            accounts: vec![account("alice", ALICE), account("mallory", MALLORY)],
            ..embedded_ircd::Options::default()
        };
        let server = Server::start(options).await.expect("a free port");
        let dir = tempfile::tempdir().expect("a folder");
        let config = dir.path().join("bot.toml");
        Self { dir, server, config }
    }

    /// Writes the file: `access`, what else is said before the agents, and these.
    fn write(&self, access: &str, more: &str, agents: &[String]) {
        let text = format!(
            "[[irc]]\nname = \"demo\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n[access]\n{access}\n\
             [supervisor]\nstop_grace = \"1s\"\n[evaluator]\nkind = \"builtin\"\n{more}\n{}",
            self.server.address().port(),
            agents.concat()
        );
        std::fs::write(&self.config, text).expect("the file is written");
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config, &[])
    }

    async fn person(&self, nick: &str, password: &str) -> Person {
        let mut person =
            Person::join(self.server.address(), nick, Some(password), &["#herder", "#alerts"]).await;
        person.reaches("herder", "#herder").await;
        person
    }

    /// How an agent was run and by which process, once it was run so often.
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

    /// What `herder reload` in a shell says, and how it ends.
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

const ADMIN: &str = "admins = [\"irc:demo:alice\"]\nviewers = [\"*\"]";

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_taken_in_and_what_did_not_change_goes_on() {
    let field = Field::new().await;
    let dir = field.dir.path();
    let (keep, calm) = (agent(dir, "keep", &busy("keep", "first"), ""), agent(dir, "calm", "[\"true\"]", ""));
    let (cut, gone) =
        (agent(dir, "cut", &busy("cut", "first"), ""), agent(dir, "gone", &busy("gone", "first"), ""));
    field.write(ADMIN, "", &[keep, calm, cut.clone(), gone.clone()]);
    let herder = field.start();
    let mut alice = field.person("alice", ALICE).await;
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
    field.write(ADMIN, limits, &[keep.clone(), calm.clone(), cut.clone(), fresh.clone()]);
    signal(&herder, Signal::HUP);
    let told = alice.hears("#herder", "configuration was read again").await;
    insta::assert_snapshot!(told, @"🔄 The configuration was read again: added fresh; changed keep (from the next session on); restarted cut with another command; removed gone, history kept; from now on: [limits]; from the next start on: [tools].");
    let now_cut = field.runs("cut", 2).await;
    assert_eq!(now_cut[1].0, "second");
    dies(was_cut[0].1).await;
    dies(was_gone[0].1).await;
    assert!(lives(kept[0].1), "{kept:?}");
    alice.say("#herder", "@fresh work").await;
    field.runs("fresh", 1).await;
    let agents = field.ask("agent list", &[]).await.lines.join("\n");
    assert!(agents.contains("fresh") && !agents.contains("gone"), "{agents}");

    // What waits for the next start is named until then.
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

    // One that is written anew is there again.
    field.write(ADMIN, limits, &[keep, calm, cut, fresh, gone]);
    let (code, said) = field.shell();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("read again: added gone; from the next start on: [tools]."), "{said}");
    assert_eq!(field.runs("keep", 1).await, kept, "it was not started again");
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_command_changes_with_the_next_line() {
    let field = Field::new().await;
    let idle = [agent(field.dir.path(), "idle", "[\"true\"]", "")];
    field.write(ADMIN, "", &idle);
    let herder = field.start();
    let (mut alice, mut mallory) =
        (field.person("alice", ALICE).await, field.person("mallory", MALLORY).await);
    mallory.say("#herder", "!pause idle").await;
    mallory.hears("#herder", "needs the role").await;
    field.write("admins = [\"irc:demo:mallory\"]\nviewers = [\"*\"]", "", &idle);
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

/// A herder that was killed in the midst of a reload, or before one: the next start does what the file says.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_takes_in_what_a_reload_would() {
    let field = Field::new().await;
    let dir = field.dir.path();
    let first = |name: &str| agent(dir, name, &busy(name, "first"), "");
    field.write(ADMIN, "", &[first("cut"), first("gone")]);
    let herder = field.start();
    let mut alice = field.person("alice", ALICE).await;
    for name in ["cut", "gone"] {
        alice.say("#herder", &format!("@{name} work")).await;
        field.runs(name, 1).await;
    }
    signal(&herder, Signal::KILL);
    assert!(!reap(herder).await.success());
    field.write(ADMIN, "", &[agent(dir, "cut", &busy("cut", "second"), "")]);
    let herder = field.start();
    let runs = field.runs("cut", 2).await;
    assert_eq!(runs[1].0, "second", "by the old command it never runs again");
    alice.reaches("herder", "#herder").await;
    let agents = field.ask("agent list", &[]).await.lines.join("\n");
    assert!(agents.contains("cut") && !agents.contains("gone"), "{agents}");
    assert_eq!(field.runs("gone", 1).await.len(), 1);
    alice.say("#herder", "!reload").await;
    alice.hears("#herder", "nothing has changed").await;
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}
