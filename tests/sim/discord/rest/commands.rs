//! Registered commands.

use serde_json::Value;

use super::super::refusal::{Problem, Refusal};
use super::super::rules;
use super::super::server::Call;
use super::super::state::{Command, Id, State};
use super::{NO_CONTENT, Outcome, in_guild};

/// The number of commands that may be created in a day in one place.
const MADE_MAX: u32 = 200;

pub(super) fn answer(state: &mut State, call: &Call, key: &str) -> Outcome {
    if call.id("application_id") != state.bot.id {
        return Err(Refusal::unknown(10002, "Application", false).into());
    }
    let guild = if call.parameters.contains_key("guild_id") {
        in_guild(state, call)?;
        Some(state.guild.id)
    } else {
        None
    };
    let (method, route) = key.split_once(' ').unwrap_or_default();
    match (method, route.ends_with("/commands"), route.ends_with("/{command_id}")) {
        ("GET", true, _) => {
            let mut all = list(state, guild);
            if call.query.get("with_localizations").is_none_or(|with| with != "true") {
                without_localizations(&mut all);
            }
            Ok((200, all))
        }
        ("PUT", true, _) => put(state, guild, &call.body),
        ("POST", true, _) => post(state, guild, &call.body),
        ("GET", _, true) => {
            let command = find(state, guild, call.id("command_id"))?;
            Ok((200, state.command_json(&command)))
        }
        ("PATCH", _, true) => {
            let command = find(state, guild, call.id("command_id"))?;
            patch(state, command, &call.body)
        }
        ("DELETE", _, true) => {
            let command = find(state, guild, call.id("command_id"))?;
            state.commands.retain(|known| known.id != command.id);
            Ok(NO_CONTENT)
        }
        ("GET", _, _) => Ok((200, Value::Array(Vec::new()))),
        _ => Err(Refusal::new(501, 0, &format!("the simulator does not know {key} yet")).into()),
    }
}

fn list(state: &State, guild: Option<Id>) -> Value {
    state
        .commands
        .iter()
        .filter(|known| known.guild == guild)
        .map(|known| state.command_json(known))
        .collect()
}

/// Removes other languages, which Discord shows only on request.
fn without_localizations(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_localizations),
        Value::Object(fields) => {
            fields.retain(|name, _| !name.ends_with("_localizations"));
            fields.values_mut().for_each(without_localizations);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn find(state: &State, guild: Option<Id>, id: Id) -> Result<Command, Refusal> {
    let found = state.commands.iter().find(|known| known.guild == guild && known.id == id);
    found.cloned().ok_or_else(|| Refusal::unknown(10063, "application command", true))
}

fn kind(body: &Value) -> u64 {
    body["type"].as_u64().unwrap_or(1)
}

/// Returns a command as it is kept: one of the same name and kind keeps its id.
fn kept(state: &mut State, guild: Option<Id>, body: &Value) -> Result<Command, Refusal> {
    let same = |known: &&Command| {
        known.guild == guild && known.body["name"] == body["name"] && kind(&known.body) == kind(body)
    };
    let known = state.commands.iter().find(same).cloned();
    match known {
        Some(known) if known.body == *body => Ok(known),
        Some(known) => Ok(Command { version: state.new_id(), body: body.clone(), ..known }),
        None => {
            state.commands_made += 1;
            if state.commands_made > MADE_MAX {
                return Err(Refusal::new(
                    400,
                    30034,
                    "Max number of daily application command creates has been reached (200)",
                ));
            }
            let (id, version) = (state.new_id(), state.new_id());
            Ok(Command { id, guild, version, body: body.clone() })
        }
    }
}

fn put(state: &mut State, guild: Option<Id>, body: &Value) -> Outcome {
    let wanted = body.as_array().cloned().unwrap_or_default();
    rules::refused(rules::commands(&wanted))?;
    let mut commands = Vec::new();
    for body in &wanted {
        commands.push(kept(state, guild, body)?);
    }
    state.commands.retain(|known| known.guild != guild);
    state.commands.extend(commands);
    Ok((200, list(state, guild)))
}

fn post(state: &mut State, guild: Option<Id>, body: &Value) -> Outcome {
    let same = |known: &&Command| known.guild == guild && known.body["name"] == body["name"];
    let mut all: Vec<Value> = state
        .commands
        .iter()
        .filter(|known| known.guild == guild && !same(known))
        .map(|c| c.body.clone())
        .collect();
    all.push(body.clone());
    rules::refused(rules::commands(&all))?;
    let command = kept(state, guild, body)?;
    let status = if state.commands.iter().any(|known| known.id == command.id) { 200 } else { 201 };
    state.commands.retain(|known| known.id != command.id);
    state.commands.push(command.clone());
    Ok((status, state.command_json(&command)))
}

fn patch(state: &mut State, mut command: Command, body: &Value) -> Outcome {
    let (Some(into), Some(from)) = (command.body.as_object_mut(), body.as_object()) else {
        return Err(Refusal::invalid(vec![Problem::new("", "Only dictionaries may be used")]).into());
    };
    into.extend(from.clone());
    rules::refused(rules::command(&command.body, ""))?;
    command.version = state.new_id();
    for known in state.commands.iter_mut().filter(|known| known.id == command.id) {
        *known = command.clone();
    }
    Ok((200, state.command_json(&command)))
}
