//! Arguments of tool calls as they are displayed: JSON, alone or on lines of its own below a title.

use serde_json::{Deserializer, Map, Value};

use super::acts::quoted;

/// Splits the displayed text of a tool call into the text that is no JSON and each string in the JSON. A list of words
/// also yields the command that they form together.
pub(super) fn apart(text: &str) -> (String, Vec<String>) {
    let (mut rest, mut arguments) = (String::new(), Vec::new());
    let mut left = text;
    while !left.is_empty() {
        let line = left.find('\n').map_or(left.len(), |end| end + 1);
        // Only this line is searched for its beginning: a text may consist of nothing but blank lines.
        let begins = left[..line].trim_start().starts_with(['{', '[']);
        let taken = if begins { json(left, &mut arguments) } else { None };
        if taken.is_none() {
            rest.push_str(&left[..line]);
        }
        left = &left[taken.unwrap_or(line)..];
    }
    (rest, arguments)
}

/// Returns the length of the JSON value at the start of a text, if there is one and nothing else is on its last line.
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
            let words: Vec<String> = items.iter().filter_map(Value::as_str).map(quoted).collect();
            if words.len() > 1 {
                arguments.push(words.join(" "));
            }
            items.into_iter().for_each(|item| gather(item, arguments));
        }
        Value::Object(fields) => {
            arguments.extend(call(&fields));
            fields.into_iter().for_each(|(_, field)| gather(field, arguments));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the command of a tool call whose program and arguments are separate JSON fields.
fn call(fields: &Map<String, Value>) -> Option<String> {
    let field = |names: &[&str]| {
        fields
            .iter()
            .find(|(name, _)| names.contains(&name.to_ascii_lowercase().as_str()))
            .map(|(_, value)| value)
    };
    let program = field(&["command", "cmd", "program", "executable", "binary", "file", "path", "tool"])?;
    let arguments = field(&["args", "arguments", "argv", "params", "parameters"])?;
    let words = |value: &Value| -> Option<Vec<String>> {
        match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(items) => Some(items.iter().filter_map(Value::as_str).map(quoted).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    };
    let words = words(program)?.into_iter().chain(words(arguments)?);
    Some(words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn no_line_is_looked_at_for_another() {
        let apart = |text| {
            let (rest, arguments) = apart(text);
            (rest, arguments.join("|"))
        };
        let found = |rest: &str, argument: &str| (rest.to_owned(), argument.to_owned());
        // If the blank lines were taken as the beginning of JSON, each of them would cost the whole of a long text.
        assert_eq!(apart("\n \n {\"a\":\"x\"}\n\n{\"a\":\"y\"}"), found("\n \n\n", "x|y"));
        assert_eq!(apart("Title\n\n{\"a\":\n\"x\"}\nend"), found("Title\n\nend", "x"));
        assert_eq!(apart("\n\n"), found("\n\n", ""));
    }
}
