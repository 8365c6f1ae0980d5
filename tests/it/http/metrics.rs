//! The numbers, read by the parsers of Prometheus' own Python client, by promtool and by Prometheus itself.

mod kept;
mod prometheus;
mod rules;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use herder::config::Listen;
use herder::core::input::{Control, Input};
use herder::core::role::Role;
use herder::supervisor::FaultInjection;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::{House, json as ask, secret, text};

/// Prints every sample as `name labels value`, as the parser of that format reads it.
const READ: &str = r"
import sys
which = sys.argv[1]
if which == 'openmetrics':
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
else:
    from prometheus_client.parser import text_string_to_metric_families as parse
for family in parse(sys.stdin.read()):
    assert family.type in ('gauge', 'counter', 'histogram'), family
    assert family.documentation, family
    for sample in family.samples:
        labels = ','.join(f'{k}={v}' for k, v in sorted(sample.labels.items()))
        print(sample.name, '{' + labels + '}', float(sample.value))
";

/// Every name that the contract promises.
const NAMES: [&str; 33] = [
    "herder_build_info",
    "herder_agents",
    "herder_agents_needing_person",
    "herder_sessions",
    "herder_session_seconds",
    "herder_restarts",
    "herder_process_trees",
    "herder_tokens",
    "herder_cost_usd",
    "herder_cap_ratio",
    "herder_accounts",
    "herder_queue",
    "herder_agent_memory_bytes",
    "herder_agent_memory_peak_bytes",
    "herder_agent_memory_limit_bytes",
    "herder_board_tasks",
    "herder_asks_open",
    "herder_calls_open",
    "herder_call_oldest_seconds",
    "herder_outbox_posts",
    "herder_outbox_oldest_seconds",
    "herder_network_up",
    "herder_network_reconnects",
    "herder_discord_ratelimited",
    "herder_webhook_owed",
    "herder_webhook_failures",
    "herder_commands",
    "herder_command_seconds",
    "herder_commit_seconds",
    "herder_journal_bytes",
    "herder_disk_free_bytes",
    "herder_evaluations",
    "herder_supervisor_panics",
];

/// The families that a text in the format of OpenMetrics describes.
fn families(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

fn read(format: &str, text: &str) -> Vec<String> {
    let python = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-tools/prometheus/bin/python3");
    assert!(python.exists(), "no {}; run scripts/test, which installs it", python.display());
    let mut child = Command::new(python)
        .args(["-c", READ, format])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python runs");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{format}: {}\n{text}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// A listener that other machines reach, or that a proxy stands before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_are_for_everybody_on_this_machine_alone() {
    let (anywhere, here) = ([0, 0, 0, 0], [127, 0, 0, 1]);
    for (address, behind_proxy, is_open) in
        [(here, false, true), (anywhere, false, false), (here, true, false)]
    {
        let house = House::open_with("cat", |_, http| {
            http.listen = Listen::Tcp(SocketAddr::from((address, 0)));
            http.behind_proxy = behind_proxy;
        })
        .await;
        let (status, numbers) = text(house.get("/metrics")).await;
        let wanted = if is_open { 200 } else { 401 };
        assert_eq!((status, numbers.contains("herder_agents")), (wanted, is_open), "{address:?} {numbers}");
        for (token, wanted) in [(secret(Role::Viewer), 200), ("a wrong one".to_owned(), wanted)] {
            let (status, _) = text(house.get("/metrics").bearer_auth(token)).await;
            assert_eq!(status, wanted, "{address:?} behind a proxy: {behind_proxy}");
        }
        // A token is no part of an address, which stands in logs.
        let (status, _) = text(house.get(&format!("/metrics?token={}", secret(Role::Admin)))).await;
        assert_eq!(status, wanted);
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_scrape_waits_for_no_supervisor_and_not_for_the_root() {
    let (stands, free) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let stop = |stands: &Arc<Semaphore>, free: &Arc<Semaphore>| {
        let (stands, free, runtime) = (Arc::clone(stands), Arc::clone(free), Handle::current());
        move || {
            stands.add_permits(1);
            tokio::task::block_in_place(|| runtime.block_on(free.acquire()).expect("it is open").forget());
        }
    };
    let hang = stop(&stands, &free);
    // The supervisor stands still with all that it holds while it decides about the pause.
    let of_spark = FaultInjection::new(move |_, input| {
        if matches!(input, Input::Control { control: Control::Pause { .. }, .. }) {
            hang();
        }
    });
    let (hang, hangs) = (stop(&stands, &free), Arc::new(AtomicBool::new(false)));
    let wanted = Arc::clone(&hangs);
    let of_root = FaultInjection::of_root(move || {
        if wanted.swap(false, Ordering::SeqCst) {
            hang();
        }
    });
    for (fault, is_root) in [(of_spark, false), (of_root, true)] {
        let house = House::open_with("cat", |options, _| options.fault = fault).await;
        hangs.store(is_root, Ordering::SeqCst);
        let command = if is_root {
            json!({ "command": "task add", "args": ["auto", "sweep"] })
        } else {
            json!({ "command": "pause", "agent": "spark" })
        };
        let asking = tokio::spawn(house.command(Role::Operator, &command).send());
        stands.acquire().await.expect("it is open").forget();
        for _ in 0..8 {
            let (status, numbers) = text(house.get("/metrics")).await;
            let idle = "herder_agents{phase=\"idle\"} 1.0\n";
            assert!(status == 200 && numbers.contains(idle), "root: {is_root}; {numbers}");
        }
        assert!(!asking.is_finished(), "it stood still all that time");
        free.add_permits(1);
        assert_eq!(asking.await.expect("no panic").expect("an answer").status(), 200);
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_are_read_in_both_formats_and_say_the_same() {
    let mut house = House::open("read -r line; echo \"did $line\"").await;
    let add = json!({ "command": "task add", "agent": "spark", "text": "sweep" });
    assert_eq!(ask(house.command(Role::Operator, &add)).await.0, 200);
    house.scene.person.hears_in_any_order("#spark", "completed").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    let refused = json!({ "command": "resume", "agent": "flint" });
    assert_eq!(ask(house.command(Role::Operator, &refused)).await.0, 409);
    assert_eq!(ask(house.command(Role::Viewer, &pause)).await.0, 403);
    let mut found = Vec::new();
    for (format, accept, kind) in [
        ("openmetrics", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text"),
        ("plain", "text/plain", "text/plain; version=0.0.4"),
    ] {
        let response = house.get("/metrics").header("accept", accept).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let shown = response.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(shown.starts_with(kind), "{shown}");
        let text = response.text().await.expect("text");
        if format == "openmetrics" {
            assert_eq!(families(&text), BTreeSet::from(NAMES));
        }
        found.push(read(format, &text));
    }
    // Posts and commits between the two scrapes may differ.
    let moves = ["herder_disk_free", "herder_journal_bytes", "herder_commit_seconds", "herder_outbox"];
    for samples in &mut found {
        samples.retain(|line| !moves.iter().any(|name| line.starts_with(name)));
    }
    assert_eq!(found[0], found[1]);
    for wanted in [
        "herder_agents {phase=paused} 1.0",
        "herder_agents {phase=needs-intervention} 0.0",
        "herder_sessions_total {agent=spark,outcome=success} 1.0",
        "herder_session_seconds_count {} 1.0",
        "herder_process_trees {} 0.0",
        "herder_accounts {state=open} 1.0",
        "herder_accounts {state=quota} 0.0",
        "herder_board_tasks {state=at-work} 0.0",
        "herder_board_tasks {state=checking} 0.0",
        "herder_board_tasks {state=review} 0.0",
        "herder_board_tasks {state=merging} 0.0",
        "herder_commands_total {command=pause,network=http,result=done} 1.0",
        "herder_commands_total {command=pause,network=http,result=denied} 1.0",
        "herder_commands_total {command=pause,network=demo,result=done} 0.0",
        "herder_evaluations_total {verdict=lapse} 0.0",
        "herder_supervisor_panics_total {} 0.0",
        "herder_discord_ratelimited_total {} 0.0",
        "herder_network_reconnects_total {network=demo} 0.0",
        "herder_queue {agent=spark} 0.0",
        "herder_calls_open {} 0.0",
        "herder_network_up {network=demo} 1.0",
    ] {
        assert!(found[0].iter().any(|line| line == wanted), "no {wanted} in {:#?}", found[0]);
    }
    let refused = found[0].iter().filter(|line| line.ends_with("network=http,result=refused} 1.0"));
    assert_eq!(refused.count(), 1, "{:#?}", found[0]);
    house.close().await;
}
