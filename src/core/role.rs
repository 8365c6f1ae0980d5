//! Roles of people.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The role of a person; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Anyone, known or not: only commands that neither show nor change anything about agents (`whoami`, `link`).
    Anybody,
    /// The role that may look: status, log, help.
    Viewer,
    /// The role that may steer agents: pause, resume, abort, tasks, work.
    Operator,
    /// The role that may change the fleet: add, edit and remove agents.
    Admin,
}

impl Role {
    /// Returns the role's name, as in `bot.toml` and in replies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anybody => "anybody",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
