//! The real binary: its output, its files, and its exit codes.

mod init;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use herder::chat::embedded_ircd::{Options, Password, Server};
use herder::commands::COMMANDS;
use herder::config::History;
use herder::core::work::Actor;
use herder::journal::{AuditEntry, Batch, Entry, Journal, Settings, Stream, Write};
use tempfile::TempDir;

/// The results of a run of the binary.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    said: String,
    complained: String,
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn herder(&self, arguments: &[&str]) -> Run {
        self.herder_with(arguments, "")
    }

    /// Runs the binary in this folder, with `input` on its standard input.
    fn herder_with(&self, arguments: &[&str], input: &str) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_herder"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("COLUMNS")
            .env_remove("RUST_LOG")
            .env_remove("HERDER_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A child that does not read its input is fine.
        drop(stdin.write_all(input.as_bytes()));
        drop(stdin);
        let output = child.wait_with_output().expect("the binary ends");
        let folder = self.0.path().canonicalize().expect("the folder is there");
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.replace(&folder.display().to_string(), "<folder>")
                .replace(&self.0.path().display().to_string(), "<folder>")
        };
        Run { code: output.status.code(), said: text(&output.stdout), complained: text(&output.stderr) }
    }
}

const GOOD: &str = "[access]\nviewers = [\"*\"]\n";

#[test]
fn the_example_passes_check() {
    let folder = Folder::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/bot.toml.example");
    fs::copy(example, folder.path("bot.toml")).expect("the example is copied");
    let run = folder.herder(&["check", "--offline"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    // Whether the evaluator's program is there is another thing on every machine.
    let (evaluator, rest): (Vec<&str>, Vec<&str>) =
        run.said.lines().partition(|line| line.contains("evaluator: "));
    assert_eq!(evaluator.len(), 1, "{run:?}");
    // So is whether there are passwords in the HOME, and who runs the test.
    let (contained, rest): (Vec<&str>, Vec<&str>) =
        rest.into_iter().partition(|line| line.contains("contained"));
    assert_eq!(contained.len(), 1, "{run:?}");
    let rest: Vec<&str> = rest.into_iter().filter(|line| !line.contains(".netrc")).collect();
    insta::assert_snapshot!(rest.join("\n").replace("/bin/cat", "…").replace("/usr…", "…"), @r#"
    note  bot.toml:45: access: nobody is named, so nobody can command from chat; name yourself under [access], e.g. admins = ["irc:libera:YOUR-ACCOUNT"]
    ok    bot.toml: 1 agent, 1 network
    ok    data folder data is writable
    note  data folder data: agents without a sandbox (echo) can change it, and so what herder remembers and who is tied by link; a `sandbox` that hides it keeps them out
    ok    echo: cat is …
    ok    echo: workspace /tmp is writable
    "#);
}

#[test]
fn check_says_whether_limits_can_be_set_and_what_they_need() {
    let folder = Folder::new();
    let agent = "[[agent]]\nname = \"a\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/tmp\"\npids = 99\n";
    fs::write(folder.path("bot.toml"), format!("{GOOD}{agent}")).expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    let good = run.said.contains("ok    memory, cpu and pids can be limited (a)");
    let bad = run.said.contains("FAIL  memory, cpu and pids cannot be limited from here (a)");
    // Which of the two depends on the machine.
    assert!(good != bad, "{run:?}");
    assert_eq!(run.said.contains("Delegate=yes, or by systemd-run"), bad, "{run:?}");
}

#[test]
fn check_looks_at_what_opens_pull_requests_and_not_at_an_address() {
    let folder = Folder::new();
    let agent = "[[agent]]\nname = \"a\"\nruntime = \"command\"\ncommand = [\"cat\"]\non_accept = \"pr\"\n\
                 repository = \"https://forge.example/moss/app.git\"\n[forge]\nclient = \"/nowhere/forge\"\n";
    fs::write(folder.path("bot.toml"), format!("{GOOD}{agent}")).expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    let found: Vec<&str> = run.said.lines().filter(|line| line.contains("forge")).collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    ok    a: repository https://forge.example/moss/app.git, of which a copy is kept in the data folder
    FAIL  a: pull requests: /nowhere/forge is no program that can be run; install it or correct [forge] client
    "#);
}

#[test]
fn check_reports_every_mistake_and_exits_78() {
    let folder = Folder::new();
    fs::write(folder.path("bot.toml"), "nam = \"x\"\nlocale = \"fr\"\n").expect("the file is written");
    let run = folder.herder(&["check"]);
    assert_eq!(run.code, Some(78), "{run:?}");
    insta::assert_snapshot!(run.said, @r#"
    bot.toml:1: nam: there is no such key; did you mean "name"?
    bot.toml:2: locale: "fr" is not one of en-US, de or ja
    2 problems in bot.toml
    "#);
    let run = folder.herder(&["run"]);
    assert_eq!(run.code, Some(78), "{run:?}");
    insta::assert_snapshot!(run.complained, @r#"
    bot.toml:1: nam: there is no such key; did you mean "name"?
    bot.toml:2: locale: "fr" is not one of en-US, de or ja
    "#);
    let run = folder.herder(&["run", "--config", "none.toml"]);
    assert_eq!(run.code, Some(78), "{run:?}");
}

#[test]
fn check_repeats_no_password_of_an_address() {
    let folder = Folder::new();
    let wrong =
        "[discord]\ntoken = { env = \"HOME\" }\nguild = \"1\"\napi_url = \"https://ann:hunter22@proxy\"\n";
    let good = "[telemetry]\notlp = \"http://ann:hunter23@127.0.0.1:4318\"\n";
    let agent = "[[agent]]\nname = \"a\"\nruntime = \"command\"\nworkspace = \"/\"\npermissions = \"read-only\"\ncommand = [\"hunter23\"]\n";
    fs::write(folder.path("bot.toml"), format!("{GOOD}{good}{wrong}")).expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    assert!(run.said.contains("\"https://ann:[redacted]@proxy\" is neither"), "{run:?}");
    assert!(!run.said.contains("hunter2"), "{run:?}");
    fs::write(folder.path("bot.toml"), format!("{GOOD}{good}{agent}")).expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    assert!(run.said.contains("a: [redacted] is not on the PATH"), "{run:?}");
    assert!(!run.said.contains("hunter2"), "{run:?}");
}

#[test]
fn check_looks_at_programs_folders_and_servers() {
    let folder = Folder::new();
    // A port that was free a moment ago, without a listener.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a port")
        .port();
    fs::write(folder.path("file"), "").expect("the file is written");
    let text = format!(
        "data_dir = \"file/data\"\n{GOOD}[[irc]]\nname = \"here\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n{}{}{}",
        "[[agent]]\nname = \"a\"\nruntime = \"command\"\ncommand = [\"no-such-program\"]\nworkspace = \"/\"\npermissions = \"read-only\"\nown_home = true\ncredentials = [\"git\", \".no-such/login\"]\nsandbox = [\"no-such-box\"]\n",
        "[[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"./run\"]\nworkspace = \"/\"\npermissions = \"read-only\"\n",
        "[[agent]]\nname = \"c\"\nruntime = \"claude\"\nworkspace = \"/\"\npermissions = \"read-only\"\ninherit_env = []\n[evaluator]\nkind = \"command\"\ncommand = [\"no-such-judge\"]\n",
    );
    fs::write(folder.path("bot.toml"), text).expect("the file is written");
    let run = folder.herder(&["check"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let home = format!("{}/", std::env::var("HOME").expect("a HOME"));
    // Whether agents are contained depends on who runs the test.
    let said: Vec<&str> = run
        .said
        .lines()
        .filter(|line| !line.contains("contained") && !line.contains("agents without a sandbox"))
        .collect();
    insta::assert_snapshot!(said.join("\n").replace(&port.to_string(), "<port>").replace(&home, "<home>/"), @r"
    ok    bot.toml: 3 agents, 1 network
    FAIL  data folder file/data: file is not a folder
    FAIL  a: no-such-program is not on the PATH; install it or correct command
    FAIL  a: sandbox: no-such-box is not on the PATH; install it or correct sandbox
    FAIL  a: <home>/.no-such/login is not there; log in first, or take it out of credentials
    FAIL  b: /./run is no program that can be run; install it or correct command
    FAIL  c: it gets no PATH to find claude on; add PATH to inherit_env
    FAIL  evaluator: no-such-judge is not on the PATH; install it or correct command
    FAIL  here: 127.0.0.1 port <port>: cannot connect to 127.0.0.1:<port> (127.0.0.1:<port>): Connection refused (os error 111)
    8 of 10 checks failed
    ");
}

/// No evaluator is configured and the default one is not installed: herder works without, and says so.
#[test]
fn check_notes_that_the_default_evaluator_is_not_there() {
    let folder = Folder::new();
    fs::write(folder.path("bot.toml"), format!("{GOOD}[evaluator]\nenv = {{ PATH = \"/nowhere\" }}\n"))
        .expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    insta::assert_snapshot!(run.said, @r#"
    ok    bot.toml: 0 agents, no network, so that herder opens an IRC server of its own on loopback
    ok    data folder data is writable
    note  evaluator: codex is not on the PATH; install it or correct command; until then herder's own detector judges alone (kind = "builtin" under [evaluator] says that this is meant)
    "#);
}

/// No setting keeps git from that file: what does is another HOME, or a sandbox.
#[test]
fn check_names_passwords_that_agents_can_reach() {
    let folder = Folder::new();
    fs::write(folder.path(".netrc"), "machine example.org login me password x\n").expect("written");
    let home = folder.path("");
    let home = format!("env = {{ HOME = \"{}\" }}\n", home.display());
    let agent = |name: &str, more: &str| {
        let workspace =
            "runtime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npermissions = \"read-only\"\n";
        format!("[[agent]]\nname = \"{name}\"\n{workspace}{more}")
    };
    let boxed = format!("sandbox = [\"env\"]\n{home}");
    let agents =
        [agent("shares", &home), agent("owns", "own_home = true\n"), agent("boxed", &boxed)].concat();
    fs::write(folder.path("bot.toml"), format!("{GOOD}{agents}[evaluator]\nkind = \"builtin\"\n"))
        .expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let named: Vec<&str> = run.said.lines().filter(|line| line.contains("netrc")).collect();
    insta::assert_snapshot!(named.join("\n"), @"note  shares: git and curl take passwords from <folder>/.netrc, which credentials does not keep from it; own_home or a sandbox does");
}

/// A sandbox that binds it for writing gives away what it hides elsewhere.
#[test]
fn check_names_a_shared_home_that_a_sandbox_is_told_of() {
    let folder = Folder::new();
    let agent = |name: &str, more: &str| {
        let command =
            "runtime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npermissions = \"read-only\"\n";
        format!("[[agent]]\nname = \"{name}\"\n{command}{more}\n")
    };
    let home = "sandbox = [\"env\", \"A={home}\"]";
    let agents = [
        agent("shares", home),
        agent("owns", &format!("own_home = true\n{home}")),
        agent("boxed", "sandbox = [\"env\"]"),
    ];
    let text = format!("{GOOD}{}[evaluator]\nkind = \"builtin\"\n", agents.concat());
    fs::write(folder.path("bot.toml"), text).expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let named: Vec<&str> = run.said.lines().filter(|line| line.contains("{home}")).collect();
    insta::assert_snapshot!(named.join("\n"), @"note  shares: {home} in sandbox is the HOME that it shares with whoever starts herder, with all that is in it; own_home = true gives it one of its own");
}

#[test]
fn check_logs_in_to_every_network() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let accounts = vec![("bot".to_owned(), Password::of("right word"))];
    let server =
        runtime.block_on(Server::start(Options { accounts, ..Options::default() })).expect("a free port");
    let port = server.address().port();
    let folder = Folder::new();
    for (word, code) in [("right word", 0), ("wrong word", 1)] {
        fs::write(folder.path("word"), word).expect("the file is written");
        fs::set_permissions(folder.path("word"), fs::Permissions::from_mode(0o600)).expect("its mode is set");
        let text = format!(
            "{GOOD}[[irc]]\nname = \"here\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\nnick = \"bot\"\nserver_password = {{ file = \"word\" }}\n"
        );
        fs::write(folder.path("bot.toml"), text).expect("the file is written");
        let run = folder.herder(&["check"]);
        assert_eq!(run.code, Some(code), "{run:?}");
        let line = run.said.lines().find(|line| line.contains("here:")).unwrap_or_default();
        let line = line.replace(&port.to_string(), "<port>");
        if code == 0 {
            insta::assert_snapshot!(line, @"ok    here: 127.0.0.1 port <port> lets bot in");
        } else {
            insta::assert_snapshot!(line, @"FAIL  here: 127.0.0.1 port <port>: the server's password is wrong or missing: Wrong password: use the one that herder printed at its first start");
        }
    }
    runtime.block_on(server.stop());
}

#[test]
fn logs_are_free_of_secrets() {
    let folder = Folder::new();
    // The file is called as the secret is, because the first warning in the log names the file.
    fs::write(folder.path("word"), "swordfish.toml").expect("the file is written");
    fs::set_permissions(folder.path("word"), fs::Permissions::from_mode(0o600)).expect("its mode is set");
    let text = "data_dir = \"word/data\"\n[[irc]]\nname = \"here\"\nserver = \"127.0.0.1\"\nserver_password = { file = \"word\" }\n";
    fs::write(folder.path("swordfish.toml"), text).expect("the file is written");
    for format in ["text", "json"] {
        let run = folder.herder(&["run", "--config", "swordfish.toml", "--log-format", format]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.complained.contains("nobody is named"), "the warning is in the log: {run:?}");
        assert!(!run.complained.contains("swordfish"), "{run:?}");
    }
}

#[test]
fn every_chat_command_is_a_command_of_the_shell() {
    let folder = Folder::new();
    for command in COMMANDS.iter().filter(|command| command.name != "help") {
        let mut arguments: Vec<&str> = command.name.split(' ').collect();
        arguments.push("spark");
        let run = folder.herder(&arguments);
        assert_eq!(run.code, Some(69), "{}: {run:?}", command.name);
    }
    let run = folder.herder(&["status", "--data-dir", "elsewhere", "--json"]);
    insta::assert_snapshot!(run.complained, @"herder: no herder runs with this data directory (nobody listens on elsewhere/herder.sock); start it with `herder run`, or name its data with --config or --data-dir");
}

#[test]
fn wrong_usage_exits_2_with_the_nearest_word() {
    let folder = Folder::new();
    for (arguments, said) in [
        (&["puase", "spark"][..], "'pause'"),
        (&["agent", "ad"], "'add'"),
        (&["run", "--confg", "x"], "'--config'"),
        (&[], "Usage: herder"),
    ] {
        let run = folder.herder(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert!(run.complained.contains(said), "{arguments:?}: {run:?}");
    }
}

#[test]
fn help_names_everything() {
    let folder = Folder::new();
    let run = folder.herder(&["-h"]);
    assert_eq!(run.code, Some(0));
    insta::assert_snapshot!(run.said, @r##"
    A chat bot that runs AI coding agents and keeps them honest

    Usage: herder [OPTIONS] <COMMAND>

    Commands:
      run          Run the bot
      check        Check the configuration, then servers, programs and folders; reports everything at
                   once
      init         Ask a few questions and write the configuration file
      demo         See it at work: a server, a console and agents, without configuration and account
      export       Write everything herder knows as JSON lines
      import       Restore an export into an empty data folder
      completions  Print what a shell needs to complete herder's commands
      cluster      The server that leads to runners on other machines
      runner       The process that runs agents, apart from the bot; on this machine or another one
      agent        Agent: add, edit, remove, list, show
      task         Task: add, new, open, drop, list, show, diff, assign, split, cancel
      rule         Rule: list, remove
      pause        Pause after the current session; `now` interrupts it
      handoff      Pause, and name the line by which a person goes on in a terminal; `now` interrupts
      resume       Leave any pause, close the breaker half-open, start again
      abort        Stop the session, discard its work, go on with the next
      restart      Clean new session, counters reset; skips a countdown
      stop-all     Stop every agent now; answers with the number of processes left
      resume-all   Let those go on that `stop-all` stopped; says who stays paused, and why
      status       Phase, work, tool in use, idle time, turns, tokens, cost, crashes, next restart
      usage        Tokens and dollars of this hour and of today by agent and account, against the caps
      accept       Accept the work of a task in review
      reject       Send the work of a task in review back, with the reason
      approve      Let an agent do what it asks for; `always`: the same unasked from now on
      deny         Tell an agent no
      answer       Answer an agent's question
      ack          Say that you take care of an agent that waits for a person; no more reminders
      queue        What waits for an agent
      clear        Drop an agent's queued messages; tasks stay
      whisper      Tell an agent something in private
      mark         Say whether a whisper of the evaluator was called for: right or wrong
      log          An agent's last turns; with 1 or a session all that was said in it
      history      What happened to an agent, or to the fleet
      audit        Who commanded what
      reload       Read the configuration again: agents, limits and who may command; runs that are not
                   changed go on
      link         Tie your Discord user to your IRC account: a code is given there and said here
      whoami       How herder knows you, and your name for `[access]`
      page         A link that logs you in to the page; `revoke`: end your sessions there
      help         Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>      The configuration file [default: bot.toml]
          --data-dir <FOLDER>  The data folder, instead of the one the configuration names
      -h, --help               Print help
      -V, --version            Print version

    The commands from agent on are the ones of the chat; they ask the herder that runs on the same data.
    To see it at work: herder demo
    Exit codes: 0 done, 1 it did not work, 2 wrong usage, 3 done but something is lacking, 69 herder is
    not running, 78 the configuration is wrong.
    "##);
}

#[test]
fn help_of_one_command_is_asked_for_in_either_way() {
    let folder = Folder::new();
    for command in COMMANDS.iter().filter(|command| command.name != "help") {
        let words: Vec<&str> = command.name.split(' ').collect();
        let run = folder.herder(&[&["help"], &words[..]].concat());
        assert_eq!(run.code, Some(0), "{}: {run:?}", command.name);
        let same = folder.herder(&[&words[..], &["--help"]].concat());
        assert_eq!(run.said, same.said);
        assert!(run.said.contains(&format!("Usage: herder {}", command.name)), "{}", run.said);
    }
}

#[test]
fn completions_know_the_chat_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = folder.herder(&["completions", shell]);
        assert_eq!(run.code, Some(0));
        for word in ["stop-all", "demo", "cancel", "--data-dir"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(run.said.contains(word), "{word} is missing for {shell}");
        }
    }
}

#[test]
fn a_log_filter_that_cannot_be_read_is_said() {
    let folder = Folder::new();
    fs::write(folder.path("bot.toml"), GOOD).expect("the file is written");
    let output = Command::new(env!("CARGO_BIN_EXE_herder"))
        .arg("run")
        .current_dir(folder.0.path())
        .env("HERDER_LOG", "herder=loud=x")
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(78));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r#"herder: HERDER_LOG = "herder=loud=x" is not a log filter: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5; write e.g. info or herder=debug"#);
}

#[test]
fn export_and_import_say_what_they_did() {
    let folder = Folder::new();
    let run = folder.herder(&["export", "--data-dir", "nothing"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    insta::assert_snapshot!(run.complained, @"herder: there is nothing to export in nothing; name another folder with --data-dir");
    assert!(!folder.path("nothing").exists(), "nothing is made by an export");

    let run = folder.herder(&["import", "none.jsonl", "--data-dir", "new"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    insta::assert_snapshot!(run.complained, @"herder: cannot read none.jsonl: No such file or directory (os error 2)");

    let settings = Settings::new(folder.path("data"), History::default());
    let held = Journal::open(&settings).expect("a journal is made");
    let mode = fs::metadata(folder.path("data")).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "the data folder is nobody else's");
    let run = folder.herder(&["export"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let sentence =
        "which writes an export into data/exports every day; for one of this moment stop it first\n";
    assert!(run.complained.ends_with(sentence), "{run:?}");
    drop(held);
    let run = folder.herder(&["export", "-o", "all.jsonl"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    insta::assert_snapshot!(run.complained, @"all.jsonl: 0 events and 0 posts that are still owed");
    let printed = folder.herder(&["export"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    // The times differ, and with them the checksums.
    let journal = |text: &str| text.split("\"journal\":\"").nth(1).map(|rest| rest[..16].to_owned());
    let written = fs::read_to_string(folder.path("all.jsonl")).expect("it was written");
    assert!(journal(&written).is_some(), "{written}");
    assert_eq!(journal(&printed.said), journal(&written), "{printed:?}");
    let run = folder.herder(&["export", "-o", "all.jsonl"]);
    insta::assert_snapshot!(run.complained, @"herder: all.jsonl is there already; move it away, or name another file");
    let run = folder.herder(&["import", "all.jsonl", "--data-dir", "new"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = folder.herder(&["import", "all.jsonl", "--data-dir", "new"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    insta::assert_snapshot!(run.complained, @"herder: new already holds a journal; import needs a folder without one");
}

#[tokio::test]
async fn an_export_to_a_pipe_makes_nothing_on_the_way() {
    let folder = Folder::new();
    let settings = Settings { ballast: 0, ..Settings::new(folder.path("data"), History::default()) };
    let (journal, _) = Journal::open(&settings).expect("a journal is made");
    let entry = |text: String| AuditEntry {
        by: Actor::herder(),
        place: "local".to_owned(),
        agent: None,
        verb: "status".to_owned(),
        text,
    };
    let entries = vec![Entry::Audit(entry("x".repeat(1024 * 1024))); 4];
    let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
    journal.commit(Batch { writes, ..Batch::default() }).await.expect("commits");
    journal.close().await;
    drop(journal);
    let names = || {
        let entries = fs::read_dir(folder.path("data")).expect("reads");
        entries.map(|entry| entry.expect("reads").file_name()).collect::<BTreeSet<_>>()
    };
    let before = names();
    let mut child = Command::new(env!("CARGO_BIN_EXE_herder"))
        .arg("export")
        .current_dir(folder.0.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut all = Vec::new();
    out.read_until(b'\n', &mut all).expect("reads");
    // It has more to say than a pipe holds: it is in the midst of it.
    assert_eq!(names(), before);
    out.read_to_end(&mut all).expect("reads");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(names(), before);
    fs::write(folder.path("all.jsonl"), &all).expect("writes");
    let run = folder.herder(&["import", "all.jsonl", "--data-dir", "new"]);
    insta::assert_snapshot!(run.complained, @"new: 4 events and 0 posts that are still owed");
    // A cut file is reported.
    fs::write(folder.path("cut.jsonl"), &all[..all.len() / 2]).expect("writes");
    let run = folder.herder(&["import", "cut.jsonl", "--data-dir", "newer"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.complained.contains("a part is missing"), "{run:?}");
}
