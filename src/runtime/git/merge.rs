//! The merge of a task's work into the base, without a working tree: git merges trees, and herder commits the result.
//!
//! The base moves only from the commit that was merged onto, so that nothing that somebody else has pushed meanwhile is
//! lost. A ref of the task keeps the result before the base moves: a merge that is repeated finds what it has done.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkout::{COPIES, Checkouts, READS, refs};
use super::mirror::{Mirror, Places};
use super::{Call, Output, Repository, words};
use crate::core::checkout::Plan;
use crate::core::cut;
use crate::core::detail::{Detail, GitReason};
use crate::core::handoff::quoted;
use crate::core::id::WorkId;
use crate::core::review::{FILES_MAX, Landed, Method};

/// Maximum number of commits that are made anew on top of the base.
const REBASED_MAX: usize = 1000;

/// Maximum length of the first line of a commit's message, in bytes.
const SUBJECT_MAX: usize = 72;

/// Files in a `.git` folder that are there while a person is in the middle of something.
const IN_PROGRESS: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"];

/// Work that is to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The task's clone.
    pub(crate) plan: Plan,
    /// The accepted commit.
    pub(crate) head: String,
    /// The form in which it gets into the base.
    pub(crate) method: Method,
    /// The task's text, for the message of the commit.
    pub(crate) text: String,
    /// Name and address of the person who gave the task; `None` if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) co_author: Option<String>,
}

impl Order {
    /// Returns the place of the work in the base.
    pub(crate) fn landed(&self, branch: String, commit: &str) -> Landed {
        Landed { branch, commit: commit.to_owned(), head: self.head.clone(), link: String::new() }
    }
}

/// The result of merging trees.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// The work is in the base already.
    Landed(Landed),
    /// These files conflict.
    Conflict {
        /// Name of the base's branch.
        branch: String,
        /// Names of the files.
        files: Vec<String>,
    },
    /// The base can move.
    Ready(Step),
}

/// A step of the base.
#[derive(Debug)]
pub(crate) struct Step {
    /// Name of the base's branch.
    pub(crate) branch: String,
    /// The base's last commit.
    pub(super) from: String,
    /// The commit that it moves to.
    pub(crate) to: String,
    /// The tree of that commit.
    pub(crate) tree: String,
    /// The ref that keeps it.
    pub(super) kept: String,
}

/// The result of an attempt to move the base.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// It moved.
    Done,
    /// Somebody else has moved it.
    Overtaken,
}

/// The repository of a task, as it is read.
struct Source {
    found: Repository,
    own: Mirror,
}

fn kept(task: WorkId, head: &str) -> String {
    format!("refs/herder/{task}/merged-{}", head.get(..16).unwrap_or(head))
}

impl Checkouts {
    /// Returns the folder that merges into a task's repository take turns for.
    ///
    /// # Errors
    /// There is no repository.
    pub(crate) async fn shared_folder(&self, plan: &Plan) -> Result<PathBuf, Detail> {
        Ok(self.repository(plan).await?.places.common)
    }

    /// Merges the work onto the base's last commit.
    ///
    /// # Errors
    /// The base is no branch, or lacks what the task began from, or git fails.
    pub(crate) async fn prepare(&self, order: &Order) -> Result<Prepared, Detail> {
        let source = self.source(&order.plan).await?;
        self.unlock(&source.found, order.plan.task, "merged-").await?;
        let own = &source.own;
        let (branch, from) = self.target(own, order).await?;
        let name = kept(order.plan.task, &order.head);
        let known = self.commit_in(own, &name).await?;
        for commit in known.iter().chain([&order.head]) {
            if self.count(own, &[commit, "--not", &from], &[]).await? == 0 {
                return Ok(Prepared::Landed(order.landed(branch, commit)));
            }
        }
        let [base, _] = refs(order.plan.task);
        let base = self.commit_in(own, &base).await?;
        if let Some(base) = base
            && self.count(own, &[&base, "--not", &from], &[]).await? > 0
        {
            return Err(GitReason::Behind { branch }.into());
        }
        let made = match order.method {
            Method::Squash => self.commit_merged(own, order, &from, false).await?,
            Method::Merge => self.commit_merged(own, order, &from, true).await?,
            Method::Rebase => self.rebase(own, order, &from).await?,
        };
        let to = match made {
            Ok(commit) => commit,
            Err(files) => return Ok(Prepared::Conflict { branch, files }),
        };
        let tree = self.said(own, &["rev-parse", &format!("{to}^{{tree}}")]).await?;
        if to == from {
            return Ok(Prepared::Landed(order.landed(branch, &to)));
        }
        self.said(own, &["update-ref", &name, &to]).await?;
        Ok(Prepared::Ready(Step { branch, from, to, tree, kept: name }))
    }

    /// Moves the base, unless somebody else has moved it. A checkout of it that is in use and clean moves with it.
    ///
    /// # Errors
    /// The base is checked out where herder leaves it alone, or git fails.
    pub(crate) async fn advance(&self, plan: &Plan, step: &Step) -> Result<Move, Detail> {
        if !plan.repository.url.is_empty() {
            return self.push_base(plan, step).await;
        }
        let source = self.source(plan).await?;
        let full = format!("refs/heads/{}", step.branch);
        let places = source.found.places.clone();
        let in_use = |top: &Path| {
            let path = top.to_string_lossy();
            let path = quoted(&path).unwrap_or_else(|| "<folder>".to_owned());
            let line = format!("git -C {path} merge --ff-only {}", step.kept);
            GitReason::CheckedOut { branch: step.branch.clone(), line }
        };
        let busy = self.at(&places.common, in_progress).await?;
        if busy.iter().any(|branch| [full.as_str(), &step.branch].contains(&branch.as_str())) {
            return Err(in_use(&places.top).into());
        }
        for top in self.worktrees_on(&places.top, &full).await? {
            let checkout = self.checkout_of(&top, step).await?;
            if !checkout.is_clean {
                return Err(in_use(&top).into());
            }
            if checkout.is_moved {
                continue;
            }
            let moves = [
                "merge",
                "--quiet",
                "--ff-only",
                "--no-stat",
                "--no-autostash",
                "--no-overwrite-ignore",
                &step.to,
            ];
            let output = checkout.run(self, &moves).await?;
            let now = self.commit_in(&source.own, &full).await?;
            return match now {
                Some(now) if now == step.to => Ok(Move::Done),
                Some(now) if now != step.from => Ok(Move::Overtaken),
                _ => Err(GitReason::Failed { command: "git merge".to_owned() }.with(output.said.trim())),
            };
        }
        let moved = self.run_in(&source.own, &["update-ref", &full, &step.to, &step.from]).await?;
        if moved.code == Some(0) {
            return Ok(Move::Done);
        }
        if self.commit_in(&source.own, &full).await?.as_ref() != Some(&step.from) {
            return Ok(Move::Overtaken);
        }
        Err(GitReason::Failed { command: "git update-ref".to_owned() }.with(moved.said.trim()))
    }

    async fn source(&self, plan: &Plan) -> Result<Source, Detail> {
        let found = self.repository(plan).await?;
        let own = self.mirror(&found).await?;
        Ok(Source { found, own })
    }

    /// Returns the name of the branch that a task's base is; `None` if it is a tag, a commit, or a branch that only a
    /// remote has.
    pub(super) async fn branch_of_base(&self, own: &Mirror, plan: &Plan) -> Result<Option<String>, Detail> {
        let asked = plan.repository.base.as_str();
        let found = if asked.is_empty() {
            let remote = self.run_in(own, &["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).await?;
            match text(&remote).strip_prefix("refs/remotes/origin/") {
                Some(name) => Some(name.to_owned()),
                None => {
                    let head = self.run_in(own, &["symbolic-ref", "--quiet", "HEAD"]).await?;
                    text(&head).strip_prefix("refs/heads/").map(str::to_owned)
                }
            }
        } else {
            Some(asked.to_owned())
        };
        let Some(branch) = found else { return Ok(None) };
        let is_there = self.commit_in(own, &format!("refs/heads/{branch}")).await?.is_some();
        Ok(is_there.then_some(branch))
    }

    /// Returns the branch that the work gets into, with its last commit.
    async fn target(&self, own: &Mirror, order: &Order) -> Result<(String, String), Detail> {
        let asked = order.plan.repository.base.as_str();
        let no_branch =
            || GitReason::NoBranch { base: if asked.is_empty() { "HEAD" } else { asked }.to_owned() };
        let branch = match &order.plan.onto {
            Some(onto) if onto.is_empty() => return Err(no_branch().into()),
            Some(onto) => onto.clone(),
            // A task of an earlier version does not know it.
            None => self.branch_of_base(own, &order.plan).await?.ok_or_else(no_branch)?,
        };
        let commit = self.commit_in(own, &format!("refs/heads/{branch}")).await?;
        let commit = commit.ok_or_else(|| GitReason::NoBranch { base: branch.clone() })?;
        Ok((branch, commit))
    }

    /// Commits the merged files: as one commit on the base, or as one that joins the base with the task's commits. `Err`:
    /// the files that conflict.
    async fn commit_merged(
        &self,
        own: &Mirror,
        order: &Order,
        onto: &str,
        joins: bool,
    ) -> Result<Result<String, Vec<String>>, Detail> {
        let tree = match self.merge_trees(own, onto, &order.head).await? {
            Ok(tree) => tree,
            Err(files) => return Ok(Err(files)),
        };
        if tree == self.said(own, &["rev-parse", &format!("{onto}^{{tree}}")]).await? {
            return Ok(Ok(onto.to_owned()));
        }
        let (task, subject) = (order.plan.task, subject(&order.text));
        let with = order.co_author.as_ref().map(|author| format!("Co-authored-by: {author}\n"));
        let with = with.unwrap_or_default();
        let (first, parents) = match joins {
            true => (format!("Merge task {task}: {subject}"), vec![onto, &order.head]),
            false => (subject, vec![onto]),
        };
        let message = format!("{first}\n\nTask: {task}\n{with}");
        self.commit_tree(own, &tree, &parents, (&order.head, &message)).await.map(Ok)
    }

    /// Makes the task's commits anew on top of the base. `Err`: the files that conflict. A branch with merges of its own
    /// cannot be made straight; it is joined.
    async fn rebase(
        &self,
        own: &Mirror,
        order: &Order,
        onto: &str,
    ) -> Result<Result<String, Vec<String>>, Detail> {
        let head = order.head.as_str();
        if self.count(own, &[onto, "--not", head], &[]).await? == 0 {
            return Ok(Ok(head.to_owned()));
        }
        if self.count(own, &["--merges", head, "--not", onto], &[]).await? > 0 {
            return self.commit_merged(own, order, onto, true).await;
        }
        let list = self.said(own, &["rev-list", "--reverse", "--topo-order", head, "--not", onto]).await?;
        let commits: Vec<&str> = list.lines().collect();
        if commits.len() > REBASED_MAX {
            return Err(GitReason::TooMuch { command: "git rev-list".to_owned() }.into());
        }
        let mut tip = onto.to_owned();
        for commit in commits {
            let parent = format!("{commit}^");
            let tree = self.said(own, &["rev-parse", &format!("{tip}^{{tree}}")]).await?;
            // The files of the tip as a child of the commit's parent: git finds that parent as the base of the merge.
            let stand_in = self.commit_tree(own, &tree, &[&parent], (commit, "herder\n")).await?;
            let merged = match self.merge_trees(own, &stand_in, commit).await? {
                Ok(merged) => merged,
                Err(files) => return Ok(Err(files)),
            };
            if merged == tree {
                continue;
            }
            let message = self.said(own, &["log", "-1", "--format=%B", commit]).await?;
            tip = self.commit_tree(own, &merged, &[&tip], (commit, &message)).await?;
        }
        Ok(Ok(tip))
    }

    /// Merges two commits and returns the tree; `Err`: the files that conflict.
    async fn merge_trees(
        &self,
        own: &Mirror,
        ours: &str,
        theirs: &str,
    ) -> Result<Result<String, Vec<String>>, Detail> {
        let merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs];
        let output = self.run_in(own, &merge).await?;
        let said = String::from_utf8_lossy(&output.out).into_owned();
        let mut parts = said.split('\0').filter(|part| !part.is_empty()).map(str::to_owned);
        match (output.code, parts.next()) {
            (Some(0), Some(tree)) => Ok(Ok(tree.trim().to_owned())),
            (Some(1), Some(_)) => {
                let shown = |name: String| cut::one_line(&crate::core::clean::clean(&name), 200);
                Ok(Err(parts.map(shown).take(FILES_MAX).collect()))
            }
            _ => Err(GitReason::Failed { command: "git merge-tree".to_owned() }.with(output.said.trim())),
        }
    }

    /// Commits a tree in the name of the author of another commit.
    async fn commit_tree(
        &self,
        own: &Mirror,
        tree: &str,
        parents: &[&str],
        (of, message): (&str, &str),
    ) -> Result<String, Detail> {
        let author = self.said(own, &["log", "-1", "--format=%an%n%ae%n%aI", of]).await?;
        let mut author = author.lines();
        let mut next = || author.next().map(str::trim).filter(|text| !text.is_empty());
        let name = next().unwrap_or("herder").to_owned();
        let email = next().unwrap_or("herder@localhost").to_owned();
        let date = next().unwrap_or_default().to_owned();
        let mut commit = words(&["commit-tree", tree]);
        for parent in parents {
            commit.extend([OsStr::new("-p"), OsStr::new(*parent)]);
        }
        commit.extend(words(&["-F", "-"]));
        let env = [
            ("GIT_DIR", own.path()),
            ("GIT_AUTHOR_NAME", Path::new(&name)),
            ("GIT_AUTHOR_EMAIL", Path::new(&email)),
            ("GIT_AUTHOR_DATE", Path::new(&date)),
            ("GIT_COMMITTER_NAME", Path::new(&name)),
            ("GIT_COMMITTER_EMAIL", Path::new(&email)),
        ];
        let input = message.as_bytes();
        let call = Call { folder: own.path(), words: &commit, own: &env, input, local: false };
        let said = self.git().ask(call, READS).await?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Runs git in a repository and returns what it says; it must succeed.
    async fn said(&self, own: &Mirror, asked: &[&str]) -> Result<String, Detail> {
        let env = [("GIT_DIR", own.path())];
        let asked = words(asked);
        let call = Call { folder: own.path(), words: &asked, own: &env, input: &[], local: false };
        let said = self.git().ask(call, READS).await?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    pub(super) async fn run_in(&self, own: &Mirror, asked: &[&str]) -> Result<Output, Detail> {
        let env = [("GIT_DIR", own.path())];
        let asked = words(asked);
        let call = Call { folder: own.path(), words: &asked, own: &env, input: &[], local: false };
        Box::pin(self.git().run(call, READS)).await
    }

    /// Returns the top folders of the repository's worktrees that have a branch checked out.
    async fn worktrees_on(&self, top: &Path, branch: &str) -> Result<Vec<PathBuf>, Detail> {
        let list = words(&["worktree", "list", "--porcelain", "-z"]);
        let call = Call { folder: top, words: &list, own: &[], input: &[], local: false };
        let said = self.git().ask(call, READS).await?;
        let mut found = Vec::new();
        let mut path = None;
        for line in said.split(|byte| *byte == 0) {
            if let Some(name) = line.strip_prefix(b"worktree ") {
                path = Some(PathBuf::from(OsStr::from_bytes(name)));
            } else if line.strip_prefix(b"branch ") == Some(branch.as_bytes()) {
                // A worktree whose folder was removed has nothing to move.
                found.extend(path.take().filter(|path| path.is_dir()));
            }
        }
        Ok(found)
    }

    /// Looks at a checkout of the base.
    async fn checkout_of(&self, top: &Path, step: &Step) -> Result<InUse, Detail> {
        let found = Box::pin(Repository::at(self.git(), top, READS)).await?;
        let places = found.places.clone();
        let looks = self.mirror(&found).await?;
        let mut checkout = InUse {
            looks,
            top: top.to_owned(),
            index: places.git.join("index"),
            is_clean: false,
            is_moved: false,
        };
        let busy = self.at(top, move |_| is_busy(&places)).await?;
        // herder's git runs no filter, without which such files would be written as they are stored.
        let filters = ["grep", "--quiet", "-e", "filter=", &step.to, "--", ":(glob)**/.gitattributes"];
        if busy || self.run_in(&checkout.looks, &filters).await?.code != Some(1) {
            return Ok(checkout);
        }
        let clean = ["status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=all"];
        let status = checkout.run(self, &clean).await?;
        checkout.is_clean = status.code == Some(0) && status.out.is_empty();
        if !checkout.is_clean {
            // A merge that was cut short between the files and the branch has left them as they are to be.
            let there = checkout.run(self, &["diff-index", "--quiet", &step.to, "--"]).await?;
            checkout.is_clean = there.code == Some(0);
            checkout.is_moved = checkout.is_clean;
        }
        Ok(checkout)
    }
}

/// A checkout of the base.
struct InUse {
    looks: Mirror,
    top: PathBuf,
    index: PathBuf,
    /// True if herder may move it.
    is_clean: bool,
    /// True if its files are those of the merged commit.
    is_moved: bool,
}

impl InUse {
    async fn run(&self, of: &Checkouts, asked: &[&str]) -> Result<Output, Detail> {
        let env = [
            ("GIT_DIR", self.looks.path()),
            ("GIT_WORK_TREE", self.top.as_path()),
            ("GIT_INDEX_FILE", self.index.as_path()),
        ];
        let asked = words(asked);
        let call = Call { folder: &self.top, words: &asked, own: &env, input: &[], local: false };
        Box::pin(of.git().run(call, COPIES)).await
    }
}

/// Returns true if a person is in the middle of something there, if attributes are set that no commit has, or if the
/// index is split, so that git would write a part of it into the folder that stands in for `.git`.
fn is_busy(places: &Places) -> bool {
    let attributes = places.common.join("info/attributes");
    let shared = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("sharedindex.");
    let mut entries = std::fs::read_dir(&places.git).into_iter().flatten().flatten();
    entries.any(shared)
        || IN_PROGRESS.iter().any(|name| places.git.join(name).exists())
        || attributes.metadata().is_ok_and(|found| found.len() > 0)
}

/// Returns the branches that are being rebased or bisected in the worktrees of a repository: their HEADs say nothing.
fn in_progress(common: &Path) -> Vec<String> {
    let linked = std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let folders = linked.map(|entry| entry.path()).chain([common.to_owned()]);
    let names = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];
    let files = folders.flat_map(|git| names.map(|name| git.join(name)));
    files.filter_map(|file| std::fs::read_to_string(file).ok()).map(|text| text.trim().to_owned()).collect()
}

fn text(output: &Output) -> String {
    match output.code {
        Some(0) => String::from_utf8_lossy(&output.out).trim().to_owned(),
        _ => String::new(),
    }
}

/// Returns the first line of a task's text as the first line of a commit's message.
fn subject(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Work of an agent");
    cut::one_line(&crate::core::clean::clean(line), SUBJECT_MAX)
}
