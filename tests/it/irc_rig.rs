//! herder's side of an IRC network, for tests: the network's task with a real queue, and a ledger that can be read.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use herder::chat::irc::{self, Connector, Memory, Patience, Settings};
use herder::clock;
use herder::config::{IrcNetwork, Tls};
use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::link::{ChannelWanted, LinkReport, LinkState};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::speech::Inbound;
use herder::journal::{Confirmed, Settled};
use herder::l10n::Locale;
use herder::outbox::{Ledger, Markup, NetworkQueue, Noted, Renderer};
use herder::redact::Redactor;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest a test waits for something that must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Returns no alerts, for a ledger without older ones.
pub(crate) fn nothing_shelved<'a>() -> Noted<'a, Vec<Post>> {
    Box::pin(std::future::ready(Ok(Vec::new())))
}

/// The posts that were recorded as delivered.
#[derive(Debug, Default)]
pub(crate) struct Recorded(pub(crate) Mutex<Vec<Confirmed>>);

impl Ledger for Recorded {
    fn record(&self, settled: Vec<Settled>) -> Noted<'_> {
        let delivered = settled.into_iter().filter_map(|settled| match settled {
            Settled::Delivered(confirmed) => Some(confirmed),
            Settled::Collapsed(_) => None,
        });
        self.0.lock().expect("not poisoned").extend(delivered);
        Box::pin(std::future::ready(Ok(())))
    }

    fn alerts(&self, _: &NetworkName, _: PostId, _: usize) -> Noted<'_, Vec<Post>> {
        nothing_shelved()
    }
}

pub(crate) struct Rig {
    pub(crate) inbound: mpsc::Receiver<Inbound>,
    pub(crate) reports: mpsc::Receiver<LinkReport>,
    pub(crate) queue: Arc<NetworkQueue>,
    pub(crate) wanted: watch::Sender<Vec<ChannelWanted>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) task: JoinHandle<()>,
    posts: u64,
}

/// Returns a network with the usual channels, on a port of loopback.
pub(crate) fn network(port: u16) -> IrcNetwork {
    IrcNetwork {
        name: NetworkName::from("test"),
        server: "127.0.0.1".to_owned(),
        port,
        tls: Tls::Off,
        nick: "herder".to_owned(),
        server_password: None,
        sasl: None,
        nickserv_password: None,
        alerts_channel: "#alerts".to_owned(),
        work_channel: "#work".to_owned(),
        control_channel: "#control".to_owned(),
        bots: Vec::new(),
    }
}

pub(crate) fn settings(network: IrcNetwork) -> Settings {
    let is_operator =
        Arc::new(|author: &herder::core::speech::Author| author.account.as_deref() == Some("alice"));
    Settings {
        network,
        name: "herder".to_owned(),
        needs_account: Arc::new(|| true),
        is_operator,
        patience: Patience::default(),
        memory: Memory::default(),
        rooms: herder::tools::Rooms::default(),
        marks: irc::Marks::new(NetworkName::from("test")),
    }
}

pub(crate) fn agent(name: &str) -> Target {
    Target::Agent(AgentName::new(name).expect("a good name"))
}

impl Rig {
    pub(crate) fn start(settings: Settings, connector: Connector, agents: &[&str]) -> Self {
        let (inbound_tx, inbound) = mpsc::channel(256);
        let (reports_tx, reports) = mpsc::channel(256);
        let wanted: Vec<_> = agents
            .iter()
            .map(|name| ChannelWanted { target: agent(name), topic: None, network: None })
            .collect();
        let (wanted, wanted_rx) = watch::channel(wanted);
        let renderer = Renderer::new(
            Locale::load("en-US").expect("the source language"),
            Redactor::new(&[]),
            Markup::Irc,
        );
        let network = settings.network.name.clone();
        let queue = Arc::new(NetworkQueue::new(network, renderer, Arc::new(Recorded::default())));
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(irc::run(
            settings,
            inbound_tx,
            Arc::clone(&queue),
            wanted_rx,
            reports_tx,
            shutdown.clone(),
            connector,
        ));
        Self { inbound, reports, queue, wanted, shutdown, task, posts: 0 }
    }

    /// Owes `lines`, each as a stored post of its own.
    pub(crate) fn say(&mut self, to: &Target, lane: Lane, text: &str) {
        self.posts += 1;
        self.queue.push(Post {
            id: PostId(self.posts),
            network: self.queue.network().clone(),
            to: to.clone(),
            lane,
            at: clock::now(),
            body: Body::Lines(vec![text.to_owned()]),
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        });
    }

    /// Answers a command that changes nothing.
    pub(crate) fn answer(&self, to: &Target, text: &str) {
        self.queue.push(Post {
            id: PostId(0),
            network: self.queue.network().clone(),
            to: to.clone(),
            lane: Lane::Urgent,
            at: clock::now(),
            body: Body::Looked(vec![text.to_owned()]),
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        });
    }

    pub(crate) async fn report(&mut self) -> LinkState {
        let report = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
        report.expect("a report in time").expect("the task is there").state
    }

    pub(crate) async fn until_up(&mut self) {
        while !matches!(self.report().await, LinkState::Up { .. }) {}
    }

    pub(crate) async fn hear(&mut self) -> Inbound {
        let heard = tokio::time::timeout(PATIENCE, self.inbound.recv()).await;
        heard.expect("a line in time").expect("the task is there")
    }

    /// Waits until all pending posts are confirmed.
    pub(crate) async fn drained(&self) {
        tokio::time::timeout(PATIENCE, self.queue.drained()).await.expect("delivered in time");
    }

    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.expect("ends in time").expect("no panic");
    }
}
