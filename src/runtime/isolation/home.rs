//! An agent's own HOME, with symbolic links to the named credential files.
//!
//! The agent controls everything in its folder, and herder works there outside of any sandbox: if the agent replaced
//! a folder by a symbolic link, following it would apply herder's changes to the user's files. So herder walks from
//! folder to folder by descriptors and follows no link, removes links in the place of folders, and keeps the list of
//! its own links outside of the agent's folder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, mkdirat, open, openat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::{PUSH, is_credential};
use crate::core::detail::{Detail, Own};
use crate::runtime::{Launch, Local};

/// Name of the agent's own HOME in the agent's folder.
const HOME: &str = "home";

/// Flags to open a folder without following a symbolic link.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Creates the agent's own HOME and links exactly the credential files that its settings name. They are links so that a
/// renewed login is renewed for all its users.
///
/// # Errors
/// The file or folder that is missing or cannot be created.
pub(super) fn furnish(launch: &Launch, local: &Local, state: &Path) -> Result<PathBuf, Detail> {
    let failed = |path: &Path, error: io::Error| -> Detail {
        Own::StateFolder { path: path.display().to_string() }.with(error.to_string())
    };
    let place = state.join(HOME);
    let opened = open(state, FOLDER, Mode::empty()).map_err(io::Error::from);
    let home =
        opened.and_then(|state| enter(&state, HOME.as_ref())).map_err(|error| failed(&place, error))?;
    let note = note(state);
    for old in fs::read_to_string(&note).unwrap_or_default().lines().filter(|old| is_credential(old)) {
        forget(&home, Path::new(old)).map_err(|error| failed(&place.join(old), error))?;
    }
    let credentials = launch.spec.credentials.iter().map(String::as_str);
    let wanted: Vec<&str> = credentials.filter(|entry| !PUSH.contains(entry)).collect();
    fs::write(&note, wanted.join("\n")).map_err(|error| failed(&note, error))?;
    let theirs = local.environment.get("HOME").map(PathBuf::from).unwrap_or_default();
    for entry in wanted {
        let source = theirs.join(entry);
        if !source.exists() {
            return Err(Own::CredentialMissing { path: source.display().to_string() }.into());
        }
        link(&home, Path::new(entry), &source).map_err(|error| failed(&place.join(entry), error))?;
    }
    Ok(place)
}

/// Returns the path of the file that lists the linked credentials, so that a link is removed once it is not named any
/// more. It starts with a dot, as no agent's name does.
fn note(state: &Path) -> PathBuf {
    let name = state.file_name().unwrap_or_default().to_string_lossy();
    state.with_file_name(format!(".{name}.credentials"))
}

/// Returns the type of the entry with this name in a folder, without following links; `None` if there is none.
fn kind(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<FileType>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder in a folder, readable by this user only; it is created if it is missing.
fn enter(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    if kind(folder, name)? == Some(FileType::Symlink) {
        unlinkat(folder, name, AtFlags::empty())?;
    }
    match mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let inner = openat(folder, name, FOLDER, Mode::empty())?;
    fchmod(&inner, Mode::RWXU)?;
    Ok(inner)
}

/// Creates a symbolic link to the credential file `source` at the path `entry` below the HOME.
fn link(home: &OwnedFd, entry: &Path, source: &Path) -> io::Result<()> {
    let mut folder = home.try_clone()?;
    for part in entry.parent().unwrap_or(Path::new("")).components() {
        folder = enter(&folder, part.as_os_str())?;
    }
    let name = entry.file_name().unwrap_or_default();
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(symlinkat(source, &folder, name)?),
        Err(error) => Err(error.into()),
    }
}

/// Removes the symbolic link at the path `entry` below the HOME. Does nothing if a parent is missing or is not a
/// folder.
fn forget(home: &OwnedFd, entry: &Path) -> io::Result<()> {
    let mut folder = home.try_clone()?;
    for part in entry.parent().unwrap_or(Path::new("")).components() {
        match openat(&folder, part.as_os_str(), FOLDER, Mode::empty()) {
            Ok(inner) => folder = inner,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    let name = entry.file_name().unwrap_or_default();
    if kind(&folder, name)? == Some(FileType::Symlink) {
        unlinkat(&folder, name, AtFlags::empty())?;
    }
    Ok(())
}
