//! What a conversation is opened with: the model, the folder, what is allowed, and standing instructions.

use serde_json::{Value, json};

use std::collections::BTreeMap;

use crate::core::spec::Permissions;
use crate::runtime::Launch;
use crate::tools::SERVER;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Opening {
    parameters: Value,
    /// One to go on with, until it was tried.
    conversation: Option<String>,
}

impl Opening {
    /// What this agent's conversations are opened with.
    pub(super) fn of(launch: &Launch) -> Self {
        let spec = &launch.spec;
        let mut parameters = json!({
            "cwd": spec.workspace,
            // Whatever goes beyond the sandbox is asked for, so that it is answered and seen; without a sandbox everything is
            // that is not known to only look, so that what is always asked can be told apart. With one that cannot be: a
            // command that was allowed and that the sandbox then stops is run again without it, unasked.
            "approvalPolicy": match spec.permissions {
                Permissions::ReadOnly | Permissions::Plan | Permissions::WorkspaceWrite => "on-request",
                Permissions::Full => "untrusted",
            },
            "sandbox": match spec.permissions {
                // It has no way to have a plan approved: nothing is written.
                Permissions::ReadOnly | Permissions::Plan => "read-only",
                Permissions::WorkspaceWrite => "workspace-write",
                Permissions::Full => "danger-full-access",
            },
            // A server that is not there would be tried for ever, in silence; what the model asks people reaches them.
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
        if let Some(access) = &launch.tools {
            // Beside the user's own servers, for this conversation alone; used without a question.
            parameters["config"]["mcp_servers"] = json!({ SERVER: {
                "command": access.program, "args": ["mcp"],
                "env": BTreeMap::from(access.environment(&launch.marker)),
                "default_tools_approval_mode": "approve",
            } });
        }
        Self { parameters, conversation: launch.conversation.clone() }
    }

    /// The next request to try, and whether it goes on with an earlier conversation.
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
