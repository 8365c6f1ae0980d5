//! Messages about tasks that move or are split.

use super::{Message, say};
use crate::core::id::{AgentName, WorkId};

/// Selects the Fluent message about a task that moves between agents or the board; `None` stands for the board.
pub(super) fn moved<'a>(task: WorkId, from: Option<&'a AgentName>, to: Option<&'a AgentName>) -> Message<'a> {
    let task = ("task", task.to_string().into());
    match (from, to) {
        (Some(from), Some(to)) => say("notice-task-moved", [task, ("from", from.into()), ("to", to.into())]),
        (Some(from), None) => say("notice-task-moved-from", [task, ("from", from.into())]),
        (None, Some(to)) => say("notice-task-moved-to", [task, ("to", to.into())]),
        (None, None) => say("notice-task-moved-to-next", [task]),
    }
}

/// Selects the Fluent message about a task that is split into parts.
pub(super) fn split<'a>(task: WorkId, parts: &[WorkId]) -> Message<'a> {
    say("notice-task-split", [("task", task.to_string().into()), ("parts", numbers(parts).into())])
}

/// Selects the Fluent message about a new task that waits until others are done.
pub(super) fn waits<'a>(
    task: WorkId,
    after: &[WorkId],
    to: Option<&'a AgentName>,
    fits: bool,
) -> Message<'a> {
    let then = if to.is_some() {
        "agent"
    } else if fits {
        "next"
    } else {
        "nobody"
    };
    let agent = to.map_or_else(|| "".into(), Into::into);
    let (task, after) = (("task", task.to_string().into()), ("after", numbers(after).into()));
    say("notice-task-waits", [task, after, ("then", then.into()), ("agent", agent)])
}

fn numbers(tasks: &[WorkId]) -> String {
    tasks.iter().map(WorkId::to_string).collect::<Vec<_>>().join(", ")
}
