//! The lines of `codex app-server`, as far as they are needed. Methods and fields that are not known are passed over.
//!
//! The protocol is JSON-RPC without the `jsonrpc` member in what the server writes, and it is tied to the installed
//! version: one flat struct takes the parameters of every notification and request, and each field takes whatever stands
//! there (see [`Loose`]).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::runtime::loose::{self, Loose, Many, Raw, Scalar};
use crate::runtime::rpc;

/// One line.
pub type Line<'a> = rpc::Line<'a, Params<'a>, Params<'a>, Failed<'a>>;

/// What belongs to a method, or to an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Params<'a> {
    /// The conversation it concerns.
    #[serde(borrow)]
    pub thread_id: Scalar<'a>,
    /// The turn it concerns.
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
    /// `item/agentMessage/delta`: words.
    #[serde(borrow)]
    pub delta: Scalar<'a>,
    /// `thread/tokenUsage/updated`.
    #[serde(borrow)]
    pub token_usage: Loose<TokenUsage<'a>>,
    /// `account/rateLimits/updated`; `account/rateLimits/read`: one of them.
    #[serde(borrow)]
    pub rate_limits: Loose<RateLimits<'a>>,
    /// `account/rateLimits/read`: all of them.
    #[serde(borrow)]
    pub rate_limits_by_limit_id: Loose<BTreeMap<String, Loose<RateLimits<'a>>>>,
    /// `error`: what went wrong.
    #[serde(borrow)]
    pub error: Loose<TurnError<'a>>,
    /// `error`: whether it is tried again.
    #[serde(borrow)]
    pub will_retry: Scalar<'a>,
    /// `item/commandExecution/requestApproval`: the command, as a text or, from older servers, in words.
    pub command: Option<Value>,
    /// `item/commandExecution/requestApproval`: `command`, or what is asked for instead.
    #[serde(borrow)]
    pub kind: Scalar<'a>,
    /// `item/commandExecution/requestApproval`: the connection, where one is asked for and no command.
    #[serde(borrow)]
    pub network_approval_context: Loose<Network<'a>>,
    /// `item/fileChange/requestApproval`: a folder that may be changed from then on.
    #[serde(borrow)]
    pub grant_root: Scalar<'a>,
    /// `item/fileChange/patchUpdated`: what is changed.
    #[serde(borrow)]
    pub changes: Many<Change<'a>>,
    /// `applyPatchApproval`: what is changed, by file.
    #[serde(borrow)]
    pub file_changes: Raw<'a>,
    /// `serverRequest/resolved`: the request that needs no answer any more.
    #[serde(borrow)]
    pub request_id: Scalar<'a>,
    /// Requests for approval: why.
    #[serde(borrow)]
    pub reason: Scalar<'a>,
    /// `item/tool/requestUserInput`: the questions.
    pub questions: Option<Value>,
    /// `mcpServer/elicitation/request`: the question.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// `mcpServer/elicitation/request`: `form`, or `url` for a page that is to be opened.
    #[serde(borrow)]
    pub mode: Scalar<'a>,
    /// `mcpServer/elicitation/request`: the fields, as a JSON schema.
    pub requested_schema: Option<Value>,
    /// `mcpServer/elicitation/request`: what kind of question it is.
    #[serde(borrow, rename = "_meta")]
    pub meta: Loose<Meta<'a>>,
    /// `item/permissions/requestApproval`: what is asked for, given back as it came if it is granted.
    pub permissions: Option<Value>,
}

impl Params<'_> {
    /// The limits that it tells of.
    pub fn limits(&self) -> impl Iterator<Item = &RateLimits<'_>> {
        let all = self.rate_limits_by_limit_id.0.iter().flat_map(BTreeMap::values);
        self.rate_limits.0.iter().chain(all.filter_map(|limit| limit.0.as_ref()))
    }
}

/// An answer to a request that failed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Failed<'a> {
    /// Why.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// More about it.
    #[serde(borrow)]
    pub data: Loose<TurnError<'a>>,
}

/// A conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Thread<'a> {
    /// Its name.
    #[serde(borrow)]
    pub id: Scalar<'a>,
}

/// A turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Turn<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// `completed`, `interrupted`, `failed`, `inProgress`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// Why it failed.
    #[serde(borrow)]
    pub error: Loose<TurnError<'a>>,
}

/// Why a turn failed, or is tried again.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TurnError<'a> {
    /// For people.
    #[serde(borrow)]
    pub message: Scalar<'a>,
    /// For programs: a word, or an object with a word as its only key, or what later versions make of it.
    pub codex_error_info: Option<Value>,
    /// More for people.
    #[serde(borrow)]
    pub additional_details: Scalar<'a>,
}

/// Something in a turn: words, a command, a change of files, a call of a tool, ….
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Item<'a> {
    /// What it is.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// Its id.
    #[serde(borrow)]
    pub id: Scalar<'a>,
    /// `agentMessage`: the words.
    #[serde(borrow)]
    pub text: Scalar<'a>,
    /// `mcpToolCall`: whose tool it is.
    #[serde(borrow)]
    pub server: Scalar<'a>,
    /// `mcpToolCall` and others: which tool.
    #[serde(borrow)]
    pub tool: Scalar<'a>,
    /// `fileChange`: what is changed.
    #[serde(borrow)]
    pub changes: Many<Change<'a>>,
    /// `commandExecution`: the command.
    #[serde(borrow)]
    pub command: Scalar<'a>,
    /// `commandExecution`: what it said.
    #[serde(borrow, rename = "aggregatedOutput")]
    pub output: Scalar<'a>,
    /// `commandExecution`: how it ended.
    #[serde(borrow, rename = "exitCode")]
    pub exit_code: Scalar<'a>,
    /// Whether it is `completed`, `failed`, `declined`, or still `inProgress`.
    #[serde(borrow)]
    pub status: Scalar<'a>,
    /// `mcpToolCall`, `dynamicToolCall`: with what the tool is called.
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    /// `mcpToolCall`: what it said.
    #[serde(borrow)]
    pub result: Raw<'a>,
    /// `mcpToolCall`: why it failed.
    #[serde(borrow)]
    pub error: Raw<'a>,
    /// `webSearch`: what is looked for.
    #[serde(borrow)]
    pub query: Scalar<'a>,
}

/// What kind of change of a file it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChangeKind<'a> {
    /// `add`, `delete`, `update`.
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    /// `update`: where the file goes.
    #[serde(borrow)]
    pub move_path: Scalar<'a>,
}

/// A change of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Change<'a> {
    /// Which file.
    #[serde(borrow)]
    pub path: Scalar<'a>,
    /// What kind of change it is.
    #[serde(borrow)]
    pub kind: Loose<ChangeKind<'a>>,
    /// How.
    #[serde(borrow)]
    pub diff: Scalar<'a>,
}

/// What a question of an MCP server is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Meta<'a> {
    /// Set if a yes or a no is all that is asked for.
    #[serde(borrow)]
    pub codex_approval_kind: Scalar<'a>,
    /// The arguments of the tool that is to be called.
    #[serde(borrow)]
    pub tool_params: Raw<'a>,
    /// The same for people.
    #[serde(borrow)]
    pub tool_params_display: Raw<'a>,
}

/// A connection that is to be allowed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Network<'a> {
    /// Where to.
    #[serde(borrow)]
    pub host: Scalar<'a>,
    /// `http`, `https`, `socks5Tcp`, `socks5Udp`.
    #[serde(borrow)]
    pub protocol: Scalar<'a>,
}

/// Tokens of the whole conversation and of the last call of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TokenUsage<'a> {
    /// Since the conversation began, in whichever process.
    #[serde(borrow)]
    pub total: Loose<Tokens<'a>>,
    /// Of the last call.
    #[serde(borrow)]
    pub last: Loose<Tokens<'a>>,
}

/// Tokens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens<'a> {
    /// Sent, cached ones included.
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    /// Those of them that were found in the cache.
    #[serde(borrow)]
    pub cached_input_tokens: Scalar<'a>,
    /// Received.
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
}

/// The state of the account's limits. An update may leave out what it does not change.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RateLimits<'a> {
    /// Which limit: an account can have another one for some models.
    #[serde(borrow)]
    pub limit_id: Scalar<'a>,
    /// The shorter window.
    #[serde(borrow)]
    pub primary: Loose<Window<'a>>,
    /// The longer window.
    #[serde(borrow)]
    pub secondary: Loose<Window<'a>>,
    /// Which kind of limit was reached.
    #[serde(borrow)]
    pub rate_limit_reached_type: Scalar<'a>,
}

/// A window of a limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Window<'a> {
    /// How much of it is used.
    #[serde(borrow)]
    pub used_percent: Scalar<'a>,
    /// When it ends, in seconds since the epoch.
    #[serde(borrow)]
    pub resets_at: Scalar<'a>,
}

/// Parses one line.
///
/// # Errors
/// If it is no JSON object.
pub fn parse(line: &[u8]) -> Result<Line<'_>, serde_json::Error> {
    loose::object(line)
}
