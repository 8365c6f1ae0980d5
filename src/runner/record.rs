//! The record of this runner on disk, from before its first agent until its orderly end. From it the next runner learns
//! which processes a killed one may have set free, so that it takes none of them for a bot.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::{info, warn};

use crate::runtime::ProcessTrees;
use crate::runtime::process::Identity;
use crate::runtime::process::descent::{Record, nobody_left};

/// The record of this run, with that of earlier ones that did not end in order.
#[derive(Debug)]
pub(super) struct Life {
    path: PathBuf,
    /// `None` if `/proc` lacks the information for it.
    own: Option<Record>,
    past: Mutex<Option<Record>>,
    trees: ProcessTrees,
}

impl Life {
    /// Stores the record of this run, and tells the service for process trees which processes a killed runner had
    /// adopted. Returns the record of runners of this boot that were killed as well. `own` was made before `trees`.
    pub(super) fn begin(path: PathBuf, own: Option<Record>, trees: &ProcessTrees) -> (Self, Option<Record>) {
        let noted = read(&path);
        let past = noted.filter(|past| own.as_ref().is_some_and(|own| own.follows(past)));
        if let Some(past) = &past {
            trees.inherit(past.strays());
        }
        let life = Self { path, own, past: Mutex::new(past.clone()), trees: trees.clone() };
        life.note(&BTreeSet::new());
        (life, past)
    }

    /// Returns the record of killed runners if processes of theirs may still run, once the known ones were ended; else
    /// forgets that record. The bot that has started this runner, and what descends from it, do not count.
    pub(super) async fn past(&self, past: Option<Record>, parent: Option<Identity>) -> Option<Record> {
        let past = past?;
        let looked_at = past.clone();
        let none = tokio::task::spawn_blocking(move || nobody_left(&looked_at, parent.map(|it| it.pid)))
            .await
            .unwrap_or(false);
        if !none {
            info!("an earlier runner did not end in order, and processes run that may have been its agents'");
            return Some(past);
        }
        *self.earlier() = None;
        self.note(&BTreeSet::new());
        None
    }

    /// Stores the adopted processes whenever they change.
    pub(super) async fn keep(&self) {
        let mut adopted = self.trees.adopted();
        while adopted.changed().await.is_ok() {
            let strays = adopted.borrow_and_update().clone();
            self.note(&strays);
        }
    }

    /// Removes the record of this run at its orderly end, unless a child process is left.
    pub(super) fn end(&self) {
        if self.trees.is_childless() {
            self.store(self.earlier().as_ref());
        }
    }

    fn earlier(&self) -> MutexGuard<'_, Option<Record>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, strays: &BTreeSet<Identity>) {
        let Some(own) = self.own.clone() else { return };
        let own = own.having_adopted(strays);
        let record = match &*self.earlier() {
            Some(past) => own.with(past),
            None => own,
        };
        self.store(Some(&record));
    }

    fn store(&self, record: Option<&Record>) {
        let stored = match record {
            Some(record) => {
                let text = serde_json::to_vec(record).map_err(io::Error::from);
                text.and_then(|text| replace(&self.path, &text))
            }
            None => std::fs::remove_file(&self.path),
        };
        match stored {
            Err(reason) if record.is_some() || reason.kind() != io::ErrorKind::NotFound => {
                warn!(%reason, "which processes are the runner's could not be noted");
            }
            _ => {}
        }
    }
}

/// Returns the record of a runner that has not ended in order, or runs.
pub(super) fn left(folder: &Path) -> Option<Record> {
    read(&folder.join(super::process::RECORD))
}

fn read(path: &Path) -> Option<Record> {
    std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok())
}

/// Writes a file so that a reader finds a whole one, whenever this process is killed.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, content)?;
    std::fs::rename(beside, path)
}
