//! A small, real IRC server inside herder: for `herder demo`, for a herder without networks, and for tests.
//!
//! It listens on loopback only and requires a password, because other users of the machine reach loopback too. The
//! password's account is attached to every line (`account-tag`, WHOX, WHOIS), so that the bot authorises people here
//! exactly as on any network. herder itself joins through an in-memory stream ([`Server::connect_internal`]).
//!
//! Model: [`state::Ircd`] is a pure state machine, (state, one line) to messages; [`link`] holds the tasks around it.
//!
//! ```text
//!  TCP client ── connection task ──┐  Event                                 ┌─► queue ── connection task ── TCP client
//!  herder ────── connection task ──┴────────► server task (owns `Ircd`) ────┴─► queue ── connection task ── herder
//! ```
//!
//! Deliberately absent: links to other servers, TLS, SASL, services, channel modes and bans, server operators.
//! Everything that irssi and WeeChat need is present, see `tests/it/embedded_ircd.rs`.

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

/// Buffer size of an in-memory connection to the server, in bytes: some hundred lines, so that neither side usually
/// waits for the other.
const DUPLEX_BYTES: usize = 64 * 1024;

/// Settings of the embedded IRC server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port to listen on at 127.0.0.1; 0 for any.
    pub port: u16,
    /// Number of following ports that are tried if `port` is in use.
    pub more_ports: u16,
    /// The network's name, which clients get as `NETWORK=`.
    pub network: String,
    /// The bot's nick, which only the account `bot_account` may use.
    pub bot_nick: String,
    /// Name of the account with which the bot joins.
    pub bot_account: String,
    /// Accounts that may connect, with the digests of their passwords.
    pub accounts: Vec<(String, Password)>,
    /// Names of accounts that are no channel operators: they may not set topics or kick.
    pub onlookers: BTreeSet<String>,
    /// True if clients without a password may connect, without an account.
    pub guests: bool,
    /// Lines that a client is shown on connecting (message of the day).
    pub motd: Vec<String>,
    /// True to delay clients over TCP that send fast; false where a benchmark measures the other side.
    pub paced: bool,
}

impl Default for Options {
    /// Returns the default settings: any port, no accounts, no guests, and `herder` as the bot.
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

/// The reason why the embedded server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// None of the ports is free.
    #[error("cannot listen on 127.0.0.1, ports {first} to {last}: {source}")]
    Listen {
        /// The first port that the server tried.
        first: u16,
        /// The last port that the server tried.
        last: u16,
        /// The system's error for the last port.
        source: std::io::Error,
    },
}

/// The running embedded IRC server. Its drop ends it; [`Server::stop`] also waits until all clients were notified.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    events: mpsc::Sender<Event>,
    next: Arc<AtomicU64>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Starts the server: it listens and serves clients until it is stopped.
    ///
    /// # Errors
    /// None of the ports is free.
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
            // Message ids of an earlier run must not repeat; the start time distinguishes runs.
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

    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens an in-memory connection to the server, logged in to `account` without a password and without a limit on
    /// its rate. Must be called within the runtime.
    #[must_use]
    pub fn connect_internal(&self, account: &str) -> DuplexStream {
        self.connector().connect(account)
    }

    /// Returns a handle that opens in-memory connections to the server.
    #[must_use]
    pub fn connector(&self) -> InternalConnector {
        InternalConnector {
            events: self.events.clone(),
            next: Arc::clone(&self.next),
            tasks: self.tasks.clone(),
        }
    }

    /// Stops the server: notifies all clients, and waits until their connections are closed.
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

/// Opens in-memory connections to the embedded server, also to replace a lost one.
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
    /// Opens an in-memory connection to the server, logged in to `account`. Must be called within the runtime.
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
                let id = ClientId(next.fetch_add(1, Ordering::Relaxed));
                // Lines should be sent at once; without the option the client is accepted too.
                drop(stream.set_nodelay(true));
                tasks.spawn(link::connection(stream, id, None, paced, events.clone()));
            }
            // No file descriptors are left, or the peer is gone; the pause keeps the loop from spinning.
            Err(error) => {
                tracing::warn!(%error, "the embedded IRC server cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod state_tests;
