//! Turns of an agent: one answer of its model each, with the steps taken and their results.
//!
//! The evaluator judges by the last turns. A driver bounds their texts when it makes them: it keeps the beginning and
//! the end, and a digest of the whole, so that two long texts count as the same only if all of them is.

use serde::{Deserialize, Serialize};

use super::id::{SessionId, WorkId};
use super::time::Timestamp;

/// Maximum number of steps of a turn that are kept; further ones are counted. A model rarely requests more than a few
/// at once.
pub const STEPS_MAX: usize = 12;

/// Maximum length of a turn's words, in bytes: a paragraph or two, in which an agent says what it is about.
pub const WORDS_MAX: usize = 800;

/// Maximum length of a step's command, path or arguments, in bytes.
pub const WHAT_MAX: usize = 400;

/// Maximum length of a step's result, in bytes.
pub const SAID_MAX: usize = 400;

/// Kind of a step by its effect, as far as the runtime tells.
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

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// True if it succeeded by the runtime's report; a command with an exit code other than 0 did not.
    pub ok: bool,
    /// Its output, both ends, at most [`SAID_MAX`] bytes.
    pub said: String,
    /// Digest of the whole output.
    pub digest: u64,
}

/// One tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The tool's name in the runtime.
    pub tool: String,
    /// Its kind.
    pub kind: Kind,
    /// The command, the file's path, or the arguments, at most [`WHAT_MAX`] bytes.
    pub what: String,
    /// Digest of all its arguments, which tells apart two edits of one file with different contents.
    pub digest: u64,
    /// Its result; `None` if its end was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// One answer of the agent's model, with the tool calls that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// The work that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Time of its start.
    pub at: Timestamp,
    /// Its duration including tools, in milliseconds.
    pub took_ms: u64,
    /// The agent's words, at most [`WORDS_MAX`] bytes.
    pub words: String,
    /// Its steps in order, at most [`STEPS_MAX`].
    pub steps: Vec<Step>,
    /// Number of further steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to it")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
