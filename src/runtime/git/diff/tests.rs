use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Change, Diff, File, Selection};
use crate::runtime::git::tests::{Scene, git_as_a_person, set_traps};

/// Returns the changes as lines: the kind, the counts, the names, and what is remarkable.
fn changes(diff: &Diff) -> Vec<String> {
    let line = |file: &File| {
        let counts = file.lines.map_or("-".to_owned(), |(added, removed)| format!("+{added} -{removed}"));
        let mut line = format!("{:?} {counts} {}", file.change, file.name());
        for (is_so, word) in [
            (file.is_binary(), "binary"),
            (file.is_submodule, "submodule"),
            (file.is_unread, "unread"),
            (file.is_uncommitted, "uncommitted"),
            (file.is_undone, "undone"),
        ] {
            if is_so {
                line.push_str(&format!(" {word}"));
            }
        }
        if let Some(from) = file.from() {
            line.push_str(&format!(" from {from}"));
        }
        if let Some((before, after)) = &file.modes {
            line.push_str(&format!(" {before}>{after}"));
        }
        if let Some(fold) = file.fold {
            line.push_str(&format!(" {fold:?}"));
        }
        line
    };
    diff.files.iter().map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_has_what_is_committed_and_what_is_not() {
    let scene = Scene::new();
    let ten: String = (0..10).map(|line| format!("{line}\n")).collect();
    for name in ["moved", "gone", "run", "became", "kept", "undone"] {
        scene.commit(name, &format!("{name}\n{ten}"));
    }
    scene.commit("bytes", "\0\u{1}");
    let head = git_as_a_person(&scene.repository(), &["rev-parse", "HEAD"]);
    git_as_a_person(
        &scene.repository(),
        &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")],
    );
    fs::create_dir(scene.repository().join("sub")).expect("a folder");
    scene.commit("last", "l\n");
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    let diff = scene.checkouts.diff(&scene.plan(), &Selection::All).await.expect("it is compared");
    assert_eq!((changes(&diff), diff.commits, diff.uncommitted), (Vec::<String>::new(), 0, 0));
    let clone = scene.clone();
    let at = |name: &str| clone.join(name);
    fs::rename(at("moved"), at("other name")).expect("renamed");
    fs::remove_file(at("gone")).expect("removed");
    fs::set_permissions(at("run"), fs::Permissions::from_mode(0o755)).expect("its rights");
    fs::remove_file(at("became")).expect("removed");
    symlink("/etc/passwd", at("became")).expect("a link");
    fs::write(at("bytes"), "\0\u{2}").expect("a file");
    fs::write(at("undone"), "other\n").expect("a file");
    let other = git_as_a_person(&scene.repository(), &["rev-parse", "HEAD"]);
    git_as_a_person(&clone, &["add", "--all"]);
    git_as_a_person(&clone, &["update-index", "--add", "--cacheinfo", &format!("160000,{other},sub")]);
    git_as_a_person(&clone, &["commit", "--quiet", "-m", "b"]);
    fs::write(at("undone"), format!("undone\n{ten}")).expect("a file");
    fs::write(at("file"), "a\nb\n").expect("a file");
    fs::create_dir(at("new folder")).expect("a folder");
    fs::write(at("new folder/new"), "n\n").expect("a file");
    fs::write(at("staged"), "s\n").expect("a file");
    git_as_a_person(&clone, &["add", "staged"]);
    git_as_a_person(&clone, &["init", "--quiet", "nested"]);
    let diff = scene.checkouts.diff(&scene.plan(), &Selection::All).await.expect("it is compared");
    assert_eq!(
        changes(&diff),
        [
            "Type +1 -11 became",
            "Modified - bytes binary",
            "Modified +1 -0 file uncommitted",
            "Removed +0 -11 gone",
            "Added - nested/ submodule uncommitted",
            "Added +1 -0 new folder/new uncommitted",
            "Renamed +0 -0 other name from moved",
            "Modified +0 -0 run 100644>100755",
            "Added +1 -0 staged uncommitted",
            "Modified - sub submodule",
            "Modified - undone uncommitted undone",
        ]
    );
    assert_eq!((diff.commits, diff.uncommitted), (1, 5));
    let patch = |name: &str| {
        let file = diff.files.iter().find(|file| file.name() == name).expect("it is listed");
        file.patch.clone().unwrap_or_default()
    };
    assert!(patch("file").ends_with("@@ -1 +1,2 @@\n a\n+b\n"), "{}", patch("file"));
    assert!(patch("became").contains("+/etc/passwd"), "{}", patch("became"));
    assert!(patch("run").contains("new mode 100755"), "{}", patch("run"));
    assert!(patch("other name").contains("rename to other name"), "{}", patch("other name"));
    assert!(patch("sub").contains("+Subproject commit "), "{}", patch("sub"));
    // A clone that is lost has left what was fetched.
    scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    fs::remove_dir_all(&clone).expect("removed");
    let lost = scene.checkouts.diff(&scene.plan(), &Selection::All).await.expect("it is compared");
    assert!(lost.fetched && lost.uncommitted == 0 && lost.head == diff.head);
    assert_eq!(lost.files.len(), 7, "{:?}", changes(&lost));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_hostile_clone_is_run_or_believed_by_a_diff() {
    let scene = Scene::new();
    let (trap, mark) = scene.trap();
    scene.commit(".gitattributes", "* filter=trap diff=trap merge=trap\n*.gen linguist-generated\n");
    scene.commit("one.gen", "1\n");
    scene.commit("Cargo.lock", "1\n");
    let promised = scene.repository().display().to_string();
    set_traps(&scene.repository(), &trap, &promised);
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    scene.work("new");
    let at = |name: &str| scene.clone().join(name);
    fs::create_dir(at("deep")).expect("a folder");
    fs::write(at("deep/file"), "d\n").expect("a file");
    git_as_a_person(&scene.clone(), &["add", "deep/file"]);
    set_traps(&scene.clone(), &trap, &promised);
    // Hidden from a reviewer by attributes of the agent's own.
    fs::write(at(".gitattributes"), "* filter=trap diff=trap -diff linguist-generated\n").expect("a file");
    for name in ["file", "one.gen", "Cargo.lock"] {
        fs::write(at(name), "changed\n").expect("a file");
    }
    let outside = scene.dir.path().join("outside");
    fs::write(&outside, "secret\n").expect("a file");
    fs::remove_dir_all(at("deep")).expect("removed");
    symlink(scene.dir.path(), at("deep")).expect("a link");
    let _ = fs::remove_file(&mark);
    let before = files_below(&scene.clone().join(".git"));
    let diff = scene.checkouts.diff(&scene.plan(), &Selection::All).await.expect("it is compared");
    assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "", "run for a diff");
    assert_eq!(files_below(&scene.clone().join(".git")), before, "nothing of the clone's is written");
    assert_eq!(
        changes(&diff),
        [
            "Modified +1 -2 .gitattributes uncommitted",
            "Modified +1 -1 Cargo.lock uncommitted Lock",
            "Added +1 -0 deep uncommitted",
            "Modified +1 -1 file uncommitted",
            "Added +1 -0 new",
            "Modified +1 -1 one.gen uncommitted Generated",
        ]
    );
    let text: String = diff.files.iter().filter_map(|file| file.patch.clone()).collect();
    assert!(text.contains("+changed") && !text.contains("secret"), "{text}");
    // Only what is asked for has a text, whatever the attributes are.
    let only = Selection::Named("one.gen".to_owned());
    let diff = scene.checkouts.diff(&scene.plan(), &only).await.expect("it is compared");
    let texts: Vec<String> = diff.files.into_iter().filter_map(|file| file.patch).collect();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].ends_with("@@ -1 +1 @@\n-1\n+changed\n"), "{}", texts[0]);
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let is_folder = entry.file_type().expect("its kind").is_dir();
            if is_folder { folders.push(entry.path()) } else { all.push(entry.path()) }
        }
    }
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_shows_files_by_any_name_and_none_that_is_too_large() {
    use std::os::unix::ffi::OsStrExt as _;
    let scene = Scene::new();
    scene.commit("many", &"line\n".repeat(600));
    scene.commit("large", "l\n");
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    let names: [&[u8]; 6] =
        [b"with\nnewline", b"\"quoted\" \\ *?[x]", b"not \xff utf-8", b"\x1b[2J", b"-rf", b"diff --git a"];
    for name in names {
        let text = "diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1 +1 @@\n";
        fs::write(scene.clone().join(std::ffi::OsStr::from_bytes(name)), text).expect("a file");
    }
    fs::write(scene.clone().join("many"), "other\n".repeat(600)).expect("a file");
    fs::write(scene.clone().join("large"), "x".repeat(5 << 20)).expect("a file");
    let locked = scene.clone().join("locked");
    fs::write(&locked, "l\n").expect("a file");
    let made = Command::new("mkfifo").arg(scene.clone().join("pipe")).status().expect("mkfifo is there");
    assert!(made.success());
    let diff = scene.checkouts.diff(&scene.plan(), &Selection::All).await.expect("it is compared");
    let seen = changes(&diff);
    assert!(seen.contains(&"Modified - large unread uncommitted".to_owned()), "{seen:?}");
    assert!(seen.contains(&"Modified +600 -600 many uncommitted Long".to_owned()), "{seen:?}");
    assert_eq!(diff.files.len(), 9, "{seen:?}");
    for file in diff.files.iter().filter(|file| file.change == Change::Added) {
        let patch = file.patch.as_deref().unwrap_or_default();
        assert_eq!(patch.lines().filter(|line| line.starts_with("diff --git ")).count(), 1, "{patch}");
        assert!(patch.contains("\n+diff --git a/file b/file\n") || file.name() == "locked", "{patch}");
    }
    // One of them alone.
    for name in names {
        let only = Selection::Named(String::from_utf8_lossy(name).into_owned());
        let diff = scene.checkouts.diff(&scene.plan(), &only).await.expect("it is compared");
        let texts: Vec<_> = diff.files.iter().filter_map(|file| file.patch.as_deref()).collect();
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("\n+@@ -1 +1 @@\n"), "{}", texts[0]);
    }
}
