//! The bot's answers to commands, buttons, modals and autocompletion.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::multipart::File;
use super::super::refusal::{Problem, Refusal};
use super::super::rules;
use super::super::server::Call;
use super::super::state::{Ack, EPHEMERAL, Id, Interaction, LOADING, Message, State};
use super::messages::{changed, composed};
use super::{NO_CONTENT, Outcome};

/// The time that Discord waits for the first answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// The lifetime of an interaction's token.
const TOKEN_LIFE: Duration = Duration::from_secs(15 * 60);

pub(super) fn callback(state: &mut State, call: &Call) -> Outcome {
    let id = call.id("interaction_id");
    let token = call.parameters.get("interaction_token").cloned().unwrap_or_default();
    let unknown = || Refusal::new(404, 10062, "Unknown interaction");
    let interaction =
        state.interactions.get(&id).filter(|known| known.token == token).ok_or_else(unknown)?.clone();
    if let Some(first) = &interaction.ack {
        let refusal = Refusal::new(400, 40060, "Interaction has already been acknowledged.");
        return Err(Refusal { is_violation: !first.is_lost, ..refusal }.into());
    }
    let latency = call.at.saturating_duration_since(interaction.delivered.unwrap_or(call.at));
    if call.at.saturating_duration_since(interaction.created) > PATIENCE || interaction.expired {
        // A bot that was cut off cannot know that it comes too late before it asks.
        let in_time = interaction.delivered.is_some_and(|at| at - interaction.created < PATIENCE);
        return Err(Refusal { is_violation: in_time, ..unknown() }.into());
    }
    let kind = call.body["type"].as_u64().unwrap_or(0);
    is_fitting(&interaction, kind)?;
    let data = &call.body["data"];
    let made = match kind {
        4 => {
            let message = answer_message(state, &interaction, data, &call.files, "/data")?;
            Some(state.insert_message(message))
        }
        5 => Some(insert_thinking(state, &interaction, data["flags"].as_u64().unwrap_or(0))),
        7 => {
            let mut message = updated(state, &interaction)?;
            changed(state, &mut message, data, &call.files)?;
            let message_id = message.id;
            state.messages.insert(message_id, message);
            state.tell_message("MESSAGE_UPDATE", message_id);
            Some(message_id)
        }
        8 => {
            let choices = data["choices"].as_array().cloned().unwrap_or_default();
            rules::refused(rules::choice_list(&choices, "/data"))?;
            None
        }
        9 => {
            rules::refused(rules::modal(data))?;
            None
        }
        _ => interaction.message,
    };
    let flags = data["flags"].as_u64().unwrap_or(0);
    if let Some(known) = state.interactions.get_mut(&id) {
        let ephemeral = flags & EPHEMERAL != 0;
        known.ack = Some(Ack { kind, latency, ephemeral, data: data.clone(), is_lost: false });
        known.original = made;
        known.thinking = kind == 5;
    }
    if call.query.get("with_response").is_some_and(|with| with == "true") {
        return Ok((200, response(state, &interaction, kind, made)));
    }
    Ok(NO_CONTENT)
}

/// Records that the bot never learns of an accepted callback: a second one is no fault of its own.
pub(crate) fn answer_lost(state: &mut State, call: &Call) {
    let ack = state.interactions.get_mut(&call.id("interaction_id")).and_then(|known| known.ack.as_mut());
    if let Some(ack) = ack {
        ack.is_lost = true;
    }
}

/// Checks that an interaction of this kind may get such an answer.
fn is_fitting(interaction: &Interaction, kind: u64) -> Result<(), Refusal> {
    let fits = match interaction.kind {
        2 => matches!(kind, 4 | 5 | 9),
        3 => matches!(kind, 4..=7 | 9),
        4 => kind == 8,
        // Type 6 closes a modal that stands on no message, too.
        _ => matches!(kind, 4..=6) || (kind == 7 && interaction.message.is_some()),
    };
    if fits {
        return Ok(());
    }
    let text = format!(
        "Interaction callback type {kind} is no answer to an interaction of type {}",
        interaction.kind
    );
    Err(Refusal::invalid(vec![Problem::new("/type", text)]))
}

fn response(state: &State, interaction: &Interaction, kind: u64, made: Option<Id>) -> Value {
    let message =
        made.and_then(|id| state.messages.get(&id)).map(|message| state.message_json(message, true));
    let loading = message.as_ref().is_some_and(|_| kind == 5);
    json!({
        "interaction": {
            "id": interaction.id.to_string(), "type": interaction.kind,
            "response_message_id": made.map(|id| id.to_string()), "response_message_loading": loading,
            "response_message_ephemeral": message.as_ref().is_some_and(|message| message["flags"].as_u64().unwrap_or(0) & EPHEMERAL != 0),
        },
        "resource": { "type": kind, "message": message },
    })
}

fn answer_message(
    state: &mut State,
    interaction: &Interaction,
    body: &Value,
    files: &[File],
    at: &str,
) -> Result<Message, Refusal> {
    let mut message = composed(state, body, files, interaction.channel, at)?;
    message.kind = if interaction.kind == 2 { 20 } else { 19 };
    message.interaction = Some(interaction.id);
    message.ephemeral_to = (message.flags & EPHEMERAL != 0).then_some(interaction.user);
    Ok(message)
}

/// Adds the message «is thinking…».
fn insert_thinking(state: &mut State, interaction: &Interaction, flags: u64) -> Id {
    let flags = flags & EPHEMERAL | LOADING;
    let id = state.new_id();
    let message = Message {
        id,
        channel: interaction.channel,
        author: state.bot.id,
        flags,
        kind: 20,
        at: state.now(),
        interaction: Some(interaction.id),
        ephemeral_to: (flags & EPHEMERAL != 0).then_some(interaction.user),
        ..Message::default()
    };
    state.insert_message(message)
}

/// Returns the message that a component stands on.
fn updated(state: &State, interaction: &Interaction) -> Result<Message, Refusal> {
    let message = interaction.message.and_then(|id| state.messages.get(&id));
    message
        .filter(|message| !message.deleted)
        .cloned()
        .ok_or_else(|| Refusal::unknown(10008, "Message", true))
}

/// Returns the interaction whose token is in the path, already acknowledged.
fn acknowledged(state: &State, call: &Call) -> Result<Interaction, Refusal> {
    let token = call.parameters.get("webhook_token").cloned().unwrap_or_default();
    let known = state.interactions.values().find(|known| known.token == token);
    let Some(known) = known.filter(|_| call.id("webhook_id") == state.bot.id) else {
        return Err(Refusal::new(404, 10015, "Unknown Webhook"));
    };
    let is_old = known.delivered.is_some_and(|at| at.elapsed() > TOKEN_LIFE);
    if known.expired || is_old {
        return Err(Refusal::circumstance(401, 50027, "Invalid Webhook Token"));
    }
    // Nothing can follow what has not been begun.
    if known.ack.is_none() {
        return Err(Refusal::new(404, 10015, "Unknown Webhook"));
    }
    Ok(known.clone())
}

pub(super) fn followup(state: &mut State, call: &Call) -> Outcome {
    let interaction = acknowledged(state, call)?;
    if let (true, Some(original)) = (interaction.thinking, interaction.original) {
        // The first words after «is thinking…» take its place, and its visibility.
        return fill(state, &interaction, original, &call.body, &call.files);
    }
    let message = answer_message(state, &interaction, &call.body, &call.files, "")?;
    let id = state.insert_message(message);
    if let Some(known) = state.interactions.get_mut(&interaction.id) {
        known.followups.push(id);
    }
    Ok((200, state.message_json(&state.messages[&id], true)))
}

/// Puts words in the place of «is thinking…».
fn fill(state: &mut State, interaction: &Interaction, original: Id, body: &Value, files: &[File]) -> Outcome {
    let thinking = state.messages.get(&original).cloned().unwrap_or_default();
    let words = answer_message(state, interaction, body, files, "")?;
    let message = Message {
        id: original,
        flags: thinking.flags & EPHEMERAL | words.flags & !EPHEMERAL,
        ephemeral_to: thinking.ephemeral_to,
        at: thinking.at,
        edited: Some(state.now()),
        ..words
    };
    state.messages.insert(original, message);
    if let Some(known) = state.interactions.get_mut(&interaction.id) {
        known.thinking = false;
    }
    state.tell_message("MESSAGE_UPDATE", original);
    Ok((200, state.message_json(&state.messages[&original], true)))
}

/// Returns the message of the path: the first answer, or one that followed.
fn target(state: &State, interaction: &Interaction, call: &Call) -> Result<Message, Refusal> {
    let id = match call.parameters.get("message_id") {
        Some(id) => {
            let id = id.parse().ok();
            id.filter(|id| interaction.followups.contains(id) || interaction.original == Some(*id))
        }
        None => interaction.original,
    };
    let message = id.and_then(|id| state.messages.get(&id));
    match message {
        Some(message) if !message.deleted => Ok(message.clone()),
        gone => Err(Refusal::unknown(10008, "Message", gone.is_some())),
    }
}

pub(super) fn get(state: &State, call: &Call) -> Outcome {
    // To look for an answer that does not exist is no violation.
    let looked = acknowledged(state, call).map_err(|refusal| Refusal { is_violation: false, ..refusal });
    let interaction = looked?;
    let message = target(state, &interaction, call)?;
    Ok((200, state.message_json(&message, true)))
}

pub(super) fn edit(state: &mut State, call: &Call) -> Outcome {
    let interaction = acknowledged(state, call)?;
    let mut message = target(state, &interaction, call)?;
    if message.flags & LOADING != 0 {
        return fill(state, &interaction, message.id, &call.body, &call.files);
    }
    changed(state, &mut message, &call.body, &call.files)?;
    let id = message.id;
    state.messages.insert(id, message);
    state.tell_message("MESSAGE_UPDATE", id);
    Ok((200, state.message_json(&state.messages[&id], true)))
}

pub(super) fn delete(state: &mut State, call: &Call) -> Outcome {
    let interaction = acknowledged(state, call)?;
    let message = target(state, &interaction, call)?;
    if let Some(known) = state.interactions.get_mut(&interaction.id) {
        known.thinking = false;
    }
    state.remove_message(message.id);
    Ok(NO_CONTENT)
}
