//! The alert rules and the dashboard that are shipped.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::super::{House, text};
use super::NAMES;

fn packaging(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("packaging").join(file)
}

/// Runs promtool, which the Debian package `prometheus` has, and gives what it says.
pub(super) fn promtool(args: &[&str], input: &str) -> String {
    use std::io::Write as _;
    let mut child = Command::new("promtool")
        .args(args)
        .current_dir(packaging("prometheus"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there (package prometheus); scripts/test installs it");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {args:?}: {said}");
    said.into_owned()
}

/// The names of herder's metrics in an expression, without what its samples append.
fn names(expression: &str) -> BTreeSet<String> {
    let name = regex::Regex::new(r"\bherder_[a-z_]+").expect("a pattern");
    let names = name.find_iter(expression).map(|found| found.as_str());
    let bare = |name: &str| {
        let ends = ["_total", "_bucket"];
        ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
    };
    names.map(bare).collect()
}

/// Every expression of the dashboard, with values for its variables.
fn dashboard() -> Vec<String> {
    let text = std::fs::read_to_string(packaging("grafana/herder.json")).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets
        .map(|target| target["expr"].as_str().expect("an expression").replace("$instance", ".*"))
        .map(|expression| expression.replace("$agent", ".*"))
        .collect()
}

#[test]
fn the_alert_rules_are_valid_and_each_fires_when_it_should() {
    promtool(&["check", "rules", "herder.rules.yml"], "");
    promtool(&["test", "rules", "herder.rules.test.yml"], "");
    let rules = std::fs::read_to_string(packaging("prometheus/herder.rules.yml")).expect("rules");
    let tests = std::fs::read_to_string(packaging("prometheus/herder.rules.test.yml")).expect("tests");
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        // Not to fire when all is well, and to fire when it is not.
        assert!(tests.matches(&format!("alertname: {alert}")).count() >= 1, "{alert} is not tested");
    }
}

#[test]
fn rules_and_dashboard_ask_for_what_there_is() {
    let rules = std::fs::read_to_string(packaging("prometheus/herder.rules.yml")).expect("rules");
    let dashboard = dashboard();
    assert!(dashboard.len() > 20, "{dashboard:#?}");
    for asked in names(&(dashboard.join("\n") + &rules)) {
        assert!(NAMES.contains(&asked.as_str()), "there is no {asked}");
    }
    let shown = names(&dashboard.join("\n"));
    let left_out: Vec<&str> = NAMES.into_iter().filter(|name| !shown.contains(*name)).collect();
    assert_eq!(left_out, [""; 0], "the dashboard does not show these");
    let recorded = dashboard.iter().enumerate().map(|(n, expression)| {
        format!("      - record: panel:{n}\n        expr: {}\n", serde_json::json!(expression))
    });
    let file = tempfile::NamedTempFile::with_suffix(".yml").expect("a file");
    let groups = format!("groups:\n  - name: dashboard\n    rules:\n{}", recorded.collect::<String>());
    std::fs::write(file.path(), groups).expect("written");
    promtool(&["check", "rules", "--lint=none", file.path().to_str().expect("a plain path")], "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promtool_finds_nothing_to_complain_of() {
    let house = House::open("read -r line; echo \"did $line\"").await;
    let (status, plain) = text(house.get("/metrics").header("accept", "text/plain")).await;
    assert_eq!(status, 200);
    assert_eq!(promtool(&["check", "metrics"], &plain), "");
    house.close().await;
}
