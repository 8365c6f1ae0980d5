//! Isolation of an agent: a folder for its own state, optionally a HOME of its own, withheld credentials for pushing,
//! and a sandbox around its command.
//!
//! [`super::environment`] decides about inherited variables. This module withholds what the user owns besides, below
//! HOME and in the SSH agent, by settings that the tools obey. Enforced isolation needs a `sandbox`.

mod home;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use super::protocol::Invocation;
use super::{Launch, Local};
use crate::core::detail::{Detail, Own};
use crate::core::spec::AgentSpec;

/// The environment variable with the path of an agent's own folder.
pub const STATE: &str = "HERDER_STATE";

/// Name of the folder in the data folder that holds the agents' own folders.
pub const FOLDER: &str = "agents";

/// Credentials for pushing that an agent can be given, by name.
pub const PUSH: [&str; 3] = ["git", "ssh", "gh"];

/// Command that `git` runs for SSH in an agent without the `ssh` credential: no key, no key agent, no prompt.
const SSH_WITHOUT_KEYS: &str =
    "ssh -F /dev/null -o IdentityFile=none -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes";

/// Returns true if an entry of an agent's `credentials` is one of [`PUSH`], or the path of a file below a HOME.
#[must_use]
pub fn is_credential(entry: &str) -> bool {
    PUSH.contains(&entry)
        || (entry.contains(['.', '/'])
            && !entry.ends_with('/')
            && Path::new(entry).components().all(|part| matches!(part, Component::Normal(_))))
}

/// Creates the agent's folders, and sets the variables that refer to them.
///
/// # Errors
/// The folder or file that cannot be created, or is missing.
pub(super) fn furnish(
    launch: &Launch,
    local: &Local,
    environment: &mut BTreeMap<String, String>,
) -> Result<(), Detail> {
    let spec = &launch.spec;
    if let Some(state) = &local.state {
        let failed =
            |error: io::Error| Own::StateFolder { path: state.display().to_string() }.with(error.to_string());
        folder(state).map_err(failed)?;
        environment.insert(STATE.to_owned(), state.display().to_string());
        if spec.own_home {
            let home = home::furnish(launch, local, state)?;
            environment.insert("HOME".to_owned(), home.display().to_string());
            // These would lead to the user's own folders.
            for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
                if !spec.env.contains_key(name) {
                    environment.remove(name);
                }
            }
        }
    }
    withhold(spec, local.state.as_deref(), environment);
    Ok(())
}

/// Puts the words of the agent's sandbox command before its command.
pub(super) fn enclose(launch: &Launch, local: &Local, invocation: &mut Invocation) {
    let mut words =
        launch.spec.sandbox.iter().map(|word| filled(word, (launch, local), &invocation.environment));
    let Some(program) = words.next() else { return };
    let inner = std::mem::replace(&mut invocation.program, program);
    let arguments = std::mem::take(&mut invocation.arguments);
    invocation.arguments = words.chain([inner]).chain(arguments).collect();
}

/// Replaces the placeholders in a word of the sandbox's command by the agent's folders.
fn filled(word: &str, (launch, local): (&Launch, &Local), environment: &BTreeMap<String, String>) -> String {
    let shown = |path: &Path| path.display().to_string();
    let state = local.state.as_deref().map(shown).unwrap_or_default();
    let tools = local.tools.as_ref().and_then(|access| access.file.parent()).map(shown);
    word.replace("{workspace}", &shown(&launch.spec.workspace))
        .replace("{home}", environment.get("HOME").map_or("", String::as_str))
        .replace("{tools}", tools.as_deref().unwrap_or(&state))
        .replace("{state}", &state)
}

/// Creates a folder of mode 0700.
fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Withholds the credentials that the agent's settings do not name from tools that push: their settings and logins are
/// below the user's HOME, which an agent usually shares.
fn withhold(spec: &AgentSpec, state: Option<&Path>, environment: &mut BTreeMap<String, String>) {
    let named = |word: &str| spec.credentials.iter().any(|entry| entry == word);
    let mut set = |name: &str, value: &str| {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    };
    if !named("git") {
        set("GIT_TERMINAL_PROMPT", "0");
        // An empty value takes precedence over `core.askPass` and `SSH_ASKPASS`, and disables prompting.
        set("GIT_ASKPASS", "");
        take_back(environment);
    }
    let mut set = |name: &str, value: &str| {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    };
    if !named("ssh") && !spec.inherit_env.iter().any(|name| name == "SSH_AUTH_SOCK") {
        set("GIT_SSH_COMMAND", SSH_WITHOUT_KEYS);
    }
    if let Some(state) = state.filter(|_| !named("gh")) {
        set("GH_CONFIG_DIR", &state.join("gh").display().to_string());
    }
}

/// Resets credential settings of the user's git configuration by environment variables: an empty value removes all
/// earlier ones. Settings for a single URL, and `~/.netrc`, cannot be reset in this way. Settings given to the agent by
/// name follow these, and take effect.
fn take_back(environment: &mut BTreeMap<String, String>) {
    const TAKEN_BACK: [&str; 3] = ["credential.helper", "http.extraHeader", "http.cookieFile"];
    /// Maximum number of git settings passed in environment variables: more than anybody passes; beyond it git is left
    /// to refuse them.
    const GIVEN_MAX: usize = 1000;
    // git treats an empty count as zero.
    let count = environment.get("GIT_CONFIG_COUNT").filter(|count| !count.is_empty());
    let given = match count.map(|count| count.trim().parse::<usize>()) {
        None => 0,
        Some(Ok(given)) if given <= GIVEN_MAX => given,
        // git refuses an invalid count.
        Some(Ok(_) | Err(_)) => return,
    };
    let shift = TAKEN_BACK.len();
    for at in (0..given).rev() {
        for kind in ["KEY", "VALUE"] {
            if let Some(value) = environment.remove(&format!("GIT_CONFIG_{kind}_{at}")) {
                environment.insert(format!("GIT_CONFIG_{kind}_{}", at + shift), value);
            }
        }
    }
    for (at, name) in TAKEN_BACK.into_iter().enumerate() {
        environment.insert(format!("GIT_CONFIG_KEY_{at}"), name.to_owned());
        environment.insert(format!("GIT_CONFIG_VALUE_{at}"), String::new());
    }
    environment.insert("GIT_CONFIG_COUNT".to_owned(), (given + shift).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_a_known_word_or_a_file_below_the_home() {
        for good in ["git", "ssh", "gh", ".codex/auth.json", ".netrc", "keys/deploy"] {
            assert!(is_credential(good), "{good}");
        }
        for bad in ["", "gti", "/etc/passwd", "../other/.netrc", ".ssh/../../x", "a/./../b", ".ssh/"] {
            assert!(!is_credential(bad), "{bad}");
        }
    }
}
