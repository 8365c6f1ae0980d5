//! The page's own name on this machine, `herder-<16 hex>.localhost`: browsers take all names below `localhost` for this
//! machine, and send a cookie of such a name to every port of it. A name that no other program knows is named by no link of
//! theirs, so that none of them is sent the page's cookie.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::access::logins::random;

/// File in the data folder that keeps the name, so that sessions of the page outlive a restart.
const FILE_NAME: &str = "page-host";

/// Parts of the name around what is drawn.
const AROUND: (&str, &str) = ("herder-", ".localhost");

/// Hexadecimal digits that are drawn.
const DRAWN: usize = 16;

/// Returns the name that the data folder keeps. It is drawn where there is none, or where other users of this machine
/// could read it.
pub(super) fn own_host(folder: &Path) -> io::Result<String> {
    let path = folder.join(FILE_NAME);
    match kept(&path) {
        Ok(Some(name)) => return Ok(name),
        Ok(None) => std::fs::remove_file(&path)?,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause),
    }
    let drawn = random().ok_or_else(|| io::Error::other("this system gives no random bytes"))?;
    let name: String = AROUND.0.chars().chain(drawn.chars().take(DRAWN)).chain(AROUND.1.chars()).collect();
    // Half a name is never read: it is renamed when it is whole.
    let new = folder.join(format!("{FILE_NAME}.new"));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{name}")?;
    file.sync_all()?;
    std::fs::rename(new, path)?;
    Ok(name)
}

/// Returns the name in the file; `None` if it is no such name, or others could read it.
fn kept(path: &Path) -> io::Result<Option<String>> {
    let file = File::open(path)?;
    let is_own = file.metadata()?.permissions().mode() & 0o077 == 0;
    let mut text = Vec::new();
    (&file).take(1024).read_to_end(&mut text)?;
    let name = String::from_utf8(text).unwrap_or_default().trim().to_owned();
    let drawn = name.strip_prefix(AROUND.0).and_then(|rest| rest.strip_suffix(AROUND.1));
    let is_name = drawn.is_some_and(|drawn| {
        drawn.len() == DRAWN && drawn.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    Ok((is_own && is_name).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_drawn_once_and_kept_for_herders_user_alone() {
        let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let name = own_host(one.path()).expect("drawn");
        assert_eq!(own_host(one.path()).expect("kept"), name);
        assert_ne!(own_host(two.path()).expect("drawn"), name, "another herder's is another one");
        let drawn = name.strip_prefix("herder-").and_then(|rest| rest.strip_suffix(".localhost"));
        assert_eq!(drawn.map(str::len), Some(DRAWN), "{name}");
        let path = one.path().join(FILE_NAME);
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("changed");
        let second = own_host(one.path()).expect("drawn");
        assert_ne!(second, name, "others could have read it");
        for broken in ["", "herder.localhost", "herder-0123456789abcdeX.localhost", "evil.example"] {
            std::fs::write(&path, broken).expect("written");
            let third = own_host(one.path()).expect("drawn");
            assert!(third != broken && third != second && third.ends_with(".localhost"), "{broken}: {third}");
        }
    }
}
