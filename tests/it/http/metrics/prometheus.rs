//! Debian's Prometheus scrapes a real herder.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::super::House;
use crate::stage::PATIENCE;

struct Prometheus {
    child: Child,
    url: String,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Prometheus {
    fn start(dir: &std::path::Path, target: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a free port");
        let config = format!(
            "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms }}\nscrape_configs:\n  - job_name: herder\n    \
             static_configs: [{{ targets: ['{target}'] }}]\n"
        );
        std::fs::write(dir.join("prometheus.yml"), config).expect("a file");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", dir.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", dir.join("prometheus").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("prometheus.log")).expect("a file"))
            .spawn()
            .expect("prometheus is there; scripts/test installs it");
        Self { child, url: format!("http://{address}/api/v1") }
    }

    /// The values of a query, once it has some. Prometheus tells nobody when it has scraped.
    async fn answers(&self, house: &House, query: &str) -> Vec<(Value, String)> {
        let asked = async {
            loop {
                let answer =
                    house.client.get(format!("{}/query", self.url)).query(&[("query", query)]).send();
                let answer: Value = match answer.await {
                    Ok(answer) => answer.json().await.unwrap_or_default(),
                    Err(_) => Value::Null,
                };
                let found = answer["data"]["result"].as_array().cloned().unwrap_or_default();
                if !found.is_empty() {
                    let value = |it: &Value| it["value"][1].as_str().unwrap_or_default().to_owned();
                    return found.iter().map(|it| (it["metric"].clone(), value(it))).collect();
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("nothing for {query}"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prometheus_scrapes_a_herder_and_answers_from_it() {
    let house = House::open("read -r line; echo \"did $line\"").await;
    let dir = tempfile::tempdir().expect("a folder");
    let target = house.url.strip_prefix("http://").expect("plain HTTP").to_owned();
    let prometheus = Prometheus::start(dir.path(), &target);
    let idle = prometheus.answers(&house, "herder_agents{phase=\"idle\"} == 1").await;
    assert_eq!(idle.len(), 1);
    assert_eq!(idle[0].0["instance"], target.as_str());
    let up = prometheus.answers(&house, "up{job=\"herder\"}").await;
    assert_eq!(up[0].1, "1");
    let commits = "histogram_quantile(0.99, sum by (le) (herder_commit_seconds_bucket)) > 0";
    assert_eq!(prometheus.answers(&house, commits).await.len(), 1);
    // Prometheus asks for OpenMetrics, in which counters have their suffix once.
    let counters =
        prometheus.answers(&house, "count({__name__=~\"herder_.*_total_total\"}) or vector(0)").await;
    assert_eq!(counters[0].1, "0");
    house.close().await;
}
