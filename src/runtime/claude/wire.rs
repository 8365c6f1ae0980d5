//! The lines of Claude Code's stream-json, as far as they are needed. Types and fields that are not known are passed over.
//!
//! One flat struct instead of an enum by `type`: the tag is not always the first key, and an enum would copy the whole line
//! to look for it. Scalars take whatever stands there, so that a field that changes its type costs that field and not the line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

pub use crate::runtime::loose::Scalar;

/// One line of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    /// What kind of line it is.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// A kind within the kind.
    #[serde(borrow)]
    pub subtype: Scalar<'a>,
    /// The conversation.
    #[serde(borrow)]
    pub session_id: Scalar<'a>,
    /// `assistant`, `user`: what was said.
    #[serde(borrow)]
    pub message: Option<Message<'a>>,
    /// Set when a subagent speaks.
    #[serde(borrow)]
    pub parent_tool_use_id: Scalar<'a>,
    /// `assistant`: the kind of an API error; `system` `api_retry`: likewise.
    #[serde(borrow)]
    pub error: Scalar<'a>,
    /// The API's HTTP status.
    #[serde(borrow)]
    pub api_error_status: Scalar<'a>,
    /// The API's type of error.
    #[serde(borrow)]
    pub api_error_type: Scalar<'a>,
    /// A finer kind of error.
    #[serde(borrow)]
    pub api_error: Scalar<'a>,
    /// What belongs to `api_error`.
    #[serde(borrow)]
    pub api_error_params: Option<ErrorParams<'a>>,
    /// `rate_limit_event`: the limit.
    #[serde(borrow)]
    pub rate_limit_info: Option<RateLimit<'a>>,
    /// `result`: whether the turn failed.
    #[serde(borrow)]
    pub is_error: Scalar<'a>,
    /// `result`: why the turn ended.
    #[serde(borrow)]
    pub terminal_reason: Scalar<'a>,
    /// `result`: the final text.
    #[serde(borrow)]
    pub result: Scalar<'a>,
    /// `result`: what went wrong, when there is no text.
    #[serde(borrow)]
    pub errors: Option<Vec<Scalar<'a>>>,
    /// `result`: turns taken.
    #[serde(borrow)]
    pub num_turns: Scalar<'a>,
    /// `result`: dollars since the process started.
    #[serde(borrow)]
    pub total_cost_usd: Scalar<'a>,
    /// `result`: tokens of this turn.
    #[serde(borrow)]
    pub usage: Option<Tokens<'a>>,
    /// `result`: tokens per model since the process started.
    #[serde(borrow, rename = "modelUsage")]
    pub model_usage: Option<BTreeMap<Cow<'a, str>, ModelTokens<'a>>>,
    /// `system` `api_retry`: which try this was.
    #[serde(borrow)]
    pub attempt: Scalar<'a>,
    /// `system` `api_retry`: how many there will be.
    #[serde(borrow)]
    pub max_retries: Scalar<'a>,
    /// `system` `api_retry`: the wait before the next.
    #[serde(borrow)]
    pub retry_delay_ms: Scalar<'a>,
    /// `system` `api_retry`: the HTTP status.
    #[serde(borrow)]
    pub error_status: Scalar<'a>,
}

/// What `assistant` and `user` lines carry.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    /// The same for all lines of one answer.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// `<synthetic>` when the CLI itself speaks.
    #[serde(borrow)]
    pub model: Scalar<'a>,
    /// What was said.
    #[serde(borrow)]
    pub content: Content<'a>,
    /// Tokens, as far as they are known when the line is written.
    #[serde(borrow)]
    pub usage: Option<Tokens<'a>>,
}

/// A list of blocks; a plain string counts as one block of text, anything else as none.
#[derive(Debug, Default)]
pub struct Content<'a>(pub Vec<Block<'a>>);

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of blocks")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
        Ok(Content::plain(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
        Ok(Content::plain(Cow::Owned(text.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Content<'de>, E> {
        Ok(Content::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content<'de>, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            blocks.push(block);
        }
        Ok(Content(blocks))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

impl<'a> Content<'a> {
    fn plain(text: Cow<'a, str>) -> Self {
        let kind = Scalar::Text(Cow::Borrowed("text"));
        Self(vec![Block { kind, text: Scalar::Text(text), ..Block::default() }])
    }
}

/// A block of content: text, a tool call, or a tool's result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    /// `text`, `tool_use`, `tool_result`, ….
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// `text`: the text.
    #[serde(borrow)]
    pub text: Scalar<'a>,
    /// `tool_use`: the call's id.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// `tool_use`: the tool.
    #[serde(borrow)]
    pub name: Scalar<'a>,
    /// `tool_result`: the call's id.
    #[serde(borrow)]
    pub tool_use_id: Scalar<'a>,
}

/// What belongs to an `api_error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorParams<'a> {
    /// The limit that was hit.
    #[serde(borrow)]
    pub rate_limit_info: Option<RateLimit<'a>>,
}

/// The state of a limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimit<'a> {
    /// `allowed`, `allowed_warning`, `rejected`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// When it ends, in seconds since the epoch.
    #[serde(borrow, rename = "resetsAt")]
    pub resets_at: Scalar<'a>,
}

/// Tokens in the API's own names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens<'a> {
    /// Sent, not cached.
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    /// Sent and written to the cache.
    #[serde(borrow)]
    pub cache_creation_input_tokens: Scalar<'a>,
    /// Sent and found in the cache.
    #[serde(borrow)]
    pub cache_read_input_tokens: Scalar<'a>,
    /// Received.
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
}

/// Tokens in the CLI's own names.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelTokens<'a> {
    /// Sent, not cached.
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    /// Sent and written to the cache.
    #[serde(borrow)]
    pub cache_creation_input_tokens: Scalar<'a>,
    /// Sent and found in the cache.
    #[serde(borrow)]
    pub cache_read_input_tokens: Scalar<'a>,
    /// Received.
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
}

/// Parses one line.
///
/// # Errors
/// If it is not a JSON object of the expected shape.
pub fn parse(line: &[u8]) -> Result<Line<'_>, serde_json::Error> {
    serde_json::from_slice(line)
}

/// A user's message as a line for standard input.
#[must_use]
pub fn user_line(text: &str) -> Vec<u8> {
    line(&serde_json::json!({
        "type": "user",
        "message": { "role": "user", "content": text },
        "parent_tool_use_id": null,
        "session_id": "",
    }))
}

/// The request to interrupt the turn, as a line for standard input.
#[must_use]
pub fn interrupt_line(number: u32) -> Vec<u8> {
    line(&serde_json::json!({
        "type": "control_request",
        "request_id": format!("herder-{number}"),
        "request": { "subtype": "interrupt" },
    }))
}

fn line(value: &serde_json::Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
