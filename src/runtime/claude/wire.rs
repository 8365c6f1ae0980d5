//! Message types of Claude Code's stream-json, as far as they are used. Unknown types and fields are ignored.
//!
//! A single flat struct is used instead of an enum by `type`: the tag is not always the first key, and an enum would
//! copy the entire line to find it. A field accepts a value of any type (see [`Loose`]), so that a change of its type
//! loses the field and not the line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::core::outcome::Usage;
use crate::runtime::Picture;
use crate::runtime::loose::{self, Raw};
pub use crate::runtime::loose::{Loose, Scalar};

/// A line of Claude Code's stream-json; each field names the types of lines that have it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    /// The type of the line, which decides the fields that it has.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// The subtype of the line.
    #[serde(borrow)]
    pub subtype: Scalar<'a>,
    /// The session id of the conversation.
    #[serde(borrow)]
    pub session_id: Scalar<'a>,
    /// `assistant`, `user`: the message.
    #[serde(borrow)]
    pub message: Loose<Message<'a>>,
    /// The id of the tool call that started the subagent, in its lines.
    #[serde(borrow)]
    pub parent_tool_use_id: Scalar<'a>,
    /// `assistant`, and `system` with `api_retry`: the kind of an API error.
    #[serde(borrow)]
    pub error: Scalar<'a>,
    /// The HTTP status with which the API failed.
    #[serde(borrow)]
    pub api_error_status: Scalar<'a>,
    /// The API's own name for the type of the error.
    #[serde(borrow)]
    pub api_error_type: Scalar<'a>,
    /// `api_error`: a more specific kind of error.
    #[serde(borrow)]
    pub api_error: Scalar<'a>,
    /// The parameters of `api_error`.
    #[serde(borrow)]
    pub api_error_params: Loose<ErrorParams<'a>>,
    /// `rate_limit_event`: the limit.
    #[serde(borrow)]
    pub rate_limit_info: Loose<RateLimit<'a>>,
    /// `result`: true if the turn failed.
    #[serde(borrow)]
    pub is_error: Scalar<'a>,
    /// `result`: the reason for the end of the turn.
    #[serde(borrow)]
    pub terminal_reason: Scalar<'a>,
    /// `result`: the final text.
    #[serde(borrow)]
    pub result: Scalar<'a>,
    /// `result`: the errors, if there is no text.
    #[serde(borrow)]
    pub errors: Raw<'a>,
    /// `result`: the number of turns.
    #[serde(borrow)]
    pub num_turns: Scalar<'a>,
    /// `result`: the cost since the process started, in dollars.
    #[serde(borrow)]
    pub total_cost_usd: Scalar<'a>,
    /// `result`: the tokens of this turn.
    #[serde(borrow)]
    pub usage: Loose<Tokens<'a>>,
    /// `result`: the tokens per model since the process started.
    #[serde(borrow, rename = "modelUsage")]
    pub model_usage: Loose<BTreeMap<String, Loose<ModelTokens<'a>>>>,
    /// `system` `api_retry`: the number of the attempt.
    #[serde(borrow)]
    pub attempt: Scalar<'a>,
    /// `system` `api_retry`: the maximum number of attempts.
    #[serde(borrow)]
    pub max_retries: Scalar<'a>,
    /// `system` `api_retry`: the wait before the next attempt, in milliseconds.
    #[serde(borrow)]
    pub retry_delay_ms: Scalar<'a>,
    /// `system` `api_retry`: the HTTP status.
    #[serde(borrow)]
    pub error_status: Scalar<'a>,
    /// `control_request`, `control_cancel_request`: the id of the request.
    #[serde(borrow)]
    pub request_id: Scalar<'a>,
    /// `control_request`: the request of the CLI.
    #[serde(borrow)]
    pub request: Loose<Request<'a>>,
    /// `stream_event`: an event of the API's own stream.
    #[serde(borrow)]
    pub event: Loose<StreamEvent<'a>>,
}

/// An event of the API's stream, as far as it tells the tokens that a message used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamEvent<'a> {
    /// `message_start`, `message_delta`, ….
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// `message_start`: the message that begins.
    #[serde(borrow)]
    pub message: Loose<Message<'a>>,
    /// `message_delta`: tokens that the message has used by its end.
    #[serde(borrow)]
    pub usage: Loose<Tokens<'a>>,
}

/// A request of the CLI to herder, for example for permission.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Request<'a> {
    /// The kind of the request.
    #[serde(borrow)]
    pub subtype: Scalar<'a>,
    /// `can_use_tool`: name of the tool.
    #[serde(borrow)]
    pub tool_name: Scalar<'a>,
    /// `can_use_tool`: its arguments, returned unchanged if they are allowed; `hook_callback`: the call.
    pub input: Option<serde_json::Value>,
}

/// The message in `assistant` and `user` lines.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    /// The id, which all lines of an answer share.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// The model; `<synthetic>` if the CLI itself wrote the message.
    #[serde(borrow)]
    pub model: Scalar<'a>,
    /// The content of the message.
    #[serde(borrow)]
    pub content: Content<'a>,
    /// Numbers of tokens, as far as they were known when the line was written.
    #[serde(borrow)]
    pub usage: Loose<Tokens<'a>>,
}

/// A list of blocks. A plain string counts as one text block, any other value as no block.
#[derive(Debug, Default)]
pub struct Content<'a>(pub Vec<Block<'a>>);

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
        Ok(Content::plain(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
        Ok(Content::plain(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Content<'de>, E> {
        Ok(Content::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Content<'de>, E> {
        Ok(Content::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Content<'de>, E> {
        Ok(Content::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Content<'de>, E> {
        Ok(Content::default())
    }
    fn visit_unit<E>(self) -> Result<Content<'de>, E> {
        Ok(Content::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content<'de>, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element::<Loose<Block<'de>>>()? {
            blocks.extend(block.0);
        }
        Ok(Content(blocks))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::default())
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
    /// `tool_use`: the name of the tool.
    #[serde(borrow)]
    pub name: Scalar<'a>,
    /// `tool_use`: the call's arguments.
    #[serde(borrow)]
    pub input: Raw<'a>,
    /// `tool_result`: the call's id.
    #[serde(borrow)]
    pub tool_use_id: Scalar<'a>,
    /// `tool_result`: the tool's output, as a text or as blocks.
    #[serde(borrow)]
    pub content: Raw<'a>,
    /// `tool_result`: true if the call failed.
    #[serde(borrow)]
    pub is_error: Scalar<'a>,
}

/// The parameters of an `api_error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorParams<'a> {
    /// State of the limit that was reached.
    #[serde(borrow)]
    pub rate_limit_info: Loose<RateLimit<'a>>,
}

/// The state of a rate limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimit<'a> {
    /// State of the limit: `allowed`, `allowed_warning`, `rejected`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// Time at which the limit ends, in seconds since the Unix epoch.
    #[serde(borrow, rename = "resetsAt")]
    pub resets_at: Scalar<'a>,
    /// True if usage beyond the limit is paid for, so that work continues.
    #[serde(borrow, rename = "isUsingOverage")]
    pub is_using_overage: Scalar<'a>,
}

/// Numbers of tokens, in the API's field names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens<'a> {
    /// Number of tokens sent, without cached ones.
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    /// Number of tokens sent and written to the cache.
    #[serde(borrow)]
    pub cache_creation_input_tokens: Scalar<'a>,
    /// Number of tokens read from the cache.
    #[serde(borrow)]
    pub cache_read_input_tokens: Scalar<'a>,
    /// Number of tokens received.
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
}

/// Numbers of tokens, in the CLI's field names.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelTokens<'a> {
    /// Number of tokens sent, without cached ones.
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    /// Number of tokens sent and written to the cache.
    #[serde(borrow)]
    pub cache_creation_input_tokens: Scalar<'a>,
    /// Number of tokens read from the cache.
    #[serde(borrow)]
    pub cache_read_input_tokens: Scalar<'a>,
    /// Number of tokens received.
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
}

impl<'a> Line<'a> {
    /// `result`: yields the usage of each model since the process started, as far as it is reported.
    pub fn models(&self) -> impl Iterator<Item = &ModelTokens<'a>> {
        self.model_usage.0.iter().flat_map(BTreeMap::values).filter_map(|model| model.0.as_ref())
    }

    /// `result`: returns the usage of a single request that had a process of its own, including the cost.
    #[must_use]
    pub fn used(&self) -> Usage {
        let count = |fields: [&Scalar<'_>; 4]| {
            let [sent, written, cached, received] = fields.map(Scalar::count);
            Usage {
                input_tokens: sent.saturating_add(written).saturating_add(cached),
                cached_tokens: cached,
                output_tokens: received,
                ..Usage::default()
            }
        };
        let mut sum = Usage::default();
        for model in self.models() {
            let written = &model.cache_creation_input_tokens;
            sum.add(count([
                &model.input_tokens,
                written,
                &model.cache_read_input_tokens,
                &model.output_tokens,
            ]));
        }
        if let Some(turn) = self.usage.0.as_ref().filter(|_| sum.tokens() == 0) {
            let written = &turn.cache_creation_input_tokens;
            sum = count([&turn.input_tokens, written, &turn.cache_read_input_tokens, &turn.output_tokens]);
        }
        Usage { cost_usd: self.total_cost_usd.number().unwrap_or_default(), ..sum }.sane()
    }
}

/// Parses a line of the CLI.
///
/// # Errors
/// The line is not a JSON object.
pub fn parse(line: &[u8]) -> Result<Line<'_>, serde_json::Error> {
    loose::object(line)
}

/// Returns a user's message as a line for standard input.
#[must_use]
pub fn user_line(text: &str, pictures: &[Picture]) -> Vec<u8> {
    let content = match pictures {
        [] => serde_json::json!(text),
        pictures => {
            let shown = pictures.iter().map(|picture| {
                let source = serde_json::json!({
                    "type": "base64", "media_type": picture.media, "data": picture.base64(),
                });
                serde_json::json!({ "type": "image", "source": source })
            });
            shown.chain([serde_json::json!({ "type": "text", "text": text })]).collect()
        }
    };
    line(&serde_json::json!({
        "type": "user",
        "message": { "role": "user", "content": content },
        "parent_tool_use_id": null,
        "session_id": "",
    }))
}

/// Returns the request to interrupt the turn, as a line for standard input.
#[must_use]
pub fn interrupt_line(number: u32) -> Vec<u8> {
    line(&serde_json::json!({
        "type": "control_request",
        "request_id": format!("herder-{number}"),
        "request": { "subtype": "interrupt" },
    }))
}

/// Returns the request, as a line for standard input, to have herder's hook called for these tools before the CLI's own
/// rules decide.
#[must_use]
pub fn watch_line(tools: &str) -> Vec<u8> {
    line(&serde_json::json!({
        "type": "control_request",
        "request_id": "herder-0",
        "request": {
            "subtype": "initialize",
            "hooks": { "PreToolUse": [{ "matcher": tools, "hookCallbackIds": ["always-asked"] }] },
        },
    }))
}

/// Returns the answer to a permission request or a hook, as a line for standard input.
#[must_use]
pub fn permission_line(request: &str, answer: &serde_json::Value) -> Vec<u8> {
    line(&serde_json::json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": request, "response": answer },
    }))
}

/// Returns the answer to an unsupported request, as a line for standard input.
#[must_use]
pub fn not_offered_line(request: &str, kind: &str) -> Vec<u8> {
    line(&serde_json::json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": request, "error": format!("{kind} is not offered") },
    }))
}

fn line(value: &serde_json::Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
