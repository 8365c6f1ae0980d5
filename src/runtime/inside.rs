//! Files below a workspace, which belongs to the agent: symbolic links in it are not followed, neither out of the folder
//! nor within it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;

use crate::core::context::FOLDER;
use crate::core::id::AgentName;

/// Name and content of the file that excludes herder's folder from the agent's commits.
const IGNORE: (&str, &str) = (".gitignore", "*\n");

/// Flags to open the workspace itself, whose path is the operator's.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags to open a folder below the workspace without following symbolic links.
pub(crate) const BELOW: OFlags = DIRECTORY.union(OFlags::NOFOLLOW);

/// Opens the agent's own folder in a workspace, which is created if it does not exist.
///
/// # Errors
/// The folders cannot be created, are no folders, or cannot be written to.
pub(crate) fn own_folder(workspace: &Path, agent: &AgentName) -> io::Result<OwnedFd> {
    let workspace = open(workspace, DIRECTORY, Mode::empty())?;
    let all = made(&workspace, FOLDER)?;
    match fresh(&all, IGNORE.0) {
        Ok(file) => File::from(file).write_all(IGNORE.1.as_bytes())?,
        Err(Errno::EXIST) => {}
        Err(reason) => return Err(reason.into()),
    }
    Ok(made(&all, agent.as_str())?)
}

/// Opens a folder within a folder, and creates it if it does not exist.
///
/// # Errors
/// It cannot be created or opened, or is no folder.
pub(crate) fn made(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => openat(parent, name, BELOW, Mode::empty()),
        Err(reason) => Err(reason),
    }
}

/// Creates a file.
///
/// # Errors
/// Something of that name exists, or it cannot be created.
pub(crate) fn fresh(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::RUSR | Mode::WUSR)
}

/// Removes a file or a link, if it exists.
///
/// # Errors
/// It exists and cannot be removed.
pub(crate) fn removed(parent: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(reason) => Err(reason.into()),
    }
}
