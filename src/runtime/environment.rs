//! A child's environment: an allow-list, then what its spec sets, then what herder must have there.

use std::collections::{BTreeMap, BTreeSet};

use super::Launch;
use crate::core::spec::Runtime;

/// The variable by which a process is known to belong to a session, whatever its parent, group or session.
pub const MARKER: &str = "HERDER_SESSION";

/// The variable that tells a child which agent it is.
pub const AGENT: &str = "HERDER_AGENT";

/// Never inherited, even if a spec lists them: herder's own credentials and settings.
fn is_herders_own(name: &str) -> bool {
    name.starts_with("HERDER_") || name == "DISCORD_TOKEN"
}

/// herder's own environment, read anew, without what no agent is given. Variables that are no Unicode are left out.
#[must_use]
pub fn own_without(withheld: &BTreeSet<String>) -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !withheld.contains(name))
        .collect()
}

/// The whole environment of the child that `launch` asks for.
#[must_use]
pub fn of(launch: &Launch) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    for name in launch.spec.inherit_env.iter().filter(|name| !is_herders_own(name)) {
        if let Some(value) = launch.environment.get(name) {
            environment.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in &launch.spec.env {
        environment.insert(name.clone(), value.clone());
    }
    environment.insert(MARKER.to_owned(), launch.marker.clone());
    environment.insert(AGENT.to_owned(), launch.agent.to_string());
    if let Some(access) = launch.tools.as_ref().filter(|_| launch.spec.runtime == Runtime::Command) {
        // Such a program has no configuration that herder knows of: whoever wrote it starts `herder mcp` with this.
        environment.insert(crate::tools::VARIABLE.to_owned(), access.file.display().to_string());
    }
    // A NUL or an equals sign in the wrong place would make the whole spawn fail.
    environment
        .retain(|name, value| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'));
    environment
}
