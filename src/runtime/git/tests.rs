mod merge;
mod ready;
mod refs;
mod scratch;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::checkout::Checkouts;
use super::{Git, files};
use crate::core::checkout::{Held, Plan, Repository};
use crate::core::detail::{Detail, GitReason, Own};
use crate::core::id::WorkId;
use crate::runtime::ProcessTrees;

/// A repository with one commit, and a folder for clones.
pub(super) struct Scene {
    pub(super) dir: tempfile::TempDir,
    pub(super) checkouts: Checkouts,
}

pub(super) fn git_as_a_person(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().expect("git is there (package git)");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Scene {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let trees = ProcessTrees::new().expect("processes can be looked at");
        let marker = format!("test-{}/spark/git", std::process::id());
        let git = Git::new(trees, marker, std::env::var("PATH").ok());
        let scene = Self { checkouts: Checkouts::new(git, dir.path().join("tasks")), dir };
        let repository = scene.repository();
        fs::create_dir(&repository).expect("a folder");
        git_as_a_person(&repository, &["init", "--quiet"]);
        scene.commit("file", "a\n");
        scene
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.dir.path().join("app")
    }

    /// Writes a file of the repository and commits it.
    pub(super) fn commit(&self, name: &str, text: &str) {
        fs::write(self.repository().join(name), text).expect("a file");
        git_as_a_person(&self.repository(), &["add", "--all"]);
        git_as_a_person(&self.repository(), &["commit", "--quiet", "-m", "a"]);
    }

    pub(super) fn plan(&self) -> Plan {
        let repository = Repository { path: self.repository(), ..Repository::default() };
        Plan {
            task: WorkId(7),
            repository,
            branch: "herder/7-x".to_owned(),
            begun: true,
            onto: None,
            worked: Vec::new(),
            check: None,
            pull: None,
        }
    }

    pub(super) fn clone(&self) -> PathBuf {
        self.checkouts.path(WorkId(7))
    }

    /// Lets the agent commit a file in its clone.
    pub(super) fn work(&self, name: &str) {
        fs::write(self.clone().join(name), "b\n").expect("a file");
        git_as_a_person(&self.clone(), &["add", "--all"]);
        git_as_a_person(&self.clone(), &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "b"]);
    }

    /// Returns a program that leaves a mark once it is run.
    pub(super) fn trap(&self) -> (String, PathBuf) {
        let (program, mark) = (self.dir.path().join("trap"), self.dir.path().join("sprung"));
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", mark.display()))
            .expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its rights");
        (program.display().to_string(), mark)
    }

    pub(super) async fn all(&self) -> Result<Held, Detail> {
        self.checkouts.make(&self.plan()).await?;
        self.checkouts.fetch(&self.plan()).await
    }
}

fn reason(result: Result<impl Sized, Detail>) -> Option<GitReason> {
    match result.err()?.own? {
        Own::Git(reason) => Some(reason),
        other => panic!("{other}"),
    }
}

/// Returns all refs of a repository with their values.
fn all_refs(repository: &Path) -> String {
    git_as_a_person(repository, &["for-each-ref", "--format=%(refname) %(objectname)"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_has_a_clone_and_its_commits_reach_the_repository() {
    let scene = Scene::new();
    let (plan, before) = (scene.plan(), all_refs(&scene.repository()));
    let status = || git_as_a_person(&scene.repository(), &["status", "--porcelain", "--branch"]);
    let (config, seen) = (fs::read(scene.repository().join(".git/config")).expect("it is there"), status());
    let base = scene.checkouts.make(&plan).await.expect("a clone");
    assert_eq!(
        (base.commit.clone(), base.onto.as_str()),
        (git_as_a_person(&scene.repository(), &["rev-parse", "HEAD"]), "main")
    );
    assert_eq!(git_as_a_person(&scene.clone(), &["branch", "--show-current"]), plan.branch);
    let borrowed =
        fs::read_to_string(scene.clone().join(".git/objects/info/alternates")).expect("it borrows");
    assert_eq!(Path::new(borrowed.trim()), scene.repository().join(".git/objects"));
    scene.work("new");
    fs::write(scene.clone().join("loose"), "c").expect("a file");
    let held = scene.checkouts.fetch(&plan).await.expect("it is read");
    let head = git_as_a_person(&scene.clone(), &["rev-parse", "HEAD"]);
    assert!(held.size > 0 && !held.larger);
    let counted = Held {
        commits: 1,
        files: 1,
        added: 1,
        uncommitted: 1,
        nowhere: 1,
        size: held.size,
        ..Held::default()
    };
    assert_eq!(held, Held { base: base.commit, head: head.clone(), ..counted });
    assert_eq!(
        git_as_a_person(&scene.repository(), &["rev-parse", "refs/herder/7/head"]),
        head,
        "it is in the repository"
    );
    // Making it again changes nothing.
    scene.checkouts.make(&plan).await.expect("it is there");
    assert!(scene.clone().join("loose").exists());
    scene.checkouts.remove(&plan).await.expect("it can be removed");
    assert!(!scene.clone().exists());
    assert_eq!((all_refs(&scene.repository()), status()), (before, seen), "nothing is left");
    assert_eq!(fs::read(scene.repository().join(".git/config")).expect("it is there"), config);
    scene.checkouts.remove(&plan).await.expect("removing it again does nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_are_on_no_task_s_branch_are_counted() {
    let scene = Scene::new();
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    git_as_a_person(&scene.clone(), &["checkout", "--quiet", "-b", "aside"]);
    scene.work("aside");
    git_as_a_person(&scene.clone(), &["checkout", "--quiet", "herder/7-x"]);
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    assert_eq!((held.commits, held.uncommitted, held.aside, held.nowhere), (0, 0, 1, 1));
    assert!(!held.is_elsewhere());
    // A person takes it over.
    git_as_a_person(
        &scene.repository(),
        &["fetch", "--quiet", &scene.clone().display().to_string(), "aside"],
    );
    git_as_a_person(&scene.repository(), &["branch", "taken", "FETCH_HEAD"]);
    let held = scene.checkouts.look(&scene.plan()).await.expect("it is read");
    assert_eq!((held.aside, held.nowhere), (1, 0));
    assert!(held.is_elsewhere());
    // herder's own refs go with the clone, so that nothing is kept by them.
    git_as_a_person(&scene.clone(), &["reset", "--quiet", "--hard", "aside"]);
    scene.work("more");
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    assert_eq!((held.commits, held.nowhere), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_that_is_lost_goes_on_from_what_was_fetched() {
    let scene = Scene::new();
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    scene.work("new");
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    fs::remove_dir_all(scene.clone()).expect("it can be removed");
    let lost = scene.checkouts.fetch(&scene.plan()).await;
    assert!(matches!(reason(lost), Some(GitReason::NoClone { .. })));
    // An earlier try was cut short.
    fs::create_dir(scene.clone().with_extension("new")).expect("a folder");
    scene.commit("later", "of somebody else\n");
    let again = scene.all().await.expect("it is made again");
    assert_eq!(Held { size: held.size, ..again }, held, "from the same base");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_lacks_files_makes_no_clone_without_them() {
    let scene = Scene::new();
    let repository = scene.repository();
    git_as_a_person(&repository, &["config", "uploadpack.allowFilter", "true"]);
    let (url, partial) = (format!("file://{}", repository.display()), scene.dir.path().join("partial"));
    let filter = ["clone", "--quiet", "--no-checkout", "--filter=blob:none", &url, "partial"];
    git_as_a_person(scene.dir.path(), &filter);
    let known = Repository { path: partial.clone(), ..Repository::default() };
    let plan = Plan { repository: known, ..scene.plan() };
    let lacks = reason(scene.checkouts.make(&plan).await);
    assert!(matches!(lacks, Some(GitReason::Partial { .. })), "{lacks:?}");
    assert!(!scene.clone().exists() && !scene.clone().with_extension("new").exists());
    // The remedy that is said.
    git_as_a_person(&partial, &["fetch", "--quiet", "--refetch", "--no-filter"]);
    scene.checkouts.make(&plan).await.expect("a clone");
    assert_eq!(fs::read_to_string(scene.clone().join("file")).expect("it is there"), "a\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shallow_repository_does_as_well() {
    let scene = Scene::new();
    scene.commit("second", "b\n");
    let url = format!("file://{}", scene.repository().display());
    git_as_a_person(scene.dir.path(), &["clone", "--quiet", "--depth=1", &url, "shallow"]);
    let known = Repository { path: scene.dir.path().join("shallow"), ..Repository::default() };
    let plan = Plan { repository: known, ..scene.plan() };
    scene.checkouts.make(&plan).await.expect("a clone");
    scene.work("new");
    let held = scene.checkouts.fetch(&plan).await.expect("it is read");
    assert_eq!((held.commits, held.nowhere, held.uncommitted), (1, 1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_a_git_that_was_cut_short_and_packed_refs_hold_nothing_up() {
    let scene = Scene::new();
    let refs = scene.repository().join(".git/refs/herder/7");
    let lock = |name: &str| {
        fs::create_dir_all(&refs).expect("a folder");
        fs::write(refs.join(name), "").expect("a file");
    };
    lock("base.lock");
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    scene.work("new");
    lock("head.lock");
    scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    git_as_a_person(&scene.repository(), &["pack-refs", "--all", "--prune"]);
    lock("base.lock");
    lock("head.lock");
    scene.checkouts.remove(&scene.plan()).await.expect("it is removed");
    let left = git_as_a_person(&scene.repository(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(left, "refs/heads/main");
    let packed = scene.repository().join(".git/packed-refs");
    assert!(
        !packed.is_symlink() && fs::read_to_string(packed).expect("it is there").contains("refs/heads/main")
    );
    // A killed herder has left its looks.
    let looks = scene.dir.path().join("tasks/looks");
    fs::create_dir_all(looks.join("old")).expect("a folder");
    scene.checkouts.sweep().await.expect("it is removed");
    assert!(!looks.exists());
    scene.checkouts.sweep().await.expect("nothing is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_says_what_tasks_begin_from() {
    let scene = Scene::new();
    scene.commit("second", "b\n");
    git_as_a_person(&scene.repository(), &["branch", "stable", "HEAD~1"]);
    let base = |base: &str| {
        let mut plan = scene.plan();
        plan.repository.base = base.to_owned();
        plan
    };
    for (task, asked, expected) in
        [(1, "", "HEAD"), (2, "stable", "stable"), (3, "HEAD~1", "stable"), (4, "none", "")]
    {
        let plan = Plan { task: WorkId(task), ..base(asked) };
        let made = scene.checkouts.make(&plan).await;
        if expected.is_empty() {
            assert_eq!(reason(made), Some(GitReason::NoBase { base: "none".to_owned() }));
            continue;
        }
        assert_eq!(
            made.expect("a clone").commit,
            git_as_a_person(&scene.repository(), &["rev-parse", expected])
        );
    }
    // The default branch of the remote comes before a branch that somebody has checked out.
    let copy = scene.dir.path().join("copy");
    git_as_a_person(scene.dir.path(), &["clone", "--quiet", "app", "copy"]);
    git_as_a_person(&copy, &["checkout", "--quiet", "-b", "own", "HEAD~1"]);
    let repository = Repository { path: copy.clone(), ..Repository::default() };
    let (task, branch) = (WorkId(5), "herder/5-x".to_owned());
    let plan = Plan { task, repository, branch, begun: false, ..scene.plan() };
    let made = scene.checkouts.make(&plan).await.expect("a clone");
    assert_eq!(made.commit, git_as_a_person(&copy, &["rev-parse", "origin/HEAD"]));
    // A bare repository does as well, an empty one and a folder without one do not.
    git_as_a_person(scene.dir.path(), &["clone", "--quiet", "--bare", "app", "bare.git"]);
    git_as_a_person(scene.dir.path(), &["init", "--quiet", "empty"]);
    fs::create_dir(scene.repository().join("below")).expect("a folder");
    for (task, name, expected) in [
        (11, "bare.git", None),
        (12, "empty", Some(GitReason::NoBase { base: "HEAD".to_owned() })),
        (
            13,
            "tasks",
            Some(GitReason::NoRepository { path: scene.dir.path().join("tasks").display().to_string() }),
        ),
        (
            14,
            "app/below",
            Some(GitReason::NoRepository { path: scene.repository().join("below").display().to_string() }),
        ),
    ] {
        let repository = Repository { path: scene.dir.path().join(name), ..Repository::default() };
        let branch = format!("herder/{task}-x");
        let plan = Plan { task: WorkId(task), repository, branch, begun: false, ..scene.plan() };
        assert_eq!(reason(scene.checkouts.make(&plan).await), expected, "{name}");
    }
}

/// Sets every program that a repository can name for git, in the configuration of the repository in `folder`.
pub(super) fn set_traps(folder: &Path, trap: &str, promised: &str) {
    let git_dir = git_as_a_person(folder, &["rev-parse", "--absolute-git-dir"]);
    let hooks = Path::new(&git_dir).join("hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    for hook in [
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
        "update",
        "post-update",
        "pre-receive",
        "post-rewrite",
        "fsmonitor-watchman",
    ] {
        let _ = fs::remove_file(hooks.join(hook));
        symlink(trap, hooks.join(hook)).expect("a link");
    }
    let more = Path::new(&git_dir).join("more");
    fs::write(&more, format!("[core]\n\tfsmonitor = {trap}\n[diff]\n\texternal = {trap}\n")).expect("a file");
    let (more, shell) = (more.display().to_string(), format!("ext::{trap} %S"));
    for (key, value) in [
        ("core.fsmonitor", trap),
        ("core.hooksPath", &hooks.display().to_string()),
        ("core.pager", trap),
        ("core.editor", trap),
        ("core.sshCommand", trap),
        ("core.gitProxy", trap),
        ("core.askPass", trap),
        ("core.alternateRefsCommand", trap),
        ("credential.helper", trap),
        ("alias.status", &format!("!{trap}")),
        ("alias.fetch", &format!("!{trap}")),
        ("filter.trap.clean", trap),
        ("filter.trap.smudge", trap),
        ("filter.trap.process", trap),
        ("filter.trap.required", "true"),
        ("diff.trap.textconv", trap),
        ("diff.trap.command", trap),
        ("diff.external", trap),
        ("merge.trap.driver", trap),
        ("uploadpack.packObjectsHook", trap),
        ("gpg.program", trap),
        ("log.showSignature", "true"),
        ("protocol.allow", "always"),
        ("protocol.ext.allow", "always"),
        ("submodule.sub.update", &format!("!{trap}")),
        ("submodule.sub.url", &shell),
        ("submodule.sub.active", "true"),
        ("submodule.recurse", "true"),
        ("fetch.recurseSubmodules", "true"),
        ("remote.promised.url", promised),
        ("remote.promised.uploadpack", trap),
        ("remote.promised.promisor", "true"),
        ("extensions.partialClone", "promised"),
        ("url.ext::.insteadOf", "/nowhere"),
        ("fetch.fsckObjects", "false"),
        ("include.path", &more),
    ] {
        git_as_a_person(folder, &["config", key, value]);
    }
    let attributes = Path::new(&git_dir).join("info");
    fs::create_dir_all(&attributes).expect("a folder");
    fs::write(attributes.join("attributes"), "* filter=trap diff=trap merge=trap\n").expect("a file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_hostile_repository_is_run() {
    let scene = Scene::new();
    let (trap, mark) = scene.trap();
    scene.commit(".gitattributes", "* filter=trap diff=trap merge=trap\n");
    let module = format!("[submodule \"sub\"]\n\tpath = sub\n\turl = ext::{trap} %S\n");
    scene.commit(".gitmodules", &module);
    let head = git_as_a_person(&scene.repository(), &["rev-parse", "HEAD"]);
    let link = format!("160000,{head},sub");
    git_as_a_person(&scene.repository(), &["update-index", "--add", "--cacheinfo", &link]);
    git_as_a_person(&scene.repository(), &["commit", "--quiet", "-m", "a submodule"]);
    let promised = scene.repository().display().to_string();
    set_traps(&scene.repository(), &trap, &promised);
    let _ = fs::remove_file(&mark);
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "", "run when the clone was made");
    // The clone has none of it: the agent's own git runs nothing of the repository's configuration.
    let config = fs::read_to_string(scene.clone().join(".git/config")).expect("it is there");
    assert!(!config.contains("trap"), "{config}");
    scene.work("new");
    set_traps(&scene.clone(), &trap, &promised);
    fs::write(scene.clone().join("file"), "changed\n").expect("a file");
    fs::write(scene.clone().join(".gitattributes"), "* filter=trap diff=trap\n").expect("a file");
    let _ = fs::remove_file(&mark);
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "", "run when the clone was read");
    assert_eq!((held.commits, held.uncommitted), (1, 2));
    scene.checkouts.remove(&scene.plan()).await.expect("it is removed");
    assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "", "run when the clone was removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_attack_other_gits_do_not_reach_the_repository() {
    let scene = Scene::new();
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    let module = "[submodule \"sub\"]\n\tpath = sub\n\turl = /nowhere\n\tupdate = !touch x\n";
    fs::write(scene.clone().join(".gitmodules"), module).expect("a file");
    scene.work("new");
    let attacked = scene.checkouts.fetch(&scene.plan()).await.expect_err("the objects are checked");
    assert!(attacked.said.contains("gitmodulesUpdate"), "{attacked}");
    assert!(!all_refs(&scene.repository()).contains("herder/7/head"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_git_folder_that_was_replaced_is_not_read() {
    for how in ["a file", "a link", "linked objects", "linked refs", "a pipe", "a worktree elsewhere"] {
        let scene = Scene::new();
        let (plan, git) = (scene.plan(), scene.clone().join(".git"));
        scene.checkouts.make(&plan).await.expect("a clone");
        let secret = scene.dir.path().join("secret");
        git_as_a_person(scene.dir.path(), &["clone", "--quiet", "app", "secret"]);
        fs::write(secret.join("secret"), "s").expect("a file");
        git_as_a_person(&secret, &["add", "--all"]);
        git_as_a_person(&secret, &["commit", "--quiet", "-m", "secret"]);
        let hidden = git_as_a_person(&secret, &["rev-parse", "HEAD"]);
        match how {
            "a file" => {
                fs::remove_dir_all(&git).expect("removed");
                fs::write(&git, format!("gitdir: {}/.git\n", secret.display())).expect("a file");
            }
            "a link" => {
                fs::remove_dir_all(&git).expect("removed");
                symlink(secret.join(".git"), &git).expect("a link");
            }
            "linked refs" => {
                fs::write(secret.join("words"), "the secret words\n").expect("a file");
                fs::remove_file(git.join("packed-refs")).expect("removed");
                symlink(secret.join("words"), git.join("packed-refs")).expect("a link");
            }
            "a pipe" => {
                rustix::fs::mkfifoat(rustix::fs::CWD, git.join("shallow"), rustix::fs::Mode::RWXU)
                    .expect("a pipe");
            }
            "linked objects" => {
                fs::remove_dir_all(git.join("objects")).expect("removed");
                symlink(secret.join(".git/objects"), git.join("objects")).expect("a link");
            }
            _ => {
                // Another repository's objects are borrowed, and its folder named as the working tree.
                let others = format!("{}\n", secret.join(".git/objects").display());
                fs::write(git.join("objects/info/alternates"), others).expect("a file");
                fs::write(git.join("HEAD"), format!("{hidden}\n")).expect("a file");
                git_as_a_person(
                    scene.dir.path(),
                    &[
                        "config",
                        "--file",
                        &git.join("config").display().to_string(),
                        "core.worktree",
                        &secret.display().to_string(),
                    ],
                );
            }
        }
        let held = scene.checkouts.fetch(&plan).await;
        let known = Command::new("git")
            .args(["cat-file", "-e", &hidden])
            .current_dir(scene.repository())
            .output()
            .expect("git is there");
        assert!(!known.status.success(), "{how}: the other repository's commit was fetched");
        match how {
            "a worktree elsewhere" => assert!(held.is_err(), "{how}"),
            // It is not opened, and left out as if it were not there.
            "a pipe" => assert!(held.is_ok(), "{how}"),
            _ => assert!(matches!(reason(held), Some(GitReason::Replaced { .. })), "{how}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_files_and_links_out_of_the_tree_do_no_harm() {
    let scene = Scene::new();
    let outside = scene.dir.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("kept"), "k").expect("a file");
    for name in ["with\nnewline", "-rf", "Case", "case", "\u{1b}[2J", "--upload-pack=x", ":(top)x"] {
        scene.commit(name, "n\n");
    }
    symlink(&outside, scene.repository().join("out")).expect("a link");
    symlink("/etc/passwd", scene.repository().join("passwd")).expect("a link");
    scene.commit("last", "l\n");
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    fs::write(scene.clone().join("new\n? name"), "x").expect("a file");
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    assert_eq!((held.commits, held.uncommitted), (0, 1));
    // A cache that cannot be written, as Go makes them.
    let locked = scene.clone().join("cache/locked");
    fs::create_dir_all(&locked).expect("a folder");
    fs::write(locked.join("module"), "m").expect("a file");
    for folder in [locked.as_path(), locked.parent().expect("a folder")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).expect("its rights");
    }
    scene.checkouts.remove(&scene.plan()).await.expect("it is removed");
    assert!(!scene.clone().exists() && !scene.clone().with_extension("gone").exists());
    assert_eq!(fs::read_to_string(outside.join("kept")).expect("nothing outside is touched"), "k");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_does_not_answer_is_given_up_in_time() {
    let scene = Scene::new();
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    let ignore = scene.clone().join(".git/packed-refs");
    let _ = fs::remove_file(&ignore);
    let made = Command::new("mkfifo").arg(&ignore).status().expect("mkfifo is there");
    assert!(made.success());
    let limits = super::Limits { time: std::time::Duration::from_millis(300), output: 1024 };
    let call = super::Call {
        folder: &scene.clone(),
        words: &super::words(&["for-each-ref"]),
        own: &[],
        input: &[],
        local: false,
    };
    let late = scene.checkouts.git().run(call, limits).await;
    assert_eq!(reason(late), Some(GitReason::Late { command: "git for-each-ref".to_owned() }));
    let limits = super::Limits { time: std::time::Duration::from_secs(20), output: 10 };
    let call = super::Call { words: &super::words(&["help", "--all"]), ..call };
    let much = scene.checkouts.git().ask(call, limits).await;
    assert_eq!(reason(much), Some(GitReason::TooMuch { command: "git help".to_owned() }));
}

#[test]
fn a_folder_is_measured_without_what_links_lead_to() {
    let dir = tempfile::tempdir().expect("a folder");
    let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
    fs::create_dir_all(top.join("below/deeper")).expect("a folder");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("much"), vec![1; 1024 * 1024]).expect("a file");
    symlink(&outside, top.join("out")).expect("a link");
    let (empty, larger) = files::size(&top);
    assert!(empty < 512 * 1024 && !larger, "{empty}");
    fs::write(top.join("below/deeper/file"), vec![1; 1024 * 1024]).expect("a file");
    let (size, larger) = files::size(&top);
    assert!(size >= empty + 1024 * 1024 && !larger, "{size}");
    assert_eq!(files::size(&dir.path().join("none")), (0, true));
}

#[test]
fn files_are_copied_from_within_the_repository_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let (from, to, outside) = (dir.path().join("from"), dir.path().join("to"), dir.path().join("outside"));
    for folder in [&from, &to, &outside] {
        fs::create_dir(folder).expect("a folder");
    }
    fs::write(outside.join("secret"), "s").expect("a file");
    fs::create_dir(from.join("sub")).expect("a folder");
    fs::write(from.join("sub/.env"), "e").expect("a file");
    symlink("sub/.env", from.join("inner")).expect("a link");
    symlink(outside.join("secret"), from.join("leak")).expect("a link");
    symlink(&outside, from.join("out")).expect("a link");
    let copy = |name: &str| files::copy(&from, &to, Path::new(name));
    copy("sub/.env").expect("it is copied");
    copy("inner").expect("it is copied");
    copy("none").expect("a file that is not there is left out");
    assert_eq!(fs::read_to_string(to.join("sub/.env")).expect("it is there"), "e");
    assert_eq!(fs::read_to_string(to.join("inner")).expect("it is there"), "e");
    for name in ["leak", "out/secret", "../outside/secret", "/etc/passwd", "sub", ""] {
        assert!(copy(name).is_err(), "{name}");
    }
    // The repository's own files decide what is in the clone: a link there leads nowhere.
    symlink(&outside, to.join("deep")).expect("a link");
    fs::create_dir(from.join("deep")).expect("a folder");
    fs::write(from.join("deep/.env"), "e").expect("a file");
    assert!(copy("deep/.env").is_err());
    assert!(!outside.join(".env").exists());
}
