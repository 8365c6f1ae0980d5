//! The home of one evaluation: a private folder with one credential and nothing else.
//!
//! A login that renews itself is linked, not copied: its token can be renewed once, so that a renewed copy that is
//! thrown away would log the user out of their own CLI. If the CLI replaces the link by a new file, that file is
//! moved to the link's target, also after herder was killed: a record beside the home holds the target. If the target
//! is newer by then, because of another evaluation or the user's own CLI, it stays.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Maximum size of a login file and of a record about one, in bytes; both have a few kilobytes.
const LOGIN_MAX: u64 = 64 * 1024;

/// Extension of the file beside a home that records where its login file is linked to.
const RECORD: &str = "login";

/// Lock that is held while a renewed login is moved, because several evaluations may end at the same time.
static KEEPING: Mutex<()> = Mutex::new(());

/// The temporary HOME folder of one judge's process. It is removed on drop.
#[derive(Debug)]
pub(super) struct Home {
    path: PathBuf,
    linked: Option<Linked>,
}

/// The symbolic link in a home to the user's login file. It is stored beside the home, to be found after a crash.
#[derive(Debug, Serialize, Deserialize)]
struct Linked {
    link: PathBuf,
    /// Path of the login file to which the link points.
    to: PathBuf,
    /// Digest of the login file at the time of the link, by which later changes are recognised.
    seen: u64,
}

/// Returns true if an earlier herder left homes or records in `parent`.
pub(super) fn is_littered(parent: &Path) -> bool {
    fs::read_dir(parent).is_ok_and(|mut entries| entries.next().is_some())
}

/// Removes homes that an earlier herder left in `parent`, after moving logins that a CLI had renewed to the user's
/// login file. Call it once no process works there any more.
pub(super) fn sweep(parent: &Path) -> io::Result<()> {
    let parent = match fs::canonicalize(parent) {
        Ok(parent) => parent,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in fs::read_dir(&parent)?.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != RECORD) {
            continue;
        }
        let kept = recall(&path).and_then(|linked| match linked {
            // Only records that point into a home of ours count.
            Some(linked) if linked.link.starts_with(path.with_extension("")) => linked.keep(&path),
            Some(_) | None => Ok(()),
        });
        if let Err(error) = kept {
            warn_of_lost_login(&error);
        }
    }
    fs::remove_dir_all(parent)
}

/// Reads the stored link at `path`; `None` if it is incomplete after a crash.
fn recall(path: &Path) -> io::Result<Option<Linked>> {
    let mut text = Vec::new();
    File::open(path)?.take(LOGIN_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

fn warn_of_lost_login(error: &io::Error) {
    tracing::warn!(%error, "a login that the evaluator's CLI has renewed could not be kept");
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Creates a file that only this user can read (mode 0600).
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

impl Linked {
    /// Moves a login that the CLI has renewed to the user's login file, unless that file is newer. `record` is the path
    /// of the stored link.
    fn keep(&self, record: &Path) -> io::Result<()> {
        let name = record.file_stem().unwrap_or_default().to_string_lossy();
        let beside = self.to.with_extension(format!("herder-{name}"));
        // Left by a crash during the following lines.
        let _ = fs::remove_file(&beside);
        let Ok(found) = fs::symlink_metadata(&self.link) else { return Ok(()) };
        if !found.is_file() || found.len() > LOGIN_MAX {
            return Ok(());
        }
        let renewed = fs::read(&self.link)?;
        let is_login =
            serde_json::from_slice::<serde_json::Map<_, _>>(&renewed).is_ok_and(|login| !login.is_empty());
        if !is_login {
            return Ok(());
        }
        let _one_at_a_time = KEEPING.lock().unwrap_or_else(PoisonError::into_inner);
        // The target is gone because the user has logged out, and stays so.
        let Ok(known) = fs::read(&self.to) else { return Ok(()) };
        let at = found.modified()?;
        let is_newer = digest(&known) != self.seen && fs::metadata(&self.to)?.modified()? >= at;
        if known == renewed || is_newer {
            return Ok(());
        }
        let written = write_private(&beside, &renewed)
            // The next evaluation compares these times.
            .and_then(|file| file.set_modified(at).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &self.to));
        if written.is_err() {
            // No partial file must stay.
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

impl Home {
    /// Creates a new temporary home for a judge's process, in the folder `parent`.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        private().recursive(true).create(parent)?;
        let path = fs::canonicalize(parent)?.join(super::random_name()?);
        private().create(&path)?;
        let home = Self { path, linked: None };
        private().create(home.path.join("tmp"))?;
        private().create(home.path.join("work"))?;
        Ok(home)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the working directory: an empty folder, so that no project's instructions are read.
    pub(super) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Creates a folder of this name in the home, for the CLI.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path.join(name);
        private().create(&folder)?;
        Ok(folder)
    }

    /// Links the user's login file `to` at `link` in the home, and stores a record of the link.
    pub(super) fn link(&mut self, link: PathBuf, to: &Path) -> io::Result<()> {
        let to = fs::canonicalize(to)?;
        let seen = digest(&fs::read(&to)?);
        let linked = Linked { link, to, seen };
        // Paths that JSON cannot represent are not recorded: such a login is kept only by an orderly end.
        if let Ok(record) = serde_json::to_vec(&linked) {
            write_private(&self.record(), &record)?;
        }
        let linked = self.linked.insert(linked);
        symlink(&linked.to, &linked.link)
    }

    /// Returns the path at which the link to the login file is stored. It is outside the home, so that no process in
    /// the home finds it.
    fn record(&self) -> PathBuf {
        self.path.with_extension(RECORD)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let record = self.record();
        if let Some(Err(error)) = self.linked.as_ref().map(|linked| linked.keep(&record)) {
            warn_of_lost_login(&error);
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the evaluator's home stays");
        }
        // Fails without a login, which has no record.
        let _ = fs::remove_file(record);
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
