//! Environment of a child: variables that are set for it, and variables that it inherits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};

use super::secrets;
use super::section::{At, Section, TextOrFile};
use crate::redact::addresses;

/// Parts of the names of environment variables whose values are secrets, to be redacted in all of herder's output.
const SECRET_WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Minimum length of a secret, in bytes. Redacting shorter values would make posts unreadable.
const SECRET_MIN: usize = 8;

/// The environment variables that a section configures for a program.
pub(super) struct Variables {
    /// Variables that are set, with their values.
    pub(super) env: BTreeMap<String, String>,
    /// Variables that are set to the content of a file, with its path.
    pub(super) env_files: BTreeMap<String, PathBuf>,
    /// Names of the variables that are inherited from herder; `None` for the default.
    pub(super) inherit_env: Option<Vec<String>>,
}

/// Parses the keys `env` and `inherit_env` of a section.
pub(super) fn variables(section: &Section<'_>) -> Variables {
    let reading = section.reading;
    let (mut env, mut env_files) = (BTreeMap::new(), BTreeMap::new());
    for (name, At { value, line }) in section.texts_by_name("env").unwrap_or_default() {
        if let Err(why) = check_variable(&name) {
            section.problem_at(line, "env", why);
        }
        match value {
            TextOrFile::Text(text) => {
                if text.contains('\0') {
                    section.problem_at(line, "env", format!("the value of {name} has a NUL in it"));
                }
                if keep_secret(section, &name, Some(OsString::from(&text))) {
                    section.warn(
                        "env",
                        format!(
                            "{name} looks like a secret, and what is written here is stored with the agent; put it into \
                             a file of mode 0600 and write {name} = {{ file = \"path\" }}"
                        ),
                    );
                }
                env.insert(name, text);
            }
            TextOrFile::File(source) => {
                let read = secrets::in_file(&source);
                source.finish();
                if let Some((path, secret)) = read {
                    reading.secrets.borrow_mut().extend(addresses::in_text(secret.expose_secret()));
                    reading.secrets.borrow_mut().push(secret);
                    // A relative path would mean another folder in the agent's working directory.
                    env_files.insert(name, std::path::absolute(&path).unwrap_or(path));
                }
            }
        }
    }
    let inherit_env = section.texts("inherit_env").map(|inherited| {
        for name in &inherited {
            if let Err(why) = check_variable(&name.value) {
                section.problem_at(name.line, "inherit_env", why);
            } else if reading.secret_variables.borrow().contains(&name.value) {
                let text =
                    format!("{} is herder's own secret, which no agent is given; take it out", name.value);
                section.problem_at(name.line, "inherit_env", text);
            }
            keep_secret(section, &name.value, (reading.around.variable)(&name.value));
        }
        inherited.into_iter().map(|name| name.value).collect()
    });
    Variables { env, env_files, inherit_env }
}

fn check_variable(name: &str) -> Result<(), String> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(first) || !name.chars().all(|c| first(c) || c.is_ascii_digit()) {
        return Err(format!(
            "\"{name}\" cannot be a variable; use letters, digits and _, not starting with a digit"
        ));
    }
    if name.starts_with("HERDER_") {
        return Err(format!("{name} is herder's own; variables that start with HERDER_ are not passed on"));
    }
    Ok(())
}

/// Registers a variable's value for redaction if it looks like a secret, since an agent may repeat its environment.
/// Returns true if it does.
pub(super) fn keep_secret(section: &Section<'_>, name: &str, value: Option<OsString>) -> bool {
    let upper = name.to_ascii_uppercase();
    let value = value.and_then(|value| value.into_string().ok()).filter(|value| value.len() >= SECRET_MIN);
    // A proxy or a mirror, with a login.
    let of_addresses = value.as_deref().map(addresses::in_text).unwrap_or_default();
    section.reading.secrets.borrow_mut().extend(of_addresses);
    let secret = value.filter(|_| SECRET_WORDS.iter().any(|word| upper.contains(word)));
    let looks_like_one = secret.is_some();
    section.reading.secrets.borrow_mut().extend(secret.map(SecretString::from));
    looks_like_one
}
