//! Clones that wait for their setup: a file beside the clone says so, from before the clone is there until the setup has
//! succeeded.
//!
//! The file is beside the clone and not in it, because what runs in the clone can change all that is there. It holds
//! the output of the last setup that failed.

use std::path::PathBuf;

use super::checkout::{Checkouts, unusable};
use super::files;
use crate::core::detail::Detail;
use crate::core::id::WorkId;

/// Ending of the name of the file.
const SETUP: &str = "setup";

impl Checkouts {
    /// Returns the path of the file that is there while a task's clone waits for its setup.
    pub(super) fn waiting(&self, task: WorkId) -> PathBuf {
        self.path(task).with_extension(SETUP)
    }

    /// Notes that the clone of a task waits for its setup, unless it is there already.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) async fn await_setup(&self, task: WorkId) -> Result<(), Detail> {
        let (clone, waiting) = (self.path(task), self.waiting(task));
        let noted = self.at(&waiting, move |waiting| {
            if clone.symlink_metadata().is_ok() {
                return Ok(());
            }
            std::fs::create_dir_all(waiting.parent().unwrap_or(waiting))?;
            std::fs::write(waiting, "")
        });
        noted.await?.map_err(|error| unusable(&self.waiting(task), &error))
    }

    /// Returns true if the clone of a task waits for its setup.
    ///
    /// # Errors
    /// The disk does not answer.
    pub(crate) async fn awaits_setup(&self, task: WorkId) -> Result<bool, Detail> {
        self.at(&self.waiting(task), |waiting| waiting.symlink_metadata().is_ok()).await
    }

    /// Keeps the output of a setup that failed. The clone goes on waiting.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) async fn keep_output(&self, task: WorkId, output: String) -> Result<(), Detail> {
        let kept = self.at(&self.waiting(task), move |waiting| std::fs::write(waiting, output)).await?;
        kept.map_err(|error| unusable(&self.waiting(task), &error))
    }

    /// Notes that the clone of a task waits for no setup any more.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) async fn end_setup(&self, task: WorkId) -> Result<(), Detail> {
        let ended = self.at(&self.waiting(task), files::remove).await?;
        ended.map_err(|error| unusable(&self.waiting(task), &error))
    }
}
