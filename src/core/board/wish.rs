//! Commands of people to the board. A refusal stores nothing.

use std::sync::Arc;

use super::{BOARD_MAX, Board, BoardEvent, Boarded, Draft, Place, splittable};
use crate::agent::WORK_TEXT_MAX;
use crate::card::Card;
use crate::dealings::Cut;
use crate::decide::excerpt;
use crate::id::{AgentName, WorkId};
use crate::notice::{Notice, Refusal};
use crate::time::Timestamp;
use crate::work::{Actor, TaskEnd, Work, WorkKind};

/// A command of a person to the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Adds a task.
    Add {
        /// Number for the new task, drawn by the caller.
        id: WorkId,
        /// Text of the task.
        text: String,
        /// Priority and needs of the task, if they are not the default.
        card: Option<Box<Card>>,
        /// The agent that the task is for; `None`: the next idle agent that meets the task's needs.
        to: Option<AgentName>,
        /// True if any agent, idle or not, meets the task's needs; the reply says so.
        fits: bool,
    },
    /// Assigns a task of the board to an agent; `None`: to the next idle agent that meets the task's needs.
    Assign {
        /// Number of the task.
        task: WorkId,
        /// The agent that gets it.
        to: Option<AgentName>,
    },
    /// Replaces the text of a task that is not handed over yet.
    Reword {
        /// Number of the task.
        task: WorkId,
        /// New text of the task.
        text: String,
    },
    /// Cancels a task of the board and its parts.
    Cancel(WorkId),
    /// Splits a task of the board.
    Split {
        /// Number of the task.
        task: WorkId,
        /// The parts to split it into.
        cuts: Vec<Cut>,
    },
}

impl Board {
    /// Decides a person's command.
    ///
    /// # Errors
    /// A refusal in the user's terms.
    pub fn wish(
        &self,
        wish: &Wish,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(Vec<BoardEvent>, Notice), Refusal> {
        let mut draft = Draft::new(self, now);
        let reply = match wish {
            Wish::Add { id, text, card, to, fits } => {
                room(self, 1)?;
                fitting(text)?;
                let (id, text, card) = (*id, text.clone(), card.clone());
                let work =
                    Work { id, kind: WorkKind::Task, text, by: by.clone(), at: now, attempts: 0, card };
                let after: Vec<WorkId> = work.card().awaited().collect();
                draft.record(BoardEvent::Added { work: Arc::new(work) });
                if to.is_some() {
                    let (to, by) = (to.clone(), by.clone());
                    draft.record(BoardEvent::Directed { task: id, to, by });
                }
                for task in &after {
                    if let Some(ended) = self.finished.iter().rev().find(|ended| ended.work.id == *task) {
                        draft.over(*task, ended.end);
                    }
                }
                if after.is_empty() {
                    Notice::Boarded { task: id, fits: *fits }
                } else {
                    Notice::TaskWaits { task: id, after, to: to.clone(), fits: *fits }
                }
            }
            Wish::Assign { task, to } => {
                let (task, to, by) = (*task, to.clone(), by.clone());
                if self.can_be_reopened(task) {
                    room(self, 1)?;
                    draft.record(BoardEvent::Reopened { task, to: to.clone(), by });
                } else {
                    not_review(&self.waiting(task)?.0.work)?;
                    draft.record(BoardEvent::Directed { task, to: to.clone(), by });
                }
                Notice::TaskMoved { task, from: None, to }
            }
            Wish::Reword { task, text } => {
                let task = *task;
                not_review(&self.waiting(task)?.0.work)?;
                fitting(text)?;
                draft.record(BoardEvent::Reworded { task, text: text.clone(), by: by.clone() });
                Notice::BoardReworded { task, work: excerpt(text) }
            }
            Wish::Cancel(task) => cancel(&mut draft, *task, by)?,
            Wish::Split { task, cuts } => {
                room(self, cuts.len())?;
                let (boarded, to) = self.waiting(*task)?;
                splittable(&boarded.work, cuts)?;
                for cut in cuts {
                    fitting(&cut.text)?;
                }
                not_review(&boarded.work)?;
                let parts = parts_of(&boarded.work, cuts, by, now);
                draft.record(BoardEvent::Split { task: *task, parts, to: to.cloned(), by: by.clone() });
                draft.end_lead(*task, by);
                Notice::TaskSplit { task: *task, parts: cuts.iter().map(|cut| cut.id).collect() }
            }
        };
        Ok((draft.events, reply))
    }

    /// Returns a task that waits on the board, and the agent that it is assigned to.
    fn waiting(&self, task: WorkId) -> Result<(&Boarded, Option<&AgentName>), Refusal> {
        let Some(boarded) = self.tasks.get(&task) else { return Err(self.unknown(task)) };
        match &boarded.place {
            Place::Queued { to } => Ok((boarded, to.as_ref())),
            Place::Offered { .. } => Err(Refusal::TaskMoving { task }),
            Place::Split { .. } => Err(Refusal::TaskIsSplit { task }),
        }
    }

    /// Returns true if the task is a cancelled part of a split task that is still open.
    fn can_be_reopened(&self, task: WorkId) -> bool {
        let mut over = self.finished.iter().filter(|finished| finished.end == TaskEnd::Cancelled);
        let ended = over.find(|finished| finished.work.id == task);
        let parent = ended.and_then(|ended| ended.work.card().parent);
        let whole = parent.and_then(|parent| self.tasks.get(&parent));
        let led = parent.and_then(|parent| self.leads.get(&parent));
        whole.is_some_and(|whole| matches!(whole.place, Place::Split { cancelled: None, .. }))
            || led.is_some_and(|led| led.ending.is_none())
    }

    fn unknown(&self, task: WorkId) -> Refusal {
        match self.finished.iter().rev().find(|finished| finished.work.id == task) {
            Some(finished) => Refusal::TaskOver { task, end: finished.end },
            None => Refusal::NoSuchTask { task },
        }
    }
}

fn room(board: &Board, tasks: usize) -> Result<(), Refusal> {
    if board.tasks.len().saturating_add(tasks) > BOARD_MAX {
        return Err(Refusal::BoardFull { max: BOARD_MAX as u32 });
    }
    Ok(())
}

/// Checks that a task is no review, which is as it was asked for.
fn not_review(work: &Work) -> Result<(), Refusal> {
    if work.card().review.is_some() { Err(Refusal::IsReview { task: work.id }) } else { Ok(()) }
}

fn fitting(text: &str) -> Result<(), Refusal> {
    if text.len() > WORK_TEXT_MAX {
        return Err(Refusal::WorkTooLong { bytes: text.len() as u64, max: WORK_TEXT_MAX as u64 });
    }
    Ok(())
}

/// Returns the parts of a task as tasks of their own. Those of a part that an agent has added are its, too.
pub(super) fn parts_of(work: &Work, cuts: &[Cut], by: &Actor, now: Timestamp) -> Vec<Arc<Work>> {
    let part = |cut: &Cut| Work {
        id: cut.id,
        kind: WorkKind::Task,
        text: cut.text.clone(),
        by: if work.by.is_agent() { work.by.clone() } else { by.clone() },
        at: now,
        attempts: 0,
        card: Some(Box::new(work.card().of_part(work.id))),
    };
    cuts.iter().map(part).map(Arc::new).collect()
}

/// Cancels a task: at once, or when those of its parts that agents have are ended.
fn cancel(draft: &mut Draft, task: WorkId, by: &Actor) -> Result<Notice, Refusal> {
    let Some(boarded) = draft.board.tasks.get(&task) else { return Err(draft.board.unknown(task)) };
    match &boarded.place {
        Place::Offered { .. } => return Err(Refusal::TaskMoving { task }),
        Place::Queued { .. } => draft.end(task, TaskEnd::Cancelled, Some(by.clone())),
        Place::Split { cancelled: Some(_), .. } => {
            return Err(Refusal::TaskOver { task, end: TaskEnd::Cancelled });
        }
        Place::Split { .. } => cancel_parts(draft, task, by),
    }
    let open = draft.board.parts(task).iter().filter(|part| part.end.is_none()).count();
    Ok(Notice::BoardCancelled { task, parts: u32::try_from(open).unwrap_or(u32::MAX) })
}

/// Cancels a split task. Parts on the board end with it; parts that agents have are cancelled there.
pub(super) fn cancel_parts(draft: &mut Draft, task: WorkId, by: &Actor) {
    draft.record(BoardEvent::Cancelling { task, by: by.clone() });
    let parts: Vec<WorkId> = draft.board.parts(task).iter().map(|part| part.id).collect();
    for part in parts {
        match draft.board.tasks.get(&part).map(|boarded| &boarded.place) {
            Some(Place::Queued { .. }) => draft.end(part, TaskEnd::Cancelled, Some(by.clone())),
            Some(Place::Split { cancelled: None, .. }) => cancel_parts(draft, part, by),
            Some(Place::Split { .. } | Place::Offered { .. }) | None => {}
        }
    }
    draft.settle(task);
}
