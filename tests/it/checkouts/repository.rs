//! A person's repository, and whether it is as they left it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository as its person uses it, with a git of their own.
pub(crate) struct Person(PathBuf);

impl Person {
    /// Makes a repository with one commit on `main`, changes that are staged, changes that are not, and a hook that
    /// tells that it ran.
    pub(crate) fn with_repository(path: PathBuf) -> Self {
        fs::create_dir(&path).expect("a folder");
        let person = Self(path);
        person.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, text) in [("file", "a\n"), ("other", "b\n"), (".gitignore", ".env*\n")] {
            fs::write(person.0.join(name), text).expect("a file");
        }
        person.git(&["add", "--all"]);
        person.git(&["commit", "--quiet", "-m", "the first"]);
        fs::write(person.0.join("file"), "staged\n").expect("a file");
        person.git(&["add", "file"]);
        fs::write(person.0.join("other"), "changed\n").expect("a file");
        fs::write(person.0.join("loose"), "of the person\n").expect("a file");
        for hook in ["post-checkout", "pre-commit", "reference-transaction", "post-index-change"] {
            let path = person.0.join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, format!("#!/bin/sh\ntouch {}/../ran\n", person.0.display())).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        person
    }

    /// Returns a repository that is there.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs git, without the hooks, and returns its output.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?} in {}: {output:?}", self.0.display());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Runs git likewise, and returns whether it has succeeded.
    pub(crate) fn tries(&self, words: &[&str]) -> bool {
        self.output(words).status.success()
    }

    fn output(&self, words: &[&str]) -> Output {
        Command::new("git")
            .args([
                "-c",
                "user.name=ann",
                "-c",
                "user.email=ann@example.org",
                "-c",
                "core.hooksPath=/dev/null",
            ])
            .args(words)
            .current_dir(&self.0)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git is there (package git)")
    }

    /// Returns herder's refs with their commits, by name behind `refs/herder/`.
    pub(crate) fn herders_refs(&self) -> Vec<(String, String)> {
        let refs = self.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/herder"]);
        let pair = |line: &str| {
            let (name, commit) = line.split_once(' ').expect("two words");
            (name.trim_start_matches("refs/herder/").to_owned(), commit.to_owned())
        };
        refs.lines().map(pair).collect()
    }
}

/// Everything of a repository but objects and herder's refs.
#[derive(Debug, PartialEq)]
pub(crate) struct Untouched(BTreeMap<PathBuf, (u32, i64, Vec<u8>)>);

impl Untouched {
    pub(crate) fn of(person: &Person) -> Self {
        let mut all = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(person.path().join(&folder)).expect("a folder") {
                let name = folder.join(entry.expect("an entry").file_name());
                if [".git/objects", ".git/refs/herder"].map(Path::new).contains(&name.as_path()) {
                    continue;
                }
                let path = person.path().join(&name);
                let found = fs::symlink_metadata(&path).expect("it is there");
                if found.is_dir() {
                    all.insert(name.clone(), (found.mode(), 0, Vec::new()));
                    folders.push(name);
                } else {
                    all.insert(name, (found.mode(), found.mtime_nsec(), fs::read(&path).expect("a file")));
                }
            }
        }
        Self(all)
    }

    /// Checks that the repository is as it was, and that none of its hooks ran.
    pub(crate) fn holds(&self, person: &Person) {
        self.holds_but(person, &[]);
    }

    /// Checks likewise, but for the contents of these files.
    pub(crate) fn holds_but(&self, person: &Person, changed: &[&str]) {
        let now = Self::of(person);
        let names = |of: &Self| of.0.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(self), names(&now), "files of the repository");
        let same = |name: &PathBuf| !changed.iter().any(|changed| name == Path::new(changed));
        for (name, was) in self.0.iter().filter(|(name, _)| same(name)) {
            assert!(now.0.get(name) == Some(was), "{} is changed", name.display());
        }
        assert!(!person.path().join("../ran").exists(), "a hook of the repository ran");
        person.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

/// Returns the names in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let Ok(all) = fs::read_dir(folder) else { return Vec::new() };
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = all.map(name).collect();
    names.sort();
    names
}
