//! Applies evaluations and calls for a person to an agent's state.

use super::{counters, subject};
use crate::agent::Agent;
use crate::id::WorkId;
use crate::outcome::Usage;
use crate::recap::bounded;
use crate::time::Timestamp;
use crate::watch::{Answer, Answered, Escalation, Heard, Judgement, SAID_TEXT_MAX, Said};
use crate::whisper::Tone;
use crate::work::Actor;

pub(super) fn evaluated(agent: &mut Agent, number: u32, judgement: &Judgement, usage: Usage, at: Timestamp) {
    let untold = agent.watch.open.as_ref().is_some_and(|open| open.untold);
    let heard = heard(agent, untold);
    agent.watch.close(number, judgement, heard, at);
    counters::charge(agent, usage, at);
}

pub(super) fn stood_in(agent: &mut Agent) {
    let heard = heard(agent, false);
    agent.watch.found(heard);
}

/// Returns whether a finding of the evaluator reaches the agent now. `untold`: an earlier whisper had not reached it
/// when the evaluation began.
fn heard(agent: &Agent, untold: bool) -> Heard {
    match (agent.is_at_work(), agent.is_untold()) {
        (false, _) => Heard::Nobody,
        (true, true) => Heard::NotYet,
        (true, false) if untold => Heard::Since,
        (true, false) => Heard::Yes,
    }
}

/// Keeps a person's message that reached the agent during its work, for the evaluator to read.
pub(super) fn said(agent: &mut Agent, text: &str, at: Timestamp) {
    let work = agent.current.as_ref().and_then(subject);
    agent.watch.hear_people(Said { work, at, text: bounded(text, SAID_TEXT_MAX) });
}

pub(super) fn escalated(agent: &mut Agent, escalation: &Escalation) {
    agent.watch.counts.escalations = agent.watch.counts.escalations.saturating_add(1);
    agent.watch.escalation = Some(escalation.clone());
}

pub(super) fn reminded(agent: &mut Agent, id: WorkId, next: Option<Timestamp>) {
    if let Some(call) = agent.watch.escalation.as_mut().filter(|call| call.id == id) {
        call.reminded = call.reminded.saturating_add(1);
        call.remind_at = next;
    }
}

pub(super) fn acked(agent: &mut Agent, id: WorkId, by: &Actor) {
    if let Some(call) = agent.watch.escalation.as_mut().filter(|call| call.id == id) {
        call.acked = Some(by.clone());
    }
}

pub(super) fn answered(agent: &mut Agent, id: WorkId, answer: Answer, by: &Actor, at: Timestamp) {
    let Some(escalation) = agent.watch.escalation.take_if(|call| call.id == id) else { return };
    agent.watch.answered = Some(Answered { escalation, answer, by: by.clone(), at });
    match answer {
        // The work may reach its time limit twice again.
        Answer::Resume => {
            agent.timed_out = None;
            agent.starved = None;
        }
        // Notes about work that is given up would only confuse it.
        Answer::Abort | Answer::Remove | Answer::Moved => {
            agent.whispers.retain(|whisper| whisper.tone == Tone::Person);
        }
    }
}
