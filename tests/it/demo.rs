//! `herder demo` as a newcomer runs it: the real binary, joined over TCP with the password it printed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::embedded_ircd::Raw;

/// The longest wait before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same for the last part of the tour, which takes a minute by itself on a machine that has nothing else to do.
const TOUR: Duration = Duration::from_secs(240);

/// A running demo.
struct Demo {
    child: Child,
    stdin: Option<ChildStdin>,
    /// `None` once it is no longer read.
    stdout: Option<Lines<BufReader<ChildStdout>>>,
    data: tempfile::TempDir,
    first: Vec<String>,
    port: u16,
    password: String,
}

impl Demo {
    async fn start(more: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_herder"))
            .args(["demo", "--port", "0", "--data-dir"])
            .arg(data.path().join("data"))
            .args(more)
            .env("TZ", "UTC")
            .env_remove("HERDER_LOG")
            .env_remove("RUST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let stdin = child.stdin.take();
        let stdout = Some(BufReader::new(child.stdout.take().expect("piped")).lines());
        let mut demo =
            Self { child, stdin, stdout, data, first: Vec::new(), port: 0, password: String::new() };
        demo.first = demo.until("/quit ends the demo").await;
        let join = demo.first.iter().find(|line| line.contains("in irssi: ")).expect("how to join").clone();
        let words: Vec<&str> = join.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "127.0.0.1").expect("the server");
        demo.port = words[at + 1].parse().expect("a port");
        words[at + 2].clone_into(&mut demo.password);
        demo
    }

    /// Returns the next lines of the terminal, up to the one that contains `what`.
    async fn until(&mut self, what: &str) -> Vec<String> {
        self.until_within(PATIENCE, what).await
    }

    async fn until_within(&mut self, patience: Duration, what: &str) -> Vec<String> {
        let mut seen = Vec::new();
        let stdout = self.stdout.as_mut().expect("it is read");
        let reading = async {
            while let Ok(Some(line)) = stdout.next_line().await {
                let found = line.contains(what);
                seen.push(line);
                if found {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(patience, reading).await;
        assert!(matches!(found, Ok(true)), "no {what:?} in {seen:#?}");
        seen
    }

    async fn types(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("not closed");
        stdin.write_all(format!("{line}\n").as_bytes()).await.expect("the console reads");
    }

    /// Joins as a person would.
    async fn join(&self, channels: &str) -> Raw<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("it listens");
        let mut person = Raw::new(stream);
        person.send(&format!("PASS {}", self.password)).await;
        person.send("NICK ann").await;
        person.send("USER ann 0 * :Ann").await;
        person.until(" 376 ").await;
        person.send(&format!("JOIN {channels}")).await;
        person.fence("joined").await;
        person
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        kill_process(pid.expect("it runs"), signal).expect("it can be signalled");
    }

    /// Waits for the end, and gives the last lines and the exit code.
    async fn ended(&mut self) -> (Vec<String>, Option<i32>) {
        let mut last = Vec::new();
        let stdout = self.stdout.as_mut().expect("it is read");
        let ending = async {
            while let Ok(Some(line)) = stdout.next_line().await {
                last.push(line);
            }
            self.child.wait().await
        };
        let status = tokio::time::timeout(PATIENCE, ending).await.expect("it ends").expect("a status");
        (last, status.code())
    }

    fn data(&self) -> PathBuf {
        self.data.path().canonicalize().expect("it is there")
    }
}

/// Hears each line once, in whatever order: answers overtake posts.
struct Ear {
    raw: Raw<TcpStream>,
    heard: Vec<String>,
}

impl Ear {
    /// Returns the next line that contains `what`.
    async fn next(&mut self, what: &str) -> String {
        while let Some(line) = self.raw.line().await {
            // Names are bold.
            let line = line.replace('\u{2}', "");
            if line.contains(what) {
                return line;
            }
            self.heard.push(line);
        }
        panic!("no {what:?} in {:#?}", self.heard);
    }

    async fn hears(&mut self, what: &str) {
        if let Some(at) = self.heard.iter().position(|line| line.contains(what)) {
            self.heard.remove(at);
            return;
        }
        self.next(what).await;
    }
}

/// Processes that work in `folder` or below.
fn processes_in(folder: &Path) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir("/proc").expect("Linux");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        let cmdline = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words = String::from_utf8_lossy(&cmdline).replace('\0', " ");
        cwd.starts_with(folder).then_some((pid, words))
    })
    .collect()
}

#[tokio::test]
async fn a_person_joins_with_the_printed_password_and_steers_an_agent() {
    let mut demo = Demo::start(&["--no-tour"]).await;
    let mut ann = Ear { raw: demo.join("#herder,#spark,#nova,#alerts").await, heard: Vec::new() };

    ann.raw.send("PRIVMSG #spark :write a haiku").await;
    ann.hears("👀 spark").await;
    ann.hears("🐜 spark started").await;
    ann.hears("✅ spark completed").await;

    ann.raw.send("PRIVMSG #herder :@spark pause").await;
    ann.hears("⏸️ spark").await;
    ann.raw.send("PRIVMSG #spark :this has to wait").await;
    ann.hears("👀 Queued for spark at position 1").await;
    ann.raw.send("PRIVMSG #herder :@spark status").await;
    ann.hears("paused").await;
    ann.raw.send("PRIVMSG #herder :@spark resume").await;
    ann.hears("▶️ spark").await;
    ann.hears("🐜 spark started: this has to wait").await;
    ann.hears("✅ spark completed").await;

    ann.raw.send("PRIVMSG #nova :please crash").await;
    ann.hears("❌ nova crashed").await;
    ann.hears("✅ nova completed").await;

    ann.raw.send("JOIN #ember").await;
    ann.raw.send("PRIVMSG #ember :fork a few daemons").await;
    ann.hears("🐜 ember started").await;
    // The tool was opened after the last thing that was decided about the agent, and is seen all the same.
    loop {
        ann.raw.send("PRIVMSG #ember :status").await;
        if ann.next("ann: ember: ").await.contains("tool Bash") {
            break;
        }
    }
    ann.raw.send("PRIVMSG #ember :abort").await;
    ann.hears("ember is being stopped").await;
    let ended = ann.next("ember ended: ").await;
    assert!(ended.ends_with(" processes ended, 0 left."), "{ended}");

    // The terminal showed all of it.
    demo.until("✅ nova completed").await;
    demo.signal(Signal::INT);
    let (last, code) = demo.ended().await;
    assert_eq!(
        last.last().map(String::as_str),
        Some("herder has ended: its agents have stopped, 0 processes left.")
    );
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn the_printed_link_opens_the_page_once() {
    let mut demo = Demo::start(&["--no-tour"]).await;
    let link = demo.first.iter().find(|line| line.contains("/login/")).expect("a link").trim();
    assert!(crate::http::own_name(link).is_some(), "no server of an agent gets its cookie: {link}");
    let link = crate::http::reachable(link);
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let client = client.build().expect("a client");
    // A preview uses nothing up.
    for _ in 0..2 {
        let door = client.get(&link).send().await.expect("it listens");
        assert_eq!(door.status(), 200);
        assert!(door.text().await.expect("text").contains("<button"));
    }
    let entered = client.post(&link).send().await.expect("an answer");
    assert_eq!(entered.status(), 303);
    let cookie = entered.headers()["set-cookie"].to_str().expect("text").to_owned();
    let page = link.split("/login/").next().expect("the page");
    let page = client.get(page).header("cookie", cookie.split(';').next().expect("a pair"));
    let page = page.send().await.expect("an answer").text().await.expect("text");
    for agent in ["spark", "nova", "ember", "clay"] {
        assert!(page.contains(&format!("agent-{agent}")), "{page}");
    }
    assert_eq!(client.post(&link).send().await.expect("an answer").status(), 410);
    demo.signal(Signal::INT);
    assert_eq!(demo.ended().await.1, Some(0));
}

#[tokio::test]
async fn whoever_has_no_password_is_not_let_in() {
    let demo = Demo::start(&["--no-tour"]).await;
    let stream = TcpStream::connect(("127.0.0.1", demo.port)).await.expect("it listens");
    let mut eve = Raw::new(stream);
    eve.send("NICK eve").await;
    eve.send("USER eve 0 * :Eve").await;
    eve.until(" 464 eve :This server needs the password").await;
    eve.until("ERROR").await;
    assert_eq!(eve.line().await, None);
}

#[tokio::test]
async fn ctrl_c_leaves_no_process_of_those_that_forked_or_hang() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut demo = Demo::start(&["--no-tour"]).await;
        let folder = demo.data();
        demo.types("@ember fork a few daemons").await;
        demo.types("@nova hang").await;
        demo.types("@spark use a tool").await;
        for agent in ["ember", "nova", "spark"] {
            demo.until_any_order(&format!("🐜 {agent} started")).await;
        }
        // Two children in sessions of their own and two daemons, beside the agents.
        let all = Instant::now();
        while processes_in(&folder).len() < 7 {
            assert!(all.elapsed() < PATIENCE, "not all are there: {:#?}", processes_in(&folder));
            tokio::task::yield_now().await;
        }
        demo.signal(signal);
        let (last, code) = demo.ended().await;
        assert_eq!(processes_in(&folder), [], "after {signal:?}");
        let farewell = last.last().map(String::as_str);
        assert_eq!(
            farewell,
            Some("herder has ended: its agents have stopped, 0 processes left."),
            "after {signal:?}"
        );
        assert_eq!(code, Some(0), "after {signal:?}");
    }
}

impl Demo {
    /// Waits for a line, also among those that were shown already.
    async fn until_any_order(&mut self, what: &str) {
        if self.first.iter().any(|line| line.contains(what)) {
            return;
        }
        let seen = self.until(what).await;
        self.first.extend(seen);
    }
}

#[tokio::test]
async fn the_console_goes_on_without_standard_input_and_quit_ends_the_demo() {
    let mut silent = Demo::start(&["--no-tour"]).await;
    silent.stdin = None;
    let mut ann = silent.join("#spark").await;
    ann.send("PRIVMSG #spark :hello spark").await;
    silent.until("✅ spark completed").await;
    silent.signal(Signal::TERM);
    silent.ended().await;

    let mut typed = Demo::start(&["--no-tour"]).await;
    typed.types("/channel spark").await;
    typed.types("hello spark").await;
    typed.until("#spark   you-here: hello spark").await;
    typed.until("✅ spark completed").await;
    typed.types("/quit").await;
    let (last, code) = typed.ended().await;
    assert!(last.iter().any(|line| line.contains("0 processes left")), "{last:#?}");
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn the_tour_shows_crash_limit_and_the_ladder_up_to_an_answered_call() {
    let mut demo = Demo::start(&[]).await;
    demo.until("The same is on a page in a browser").await;
    demo.until("🐜 spark started").await;
    demo.until("❌ nova crashed").await;
    demo.until("⏳ ember has reached the usage limit").await;
    let first = demo.first.join("\n");
    for said in
        ["@spark status", "@spark pause", "@spark resume", "/connect 127.0.0.1", "in weechat: /server add"]
    {
        assert!(first.contains(said), "the first lines do not say {said:?}:\n{first}");
    }
    // The channel that is told first is not promised.
    demo.until_within(TOUR, "#alerts  herder: 🚨 [ESCALATION] Agent spark appears stuck").await;
    // Only an answer lets it begin again.
    let answered = demo.until("🐜 spark started: run the benchmark in a spiral").await;
    let asked = answered.iter().any(|line| line.contains("tour: @spark resume"));
    assert!(asked, "the tour answers: {answered:#?}");
    // A command that is always asked about waits for its answer.
    let question = demo.until_within(TOUR, "⚙️ nova asks for permission").await;
    assert!(question.last().is_some_and(|line| line.contains("always asked: git push")), "{question:#?}");
    demo.until("tour: @nova approve ").await;
    demo.until("nova may: ").await;
    demo.until("Pushed, since you allow it.").await;
    // Work that lands: checked twice, looked at, accepted, merged.
    let landing = demo.until_within(TOUR, "of clay is merged").await;
    for said in ["tour: !task diff", "+echo \"hello, $1\"", "tour: !accept"] {
        assert!(landing.iter().any(|line| line.contains(said)), "no {said:?} in {landing:#?}");
    }
    let story = demo.until("tour: Any of these words").await;
    assert!(story.iter().any(|line| line.contains("clay · greet whoever is named")), "{story:#?}");
    let repository = demo.data().join("data/repositories/greet");
    assert_eq!(std::fs::read_to_string(repository.join("greet.sh")).expect("a file"), "echo \"hello, $1\"\n");
    let mut log = Command::new("git");
    log.arg("-C").arg(&repository).args(["log", "--format=%s", "main"]);
    let log = log.output().await.expect("git").stdout;
    assert_eq!(String::from_utf8_lossy(&log), "greet whoever is named\nGreet\n");
    demo.signal(Signal::INT);
    demo.ended().await;
}

#[tokio::test]
async fn a_demo_that_nobody_reads_ends() {
    let mut demo = Demo::start(&[]).await;
    demo.stdout = None;
    let status = tokio::time::timeout(PATIENCE, demo.child.wait()).await;
    status.expect("it ends").expect("a status");
    assert_eq!(processes_in(&demo.data()), []);
}

#[tokio::test]
async fn a_second_demo_on_the_same_data_names_the_first() {
    let first = Demo::start(&["--no-tour"]).await;
    let mut second = Command::new(env!("CARGO_BIN_EXE_herder"))
        .args(["demo", "--no-tour", "--port", "0", "--data-dir"])
        .arg(first.data.path().join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    let mut why = String::new();
    let mut stderr = second.stderr.take().expect("piped");
    let reading = stderr.read_to_string(&mut why);
    tokio::time::timeout(PATIENCE, reading).await.expect("it gives up").expect("text");
    let status = tokio::time::timeout(PATIENCE, second.wait()).await.expect("it ends").expect("a status");
    assert_eq!(status.code(), Some(1));
    assert!(why.contains(&first.child.id().expect("it runs").to_string()), "the holder is not named: {why}");
}
