//! The end of herder is bounded whatever hangs elsewhere: a name server that does not answer, a disk that takes no
//! more writes. The real binary, in namespaces of its own.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use herder::config::History;
use herder::core::agent::Agent;
use herder::core::id::AgentName;
use herder::journal::{self, Journal, Stream};
use herder::local::{self, Request};
use rustix::process::{Pid, Signal};

use crate::kill::{Running, reap, signal};
use crate::stage::{PATIENCE, appears};

/// Set for the run in namespaces of its own: its folder.
const APART: &str = "HERDER_TEST_GOING_DOWN";

/// The time that herder is given for its end.
const DRAIN: &str = "drain_timeout = \"2s\"\n";

/// The longest time in all: those two seconds, the README's bound for a disk that hangs, and a busy machine. An
/// unbounded wait takes a minute, or for ever.
const BOUND: Duration = Duration::from_secs(25);

/// Runs `test` in a process of its own that has loopback alone and may mount, after `script`.
pub(crate) fn apart<F: Future<Output = ()>>(name: &str, script: &str, test: impl FnOnce(PathBuf) -> F) {
    if let Some(dir) = std::env::var_os(APART) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        return runtime.expect("a runtime starts").block_on(test(dir.into()));
    }
    let dir = tempfile::tempdir().expect("a folder");
    let script = format!("ip link set lo up && {script} && exec \"$0\" --exact {name} --nocapture");
    let output = Command::new("unshare")
        .args(["-rmn", "sh", "-c", &script])
        .arg(std::env::current_exe().expect("this program has a path"))
        .env(APART, dir.path())
        .output()
        .expect("unshare is there (package util-linux)");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{name}: {text}");
}

/// Asks herder to end, and waits until it has.
pub(crate) async fn ends_in_time(herder: Running, dir: &Path) -> ExitStatus {
    let log = || std::fs::read_to_string(dir.join("log")).unwrap_or_default();
    signal(&herder, Signal::TERM);
    let asked = Instant::now();
    let status = tokio::time::timeout(PATIENCE, reap(herder)).await;
    let status = status.unwrap_or_else(|_| panic!("it never ends\n{}", log()));
    assert!(asked.elapsed() < BOUND, "it took {:?}\n{}", asked.elapsed(), log());
    assert!(status.success(), "{status}\n{}", log());
    status
}

/// Looks for names take longer than any test waits, and what asks is this file alone.
const SILENT_NAMES: &str = r#"
printf 'nameserver 127.0.0.1\noptions timeout:30 attempts:4\n' > "$HERDER_TEST_GOING_DOWN/resolv.conf" &&
mount --bind "$HERDER_TEST_GOING_DOWN/resolv.conf" /etc/resolv.conf &&
printf 'hosts: files dns\n' > "$HERDER_TEST_GOING_DOWN/nsswitch.conf" &&
{ ! test -e /etc/nsswitch.conf || mount --bind "$HERDER_TEST_GOING_DOWN/nsswitch.conf" /etc/nsswitch.conf; }"#;

#[test]
fn a_name_server_that_never_answers_keeps_nobody() {
    apart("going_down::a_name_server_that_never_answers_keeps_nobody", SILENT_NAMES, |dir| async move {
        let server = UdpSocket::bind("127.0.0.1:53").expect("nobody else is in this namespace");
        server.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let config = dir.join("bot.toml");
        let text = format!(
            "data_dir = \"data\"\n{DRAIN}[discord]\ntoken = {{ env = \"TOKEN\" }}\nguild = 5\n\
             [[irc]]\nname = \"one\"\nserver = \"irc.example.org\"\n\
             [[irc]]\nname = \"two\"\nserver = \"irc.example.net\"\ntls = false\n"
        );
        std::fs::write(&config, text).expect("a file");
        // In the form that Discord's have.
        let token = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz0123456789AB";
        let herder = Running::start(&dir, &config, &[("TOKEN", token)]);
        let wanted = ["discord.com", "irc.example.net", "irc.example.org"].map(str::to_owned);
        let mut asked = BTreeSet::new();
        while !wanted.iter().all(|name| asked.contains(name)) {
            let mut query = [0; 512];
            let length = server.recv(&mut query).unwrap_or_else(|_| panic!("only {asked:?} were asked for"));
            asked.extend(name_in(&query[..length]));
        }
        ends_in_time(herder, &dir).await;
    });
}

/// Returns the name that is asked for (RFC 1035, section 4.1.2).
fn name_in(query: &[u8]) -> Option<String> {
    let mut rest = query.get(12..)?;
    let mut labels = Vec::new();
    loop {
        let (&length, after) = rest.split_first()?;
        if length == 0 {
            return Some(labels.join("."));
        }
        let (label, after) = after.split_at_checked(length.into())?;
        labels.push(String::from_utf8_lossy(label).into_owned());
        rest = after;
    }
}

/// The thread that writes the journal stands still until this is dropped, as in a call to a disk that does not answer.
pub(crate) struct Hanging(Child);

impl Hanging {
    pub(crate) fn writer_of(herder: u32) -> Self {
        // A tracer stops one thread alone. It waits for the end of the thread, or that of the process would not be seen.
        let holder = "import ctypes, os, sys\n\
                      libc, thread = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])\n\
                      libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]\n\
                      libc.ptrace.restype = ctypes.c_long\n\
                      for request in 0x4206, 0x4207:\n    \
                          if libc.ptrace(request, thread, None, None):\n        \
                              sys.exit(os.strerror(ctypes.get_errno()))\n\
                      os.waitpid(thread, 0x40000000)\n\
                      print('held', flush=True)\n\
                      os.waitpid(thread, 0x40000000)";
        let tasks = std::fs::read_dir(format!("/proc/{herder}/task")).expect("it runs").flatten();
        let named = |task: &std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "journal\n")
        };
        let [writer] = &tasks.filter(named).collect::<Vec<_>>()[..] else { panic!("it has one writer") };
        let mut child = Command::new("python3")
            .args(["-c", holder])
            .arg(writer.file_name())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut said = [0; 5];
        let held = std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut said);
        held.expect("a thread can be stopped");
        Self(child)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // It may be gone already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits until the agent's work has begun, and returns its process.
async fn at_work(dir: &Path, ask: impl AsyncFn(&str) -> Option<local::Answer>) -> Pid {
    appears(&dir.join("data").join(local::FILE_NAME)).await;
    let answer = ask("first").await.expect("herder answers");
    assert!(answer.ok, "{answer:?}");
    let begun = dir.join("begun");
    appears(&begun).await;
    let pid = std::fs::read_to_string(begun).expect("it was written").trim().parse().ok();
    pid.and_then(Pid::from_raw).expect("the number of a process")
}

#[test]
fn a_disk_that_hangs_keeps_nobody_and_what_was_acknowledged_is_on_it() {
    let name = "going_down::a_disk_that_hangs_keeps_nobody_and_what_was_acknowledged_is_on_it";
    apart(name, "true", |dir| async move {
        let config = dir.join("bot.toml");
        let script = "trap '' TERM; echo $$ > beginning; mv beginning begun; sleep 1000 & wait";
        let text = format!(
            "data_dir = \"data\"\n{DRAIN}[[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = {dir:?}\n\
             command = [\"sh\", \"-c\", \"{script}\"]\n"
        );
        std::fs::write(&config, text).expect("a file");
        let herder = Running::start(&dir, &config, &[]);
        let socket = dir.join("data").join(local::FILE_NAME);
        let ask = async |text: &str| {
            let args = ["spark", text].map(str::to_owned).to_vec();
            let request = Request { command: "task add".to_owned(), args };
            local::ask(&socket, &request).await.ok()
        };
        let agent = at_work(&dir, ask).await;
        assert!(ask("second").await.expect("herder answers").ok);

        let hanging = Hanging::writer_of(herder.pid());
        // No one can be told that this is done, because it cannot be.
        let (never, status) = tokio::join!(ask("third"), ends_in_time(herder, &dir));
        assert!(never.is_none_or(|answer| !answer.ok) && status.success());
        drop(hanging);
        assert!(rustix::process::test_kill_process(agent).is_err(), "its processes are ended");

        let settings =
            journal::Settings { ballast: 0, ..journal::Settings::new(dir.join("data"), History::default()) };
        let (journal, opening) = Journal::open(&settings).expect("nobody has it any more");
        assert_eq!(opening.missing, Vec::new());
        let spark = Stream::Agent(AgentName::new("spark").expect("a good name"));
        let agent = journal.load::<Agent>(&spark).expect("it can be read").state;
        let kept: Vec<&str> =
            agent.current.iter().chain(&agent.queue).map(|work| work.text.as_str()).collect();
        assert_eq!(kept, ["first", "second"]);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_is_still_ending_what_was_left_behind_can_be_ended() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let config = dir.join("bot.toml");
    // It is told to end, and says so, and does not. A shell's message about a child that was ended would end it,
    // because no one reads it.
    let script = "exec 2> /dev/null; echo x >> runs; trap ': > told' TERM; echo $$ > beginning; mv beginning begun; \
                  while :; do sleep 0.1; done";
    let text = format!(
        "data_dir = \"data\"\n[supervisor]\nstop_grace = \"10m\"\n[[agent]]\nname = \"spark\"\n\
         runtime = \"command\"\nworkspace = {dir:?}\ncommand = [\"sh\", \"-c\", \"{script}\"]\n"
    );
    std::fs::write(&config, text).expect("a file");
    let herder = Running::start(dir, &config, &[]);
    let socket = dir.join("data").join(local::FILE_NAME);
    let ask = async |text: &str| {
        let args = ["spark", text].map(str::to_owned).to_vec();
        local::ask(&socket, &Request { command: "task add".to_owned(), args }).await.ok()
    };
    let agent = at_work(dir, ask).await;
    signal(&herder, Signal::KILL);
    reap(herder).await;
    let herder = Running::start(dir, &config, &[]);
    appears(&dir.join("told")).await;
    ends_in_time(herder, dir).await;
    // The process that adopted it may not have reaped it yet.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent.as_raw_nonzero()));
    assert!(
        stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")),
        "what was left behind is ended all the same"
    );
    assert_eq!(std::fs::read_to_string(dir.join("runs")).expect("it ran"), "x\n", "and nothing is begun");
}
