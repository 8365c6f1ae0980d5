//! A real browser, by its own driver: Debian's chromium, started for one test and gone with it.
//!
//! Both run in a process namespace whose first process reads a pipe that the test holds. The pipe closes when the test passes,
//! fails or is killed; then that process exits, and the kernel ends everything in the namespace.

use std::process::{Child, ChildStdin, Command, Stdio};

use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;
use url::{ParseError, Url};

use crate::stage::PATIENCE;

/// Starts the driver, again if it ends: it takes a free port of IPv4, and ends if another program has the same one of
/// IPv6. After ten ends it is given up.
const DRIVER: &str =
    "{ for start in 1 2 3 4 5 6 7 8 9 10; do chromedriver --port=0; done; echo none; } & read -r end; exit 0";

/// Options of a browser.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kind {
    pub(super) no_scripts: bool,
    pub(super) language: Option<&'static str>,
}

/// A browser with one window.
pub(super) struct Browser {
    pub(super) client: Client,
    processes: Processes,
    profile: tempfile::TempDir,
}

/// The driver and the browser.
struct Processes {
    /// The first process of the namespace, by the program that made it.
    outer: Child,
    /// The pipe that keeps them alive. `None`: closed.
    alive: Option<ChildStdin>,
}

impl Processes {
    fn start() -> (Self, std::process::ChildStdout) {
        let words = "--user --map-root-user --pid --fork --kill-child --mount-proc sh -c";
        let mut outer = Command::new("unshare")
            .args(words.split(' '))
            .arg(DRIVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare and chromedriver are installed: scripts/test does that");
        let (alive, said) = (outer.stdin.take(), outer.stdout.take());
        (Self { outer, alive }, said.expect("piped"))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.alive = None;
        // The namespace's first process is gone when all the others are.
        let _ = self.outer.wait();
    }
}

/// A command of chromium's own protocol.
#[derive(Debug)]
struct Devtools {
    command: &'static str,
    params: Value,
}

impl WebDriverCompatibleCommand for Devtools {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "cmd": self.command, "params": self.params }).to_string()))
    }
}

impl Browser {
    pub(super) async fn open(kind: Kind) -> Self {
        let (processes, said) = Processes::start();
        let said = ChildStdout::from_std(said).expect("a pipe");
        let mut lines = BufReader::new(said).lines();
        let port = loop {
            let line = lines.next_line().await.expect("readable").expect("chromedriver says its port");
            assert_ne!(line, "none", "chromedriver does not start");
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        let profile = tempfile::tempdir().expect("a folder");
        let mut options = json!({
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--window-size=1280,900",
                format!("--user-data-dir={}", profile.path().display()),
            ],
            "prefs": { "intl.accept_languages": kind.language.unwrap_or("en-US") },
        });
        if kind.no_scripts {
            options["prefs"]["profile.managed_default_content_settings.javascript"] = json!(2);
        }
        let capabilities: Capabilities = [
            ("goog:chromeOptions".to_owned(), options),
            ("timeouts".to_owned(), json!({ "script": PATIENCE.as_millis() as u64 })),
        ]
        .into_iter()
        .collect();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(capabilities).connect(&format!("http://127.0.0.1:{port}")).await;
        Self { client: client.expect("a browser starts"), processes, profile }
    }

    /// A command of chromium's own.
    pub(super) async fn devtools(&self, command: &'static str, params: Value) -> Value {
        self.client.issue_cmd(Devtools { command, params }).await.expect("the browser obeys")
    }

    pub(super) async fn go(&self, url: &str) {
        self.client.goto(url).await.expect("the page opens");
    }

    /// Opens a link that logs in, and presses its button.
    pub(super) async fn log_in(&self, link: &str) {
        self.go(link).await;
        self.press("button.go").await;
        self.shows("header nav").await;
    }

    /// Waits for an element; also for one of the page that a button leads to.
    pub(super) async fn shows(&self, css: &str) -> Element {
        let mut failed = None;
        let finding = async {
            loop {
                match self.client.wait().at_most(PATIENCE).for_element(Locator::Css(css)).await {
                    Ok(element) => return element,
                    // The page has just made way for another one.
                    Err(reason) => failed = Some(reason),
                }
            }
        };
        match tokio::time::timeout(PATIENCE, finding).await {
            Ok(element) => element,
            Err(_) => panic!("no {css} ({failed:?}); the page says {}", self.text().await),
        }
    }

    /// Whether the page that is shown has an element.
    pub(super) async fn has(&self, css: &str) -> bool {
        !self.client.find_all(Locator::Css(css)).await.expect("a page").is_empty()
    }

    /// Presses the button or follows the link that the selector names.
    pub(super) async fn press(&self, css: &str) {
        loop {
            match self.shows(css).await.click().await {
                Ok(()) => return,
                // A change has just taken its place.
                Err(reason) if reason.is_stale_element_reference() => {}
                Err(reason) => panic!("{css} cannot be pressed: {reason}"),
            }
        }
    }

    /// Types into a field.
    pub(super) async fn types(&self, css: &str, text: &str) {
        self.shows(css).await.send_keys(text).await.expect("a field takes words");
    }

    /// Presses keys, wherever the focus is.
    pub(super) async fn keys(&self, keys: &str) {
        let focused = self.client.active_element().await.expect("something has the focus");
        focused.send_keys(keys).await.expect("it takes keys");
    }

    /// Presses the Tab key until the focus is on an element.
    pub(super) async fn tab_to(&self, css: &str) {
        let focused = "return document.activeElement.matches(arguments[0])";
        for _ in 0..60 {
            self.keys("\u{e004}").await;
            let there = self.client.execute(focused, vec![json!(css)]).await.expect("a script runs");
            if there == true {
                return;
            }
        }
        panic!("no way to {css} by the Tab key");
    }

    pub(super) async fn script(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.expect("the script runs")
    }

    /// Waits until a condition, in JavaScript, holds; also on the page that a button leads to.
    pub(super) async fn until(&self, condition: &str) {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             const holds = () => {{ try {{ return Boolean({condition}); }} catch {{ return false; }} }};
             if (holds()) {{ done(true); return; }}
             const observer = new MutationObserver(() => {{
                 if (holds()) {{ observer.disconnect(); done(true); }}
             }});
             observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});"
        );
        let mut failed = None;
        let waiting = async {
            // A script ends with an error when another page takes the place of its own.
            while let Err(reason) = self.client.execute_async(&script, Vec::new()).await {
                failed = Some(reason);
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("{condition} never held ({failed:?}); the page says {}", self.text().await);
        }
    }

    /// Waits until the page says something, without a reload.
    pub(super) async fn until_it_says(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text))).await;
    }

    /// Waits until the page says something, by the driver alone: scripts may be off.
    pub(super) async fn says(&self, text: &str) {
        let reading = async { while !self.text().await.contains(text) {} };
        if tokio::time::timeout(PATIENCE, reading).await.is_err() {
            panic!("the page does not say {text:?}: {}", self.text().await);
        }
    }

    /// Text of the page.
    pub(super) async fn text(&self) -> String {
        loop {
            match self.shown_text().await {
                Ok(text) => return text,
                // The page that a button led to has just taken its place.
                Err(reason) if reason.is_stale_element_reference() => {}
                Err(reason) => panic!("the page cannot be read: {reason}"),
            }
        }
    }

    async fn shown_text(&self) -> Result<String, CmdError> {
        self.client.wait().at_most(PATIENCE).for_element(Locator::Css("body")).await?.text().await
    }

    /// Light or dark, as the system asks for it.
    pub(super) async fn colours(&self, scheme: &str) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": feature })).await;
    }

    /// A window of this size, that of a telephone among them.
    pub(super) async fn window(&self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    pub(super) async fn close(self) {
        self.client.close().await.expect("the browser ends");
    }
}

/// Whether a process of this profile lives.
fn lives(profile: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the processes").flatten();
    let profile = profile.to_str().expect("text").as_bytes();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|words| words.windows(profile.len()).any(|part| part == profile))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_is_gone_with_its_test() {
    let mut browser = Browser::open(Kind::default()).await;
    let profile = browser.profile.path().to_owned();
    assert!(lives(&profile), "it was started with its profile");
    // As the kernel does when the test is killed.
    browser.processes.alive = None;
    let ended = tokio::task::spawn_blocking(move || browser.processes.outer.wait());
    let ended = tokio::time::timeout(PATIENCE, ended).await.expect("it ends");
    assert!(ended.expect("no panic").is_ok() && !lives(&profile));
    let browser = Browser::open(Kind::default()).await;
    let profile = browser.profile.path().to_owned();
    drop(browser);
    assert!(!lives(&profile));
}
