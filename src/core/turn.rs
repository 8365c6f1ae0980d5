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

/// Maximum length of the words in a turn, in bytes: a paragraph or two, in which an agent says what it is about.
pub const WORDS_MAX: usize = 800;

/// Maximum length of a step's command, path or arguments, in bytes.
pub const WHAT_MAX: usize = 400;

/// Maximum length of a step's result, in bytes.
pub const SAID_MAX: usize = 400;

/// Kind of a step by its effect, as far as the runtime tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The step runs a command.
    Command,
    /// The step writes files by a tool that is made for it.
    Edit,
    /// The step reads or searches: files, the web.
    Read,
    /// The step does something else, with another tool or that of another server.
    Other,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// True if the tool call succeeded by the runtime's report; a command with an exit code other than 0 did not.
    pub ok: bool,
    /// Output of the tool call, both ends, at most [`SAID_MAX`] bytes.
    pub said: String,
    /// Hash of the whole output.
    pub digest: u64,
}

/// One tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the tool, as the runtime calls it.
    pub tool: String,
    /// Kind of the tool, by its effect.
    pub kind: Kind,
    /// The command, the path of the file, or the arguments of the step's tool call, at most [`WHAT_MAX`] bytes.
    pub what: String,
    /// Hash of all arguments, which tells apart two edits of one file with different contents.
    pub digest: u64,
    /// Result of the call; `None` if its end was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Time from the turn's start to its own, in milliseconds.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub after_ms: u64,
    /// Its duration, in milliseconds; 0 if its end was not seen.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub took_ms: u64,
}

/// One answer of the agent's model, with the tool calls that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Number of the session.
    pub session: SessionId,
    /// Number of the work that it was about; `None` for a round of a loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Time at which the turn started.
    pub at: Timestamp,
    /// Duration of the turn including its tool calls, in milliseconds.
    pub took_ms: u64,
    /// The agent's words in the turn, at most [`WORDS_MAX`] bytes.
    pub words: String,
    /// The turn's tool calls in order, at most [`STEPS_MAX`].
    pub steps: Vec<Step>,
    /// Number of further tool calls, which are not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to it")]
fn is_no_time(ms: &u64) -> bool {
    *ms == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to it")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
