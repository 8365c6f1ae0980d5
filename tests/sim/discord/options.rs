//! The values that a client sends for a command and its options, and the ones that it refuses.

use serde_json::{Value, json};

use super::gateway::snowflake;
use super::state::{Id, State};

/// Returns the `data` of an interaction: `/agent add` with its options by name. With `focus` it is half typed.
///
/// # Panics
///
/// When a client would not have sent it.
pub(crate) fn chosen(
    state: &State,
    user: Id,
    channel: Id,
    path: &str,
    given: &Value,
    focus: Option<(&str, &str)>,
) -> Value {
    let mut words = path.trim_start_matches('/').split(' ');
    let name = words.next().unwrap_or_default();
    let names = || state.commands.iter().map(super::state::Command::name).collect::<Vec<_>>();
    let command =
        state.command(name).unwrap_or_else(|| panic!("no command /{name}; there are {:?}", names()));
    state.assert_offered(user, channel, &command.body);
    // Down to the sub-command, whose options are the ones that are filled in.
    let (mut place, mut trail) = (&command.body, Vec::new());
    for word in words {
        let inner = place["options"].as_array().into_iter().flatten();
        let found = inner
            .into_iter()
            .find(|option| option["name"] == word && matches!(option["type"].as_u64(), Some(1 | 2)));
        place = found.unwrap_or_else(|| panic!("/{path}: no sub-command {word:?} in {place}"));
        trail.push((word, place["type"].clone()));
    }
    let known: Vec<&Value> = place["options"].as_array().into_iter().flatten().collect();
    assert!(
        !known.iter().any(|option| matches!(option["type"].as_u64(), Some(1 | 2))),
        "/{path} needs a sub-command"
    );
    let mut options = filled(&known, path, given, focus);
    for (word, kind) in trail.iter().rev() {
        options = json!([{ "name": word, "type": kind, "options": options }]);
    }
    let mut data = json!({
        "id": command.id.to_string(), "name": name, "type": 1, "options": options,
        "resolved": resolved(state, &known, given),
    });
    if let Some(guild) = command.guild {
        data["guild_id"] = json!(guild.to_string());
    }
    data
}

fn filled(known: &[&Value], path: &str, given: &Value, focus: Option<(&str, &str)>) -> Value {
    let empty = serde_json::Map::new();
    let given = given.as_object().unwrap_or(&empty);
    for name in given.keys().map(String::as_str).chain(focus.map(|(name, _)| name)) {
        assert!(known.iter().any(|option| option["name"] == name), "/{path} has no option {name:?}");
    }
    let mut options = Vec::new();
    for option in known {
        let name = option["name"].as_str().unwrap_or_default();
        if let Some((_, typed)) = focus.filter(|(focused, _)| *focused == name) {
            assert_eq!(option["autocomplete"], true, "/{path} {name} does not complete");
            options.push(json!({ "name": name, "type": option["type"], "value": typed, "focused": true }));
        } else if let Some(value) = given.get(name) {
            fits(option, value).unwrap_or_else(|why| panic!("/{path} {name}: {value} {why}"));
            options.push(json!({ "name": name, "type": option["type"], "value": value }));
        } else {
            let is_missing = option["required"] == true && focus.is_none();
            assert!(!is_missing, "/{path} needs {name:?}");
        }
    }
    Value::Array(options)
}

/// Checks a value as a client does, or says why it is refused.
fn fits(option: &Value, value: &Value) -> Result<(), String> {
    let kind = option["type"].as_u64().unwrap_or(0);
    let is_right = match kind {
        3 => value.is_string(),
        4 => value.is_i64() || value.is_u64(),
        5 => value.is_boolean(),
        6..=9 | 11 => value.as_str().is_some_and(|id| id.parse::<Id>().is_ok()),
        10 => value.is_number(),
        _ => false,
    };
    if !is_right {
        return Err(format!("is not of option type {kind}"));
    }
    let choices = option["choices"].as_array().filter(|choices| !choices.is_empty());
    if choices.is_some_and(|choices| !choices.iter().any(|choice| choice["value"] == *value)) {
        return Err(format!("is none of the choices {}", option["choices"]));
    }
    if let Some(number) = value.as_f64() {
        let is_low = option["min_value"].as_f64().is_some_and(|least| number < least);
        let is_high = option["max_value"].as_f64().is_some_and(|most| number > most);
        if is_low || is_high {
            return Err("is out of range".to_owned());
        }
    }
    let length = value.as_str().map_or(0, |text| text.chars().count() as u64);
    let longest = option["max_length"].as_u64().unwrap_or(6000);
    if kind == 3 && (length > longest || length < option["min_length"].as_u64().unwrap_or(0)) {
        return Err("is too long or too short".to_owned());
    }
    Ok(())
}

/// Returns the objects that options name by id.
fn resolved(state: &State, known: &[&Value], given: &Value) -> Value {
    let mut resolved = json!({});
    for option in known {
        let Some(id) = option["name"].as_str().and_then(|name| snowflake(&given[name])) else { continue };
        let key = id.to_string();
        match option["type"].as_u64() {
            Some(6) => {
                resolved["users"][&key] = state.user_json(id);
                if let Some(mut member) = state.partial_member_json(id) {
                    member["permissions"] = json!(state.permissions(id).to_string());
                    resolved["members"][&key] = member;
                }
            }
            Some(7) => {
                if let Some(channel) = state.channels.get(&id) {
                    let mut json = state.channel_json(channel);
                    json["permissions"] = json!(state.permissions(state.bot.id).to_string());
                    resolved["channels"][&key] = json;
                }
            }
            Some(8) => {
                if let Some(role) = state.guild.roles.get(&id) {
                    resolved["roles"][&key] = state.role_json(role);
                }
            }
            Some(11) => {
                if let Some(file) = state.offered.iter().find(|file| file.id == id) {
                    resolved["attachments"][&key] = state.attachment_json(0, file);
                }
            }
            _ => {}
        }
    }
    resolved
}
