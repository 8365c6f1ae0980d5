//! The protocol between `herder mcp` and the running herder: one JSON object per line, one call per connection.
//!
//! With a connection for every call a restart of herder goes unnoticed: the next call connects to the new one.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::core::id::{AgentName, SessionId};

/// Maximum length of a call, in bytes: the longest text of a tool with every character escaped, and a reserve.
pub const CALL_MAX: u64 = 64 * 1024;

/// Maximum length of an answer, in bytes: the maximum of channel lines, and all whispers that can wait.
pub const ANSWER_MAX: u64 = 1024 * 1024;

/// The content of the file that [`super::VARIABLE`] names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The path of herder's socket.
    pub socket: PathBuf,
    /// The agent that the key is for.
    pub agent: AgentName,
    /// The session that the key is for.
    pub session: SessionId,
    /// The secret token.
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
    /// The agent that calls.
    pub agent: AgentName,
    /// The session of the call.
    pub session: SessionId,
    /// The session's token.
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
    /// True if it was carried out.
    pub ok: bool,
    /// The text for the model.
    pub text: String,
    /// Whispers, in the form that the agent reads.
    #[serde(default)]
    pub whispers: Vec<String>,
}

impl Answer {
    /// Builds the answer for a refused call.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), whispers: Vec::new() }
    }
}

/// The acknowledgement of `herder mcp` after the CLI has the answer: its whispers count as handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Got {
    /// Always true.
    pub got: bool,
}
