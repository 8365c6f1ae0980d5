//! What is seen of an agent at work: turns, each one answer of its model with what it did and what came of that.
//!
//! The evaluator judges by the last of them. They are bounded where they are made: what a driver keeps of a text is its
//! beginning and its end, and a digest of the whole, so that two long texts are the same only if all of them is.

use serde::{Deserialize, Serialize};

use super::id::{SessionId, WorkId};
use super::time::Timestamp;

/// The most steps of a turn that are kept; further ones are counted. A model rarely asks for more than a few at once.
pub const STEPS_MAX: usize = 12;

/// The most of a turn's words that is kept, in bytes: a paragraph or two, which is where an agent says what it is about.
pub const WORDS_MAX: usize = 800;

/// The most of what a step did that is kept, in bytes.
pub const WHAT_MAX: usize = 400;

/// The most of what came of a step that is kept, in bytes.
pub const SAID_MAX: usize = 400;

/// What a step does to the world, as far as the runtime says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Runs a command.
    Command,
    /// Writes files by a tool that is made for it.
    Edit,
    /// Reads or searches: files, the web.
    Read,
    /// Anything else: other tools, those of other servers.
    Other,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether it went well by the runtime's own word: a command with another exit code than 0 did not.
    pub ok: bool,
    /// What it said, both ends, at most [`SAID_MAX`] bytes.
    pub said: String,
    /// A digest of all that it said.
    pub digest: u64,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The tool's name, as the runtime calls it.
    pub tool: String,
    /// What it does.
    pub kind: Kind,
    /// What exactly: the command, the file's path, or the arguments; at most [`WHAT_MAX`] bytes.
    pub what: String,
    /// A digest of all its arguments: two edits of one file with different contents differ in this.
    pub digest: u64,
    /// What came of it; `None`: its end was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// One answer of the agent's model: what it said, and the tool calls it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its session.
    pub session: SessionId,
    /// The work it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in milliseconds, its tools included.
    pub took_ms: u64,
    /// What the agent said, at most [`WORDS_MAX`] bytes.
    pub words: String,
    /// What it did, in order, at most [`STEPS_MAX`].
    pub steps: Vec<Step>,
    /// How many more steps there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to it")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
