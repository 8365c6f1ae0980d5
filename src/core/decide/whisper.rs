//! Whispers: words for the agent alone, delivered once.

use super::Draft;
use crate::event::Event;
use crate::id::{AgentName, SessionId, WorkId};
use crate::notice::{Notice, Refusal};
use crate::spec::Runtime;
use crate::whisper::{Tone, WHISPER_TEXT_MAX, WHISPERS_MAX, Way, Whisper};
use crate::work::Actor;

pub(super) fn whisper(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: WorkId,
    text: &str,
) -> Result<Notice, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::EmptyWork { agent });
    }
    if text.len() > WHISPER_TEXT_MAX {
        return Err(Refusal::WhisperTooLong { bytes: text.len() as u64, max: WHISPER_TEXT_MAX as u64 });
    }
    if draft.agent().whispers.len() >= WHISPERS_MAX {
        let max = u32::try_from(WHISPERS_MAX).unwrap_or(u32::MAX);
        return Err(Refusal::WhispersFull { agent, max });
    }
    let whisper = Whisper {
        id,
        text: text.to_owned(),
        by: by.clone(),
        at: draft.context.now,
        prompted: None,
        tone: Tone::Person,
    };
    draft.record(Event::Whispered { whisper: Box::new(whisper) });
    Ok(Notice::Whispered { agent })
}

/// Records that whispers were delivered along with the result of a tool call.
pub(super) fn taken(draft: &mut Draft<'_>, session: SessionId, whispers: &[WorkId]) {
    let waiting = draft.agent().whispers.iter().map(|whisper| whisper.id);
    let taken: Vec<WorkId> = waiting.filter(|id| whispers.contains(id)).collect();
    delivered(draft, session, taken, Way::Tool);
}

/// Records that a message reached the running turn, if it is a whisper; returns true if it is one.
pub(super) fn steered(draft: &mut Draft<'_>, session: SessionId, id: WorkId) -> bool {
    let is_one = draft.agent().whispers.iter().any(|whisper| whisper.id == id);
    if is_one {
        let way = match draft.agent().spec.as_ref().map(|spec| spec.runtime) {
            // It accepts no input during a turn: see `core::whisper`.
            Some(Runtime::Acp) => Way::Anew,
            Some(Runtime::Claude | Runtime::Codex | Runtime::Command) | None => Way::Turn,
        };
        delivered(draft, session, vec![id], way);
    }
    is_one
}

/// Records that the whispers in the session's prompt were delivered.
pub(super) fn prompted(draft: &mut Draft<'_>, session: SessionId) {
    let in_prompt = draft.agent().whispers.iter().filter(|whisper| whisper.prompted == Some(session));
    let in_prompt: Vec<WorkId> = in_prompt.map(|whisper| whisper.id).collect();
    delivered(draft, session, in_prompt, Way::Prompt);
}

fn delivered(draft: &mut Draft<'_>, session: SessionId, whispers: Vec<WorkId>, way: Way) {
    if !whispers.is_empty() {
        draft.record(Event::WhispersDelivered { session, whispers, way });
    }
}

/// Drops the evaluator's whispers about work that is given up; they would confuse the agent at its next work.
pub(super) fn drop_findings(draft: &mut Draft<'_>, by: &Actor) {
    let waiting = draft.agent().whispers.iter().filter(|whisper| whisper.tone != Tone::Person);
    let whispers: Vec<WorkId> = waiting.map(|whisper| whisper.id).collect();
    if !whispers.is_empty() {
        draft.record(Event::WhispersDropped { whispers, by: by.clone() });
    }
}
