//! The arguments of tools as they are shown: JSON, alone or on lines of its own below a title.

use serde_json::{Deserializer, Value};

/// A text without the JSON in it, and each argument that the JSON names. A list of words is also the command that they make
/// together.
pub(super) fn apart(text: &str) -> (String, Vec<String>) {
    let (mut rest, mut arguments) = (String::new(), Vec::new());
    let mut left = text;
    while !left.is_empty() {
        let line = left.find('\n').map_or(left.len(), |end| end + 1);
        let taken = if left.trim_start().starts_with(['{', '[']) { json(left, &mut arguments) } else { None };
        if taken.is_none() {
            rest.push_str(&left[..line]);
        }
        left = &left[taken.unwrap_or(line)..];
    }
    (rest, arguments)
}

/// The length of the JSON that a text begins with, if it does and nothing else stands on its last line.
fn json(text: &str, arguments: &mut Vec<String>) -> Option<usize> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    let after = &text[end..];
    let line = after.find('\n').map_or(after.len(), |end| end + 1);
    if !after[..line].trim().is_empty() {
        return None;
    }
    gather(value, arguments);
    Some(end + line)
}

fn gather(value: Value, arguments: &mut Vec<String>) {
    match value {
        Value::String(text) => arguments.push(text),
        Value::Array(items) => {
            let words: Vec<String> = items
                .iter()
                .filter_map(Value::as_str)
                .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
                .collect();
            if words.len() > 1 {
                arguments.push(words.join(" "));
            }
            items.into_iter().for_each(|item| gather(item, arguments));
        }
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| gather(field, arguments)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
