//! Remotes, with the operator's login: herder's own copy of a repository that an address names, the push of a task's
//! branch, and the push of a merged base.
//!
//! Nothing of the repository's is run: git reads the operator's own settings, and of the repository's the address of the
//! remote alone.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use tracing::warn;

use super::checkout::{Checkouts, unusable};
use super::merge::{Move, Step};
use super::mirror::Mirror;
use super::{Call, Limits, Output, files, words};
use crate::core::checkout::{Plan, address_parts};
use crate::core::detail::{Detail, GitReason};

/// The limits of the first fetch of a repository, which may be large.
const COPIES: Limits = Limits { time: Duration::from_secs(3600), output: 64 * 1024 };

/// The limits of any other command that reaches a remote.
const REMOTES: Limits = Limits { time: Duration::from_secs(300), output: 4 * 1024 * 1024 };

/// The command at the other end of a push to a folder of this machine: no hook of that repository's is run.
const RECEIVE_PACK: &str =
    "--receive-pack=git -c core.hooksPath=/dev/null -c receive.autogc=false -c gc.auto=0 receive-pack";

/// Returns true if an address is a folder of this machine.
fn is_local(address: &str) -> bool {
    address_parts(address).is_none_or(|(scheme, _)| scheme == "file")
}

/// Ending of the name of a copy that is not complete yet.
const NEW: &str = "new";

impl Checkouts {
    /// Makes herder's own copy of the repository that an address names, or brings it up to date. A person's repository
    /// is left as it is.
    ///
    /// # Errors
    /// The remote cannot be reached, and there is no copy or `is_needed`; or the disk fails.
    pub(crate) async fn freshen(&self, plan: &Plan, is_needed: bool) -> Result<(), Detail> {
        let url = plan.repository.url.as_str();
        if url.is_empty() {
            return Ok(());
        }
        let path = self.place(plan);
        // One at a time: two of them would be in each other's way.
        let _turn = match &self.fetching {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        if !self.at(&path, Path::is_dir).await? {
            return self.copy(url, &path).await;
        }
        let fetched = async {
            let own = self.mirror(&self.repository(plan).await?).await?;
            self.fetch_all(url, own.path(), REMOTES).await?;
            self.follow_head(url, own.path(), &path).await
        };
        match fetched.await {
            Err(why) if !is_needed => {
                warn!(%url, reason = %why, "the copy of the repository stays as it is");
                Ok(())
            }
            other => other,
        }
    }

    /// Makes the copy; it has its name once it is complete.
    async fn copy(&self, url: &str, path: &Path) -> Result<(), Detail> {
        let staging = path.with_extension(NEW);
        let cleared = self.at(&staging, |staging| {
            files::remove(staging)?;
            std::fs::create_dir_all(staging)
        });
        cleared.await?.map_err(|error| unusable(&staging, &error))?;
        let init = words(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main"]);
        let env = [("GIT_DIR", staging.as_path())];
        let call = Call { folder: &staging, words: &init, own: &env, input: &[], local: false };
        self.git().ask(call, REMOTES).await?;
        let copied = async {
            self.fetch_all(url, &staging, COPIES).await?;
            self.follow_head(url, &staging, &staging).await
        };
        if let Err(why) = copied.await {
            // The reason is not that this cannot be removed either.
            drop(self.at(&staging, files::remove).await);
            return Err(why);
        }
        let to = path.to_owned();
        let named = self.at(&staging, move |staging| std::fs::rename(staging, to)).await?;
        named.map_err(|error| unusable(path, &error))
    }

    /// Fetches all branches and tags.
    async fn fetch_all(&self, url: &str, within: &Path, limits: Limits) -> Result<(), Detail> {
        let fetch = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--update-head-ok",
            "--upload-pack=git-upload-pack",
            "--",
            url,
            "+refs/heads/*:refs/heads/*",
            "+refs/tags/*:refs/tags/*",
        ];
        let output = self.remote(within, (url, &fetch), limits).await?;
        if output.code == Some(0) {
            return Ok(());
        }
        Err(GitReason::Failed { command: "git fetch".to_owned() }.with(output.said.trim()))
    }

    /// Takes over which branch is the remote's default.
    async fn follow_head(&self, url: &str, within: &Path, path: &Path) -> Result<(), Detail> {
        let asked = ["ls-remote", "--symref", "--", url, "HEAD"];
        let output = self.remote(within, (url, &asked), REMOTES).await?;
        let said = String::from_utf8_lossy(&output.out).into_owned();
        let head = said.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
        let plain = |name: &&str| {
            let of = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
            name.starts_with("refs/heads/") && name.bytes().all(of) && !name.contains("..")
        };
        let Some(head) = head.filter(plain) else { return Ok(()) };
        let text = format!("ref: {head}\n");
        let written = self.at(path, move |path| {
            let file = path.join("HEAD");
            if std::fs::read_to_string(&file).is_ok_and(|now| now == text) {
                return Ok(());
            }
            let new = path.join("HEAD.new");
            std::fs::write(&new, text)?;
            std::fs::rename(new, file)
        });
        written.await?.map_err(|error| unusable(path, &error))
    }

    /// Moves the base at the remote, unless somebody else has moved it, and herder's copy with it.
    ///
    /// # Errors
    /// The remote cannot be reached, or refuses.
    pub(super) async fn push_base(&self, plan: &Plan, step: &Step) -> Result<Move, Detail> {
        let url = plan.repository.url.as_str();
        let own = self.mirror(&self.repository(plan).await?).await?;
        let full = format!("refs/heads/{}", step.branch);
        let lease = format!("--force-with-lease={full}:{}", step.from);
        let refs = format!("{}:{full}", step.to);
        let pushed = self.push_refs(&own, url, [&lease, &refs]).await?;
        if pushed.code != Some(0) {
            // The answer may have been lost.
            match self.pushed(&own, url, &full).await? {
                Some(there) if there == step.to => {}
                Some(there) if there == step.from => {
                    let failed = GitReason::Failed { command: "git push".to_owned() };
                    return Err(failed.with(pushed.said.trim()));
                }
                _ => return Ok(Move::Overtaken),
            }
        }
        let update = words(&["update-ref", &full, &step.to, &step.from]);
        let env = [("GIT_DIR", own.path())];
        let call = Call { folder: own.path(), words: &update, own: &env, input: &[], local: false };
        // The next fetch does it otherwise.
        drop(Box::pin(self.git().run(call, REMOTES)).await);
        Ok(Move::Done)
    }

    async fn push_refs(
        &self,
        own: &Mirror,
        address: &str,
        [lease, refs]: [&str; 2],
    ) -> Result<Output, Detail> {
        let push = [
            "push",
            "--quiet",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            lease,
            if is_local(address) { RECEIVE_PACK } else { "--receive-pack=git-receive-pack" },
            "--",
            address,
            refs,
        ];
        self.remote(own.path(), (address, &push), REMOTES).await
    }

    /// Returns the address of the repository's remote.
    ///
    /// # Errors
    /// There is no remote.
    pub(crate) async fn address_of(&self, plan: &Plan) -> Result<String, Detail> {
        if !plan.repository.url.is_empty() {
            return Ok(plan.repository.url.clone());
        }
        let source = self.repository(plan).await?;
        let of = |name: &str| {
            let mut all = source.config.split('\0').filter_map(|entry| entry.split_once('\n'));
            all.rfind(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        let none = || GitReason::NoRemote { path: plan.repository.shown() };
        let address = of("remote.origin.pushurl").or_else(|| of("remote.origin.url")).ok_or_else(none)?;
        // git takes a relative path as one from the repository.
        Ok(match address.starts_with('.') {
            true => source.places.top.join(address).display().to_string(),
            false => address,
        })
    }

    /// Returns the name of the branch at the remote that a task's work gets into.
    ///
    /// # Errors
    /// The base is no branch there.
    pub(crate) async fn base_of(&self, plan: &Plan) -> Result<String, Detail> {
        if let Some(onto) = plan.onto.as_deref().filter(|onto| !onto.is_empty()) {
            return Ok(onto.to_owned());
        }
        // A branch that only the remote has.
        let own = self.mirror(&self.repository(plan).await?).await?;
        let asked = plan.repository.base.as_str();
        let name = match asked.strip_prefix("origin/").unwrap_or(asked) {
            "" => {
                let head = ["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"];
                let said = self.run_in(&own, &head).await?;
                let said = String::from_utf8_lossy(&said.out).trim().to_owned();
                said.strip_prefix("refs/remotes/origin/").unwrap_or_default().to_owned()
            }
            name => name.to_owned(),
        };
        let is_there = self.commit_in(&own, &format!("refs/remotes/origin/{name}")).await?.is_some();
        let no_branch =
            || GitReason::NoBranch { base: if asked.is_empty() { "HEAD" } else { asked }.to_owned() };
        if name.is_empty() || !is_there { Err(no_branch().into()) } else { Ok(name) }
    }

    /// Pushes an accepted commit to the task's branch at the remote, unless it is there. The branch moves from a commit
    /// that herder has pushed, or that the accepted one goes on from.
    ///
    /// # Errors
    /// The remote cannot be reached or refuses, or somebody else has pushed to the branch.
    pub(crate) async fn push(&self, plan: &Plan, (address, head): (&str, &str)) -> Result<(), Detail> {
        let source = self.repository(plan).await?;
        let own = self.mirror(&source).await?;
        let full = format!("refs/heads/{}", plan.branch);
        let there = self.pushed(&own, address, &full).await?;
        match there.as_deref() {
            Some(there) if there == head => return Ok(()),
            Some(there) => {
                let own_push = self.commit_in(&own, &pushed_ref(plan, there)).await?.is_some();
                if !own_push && !self.is_part(&own, there, head).await? {
                    return Err(GitReason::BranchMoved { branch: plan.branch.clone() }.into());
                }
            }
            None => {}
        }
        self.unlock(&source, plan.task, "pushed-").await?;
        let keep = ["update-ref", &pushed_ref(plan, head), head];
        let kept = self.run_in(&own, &keep).await?;
        if kept.code != Some(0) {
            return Err(GitReason::Failed { command: "git update-ref".to_owned() }.with(kept.said.trim()));
        }
        let lease = format!("--force-with-lease={full}:{}", there.unwrap_or_default());
        let refs = format!("{head}:{full}");
        let output = self.push_refs(&own, address, [&lease, &refs]).await?;
        if output.code == Some(0) {
            return Ok(());
        }
        Err(GitReason::Failed { command: "git push".to_owned() }.with(output.said.trim()))
    }

    /// Returns the commit of a branch at the remote; `None` if there is no such branch.
    async fn pushed(&self, own: &Mirror, address: &str, full: &str) -> Result<Option<String>, Detail> {
        let asked = ["ls-remote", "--", address, full];
        let output = self.remote(own.path(), (address, &asked), REMOTES).await?;
        if output.code != Some(0) || output.cut {
            return Err(GitReason::Failed { command: "git ls-remote".to_owned() }.with(output.said.trim()));
        }
        let said = String::from_utf8_lossy(&output.out).into_owned();
        let mut found = said.lines().filter_map(|line| line.split_once('\t'));
        Ok(found.find(|(_, name)| *name == full).map(|(commit, _)| commit.to_owned()))
    }

    /// Returns true if a commit is here, and is a part of another one's history.
    async fn is_part(&self, own: &Mirror, commit: &str, of: &str) -> Result<bool, Detail> {
        Ok(self.commit_in(own, commit).await?.is_some()
            && self.count(own, &[commit, "--not", of], &[]).await? == 0)
    }

    /// Runs git with the operator's login, but for a folder of this machine, which needs none.
    async fn remote(
        &self,
        within: &Path,
        (address, asked): (&str, &[&str]),
        limits: Limits,
    ) -> Result<Output, Detail> {
        let env = [("GIT_DIR", within)];
        let asked: Vec<&OsStr> = words(asked);
        let call = Call { folder: within, words: &asked, own: &env, input: &[], local: false };
        let mut login = self.login.clone();
        if is_local(address) {
            login.retain(|name, _| matches!(name.as_str(), "HOME" | "PATH"));
        }
        Box::pin(self.git().run_remote(call, &login, limits)).await
    }
}

/// Returns the name of the ref that keeps a commit which herder has pushed to a task's branch.
fn pushed_ref(plan: &Plan, commit: &str) -> String {
    format!("refs/herder/{}/pushed-{}", plan.task, commit.get(..16).unwrap_or(commit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_this_machine_is_told_from_a_remote() {
        for (address, local) in [
            ("/srv/git/app.git", true),
            ("./app", true),
            ("file:///srv/git/app", true),
            ("/srv/a:b/app", true),
            ("https://forge.example/moss/app", false),
            ("git@forge.example:moss/app", false),
            ("ssh://forge.example/app", false),
        ] {
            assert_eq!(is_local(address), local, "{address}");
        }
    }
}
