//! A real browser, by its own driver: Debian's chromium, started for one test and gone with it.

use std::process::Stdio;
use std::time::Duration;

use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use url::{ParseError, Url};

use crate::stage::PATIENCE;

/// Options of a browser.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kind {
    pub(super) no_scripts: bool,
    pub(super) language: Option<&'static str>,
}

/// A browser with one window.
pub(super) struct Browser {
    pub(super) client: Client,
    /// Ends the browser when it is dropped.
    _driver: Child,
    _profile: tempfile::TempDir,
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
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver is installed: scripts/test does that");
        let mut lines = BufReader::new(driver.stdout.take().expect("piped")).lines();
        let port = loop {
            let line = lines.next_line().await.expect("readable").expect("chromedriver says its port");
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
        Self { client: client.expect("a browser starts"), _driver: driver, _profile: profile }
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
        let wait = self.client.wait().at_most(PATIENCE);
        wait.for_element(Locator::Css("header nav")).await.expect("the fleet's page");
    }

    /// Presses the button or follows the link that the selector names.
    pub(super) async fn press(&self, css: &str) {
        let element = self.client.find(Locator::Css(css)).await;
        let element = element.unwrap_or_else(|reason| panic!("no {css}: {reason}"));
        element.click().await.unwrap_or_else(|reason| panic!("{css} cannot be pressed: {reason}"));
    }

    /// Types into a field.
    pub(super) async fn types(&self, css: &str, text: &str) {
        let field = self.client.find(Locator::Css(css)).await;
        let field = field.unwrap_or_else(|reason| panic!("no {css}: {reason}"));
        field.send_keys(text).await.expect("a field takes words");
    }

    /// Presses keys, wherever the focus is.
    pub(super) async fn keys(&self, keys: &str) {
        let focused = self.client.active_element().await.expect("something has the focus");
        focused.send_keys(keys).await.expect("it takes keys");
    }

    pub(super) async fn script(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.expect("the script runs")
    }

    /// Waits until a condition, in JavaScript, holds on this very page: a reload ends the wait with an error.
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
        let waiting = self.client.execute_async(&script, Vec::new());
        match tokio::time::timeout(PATIENCE + Duration::from_secs(5), waiting).await {
            Ok(Ok(_)) => {}
            Ok(Err(reason)) => {
                panic!("{condition} never held: {reason}; the page says {}", self.text().await)
            }
            Err(_) => panic!("{condition} never held"),
        }
    }

    /// Waits until the page says something, without a reload.
    pub(super) async fn until_it_says(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text))).await;
    }

    /// Text of the page.
    pub(super) async fn text(&self) -> String {
        loop {
            let body = self.client.find(Locator::Css("body")).await.expect("a page");
            match body.text().await {
                Ok(text) => return text,
                // The page that a button led to has just taken its place.
                Err(reason) if reason.to_string().contains("stale element") => {}
                Err(reason) => panic!("the page cannot be read: {reason}"),
            }
        }
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
