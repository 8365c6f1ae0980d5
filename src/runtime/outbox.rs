//! Files of an agent's workspace on their way to people. The path is the agent's, and hostile.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

use super::folder;
use super::inside::{BELOW, DIRECTORY};
use crate::clock::running::Running;
use crate::redact::Redactor;

/// Maximum time for the workspace's file system to answer.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// Maximum number of folders in a path.
const DEPTH_MAX: usize = 64;

/// Reads a file of at most `max` bytes, and returns it in Base64.
///
/// # Errors
/// The reason why there is none, for the model.
pub(crate) async fn take(
    running: &Running,
    workspace: &Path,
    path: String,
    max: u64,
) -> Result<String, String> {
    let read = move |workspace: &Path| read(workspace, &path, max);
    let read = folder::ask(running, workspace, READ_WITHIN, read).await;
    read.map_err(|_| "The workspace does not answer.".to_owned())?.map(|bytes| STANDARD.encode(bytes))
}

/// Removes the secrets that this machine knows from a file in Base64.
pub(crate) fn redacted(base64: &str, redactor: &Redactor) -> String {
    STANDARD.encode(without_secrets(STANDARD.decode(base64).unwrap_or_default(), redactor))
}

/// Removes the secrets that a redactor knows from a file. One that is no UTF-8 and has a secret becomes text.
pub(crate) fn without_secrets(bytes: Vec<u8>, redactor: &Redactor) -> Vec<u8> {
    if let Ok(text) = std::str::from_utf8(&bytes)
        && !bytes.contains(&0)
    {
        return redactor.redact(text).into_owned().into_bytes();
    }
    // UTF-16 has a zero beside each letter.
    let letters: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&letters);
    let redacted = redactor.redact(&text);
    if *redacted == *text { bytes } else { redacted.into_owned().into_bytes() }
}

/// Reads a file below the workspace. No symbolic link is followed, neither out of it nor within it.
fn read(workspace: &Path, path: &str, max: u64) -> Result<Vec<u8>, String> {
    let parts = parts(workspace, path)?;
    let (last, folders) = parts.split_last().ok_or("`path` names no file.")?;
    let opened = open(workspace, DIRECTORY, Mode::empty()).and_then(|workspace| {
        let within =
            folders.iter().try_fold(workspace, |folder, name| openat(&folder, name, BELOW, Mode::empty()))?;
        // A pipe without a writer does not hold anything up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        openat(within, last, flags, Mode::empty())
    });
    let file = File::from(opened.map_err(|errno| unopened(errno, path))?);
    let length = file.metadata().map_err(|error| unread(&error)).and_then(|found| match found.is_file() {
        true => Ok(found.len()),
        false => Err("That is no regular file.".to_owned()),
    })?;
    let mut bytes = Vec::new();
    if length <= max {
        // It may grow meanwhile.
        file.take(max + 1).read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    }
    match length > max || bytes.len() as u64 > max {
        true => Err(format!("That is too large: at most {max} bytes. Send less of it, or pack it.")),
        false => Ok(bytes),
    }
}

/// Returns the names on the way from the workspace to the file.
fn parts(workspace: &Path, path: &str) -> Result<Vec<PathBuf>, String> {
    let path = Path::new(path);
    let below = match path.is_absolute() {
        true => path.strip_prefix(workspace).map_err(|_| "That is not in your workspace.".to_owned())?,
        false => path,
    };
    let mut parts = Vec::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => parts.push(PathBuf::from(name)),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err("`path` has to lead straight into your workspace, without `..`.".to_owned());
            }
        }
    }
    if parts.len() > DEPTH_MAX { Err("`path` is too deep.".to_owned()) } else { Ok(parts) }
}

fn unopened(errno: Errno, path: &str) -> String {
    match errno {
        Errno::NOENT => "There is no such file in your workspace.".to_owned(),
        Errno::LOOP | Errno::MLINK => "A link is on the way there, and links are not followed.".to_owned(),
        // A link in the place of a folder is none.
        Errno::NOTDIR => "Something on the way there is a link or no folder.".to_owned(),
        Errno::ACCESS | Errno::PERM => "herder may not read that.".to_owned(),
        _ if path.contains('\0') => "`path` is no path.".to_owned(),
        other => unread(&other.into()),
    }
}

fn unread(error: &io::Error) -> String {
    format!("It cannot be read: {error}.")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_of_the_workspace_is_read_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let (workspace, outside) = (dir.path().join("work"), dir.path().join("outside"));
        for folder in [&workspace.join("out/deep"), &outside] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let put = |path: &str, bytes: &[u8]| std::fs::write(dir.path().join(path), bytes).expect("a file");
        put("work/out/deep/a.txt", b"inside");
        put("work/large.bin", &[0; 9]);
        put("outside/secret", b"secret");
        let link = |to: &Path, at: &str| symlink(to, workspace.join(at)).expect("a link");
        link(&outside.join("secret"), "link");
        link(&outside, "folder");
        link(&workspace.join("out"), "within");
        link(Path::new("/proc/self/environ"), "environ");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            workspace.join("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RWXU,
            0,
        )
        .expect("a pipe");
        let read = |path: &str| read(&workspace, path, 8);
        let absolute = workspace.join("out/deep/a.txt");
        for path in ["out/deep/a.txt", "./out//deep/./a.txt", absolute.to_str().expect("UTF-8")] {
            assert_eq!(read(path), Ok(b"inside".to_vec()), "{path}");
        }
        for (path, wanted) in [
            ("none", "no such file"),
            ("", "names no file"),
            (".", "names no file"),
            ("../outside/secret", "without `..`"),
            ("out/../../outside/secret", "without `..`"),
            ("/etc/passwd", "not in your workspace"),
            ("link", "links are not followed"),
            ("environ", "links are not followed"),
            ("folder/secret", "a link or no folder"),
            ("within/deep/a.txt", "a link or no folder"),
            ("out/deep/a.txt/x", "a link or no folder"),
            ("out", "no regular file"),
            ("pipe", "no regular file"),
            ("large.bin", "too large: at most 8 bytes"),
            ("a\0b", "is no path"),
        ] {
            let told = read(path).expect_err(path);
            assert!(told.contains(wanted), "{path}: {told}");
        }
        let deep = "a/".repeat(65);
        assert!(read(&deep).expect_err("it is deep").contains("too deep"));
    }

    #[test]
    fn secrets_are_taken_out_and_other_bytes_are_left_alone() {
        let redactor = Redactor::new(&["a-long-secret-of-tests".to_owned().into()]);
        let sent =
            |bytes: &[u8]| STANDARD.decode(redacted(&STANDARD.encode(bytes), &redactor)).expect("Base64");
        let text = sent(b"key = a-long-secret-of-tests\n");
        assert!(!String::from_utf8_lossy(&text).contains("a-long-secret"), "{text:?}");
        let wide: Vec<u8> = "key = a-long-secret-of-tests\n".bytes().flat_map(|byte| [byte, 0]).collect();
        for hidden in [&b"gr\xfcn: a-long-secret-of-tests"[..], b"\0 a-long-secret-of-tests", &wide] {
            let text = sent(hidden).into_iter().filter(|byte| *byte != 0).collect();
            assert!(!String::from_utf8(text).expect("it is text").contains("a-long-secret"), "{hidden:?}");
        }
        assert_eq!(sent(b"\xff\0 plain"), b"\xff\0 plain");
        assert_eq!(sent(b"plain"), b"plain");
    }
}
