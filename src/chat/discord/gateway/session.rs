//! serenity's shard manager on a thread of its own.
//!
//! When that thread ends, all tasks of serenity end with it, whatever they wait for.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use serenity::all::{
    BotGateway, Cache, GatewayError, GatewayIntents, Http, RawEventHandler, ShardManager, ShardManagerOptions,
};
use serenity::cache::Settings as CacheSettings;
use tokio::sync::{Mutex, RwLock, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::super::rest::Rest;
use super::events::Fanout;

/// How long Discord gets to take our leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// A running link.
pub(super) struct Session {
    stop: CancellationToken,
    ended: oneshot::Receiver<Option<GatewayError>>,
}

impl Session {
    /// Starts as many shards as Discord recommends.
    pub(super) async fn start(
        rest: &Rest,
        gateway: &BotGateway,
        intents: GatewayIntents,
        fanout: Fanout,
    ) -> io::Result<Self> {
        let (stop, shards) = (CancellationToken::new(), gateway.shards.max(1));
        let (told, ended) = oneshot::channel();
        let options = options(rest.serenity(), gateway.url.clone(), intents, Arc::new(fanout));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stopped = stop.clone();
        std::thread::Builder::new().name("discord-gateway".to_owned()).spawn(move || {
            let end = runtime.block_on(run(options, shards, stopped));
            drop(runtime);
            // Whoever asked may be gone.
            let _ = told.send(end);
        })?;
        Ok(Self { stop, ended })
    }

    /// Resolves when Discord ended the session for good, with the reason.
    pub(super) async fn ended(&mut self) -> String {
        match (&mut self.ended).await {
            Ok(Some(error)) => error.to_string(),
            Ok(None) => "it was told to".to_owned(),
            Err(_) => "its thread died".to_owned(),
        }
    }

    /// Says goodbye and ends.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        if !self.ended.is_terminated() && tokio::time::timeout(FAREWELL * 2, &mut self.ended).await.is_err() {
            warn!("the link's thread does not end; it is left to itself");
        }
    }
}

async fn run(options: ShardManagerOptions, shards: u32, stop: CancellationToken) -> Option<GatewayError> {
    let (manager, mut ended) = ShardManager::new(options);
    manager.set_shards(0, shards, shards).await;
    if let Err(reason) = manager.initialize() {
        warn!(%reason, "the shards could not be started");
    }
    tokio::select! {
        end = ended.next() => end.and_then(Result::err),
        () = stop.cancelled() => {
            if tokio::time::timeout(FAREWELL, manager.shutdown_all()).await.is_err() {
                warn!("Discord does not take our leave");
            }
            None
        }
    }
}

fn options(
    http: Arc<Http>,
    url: String,
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
        ws_url: Arc::new(Mutex::new(url)),
        cache: Arc::new(Cache::new_with_settings(settings)),
        http,
        intents,
        presence: None,
    }
}
