//! serenity's shard manager on a thread of its own.
//!
//! When that thread ends, all tasks of serenity end with it, whatever they wait for. After some closing codes serenity
//! polls a link that is gone without ever yielding: then nothing else runs on that thread, which [`Session::answers`]
//! notices and [`Session::ended`] tells at once, and only a message to the shard itself ([`Session::unstick`]) ends it.

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

/// How long Discord gets to take our leave.
const FAREWELL: Duration = Duration::from_millis(700);
/// How long the thread may be busy with one thing: READY of the largest guild takes a fraction of it.
const ANSWER: Duration = Duration::from_secs(5);

/// How late the thread's timers may be: serenity looks at its link twice a second, by timers that tokio wakes for twice.
/// What comes over the link is not late.
const TIMER_SLACK: Duration = Duration::from_millis(500);

/// How serenity's part in a session ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// With this reason; `None`: its thread died.
    GaveUp(Option<GatewayError>),
    /// Discord ended the link with this code, and serenity does not see that it is gone.
    Hangs(u16),
}

/// A running link.
pub(super) struct Session {
    manager: Arc<ShardManager>,
    runtime: Handle,
    stop: CancellationToken,
    /// `None` once it said so.
    ended: Option<oneshot::Receiver<Option<GatewayError>>>,
    /// Codes over which serenity hangs: few, since each ends the session.
    code: mpsc::UnboundedReceiver<u16>,
}

impl Session {
    /// Starts so many shards. Each takes the gateway's address from behind its lock before it connects; `turnstile` has it.
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
        // Whoever waits for the address cannot go on, so that its thread comes by here.
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
                // Whoever asked may be gone; then so is this thread at once.
                if made.send((Arc::clone(&manager), Handle::current())).is_err() {
                    return None;
                }
                run(&manager, ended, shards, stopped).await
            };
            let tell = move |overheard| match overheard {
                Overheard::Gap => listener.skipped(),
                // Whoever kept this session may have left it.
                Overheard::Ended(code) => drop(codes.send(code)),
            };
            let end = overheard::listening(tell, || runtime.block_on(link));
            runtime.shutdown_background();
            let _ = told.send(end);
        })?;
        let (manager, runtime) = making.await.map_err(io::Error::other)?;
        Ok(Self { manager, runtime, stop, ended: Some(ended), code })
    }

    /// Resolves when serenity gave up, or hangs over the end of a link.
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

    /// Whether the thread does anything but one thing.
    pub(super) async fn answers(&self) -> bool {
        tokio::time::timeout(ANSWER, self.runtime.spawn(async {})).await.is_ok()
    }

    /// What changes with every heartbeat that is answered.
    pub(super) async fn pulse(&self) -> Vec<Option<Duration>> {
        let runners = tokio::time::timeout(ANSWER, self.manager.runners.lock()).await;
        runners.map(|runners| runners.values().map(|runner| runner.latency).collect()).unwrap_or_default()
    }

    /// Ends shards whose link is gone: telling a presence to nobody fails, and a shard that cannot send ends.
    pub(super) async fn unstick(&self) {
        if let Ok(runners) = tokio::time::timeout(ANSWER, self.manager.runners.lock()).await {
            runners.values().for_each(|runner| runner.runner_tx.set_status(OnlineStatus::Online));
        }
    }

    /// Says goodbye and ends.
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
    // What herder has to know of the guild it keeps itself; a second copy would only cost memory.
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
