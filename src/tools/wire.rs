//! What `herder mcp` and the running herder say to each other: one JSON object a line, one call a connection.
//!
//! A connection of its own for every call makes a restart of herder nothing to notice: the next call finds the new one.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::core::id::{AgentName, SessionId};

/// The longest line of a call: the longest text of a tool with every character escaped, and room to spare.
pub const CALL_MAX: u64 = 64 * 1024;

/// The longest answer: as many lines of a channel as a call may ask for, and all whispers that can wait.
pub const ANSWER_MAX: u64 = 1024 * 1024;

/// What is in the file that [`super::VARIABLE`] names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Where herder listens.
    pub socket: PathBuf,
    /// Whose key it is.
    pub agent: AgentName,
    /// For which session.
    pub session: SessionId,
    /// What proves it.
    pub token: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("agent", &self.agent)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// A call of a tool.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Who calls.
    pub agent: AgentName,
    /// In which session.
    pub session: SessionId,
    /// The proof.
    pub token: String,
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("agent", &self.agent)
            .field("session", &self.session)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether it was done.
    pub ok: bool,
    /// For the model.
    pub text: String,
    /// Whispers, as the agent reads them.
    #[serde(default)]
    pub whispers: Vec<String>,
}

impl Answer {
    /// It was not done.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), whispers: Vec::new() }
    }
}

/// Said by `herder mcp` once the answer is the CLI's: the whispers in it are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Got {
    /// True.
    pub got: bool,
}
