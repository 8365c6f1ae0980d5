//! The protocol between `herder mcp` and the running herder: one JSON object per line, one call per connection.
//!
//! With a connection for every call a restart of herder goes unnoticed: the next call connects to the new one.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::core::id::{AgentName, SessionId};

/// Maximum length of a call, in bytes: the longest text of a tool with every character escaped, and a reserve.
pub const CALL_MAX: u64 = 64 * 1024;

/// Maximum length of an answer to a tool call, in bytes: the maximum of channel lines, and all whispers that can wait.
pub const ANSWER_MAX: u64 = 1024 * 1024;

/// A tool call as it is sent over the socket, as one line of JSON.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The agent that the caller claims to be.
    pub agent: AgentName,
    /// The session that the caller claims to be.
    pub session: SessionId,
    /// The secret token that proves the claim.
    pub token: String,
    /// MCP name of the called tool.
    pub tool: String,
    /// Arguments of the call, by name.
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

/// The answer to a tool call, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// True if the call was carried out, false if it was refused.
    pub ok: bool,
    /// The result or the reason of the refusal, as text for the model.
    pub text: String,
    /// Whispers for the agent that are delivered with the answer, as text for the model.
    #[serde(default)]
    pub whispers: Vec<String>,
}

impl Answer {
    /// Builds the answer for a call that was refused with this reason.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), whispers: Vec::new() }
    }
}

/// The acknowledgement by `herder mcp` that the CLI has an answer: whispers in the answer then count as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Got {
    /// Always true; the field only gives the message a content.
    pub got: bool,
}
