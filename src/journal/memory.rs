//! A journal without a disk, for simulations: the same code over tables in memory, without a thread, so that a commit
//! is complete when the call returns. An observer is called before and after every step, and may end herder there:
//! then that step, or the next one, never returns.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

use crate::config;

use super::handle::{Journal, Parts, Way};
use super::layout::{Last, Trees};
use super::query::Reader;
use super::store::{self, Paths};
use super::unseen::Unseen;
use super::writer::{Job, Shown, Writer};
use super::{Batch, CommitError, OpenError, Receipt, Settings, Settled};

/// The data that outlives herder: a new journal can be opened on it.
#[derive(Debug, Clone, Default)]
pub struct Memory(Trees);

/// A step of a journal in memory.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// A batch will be stored.
    Commits(&'a Batch),
    /// The batch is stored, and the caller does not know yet.
    Committed(&'a Batch, &'a Receipt),
    /// Changes of posts will be stored.
    Settles(&'a [Settled]),
    /// The changes are stored, and the caller does not know yet.
    Settled(&'a [Settled]),
}

/// An observer of steps. Returns true if herder lives on.
pub type Onlooker = dyn Fn(Step<'_>) -> bool + Send + Sync;

/// The writer of a journal in memory.
pub(super) struct Here {
    writer: Mutex<Writer>,
    onlooker: Arc<Onlooker>,
}

impl Here {
    /// Runs a job at once.
    pub(super) fn run<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, CommitError> {
        let (done, mut answer) = oneshot::channel();
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).do_now(job(done));
        answer.try_recv().map_err(|_| CommitError::Closed)
    }

    /// Calls the observer; never returns if herder ends here.
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
        history: config::History,
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
