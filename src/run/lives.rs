//! The record of this run on disk, from before its first agent until its orderly end. From it the next herder learns
//! which processes a killed herder may have set free; the proof is in [`crate::runtime::process::descent`].

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::journal::{Journal, Memo};
use crate::runner::link::Link;
use crate::runtime::ProcessTrees;
use crate::runtime::process::Identity;
use crate::runtime::process::descent::{Record, nobody_left};

/// Key of the memo in the journal that holds the record.
const KEY: &str = "herder/record";

/// The records of this run and of earlier runs, by which herder recognises processes that a killed herder left.
#[derive(Debug)]
pub(super) struct Life {
    journal: Journal,
    /// The record of this run; `None` if `/proc` lacks the information for it.
    own: Option<Record>,
    /// The record of earlier herders since the last boot that were killed; `None` if there are none, or none of their
    /// processes is left.
    past: Mutex<Option<Arc<Record>>>,
    adopted: watch::Receiver<BTreeSet<Identity>>,
    trees: ProcessTrees,
}

impl Life {
    /// Stores the record of this run, and tells the process-tree service which processes a killed herder had adopted.
    /// `own` was made before `trees`.
    pub(super) async fn begin(own: Option<Record>, journal: &Journal, trees: &ProcessTrees) -> Self {
        let noted = journal.reading(|journal| journal.memos(KEY)).await;
        let noted = noted.ok().and_then(Result::ok).unwrap_or_default();
        let noted = noted.into_iter().find(|(key, _)| key == KEY);
        let past = noted.and_then(|(_, value)| serde_json::from_str::<Record>(&value).ok());
        let past = past.filter(|past| own.as_ref().is_some_and(|own| own.follows(past)));
        if let Some(past) = &past {
            trees.inherit(past.strays());
        }
        let past = Mutex::new(past.map(Arc::new));
        let life =
            Self { journal: journal.clone(), own, past, adopted: trees.adopted(), trees: trees.clone() };
        life.note(&BTreeSet::new()).await;
        life
    }

    /// Returns the record of killed herders if processes of theirs may still run, once the known ones were ended; else
    /// forgets that record and returns `None`. The runner and its agents, who are known by their descent, do not count.
    pub(super) async fn past(&self, runner: Option<&Link>) -> Option<Arc<Record>> {
        let past = self.earlier()?;
        let looked_at = Arc::clone(&past);
        let runner = runner.and_then(Link::process);
        let none =
            tokio::task::spawn_blocking(move || nobody_left(&looked_at, runner)).await.unwrap_or(false);
        if !none {
            info!("an earlier herder did not end in order, and processes run that may have been its agents'");
            return Some(past);
        }
        *self.past.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.note(&BTreeSet::new()).await;
        None
    }

    fn earlier(&self) -> Option<Arc<Record>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores the processes that herder has adopted whenever they change, until `token` is cancelled.
    pub(super) async fn keep(self: Arc<Self>, token: CancellationToken) {
        let mut adopted = self.adopted.clone();
        loop {
            tokio::select! {
                changed = adopted.changed() => if changed.is_err() { return },
                () = token.cancelled() => return,
            }
            let strays = adopted.borrow_and_update().clone();
            self.note(&strays).await;
            debug!(?strays, "noted what was adopted");
        }
    }

    /// Removes the record of this run at its orderly end, unless a child process is left.
    pub(super) async fn end(&self) {
        if !self.trees.is_childless() {
            return;
        }
        match self.earlier() {
            Some(past) => self.store(Some(&past)).await,
            None => self.store(None).await,
        }
    }

    async fn note(&self, strays: &BTreeSet<Identity>) {
        let Some(own) = self.own.clone() else { return };
        let own = own.having_adopted(strays);
        let record = match self.earlier() {
            Some(past) => own.with(&past),
            None => own,
        };
        self.store(Some(&record)).await;
    }

    async fn store(&self, record: Option<&Record>) {
        let value = record.and_then(|record| serde_json::to_string(record).ok());
        if let Err(reason) = self.journal.remember(vec![Memo { key: KEY.to_owned(), value }]).await {
            warn!(%reason, "which processes are herder's could not be noted");
        }
    }
}
