//! The changes of a task against its base: one diff of the clone's files, committed or not, against the commit that the
//! task began from.
//!
//! The clone's files are taken into a tree first ([`snapshot`]), so that git compares two trees and looks at nothing
//! that an agent can exchange meanwhile. Attributes are those of the base: an agent cannot hide a file by them.

mod parts;
mod selection;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checkout::{Checkouts, READS, refs, unusable};
use super::mirror::Mirror;
use super::{Call, Limits, words};
use crate::core::checkout::Plan;
use crate::core::detail::{Detail, GitReason, Own};
pub(crate) use selection::{Meant, Selection, meant};
use snapshot::Snapshot;

/// The limits of a command whose output is the text of a diff: what people are shown of it is far less.
const PATCHES: Limits = Limits { time: Duration::from_secs(30), output: 4 * 1024 * 1024 };

/// Number of changed lines from which a file is folded.
const LONG: u64 = 1000;

/// Size from which a committed file is compared as a binary one, in bytes.
const BINARY_FROM: &str = "8m";

/// Names of the files in which package managers write down versions.
const LOCK_FILES: [&str; 22] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "conda-lock.yml",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// The changes of a task against its base.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Diff {
    /// The commit that the task began from.
    pub(crate) base: String,
    /// The last commit of the task.
    pub(crate) head: String,
    /// Number of commits since the base.
    pub(crate) commits: u32,
    /// Number of changed and new files that are not committed.
    pub(crate) uncommitted: usize,
    /// Number of new files that were not looked at, because there are too many.
    pub(crate) left_out: usize,
    /// True if the clone is gone, and these are the commits that were fetched from it.
    pub(crate) fetched: bool,
    /// The changed files, by name.
    pub(crate) files: Vec<File>,
}

/// The kind of a file's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// The file is new.
    Added,
    /// The file is gone.
    Removed,
    /// The content or the mode is another one.
    Modified,
    /// The file has another name, and perhaps another content.
    Renamed,
    /// The file is now a link, or the other way round.
    Type,
}

/// The reason why a file is shown with its counts alone until somebody asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fold {
    /// A package manager writes it.
    Lock,
    /// The repository says that it is generated.
    Generated,
    /// Too much of it has changed.
    Long,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    /// Its name, as bytes: git knows no encoding.
    name: Vec<u8>,
    /// Its name before it was renamed.
    from: Option<Vec<u8>>,
    /// The kind of the change.
    pub(crate) change: Change,
    /// Number of added and removed lines; `None` for content that is no text, or was not read.
    pub(crate) lines: Option<(u64, u64)>,
    /// The file modes before and after, as git writes them, if they differ in both being a file.
    pub(crate) modes: Option<(String, String)>,
    /// True if it is another repository: its commit is all that is known here.
    pub(crate) is_submodule: bool,
    /// True if it is too large to be read, in the clone.
    pub(crate) is_unread: bool,
    /// True if a part of the change is not committed.
    pub(crate) is_uncommitted: bool,
    /// True if it is the same as at the base, but a commit of the task changes it.
    pub(crate) is_undone: bool,
    /// True if it is in neither tree.
    is_only_listed: bool,
    /// The reason why it is folded.
    pub(crate) fold: Option<Fold>,
    /// Its part of the diff's text, if it was asked for and there is room.
    pub(crate) patch: Option<String>,
}

impl Diff {
    /// Returns the diff with the text of each file changed so.
    pub(crate) fn each_text(mut self, change: impl Fn(&str) -> String) -> Self {
        for text in self.files.iter_mut().filter_map(|file| file.patch.as_mut()) {
            *text = change(text);
        }
        self
    }
}

impl File {
    fn new(name: Vec<u8>, change: Change) -> Self {
        Self {
            name,
            from: None,
            change,
            lines: None,
            modes: None,
            is_submodule: false,
            is_unread: false,
            is_uncommitted: false,
            is_undone: false,
            is_only_listed: false,
            fold: None,
            patch: None,
        }
    }

    /// Returns the name as text, with replacement characters for what is none.
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// Returns the name before the file was renamed, as text.
    pub(crate) fn from(&self) -> Option<String> {
        self.from.as_ref().map(|from| String::from_utf8_lossy(from).into_owned())
    }

    /// Returns true if its content is no text.
    pub(crate) fn is_binary(&self) -> bool {
        let has_content = !self.is_submodule && !self.is_unread && !self.is_undone;
        has_content && self.lines.is_none()
    }

    /// Returns true if the two trees differ in it.
    fn is_in_trees(&self) -> bool {
        !self.is_undone && !self.is_only_listed
    }

    fn fold(&mut self, generated: Option<bool>) {
        let last = self.name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_lock = LOCK_FILES.iter().any(|name| name.as_bytes() == last);
        let is_long = self.lines.is_some_and(|(added, removed)| added.saturating_add(removed) > LONG);
        self.fold = match generated {
            Some(true) => Some(Fold::Generated),
            None if is_lock => Some(Fold::Lock),
            _ if is_long => Some(Fold::Long),
            Some(false) | None => None,
        };
    }
}

/// The folders for a comparison: git works in none of the clone's.
struct Scratch {
    mirror: Mirror,
    /// An empty folder, which stands for the working tree.
    empty: PathBuf,
    /// Copies of the clone's changed files.
    copies: PathBuf,
    /// The objects that are made of them.
    objects: PathBuf,
    /// The index of the base, by which attributes are read.
    base: PathBuf,
    /// The index of the clone's files.
    files: PathBuf,
}

impl Scratch {
    fn new(mirror: Mirror) -> std::io::Result<Self> {
        let top = mirror.path().join("compared");
        let [empty, copies, objects] = ["empty", "copies", "objects"].map(|name| top.join(name));
        for folder in [&empty, &copies, &objects] {
            std::fs::create_dir_all(folder)?;
        }
        let [base, files] = ["base", "files"].map(|name| top.join(name));
        let mut config = std::fs::read(mirror.path().join("config"))?;
        config.extend_from_slice(format!("[core]\n\tbigFileThreshold = {BINARY_FROM}\n").as_bytes());
        std::fs::write(mirror.path().join("config"), config)?;
        Ok(Self { mirror, empty, copies, objects, base, files })
    }

    /// Returns the file by which folded files are left out of the text.
    fn attributes(&self) -> PathBuf {
        self.mirror.path().join("info/attributes")
    }
}

/// The files of a clone, by the names of their commit and their tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    /// The last commit of the task.
    pub(crate) commit: String,
    /// True if that commit is checked out.
    pub(crate) is_checked_out: bool,
    /// Name of the tree of all files, or of the commit if there is nothing beside it.
    pub(crate) tree: String,
    /// Number of changed and new files beside the commit.
    pub(crate) uncommitted: u32,
}

impl Checkouts {
    /// Returns the files of a task's clone as they are.
    ///
    /// # Errors
    /// The clone is not there or is not what herder made, or git or the disk fails.
    pub(crate) async fn files(&self, plan: &Plan) -> Result<Files, Detail> {
        let source = self.repository(plan).await?;
        let mirror = self.clone_of(&source, plan).await?;
        let tip = self.tip(&mirror, plan).await?;
        let no_commit = || GitReason::NoBase { base: plan.branch.clone() };
        let commit = self.commit_in(&mirror, &tip).await?.ok_or_else(no_commit)?;
        let head = self.commit_in(&mirror, "HEAD").await?.ok_or_else(no_commit)?;
        let folder = mirror.path().to_owned();
        let scratch = self.at(&folder, move |_| Scratch::new(mirror)).await?;
        let scratch = scratch.map_err(|error| unusable(&folder, &error))?;
        let snapshot = Box::pin(self.snapshot(&scratch, &self.path(plan.task), &head)).await?;
        let uncommitted = u32::try_from(snapshot.names.len() + snapshot.left_out).unwrap_or(u32::MAX);
        let is_checked_out = head == commit;
        Ok(Files { commit, is_checked_out, tree: snapshot.tree, uncommitted })
    }

    /// Returns the changes of a task against its base, with the text of the selected files.
    ///
    /// # Errors
    /// There is neither a clone nor a commit of the task, the clone is not what herder made, or git or the disk fails.
    pub(crate) async fn diff(&self, plan: &Plan, selection: &Selection) -> Result<Diff, Detail> {
        let source = self.repository(plan).await?;
        let [base_ref, head_ref] = refs(plan.task);
        let no_base = || GitReason::NoBase { base: base_ref.clone() };
        let base = self.commit(&source, &base_ref).await?.ok_or_else(no_base)?;
        let (mirror, head, fetched) = match self.clone_of(&source, plan).await {
            Ok(clone) => {
                let head = self.commit_in(&clone, "HEAD").await?.unwrap_or_else(|| base.clone());
                (clone, head, false)
            }
            Err(gone) if matches!(gone.own, Some(Own::Git(GitReason::NoClone { .. }))) => {
                let own = self.mirror(&source).await?;
                let head = self.commit_in(&own, &head_ref).await?.ok_or(gone)?;
                (own, head, true)
            }
            Err(error) => return Err(error),
        };
        let folder = mirror.path().to_owned();
        let scratch = self.at(&folder, move |_| Scratch::new(mirror)).await?;
        let scratch = scratch.map_err(|error| unusable(&folder, &error))?;
        let top = self.path(plan.task);
        let since = [head.as_str(), "--not", &base];
        // All end before a failure is told: a command that is dropped would go on alone.
        let (commits, snapshot, committed) = tokio::join!(
            self.count(&scratch.mirror, &since, &[]),
            async {
                match fetched {
                    true => Ok(Snapshot::of_commit(&head)),
                    false => Box::pin(self.snapshot(&scratch, &top, &head)).await,
                }
            },
            async {
                self.read_tree(&scratch, &base, &scratch.base).await?;
                self.changed(&scratch, &base, &head).await
            },
        );
        let (commits, snapshot, mut files) = (commits?, snapshot?, committed?);
        if snapshot.tree != head {
            let committed = std::mem::take(&mut files);
            files = self.changed(&scratch, &base, &snapshot.tree).await?;
            snapshot.undone(&mut files, &committed);
        }
        snapshot.mark(&mut files);
        files.sort_by(|one, other| one.name.cmp(&other.name));
        self.folded(&scratch, &mut files).await?;
        let chosen = selection.among(&files);
        if !chosen.is_empty() {
            self.patches(&scratch, (&base, &snapshot.tree), &mut files, &chosen).await?;
        }
        let (uncommitted, left_out) = (snapshot.names.len(), snapshot.left_out);
        Ok(Diff { base, head, commits, uncommitted, left_out, fetched, files })
    }

    /// Runs a command on the objects alone, with `index` and an empty working tree; returns its output.
    async fn run_on(
        &self,
        scratch: &Scratch,
        index: &Path,
        words: &[&OsStr],
        input: &[u8],
        limits: Limits,
    ) -> Result<super::Output, Detail> {
        let alternates = scratch.mirror.path().join("objects");
        let env = [
            ("GIT_DIR", scratch.mirror.path()),
            ("GIT_WORK_TREE", scratch.empty.as_path()),
            ("GIT_INDEX_FILE", index),
            ("GIT_OBJECT_DIRECTORY", scratch.objects.as_path()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates.as_path()),
        ];
        let call = Call { folder: &scratch.copies, words, own: &env, input, local: false };
        let output = Box::pin(self.git().run(call, limits)).await?;
        if output.cut || output.code == Some(0) {
            return Ok(output);
        }
        Err(GitReason::Failed { command: super::name(words) }.with(output.said.trim().to_owned()))
    }

    /// Runs a command like [`Self::run_on`], whose output has to be whole.
    async fn ask_on(
        &self,
        scratch: &Scratch,
        index: &Path,
        words: &[&OsStr],
        input: &[u8],
    ) -> Result<Vec<u8>, Detail> {
        let output = self.run_on(scratch, index, words, input, READS).await?;
        if output.cut {
            return Err(GitReason::TooMuch { command: super::name(words) }.into());
        }
        Ok(output.out)
    }

    async fn read_tree(&self, scratch: &Scratch, tree: &str, index: &Path) -> Result<(), Detail> {
        self.ask_on(scratch, index, &words(&["read-tree", tree]), &[]).await.map(drop)
    }

    /// Returns the files in which two trees differ, with their counts.
    async fn changed(&self, scratch: &Scratch, from: &str, to: &str) -> Result<Vec<File>, Detail> {
        let mut compare = words(&["diff-tree", "--raw", "--numstat", "-z"]);
        compare.extend(words(&FORM));
        compare.extend(words(&[from, to]));
        let said = self.ask_on(scratch, &scratch.base, &compare, &[]).await?;
        Ok(parts::files(&said))
    }

    /// Marks the files that are folded, by their names, their size and the attributes at the base.
    async fn folded(&self, scratch: &Scratch, files: &mut [File]) -> Result<(), Detail> {
        let names: Vec<u8> = files.iter().flat_map(|file| file.name.iter().copied().chain([0])).collect();
        if names.is_empty() {
            return Ok(());
        }
        let attribute = words(&["check-attr", "--cached", "--stdin", "-z", "linguist-generated"]);
        let said = self.ask_on(scratch, &scratch.base, &attribute, &names).await?;
        for (file, generated) in files.iter_mut().zip(parts::generated(&said)) {
            file.fold(generated);
        }
        Ok(())
    }

    /// Adds to the chosen files their text.
    async fn patches(
        &self,
        scratch: &Scratch,
        (from, to): (&str, &str),
        files: &mut [File],
        chosen: &BTreeSet<usize>,
    ) -> Result<(), Detail> {
        let (path, text) = (scratch.attributes(), parts::attributes(files, chosen));
        let written = self.at(scratch.mirror.path(), move |_| std::fs::write(&path, text)).await?;
        written.map_err(|error| unusable(&scratch.attributes(), &error))?;
        let mut compare = words(&["diff-tree", "--patch"]);
        compare.extend(words(&FORM));
        compare.extend(words(&[from, to]));
        let output = self.run_on(scratch, &scratch.base, &compare, &[], PATCHES).await?;
        parts::give_patches(files, chosen, &output.out, output.cut);
        Ok(())
    }
}

/// The arguments by which two trees are compared, whatever the repository says.
const FORM: [&str; 9] = [
    "-r",
    "--find-renames",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];
