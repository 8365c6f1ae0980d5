//! Three real `nats-server` for tests, a cluster on this machine with the keys of one bot.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::Client;
use rustix::process::Signal;
use tokio::time::{sleep, timeout};

use super::client;
use super::folder::{self, Folder};
use super::log::{End, LogStream, monitor_port};
use super::test_server::{TestServer, World, free_port};

/// Time for the servers to agree on a leader. On a machine with much else to do, several elections fail.
const AGREED: Duration = Duration::from_secs(90);

/// Number of servers.
const SERVERS: usize = 3;

/// A server of a cluster.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) port: u16,
    conf: PathBuf,
    server: Option<TestServer>,
}

/// A cluster of three servers.
pub(super) struct Nodes {
    pub(super) world: World,
    pub(super) nodes: Vec<Node>,
}

impl Nodes {
    /// Starts three servers, which trust each other by the bot's CA.
    pub(super) fn start() -> Self {
        let mut ports: Vec<(u16, u16)> = Vec::new();
        while ports.len() < SERVERS {
            let pair = (free_port(), free_port());
            if pair.0 != pair.1 && ports.iter().all(|it| it.0 != pair.0 && it.1 != pair.1 && it.0 != pair.1) {
                ports.push(pair);
            }
        }
        let mut world = World::on(ports[0].0);
        let servers = ports.iter().map(|(port, _)| format!("tls://127.0.0.1:{port}")).collect();
        world.folder = world.folder.with_servers(servers);
        let routes: Vec<_> = ports.iter().map(|(_, port)| format!("\"tls://127.0.0.1:{port}\"")).collect();
        let text = fs::read_to_string(world.folder.conf()).unwrap();
        let path = world.folder.path().display().to_string();
        let (first, monitor) = (ports[0].0, monitor_port(ports[0].0));
        let nodes = ports.iter().enumerate().map(|(at, &(port, route))| {
            let name = format!("n{}", at + 1);
            let text = text
                .replace(&format!("{}-1", world.folder.name()), &name)
                .replace(&format!("port: {first}\n"), &format!("port: {port}\n"))
                .replace(&format!(":{monitor}\""), &format!(":{}\"", monitor_port(port)))
                .replace("/jetstream\"", &format!("/jetstream-{name}\""))
                .replace("/jwt\"", &format!("/jwt-{name}\""));
            let cluster = format!(
                r#"
cluster {{
  name: "{}"
  listen: "127.0.0.1:{route}"
  routes: [{}]
  tls {{
    cert_file: "{path}/server.pem"
    key_file: "{path}/server.key"
    ca_file: "{path}/ca.pem"
    timeout: 5
  }}
}}
"#,
                world.folder.name(),
                routes.join(", ")
            );
            let conf = world.data.path().join(format!("{name}.conf"));
            fs::write(&conf, text + &cluster).unwrap();
            let server = Some(TestServer::start_at(&conf, "127.0.0.1"));
            Node { name, port, conf, server }
        });
        let nodes = nodes.collect();
        Self { world, nodes }
    }

    /// Returns a connection of the bot, to the servers from this one on.
    pub(super) async fn bot(&self, first: usize) -> Client {
        let mut servers = self.world.folder.servers().to_vec();
        servers.rotate_left(first);
        let folder: Folder = folder::open(self.world.folder.path()).unwrap().with_servers(servers);
        client::connect(&client::bot_login(&folder), |_| {}).await.unwrap()
    }

    /// Opens the log when the servers have agreed.
    pub(super) async fn log(&self, first: usize) -> LogStream {
        let bot = self.bot(first).await;
        let open = async {
            loop {
                match LogStream::open(&bot, self.world.folder.name(), SERVERS).await {
                    Ok(log) => return log,
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        };
        match timeout(AGREED, open).await {
            Ok(log) => log,
            Err(_) => panic!("the servers do not agree:\n{}", self.logs()),
        }
    }

    /// Waits for a stream that is led and whole.
    pub(super) async fn whole(&self, log: &LogStream) -> End {
        let whole = async {
            loop {
                match log.end().await {
                    Ok(end) if end.leader.is_some() && end.current == SERVERS => return end,
                    _ => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        timeout(AGREED, whole).await.expect("the stream is not whole")
    }

    /// Returns what the servers have written.
    fn logs(&self) -> String {
        let logs = self.nodes.iter().map(|node| node.server.as_ref().map(TestServer::log));
        logs.map(Option::unwrap_or_default).collect::<Vec<_>>().join("\n---\n")
    }

    /// Returns the place of the server with this name.
    pub(super) fn place(&self, name: &str) -> usize {
        self.nodes.iter().position(|node| node.name == name).unwrap()
    }

    /// Kills a server.
    pub(super) fn kill(&mut self, at: usize) {
        self.nodes[at].server = None;
    }

    /// Starts a server that was killed.
    pub(super) fn restart(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.server = Some(TestServer::start_at(&node.conf, "127.0.0.1"));
    }

    /// Sends a signal to a server.
    pub(super) fn signal(&self, at: usize, signal: Signal) {
        self.nodes[at].server.as_ref().unwrap().signal(signal);
    }
}
