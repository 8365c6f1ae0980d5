//! The writer: one thread that takes the waiting jobs, stores them in one transaction, syncs it to disk, then answers.

use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};

use crate::core::post::Post;
use crate::core::time::Timestamp;
use crate::numbers::Numbers;

use super::acked::Acked;
use super::error::in_words;
use super::handle::{PostSink, guarded};
use super::layout::{Head, Last, Trees};
use super::query::Owed;
use super::recent::Recent;
use super::shared::Position;
use super::shared::leader::Leader;
use super::shared::record::Body;
use super::soon::Waiting;
use super::staging::{Changes, Stage};
use super::tally::{Count, Counter};
use super::unseen::Unseen;
use super::{CommitError, Memo, ReadError, Receipt, Settled, Snapshot, Stream, disk};

/// Capacity of the writer's queue. A supervisor has at most one batch in it, so that this suffices for a fleet of
/// thousands; beyond it callers wait, as they should when the disk is too slow.
pub(super) const QUEUE: usize = 4096;

/// Maximum number of jobs in one group, which is stored in one transaction with one fsync.
const GROUP_JOBS: usize = 512;

/// Maximum size of one group, in bytes: some tens of milliseconds of writing, for which later jobs wait.
const GROUP_BYTES: usize = 4 << 20;

/// Interval at which the free disk space is checked while there is work: one call of a microsecond. An idle journal
/// fills no disk and causes no wake-up.
const DISK_EVERY: Duration = Duration::from_secs(1);

/// A batch converted to JSON, ready for the writer.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) at: Timestamp,
    pub(super) writes: Vec<PreparedWrite>,
    /// The posts of the batch with their JSON; `None` for one that is passed on but not stored.
    pub(super) posts: Vec<(Post, Option<Vec<u8>>)>,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) memos: Vec<Memo>,
    pub(super) counts: Vec<Count>,
    pub(super) work: u64,
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) struct PreparedWrite {
    pub(super) stream: Stream,
    pub(super) expected_rev: Option<u64>,
    pub(super) bodies: Vec<Vec<u8>>,
}

type Done<T, E = CommitError> = oneshot::Sender<Result<T, E>>;

/// A job for the writer, with the channel for its result.
pub(super) enum Job {
    Commit(Prepared, Done<Receipt>),
    Settle(Vec<Settled>, Done<()>),
    /// Removes the events up to and including this number from the database, after they were archived.
    Forget(u64, Done<(), ForgetError>),
    /// Takes a consistent copy of everything except the events, for an export.
    Capture(Done<Captured, ReadError>),
    LookAtDisk(oneshot::Sender<()>),
    /// Writes a record without changes to the log that bots share: this one is in office.
    Mark(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

/// A consistent copy of everything in the database except the events, as of the event `last.seq`.
#[derive(Debug)]
pub(super) struct Captured {
    pub(super) last: Last,
    pub(super) heads: Vec<(Stream, Head)>,
    pub(super) posts: Vec<Owed>,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) memos: Vec<(String, String)>,
    /// The place in the log that bots share.
    pub(super) log: Option<Position>,
}

/// State of the writer that handles of the journal can read.
pub(super) struct Shown {
    pub(super) sink: Mutex<Option<Arc<dyn PostSink>>>,
    pub(super) failed: watch::Sender<Option<String>>,
    pub(super) disk_low: watch::Sender<Option<u64>>,
    pub(super) durable: Arc<AtomicU64>,
    /// Wakes readers that follow the journal when more is on disk.
    pub(super) grown: watch::Sender<()>,
    pub(super) unseen: Unseen,
    pub(super) numbers: Arc<Numbers>,
}

impl Shown {
    /// Returns the receiver of stored posts, if there is one.
    fn sink(&self) -> Option<Arc<dyn PostSink>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_sink(&self, sink: Option<Arc<dyn PostSink>>) {
        *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }
}

pub(super) struct Writer {
    /// Deferred records, which are stored before anything else.
    pub(super) waiting: Arc<Waiting>,
    /// The open files of the journal; `None` if it is in memory.
    pub(super) disk: Option<Disk>,
    pub(super) trees: Trees,
    pub(super) dir: PathBuf,
    pub(super) warn_free: u64,
    pub(super) heads: HashMap<Stream, Head>,
    pub(super) last: Last,
    pub(super) shown: Arc<Shown>,
    pub(super) counter: Counter,
    pub(super) looked: Option<Instant>,
    /// The log that bots share; `None` for a bot alone.
    pub(super) leader: Option<Leader>,
}

/// The files of an open journal.
pub(super) struct Disk {
    pub(super) db: sled::Db,
    /// sled's log file, for the `fdatasync` that sled leaves out: the same inode as sled's own handle.
    pub(super) log: File,
    pub(super) acked: Acked,
    pub(super) recent: Recent,
}

/// The reason why events were not removed after they were archived.
#[derive(Debug)]
pub(super) enum ForgetError {
    /// The events cannot be read, and stay.
    Read(ReadError),
    /// The journal cannot be written.
    Commit(CommitError),
}

/// A job whose changes are in the group, to be answered once the group is on disk.
enum Answer {
    Commit(Done<Receipt>, Receipt, Vec<Post>),
    Settle(Done<()>),
    Forget(Done<(), ForgetError>),
}

impl Writer {
    /// Runs jobs until the journal is closed or every handle is dropped.
    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut carried = None;
        while let Some(first) = carried.take().or_else(|| jobs.blocking_recv()) {
            let (group, next) = gather(self.waiting.take(), first, &mut jobs);
            carried = next;
            self.shown.numbers.writer.begin();
            if !group.is_empty() {
                self.commit(group);
                self.rest();
                continue;
            }
            let closed = carried.take().map(|job| self.control(job));
            self.rest();
            if let Some(closed) = closed.flatten() {
                jobs.close();
                while let Ok(job) = jobs.try_recv() {
                    refuse(job, &CommitError::Closed);
                }
                self.last_words();
                drop(self);
                // The caller may be gone; that changes nothing.
                let _ = closed.send(());
                return;
            }
        }
        self.last_words();
    }

    /// Notes that the writer waits for work again. One that has failed is stuck for good.
    fn rest(&self) {
        if self.shown.failed.borrow().is_none() {
            self.shown.numbers.writer.end();
        }
    }

    /// Stores the deferred records before the writer ends, as no commit follows.
    fn last_words(&mut self) {
        let group = self.waiting.take();
        if !group.is_empty() {
            self.commit(group);
        }
        self.resign();
    }

    /// Runs one job of any kind, for a journal in memory.
    pub(super) fn do_now(&mut self, job: Job) {
        if let Some(closed) = self.control(job) {
            // The caller may be gone; that changes nothing.
            let _ = closed.send(());
        }
    }

    /// Runs a job that is not part of a group. Returns the channel to answer if it is a close.
    fn control(&mut self, job: Job) -> Option<oneshot::Sender<()>> {
        match job {
            Job::Capture(done) => {
                let _ = done.send(self.capture());
            }
            Job::LookAtDisk(done) => {
                self.look_at_disk();
                let _ = done.send(());
            }
            Job::Mark(done) => {
                self.mark();
                let _ = done.send(());
            }
            Job::Close(closed) => return Some(closed),
            Job::Commit(..) | Job::Settle(..) | Job::Forget(..) => self.commit(vec![job]),
        }
        None
    }

    fn commit(&mut self, group: Vec<Job>) {
        if let Some(reason) = self.shown.failed.borrow().clone() {
            for job in group {
                refuse(job, &CommitError::Failed(reason.clone()));
            }
            return;
        }
        let forgotten = group.iter().find_map(|job| match job {
            Job::Forget(upto, _) => Some(*upto),
            _ => None,
        });
        let mut stage = Stage::new(&self.trees, &self.heads, self.last);
        let (mut answers, mut jobs) = (Vec::new(), group.into_iter());
        let staged = jobs.by_ref().try_for_each(|job| {
            answers.extend(stage_job(&mut stage, job)?);
            Ok::<(), Broken>(())
        });
        if let Err(Broken { reason, answer }) = staged {
            self.fail(&reason, answers);
            answer(CommitError::Failed(reason.clone()));
            for job in jobs {
                refuse(job, &CommitError::Failed(reason.clone()));
            }
            return;
        }
        if answers.is_empty() {
            return;
        }
        let mut staged = stage.finish();
        for count in &staged.counts {
            if let Count::Session(_, _, ran) = count {
                self.shown.numbers.session_seconds.observe(*ran);
            }
        }
        self.counter.add(std::mem::take(&mut staged.counts));
        if forgotten.is_none() {
            self.counter.store(&mut staged.changes, staged.last.seq);
        }
        let begun = now();
        let stored = self.append(&mut staged.changes, forgotten).and_then(|()| self.store(&staged.changes));
        self.shown.numbers.commit_seconds.observe(begun.elapsed());
        if let Err(reason) = stored {
            self.fail(&reason, answers);
            return;
        }
        self.last = staged.last;
        self.acknowledge(&staged.heads);
        if let Some(disk) = &mut self.disk {
            disk.recent.add(&staged.changes);
        }
        self.shown.unseen.stored(&staged.heads, &self.heads);
        self.heads.extend(staged.heads);
        let before = self.shown.durable.swap(self.last.seq, Ordering::AcqRel);
        if self.last.seq > before {
            self.shown.grown.send_replace(());
        }
        self.tell(answers);
        if self.disk.is_some() && self.looked.is_none_or(|at| at.elapsed() >= DISK_EVERY) {
            self.look_at_disk();
        }
    }

    /// Appends a group to the log that bots share, if there is one; it counts when this returns.
    fn append(&mut self, changes: &mut Changes, forgotten: Option<u64>) -> Result<(), String> {
        let Some(leader) = self.leader.as_mut().filter(|_| !changes.is_empty()) else { return Ok(()) };
        let appended = match forgotten {
            Some(upto) => leader.append(Body::Forget { upto }),
            None => leader.group(changes),
        };
        changes.position(leader.position());
        if appended.is_err() {
            // It is not in office, so that it has nothing to give up.
            self.leader = None;
        }
        appended.map_err(|error| error.to_string())
    }

    /// Writes to the log that this bot is in office.
    fn mark(&mut self) {
        let is_failed = self.shown.failed.borrow().is_some();
        let Some(leader) = self.leader.as_mut().filter(|_| !is_failed) else { return };
        let marked = leader.append(Body::Mark);
        let is_noted = leader.is_note_due(now());
        let mut changes = Changes::default();
        changes.position(leader.position());
        let stored = match marked {
            Ok(()) if is_noted => self.store(&changes),
            Ok(()) => Ok(()),
            Err(error) => {
                self.leader = None;
                Err(error.to_string())
            }
        };
        if let Err(reason) = stored {
            self.fail(&reason, Vec::new());
        }
    }

    /// Writes to the log that this bot gives the office up. Another one is in office at once then.
    fn resign(&mut self) {
        let Some(mut leader) = self.leader.take() else { return };
        if let Err(reason) = leader.append(Body::Resign) {
            tracing::warn!(%reason, "the log does not say that this bot has ended");
        }
    }

    /// Writes one transaction and syncs it; it is on disk when this returns. With a log that bots share it is there
    /// already, and the disk is synced about once a second.
    fn store(&mut self, changes: &Changes) -> Result<(), String> {
        let is_synced = self.leader.as_mut().is_none_or(|leader| leader.is_sync_due(now()));
        let stored = catch_unwind(AssertUnwindSafe(|| {
            if !changes.is_empty() {
                changes.store(&self.trees)?;
            }
            let Some(Disk { db, log, .. }) = self.disk.as_ref().filter(|_| is_synced) else { return Ok(()) };
            db.flush().map_err(|error| in_words(&error))?;
            log.sync_data().map_err(|error| format!("fdatasync: {error}"))
        }));
        stored.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    /// Marks the journal as failed, so that nothing more is committed. Acknowledged data is on disk; for the rest there
    /// is no promise.
    fn fail(&mut self, reason: &str, answers: Vec<Answer>) {
        tracing::error!(%reason, "the journal cannot be written; nothing more is committed");
        // A sled that lost its log waits forever for it when its last handle is dropped, so that these two never are.
        std::mem::forget((self.disk.as_ref().map(|disk| disk.db.clone()), self.trees.clone()));
        // A disk that fails takes no office along.
        self.resign();
        self.shown.failed.send_replace(Some(reason.to_owned()));
        let error = CommitError::Failed(reason.to_owned());
        for answer in answers {
            match answer {
                Answer::Commit(done, ..) => drop(done.send(Err(error.clone()))),
                Answer::Settle(done) => drop(done.send(Err(error.clone()))),
                Answer::Forget(done) => drop(done.send(Err(ForgetError::Commit(error.clone())))),
            }
        }
    }

    fn acknowledge(&mut self, changed: &HashMap<Stream, Head>) {
        let Some(Disk { acked, .. }) = &mut self.disk else { return };
        let written = if acked.is_stale() {
            let mut all = self.heads.clone();
            all.extend(changed.iter().map(|(stream, head)| (stream.clone(), *head)));
            acked.write(all.iter().map(|(stream, head)| (stream, head.rev)))
        } else {
            acked.write(changed.iter().map(|(stream, head)| (stream, head.rev)))
        };
        // It only guards against losses of sled; a batch that is on disk is not refused because of it.
        if let Err(error) = written {
            tracing::warn!(%error, "the revisions that were acknowledged cannot be noted");
        }
    }

    fn tell(&self, answers: Vec<Answer>) {
        for answer in answers {
            match answer {
                Answer::Commit(done, mut receipt, posts) => {
                    receipt.posts = posts;
                    self.pass_on(&receipt.posts);
                    // The batch is stored even if the caller is gone.
                    let _ = done.send(Ok(receipt));
                }
                Answer::Settle(done) => drop(done.send(Ok(()))),
                Answer::Forget(done) => drop(done.send(Ok(()))),
            }
        }
    }

    /// Passes posts to their receiver, the outbox. They are stored, so that a panic there loses none permanently.
    fn pass_on(&self, posts: &[Post]) {
        if posts.is_empty() {
            return;
        }
        let Some(sink) = self.shown.sink() else { return };
        if catch_unwind(AssertUnwindSafe(|| sink.accept(posts.to_vec()))).is_err() {
            tracing::error!("the outbox panicked; its posts are stored and go out after the next start");
        }
    }

    fn look_at_disk(&mut self) {
        self.looked = Some(now());
        if let Some(Disk { log, .. }) = &self.disk
            && let Ok(found) = log.metadata()
        {
            self.shown.numbers.journal_bytes.store(found.len(), Ordering::Relaxed);
        }
        match disk::free(&self.dir) {
            Ok(free) => {
                self.shown.numbers.disk_free_bytes.store(free, Ordering::Relaxed);
                let low = (free < self.warn_free).then_some(free);
                self.shown.disk_low.send_if_modified(|shown| {
                    let turned = shown.is_some() != low.is_some();
                    *shown = low;
                    turned
                });
            }
            Err(error) => tracing::warn!(%error, "cannot see how much of the disk is free"),
        }
    }

    fn capture(&self) -> Result<Captured, ReadError> {
        let captured = guarded(|| super::export::capture(&self.trees, self.last, &self.heads))?;
        Ok(Captured { log: self.leader.as_ref().map(Leader::position), ..captured })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the writer is a thread of its own, which tokio's time does not reach"
)]
fn now() -> Instant {
    Instant::now()
}

/// Adds waiting jobs to a group, up to the first one that cannot be part of it.
fn gather(mut group: Vec<Job>, first: Job, jobs: &mut mpsc::Receiver<Job>) -> (Vec<Job>, Option<Job>) {
    let mut bytes = 0;
    let mut next = Some(first);
    while let Some(job) = next {
        let Some(size) = size(&job) else { return (group, Some(job)) };
        bytes += size;
        group.push(job);
        if group.len() >= GROUP_JOBS || bytes >= GROUP_BYTES {
            break;
        }
        next = jobs.try_recv().ok();
    }
    (group, None)
}

/// Returns the size that a job adds to its group, in bytes; `None` if it cannot be part of one.
fn size(job: &Job) -> Option<usize> {
    match job {
        Job::Commit(prepared, _) => Some(prepared.bytes),
        Job::Settle(settled, _) => Some(settled.len() * 64),
        // A record of the log is of one kind.
        Job::Forget(..) | Job::Capture(_) | Job::LookAtDisk(_) | Job::Mark(_) | Job::Close(_) => None,
    }
}

/// Adds a job's changes to the group, or answers it at once if it cannot be part of the group.
///
/// # Errors
/// sled panicked on a job that callers wait for: the whole group is lost. The caller has to answer the job.
fn stage_job(stage: &mut Stage<'_>, job: Job) -> Result<Option<Answer>, Broken> {
    match job {
        Job::Commit(prepared, done) => match unless_panicked(|| stage.batch(prepared)) {
            Ok((receipt, posts)) => Ok(Some(Answer::Commit(done, receipt, posts))),
            Err(refused) => refused.answer(done),
        },
        Job::Settle(settled, done) => match unless_panicked(|| stage.settle(settled)) {
            Ok(()) => Ok(Some(Answer::Settle(done))),
            Err(refused) => refused.answer(done),
        },
        Job::Forget(upto, done) => {
            let before = stage.mark();
            match guarded(|| stage.forget(upto)) {
                Ok(()) => Ok(Some(Answer::Forget(done))),
                // Events that cannot be removed do no harm.
                Err(error) => {
                    stage.go_back(before);
                    let _ = done.send(Err(ForgetError::Read(error)));
                    Ok(None)
                }
            }
        }
        Job::Capture(_) | Job::LookAtDisk(_) | Job::Mark(_) | Job::Close(_) => Ok(None),
    }
}

/// A job on which sled panicked; it is answered once the journal counts as failed.
struct Broken {
    reason: String,
    answer: Box<dyn FnOnce(CommitError)>,
}

/// The reason why a job is left out of its group.
enum Refused {
    /// The job conflicts with the stored state, and changes nothing in the group.
    Alone(CommitError),
    /// sled panicked while the job was added.
    Panicked(String),
}

impl Refused {
    fn answer<T: 'static>(self, done: Done<T>) -> Result<Option<Answer>, Broken> {
        match self {
            Self::Alone(error) => {
                let _ = done.send(Err(error));
                Ok(None)
            }
            Self::Panicked(reason) => {
                Err(Broken { reason, answer: Box::new(move |error| drop(done.send(Err(error)))) })
            }
        }
    }
}

/// Runs the step that adds a job's changes and turns a panic into an error: sled is read meanwhile, and panics on some
/// damage.
fn unless_panicked<T>(staging: impl FnOnce() -> Result<T, CommitError>) -> Result<T, Refused> {
    match catch_unwind(AssertUnwindSafe(staging)) {
        Ok(staged) => staged.map_err(Refused::Alone),
        Err(panic) => Err(Refused::Panicked(panicked(&*panic))),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    format!("sled panicked: {}", super::refusal::panic_text(panic))
}

fn refuse(job: Job, error: &CommitError) {
    match job {
        Job::Commit(_, done) => drop(done.send(Err(error.clone()))),
        Job::Settle(_, done) => drop(done.send(Err(error.clone()))),
        Job::Forget(_, done) => drop(done.send(Err(ForgetError::Commit(error.clone())))),
        Job::Capture(done) => drop(done.send(Err(ReadError::Closed))),
        Job::Close(done) | Job::LookAtDisk(done) | Job::Mark(done) => drop(done.send(())),
    }
}
