//! The command line of Claude Code for an agent's session.

use std::collections::BTreeMap;

use serde_json::json;

use super::asking;
use crate::core::spec::{AgentSpec, Permissions};
use crate::core::tools::SERVER;
use crate::runtime::Access;
use crate::runtime::text::bounded;

/// Option by which the CLI passes on the API's own stream events: only the last event of a message has all tokens that
/// the message used.
const PARTIAL: &str = "--include-partial-messages";

/// Maximum length of the instructions, in bytes: they are one argument of the command line, which has at most 128 KiB.
const INSTRUCTIONS_MAX: usize = 100 * 1024;

/// Returns the CLI's arguments for an agent's session.
pub(super) fn arguments_of(spec: &AgentSpec, conversation: Option<&str>) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", PARTIAL]
            .map(str::to_owned)
            .to_vec();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    if !spec.model.is_empty() {
        option("--model", spec.model.clone());
    }
    if spec.max_turns > 0 {
        option("--max-turns", spec.max_turns.to_string());
    }
    if spec.max_budget_usd > 0.0 {
        option("--max-budget-usd", spec.max_budget_usd.to_string());
    }
    let instructions = spec.instructions.replace('\0', "");
    if !instructions.trim().is_empty() {
        option("--append-system-prompt", bounded(&instructions, INSTRUCTIONS_MAX).to_owned());
    }
    if spec.permissions == Permissions::ReadOnly {
        // Whatever else would write is asked about.
        option("--disallowedTools", "Edit,MultiEdit,Write,NotebookEdit".to_owned());
    }
    let planned = (spec.permissions == Permissions::Plan).then_some("plan");
    option("--permission-mode", planned.unwrap_or(asking::mode(spec.permissions)).to_owned());
    option("--permission-prompt-tool", "stdio".to_owned());
    if !spec.command.iter().any(|argument| argument.starts_with("--settings")) {
        let settings = serde_json::json!({ "permissions": { "ask": asking::rules(spec.permissions) } });
        option("--settings", settings.to_string());
    }
    if let Some(conversation) = conversation {
        option("--resume", conversation.to_owned());
    }
    arguments
}

/// Returns the arguments that add herder's tool server to the user's own servers: its tools are offered to the model
/// from the start, and need no permission.
pub(super) fn tool_server(access: &Access, marker: &str) -> [String; 4] {
    let server = json!({
        "type": "stdio", "command": access.program, "args": ["mcp"],
        "env": BTreeMap::from(access.environment(marker)), "alwaysLoad": true,
    });
    let config = json!({ "mcpServers": { SERVER: server } }).to_string();
    ["--mcp-config".to_owned(), config, "--allowedTools".to_owned(), format!("mcp__{SERVER}")]
}
