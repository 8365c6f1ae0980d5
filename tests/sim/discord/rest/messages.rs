//! Messages and reactions.

use serde_json::Value;

use super::super::gateway::snowflake;
use super::super::multipart::File;
use super::super::permission::{
    ADD_REACTIONS, ATTACH_FILES, MANAGE_MESSAGES, MENTION_EVERYONE, READ_MESSAGE_HISTORY,
};
use super::super::refusal::{Problem, Refusal};
use super::super::rules;
use super::super::server::Call;
use super::super::state::{Attachment, Channel, Id, Message, Pings, Reaction, State};
use super::{NO_CONTENT, Outcome, channel_for};

/// A bot's upload, all files of a message together.
const UPLOAD_MAX: usize = 10 * 1024 * 1024;

/// The time that a nonce is remembered, in milliseconds: Discord says "the past few minutes".
const NONCE_LIFE: u64 = 180_000;

fn owned(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// Returns a message of the bot's as a body describes it, checked.
pub(super) fn composed(
    state: &mut State,
    body: &Value,
    files: &[File],
    channel: Id,
    at: &str,
) -> Result<Message, Refusal> {
    rules::refused(rules::message(body, at))?;
    if rules::is_empty(body, files.len()) {
        return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
    }
    if !state.bot.is_any {
        rules::refused(rules::previews(body, at))?;
    }
    let attachments = attachments(state, body, files)?;
    let content = body["content"].as_str().unwrap_or_default().trim().to_owned();
    let reply_to = snowflake(&body["message_reference"]["message_id"]);
    let mut pings = resolved_pings(state, &content, channel, &body["allowed_mentions"]);
    let replied = reply_to.and_then(|id| state.messages.get(&id)).map(|message| message.author);
    let allowed = &body["allowed_mentions"];
    let is_told = allowed.is_null() || allowed["replied_user"] == true;
    pings
        .users
        .extend(replied.filter(|author| is_told && *author != state.bot.id && !pings.users.contains(author)));
    let id = state.new_id();
    Ok(Message {
        id,
        channel,
        author: state.bot.id,
        content,
        nonce: body.get("nonce").filter(|nonce| !nonce.is_null()).cloned(),
        embeds: owned(&body["embeds"]),
        components: owned(&body["components"]),
        attachments,
        pings,
        reply_to,
        flags: body["flags"].as_u64().unwrap_or(0),
        kind: if reply_to.is_some() { 19 } else { 0 },
        at: state.now(),
        ..Message::default()
    })
}

fn attachments(state: &mut State, body: &Value, files: &[File]) -> Result<Vec<Attachment>, Refusal> {
    if files.iter().map(|file| file.bytes.len()).sum::<usize>() > UPLOAD_MAX {
        return Err(Refusal::new(413, 40005, "Request entity too large"));
    }
    for listed in body["attachments"].as_array().into_iter().flatten() {
        let number = snowflake(&listed["id"]);
        let is_kept = state.messages.values().any(|m| m.attachments.iter().any(|a| Some(a.id) == number));
        if !is_kept && !files.iter().any(|file| Some(file.number) == number) {
            let problem = Problem::new("/attachments", "Attachment: no file with this id was sent");
            return Err(Refusal::invalid(vec![problem]));
        }
    }
    let kept = |file: &File| Attachment {
        id: 0,
        name: file.name.replace(' ', "_"),
        content_type: file.content_type.clone(),
        bytes: file.bytes.clone(),
    };
    Ok(files.iter().map(|file| Attachment { id: state.new_id(), ..kept(file) }).collect())
}

/// Returns the people that a content of the bot really notifies.
pub(crate) fn resolved_pings(state: &State, content: &str, channel: Id, allowed: &Value) -> Pings {
    let has =
        |list: &str, id: Id| allowed[list].as_array().into_iter().flatten().any(|v| snowflake(v) == Some(id));
    let parses = |kind: &str| {
        allowed.is_null() || allowed["parse"].as_array().into_iter().flatten().any(|parsed| parsed == kind)
    };
    let mentioned = |mark: &str| -> Vec<Id> {
        let starts = content.match_indices(mark).map(|(at, _)| &content[at + mark.len()..]);
        starts
            .filter_map(|rest| {
                let rest = rest.strip_prefix('!').unwrap_or(rest);
                rest.split_once('>').and_then(|(id, _)| id.parse().ok())
            })
            .collect()
    };
    let mut pings = Pings::default();
    for user in mentioned("<@") {
        if state.users.contains_key(&user)
            && (parses("users") || has("users", user))
            && !pings.users.contains(&user)
        {
            pings.users.push(user);
        }
    }
    for role in mentioned("<@&") {
        let is_known = state.guild.roles.contains_key(&role) && role != state.guild.id;
        if is_known && (parses("roles") || has("roles", role)) && !pings.roles.contains(&role) {
            pings.roles.push(role);
        }
    }
    let may = state
        .channels
        .get(&channel)
        .is_some_and(|channel| state.permissions_in(state.bot.id, channel) & MENTION_EVERYONE != 0);
    let says = content.contains("@everyone") || content.contains("@here");
    pings.everyone = says && may && parses("everyone");
    pings
}

pub(super) fn create(state: &mut State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    let speaking = state.channels.get(&id).map_or(0, Channel::speaking);
    let needed = speaking | if call.files.is_empty() { 0 } else { ATTACH_FILES };
    let channel = channel_for(state, id, needed)?;
    if channel.locked {
        // A person may have locked it just now.
        return Err(Refusal::circumstance(400, 160_005, "Thread is locked").into());
    }
    if channel.kind == 4 {
        return Err(Refusal::new(400, 50008, "Cannot send messages in a non-text channel").into());
    }
    if let Some(replied) = snowflake(&call.body["message_reference"]["message_id"]) {
        let exists =
            state.messages.get(&replied).is_some_and(|message| message.channel == id && !message.deleted);
        if !exists && call.body["message_reference"]["fail_if_not_exists"] != false {
            // A person may have deleted it just now, so this is not the bot's fault.
            let problem = Problem::new("/message_reference", "Unknown message");
            return Err(Refusal { is_violation: false, ..Refusal::invalid(vec![problem]) }.into());
        }
        if state.permissions_in(state.bot.id, &channel) & READ_MESSAGE_HISTORY == 0 {
            return Err(Refusal::new(
                400,
                160_002,
                "You cannot reply without permission to read message history",
            )
            .into());
        }
    }
    // A message with the same nonce, sent by the same author in the last minutes, is that message.
    let nonce = &call.body["nonce"];
    if call.body["enforce_nonce"] == true && !nonce.is_null() {
        let same = state.messages.values().find(|message| {
            message.channel == id
                && message.author == state.bot.id
                && message.nonce.as_ref() == Some(nonce)
                && state.now().saturating_sub(message.at) < NONCE_LIFE
        });
        if let Some(same) = same {
            return Ok((200, state.message_json(same, true)));
        }
    }
    let message = composed(state, &call.body, &call.files, id, "")?;
    let made = state.insert_message(message);
    Ok((200, state.message_json(&state.messages[&made], true)))
}

pub(super) fn list(state: &State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    let channel = channel_for(state, id, 0)?;
    if state.permissions_in(state.bot.id, &channel) & READ_MESSAGE_HISTORY == 0 {
        return Ok((200, Value::Array(Vec::new())));
    }
    let number = |name: &str| call.query.get(name).and_then(|value| value.parse::<Id>().ok());
    let limit = usize::try_from(number("limit").unwrap_or(50)).unwrap_or(100);
    let all: Vec<&Message> = state
        .messages
        .values()
        .filter(|message| message.channel == id && !message.deleted && !message.is_ephemeral())
        .collect();
    let mut chosen: Vec<&Message> = if let Some(after) = number("after") {
        all.into_iter().filter(|message| message.id > after).take(limit).collect()
    } else if let Some(around) = number("around") {
        let middle = all.partition_point(|message| message.id < around);
        let start = middle.saturating_sub(limit / 2);
        all.into_iter().skip(start).take(limit).collect()
    } else {
        let before = number("before").unwrap_or(Id::MAX);
        let mut last: Vec<&Message> =
            all.into_iter().rev().filter(|message| message.id < before).take(limit).collect();
        last.reverse();
        last
    };
    // The newest first, whichever were asked for.
    chosen.reverse();
    Ok((200, chosen.into_iter().map(|message| state.message_json(message, state.sees(message))).collect()))
}

/// Returns the message of the path.
fn message(state: &State, call: &Call, needed: u64) -> Result<Message, Refusal> {
    channel_for(state, call.id("channel_id"), needed)?;
    let known = state.messages.get(&call.id("message_id"));
    let known = known.filter(|message| message.channel == call.id("channel_id") && !message.is_ephemeral());
    match known {
        Some(message) if !message.deleted => Ok(message.clone()),
        gone => Err(Refusal::unknown(10008, "Message", gone.is_some())),
    }
}

pub(super) fn get(state: &State, call: &Call) -> Outcome {
    let message = message(state, call, READ_MESSAGE_HISTORY)?;
    Ok((200, state.message_json(&message, state.sees(&message))))
}

/// Changes a message of the bot's; what a body does not name stays.
pub(super) fn changed(
    state: &mut State,
    message: &mut Message,
    body: &Value,
    files: &[File],
) -> Result<(), Refusal> {
    rules::refused(rules::message(body, ""))?;
    let before = message.content.clone();
    if let Some(content) = body.get("content") {
        content.as_str().unwrap_or_default().trim().clone_into(&mut message.content);
    }
    for (name, list) in [("embeds", &mut message.embeds), ("components", &mut message.components)] {
        if let Some(value) = body.get(name) {
            *list = owned(value);
        }
    }
    if let Some(kept) = body["attachments"].as_array() {
        let kept: Vec<Option<Id>> = kept.iter().map(|item| snowflake(&item["id"])).collect();
        message.attachments.retain(|attachment| kept.contains(&Some(attachment.id)));
    }
    message.attachments.extend(attachments(state, body, files)?);
    if let Some(flags) = body["flags"].as_u64() {
        message.flags = flags | message.flags & super::super::state::EPHEMERAL;
    }
    if message.content.is_empty()
        && message.embeds.is_empty()
        && message.components.is_empty()
        && message.attachments.is_empty()
    {
        return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
    }
    message.history.push(before);
    message.edited = Some(state.now());
    Ok(())
}

pub(super) fn edit(state: &mut State, call: &Call) -> Outcome {
    let mut message = message(state, call, 0)?;
    if message.author != state.bot.id {
        return Err(Refusal::new(403, 50005, "Cannot edit a message authored by another user").into());
    }
    changed(state, &mut message, &call.body, &call.files)?;
    let id = message.id;
    state.messages.insert(id, message);
    state.tell_message("MESSAGE_UPDATE", id);
    Ok((200, state.message_json(&state.messages[&id], true)))
}

pub(super) fn delete(state: &mut State, call: &Call) -> Outcome {
    let found = message(state, call, 0)?;
    if found.author != state.bot.id {
        message(state, call, MANAGE_MESSAGES)?;
    }
    state.remove_message(found.id);
    Ok(NO_CONTENT)
}

pub(super) fn pin(state: &mut State, call: &Call, pinned: bool) -> Outcome {
    let mut found = message(state, call, super::super::permission::PIN_MESSAGES)?;
    found.pinned = pinned;
    state.messages.insert(found.id, found);
    Ok(NO_CONTENT)
}

pub(super) fn react(state: &mut State, call: &Call) -> Outcome {
    let found = message(state, call, READ_MESSAGE_HISTORY)?;
    let emoji = call.parameters.get("emoji_name").cloned().unwrap_or_default();
    if emoji.is_empty() || emoji.chars().any(|c| c.is_ascii_alphabetic()) && !emoji.contains(':') {
        return Err(Refusal::new(400, 10014, "Unknown Emoji").into());
    }
    if !found.has_reaction(&emoji) {
        message(state, call, ADD_REACTIONS)?;
        if found.reactions.len() >= 20 {
            return Err(Refusal::circumstance(403, 30010, "Maximum number of reactions reached (20)").into());
        }
    }
    state.add_reaction(found.id, state.bot.id, &emoji);
    Ok(NO_CONTENT)
}

pub(super) fn reactions(state: &State, call: &Call) -> Outcome {
    let found = message(state, call, READ_MESSAGE_HISTORY)?;
    let emoji = call.parameters.get("emoji_name").map(String::as_str).unwrap_or_default();
    let users = found.reactions.iter().filter(|reaction| reaction.emoji == emoji).flat_map(|r| &r.users);
    Ok((200, users.map(|user| state.user_json(*user)).collect()))
}

/// Removes all reactions of a message, or all of one emoji.
pub(super) fn clear_reactions(state: &mut State, call: &Call) -> Outcome {
    let found = message(state, call, MANAGE_MESSAGES)?;
    let emoji = call.parameters.get("emoji_name").map(String::as_str);
    for reaction in
        found.reactions.iter().filter(|reaction| emoji.is_none_or(|emoji| reaction.emoji == emoji))
    {
        for user in &reaction.users {
            state.remove_reaction(found.id, *user, &reaction.emoji);
        }
    }
    Ok(NO_CONTENT)
}

pub(super) fn unreact(state: &mut State, call: &Call) -> Outcome {
    let user = call.parameters.get("user_id").and_then(|id| id.parse().ok()).unwrap_or(state.bot.id);
    let found = message(state, call, if user == state.bot.id { 0 } else { MANAGE_MESSAGES })?;
    let emoji = call.parameters.get("emoji_name").cloned().unwrap_or_default();
    state.remove_reaction(found.id, user, &emoji);
    Ok(NO_CONTENT)
}

impl State {
    pub(crate) fn remove_message(&mut self, id: Id) {
        if let Some(message) = self.messages.get_mut(&id) {
            message.deleted = true;
        }
        self.tell_message_deleted(id);
    }

    pub(crate) fn add_reaction(&mut self, id: Id, user: Id, emoji: &str) {
        let Some(message) = self.messages.get_mut(&id) else { return };
        let known = message.reactions.iter().position(|reaction| reaction.emoji == emoji);
        let at = known.unwrap_or_else(|| {
            message.reactions.push(Reaction { emoji: emoji.to_owned(), users: Vec::new() });
            message.reactions.len() - 1
        });
        if !message.reactions[at].users.contains(&user) {
            message.reactions[at].users.push(user);
            self.tell_reaction("MESSAGE_REACTION_ADD", id, user, emoji);
        }
    }

    pub(crate) fn remove_reaction(&mut self, id: Id, user: Id, emoji: &str) {
        let Some(message) = self.messages.get_mut(&id) else { return };
        let mut was = false;
        for reaction in message.reactions.iter_mut().filter(|reaction| reaction.emoji == emoji) {
            was |= reaction.users.contains(&user);
            reaction.users.retain(|known| *known != user);
        }
        message.reactions.retain(|reaction| !reaction.users.is_empty());
        if was {
            self.tell_reaction("MESSAGE_REACTION_REMOVE", id, user, emoji);
        }
    }
}
