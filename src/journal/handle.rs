//! The handle: the journal as the rest of herder uses it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::core::id::{AgentName, NetworkName, PostId, WorkId};
use crate::core::post::{Post, Target};
use crate::core::time::Timestamp;
use crate::numbers::Numbers;

use super::log_line::{self, LogLine};
use super::memory::{Here, Step};
use super::prepare::prepare;
use super::query::Reader;
use super::shared::leader::Leader;
use super::shared::replica::Whole;
use super::shared::{Chain, Log, Replica, ReplicaError};
use super::soon::Waiting;
use super::store::{self, Lock, Paths, Store};
use super::unseen::Unseen;
use super::writer::{Disk, Job, QUEUE, Shown, Writer};
use super::{
    Aggregate, Batch, CommitError, Confirmed, Loaded, Memo, Missing, OpenError, Opening, ReadError, Receipt,
    Recorded, Settings, Settled, Stream, Tally, Unreadable, refusal, replay,
};

/// The receiver of posts after they are on disk: the outbox.
pub trait PostSink: Send + Sync {
    /// Receives posts in the order of their commits. Called on the writer's thread: it must not block.
    fn accept(&self, posts: Vec<Post>);
}

/// Handle of the journal. Clones share the same journal.
///
/// When the last clone is dropped the writer finishes queued work and the lock is released. A [`PostSink`] that holds a
/// clone keeps the journal open until [`Journal::close`].
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

/// Maximum time to wait for the disk when the last handle is dropped: everything acknowledged is on it already.
const LAST_WAIT: Duration = Duration::from_secs(5);

struct Inner {
    // Dropped in this order: the last sled handle must be gone before the lock is released.
    way: Way,
    thread: Option<Thread>,
    reader: Reader,
    waiting: Arc<Waiting>,
    shown: Arc<Shown>,
    tally: Arc<Tally>,
    work: AtomicU64,
    id: String,
    missing: Vec<Missing>,
    paths: Paths,
    settings: Settings,
    maintaining: tokio::sync::Mutex<()>,
    archive_readers: Arc<Semaphore>,
    unreadable: Mutex<Unreadable>,
    lock: Mutex<Option<Lock>>,
}

/// The way in which jobs reach the journal's writer.
pub(super) enum Way {
    /// The writer runs on a thread of its own and takes jobs from this channel.
    Thread(mpsc::Sender<Job>),
    /// The writer is in this process's memory, without a disk.
    Here(Box<Here>),
    /// The writer has ended: nothing can be stored any more.
    Gone,
}

/// The writer's thread.
pub(super) struct Thread {
    thread: JoinHandle<()>,
    /// Closed by the writer's thread when it ends, so that a wait for that can have a limit.
    over: Mutex<std::sync::mpsc::Receiver<()>>,
}

/// The parts from which a journal's handle is made.
pub(super) struct Parts {
    pub(super) way: Way,
    pub(super) thread: Option<Thread>,
    pub(super) reader: Reader,
    pub(super) waiting: Arc<Waiting>,
    pub(super) shown: Arc<Shown>,
    pub(super) tally: Arc<Tally>,
    pub(super) work: u64,
    pub(super) id: String,
    pub(super) missing: Vec<Missing>,
    pub(super) paths: Paths,
    pub(super) settings: Settings,
    pub(super) lock: Option<Lock>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("dir", &self.0.paths.dir)
            .field("id", &self.0.id)
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.way = Way::Gone;
        let Some(Thread { thread, mut over }) = self.thread.take() else { return };
        // The last clone may be the sink's, dropped by the writer itself, which cannot wait for its own end.
        if thread.thread().id() != std::thread::current().id() {
            let over = over.get_mut().unwrap_or_else(PoisonError::into_inner);
            if over.recv_timeout(LAST_WAIT) == Err(RecvTimeoutError::Timeout) {
                tracing::warn!("the journal's disk hangs; it is left behind");
                return;
            }
            // The panic hook has reported a panic of the writer.
            let _ = thread.join();
        }
    }
}

impl Journal {
    /// Opens the journal in a folder, or creates one. Blocks.
    ///
    /// # Errors
    /// A sentence with the problem and its remedy.
    pub fn open(settings: &Settings) -> Result<(Self, Opening), OpenError> {
        let paths = Paths::new(&settings.dir);
        let lock = store::lock(&paths)?;
        let store = store::open(settings, &paths, lock)?;
        Self::run(settings, paths, store, None)
    }

    /// Opens the journal of a bot that has come into office: a replica whose last record is the first one of `chain`.
    /// Blocks.
    ///
    /// # Errors
    /// A sentence with the problem and its remedy.
    pub fn lead(replica: Replica, log: Box<dyn Log>, chain: Chain) -> Result<(Self, Opening), ReplicaError> {
        let Whole { settings, paths, lock, db, opening } = replica.whole(&chain)?;
        let mut store = store::finish(&settings, &paths, lock, db, opening)?;
        let begins: Vec<Memo> = store.begins.take().into_iter().collect();
        let (journal, opening) = Self::run(&settings, paths, store, Some(Leader::new(log, chain)))?;
        // Every change goes by the log.
        if let Ok(prepared) = prepare(Batch { memos: begins, ..Batch::default() })
            && let Some(writer) = journal.writer()
        {
            // The queue is empty yet.
            drop(writer.try_send(Job::Commit(prepared, oneshot::channel().0)));
        }
        Ok((journal, opening))
    }

    fn run(
        settings: &Settings,
        paths: Paths,
        store: Store,
        leader: Option<Leader>,
    ) -> Result<(Self, Opening), OpenError> {
        let durable = Arc::new(AtomicU64::new(store.last.seq));
        let shown = Arc::new(Shown {
            sink: Mutex::new(None),
            failed: watch::Sender::new(None),
            disk_low: watch::Sender::new(None),
            durable: Arc::clone(&durable),
            grown: watch::Sender::new(()),
            unseen: Unseen::default(),
            numbers: Arc::default(),
        });
        let work = store.last.work;
        let reader = Reader::new(store.trees.clone(), paths.archives(), durable);
        let waiting = Arc::new(Waiting::default());
        let counter = store::counted(&paths, &store.trees, &reader, store.last.seq)?;
        let tally = Arc::clone(counter.tally());
        let writer = Writer {
            counter,
            waiting: Arc::clone(&waiting),
            disk: Some(Disk { db: store.db, log: store.log, acked: store.acked, recent: store.recent }),
            trees: store.trees,
            dir: paths.dir.clone(),
            warn_free: settings.history.warn_free,
            heads: store.heads,
            last: store.last,
            shown: Arc::clone(&shown),
            looked: None,
            leader,
        };
        let (sender, receiver) = mpsc::channel(QUEUE);
        let (ends, over) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                let _ends: std::sync::mpsc::Sender<()> = ends;
                writer.run(receiver);
            })
            .map_err(|source| OpenError::Io {
                dir: paths.dir.clone(),
                what: "starting its thread",
                source,
            })?;
        let journal = Self::of(Parts {
            way: Way::Thread(sender),
            thread: Some(Thread { thread, over: Mutex::new(over) }),
            reader,
            waiting,
            shown,
            tally,
            work,
            id: store.id,
            missing: store.opening.missing.clone(),
            paths,
            settings: settings.clone(),
            lock: Some(store.lock),
        });
        Ok((journal, store.opening))
    }

    pub(super) fn of(parts: Parts) -> Self {
        let Parts { way, thread, reader, waiting, shown, tally, work, id, missing, paths, settings, lock } =
            parts;
        Self(Arc::new(Inner {
            way,
            thread,
            reader,
            waiting,
            shown,
            tally,
            work: AtomicU64::new(work),
            id,
            missing,
            paths,
            settings,
            maintaining: tokio::sync::Mutex::new(()),
            archive_readers: Arc::new(Semaphore::new(super::look_back::READERS)),
            unreadable: Mutex::default(),
            lock: Mutex::new(lock),
        }))
    }

    /// Stores a batch; resolves when it is on disk.
    ///
    /// # Errors
    /// See [`CommitError`]; nothing of the batch is acknowledged.
    pub async fn commit(&self, batch: Batch) -> Result<Receipt, CommitError> {
        if let Way::Here(here) = &self.0.way {
            let shown = batch.clone();
            here.step(Step::Commits(&shown)).await;
            let receipt = self.store(batch).await?;
            here.step(Step::Committed(&shown, &receipt)).await;
            return Ok(receipt);
        }
        self.store(batch).await
    }

    async fn store(&self, mut batch: Batch) -> Result<Receipt, CommitError> {
        // A herder that can read those entries rebuilds the state with them; a snapshot would make it start after them.
        if !self.unread().events.is_empty() {
            batch.snapshots.retain(|snapshot| snapshot.stream != Stream::Fleet);
        }
        let logged = log_lines(&batch);
        let prepared = prepare(batch)?;
        self.0.work.fetch_max(prepared.work, Ordering::Relaxed);
        let receipt = self.ask(|done| Job::Commit(prepared, done)).await??;
        for (write, stream, back, line) in logged {
            let last = receipt.revs.get(write).copied().unwrap_or_default();
            line.write(&stream, last.saturating_sub(back));
        }
        Ok(receipt)
    }

    /// Removes delivered posts from the outbox, or records the number of delivered lines; resolves when that is on disk.
    ///
    /// # Errors
    /// The journal has failed or is closed.
    pub async fn confirm(&self, confirmed: Vec<Confirmed>) -> Result<(), CommitError> {
        self.settle(confirmed.into_iter().map(Settled::Delivered).collect()).await
    }

    /// Records deliveries and collapses, in order and in one transaction; resolves when that is on disk.
    ///
    /// # Errors
    /// The journal has failed or is closed.
    pub async fn settle(&self, settled: Vec<Settled>) -> Result<(), CommitError> {
        if settled.is_empty() {
            return Ok(());
        }
        if let Way::Here(here) = &self.0.way {
            here.step(Step::Settles(&settled)).await;
            self.ask(|done| Job::Settle(settled.clone(), done)).await??;
            here.step(Step::Settled(&settled)).await;
            return Ok(());
        }
        self.ask(|done| Job::Settle(settled, done)).await?
    }

    /// Returns the networks that have pending posts. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn networks_owed(&self) -> Result<Vec<NetworkName>, ReadError> {
        self.guarded(|| self.0.reader.networks_owed())
    }

    /// Loads the state that a stream's entries make. Blocks.
    ///
    /// # Errors
    /// The database or an archive cannot be read.
    pub fn load<S: Aggregate>(&self, stream: &Stream) -> Result<Loaded<S>, ReadError> {
        self.guarded(|| replay::load(&self.0.reader, stream))
    }

    /// Loads a stream's state like [`Journal::load`], but fails if entries are missing: an agent that has forgotten
    /// that it was paused would continue. Losses reported when the journal was opened are accepted. Blocks.
    ///
    /// # Errors
    /// The database or an archive cannot be read, or entries are missing.
    pub fn load_whole<S: Aggregate>(&self, stream: &Stream) -> Result<Loaded<S>, ReadError> {
        let loaded = self.load(stream)?;
        let Loaded { missing, whole: after, .. } = loaded;
        if missing == 0 || self.missing().iter().any(|known| known.stream == *stream) {
            return Ok(loaded);
        }
        Err(ReadError::Incomplete { stream: stream.clone(), missing, after })
    }

    pub(super) fn unread(&self) -> MutexGuard<'_, Unreadable> {
        self.0.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the losses found when the journal was opened.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.0.missing
    }

    /// Runs a blocking read on a thread for blocking work; in memory it runs directly.
    ///
    /// # Errors
    /// It panicked, or the runtime shuts down.
    pub async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        if let Way::Here(_) = &self.0.way {
            return Ok(read(self));
        }
        let journal = self.clone();
        tokio::task::spawn_blocking(move || read(&journal)).await
    }

    /// Returns the keys and values of the memos whose keys begin with `prefix`, in the order of the keys. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn memos(&self, prefix: &str) -> Result<Vec<(String, String)>, ReadError> {
        self.guarded(|| self.0.reader.memos(prefix))
    }

    /// Stores memos; resolves when they are on disk.
    ///
    /// # Errors
    /// The journal has failed or is closed, or a memo is too long.
    pub async fn remember(&self, memos: Vec<Memo>) -> Result<(), CommitError> {
        if memos.is_empty() {
            return Ok(());
        }
        self.commit(Batch { memos, ..Batch::default() }).await.map(drop)
    }

    /// Stores the time as a sign of life, from which a later start computes how long herder was down: one value that is
    /// overwritten.
    ///
    /// # Errors
    /// The journal has failed or is closed.
    pub async fn live(&self, at: Timestamp) -> Result<(), CommitError> {
        self.commit(Batch { at, ..Batch::default() }).await.map(drop)
    }

    /// Returns the first `most` pending posts after `after` for a target on a network. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn undelivered_after(
        &self,
        network: &NetworkName,
        to: &Target,
        after: PostId,
        most: usize,
    ) -> Result<Vec<Post>, ReadError> {
        self.guarded(|| self.0.reader.undelivered_after(network, to, after, most))
    }

    /// Passes all posts of later commits to `sink`. Takes effect for every commit requested after this returns.
    pub fn deliver_to(&self, sink: Arc<dyn PostSink>) {
        self.0.shown.set_sink(Some(sink));
    }

    /// Returns the last `limit` entries of a stream before revision `before`, oldest first, also from archives.
    /// Unreadable ones are left out. Blocks.
    ///
    /// # Errors
    /// The database or an archive cannot be read.
    pub fn history(
        &self,
        stream: &Stream,
        limit: usize,
        before: Option<u64>,
    ) -> Result<Vec<Recorded>, ReadError> {
        self.guarded(|| self.0.reader.history(stream, limit, before))
    }

    /// Returns true if anything was ever recorded in a stream: one look-up in the database's cache.
    #[must_use]
    pub fn has(&self, stream: &Stream) -> bool {
        self.guarded(|| self.0.reader.head(stream)).is_ok_and(|head| head.rev > 0)
    }

    /// Returns the agents that have any recorded entry, also removed ones. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentName>, ReadError> {
        let heads = self.guarded(|| self.0.reader.heads())?;
        let agent = |(stream, _)| match stream {
            Stream::Agent(agent) => Some(agent),
            Stream::Fleet | Stream::Audit => None,
        };
        Ok(heads.into_iter().filter_map(agent).collect())
    }

    /// Returns a new work id that no entry has.
    #[must_use]
    pub fn fresh_work_id(&self) -> WorkId {
        WorkId(self.0.work.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Returns a receiver of the reason why the journal cannot be written any more; `None` while it can.
    #[must_use]
    pub fn failed(&self) -> watch::Receiver<Option<String>> {
        self.0.shown.failed.subscribe()
    }

    /// Returns a receiver of the disk's free bytes while they are fewer than `warn_free`; `None` otherwise.
    #[must_use]
    pub fn disk_low(&self) -> watch::Receiver<Option<u64>> {
        self.0.shown.disk_low.subscribe()
    }

    /// Returns the counts of recorded sessions, restarts and evaluations, for `/metrics`.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.0.tally
    }

    /// Returns the counts and durations of this run, for `/metrics`, to which any holder of the journal can add.
    #[must_use]
    pub fn numbers(&self) -> &Arc<Numbers> {
        &self.0.shown.numbers
    }

    /// Returns the journal's id: random, assigned at its creation, permanent.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Writes to the log that bots share that this one is in office; resolves when the log has it. Does nothing for a bot
    /// alone.
    ///
    /// # Errors
    /// The journal is closed.
    pub async fn mark(&self) -> Result<(), CommitError> {
        self.ask(Job::Mark).await
    }

    /// Waits until the journal is closed. One in memory never is.
    pub async fn closed(&self) {
        match self.writer() {
            Some(writer) => writer.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Finishes queued work, stops writing and releases the folder's lock, although handles for reading may remain;
    /// later commits fail with [`CommitError::Closed`].
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if let Way::Thread(jobs) = &self.0.way
            && jobs.send(Job::Close(done)).await.is_ok()
        {
            // An error means that the writer is gone, as requested.
            let _ = closed.await;
        }
        self.0.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.0.shown.set_sink(None);
    }

    /// Runs a read of the database; a failure of sled is returned with a remedy.
    pub(super) fn guarded<T>(&self, read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
        guarded(read).map_err(|error| self.advised(error))
    }

    /// Adds a remedy to an error of sled.
    pub(super) fn advised(&self, error: ReadError) -> ReadError {
        let paths = self.paths();
        let refused =
            |cause| ReadError::Refused { dir: paths.dir.clone(), cause, advice: refusal::advice(paths) };
        match error {
            ReadError::Store(error) => refused(refusal::plain(&error)),
            ReadError::Damaged(cause) => refused(cause),
            error => error,
        }
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.0.reader
    }

    pub(super) fn shown(&self) -> &Shown {
        &self.0.shown
    }

    pub(super) fn waiting(&self) -> &Waiting {
        &self.0.waiting
    }

    /// Returns the channel to the writer's thread; `None` if the journal is in memory or closed.
    pub(super) fn writer(&self) -> Option<&mpsc::Sender<Job>> {
        match &self.0.way {
            Way::Thread(jobs) => Some(jobs),
            Way::Here(_) | Way::Gone => None,
        }
    }

    /// Returns the path of the data folder, which contains the journal.
    #[must_use]
    pub fn data_dir(&self) -> &std::path::Path {
        &self.paths().dir
    }

    pub(super) fn paths(&self) -> &Paths {
        &self.0.paths
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(super) fn maintaining(&self) -> &tokio::sync::Mutex<()> {
        &self.0.maintaining
    }

    pub(super) fn archive_readers(&self) -> Arc<Semaphore> {
        Arc::clone(&self.0.archive_readers)
    }

    /// Sends a job to the writer, runs it there, and returns the result.
    pub(super) async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, CommitError> {
        match &self.0.way {
            Way::Thread(jobs) => {
                let (done, answer) = oneshot::channel();
                jobs.send(job(done)).await.map_err(|_| CommitError::Closed)?;
                answer.await.map_err(|_| CommitError::Closed)
            }
            Way::Here(here) => here.run(job),
            Way::Gone => Err(CommitError::Closed),
        }
    }
}

/// Runs a read of the database and turns a panic into an error: sled panics on some damage.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|panic| Err(ReadError::Damaged(refusal::panic_text(&*panic))))
}

/// Returns the log lines of a batch, each with the index of the write, the stream, and the number of entries of the
/// write after it. Empty if the log level disables such lines.
fn log_lines(batch: &Batch) -> Vec<(usize, Stream, u64, LogLine)> {
    if !log_line::is_read() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (index, write) in batch.writes.iter().enumerate() {
        let mut context = batch.about.clone().unwrap_or_default();
        for (back, entry) in
            (0..).zip(write.entries.iter().rev()).collect::<Vec<(u64, _)>>().into_iter().rev()
        {
            let line = log_line::line(entry).map(|line| context.complete(entry, line));
            lines.extend(line.map(|line| (index, write.stream.clone(), back, line)));
        }
    }
    lines
}
