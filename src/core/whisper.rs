//! Private words of a person for an agent: who got what, and how.
//!
//! A whisper waits in the agent's state until it was handed over in one of three ways, whichever comes first: with the
//! result of a call of herder's own tools, into the running turn, or at the head of the next session's prompt. That it was
//! is one event; after it the whisper is in the history alone. It is never posted.

use serde::{Deserialize, Serialize};

use super::id::{SessionId, WorkId};
use super::time::Timestamp;
use super::work::Actor;

/// The most whispers that wait for one agent: a person types far fewer before an agent does anything.
pub const WHISPERS_MAX: usize = 50;

/// The longest whisper, in bytes: a few paragraphs. All that wait together stay far below one prompt.
pub const WHISPER_TEXT_MAX: usize = 4 * 1024;

/// Words that wait to be handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whisper {
    /// Its id, of the same numbers as works'.
    pub id: WorkId,
    /// What it says.
    pub text: String,
    /// Whose words they are.
    pub by: Actor,
    /// When they were said.
    pub at: Timestamp,
    /// The last session whose prompt they are part of: once that session has its prompt they are handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<SessionId>,
}

impl Whisper {
    /// As the agent reads it.
    #[must_use]
    pub fn words(&self) -> String {
        format!("[WHISPER] {} tells you, and you alone: {}", self.by.name, self.text)
    }
}

/// How a whisper was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// With the result of a call of herder's tools.
    Tool,
    /// Into the running turn.
    Turn,
    /// With a session's prompt.
    Prompt,
}
