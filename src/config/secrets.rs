//! Secrets: named in the file, never written in it. They come from an environment variable or from a file.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use secrecy::SecretString;

use super::section::Section;

/// The form of a secret in the file.
pub(super) const FORM: &str = "{ env = \"NAME\" } or { file = \"path\" }";

/// Reply to a secret that is written in the file. The secret is not repeated, because problems are printed and
/// logged.
pub(super) const LITERAL: &str = "a secret does not belong in this file; put it into a variable of the environment or a file of mode 0600, and write { env = \"NAME\" } or { file = \"path\" } here";

/// Maximum size of a secret's file, in bytes: a private token, not a data set.
const LONGEST: u64 = 64 * 1024;

/// Reads the secret that `{ env = … }` or `{ file = … }` names.
pub(super) fn read(source: &Section<'_>) -> Option<SecretString> {
    let variable = source.filled("env");
    let file = source.filled("file");
    match (variable, file) {
        (Some(variable), None) => from_variable(source, &variable.value),
        (None, Some(file)) => from_file(source, &file.value),
        (Some(_), Some(_)) => {
            source.problem("", format!("both env and file are given; write one of them: {FORM}"));
            None
        }
        (None, None) => {
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

/// Reads the secret that `{ file = … }` names, and returns it with its path.
pub(super) fn in_file(source: &Section<'_>) -> Option<(PathBuf, SecretString)> {
    let Some(file) = source.filled("file") else {
        source
            .problem("", "it is not said where the value is; write a text in quotes or { file = \"path\" }");
        return None;
    };
    Some((source.path(&file.value), from_file(source, &file.value)?))
}

fn from_file(source: &Section<'_>, name: &str) -> Option<SecretString> {
    let path = source.path(name);
    let shown = path.display();
    // Opening a pipe would wait for its writer, perhaps for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&path, flags, Mode::empty()).map_err(io::Error::from);
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
            source.problem("file", format!("{shown} cannot be read: {error}; put the secret there, alone"));
            return None;
        }
    };
    if mode & 0o007 != 0 {
        let warning = format!("everybody on this machine can read {shown}; run chmod 600 on it");
        source.warn("file", warning);
    }
    if text.len() as u64 > LONGEST {
        source.problem("file", format!("{shown} is too long for a secret; put the secret there, alone"));
        return None;
    }
    usable(source, "file", &shown.to_string(), &text)
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
