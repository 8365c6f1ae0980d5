//! The local socket: the same commands, mode 0600, and obstacles to it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use herder::core::event::Event;
use herder::core::id::SessionId;
use herder::journal::{Batch, Entry, Stream, Write};
use herder::local::{self, Answer, AskError, BindError, Request};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::rig::{PATIENCE, Rig, name};

struct Open {
    rig: Rig,
    path: PathBuf,
    shutdown: CancellationToken,
    serving: JoinSet<()>,
}

impl Open {
    async fn new() -> Self {
        let rig = Rig::open().await;
        let path = rig.dir.path().join(local::FILE_NAME);
        let shutdown = CancellationToken::new();
        let bound = local::bind(&path).await.expect("nothing is in the way");
        let mut serving = JoinSet::new();
        serving.spawn(bound.serve(rig.dispatcher.clone(), shutdown.clone()));
        Self { rig, path, shutdown, serving }
    }

    async fn ask(&self, command: &str, args: &[&str]) -> Answer {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        local::ask(&self.path, &Request { command: command.to_owned(), args }).await.expect("herder runs")
    }

    async fn close(mut self) {
        self.shutdown.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.serving.join_next()).await.expect("it ends");
        ended.expect("it was started").expect("without a panic");
        assert!(!self.path.exists(), "the socket is taken away");
        self.rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_has_the_same_commands_and_data_for_programs() {
    let open = Open::new().await;
    let mode = std::fs::metadata(&open.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let answer = open.ask("task add", &["spark", "build the parser"]).await;
    assert!(answer.ok && answer.lines.len() == 1, "{answer:?}");
    open.rig.until_running("spark").await;
    let answer = open.ask("status", &[]).await;
    let data = answer.data.expect("data");
    assert_eq!(data["agents"][1]["name"], "spark");
    assert_eq!(data["agents"][1]["phase"], "running");
    assert_eq!(data["agents"][1]["current"]["text"], "build the parser");
    let answer = open.ask("pause", &["spark", "now"]).await;
    assert!(answer.ok, "{answer:?}");
    let answer = open.ask("stop-all", &[]).await;
    assert!(answer.ok && answer.lines[0].contains('0'), "{answer:?}");
    assert_eq!(answer.data.expect("data")["processes"], 0);

    let answer = open.ask("pause", &["spark"]).await;
    assert!(!answer.ok && answer.lines[0].contains("already paused"), "{answer:?}");
    let answer = open.ask("puase", &["spark"]).await;
    assert!(!answer.ok && answer.lines[0].contains("`herder pause`"), "{answer:?}");
    let answer = open.ask("pause", &[]).await;
    assert!(!answer.ok && answer.lines[0].contains("“agent” is missing"), "{answer:?}");

    let audit = open.rig.audit().await;
    assert!(
        audit.iter().all(|entry| entry.place == "local" && entry.by.identity.as_deref() == Some("local"))
    );
    let verbs: Vec<&str> = audit.iter().map(|entry| entry.verb.as_str()).collect();
    assert_eq!(verbs, ["task add", "status", "pause", "stop-all"]);
    open.close().await;
}

async fn exchange(path: &Path, sent: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(sent).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_answered_as_that() {
    let open = Open::new().await;
    for sent in [&b"hello\n"[..], b"{}\n", b"{\"command\":1}\n", b"\xff\xfe\n", b"[", b"\n"] {
        let answer: Answer = serde_json::from_str(&exchange(&open.path, sent).await).expect("an answer");
        assert!(!answer.ok && answer.lines[0].contains("the request is not"), "{answer:?}");
    }
    let mut long = b"{\"command\":\"".to_vec();
    long.resize(2 * 1024 * 1024, b'x');
    let answer = tokio::time::timeout(PATIENCE, async {
        let mut stream = UnixStream::connect(&open.path).await.unwrap();
        // The peer stops reading at its limit, so that the rest may not be taken.
        let _ = stream.write_all(&long).await;
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line).await;
        line
    })
    .await
    .expect("it is not waited for");
    assert!(answer.is_empty() || answer.contains("longer than"), "{answer}");
    assert!(open.ask("help", &[]).await.ok, "it goes on");
    open.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_way_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(local::FILE_NAME);
    let request = Request { command: "status".to_owned(), args: Vec::new() };
    assert!(matches!(local::ask(&path, &request).await, Err(AskError::NotRunning(_))));

    let listening = UnixListener::bind(&path).unwrap();
    assert!(matches!(local::bind(&path).await, Err(BindError::InUse(_))));
    drop(listening);
    assert!(path.exists(), "what a killed herder leaves");
    assert!(matches!(local::ask(&path, &request).await, Err(AskError::NotRunning(_))));
    drop(local::bind(&path).await.expect("a stale socket is taken away"));

    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(local::bind(&path).await, Err(BindError::NotASocket(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");

    let deep = dir.path().join("d".repeat(120)).join(local::FILE_NAME);
    let Err(reason @ BindError::PathTooLong(_)) = local::bind(&deep).await else { panic!("too long") };
    assert!(reason.to_string().contains("choose a shorter data_dir"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_may_not_command_its_own_herder() {
    let open = Open::new().await;
    // Here this process is herder, and its descendants are agents, also in sessions of their own.
    let herder = env!("CARGO_BIN_EXE_herder");
    let mut asking = Command::new("setsid");
    asking
        .args(["--wait", "sh", "-c", "\"$0\" pause quick --data-dir \"$1\"", herder])
        .arg(open.rig.dir.path());
    let asked =
        tokio::time::timeout(PATIENCE, asking.output()).await.expect("it is not kept waiting").unwrap();
    let told = String::from_utf8_lossy(&asked.stdout) + String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.status.code(), Some(1), "{told}");
    assert!(told.contains("an agent may not command the herder it runs under"), "{told}");
    assert_eq!(open.rig.audit().await, Vec::new());

    // A person at the shell is none the worse.
    assert!(open.ask("pause", &["quick"]).await.ok);
    open.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_others_are_shown_in_a_shell_as_they_were_said() {
    let open = Open::new().await;
    let said = "`@spark pause`; 2**10 of src/**/*.rs; correct-hor**se";
    assert!(open.ask("task add", &["spark", "build"]).await.ok);
    open.rig.until_running("spark").await;
    assert!(open.ask("task add", &["spark", said]).await.ok);
    let queue = open.ask("queue", &["spark"]).await.lines.join("\n");
    let waits = queue.lines().find(|line| line.contains("2**10")).expect("it waits");
    let number = waits.split_once('#').expect("its number is told").1;
    let number = &number[..number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len())];
    for (command, args) in [("task show", vec![number]), ("queue", vec!["spark"])] {
        let shown = open.ask(command, &args).await.lines.join("\n");
        assert!(shown.contains(said), "{command}: {shown}");
    }
    // herder's own sentence beside it is in the shell's form.
    let refused = open.ask("agent add", &["**`!pause`**"]).await.lines.join("\n");
    assert!(refused.contains("`herder agent add"), "{refused}");
    open.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_much_to_say_is_read_back_in_a_shell() {
    let open = Open::new().await;
    let gone = Stream::Agent(name("gone"));
    let turn = || {
        let (session, tools) = (SessionId(1), Vec::new());
        Entry::Agent(Event::TurnEnded { session, text: "x".repeat(512 * 1024), tools })
    };
    // More than a shell reads of one answer.
    for _ in 0..14 {
        let entries = (0..10).map(|_| turn()).collect();
        let writes = vec![Write { stream: gone.clone(), expected_rev: None, entries }];
        open.rig.journal.commit(Batch { writes, ..Batch::default() }).await.expect("commits");
    }
    let args = ["gone", "500"].map(str::to_owned).to_vec();
    let request = Request { command: "log".to_owned(), args };
    let answer = local::ask(&open.path, &request).await.expect("it is answered");
    assert!(answer.ok && answer.lines[0].contains("I looked no further back"), "{:?}", answer.lines.first());
    let turns = answer.data.expect("data").as_array().expect("a list").len();
    assert!((20..140).contains(&turns), "{turns}");
    let for_people = local::ask_lines(&open.path, &request).await.expect("it is answered");
    assert_eq!((for_people.lines, for_people.data), (answer.lines, None));
    open.close().await;
}
