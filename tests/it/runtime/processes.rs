//! The stop ladder over whole trees, and the processes that a killed herder left.

use std::process::Stdio;

use super::*;

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
    assert_eq!((outcome.category, outcome.ended), (Category::Interrupted, 5));
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
    // Sessions that other tests run in this process may have started it, too: this test needs one of its own.
    if std::env::var_os("TEST_ALONE").is_none() {
        let name = std::thread::current().name().expect("tests are named").to_owned();
        let alone = tokio::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", &name, "--nocapture"])
            .env("TEST_ALONE", "1")
            .output()
            .await
            .expect("this test can be started");
        let said = String::from_utf8_lossy(&alone.stdout).into_owned();
        assert!(said.contains("1 passed"), "{said}\n{}", String::from_utf8_lossy(&alone.stderr));
        return;
    }
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

/// Number of sessions that start while others end.
const STARTS: usize = 2000;

fn start_in(trees: &ProcessTrees, folder: &Path, program: &[&str], marker: &str) -> Owned {
    let mut command = tokio::process::Command::new(program[0]);
    command.args(&program[1..]).env_clear().env("HERDER_SESSION", marker).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trees.spawn(&mut command, marker).expect("it starts")
}

/// A process shows no environment, and so no marker, until the program that it was told to become starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_starts_in_the_folder_of_one_that_ends_is_not_ended_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
    let (ending, workspace) = (trees.clone(), folder.path().to_owned());
    let ends = tokio::spawn(async move {
        for number in 0.. {
            let marker = format!("test/ends/{number}");
            let mut session = start_in(&ending, &workspace, &["/bin/sleep", "1000"], &marker);
            let tree = Tree { root: Some(session.identity), marker, workspace: workspace.clone() };
            assert_eq!(ending.end(&tree, Duration::ZERO).await, Vec::<u32>::new());
            session.wait().await.expect("it is waited for");
        }
    });
    for number in 0..STARTS {
        let mut session = start_in(&trees, folder.path(), &["/bin/true"], &format!("test/starts/{number}"));
        let status = session.wait().await.expect("it is waited for");
        assert!(status.success(), "start {number}: {status}");
    }
    ends.abort();
    let stopped = ends.await.expect_err("sessions end for ever");
    assert!(stopped.is_cancelled(), "{stopped}");
}

fn bereft(agent: &AgentName, record: ProcessRecord) -> orphans::Bereft {
    let (agent, recorded, workspace) = (agent.clone(), vec![record], std::path::PathBuf::new());
    orphans::Bereft { agent, recorded, workspace }
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
    let ended = orphans::end(&table, "", &[bereft(&spark, record)], Duration::ZERO).await;
    let survivors = vec![leaf.pid];
    let remains = orphans::Remains { ended: 0, survivors: survivors.clone() };
    let by_agent = [(spark, remains)].into();
    assert_eq!(ended, orphans::Ended { ended: Vec::new(), survivors, by_agent });
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
        .args(["--exact", "runtime::processes::a_herder_that_will_be_killed", "--ignored", "--nocapture"])
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
    let prefix = format!("{journal}/");
    let recorded = [bereft(&spark, record), bereft(&spark, stale)];
    let ended = orphans::end(&trees, &prefix, &recorded, Duration::from_millis(200)).await;
    assert_eq!((ended.ended.len(), ended.survivors.len()), (5, 0), "{ended:?}");
    assert!(ended.ended.contains(&record.pid));
    assert_eq!(
        ended.by_agent,
        [(spark.clone(), orphans::Remains { ended: 5, survivors: Vec::new() })].into()
    );
    assert!(lives(other_id), "another herder's agents are left alone");
    let again = orphans::end(&trees, &prefix, &recorded, Duration::from_millis(200)).await;
    assert_eq!(again, orphans::Ended::default());
    other.kill().await.expect("it can be killed");
}

#[tokio::test]
async fn a_process_that_is_stopped_still_hears_that_it_should_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap 'touch asked; exit 0' TERM; echo ready; kill -STOP $$; sleep 1000";
    let mut what = session(Runtime::Command, &["sh", "-c", script], folder.path());
    edit(&mut what, |spec| spec.relay = Relay::All);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.first_words().await;
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.exit, survivors.len()), (Some(Exit::Code(0)), 0), "{outcome:?}");
    assert!(folder.path().join("asked").exists(), "it was asked before it was killed");
}

/// An agent that takes a while to end, and notes whether its tool ended before it; the tool notes that it was asked.
const SLOW_TO_END: &str = r#"
import os, signal, subprocess, time
tool = subprocess.Popen(["sh", "-c", "trap 'touch tool-asked; exit' TERM; echo >tool-began; sleep 1000 & wait"])
def end(*_):
    time.sleep(0.1)
    if tool.poll() is not None: open("went-on", "w")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
while not os.path.exists("tool-began"): time.sleep(0.01)
print("ready", flush=True)
while True: signal.pause()
"#;

#[tokio::test]
async fn an_agent_is_asked_to_end_before_its_tool_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["python3", "-c", SLOW_TO_END], folder.path());
    what.clocks.grace = PATIENCE;
    edit(&mut what, |spec| spec.relay = Relay::All);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.first_words().await;
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.exit, survivors.len()), (Some(Exit::Code(0)), 0), "{outcome:?}");
    assert!(!folder.path().join("went-on").exists(), "it does not see its tool end");
    assert!(folder.path().join("tool-asked").exists(), "the tool is asked, too, once its agent has ended");
}

#[tokio::test]
async fn a_parent_that_waits_for_its_child_does_not_keep_it_from_being_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    // A shell runs its trap once the program in the foreground has ended.
    let script = "trap 'touch asked; exit 0' TERM; echo ready; sleep 1000";
    let mut what = session(Runtime::Command, &["bash", "-c", script], folder.path());
    what.clocks.grace = PATIENCE;
    edit(&mut what, |spec| spec.relay = Relay::All);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.first_words().await;
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.exit, survivors.len()), (Some(Exit::Code(0)), 0), "{outcome:?}");
    assert!(folder.path().join("asked").exists(), "it was asked before it was killed");
}
