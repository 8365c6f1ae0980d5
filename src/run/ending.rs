//! The end of a run, in order.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::office::InOffice;
use super::{Ended, FOR_AGENTS, Herder, service};
use crate::core::notice::Notice;
use crate::core::post::Target;
use crate::runner::process;

/// Share of `drain_timeout` for pending posts after that.
const FOR_POSTS: f64 = 0.2;

/// Share of `drain_timeout` for the networks to say goodbye.
const FOR_NETWORKS: f64 = 0.1;

/// Share of `drain_timeout` for the journal to finish its pending writes.
const FOR_JOURNAL: f64 = 0.1;

impl Herder {
    /// Runs until `shutdown` is cancelled, the journal cannot be written any more, or the only network refuses herder
    /// for good; then ends everything in order.
    pub async fn wait(self, shutdown: CancellationToken) -> Ended {
        let (mut failed, mut refused) = (self.journal.failed(), self.refused.subscribe());
        let (storage_failure, refused) = tokio::select! {
            () = shutdown.cancelled() => (None, None),
            reason = failed.wait_for(Option::is_some) => (reason.ok().and_then(|reason| reason.clone()), None),
            reason = refused.wait_for(Option::is_some) => (None, reason.ok().and_then(|reason| reason.clone())),
        };
        if let Some(reason) = &refused {
            error!(%reason, "the only network refuses herder for good; herder ends");
        }
        Ended { refused, ..self.end(storage_failure).await }
    }

    async fn end(self, storage_failure: Option<String>) -> Ended {
        match &storage_failure {
            Some(_) if self.office.as_ref().is_some_and(InOffice::is_deposed) => {
                info!("another bot is in office; this one ends, and its agents work on");
            }
            Some(reason) => {
                error!(reason, "the journal cannot be written; agents are stopped and herder ends");
                let notice = Notice::StorageFailed { reason: reason.clone() };
                self.say(&Target::Alerts, &notice);
                self.say(&Target::Control, &notice);
            }
            None if self.fleet.leaves_sessions() => info!("going down; sessions go on in the runner"),
            None => {
                info!("going down");
                self.say(&Target::Control, &Notice::ShuttingDown);
            }
        }
        service::stopping(self.drain);
        self.hearing.cancel();
        if std::process::id() == 1 && self.fleet.has_runner() {
            // Nothing outlives process 1 of a container, and a runner that is killed ends no session in order.
            let stopped = process::ask(self.journal.data_dir(), process::Question::Stop);
            if tokio::time::timeout(self.drain.mul_f64(FOR_AGENTS), stopped).await.is_err() {
                warn!("the runner did not end in time");
            }
        }
        self.fleet.drain(self.drain.mul_f64(FOR_AGENTS)).await;
        let prefix = format!("{}/", self.journal.id());
        self.trees.end_marked(&prefix, Duration::ZERO).await;
        let processes_left = self.trees.count_marked(&prefix).await;
        // A hanging disk must not delay the exit: the next start takes the record as that of a killed herder.
        if tokio::time::timeout(self.drain.mul_f64(FOR_JOURNAL), self.life.end()).await.is_err() {
            warn!("the note of this run could not be taken back in time");
        }
        let flushed = tokio::time::timeout(self.drain.mul_f64(FOR_POSTS), async {
            for queue in self.queues.values().chain(self.hooks.values()) {
                queue.drained().await;
            }
        });
        if flushed.await.is_err() {
            warn!("some posts are still owed; they leave after the next start");
        }
        self.speaking.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.drain.mul_f64(FOR_NETWORKS), self.tasks.wait()).await.is_err() {
            warn!("some tasks did not end in time");
        }
        if let Some(home) = self.home {
            home.server.stop().await;
        }
        // A hanging disk must not delay the exit: everything acknowledged is on it already.
        if tokio::time::timeout(self.drain.mul_f64(FOR_JOURNAL), self.journal.close()).await.is_err() {
            warn!("the journal did not close in time");
        }
        if let Some(office) = &self.office {
            office.give_up();
        }
        let deposed = self.office.is_some_and(|office| office.is_deposed());
        Ended { processes_left, storage_failure, refused: None, deposed }
    }
}
