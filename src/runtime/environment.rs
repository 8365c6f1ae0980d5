//! A child's environment: an allow-list, then the agent's own variables, then those that herder requires.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::PathBuf;

use super::{Launch, Local};
use crate::core::detail::{Detail, Own};
use crate::core::spec::Runtime;

/// The environment variable that identifies a session's processes, whatever their parent, group or session. Its value
/// begins with the journal's id and the agent's name.
pub const MARKER: &str = "HERDER_SESSION";

/// The environment variable with the agent's name.
pub const AGENT: &str = "HERDER_AGENT";

/// Returns true for environment variables that hold herder's own credentials and settings, which are never inherited,
/// even if an agent's settings list them.
fn is_herders_own(name: &str) -> bool {
    name.starts_with("HERDER_") || name == "DISCORD_TOKEN"
}

/// Reads herder's present environment without withheld variables. Variables that are not Unicode are left out.
#[must_use]
pub fn own_without(withheld: &BTreeSet<String>) -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !withheld.contains(name))
        .collect()
}

/// Reads the variables of herder's environment that a session may need: those in `inherit`, `HOME` and `PATH`, without
/// withheld ones. A session keeps these values while it runs.
#[must_use]
pub fn own_for(inherit: &[String], withheld: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut own = own_without(withheld);
    own.retain(|name, _| matches!(name.as_str(), "HOME" | "PATH") || inherit.contains(name));
    own
}

/// Selects the environment of a child process: the inherited variables of `own`, herder's environment, then those that
/// are set for it.
#[must_use]
pub fn chosen(
    inherit: &[String],
    set: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    for name in inherit.iter().filter(|name| !is_herders_own(name)) {
        if let Some(value) = own.get(name) {
            environment.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in set {
        environment.insert(name.clone(), value.clone());
    }
    // A NUL, or an equals sign in a name, would make the spawn fail.
    environment
        .retain(|name, value| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'));
    environment
}

/// Maximum size of a file whose content becomes a variable, in bytes: a private token, not a data set.
const FILE_MAX: u64 = 64 * 1024;

/// Reads the files that settings name for variables: for each session, so that a replaced secret takes
/// effect with the next one.
///
/// # Errors
/// The file that does not contain a usable line.
pub fn from_files(files: &BTreeMap<String, PathBuf>) -> Result<BTreeMap<String, String>, Detail> {
    let read = |(name, path): (&String, &PathBuf)| {
        let unreadable = || Own::VariableUnreadable { path: path.display().to_string() };
        let mut text = String::new();
        let read =
            std::fs::File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_string(&mut text));
        read.map_err(|error| unreadable().with(error.to_string()))?;
        let line = text.trim_end_matches(['\r', '\n']);
        let usable =
            text.len() as u64 <= FILE_MAX && !line.trim().is_empty() && !line.contains(['\r', '\n', '\0']);
        if usable { Ok((name.clone(), line.to_owned())) } else { Err(Detail::from(unreadable())) }
    };
    files.iter().map(read).collect()
}

/// Returns the whole environment of the child process that `launch` describes.
#[must_use]
pub fn of(launch: &Launch, local: &Local) -> BTreeMap<String, String> {
    let mut environment = chosen(&launch.spec.inherit_env, &launch.spec.env, &local.environment);
    environment.insert(MARKER.to_owned(), launch.marker.clone());
    environment.insert(AGENT.to_owned(), launch.agent.to_string());
    if let Some(access) = local.tools.as_ref().filter(|_| launch.spec.runtime == Runtime::Command) {
        // herder does not know such a program's configuration: its author starts `herder mcp` with this variable.
        environment.insert(crate::core::tools::VARIABLE.to_owned(), access.file.display().to_string());
    }
    // A NUL, or an equals sign in a name, would make the spawn fail.
    environment
        .retain(|name, value| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_of_herders_environment_what_it_may_need() {
        // Cargo sets both.
        let [inherited, other] = ["CARGO_PKG_NAME", "CARGO_PKG_VERSION"];
        let inherit = [inherited, "TERM"].map(str::to_owned);
        let own = own_for(&inherit, &BTreeSet::from(["TERM".to_owned()]));
        assert_eq!(own.get(inherited).map(String::as_str), Some(env!("CARGO_PKG_NAME")));
        assert!(own.contains_key("PATH") && !own.contains_key(other) && !own.contains_key("TERM"), "{own:?}");
    }
}
