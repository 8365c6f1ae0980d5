//! Message types of the Agent Client Protocol, version 1, as far as they are used. Unknown methods and fields are
//! ignored, and a field accepts a value of any type (see [`Loose`]).

use serde::Deserialize;
use serde_json::Value;

use crate::runtime::loose::{self, Few, Loose, Many, Raw, Scalar};
use crate::runtime::rpc;

/// A line of the Agent Client Protocol.
pub type Line<'a> = rpc::Line<'a, Params<'a>, Answer<'a>, Failed<'a>>;

/// The parameters of a method or notification; each field names the methods that have it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Params<'a> {
    /// The session id of the conversation.
    #[serde(borrow)]
    pub session_id: Scalar<'a>,
    /// `session/update`: the reported change of the conversation, such as a piece of text or a tool call.
    #[serde(borrow)]
    pub update: Loose<Update<'a>>,
    /// `session/request_permission`: the possible answers.
    #[serde(borrow)]
    pub options: Many<Choice<'a>>,
    /// `elicitation/create`: the question.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// `elicitation/create`: `form`, or `url` for a page to be opened.
    #[serde(borrow)]
    pub mode: Scalar<'a>,
    /// `elicitation/create`: the fields, as a JSON schema.
    pub requested_schema: Option<Value>,
    /// `session/request_permission`: the tool call.
    #[serde(borrow)]
    pub tool_call: Loose<Update<'a>>,
}

/// The response to a request of herder; each field names the requests that have it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Answer<'a> {
    /// `initialize`: the agent's protocol version.
    #[serde(borrow)]
    pub protocol_version: Scalar<'a>,
    /// `initialize`: the agent's name.
    #[serde(borrow)]
    pub agent_info: Loose<Named<'a>>,
    /// `initialize`: the agent's capabilities.
    #[serde(borrow)]
    pub agent_capabilities: Loose<Capabilities<'a>>,
    /// `session/new`: the id of the conversation.
    #[serde(borrow)]
    pub session_id: Scalar<'a>,
    /// `session/new`, `session/load`: the modes of the agent.
    #[serde(borrow)]
    pub modes: Loose<Modes<'a>>,
    /// `session/new`, `session/load`: present if `session/set_model` sets the model.
    #[serde(borrow)]
    pub models: Loose<Named<'a>>,
    /// `session/new`, `session/load`: the options that `session/set_config_option` sets.
    #[serde(borrow)]
    pub config_options: Many<Setting<'a>>,
    /// `session/prompt`: the reason for the end of the turn.
    #[serde(borrow)]
    pub stop_reason: Scalar<'a>,
    /// `session/prompt`: the tokens, if the agent reports them here.
    #[serde(borrow)]
    pub usage: Loose<Tokens<'a>>,
    /// `session/prompt`: the tokens, if the agent reports them in `_meta`.
    #[serde(borrow, rename = "_meta")]
    pub meta: Loose<Meta<'a>>,
}

/// A JSON object with an id or a name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Named<'a> {
    /// Id of the object.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// Name of the object.
    #[serde(borrow)]
    pub name: Scalar<'a>,
}

/// The capabilities of an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Capabilities<'a> {
    /// True if the agent can resume an earlier conversation.
    #[serde(borrow)]
    pub load_session: Scalar<'a>,
    /// The content that the agent takes in prompts, beside text.
    #[serde(borrow)]
    pub prompt_capabilities: Loose<PromptCapabilities<'a>>,
}

impl Capabilities<'_> {
    /// Returns true if the agent takes pictures in prompts.
    #[must_use]
    pub fn takes_pictures(&self) -> bool {
        self.prompt_capabilities.0.as_ref().is_some_and(|takes| takes.image.is_true())
    }
}

/// The content that an agent takes in prompts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PromptCapabilities<'a> {
    /// True if the agent takes pictures.
    #[serde(borrow)]
    pub image: Scalar<'a>,
}

/// The modes of an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Modes<'a> {
    /// The modes that can be chosen.
    #[serde(borrow)]
    pub available_modes: Many<Named<'a>>,
    /// Id of the mode that the agent is in.
    #[serde(borrow)]
    pub current_mode_id: Scalar<'a>,
}

/// An option of the agent that can be set, such as its mode.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Setting<'a> {
    /// Id of the option.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// Present value of the option.
    #[serde(borrow)]
    pub current_value: Scalar<'a>,
    /// Values that the option can have.
    #[serde(borrow)]
    pub options: Many<Choosable<'a>>,
}

/// A value that an option can have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Choosable<'a> {
    /// The value itself.
    #[serde(borrow)]
    pub value: Scalar<'a>,
}

/// A possible answer to a permission request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Choice<'a> {
    /// Id of the option to answer with.
    #[serde(borrow)]
    pub option_id: Scalar<'a>,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`.
    #[serde(borrow)]
    pub kind: Scalar<'a>,
}

/// An update of a conversation, or a tool call in a permission request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Update<'a> {
    /// The kind of the update, which decides the fields that it has.
    #[serde(borrow)]
    pub session_update: Scalar<'a>,
    /// `agent_message_chunk`: a piece of text. `tool_call`, `tool_call_update`: changes and output of the call.
    #[serde(borrow)]
    pub content: Few<Piece<'a>>,
    /// `agent_message_chunk`: the id of the message, if the agent gives it.
    #[serde(borrow)]
    pub message_id: Scalar<'a>,
    /// `tool_call`, `tool_call_update`: the id of the call.
    #[serde(borrow)]
    pub tool_call_id: Scalar<'a>,
    /// `tool_call`: a title for people.
    #[serde(borrow)]
    pub title: Scalar<'a>,
    /// `tool_call`: `read`, `edit`, `execute`, ….
    #[serde(borrow)]
    pub kind: Scalar<'a>,
    /// `tool_call`, `tool_call_update`: `pending`, `in_progress`, `completed`, `failed`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// `tool_call`, `tool_call_update`: the tool's arguments.
    #[serde(borrow)]
    pub raw_input: Raw<'a>,
    /// `tool_call_update`: the tool's output, unchanged.
    #[serde(borrow)]
    pub raw_output: Raw<'a>,
    /// `tool_call`: the files that the call works on.
    #[serde(borrow)]
    pub locations: Many<Location<'a>>,
    /// `plan`: the plan's steps.
    #[serde(borrow)]
    pub entries: Many<Step<'a>>,
    /// `usage_update`: the total cost so far.
    #[serde(borrow)]
    pub cost: Loose<Cost<'a>>,
    /// Additions of single agents.
    #[serde(borrow, rename = "_meta")]
    pub meta: Loose<Meta<'a>>,
}

/// A step of a plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Step<'a> {
    /// Text of the plan's step.
    #[serde(borrow)]
    pub content: Scalar<'a>,
    /// `pending`, `in_progress`, `completed`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
}

/// A piece of content: text, an image, a file and so on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Piece<'a> {
    /// `text`, `image`, `audio`, `resource_link`, `resource`.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// `image`, `audio`: the content in base64.
    #[serde(borrow)]
    pub data: Scalar<'a>,
    /// The MIME type of the content.
    #[serde(borrow, rename = "mimeType")]
    pub mime_type: Scalar<'a>,
    /// `resource_link`, `image`: the URI of the content.
    #[serde(borrow)]
    pub uri: Scalar<'a>,
    /// `resource_link`: the name of the linked file.
    #[serde(borrow)]
    pub name: Scalar<'a>,
    /// `resource_link`: the name of the linked file, for people.
    #[serde(borrow)]
    pub title: Scalar<'a>,
    /// `resource`: a file within the answer.
    #[serde(borrow)]
    pub resource: Loose<Resource<'a>>,
    /// `text`: the text of the content.
    #[serde(borrow)]
    pub text: Scalar<'a>,
    /// Within tool calls: the content of the piece.
    #[serde(borrow)]
    pub content: Loose<Words<'a>>,
    /// Within tool calls that change a file: its path.
    #[serde(borrow)]
    pub path: Scalar<'a>,
    /// Within tool calls that change a file: the old text.
    #[serde(borrow, rename = "oldText")]
    pub old_text: Scalar<'a>,
    /// Within tool calls that change a file: the new text.
    #[serde(borrow, rename = "newText")]
    pub new_text: Scalar<'a>,
}

/// A file within an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resource<'a> {
    /// The URI of the file.
    #[serde(borrow)]
    pub uri: Scalar<'a>,
    /// The MIME type of the file.
    #[serde(borrow, rename = "mimeType")]
    pub mime_type: Scalar<'a>,
    /// The full text, if it is a text file.
    #[serde(borrow)]
    pub text: Scalar<'a>,
}

/// The text in a piece of a tool call's output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Words<'a> {
    /// The text of the piece.
    #[serde(borrow)]
    pub text: Scalar<'a>,
}

/// A file that a tool works on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Location<'a> {
    /// The path of the file.
    #[serde(borrow)]
    pub path: Scalar<'a>,
}

/// A sum of money.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cost<'a> {
    /// The sum, in the currency.
    #[serde(borrow)]
    pub amount: Scalar<'a>,
    /// The currency of the cost; only `USD` is used.
    #[serde(borrow)]
    pub currency: Scalar<'a>,
}

/// Additions of single agents to the protocol.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Meta<'a> {
    /// gemini and others: the tokens of the turn.
    #[serde(borrow)]
    pub quota: Loose<Quota<'a>>,
    /// codex-acp: the state of the conversation.
    #[serde(borrow)]
    pub codex: Loose<Codex<'a>>,
    /// qwen-code, with a piece of a message: tokens of the call of the model that it came from.
    #[serde(borrow)]
    pub usage: Loose<Tokens<'a>>,
}

/// Tokens that a turn has used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Quota<'a> {
    /// Total number of tokens.
    #[serde(borrow)]
    pub token_count: Loose<Tokens<'a>>,
    /// Number of tokens by model.
    #[serde(borrow)]
    pub model_usage: Many<ModelUsage<'a>>,
}

/// Tokens that one model has used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModelUsage<'a> {
    /// Name of the model.
    #[serde(borrow)]
    pub model: Scalar<'a>,
}

/// The additions of codex-acp.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Codex<'a> {
    /// State of the conversation.
    #[serde(borrow)]
    pub thread_status: Loose<Status<'a>>,
}

/// The state of a conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status<'a> {
    /// The name of the state.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
}

/// Numbers of tokens; each field accepts any of the spellings that agents use.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens<'a> {
    /// Number of tokens sent.
    #[serde(borrow, alias = "input_tokens")]
    pub input_tokens: Scalar<'a>,
    /// Number of tokens received.
    #[serde(borrow, alias = "output_tokens")]
    pub output_tokens: Scalar<'a>,
    /// Number of tokens read from the model's cache; some agents include them in the tokens sent, others do not.
    #[serde(borrow, alias = "cachedInputTokens")]
    pub cached_read_tokens: Scalar<'a>,
    /// Total number of tokens sent and received, if the agent reports it.
    #[serde(borrow)]
    pub total_tokens: Scalar<'a>,
}

/// The error response to a request of herder.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Failed<'a> {
    /// JSON-RPC code of the error, or a code of the agent's own.
    #[serde(borrow)]
    pub code: Scalar<'a>,
    /// The text of the error.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// Details of the error.
    #[serde(borrow)]
    pub data: Loose<Details<'a>>,
}

/// Details of an error, in the fields of several agents.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Details<'a> {
    /// claude-agent-acp: the kind of error.
    #[serde(borrow)]
    pub error_kind: Scalar<'a>,
    /// opencode: the kind of error.
    #[serde(borrow)]
    pub error_name: Scalar<'a>,
    /// codex-acp: the kind of error, as named by codex.
    #[serde(borrow)]
    pub codex_error_info: Scalar<'a>,
    /// codex-acp: the reason for the error.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// gemini: the reason for the error.
    #[serde(borrow)]
    pub details: Scalar<'a>,
}

/// Parses a line of the agent.
///
/// # Errors
/// The line is not a JSON object.
pub fn parse(line: &[u8]) -> Result<Line<'_>, serde_json::Error> {
    loose::object(line)
}
