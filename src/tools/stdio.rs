//! `herder mcp`: the tool server that an agent's CLI starts. It speaks MCP on its standard streams and passes each
//! call on to the running herder. It has no state, so that it works with a restarted herder.
//!
//! CLIs pass it their environment, including model keys. It does not need them: before anything else it executes
//! itself again with the few variables it needs, so that not even its process shows the others.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Listed,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use super::long;
use crate::clock::running::Running;
use crate::core::tools::{ALL, INSTRUCTIONS, LEAD_INSTRUCTIONS, SERVER, Tool, VARIABLE};
use crate::runner::tools::wire::{ANSWER_MAX, Answer, CALL_MAX, Call, Got};
use crate::runtime::environment::MARKER;
use crate::runtime::grants::Key;
use crate::runtime::text::{bounded, one_line};

/// Environment variables that `herder mcp` keeps; all others are removed. `MARKER` identifies its process to herder.
const KEPT: [&str; 4] = [VARIABLE, MARKER, "LANG", "RUST_BACKTRACE"];

/// Maximum length of an MCP line, in bytes: a call with escapes and the client's envelope.
const LINE_MAX: usize = 1024 * 1024;

/// Capacity of the buffer between standard input and the MCP server, in bytes.
const PIPE: usize = 64 * 1024;

/// Maximum time for which a tool call waits for a herder that is being restarted.
const RETURNS_WITHIN: Duration = Duration::from_secs(10);

/// Wait between two attempts to connect to herder.
const AGAIN: Duration = Duration::from_millis(200);

/// Maximum time for herder to answer a tool call: longer than any tool waits, shorter than the timeout of any CLI.
const ANSWERED_WITHIN: Duration = Duration::from_secs(50);

/// The reason why the tool server `herder mcp` cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The variable with the path of the session's key file ([`VARIABLE`]) is not set.
    #[error("{} is not set: this is started by an agent's CLI under herder, not by hand", VARIABLE)]
    NoKey,
    /// The tool server could not execute itself again without the unneeded environment variables.
    #[error("the environment cannot be left behind: {0}")]
    Environment(io::Error),
    /// The async runtime of the tool server cannot be started.
    #[error("threads cannot be started: {0}")]
    Runtime(io::Error),
    /// The CLI has closed the connection or does not speak MCP.
    #[error("the client went away or does not speak MCP: {0}")]
    Client(String),
}

/// Runs `herder mcp`: serves MCP to an agent's CLI on standard input and output, until the CLI closes the connection.
///
/// # Errors
/// The reason why there is no server.
pub fn main() -> Result<(), Error> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let kept = |name: &OsString| KEPT.iter().any(|kept| name == kept);
    if environment.keys().any(|name| !kept(name)) {
        let program = std::env::current_exe().map_err(Error::Environment)?;
        let needed = environment.iter().filter(|(name, _)| kept(name));
        let again = std::process::Command::new(program)
            .args(std::env::args_os().skip(1))
            .env_clear()
            .envs(needed)
            .exec();
        return Err(Error::Environment(again));
    }
    let key = environment.get(&OsString::from(VARIABLE)).map(PathBuf::from).ok_or(Error::NoKey)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(key));
    // Reading standard input blocks a thread that cannot be ended.
    runtime.shutdown_background();
    served
}

async fn serve(key: PathBuf) -> Result<(), Error> {
    let (lines, passed) = tokio::io::duplex(PIPE);
    // The task ends with its input, or with the server that reads its output.
    #[expect(clippy::disallowed_methods, reason = "the runtime ends it with the server")]
    tokio::spawn(long::shortened(tokio::io::stdin(), passed, LINE_MAX));
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(lines, tokio::io::stdout())
        .with_max_line_length(LINE_MAX + 1);
    let client = |error: &dyn std::fmt::Display| Error::Client(error.to_string());
    let service = Server { key }.serve(transport).await.map_err(|error| client(&error))?;
    service.waiting().await.map(drop).map_err(|error| client(&error))
}

/// The MCP server, as a handler for the crate `rmcp`.
struct Server {
    key: PathBuf,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let leads = read(&self.key).is_ok_and(|key| key.leads);
        let instructions = format!("{INSTRUCTIONS}{}", if leads { LEAD_INSTRUCTIONS } else { "" });
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        info.with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // One whose key cannot be read says so when it is called.
        let (reviews, leads) = read(&self.key).map_or((false, false), |key| (key.reviews, key.leads));
        let tools = ALL.into_iter().filter(|tool| reviews || !tool.is_for_reviews());
        let tools = tools.filter(|tool| leads || !tool.is_for_leads());
        Ok(ListToolsResult::with_all_items(tools.map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == long::TOO_LONG {
            let told = format!(
                "This call is longer than {} KiB and was not carried out. Say less, or put it into a file.",
                LINE_MAX / 1024
            );
            return Ok(CallToolResult::error(vec![ContentBlock::text(told)]).into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let passed = tokio::select! {
            passed = pass_on(&self.key, &request.name, arguments) => passed,
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
        };
        let Answer { ok, text, whispers } = passed.unwrap_or_else(Answer::refused);
        let texts = std::iter::once(text).chain(whispers).map(ContentBlock::text).collect();
        let result = if ok { CallToolResult::success(texts) } else { CallToolResult::error(texts) };
        Ok(result.into())
    }
}

/// Builds a tool's entry in the MCP list of tools, with annotations that keep clients from asking a person about every
/// call.
fn listed(tool: Tool) -> Listed {
    let annotations =
        ToolAnnotations::new().read_only(tool.only_looks()).destructive(false).open_world(false);
    Listed::new(tool.name(), tool.description(), tool.arguments()).with_annotations(annotations)
}

/// Sends a tool call to the running herder over its socket and returns the answer; the error is a sentence for the
/// model.
async fn pass_on(key: &Path, tool: &str, arguments: Map<String, Value>) -> Result<Answer, String> {
    let key = read(key)?;
    let call = Call {
        agent: key.agent,
        session: key.session,
        token: key.token,
        tool: bounded(tool, 100).to_owned(),
        arguments,
    };
    let mut line = serde_json::to_vec(&call).map_err(|error| one_line(&error.to_string(), 200))?;
    line.push(b'\n');
    if line.len() as u64 > CALL_MAX {
        return Err("That call is too long.".to_owned());
    }
    let stream = reach(&key.socket).await?;
    // An answer that arrived while this process stood still is one.
    match Running::default().within(ANSWERED_WITHIN, exchange(stream, &line)).await {
        Some(answer) => {
            answer.map_err(|error| lost(tool, &format!("herder went away before it answered ({error})")))
        }
        None => Err(lost(tool, "herder did not answer in time")),
    }
}

/// Formats the error for a tool call that got no answer, for the reason `why`. The call may have been carried out all the
/// same.
fn lost(tool: &str, why: &str) -> String {
    match Tool::named(tool) {
        Some(Tool::Send | Tool::Notify) => format!(
            "{why}. It may have been said all the same: say it again only if twice is better than not at all."
        ),
        Some(_) | None => format!("{why}; try again."),
    }
}

fn read(file: &Path) -> Result<Key, String> {
    let gone = "Your session is over, as far as herder knows; its tools are of no more use.";
    let bytes = std::fs::read(file).map_err(|_| gone.to_owned())?;
    serde_json::from_slice(&bytes).map_err(|_| gone.to_owned())
}

/// Connects to herder's socket, and waits at most `RETURNS_WITHIN` for a herder that is being restarted.
async fn reach(socket: &Path) -> Result<UnixStream, String> {
    let tries = async {
        loop {
            match UnixStream::connect(socket).await {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
                {
                    tokio::time::sleep(AGAIN).await;
                }
                other => return other,
            }
        }
    };
    match tokio::time::timeout(RETURNS_WITHIN, tries).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(format!("herder cannot be reached: {error}.")),
        Err(_) => Err("herder is not there at the moment; go on without it and try again later.".to_owned()),
    }
}

async fn exchange(stream: UnixStream, call: &[u8]) -> io::Result<Answer> {
    let (reader, mut writer) = stream.into_split();
    writer.write_all(call).await?;
    let mut line = Vec::new();
    BufReader::new(reader).take(ANSWER_MAX).read_until(b'\n', &mut line).await?;
    let answer: Answer = serde_json::from_slice(&line)?;
    if !answer.whispers.is_empty() {
        let mut got = serde_json::to_vec(&Got { got: true })?;
        got.push(b'\n');
        writer.write_all(&got).await?;
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_say_again_what_may_have_been_said() {
        let why = "herder did not answer in time";
        for tool in ["irc_send", "notify"] {
            assert!(!lost(tool, why).contains("try again"), "{}", lost(tool, why));
        }
        // The same question has the same number, and a repeated read is harmless.
        for tool in ["irc_ask", "irc_read", "task_done"] {
            assert!(lost(tool, why).ends_with("try again."), "{}", lost(tool, why));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_herder_that_stands_still_may_have_said_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let _stands_still = tokio::net::UnixListener::bind(&socket).expect("bound");
        let agent = crate::core::id::AgentName::new("spark").expect("a name");
        let key = Key {
            socket,
            agent,
            session: crate::core::id::SessionId(1),
            token: "token".to_owned(),
            reviews: false,
            leads: false,
        };
        let file = folder.path().join("key.json");
        std::fs::write(&file, serde_json::to_vec(&key).expect("JSON")).expect("written");
        let said = pass_on(&file, "irc_send", Map::new()).await.map(|answer| answer.text);
        let said = said.expect_err("nobody answers");
        assert!(said.starts_with("herder did not answer in time. It may have been said"), "{said}");
    }
}
