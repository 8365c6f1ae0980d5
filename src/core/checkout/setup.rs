//! The command that makes a new clone ready for work.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The command that runs once in each new clone of an agent's tasks, before the first session there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloneSetup {
    /// A command line for `sh`.
    pub command: String,
    /// Maximum duration of the command.
    pub timeout: Duration,
}

impl CloneSetup {
    /// Maximum duration, unless the configuration sets one.
    pub const TIMEOUT: Duration = Duration::from_secs(20 * 60);
}
