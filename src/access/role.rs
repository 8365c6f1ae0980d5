//! What a person may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a person may do; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nothing that shows or changes anything of the agents: what everybody may, known or not.
    Anybody,
    /// Look: status, log, help.
    Viewer,
    /// Steer: pause, resume, abort, tasks, work.
    Operator,
    /// Change the fleet: add, edit and remove agents.
    Admin,
}

impl Role {
    /// The role's name as it is written in `bot.toml` and in answers.
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
