//! What people and machines are told of the board, given the board right after the event was applied.

use super::{Board, BoardEvent};
use crate::core::notice::{Audience, Notice};
use crate::core::work::TaskEnd;
use crate::core::{Owed, OwedBody};

impl Board {
    /// What an event owes.
    #[must_use]
    pub fn posts(&self, event: &BoardEvent) -> Vec<Owed> {
        match event {
            BoardEvent::Added { work } | BoardEvent::Taken { work, .. } => {
                vec![line(format!("TASK {} queued", work.id))]
            }
            BoardEvent::Split { task, parts, .. } => {
                let parts: Vec<String> = parts.iter().map(|part| part.id.to_string()).collect();
                vec![line(format!("TASK {task} split {}", parts.join(" ")))]
            }
            BoardEvent::Ended { task, end: TaskEnd::Done, .. } => vec![line(format!("DONE {task}"))],
            BoardEvent::Ended { task, .. } => vec![line(format!("TASK {task} cancelled"))],
            BoardEvent::PartOver { part, parent, end, .. } if *end != TaskEnd::Done => {
                // The first part that goes wrong is the one that the whole is blocked by.
                let wrong = self
                    .parts(*parent)
                    .iter()
                    .filter(|part| part.end.is_some_and(|end| end != TaskEnd::Done));
                let first = wrong.count() == 1;
                let blocked = self.tasks.get(parent).and_then(|boarded| boarded.blocked_by());
                if !first || blocked.is_none() {
                    return Vec::new();
                }
                let notice = Notice::PartFailed { task: *parent, part: *part, end: *end };
                vec![
                    line(format!("BLOCKED {parent} part-failed")),
                    Owed { audience: Audience::Alerts, body: OwedBody::Notice(notice) },
                ]
            }
            BoardEvent::PartOver { .. }
            | BoardEvent::Directed { .. }
            | BoardEvent::Offered { .. }
            | BoardEvent::Accepted { .. }
            | BoardEvent::Returned { .. }
            | BoardEvent::Cancelling { .. } => Vec::new(),
        }
    }
}

fn line(line: String) -> Owed {
    Owed { audience: Audience::Work, body: OwedBody::Notice(Notice::WorkLine { line }) }
}
