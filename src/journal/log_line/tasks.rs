//! Lines about tasks: their clones, checks, reviews and merges, and the board.

use super::{LogLine, told, word};
use crate::core::board::BoardEvent;
use crate::core::checkout::{Act, CheckoutEvent};
use crate::core::id::{AgentName, WorkId};
use crate::core::review::Back;

/// Returns the log line of an event about the clone of a task, if it has one.
pub(super) fn checkout_line(event: &CheckoutEvent) -> Option<LogLine> {
    let line = match event {
        CheckoutEvent::Made { task, .. } => LogLine::new("a task has a clone").task(*task),
        CheckoutEvent::Removing { task, by } => {
            LogLine::new("the clone of a task is to be removed").task(*task).by(by)
        }
        CheckoutEvent::Removed { task } => LogLine::new("the clone of a task is removed").task(*task),
        CheckoutEvent::Checking { task, .. } => LogLine::new("the agent calls a task done").task(*task),
        CheckoutEvent::Checked { task, evidence: Some(evidence) } if evidence.is_green() => {
            LogLine::new(told("the check of a task passed", &evidence.command)).task(*task)
        }
        CheckoutEvent::Checked { task, evidence: Some(evidence) } => {
            let (command, why) = (&evidence.command, evidence.why());
            LogLine::warning(format!("the check of a task failed: {command}: {why}")).task(*task)
        }
        CheckoutEvent::SentBack { task, back } | CheckoutEvent::Returned { task, back } => {
            returned(back).task(*task)
        }
        CheckoutEvent::InReview { task, asked: Some(asked), .. } => {
            LogLine::new(format!("a task is in review by {asked}")).task(*task)
        }
        CheckoutEvent::InReview { task, asked: None, .. } => LogLine::new("a task is in review").task(*task),
        CheckoutEvent::LeftToPerson { task, why } => {
            // An agent's words are not logged.
            let why = why.own.as_ref().map(ToString::to_string).unwrap_or_default();
            LogLine::warning(told("a person is to decide about a task", &why)).task(*task)
        }
        CheckoutEvent::Accepted { task, by } => LogLine::new("a task is accepted").task(*task).by(by),
        CheckoutEvent::Proposed { task, pull } => {
            LogLine::new(format!("a task has a pull request: {}", pull.link)).task(*task)
        }
        CheckoutEvent::Heard { task, news } => {
            LogLine::new(told("a pull request has news", &news.from())).task(*task)
        }
        CheckoutEvent::Landed { task, landed } => {
            LogLine::new(format!("a task is merged: {} is at {}", landed.branch, landed.commit)).task(*task)
        }
        CheckoutEvent::Failed { task, act, why } => failed(*task, *act, &why.to_string()),
        CheckoutEvent::Opened { task, by } => {
            LogLine::new("messages to the agent belong to this task from now on").task(*task).by(by)
        }
        CheckoutEvent::Planned { .. }
        | CheckoutEvent::Reading { .. }
        | CheckoutEvent::Read { .. }
        | CheckoutEvent::Checked { evidence: None, .. } => return None,
    };
    Some(line)
}

/// Returns the line of work that goes back to its agent. A person's words are not logged.
fn returned(back: &Back) -> LogLine {
    match back {
        Back::Rejected { by, .. } => LogLine::new("a task is rejected and goes back to the agent").by(by),
        Back::Uncommitted { .. } | Back::Conflict { .. } | Back::Red { .. } | Back::Outside { .. } => {
            LogLine::new(told("a task goes back to the agent", &back.why().to_string()))
        }
    }
}

fn failed(task: WorkId, act: Act, why: &str) -> LogLine {
    let message = match act {
        Act::Make => "the clone of a task could not be made",
        Act::Read => "the clone of a task could not be read",
        Act::Remove => "the clone of a task could not be removed",
        Act::Check => "the check of a task could not be run",
        Act::Merge => "a task could not be merged",
    };
    LogLine::warning(told(message, why)).task(task)
}

/// Returns the log line of an event of the board, if it has one; an agent's dealings with a task are in the agent's own
/// stream.
pub(super) fn board_line(event: &BoardEvent) -> Option<LogLine> {
    let whom = |to: &Option<AgentName>| {
        to.as_ref().map_or_else(|| "the next idle agent".to_owned(), ToString::to_string)
    };
    let line = match event {
        BoardEvent::Added { work } => LogLine::new("task added to the board").task(work.id).by(&work.by),
        BoardEvent::Directed { task, to, by } => {
            LogLine::new(format!("task is for {}", whom(to))).task(*task).by(by)
        }
        BoardEvent::Offered { task, to, .. } => LogLine::new(format!("task offered to {to}")).task(*task),
        BoardEvent::Split { task, parts, by, .. } => {
            LogLine::new(format!("task split into {} parts", parts.len())).task(*task).by(by)
        }
        BoardEvent::Reopened { task, by, .. } => LogLine::new("task is tried anew").task(*task).by(by),
        BoardEvent::Cancelling { task, by } => {
            LogLine::new("task cancelled, its parts end first").task(*task).by(by)
        }
        BoardEvent::Ended { task, end, by } => {
            let line = LogLine::new(format!("task {}", word(end))).task(*task);
            by.as_ref().map_or(line.clone(), |by| line.by(by))
        }
        BoardEvent::AwaitedOver { task, awaited, end } => {
            LogLine::new(format!("task {awaited}, which is waited for, is {}", word(end))).task(*task)
        }
        BoardEvent::Taken { agent, work, by, .. } => {
            LogLine::new(format!("task handed back by {agent}")).task(work.id).by(by)
        }
        BoardEvent::Reworded { task, by, .. } => LogLine::new("text of the task replaced").task(*task).by(by),
        BoardEvent::ReviewAsked { work, to } => {
            LogLine::new(format!("{to} is asked to review another agent's task")).task(work.id)
        }
        BoardEvent::Reviewed { work, agent, opinion, .. } => {
            let verdict = match opinion {
                Some(opinion) if opinion.accepts => "accepts",
                Some(_) => "rejects",
                None => "has no verdict on",
            };
            LogLine::new(format!("{agent} {verdict} what it reviews")).task(*work)
        }
        BoardEvent::ReviewGivenUp { task } => {
            LogLine::new("the review does not go on, a person is called").task(*task)
        }
        BoardEvent::PartAdded { agent, work, .. } => {
            LogLine::new(format!("{agent} adds a part to its task")).task(work.id)
        }
        BoardEvent::PartCancelled { part, by, .. } => {
            LogLine::new("part cancelled by its lead").task(*part).by(by)
        }
        BoardEvent::LeadEnding { task, by } => {
            LogLine::new("task is over, its open parts are cancelled").task(*task).by(by)
        }
        BoardEvent::Accepted { .. }
        | BoardEvent::LeadClosed { .. }
        | BoardEvent::Returned { .. }
        | BoardEvent::PartOver { .. }
        | BoardEvent::ReviewClosed { .. } => return None,
    };
    Some(line)
}
