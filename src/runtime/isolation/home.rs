//! An agent's own HOME, with links to the files that are named.
//!
//! What is below its folder is the agent's, and herder comes there from outside of any sandbox: where the agent has put a
//! link in the place of a folder, following it would do to the user's files what was meant for the agent's. So herder goes
//! from folder to folder by descriptors and follows no link, takes those away that stand where a folder is to be, and keeps
//! its note of the links that it made beside the agent's folder.

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
use crate::runtime::Launch;

/// The HOME, in the agent's folder.
const HOME: &str = "home";

/// A folder, and no link to one.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Makes the HOME and links the files that are named, and no others: a login that is renewed is renewed for everybody who
/// has it.
///
/// # Errors
/// What cannot be made, or is not there.
pub(super) fn furnish(launch: &Launch, state: &Path) -> Result<PathBuf, Detail> {
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
    let theirs = launch.environment.get("HOME").map(PathBuf::from).unwrap_or_default();
    for entry in wanted {
        let source = theirs.join(entry);
        if !source.exists() {
            return Err(Own::CredentialMissing { path: source.display().to_string() }.into());
        }
        link(&home, Path::new(entry), &source).map_err(|error| failed(&place.join(entry), error))?;
    }
    Ok(place)
}

/// Where the credentials that are linked are noted, so that one that is not named any more goes. No agent has a name that
/// begins so.
fn note(state: &Path) -> PathBuf {
    let name = state.file_name().unwrap_or_default().to_string_lossy();
    state.with_file_name(format!(".{name}.credentials"))
}

/// What stands under a name, if anything does.
fn kind(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<FileType>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A folder in a folder, for nobody else to look into; it is made unless it is there.
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

/// Links a file.
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

/// Takes a link away. Where the way to it is none of folders, there is none of herder's.
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
