//! Files of clones: copied without following links out of a folder, and removed whatever their permissions are.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Bound;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

/// Maximum size of a file that is copied into a clone, in bytes.
const COPIED_MAX: u64 = 64 * 1024 * 1024;

/// Copies the file `name` from one folder to another one, if it is there. No link is followed out of the first folder,
/// and none at all in the second one, whose content a repository decides.
pub(super) fn copy(from: &Path, to: &Path, name: &Path) -> io::Result<()> {
    if name.as_os_str().is_empty() || !name.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let top = folder(from)?;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let reads = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = match openat2(&top, name, reads, Mode::empty(), inside) {
        Ok(source) => File::from(source),
        Err(Errno::NOENT) => return Ok(()),
        Err(reason) => return Err(reason.into()),
    };
    let found = source.metadata()?;
    if !found.is_file() || found.len() > COPIED_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut into = folder(to)?;
    let parents = name.parent().unwrap_or_else(|| Path::new(""));
    for part in parents.components() {
        match mkdirat(&into, part.as_os_str(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(reason) => return Err(reason.into()),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        into = openat(&into, part.as_os_str(), flags, Mode::empty())?;
    }
    let Some(last) = name.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mode = Mode::from_raw_mode(found.permissions().mode() & 0o700);
    let writes = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut target = match openat(&into, last, writes, mode) {
        Ok(target) => File::from(target),
        // The repository has a file of this name.
        Err(Errno::EXIST) => return Ok(()),
        Err(reason) => return Err(reason.into()),
    };
    io::copy(&mut source.take(COPIED_MAX), &mut target)?;
    Ok(())
}

pub(super) fn folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The content of a file in a folder.
pub(super) enum Content {
    /// There is neither a file nor a link of this name, or the way to it leads through a link.
    None,
    /// The file is larger than asked for, or may not be read.
    Unread,
    /// A file, or a link with its target as the content.
    Of {
        /// The mode that git writes down for it.
        mode: &'static str,
        /// The content.
        bytes: Vec<u8>,
    },
}

/// Reads the file `name` in a folder, at most `most` bytes. No link is followed, and nothing but a file is opened.
pub(super) fn read(top: &OwnedFd, name: &[u8], most: u64) -> io::Result<Content> {
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let named = |flags| openat2(top, name, flags | OFlags::CLOEXEC, Mode::empty(), inside);
    let found = match named(OFlags::PATH | OFlags::NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Content::None),
        Err(Errno::ACCESS | Errno::PERM | Errno::AGAIN) => return Ok(Content::Unread),
        Err(reason) => return Err(reason.into()),
    };
    let kind = rustix::fs::FileType::from_raw_mode(fstat(&found)?.st_mode);
    if kind == rustix::fs::FileType::Symlink {
        let target = rustix::fs::readlinkat(&found, "", Vec::new())?;
        return Ok(Content::Of { mode: "120000", bytes: target.into_bytes() });
    }
    if kind != rustix::fs::FileType::RegularFile {
        return Ok(Content::None);
    }
    let file = match named(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW) {
        Ok(file) => File::from(file),
        // It was exchanged meanwhile.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Content::None),
        Err(Errno::ACCESS | Errno::PERM | Errno::AGAIN) => return Ok(Content::Unread),
        Err(reason) => return Err(reason.into()),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok(Content::None);
    }
    let mode = if found.permissions().mode() & 0o100 == 0 { "100644" } else { "100755" };
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Ok(Content::Unread);
    }
    Ok(Content::Of { mode, bytes })
}

/// Removes a folder with all that is in it. Links in it are removed and not followed; folders that cannot be written
/// are made writable first, as package caches are not.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let parent = folder(path.parent().unwrap_or(Path::new("/")))?;
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            open_up(&parent, &CString::new(name.as_bytes())?, 0)?;
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Removes all that is in a folder but the named files, and those of them that are not as git makes them: special files,
/// files with other rights, and files with a second name, by which they could be changed. `git`: a folder that git has
/// made. Links are not followed.
pub(super) fn keep_only(top: &Path, names: &BTreeSet<&[u8]>, git: &Path) -> io::Result<()> {
    let (folder, file) = (rights(&git.metadata()?), rights(&git.join("HEAD").metadata()?));
    let program = file | (file & 0o444) >> 2;
    Kept { names, folder, files: [file, program] }.below(top, b"")
}

fn rights(of: &fs::Metadata) -> u32 {
    of.permissions().mode() & 0o7777
}

/// Files that stay, and the rights of folders and files.
struct Kept<'a> {
    names: &'a BTreeSet<&'a [u8]>,
    folder: u32,
    files: [u32; 2],
}

impl Kept<'_> {
    fn below(&self, folder: &Path, above: &[u8]) -> io::Result<()> {
        if rights(&folder.symlink_metadata()?) != self.folder {
            fs::set_permissions(folder, fs::Permissions::from_mode(self.folder))?;
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (found, name) = (entry.metadata()?, [above, entry.file_name().as_bytes()].concat());
            let is_named = self.names.contains(&name[..]);
            if found.is_dir() {
                let inside = [&name[..], b"/"].concat();
                let next =
                    self.names.range::<[u8], _>((Bound::Excluded(&inside[..]), Bound::Unbounded)).next();
                // The folder of a submodule is named, and empty.
                if is_named || next.is_some_and(|next| next.starts_with(&inside)) {
                    self.below(&entry.path(), &inside)?;
                    continue;
                }
            }
            let is_right = found.is_symlink() || found.is_file() && self.files.contains(&rights(&found));
            if !(is_named && is_right && found.nlink() == 1) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Maximum number of files and folders that are measured.
const MEASURED_MAX: u32 = 1_000_000;

/// Returns the size of a folder on the disk in bytes, and true if there is more in it than was measured. Links are not
/// followed.
pub(super) fn size(path: &Path) -> (u64, bool) {
    let mut found = Measured { size: 0, larger: false, left: MEASURED_MAX };
    match openat(CWD, path, READS_FOLDER, Mode::empty()) {
        Ok(top) => measure(&top, 0, &mut found),
        Err(_) => found.larger = true,
    }
    (found.size, found.larger)
}

/// Flags by which a folder is opened that is not reached by a link.
const READS_FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::CLOEXEC);

struct Measured {
    size: u64,
    larger: bool,
    left: u32,
}

fn measure(folder: &OwnedFd, depth: usize, found: &mut Measured) {
    let Ok(mut entries) = rustix::fs::Dir::read_from(folder) else {
        found.larger = true;
        return;
    };
    while let Some(Ok(entry)) = entries.read() {
        let name = entry.file_name();
        if name.to_bytes() == b"." || name.to_bytes() == b".." {
            continue;
        }
        if found.left == 0 {
            found.larger = true;
            return;
        }
        found.left -= 1;
        // A file that is gone meanwhile has no size.
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        found.size =
            found.size.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512));
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
            match openat(folder, name, READS_FOLDER, Mode::empty()) {
                Ok(below) if depth < DEPTH_MAX => measure(&below, depth + 1, found),
                Ok(_) | Err(_) => found.larger = true,
            }
        }
    }
}

/// Maximum depth of folders that are made writable or measured.
const DEPTH_MAX: usize = 128;

/// Makes a folder and those below it writable for their owner.
fn open_up(parent: &OwnedFd, name: &CString, depth: usize) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let owned = Mode::RWXU;
    let opened = match openat(parent, name, READS_FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // A link that takes the folder's place meanwhile gains its target no more than its owner's rights.
            let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if rustix::fs::FileType::from_raw_mode(found.st_mode) != rustix::fs::FileType::Directory {
                return Ok(());
            }
            rustix::fs::chmodat(parent, name, owned, AtFlags::empty())?;
            openat(parent, name, READS_FOLDER, Mode::empty())?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
    if !mode.contains(owned) {
        rustix::fs::fchmod(&opened, owned)?;
    }
    let mut entries = rustix::fs::Dir::read_from(&opened)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes() == b"." || name.to_bytes() == b".." {
            continue;
        }
        if entry.file_type() == rustix::fs::FileType::Directory {
            open_up(&opened, &name.to_owned(), depth + 1)?;
        }
    }
    Ok(())
}
