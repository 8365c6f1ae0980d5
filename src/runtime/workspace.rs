//! Inspection of the workspace before a session: whether it is usable, and its git state.
//!
//! Its content may be hostile, `.git` included, and may change meanwhile: `git` is run so that nothing of the
//! repository's own is executed: no hook, monitor, attribute filter, remote helper or submodule; no prompt, no lock.
//! The state is queried with a configuration of herder's own ([`mirror`](super::git::mirror)). The whole is limited to a few seconds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, Mode, OFlags, access, open};
use rustix::io::Errno;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use super::git::mirror::{Mirror, Places};
use super::process::{Tree, spawn};
use super::protocol::Invocation;
use super::{Launch, Local, ProcessTrees, environment, folder};
use crate::core::detail::{Detail, Own};
use crate::core::spec::Permissions;
use crate::core::workspace::{Unfinished, Workspace};

/// Maximum time for the file system to answer when the workspace is inspected; with that of `git` it is below the time
/// after which a driver counts as hung.
const ANSWERS: Duration = Duration::from_secs(6);

/// Maximum time for all `git` commands of one inspection together.
const PATIENCE: Duration = Duration::from_secs(4);

/// Maximum length of a `git` command's output, in bytes: the names of some ten thousand files.
const ANSWER_MAX: u64 = 2 * 1024 * 1024;

/// Time between SIGTERM and SIGKILL for a `git` command: there is nothing to save.
const GRACE: Duration = Duration::from_millis(200);

/// git settings on the command line that override the repository's own.
const SETTINGS: [(&str, &str); 6] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.untrackedCache", "false"),
    ("core.pager", "cat"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
];

/// Files in a repository's `.git` folder that show an unfinished operation.
const UNDER_WAY: [(&str, Unfinished); 6] = [
    ("rebase-merge", Unfinished::Rebase),
    ("rebase-apply", Unfinished::Rebase),
    ("MERGE_HEAD", Unfinished::Merge),
    ("CHERRY_PICK_HEAD", Unfinished::CherryPick),
    ("REVERT_HEAD", Unfinished::Revert),
    ("BISECT_LOG", Unfinished::Bisect),
];

/// Checks that a session can work in the workspace and, if `launch` wants it, returns its git state. `None` if it is
/// no repository, or `git` cannot tell.
///
/// # Errors
/// The reason why no session can work there.
pub(super) async fn look(
    launch: &Launch,
    local: &Local,
    trees: &ProcessTrees,
) -> Result<Option<Workspace>, Detail> {
    let workspace = launch.spec.workspace.as_path();
    let (permissions, wanted) = (launch.spec.permissions, launch.look);
    let asked = move |workspace: &Path| {
        usable(workspace, permissions)?;
        Ok::<_, Detail>(wanted && workspace.ancestors().any(|folder| folder.join(".git").exists()))
    };
    if !folder::ask(trees.running(), workspace, ANSWERS, asked).await?? {
        return Ok(None);
    }
    let path = local.environment.get("PATH").cloned();
    // A marker of its own: the session's processes do not exist yet.
    let marker = format!("{}/look", launch.marker);
    let git = Git { workspace, trees, path, until: trees.running().now() + PATIENCE, marker };
    Ok(git.look().await.map(Workspace::bounded))
}

/// Checks that the folder exists, and is writable if the agent may write.
fn usable(workspace: &Path, permissions: Permissions) -> Result<(), Detail> {
    let path = || workspace.display().to_string();
    match std::fs::metadata(workspace) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(Own::WorkspaceNoFolder { path: path() }.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Own::WorkspaceMissing { path: path() }.into());
        }
        Err(error) => return Err(Own::WorkspaceLocked { path: path() }.with(error.to_string())),
    }
    let needed = match permissions {
        Permissions::ReadOnly => return Ok(()),
        Permissions::Plan | Permissions::WorkspaceWrite | Permissions::Full => {
            Access::WRITE_OK | Access::EXEC_OK
        }
    };
    access(workspace, needed).and_then(|()| probe(workspace)).map_err(|reason| {
        let said = std::io::Error::from(reason).to_string();
        Own::WorkspaceLocked { path: path() }.with(said)
    })
}

/// Creates a file without a name, which vanishes when it is closed, to test that the workspace can be written:
/// permissions do not show a full disk.
fn probe(workspace: &Path) -> Result<(), Errno> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(workspace, flags, Mode::RUSR | Mode::WUSR) {
        // Some file systems lack such files.
        Ok(_) | Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(reason) => Err(reason),
    }
}

/// Runs `git` commands that execute nothing that the repository's configuration names.
struct Git<'a> {
    workspace: &'a Path,
    trees: &'a ProcessTrees,
    path: Option<String>,
    until: Instant,
    marker: String,
}

impl Git<'_> {
    async fn look(&self) -> Option<Workspace> {
        let config = self.ask(&["config", "--null", "--list"], &[]).await?;
        let places = [
            "rev-parse",
            "--path-format=absolute",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let places = self.ask(&places, &[]).await?;
        let [git, common, top] = places.lines().map(PathBuf::from).collect::<Vec<_>>().try_into().ok()?;
        let (folder, places) = (git.clone(), Places { git, common, top });
        let (running, of) = (self.trees.running(), places.clone());
        let mirror = folder::ask(running, &folder, self.left(), move |_| {
            Mirror::of(&std::env::temp_dir(), &of, &config)
        })
        .await
        .ok()?;
        let mirror =
            mirror.inspect_err(|reason| tracing::debug!(%reason, "a look cannot be prepared")).ok()?;
        let index = places.git.join("index");
        let own = [
            ("GIT_DIR", mirror.path()),
            ("GIT_WORK_TREE", places.top.as_path()),
            ("GIT_INDEX_FILE", index.as_path()),
        ];
        let words = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=all",
        ];
        let status = self.ask(&words, &own).await?;
        drop(mirror);
        let under_way = |folder: &Path| UNDER_WAY.iter().find(|(name, _)| folder.join(name).exists());
        let unfinished = folder::ask(running, &folder, self.left(), under_way).await.ok()?;
        Some(Workspace { unfinished: unfinished.map(|(_, unfinished)| *unfinished), ..read(&status) })
    }

    /// Returns the time that is left for the `git` commands.
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(self.trees.running().now())
    }

    /// Runs one `git` command and returns its output; `None` if it fails or times out.
    async fn ask(&self, words: &[&str], own: &[(&str, &Path)]) -> Option<String> {
        let invocation = Invocation {
            program: "git".to_owned(),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: self.environment(own),
            waits: false,
        };
        let marker = self.marker.clone();
        let begin =
            spawn::begin(self.trees, self.workspace, &self.marker, self.left(), move |trees, workspace| {
                Ok((spawn::spawn(trees, &invocation, workspace, &marker)?, ()))
            });
        let begun = begin.await.inspect_err(|reason| tracing::debug!(%reason, "git cannot be asked"));
        let (mut owned, ()) = begun.ok()?;
        drop(owned.child.stdin.take());
        drop(owned.child.stderr.take());
        let (mut said, mut whole) = (Vec::new(), false);
        if let Some(stdout) = owned.child.stdout.take() {
            let mut stdout = stdout.take(ANSWER_MAX);
            let read = self.trees.running().within(self.left(), stdout.read_to_end(&mut said));
            whole = matches!(read.await, Some(Ok(_)));
        }
        let left = if whole { self.trees.running().within(self.left(), owned.wait()).await } else { None };
        if left.is_none() {
            let tree = Tree {
                root: Some(owned.identity),
                marker: self.marker.clone(),
                workspace: self.workspace.to_owned(),
            };
            self.trees.end(&tree, GRACE).await;
            tracing::debug!(workspace = %self.workspace.display(), "git was not done in time");
            return None;
        }
        let code = left.and_then(Result::ok).and_then(|status| status.code());
        (code == Some(0)).then(|| String::from_utf8_lossy(&said).into_owned())
    }

    fn environment(&self, own: &[(&str, &Path)]) -> BTreeMap<String, String> {
        let mut environment: BTreeMap<String, String> = [
            ("HOME", "/nonexistent"),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_PAGER", "cat"),
            (environment::MARKER, &self.marker),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
        if let Some(path) = &self.path {
            environment.insert("PATH".to_owned(), path.clone());
        }
        for (name, path) in own {
            environment.insert((*name).to_owned(), path.to_string_lossy().into_owned());
        }
        let mut count = 0_usize;
        for (name, value) in SETTINGS {
            environment.insert(format!("GIT_CONFIG_KEY_{count}"), name.to_owned());
            environment.insert(format!("GIT_CONFIG_VALUE_{count}"), value.to_owned());
            count += 1;
        }
        environment.insert("GIT_CONFIG_COUNT".to_owned(), count.to_string());
        environment
    }
}

/// Parses the output of `git status --porcelain=v2 --branch -z`.
pub(super) fn read(status: &str) -> Workspace {
    let mut seen = Workspace { branch: None, changed: 0, unfinished: None };
    let mut pieces = status.split('\0');
    while let Some(piece) = pieces.next() {
        match piece.split_once(' ') {
            Some(("#", header)) => {
                let branch = header.strip_prefix("branch.head ").filter(|branch| *branch != "(detached)");
                if let Some(branch) = branch {
                    seen.branch = Some(branch.to_owned());
                }
            }
            // A renamed file: its old path is a separate item.
            Some(("2", _)) => {
                seen.changed = seen.changed.saturating_add(1);
                pieces.next();
            }
            Some(("1" | "u" | "?", _)) => seen.changed = seen.changed.saturating_add(1),
            Some(_) | None => {}
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_and_the_changed_files_are_read() {
        let renamed = "2 R. N... 100644 100644 100644 a b R100 new name\0old name\0";
        for (status, branch, changed) in [
            ("# branch.oid (initial)\0# branch.head main\0", Some("main"), 0),
            ("# branch.oid ab\0# branch.head (detached)\0? 1 x\0? b\0", None, 2),
            (&format!("# branch.head a b\0{renamed}u UU N... 1 2 3 4 a b c both\0"), Some("a b"), 2),
            ("", None, 0),
        ] {
            let seen = read(status);
            assert_eq!((seen.branch.as_deref(), seen.changed), (branch, changed), "{status:?}");
        }
    }

    #[test]
    fn a_workspace_that_is_none_is_named_for_what_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("a file");
        let own = |path: &Path| usable(path, Permissions::WorkspaceWrite).map_err(|detail| detail.own);
        assert_eq!(own(dir.path()), Ok(()));
        assert!(matches!(own(&file), Err(Some(Own::WorkspaceNoFolder { .. }))));
        assert!(matches!(own(&dir.path().join("none")), Err(Some(Own::WorkspaceMissing { .. }))));
        assert!(matches!(own(&file.join("below")), Err(Some(Own::WorkspaceLocked { .. }))));
    }

    /// Returns every git on this machine: a filter that one version leaves out another one may run.
    fn gits() -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
        let mut gits: Vec<PathBuf> = folders.filter_map(|it| it.join("git").canonicalize().ok()).collect();
        gits.sort();
        gits.dedup();
        gits
    }

    /// A configuration with a filter replaces one without, and back, during the inspection.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_configuration_that_is_swapped_meanwhile_has_no_filter_run() {
        let gits = gits();
        assert!(!gits.is_empty(), "a git is needed (package git)");
        for git in gits {
            let dir = tempfile::tempdir().expect("a folder");
            let (tools, workspace) = (dir.path().join("tools"), dir.path().join("workspace"));
            std::fs::create_dir(&tools).expect("a folder");
            std::fs::create_dir(&workspace).expect("a folder");
            std::os::unix::fs::symlink(&git, tools.join("git")).expect("a link");
            let usual = std::env::var("PATH").unwrap_or_default();
            runs_no_filter(&workspace, format!("{}:{usual}", tools.display())).await;
        }
    }

    /// Inspects a repository with the first git in `path` while its configuration is swapped.
    async fn runs_no_filter(dir: &Path, path: String) {
        use std::sync::atomic::{AtomicBool, Ordering};
        let git = |words: &[&str]| {
            let named =
                ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"];
            let mut command = std::process::Command::new("git");
            command.args(named).args(words).current_dir(dir).env("PATH", &path);
            let output = command.output().expect("git is there");
            assert!(output.status.success(), "{path}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let version = git(&["--version"]);
        git(&["init"]);
        std::fs::write(dir.join("file"), "a\n").expect("a file");
        git(&["add", "file"]);
        git(&["commit", "-m", "a"]);
        std::fs::write(dir.join(".gitattributes"), "* filter=trap\n").expect("a file");
        let config = dir.join(".git/config");
        let harmless = std::fs::read_to_string(&config).expect("it is there");
        let ran = dir.join("pwned");
        let trap = format!("{harmless}[filter \"trap\"]\n\tclean = touch {}; cat\n", ran.display());
        let over = AtomicBool::new(false);
        let trees = ProcessTrees::new().expect("processes can be looked at");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for text in [&trap, &harmless] {
                        let other = config.with_extension("other");
                        std::fs::write(&other, text).expect("a file");
                        std::fs::rename(&other, &config).expect("a file");
                    }
                }
            });
            let looked = tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    let mut looked = 0;
                    for round in 0..20 {
                        // Its time stamp equals that of the index, so git has to read it to know whether it has
                        // changed.
                        std::fs::write(dir.join("file"), format!("{round}\n")).expect("a file");
                        let git = Git {
                            workspace: dir,
                            trees: &trees,
                            path: Some(path.clone()),
                            until: Instant::now() + PATIENCE * 5,
                            marker: format!("look-{round}"),
                        };
                        let seen = git.look().await;
                        looked +=
                            usize::from(seen.is_some_and(|seen| seen.branch.as_deref() == Some("main")));
                    }
                    looked
                })
            });
            over.store(true, Ordering::Relaxed);
            assert_eq!(looked, 20, "{version}");
        });
        assert!(!ran.exists(), "a filter of the repository's was run by {version}");
        // Asking git in its usual way runs it.
        std::fs::write(&config, &trap).expect("a file");
        std::fs::write(dir.join("file"), "other\n").expect("a file");
        git(&["add", "--renormalize", "file"]);
        assert!(ran.exists(), "the filter was no trap for {version}");
    }
}
