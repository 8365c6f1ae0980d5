//! Files that nobody else may read, written so that a kill leaves a whole one or none.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Mode of a file with a secret.
const FILE_MODE: u32 = 0o600;

/// Mode of a folder with secrets.
const FOLDER_MODE: u32 = 0o700;

/// Makes a folder with these files. It is written beside its place and renamed, so that it is there with everything or
/// not at all.
///
/// # Errors
/// The disk refuses; with [`io::ErrorKind::AlreadyExists`] if something is at its place.
pub(super) fn make_folder(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    if fs::symlink_metadata(folder).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let parent = parent(folder);
    fs::create_dir_all(parent)?;
    let new = beside(folder);
    if let Err(reason) = fs::remove_dir_all(&new)
        && reason.kind() != io::ErrorKind::NotFound
    {
        return Err(reason);
    }
    DirBuilder::new().mode(FOLDER_MODE).create(&new)?;
    for (name, content) in files {
        write(&new.join(name), content)?;
    }
    File::open(&new)?.sync_all()?;
    fs::rename(&new, folder).map_err(|reason| match reason.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
            io::ErrorKind::AlreadyExists.into()
        }
        _ => reason,
    })?;
    File::open(parent)?.sync_all()
}

/// Replaces a file so that a reader finds the old or the new one, whenever this process or the machine dies.
///
/// # Errors
/// The disk refuses; the old file is still there.
pub(super) fn replace(path: &Path, content: &str) -> io::Result<()> {
    let new = beside(path);
    if let Err(reason) = fs::remove_file(&new)
        && reason.kind() != io::ErrorKind::NotFound
    {
        return Err(reason);
    }
    write(&new, content)?;
    fs::rename(&new, path)?;
    File::open(parent(path))?.sync_all()
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    new.into()
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
