//! The runner's end: it beats, and takes the connections that the bot has signed.

use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_nats::{Message, Request, RequestError, SubscribeError, Subscriber};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use nkeys::KeyPair;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use super::super::keys;
use super::super::permits::Subjects;
use super::bridge::{Outlet, Ports, Routed};
use super::frame::{Numbered, SIGNATURE, Taken, grant_text};
use super::{BEAT_VERSION, Beat, Grant, Pace, Rejected, Uplink};

/// Number of beats in a row without a grant after which no connection is left, unless one of them says that the bot lives:
/// on a slow link a grant comes too late.
const MISSED_MAX: u32 = 2;

/// Reason why a runner cannot hear its bot.
#[derive(Debug, thiserror::Error)]
pub enum StationError {
    /// The client is closed, or a name cannot be part of a subject.
    #[error("the runner cannot hear its bot by NATS: {0}")]
    Subscribe(#[from] SubscribeError),
}

/// The identity of a run of a runner, and the key of its bot.
#[derive(Clone)]
pub struct Identity {
    /// Name of the bot.
    pub bot: String,
    /// Name of the runner.
    pub runner: String,
    /// Public key of the bot's messages, pinned when the runner joined.
    pub bot_key: KeyPair,
    /// The random id of this run; see [`draw_incarnation`].
    pub incarnation: String,
}

/// State of a runner and its machine, told with each beat.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The id of the machine.
    pub machine: String,
    /// Number of sessions.
    pub sessions: usize,
    /// Load of the machine.
    pub load: Option<f64>,
    /// Free space of the data folder's disk, in bytes.
    pub free_disk: Option<u64>,
}

/// State of a runner's grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantState {
    /// True while beats are granted; one that is missed counts for nothing.
    pub granted: bool,
    /// The epoch of the last grant.
    pub epoch: Option<u64>,
    /// The last refusal, until a beat is granted.
    pub refusal: Option<String>,
}

/// Reason why a beat was not granted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missed {
    #[error("nobody has answered ({0}): the bot does not run, or has taken this runner out")]
    Absent(#[from] RequestError),
    #[error("the beat could not be sent, or its answer has not come in time")]
    Late(#[from] tokio::time::error::Elapsed),
    #[error("the answer is not signed by the bot")]
    Signature,
    #[error("the answer cannot be read")]
    Unreadable(#[from] serde_json::Error),
    #[error("the answer is that of an earlier bot")]
    Epoch,
    #[error("the bot refuses: {0}")]
    Refused(String),
}

/// The runner's end of the connections to its bot.
pub struct Station<F> {
    uplink: Uplink,
    identity: Identity,
    subjects: Subjects,
    facts: F,
    pace: Pace,
    ports: Ports,
    taken: Mutex<Taken>,
    grant: watch::Sender<GrantState>,
    rejected: Rejected,
    tasks: TaskTracker,
}

/// Draws the id of a run of a runner: 16 hex digits.
///
/// # Errors
/// The system has no random numbers.
pub fn draw_incarnation() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|reason| io::Error::other(reason.to_string()))?;
    Ok(format!("{:016x}", u64::from_be_bytes(random)))
}

impl<F: Fn() -> Facts> Station<F> {
    /// Returns a station that does nothing before [`Station::serve`]. `facts` is called for each beat and must not block.
    #[must_use]
    pub fn new(uplink: Uplink, identity: Identity, facts: F, pace: Pace) -> Self {
        let tasks = TaskTracker::new();
        Self {
            uplink,
            subjects: Subjects::new(&identity.bot),
            identity,
            facts,
            pace,
            ports: Ports::new(tasks.clone(), pace),
            taken: Mutex::default(),
            grant: watch::Sender::default(),
            rejected: Rejected::default(),
            tasks,
        }
    }

    /// Returns a watch of the grant.
    #[cfg(test)]
    pub(super) fn grant(&self) -> watch::Receiver<GrantState> {
        self.grant.subscribe()
    }

    /// Returns the number of messages that were dropped because the bot has not signed them.
    #[cfg(test)]
    pub(super) fn rejected(&self) -> u64 {
        self.rejected.total()
    }

    /// Beats, and calls `attend` for each connection of the bot, until `shutdown` or until the client is closed. Then the
    /// connections end, and what `attend` has returned is waited for.
    ///
    /// # Errors
    /// The client is closed, or a name cannot be part of a subject.
    pub async fn serve(
        &self,
        attend: impl Fn(DuplexStream) -> BoxFuture<'static, ()>,
        shutdown: CancellationToken,
    ) -> Result<(), StationError> {
        let Identity { runner, incarnation, .. } = &self.identity;
        let messages = self.uplink.client.subscribe(self.subjects.to(runner, incarnation)).await?;
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            () = self.beat() => {}
            () = self.hear(messages, attend) => {}
        }
        self.ports.cut("");
        self.grant.send_modify(|state| state.granted = false);
        self.tasks.close();
        self.tasks.wait().await;
        Ok(())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlet(&self) -> Outlet {
        let Identity { runner, incarnation, .. } = &self.identity;
        Outlet::new(self.uplink.clone(), self.subjects.from(runner, incarnation), None)
    }

    /// Takes messages until the client is closed.
    async fn hear(&self, mut messages: Subscriber, attend: impl Fn(DuplexStream) -> BoxFuture<'static, ()>) {
        while let Some(message) = messages.next().await {
            // A signature takes a while, and beats share this task.
            tokio::task::yield_now().await;
            let subject = message.subject.clone();
            let numbered = match Numbered::read(message, Some(&self.identity.bot_key)) {
                Ok(numbered) => numbered,
                Err(reason) => {
                    self.rejected.count(&subject, &reason);
                    continue;
                }
            };
            let (id, n) = (numbered.id, numbered.n);
            if self.ports.route(&subject, numbered.clone()) == Routed::Known {
                continue;
            }
            if self.taken().begin(id, n) {
                let stream = self.ports.open(id, subject.to_string(), self.outlet());
                self.ports.route(&subject, numbered);
                self.tasks.spawn(attend(stream));
            } else if n != 0
                && let Err(reason) = self.outlet().send(Numbered::closed(id)).await
            {
                debug!(%reason, "the end of a connection could not be told");
            }
        }
    }

    /// Beats for ever.
    async fn beat(&self) {
        let mut tick = interval(self.pace.beat);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut missed = 0;
        loop {
            tick.tick().await;
            match self.ask().await {
                Ok(epoch) => {
                    missed = 0;
                    let state = GrantState { granted: true, epoch: Some(epoch), refusal: None };
                    if self.change(state) {
                        info!(epoch, "the bot has granted the runner's beat");
                    }
                }
                Err(reason) => {
                    missed += 1;
                    debug!(%reason, missed, "a beat was not granted");
                    self.miss(&reason, missed);
                }
            }
        }
    }

    /// Notes a beat that was not granted.
    fn miss(&self, reason: &Missed, missed: u32) {
        let mut state = self.grant.borrow().clone();
        if let Missed::Refused(sentence) = reason {
            state.refusal = Some(sentence.clone());
        }
        let is_denied = matches!(reason, Missed::Refused(_) | Missed::Epoch);
        if missed >= MISSED_MAX && (is_denied || !self.ports.heard_within(self.pace.away)) {
            // A connection that was taken since the last beat ends with it.
            self.ports.cut("");
            state.granted = false;
        }
        if self.change(state) {
            warn!(%reason, missed, "the bot does not grant the runner's beats");
        }
    }

    fn change(&self, state: GrantState) -> bool {
        self.grant.send_if_modified(|known| {
            let changes = *known != state;
            *known = state;
            changes
        })
    }

    /// Sends a beat; returns the epoch of its grant.
    pub(super) async fn ask(&self) -> Result<u64, Missed> {
        let Identity { runner, incarnation, .. } = &self.identity;
        let Facts { machine, sessions, load, free_disk } = (self.facts)();
        let incarnation = incarnation.clone();
        let beat = Beat { v: BEAT_VERSION, incarnation, machine, sessions, load, free_disk };
        let request = Request::new().payload(serde_json::to_vec(&beat)?.into()).timeout(None);
        let answer = self.uplink.client.send_request(self.subjects.beat(runner), request);
        // The client's own limit does not cover the time until the beat is sent.
        let answer = tokio::time::timeout(self.pace.beat, answer).await??;
        let grant = self.read(&answer)?;
        match (grant.epoch, grant.refused) {
            (_, Some(sentence)) => Err(Missed::Refused(sentence)),
            (Some(epoch), None) if self.taken().hear(epoch) => Ok(epoch),
            (Some(_), None) => Err(Missed::Epoch),
            (None, None) => Err(Missed::Refused(String::from("the grant has no epoch"))),
        }
    }

    /// Reads a grant. Its subject is that of the request's answer, which the signature names.
    fn read(&self, answer: &Message) -> Result<Grant, Missed> {
        let text = grant_text(&answer.subject, &self.identity.incarnation, &answer.payload);
        let signature = answer.headers.as_ref().and_then(|headers| headers.get(SIGNATURE));
        if !signature.is_some_and(|it| keys::is_signed(&self.identity.bot_key, &text, it.as_str())) {
            return Err(Missed::Signature);
        }
        Ok(serde_json::from_slice(&answer.payload)?)
    }
}

impl<F> fmt::Debug for Station<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { bot, runner, incarnation, .. } = &self.identity;
        f.debug_struct("Station")
            .field("bot", bot)
            .field("runner", runner)
            .field("incarnation", incarnation)
            .finish_non_exhaustive()
    }
}
