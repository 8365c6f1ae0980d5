//! Every `console` block of the README and the manual, typed as it stands.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{blocks, pages, read};
use crate::stage::PATIENCE;

/// Cargo as the README calls it: what it would build is the binary under test.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
"run --release -- "*) shift 3; exec herder "$@" ;;
"install --path .") mkdir -p ~/.cargo/bin && cp -L "$(command -v herder)" ~/.cargo/bin/ ;;
*) exit 2 ;;
esac
"#;

/// Makes a repository with the refs of a task in it.
const WORKED: &str = "set -e; git init --quiet --initial-branch=main ~/repos/app; cd ~/repos/app
commit() { echo $2 > $1; git add $1; git -c user.name=$3 -c user.email=$3@example.org commit --quiet -m \"$4\"; }
commit file a ann 'the first'; git update-ref refs/herder/7/base HEAD
git switch --quiet --detach; commit build b spark 'port the build'; git update-ref refs/herder/7/head HEAD
git switch --quiet main";

/// A person's empty home, in a network of its own, so that the ports that herder proposes are free.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        fs::create_dir(home.path().join("bin")).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_herder"), home.path().join("bin/herder")).expect("a link");
        let cargo = home.path().join("bin/cargo");
        fs::write(&cargo, CARGO).expect("written");
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("its mode is set");
        Self(home)
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("unshare");
        shell.args(["--user", "--map-root-user", "--net", "sh", "-c"]);
        shell.arg(format!("ip link set lo up; {line}"));
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env_clear().env("HOME", self.0.path()).env("LANG", "C.UTF-8");
        shell.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", self.0.path().join("bin").display()));
        shell.current_dir(self.0.path()).process_group(0);
        shell
    }

    /// Types a line, answering every question with Enter.
    fn types(&self, line: &str) -> Output {
        let enters = self.0.path().join("enters");
        fs::write(&enters, "\n".repeat(20)).expect("written");
        self.shell(line).stdin(fs::File::open(enters).expect("it is there")).output().expect("a shell")
    }

    /// Types a line that runs until it is interrupted, which is done once it has said how to join.
    fn runs(&self, line: &str) -> String {
        let mut shell = self.shell(&format!("exec {line}"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().expect("a shell");
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        let mut said = String::new();
        for heard in BufReader::new(child.stdout.take().expect("piped")).lines() {
            let heard = heard.expect("text");
            if heard.contains("/connect 127.0.0.1 ") {
                kill_process_group(group, Signal::INT).expect("it can be interrupted");
            }
            said.push_str(&heard);
            said.push('\n');
        }
        let output = child.wait_with_output().expect("it ends");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {:?}\n{said}\n{complaint}", output.status.code());
        said
    }
}

fn goes_on(line: &str) -> bool {
    ["herder run", "cargo run --release -- demo"].iter().any(|command| line.starts_with(command))
}

/// Types all blocks of a page, one after the other; says how many lines there were.
fn follow(page: &Path) -> usize {
    let all = blocks(&read(page), "console").concat();
    let typed: Vec<&str> = all.split("$ ").filter(|part| !part.trim().is_empty()).collect();
    let home = Home::new();
    if typed.first().is_some_and(|first| first.starts_with("herder ex")) {
        // The page begins where herder has run before.
        assert!(home.types("herder init").status.success());
        home.runs("herder run");
    }
    if typed.first().is_some_and(|first| first.starts_with("git ")) {
        // The page begins where an agent has worked on a task.
        let made = home.types(WORKED);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    for part in &typed {
        let (line, expected) = part.split_once('\n').unwrap_or((part, ""));
        let said = if goes_on(line) {
            home.runs(line)
        } else {
            let output = home.types(line);
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{}: {line}\n{said}\n{complaint}", page.display());
            said
        };
        assert!(said.starts_with(expected), "{}: {line} says\n{said}", page.display());
    }
    typed.len()
}

/// The page on which herder runs in one terminal while its reader goes on in another.
const MERGED: &str = "docs/start/merged.md";

/// Types the page's lines as a reader does, who looks again until they see what the page shows.
#[test]
fn a_first_task_is_merged_as_the_manual_says() {
    let text = read(Path::new(MERGED));
    let home = Home::new();
    let at = |name: &str| home.0.path().join(name);
    let here = text.replace("/home/me", &home.0.path().display().to_string());
    let [agent] = &blocks(&here, "sh")[..] else { panic!("one script") };
    let [config] = &blocks(&here, "toml")[..] else { panic!("one configuration") };
    fs::write(at("agent"), agent).expect("written");
    fs::write(at("bot.toml"), config).expect("written");
    fs::write(at(".gitconfig"), "[user]\nname = ann\nemail = ann@example.org\n").expect("written");
    let all = blocks(&here, "console").concat();
    let mut running = None;
    for part in all.split("$ ").filter(|part| !part.trim().is_empty()) {
        let (line, expected) = part.split_once('\n').unwrap_or((part, ""));
        if line == "herder run" {
            let mut shell = home.shell("exec herder run");
            running = Some(shell.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("a shell"));
            continue;
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let output = home.types(line);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() && said.starts_with(expected) {
                break;
            }
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(Instant::now() < until, "{line} says\n{said}\n{complaint}");
        }
    }
    let mut running = running.expect("herder runs");
    let group = i32::try_from(running.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process_group(group, Signal::INT).expect("it can be interrupted");
    assert!(running.wait().expect("it ends").success());
}

#[test]
fn what_is_shown_at_a_prompt_works_as_it_stands() {
    let others = pages().into_iter().filter(|page| page != Path::new(MERGED));
    let lines: usize = others.map(|page| follow(&page)).sum();
    assert!(lines >= 8, "{lines} lines were found");
}
