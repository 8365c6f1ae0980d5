//! The clone of a task: made with borrowed objects, read, fetched into the repository, and removed.
//!
//! In the repository only `refs/herder/<task>/base` and `refs/herder/<task>/head` are written, and what [`super::merge`]
//! writes. Everything here can be
//! repeated: a clone is complete once it has its final name, and what an earlier try has left is used or removed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Mutex;

use super::mirror::Mirror;
use super::scratch::MERGED;
use super::{Call, Git, Limits, Repository, files, words};
use crate::core::checkout::{Base, Held, Plan};
use crate::core::detail::{Detail, GitReason};
use crate::core::id::WorkId;
use crate::runtime::folder;

/// The limits of a command that reads.
pub(super) const READS: Limits = Limits { time: Duration::from_secs(30), output: 4 * 1024 * 1024 };

/// The limits of a command that copies: a clone, a checkout, a fetch.
pub(super) const COPIES: Limits = Limits { time: Duration::from_secs(600), output: 64 * 1024 };

/// Ending of the name of a clone that is not complete yet.
const NEW: &str = "new";

/// Ending of the name of a clone that is being removed.
const GONE: &str = "gone";

/// Ending of the name of a folder in which earlier versions checked the merged files of a task.
const MERGED_BEFORE: &str = "merged";

/// Name of the folder in which git reads configurations of herder's own. An agent's sandbox may let it write to the
/// folder for temporary files, so it is not there.
const LOOKS: &str = "looks";

/// The address to which a push from a clone goes: none.
const NO_PUSH: &str = "herder-fetches-the-branch-itself";

/// The clones of tasks below herder's data folder.
#[derive(Debug, Clone)]
pub(crate) struct Checkouts {
    git: Git,
    folder: PathBuf,
    /// Environment variables with the operator's login, for commands that reach a remote.
    pub(super) login: BTreeMap<String, String>,
    /// Held while herder's own copy of the repository is brought up to date.
    pub(super) fetching: Option<Arc<Mutex<()>>>,
    /// Description of the branches of clones; empty for none.
    described: String,
    /// The task's repository, once it was found.
    found: Arc<OnceLock<(PathBuf, Repository)>>,
}

/// The names of a task's refs in the repository.
pub(super) fn refs(task: WorkId) -> [String; 2] {
    [format!("refs/herder/{task}/base"), format!("refs/herder/{task}/head")]
}

impl Checkouts {
    /// Returns the clones in `folder`.
    pub(crate) fn new(git: Git, folder: PathBuf) -> Self {
        Self {
            git,
            folder,
            login: BTreeMap::new(),
            fetching: None,
            described: String::new(),
            found: Arc::default(),
        }
    }

    /// Returns the clones with the operator's login at remotes.
    pub(crate) fn with_login(self, login: BTreeMap<String, String>) -> Self {
        Self { login, ..self }
    }

    /// Returns the clones with the turn for fetches into herder's own copy of the repository.
    pub(crate) fn with_turn(self, fetching: Arc<Mutex<()>>) -> Self {
        Self { fetching: Some(fetching), ..self }
    }

    /// Returns the clones, whose branches are described so.
    pub(crate) fn described(self, described: String) -> Self {
        Self { described, ..self }
    }

    /// Returns the operator's login.
    pub(crate) fn login(&self) -> &BTreeMap<String, String> {
        &self.login
    }

    /// Returns the path of a task's repository.
    pub(crate) fn place(&self, plan: &Plan) -> PathBuf {
        // An absolute path stays as it is.
        self.folder.parent().unwrap_or(&self.folder).join(&plan.repository.path)
    }

    /// Returns the path of a task's clone.
    pub(crate) fn path(&self, task: WorkId) -> PathBuf {
        self.folder.join(task.to_string())
    }

    /// Removes what a killed herder has left of its looks at repositories, and of its merges.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) async fn sweep(&self) -> Result<(), Detail> {
        let looks = self.folder.join(LOOKS);
        self.at(&looks, files::remove).await?.map_err(|error| unusable(&looks, &error))?;
        let removed = self.at(&self.folder, |folder| {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(MERGED) {
                    files::remove(&entry.path())?;
                }
            }
            Ok(())
        });
        removed.await?.map_err(|error| unusable(&self.folder, &error))
    }

    /// Makes the clone of a task, unless it is there. Returns what the task began from.
    ///
    /// # Errors
    /// The repository or its base is not there, its refs of this name are of another herder, or git or the disk fails.
    pub(crate) async fn make(&self, plan: &Plan) -> Result<Base, Detail> {
        let source = self.repository(plan).await?;
        let path = self.path(plan.task);
        let [base_ref, head_ref] = refs(plan.task);
        let fetched = self.commit(&source, &head_ref).await?;
        // Only what was made is fetched.
        if fetched.is_some() && !plan.begun {
            let path = self.place(plan).display().to_string();
            return Err(GitReason::Taken { path, name: head_ref }.into());
        }
        let is_there = self.at(&path, |path| path.symlink_metadata().is_ok()).await?;
        let known = if plan.begun || is_there { self.commit(&source, &base_ref).await? } else { None };
        let base = match known {
            Some(base) => base,
            None => self.keep_base(&source, plan, &base_ref).await?,
        };
        let onto = self.branch_of_base(&self.mirror(&source).await?, plan).await?.unwrap_or_default();
        if is_there {
            return Ok(Base { commit: base, onto });
        }
        // A clone that was lost goes on from the last commit that was fetched.
        let start = fetched.unwrap_or_else(|| base.clone());
        let staging = path.with_extension(NEW);
        self.at(&staging, |staging| {
            files::remove(staging)?;
            std::fs::create_dir_all(staging.parent().unwrap_or(staging))
        })
        .await?
        .map_err(|error| unusable(&staging, &error))?;
        if let Err(why) = self.fill(&source, &staging, plan, &start).await {
            // The reason is not that this cannot be removed either.
            drop(self.at(&staging, files::remove).await);
            return Err(why);
        }
        let to = path.clone();
        let named = self.at(&staging, move |staging| std::fs::rename(staging, to)).await?;
        named.map_err(|error| unusable(&path, &error))?;
        Ok(Base { commit: base, onto })
    }

    pub(super) async fn fill(
        &self,
        source: &Repository,
        staging: &Path,
        plan: &Plan,
        start: &str,
    ) -> Result<(), Detail> {
        self.clone_into(source, staging, plan).await?;
        let git = staging.join(".git");
        let within = [("GIT_DIR", git.as_path()), ("GIT_WORK_TREE", staging)];
        let checkout = words(&["checkout", "--quiet", "--no-track", "-b", &plan.branch, start]);
        let call = Call { folder: staging, words: &checkout, own: &within, input: &[], local: false };
        self.git.ask(call, COPIES).await?;
        // A checkout succeeds without the files whose objects are not there.
        let missing = words(&["ls-files", "--deleted"]);
        let call = Call { words: &missing, ..call };
        if !Box::pin(self.git.run(call, READS)).await?.out.is_empty() {
            return Err(GitReason::Partial { base: start.chars().take(10).collect() }.into());
        }
        self.copy_files(source, staging, plan).await
    }

    /// Copies the files that are no part of a repository, but of its clones.
    pub(super) async fn copy_files(
        &self,
        source: &Repository,
        staging: &Path,
        plan: &Plan,
    ) -> Result<(), Detail> {
        let (from, copied) = (source.places.top.clone(), plan.repository.copy.clone());
        let filled = self.at(staging, move |staging| {
            for name in copied {
                let copied = files::copy(&from, staging, Path::new(&name));
                copied.map_err(|error| unusable(&from.join(name), &error))?;
            }
            Ok(())
        });
        filled.await?
    }

    /// Fetches what the agent has committed into the repository, and returns what the clone holds.
    ///
    /// # Errors
    /// The clone is not there or is not what herder made, or git or the disk fails.
    pub(crate) async fn fetch(&self, plan: &Plan) -> Result<Held, Detail> {
        let source = self.repository(plan).await?;
        let [base_ref, head_ref] = refs(plan.task);
        let clone = self.clone_of(&source, plan).await?;
        self.unlock(&source, plan.task, "head").await?;
        let own = self.mirror(&source).await?;
        let spec = format!("+{}:{head_ref}", self.tip(&clone, plan).await?);
        let mut fetch = words(&[
            "fetch",
            "--quiet",
            "--upload-pack=git-upload-pack",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--",
        ]);
        fetch.extend([clone.path().as_os_str(), OsStr::new(&spec)]);
        let env = [("GIT_DIR", own.path())];
        let call = Call { folder: own.path(), words: &fetch, own: &env, input: &[], local: true };
        self.git.ask(call, COPIES).await?;
        let no_base = || GitReason::NoBase { base: base_ref.clone() };
        let base = self.commit_in(&own, &base_ref).await?.ok_or_else(no_base)?;
        let head = self.commit_in(&own, &head_ref).await?.ok_or_else(no_base)?;
        self.held((&own, &clone), plan.task, base, head).await
    }

    /// Returns what the clone holds, without fetching anything.
    ///
    /// # Errors
    /// The clone is not there or is not what herder made, or git or the disk fails.
    pub(crate) async fn look(&self, plan: &Plan) -> Result<Held, Detail> {
        let source = self.repository(plan).await?;
        let [base_ref, _] = refs(plan.task);
        let no_base = || GitReason::NoBase { base: base_ref.clone() };
        let own = self.mirror(&source).await?;
        let base = self.commit_in(&own, &base_ref).await?.ok_or_else(no_base)?;
        let clone = self.clone_of(&source, plan).await?;
        let tip = self.tip(&clone, plan).await?;
        let head = self.commit_in(&clone, &tip).await?.unwrap_or_else(|| base.clone());
        self.held((&own, &clone), plan.task, base, head).await
    }

    /// Returns the name of what the task has come to in its clone: its branch, or HEAD where that has commits beside it.
    pub(super) async fn tip(&self, clone: &Mirror, plan: &Plan) -> Result<String, Detail> {
        let branch = format!("refs/heads/{}", plan.branch);
        let is_on_branch = self.commit_in(clone, &branch).await?.is_some()
            && self.count(clone, &["HEAD", "--not", &branch], &[]).await? == 0;
        Ok(if is_on_branch { branch } else { "HEAD".to_owned() })
    }

    async fn held(
        &self,
        (own, clone): (&Mirror, &Mirror),
        task: WorkId,
        base: String,
        head: String,
    ) -> Result<Held, Detail> {
        let commits = self.count(clone, &[&head, "--not", &base], &[]).await?;
        let aside = self.count(clone, &["--all", "--not", "--remotes", &base, &head], &[]).await?;
        let others = self.tips(own).await?;
        let all = ["--ignore-missing", "--stdin", &head, "--all", "--not", "--remotes", &base];
        let nowhere = self.count(clone, &all, &others).await?;
        let uncommitted = self.uncommitted(clone, task).await?;
        let [files, added, removed] = self.extent(clone, &base, &head).await?;
        let (size, larger) = self.at(&self.path(task), files::size).await?;
        Ok(Held { base, head, commits, files, added, removed, uncommitted, aside, nowhere, size, larger })
    }

    /// Returns the numbers of files, added and removed lines between two commits.
    async fn extent(&self, clone: &Mirror, base: &str, head: &str) -> Result<[u32; 3], Detail> {
        let stat = words(&["diff-tree", "--shortstat", "--no-ext-diff", "--no-textconv", "-M", base, head]);
        let env = [("GIT_DIR", clone.path())];
        let call = Call { folder: clone.path(), words: &stat, own: &env, input: &[], local: false };
        let said = self.git.ask(call, READS).await?;
        let mut extent = [0; 3];
        for part in String::from_utf8_lossy(&said).split(',') {
            let number = part.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let place = match part {
                _ if part.contains("changed") => 0,
                _ if part.contains("(+)") => 1,
                _ => 2,
            };
            extent[place] = number;
        }
        Ok(extent)
    }

    /// Returns the commits that the repository's branches and tags have, as input that leaves them out.
    async fn tips(&self, own: &Mirror) -> Result<Vec<u8>, Detail> {
        let below = ["refs/heads", "refs/remotes", "refs/tags"];
        let mut list = words(&["for-each-ref", "--format=^%(objectname)"]);
        list.extend(below.map(OsStr::new));
        let env = [("GIT_DIR", own.path())];
        let call = Call { folder: own.path(), words: &list, own: &env, input: &[], local: false };
        self.git.ask(call, READS).await
    }

    /// Removes the clone of a task, and its refs in the repository.
    ///
    /// # Errors
    /// Git or the disk fails.
    pub(crate) async fn remove(&self, plan: &Plan) -> Result<(), Detail> {
        let path = self.path(plan.task);
        let (gone, staging) = (path.with_extension(GONE), path.with_extension(NEW));
        let (merged, waiting) = (path.with_extension(MERGED_BEFORE), self.waiting(plan.task));
        let removed = self.at(&path, move |path| {
            files::remove(&gone)?;
            files::remove(&staging)?;
            files::remove(&merged)?;
            files::remove(&waiting)?;
            match std::fs::rename(path, &gone) {
                Ok(()) => files::remove(&gone),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            }
        });
        removed.await?.map_err(|error| unusable(&path, &error))?;
        // Without the repository there is no ref to remove.
        if !self.at(&self.place(plan), Path::exists).await? {
            return Ok(());
        }
        let source = self.repository(plan).await?;
        self.unlock(&source, plan.task, "").await?;
        let own = self.mirror(&source).await?;
        let [base, head] = refs(plan.task);
        // Before the clone was made once, a head is of another herder, and so is the base.
        if !plan.begun && self.commit_in(&own, &head).await?.is_some() {
            return Ok(());
        }
        let env = [("GIT_DIR", own.path())];
        let below = ["merged", "pushed"].map(|kind| format!("refs/herder/{}/{kind}-*", plan.task));
        let list = words(&["for-each-ref", "--format=%(refname)", &below[0], &below[1]]);
        let call = Call { folder: own.path(), words: &list, own: &env, input: &[], local: false };
        let merged = String::from_utf8_lossy(&self.git.ask(call, READS).await?).into_owned();
        for name in [base, head].into_iter().chain(merged.lines().map(str::to_owned)) {
            let delete = words(&["update-ref", "-d", &name]);
            let call = Call { folder: own.path(), words: &delete, own: &env, input: &[], local: false };
            self.git.ask(call, READS).await?;
        }
        Ok(())
    }

    /// Removes locks on the task's refs, of those whose names begin so. No other command writes them, so they are of one
    /// that was cut short.
    pub(super) async fn unlock(&self, source: &Repository, task: WorkId, names: &str) -> Result<(), Detail> {
        let (folder, names) = (source.places.common.join(format!("refs/herder/{task}")), names.to_owned());
        self.at(&source.places.common, move |_| {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with(&names) && name.ends_with(".lock") {
                    // One that is there and cannot be removed is what the next command complains of.
                    drop(std::fs::remove_file(entry.path()));
                }
            }
        })
        .await
    }

    /// Returns the folder that the clones are in.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the way to run git.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(super) async fn repository(&self, plan: &Plan) -> Result<Repository, Detail> {
        let path = self.place(plan);
        let none = || GitReason::NoRepository { path: path.display().to_string() };
        // A bot that knows no addresses would have work merged into the copy alone.
        if plan.repository.path.is_relative() && plan.repository.url.is_empty() {
            return Err(none().into());
        }
        if let Some((known, found)) = self.found.get()
            && *known == path
        {
            return Ok(found.clone());
        }
        if !self.at(&path, Path::is_dir).await? {
            return Err(none().into());
        }
        let found = Box::pin(Repository::at(&self.git, &path, READS)).await?;
        // An act is about one task, so that it is found once.
        drop(self.found.set((path, found.clone())));
        Ok(found)
    }

    pub(super) async fn mirror(&self, of: &Repository) -> Result<Mirror, Detail> {
        let (places, config, within) = (of.places.clone(), of.config.clone(), self.folder.join(LOOKS));
        let made = self.at(&of.places.git, move |_| Mirror::of(&within, &places, &config)).await?;
        made.map_err(|error| unusable(&of.places.git, &error))
    }

    pub(super) async fn clone_of(&self, source: &Repository, plan: &Plan) -> Result<Mirror, Detail> {
        let path = self.path(plan.task);
        let (objects, config) = (source.places.common.join("objects"), source.config.clone());
        let (within, excluded) = (self.folder.join(LOOKS), excluded(plan));
        let shown = || path.display().to_string();
        let made =
            self.at(&path, move |path| Mirror::of_clone(&within, path, &objects, &config, &excluded)).await?;
        made.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitReason::NoClone { path: shown() }.into(),
            io::ErrorKind::NotADirectory => GitReason::Replaced { path: error.to_string() }.into(),
            _ => unusable(&path, &error),
        })
    }

    /// Records the commit that a task begins from, so that nothing that its clone borrows is removed.
    async fn keep_base(&self, source: &Repository, plan: &Plan, name: &str) -> Result<String, Detail> {
        self.unlock(source, plan.task, "base").await?;
        let own = self.mirror(source).await?;
        let asked = plan.repository.base.as_str();
        let candidates: Vec<String> = if asked.is_empty() {
            vec!["refs/remotes/origin/HEAD".to_owned(), "HEAD".to_owned()]
        } else {
            let below = ["refs/heads/", "refs/remotes/", "refs/tags/", "refs/remotes/origin/"];
            below.iter().map(|below| format!("{below}{asked}")).chain([asked.to_owned()]).collect()
        };
        let mut base = None;
        for candidate in &candidates {
            base = self.commit_in(&own, candidate).await?;
            if base.is_some() {
                break;
            }
        }
        let asked = if asked.is_empty() { "HEAD" } else { asked };
        let base = base.ok_or_else(|| GitReason::NoBase { base: asked.to_owned() })?;
        let update = words(&["update-ref", name, &base]);
        let env = [("GIT_DIR", own.path())];
        let call = Call { folder: own.path(), words: &update, own: &env, input: &[], local: false };
        self.git.ask(call, READS).await?;
        Ok(base)
    }

    /// Makes a clone without its files.
    pub(super) async fn clone_into(
        &self,
        source: &Repository,
        staging: &Path,
        plan: &Plan,
    ) -> Result<(), Detail> {
        let above = [("GIT_CEILING_DIRECTORIES", self.folder.as_path())];
        let mut clone = words(&[
            "clone",
            "--quiet",
            "--shared",
            "--no-checkout",
            "--template=",
            "--no-recurse-submodules",
            "--upload-pack=git-upload-pack",
        ]);
        let (name, email) = (plan.repository.git_name.as_str(), plan.repository.git_email.as_str());
        let description = format!("branch.{}.description", plan.branch);
        let settings = [
            ("user.name", name),
            ("user.email", email),
            ("remote.origin.pushurl", NO_PUSH),
            (&description, &self.described),
        ];
        let settings = settings.into_iter().filter(|(_, value)| !value.is_empty());
        let settings: Vec<String> = settings.map(|(key, value)| format!("--config={key}={value}")).collect();
        clone.extend(settings.iter().map(OsStr::new));
        clone.extend([OsStr::new("--"), source.places.top.as_os_str(), staging.as_os_str()]);
        let call = Call { folder: &self.folder, words: &clone, own: &above, input: &[], local: true };
        self.git.ask(call, COPIES).await?;
        let (git, excluded) = (staging.join(".git"), excluded(plan));
        let excluded = self.at(&git, |git| {
            std::fs::create_dir_all(git.join("info"))?;
            std::fs::write(git.join("info/exclude"), excluded)
        });
        excluded.await?.map_err(|error| unusable(&git, &error))
    }

    pub(super) async fn commit(&self, of: &Repository, name: &str) -> Result<Option<String>, Detail> {
        let own = self.mirror(of).await?;
        self.commit_in(&own, name).await
    }

    /// Returns the commit that a name stands for; `None` if there is none.
    pub(super) async fn commit_in(&self, within: &Mirror, name: &str) -> Result<Option<String>, Detail> {
        let name = format!("{name}^{{commit}}");
        let parse = words(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]);
        let env = [("GIT_DIR", within.path())];
        let call = Call { folder: within.path(), words: &parse, own: &env, input: &[], local: false };
        let output = Box::pin(self.git.run(call, READS)).await?;
        let commit = String::from_utf8_lossy(&output.out).trim().to_owned();
        let whole = output.code == Some(0) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        Ok(Some(commit).filter(|commit| whole && !commit.is_empty()))
    }

    pub(super) async fn count(&self, within: &Mirror, of: &[&str], input: &[u8]) -> Result<u32, Detail> {
        let mut count = words(&["rev-list", "--count"]);
        count.extend(of.iter().map(OsStr::new));
        let env = [("GIT_DIR", within.path())];
        let call = Call { folder: within.path(), words: &count, own: &env, input, local: false };
        let said = self.git.ask(call, READS).await?;
        Ok(String::from_utf8_lossy(&said).trim().parse().unwrap_or(u32::MAX))
    }

    /// Returns the number of changed and new files that are not committed.
    async fn uncommitted(&self, clone: &Mirror, task: WorkId) -> Result<u32, Detail> {
        let top = self.path(task);
        let index = top.join(".git/index");
        let env = [
            ("GIT_DIR", clone.path()),
            ("GIT_WORK_TREE", top.as_path()),
            ("GIT_INDEX_FILE", index.as_path()),
        ];
        let status =
            words(&["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=all"]);
        let call = Call { folder: &top, words: &status, own: &env, input: &[], local: false };
        let said = self.git.ask(call, READS).await?;
        Ok(crate::runtime::workspace::read(&String::from_utf8_lossy(&said)).changed)
    }

    pub(super) async fn at<T: Send + 'static>(
        &self,
        path: &Path,
        question: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Result<T, Detail> {
        folder::ask(self.git.trees().running(), path, COPIES.time, question).await
    }
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> Detail {
    GitReason::File { path: path.display().to_string() }.with(error.to_string())
}

/// Returns the patterns of files that are no part of a task's work: herder's own for the agent, and those of `copy`,
/// which often hold secrets.
fn excluded(plan: &Plan) -> String {
    let mut patterns = String::from("/.herder/\n");
    for name in &plan.repository.copy {
        patterns.push('/');
        for c in name.chars() {
            if matches!(c, '\\' | '*' | '?' | '[' | ' ' | '#' | '!') {
                patterns.push('\\');
            }
            patterns.push(c);
        }
        patterns.push('\n');
    }
    patterns
}
