//! `herder init`: its questions, the file that it writes, and the first runs with it.

use super::*;

#[test]
fn init_asks_and_writes_what_check_accepts() {
    let folder = Folder::new();
    let workspace = folder.path("work");
    fs::create_dir(&workspace).expect("a folder is made");
    let answers = [
        "",
        "the server",
        "123456789012345678",
        "my token",
        "DISCORD_TOKEN",
        "irc.libera.chat",
        "",
        "",
        "",
        "herder",
        "IRC_PASSWORD",
        "223456789012345678",
        "alice",
        "no",
        "Spark Codex",
        "spark",
        "command",
        "sh -c 'cat -u",
        "sh -c \"cat; sleep 3\"",
        "nowhere",
        &workspace.display().to_string(),
    ];
    let run = folder.herder_with(&["init"], &(answers.join("\n") + "\n"));
    assert_eq!(run.code, Some(0), "{run:?}");
    insta::assert_snapshot!(run.complained, @r#"
    this is a text; write a whole number from 1 to 9223372034707292160, without quotes
    "my token" is not the name of a variable; letters, digits and _
    "spark codex" cannot name an agent: use small letters, digits and hyphens inside, starting with a letter, e.g. spark-codex
    a quote (') is not closed
    "nowhere" is relative; write the whole path, from /
    "#);
    let written = fs::read_to_string(folder.path("bot.toml")).expect("it was written");
    insta::assert_snapshot!(written.replace(&folder.0.path().display().to_string(), "<folder>"), @r#"
    name = "herder"

    [discord]
    token = { env = "DISCORD_TOKEN" }
    guild = 123456789012345678

    [[irc]]
    name = "libera"
    server = "irc.libera.chat"
    sasl = { mechanism = "plain", account = "herder", password = { env = "IRC_PASSWORD" } }

    [access]
    admins = ["irc:libera:alice", "discord:223456789012345678"]

    [[agent]]
    name = "spark"
    runtime = "command"
    command = ["sh", "-c", "cat; sleep 3"]
    workspace = "<folder>/work"
    "#);
    let run = folder.herder(&["check", "--offline"]);
    assert!(run.said.contains("the variable IRC_PASSWORD is not set"), "{run:?}");

    let run = folder.herder_with(&["init"], "");
    assert_eq!(run.code, Some(1), "{run:?}");
    insta::assert_snapshot!(run.complained, @"herder: bot.toml is there already; move it away, or name another file with --config");
}

#[test]
fn init_with_nothing_but_enter_is_the_embedded_server() {
    let folder = Folder::new();
    let run = folder.herder_with(&["init", "--config", "mine.toml"], "\n\n\n\n\n\n");
    assert_eq!(run.code, Some(0), "{run:?}");
    let written = fs::read_to_string(folder.path("mine.toml")).expect("it was written");
    assert!(written.contains("admins = [\"irc:embedded:you\"]"), "{written}");
    assert!(written.contains("[http]\nlisten = \"127.0.0.1:7700\"\n"), "{written}");
    let run = folder.herder(&["check", "--offline", "--config", "mine.toml"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.said.contains("nobody"), "{run:?}");
}

#[test]
fn the_contained_way_is_proposed_and_looked_for() {
    let folder = Folder::new();
    let run = folder.herder(&["init", "--service"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let has = |run: &Run, line: &str| run.said.lines().any(|said| said == line);
    for line in ["User=herder", "ProtectControlGroups=yes", "ExecReload=kill -HUP $MAINPID"] {
        assert!(has(&run, line), "{run:?}");
    }
    let run = folder.herder(&["init", "--service", "runner"]);
    let starts = "ExecStart=/usr/local/bin/herder runner run --config /etc/herder/bot.toml";
    for line in ["User=herder", "Delegate=yes", starts] {
        assert!(has(&run, line), "{run:?}");
    }
    assert!(!folder.path("bot.toml").exists());
    let run = folder.herder_with(&["init"], "\n\n\n\n\nspark\ncommand\n\n\n");
    assert!(run.said.contains("herder init --service runner"), "{run:?}");
    let run = folder.herder(&["check", "--offline"]);
    // Tests run as root or as a user who can log in.
    assert!(run.said.contains("note  agents are not contained: they run as "), "{run:?}");
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn init_makes_the_folder_of_an_agent_beside_herders_own() {
    let folder = Folder::new();
    let run = folder.herder_with(&["init"], "\n\n\n\n\nspark\ncommand\n\n\n");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(folder.path("spark").is_dir());
    let run = folder.herder(&["check", "--offline"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.said.contains("herder's own folder"), "{run:?}");
}

#[test]
fn an_agent_that_could_take_herders_own_folder_away_is_warned_of() {
    let folder = Folder::new();
    let workspace = folder.0.path().canonicalize().expect("it is there");
    let text = format!(
        "data_dir = {:?}\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = {workspace:?}\n",
        workspace.join("data")
    );
    fs::write(folder.path("bot.toml"), text).expect("the file is written");
    let run = folder.herder(&["check", "--offline"]);
    assert!(run.said.contains("herder's own folder <folder>/data lies in it"), "{run:?}");
}

/// Starts `herder run`, reads how to join its own server, and ends it.
fn run_until_it_is_ended(folder: &Folder) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_herder"))
        .arg("run")
        .current_dir(folder.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut said = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut text = String::new();
    while !text.contains("/connect ") {
        assert_ne!(said.read_line(&mut text).expect("it speaks"), 0, "{text}");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    said.read_to_string(&mut text).expect("it speaks to its end");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{status}: {text}");
    text
}

#[test]
fn the_next_run_keeps_the_password() {
    let folder = Folder::new();
    fs::write(folder.path("bot.toml"), "[access]\nadmins = [\"irc:embedded:ann\"]\n").expect("it is written");
    let first = run_until_it_is_ended(&folder);
    assert!(first.contains(" ann      then /join") && !first.contains("PASSWORD"), "{first}");
    let second = run_until_it_is_ended(&folder);
    assert!(second.contains(" PASSWORD ann      then /join"), "{second}");
    let port = |text: &str| {
        text.split("/connect 127.0.0.1 ").nth(1).and_then(|rest| rest.split(' ').next().map(str::to_owned))
    };
    assert_eq!(port(&first), port(&second));
}

/// SIGHUP asks for the configuration to be read again, but not where it says that the terminal is gone.
#[test]
fn a_closed_terminal_ends_a_run_in_order() {
    let folder = Folder::new();
    fs::write(folder.path("bot.toml"), "[access]\nadmins = [\"irc:embedded:ann\"]\n").expect("it is written");
    let herder = env!("CARGO_BIN_EXE_herder");
    let mut terminal = Command::new("script")
        .args(["--quiet", "--flush", "--command", &format!("exec {herder} run 2> log"), "/dev/null"])
        .current_dir(folder.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script(1) of util-linux is there");
    let mut said = std::io::BufReader::new(terminal.stdout.take().expect("it is piped"));
    let mut text = String::new();
    while !text.contains("/connect ") {
        assert_ne!(said.read_line(&mut text).expect("it speaks"), 0, "{text}");
    }
    // As when a terminal emulator is closed: the other end of the terminal has no owner any more.
    terminal.kill().expect("it is there");
    terminal.wait().expect("it ends");
    let started = std::time::Instant::now();
    let log = || fs::read_to_string(folder.path("log")).unwrap_or_default();
    while !log().contains("going down") && started.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(log().contains("going down") && !log().contains("read again"), "{}", log());
}

#[test]
fn init_that_is_cut_writes_nothing() {
    let folder = Folder::new();
    let run = folder.herder_with(&["init"], "bot\n");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(!folder.path("bot.toml").exists());
    insta::assert_snapshot!(run.complained, @"herder: nothing was written: the answers ended before the questions");
}
