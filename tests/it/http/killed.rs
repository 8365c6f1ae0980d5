//! herder is killed with -9 while somebody reads its stream of events and gives commands with keys: every event comes
//! once and in order, and every command is carried out once. `HERDER_STREAM_KILLS` sets how often (6); every third end
//! is in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::events::Told;
use crate::kill::{Running, outside_server};
use crate::stage::PATIENCE;

const TOKEN: &str = "a-token-that-is-long-enough";

fn configuration(dir: &Path, irc: u16, http: u16) -> String {
    format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {irc}\ntls = false\n\
         [http]\nlisten = \"127.0.0.1:{http}\"\n[[http.token]]\nname = \"test\"\nrole = \"admin\"\nsecret = {{ file = \"token\" }}\n\
         [[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = \"{}\"\naccount = \"test\"\n\
         command = [\"sh\", \"-c\", \"tail -n 1 >> runs; echo done\"]\n",
        dir.display()
    )
}

/// A port that is free now. herder is told it once and comes back to it.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

struct Field {
    dir: tempfile::TempDir,
    config: PathBuf,
    url: String,
    client: Client,
    /// Whether it is over.
    over: watch::Sender<bool>,
    /// The events that the stream has sent, in order.
    told: Mutex<Vec<Told>>,
    /// Their number.
    heard: watch::Sender<usize>,
    /// Answers to the commands, by idempotency key.
    answers: Mutex<BTreeMap<String, u16>>,
}

impl Field {
    fn request(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}/api/v1{path}", self.url)).bearer_auth(TOKEN)
    }

    /// Reads the stream, and connects again where it ended.
    async fn read(&self) {
        loop {
            self.read_once().await;
            // The port is closed while herder is down.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn read_once(&self) {
        let last = self.told.lock().expect("not poisoned").last().map_or(0, |told| told.id);
        let request = self.request("/events?after=0").header("accept", "text/event-stream");
        let request = request.header("last-event-id", last.to_string());
        let Ok(response) = request.send().await else { return };
        assert_eq!(response.status(), 200, "from {last}");
        let mut reader = super::events::Reader::of(response);
        while let Some(told) = reader.next().await {
            let mut all = self.told.lock().expect("not poisoned");
            all.push(told);
            self.heard.send_replace(all.len());
        }
    }

    /// Gives a command until it is answered, and once more after that.
    async fn command(&self, key: &str) -> (u16, Value) {
        let body = json!({ "command": "task add", "agent": "spark", "text": format!("task {key}") });
        let mut first = None;
        loop {
            let request = self.client.post(format!("{}/api/v1/commands", self.url)).bearer_auth(TOKEN);
            let request = request.header("idempotency-key", key).json(&body);
            if let Ok(response) = request.send().await {
                let status = response.status().as_u16();
                // The first one may be under way still.
                let is_answer = !response.headers().contains_key("retry-after");
                if let (true, Ok(answer)) = (is_answer, response.json::<Value>().await) {
                    assert!(status == 200 || status == 409, "{status} {answer}");
                    let answer = (status, answer);
                    if let Some(first) = first {
                        assert_eq!(answer, first, "{key} is answered as it was first");
                        return answer;
                    }
                    first = Some(answer);
                    continue;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn give(&self, giver: usize) {
        let (mut over, mut heard) = (self.over.subscribe(), self.heard.subscribe());
        for n in 0.. {
            let key = format!("{giver}-{n}");
            let (status, _) = self.command(&key).await;
            self.answers.lock().expect("not poisoned").insert(key, status);
            if *over.borrow_and_update() {
                return;
            }
            // As fast as things happen, and not much faster.
            let _ = tokio::time::timeout(Duration::from_millis(100), heard.changed()).await;
        }
    }

    /// Waits until so many events came.
    async fn hears(&self, wanted: usize) {
        let mut heard = self.heard.subscribe();
        let came = tokio::time::timeout(PATIENCE, heard.wait_for(|heard| *heard >= wanted)).await;
        came.unwrap_or_else(|_| panic!("no {wanted} events came")).expect("somebody reads");
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config, &[])
    }

    /// All events, by pages.
    async fn pages(&self) -> Vec<Value> {
        let (mut items, mut next) = (Vec::new(), String::new());
        loop {
            let request = self.request(&format!("/events?limit=500{next}"));
            let page: Value = request.send().await.expect("an answer").json().await.expect("a page");
            items.extend(page["items"].as_array().expect("items").iter().cloned());
            let Some(more) = page["next"].as_str() else { return items };
            next = format!("&next={more}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_kills_every_event_comes_once_and_every_command_is_done_once() {
    let kills: usize =
        std::env::var("HERDER_STREAM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    let dir = tempfile::tempdir().expect("a folder");
    let server = outside_server().await;
    let port = free_port();
    let config = dir.path().join("bot.toml");
    std::fs::write(&config, configuration(dir.path(), server.address().port(), port)).expect("written");
    std::fs::write(dir.path().join("token"), TOKEN).expect("written");
    let field = Arc::new(Field {
        config,
        url: format!("http://127.0.0.1:{port}"),
        client: Client::builder().no_proxy().build().expect("a client"),
        over: watch::Sender::new(false),
        told: Mutex::default(),
        heard: watch::Sender::new(0),
        answers: Mutex::default(),
        dir,
    });
    let (reading, giving) = (Arc::clone(&field), 0..3);
    let reading = tokio::spawn(async move { reading.read().await });
    let giving: Vec<_> = giving
        .map(|giver| {
            let field = Arc::clone(&field);
            tokio::spawn(async move { field.give(giver).await })
        })
        .collect();
    for kill in 0..kills {
        let mut running = field.start();
        // Some events later, at another place each time.
        let before = *field.heard.borrow();
        field.hears(before + 5 + kill * 13 % 17).await;
        if kill % 3 == 2 {
            let pid =
                i32::try_from(running.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
            running.wait();
        }
    }
    let running = field.start();
    field.over.send_replace(true);
    for giver in giving {
        giver.await.expect("every command is answered");
    }
    let pages = field.pages().await;
    field.hears(pages.len()).await;
    assert!(!reading.is_finished(), "the reader goes on");
    reading.abort();
    drop(running);
    let told = field.told.lock().expect("not poisoned").clone();
    let ids: Vec<u64> = told.iter().map(|told| told.id).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "every event once, in order");
    for (told, page) in told.iter().zip(&pages) {
        assert_eq!(&serde_json::from_str::<Value>(&told.data).expect("JSON"), page);
    }
    let queued = pages.iter().filter_map(|event| {
        event["entry"]["agent"]["work"]["text"]
            .as_str()
            .filter(|_| event["entry"]["agent"]["type"] == "queued")
    });
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for text in queued {
        *done.entry(text.to_owned()).or_default() += 1;
    }
    let answers = field.answers.lock().expect("not poisoned");
    assert!(answers.values().any(|status| *status == 200), "{answers:?}");
    for (key, status) in &*answers {
        let times = done.get(&format!("task {key}")).copied().unwrap_or(0);
        assert_eq!(times, usize::from(*status == 200), "{key} was answered {status}");
    }
}
