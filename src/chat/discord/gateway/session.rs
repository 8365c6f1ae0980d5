//! serenity's shard manager on a thread of its own.
//!
//! When that thread ends, all tasks of serenity end with it, whatever they wait for. After some close codes serenity
//! polls a closed link without ever yielding, and nothing else runs on that thread. [`Session::answers`] detects
//! this, [`Session::ended`] reports it at once, and only a message to the shard itself ([`Session::unstick`]) ends
//! it.

use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use serenity::all::{
    Cache, GatewayError, GatewayIntents, Http, OnlineStatus, RawEventHandler, ShardManager,
    ShardManagerOptions,
};
use serenity::cache::Settings as CacheSettings;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, RwLock, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::super::rest::Rest;
use super::events::Fanout;
use super::overheard::{self, Overheard};
use super::turnstile::Turnstile;

/// Maximum time for closing the link properly.
const FAREWELL: Duration = Duration::from_millis(700);
/// Maximum time for which serenity's thread may be busy with one task before it counts as hanging: READY of the largest
/// guild takes a fraction of it.
const ANSWER: Duration = Duration::from_secs(5);

/// Maximum delay of the timers on serenity's thread. serenity checks its link twice a second, and the slack lets the
/// process sleep longer; data from the link is not delayed.
const TIMER_SLACK: Duration = Duration::from_millis(500);

/// The reason why serenity's part of a session ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// serenity gave up with this error; `None` if its thread died.
    GaveUp(Option<GatewayError>),
    /// Discord closed the link with this code, which serenity does not notice, so that it hangs.
    Hangs(u16),
}

/// A running session with the gateway, on serenity's own thread.
pub(super) struct Session {
    manager: Arc<ShardManager>,
    runtime: Handle,
    stop: CancellationToken,
    /// Receives the end of serenity's thread; `None` once it was reported.
    ended: Option<oneshot::Receiver<Option<GatewayError>>>,
    /// Receives close codes after which serenity hangs; each ends the session.
    code: mpsc::UnboundedReceiver<u16>,
}

impl Session {
    /// Starts serenity with this number of shards on a thread of its own. Before a shard connects it locks the
    /// gateway's address, which `turnstile` permits.
    pub(super) async fn start(
        rest: &Rest,
        shards: u32,
        (address, turnstile): (Arc<Mutex<String>>, Turnstile),
        intents: GatewayIntents,
        fanout: Arc<Fanout>,
    ) -> io::Result<Self> {
        let stop = CancellationToken::new();
        let listener = Arc::clone(&fanout);
        let options = options(rest.serenity(), address, intents, fanout);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        // A task that waits for the address blocks, so that its thread parks and calls this.
        let runtime = runtime.enable_all().on_thread_park(move || turnstile.look()).build()?;
        let ((told, ended), (made, making)) = (oneshot::channel(), oneshot::channel());
        let (codes, code) = mpsc::unbounded_channel();
        let stopped = stop.clone();
        std::thread::Builder::new().name("discord-gateway".to_owned()).spawn(move || {
            let slack = u64::try_from(TIMER_SLACK.as_nanos()).ok().and_then(NonZeroU64::new);
            if let Err(reason) = rustix::thread::set_current_timer_slack(slack) {
                debug!(%reason, "the link's thread wakes more often than it has to");
            }
            let link = async {
                let (manager, ended) = ShardManager::new(options);
                // The caller may be gone; then this thread ends at once.
                if made.send((Arc::clone(&manager), Handle::current())).is_err() {
                    return None;
                }
                run(&manager, ended, shards, stopped).await
            };
            let tell = move |overheard| match overheard {
                Overheard::Gap => listener.skipped(),
                // The receiver may be gone.
                Overheard::Ended(code) => drop(codes.send(code)),
            };
            let end = overheard::listening(tell, || runtime.block_on(link));
            runtime.shutdown_background();
            let _ = told.send(end);
        })?;
        let (manager, runtime) = making.await.map_err(io::Error::other)?;
        Ok(Self { manager, runtime, stop, ended: Some(ended), code })
    }

    /// Waits until serenity gives up or hangs after a closed link.
    pub(super) async fn ended(&mut self) -> Ended {
        let ended = async {
            match &mut self.ended {
                Some(ended) => ended.await.ok().flatten(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(code) = self.code.recv() => Ended::Hangs(code),
            ended = ended => {
                self.ended = None;
                Ended::GaveUp(ended)
            }
        }
    }

    /// Returns true if serenity's thread runs a new task within [`ANSWER`], so that it does not hang.
    pub(super) async fn answers(&self) -> bool {
        tokio::time::timeout(ANSWER, self.runtime.spawn(async {})).await.is_ok()
    }

    /// Returns the latency of each shard that serenity lists; it changes with each answered heartbeat.
    pub(super) async fn pulse(&self) -> Vec<Option<Duration>> {
        let runners = tokio::time::timeout(ANSWER, self.manager.runners.lock()).await;
        runners.map(|runners| runners.values().map(|runner| runner.latency).collect()).unwrap_or_default()
    }

    /// Makes shards end whose link is closed, by setting the presence: a shard that cannot send ends.
    pub(super) async fn unstick(&self) {
        if let Ok(runners) = tokio::time::timeout(ANSWER, self.manager.runners.lock()).await {
            runners.values().for_each(|runner| runner.runner_tx.set_status(OnlineStatus::Online));
        }
    }

    /// Closes the link and ends serenity's thread.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        let Some(ended) = self.ended.take() else { return };
        match tokio::time::timeout(FAREWELL * 2, ended).await {
            Ok(_) => debug!("the link's thread ended"),
            Err(_) => warn!("the link's thread does not end; it is left to itself"),
        }
    }
}

async fn run(
    manager: &ShardManager,
    mut ended: impl Stream<Item = Result<(), GatewayError>> + Unpin,
    shards: u32,
    stop: CancellationToken,
) -> Option<GatewayError> {
    manager.set_shards(0, shards, shards).await;
    if let Err(reason) = manager.initialize() {
        warn!(%reason, "the shards could not be started");
    }
    tokio::select! {
        end = ended.next() => end.and_then(Result::err),
        () = stop.cancelled() => {
            if tokio::time::timeout(FAREWELL, manager.shutdown_all()).await.is_err() {
                debug!("Discord does not take our leave");
            }
            None
        }
    }
}

fn options(
    http: Arc<Http>,
    ws_url: Arc<Mutex<String>>,
    intents: GatewayIntents,
    handler: Arc<dyn RawEventHandler>,
) -> ShardManagerOptions {
    // herder keeps the guild's state itself; a second copy would only use memory.
    let mut settings = CacheSettings::default();
    (settings.cache_guilds, settings.cache_channels, settings.cache_users) = (false, false, false);
    ShardManagerOptions {
        data: Arc::new(RwLock::default()),
        event_handlers: Vec::new(),
        raw_event_handlers: vec![handler],
        framework: Arc::new(OnceLock::new()),
        shard_index: 0,
        shard_init: 0,
        shard_total: 0,
        ws_url,
        cache: Arc::new(Cache::new_with_settings(settings)),
        http,
        intents,
        presence: None,
    }
}
