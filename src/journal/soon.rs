//! Records that can wait for a while: they are stored with the next commit, or on their own shortly after.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::handle::{Journal, prepare};
use super::writer::Job;
use super::{Batch, CommitError, Settled};

/// The longest such a record waits for a commit to go with: on a usual disk it is stored 50 ms after it was handed over.
const STORED_WITHIN: Duration = Duration::from_millis(40);

/// The most that wait. While the disk hangs, whoever comes next waits for it as for any other commit.
const WAITING_MAX: usize = 1024;

/// Records that wait for the next commit, in the order in which they came.
#[derive(Default)]
pub(super) struct Waiting {
    jobs: Mutex<Vec<Job>>,
    /// Those that store what no commit has taken along.
    storing: TaskTracker,
}

impl Waiting {
    fn jobs(&self) -> MutexGuard<'_, Vec<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, to be stored before anything else.
    pub(super) fn take(&self) -> Vec<Job> {
        std::mem::take(&mut *self.jobs())
    }

    fn add(&self, job: Job, writer: &mpsc::Sender<Job>) {
        let first = {
            let mut jobs = self.jobs();
            jobs.push(job);
            jobs.len() == 1
        };
        if !first {
            return;
        }
        // It keeps no journal open: a writer that ends stores what waits.
        let writer = writer.downgrade();
        self.storing.spawn(async move {
            tokio::time::sleep(STORED_WITHIN).await;
            if let Some(writer) = writer.upgrade() {
                // A journal that is closed has stored it.
                let _ = writer.send(nothing()).await;
            }
        });
    }
}

/// A job that takes what waits along.
fn nothing() -> Job {
    Job::Settle(Vec::new(), oneshot::channel().0)
}

impl Journal {
    /// Stores a batch before whatever is committed next, and 40 ms later at the latest. A herder that is killed before that
    /// has never heard of it; the order of what is stored is kept.
    ///
    /// # Errors
    /// See [`CommitError`]; nothing of the batch is stored.
    pub async fn commit_soon(&self, batch: Batch) -> Result<(), CommitError> {
        let Some(writer) = self.writer().filter(|_| self.waiting().jobs().len() < WAITING_MAX) else {
            return self.commit(batch).await.map(drop);
        };
        if let Some(reason) = self.failed().borrow().clone() {
            return Err(CommitError::Failed(reason));
        }
        if writer.is_closed() {
            return Err(CommitError::Closed);
        }
        let prepared = prepare(batch)?;
        self.waiting().add(Job::Commit(prepared, oneshot::channel().0), writer);
        Ok(())
    }

    /// As [`Journal::settle`], with the next commit, or 40 ms later at the latest. [`Journal::store_waiting`] ends the wait.
    ///
    /// # Errors
    /// The journal has failed or is closed.
    pub async fn settle_soon(&self, settled: Vec<Settled>) -> Result<(), CommitError> {
        let Some(writer) = self.writer().filter(|writer| !settled.is_empty() && !writer.is_closed()) else {
            return self.settle(settled).await;
        };
        let (done, stored) = oneshot::channel();
        self.waiting().add(Job::Settle(settled, done), writer);
        stored.await.map_err(|_| CommitError::Closed)?
    }

    /// Has stored what waits for a commit, without one.
    pub fn store_waiting(&self) {
        if let Some(writer) = self.writer().filter(|_| !self.waiting().jobs().is_empty()) {
            // A writer that has jobs takes it along with one of them.
            let _ = writer.try_send(nothing());
        }
    }

    /// Waits until what waited for a commit can be read, and what the writer has just taken along.
    pub(super) async fn waiting_is_stored(&self) -> Result<(), CommitError> {
        self.ask(|done| Job::Settle(Vec::new(), done)).await?
    }
}
