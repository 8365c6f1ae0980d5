//! The process log tells an agent's life to an operator who reads `journalctl` and nothing else.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::servers::ngircd::Ngircd;
use crate::stage::PATIENCE;

const CONFIG: &str = r#"
[access]
admins = ["irc:embedded:ann"]

[supervisor]
process_backoff = { base = "1s", cap = "1s" }
degraded = { restarts = 1, window = "30m" }

[[agent]]
name = "spark"
runtime = "command"
command = ["sh", "-c", "cat > /dev/null; echo 'no such table: users' >&2; exit 3"]
workspace = "WORKSPACE"
"#;

pub(crate) fn herder(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herder"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .env_remove("HERDER_LOG")
        .env("USER", "ann")
        .stdin(Stdio::null());
    command
}

pub(crate) fn start(folder: &Path, format: &str) -> (Child, BufReader<ChildStderr>) {
    let mut command = herder(folder, &["run", "--log-format", format]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let log = BufReader::new(child.stderr.take().expect("it is piped"));
    (child, log)
}

/// Reads the log up to the line that contains `end`.
pub(crate) fn read_until(log: &mut impl BufRead, end: &str) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(
            log.read_line(&mut line).expect("the log is readable"),
            0,
            "{end:?} never came: {lines:#?}"
        );
        let last = line.contains(end);
        lines.push(line);
        if last {
            return lines;
        }
    }
}

/// Waits for another process, which tells nobody.
fn until(what: &str, is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn stop(mut child: Child) {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{status}");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workspace = folder.path().join("work");
    fs::create_dir(&workspace).expect("the workspace is made");
    let config = CONFIG.replace("WORKSPACE", &workspace.display().to_string());
    fs::write(folder.path().join("bot.toml"), config).expect("the configuration is written");
    folder
}

fn say(folder: &Path, arguments: &[&str]) {
    let output = herder(folder, arguments).output().expect("the binary starts");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// Returns the message of a line, without the parts that differ from run to run.
fn told(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).expect("each line is JSON");
    if line["target"] != "herder::journal" {
        return None;
    }
    let message = line["message"].as_str().expect("each line has a message");
    let message = message.split_once(" after ").filter(|(before, _)| *before == "session ended").map_or_else(
        || {
            message.split_once(" until ").map_or(message.to_owned(), |(before, rest)| {
                format!("{before} until …{}", rest.get(20..).unwrap_or_default())
            })
        },
        |(before, rest)| format!("{before} after …{}", rest.split_once(':').map_or("", |(_, why)| why)),
    );
    let mut told = format!("{} {message}", line["level"].as_str().unwrap_or_default());
    for field in ["agent", "session", "task", "account", "outcome", "by"] {
        if let Some(value) = line.get(field) {
            told.push_str(&format!(" {field}={value}"));
        }
    }
    assert!(line["revision"].as_u64().is_some_and(|revision| revision > 0), "{line}");
    Some(told)
}

#[test]
fn a_crash_loop_and_who_ended_it_are_read_in_the_log() {
    let folder = folder();
    let (child, mut log) = start(folder.path(), "json");
    let mut lines = read_until(&mut log, "agent added");
    say(folder.path(), &["task", "add", "spark", "make the report"]);
    lines.extend(read_until(&mut log, "halted"));
    say(folder.path(), &["resume", "spark"]);
    lines.extend(read_until(&mut log, "resumed"));
    let told: Vec<String> = lines.iter().filter_map(|line| told(line)).collect();
    insta::assert_snapshot!(told.join("\n"));
    // A line is found by the agent's account, and one of a session by its task.
    let fields = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for line in fields.filter(|line| line["target"] == "herder::journal" && !line["agent"].is_null()) {
        assert!(line["account"].is_string(), "{line}");
        assert_eq!(line["session"].is_u64(), line["session"].is_u64() && line["task"].is_u64(), "{line}");
    }
    stop(child);
}

/// Each line of the text log stands on its own, whatever an agent prints.
#[test]
fn what_agents_print_makes_no_lines_of_its_own() {
    let folder = folder();
    let config = fs::read_to_string(folder.path().join("bot.toml")).expect("it is there");
    let config =
        config.replace("no such table: users", "one\\\\n2026-01-01T00:00:00Z ERROR forged\\\\033[2J");
    fs::write(folder.path().join("bot.toml"), config.replace("echo ", "printf ")).expect("it is written");
    let (child, mut log) = start(folder.path(), "text");
    read_until(&mut log, "agent added");
    say(folder.path(), &["task", "add", "spark", "make the report"]);
    let lines = read_until(&mut log, "halted");
    assert!(lines.iter().any(|line| line.contains("session ended") && line.contains("forged")), "{lines:#?}");
    assert!(
        lines.iter().all(|line| !line.starts_with("2026-01-01") && !line.contains('\u{1b}')),
        "{lines:#?}"
    );
    stop(child);
}

/// Under systemd each line begins with its priority, and what follows is the line.
#[test]
fn the_journal_is_told_the_priority_of_each_line() {
    use std::os::unix::fs::MetadataExt as _;
    for format in ["json", "text"] {
        let folder = folder();
        let path = folder.path().join("log");
        let file = fs::File::create(&path).expect("a file");
        let found = file.metadata().expect("it is there");
        let mut command = herder(folder.path(), &["run", "--log-format", format]);
        let child = command
            .env("JOURNAL_STREAM", format!("{}:{}", found.dev(), found.ino()))
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("the binary starts");
        let socket = folder.path().join("data/herder.sock");
        until("a socket", || socket.exists());
        say(folder.path(), &["task", "add", "spark", "make the report"]);
        let read = || fs::read_to_string(&path).expect("it is readable");
        until("a halt in the log", || read().contains("halted, needs a person"));
        stop(child);
        let text = read();
        for line in text.lines() {
            let (priority, line) = line.strip_prefix('<').and_then(|line| line.split_once('>')).expect("one");
            let level = match priority {
                "3" => "ERROR",
                "4" => "WARN",
                "6" => "INFO",
                other => panic!("{other}: {line}"),
            };
            if format == "json" {
                let line: Value = serde_json::from_str(line).expect("each line is JSON");
                assert_eq!(line["level"], level);
            } else {
                assert!(line.contains(level), "{level}: {line}");
            }
        }
        assert!(text.contains("<4>") && text.contains("<6>"), "{text}");
    }
}

/// Somebody who reads nothing but the log can tell that a network was away, from when to when, and that work was paused
/// and by whom.
#[test]
fn an_outage_and_a_pause_are_read_in_the_log() {
    let folder = folder();
    let mut ngircd = Ngircd::start("");
    let port = ngircd.port;
    let config = fs::read_to_string(folder.path().join("bot.toml")).expect("it is there");
    let network = format!(
        "[[irc]]\nname = \"libera\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [networks]\nreconnect_max = \"1s\"\nattempts = 2\n[access]"
    );
    let config = config.replacen("[access]", &network, 1).replace("irc:embedded:ann", "irc:libera:ann");
    fs::write(folder.path().join("bot.toml"), config).expect("it is written");
    let (child, mut log) = start(folder.path(), "json");
    let mut lines = read_until(&mut log, "a network is up");
    ngircd.daemon.kill();
    lines.extend(read_until(&mut log, "a network is lost"));
    say(folder.path(), &["pause", "spark"]);
    lines.extend(read_until(&mut log, "a network stays away"));
    ngircd.restart();
    lines.extend(read_until(&mut log, "a network is up"));
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let lost = lines.iter().find(|line| line["message"].as_str().is_some_and(|it| it.contains("is lost")));
    let lost = lost.expect("it is told");
    assert_eq!((&lost["level"], &lost["network"]), (&"WARN".into(), &"libera".into()));
    let paused = lines.iter().find(|line| line["message"] == "paused").expect("it is told");
    assert_eq!((&paused["agent"], &paused["by"]), (&"spark".into(), &"ann on local".into()));
    let away = lines.iter().find(|line| line["message"] == "a network stays away").expect("it is told");
    assert_eq!((&away["level"], &away["network"]), (&"WARN".into(), &"libera".into()));
    assert!(away["attempts"].as_u64().is_some_and(|attempts| attempts > 1), "{away}");
    let back = lines.last().expect("there are lines");
    assert_eq!((&back["level"], &back["network"]), (&"INFO".into(), &"libera".into()));
    assert!(lines.iter().all(|line| line["timestamp"].is_string()), "{lines:#?}");
    stop(child);
}

/// Somebody who reads nothing but the log can tell that an agent ran in circles, that it was told so first, that a person was
/// called, and who took the call and let it go on.
#[test]
fn an_alert_and_who_answered_it_are_read_in_the_log() {
    let folder = folder();
    let config = fs::read_to_string(folder.path().join("bot.toml")).expect("it is there");
    let agent = format!(
        "runtime = \"claude\"\ncommand = [{:?}, \"demo-agent\", \"claude-obey\", \"--once\", \"yes\", \"--pace\", \"0.05\"]\n",
        env!("CARGO_BIN_EXE_herder")
    );
    let (before, _) = config.split_once("runtime = ").expect("it has a runtime");
    let workspace = config.lines().find(|line| line.starts_with("workspace")).expect("it has a place");
    let config = format!("[evaluator]\nkind = \"builtin\"\n{before}{agent}{workspace}\n");
    fs::write(folder.path().join("bot.toml"), config).expect("it is written");
    let (child, mut log) = start(folder.path(), "json");
    let mut lines = read_until(&mut log, "agent added");
    say(folder.path(), &["task", "add", "spark", "benchmark in a spiral"]);
    lines.extend(read_until(&mut log, "a person is called"));
    lines.extend(read_until(&mut log, "paused"));
    say(folder.path(), &["resume", "spark"]);
    lines.extend(read_until(&mut log, "\"outcome\":\"success\""));
    let told: Vec<String> = lines.iter().filter_map(|line| told(line)).collect();
    insta::assert_snapshot!(told.join("\n"));
    stop(child);
}
