//! Channels and their permission overwrites.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::gateway::snowflake;
use super::super::permission::{
    ADMINISTRATOR, MANAGE_CHANNELS, MANAGE_ROLES, READ_MESSAGE_HISTORY, SEND_MESSAGES,
};
use super::super::refusal::{Problem, Refusal};
use super::super::server::Call;
use super::super::state::{Channel, Id, Overwrite, State, THREAD};
use super::{NO_CONTENT, No, Outcome, channel_for, in_guild};

/// The largest number of channels in a guild and in a category.
const CHANNELS_MAX: usize = 500;
const CATEGORY_MAX: usize = 50;

pub(super) fn list(state: &State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    Ok((200, state.channels_json()))
}

pub(super) fn get(state: &State, call: &Call) -> Outcome {
    let channel = channel_for(state, call.id("channel_id"), 0)?;
    Ok((200, state.channel_json(&channel)))
}

/// Returns the archived public threads of a channel, the last one first.
pub(super) fn archived_threads(state: &State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    channel_for(state, id, READ_MESSAGE_HISTORY)?;
    let limit = call.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(50);
    let before = call.query.get("before").and_then(|before| before.parse::<jiff::Timestamp>().ok());
    let is_before =
        |at: u64| before.is_none_or(|before| i128::from(at) < i128::from(before.as_millisecond()));
    let mut threads: Vec<(u64, &Channel)> = state
        .threads()
        .filter(|thread| thread.parent == Some(id))
        .filter_map(|thread| Some((thread.archived.filter(|at| is_before(*at))?, thread)))
        .collect();
    threads.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
    let more = threads.len() > limit;
    let shown: Value = threads.iter().take(limit).map(|(_, thread)| state.channel_json(thread)).collect();
    Ok((200, json!({ "threads": shown, "members": [], "has_more": more })))
}

pub(super) fn typing(state: &State, call: &Call) -> Outcome {
    channel_for(state, call.id("channel_id"), SEND_MESSAGES)?;
    Ok(NO_CONTENT)
}

pub(super) fn direct(state: &mut State, call: &Call) -> Outcome {
    let recipient = snowflake(&call.body["recipient_id"]).unwrap_or_default();
    if !state.users.contains_key(&recipient) {
        return Err(Refusal::unknown(10013, "User", false).into());
    }
    if state.users.get(&recipient).is_some_and(|user| user.bot) {
        return Err(Refusal::new(400, 50007, "Cannot send messages to this user").into());
    }
    let known = state.channels.values().find(|channel| channel.recipient == Some(recipient)).cloned();
    let channel = known.unwrap_or_else(|| {
        let id = state.new_id();
        Channel { id, kind: 1, recipient: Some(recipient), ..Channel::default() }
    });
    state.channels.insert(channel.id, channel.clone());
    Ok((200, state.channel_json(&channel)))
}

/// Returns a name as Discord keeps it: in a text channel lower case and without spaces.
pub(crate) fn kept_name(name: &str, kind: u64) -> String {
    if kind == 4 {
        name.trim().to_owned()
    } else {
        name.trim().to_lowercase().replace(char::is_whitespace, "-")
    }
}

pub(super) fn create(state: &mut State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    if state.permissions(state.bot.id) & MANAGE_CHANNELS == 0 {
        return Err(Refusal::missing_permissions().into());
    }
    let body = &call.body;
    let kind = body["type"].as_u64().unwrap_or(0);
    let parent = snowflake(&body["parent_id"]);
    is_place(state, kind, parent)?;
    topic_fits(body)?;
    let live = state.channels.values().filter(|channel| !channel.deleted && channel.recipient.is_none());
    if live.count() >= CHANNELS_MAX && !state.limits.is_roomy {
        return Err(
            Refusal::circumstance(400, 30013, "Maximum number of guild channels reached (500)").into()
        );
    }
    let overwrites = match body["permission_overwrites"].as_array() {
        Some(list) => overwrites(state, list)?,
        // A channel is synchronized with its category unless it is told otherwise.
        None => {
            parent.and_then(|id| state.channels.get(&id)).map(|c| c.overwrites.clone()).unwrap_or_default()
        }
    };
    let id = state.new_id();
    let position = body["position"].as_u64().unwrap_or(state.channels.len() as u64);
    let name = kept_name(body["name"].as_str().unwrap_or_default(), kind);
    let topic = body["topic"].as_str().filter(|topic| !topic.is_empty()).map(str::to_owned);
    let channel = Channel { id, kind, name, topic, parent, position, overwrites, ..Channel::default() };
    state.channels.insert(id, channel.clone());
    state.tell_channel("CHANNEL_CREATE", id);
    Ok((201, state.channel_json(&channel)))
}

/// Checks the topic of a text channel, whose limit is shorter than in the contract, which gives that of forums.
fn topic_fits(body: &Value) -> Result<(), Refusal> {
    if body["topic"].as_str().is_some_and(|topic| topic.chars().count() > 1024) {
        return Err(Refusal::invalid(vec![Problem::new("/topic", "Must be 1024 or fewer in length.")]));
    }
    Ok(())
}

fn is_place(state: &State, kind: u64, parent: Option<Id>) -> Result<(), Refusal> {
    let Some(parent) = parent else { return Ok(()) };
    let wrong = |text: &str| Err(Refusal::invalid(vec![Problem::new("/parent_id", text)]));
    match state.channels.get(&parent) {
        Some(category) if category.deleted => Err(Refusal {
            is_violation: false,
            ..Refusal::invalid(vec![Problem::new("/parent_id", "Category does not exist")])
        }),
        Some(category) if category.kind == 4 && kind != 4 => {
            let inside = state.channels.values().filter(|c| !c.deleted && c.parent == Some(parent)).count();
            if inside < CATEGORY_MAX || state.limits.is_roomy {
                Ok(())
            } else {
                wrong("Maximum number of channels in category reached (50)")
            }
        }
        Some(_) => wrong("Not a category"),
        None => wrong("Category does not exist"),
    }
}

/// Returns the bits of a permission field.
fn bits(value: &Value) -> u64 {
    snowflake(value).unwrap_or(0)
}

fn overwrites(state: &State, list: &[Value]) -> Result<BTreeMap<Id, Overwrite>, Refusal> {
    let mut overwrites = BTreeMap::new();
    for (index, item) in list.iter().enumerate() {
        let id = snowflake(&item["id"]).unwrap_or_default();
        overwrites.insert(id, overwrite(state, id, item, &format!("/permission_overwrites/{index}"))?);
    }
    Ok(overwrites)
}

fn overwrite(state: &State, id: Id, item: &Value, at: &str) -> Result<Overwrite, Refusal> {
    let wanted = Overwrite {
        kind: item["type"].as_u64().unwrap_or(0),
        allow: bits(&item["allow"]),
        deny: bits(&item["deny"]),
    };
    let exists =
        if wanted.kind == 0 { state.guild.roles.contains_key(&id) } else { state.users.contains_key(&id) };
    if !exists {
        return Err(Refusal::invalid(vec![Problem::new(at, "Unknown Overwrite: no such role or member")]));
    }
    // Only permissions that the caller has can be granted or taken; MANAGE_ROLES in a channel only by an
    // administrator.
    let own = state.permissions(state.bot.id);
    let touched = wanted.allow | wanted.deny;
    if touched & !own != 0 || (touched & MANAGE_ROLES != 0 && own & ADMINISTRATOR == 0) {
        return Err(Refusal::missing_permissions());
    }
    Ok(wanted)
}

pub(super) fn edit(state: &mut State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    let mut channel = channel_for(state, id, MANAGE_CHANNELS)?;
    let body = &call.body;
    topic_fits(body)?;
    if let Some(name) = body["name"].as_str() {
        channel.name = kept_name(name, channel.kind);
    }
    if let Some(topic) = body.get("topic") {
        channel.topic = topic.as_str().filter(|topic| !topic.is_empty()).map(str::to_owned);
    }
    if let Some(parent) = body.get("parent_id") {
        channel.parent = snowflake(parent);
        is_place(state, channel.kind, channel.parent)?;
    }
    if let Some(position) = body["position"].as_u64() {
        channel.position = position;
    }
    if let Some(list) = body["permission_overwrites"].as_array() {
        if state.permissions_in(state.bot.id, &channel) & MANAGE_ROLES == 0 {
            return Err(Refusal::missing_permissions().into());
        }
        channel.overwrites = overwrites(state, list)?;
    }
    let before = state.channels.get(&id).cloned().unwrap_or_default();
    if before.name != channel.name || before.topic != channel.topic {
        if let Some(wait) = state.limits.topic(id) {
            return Err(No::Wait(wait));
        }
        channel.topics_set += u32::from(before.topic != channel.topic);
    }
    state.channels.insert(id, channel.clone());
    state.tell_channel("CHANNEL_UPDATE", id);
    Ok((200, state.channel_json(&channel)))
}

pub(super) fn reorder(state: &mut State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    if state.permissions(state.bot.id) & MANAGE_CHANNELS == 0 {
        return Err(Refusal::missing_permissions().into());
    }
    for item in call.body.as_array().into_iter().flatten() {
        let id = snowflake(&item["id"]).unwrap_or_default();
        let Some(channel) = state.channels.get_mut(&id).filter(|channel| !channel.deleted) else {
            return Err(Refusal::unknown(10003, "Channel", false).into());
        };
        if let Some(position) = item["position"].as_u64() {
            channel.position = position;
        }
        if let Some(parent) = item.get("parent_id") {
            channel.parent = snowflake(parent);
        }
        state.tell_channel("CHANNEL_UPDATE", id);
    }
    Ok(NO_CONTENT)
}

pub(super) fn delete(state: &mut State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    let channel = channel_for(state, id, MANAGE_CHANNELS)?;
    state.remove_channel(id);
    Ok((200, state.channel_json(&channel)))
}

pub(super) fn put_overwrite(state: &mut State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    let mut channel = channel_for(state, id, MANAGE_ROLES)?;
    let target = call.id("overwrite_id");
    channel.overwrites.insert(target, overwrite(state, target, &call.body, "")?);
    state.channels.insert(id, channel);
    state.tell_channel("CHANNEL_UPDATE", id);
    Ok(NO_CONTENT)
}

pub(super) fn delete_overwrite(state: &mut State, call: &Call) -> Outcome {
    let id = call.id("channel_id");
    let mut channel = channel_for(state, id, MANAGE_ROLES)?;
    if channel.overwrites.remove(&call.id("overwrite_id")).is_none() {
        return Err(Refusal::circumstance(404, 10009, "Unknown Overwrite").into());
    }
    state.channels.insert(id, channel);
    state.tell_channel("CHANNEL_UPDATE", id);
    Ok(NO_CONTENT)
}

impl State {
    /// Removes a channel: the channels of a category then stand on their own, threads go with their channel.
    pub(crate) fn remove_channel(&mut self, id: Id) {
        let inside: Vec<Channel> =
            self.channels.values().filter(|channel| channel.parent == Some(id)).cloned().collect();
        let is_thread = self.channels.get(&id).is_some_and(Channel::is_thread);
        if let Some(channel) = self.channels.get_mut(&id) {
            channel.deleted = true;
        }
        for message in self.messages.values_mut().filter(|message| message.channel == id) {
            message.deleted = true;
        }
        self.tell_channel(if is_thread { "THREAD_DELETE" } else { "CHANNEL_DELETE" }, id);
        for orphan in inside {
            if orphan.is_thread() {
                self.remove_channel(orphan.id);
                continue;
            }
            if let Some(channel) = self.channels.get_mut(&orphan.id) {
                channel.parent = None;
            }
            self.tell_channel("CHANNEL_UPDATE", orphan.id);
        }
    }

    /// Archives a thread, as when a person closes it.
    pub(crate) fn archive(&mut self, thread: Id) {
        let now = self.now();
        if let Some(thread) = self.channels.get_mut(&thread) {
            thread.archived = Some(now);
        }
        self.tell_channel("THREAD_UPDATE", thread);
    }

    /// Adds a channel, as a person does.
    pub(crate) fn add_channel(&mut self, name: &str, kind: u64, parent: Option<Id>) -> Id {
        let id = self.new_id();
        let position = self.channels.len() as u64;
        let channel =
            Channel { id, kind, name: kept_name(name, kind), parent, position, ..Channel::default() };
        self.channels.insert(id, channel);
        self.tell_channel(if kind == THREAD { "THREAD_CREATE" } else { "CHANNEL_CREATE" }, id);
        id
    }
}
