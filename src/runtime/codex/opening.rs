//! The parameters of a new or resumed conversation: model, folder, permissions, and instructions.

use serde_json::{Value, json};

use std::collections::BTreeMap;

use super::QUIET;
use crate::core::spec::Permissions;
use crate::core::tools::SERVER;
use crate::runtime::{Launch, Local, Picture};

/// The parameters for opening a conversation, new or resumed.
#[derive(Debug)]
pub(super) struct Opening {
    parameters: Value,
    /// Id of the conversation to resume; `None` once that was tried.
    conversation: Option<String>,
}

impl Opening {
    /// Returns the parameters for the conversations of the session that `launch` describes.
    pub(super) fn of(launch: &Launch, local: &Local) -> Self {
        let spec = &launch.spec;
        let mut parameters = json!({
            "cwd": spec.workspace,
            // With a sandbox, the agent asks for everything beyond it, so that the requests are answered and visible.
            // Without one, it asks for every command that is not known to be read-only, so that commands that are
            // always asked about can be detected. With a sandbox they cannot: a command that was allowed and then
            // stopped by the sandbox runs again without it, and without another question.
            "approvalPolicy": match spec.permissions {
                Permissions::ReadOnly | Permissions::Plan | Permissions::WorkspaceWrite => "on-request",
                Permissions::Full => "untrusted",
            },
            "sandbox": match spec.permissions {
                // While it plans nothing is written.
                Permissions::ReadOnly | Permissions::Plan => "read-only",
                Permissions::WorkspaceWrite => "workspace-write",
                Permissions::Full => "danger-full-access",
            },
            // Without this, an unreachable server would be retried forever, in silence. The second setting lets the
            // model ask people.
            "config": { "features": {
                "unbounded_connection_retries": false, "default_mode_request_user_input": true,
            } },
        });
        if !spec.model.is_empty() {
            parameters["model"] = json!(spec.model);
        }
        if !spec.instructions.trim().is_empty() {
            parameters["developerInstructions"] = json!(spec.instructions);
        }
        if let Some(access) = &local.tools {
            // Added to the user's own servers for this conversation only, and used without a question.
            parameters["config"]["mcp_servers"] = json!({ SERVER: {
                "command": access.program, "args": ["mcp"],
                "env": BTreeMap::from(access.environment(&launch.marker)),
                "default_tools_approval_mode": "approve",
            } });
        }
        Self { parameters, conversation: launch.conversation.clone() }
    }

    /// Returns the method and the parameters of the next request to open a conversation, and true if it resumes an
    /// earlier one.
    pub(super) fn next(&mut self) -> (&'static str, Value, bool) {
        let mut parameters = self.parameters.clone();
        match self.conversation.take() {
            Some(conversation) => {
                parameters["threadId"] = json!(conversation);
                parameters["excludeTurns"] = json!(true);
                ("thread/resume", parameters, true)
            }
            None => ("thread/start", parameters, false),
        }
    }
}

/// Yields those of [`QUIET`] that `command` does not set itself.
pub(super) fn quiet(command: &[String]) -> impl Iterator<Item = &'static str> {
    QUIET.into_iter().filter(|setting| {
        let name = setting.split_once('=').map_or(*setting, |(name, _)| name);
        !command.iter().any(|argument| argument.contains(name))
    })
}

/// Returns the input of a turn: pictures by the paths of their files, and the text.
pub(super) fn input(text: &str, pictures: Vec<Picture>) -> Vec<Value> {
    let shown = pictures.into_iter().filter_map(|picture| picture.path);
    let shown = shown.map(|path| json!({ "type": "localImage", "path": path }));
    shown.chain([json!({ "type": "text", "text": text })]).collect()
}
