//! The folder in which the files of merged commits are checked: one for each repository, from one merge to the next.
//!
//! A check may change everything in it, so nothing that it has left there is believed. herder removes all that is no file
//! of the next commit, and git compares the bytes of each file that is one, by a `.git` that is beside the folder
//! meanwhile. A folder that is not right in the end is made anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::checkout::{COPIES, Checkouts, READS, unusable};
use super::merge::Step;
use super::{Call, Limits, Repository, files, words};
use crate::core::checkout::Plan;
use crate::core::detail::Detail;

/// Beginning of the names of the folders.
pub(super) const MERGED: &str = "merged-";

/// Ending of the name of the folder in which a `.git` is made.
const NEW: &str = "new";

/// Name of the files by which git takes different bytes for the same.
const ATTRIBUTES: &[u8] = b".gitattributes";

/// The limits of a list of files: some 500,000 names.
const LISTS: Limits = Limits { output: 64 * 1024 * 1024, ..COPIES };

impl Checkouts {
    /// Returns the path of the folder of a repository. `number`: that of the repository's turn.
    pub(crate) fn scratch(&self, number: usize) -> PathBuf {
        self.folder().join(format!("{MERGED}{number}"))
    }

    /// Fills the folder with the files of a merged commit, for its check.
    ///
    /// # Errors
    /// Git or the disk fails.
    pub(crate) async fn lay_out(&self, plan: &Plan, step: &Step, folder: &Path) -> Result<(), Detail> {
        let source = self.repository(plan).await?;
        let is_there = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if self.at(folder, is_there).await? {
            match Box::pin(self.refill(&source, folder, plan, &step.to)).await {
                Ok(true) => return self.copy_files(&source, folder, plan).await,
                Ok(false) => {}
                Err(reason) => tracing::debug!(%reason, "the folder of an earlier merge is not used again"),
            }
        }
        self.clear(folder).await?;
        if let Err(why) = self.fill(&source, folder, plan, &step.to).await {
            // The reason is not that this cannot be removed either.
            drop(self.clear(folder).await);
            return Err(why);
        }
        Ok(())
    }

    /// Removes the folder. One that cannot be removed is put aside until herder starts again, so that others are merged.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) async fn clear(&self, folder: &Path) -> Result<(), Detail> {
        let staging = folder.with_extension(NEW);
        let aside = format!("{MERGED}left-{:016x}", getrandom::u64().unwrap_or_default());
        let aside = self.folder().join(aside);
        let removed = self.at(folder, move |folder| {
            files::remove(&staging)?;
            files::remove(folder).or_else(|reason| {
                tracing::warn!(%reason, folder = %aside.display(), "the folder of a merge cannot be removed");
                std::fs::rename(folder, &aside)
            })
        });
        removed.await?.map_err(|error| unusable(folder, &error))
    }

    /// Changes what differs from the files of a commit. Returns false if the folder has to be made anew.
    ///
    /// # Errors
    /// Git or the disk fails; likewise.
    async fn refill(
        &self,
        source: &Repository,
        folder: &Path,
        plan: &Plan,
        commit: &str,
    ) -> Result<bool, Detail> {
        let staging = folder.with_extension(NEW);
        let git = staging.join(".git");
        self.at(&staging, files::remove).await?.map_err(|error| unusable(&staging, &error))?;
        self.clone_into(source, &staging, plan).await?;
        let own = [("GIT_DIR", git.as_path()), ("GIT_WORK_TREE", folder)];
        let call = |words| Call { folder, words, own: &own, input: &[], local: false };
        // The index has no times of files then, so that git reads each of them.
        let read = words(&["read-tree", commit]);
        self.git().ask(call(&read), COPIES).await?;
        let list = words(&["ls-files", "-z"]);
        let listed = self.git().ask(call(&list), LISTS).await?;
        let is_plain = |name: &[u8]| name.rsplit(|byte| *byte == b'/').next() != Some(ATTRIBUTES);
        if !listed.split(|byte| *byte == 0).all(is_plain) {
            return Ok(false);
        }
        let like = git.clone();
        let kept = self.at(folder, move |folder| {
            let names: BTreeSet<&[u8]> = listed.split(|byte| *byte == 0).collect();
            files::keep_only(folder, &names, &like)
        });
        kept.await?.map_err(|error| unusable(folder, &error))?;
        // git says here that files differ.
        let refresh = words(&["update-index", "-q", "--refresh"]);
        Box::pin(self.git().run(call(&refresh), COPIES)).await?;
        let checkout = words(&["checkout", "--quiet", "--force", "--no-track", "-b", &plan.branch, commit]);
        self.git().ask(call(&checkout), COPIES).await?;
        let status = words(&["status", "--porcelain", "--ignored"]);
        let status = Box::pin(self.git().run(call(&status), READS)).await?;
        // It names folders that it cannot read in its messages alone.
        if status.code != Some(0) || !status.out.is_empty() || !status.said.is_empty() {
            return Ok(false);
        }
        let to = folder.join(".git");
        let moved = self.at(&git, move |git| std::fs::rename(git, to).and_then(|()| files::remove(&staging)));
        moved.await?.map_err(|error| unusable(folder, &error))?;
        Ok(true)
    }
}
