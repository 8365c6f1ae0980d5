//! Records that nobody waits for: they are stored with the next commit, or on their own after a short while.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::handle::{Journal, prepare};
use super::writer::{Job, Prepared};
use super::{Batch, CommitError};

/// The longest such a record waits for a commit to go with: on a usual disk it is stored 50 ms after it was handed over.
const STORED_WITHIN: Duration = Duration::from_millis(40);

/// The most that wait. While the disk hangs, whoever comes next waits for it as for any other commit.
const WAITING_MAX: usize = 1024;

/// Records that wait for the next commit, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    batches: Mutex<Vec<Prepared>>,
    /// At most one at a time: the one that stores what no commit has taken along.
    storing: TaskTracker,
}

impl Waiting {
    fn batches(&self) -> MutexGuard<'_, Vec<Prepared>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, to be stored before anything else.
    pub(super) fn take(&self) -> Vec<Prepared> {
        std::mem::take(&mut *self.batches())
    }
}

impl Journal {
    /// Stores a batch before whatever is committed next, and 40 ms later at the latest. A herder that is killed before that
    /// has never heard of it; the order of what is stored is kept.
    ///
    /// # Errors
    /// See [`CommitError`]; nothing of the batch is stored.
    pub async fn commit_soon(&self, batch: Batch) -> Result<(), CommitError> {
        let Some(jobs) = self.jobs().filter(|_| self.waiting().batches().len() < WAITING_MAX) else {
            return self.commit(batch).await.map(drop);
        };
        if let Some(reason) = self.failed().borrow().clone() {
            return Err(CommitError::Failed(reason));
        }
        if jobs.is_closed() {
            return Err(CommitError::Closed);
        }
        let prepared = prepare(batch)?;
        let first = {
            let mut batches = self.waiting().batches();
            batches.push(prepared);
            batches.len() == 1
        };
        if first {
            // It keeps no journal open: a writer that ends stores what waits.
            let jobs = jobs.downgrade();
            self.waiting().storing.spawn(async move {
                tokio::time::sleep(STORED_WITHIN).await;
                let Some(jobs) = jobs.upgrade() else { return };
                let (done, stored) = tokio::sync::oneshot::channel();
                if jobs.send(Job::Settle(Vec::new(), done)).await.is_ok() {
                    // A journal that fails says so itself.
                    let _ = stored.await;
                }
            });
        }
        Ok(())
    }

    /// Stores what waits for a commit, so that it can be read.
    ///
    /// # Errors
    /// The journal has failed or is closed.
    pub(super) async fn store_waiting(&self) -> Result<(), CommitError> {
        if self.waiting().batches().is_empty() {
            return Ok(());
        }
        self.ask(|done| Job::Settle(Vec::new(), done)).await?
    }
}
