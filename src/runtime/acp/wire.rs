//! The lines of the Agent Client Protocol, version 1, as far as they are needed. Methods and fields that are not known are
//! passed over, and each field takes whatever stands there (see [`Loose`]).

use serde::Deserialize;
use serde_json::Value;

use crate::runtime::loose::{self, Few, Loose, Many, Raw, Scalar};
use crate::runtime::rpc;

/// One line.
pub type Line<'a> = rpc::Line<'a, Params<'a>, Answer<'a>, Failed<'a>>;

/// What belongs to a method.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Params<'a> {
    /// The conversation it concerns.
    #[serde(borrow)]
    pub session_id: Scalar<'a>,
    /// `session/update`: what is new.
    #[serde(borrow)]
    pub update: Loose<Update<'a>>,
    /// `session/request_permission`: the answers to choose from.
    #[serde(borrow)]
    pub options: Many<Choice<'a>>,
    /// `elicitation/create`: what is asked.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// `elicitation/create`: `form`, or `url` for a page that is to be opened.
    #[serde(borrow)]
    pub mode: Scalar<'a>,
    /// `elicitation/create`: the fields, as a JSON schema.
    pub requested_schema: Option<Value>,
    /// `session/request_permission`: what is asked for.
    #[serde(borrow)]
    pub tool_call: Loose<Update<'a>>,
}

/// An answer to a request of herder's.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Answer<'a> {
    /// `initialize`: the version that the agent speaks.
    #[serde(borrow)]
    pub protocol_version: Scalar<'a>,
    /// `initialize`: who it is.
    #[serde(borrow)]
    pub agent_info: Loose<Named<'a>>,
    /// `initialize`: what it can.
    #[serde(borrow)]
    pub agent_capabilities: Loose<Capabilities<'a>>,
    /// `session/new`: the conversation.
    #[serde(borrow)]
    pub session_id: Scalar<'a>,
    /// `session/new`, `session/load`: ways to work in.
    #[serde(borrow)]
    pub modes: Loose<Modes<'a>>,
    /// `session/new`, `session/load`: there if the model can be set by `session/set_model`.
    #[serde(borrow)]
    pub models: Loose<Named<'a>>,
    /// `session/new`, `session/load`: what can be set by `session/set_config_option`.
    #[serde(borrow)]
    pub config_options: Many<Named<'a>>,
    /// `session/prompt`: why the turn ended.
    #[serde(borrow)]
    pub stop_reason: Scalar<'a>,
    /// `session/prompt`: tokens, where the agent counts them here.
    #[serde(borrow)]
    pub usage: Loose<Tokens<'a>>,
    /// `session/prompt`: tokens, where it counts them there.
    #[serde(borrow, rename = "_meta")]
    pub meta: Loose<Meta<'a>>,
}

/// Something with an id or a name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Named<'a> {
    /// The id.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// The name.
    #[serde(borrow)]
    pub name: Scalar<'a>,
}

/// What an agent can.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Capabilities<'a> {
    /// Whether it can go on with an earlier conversation.
    #[serde(borrow)]
    pub load_session: Scalar<'a>,
}

/// Ways to work in.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Modes<'a> {
    /// Those there are.
    #[serde(borrow)]
    pub available_modes: Many<Named<'a>>,
}

/// An answer to choose.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Choice<'a> {
    /// What to answer.
    #[serde(borrow)]
    pub option_id: Scalar<'a>,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`.
    #[serde(borrow)]
    pub kind: Scalar<'a>,
}

/// Something new in a conversation, or a tool call that permission is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Update<'a> {
    /// What kind of news it is.
    #[serde(borrow)]
    pub session_update: Scalar<'a>,
    /// `agent_message_chunk`: a piece of words. `tool_call`, `tool_call_update`: what it changes, and what it said.
    #[serde(borrow)]
    pub content: Few<Piece<'a>>,
    /// `agent_message_chunk`: which message it belongs to, if the agent says so.
    #[serde(borrow)]
    pub message_id: Scalar<'a>,
    /// `tool_call`, `tool_call_update`: which call.
    #[serde(borrow)]
    pub tool_call_id: Scalar<'a>,
    /// `tool_call`: for people.
    #[serde(borrow)]
    pub title: Scalar<'a>,
    /// `tool_call`: `read`, `edit`, `execute`, ….
    #[serde(borrow)]
    pub kind: Scalar<'a>,
    /// `tool_call`, `tool_call_update`: `pending`, `in_progress`, `completed`, `failed`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// `tool_call`, `tool_call_update`: the arguments, as the tool takes them.
    #[serde(borrow)]
    pub raw_input: Raw<'a>,
    /// `tool_call_update`: what it said, as the tool says it.
    #[serde(borrow)]
    pub raw_output: Raw<'a>,
    /// `tool_call`: the files it is about.
    #[serde(borrow)]
    pub locations: Many<Location<'a>>,
    /// `plan`: its steps.
    #[serde(borrow)]
    pub entries: Many<Step<'a>>,
    /// `usage_update`: money so far.
    #[serde(borrow)]
    pub cost: Loose<Cost<'a>>,
    /// What the agent adds of its own.
    #[serde(borrow, rename = "_meta")]
    pub meta: Loose<Meta<'a>>,
}

/// A step of a plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Step<'a> {
    /// What is to be done.
    #[serde(borrow)]
    pub content: Scalar<'a>,
    /// `pending`, `in_progress`, `completed`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
}

/// A piece of content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Piece<'a> {
    /// `text`, `image`, `audio`, `resource_link`, `resource`.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// `image`, `audio`: the data in base64.
    #[serde(borrow)]
    pub data: Scalar<'a>,
    /// The kind of data.
    #[serde(borrow, rename = "mimeType")]
    pub mime_type: Scalar<'a>,
    /// `resource_link`, `image`: the place.
    #[serde(borrow)]
    pub uri: Scalar<'a>,
    /// `resource_link`: the name.
    #[serde(borrow)]
    pub name: Scalar<'a>,
    /// `resource_link`: the name for people.
    #[serde(borrow)]
    pub title: Scalar<'a>,
    /// `resource`: a file that is part of the answer.
    #[serde(borrow)]
    pub resource: Loose<Resource<'a>>,
    /// Words.
    #[serde(borrow)]
    pub text: Scalar<'a>,
    /// What it holds, with tool calls.
    #[serde(borrow)]
    pub content: Loose<Words<'a>>,
    /// Which file is changed, with tool calls that change one.
    #[serde(borrow)]
    pub path: Scalar<'a>,
    /// The file as it is.
    #[serde(borrow, rename = "oldText")]
    pub old_text: Scalar<'a>,
    /// A file as it is to be, with tool calls that change one.
    #[serde(borrow, rename = "newText")]
    pub new_text: Scalar<'a>,
}

/// A file that is part of an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resource<'a> {
    /// The place.
    #[serde(borrow)]
    pub uri: Scalar<'a>,
    /// The kind of data.
    #[serde(borrow, rename = "mimeType")]
    pub mime_type: Scalar<'a>,
    /// The whole text, where it is one.
    #[serde(borrow)]
    pub text: Scalar<'a>,
}

/// Words in a piece of what a tool call said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Words<'a> {
    /// The words.
    #[serde(borrow)]
    pub text: Scalar<'a>,
}

/// Where a tool works.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Location<'a> {
    /// A file.
    #[serde(borrow)]
    pub path: Scalar<'a>,
}

/// Money.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cost<'a> {
    /// How much.
    #[serde(borrow)]
    pub amount: Scalar<'a>,
    /// Of what.
    #[serde(borrow)]
    pub currency: Scalar<'a>,
}

/// What agents add of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Meta<'a> {
    /// gemini and others: tokens of the turn.
    #[serde(borrow)]
    pub quota: Loose<Quota<'a>>,
    /// codex-acp: the state of the conversation.
    #[serde(borrow)]
    pub codex: Loose<Codex<'a>>,
}

/// Tokens of the turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Quota<'a> {
    /// The sums.
    #[serde(borrow)]
    pub token_count: Loose<Tokens<'a>>,
    /// By model.
    #[serde(borrow)]
    pub model_usage: Many<ModelUsage<'a>>,
}

/// Tokens of one model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModelUsage<'a> {
    /// Which.
    #[serde(borrow)]
    pub model: Scalar<'a>,
}

/// What codex-acp adds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Codex<'a> {
    /// The state of the conversation.
    #[serde(borrow)]
    pub thread_status: Loose<Status<'a>>,
}

/// A state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status<'a> {
    /// Which.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
}

/// Tokens, in whichever way they are written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens<'a> {
    /// Sent.
    #[serde(borrow, alias = "input_tokens")]
    pub input_tokens: Scalar<'a>,
    /// Received.
    #[serde(borrow, alias = "output_tokens")]
    pub output_tokens: Scalar<'a>,
    /// Found in the model's cache; with some agents beside those sent, with others among them.
    #[serde(borrow, alias = "cachedInputTokens")]
    pub cached_read_tokens: Scalar<'a>,
    /// All of them, where the agent adds them up.
    #[serde(borrow)]
    pub total_tokens: Scalar<'a>,
}

/// An answer to a request that failed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Failed<'a> {
    /// JSON-RPC's code, or what an agent makes of it.
    #[serde(borrow)]
    pub code: Scalar<'a>,
    /// Why.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// More about it.
    #[serde(borrow)]
    pub data: Loose<Details<'a>>,
}

/// More about a failure, in the terms of several agents.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Details<'a> {
    /// claude-agent-acp: the kind.
    #[serde(borrow)]
    pub error_kind: Scalar<'a>,
    /// opencode: the kind.
    #[serde(borrow)]
    pub error_name: Scalar<'a>,
    /// codex-acp: the kind, in codex's own words.
    #[serde(borrow)]
    pub codex_error_info: Scalar<'a>,
    /// codex-acp: the reason.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// gemini: the reason.
    #[serde(borrow)]
    pub details: Scalar<'a>,
}

/// Parses one line.
///
/// # Errors
/// If it is no JSON object.
pub fn parse(line: &[u8]) -> Result<Line<'_>, serde_json::Error> {
    loose::object(line)
}
