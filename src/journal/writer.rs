//! The one thread that writes: it takes what waits, stores it in one transaction, puts that on the disk, then tells.

use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};

use crate::core::time::Timestamp;
use crate::outbox::Post;

use super::acked::Acked;
use super::error::in_words;
use super::handle::{PostSink, guarded};
use super::layout::{Head, Last, Trees};
use super::query::Owed;
use super::recent::Recent;
use super::soon::Waiting;
use super::staging::{Changes, Stage};
use super::unseen::Unseen;
use super::{CommitError, Memo, ReadError, Receipt, Settled, Snapshot, Stream, disk};

/// Batches that wait for the writer. A supervisor has at most one of its own here, so this is a fleet of thousands;
/// beyond it callers wait, which is the right thing when the disk cannot follow.
pub(super) const QUEUE: usize = 4096;

/// The most jobs of one group: what a slow disk's fsync is shared by.
const GROUP_JOBS: usize = 512;

/// The most bytes of one group: some tens of milliseconds of writing, which whoever comes next waits for.
const GROUP_BYTES: usize = 4 << 20;

/// How often the free space is looked at while there is work: one call of a microsecond. An idle journal fills no disk and
/// wakes nobody.
const DISK_EVERY: Duration = Duration::from_secs(1);

/// A batch whose JSON is made already, on the caller's thread.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) at: Timestamp,
    pub(super) writes: Vec<PreparedWrite>,
    /// Each with its text; `None`: passed on but not stored.
    pub(super) posts: Vec<(Post, Option<Vec<u8>>)>,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) memos: Vec<Memo>,
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

/// What the writer is asked for.
pub(super) enum Job {
    Commit(Prepared, Done<Receipt>),
    Settle(Vec<Settled>, Done<()>),
    /// Takes events up to and with this seq out of the database: an archive has them.
    Forget(u64, Done<(), ForgetError>),
    /// A consistent look at everything but the events.
    Capture(Done<Captured, ReadError>),
    LookAtDisk(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

/// Everything but the events, as it stood after event `last.seq`.
#[derive(Debug)]
pub(super) struct Captured {
    pub(super) last: Last,
    pub(super) heads: Vec<(Stream, Head)>,
    pub(super) posts: Vec<Owed>,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) memos: Vec<(String, String)>,
}

/// What the writer shows to the handle.
pub(super) struct Shown {
    pub(super) sink: Mutex<Option<Arc<dyn PostSink>>>,
    pub(super) failed: watch::Sender<Option<String>>,
    pub(super) disk_low: watch::Sender<Option<u64>>,
    pub(super) durable: Arc<AtomicU64>,
    pub(super) unseen: Unseen,
}

impl Shown {
    /// Where posts go.
    fn sink(&self) -> Option<Arc<dyn PostSink>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_sink(&self, sink: Option<Arc<dyn PostSink>>) {
        *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }
}

pub(super) struct Writer {
    /// What is stored before anything else.
    pub(super) waiting: Arc<Waiting>,
    /// Where it is written to; none: it stays in memory.
    pub(super) disk: Option<Disk>,
    pub(super) trees: Trees,
    pub(super) dir: PathBuf,
    pub(super) warn_free: u64,
    pub(super) heads: HashMap<Stream, Head>,
    pub(super) last: Last,
    pub(super) shown: Arc<Shown>,
    pub(super) looked: Option<Instant>,
}

/// The files of a journal that is open.
pub(super) struct Disk {
    pub(super) db: sled::Db,
    /// sled's file, for the `fdatasync` that sled leaves out. The same inode as sled's own handle.
    pub(super) log: File,
    pub(super) acked: Acked,
    pub(super) recent: Recent,
}

/// Why events are not taken out.
#[derive(Debug)]
pub(super) enum ForgetError {
    /// They cannot be read, and stay.
    Read(ReadError),
    /// The journal cannot be written.
    Commit(CommitError),
}

/// A job of the group that was staged, to be answered once the group is on the disk.
enum Answer {
    Commit(Done<Receipt>, Receipt, Vec<Post>),
    Settle(Done<()>),
    Forget(Done<(), ForgetError>),
}

impl Writer {
    /// Runs until it is closed or every handle is gone.
    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut carried = None;
        while let Some(first) = carried.take().or_else(|| jobs.blocking_recv()) {
            let (group, next) = gather(self.waiting.take(), first, &mut jobs);
            carried = next;
            if !group.is_empty() {
                self.commit(group);
                continue;
            }
            let Some(job) = carried.take() else { continue };
            if let Some(closed) = self.control(job) {
                jobs.close();
                while let Ok(job) = jobs.try_recv() {
                    refuse(job, &CommitError::Closed);
                }
                self.last_words();
                drop(self);
                // The caller may be gone, which changes nothing.
                let _ = closed.send(());
                return;
            }
        }
        self.last_words();
    }

    /// Stores what still waits for a commit when none follows.
    fn last_words(&mut self) {
        let group = self.waiting.take();
        if !group.is_empty() {
            self.commit(group);
        }
    }

    /// Does one job, whatever it is.
    pub(super) fn do_now(&mut self, job: Job) {
        if let Some(closed) = self.control(job) {
            // The caller may be gone, which changes nothing.
            let _ = closed.send(());
        }
    }

    /// Does what is not part of a group. Gives back the ticket of a close.
    fn control(&mut self, job: Job) -> Option<oneshot::Sender<()>> {
        match job {
            Job::Capture(done) => {
                let _ = done.send(self.capture());
            }
            Job::LookAtDisk(done) => {
                self.look_at_disk();
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
        let staged = stage.finish();
        let stored = self.store(&staged.changes);
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
        self.shown.durable.store(self.last.seq, Ordering::Release);
        self.tell(answers);
        if self.disk.is_some() && self.looked.is_none_or(|at| at.elapsed() >= DISK_EVERY) {
            self.look_at_disk();
        }
    }

    /// One transaction, on the disk when this returns.
    fn store(&self, changes: &Changes) -> Result<(), String> {
        let stored = catch_unwind(AssertUnwindSafe(|| {
            if !changes.is_empty() {
                changes.store(&self.trees)?;
            }
            let Some(Disk { db, log, .. }) = &self.disk else { return Ok(()) };
            db.flush().map_err(|error| in_words(&error))?;
            log.sync_data().map_err(|error| format!("fdatasync: {error}"))
        }));
        stored.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    /// Poisons the journal. What was acknowledged is on the disk; what was not is not promised.
    fn fail(&mut self, reason: &str, answers: Vec<Answer>) {
        tracing::error!(%reason, "the journal cannot be written; nothing more is committed");
        // sled waits for ever for its lost log when its last handle is dropped. These two never are.
        std::mem::forget((self.disk.as_ref().map(|disk| disk.db.clone()), self.trees.clone()));
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
        // It only guards against what sled loses; a batch that is on the disk is not refused for its sake.
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
                    // A caller that went away has its batch stored all the same.
                    let _ = done.send(Ok(receipt));
                }
                Answer::Settle(done) => drop(done.send(Ok(()))),
                Answer::Forget(done) => drop(done.send(Ok(()))),
            }
        }
    }

    /// Gives posts to the outbox. They are stored, so that a sink that panics loses none for good.
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
        #[expect(
            clippy::disallowed_methods,
            reason = "the writer is a thread of its own, which tokio's time does not reach"
        )]
        let now = Instant::now();
        self.looked = Some(now);
        match disk::free(&self.dir) {
            Ok(free) => {
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
        guarded(|| super::export::capture(&self.trees, self.last, &self.heads))
    }
}

/// Adds what waits to a group, up to the first job that stands alone.
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

/// What a job adds to its group; `None`: it stands alone.
fn size(job: &Job) -> Option<usize> {
    match job {
        Job::Commit(prepared, _) => Some(prepared.bytes),
        Job::Settle(settled, _) => Some(settled.len() * 64),
        Job::Forget(..) => Some(0),
        Job::Capture(_) | Job::LookAtDisk(_) | Job::Close(_) => None,
    }
}

/// Stages a job, or answers it at once when it cannot be part of the group.
///
/// # Errors
/// sled panicked over what people wait for: the whole group is lost. The job itself is answered.
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
                // Events that cannot be taken out are in nobody's way.
                Err(error) => {
                    stage.go_back(before);
                    let _ = done.send(Err(ForgetError::Read(error)));
                    Ok(None)
                }
            }
        }
        Job::Capture(_) | Job::LookAtDisk(_) | Job::Close(_) => Ok(None),
    }
}

/// sled panicked over a job, which is answered once the journal counts as failed.
struct Broken {
    reason: String,
    answer: Box<dyn FnOnce(CommitError)>,
}

/// Why a job is not part of its group.
enum Refused {
    /// It does not fit, and leaves nothing in the group.
    Alone(CommitError),
    /// sled panicked over it.
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

/// sled reads while a group is put together, and panics on some damage.
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
        Job::Close(done) | Job::LookAtDisk(done) => drop(done.send(())),
    }
}
