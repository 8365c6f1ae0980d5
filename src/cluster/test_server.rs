//! A real `nats-server` for tests, on a free port of this machine.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use async_nats::{Client, Event, Subscriber};
use jiff::Timestamp;
use nkeys::KeyPairType;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::client::{self, Login};
use super::folder::{self, FOLDER, Folder};
use super::invitation::Invitation;
use super::joining::{self, Answer, JoinError, Joined};
use super::keys::{self, Credentials, NewUser};
use super::log::monitor_port;
use super::permits::Permits;
use super::runner_folder::{self, RunnerFolder};
use crate::core::id::RunnerName;

/// Time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the path of `nats-server`.
pub(super) fn program() -> PathBuf {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-tools/nats/bin/nats-server");
    let found = Command::new(&program).arg("--version").stdout(Stdio::null()).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "{} is not there; scripts/test installs it",
        program.display()
    );
    program
}

/// Returns the real time, which servers compare the expiry of JWTs with.
#[expect(clippy::disallowed_methods, reason = "the server has no other clock")]
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// Waits for something, and fails the test if it takes too long.
pub(super) async fn soon<T>(it: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, it).await.expect("it takes too long")
}

/// A running server.
#[derive(Debug)]
pub(super) struct TestServer {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl TestServer {
    pub(super) fn start_at(conf: &Path, address: &str) -> Self {
        let mut command = Command::new(program());
        command.arg("-c").arg(conf).args(["-a", address]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (tell, told) = mpsc::channel();
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let is_ready = line.contains("Server is ready");
                written.lock().unwrap().push_str(&(line + "\n"));
                if is_ready {
                    _ = tell.send(());
                }
            }
        });
        if told.recv_timeout(PATIENCE).is_err() {
            panic!("nats-server does not start:\n{}", log.lock().unwrap());
        }
        Self { child, log }
    }

    /// Returns what it has written.
    pub(super) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

impl TestServer {
    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

/// Returns a free port whose monitoring port is free as well. Both are below those that the system gives to connections: no
/// other test takes one before the server does, or while it is restarted.
pub(super) fn free_port() -> u16 {
    loop {
        let mut random = [0; 2];
        getrandom::fill(&mut random).unwrap();
        let port = 10_000 + u16::from_be_bytes(random) % 18_000;
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free(port) && is_free(monitor_port(port)) {
            return port;
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A bot's folder, for a server on a free port.
pub(super) struct World {
    pub(super) data: tempfile::TempDir,
    pub(super) folder: Folder,
}

impl World {
    pub(super) fn new() -> Self {
        Self::on(free_port())
    }

    pub(super) fn on(port: u16) -> Self {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FOLDER);
        folder::init(&path, &["127.0.0.1".to_owned()], port, now()).unwrap();
        Self { folder: folder::open(&path).unwrap(), data }
    }

    pub(super) fn start(&self) -> TestServer {
        TestServer::start_at(&self.folder.conf(), "127.0.0.1")
    }

    pub(super) fn invite(&self, runner: &str) -> Invitation {
        Invitation::parse(&self.folder.invite(&RunnerName::new(runner).unwrap(), now()).unwrap()).unwrap()
    }

    /// Connects a user of the bot's account that may do everything.
    pub(super) async fn witness(&self) -> Client {
        let key = keys::draw(KeyPairType::User).unwrap();
        let all = vec![">".to_owned()];
        let user = NewUser {
            name: "witness",
            key: &key.public_key(),
            permits: &Permits::new(all.clone(), all),
            expires: None,
            tags: &[],
        };
        let jwt = keys::user_jwt(self.folder.account(), &user, now()).unwrap();
        let credentials = Credentials { jwt, key };
        let login = Login {
            credentials: &credentials,
            inbox: "_INBOX.witness".to_owned(),
            patient: false,
            ..client::bot_login(&self.folder)
        };
        client::connect(&login, |_| {}).await.unwrap()
    }

    /// Joins with an invitation while the bot answers one request.
    pub(super) async fn join(
        &self,
        invitation: &Invitation,
        used: &str,
    ) -> (Result<Joined, JoinError>, Answer) {
        let bot = client::connect(&client::bot_login(&self.folder), |_| {}).await.unwrap();
        let mut requests = soon(subscribed(&bot, self.folder.subjects().join(), "bot")).await;
        let answers = async {
            use futures_util::StreamExt as _;
            let request = requests.next().await.unwrap();
            let answer = joining::answer(&self.folder, &request.payload, now(), |key| key == used);
            bot.publish(request.reply.unwrap(), answer.bytes.clone().into()).await.unwrap();
            bot.flush().await.unwrap();
            answer
        };
        soon(async { tokio::join!(joining::join(invitation, joining::new_key().unwrap()), answers) }).await
    }

    /// Admits a runner of this name, and returns its folder.
    pub(super) async fn runner(&self, name: &str) -> RunnerFolder {
        let (joined, _) = self.join(&self.invite(name), "").await;
        let path = self.runner_path(name);
        runner_folder::store(&path, &joined.unwrap()).unwrap();
        runner_folder::open_runner(&path).unwrap()
    }

    pub(super) fn runner_path(&self, name: &str) -> PathBuf {
        self.data.path().join(name).join(FOLDER)
    }
}

/// Subscribes, and waits until the server has it: a message to an inbox of this owner comes back.
pub(super) async fn subscribed(client: &Client, subject: String, owner: &str) -> Subscriber {
    use futures_util::StreamExt as _;
    let subscriber = client.subscribe(subject).await.unwrap();
    let echo = format!("_INBOX.{owner}.{}", client.new_inbox().len());
    let mut back = client.subscribe(echo.clone()).await.unwrap();
    client.publish(echo, "".into()).await.unwrap();
    back.next().await.unwrap();
    subscriber
}

/// A connection with its events.
pub(super) struct Watched {
    pub(super) client: Client,
    pub(super) events: UnboundedReceiver<Event>,
}

impl Watched {
    pub(super) async fn connect(login: &Login<'_>) -> Self {
        let (tell, events) = unbounded_channel();
        let client = client::connect(login, move |event| _ = tell.send(event.clone())).await.unwrap();
        let mut watched = Self { client, events };
        watched.until(|event| matches!(event, Event::Connected)).await;
        watched
    }

    /// Waits for an event.
    pub(super) async fn until(&mut self, is_it: impl Fn(&Event) -> bool) {
        soon(async { while !is_it(&self.events.recv().await.unwrap()) {} }).await;
    }
}
