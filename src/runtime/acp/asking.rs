//! Questions for permission: what the agent's permissions cover is allowed, the rest is answered by its autonomy.

use std::path::{Component, Path};

use serde_json::{Value, json};

use super::wire::{Choice, Params, Update};
use crate::core::spec::{AgentSpec, Permissions};
use crate::runtime::approval::Verdict;
use crate::runtime::protocol::Happening;
use crate::runtime::rpc::{self, Id};
use crate::runtime::text::{LINE_MAX, one_line};

/// Answers `session/request_permission`.
pub(super) fn answer(spec: &AgentSpec, id: &Id, params: &Params<'_>, happened: &mut Vec<Happening>) {
    let nothing = Update::default();
    let call = params.tool_call.0.as_ref().unwrap_or(&nothing);
    let what = one_line(call.title.text().or(call.kind.text()).unwrap_or("a tool"), LINE_MAX);
    let covered = covers(spec.permissions, &spec.workspace, call);
    let verdict = if covered { Verdict::Allow } else { Verdict::of(spec.autonomy) };
    let wanted =
        if verdict.allows() { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
    let chosen = wanted.into_iter().find_map(|kind| option(&params.options.0, kind));
    happened.push(match (verdict, chosen) {
        (Verdict::Allow, Some(_)) => Happening::Note(format!("allowed: {what}")),
        (Verdict::DenyUnasked, _) => Happening::Denied { what },
        (Verdict::Allow | Verdict::Deny, _) => Happening::Note(format!("denied: {what}")),
    });
    let outcome: Value = match chosen {
        Some(option) => json!({ "outcome": "selected", "optionId": option }),
        None => json!({ "outcome": "cancelled" }),
    };
    happened.push(Happening::Reply(rpc::answer(id, &json!({ "outcome": outcome }))));
}

fn option<'a>(options: &'a [Choice<'_>], kind: &str) -> Option<&'a str> {
    options.iter().find(|option| option.kind.text() == Some(kind))?.option_id.text()
}

/// Whether that much may be done without asking.
fn covers(permissions: Permissions, workspace: &Path, call: &Update<'_>) -> bool {
    let inside = || {
        let mut paths = call.locations.0.iter().map(|location| location.path.text()).peekable();
        paths.peek().is_some() && paths.all(|path| path.is_some_and(|path| is_below(path, workspace)))
    };
    match permissions {
        Permissions::Full => true,
        Permissions::WorkspaceWrite => {
            matches!(call.kind.text_or_empty(), "edit" | "move" | "delete") && inside()
        }
        Permissions::ReadOnly => false,
    }
}

fn is_below(path: &str, folder: &Path) -> bool {
    let path = Path::new(path);
    path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir)
}
