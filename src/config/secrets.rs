//! Secrets: named in the file, never written in it. They come from an environment variable, from a file, or from the service
//! manager, as a file in a folder that only the service can read (`LoadCredential=`).

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use secrecy::SecretString;

use super::section::Section;

/// Text for error messages: the forms in which a secret is given in the file.
pub(super) const FORM: &str = "{ env = \"NAME\" }, { file = \"path\" } or { credential = \"name\" }";

/// Environment variable that systemd sets to the folder of a service's credentials.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// Error message for a secret that is written in the file itself. The secret is not repeated, because messages are
/// printed and logged.
pub(super) const LITERAL: &str = "a secret does not belong in this file; put it into a variable of the environment or a file of mode 0600, and write { env = \"NAME\" } or { file = \"path\" } here";

/// Maximum size of a file with a secret, in bytes: a private token, not a data set.
const LONGEST: u64 = 64 * 1024;

/// Reads the secret that `{ env = … }`, `{ file = … }` or `{ credential = … }` names.
pub(super) fn read(source: &Section<'_>) -> Option<SecretString> {
    let variable = source.filled("env");
    let file = source.filled("file");
    let credential = source.filled("credential");
    match (variable, file, credential) {
        (Some(variable), None, None) => from_variable(source, &variable.value),
        (None, Some(file), None) => from_file(source, "file", &source.path(&file.value)),
        (None, None, Some(credential)) => {
            from_file(source, "credential", &credential_path(source, &credential.value)?)
        }
        (Some(_), Some(_), None) => {
            source.problem("", format!("both env and file are given; write one of them: {FORM}"));
            None
        }
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            source
                .problem("", format!("credential is given beside another place; write one of them: {FORM}"));
            None
        }
        (None, None, None) => {
            source.problem("", format!("it is not said where the secret is; write {FORM}"));
            None
        }
    }
}

fn from_variable(source: &Section<'_>, name: &str) -> Option<SecretString> {
    source.reading.secret_variables.borrow_mut().insert(name.to_owned());
    let Some(value) = (source.reading.around.variable)(name) else {
        source.problem("env", format!("the variable {name} is not set; set it where herder is started"));
        return None;
    };
    let Ok(value) = value.into_string() else {
        source.problem("env", format!("the variable {name} is not UTF-8 text; set it to the bare secret"));
        return None;
    };
    usable(source, "env", &format!("the variable {name}"), &value)
}

/// Reads the secret that `{ file = … }` or `{ credential = … }` names, and returns it with the path of its file.
pub(super) fn in_file(source: &Section<'_>) -> Option<(PathBuf, SecretString)> {
    let (key, path) = match (source.filled("file"), source.filled("credential")) {
        (Some(file), None) => ("file", source.path(&file.value)),
        (None, Some(credential)) => ("credential", credential_path(source, &credential.value)?),
        (Some(_), Some(_)) => {
            source.problem("", "both file and credential are given; write one of them");
            return None;
        }
        (None, None) => {
            source.problem(
                "",
                "it is not said where the value is; write a text in quotes or { file = \"path\" }",
            );
            return None;
        }
    };
    let secret = from_file(source, key, &path)?;
    Some((path, secret))
}

/// Returns the path of the file in which systemd provides a credential of this name.
fn credential_path(source: &Section<'_>, name: &str) -> Option<PathBuf> {
    if name.contains('/') || name.contains('\0') || matches!(name, "." | "..") {
        source.problem("credential", "this is a path; write the name that LoadCredential= gives it");
        return None;
    }
    let Some(folder) = (source.reading.around.variable)(CREDENTIALS) else {
        let missing = format!(
            "herder was given no credentials ({CREDENTIALS} is not set); put LoadCredential={name}:/path into \
             the service and start herder by it"
        );
        source.problem("credential", missing);
        return None;
    };
    Some(PathBuf::from(folder).join(name))
}

fn from_file(source: &Section<'_>, key: &str, path: &Path) -> Option<SecretString> {
    let shown = path.display();
    // Opening a pipe would wait for its writer, perhaps for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let read = opened.map(fs::File::from).and_then(|file| {
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mode = found.permissions().mode();
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text)?;
        Ok((mode, text))
    });
    let (mode, text) = match read {
        Ok(read) => read,
        Err(error) => {
            source.problem(key, format!("{shown} cannot be read: {error}; put the secret there, alone"));
            return None;
        }
    };
    if mode & 0o007 != 0 {
        let warning = format!("everybody on this machine can read {shown}; run chmod 600 on it");
        source.warn(key, warning);
    }
    if text.len() as u64 > LONGEST {
        source.problem(key, format!("{shown} is too long for a secret; put the secret there, alone"));
        return None;
    }
    usable(source, key, &shown.to_string(), &text)
}

fn usable(source: &Section<'_>, key: &str, origin: &str, text: &str) -> Option<SecretString> {
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.trim().is_empty() {
        source.problem(key, format!("{origin} is empty; put the secret there, alone"));
        return None;
    }
    if secret.contains(['\r', '\n', '\0']) {
        source.problem(key, format!("{origin} has more than one line; put the secret there, alone"));
        return None;
    }
    Some(SecretString::from(secret.to_owned()))
}
