//! Drivers with real child processes: how sessions end, the stop ladder, clocks, orphans.

mod claude_wire;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use herder::core::agent::ProcessRecord;
use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::input::{Clock, Signal};
use herder::core::outcome::{Category, Exit, Outcome};
use herder::core::spec::{AgentSpec, Pattern, PromptMode, Relay, Runtime};
use herder::runtime::process::{Identity, lives};
use herder::runtime::{Clocks, Driver, Launch, Order, ProcessTrees, Report, launch, orphans};

/// Longer than anything here takes on a busy machine; a test that gets here has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("test-{}-{}/spark/1", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

const HERDER: &str = env!("CARGO_BIN_EXE_herder");

/// A launch of one of the scripted claudes.
fn agent(script: &[&str], workspace: &Path) -> Launch {
    session(Runtime::Claude, &[&[HERDER, "demo-agent"], script].concat(), workspace)
}

/// A launch of `command` in `workspace`, with clocks that do not run out.
fn session(runtime: Runtime, command: &[&str], workspace: &Path) -> Launch {
    let agent = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(agent.clone(), runtime, workspace.to_owned());
    spec.command = command.iter().map(|&word| word.to_owned()).collect();
    Launch {
        agent,
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "do it".to_owned(),
        conversation: None,
        marker: marker(),
        environment: std::env::vars().collect(),
        clocks: Clocks {
            startup: PATIENCE,
            silence: PATIENCE,
            tool: PATIENCE,
            task: PATIENCE,
            grace: Duration::from_secs(5),
            beat: Duration::from_millis(200),
        },
    }
}

fn edit(launch: &mut Launch, change: impl FnOnce(&mut AgentSpec)) {
    change(Arc::make_mut(&mut launch.spec));
}

/// A running session and what it has reported so far.
struct Running {
    driver: Driver,
    trees: ProcessTrees,
    marker: String,
    signals: Vec<Signal>,
    words: Vec<String>,
    beats: usize,
}

impl Running {
    fn start(what: Launch) -> Self {
        Self::start_in(what, ProcessTrees::new().expect("this process can adopt"))
    }

    fn start_in(what: Launch, trees: ProcessTrees) -> Self {
        let marker = what.marker.clone();
        let driver = launch(what, trees.clone());
        Self { driver, trees, marker, signals: Vec::new(), words: Vec::new(), beats: 0 }
    }

    async fn order(&self, order: Order) {
        self.driver.orders.send(order).await.expect("the driver listens");
    }

    async fn first_words(&mut self) {
        while self.words.is_empty() {
            let report = tokio::time::timeout(PATIENCE, self.driver.reports.recv());
            match report.await.expect("the driver reports in time").expect("the driver runs") {
                Report::Words(words) => self.words.push(words),
                Report::Beat => self.beats += 1,
                Report::Signal(signal) => self.signals.push(signal),
            }
        }
    }

    async fn members(&self) -> Vec<Identity> {
        let table = self.trees.table().await;
        table.members(&std::collections::HashSet::new(), |seen| seen == self.marker)
    }

    /// The next signal, and everything before it.
    async fn signal(&mut self) -> Option<Signal> {
        loop {
            let report = tokio::time::timeout(PATIENCE, self.driver.reports.recv());
            match report.await.expect("the driver reports in time")? {
                Report::Beat => self.beats += 1,
                Report::Words(words) => self.words.push(words),
                Report::Signal(signal) => {
                    self.signals.push(signal.clone());
                    return Some(signal);
                }
            }
        }
    }

    async fn until(&mut self, is: impl Fn(&Signal) -> bool) -> Signal {
        loop {
            let signal = self.signal().await.expect("the signal comes before the end");
            if is(&signal) {
                return signal;
            }
        }
    }

    async fn spawned(&mut self) -> Identity {
        match self.signal().await {
            Some(Signal::Spawned { pid, started }) => Identity { pid, started },
            other => panic!("spawned is the first signal, not {other:?}"),
        }
    }

    /// How it ended. Nothing follows, and no process is left.
    async fn ended(&mut self) -> (Outcome, Vec<u32>) {
        let ended = self.until(|signal| matches!(signal, Signal::Ended { .. })).await;
        let Signal::Ended { outcome, survivors } = ended else { unreachable!("waited for it") };
        assert_eq!(self.signal().await, None, "nothing follows the end");
        let left = self.members().await;
        assert_eq!(left.len(), survivors.len(), "what is left is reported: {left:?}");
        (*outcome, survivors)
    }
}

/// Runs a session to its end.
async fn run(what: Launch) -> (Outcome, Vec<Signal>, Vec<String>) {
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    let (outcome, survivors) = running.ended().await;
    assert!(survivors.is_empty(), "nothing survives: {survivors:?}");
    (outcome, running.signals, running.words)
}

async fn shell(script: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    run(session(Runtime::Command, &["sh", "-c", script], folder.path())).await.0
}

#[tokio::test]
async fn a_command_that_succeeds_is_a_success_with_its_output() {
    let outcome = shell("cat; echo done >&2").await;
    assert_eq!(outcome.category, Category::Success);
    assert_eq!(outcome.text.as_deref(), Some("do it"));
    assert_eq!(outcome.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn a_command_that_fails_is_a_crash_with_its_last_words() {
    let outcome = shell("echo first >&2; echo out of cheese >&2; exit 7").await;
    assert_eq!(outcome.category, Category::Crash);
    assert_eq!(outcome.detail, "exit code 7: out of cheese");
    assert_eq!(outcome.exit, Some(Exit::Code(7)));
    let outcome = shell("kill -9 $$").await;
    assert_eq!((outcome.category, outcome.exit), (Category::Crash, Some(Exit::Signal(9))));
    assert_eq!(outcome.detail, "ended by signal 9");
    assert_eq!(shell("exit 2").await.category, Category::DoNotRestart);
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = async |what| {
        let mut running = Running::start(what);
        let outcome = running.ended().await.0;
        assert_eq!(running.signals.len(), 1, "nothing was spawned");
        assert_eq!(outcome.category, Category::Permanent);
        outcome.detail
    };
    let mut nowhere = session(Runtime::Command, &["true"], Path::new("/nonexistent/workspace"));
    assert!(ended(nowhere.clone()).await.contains("/nonexistent/workspace"));
    edit(&mut nowhere, |spec| {
        spec.workspace = folder.path().to_owned();
        spec.command = vec!["no-such-program".to_owned()];
    });
    assert!(ended(nowhere.clone()).await.starts_with("no-such-program is not installed"));
    edit(&mut nowhere, |spec| spec.command.clear());
    assert!(ended(nowhere).await.contains("has no command"));
    let unreadable = session(Runtime::Command, &["/etc/passwd"], folder.path());
    assert!(ended(unreadable).await.starts_with("/etc/passwd cannot be started"));
}

#[tokio::test]
async fn nothing_is_given_to_the_process_before_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(session(Runtime::Command, &["sh", "-c", "cat > got"], folder.path()));
    let root = running.spawned().await;
    // The driver beats several times while it waits; by then a prompt would have been written.
    while running.beats < 3 {
        match running.driver.reports.recv().await {
            Some(Report::Beat) => running.beats += 1,
            other => panic!("only heartbeats come before Go, not {other:?}"),
        }
    }
    assert!(lives(root));
    assert_eq!(std::fs::read_to_string(folder.path().join("got")).unwrap_or_default(), "");
    running.order(Order::Go).await;
    assert_eq!(running.ended().await.0.category, Category::Success);
    assert_eq!(std::fs::read_to_string(folder.path().join("got")).expect("it was written"), "do it\n");
}

#[tokio::test]
async fn a_prompt_can_be_an_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["printf", "%s|", "a {prompt} b", "$(id)"], folder.path());
    edit(&mut what, |spec| spec.prompt = PromptMode::Arg);
    what.prompt = "x; rm -rf \"$HOME\" {prompt}".to_owned();
    let outcome = run(what).await.0;
    assert_eq!(outcome.text.as_deref(), Some("a x; rm -rf \"$HOME\" {prompt} b|$(id)|"));
}

#[tokio::test]
async fn patterns_say_what_a_line_on_stderr_means() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo 'usage limit reached, sorry' >&2; echo bye >&2; exit 1";
    let mut what = session(Runtime::Command, &["sh", "-c", script], folder.path());
    edit(&mut what, |spec| {
        spec.patterns = vec![
            Pattern { matches: "(".to_owned(), category: Category::Auth },
            Pattern { matches: "usage limit".to_owned(), category: Category::Quota },
        ];
    });
    let outcome = run(what).await.0;
    assert_eq!((outcome.category, outcome.detail.as_str()), (Category::Quota, "usage limit reached, sorry"));
}

#[tokio::test]
async fn a_child_gets_what_is_allowed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["env"], folder.path());
    what.environment = BTreeMap::from(
        [
            ("PATH", "/usr/bin:/bin"),
            ("DISCORD_TOKEN", "secret-1"),
            ("IRC_PASSWORD", "secret-2"),
            ("HERDER_WEB_TOKEN", "secret-3"),
            ("OPENAI_API_KEY", "wanted"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    edit(&mut what, |spec| {
        spec.inherit_env =
            ["PATH", "OPENAI_API_KEY", "HERDER_WEB_TOKEN", "DISCORD_TOKEN"].map(str::to_owned).to_vec();
        spec.env.insert("RUST_LOG".to_owned(), "warn".to_owned());
    });
    let marker = what.marker.clone();
    let text = run(what).await.0.text.expect("env prints");
    assert!(!text.contains("secret"), "{text}");
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HERDER_AGENT", "HERDER_SESSION", "OPENAI_API_KEY", "PATH", "RUST_LOG"]);
    assert!(text.contains(&format!("HERDER_SESSION={marker}")));
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nobody() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' >&2; i=$((i+1)); done; echo fine";
    let outcome = shell(script).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("fine")));
}

/// A process that forks children in sessions of their own and double-forked daemons; all of them ignore SIGTERM.
const FORKER: &str = r#"
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
def stay():
    while True: time.sleep(1)
for n in range(2):
    if os.fork() == 0:
        os.setsid(); stay()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stay()
        os._exit(0)
    else:
        os.wait()
print("ready", flush=True)
"#;

async fn stop_the_forker(trees: ProcessTrees) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("{FORKER}\nstay()");
    let mut what = session(Runtime::Command, &["python3", "-c", &script], folder.path());
    what.clocks.grace = Duration::from_millis(300);
    edit(&mut what, |spec| spec.relay = Relay::All);
    let mut running = Running::start_in(what, trees);
    let root = running.spawned().await;
    running.order(Order::Go).await;
    running.first_words().await;
    let members = running.members().await;
    assert_eq!(members.len(), 5, "the process, two children, two daemons");
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert!(survivors.is_empty(), "{survivors:?}");
    assert_eq!(outcome.category, Category::Interrupted);
    assert!(!members.iter().any(|member| lives(*member)) && !lives(root));
}

#[tokio::test]
async fn the_ladder_leaves_nothing() {
    stop_the_forker(ProcessTrees::without_cgroups().expect("this process can adopt")).await;
}

#[tokio::test]
async fn the_ladder_leaves_nothing_with_cgroups_if_there_are_any() {
    stop_the_forker(ProcessTrees::new().expect("this process can adopt")).await;
}

#[tokio::test]
async fn a_process_that_flees_by_forking_is_caught_where_there_are_cgroups() {
    let trees = ProcessTrees::new().expect("this process can adopt");
    if !trees.has_cgroups() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let comet = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('off', flush=True)\nos.setsid() if os.fork() == 0 else os._exit(0)\nwhile True:\n  if os.fork(): os._exit(0)";
    let mut what = session(Runtime::Command, &["python3", "-c", comet], folder.path());
    what.clocks.grace = Duration::from_millis(100);
    let marker = what.marker.clone();
    let (outcome, survivors) = {
        let mut running = Running::start_in(what, trees);
        running.spawned().await;
        running.order(Order::Go).await;
        running.ended().await
    };
    assert_eq!((outcome.category, survivors.len()), (Category::Success, 0));
    let own = std::fs::read_to_string("/proc/self/cgroup").expect("this process is in a group");
    let group = format!("herder.{}", marker.replace('/', "."));
    let find = tokio::process::Command::new("find").args(["/sys/fs/cgroup", "-name", &group]).output();
    let found = find.await.expect("find runs").stdout;
    assert_eq!(String::from_utf8_lossy(&found), "", "the group is empty and gone (this process: {own})");
}

#[tokio::test]
async fn what_a_process_leaves_behind_is_ended_with_its_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["python3", "-c", FORKER], folder.path());
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("ready")));
}

/// A daemon that has thrown away its parent, its session and its environment.
const STRAY: &str = r#"
import os, signal, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir(sys.argv[2])
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)
        os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; echo $$ > " + sys.argv[1] + ".new; mv " + sys.argv[1] + ".new " + sys.argv[1] + "; while :; do sleep 1000; done"], {})
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]): pass
print("ready", flush=True)
sys.stdin.read()
"#;

#[tokio::test]
async fn a_daemon_without_parent_and_environment_is_ended_with_the_last_session_that_may_have_started_it() {
    let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
    let start = async |workspace: &Path, file: &Path, goes_to: &Path| {
        let (file, goes_to) = (file.display().to_string(), goes_to.display().to_string());
        let mut what = session(Runtime::Claude, &["python3", "-c", STRAY, &file, &goes_to], workspace);
        what.clocks.grace = Duration::from_millis(100);
        let mut running = Running::start_in(what, trees.clone());
        running.spawned().await;
        running.order(Order::Go).await;
        let pid = tokio::time::timeout(PATIENCE, async {
            loop {
                // The daemon itself says when it is one; it has no tie left that could be waited on.
                match std::fs::read_to_string(&file) {
                    Ok(pid) => break pid.trim().parse::<u32>().expect("a pid"),
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
        let pid = pid.await.expect("the daemon starts");
        (running, herder::runtime::process::look(pid).expect("it runs").identity)
    };
    let stop = async |mut running: Running| {
        running.order(Order::Stop).await;
        assert_eq!(running.ended().await.1, Vec::<u32>::new());
    };
    let elsewhere = Path::new("/");
    let (first, at_home) = start(one.path(), &one.path().join("a"), one.path()).await;
    let (second, away) = start(two.path(), &two.path().join("b"), elsewhere).await;
    let (third, away_too) = start(one.path(), &one.path().join("c"), elsewhere).await;
    assert!(lives(at_home) && lives(away) && lives(away_too));
    stop(first).await;
    assert!(!lives(at_home), "it works in the workspace of the session that ended");
    assert!(lives(away) && lives(away_too), "they may be another session's");
    stop(third).await;
    assert!(lives(away), "it may be the second session's, which still runs");
    stop(second).await;
    assert!(!lives(away) && !lives(away_too), "nobody is left who may have started them");
}

#[tokio::test]
async fn a_number_that_was_given_to_another_process_is_not_signalled() {
    let mut child = tokio::process::Command::new("sleep").arg("1000").spawn().expect("sleep starts");
    let identity = herder::runtime::process::look(child.id().expect("it runs")).expect("it runs").identity;
    let kill = rustix::process::Signal::KILL;
    assert!(!herder::runtime::process::send(Identity { started: identity.started - 1, ..identity }, kill));
    assert!(lives(identity));
    assert!(herder::runtime::process::send(identity, kill));
    child.wait().await.expect("it ends");
    assert!(!herder::runtime::process::send(identity, kill));
    assert!(!herder::runtime::process::send(Identity { pid: 1, started: 0 }, kill));
}

#[tokio::test]
async fn what_cannot_be_ended_is_reported() {
    // A kernel thread is the one process that is sure to survive SIGKILL. Containers may not show any.
    let Some(thread) = herder::runtime::process::look(2).filter(|entry| entry.parent == 0) else { return };
    let table = ProcessTrees::new().expect("this process can adopt");
    let kernel = table.table().await.members(&[thread.identity].into(), |_| false);
    let Some(leaf) = kernel.iter().find(|member| member.pid != 2) else { return };
    let record = ProcessRecord { pid: leaf.pid, started: leaf.started };
    let spark = AgentName::new("spark").expect("a good name");
    let ended = orphans::end(&table, &[(spark, String::new(), Some(record))], Duration::ZERO).await;
    assert_eq!(ended, orphans::Ended { ended: Vec::new(), survivors: vec![leaf.pid] });
}

#[tokio::test]
async fn a_supervisor_that_is_gone_stops_the_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(session(Runtime::Command, &["sleep", "1000"], folder.path()));
    let root = running.spawned().await;
    running.order(Order::Go).await;
    let Driver { orders, mut reports, .. } = running.driver;
    drop(orders);
    let mut last = None;
    while let Some(report) = reports.recv().await {
        last = Some(report);
    }
    assert!(matches!(last, Some(Report::Signal(Signal::Ended { .. }))), "{last:?}");
    assert!(!lives(root));
}

#[tokio::test]
async fn silence_without_cpu_time_is_a_hang_and_work_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["sleep", "1000"], folder.path());
    what.clocks.silence = Duration::from_millis(600);
    what.clocks.beat = Duration::from_millis(100);
    let (outcome, signals, _) = run(what.clone()).await;
    assert_eq!(outcome.category, Category::Hung);
    let ran_out = signals.iter().find_map(|signal| match signal {
        Signal::ClockRanOut { clock, .. } => Some(*clock),
        _ => None,
    });
    assert_eq!(ran_out, Some(Clock::Silence));

    // On a busy machine it gets a small share of the CPU; the clock is as patient as that needs.
    what.clocks.silence = Duration::from_secs(2);
    let busy = "import time\nt = time.process_time\nwhile t() < 3: pass\nprint('counted')";
    edit(&mut what, |spec| spec.command = ["python3", "-c", busy].map(str::to_owned).to_vec());
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("counted")));
}

#[tokio::test]
async fn a_session_that_takes_too_long_is_a_task_timeout() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what =
        session(Runtime::Command, &["sh", "-c", "while :; do echo on; sleep 0.05; done"], folder.path());
    edit(&mut what, |spec| spec.max_task_duration = Some(Duration::from_millis(400)));
    let (outcome, ..) = run(what).await;
    assert_eq!(outcome.category, Category::TaskTimeout);
    assert!(outcome.detail.starts_with("the session takes"), "{}", outcome.detail);
    assert!(outcome.text.is_some_and(|text| text.starts_with("on\non\n")), "partial output is kept");
}

/// A scripted claude in a few lines of Python: `lines` are printed after the first user message.
fn claude(body: &str, workspace: &Path) -> Launch {
    let script = format!(
        r#"
import json, sys, time
def say(**line): print(json.dumps(line), flush=True)
def init(): say(type="system", subtype="init", session_id="c-1", model="m")
def text(words): say(type="assistant", message=dict(id="m1", model="m", content=[dict(type="text", text=words)]))
def result(words, **more): say(**(dict(type="result", subtype="success", is_error=False, num_turns=1, result=words, session_id="c-1", total_cost_usd=0.5) | more))
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
first = read()
{body}
"#
    );
    session(Runtime::Claude, &["python3", "-c", &script], workspace)
}

#[tokio::test]
async fn claude_succeeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let what =
        claude("init(); text('hello'); result('hello, ' + first['message']['content'])", folder.path());
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    assert_eq!(outcome.text.as_deref(), Some("hello, do it"));
    assert_eq!((outcome.turns, outcome.usage.cost_usd), (1, 0.5));
    assert!(signals.contains(&Signal::Ready { conversation: Some("c-1".to_owned()) }));
}

#[tokio::test]
async fn claude_takes_messages_in_mid_turn_and_the_last_result_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init(); m = read(); result('one'); init(); result('two: ' + m['message']['content'])";
    let mut running = Running::start(claude(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Steer { work: WorkId(9), text: "and \"this\"\n".to_owned() }).await;
    running.until(|signal| *signal == Signal::Steered { work: WorkId(9) }).await;
    let (outcome, _) = running.ended().await;
    assert_eq!(outcome.text.as_deref(), Some("two: and \"this\"\n"));
    assert_eq!(outcome.turns, 2);
}

#[tokio::test]
async fn claude_is_interrupted_before_it_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init()\nr = read()\nopen('asked', 'w').write(r['request']['subtype'])\nresult('', subtype='error_during_execution', is_error=True, terminal_reason='aborted_streaming')\nread()";
    let mut running = Running::start(claude(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Stop).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.exit), (Category::Interrupted, Some(Exit::Code(0))));
    assert_eq!(std::fs::read_to_string(folder.path().join("asked")).expect("it was asked"), "interrupt");
}

#[tokio::test]
async fn a_result_without_an_exit_is_no_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ninit(); result('done')\nwhile True: time.sleep(1)";
    let mut what = claude(body, folder.path());
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.exit), (Category::Success, Some(Exit::Signal(9))));
}

#[tokio::test]
async fn lines_that_are_no_json_cost_nothing_but_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let body =
        "print('warning: something', flush=True); print('{\"type\":7}'); print('[]'); init(); result('fine')";
    let (outcome, ..) = run(claude(body, folder.path())).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("fine")));
}

#[tokio::test]
async fn a_conversation_that_is_gone_is_begun_anew_in_the_same_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-lost", "--say", "new"], folder.path());
    what.conversation = Some("c-0".to_owned());
    let mut running = Running::start(what);
    let first = running.spawned().await;
    running.order(Order::Go).await;
    let second = running.spawned().await;
    assert!(!lives(first) && lives(second), "one process at a time");
    running.order(Order::Go).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("new")));
    assert!(!running.signals.contains(&Signal::Ready { conversation: Some("c-0".to_owned()) }));
}

#[tokio::test]
async fn every_failing_script_is_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = [
        ("claude-ok", Category::Success, ""),
        ("claude-crash", Category::Crash, "exit code 1: panic: index out of range [7] with length 7"),
        ("claude-auth", Category::Auth, "Invalid API key · Fix external API key"),
        ("claude-billing", Category::Billing, "Credit balance is too low"),
        ("claude-budget", Category::Budget, "Reached maximum budget ($0.5)"),
        ("claude-max-turns", Category::MaxTurns, "Reached maximum number of turns (2)"),
        ("claude-server-error", Category::Transient, "API Error: 500 Internal server error."),
    ];
    for (script, category, detail) in table {
        let (outcome, ..) = run(agent(&[script], folder.path())).await;
        assert_eq!((outcome.category, outcome.detail.as_str()), (category, detail), "{script}");
    }
    let mut crash = agent(&["claude-obey"], folder.path());
    crash.prompt = "You are spark.\n\nplease crash now\n".to_owned();
    let (outcome, ..) = run(crash).await;
    assert_eq!(outcome.category, Category::Crash);
    assert_eq!(outcome.text.as_deref(), Some("I will start with the failing te"), "how far it got");
}

#[tokio::test]
async fn a_rate_limit_says_when_it_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = herder::clock::now();
    let (outcome, ..) = run(agent(&["claude-rate-limit", "--reset-in", "90"], folder.path())).await;
    assert_eq!(outcome.category, Category::Quota);
    let resets_at = outcome.resets_at.expect("it says when");
    let wait = resets_at.since(before);
    assert!((Duration::from_secs(85)..Duration::from_secs(120)).contains(&wait), "{wait:?}");
}

#[tokio::test]
async fn a_flood_of_lines_is_a_handful_of_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-flood", "--lines", "20000"], folder.path());
    edit(&mut what, |spec| spec.relay = Relay::All);
    let (outcome, signals, words) = run(what).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("20000 lines")));
    assert!(signals.len() + words.len() < 40, "{} signals, {} words", signals.len(), words.len());
    assert!(words.iter().all(|words| words.len() < 20_000));
    assert!(words[0].starts_with("line 0 ") && words.last().is_some_and(|last| last.contains("line 19999 ")));
}

#[tokio::test]
async fn a_hung_model_call_is_told_before_it_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-hang"], folder.path());
    what.clocks.silence = Duration::from_millis(500);
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    let place = |is: fn(&Signal) -> bool| signals.iter().position(is).expect("it was told");
    let told = place(|signal| matches!(signal, Signal::ClockRanOut { clock: Clock::Silence, .. }));
    assert!(told < place(|signal| matches!(signal, Signal::Ended { .. })));
    assert!(outcome.detail.starts_with("no event for 0."), "{}", outcome.detail);
}

#[tokio::test]
async fn a_process_that_says_nothing_runs_out_of_its_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Claude, &["sh", "-c", "cat > /dev/null; sleep 1000", "-"], folder.path());
    what.clocks.startup = Duration::from_millis(300);
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    assert!(signals.iter().any(|signal| matches!(signal, Signal::ClockRanOut { clock: Clock::Startup, .. })));
}

#[tokio::test]
async fn a_tool_call_beyond_its_limit_is_interrupted_and_a_longer_silence_within_it_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-tool", "--seconds", "1.2"], folder.path());
    what.clocks.silence = Duration::from_millis(300);
    what.clocks.beat = Duration::from_millis(100);
    let (outcome, ..) = run(what.clone()).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    what.clocks.tool = Duration::from_millis(600);
    let (outcome, ..) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    assert!(outcome.detail.starts_with("tool Bash open for 0."), "{}", outcome.detail);
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "the interrupt was enough");
}

#[tokio::test]
async fn what_runs_can_be_seen_from_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(agent(&["claude-tool", "--seconds", "1000"], folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    let live = tokio::time::timeout(PATIENCE, running.driver.live.wait_for(|live| live.tool.is_some()));
    let live = live.await.expect("the tool call begins in time").expect("the driver runs").clone();
    assert_eq!(live.tool.as_deref(), Some("Bash"));
    assert_eq!((live.turns, live.usage.input_tokens), (2, 2400));
    assert!(live.last_event.is_some());
    running.order(Order::Stop).await;
    assert_eq!(running.ended().await.0.category, Category::Interrupted);
}

#[tokio::test]
async fn the_forking_script_is_ended_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &[HERDER, "demo-agent", "fork"], folder.path());
    what.clocks.grace = Duration::from_millis(200);
    edit(&mut what, |spec| spec.relay = Relay::All);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.first_words().await;
    assert_eq!(running.members().await.len(), 5, "the process, two children, two daemons");
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.category, survivors.len()), (Category::Interrupted, 0));
}

#[tokio::test]
async fn the_other_scripts_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = run(session(Runtime::Command, &[HERDER, "demo-agent", "echo"], folder.path())).await.0;
    assert_eq!((echo.category, echo.text.as_deref()), (Category::Success, Some("do it")));
    let exit =
        run(session(Runtime::Command, &[HERDER, "demo-agent", "exit", "--code", "3"], folder.path())).await.0;
    assert_eq!(
        (exit.category, exit.detail.as_str()),
        (Category::Crash, "exit code 3: leaving with code 3, as told")
    );
    let mut stays = agent(&["claude-no-exit"], folder.path());
    stays.clocks.grace = Duration::from_millis(200);
    let stays = run(stays).await.0;
    assert_eq!((stays.category, stays.exit), (Category::Success, Some(Exit::Signal(9))));
}

/// Stands for a herder that is killed: starts the forking script and waits to be killed.
#[tokio::test]
#[ignore = "started by the next test"]
async fn a_herder_that_will_be_killed() {
    let Ok(marker) = std::env::var("TEST_MARKER") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &[HERDER, "demo-agent", "fork"], folder.path());
    what.marker = marker;
    edit(&mut what, |spec| spec.relay = Relay::All);
    let mut running = Running::start(what);
    let root = running.spawned().await;
    running.order(Order::Go).await;
    running.first_words().await;
    std::fs::write(std::env::var("TEST_FILE").expect("given"), format!("{} {}", root.pid, root.started))
        .expect("the file can be written");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn what_a_killed_herder_left_is_ended_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record");
    let journal = format!("journal-{}", std::process::id());
    let mut herder = tokio::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "runtime::a_herder_that_will_be_killed", "--ignored", "--nocapture"])
        .env("TEST_MARKER", format!("{journal}/spark/1"))
        .env("TEST_FILE", &file)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("this test can be started");
    // Another herder's agent, and a process whose number a stale record names.
    let trees = ProcessTrees::new().expect("this process can adopt");
    let mut other = tokio::process::Command::new("sleep")
        .arg("1000")
        .env("HERDER_SESSION", format!("{journal}0/spark/1"))
        .spawn()
        .expect("sleep starts");
    let other_id = herder::runtime::process::look(other.id().expect("it runs")).expect("it runs").identity;
    let record = tokio::time::timeout(PATIENCE, async {
        loop {
            // The file is written once everything runs; there is nothing else to wait on in a process that will be killed.
            match std::fs::read_to_string(&file) {
                Ok(text) if text.contains(' ') => return text,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    });
    let record = record.await.expect("the other herder starts its agent");
    let (pid, started) = record.trim().split_once(' ').expect("two numbers");
    let record =
        ProcessRecord { pid: pid.parse().expect("a pid"), started: started.parse().expect("a time") };
    herder.kill().await.expect("it can be killed");

    let spark = AgentName::new("spark").expect("a good name");
    let stale = ProcessRecord { pid: other_id.pid, started: other_id.started - 1 };
    let recorded =
        [(spark.clone(), format!("{journal}/"), Some(record)), (spark, format!("{journal}/"), Some(stale))];
    let ended = orphans::end(&trees, &recorded, Duration::from_millis(200)).await;
    assert_eq!((ended.ended.len(), ended.survivors.len()), (5, 0), "{ended:?}");
    assert!(ended.ended.contains(&record.pid));
    assert!(lives(other_id), "another herder's agents are left alone");
    let again = orphans::end(&trees, &recorded, Duration::from_millis(200)).await;
    assert_eq!(again, orphans::Ended::default());
    other.kill().await.expect("it can be killed");
}

#[tokio::test(start_paused = true)]
async fn a_healthy_tool_call_of_25_minutes_is_never_killed_and_beats_all_the_while() {
    let folder = tempfile::tempdir().expect("a folder");
    // The tool call ends when the test says so, on the standard input that steering writes to.
    let body = "init(); say(type='assistant', message=dict(id='m0', model='m', content=[dict(type='tool_use', id='t', name='Bash')]))\n\
                read(); say(type='user', message=dict(role='user', content=[dict(type='tool_result', tool_use_id='t')])); text('ok'); result('ok')";
    let mut what = claude(body, folder.path());
    let minutes = |n: u64| Duration::from_secs(60 * n);
    what.clocks = Clocks {
        startup: minutes(1),
        silence: minutes(5),
        tool: minutes(30),
        task: minutes(30),
        grace: Duration::from_secs(10),
        beat: Duration::from_secs(5),
    };
    let Driver { orders, mut reports, mut live } =
        launch(what, ProcessTrees::new().expect("this process can adopt"));
    // With time paused nothing but the test moves it, as long as a blocking task is under way.
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let blocking = tokio::task::spawn_blocking(move || wait.recv());
    orders.send(Order::Go).await.expect("the driver listens");
    live.wait_for(|live| live.tool.is_some()).await.expect("the tool call begins");
    let mut beats = 0;
    for _ in 0..(25 * 12) {
        tokio::time::advance(Duration::from_secs(5)).await;
        loop {
            match reports.recv().await.expect("the driver runs") {
                Report::Beat => break beats += 1,
                Report::Signal(Signal::ClockRanOut { clock, evidence }) => panic!("{clock:?}: {evidence}"),
                Report::Signal(_) | Report::Words(_) => {}
            }
        }
    }
    assert_eq!(beats, 25 * 12);
    orders
        .send(Order::Steer { work: WorkId(1), text: "go on".to_owned() })
        .await
        .expect("the driver listens");
    let ended = loop {
        match reports.recv().await.expect("the end is reported") {
            Report::Signal(Signal::Ended { outcome, .. }) => break outcome,
            Report::Beat | Report::Words(_) | Report::Signal(_) => {}
        }
    };
    assert_eq!(ended.category, Category::Success, "{ended:?}");
    drop(done);
    assert!(blocking.await.is_ok());
}
