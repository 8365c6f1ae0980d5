//! Message types of `codex app-server`, as far as they are used. Unknown methods and fields are ignored.
//!
//! The protocol is JSON-RPC without the `jsonrpc` member in the server's lines, and it depends on the installed
//! version: one flat struct holds the parameters of all notifications and requests, and a field accepts a value of
//! any type (see [`Loose`]).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::runtime::loose::{self, Loose, Many, Raw, Scalar};
use crate::runtime::rpc;

/// A line of the app server's protocol.
pub type Line<'a> = rpc::Line<'a, Params<'a>, Params<'a>, Failed<'a>>;

/// The parameters of a method or notification, or the fields of a response; each field names the methods that have it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Params<'a> {
    /// Id of the conversation.
    #[serde(borrow)]
    pub thread_id: Scalar<'a>,
    /// Id of the turn.
    #[serde(borrow)]
    pub turn_id: Scalar<'a>,
    /// `thread/start`, `thread/resume`: the conversation.
    #[serde(borrow)]
    pub thread: Loose<Thread<'a>>,
    /// `thread/start`, `thread/resume`: the model.
    #[serde(borrow)]
    pub model: Scalar<'a>,
    /// `turn/…`: the turn.
    #[serde(borrow)]
    pub turn: Loose<Turn<'a>>,
    /// `item/started`, `item/completed`: the item.
    #[serde(borrow)]
    pub item: Loose<Item<'a>>,
    /// `item/…`: the item's id.
    #[serde(borrow)]
    pub item_id: Scalar<'a>,
    /// `item/agentMessage/delta`: the piece of text.
    #[serde(borrow)]
    pub delta: Scalar<'a>,
    /// `thread/tokenUsage/updated`: the tokens.
    #[serde(borrow)]
    pub token_usage: Loose<TokenUsage<'a>>,
    /// `account/rateLimits/updated`: the limit; `account/rateLimits/read`: one of the limits.
    #[serde(borrow)]
    pub rate_limits: Loose<RateLimits<'a>>,
    /// `account/rateLimits/read`: all limits.
    #[serde(borrow)]
    pub rate_limits_by_limit_id: Loose<BTreeMap<String, Loose<RateLimits<'a>>>>,
    /// `error`: the reason for the error.
    #[serde(borrow)]
    pub error: Loose<TurnError<'a>>,
    /// `error`: true if the server retries.
    #[serde(borrow)]
    pub will_retry: Scalar<'a>,
    /// `item/commandExecution/requestApproval`: the command as a string or, from older servers, as a list of words.
    pub command: Option<Value>,
    /// `item/commandExecution/requestApproval`: `command`, or the kind of request instead of a command.
    #[serde(borrow)]
    pub kind: Scalar<'a>,
    /// `item/commandExecution/requestApproval`: the network connection, if the request is for one instead of a command.
    #[serde(borrow)]
    pub network_approval_context: Loose<Network<'a>>,
    /// `item/fileChange/requestApproval`: a folder whose files may be changed from then on.
    #[serde(borrow)]
    pub grant_root: Scalar<'a>,
    /// `item/fileChange/patchUpdated`: the changes.
    #[serde(borrow)]
    pub changes: Many<Change<'a>>,
    /// `applyPatchApproval`: the changes by file.
    #[serde(borrow)]
    pub file_changes: Raw<'a>,
    /// `serverRequest/resolved`: the id of the request that needs no answer any more.
    #[serde(borrow)]
    pub request_id: Scalar<'a>,
    /// Requests for approval: the reason.
    #[serde(borrow)]
    pub reason: Scalar<'a>,
    /// `item/tool/requestUserInput`: the questions.
    pub questions: Option<Value>,
    /// `mcpServer/elicitation/request`: the question.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// `mcpServer/elicitation/request`: `form`, or `url` for a page to be opened.
    #[serde(borrow)]
    pub mode: Scalar<'a>,
    /// `mcpServer/elicitation/request`: the fields, as a JSON schema.
    pub requested_schema: Option<Value>,
    /// `mcpServer/elicitation/request`: the kind of question.
    #[serde(borrow, rename = "_meta")]
    pub meta: Loose<Meta<'a>>,
    /// `item/permissions/requestApproval`: the requested permissions, returned unchanged if they are granted.
    pub permissions: Option<Value>,
}

impl Params<'_> {
    /// Yields the limits reported in an answer or update.
    pub fn limits(&self) -> impl Iterator<Item = &RateLimits<'_>> {
        let all = self.rate_limits_by_limit_id.0.iter().flat_map(BTreeMap::values);
        self.rate_limits.0.iter().chain(all.filter_map(|limit| limit.0.as_ref()))
    }
}

/// The error response to a request of herder.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Failed<'a> {
    /// The text of a server's error.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// Details of a server's error.
    #[serde(borrow)]
    pub data: Loose<TurnError<'a>>,
}

/// A conversation, which the app server calls a thread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Thread<'a> {
    /// Id of the conversation.
    #[serde(borrow)]
    pub id: Scalar<'a>,
}

/// A turn of a conversation: its id, status and error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Turn<'a> {
    /// Id of the turn.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// Status of the turn: `completed`, `interrupted`, `failed`, `inProgress`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// The reason why the turn failed.
    #[serde(borrow)]
    pub error: Loose<TurnError<'a>>,
}

/// The reason for a failed or retried turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TurnError<'a> {
    /// The error's text for people.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// The kind for programs: a string, an object with the kind as its only key, or a form of later versions.
    pub codex_error_info: Option<Value>,
    /// Further text for people.
    #[serde(borrow)]
    pub additional_details: Scalar<'a>,
}

/// An item of a turn: text, a command, a change of files, a tool call, ….
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Item<'a> {
    /// The kind of the item, which decides the fields that it has.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// Id of the item.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// `agentMessage`: the text of the message.
    #[serde(borrow)]
    pub text: Scalar<'a>,
    /// `mcpToolCall`: the server of the tool.
    #[serde(borrow)]
    pub server: Scalar<'a>,
    /// `mcpToolCall` and others: the name of the tool.
    #[serde(borrow)]
    pub tool: Scalar<'a>,
    /// `fileChange`: the changes.
    #[serde(borrow)]
    pub changes: Many<Change<'a>>,
    /// `commandExecution`: the command.
    #[serde(borrow)]
    pub command: Scalar<'a>,
    /// `commandExecution`: the output.
    #[serde(borrow, rename = "aggregatedOutput")]
    pub output: Scalar<'a>,
    /// `commandExecution`: the exit code.
    #[serde(borrow, rename = "exitCode")]
    pub exit_code: Scalar<'a>,
    /// The status: `completed`, `failed`, `declined` or `inProgress`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// `mcpToolCall`, `dynamicToolCall`: the arguments of the call.
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    /// `mcpToolCall`: the output.
    #[serde(borrow)]
    pub result: Raw<'a>,
    /// `mcpToolCall`: the error.
    #[serde(borrow)]
    pub error: Raw<'a>,
    /// `webSearch`: the search terms.
    #[serde(borrow)]
    pub query: Scalar<'a>,
}

/// The kind of a file change.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChangeKind<'a> {
    /// Kind of the change: `add`, `delete`, `update`.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// `update`: the new path, if the file is moved.
    #[serde(borrow)]
    pub move_path: Scalar<'a>,
}

/// A change of one file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Change<'a> {
    /// Path of the changed file.
    #[serde(borrow)]
    pub path: Scalar<'a>,
    /// Kind of the file's change: a new file, an edit, a removal.
    #[serde(borrow)]
    pub kind: Loose<ChangeKind<'a>>,
    /// The change as a diff.
    #[serde(borrow)]
    pub diff: Scalar<'a>,
}

/// The subject of an MCP server's question.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Meta<'a> {
    /// Present if the answer is only yes or no.
    #[serde(borrow)]
    pub codex_approval_kind: Scalar<'a>,
    /// The arguments of the tool call.
    #[serde(borrow)]
    pub tool_params: Raw<'a>,
    /// The arguments for people.
    #[serde(borrow)]
    pub tool_params_display: Raw<'a>,
}

/// A network connection that needs permission.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Network<'a> {
    /// Host name of the server to connect to.
    #[serde(borrow)]
    pub host: Scalar<'a>,
    /// Protocol of the connection: `http`, `https`, `socks5Tcp`, `socks5Udp`.
    #[serde(borrow)]
    pub protocol: Scalar<'a>,
}

/// The tokens of the entire conversation, and of the last model call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TokenUsage<'a> {
    /// The total since the conversation started, across processes.
    #[serde(borrow)]
    pub total: Loose<Tokens<'a>>,
    /// The tokens of the last model call.
    #[serde(borrow)]
    pub last: Loose<Tokens<'a>>,
}

/// Numbers of tokens, as the app server counts them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens<'a> {
    /// Number of tokens sent, including cached ones.
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    /// Number of tokens read from the cache.
    #[serde(borrow)]
    pub cached_input_tokens: Scalar<'a>,
    /// Number of tokens received.
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
}

/// The state of a limit of the account. An update may omit unchanged fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RateLimits<'a> {
    /// The id of the limit; an account may have a separate one for some models.
    #[serde(borrow)]
    pub limit_id: Scalar<'a>,
    /// The shorter time window of the limit.
    #[serde(borrow)]
    pub primary: Loose<Window<'a>>,
    /// The longer time window of the limit.
    #[serde(borrow)]
    pub secondary: Loose<Window<'a>>,
    /// The kind of limit that was reached.
    #[serde(borrow)]
    pub rate_limit_reached_type: Scalar<'a>,
}

/// A time window of a limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Window<'a> {
    /// Used share of the window, in percent.
    #[serde(borrow)]
    pub used_percent: Scalar<'a>,
    /// The end of the window, in seconds since the epoch.
    #[serde(borrow)]
    pub resets_at: Scalar<'a>,
}

/// Parses a line of the app server.
///
/// # Errors
/// The line is not a JSON object.
pub fn parse(line: &[u8]) -> Result<Line<'_>, serde_json::Error> {
    loose::object(line)
}
