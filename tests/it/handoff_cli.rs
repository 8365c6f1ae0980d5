//! A person takes the conversation of the real claude and codex up in a terminal, by the line that `handoff` says, and
//! after `resume` the agent knows what was said there.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use herder::core::handoff::quoted;
use herder::core::spec::AgentSpec;
use herder::local::{self, Request};
use rustix::process::Signal;

use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::kill::{Running, outside_server, reap, signal};
use crate::stage::{PATIENCE, Person, appears};
use crate::tools::killed::configuration;
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("handoff_cli", name, test);
}

/// A terminal in which a person types: a tmux server of its own, which ends with this.
struct Terminal(PathBuf);

impl Terminal {
    /// Runs a line by a shell, with the variables that the person's own shell has.
    fn open(folder: &Path, line: &str, spec: &AgentSpec) -> Self {
        let terminal = Self(folder.join("terminal"));
        let script = folder.join("typed.sh");
        // A person has their own keys, and none of the folders, which the line names.
        let keys = spec.env.iter().filter(|(name, _)| name.as_str() != "HOME");
        let keys: String = keys.map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        std::fs::write(&script, format!("{keys}{line}\n")).expect("a file is written");
        let run = format!("sh {}", script.display());
        let opened = terminal.tmux(&["new-session", "-d", "-x", "160", "-y", "50", &run]);
        assert!(opened.status.success(), "{opened:?}");
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.args(["-f", "/dev/null", "-S"]).arg(&self.0).args(words);
        tmux.env_clear().env("PATH", std::env::var_os("PATH").expect("a PATH")).env("TERM", "xterm-256color");
        tmux.env("LANG", "C.UTF-8").env("SHELL", "/bin/sh").env("HOME", "/nonexistent");
        tmux.output().expect("tmux is there")
    }

    /// Waits until the screen is as wanted; it is empty when the program has ended.
    async fn until(&self, wanted: impl Fn(&str) -> bool) {
        let seen = async {
            while !wanted(&self.shown()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("{}", self.shown()));
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

async fn is_taken_up_and_given_back(
    runtime: &str,
    make: fn(&ModelApi, &Path) -> AgentSpec,
    settle: fn(&AgentSpec),
) {
    let api = ModelApi::start(Scenario::Success).await;
    let (dir, server) = (tempfile::tempdir().expect("a folder"), outside_server().await);
    let mut spec = make(&api, dir.path());
    // The line has to quote it.
    let odd = dir.path().join("it's the work");
    std::fs::rename(&spec.workspace, &odd).expect("renamed");
    spec.workspace = odd;
    settle(&spec);
    let networks = format!(
        "[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
         [access]\nadmins = [\"irc-mask:test:boss!*@localhost\"]\n[evaluator]\nkind = \"off\"\n\
         [supervisor]\nstartup_timeout = \"2m\"\n",
        server.address().port()
    );
    let config = dir.path().join("bot.toml");
    std::fs::write(&config, configuration(&networks, runtime, &spec)).expect("written");
    let mut boss = Person::join(server.address(), "boss", None, &["#spark"]).await;
    let bot = Running::start(dir.path(), &config, &[]);
    boss.reaches("herder", "#spark").await;
    let socket = dir.path().join("data").join(local::FILE_NAME);
    appears(&socket).await;
    let ask = async |command: &str| {
        let request = Request { command: command.to_owned(), args: vec!["spark".to_owned()] };
        local::ask(&socket, &request).await.expect("herder answers")
    };
    let refused = ask("handoff").await;
    assert!(!refused.ok && refused.lines[0].contains("no conversation yet"), "{refused:?}");

    boss.say("#spark", "The first word is heron.").await;
    boss.hears("#spark", ANSWER).await;
    boss.hears("#spark", "completed").await;
    let handed = ask("handoff").await;
    assert!(handed.ok, "{handed:?}");
    boss.hears("#spark", "paused").await;
    let data = handed.data.clone().expect("data");
    let line = data["line"].as_str().expect("a line").to_owned();
    let status = ask("status").await.data.expect("data");
    assert_eq!((&status["handoff"], &status["conversation"]), (&data["line"], &data["conversation"]));
    assert!(handed.lines.join("\n").contains(&format!("\n`{line}`")), "{handed:?}");

    let terminal = Terminal::open(dir.path(), &format!("{line} 'The second word is osprey.'"), &spec);
    let asked = api.hears(&["first word is heron", "second word is osprey"]);
    if tokio::time::timeout(PATIENCE, asked).await.is_err() {
        panic!("{line}\n{}\n{}", terminal.shown(), api.last());
    }
    // The first answer is there as history.
    terminal.until(|shown| shown.matches(ANSWER).count() == 2).await;
    terminal.tmux(&["send-keys", "/exit"]);
    terminal.until(|shown| shown.contains("/exit")).await;
    terminal.tmux(&["send-keys", "Enter"]);
    terminal.until(str::is_empty).await;
    drop(terminal);

    boss.say("#spark", "resume").await;
    boss.say("#spark", "What are the words?").await;
    boss.hears("#spark", ANSWER).await;
    boss.hears("#spark", "completed").await;
    let last = api.last();
    for said in ["first word is heron", "second word is osprey", "What are the words?"] {
        assert!(last.contains(said), "{said} is missing: {last}");
    }
    let after = ask("status").await.data.expect("data");
    assert_eq!(after["conversation"], data["conversation"], "it is the same conversation");
    signal(&bot, Signal::TERM);
    assert!(reap(bot).await.success());
}

#[test]
fn claude_is_taken_up_and_given_back() {
    // The first start in a terminal asks for its look, for the use of the key, and for trust in the folder.
    let settle = |spec: &AgentSpec| {
        let key = &spec.env["ANTHROPIC_API_KEY"];
        let settings = serde_json::json!({
            "hasCompletedOnboarding": true, "theme": "dark",
            "customApiKeyResponses": { "approved": [key], "rejected": [] },
            "projects": { spec.workspace.to_str().expect("text"): {
                "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
            } },
        });
        let file = Path::new(&spec.env["HOME"]).join(".claude.json");
        std::fs::write(file, settings.to_string()).expect("written");
    };
    alone("claude_is_taken_up_and_given_back", || {
        is_taken_up_and_given_back("claude", claude_cli::agent, settle)
    });
}

#[test]
fn codex_is_taken_up_and_given_back() {
    let settle = |spec: &AgentSpec| {
        let file = Path::new(&spec.env["HOME"]).join(".codex/config.toml");
        let config = std::fs::read_to_string(&file).expect("its configuration");
        let trusted = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", spec.workspace);
        std::fs::write(file, format!("model = \"some-model\"\n{config}{trusted}")).expect("written");
    };
    alone("codex_is_taken_up_and_given_back", || {
        is_taken_up_and_given_back("codex", codex_cli::agent, settle)
    });
}

/// Types lines into an interactive bash, and returns what they write.
fn interactive(lines: &str) -> Vec<u8> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"]).env("HISTFILE", "/dev/null");
    bash.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut bash = bash.spawn().expect("bash is there");
    bash.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("it reads");
    bash.wait_with_output().expect("it ends").stdout
}

#[test]
fn a_shell_reads_every_word_back() {
    for word in [
        "",
        "plain",
        "/srv/a b",
        "it's",
        "a`id`b",
        "$(id)",
        "$HOME",
        "a\\b",
        "100%'s",
        "-n'",
        "a\nb",
        "\u{202e}'",
        "ä'ö",
        "~",
        "*",
        "a;b|c&d>e",
        "\\n'",
        "!x",
        "it's!!",
        "!t'",
        "日本'",
    ] {
        let quoted = quoted(word).expect("it can be written");
        assert!(!quoted.contains(['\n', '`', '\u{202e}']), "{quoted}");
        for shell in ["sh", "bash"] {
            let said = Command::new(shell).args(["-c", &format!("printf %s {quoted}")]).output();
            let said = said.expect("a shell");
            assert_eq!(String::from_utf8_lossy(&said.stdout), word, "{shell}: {quoted}");
        }
        // A person's own shell replaces `!` by earlier commands where it is not quoted.
        let typed = format!("true\nprintf %s {quoted}\n");
        assert_eq!(String::from_utf8_lossy(&interactive(&typed)), word, "typed: {quoted}");
    }
    assert_eq!((quoted("a\n"), quoted("a\0b")), (None, None));
}
