//! Limits of sessions on memory, CPU and processes, on real cgroups: `scripts/test-limits` runs these in a virtual
//! machine, each in a cgroup of its own.

use std::fs;
use std::path::PathBuf;

use herder::core::machine::{Share, Together};
use herder::runtime::process::can_limit;

use super::*;

/// Takes twice as much memory with every step.
const EATS: &str = r#"awk 'BEGIN { s = "x"; while (1) s = s s }'"#;

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
