//! Work of codex that begins with a plan: a turn in codex's own plan mode, whose answer people approve, and then a turn
//! that carries the plan out.

use serde_json::{Value, json};

use crate::core::ask::Told;
use crate::core::cut::both_ends;
use crate::core::spec::Permissions;
use crate::runtime::approval::{PLAN_APPROVED, PLAN_REFUSED, UNANSWERED, not_approved};
use crate::runtime::text::RAW_MAX;

/// The mode of the next turn, in a session whose work begins with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The agent plans; its answer is shown to people for approval.
    Plans,
    /// The agent neither plans nor works any more, because people have not approved its plan.
    Rests,
    /// The agent carries out the approved plan.
    Works,
}

/// State of a session whose work begins with a plan that people approve: the mode, and the latest plan.
#[derive(Debug)]
pub(super) struct Planning {
    mode: Mode,
    proposed: Option<String>,
}

impl Planning {
    /// Creates the state if the permissions require a plan; `None` if the agent works without one.
    pub(super) fn of(permissions: Permissions) -> Option<Self> {
        (permissions == Permissions::Plan).then_some(Self { mode: Mode::Plans, proposed: None })
    }

    /// Sets the mode and the sandbox of the next turn in the request for it.
    pub(super) fn set(&self, model: &str, parameters: &mut Value) {
        let mode = if self.mode == Mode::Works { "default" } else { "plan" };
        let settings = json!({ "model": model, "reasoning_effort": null, "developer_instructions": null });
        parameters["collaborationMode"] = json!({ "mode": mode, "settings": settings });
        parameters["sandboxPolicy"] = if self.mode == Mode::Works {
            json!({
                "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
                "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
            })
        } else {
            json!({ "type": "readOnly", "networkAccess": false })
        };
    }

    /// Keeps the plan that the running turn has come to, if the agent is planning.
    pub(super) fn proposes(&mut self, plan: &str) {
        let wanted = self.mode == Mode::Plans && !plan.trim().is_empty();
        self.proposed = wanted.then(|| both_ends(plan.trim(), RAW_MAX));
    }

    /// Takes the plan that the turn has come to, when the turn is over; `None` if there is none.
    pub(super) fn proposed(&mut self) -> Option<String> {
        self.proposed.take()
    }

    /// Sets the mode by people's answer to the plan, and returns the prompt of the next turn.
    pub(super) fn answered(&mut self, told: &Told) -> String {
        let (mode, prompt) = match told {
            Told::Yes => (Mode::Works, PLAN_APPROVED.to_owned()),
            Told::Words(words) => (Mode::Plans, not_approved(&words.join("\n"))),
            Told::No => (Mode::Rests, PLAN_REFUSED.to_owned()),
            Told::Nobody => (Mode::Rests, UNANSWERED.to_owned()),
        };
        self.mode = mode;
        prompt
    }
}
