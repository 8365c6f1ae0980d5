//! The page: open pages on a large fleet in which much happens, against the same without a page; in a real browser the first
//! paint, a filter, and the way of a change from its command to the screen.
//!
//! ```text
//! cargo bench --bench page -- [--agents 1000] [--pages 64] [--rate 100] [--seconds 20]
//! ```
//!
//! Each agent has done one task before. Events are pauses and resumes over the API, each one commit. Pages are event streams that are read to their end. The browser
//! is chromium with chromedriver, as in the tests.
#![expect(clippy::disallowed_methods, reason = "real time is measured")]

mod bench;
#[path = "../tests/it/http/browser.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod browser;

/// The part of the tests that the browser's file needs.
mod stage {
    use std::time::Duration;

    /// Patience with the browser.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
}

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bench::{Herder, Toml, head, median, quantile, row, say};
use browser::{Browser, Kind};
use herder::local::{self, Request};
use reqwest::Client;
use serde_json::json;

/// Repetitions of each measurement in the browser.
const TIMES: usize = 10;

const SECRET: &str = "token-of-the-measurement";

struct Arguments {
    agents: usize,
    pages: usize,
    rate: u32,
    seconds: u64,
}

fn arguments() -> Arguments {
    let words: Vec<String> = std::env::args().collect();
    let number = |name: &str, usual: usize| {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1)).map_or(usual, |word| word.parse().expect("a number"))
    };
    Arguments {
        agents: number("--agents", 1000),
        pages: number("--pages", 64),
        rate: u32::try_from(number("--rate", 100)).expect("events per second"),
        seconds: u64::try_from(number("--seconds", 20)).expect("seconds"),
    }
}

/// Figures of one stretch of events.
struct Stretch {
    /// Part of a core that herder used.
    core: f64,
    /// Milliseconds from a command to its answer.
    answers: Vec<f64>,
}

/// Gives commands at a steady rate, as [`Arguments`] has it.
async fn stretch(client: &Client, url: &str, pid: u32, arguments: &Arguments) -> Stretch {
    let (begun, cpu) = (Instant::now(), bench::cpu_seconds(pid));
    let mut every = tokio::time::interval(Duration::from_secs(1) / arguments.rate);
    let mut under_way = tokio::task::JoinSet::new();
    let mut answers = Vec::new();
    let mut number = 0_usize;
    while begun.elapsed() < Duration::from_secs(arguments.seconds) {
        every.tick().await;
        let command = if (number / arguments.agents).is_multiple_of(2) { "pause" } else { "resume" };
        let agent = format!("a{:04}", number % arguments.agents);
        number += 1;
        let request = client
            .post(format!("{url}/api/v1/commands"))
            .bearer_auth(SECRET)
            .json(&json!({ "command": command, "agent": agent }));
        under_way.spawn(async move {
            let asked = Instant::now();
            let answer = request.send().await.expect("an answer");
            // The first stretch leaves agents paused that the next one pauses again: such a refusal commits nothing, and is none
            // of the measured ones.
            answer.status().is_success().then(|| asked.elapsed().as_secs_f64() * 1000.0)
        });
    }
    while let Some(answer) = under_way.join_next().await {
        answers.extend(answer.expect("no panic"));
    }
    let core = (bench::cpu_seconds(pid) - cpu) / begun.elapsed().as_secs_f64();
    Stretch { core, answers }
}

/// Opens a page's stream and counts its bytes.
async fn follow(client: Client, url: String, read: Arc<AtomicUsize>) {
    let mut stream = client.get(format!("{url}/live")).bearer_auth(SECRET).send().await.expect("a stream");
    assert!(stream.status().is_success(), "{}", stream.status());
    while let Ok(Some(chunk)) = stream.chunk().await {
        read.fetch_add(chunk.len(), Ordering::Relaxed);
    }
}

/// Milliseconds in the browser.
struct Looked {
    /// From the click on a link to the first letters on the screen.
    painted: Vec<f64>,
    /// From a letter in the filter's field to the rows that fit.
    filtered: Vec<f64>,
    /// From a command's first byte to its change on the screen.
    changed: Vec<f64>,
}

/// A link that logs in to the page.
async fn link(socket: &Path) -> String {
    let request = Request { command: "page".to_owned(), args: Vec::new() };
    let said = local::ask(socket, &request).await.expect("herder answers").lines.join(" ");
    let link = said.split_whitespace().find(|word| word.contains("/login/"));
    link.unwrap_or_else(|| panic!("no link: {said}")).to_owned()
}

/// Runs a script that calls `done` with a number.
async fn number(browser: &Browser, script: &str) -> f64 {
    let script = format!("const done = arguments[arguments.length - 1]; {script}");
    let number = browser.client.execute_async(&script, Vec::new()).await.expect("the script ends");
    number.as_f64().unwrap_or_else(|| panic!("no number: {number}"))
}

fn milliseconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64() * 1000.0
}

async fn look(client: &Client, url: &str, socket: &Path, agents: usize) -> Looked {
    let browser = Browser::open(Kind::default()).await;
    let link = link(socket).await;
    browser.log_in(&link).await;
    // The session is that of the link's host.
    let page = link.split("/login/").next().unwrap_or(url);
    let mut looked = Looked { painted: Vec::new(), filtered: Vec::new(), changed: Vec::new() };
    for _ in 0..TIMES {
        browser.go(page).await;
        let script = "new PerformanceObserver((list, observer) => { observer.disconnect(); \
            done(list.getEntriesByName('first-contentful-paint')[0].startTime); \
            }).observe({ type: 'paint', buffered: true });";
        looked.painted.push(number(&browser, script).await);
    }
    // Typed by a script, so that the driver's own time does not count.
    let rows = "document.querySelectorAll('#agents tr').length";
    let typed = |text: &str, until: &str| {
        format!(
            "const field = document.querySelector('.finder input[type=search]'); const began = performance.now();
             const observer = new MutationObserver(() => {{
                 if ({rows} {until}) {{ observer.disconnect(); requestAnimationFrame(() => done(performance.now() - began)); }}
             }});
             observer.observe(document.body, {{ subtree: true, childList: true }});
             field.value = '{text}'; field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        )
    };
    // A person sees the rows before the next letter.
    let drawn = "requestAnimationFrame(() => requestIdleCallback(() => done(0)));";
    for n in 0..TIMES {
        number(&browser, drawn).await;
        looked.filtered.push(number(&browser, &typed(&format!("a{n:04}"), "=== 1")).await);
        number(&browser, &typed("", &format!("=== {agents}"))).await;
    }
    for n in 0..TIMES {
        let agent = format!("a{n:04}");
        let phase =
            format!("document.querySelector('#agent-{agent} .phase')?.textContent.includes('paused')");
        let script = format!(
            "window.seen = new Promise(seen => {{
                 const observer = new MutationObserver(() => {{
                     if ({phase}) {{ observer.disconnect(); seen(Date.now()); }}
                 }});
                 observer.observe(document.body, {{ subtree: true, childList: true, characterData: true }});
             }});"
        );
        browser.script(&script).await;
        let began = milliseconds();
        let command = json!({ "command": "pause", "agent": agent });
        let asked = client.post(format!("{url}/api/v1/commands")).bearer_auth(SECRET).json(&command);
        assert!(asked.send().await.expect("an answer").status().is_success());
        looked.changed.push(number(&browser, "window.seen.then(done)").await - began);
        let command = json!({ "command": "resume", "agent": agent });
        let asked = client.post(format!("{url}/api/v1/commands")).bearer_auth(SECRET).json(&command);
        assert!(asked.send().await.expect("an answer").status().is_success());
    }
    browser.close().await;
    looked
}

#[tokio::main]
async fn main() {
    let arguments = arguments();
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dir = tempfile::tempdir_in(target).expect("a folder on a real disk");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let mut toml = Toml::new(&dir.path().join("data")).raw(&format!(
        "[http]\nlisten = \"127.0.0.1:{port}\"\ntoken = [{{ name = \"bench\", role = \"admin\", secret = {{ file = \"secret\" }} }}]"
    ));
    std::fs::write(dir.path().join("secret"), SECRET).expect("a secret");
    let names: Vec<String> = (0..arguments.agents).map(|number| format!("a{number:04}")).collect();
    for name in &names {
        toml = toml.agent(name, &["cat"], dir.path(), false);
    }
    let herder = Herder::start(&toml.write(dir.path()));
    let url = format!("http://127.0.0.1:{port}");
    let client = Client::builder().no_proxy().build().expect("a client");
    let first = format!("{url}/api/v1/agents/a{:04}", arguments.agents - 1);
    loop {
        let there = client.get(&first).bearer_auth(SECRET).send().await;
        if there.is_ok_and(|answer| answer.status().is_success()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let socket = dir.path().join("data").join(local::FILE_NAME);
    let numbers = async || {
        let answer = client.get(format!("{url}/metrics")).bearer_auth(SECRET).send().await.ok()?;
        answer.text().await.ok()
    };
    bench::let_all_work(&socket, &names, numbers).await;
    // Ages of less than a minute change on the page each second, which a fleet does not do as a whole.
    tokio::time::sleep(Duration::from_secs(70)).await;
    let looked = look(&client, &url, &socket, arguments.agents).await;
    let without = stretch(&client, &url, herder.pid(), &arguments).await;
    let read = Arc::new(AtomicUsize::new(0));
    let mut pages = tokio::task::JoinSet::new();
    for _ in 0..arguments.pages {
        pages.spawn(follow(client.clone(), url.clone(), Arc::clone(&read)));
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    read.store(0, Ordering::Relaxed);
    let with = stretch(&client, &url, herder.pid(), &arguments).await;
    let bytes = read.load(Ordering::Relaxed);
    pages.abort_all();
    herder.stop();
    say(&format!(
        "{} agents, {} pages, {} events/s; {} of {} commands answered, {} kB to each page",
        arguments.agents,
        arguments.pages,
        arguments.rate,
        with.answers.len(),
        without.answers.len(),
        bytes / arguments.pages.max(1) / 1000
    ));
    head();
    let percent = |core: f64| format!("{:.1} %", core * 100.0);
    let more = with.core - without.core;
    row("core for the open pages", &percent(more), &percent(without.core), more / 0.15, "15 %");
    for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
        let [with, without] = [&with, &without].map(|stretch| quantile(&stretch.answers, q));
        let text = |time: f64| format!("{time:.2} ms");
        row(&format!("command to answer, {name}"), &text(with), &text(without), with / without, "1");
    }
    let text = |times: &[f64]| format!("{:.1} ms", median(times));
    row("first paint", &text(&looked.painted), "", median(&looked.painted) / 300.0, "300 ms");
    row("a filter, while one types", &text(&looked.filtered), "", median(&looked.filtered) / 50.0, "50 ms");
    row(
        "a command to its change on the page",
        &text(&looked.changed),
        "",
        median(&looked.changed) / 300.0,
        "300 ms",
    );
}
