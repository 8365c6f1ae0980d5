//! The bot's end: it answers the beats of runners with grants, and opens connections to those that have beaten.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::{HeaderMap, Message, SubscribeError, Subscriber};
use futures_util::StreamExt as _;
use nkeys::KeyPair;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info};

use super::bridge::{Outlet, Ports, Routed};
use super::frame::{ConnectionId, Numbered, SIGNATURE, grant_text, is_incarnation, sign};
use super::{BEAT_VERSION, Beat, Grant, Pace, Rejected, Uplink, beat_subject, from_subject, to_subject};

/// Reason why a hub cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The client is closed, or the name of the bot cannot be part of a subject.
    #[error("the bot cannot hear its runners by NATS: {0}")]
    Subscribe(#[from] SubscribeError),
}

/// State of a runner, as its last beat told it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The random id of the runner's run.
    pub incarnation: String,
    /// The id of its machine.
    pub machine: String,
    /// The id of the machine's boot.
    pub boot: String,
    /// Number of its sessions.
    pub sessions: usize,
    /// Load of the machine.
    pub load: Option<f64>,
    /// Free space of its data folder's disk, in bytes.
    pub free_disk: Option<u64>,
    /// Time of the last beat.
    pub at: Instant,
    /// True while connections can be opened: it has beaten lately, and the link was not lost since.
    pub here: bool,
}

/// The bot's end of the connections to all runners. Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    uplink: Uplink,
    bot: String,
    epoch: u64,
    key: Arc<KeyPair>,
    pace: Pace,
    /// Admitted runners, with the last beat of each.
    roster: Mutex<BTreeMap<String, Option<Seen>>>,
    changed: watch::Sender<()>,
    /// Number of the next connection.
    number: AtomicU64,
    ports: Ports,
    rejected: Rejected,
    tasks: TaskTracker,
    closed: CancellationToken,
}

/// The way to one runner. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Line {
    hub: Hub,
    runner: String,
}

impl Hub {
    /// Begins to hear the beats of runners, all of which are refused until they are admitted. `epoch` is higher than that
    /// of every bot before, and `key` holds the seed of the key that runners have pinned.
    ///
    /// # Errors
    /// The client is closed, or `bot` cannot be part of a subject.
    pub async fn start(
        uplink: Uplink,
        bot: String,
        epoch: u64,
        key: KeyPair,
        pace: Pace,
    ) -> Result<Self, HubError> {
        let beats = uplink.client.subscribe(beat_subject(&bot, "*")).await?;
        let messages = uplink.client.subscribe(from_subject(&bot, "*", "*")).await?;
        let tasks = TaskTracker::new();
        let hub = Self(Arc::new(Inner {
            uplink,
            bot,
            epoch,
            key: Arc::new(key),
            pace,
            roster: Mutex::default(),
            changed: watch::Sender::new(()),
            number: AtomicU64::new(1),
            ports: Ports::new(tasks.clone(), pace),
            rejected: Rejected::default(),
            tasks,
            closed: CancellationToken::new(),
        }));
        let inner = Arc::clone(&hub.0);
        hub.0.tasks.spawn(async move { inner.closed.run_until_cancelled(inner.hear_beats(beats)).await });
        let inner = Arc::clone(&hub.0);
        hub.0.tasks.spawn(async move { inner.closed.run_until_cancelled(inner.hear(messages)).await });
        Ok(hub)
    }

    /// Admits a runner: from now on its beats are granted. The name is one part of a subject: letters, digits, `-`, `_`.
    pub fn admit(&self, runner: &str) {
        self.0.roster().entry(runner.to_owned()).or_default();
    }

    /// Returns the way to a runner, which leads nowhere until the runner is admitted and has beaten.
    #[must_use]
    pub fn line(&self, runner: &str) -> Line {
        Line { hub: self.clone(), runner: runner.to_owned() }
    }

    /// Ends the connections to a runner and refuses its beats.
    pub fn dismiss(&self, runner: &str) {
        self.0.roster().remove(runner);
        self.0.ports.cut(&from_subject(&self.0.bot, runner, ""));
        self.0.changed.send_replace(());
    }

    /// Returns the state of a runner; `None` if it is not admitted or was never heard.
    #[must_use]
    pub fn seen(&self, runner: &str) -> Option<Seen> {
        self.0.roster().get(runner).cloned().flatten()
    }

    /// Returns a watch that changes when a runner appears, has another incarnation, is away, is back or is dismissed.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Returns the number of messages that were dropped because they are none of this protocol.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.0.rejected.total()
    }

    /// Ends all connections and answers no more beats.
    pub async fn close(&self) {
        self.0.closed.cancel();
        self.0.ports.cut("");
        self.0.changed.send_replace(());
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("bot", &self.0.bot).field("epoch", &self.0.epoch).finish_non_exhaustive()
    }
}

impl Line {
    /// Opens a connection to the runner, once it has beaten. One that loses anything ends.
    ///
    /// # Errors
    /// The hub is closed.
    pub async fn open(&self) -> io::Result<DuplexStream> {
        let inner = &self.hub.0;
        let mut changed = inner.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if inner.closed.is_cancelled() {
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the hub is closed"));
            }
            if let Some(stream) = inner.open(&self.runner) {
                return Ok(stream);
            }
            // The hub keeps the sender.
            let _ = changed.changed().await;
        }
    }

    /// Returns the name of the runner.
    #[must_use]
    pub fn runner(&self) -> &str {
        &self.runner
    }
}

impl Inner {
    fn roster(&self) -> MutexGuard<'_, BTreeMap<String, Option<Seen>>> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection to a runner that is here.
    fn open(&self, runner: &str) -> Option<DuplexStream> {
        let roster = self.roster();
        let incarnation = &roster.get(runner)?.as_ref().filter(|seen| seen.here)?.incarnation;
        let outlet = self.outlet(runner, incarnation);
        let from = from_subject(&self.bot, runner, incarnation);
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let stream = self.ports.open(ConnectionId { epoch: self.epoch, number }, from, outlet);
        drop(roster);
        debug!(runner, number, "a connection to a runner is opened");
        Some(stream)
    }

    fn outlet(&self, runner: &str, incarnation: &str) -> Outlet {
        let subject = to_subject(&self.bot, runner, incarnation);
        Outlet::new(self.uplink.clone(), subject, Some(Arc::clone(&self.key)))
    }

    /// Passes messages on until the client is closed.
    async fn hear(&self, mut messages: Subscriber) {
        while let Some(message) = messages.next().await {
            let subject = message.subject.clone();
            let numbered = match Numbered::read(message, None) {
                Ok(numbered) => numbered,
                Err(reason) => {
                    self.rejected.count(&subject, &reason);
                    continue;
                }
            };
            let (id, n) = (numbered.id, numbered.n);
            // A connection of a later bot is that one's own matter.
            if self.ports.route(&subject, numbered) == Routed::Unknown && n != 0 && id.epoch <= self.epoch {
                self.refuse(&subject, id).await;
            }
        }
    }

    /// Tells an admitted runner that a connection is closed.
    async fn refuse(&self, subject: &str, id: ConnectionId) {
        let mut parts = subject.rsplit('.');
        let (Some(incarnation), Some(runner)) = (parts.next(), parts.next()) else { return };
        if !self.roster().contains_key(runner) {
            return;
        }
        if let Err(reason) = self.outlet(runner, incarnation).send(Numbered::closed(id)).await {
            debug!(runner, %reason, "the end of a connection could not be told");
        }
    }

    /// Answers beats until the client is closed, and notes which runners are away.
    async fn hear_beats(&self, mut beats: Subscriber) {
        let mut losses = self.uplink.losses();
        loop {
            let silent_at = self.silent_at();
            let silence = async {
                match silent_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Ok(()) = losses.changed() => self.note_away(None),
                beat = beats.next() => match beat {
                    Some(beat) => self.answer(beat).await,
                    None => return,
                },
                () = silence => self.note_away(Some(Instant::now())),
            }
        }
    }

    /// Returns the next time at which a runner is away unless it beats.
    fn silent_at(&self) -> Option<Instant> {
        let roster = self.roster();
        let here = roster.values().flatten().filter(|seen| seen.here);
        here.map(|seen| seen.at + self.pace.away).min()
    }

    /// Notes that runners are away: those that were silent for too long at `now`, or all.
    fn note_away(&self, now: Option<Instant>) {
        let mut changes = false;
        for (runner, seen) in self.roster().iter_mut() {
            let Some(seen) = seen.as_mut().filter(|seen| seen.here) else { continue };
            if now.is_none_or(|now| now >= seen.at + self.pace.away) {
                seen.here = false;
                changes = true;
                info!(runner, "a runner is away");
            }
        }
        if changes {
            self.changed.send_replace(());
        }
    }

    /// Answers a beat.
    async fn answer(&self, message: Message) {
        let Some(reply) = message.reply else { return };
        let beat = match serde_json::from_slice::<Beat>(&message.payload) {
            Ok(beat) if is_incarnation(&beat.incarnation) => beat,
            Ok(_) => return self.rejected.count(&message.subject, &"its incarnation is not 16 hex digits"),
            Err(reason) => return self.rejected.count(&message.subject, &reason),
        };
        let incarnation = beat.incarnation.clone();
        let runner = message.subject.rsplit('.').next().unwrap_or_default();
        let grant = match self.take(runner, beat) {
            Ok(()) => Grant { v: BEAT_VERSION, epoch: Some(self.epoch), refused: None },
            Err(refused) => Grant { v: BEAT_VERSION, epoch: None, refused: Some(refused) },
        };
        let sent = async {
            let body = serde_json::to_vec(&grant)?;
            let text = grant_text(&reply, &incarnation, &body);
            let mut headers = HeaderMap::new();
            headers.insert(SIGNATURE, sign(&self.key, &text).map_err(io::Error::other)?);
            let sent = self.uplink.client.publish_with_headers(reply.clone(), headers, Bytes::from(body));
            sent.await.map_err(io::Error::other)
        };
        if let Err(reason) = sent.await {
            debug!(runner, %reason, "a beat could not be answered");
        }
    }

    /// Notes a beat, or refuses it with a sentence.
    fn take(&self, runner: &str, beat: Beat) -> Result<(), String> {
        if beat.v != BEAT_VERSION {
            return Err(format!("the bot speaks version {BEAT_VERSION} of beats, and the runner {}", beat.v));
        }
        let now = Instant::now();
        let mut roster = self.roster();
        let Some(known) = roster.get_mut(runner) else {
            return Err(format!("runner {runner} is not on the roster of this bot"));
        };
        if let Some(known) = known
            && known.machine != beat.machine
            && now < known.at + self.pace.twin
        {
            return Err(format!(
                "runner {runner} runs on another machine already, and each needs a name of its own"
            ));
        }
        let before = known.as_ref().map(|known| (known.incarnation.clone(), known.here));
        let changes =
            before.as_ref().is_none_or(|(incarnation, here)| *incarnation != beat.incarnation || !here);
        if let Some((incarnation, _)) = before
            && incarnation != beat.incarnation
        {
            info!(runner, "a runner was started again");
            self.ports.cut(&from_subject(&self.bot, runner, &incarnation));
        }
        *known = Some(Seen {
            incarnation: beat.incarnation,
            machine: beat.machine,
            boot: beat.boot,
            sessions: beat.sessions,
            load: beat.load,
            free_disk: beat.free_disk,
            at: now,
            here: true,
        });
        drop(roster);
        if changes {
            self.changed.send_replace(());
        }
        Ok(())
    }
}
