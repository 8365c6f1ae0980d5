//! The runner's end: it runs sessions, keeps their reports until they are heard, and takes each order once.
//!
//! ```text
//!  driver ─► pump (one per session; stops when 256 reports or 4 MiB are unheard) ─► Unheard ─► writer ─► bot
//!  driver ◄─ orders ◄─ InOrder ◄─ reader ◄─ bot
//! ```
//!
//! A bot that connects takes the place of the one before. Sessions go on without a connection.

mod conversation;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub(super) use conversation::next;

use super::Machine;
use super::calls::Waiting;
use super::fit::sane_live;
use super::hosted::{Hosted, ended, queue};
use super::job::Job;
use super::jobs::Jobs;
use super::ledger::{Arrival, InOrder};
use super::record::replace;
use super::wire::{Envelope, HelloRefusal, SessionKey, SessionStatus, Standing, Status, ToRunner};
use crate::clock::running::Running;
use crate::core::detail::Own;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Signal;
use crate::core::outcome::Category;
use crate::files::WantedFiles;
use crate::runtime::process::descent::{Descent, Record, judge};
use crate::runtime::process::{Identity, lives};
use crate::runtime::{Launch, Live, Report};

/// Maximum number of concurrent connections. More wait in the listener's queue.
const PEERS_MAX: usize = 16;

/// Size of a write to the bot, in bytes, from which on the next messages wait for the next write.
pub(super) const WRITE_MAX: usize = 256 * 1024;

/// A runner. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    machine: Machine,
    /// The file that keeps the journal's id for the next runner.
    remembered: Option<PathBuf>,
    /// The record of runners that were killed, if processes of theirs may still run.
    past: Option<Record>,
    /// The bot that has started the runner, if one has.
    parent: OnceLock<Identity>,
    incarnation: String,
    state: Mutex<State>,
    /// Files that sessions get from the bot.
    wanted: WantedFiles,
    /// Wakes the writer.
    changed: Notify,
    /// Notified when a session or a job is forgotten, and when a job has ended.
    gone: watch::Sender<()>,
    tasks: TaskTracker,
    /// Cancelled when the runner is to end.
    stopping: CancellationToken,
    ended: CancellationToken,
    /// True while a bot is connected.
    attended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    /// The id of its bot's journal, once it is known.
    journal: Option<String>,
    /// The highest term of office that was heard, and the bot's messages of it.
    epoch: u64,
    taken: InOrder,
    /// The number that the bot knows to be taken.
    took: u64,
    sessions: BTreeMap<SessionKey, Hosted>,
    /// The last session of each agent; a lower one is not started any more.
    last: BTreeMap<AgentName, SessionId>,
    /// Sessions with something to tell.
    dirty: BTreeSet<SessionKey>,
    /// Calls of tools that wait for the bot's answers.
    calls: Waiting,
    jobs: Jobs,
    /// Ends the present connection.
    connection: CancellationToken,
    /// The version that both ends of it speak.
    version: u32,
    /// True once the runner ends: it starts nothing any more.
    ending: bool,
}

impl State {
    fn is_idle(&self) -> bool {
        self.sessions.is_empty() && self.jobs.is_idle()
    }
}

impl Host {
    /// Returns a runner for the bot of this journal; without one, for that of the first bot that connects. Its id is
    /// kept in `remembered`, so that a runner that follows knows its processes. `past` is the record of runners that
    /// were killed: what they may have left is no bot.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new(
        mut machine: Machine,
        journal: Option<String>,
        remembered: Option<PathBuf>,
        past: Option<Record>,
    ) -> io::Result<Self> {
        let drawn = getrandom::u64().map_err(|reason| io::Error::other(reason.to_string()))?;
        let wanted = machine.ask_for_files();
        Ok(Self(Arc::new(Inner {
            machine,
            wanted,
            remembered,
            past,
            parent: OnceLock::new(),
            incarnation: format!("{drawn:016x}"),
            state: Mutex::new(State { journal, ..State::default() }),
            changed: Notify::new(),
            gone: watch::Sender::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            ended: CancellationToken::new(),
            attended: watch::Sender::new(false),
        })))
    }

    /// Notes the bot that has started the runner: it is no agent, even if nothing else proves that.
    pub(super) fn started_by(&self, parent: Identity) {
        self.0.parent.get_or_init(|| parent);
    }

    /// Returns the sessions that it runs or keeps reports of.
    #[must_use]
    pub fn sessions(&self) -> Vec<Standing> {
        self.0.state().sessions.values().map(Hosted::standing).collect()
    }

    /// Accepts bots until `shutdown`. Then all sessions are ended, and their last reports given to a bot that is
    /// connected, at most for `patience`.
    pub async fn serve(&self, listener: UnixListener, shutdown: CancellationToken, patience: Duration) {
        let room = Arc::new(Semaphore::new(PEERS_MAX));
        loop {
            let next = async {
                let permit = Arc::clone(&room).acquire_owned().await.map_err(io::Error::other)?;
                listener.accept().await.map(|(stream, _)| (stream, permit))
            };
            let accepted = tokio::select! {
                () = shutdown.cancelled() => break,
                () = self.0.stopping.cancelled() => break,
                accepted = next => accepted,
            };
            match accepted {
                Ok((stream, permit)) if is_a_bot(&stream, &self.0) => {
                    let inner = Arc::clone(&self.0);
                    self.0.tasks.spawn(async move {
                        let _permit = permit;
                        inner.attend(stream.into_split()).await;
                    });
                }
                Ok(_) => warn!("a process that is no bot of this user was turned away"),
                Err(reason) => {
                    warn!(%reason, "a connection could not be accepted");
                    // Most likely no file descriptors are left: without a pause this would spin.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        self.0.state().ending = true;
        self.0.end_all();
        let heard = self.0.told();
        if tokio::time::timeout(patience, heard).await.is_err() {
            warn!(sessions = self.sessions().len(), "the bot did not hear the end of all sessions");
        }
        self.0.ended.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Speaks with a peer that is known to be a bot until the connection ends: what [`Host::serve`] does with each.
    pub async fn attend(&self, stream: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin)) {
        self.0.attend(stream).await;
    }

    /// Returns the random id of this run.
    pub(super) fn incarnation(&self) -> &str {
        &self.0.incarnation
    }

    /// Returns the clock that stands still with the runner.
    pub(super) fn running(&self) -> &Running {
        self.0.machine.running()
    }

    /// Returns the process of a session that is not over.
    pub(super) fn process(&self, of: &SessionKey) -> Option<u32> {
        self.0.with(of, |hosted| hosted.process.filter(|_| !hosted.over)).flatten()
    }

    /// Changes the calls of tools that wait, and wakes the writer.
    pub(super) fn with_calls<R>(&self, change: impl FnOnce(&mut Waiting) -> R) -> R {
        let changed = change(&mut self.0.state().calls);
        self.0.changed.notify_one();
        changed
    }

    /// Adds reports to those of a session that is not over.
    pub(super) fn report(&self, of: &SessionKey, reports: impl Iterator<Item = Report>) {
        self.0.with(of, |hosted| {
            if !hosted.over {
                reports.for_each(|report| hosted.keep(report));
            }
        });
        self.0.wake(of);
    }

    /// Ends all sessions when no bot was connected for `patience`, each time that happens.
    pub async fn end_unattended(&self, patience: Duration) {
        let mut attended = self.0.attended.subscribe();
        while attended.wait_for(|attended| !attended).await.is_ok() {
            if is_back(&mut attended, self.running(), patience).await {
                continue;
            }
            info!(seconds = patience.as_secs(), "no bot was here for so long: all sessions are stopped");
            self.0.end_all();
            if attended.wait_for(|attended| *attended).await.is_err() {
                return;
            }
        }
    }
}

/// Time for a bot to come back after the time for it has run out, which may have been while the runner stood still.
const SECOND_CHANCE: Duration = Duration::from_secs(10);

/// Waits for a bot, for `patience` and a little more. Returns true if one is connected.
async fn is_back(attended: &mut watch::Receiver<bool>, running: &Running, patience: Duration) -> bool {
    let mut back = std::pin::pin!(attended.wait_for(|attended| *attended));
    if tokio::time::timeout(patience, &mut back).await.is_ok() {
        return true;
    }
    // The timer may have run out while the runner stood still: that clock wakes it often, so it measures the rest alone.
    running.within(patience.min(SECOND_CHANCE), back).await.is_some()
}

/// Returns true if the peer runs as this user or as root and is no agent: no descendant of the runner, nor one that a
/// runner of the record may have left when it was killed.
fn is_a_bot(stream: &UnixStream, inner: &Inner) -> bool {
    let Ok(peer) = stream.peer_cred() else { return false };
    let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()) else { return false };
    let own = peer.uid() == rustix::process::geteuid().as_raw() || peer.uid() == 0;
    let is_parent = || {
        let parent = inner.parent.get().copied();
        parent.is_some_and(|parent| parent.pid == pid && lives(parent))
    };
    let is_other = || matches!(judge(pid, inner.past.as_ref()), Descent::Others);
    own && (pid == std::process::id() || is_parent() || is_other())
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is no session whose end a bot still has to hear: without one there is none once all have ended.
    async fn told(&self) {
        let (mut gone, mut attended) = (self.gone.subscribe(), self.attended.subscribe());
        loop {
            let (none, over) = {
                let state = self.state();
                (state.sessions.is_empty(), state.sessions.values().all(|hosted| hosted.over))
            };
            if none || over && !*attended.borrow_and_update() {
                return;
            }
            tokio::select! {
                _ = gone.changed() => {}
                _ = attended.changed() => {}
            }
        }
    }

    /// Waits until there is neither a session nor a job.
    async fn idle(&self) {
        let mut gone = self.gone.subscribe();
        while !self.state().is_idle() {
            if gone.changed().await.is_err() {
                return;
            }
        }
    }

    /// Ends the runner once there is neither a session nor a job. From then on it takes nothing, so that nothing is begun
    /// and lost.
    async fn stop_when_idle(&self) {
        loop {
            self.idle().await;
            let mut state = self.state();
            if state.is_idle() {
                state.ending = true;
                state.connection.cancel();
                self.stopping.cancel();
                return;
            }
        }
    }

    /// Ends all jobs, and tells all sessions to end: a driver whose orders are gone runs the stop ladder.
    fn end_all(&self) {
        let mut state = self.state();
        state.jobs.stop_all();
        for hosted in state.sessions.values_mut() {
            hosted.orders = None;
        }
    }

    /// Begins a job, unless it was begun before.
    fn perform(self: &Arc<Self>, state: &mut State, number: u64, job: Job) {
        // The next runner begins it.
        if state.ending {
            return;
        }
        let Some(begun) = state.jobs.begin(number) else { return };
        let prefix = state.journal.as_deref().map(|journal| self.machine.prefix(journal)).unwrap_or_default();
        if !job.marker.starts_with(&prefix) {
            warn!(marker = job.marker, "a job is not begun: its processes would not be found");
            return state.jobs.end(number, Some(&job.failed(Own::NotEnded.into())));
        }
        let (inner, epoch) = (Arc::clone(self), state.epoch);
        self.tasks.spawn(async move {
            begun.before.wait().await;
            let done = match begun.stop.is_cancelled() {
                true => None,
                false => Box::pin(inner.machine.perform(job, begun.stop)).await,
            };
            let done = done.map(|done| inner.machine.redacted(done));
            let mut state = inner.state();
            drop(begun.token);
            if state.epoch == epoch {
                state.jobs.end(number, done.as_ref());
            }
            drop(state);
            inner.gone.send_replace(());
            inner.changed.notify_one();
        });
    }

    async fn attend(self: &Arc<Self>, stream: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin)) {
        if let Some(Err(reason)) = self.ended.run_until_cancelled(self.converse(stream)).await {
            warn!(%reason, "the connection to the bot ended");
        }
    }

    /// Keeps the id of the journal for the next runner.
    fn remember(&self, journal: &str) {
        if let Some(file) = &self.remembered
            && let Err(reason) = replace(file, journal.as_bytes())
        {
            warn!(%reason, "the next runner will not know the processes of this one if it is killed");
        }
    }

    fn status(&self) -> Status {
        let state = self.state();
        let session = |hosted: &Hosted| SessionStatus {
            of: hosted.of.clone(),
            over: hosted.over,
            kept: hosted.unheard.next_number() - hosted.unheard.first(),
            live: sane_live(hosted.live.borrow().clone()),
        };
        Status {
            pid: std::process::id(),
            incarnation: self.incarnation.clone(),
            journal: state.journal.clone(),
            attended: *self.attended.borrow(),
            sessions: state.sessions.values().map(session).collect(),
            jobs: state.jobs.running(),
        }
    }

    /// Takes a message of the bot.
    fn take(self: &Arc<Self>, message: Envelope<ToRunner>) -> Result<(), HelloRefusal> {
        let mut state = self.state();
        if message.epoch != state.epoch {
            return Err(HelloRefusal::Epoch { highest: state.epoch });
        }
        if message.n > 0 {
            match state.taken.take(message.n) {
                Arrival::Next => {}
                Arrival::Again => return Ok(()),
                // The missing ones were for a runner before this one: a connection keeps its order, and a bot sends
                // all that was not taken.
                Arrival::Gap => state.taken = InOrder::after(message.n),
            }
        }
        match message.body {
            ToRunner::Hello { .. } | ToRunner::Status | ToRunner::Stop | ToRunner::StopWhenIdle => {}
            ToRunner::Returned { of, call, mut returned } => {
                if let Some(hosted) = state.sessions.get_mut(&of) {
                    returned.whispers = hosted.not_given(returned.whispers);
                }
                // The caller may have gone.
                let unsent = match state.calls.end(call) {
                    Some(waits) => waits.send(returned).err(),
                    None => Some(returned),
                };
                let whispers = unsent.map(|returned| returned.whispers).unwrap_or_default();
                self.not_delivered(&mut state, &of, whispers);
            }
            ToRunner::Launch(launch) => self.launch(&mut state, *launch),
            ToRunner::Piece { file, from, piece } => {
                // Bytes that cannot be read are none of the file.
                let piece = piece.map(|piece| STANDARD.decode(piece).unwrap_or_default());
                self.wanted.take(file, from, piece.as_deref());
            }
            ToRunner::Job { job, what } => self.perform(&mut state, job, *what),
            ToRunner::Jobs { open, stopped } => {
                state.jobs.keep(&open, &stopped);
                self.gone.send_replace(());
            }
            ToRunner::Order { of, order } => {
                if let Some(hosted) = state.sessions.get_mut(&of)
                    && let Some(not_taken) = hosted.order(order)
                {
                    hosted.keep(not_taken);
                    state.dirty.insert(of);
                }
            }
            ToRunner::Heard { of, up_to } => {
                let Some(hosted) = state.sessions.get_mut(&of) else { return Ok(()) };
                hosted.unheard.heard(up_to);
                hosted.room.notify_one();
                if hosted.over && hosted.unheard.is_empty() {
                    state.sessions.remove(&of);
                    self.gone.send_replace(());
                }
            }
        }
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Reports whispers of an answer that has no caller any more.
    fn not_delivered(&self, state: &mut State, of: &SessionKey, whispers: Vec<(WorkId, String)>) {
        let Some(hosted) = state.sessions.get_mut(of).filter(|hosted| !hosted.over) else { return };
        for (work, _) in whispers {
            hosted.keep(Report::NotTaken { work });
        }
        state.dirty.insert(of.clone());
    }

    /// Starts a session. One that was started before is not started again; one beside a session that is not over ends
    /// at once.
    fn launch(self: &Arc<Self>, state: &mut State, mut launch: Launch) {
        let of = SessionKey { agent: launch.agent.clone(), session: launch.session };
        if state.sessions.contains_key(&of) {
            return;
        }
        let stale = state.last.get(&of.agent).is_some_and(|last| *last >= of.session);
        if !stale {
            state.last.insert(of.agent.clone(), of.session);
        }
        // The bot starts a session only once it has decided the end of the one before.
        state.sessions.retain(|known, hosted| known.agent != of.agent || !hosted.over);
        let beside = state.sessions.keys().any(|known| known.agent == of.agent);
        let prefix = state.journal.as_deref().map(|journal| self.machine.prefix(journal)).unwrap_or_default();
        if stale || beside || state.ending || !launch.marker.starts_with(&prefix) {
            warn!(agent = %of.agent, session = %of.session, stale, beside, "a session is not started");
            let mut refused = Hosted::over(of.clone());
            refused.keep(ended(Category::Interrupted, Own::NotEnded));
            state.dirty.insert(of.clone());
            state.sessions.insert(of, refused);
            return;
        }
        // The bot could neither use a process that stays nor end it.
        Arc::make_mut(&mut launch.spec).keep_warm = Duration::ZERO;
        let (driver, pass) = self.machine.launch(launch);
        let told = (driver.reports, driver.live.clone());
        let room = Arc::<Notify>::default();
        let hosted = Hosted {
            orders: Some(queue(&self.tasks, driver.orders)),
            pass,
            over: false,
            live: driver.live,
            room: Arc::clone(&room),
            ..Hosted::over(of.clone())
        };
        state.sessions.insert(of.clone(), hosted);
        let inner = Arc::clone(self);
        self.tasks.spawn(async move { inner.pump(of, told, &room).await });
    }

    /// Takes a session's reports as long as there is room for them.
    async fn pump(
        &self,
        of: SessionKey,
        driver: (mpsc::Receiver<Report>, watch::Receiver<Live>),
        room: &Notify,
    ) {
        let (mut reports, mut live) = driver;
        loop {
            while self.with(&of, |hosted| hosted.unheard.is_full()).unwrap_or_default() {
                if self.ended.run_until_cancelled(room.notified()).await.is_none() {
                    // No bot hears the rest, but its process is waited for.
                    while !matches!(reports.recv().await, None | Some(Report::Signal(Signal::Ended { .. }))) {
                    }
                    return;
                }
            }
            let report = tokio::select! {
                biased;
                report = reports.recv() => report,
                Ok(()) = live.changed() => {
                    self.wake(&of);
                    continue;
                }
            };
            let over = matches!(report, None | Some(Report::Signal(Signal::Ended { .. })));
            self.with(&of, |hosted| match report {
                Some(Report::Beat) => hosted.alive = true,
                Some(report) => {
                    if let Report::Signal(Signal::Spawned { pid, .. }) = &report {
                        hosted.process = Some(*pid);
                    }
                    hosted.keep(report);
                }
                None => hosted.keep(ended(Category::Crash, Own::DriverGone)),
            });
            if over {
                self.with(&of, |hosted| {
                    (hosted.orders, hosted.pass) = (None, None);
                    hosted.over = true;
                });
            }
            self.wake(&of);
            if over {
                self.gone.send_replace(());
                return;
            }
        }
    }

    /// Wakes the writer for a session that has something to tell.
    fn wake(&self, of: &SessionKey) {
        self.state().dirty.insert(of.clone());
        self.changed.notify_one();
    }

    fn with<R>(&self, of: &SessionKey, change: impl FnOnce(&mut Hosted) -> R) -> Option<R> {
        self.state().sessions.get_mut(of).map(change)
    }
}

#[cfg(test)]
mod tests;
