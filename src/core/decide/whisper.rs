//! Words for the agent alone: they wait until they are handed over, and are handed over once.

use super::Draft;
use crate::core::event::Event;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::notice::{Notice, Refusal};
use crate::core::whisper::{WHISPER_TEXT_MAX, WHISPERS_MAX, Way, Whisper};
use crate::core::work::Actor;

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
        return Err(Refusal::Invalid {
            what: format!("a whisper of {} bytes", text.len()),
            why: format!("it has at most {WHISPER_TEXT_MAX}; give the rest as work"),
        });
    }
    if draft.agent().whispers.len() >= WHISPERS_MAX {
        let max = u32::try_from(WHISPERS_MAX).unwrap_or(u32::MAX);
        return Err(Refusal::WhispersFull { agent, max });
    }
    let whisper =
        Whisper { id, text: text.to_owned(), by: by.clone(), at: draft.context.now, prompted: None };
    draft.record(Event::Whispered { whisper: Box::new(whisper) });
    Ok(Notice::Whispered { agent })
}

/// Whispers were handed over with the result of a tool call.
pub(super) fn taken(draft: &mut Draft<'_>, session: SessionId, whispers: &[WorkId]) {
    let waiting = draft.agent().whispers.iter().map(|whisper| whisper.id);
    let taken: Vec<WorkId> = waiting.filter(|id| whispers.contains(id)).collect();
    delivered(draft, session, taken, Way::Tool);
}

/// A message reached the running turn: whether it was a whisper, which is recorded then.
pub(super) fn steered(draft: &mut Draft<'_>, session: SessionId, id: WorkId) -> bool {
    let is_one = draft.agent().whispers.iter().any(|whisper| whisper.id == id);
    if is_one {
        delivered(draft, session, vec![id], Way::Turn);
    }
    is_one
}

/// The session has its prompt, and with it what was whispered before.
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
