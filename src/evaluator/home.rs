//! The home of one evaluation: a folder that nobody else may look into, with a credential in it and nothing more.
//!
//! A login that renews itself is linked and not copied: its token can be renewed once, so that a copy that was renewed and
//! thrown away would log the user out of their own CLI. Where the CLI has put a new file in the place of the link, that file
//! goes to where the link went, also after herder was killed: a record beside the home says where that is. What is there by
//! then may be newer, by another evaluation or by the user's own CLI; then it stays.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A login file is a few kilobytes, and so is the record of one.
const LOGIN_MAX: u64 = 64 * 1024;

/// How the name of a record goes on after that of its home.
const RECORD: &str = "login";

/// Evaluations end at the same time, and each looks at what is there before it puts its own in its place.
static KEEPING: Mutex<()> = Mutex::new(());

/// A folder that is removed with this value.
#[derive(Debug)]
pub(super) struct Home {
    path: PathBuf,
    linked: Option<Linked>,
}

/// A link to a login file.
#[derive(Debug, Serialize, Deserialize)]
struct Linked {
    link: PathBuf,
    /// Where it goes.
    to: PathBuf,
    /// What was there then, as a digest.
    seen: u64,
}

/// Whether an earlier herder left something in `parent`.
pub(super) fn is_littered(parent: &Path) -> bool {
    fs::read_dir(parent).is_ok_and(|mut entries| entries.next().is_some())
}

/// Removes what an earlier herder left in `parent`, after the logins that were renewed there are where they belong. Call it
/// once nobody works there any more.
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
            // Only what a home of ours was furnished with is put anywhere.
            Some(linked) if linked.link.starts_with(path.with_extension("")) => linked.keep(&path),
            Some(_) | None => Ok(()),
        });
        if let Err(error) = kept {
            warn_of_lost_login(&error);
        }
    }
    fs::remove_dir_all(parent)
}

/// The record at `path`, if it is one: a kill may have cut it short.
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

/// Writes a new file that nobody else may read.
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
    /// Puts a login that was renewed where it belongs, unless what is there is newer. `record` names the home.
    fn keep(&self, record: &Path) -> io::Result<()> {
        let name = record.file_stem().unwrap_or_default().to_string_lossy();
        let beside = self.to.with_extension(format!("herder-{name}"));
        // Left by a kill in the midst of the last lines.
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
        // One that is gone was taken away: whoever has logged out stays logged out.
        let Ok(known) = fs::read(&self.to) else { return Ok(()) };
        let at = found.modified()?;
        let is_newer = digest(&known) != self.seen && fs::metadata(&self.to)?.modified()? >= at;
        if known == renewed || is_newer {
            return Ok(());
        }
        let written = write_private(&beside, &renewed)
            // By this the next one sees which is newer.
            .and_then(|file| file.set_modified(at).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &self.to));
        if written.is_err() {
            // What could not be put in place must not lie around.
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

impl Home {
    /// A new one in `parent`.
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

    /// Where the process works: an empty folder, so that no project's own instructions are read.
    pub(super) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Makes a folder of the CLI's in it.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path.join(name);
        private().create(&folder)?;
        Ok(folder)
    }

    /// Links the login file `to` at `link`.
    pub(super) fn link(&mut self, link: PathBuf, to: &Path) -> io::Result<()> {
        let to = fs::canonicalize(to)?;
        let seen = digest(&fs::read(&to)?);
        let linked = Linked { link, to, seen };
        // Paths that JSON has no form for are not recorded: such a login is kept by an orderly end alone.
        if let Ok(record) = serde_json::to_vec(&linked) {
            write_private(&self.record(), &record)?;
        }
        let linked = self.linked.insert(linked);
        symlink(&linked.to, &linked.link)
    }

    /// What says where its login belongs. Beside it, so that nothing that works in the home finds it there.
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
        // There is none without a login.
        let _ = fs::remove_file(record);
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
