//! The forge at which pull requests are opened, and the program that talks to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment;
use super::section::Section;
use crate::core::pull::{Client, Forge};
use crate::core::review::OnAccept;
use crate::core::spec::AgentSpec;

/// Minimum of `every`: a forge counts the questions of each login.
const EVERY_MIN: Duration = Duration::from_secs(10);

/// Parses the section `[forge]`. What it names is for this program alone: agents do not get it.
pub(super) fn forge(section: Section<'_>) -> Forge {
    let default = Forge::default();
    let client = section.filled("client").map(|client| client.value);
    let client = match client.as_deref() {
        None | Some("gh") => Client::Gh,
        Some(path) if Path::new(path).is_absolute() => Client::Program(PathBuf::from(path)),
        Some(other) => {
            let why = format!(
                "\"{other}\" is not gh and no whole path; write gh, or the path of a program of your own, from /"
            );
            section.problem("client", why);
            Client::Gh
        }
    };
    let host = section.filled("host").map_or(default.host, |host| host.value);
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    if !host.chars().all(is_host) || host.starts_with('-') {
        section.problem("host", format!("\"{host}\" is no name of a host; write e.g. github.com"));
    }
    let every = section.duration("every", EVERY_MIN).unwrap_or(default.every);
    let variables = environment::variables(&section);
    let inherit_env = variables.inherit_env.unwrap_or(default.inherit_env);
    let logins = inherit_env.iter().filter(|name| Forge::is_login(name));
    let own = logins.chain(variables.env_files.keys()).cloned();
    section.reading.secret_variables.borrow_mut().extend(own);
    let forge =
        Forge { client, host, env: variables.env, inherit_env, env_files: variables.env_files, every };
    section.finish();
    forge
}

/// Gives the forge to the agents that open pull requests, or whose repository an address names.
pub(super) fn given(forge: &Forge, agents: &mut [AgentSpec]) {
    for repository in agents.iter_mut().filter_map(|agent| agent.repository.as_mut()) {
        let pulls = matches!(repository.landing.on_accept, OnAccept::Pull { .. });
        if pulls || !repository.url.is_empty() {
            repository.forge = Some(Box::new(forge.clone()));
        }
    }
}
