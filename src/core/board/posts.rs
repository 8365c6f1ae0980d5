//! Posts about the board's events, made from the board's state right after the event was applied.

use super::{Board, BoardEvent};
use crate::id::WorkId;
use crate::notice::{Audience, Notice};
use crate::work::TaskEnd;
use crate::{Owed, OwedBody};

impl Board {
    /// Returns the chat posts that an event of the board causes.
    #[must_use]
    pub fn posts(&self, event: &BoardEvent) -> Vec<Owed> {
        match event {
            BoardEvent::Added { work }
            | BoardEvent::Taken { work, .. }
            | BoardEvent::PartAdded { work, .. }
            | BoardEvent::ReviewAsked { work, .. } => {
                vec![line(format!("TASK {} queued", work.id))]
            }
            BoardEvent::Split { task, parts, .. } => {
                let parts: Vec<String> = parts.iter().map(|part| part.id.to_string()).collect();
                vec![line(format!("TASK {task} split {}", parts.join(" ")))]
            }
            BoardEvent::Ended { task, end: TaskEnd::Done, .. } => vec![line(format!("DONE {task}"))],
            BoardEvent::Ended { task, end, .. } => {
                let mut owed = vec![line(format!("TASK {task} cancelled"))];
                let ended = self.finished.iter().rev().find(|finished| finished.work.id == *task);
                if let Some(parent) = ended.and_then(|ended| ended.work.card().parent) {
                    owed.extend(self.blocked(parent, *task, *end));
                }
                owed
            }
            BoardEvent::Reopened { task, .. } => vec![line(format!("TASK {task} queued"))],
            BoardEvent::PartOver { part, parent, end, .. } if *end != TaskEnd::Done => {
                self.blocked(*parent, *part, *end)
            }
            BoardEvent::AwaitedOver { task, awaited, end }
                if *end != TaskEnd::Done && !self.waits_with_its_whole(*task, *awaited) =>
            {
                let notice = Notice::AwaitedNotDone { task: *task, awaited: *awaited, end: *end };
                vec![
                    line(format!("BLOCKED {task} after-failed")),
                    Owed { audience: Audience::Alerts, body: OwedBody::Notice(notice) },
                ]
            }
            BoardEvent::PartOver { .. }
            | BoardEvent::Reviewed { .. }
            | BoardEvent::ReviewGivenUp { .. }
            | BoardEvent::ReviewClosed { .. }
            | BoardEvent::AwaitedOver { .. }
            | BoardEvent::Directed { .. }
            | BoardEvent::Reworded { .. }
            | BoardEvent::Offered { .. }
            | BoardEvent::Accepted { .. }
            | BoardEvent::Returned { .. }
            | BoardEvent::PartCancelled { .. }
            | BoardEvent::LeadEnding { .. }
            | BoardEvent::LeadClosed { .. }
            | BoardEvent::Cancelling { .. } => Vec::new(),
        }
    }

    /// Returns true if a task is a part of one that waits for the same task, which people are told of alone, or a part
    /// whose lead is told.
    fn waits_with_its_whole(&self, task: WorkId, awaited: WorkId) -> bool {
        let Some(boarded) = self.tasks.get(&task) else { return false };
        let whole = boarded.work.card().parent.and_then(|parent| self.tasks.get(&parent));
        self.is_led(&boarded.work)
            || whole.is_some_and(|whole| whole.work.card().awaited().any(|task| task == awaited))
    }

    /// Returns the posts about a part of `parent` that failed. Only the first failed part of a task is posted, as it
    /// blocks the task already.
    fn blocked(&self, parent: WorkId, part: WorkId, end: TaskEnd) -> Vec<Owed> {
        let wrong = self.parts(parent).iter().filter(|part| part.end.is_some_and(|end| end != TaskEnd::Done));
        let first = wrong.count() == 1;
        let blocked = self.tasks.get(&parent).and_then(|boarded| boarded.blocked_by());
        if !first || blocked.is_none() {
            return Vec::new();
        }
        let notice = Notice::PartFailed { task: parent, part, end };
        vec![
            line(format!("BLOCKED {parent} part-failed")),
            Owed { audience: Audience::Alerts, body: OwedBody::Notice(notice) },
        ]
    }
}

fn line(line: String) -> Owed {
    Owed { audience: Audience::Work, body: OwedBody::Notice(Notice::WorkLine { line }) }
}
