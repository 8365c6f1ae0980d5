//! Comparison of two lists of commands. Discord returns a list with added defaults, ids and other fields.

use serde_json::{Map, Value};

/// Fields of slash commands, options and choices that are compared; other fields are Discord's own or defaults.
const FIELDS: [&str; 14] = [
    "autocomplete",
    "channel_types",
    "choices",
    "default_member_permissions",
    "description",
    "description_localizations",
    "max_length",
    "max_value",
    "min_length",
    "min_value",
    "name",
    "name_localizations",
    "required",
    "value",
];

/// Reduces a list of slash commands to a form in which it can be compared.
pub(super) fn told_apart(commands: &Value) -> Value {
    let mut commands: Vec<Value> = items(commands).iter().map(item).collect();
    // Discord returns them in an order of its own.
    commands.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
    Value::Array(commands)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Reduces one command, option or choice to a form in which it can be compared.
fn item(value: &Value) -> Value {
    let mut told = Map::new();
    for field in FIELDS {
        let inner = match (field, &value[field]) {
            ("choices", choices) => Value::Array(items(choices).iter().map(item).collect()),
            // Discord treats 1 and 1.0 as equal.
            (_, Value::Number(number)) => number.as_f64().into(),
            (_, inner) => inner.clone(),
        };
        if !is_default(&inner) {
            told.insert(field.to_owned(), inner);
        }
    }
    // A command may lack it.
    told.insert("type".to_owned(), value["type"].as_u64().unwrap_or(1).into());
    let options: Vec<Value> = items(&value["options"]).iter().map(item).collect();
    told.insert("options".to_owned(), Value::Array(options));
    Value::Object(told)
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(inner) => inner.is_empty(),
        Value::Object(inner) => inner.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent() -> Value {
        json!([
            { "name": "b", "description": "B", "name_localizations": { "de": "be" }, "options": [], "nsfw": false },
            { "name": "a", "type": 1, "description": "A", "default_member_permissions": "32", "options": [{
                "type": 4, "name": "count", "description": "how many", "min_value": 1, "required": false,
                "choices": [],
            }] },
        ])
    }

    fn shown() -> Value {
        json!([
            { "id": "1", "version": "2", "name": "a", "type": 1, "description": "A", "contexts": null,
              "default_member_permissions": "32", "name_localizations": null, "nsfw": false, "options": [{
                "type": 4, "name": "count", "description": "how many", "min_value": 1.0,
            }] },
            { "id": "3", "application_id": "4", "name": "b", "type": 1, "description": "B",
              "name_localizations": { "de": "be" }, "description_localizations": {} },
        ])
    }

    #[test]
    fn what_discord_adds_makes_no_difference() {
        assert_eq!(told_apart(&sent()), told_apart(&shown()));
    }

    #[test]
    fn what_people_would_notice_does() {
        let changes: [fn(&mut Value); 7] = [
            |shown| shown[0]["description"] = "other".into(),
            |shown| shown[0]["options"][0]["required"] = true.into(),
            |shown| shown[0]["options"][0]["min_value"] = 2.into(),
            |shown| shown[0]["options"] = json!([]),
            |shown| shown[0]["default_member_permissions"] = Value::Null,
            |shown| shown[1]["name_localizations"]["de"] = "bi".into(),
            |shown| drop(shown.as_array_mut().map(Vec::pop)),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut other = shown();
            change(&mut other);
            assert_ne!(told_apart(&sent()), told_apart(&other), "{number}");
        }
    }
}
