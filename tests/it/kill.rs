//! A counting test: herder is killed with -9 at random moments under load, again and again, while a person commands
//! an agent over IRC whose sessions do not end by themselves and leave children in sessions of their own. After every
//! kill the acknowledged state holds, and before every spawn nothing is left of the session before; at the end
//! everything is accounted for.
//!
//! `HERDER_KILLS` sets how often (200); `HERDER_SEED` repeats a run.

mod accounts;
mod commanding;
mod crew;
mod handover;
pub(crate) mod process;
mod runner;
mod warm;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Server};
use herder::config::History;
use herder::core::agent::{Agent, Phase};
use herder::core::id::AgentName;
use herder::journal::{self, Journal, Stream};
use herder::local::{self, Request};
use tokio::sync::Semaphore;

use accounts::{Ledger, everything_is_heard, is_accounted_for, listen};
use commanding::{command, is_paused, number_of, tasks_are_as_told};

use crate::stage::{PATIENCE, Person};

/// Jobs of one worker that are under way at once: few enough that its channel's pending posts are never collapsed.
const UNDER_WAY: usize = 3;

/// Kills after which herder may catch up.
const KILLS_IN_A_ROW: u64 = 4;

/// Kinds of commands, of six, that must be acknowledged before a run counts: one of them tells whether the agent is paused.
const KINDS: usize = 4;

/// The agent that is commanded over IRC.
const LONG: &str = "long";

/// Notes what is left of earlier sessions of the same agent, by their marker, before it does anything else. A process of
/// its own that begins or ends meanwhile shows an empty environment for a moment, so the marker is read once more.
const ALONE: &str = r#"
ours="^HERDER_SESSION=${HERDER_SESSION%/*}/"
found=$(grep -lszE "$ours" /proc/[0-9]*/environ | xargs -r grep -Lsz "^HERDER_SESSION=$HERDER_SESSION\$")
for file in $found; do
    marker=$(tr '\0' '\n' 2>/dev/null < "$file" | grep '^HERDER_SESSION=')
    case $marker in
        "" | "HERDER_SESSION=$HERDER_SESSION") ;;
        *) echo "$1 has company: $file, $marker" >> violations ;;
    esac
done
"#;

/// Works until it is ended, with a child in a session of its own that has the lock as well.
const LONG_WORKER: &str = r#"
exec 9>"lock.$1"
flock -n 9 || echo "$1 runs twice" >> violations
setsid sleep 600 &
sleep 600
"#;

const WORKERS: [&str; 2] = ["worker-a", "worker-b"];

/// Notes every run; the job is the last line, after what a job that was cut short is told. A second run at the same time
/// cannot have the lock, and says so; a killed one has lost it.
const WORKER: &str = r#"
exec 9>"lock.$1"
flock -n 9 || echo "$1 runs twice" >> violations
line=$(tail -n 1)
echo "$line" >> runs
sleep 0.01
echo "done $line"
"#;

/// Starts a server to which herder connects from outside, under a nick that it does not reserve.
pub(crate) async fn outside_server() -> Server {
    Server::start(outside()).await.expect("a server")
}

fn outside() -> embedded_ircd::Options {
    embedded_ircd::Options {
        bot_nick: "nobody".to_owned(),
        guests: true,
        ..embedded_ircd::Options::default()
    }
}

/// The lines of a file; none if there is no such file.
pub(crate) fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Asks a herder over its socket until the answer is as it should be.
pub(crate) async fn asked_until(
    socket: &Path,
    (command, args): (&str, &[&str]),
    is_good: impl Fn(&local::Answer) -> bool,
) {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let request = Request { command: command.to_owned(), args };
    let answered = async {
        while !local::ask(socket, &request).await.is_ok_and(|answer| is_good(&answer)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.expect("herder answers as it should");
}

/// A herder that does not outlive a test that fails.
pub(crate) struct Running(Child);

impl Running {
    /// A herder with this configuration and these variables, which writes what it notes to `log` in `dir`.
    pub(crate) fn start(dir: &Path, config: &Path, variables: &[(&str, &str)]) -> Self {
        Self::by(Command::new(env!("CARGO_BIN_EXE_herder")), dir, config, variables)
    }

    /// The same by another command, which is given herder's arguments.
    pub(crate) fn by(mut command: Command, dir: &Path, config: &Path, variables: &[(&str, &str)]) -> Self {
        let log = std::fs::File::options().create(true).append(true).open(dir.join("log")).unwrap();
        command
            .args(["run", "--config"])
            .arg(config)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map(Self)
            .unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end; its exit code, if no signal ended it.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.0.wait().expect("it can be waited for").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have been waited for already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

struct Field {
    dir: tempfile::TempDir,
    server: Server,
    config: PathBuf,
    socket: PathBuf,
}

impl Field {
    async fn new() -> Self {
        Self::with("").await
    }

    /// A field whose configuration has these sections as well.
    async fn with(more: &str) -> Self {
        Self::configured(outside_server().await, |text, _| text + more)
    }

    /// A field whose configuration is changed before the first start.
    fn configured(server: Server, change: impl FnOnce(String, &Path) -> String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("bot.toml");
        std::fs::write(dir.path().join("worker.sh"), format!("{ALONE}{WORKER}")).unwrap();
        std::fs::write(dir.path().join("long.sh"), format!("{ALONE}{LONG_WORKER}")).unwrap();
        let text = change(configuration(dir.path(), server.address().port()), dir.path());
        std::fs::write(&config, text).unwrap();
        let socket = dir.path().join("data").join(local::FILE_NAME);
        Self { dir, server, config, socket }
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config, &[])
    }

    /// Writes one line of the configuration in another way, at once.
    fn changes(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(&self.config).unwrap().replace(from, to);
        let next = self.config.with_extension("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, &self.config).unwrap();
    }

    fn lines(&self, file: &str) -> Vec<String> {
        lines(&self.dir.path().join(file))
    }

    fn log(&self) -> String {
        let lines = self.lines("log");
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    async fn ask(&self, command: &str, args: &[&str]) -> Option<local::Answer> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        tokio::time::timeout(PATIENCE, local::ask(&self.socket, &request))
            .await
            .expect("an answer or a refusal")
            .ok()
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        // A test that fails leaves its runner.
        if self.dir.path().join("data/runner.sock").exists() {
            let mut stop = Command::new(env!("CARGO_BIN_EXE_herder"));
            stop.args(["runner", "stop", "--config"]).arg(&self.config).output().ok();
        }
    }
}

fn configuration(dir: &Path, port: u16) -> String {
    let workspace = dir.display();
    let agent = |name: &str, command: &str| {
        format!(
            "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = \"{workspace}\"\naccount = \"test\"\ncommand = {command}\n"
        )
    };
    let mut text = format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {port}\ntls = false\n\
         [access]\noperators = [\"irc-mask:test:boss!*@localhost\"]\n[supervisor]\nstop_grace = \"1s\"\nprocess_backoff = {{ base = \"1h\", cap = \"1h\" }}\n"
    );
    for worker in WORKERS {
        text += &agent(worker, &format!("[\"sh\", \"worker.sh\", \"{worker}\"]"));
    }
    text += &agent(LONG, &format!("[\"sh\", \"long.sh\", \"{LONG}\"]"));
    text += &agent("calm", "[\"sh\", \"-c\", \"echo calm ran >> violations\"]");
    text += &agent("waiter", "[\"sh\", \"-c\", \"exit 3\"]");
    text
}

/// Gives one worker jobs until it is told that it is over.
async fn load(field: Arc<Field>, ledger: Arc<Ledger>, worker: &'static str, room: Arc<Semaphore>) {
    let mut number = 0;
    while !ledger.is_over() {
        let Ok(Ok(permit)) = tokio::time::timeout(Duration::from_millis(100), room.acquire()).await else {
            continue;
        };
        number += 1;
        let job = format!("{worker}-job-{number}.");
        // Given back when the job is reported as done.
        permit.forget();
        ledger.owed.lock().unwrap().insert(job.clone());
        match field.ask("task add", &[worker, &job]).await {
            Some(answer) if answer.ok => {
                let task = number_of(&answer.lines.join(" ")).expect("an answer names the task");
                ledger.acknowledged.lock().unwrap().insert(job, task);
            }
            Some(answer) => panic!("{job} was refused: {:?}", answer.lines),
            // herder may have it all the same: then its lines come, and count among the pending ones.
            None => match task_of(&field, worker, &job).await {
                Some(task) => {
                    ledger.acknowledged.lock().unwrap().insert(job, task);
                }
                None => ledger.settle(&job, &room),
            },
        }
    }
}

/// The task that a herder which went away before it answered has made of the job, if it has.
async fn task_of(field: &Field, worker: &str, job: &str) -> Option<u64> {
    let started = std::time::Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(answer) = field.ask("task list", &[worker]).await {
            let tasks = answer.data.as_ref().and_then(serde_json::Value::as_array).cloned();
            let mut works = tasks.into_iter().flatten().map(|task| task["work"].clone());
            let work = works.find(|work| work["text"] == job);
            return work.map(|work| work["id"].as_u64().expect("a task has a number"));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("herder never came back\n{}", field.log());
}

/// A small generator, so that a seed repeats the moments.
pub(crate) struct Moments(u64);

impl Moments {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn millis(&mut self, below: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(self.0 % below)
    }
}

pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(crate) async fn reap(mut herder: Running) -> ExitStatus {
    tokio::task::spawn_blocking(move || herder.0.wait().unwrap()).await.unwrap()
}

pub(crate) fn signal(herder: &Running, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(&herder.0);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_by_kills() {
    let field = Arc::new(Field::new().await);
    kills_under_load(&field, number("HERDER_KILLS", 200), async |_, _| Struck::Bot).await;
}

/// The process that one round of kills has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Struck {
    /// The one that the test has started.
    Bot,
    /// Another one, beside which the bot goes on.
    Other,
}

/// Kills herder, or what `strike` kills instead, again and again under load; then compares what was acknowledged with
/// what is on disk and what was said.
async fn kills_under_load(field: &Arc<Field>, kills: u64, strike: impl AsyncFn(u64, &Running) -> Struck) {
    let field = Arc::clone(field);
    let seed = number("HERDER_SEED", u64::from(std::process::id()));
    let mut moments = Moments::new(seed);
    let ledger = Arc::new(Ledger::default());
    let channels = ["#worker-a", "#worker-b", "#calm", "#work"];
    let mut watcher = Person::join(field.server.address(), "watcher", None, &["#worker-a"]).await;
    let listener = Person::join(field.server.address(), "listener", None, &channels).await;
    let rooms: BTreeMap<_, _> = WORKERS.map(|worker| (worker, Arc::new(Semaphore::new(UNDER_WAY)))).into();
    let listening = tokio::spawn(listen(listener, Arc::clone(&ledger), rooms.clone()));

    let first = field.start();
    watcher.sees("herder", "#worker-a").await;
    assert!(field.ask("pause", &["calm"]).await.expect("herder answers").ok);
    assert!(field.ask("task add", &["calm", "never"]).await.expect("herder answers").ok);
    assert!(field.ask("task add", &["waiter", "fail"]).await.expect("herder answers").ok);
    let deadline = countdown(&field).await;

    let loads: Vec<_> = rooms
        .iter()
        .map(|(worker, room)| {
            tokio::spawn(load(Arc::clone(&field), Arc::clone(&ledger), worker, Arc::clone(room)))
        })
        .collect();
    let commanding =
        tokio::spawn(command(Arc::clone(&field), Arc::clone(&ledger), Moments::new(seed.wrapping_add(1))));
    let (mut herder, mut joins, mut lives) = (first, false, 1);
    for kill in 0..kills {
        // The pending posts after many kills in a row are collapsed, as intended; here every line is counted.
        if kill % KILLS_IN_A_ROW == 0 {
            caught_up(&rooms, &ledger, &field).await;
        }
        // Every fourth one dies while it is still coming up.
        if kill % 4 != 3 && joins {
            watcher.sees("herder", "#worker-a").await;
        }
        tokio::time::sleep(moments.millis(250)).await;
        joins = strike(kill, &herder).await == Struck::Bot;
        if !joins {
            continue;
        }
        signal(&herder, rustix::process::Signal::KILL);
        let status = reap(herder).await;
        assert_eq!(
            status.signal(),
            Some(9),
            "seed {seed}: herder ended by itself: {status}\n{}",
            field.log()
        );
        herder = field.start();
        lives += 1;
    }
    // On a slow machine few commands are acknowledged between the kills.
    let enough = tokio::time::timeout(3 * PATIENCE, ledger.kinds(KINDS)).await;
    ledger.over.send_replace(true);
    for load in loads {
        load.await.unwrap();
    }
    let told = commanding.await.unwrap();
    assert!(enough.is_ok(), "seed {seed}: of the commands only {:?} were acknowledged", told.acknowledged);
    assert_eq!(Some(is_paused(&field).await), told.paused, "seed {seed}");
    let acknowledged = ledger.acknowledged.lock().unwrap().clone();
    everything_is_heard(&ledger, &acknowledged, &field).await;
    let after = countdown(&field).await;
    signal(&herder, rustix::process::Signal::TERM);
    let status = reap(herder).await;
    listening.abort();

    assert!(status.success(), "seed {seed}: {status}\n{}", field.log());
    assert_eq!(after, deadline, "seed {seed}: a countdown did not go on");
    assert_eq!(field.lines("violations"), Vec::<String>::new(), "seed {seed}");
    let runs: BTreeSet<String> = field.lines("runs").into_iter().collect();
    let lost: Vec<_> = acknowledged.keys().filter(|job| !runs.contains(*job)).collect();
    assert!(lost.is_empty(), "seed {seed}: acknowledged and never run: {lost:?}");
    is_accounted_for(&ledger.heard.lock().unwrap(), &acknowledged, seed);
    let journal = check_journal(&field).await;
    assert_eq!(left(&journal), Vec::<u32>::new(), "seed {seed}: orphans");
    tasks_are_as_told(&told, &journal, seed);
    // In few rounds there may be nothing to compare, and a bot that goes on answers everything.
    assert!(told.compared > 0 || lives < 100, "seed {seed}: nothing was compared: {:?}", told.acknowledged);
    // A run that did next to nothing would prove next to nothing.
    assert!(acknowledged.len() as u64 > kills / 2, "only {} jobs were acknowledged", acknowledged.len());
}

/// Waits until every job that was acknowledged so far is reported as done.
async fn caught_up(rooms: &BTreeMap<&'static str, Arc<Semaphore>>, ledger: &Ledger, field: &Field) {
    for (worker, room) in rooms {
        let all = room.acquire_many(u32::try_from(UNDER_WAY).unwrap());
        match tokio::time::timeout(3 * PATIENCE, all).await {
            Ok(permits) => drop(permits.unwrap()),
            Err(_) => panic!("{worker} never caught up\n{}\n{}", ledger.unheard(field), field.log()),
        }
    }
}

/// Returns the end of the waiter's countdown.
async fn countdown(field: &Field) -> String {
    let started = std::time::Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(answer) = field.ask("status", &["waiter"]).await
            && let Some(until) = answer.data.as_ref().and_then(|data| find(data, "until"))
        {
            return until.to_string();
        }
        tokio::task::yield_now().await;
    }
    panic!("the waiter never waited: {:?}\n{}", field.ask("status", &["waiter"]).await, field.log());
}

/// The first value of `key`, however deep.
pub(crate) fn find<'a>(value: &'a serde_json::Value, key: &str) -> Option<&'a serde_json::Value> {
    match value {
        serde_json::Value::Object(map) => {
            map.get(key).or_else(|| map.values().find_map(|value| find(value, key)))
        }
        serde_json::Value::Array(values) => values.iter().find_map(|value| find(value, key)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => None,
    }
}

/// The journal opens, misses nothing, and the paused agent is as it was.
async fn check_journal(field: &Field) -> Journal {
    let settings = journal::Settings {
        ballast: 0,
        ..journal::Settings::new(field.dir.path().join("data"), History::default())
    };
    let (journal, opening) =
        tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
    assert_eq!(opening.missing, Vec::new());
    let load = |name: &str| {
        let stream = Stream::Agent(AgentName::new(name).unwrap());
        journal.load::<Agent>(&stream).unwrap().state
    };
    let calm = load("calm");
    assert!(matches!(calm.phase, Phase::Paused { .. }), "{:?}", calm.phase);
    assert_eq!(calm.queue.len(), 1);
    for worker in WORKERS {
        let agent = load(worker);
        assert!(agent.queue.is_empty(), "{worker}: {:?}", agent.queue);
        assert_eq!((agent.failures, agent.crashes), (0, 0), "{worker}: a kill of herder is nobody's failure");
    }
    journal
}

/// Processes that carry this journal's marker.
pub(crate) fn left(journal: &Journal) -> Vec<u32> {
    let marker = format!("HERDER_SESSION={}/", journal.id());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(marker.as_bytes()))
        })
        .collect()
}
