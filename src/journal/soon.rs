//! Deferred records: stored with the next commit, or on their own shortly after.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::handle::Journal;
use super::prepare::prepare;
use super::writer::Job;
use super::{Batch, CommitError, Settled};

/// Maximum time that a deferred record waits for a commit: on a usual disk it is then stored within 50 ms.
const STORED_WITHIN: Duration = Duration::from_millis(40);

/// Maximum number of deferred records. While the disk hangs, further ones wait like any other commit.
const WAITING_MAX: usize = 1024;

/// Deferred records, which wait for the next commit, in order of arrival.
#[derive(Default)]
pub(super) struct Waiting {
    jobs: Mutex<Vec<Job>>,
    /// Tasks that store deferred records for which no commit came.
    storing: TaskTracker,
}

impl Waiting {
    fn jobs(&self) -> MutexGuard<'_, Vec<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all deferred records, to be stored before anything else.
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
        // A weak reference, which keeps no journal open: a writer that ends stores the waiting records.
        let writer = writer.downgrade();
        self.storing.spawn(async move {
            tokio::time::sleep(STORED_WITHIN).await;
            if let Some(writer) = writer.upgrade() {
                // A closed journal has stored them.
                let _ = writer.send(nothing()).await;
            }
        });
    }
}

/// Returns a job without content, at which the writer stores the deferred records.
fn nothing() -> Job {
    Job::Settle(Vec::new(), oneshot::channel().0)
}

impl Journal {
    /// Stores a batch with the next commit, at the latest after 40 ms, without waiting for it. A herder that is killed
    /// before that loses the batch; the order of stored records is kept.
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

    /// Settles posts like [`Journal::settle`], with the next commit, at the latest after 40 ms.
    /// [`Journal::store_waiting`] ends the wait.
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

    /// Stores the deferred records now, without a commit.
    pub fn store_waiting(&self) {
        if let Some(writer) = self.writer().filter(|_| !self.waiting().jobs().is_empty()) {
            // A busy writer takes them with one of its jobs.
            let _ = writer.try_send(nothing());
        }
    }

    /// Waits until the deferred records can be read, also those that the writer has just taken.
    pub(super) async fn waiting_is_stored(&self) -> Result<(), CommitError> {
        self.ask(|done| Job::Settle(Vec::new(), done)).await?
    }
}
