//! The demo's data folder: a named one, or a temporary one that is removed with the demo.
//!
//! A killed demo cannot remove its folder, so that the next one does. Each folder records its owner by process id and
//! start time; only a folder of this user whose demo is certainly gone is removed.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::DemoError;
use crate::runtime::process::{Identity, lives, look};

/// Prefix of the names of temporary demo folders.
const PREFIX: &str = "herder-demo-";

/// Name of the file that records which process a demo's folder belongs to.
const OWNER: &str = "demo.owner";

/// The folder with the demo's data; a temporary one is removed on drop.
pub(super) struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    /// Creates the folder `wanted`, or else a temporary one after removing those that killed demos have left.
    pub(super) fn new(wanted: Option<PathBuf>) -> Result<Self, DemoError> {
        let (path, temporary) = match wanted {
            Some(path) => (path, false),
            None => {
                let folders = std::env::temp_dir();
                sweep(&folders);
                (folders.join(name()), true)
            }
        };
        // Private: it contains agents' output and the socket.
        let made = DirBuilder::new().recursive(!temporary).mode(0o700).create(&path);
        let folder = match made.and_then(|()| std::path::absolute(&path)) {
            Ok(path) => Self { path, temporary },
            Err(source) => return Err(DemoError::Folder { path, source }),
        };
        if temporary && let Err(error) = sign(&folder.path) {
            tracing::warn!(%error, "a later demo will not clean up after this one if it is killed");
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn remove(self) {}
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "the demo's folder cannot be removed");
        }
    }
}

fn name() -> String {
    // Also unique enough without randomness: a folder that exists is refused, never shared.
    let number = getrandom::u32().unwrap_or_default();
    format!("{PREFIX}{}-{number:08x}", std::process::id())
}

/// Writes the process id and start time of this process into the folder, as its owner.
fn sign(folder: &Path) -> io::Result<()> {
    let pid = std::process::id();
    let started = look(pid).map(|entry| entry.identity.started);
    let started = started.ok_or_else(|| io::Error::other("this process has no start time"))?;
    // Written atomically: a folder whose owner cannot be read is left alone.
    let draft = folder.join(format!("{OWNER}.tmp"));
    fs::write(&draft, format!("{pid} {started}"))?;
    fs::rename(draft, folder.join(OWNER))
}

/// Removes the temporary demo folders in `folders` that belong to this user and whose demo does not run any more.
fn sweep(folders: &Path) {
    let Ok(entries) = fs::read_dir(folders) else { return };
    let named = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX))
    };
    for path in entries.flatten().map(|entry| entry.path()).filter(named).filter(|path| is_left(path)) {
        match fs::remove_dir_all(&path) {
            Ok(()) => {
                tracing::info!(path = %path.display(), "took away what a demo that was killed had left")
            }
            Err(error) => {
                tracing::debug!(%error, path = %path.display(), "a demo's folder cannot be removed")
            }
        }
    }
}

/// Returns true if a temporary folder belongs to this user and the demo that created it does not run any more.
fn is_left(folder: &Path) -> bool {
    let own = |path: &Path| {
        let found = fs::symlink_metadata(path).ok()?;
        (found.uid() == rustix::process::geteuid().as_raw()).then_some(found)
    };
    let owner = folder.join(OWNER);
    let is_ours =
        own(folder).is_some_and(|found| found.is_dir()) && own(&owner).is_some_and(|found| found.is_file());
    let Ok(text) = fs::read_to_string(&owner) else { return false };
    let identity = text
        .split_once(' ')
        .and_then(|(pid, started)| Some(Identity { pid: pid.parse().ok()?, started: started.parse().ok()? }));
    is_ours && identity.is_some_and(|identity| !lives(identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_demos_that_are_gone_are_taken_away() {
        let folders = tempfile::tempdir().expect("a folder");
        let make = |name: &str, owner: Option<String>| {
            let path = folders.path().join(name);
            fs::create_dir_all(path.join("data")).expect("it is made");
            if let Some(owner) = owner {
                fs::write(path.join(OWNER), owner).expect("it is written");
            }
        };
        let me = look(std::process::id()).expect("this process runs").identity;
        make("herder-demo-dead", Some(format!("{} {}", me.pid, me.started - 1)));
        make("herder-demo-alive", Some(format!("{} {}", me.pid, me.started)));
        make("herder-demo-unsigned", None);
        make("herder-demo-odd", Some("what?".to_owned()));
        make("something-else", Some(format!("{} 1", me.pid)));
        std::os::unix::fs::symlink(
            folders.path().join("something-else"),
            folders.path().join("herder-demo-link"),
        )
        .expect("it is linked");
        sweep(folders.path());
        let mut left: Vec<String> = fs::read_dir(folders.path())
            .expect("it is read")
            .map(|entry| entry.expect("it is read").file_name().into_string().expect("a plain name"))
            .collect();
        left.sort();
        let expected = [
            "herder-demo-alive",
            "herder-demo-link",
            "herder-demo-odd",
            "herder-demo-unsigned",
            "something-else",
        ];
        assert_eq!(left, expected);
    }

    #[test]
    fn a_demo_signs_its_folder_and_takes_it_along() {
        let folder = Folder::new(None).expect("it is made");
        let path = folder.path().to_owned();
        assert!(path.join(OWNER).is_file() && !is_left(&path));
        folder.remove();
        assert!(!path.exists());
    }
}
