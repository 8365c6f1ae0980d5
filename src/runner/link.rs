//! The bot's end of a connection to a runner: it starts sessions there, repeats orders until they are taken, and hands
//! each report to its supervisor once.
//!
//! While the connection is away nothing is over: sessions go on, orders wait, and no heartbeat is missed. A runner that
//! comes back as another one has lost its sessions, which end as interrupted. One that is connected and says nothing
//! counts as away as well.

mod elsewhere;
mod files;
mod jobs;
mod keeping;
mod known;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::bytes::BytesMut;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use files::Fetching;
use known::{Known, Linked, confused};

use super::called::Called;
use super::host::next;
use super::ledger::{InOrder, KEPT_MAX};
use super::way::{Opens, Way};
use super::wire::{
    CALLS_FROM, Envelope, Frames, FromRunner, HelloRefusal, MESSAGE_MAX, OLDEST, Returned, SessionKey,
    Standing, ToRunner, VERSION, WireError, encode,
};
use crate::core::detail::{Detail, Own};
use crate::core::id::AgentName;
use crate::core::outcome::{Category, Outcome};
use crate::runtime::process::descent::Record;
use crate::runtime::{Driver, Launch, Live, ORDERS_CAPACITY, Order};

/// Maximum time for a runner to answer the first message.
const WELCOME_WITHIN: Duration = Duration::from_secs(10);

/// Time without any word of a runner after which it counts as away: two signs of life, and some more.
const SILENT: Duration = Duration::from_secs(5);

/// Maximum number of calls of tools that wait to be carried out; further ones are refused.
const CALLS_MAX: usize = 4096;

/// State of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// The runner does not answer.
    Away,
    /// It is connected, and has these sessions.
    Connected(Vec<Standing>),
    /// It refuses this bot, and nothing is started there.
    Refused(HelloRefusal),
}

/// Reason why a runner cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It does not answer.
    #[error(
        "the process that runs the agents (herder runner) does not answer: runner.log in the data folder says why; as a \
         service it is started by `systemctl enable --now herder-runner`"
    )]
    Away,
    /// It refuses this bot.
    #[error("the process that runs the agents refuses: {0}")]
    Refused(HelloRefusal),
}

/// The identity of a bot.
#[derive(Debug, Clone)]
pub struct Bot {
    /// The id of its journal.
    pub journal: String,
    /// Its term of office, higher than that of every bot before.
    pub epoch: u64,
}

/// A connection to a runner, made again whenever it ends. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Link(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    way: Way,
    bot: Bot,
    known: Mutex<Known>,
    /// Wakes the writer.
    changed: Notify,
    /// Notified when there is a session more.
    linked: Notify,
    /// Notified when the runner has taken something.
    taken: Notify,
    state: watch::Sender<LinkState>,
    tasks: TaskTracker,
    closed: CancellationToken,
    called: mpsc::Sender<Called>,
    fetching: Fetching,
    /// Calls of tools to be carried out, until somebody takes them.
    calls: Mutex<Option<mpsc::Receiver<Called>>>,
}

impl Link {
    /// Begins to connect to the runner that listens on `path`.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn to(path: PathBuf, bot: Bot) -> Self {
        Self::by(Way::Socket(path), bot)
    }

    /// Like [`Link::to`], for a runner that is simulated: each connection is one that `opens` returns.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn within(opens: Opens, bot: Bot) -> Self {
        Self::by(Way::Within(opens), bot)
    }

    fn by(way: Way, bot: Bot) -> Self {
        let (called, calls) = mpsc::channel(CALLS_MAX);
        // The sessions of another machine are adopted before it is heard.
        let known = Known { keeps_early: !matches!(way, Way::Line(_)), ..Known::default() };
        let link = Self(Arc::new(Inner {
            way,
            bot,
            known: Mutex::new(known),
            changed: Notify::new(),
            linked: Notify::new(),
            taken: Notify::new(),
            state: watch::Sender::new(LinkState::Away),
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
            called,
            fetching: Fetching::default(),
            calls: Mutex::new(Some(calls)),
        }));
        let inner = Arc::clone(&link.0);
        link.0.tasks.spawn(async move { inner.keep().await });
        link
    }

    /// Returns a watch of its state.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.0.state.subscribe()
    }

    /// Waits until the runner has answered, at most for `patience`; returns its sessions.
    ///
    /// # Errors
    /// It does not answer in time, or refuses this bot.
    pub async fn connected(&self, patience: Duration) -> Result<Vec<Standing>, LinkError> {
        let mut state = self.state();
        let answered = state.wait_for(|state| !matches!(state, LinkState::Away));
        match tokio::time::timeout(patience, answered).await {
            Ok(Ok(state)) => match &*state {
                LinkState::Connected(sessions) => Ok(sessions.clone()),
                LinkState::Refused(refusal) => Err(LinkError::Refused(refusal.clone())),
                LinkState::Away => Err(LinkError::Away),
            },
            Ok(Err(_)) | Err(_) => Err(LinkError::Away),
        }
    }

    /// Returns the process id of the runner, while it is connected: all its agents descend from it.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.0.known().process
    }

    /// Returns the record of runners whose processes may still run without a runner above them.
    #[must_use]
    pub fn left(&self) -> Option<Record> {
        let known = self.0.known();
        if known.process.is_some() {
            return known.past.clone();
        }
        drop(known);
        super::record::left(self.0.way.folder()?)
    }

    /// Returns the calls of tools that agents make on the runner; `None` if they were taken before.
    #[must_use]
    pub fn calls(&self) -> Option<mpsc::Receiver<Called>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Answers a call of a tool. An answer that is too long for a message is refused instead. Returns false if nobody
    /// waits for the answer any more.
    pub fn answer(&self, of: &SessionKey, call: u64, returned: Returned) -> bool {
        let waits = self.0.known().calls.answer(of.clone(), call, returned);
        self.0.changed.notify_one();
        waits
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        self.0.known().withheld.extend(more.iter().cloned());
    }

    /// Ends the connection without waiting for that. Sessions on the runner go on.
    pub fn cut(&self) {
        self.0.closed.cancel();
    }

    /// Starts a session on the runner. One whose launch is too long for a message ends at once.
    #[must_use]
    pub fn launch(&self, mut launch: Launch) -> Driver {
        let of = SessionKey { agent: launch.agent.clone(), session: launch.session };
        let mut known = self.0.known();
        launch.withheld.extend(known.withheld.iter().cloned());
        let (launched, refused) = match known.owe(self.0.bot.epoch, ToRunner::Launch(Box::new(launch))) {
            Ok(launched) => (launched, None),
            Err(reason) => (0, Some(Detail::from(reason.to_string()))),
        };
        let driver = self.link(&mut known, of.clone(), (launched, InOrder::default()));
        if let Some(reason) = refused {
            known.end(&of.agent, Outcome::new(Category::Permanent, reason));
        } else if known.given_up {
            known.forget_owed();
            known.end(&of.agent, Outcome::new(Category::Interrupted, Own::RunnerAway));
        }
        drop(known);
        self.0.changed.notify_one();
        driver
    }

    /// Goes on with a session that is there already, after the report of this number.
    #[must_use]
    pub fn adopt(&self, of: SessionKey, heard: u64) -> Driver {
        let mut known = self.0.known();
        known.hear(of.clone(), heard);
        let driver = self.link(&mut known, of.clone(), (0, InOrder::after(heard)));
        for (n, report) in known.early.remove(&of).unwrap_or_default() {
            if let Err(reason) = known.deliver(&of, n, report) {
                // The rest comes with the next connection.
                warn!(agent = %of.agent, %reason, "a report of an adopted session is not in its place");
            }
        }
        drop(known);
        self.0.changed.notify_one();
        driver
    }

    /// Tells the runner that what follows from the session's reports up to this number is on disk.
    pub fn heard(&self, of: &SessionKey, up_to: u64) {
        self.0.known().hear(of.clone(), up_to);
        self.0.changed.notify_one();
    }

    /// Ends the connection. Sessions on the runner go on.
    pub async fn close(&self) {
        self.0.closed.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    fn link(&self, known: &mut Known, of: SessionKey, (launched, arrived): (u64, InOrder)) -> Driver {
        let (orders, orders_inbox) = mpsc::channel(ORDERS_CAPACITY);
        let (reports_outbox, reports) = mpsc::channel(2 * KEPT_MAX);
        let (live_sender, live) = watch::channel(Live::default());
        let linked = Linked {
            of: of.clone(),
            launched,
            arrived,
            reports: reports_outbox,
            live: live_sender,
            dropped: false,
            over: false,
        };
        known.last.insert(of.agent.clone(), of.session);
        known.sessions.insert(of.agent.clone(), linked);
        self.0.linked.notify_one();
        let inner = Arc::clone(&self.0);
        self.0.tasks.spawn(async move { inner.pass_on(of, orders_inbox).await });
        Driver { orders, reports, live, stay: None }
    }
}

impl Inner {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a session's orders on. Dropped orders mean `Stop`, unless the connection is closed first.
    async fn pass_on(&self, of: SessionKey, mut orders: mpsc::Receiver<Order>) {
        let mut stopped = false;
        while let Some(order) = self.closed.run_until_cancelled(orders.recv()).await {
            let last = order.is_none();
            let order = order.unwrap_or(Order::Stop);
            if self.closed.run_until_cancelled(self.room()).await.is_none() {
                return;
            }
            let mut known = self.known();
            let there = known.session(&of).is_some();
            if last && let Some(linked) = known.session(&of) {
                linked.dropped = true;
                known.unheeded(&of);
            }
            if there && !(stopped && order == Order::Stop) {
                stopped |= order == Order::Stop;
                let body = ToRunner::Order { of: of.clone(), order };
                if let Err(reason) = known.owe(self.bot.epoch, body) {
                    warn!(agent = %of.agent, %reason, "an order cannot be told to the runner");
                }
            }
            drop(known);
            self.changed.notify_one();
            if last || !there {
                return;
            }
        }
    }

    /// Waits until the runner has taken enough of what it is owed.
    async fn room(&self) {
        loop {
            let mut taken = std::pin::pin!(self.taken.notified());
            taken.as_mut().enable();
            if !self.known().owed.is_full() {
                return;
            }
            taken.await;
        }
    }

    /// Connects, and speaks with the runner until the connection ends.
    async fn connect(&self) -> Result<(), WireError> {
        let (mut reader, mut writer, process) = self.way.open().await?;
        let (mut frames, mut read, mut out) = (Frames::default(), BytesMut::new(), BytesMut::new());
        let journal = self.bot.journal.clone();
        let hello = ToRunner::Hello { journal, oldest: OLDEST, newest: VERSION };
        frames.write(&Envelope::new(self.bot.epoch, 0, hello), &mut out)?;
        writer.write_all(&out).await?;
        let silent;
        let answer = tokio::time::timeout(WELCOME_WITHIN, next(&mut reader, &mut frames, &mut read)).await;
        let Some(answer) = answer.map_err(io::Error::from)?? else { return Ok(()) };
        match answer.body {
            FromRunner::Welcome { incarnation, version, sessions, past } => {
                silent = (version >= CALLS_FROM).then_some(SILENT);
                let mut known = self.known();
                known.process = process;
                known.past = past.map(|past| *past);
                known.version = version;
                known.asked.connect();
                known.pieces.clear();
                drop(known);
                self.welcomed(incarnation, sessions);
            }
            FromRunner::Refused(refusal) => {
                if self.state.send_if_modified(|state| {
                    let new = LinkState::Refused(refusal.clone());
                    std::mem::replace(state, new.clone()) != new
                }) {
                    warn!(%refusal, "the runner refuses this bot");
                }
                return Ok(());
            }
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
        let hearing = async {
            loop {
                let message = next::<FromRunner>(&mut reader, &mut frames, &mut read);
                let message = match silent {
                    Some(silent) => {
                        tokio::time::timeout(silent, message).await.map_err(io::Error::from)??
                    }
                    None => message.await?,
                };
                let Some(message) = message else { return Ok::<(), WireError>(()) };
                self.take(message.body)?;
            }
        };
        let telling = async {
            let mut frames = Frames::default();
            loop {
                let mut out = BytesMut::new();
                self.tell(&mut frames, &mut out)?;
                if out.is_empty() {
                    self.changed.notified().await;
                } else {
                    writer.write_all(&out).await?;
                }
            }
        };
        tokio::select! {
            biased;
            // There is an end to what can be told before something is heard.
            told = telling => told,
            heard = hearing => heard,
        }
    }

    /// Compares what the runner has with what it should have.
    fn welcomed(&self, incarnation: String, sessions: Vec<Standing>) {
        let mut known = self.known();
        let sent = known.sent;
        known.sent = known.owed.first().saturating_sub(1);
        let same = known.incarnation.as_ref().is_none_or(|known| *known == incarnation);
        if !same {
            info!("the runner is another one: the sessions of the one before are over");
            // Orders to a runner that is gone reach nobody. Those that were never sent are for this one.
            known.owed.heard(sent);
            known.calls.all_over(None);
            known.sent = known.owed.first().saturating_sub(1);
            self.taken.notify_waiters();
        }
        let first_owed = known.owed.first();
        let lost: Vec<AgentName> = known
            .sessions
            .iter()
            .filter(|(_, linked)| {
                let there = sessions.iter().any(|standing| standing.of == linked.of);
                // A launch that is still owed is sent now.
                let under_way = linked.launched >= first_owed;
                !(same && there || under_way)
            })
            .map(|(agent, _)| agent.clone())
            .collect();
        for agent in lost {
            known.end(&agent, Outcome::new(Category::Interrupted, Own::Restarted));
        }
        known.given_up = false;
        known.stop_gaps(self.bot.epoch, &sessions);
        // All that is unheard is sent again.
        known.early.clear();
        // It may have been lost with the connection before.
        known.untold = known.heard.keys().cloned().collect();
        known.incarnation = Some(incarnation);
        drop(known);
        self.state.send_replace(LinkState::Connected(sessions));
    }

    /// Takes a message of the runner.
    fn take(&self, message: FromRunner) -> Result<(), WireError> {
        let mut known = self.known();
        match message {
            FromRunner::Took { up_to } => {
                known.owed.heard(up_to);
                self.taken.notify_waiters();
            }
            FromRunner::Report { of, n, report } => {
                known.deliver(&of, n, report)?;
                // It may have to be acknowledged here.
                self.changed.notify_one();
            }
            FromRunner::Alive { of } => {
                if let Some(linked) = known.session(&of) {
                    linked.beat();
                }
            }
            FromRunner::Live { of, live } => {
                if let Some(linked) = known.session(&of) {
                    linked.live.send_replace(live);
                }
            }
            FromRunner::Beat => {}
            FromRunner::Call { of, call, tool, arguments } => {
                // A machine speaks for the agents that run there, and for no others. Their sessions are adopted before it is
                // heard; those beside the bot are adopted once it is.
                let is_strange = matches!(self.way, Way::Line(_)) && known.session(&of).is_none();
                if known.calls.are_full(CALLS_MAX) {
                    return Err(confused());
                }
                if let Some(gone) = known.calls.begin(of.clone(), call) {
                    let called = Called { of: of.clone(), call, tool, arguments, gone };
                    if is_strange {
                        known.calls.answer(of, call, Returned::refused("This session is over."));
                    } else if let Err(refused) = self.called.try_send(called) {
                        let why = match refused {
                            mpsc::error::TrySendError::Full(_) => {
                                "herder has too many calls to carry out; try again later."
                            }
                            mpsc::error::TrySendError::Closed(_) => "herder's tools are off.",
                        };
                        known.calls.answer(of, call, Returned::refused(why));
                    }
                }
                self.changed.notify_one();
            }
            FromRunner::CallOver { of, call } => known.calls.over(of, call),
            FromRunner::Fetch { file, from } => {
                self.fetching.ask(&mut known, file, from)?;
                self.changed.notify_one();
            }
            FromRunner::Done { job, part, last } => {
                known.asked.take(job, &part, last);
                self.changed.notify_one();
            }
            FromRunner::Welcome { .. } | FromRunner::Refused(_) | FromRunner::Status(_) => {
                return Err(confused());
            }
        }
        Ok(())
    }

    /// Appends messages for the runner to `out`.
    fn tell(&self, frames: &mut Frames, out: &mut BytesMut) -> Result<(), WireError> {
        /// Size of a write, in bytes, from which on the next messages wait for the next write.
        const WRITE_MAX: usize = 256 * 1024;
        let mut known = self.known();
        for agent in std::mem::take(&mut known.untold) {
            if let Some((of, up_to)) = known.heard.get(&agent).cloned() {
                frames.write(&Envelope::new(self.bot.epoch, 0, ToRunner::Heard { of, up_to }), out)?;
            }
        }
        for (of, call, returned) in known.calls.take_untold() {
            let whispers = returned.whispers.clone();
            let body = ToRunner::Returned { of: of.clone(), call, returned };
            let mut message = encode(&Envelope::new(self.bot.epoch, 0, body))?;
            if message.len() > MESSAGE_MAX {
                let returned =
                    Returned { whispers, ..Returned::refused("The answer was too long; ask for less.") };
                message =
                    encode(&Envelope::new(self.bot.epoch, 0, ToRunner::Returned { of, call, returned }))?;
            }
            frames.write_encoded(message, out)?;
        }
        let version = known.version;
        known.asked.refuse_newer(version);
        if let Some(list) = known.asked.take_list() {
            frames.write(&Envelope::new(self.bot.epoch, 0, list), out)?;
        }
        while out.len() < WRITE_MAX
            && let Some(job) = known.asked.take_untold()
        {
            frames.write_encoded(job, out)?;
        }
        while out.len() < WRITE_MAX
            && let Some(piece) = known.pieces.pop_front()
        {
            self.fetching.told();
            frames.write(&Envelope::new(self.bot.epoch, 0, piece), out)?;
        }
        let mut sent = known.sent;
        for (n, message) in known.owed.since(sent + 1) {
            if out.len() >= WRITE_MAX {
                break;
            }
            frames.write_encoded(message.clone(), out)?;
            sent = n;
        }
        known.sent = sent;
        Ok(())
    }
}
