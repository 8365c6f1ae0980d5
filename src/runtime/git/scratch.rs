//! The folder in which the files of merged commits are checked: one for each repository, from one merge to the next.
//!
//! A check may change everything in it, its `.git` included. So each commit gets a `.git` of its own, git compares the
//! content of each file with what it is to be, and a folder that is not exactly right in the end is made anew.

use std::path::{Path, PathBuf};

use super::checkout::{COPIES, Checkouts, LOOKS, READS, unusable};
use super::merge::Step;
use super::{Call, Limits, Output, Repository, files, words};
use crate::core::checkout::Plan;
use crate::core::detail::Detail;

/// Ending of the name of a folder whose `.git` is made.
const NEW: &str = "new";

/// Mode of a submodule among the files of a commit.
const SUBMODULE: &[u8] = b"160000";

impl Checkouts {
    /// Returns the path of the folder of a repository. `number`: that of the repository's turn.
    pub(crate) fn scratch(&self, number: usize) -> PathBuf {
        self.folder().join(LOOKS).join(format!("merged-{number}"))
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
        let above = self.at(folder, |folder| std::fs::create_dir_all(folder.parent().unwrap_or(folder)));
        above.await?.map_err(|error| unusable(folder, &error))?;
        if let Err(why) = self.fill(&source, folder, plan, &step.to).await {
            // The reason is not that this cannot be removed either.
            drop(self.clear(folder).await);
            return Err(why);
        }
        Ok(())
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) async fn clear(&self, folder: &Path) -> Result<(), Detail> {
        let staging = folder.with_extension(NEW);
        let removed =
            self.at(folder, move |folder| files::remove(&staging).and_then(|()| files::remove(folder)));
        removed.await?.map_err(|error| unusable(folder, &error))
    }

    /// Changes what differs from the files of a commit. Returns false if the folder has to be made anew.
    async fn refill(
        &self,
        source: &Repository,
        folder: &Path,
        plan: &Plan,
        commit: &str,
    ) -> Result<bool, Detail> {
        let (git, staging) = (folder.join(".git"), folder.with_extension(NEW));
        let gone = staging.clone();
        let removed = self.at(&git, move |git| files::remove(git).and_then(|()| files::remove(&gone)));
        removed.await?.map_err(|error| unusable(&git, &error))?;
        self.clone_into(source, &staging, plan).await?;
        let (made, to) = (staging.join(".git"), git.clone());
        let moved = self.at(&staging, move |staging| {
            std::fs::rename(&made, &to)?;
            files::remove(staging)
        });
        moved.await?.map_err(|error| unusable(&git, &error))?;

        // Without the times of files in it, the index knows of no file that it is as it was.
        self.within(folder, &["read-tree", commit], READS).await?;
        let modes = self.within(folder, &["ls-files", "--format=%(objectmode)"], READS).await?;
        // git leaves what is in the folder of a submodule alone.
        if modes.out.split(|byte| *byte == b'\n').any(|mode| mode == SUBMODULE) {
            return Ok(false);
        }
        // It fails where files differ.
        self.within(folder, &["update-index", "-q", "--refresh"], COPIES).await?;
        let checkout = ["checkout", "--quiet", "--force", "--no-track", "-b", &plan.branch, commit];
        self.within(folder, &checkout, COPIES).await?;
        self.within(folder, &["clean", "--quiet", "-ffdx"], COPIES).await?;
        let status = ["status", "--porcelain", "--ignored", "--untracked-files=normal"];
        let status = self.within(folder, &status, READS).await?;
        Ok(modes.code == Some(0) && !modes.cut && status.code == Some(0) && status.out.is_empty())
    }

    async fn within(&self, folder: &Path, asked: &[&str], limits: Limits) -> Result<Output, Detail> {
        let git = folder.join(".git");
        let own = [("GIT_DIR", git.as_path()), ("GIT_WORK_TREE", folder)];
        let call = Call { folder, words: &words(asked), own: &own, input: &[], local: false };
        Box::pin(self.git().run(call, limits)).await
    }
}
