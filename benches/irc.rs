//! IRC as people meet it: from a command to its answer, commands per second, and from start to JOIN; beside a bot that
//! does nothing but echo, and beside errbot where it is installed, through the same server on loopback.
//!
//! ```text
//! cargo bench --bench irc -- [answers|rest|load|rate|start|past|demo] [--pairs 5] [--count 1000] [--events 1000000]
//! ```
//!
//! Commands go through Debian's ngircd (`MaxPenaltyTime = 0`) and InspIRCd (which paces nobody): a server that sends each
//! line at once hides what a real one waits for. Starts are measured with herder's own server, which runs in this process.
//!
//! The echo bot is a process of its own, as herder is, and parses with the same `irc::proto`; it stores nothing. What
//! herder may cost on top is measured in the same folder, right beside: an `fdatasync`, and a commit of bare sled. Data is
//! in the target folder, on a real disk. errbot: `python3 -m venv target/test-tools/errbot` and
//! `target/test-tools/errbot/bin/pip install 'errbot[irc]'`.
#![expect(clippy::disallowed_methods, reason = "real time is measured")]

mod bench;
#[path = "bench/echo.rs"]
mod echo;
#[path = "bench/errbot.rs"]
mod errbot;
#[path = "bench/past.rs"]
mod past;
#[path = "../tests/it/servers/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod servers;

/// Expected by the modules of the tests that simulate people.
mod irc_rig {
    pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
}

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use errbot::Errbot;
use servers::inspircd::{self, Inspircd};
use servers::ngircd::Ngircd;

use bench::{Herder, Toml, head, median, quantile, row, say, signal};
use herder::chat::embedded_ircd::{Options, Password, Server};
use sled::transaction::{ConflictableTransactionError, Transactional as _};

/// Agents that stream while commands are given, and lines per second of all.
const STREAMING: usize = 50;
const LINES_PER_SECOND: usize = 10_000;

/// Commands that are unanswered at once in the rate test: fewer than herder reads before it stops reading.
const PIPELINED: usize = 64;

const ROOM: &str = "#herder";
const PASSWORD: &str = "correct horse";

struct Arguments {
    part: Option<String>,
    pairs: usize,
    count: usize,
    events: u64,
    agents: usize,
}

fn arguments() -> Arguments {
    let mut given = Arguments { part: None, pairs: 5, count: 1_000, events: 1_000_000, agents: 1_000 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            words.next().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{word} takes a number"))
        };
        match &*word {
            "--pairs" => given.pairs = number(),
            "--count" => given.count = number(),
            "--events" => given.events = number() as u64,
            "--agents" => given.agents = number(),
            // Cargo adds it.
            "--bench" => {}
            _ => given.part = Some(word),
        }
    }
    given
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["echo", address] => return echo::run(address, ROOM),
        ["stream", every_second] => return stream(every_second.parse().expect("a count")),
        ["fill", dir, agents, events] => {
            return past::fill(
                Path::new(dir),
                agents.parse().expect("a count"),
                events.parse().expect("a count"),
            );
        }
        _ => {}
    }
    let given = arguments();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio");
    let server = runtime
        .block_on(Server::start(Options {
            bot_nick: "nobody".to_owned(),
            accounts: vec![("alice".to_owned(), Password::of(PASSWORD))],
            guests: true,
            paced: false,
            ..Options::default()
        }))
        .expect("a free port");
    let server = server.address();
    let ngircd = Ngircd::start("MaxPenaltyTime = 0");
    let unpaced = inspircd::Options { rate: 1_000_000_000, threshold: 1_000_000, ..Default::default() };
    let inspircd = Inspircd::start(&unpaced);
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let real = [("ngircd", local(ngircd.port)), ("InspIRCd", local(inspircd.port))];
    if !Errbot::is_installed() {
        say("errbot is not installed, and left out");
    }
    let wanted = |part: &str| given.part.as_deref().is_none_or(|wanted| wanted == part);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    say(&format!("{} pairs, {} commands each; load before {}", given.pairs, given.count, load.trim()));
    head();
    for (name, server) in real {
        if wanted("answers") {
            answers(name, server, &given, 0);
        }
        if wanted("rate") {
            rate(name, server, &given);
        }
        if wanted("rest") {
            after_a_rest(name, server, &given);
        }
    }
    if wanted("load") {
        answers("ngircd", real[0].1, &given, STREAMING);
    }
    if wanted("start") {
        start(server, &given);
    }
    if wanted("past") {
        past::start(server, given.agents, given.events, given.pairs);
    }
    if wanted("demo") {
        demo(&given);
    }
}

/// Writes an agent's standard output: lines of 200 bytes, in bursts of ten.
fn stream(every_second: usize) {
    let burst = format!("{}\n", "x".repeat(199)).repeat(10);
    let pause = Duration::from_secs_f64(10.0 / every_second as f64);
    let (began, mut bursts) = (Instant::now(), 0);
    while std::io::stdout().write_all(burst.as_bytes()).is_ok() {
        bursts += 1;
        std::thread::sleep((began + pause * bursts).saturating_duration_since(Instant::now()));
    }
}

/// A person at a plain client.
pub(crate) struct Person {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    line: String,
}

impl Person {
    /// Joins a server that asks for no password.
    pub(crate) fn join(server: SocketAddr) -> Self {
        Self::joined(server, "")
    }

    /// Joins herder's own server.
    pub(crate) fn log_in(server: SocketAddr) -> Self {
        Self::joined(server, &format!("PASS :{PASSWORD}\r\n"))
    }

    fn joined(server: SocketAddr, pass: &str) -> Self {
        let writer = TcpStream::connect(server).expect("the server listens");
        writer.set_nodelay(true).expect("no delay");
        writer.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
        let reader = BufReader::with_capacity(256 * 1024, writer.try_clone().expect("a handle"));
        let mut person = Self { reader, writer, line: String::new() };
        person.send(&format!("{pass}NICK alice\r\nUSER alice 0 * :alice\r\n"));
        // InspIRCd refuses a JOIN before it has registered the client.
        person.until(|line| line.contains(" 001 "));
        person.send(&format!("JOIN {ROOM}\r\n"));
        person.until(|line| line.contains(" 366 "));
        person
    }

    fn send(&mut self, lines: &str) {
        self.writer.write_all(lines.as_bytes()).expect("the server reads");
    }

    fn until(&mut self, wanted: impl Fn(&str) -> bool) {
        loop {
            self.line.clear();
            let length =
                self.reader.read_line(&mut self.line).expect("the server answers within two minutes");
            assert!(length > 0, "the server left");
            if let Some(token) = self.line.strip_prefix("PING ") {
                let pong = format!("PONG {token}");
                self.send(&pong);
            } else if wanted(&self.line) {
                return;
            }
        }
    }

    /// Waits until the bot joins.
    pub(crate) fn sees_join(&mut self, bot: &str) {
        let bot = format!(":{bot}!");
        self.until(|line| line.starts_with(&bot) && line.contains(" JOIN "));
    }

    fn sees_quit(&mut self, bot: &str) {
        let bot = format!(":{bot}!");
        self.until(|line| line.starts_with(&bot) && line.contains(" QUIT "));
    }

    fn hears(&mut self, bot: &str, word: &str) {
        let bot = format!(":{bot}!");
        self.until(|line| line.starts_with(&bot) && line.contains(" PRIVMSG ") && line.contains(word));
    }
}

/// A bot that can be asked.
struct Bot {
    nick: &'static str,
    /// Commands that are said in turn, each with a word of the last line of its answer.
    asked: &'static [(&'static str, &'static str)],
}

/// `status` only looks: it is answered from state, its audit event follows, and the answer is not stored.
const LOOKS: Bot = Bot { nick: "herder", asked: &[("!status spark", "sessions")] };

/// Commands that change something: the audit event, the agent's event, its snapshot and the answer are on disk first.
const CHANGES: Bot = Bot { nick: "herder", asked: &[("!pause spark", "paused"), ("!resume spark", "spark")] };

/// errbot's own command of one line.
const ERRBOT: Bot = Bot { nick: "errbot", asked: &[("!uptime", "up")] };

const ECHO: Bot = Bot { nick: "echo", asked: &[("!status spark", "status")] };

/// Milliseconds from each command to the last line of its answer.
fn latencies(person: &mut Person, bot: &Bot, count: usize) -> Vec<f64> {
    let one = |n: usize, person: &mut Person| {
        let (text, answer) = bot.asked[n % bot.asked.len()];
        let line = format!("PRIVMSG {ROOM} :{text}\r\n");
        let began = Instant::now();
        person.send(&line);
        person.hears(bot.nick, answer);
        began.elapsed().as_secs_f64() * 1000.0
    };
    // The first ones make files and fill caches.
    for n in 0..50 {
        one(n, person);
    }
    (0..count).map(|n| one(n, person)).collect()
}

/// Commands per second with [`PIPELINED`] of them unanswered.
fn throughput(person: &mut Person, bot: &Bot, count: usize) -> f64 {
    let (text, answer) = bot.asked[0];
    let line = format!("PRIVMSG {ROOM} :{text}\r\n");
    let began = Instant::now();
    person.send(&line.repeat(PIPELINED.min(count)));
    for answered in 0..count {
        person.hears(bot.nick, answer);
        if answered + PIPELINED < count {
            person.send(&line);
        }
    }
    count as f64 / began.elapsed().as_secs_f64()
}

/// Milliseconds until a block that is written over another is on disk. What a longer file costs on top depends on whatever
/// else the file system has to write first.
fn fdatasync(dir: &Path) -> f64 {
    let mut file = std::fs::File::create(dir.join("sync")).expect("a file");
    file.write_all(&[0; 200 * 512]).expect("writes");
    file.sync_all().expect("syncs");
    file.rewind().expect("rewinds");
    let mut once = || {
        let began = Instant::now();
        file.write_all(&[7; 512]).expect("writes");
        file.sync_data().expect("syncs");
        began.elapsed().as_secs_f64() * 1000.0
    };
    median(&(0..200).map(|_| once()).collect::<Vec<_>>())
}

/// Milliseconds that sled alone takes for one small transaction until it is on disk, as herder asks it to: its flush, which
/// hands the write to a pool of threads, and the `fdatasync` that it leaves out.
fn bare_sled(dir: &Path) -> f64 {
    let db = sled::Config::new().path(dir.join("bare")).flush_every_ms(None).open().expect("opens");
    let trees = ["events", "heads"].map(|name| db.open_tree(name).expect("opens"));
    let log = std::fs::File::open(dir.join("bare/db")).expect("sled's file");
    let mut once = |n: u32| {
        let began = Instant::now();
        let stored = trees.as_slice().transaction(|views| {
            views[0].insert(&n.to_be_bytes(), vec![7; 300])?;
            views[1].insert(b"audit", &n.to_be_bytes())?;
            Ok::<(), ConflictableTransactionError<()>>(())
        });
        stored.expect("stores");
        db.flush().expect("flushes");
        log.sync_data().expect("syncs");
        began.elapsed().as_secs_f64() * 1000.0
    };
    median(&(0..300).map(&mut once).collect::<Vec<_>>())
}

/// Returns a folder on the disk that the target folder is on.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// Returns the configuration of herder on `server`, with spark, which is idle, and `streaming` agents that write.
pub(crate) fn configuration(dir: &Path, server: SocketAddr, streaming: usize) -> Toml {
    let mut text = String::new();
    writeln!(
        text,
        "[[irc]]\nname = \"bench\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n[access]\nadmins = [\"irc:bench:alice\", \"irc-mask:bench:alice!*alice@127.0.0.1\"]",
        server.port()
    )
    .expect("a string");
    let mut toml = Toml::new(&dir.join("data")).raw(&text).agent("spark", &["cat"], dir, false);
    let myself = std::env::current_exe().expect("a path").display().to_string();
    let each = (LINES_PER_SECOND / STREAMING).to_string();
    for n in 0..streaming {
        toml = toml.agent(&format!("stream-{n}"), &[&myself, "stream", &each], dir, true);
    }
    toml
}

struct Echo(Child);

impl Echo {
    fn start(server: SocketAddr) -> Self {
        let myself = std::env::current_exe().expect("a path");
        let child = Command::new(myself).args(["echo", &server.to_string()]).spawn().expect("starts");
        Self(child)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Results for herder, for the echo bot, and for errbot if it is installed; then the times of an fdatasync and of a
/// commit of bare sled.
type Round<T> = (T, T, Option<T>, [f64; 2]);

/// Does something with herder, then the same with the others.
fn pair<T>(
    server: SocketAddr,
    streaming: usize,
    mut ours: impl FnMut(&mut Person) -> T,
    mut theirs: impl FnMut(&mut Person, &Bot) -> T,
) -> Round<T> {
    let dir = folder();
    let mut person = Person::join(server);
    let config = configuration(dir.path(), server, streaming).write(dir.path());
    let herder = Herder::start(&config);
    person.sees_join("herder");
    // Until herder knows where the history ends, it takes lines for history and runs no command.
    std::thread::sleep(Duration::from_millis(500));
    person.send(&format!("PRIVMSG {ROOM} :!status spark\r\n"));
    person.hears("herder", "sessions");
    if streaming > 0 {
        // Until all of them run and stream.
        std::thread::sleep(Duration::from_secs(2));
    }
    let mine = ours(&mut person);
    herder.stop();
    person.sees_quit("herder");
    let sync = [fdatasync(dir.path()), bare_sled(dir.path())];
    let echo = Echo::start(server);
    person.sees_join("echo");
    let other = theirs(&mut person, &ECHO);
    drop(echo);
    person.sees_quit("echo");
    let errbot = Errbot::start(server, dir.path(), ROOM).map(|errbot| {
        person.sees_join("errbot");
        let other = theirs(&mut person, &ERRBOT);
        drop(errbot);
        person.sees_quit("errbot");
        other
    });
    (mine, other, errbot, sync)
}

fn answers(name: &str, server: SocketAddr, given: &Arguments, streaming: usize) {
    let rounds: Vec<_> = (0..given.pairs)
        .map(|_| {
            pair(
                server,
                streaming,
                |person| {
                    [
                        latencies(person, &LOOKS, given.count),
                        latencies(person, &CHANGES, given.count.div_ceil(2)),
                    ]
                },
                |person, bot| [latencies(person, bot, given.count), Vec::new()],
            )
        })
        .collect();
    let over = |pick: &dyn Fn(usize) -> f64| median(&(0..rounds.len()).map(pick).collect::<Vec<_>>());
    let [sync, sled] = [0, 1].map(|which| over(&|n| rounds[n].3[which]));
    let beside = if streaming == 0 {
        String::new()
    } else {
        format!(", while {streaming} agents stream {LINES_PER_SECOND} lines/s")
    };
    for (kind, what) in ["`status`", "`pause` and `resume`, stored"].into_iter().enumerate() {
        for (q, part, marks) in [(0.5, "p50", ["2", "1.3"]), (0.99, "p99", ["3", "2"])] {
            let mine = over(&|n| quantile(&rounds[n].0[kind], q));
            let echo = over(&|n| quantile(&rounds[n].1[0], q));
            let errbot = beside_errbot(&rounds, |of| quantile(&of[0], q), " ms");
            let stored = if kind == 0 { 0.0 } else { sled };
            row(
                &format!("{name}: command to answer, {part}: {what}{beside}"),
                &format!("{mine:.2} ms"),
                &format!(
                    "echo {echo:.2} ms{errbot}; a commit of bare sled {sled:.2} ms, fdatasync {sync:.2} ms"
                ),
                mine / (echo + stored),
                marks[kind],
            );
        }
    }
}

/// Returns the text of errbot's results for the same, empty if it is not installed.
fn beside_errbot<T>(rounds: &[Round<T>], of: impl Fn(&T) -> f64, unit: &str) -> String {
    let measured: Vec<f64> = rounds.iter().filter_map(|round| round.2.as_ref().map(&of)).collect();
    if measured.is_empty() { String::new() } else { format!("; errbot {:.2}{unit}", median(&measured)) }
}

/// Measures the time from a command to its answer after 200 ms of silence.
fn after_a_rest(name: &str, server: SocketAddr, given: &Arguments) {
    let rested = |person: &mut Person, bot: &Bot| {
        let (text, answer) = bot.asked[0];
        let one = |person: &mut Person| {
            std::thread::sleep(Duration::from_millis(200));
            let began = Instant::now();
            person.send(&format!("PRIVMSG {ROOM} :{text}\r\n"));
            person.hears(bot.nick, answer);
            began.elapsed().as_secs_f64() * 1000.0
        };
        median(&(0..50).map(|_| one(person)).collect::<Vec<_>>())
    };
    let rounds: Vec<_> =
        (0..given.pairs).map(|_| pair(server, 0, |person| rested(person, &LOOKS), rested)).collect();
    let mine = median(&rounds.iter().map(|round| round.0).collect::<Vec<_>>());
    let echo = median(&rounds.iter().map(|round| round.1).collect::<Vec<_>>());
    row(
        &format!("{name}: `status` to its answer after 200 ms of silence, p50"),
        &format!("{mine:.2} ms"),
        &format!("echo {echo:.2} ms{}", beside_errbot(&rounds, |of| *of, " ms")),
        mine / 1.5,
        "1.5 ms",
    );
}

fn rate(name: &str, server: SocketAddr, given: &Arguments) {
    let count = given.count * 4;
    let rounds: Vec<_> = (0..given.pairs)
        .map(|_| {
            pair(
                server,
                0,
                |person| throughput(person, &LOOKS, count),
                |person, bot| throughput(person, bot, if bot.nick == ECHO.nick { count * 4 } else { count }),
            )
        })
        .collect();
    let mine = median(&rounds.iter().map(|round| round.0).collect::<Vec<_>>());
    let echo = median(&rounds.iter().map(|round| round.1).collect::<Vec<_>>());
    row(
        &format!("{name}: `status` per second, {PIPELINED} at once"),
        &format!("{mine:.0}"),
        &format!("echo {echo:.0}{}", beside_errbot(&rounds, |of| *of, "")),
        mine / echo,
        "at least 0.6",
    );
}

/// Seconds until a bot that is started joins.
fn until_join<T>(person: &mut Person, nick: &str, begin: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let bot = begin();
    person.sees_join(nick);
    (began.elapsed().as_secs_f64(), bot)
}

fn start(server: SocketAddr, given: &Arguments) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut person = Person::log_in(server);
    for _ in 0..given.pairs {
        let dir = folder();
        let config = configuration(dir.path(), server, 0).write(dir.path());
        let (seconds, herder) = until_join(&mut person, "herder", || Herder::start(&config));
        ours.push(seconds * 1000.0);
        drop(herder);
        person.sees_quit("herder");
        let (seconds, echo) = until_join(&mut person, "echo", || Echo::start(server));
        theirs.push(seconds * 1000.0);
        drop(echo);
        person.sees_quit("echo");
    }
    let (mine, echo) = (median(&ours), median(&theirs));
    row(
        "start to JOIN, no data",
        &format!("{mine:.1} ms"),
        &format!("echo {echo:.1} ms"),
        mine / 50.0,
        "50 ms",
    );
}

/// Measures the time from the start of `herder demo` to its first line, which it prints once it reads commands.
fn demo(given: &Arguments) {
    let millis: Vec<f64> = (0..given.pairs)
        .map(|_| {
            let began = Instant::now();
            let mut demo = Command::new(env!("CARGO_BIN_EXE_herder"))
                .args(["demo", "--port", "0", "--no-tour"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("starts");
            let mut first = [0];
            demo.stdout.take().expect("piped").read_exact(&mut first).expect("says something");
            let millis = began.elapsed().as_secs_f64() * 1000.0;
            signal(demo.id(), "TERM");
            drop(demo.wait());
            millis
        })
        .collect();
    let ready = median(&millis);
    row(
        "start of the demo until it can be talked to",
        &format!("{ready:.1} ms"),
        "",
        ready / 100.0,
        "100 ms",
    );
}
