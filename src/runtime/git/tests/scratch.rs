//! The folder in which merged files are checked, after a check that has changed it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{Scene, git_as_a_person};
use crate::core::review::Method;
use crate::runtime::git::merge::Step;

impl Scene {
    fn scratch(&self) -> PathBuf {
        self.checkouts.scratch(0)
    }

    /// Returns the merge of a task with one file.
    async fn step(&self) -> Step {
        git_as_a_person(&self.repository(), &["switch", "--quiet", "-c", "mine"]);
        self.checkouts.make(&self.merging()).await.expect("a clone");
        self.work("one");
        self.ready(&self.order(Method::Squash).await).await
    }

    async fn laid_out(&self, step: &Step) {
        self.checkouts.lay_out(&self.merging(), step, &self.scratch()).await.expect("it is filled");
        let status = git_as_a_person(
            &self.scratch(),
            &["status", "--porcelain", "--ignored", "--untracked-files=all"],
        );
        assert_eq!(status, "");
        assert_eq!(git_as_a_person(&self.scratch(), &["rev-parse", "HEAD"]), step.to);
    }

    /// Returns what is in the folder beside `.git`: names with their modes, and content.
    fn found(&self) -> Vec<String> {
        fn below(top: &Path, folder: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(top).expect("it is below").display().to_string();
                let of = path.symlink_metadata().expect("it is there");
                match () {
                    () if name == ".git" => {}
                    () if of.is_symlink() => found.push(format!("{name} link")),
                    () if of.is_dir() => {
                        found.push(format!("{name}/ {:o}", of.permissions().mode()));
                        below(top, &path, found);
                    }
                    () if !of.is_file() => found.push(format!("{name} special")),
                    () => {
                        let text = fs::read_to_string(&path).expect("text");
                        found.push(format!("{name} {:o} {text}", of.permissions().mode()));
                    }
                }
            }
        }
        let mut found = Vec::new();
        below(&self.scratch(), &self.scratch(), &mut found);
        found.sort();
        found
    }
}

/// Returns a scene with two folders of files, and some that are ignored.
async fn scene() -> (Scene, Step) {
    let scene = Scene::new();
    for folder in ["left", "right"] {
        fs::create_dir(scene.repository().join(folder)).expect("a folder");
        scene.commit(&format!("{folder}/same"), "same\n");
    }
    scene.commit("kept", "kept\n");
    scene.commit("linked", "linked\n");
    scene.commit(".gitignore", "*.log\n");
    scene.commit("lines", "a\nb\n");
    let step = scene.step().await;
    (scene, step)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_check_has_left_is_gone_and_files_that_are_right_are_not_written_again() {
    let (scene, step) = scene().await;
    scene.laid_out(&step).await;
    let (folder, before) = (scene.scratch(), scene.found());
    let at = |name: &str| folder.join(name);
    let written = |name: &str| {
        let found = at(name).metadata().expect("it is there");
        (found.ino(), found.ctime(), found.ctime_nsec())
    };
    let kept = written("kept");

    // A file of the same length and time has another content.
    let time = at("file").metadata().expect("it is there").modified().expect("a time");
    fs::write(at("file"), "x\n").expect("it is written");
    fs::File::options().append(true).open(at("file")).expect("a file").set_modified(time).expect("its time");
    fs::remove_file(at("one")).expect("it is removed");
    fs::set_permissions(at(".gitignore"), fs::Permissions::from_mode(0o755)).expect("its mode");
    // A folder leads elsewhere.
    let outside = scene.dir.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("same"), "outside\n").expect("a file");
    fs::remove_dir_all(at("left")).expect("it is removed");
    symlink(&outside, at("left")).expect("a link");
    // Files that are no part of the commit, in a repository of its own and in a folder that cannot be written, too.
    fs::write(at("new.log"), "x").expect("a file");
    fs::create_dir_all(at("inner/empty")).expect("a folder");
    git_as_a_person(&at("inner"), &["init", "--quiet"]);
    fs::write(at("inner/file"), "x").expect("a file");
    fs::create_dir(at("right/inner")).expect("a folder");
    fs::write(at("right/inner/x.log"), "x").expect("a file");
    fs::create_dir(at("right/.git")).expect("a folder");
    fs::write(at("right/.git/HEAD"), "x").expect("a file");
    for name in ["pipe", "right/pipe"] {
        let pipe = std::process::Command::new("mkfifo").arg(at(name)).status().expect("mkfifo is there");
        assert!(pipe.success());
    }
    for name in ["right", "."] {
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o311)).expect("its mode");
    }
    fs::set_permissions(at("right/same"), fs::Permissions::from_mode(0o4755)).expect("its mode");
    fs::hard_link(at("linked"), scene.dir.path().join("linked")).expect("a link");
    // With these attributes git takes other bytes for the same.
    fs::write(at(".gitattributes"), "lines text\n").expect("attributes");
    fs::write(at("lines"), "a\r\nb\r\n").expect("it is written");
    let before_all = time - std::time::Duration::from_secs(3600);
    fs::File::options()
        .append(true)
        .open(at("lines"))
        .expect("a file")
        .set_modified(before_all)
        .expect("its time");
    // Its git runs programs.
    let (program, mark) = scene.trap();
    for setting in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "core.sshCommand"] {
        git_as_a_person(&folder, &["config", setting, &program]);
    }
    fs::create_dir_all(at(".git/hooks")).expect("a folder");
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        symlink(&program, at(".git/hooks").join(hook)).expect("a hook");
    }
    fs::write(at(".git/info/attributes"), "* filter=x\n").expect("attributes");

    scene.laid_out(&step).await;
    assert_eq!(scene.found(), before);
    assert_eq!(written("kept"), kept);
    assert_eq!(at("linked").metadata().expect("it is there").nlink(), 1);
    assert_eq!(fs::read_to_string(outside.join("same")).expect("it is there"), "outside\n");
    assert!(!mark.exists(), "{:?}", fs::read_to_string(&mark));

    scene.checkouts.clear(&folder).await.expect("it is removed");
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_cannot_be_used_again_is_made_anew() {
    let (scene, step) = scene().await;
    scene.laid_out(&step).await;
    let (folder, before) = (scene.scratch(), scene.found());
    let elsewhere = scene.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("file"), "elsewhere\n").expect("a file");

    // A link is in its place.
    fs::remove_dir_all(&folder).expect("it is removed");
    symlink(&elsewhere, &folder).expect("a link");
    scene.laid_out(&step).await;
    assert_eq!(scene.found(), before);

    // Another repository is in the place of its `.git`, and a herder that was killed has left another one.
    fs::remove_dir_all(folder.join(".git")).expect("it is removed");
    symlink(scene.repository().join(".git"), folder.join(".git")).expect("a link");
    fs::create_dir(folder.with_extension("new")).expect("a folder");
    let refs = super::all_refs(&scene.repository());
    scene.laid_out(&step).await;
    assert_eq!((scene.found(), super::all_refs(&scene.repository())), (before.clone(), refs));

    // A folder in it cannot be written.
    fs::create_dir(folder.join("shut")).expect("a folder");
    fs::write(folder.join("shut/file"), "x").expect("a file");
    fs::set_permissions(folder.join("shut"), fs::Permissions::from_mode(0o500)).expect("its mode");
    scene.laid_out(&step).await;
    assert_eq!(scene.found(), before);
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_check_has_left_in_the_folder_of_a_submodule_is_gone() {
    let scene = Scene::new();
    let other = scene.dir.path().join("other");
    git_as_a_person(scene.dir.path(), &["clone", "--quiet", "app", "other"]);
    git_as_a_person(
        &scene.repository(),
        &["submodule", "add", "--quiet", other.to_str().expect("text"), "inner"],
    );
    scene.commit("two", "2\n");
    let step = scene.step().await;
    scene.laid_out(&step).await;
    fs::write(scene.scratch().join("inner/left"), "x").expect("a file");
    scene.laid_out(&step).await;
    assert!(!scene.scratch().join("inner/left").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_with_attributes_is_laid_out_anew() {
    let scene = Scene::new();
    scene.commit("lines", "a\nb\n");
    scene.commit("id", "$Id$\n");
    scene.commit("wide", "a\n");
    fs::create_dir(scene.repository().join("inner")).expect("a folder");
    scene.commit("inner/.gitattributes", "* text\n");
    scene.commit(".gitattributes", "lines text=auto\nid ident\nwide text eol=crlf\n");
    let step = scene.step().await;
    scene.laid_out(&step).await;
    let before = scene.found();
    let at = |name: &str| scene.scratch().join(name);
    // git takes all of these for unchanged.
    fs::write(at("lines"), "a\r\nb\r\n").expect("it is written");
    fs::write(at("id"), "$Id: wrong $\n").expect("it is written");
    fs::write(at("wide"), "a\n").expect("it is written");
    scene.laid_out(&step).await;
    assert_eq!(scene.found(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_a_killed_herder_is_swept() {
    let (scene, step) = scene().await;
    scene.laid_out(&step).await;
    fs::create_dir(scene.scratch().with_extension("new")).expect("a folder");
    scene.checkouts.sweep().await.expect("it is removed");
    let left: Vec<PathBuf> = fs::read_dir(scene.dir.path().join("tasks"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(left, [scene.clone()]);
}
