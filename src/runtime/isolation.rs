//! What keeps an agent to itself: a folder for its own state, a HOME of its own where that is wanted, nothing to push with
//! that is not named, and whatever encloses its command.
//!
//! What it inherits of the environment is [`super::environment`]'s. What a person owns beside that, below their HOME and in
//! their SSH agent, is kept from it here: by settings that the tools themselves obey. Who must be kept from it by force
//! gets a `sandbox`.

mod home;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use super::Launch;
use super::protocol::Invocation;
use crate::core::detail::{Detail, Own};
use crate::core::spec::AgentSpec;

/// The variable that names an agent's own folder.
pub const STATE: &str = "HERDER_STATE";

/// The folder of the agents' folders, in the data folder.
pub const FOLDER: &str = "agents";

/// What an agent may be given to push with, by name.
pub const PUSH: [&str; 3] = ["git", "ssh", "gh"];

/// No key, no agent, no question: what `git` runs where ssh is not named.
const SSH_WITHOUT_KEYS: &str =
    "ssh -F /dev/null -o IdentityFile=none -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes";

/// Whether an entry of `credentials` is one of [`PUSH`] or a file below a HOME.
#[must_use]
pub fn is_credential(entry: &str) -> bool {
    PUSH.contains(&entry)
        || (entry.contains(['.', '/'])
            && !entry.ends_with('/')
            && Path::new(entry).components().all(|part| matches!(part, Component::Normal(_))))
}

/// Makes the agent's folders, and sets what it is to see of them.
///
/// # Errors
/// What cannot be made, or is not there.
pub(super) fn furnish(launch: &Launch, environment: &mut BTreeMap<String, String>) -> Result<(), Detail> {
    let spec = &launch.spec;
    if let Some(state) = &launch.state {
        let failed =
            |error: io::Error| Own::StateFolder { path: state.display().to_string() }.with(error.to_string());
        folder(state).map_err(failed)?;
        environment.insert(STATE.to_owned(), state.display().to_string());
        if spec.own_home {
            let home = home::furnish(launch, state)?;
            environment.insert("HOME".to_owned(), home.display().to_string());
            // These would lead back.
            for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
                if !spec.env.contains_key(name) {
                    environment.remove(name);
                }
            }
        }
    }
    withhold(spec, launch.state.as_deref(), environment);
    Ok(())
}

/// Puts the sandbox's words before the command.
pub(super) fn enclose(launch: &Launch, invocation: &mut Invocation) {
    let mut words = launch.spec.sandbox.iter().map(|word| filled(word, launch, &invocation.environment));
    let Some(program) = words.next() else { return };
    let inner = std::mem::replace(&mut invocation.program, program);
    let arguments = std::mem::take(&mut invocation.arguments);
    invocation.arguments = words.chain([inner]).chain(arguments).collect();
}

/// A word of the sandbox's command with the places in it.
fn filled(word: &str, launch: &Launch, environment: &BTreeMap<String, String>) -> String {
    let shown = |path: &Path| path.display().to_string();
    let state = launch.state.as_deref().map(shown).unwrap_or_default();
    let tools = launch.tools.as_ref().and_then(|access| access.file.parent()).map(shown);
    word.replace("{workspace}", &shown(&launch.spec.workspace))
        .replace("{home}", environment.get("HOME").map_or("", String::as_str))
        .replace("{tools}", tools.as_deref().unwrap_or(&state))
        .replace("{state}", &state)
}

/// A folder that nobody else can look into.
fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Keeps what is not named from the tools that push: their settings and logins are below the user's HOME, which an agent
/// usually shares.
fn withhold(spec: &AgentSpec, state: Option<&Path>, environment: &mut BTreeMap<String, String>) {
    let named = |word: &str| spec.credentials.iter().any(|entry| entry == word);
    let mut set = |name: &str, value: &str| {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    };
    if !named("git") {
        set("GIT_TERMINAL_PROMPT", "0");
        // One that is there and empty goes before `core.askPass` and `SSH_ASKPASS`, and is none.
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

/// What `git` would send of the user's settings, taken back: an empty one takes back all that were set before it. Those that
/// are set for one URL, and whatever `~/.netrc` has, cannot be taken back so. Settings that the agent is given by name come
/// after these, and hold.
fn take_back(environment: &mut BTreeMap<String, String>) {
    const TAKEN_BACK: [&str; 3] = ["credential.helper", "http.extraHeader", "http.cookieFile"];
    /// More than anybody hands on in this way; beyond it git is left to refuse them.
    const GIVEN_MAX: usize = 1000;
    // To git an empty count is none.
    let count = environment.get("GIT_CONFIG_COUNT").filter(|count| !count.is_empty());
    let given = match count.map(|count| count.trim().parse::<usize>()) {
        None => 0,
        Some(Ok(given)) if given <= GIVEN_MAX => given,
        // git runs with none that is wrong.
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
