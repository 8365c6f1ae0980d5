//! The clones of tasks as they are listed: each with its size, and with what is in it that is nowhere else.

use crate::commands::desk::Desk;
use crate::commands::say::{Voice, task};
use crate::core::checkout::{Checkout, Held, Stage};
use crate::core::id::{AgentName, WorkId};
use crate::supervisor::View;

/// Returns the lines of `task list` about the clones of these agents' tasks.
pub(super) fn list(desk: &Desk<'_>, views: &[View]) -> Vec<String> {
    let mut lines = Vec::new();
    for view in views {
        let all = view.agent.checkouts.all.iter();
        lines.extend(all.map(|(id, checkout)| line(desk.voice(), &view.name, *id, checkout)));
    }
    desk.first(lines.into_iter())
}

fn line(voice: Voice<'_>, agent: &AgentName, id: WorkId, checkout: &Checkout) -> String {
    let held = checkout.held.clone().unwrap_or_default();
    voice.text(
        "cmd-task-clone",
        &[
            ("task", task(id).into()),
            ("agent", agent.as_str().into()),
            ("branch", checkout.plan.branch.as_str().into()),
            ("size", size(voice, &held).into()),
            ("stage", stage(checkout.stage).into()),
            ("commits", held.nowhere.into()),
            ("files", held.uncommitted.into()),
        ],
    )
}

/// Formats the size of a clone; a question mark stands for one that was not measured yet.
pub(super) fn size(voice: Voice<'_>, held: &Held) -> String {
    match (held.size, held.larger) {
        (0, _) => "?".to_owned(),
        (size, false) => voice.locale.bytes(size),
        (size, true) => format!("> {}", voice.locale.bytes(size)),
    }
}

/// Returns the name of a stage in messages.
pub(super) const fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Planned => "planned",
        Stage::NotMade => "not-made",
        Stage::Made => "made",
        Stage::Removing => "removing",
    }
}
