//! Work that begins with a plan: codex has a mode for it, in which its answer is one, and a turn of its own carries it out.

use serde_json::{Value, json};

use crate::core::ask::Told;
use crate::core::cut::both_ends;
use crate::core::spec::Permissions;
use crate::runtime::approval::{PLAN_APPROVED, PLAN_REFUSED, UNANSWERED, not_approved};
use crate::runtime::text::RAW_MAX;

/// The mode of the next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It plans, and what it proposes is shown to people.
    Plans,
    /// It plans no more, and does nothing either: nobody has approved anything.
    Rests,
    /// It carries out what was approved.
    Works,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Planning {
    mode: Mode,
    proposed: Option<String>,
}

impl Planning {
    /// Creates the state for an agent with these permissions; `None` if it works without a plan.
    pub(super) fn of(permissions: Permissions) -> Option<Self> {
        (permissions == Permissions::Plan).then_some(Self { mode: Mode::Plans, proposed: None })
    }

    /// Sets the mode of a turn, in the request for it.
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

    /// The turn has come to this plan.
    pub(super) fn proposes(&mut self, plan: &str) {
        let wanted = self.mode == Mode::Plans && !plan.trim().is_empty();
        self.proposed = wanted.then(|| both_ends(plan.trim(), RAW_MAX));
    }

    /// The plan that the turn which is over has come to.
    pub(super) fn proposed(&mut self) -> Option<String> {
        self.proposed.take()
    }

    /// The prompt of the next turn, by what people say of the plan.
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
