//! Limits of sessions on memory, CPU and processes, on real cgroups: `scripts/test-limits` runs these in a virtual
//! machine, each in a cgroup of its own.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use herder::core::machine::{Enforcement, Share, Together};
use herder::runtime::process::can_limit;
use herder::supervisor::View;

use super::*;
use crate::stage::{Person, Scene, shell};

/// Takes twice as much memory with every step.
const EATS: &str = r#"awk 'BEGIN { s = "x"; while (1) s = s s }'"#;

/// Takes 16 MiB of memory, and waits until there is a file `eat`; then takes twice as much with every step.
pub(crate) const EATS_WHEN_TOLD: &str = r#"awk 'BEGIN {
    s = "x"; while (length(s) < 16777216) s = s s
    system("until [ -e eat ]; do sleep 0.2; done"); while (1) s = s s
}'"#;

/// Memory that a session has taken when [`EATS_WHEN_TOLD`] waits, in bytes.
pub(crate) const EATEN: u64 = 16 << 20;

/// Takes 128 MiB of memory, and keeps it.
const EATS_AND_WAITS: &str =
    r#"awk 'BEGIN { s = "x"; while (length(s) < 134217728) s = s s; system("sleep 60") }'"#;

fn limited(script: &str, dir: &std::path::Path, own: Share) -> Launch {
    let mut what = session(Runtime::Command, &["sh", "-c", script], dir);
    edit(&mut what, |spec| spec.share = own);
    what.together = Together::Percent(90);
    what
}

/// The folder of the sessions' cgroups.
fn agents() -> PathBuf {
    let own = fs::read_to_string("/proc/self/cgroup").expect("the kernel tells");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).expect("there is a unified hierarchy");
    let own = own.trim_end_matches("/herder-main");
    PathBuf::from("/sys/fs/cgroup").join(own).join("herder-agents")
}

fn groups() -> usize {
    fs::read_dir(agents()).map_or(0, |found| found.flatten().filter(|entry| entry.path().is_dir()).count())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_limits_cannot_be_set_does_not_start() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let own = Share { pids: 64, ..Share::default() };
    let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
    let mut running = Running::start_in(limited("touch began", dir.path(), own), trees);
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.exit), (Category::Permanent, None));
    let said = outcome.detail.to_string();
    assert!(said.contains("cannot be set") && said.contains("Delegate=yes"), "{said}");
    assert!(!dir.path().join("began").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_kernel_holds_no_limits_memory_is_looked_at() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let own = Share { memory: 64 << 20, pids: 64, ..Share::default() };
    let mut what = limited(&format!("{EATS_AND_WAITS}; touch done"), dir.path(), own);
    what.limits = Enforcement::Try;
    let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
    let mut running = Running::start_in(what.clone(), trees.clone());
    running.spawned().await;
    running.order(Order::Go).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!(outcome.category, Category::OutOfMemory, "{outcome:?}");
    let said = outcome.detail.to_string();
    assert!(said.contains("of 67.1 MB") && said.contains("awk"), "{said}");
    assert!(outcome.peak > 64 << 20 && survivors.is_empty(), "{outcome:?}");
    assert!(!dir.path().join("done").exists());

    edit(&mut what, |spec| spec.command = ["sh", "-c", "echo fine"].map(str::to_owned).to_vec());
    let mut running = Running::start_in(what, trees);
    running.spawned().await;
    running.order(Order::Go).await;
    assert_eq!(running.ended().await.0.category, Category::Success);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn limits_can_be_set_here() {
    can_limit().expect("the virtual machine has what limits need");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn an_agent_that_eats_memory_is_ended_at_its_limit() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let own = Share { memory: 64 << 20, ..Share::default() };
    let (outcome, _, _) = run(limited(&format!("{EATS} & wait"), dir.path(), own)).await;
    assert_eq!(outcome.category, Category::OutOfMemory, "{outcome:?}");
    assert!(outcome.detail.to_string().contains("of 67.1 MB"), "{}", outcome.detail);
    assert!(outcome.peak > 60 << 20, "{} bytes", outcome.peak);
    assert_eq!(groups(), 0, "the group of the session is gone");
    let own = fs::read_to_string("/proc/self/oom_score_adj").expect("the kernel tells");
    assert_eq!(own.trim(), "0", "herder stays at its own");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn an_agent_that_forks_without_end_gets_no_further_than_its_limit() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let own = Share { pids: 16, ..Share::default() };
    let script = "i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; echo done";
    let mut running = Running::start(limited(script, dir.path(), own));
    running.spawned().await;
    running.order(Order::Go).await;
    let (outcome, survivors) = running.ended().await;
    assert_ne!(outcome.category, Category::Success, "the shell could not fork: {outcome:?}");
    assert!(outcome.ended <= 16, "{outcome:?}");
    assert_eq!((survivors.len(), groups()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn an_agent_that_burns_all_cores_gets_its_share() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let own = Share { cpu: 0.2, ..Share::default() };
    let script = "(while :; do :; done) & (while :; do :; done) & wait";
    let mut running = Running::start(limited(script, dir.path(), own));
    running.spawned().await;
    running.order(Order::Go).await;
    while running.beats == 0 {
        running.report().await.expect("it runs");
    }
    let group = fs::read_dir(agents()).expect("the sessions' folder").flatten().find(|e| e.path().is_dir());
    let stat = group.expect("the session's group").path().join("cpu.stat");
    let used = || {
        let text = fs::read_to_string(&stat).expect("the kernel counts");
        let micros = text.lines().find_map(|line| line.strip_prefix("usage_usec ")).expect("the time used");
        Duration::from_micros(micros.parse().expect("a number"))
    };
    let (began, before) = (std::time::Instant::now(), used());
    let deadline = Duration::from_secs(4);
    let beats = running.beats;
    while began.elapsed() < deadline || running.beats == beats {
        running.report().await.expect("it runs");
    }
    let share = (used() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    assert!(share < 0.4, "{share} of a processor");
    running.order(Order::Stop).await;
    running.ended().await;
    assert_eq!(groups(), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn ten_that_eat_memory_leave_ten_others_alone() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let trees = ProcessTrees::new().expect("this process can adopt");
    let own = Share { memory: 48 << 20, cpu: 0.5, pids: 64 };
    let start = |script: &str| {
        let what = limited(script, dir.path(), own);
        Running::start_in(what, trees.clone())
    };
    let mut hogs: Vec<Running> = (0..10).map(|_| start(EATS)).collect();
    let mut healthy: Vec<Running> = (0..10).map(|_| start("sleep 5; echo fine")).collect();
    for running in hogs.iter_mut().chain(&mut healthy) {
        running.spawned().await;
        running.order(Order::Go).await;
    }
    for hog in &mut hogs {
        assert_eq!(hog.ended().await.0.category, Category::OutOfMemory);
    }
    for fine in &mut healthy {
        assert_eq!(fine.ended().await.0.category, Category::Success);
    }
    assert_eq!(groups(), 0);
}

/// Memory of a hog and of a healthy agent in a whole herder.
const EACH: u64 = 48 << 20;

/// Answers of `status` that are timed.
const ASKED: usize = 100;

fn is_hog(view: &View) -> bool {
    view.name.as_str().starts_with("hog")
}

/// Times the answers of `status` to a person, in milliseconds, sorted.
async fn status_times(person: &mut Person) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..ASKED {
        let began = std::time::Instant::now();
        person.say("#herder", "!status fine-0").await;
        person.hears("#herder", "fine-0: ").await;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    times
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs cgroup v2: scripts/test-limits"]
async fn ten_that_eat_memory_in_a_herder_are_named_and_called_for_and_ten_others_work_on() {
    let own = Share { memory: EACH, cpu: 0.5, pids: 64 };
    let agents = |dir: &std::path::Path| {
        let agent = |name: String, script: &str| {
            let mut spec = shell(&name, dir, script);
            spec.share = own;
            spec
        };
        let hogs = (0..10).map(|n| agent(format!("hog-{n}"), EATS_WHEN_TOLD));
        let fine =
            (0..10).map(|n| agent(format!("fine-{n}"), "while ! [ -e over ]; do sleep 0.2; done; echo well"));
        hogs.chain(fine).collect()
    };
    let server = crate::stage::server().await;
    let options = crate::stage::inside(&server);
    let rooms: Vec<String> = (0..10).flat_map(|n| [format!("#fine-{n}"), format!("#hog-{n}")]).collect();
    let rooms: Vec<&str> =
        ["#herder", "#alerts", "#work"].into_iter().chain(rooms.iter().map(String::as_str)).collect();
    let mut scene = Scene::open_configured((server, options), "alice", &rooms, agents, |config| {
        config.policy.max_active = 0;
        config.policy.memory = Together::Percent(90);
        config.policy.backoff = vec![Duration::from_secs(1)];
        config.policy.heartbeat_timeout = Duration::from_secs(30);
    })
    .await;
    let person = &mut scene.person;
    for n in 0..10 {
        person.say(&format!("#fine-{n}"), "work").await;
    }
    for n in 0..10 {
        person.hears_in_any_order(&format!("#fine-{n}"), "started").await;
    }
    let quiet = status_times(person).await;
    for n in 0..10 {
        person.say("#herder", &format!("!task add hog-{n} eat")).await;
    }
    // herder knows the program that took the most from its last look before the kernel ended it.
    let fleet = scene.stage.herder.fleet();
    let was_looked_at = |view: &View| view.live.memory.is_some_and(|memory| memory.now >= EATEN);
    let all = async {
        while !fleet.agents().iter().filter(|view| is_hog(view)).all(was_looked_at) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("all hogs are looked at");
    fs::write(scene.dir.path().join("eat"), "").expect("a file");
    let beside = status_times(person).await;
    let p99 = |times: &[f64]| times[ASKED * 99 / 100];
    let (quiet, beside) = (p99(&quiet), p99(&beside));
    writeln!(std::io::stdout(), "status p99: {beside:.1} ms beside ten hogs, {quiet:.1} ms without").unwrap();
    for n in 0..10 {
        let first = person.hears_in_any_order(&format!("#hog-{n}"), "was ended for want of memory").await;
        assert!(first.contains("of 50.3 MB") && first.contains("awk"), "{first}");
        person.hears_in_any_order("#alerts", &format!("hog-{n}")).await;
    }
    let hogs = scene.stage.herder.fleet().agents();
    for view in hogs.iter().filter(|view| is_hog(view)) {
        assert_eq!(view.agent.totals.sessions, 2, "{}: tried once more and no more", view.name);
    }
    let fine = hogs.iter().filter(|view| view.name.as_str().starts_with("fine"));
    for view in fine {
        let memory = view.live.memory.expect("its memory is looked at");
        assert!(memory.now > 0 && memory.peak >= memory.now && memory.limit == EACH, "{memory:?}");
    }
    fs::write(scene.dir.path().join("over"), "").expect("a file");
    for n in 0..10 {
        scene.person.hears_in_any_order(&format!("#fine-{n}"), "well").await;
    }
    scene.close().await;
    assert_eq!(groups(), 0);
}
