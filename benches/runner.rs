//! The price of a runner of its own, beside agents that run in the bot's process: a restart, an order with its answer, the
//! adoption of sessions by the next bot, memory and wake-ups.
//!
//! ```text
//! cargo bench --bench runner                     everything
//! cargo bench --bench runner -- restarts
//! cargo bench --bench runner -- orders [COUNT]
//! cargo bench --bench runner -- adoption [SESSIONS]
//! cargo bench --bench runner -- idle [AGENTS]
//! ```
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

#[path = "bench/arena.rs"]
mod arena;
mod bench;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::input::Signal;
use herder::core::machine::{Enforcement, Together};
use herder::core::outcome::Usage;
use herder::core::spec::{AgentSpec, Runtime};
use herder::local::{self, Request};
use herder::runner::link::{Bot, Link};
use herder::runner::prefix;
use herder::runner::process::{Question, SOCKET, ask};
use herder::runner::wire::SessionKey;
use herder::runtime::{Clocks, Driver, Launch, Local, Order, ProcessTrees, Report, launch};

use arena::{Arena, POLICY};
use bench::{Herder, Toml, head, median, pss_kib, quantile, row, say, signal};

/// Alternating pairs per figure.
const PAIRS: usize = 5;

/// Agents whose children are killed in turn, and kills per round.
const AGENTS: usize = 19;
const KILLS: usize = 200;

/// The time that a bot and its runner need to settle.
const SETTLES: Duration = Duration::from_secs(5);

/// The duration of one count of wake-ups: ten beats of the runner.
const COUNTED: Duration = Duration::from_secs(20);

/// The wait for what a process does.
const PATIENCE: Duration = Duration::from_secs(60);

/// The id of the journal of a bot without one.
const JOURNAL: &str = "bench-runner";

/// Values of `[runners] local`.
const LOCAL: [&str; 2] = ["embedded", "process"];

/// A bot with its agents, and with its runner if it has one.
struct House {
    dir: tempfile::TempDir,
    herder: Option<Herder>,
    runtime: tokio::runtime::Runtime,
}

impl House {
    fn open(dir: tempfile::TempDir, local: &str, toml: Toml) -> Self {
        toml.raw(&format!("[runners]\nlocal = {local:?}")).write(dir.path());
        let runtime = tokio::runtime::Runtime::new().expect("tokio");
        let mut house = Self { dir, herder: None, runtime };
        house.start();
        house
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Starts the bot and returns once it answers.
    fn start(&mut self) {
        self.herder = Some(Herder::start(&self.dir.path().join("bot.toml")));
        let socket = self.data().join(local::FILE_NAME);
        let request = Request { command: "status".to_owned(), args: Vec::new() };
        let answers = || self.runtime.block_on(local::ask(&socket, &request)).is_ok();
        assert!(bench::poll_until(PATIENCE, answers), "herder did not start");
    }

    fn pid(&self) -> u32 {
        self.herder.as_ref().expect("it runs").pid()
    }

    /// Returns the process id of the runner, if there is one.
    fn runner(&self) -> Option<u32> {
        self.runtime.block_on(ask(&self.data(), Question::Status)).ok().map(|status| status.pid)
    }

    fn close(mut self) {
        self.herder.take().expect("it runs").stop();
        if self.runner().is_some() {
            self.runtime.block_on(ask(&self.data(), Question::Stop)).expect("the runner ends");
        }
    }
}

/// Returns the times in ms from the kill of a child to the exec of its successor.
fn killed(arena: &Arena, local: &str) -> Vec<f64> {
    let dir = tempfile::tempdir_in(arena.dir.path()).expect("a folder");
    let mut toml = Toml::new(&dir.path().join("data")).raw(POLICY);
    for n in 0..AGENTS {
        let name = format!("agent-{n}");
        toml = toml.agent(&name, &arena.command(&name), arena.dir.path(), true);
    }
    let house = House::open(dir, local, toml);
    let mut children = arena.hear_all(AGENTS);
    let times = (0..KILLS).map(|n| {
        let began = Instant::now();
        signal(children[&format!("agent-{}", n % AGENTS)], "KILL");
        let (name, pid) = arena.heard();
        let took = began.elapsed();
        children.insert(name, pid);
        took.as_secs_f64() * 1000.0
    });
    let times = times.collect();
    house.close();
    times
}

fn restarts() {
    let arena = Arena::new();
    let (mut embedded, mut process) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..PAIRS {
        for (local, all) in LOCAL.into_iter().zip([&mut embedded, &mut process]) {
            let times = killed(&arena, local);
            all[0].push(quantile(&times, 0.5));
            all[1].push(quantile(&times, 0.99));
        }
    }
    for (n, what) in ["p50", "p99"].into_iter().enumerate() {
        let (beside, took) = (median(&embedded[n]), median(&process[n]));
        row(
            &format!("kill -9 to successor's exec, {what} ({AGENTS} agents)"),
            &format!("{took:.2} ms"),
            &format!("embedded {beside:.2} ms"),
            took / beside,
            &format!("{:.2} ms (1.3 x embedded + 0.3 ms)", 1.3f64.mul_add(beside, 0.3)),
        );
    }
}

fn name(n: usize) -> AgentName {
    AgentName::new(&format!("agent-{n}")).expect("a good name")
}

/// Returns a session that sleeps.
fn session(n: usize, folder: &Path, journal: &str) -> Launch {
    let agent = name(n);
    let mut spec = AgentSpec::new(agent.clone(), Runtime::Command, folder.to_owned());
    spec.command = ["sleep", "3600"].map(str::to_owned).to_vec();
    let long = Duration::from_secs(3600);
    Launch {
        marker: format!("{}{agent}/1", prefix(journal, None)),
        agent,
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "go".to_owned(),
        conversation: None,
        past: None,
        conversed: Usage::default(),
        clocks: Clocks {
            startup: long,
            silence: long,
            tool: long,
            task: long,
            grace: Duration::from_secs(1),
            beat: long,
        },
        together: Together::All,
        limits: Enforcement::Try,
        look: false,
        always_ask: Vec::new(),
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
    }
}

/// A runner's process.
struct Runner {
    folder: tempfile::TempDir,
    child: Child,
}

impl Runner {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder");
        let config = Toml::new(&data).write(folder.path());
        let log = std::fs::File::create(folder.path().join("log")).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_herder"))
            .args(["runner", "run", "--config"])
            .arg(config)
            .env("HERDER_RUNNERS_LOCAL", "process")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Self { folder, child: child.expect("herder starts") }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn link(&self, epoch: u64) -> Link {
        Link::to(self.data().join(SOCKET), Bot { journal: JOURNAL.to_owned(), epoch })
    }

    async fn end(mut self) {
        ask(&self.data(), Question::Stop).await.expect("it ends");
        self.child.wait().expect("it is over");
    }
}

/// Reads reports until a process has begun, and gives it its work. Returns the number of the reports that count.
async fn begun(driver: &mut Driver) -> u64 {
    let mut heard = 0;
    loop {
        let report = driver.reports.recv().await.expect("it has begun");
        heard += u64::from(report != Report::Beat);
        match report {
            Report::Signal(Signal::Spawned { .. }) => {
                driver.orders.send(Order::Go).await.expect("it is listened to");
                return heard;
            }
            Report::Signal(Signal::Ended { outcome, .. }) => panic!("it does not start: {outcome:?}"),
            Report::Signal(_) | Report::Beat | Report::Words(_) | Report::NotTaken { .. } => {}
        }
    }
}

/// Gives a session a message, which its driver does not take, and waits for that report.
async fn answered(driver: &mut Driver, number: u64) {
    let order = Order::Steer { work: WorkId(number), text: "go on".to_owned(), files: Vec::new() };
    driver.orders.send(order).await.expect("it is listened to");
    while driver.reports.recv().await.expect("it runs") != (Report::NotTaken { work: WorkId(number) }) {}
}

/// Returns the times in ms from an order to the report that answers it. `heard` is told of each number of a report.
async fn asked(driver: &mut Driver, count: u64, heard: impl Fn(u64)) -> Vec<f64> {
    let first = begun(driver).await;
    let mut times = Vec::new();
    for number in 1..=count {
        let began = Instant::now();
        answered(driver, number).await;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        heard(first + number);
    }
    times
}

async fn orders(count: u64) {
    let (mut embedded, mut process) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..PAIRS {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = herder::runtime::environment::own_without(&BTreeSet::new());
        let local = Local { environment, ..Local::default() };
        let trees = ProcessTrees::new().expect("this process can adopt");
        let mut driver = launch(session(0, folder.path(), JOURNAL), local, trees);
        let times = asked(&mut driver, count, |_| {}).await;
        embedded[0].push(quantile(&times, 0.5));
        embedded[1].push(quantile(&times, 0.99));
        driver.orders.send(Order::Stop).await.expect("it runs");
        while driver.reports.recv().await.is_some() {}

        let runner = Runner::start();
        let link = runner.link(1);
        let mut driver = link.launch(session(0, folder.path(), JOURNAL));
        let of = SessionKey { agent: name(0), session: SessionId(1) };
        let times = asked(&mut driver, count, |up_to| link.heard(&of, up_to)).await;
        process[0].push(quantile(&times, 0.5));
        process[1].push(quantile(&times, 0.99));
        link.close().await;
        runner.end().await;
    }
    for (n, (what, mark)) in [("p50", "0.15 ms"), ("p99", "none")].into_iter().enumerate() {
        let (beside, took) = (median(&embedded[n]), median(&process[n]));
        row(
            &format!("order, runner, report, {what}"),
            &format!("{took:.3} ms"),
            &format!("embedded {beside:.3} ms"),
            took / beside,
            mark,
        );
    }
}

/// Returns the time in seconds in which another bot has adopted so many sessions, and each has answered an order.
async fn adopted(sessions: usize) -> f64 {
    let runner = Runner::start();
    let first = runner.link(1);
    let launch = |n| first.launch(session(n, runner.folder.path(), JOURNAL));
    let mut drivers: Vec<Driver> = (0..sessions).map(launch).collect();
    let mut heard = BTreeMap::new();
    for (n, driver) in drivers.iter_mut().enumerate() {
        let of = SessionKey { agent: name(n), session: SessionId(1) };
        let up_to = begun(driver).await;
        first.heard(&of, up_to);
        heard.insert(of, up_to);
    }
    first.close().await;
    drop(drivers);

    let began = Instant::now();
    let second = runner.link(2);
    let there = second.connected(PATIENCE).await.expect("the runner answers");
    assert_eq!(there.len(), sessions, "the sessions are there");
    let adopt = |(of, heard): (SessionKey, u64)| second.adopt(of, heard);
    let mut drivers: Vec<Driver> = heard.into_iter().map(adopt).collect();
    let answers = drivers.iter_mut().enumerate().map(|(n, driver)| answered(driver, 1 + n as u64));
    futures_util::future::join_all(answers).await;
    let took = began.elapsed().as_secs_f64();
    second.close().await;
    runner.end().await;
    took
}

/// Returns the time in seconds in which a bot with so many agents at work answers after a kill.
fn back(arena: &Arena, agents: usize, local: &str) -> f64 {
    let dir = tempfile::tempdir_in(arena.dir.path()).expect("a folder");
    let mut toml = Toml::new(&dir.path().join("data")).raw(POLICY);
    for n in 0..agents {
        let name = format!("agent-{n}");
        toml = toml.agent(&name, &arena.command(&name), arena.dir.path(), true);
    }
    let mut house = House::open(dir, local, toml);
    arena.hear_all(agents);
    std::thread::sleep(SETTLES);
    let began = Instant::now();
    signal(house.pid(), "KILL");
    house.start();
    if local == "embedded" {
        // Every session begins anew.
        arena.hear_all(agents);
    }
    let took = began.elapsed().as_secs_f64();
    house.close();
    took
}

fn adoption(sessions: usize) {
    let runtime = tokio::runtime::Runtime::new().expect("tokio");
    let times: Vec<f64> = (0..PAIRS).map(|_| runtime.block_on(adopted(sessions))).collect();
    let took = median(&times);
    row(&format!("adoption of {sessions} sessions"), &format!("{took:.2} s"), "", took, "1 s");
    let arena = Arena::new();
    let (mut embedded, mut process) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        embedded.push(back(&arena, sessions, "embedded"));
        process.push(back(&arena, sessions, "process"));
    }
    let (beside, took) = (median(&embedded), median(&process));
    row(
        &format!("kill -9 of the bot with {sessions} agents at work: all are at work, the next bot answers"),
        &format!("{took:.2} s"),
        &format!("embedded {beside:.2} s"),
        took / beside,
        "none",
    );
}

/// The memory of a bot and of its runner with agents that have nothing to do, in KiB.
struct Rest {
    bot: f64,
    runner: f64,
}

fn rest(agents: usize, local: &str) -> Rest {
    let dir = tempfile::tempdir().expect("a folder");
    let mut toml = Toml::new(&dir.path().join("data"));
    for n in 0..agents {
        toml = toml.agent(&format!("agent-{n}"), &["cat"], dir.path(), false);
    }
    let house = House::open(dir, local, toml);
    std::thread::sleep(SETTLES);
    let runner = house.runner();
    if let Some(runner) = runner {
        std::thread::sleep(SETTLES);
        let (before, cpu) = (bench::wakeups(runner), bench::cpu_seconds(runner));
        std::thread::sleep(COUNTED);
        let (after, cpu_after) = (bench::wakeups(runner), bench::cpu_seconds(runner));
        let sum = |counts: &BTreeMap<String, f64>| counts.values().sum::<f64>();
        say(&format!(
            "the runner beside {agents} idle agents: {} wake-ups and {:.2} s of CPU in {} s, in which it beats {} times",
            sum(&after) - sum(&before),
            cpu_after - cpu,
            COUNTED.as_secs(),
            COUNTED.as_secs() / 2,
        ));
    }
    let rest = Rest { bot: pss_kib(house.pid()), runner: runner.map_or(0.0, pss_kib) };
    house.close();
    rest
}

fn idle(agents: usize) {
    let mut base = 0.0;
    for agents in [0, agents] {
        let (mut embedded, mut both, mut runners) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            embedded.push(rest(agents, "embedded").bot);
            let with = rest(agents, "process");
            both.push(with.bot + with.runner);
            runners.push(with.runner);
        }
        let (beside, took, runner) = (median(&embedded), median(&both), median(&runners));
        row(
            &format!("memory of bot and runner, {agents} idle agents"),
            &format!("{:.1} MiB, of it the runner {:.1}", took / 1024.0, runner / 1024.0),
            &format!("embedded {:.1} MiB", beside / 1024.0),
            took / beside,
            "1.25 x",
        );
        if agents == 0 {
            base = runner;
        } else {
            let more = (runner - base) / 1024.0;
            row(
                &format!("memory of the runner for {agents} idle agents"),
                &format!("{more:.1} MiB"),
                "",
                1.0,
                "12 MB",
            );
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let number = |default| args.get(1).and_then(|count| count.parse().ok()).unwrap_or(default);
    let only = args.first().map(String::as_str);
    let wanted = |what: &str| only.is_none_or(|only| only == what);
    let runtime = tokio::runtime::Runtime::new().expect("tokio");
    head();
    if wanted("restarts") {
        restarts();
    }
    if wanted("orders") {
        runtime.block_on(orders(number(2_000) as u64));
    }
    if wanted("adoption") {
        adoption(number(500));
    }
    if wanted("idle") {
        idle(number(1_000));
    }
}
