//! A journal without a disk, for simulations: the same code over tables in memory, without a thread, so that a commit
//! is complete when the call returns. An observer is called before and after every step, and may end herder there:
//! then that step, or the next one, never returns.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

use super::handle::{Journal, Parts, Way};
use super::layout::{Last, Trees};
use super::query::Reader;
use super::store::{self, Paths};
use super::unseen::Unseen;
use super::writer::{Job, Shown, Writer};
use super::{Batch, CommitError, OpenError, Receipt, Settings, Settled};

/// The data of a journal in memory, which outlives a herder that is killed in a test: a new journal can be opened on
/// it.
#[derive(Debug, Clone, Default)]
pub struct Memory(Trees);

/// A step of a journal in memory at which a test can kill herder.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// The batch is about to be stored.
    Commits(&'a Batch),
    /// The batch is stored, and the caller has not been told yet.
    Committed(&'a Batch, &'a Receipt),
    /// The changes of posts are about to be stored.
    Settles(&'a [Settled]),
    /// The changes of posts are stored, and the caller has not been told yet.
    Settled(&'a [Settled]),
}

/// An observer that a test passes: called at each step, it returns false to kill herder there.
pub type Onlooker = dyn Fn(Step<'_>) -> bool + Send + Sync;

/// The writer of a journal in memory, which runs each job at once.
pub(super) struct Here {
    writer: Mutex<Writer>,
    onlooker: Arc<Onlooker>,
}

impl Here {
    /// Runs a job of the writer at once, on the caller's thread.
    pub(super) fn run<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, CommitError> {
        let (done, mut answer) = oneshot::channel();
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).do_now(job(done));
        answer.try_recv().map_err(|_| CommitError::Closed)
    }

    /// Passes a step to the observer; never returns if the observer kills herder there.
    pub(super) async fn step(&self, step: Step<'_>) {
        if !(self.onlooker)(step) {
            std::future::pending::<()>().await;
        }
    }
}

impl Journal {
    /// Opens a journal without a disk. `id` is its id; every step is passed to `onlooker`.
    ///
    /// # Errors
    /// The content of `memory` is not a journal.
    pub fn in_memory(
        memory: &Memory,
        id: &str,
        history: super::History,
        onlooker: Arc<Onlooker>,
    ) -> Result<Self, OpenError> {
        // The folder is never created: data in files is not kept.
        let settings = Settings { ballast: 0, ..Settings::new("/nonexistent/journal", history) };
        let paths = Paths::new(&settings.dir);
        let trees = memory.0.clone();
        let (heads, last): (HashMap<_, _>, Last) = store::ends(&paths, &trees)?;
        let durable = Arc::new(AtomicU64::new(last.seq));
        let shown = Arc::new(Shown {
            sink: Mutex::new(None),
            failed: watch::Sender::new(None),
            disk_low: watch::Sender::new(None),
            durable: Arc::clone(&durable),
            grown: watch::Sender::new(()),
            unseen: Unseen::default(),
            numbers: Arc::default(),
        });
        let waiting = Arc::default();
        let reader = Reader::new(trees.clone(), paths.archives(), durable);
        let counter = store::counted(&paths, &trees, &reader, last.seq)?;
        let tally = Arc::clone(counter.tally());
        let writer = Writer {
            counter,
            waiting: Arc::clone(&waiting),
            disk: None,
            trees,
            dir: PathBuf::new(),
            warn_free: 0,
            heads,
            last,
            shown: Arc::clone(&shown),
            looked: None,
            leader: None,
        };
        let here = Here { writer: Mutex::new(writer), onlooker };
        Ok(Self::of(Parts {
            way: Way::Here(Box::new(here)),
            thread: None,
            reader,
            waiting,
            shown,
            tally,
            work: last.work,
            id: id.to_owned(),
            missing: Vec::new(),
            paths,
            settings,
            lock: None,
        }))
    }
}
