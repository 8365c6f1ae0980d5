//! Events of the task board.

use super::{say, task};
use crate::commands::say::Voice;
use crate::core::board::BoardEvent;
use crate::core::id::AgentName;
use crate::core::review::Opinion;

/// Formats one event of the task board as a line of `history`.
pub(super) fn event(voice: Voice<'_>, event: &BoardEvent) -> String {
    let next = |to: &Option<AgentName>| to.as_ref().map(AgentName::to_string).unwrap_or_default();
    match event {
        BoardEvent::Added { work } => say(voice, "board-added", task(work.id), Some(&work.by), &work.text),
        BoardEvent::Taken { work, agent, by, .. } => {
            say(voice, "board-taken", format!("{} {agent}", task(work.id)), Some(by), "")
        }
        BoardEvent::Directed { task: id, to, by } => {
            say(voice, "board-directed", task(*id), Some(by), &next(to))
        }
        BoardEvent::Reworded { task: id, text, by } => say(voice, "reworded", task(*id), Some(by), text),
        BoardEvent::Offered { task: id, to, .. } => say(voice, "board-offered", task(*id), None, to.as_str()),
        BoardEvent::Accepted { task: id, .. } => say(voice, "board-accepted", task(*id), None, ""),
        BoardEvent::Returned { task: id, .. } => say(voice, "board-returned", task(*id), None, ""),
        BoardEvent::Split { task: id, parts, by, .. } => {
            let parts: Vec<String> = parts.iter().map(|part| task(part.id)).collect();
            say(voice, "board-split", task(*id), Some(by), &parts.join(", "))
        }
        BoardEvent::PartOver { part, end, .. } => {
            let what = format!("{} {}", task(*part), voice.locale.task_end(*end));
            say(voice, "board-part-over", what, None, "")
        }
        BoardEvent::AwaitedOver { task: id, awaited, end } => {
            let what = format!("{} {}", task(*awaited), voice.locale.task_end(*end));
            say(voice, "board-awaited-over", task(*id), None, &what)
        }
        BoardEvent::ReviewAsked { work, to } => {
            say(voice, "board-review-asked", task(work.id), None, to.as_str())
        }
        BoardEvent::Reviewed { work, agent, opinion, .. } => {
            let (what, words) = match opinion {
                Some(Opinion { accepts: true, words }) => ("board-review-accepted", words.as_str()),
                Some(Opinion { words, .. }) => ("board-review-rejected", words.as_str()),
                None => ("board-review-ended", ""),
            };
            say(voice, what, format!("{} {agent}", task(*work)), None, words)
        }
        BoardEvent::ReviewGivenUp { task: id } => say(voice, "board-review-given-up", task(*id), None, ""),
        BoardEvent::ReviewClosed { task: id } => say(voice, "board-review-closed", task(*id), None, ""),
        BoardEvent::PartAdded { work, agent, .. } => {
            say(voice, "board-part-added", format!("{} {agent}", task(work.id)), None, &work.text)
        }
        BoardEvent::PartCancelled { part, by, .. } => {
            say(voice, "board-part-cancelled", task(*part), Some(by), "")
        }
        BoardEvent::LeadEnding { task: id, by } => say(voice, "board-lead-ending", task(*id), Some(by), ""),
        BoardEvent::LeadClosed { task: id } => say(voice, "board-lead-closed", task(*id), None, ""),
        BoardEvent::Reopened { task: id, to, by } => {
            say(voice, "board-reopened", task(*id), Some(by), &next(to))
        }
        BoardEvent::Cancelling { task: id, by } => say(voice, "board-cancelling", task(*id), Some(by), ""),
        BoardEvent::Ended { task: id, end, by } => {
            let what = format!("{} {}", task(*id), voice.locale.task_end(*end));
            say(voice, "task-ended", what, by.as_ref(), "")
        }
    }
}
