//! The repository of an agent, and the way of its work into the base.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::CloneSetup;
use crate::check::Check;
use crate::pull::Forge;
use crate::review::Landing;

/// A repository in which each task of an agent gets a clone and a branch of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repository {
    /// Path of the repository on the agent's machine; a relative one is below herder's data folder there.
    pub path: PathBuf,
    /// Address of the repository that the one at `path` is herder's own copy of; empty if that is a person's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The branch or commit that tasks begin from; empty: the default branch of its remote, else its HEAD.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Files of the repository's folder that are copied into each clone although git does not track them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// The command that runs once in each new clone; `None`: it is ready as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Box<CloneSetup>>,
    /// Name of the author of the agent's commits; empty: the agent's own git settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub git_name: String,
    /// Address of the author of the agent's commits; empty: the agent's own git settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub git_email: String,
    /// The check of the agent's work; `None`: what the agent says is believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<Check>>,
    /// The way of the agent's work into the base.
    #[serde(default, skip_serializing_if = "Landing::is_none")]
    pub landing: Landing,
    /// The forge at which pull requests are opened; `None` if accepted work goes another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<Box<Forge>>,
}

/// Returns the scheme of an address and what follows it, as git reads it: the scheme is empty in the short form
/// `git@host:owner/name`. `None`: it is a path.
#[must_use]
pub fn address_parts(text: &str) -> Option<(&str, &str)> {
    let is_short = || text.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
    match text.split_once("://") {
        Some(parts) => Some(parts),
        None => is_short().then_some(("", text)),
    }
}

impl Repository {
    /// Returns the address of the repository, or its path if it is a person's.
    #[must_use]
    pub fn shown(&self) -> String {
        if self.url.is_empty() { self.path.display().to_string() } else { self.url.clone() }
    }
}
