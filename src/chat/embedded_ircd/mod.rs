//! A small, real IRC server inside herder: for `herder demo`, and for tests.
//!
//! It listens on loopback alone and asks for a password, because other users of the machine reach loopback too; the
//! password's owner is the account that every line carries (`account-tag`, WHOX, WHOIS), so that the bot authorises here
//! exactly as it does on any network. herder itself joins through an in-memory stream ([`Server::connect_internal`]).
//!
//! Model: [`state::Ircd`] is a pure state machine, (state, one line) to messages; [`link`] holds the tasks around it.
//!
//! ```text
//!  TCP client ── connection task ──┐  Event                                 ┌─► queue ── connection task ── TCP client
//!  herder ────── connection task ──┴────────► server task (owns `Ircd`) ────┴─► queue ── connection task ── herder
//! ```
//!
//! Absent on purpose: links to other servers, TLS, SASL, services, channel modes and bans, server operators. What a client
//! must have to feel at home is there: see `tests/it/embedded_ircd.rs`, irssi and weechat.

mod channel;
mod client;
pub mod home;
mod link;
mod numeric;
mod password;
mod past;
mod query;
mod rooms;
mod session;
pub mod state;
mod talk;
mod wire;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use client::ClientId;
pub use password::Password;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock;
use link::Event;

/// What an in-memory stream holds: some hundred lines, so that neither side waits for the other in ordinary talk.
const DUPLEX_BYTES: usize = 64 * 1024;

/// What the server is told at start.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port to listen on at 127.0.0.1; 0: any.
    pub port: u16,
    /// How many of the following ports are tried when it is taken.
    pub more_ports: u16,
    /// `NETWORK=`.
    pub network: String,
    /// The bot's nick, which nobody but the internal account of [`Options::bot_account`] may use.
    pub bot_nick: String,
    /// The account the bot joins as.
    pub bot_account: String,
    /// Accounts and their passwords.
    pub accounts: Vec<(String, Password)>,
    /// Accounts that are no operators of the channels: they may not set topics or throw anybody out.
    pub onlookers: BTreeSet<String>,
    /// Whether somebody without a password may come in, without an account.
    pub guests: bool,
    /// Lines shown on joining.
    pub motd: Vec<String>,
    /// Whether somebody from outside who writes fast is held back. Not when it is the other side that is measured.
    pub paced: bool,
}

impl Default for Options {
    /// Any port, no accounts, no guests; the bot is `herder`.
    fn default() -> Self {
        Self {
            port: 0,
            more_ports: 0,
            network: "herder".to_owned(),
            bot_nick: "herder".to_owned(),
            bot_account: "herder".to_owned(),
            accounts: Vec::new(),
            onlookers: BTreeSet::new(),
            guests: false,
            motd: Vec::new(),
            paced: true,
        }
    }
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No port could be had.
    #[error("cannot listen on 127.0.0.1, ports {first} to {last}: {source}")]
    Listen {
        /// The first port tried.
        first: u16,
        /// The last one.
        last: u16,
        /// What the system said of the last one.
        source: std::io::Error,
    },
}

/// A running server. Dropping it ends it; [`Server::stop`] also waits until everybody was told.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    events: mpsc::Sender<Event>,
    next: Arc<AtomicU64>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Listens and serves until it is stopped.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let listener = listen(options.port, options.more_ports).await?;
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            first: options.port,
            last: options.port,
            source,
        })?;
        let now = clock::now();
        let settings = state::Settings {
            name: "irc.herder.local".to_owned(),
            network: options.network,
            reserved: (options.bot_nick, options.bot_account),
            accounts: options.accounts,
            onlookers: options.onlookers,
            guests: options.guests,
            motd: options.motd,
            // Ids of an earlier run on the same history must not come again; the clock at start tells runs apart.
            instance: format!("{:x}-", now.as_millis()),
        };
        let (events, receiver) = mpsc::channel(link::EVENTS_CAPACITY);
        let server = Self {
            address,
            events,
            next: Arc::new(AtomicU64::new(1)),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let ircd = state::Ircd::new(settings, now);
        server.tasks.spawn(link::serve(ircd, receiver, server.stop.clone()));
        server.tasks.spawn(accept(
            listener,
            options.paced,
            server.events.clone(),
            Arc::clone(&server.next),
            server.stop.clone(),
            server.tasks.clone(),
        ));
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A connection from inside, known by `account`: no password, no pacing. Must be called within the runtime.
    #[must_use]
    pub fn connect_internal(&self, account: &str) -> DuplexStream {
        self.connector().connect(account)
    }

    /// Something that opens internal connections and can be handed on.
    #[must_use]
    pub fn connector(&self) -> InternalConnector {
        InternalConnector {
            events: self.events.clone(),
            next: Arc::clone(&self.next),
            tasks: self.tasks.clone(),
        }
    }

    /// Tells everybody that it ends, and resolves when their connections are closed.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Opens connections from inside herder, as often as a lost one has to be replaced.
#[derive(Clone)]
pub struct InternalConnector {
    events: mpsc::Sender<Event>,
    next: Arc<AtomicU64>,
    tasks: TaskTracker,
}

impl std::fmt::Debug for InternalConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InternalConnector").finish_non_exhaustive()
    }
}

impl InternalConnector {
    /// A stream that is a client of the server, known by `account`. Must be called within the runtime.
    #[must_use]
    pub fn connect(&self, account: &str) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(DUPLEX_BYTES);
        let id = ClientId(self.next.fetch_add(1, Ordering::Relaxed));
        self.tasks.spawn(link::connection(theirs, id, Some(account.to_owned()), false, self.events.clone()));
        ours
    }
}

async fn listen(port: u16, more: u16) -> Result<TcpListener, StartError> {
    let last = port.saturating_add(more);
    let mut tried = port;
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, tried)).await {
            Ok(listener) => return Ok(listener),
            Err(_) if tried < last => tried += 1,
            Err(source) => return Err(StartError::Listen { first: port, last, source }),
        }
    }
}

async fn accept(
    listener: TcpListener,
    paced: bool,
    events: mpsc::Sender<Event>,
    next: Arc<AtomicU64>,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                // Answers are short lines; each should leave at once. A socket that cannot be told so works all the same.
                let _ = stream.set_nodelay(true);
                let id = ClientId(next.fetch_add(1, Ordering::Relaxed));
                // Lines are short, and somebody waits for each; that this cannot be had is no reason to turn them away.
                drop(stream.set_nodelay(true));
                tasks.spawn(link::connection(stream, id, None, paced, events.clone()));
            }
            // Out of file descriptors, or a peer that left at once: others must not spin with us.
            Err(error) => {
                tracing::warn!(%error, "the embedded IRC server cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod state_tests;
