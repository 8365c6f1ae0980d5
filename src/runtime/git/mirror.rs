//! A temporary folder that replaces a repository's `.git` while its state is read.
//!
//! The repository's configuration can change while `git` runs, so a check for filters beforehand protects from
//! nothing. With this folder, `git` reads a configuration written by herder, with the few settings that define how
//! files are compared; objects and references are the repository's own.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::files::{self, Content};

/// Maximum size of a list in a clone's `.git` that is read, in bytes: `packed-refs` of some 200,000 refs.
const LIST_MAX: u64 = 16 * 1024 * 1024;

/// Names of the git settings that are copied; none of them contains a program or a file.
const TAKEN: [&str; 12] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.ignorecase",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.precomposeunicode",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
    "extensions.objectformat",
    "extensions.refstorage",
];

/// The folders of a git repository.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct Places {
    /// Path of the repository's own `.git` folder; for a linked worktree that of the worktree.
    pub(in crate::runtime) git: PathBuf,
    /// Path of the folder with objects and references.
    pub(in crate::runtime) common: PathBuf,
    /// Path of the worktree's top folder.
    pub(in crate::runtime) top: PathBuf,
}

/// A folder that stands in for a repository's `.git` folder with harmless settings only, so that `git` executes
/// nothing. It is deleted when this is dropped.
#[derive(Debug)]
pub(in crate::runtime) struct Mirror(PathBuf);

impl Mirror {
    /// Creates the folder in `within`, with the harmless ones of the repository's settings. `config`: output of `git
    /// config --null --list`.
    pub(in crate::runtime) fn of(within: &Path, places: &Places, config: &str) -> io::Result<Self> {
        let mirror = Self::empty(within)?;
        let to = |name: &str| mirror.0.join(name);
        fs::write(to("config"), taken(config))?;
        fs::write(to("HEAD"), head(&places.git)?)?;
        for name in ["objects", "refs", "packed-refs", "reftable", "shallow"] {
            let of = places.common.join(name);
            if of.exists() {
                symlink(of, to(name))?;
            }
        }
        DirBuilder::new().mode(0o700).create(to("info"))?;
        symlink(places.common.join("info/exclude"), to("info/exclude"))?;
        symlink(places.git.join("info/sparse-checkout"), to("info/sparse-checkout"))?;
        for entry in fs::read_dir(&places.git)? {
            let name = entry?.file_name();
            if name.to_string_lossy().starts_with("sharedindex.") {
                symlink(places.git.join(&name), mirror.0.join(&name))?;
            }
        }
        Ok(mirror)
    }

    /// Creates the folder in `within` for a task's clone, which may be hostile. `config`: that of the repository that it was cloned
    /// from, whose `objects` the clone borrows; the clone's own configuration and list of other object folders are not
    /// read. `excluded`: patterns of files that are no part of the task; the clone's own list of them is not read either.
    ///
    /// # Errors
    /// A part of the clone's `.git` is not what herder made.
    pub(in crate::runtime) fn of_clone(
        within: &Path,
        top: &Path,
        objects: &Path,
        config: &str,
        excluded: &str,
    ) -> io::Result<Self> {
        let git = top.join(".git");
        for folder in [top.to_owned(), git.clone(), git.join("objects"), git.join("refs")] {
            if !fs::symlink_metadata(&folder)?.is_dir() {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, folder.display().to_string()));
            }
        }
        let mirror = Self::empty(within)?;
        let to = |name: &str| mirror.0.join(name);
        let mut copies = vec![("info/exclude", excluded.as_bytes().to_vec())];
        fs::write(to("config"), taken(config))?;
        fs::write(to("HEAD"), head(&git)?)?;
        for name in ["refs", "reftable"] {
            let of = git.join(name);
            if fs::symlink_metadata(&of).is_ok_and(|found| found.is_dir()) {
                symlink(of, to(name))?;
            }
        }
        // git names lines that it cannot read in its messages: a link there would show another file's.
        let clone = files::folder(top)?;
        for name in ["packed-refs", "shallow", "info/sparse-checkout"] {
            match files::read(&clone, format!(".git/{name}").as_bytes(), LIST_MAX)? {
                Content::Of { mode: "100644" | "100755", bytes } => copies.push((name, bytes)),
                Content::None => {}
                Content::Of { .. } | Content::Unread => {
                    let path = git.join(name).display().to_string();
                    return Err(io::Error::new(io::ErrorKind::NotADirectory, path));
                }
            }
        }
        for folder in ["objects", "objects/info", "info"] {
            DirBuilder::new().mode(0o700).create(to(folder))?;
        }
        for entry in fs::read_dir(git.join("objects"))? {
            let entry = entry?;
            let name = entry.file_name();
            let holds = name == "pack" || name.len() == 2;
            if holds && entry.file_type()?.is_dir() {
                symlink(entry.path(), to("objects").join(name))?;
            }
        }
        let borrowed = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(to("objects/info/alternates"), borrowed)?;
        for (name, bytes) in copies {
            fs::write(to(name), bytes)?;
        }
        for entry in fs::read_dir(&git)? {
            let name = entry?.file_name();
            if name.to_string_lossy().starts_with("sharedindex.") {
                symlink(git.join(&name), mirror.0.join(&name))?;
            }
        }
        Ok(mirror)
    }

    fn empty(within: &Path) -> io::Result<Self> {
        let name = format!(
            "herder-look-{}-{:016x}",
            std::process::id(),
            getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?
        );
        let mirror = Self(within.join(name));
        fs::create_dir_all(within)?;
        DirBuilder::new().mode(0o700).create(&mirror.0)?;
        Ok(mirror)
    }

    /// Returns the path of the folder.
    pub(in crate::runtime) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        if let Err(reason) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%reason, folder = %self.0.display(), "a folder for a look is left behind");
        }
    }
}

/// Reads the first 4 KiB of `HEAD`, without blocking on special files.
fn head(git: &Path) -> io::Result<Vec<u8>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(git.join("HEAD"))?;
    let mut said = Vec::new();
    file.take(4096).read_to_end(&mut said)?;
    Ok(said)
}

/// Returns the text of the configuration to write: the harmless settings, with plain words as values only.
fn taken(config: &str) -> String {
    let mut written = String::from("[core]\n\tbare = false\n");
    for entry in config.split('\0') {
        let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if let Some((section, key)) = name.split_once('.').filter(|_| plain && TAKEN.contains(&name)) {
            written.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_how_files_are_compared_is_taken_over() {
        let config = "core.filemode\nfalse\0core.fsmonitor\nrm\0filter.x.clean\nrm -rf x\0core.eol\nlf\n[filter \"x\"]\0\
                      core.ignorecase\0extensions.objectformat\nsha256\0";
        assert_eq!(
            taken(config),
            "[core]\n\tbare = false\n[core]\n\tfilemode = false\n[core]\n\tignorecase = true\n[extensions]\n\tobjectformat = sha256\n"
        );
    }
}
