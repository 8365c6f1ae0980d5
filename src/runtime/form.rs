//! Forms of a runtime (elicitation of MCP and of the Agent Client Protocol): each field becomes a question, and the
//! answers together are the content.

use serde_json::{Map, Value, json};

use crate::core::ask::{Inquiry, Offer};

/// A field of a form: its name, the kind of its values, and whether it is required.
#[derive(Debug)]
struct Field {
    name: String,
    kind: Kind,
    required: bool,
}

#[derive(Debug)]
enum Kind {
    Text,
    Number,
    /// One of these values, each with its label for people.
    One(Vec<(String, Value)>),
    /// Any number of these values, each with its label for people.
    Several(Vec<(String, Value)>),
}

/// A form that a runtime puts to people, as its fields.
#[derive(Debug)]
pub(super) struct Form(Vec<Field>);

/// Label of the affirmative answer to a form without fields.
const AGREED: &str = "Yes";

impl Form {
    /// Parses a JSON schema into a form and its questions. A form without fields asks for consent.
    pub(super) fn of(message: &str, schema: &Value) -> (Self, Vec<Inquiry>) {
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let properties = schema["properties"].as_object();
        let mut questions = Vec::new();
        let fields: Vec<Field> = properties
            .into_iter()
            .flatten()
            .map(|(name, property)| {
                let kind = Kind::of(property);
                questions.push(question(
                    if questions.is_empty() { message } else { "" },
                    name,
                    property,
                    &kind,
                ));
                Field { name: name.clone(), kind, required: required.iter().any(|known| known == name) }
            })
            .collect();
        if fields.is_empty() {
            let offer = |label: &str| Offer { label: label.to_owned(), description: String::new() };
            let options = vec![offer(AGREED), offer("No")];
            questions.push(Inquiry::Question { text: message.to_owned(), options, several: false });
        }
        (Self(fields), questions)
    }

    /// Builds the response to the form from people's answers: the values of the fields, or a cancellation if a required
    /// field is unanswered.
    pub(super) fn answer(&self, answers: &[Option<Vec<String>>]) -> Value {
        if answers.iter().all(Option::is_none) {
            return json!({ "action": "cancel" });
        }
        if self.0.is_empty() {
            let agreed = answers.iter().flatten().flatten().any(|word| word.eq_ignore_ascii_case(AGREED));
            return if agreed {
                json!({ "action": "accept", "content": {} })
            } else {
                json!({ "action": "decline" })
            };
        }
        let mut content = Map::new();
        for (field, answer) in self.0.iter().zip(answers) {
            match answer {
                Some(words) => {
                    content.insert(field.name.clone(), field.kind.value(words));
                }
                None if field.required => return json!({ "action": "cancel" }),
                None => {}
            }
        }
        json!({ "action": "accept", "content": content })
    }
}

impl Kind {
    fn of(property: &Value) -> Self {
        match property["type"].as_str() {
            Some("boolean") => {
                Self::One(vec![("Yes".to_owned(), json!(true)), ("No".to_owned(), json!(false))])
            }
            Some("number" | "integer") => Self::Number,
            Some("array") => Self::Several(choices(&property["items"])),
            Some(_) | None => match choices(property) {
                choices if choices.is_empty() => Self::Text,
                choices => Self::One(choices),
            },
        }
    }

    fn value(&self, words: &[String]) -> Value {
        let of = |choices: &[(String, Value)], word: &String| {
            let known = choices.iter().find(|(label, _)| label.eq_ignore_ascii_case(word));
            known.map_or_else(|| json!(word), |(_, value)| value.clone())
        };
        let first = words.first().cloned().unwrap_or_default();
        match self {
            Self::Text => json!(first),
            Self::Number => {
                serde_json::from_str::<serde_json::Number>(first.trim()).map_or(json!(first), Value::Number)
            }
            Self::One(choices) => of(choices, &first),
            Self::Several(choices) => words.iter().map(|word| of(choices, word)).collect(),
        }
    }
}

/// Returns the values that a field offers, with labels, in either notation of JSON schemas: `enum` with names, or
/// constants with titles.
fn choices(schema: &Value) -> Vec<(String, Value)> {
    let list = |name: &str| schema[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names = list("enumNames");
    let listed = list("enum").iter().enumerate().map(|(at, value)| {
        let name = names.get(at).and_then(Value::as_str).map(str::to_owned);
        (name.unwrap_or_else(|| shown(value)), value.clone())
    });
    let constants =
        list("oneOf").iter().chain(list("anyOf")).filter(|one| !one["const"].is_null()).map(|one| {
            let title = one["title"].as_str().map(str::to_owned);
            (title.unwrap_or_else(|| shown(&one["const"])), one["const"].clone())
        });
    listed.chain(constants).collect()
}

fn question(message: &str, name: &str, property: &Value, kind: &Kind) -> Inquiry {
    let title = property["title"].as_str().unwrap_or(name);
    let explained = property["description"].as_str();
    let field = explained.map_or_else(|| title.to_owned(), |explained| format!("{title}: {explained}"));
    let text = if message.trim().is_empty() { field } else { format!("{message}\n{field}") };
    let offers = |choices: &[(String, Value)]| {
        let offer = |(label, _): &(String, Value)| Offer { label: label.clone(), description: String::new() };
        choices.iter().map(offer).collect::<Vec<_>>()
    };
    let (options, several) = match kind {
        Kind::Text | Kind::Number => (Vec::new(), false),
        Kind::One(choices) => (offers(choices), false),
        Kind::Several(choices) => (offers(choices), true),
    };
    Inquiry::Question { text, options, several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_a_question_and_the_answers_are_the_content() {
        let schema = json!({ "type": "object", "required": ["colour"], "properties": {
            "colour": { "type": "string", "title": "Colour", "oneOf": [
                { "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" },
            ] },
            "count": { "type": "integer", "description": "how many" },
            "days": { "type": "array", "items": { "enum": ["mon", "tue", "wed"] } },
            "sure": { "type": "boolean" },
            "why": { "type": "string" },
        } });
        let (form, questions) = Form::of("Please fill in.", &schema);
        let shown: Vec<String> = questions
            .iter()
            .map(|question| match question {
                Inquiry::Question { text, options, several } => {
                    let labels: Vec<&str> = options.iter().map(|offer| offer.label.as_str()).collect();
                    format!("{text} {labels:?} {several}")
                }
                Inquiry::Plan { text } => panic!("{text}"),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Please fill in.\nColour [\"Red\", \"Green\"] false",
                "count: how many [] false",
                "days [\"mon\", \"tue\", \"wed\"] true",
                "sure [\"Yes\", \"No\"] false",
                "why [] false",
            ]
        );
        let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let all = [words(&["Green"]), words(&["3"]), words(&["mon", "wed"]), words(&["Yes"]), words(&["so"])];
        let content =
            json!({ "colour": "#0f0", "count": 3, "days": ["mon", "wed"], "sure": true, "why": "so" });
        assert_eq!(form.answer(&all), json!({ "action": "accept", "content": content }));
        let some = [words(&["Red"]), None, None, None, None];
        assert_eq!(form.answer(&some), json!({ "action": "accept", "content": { "colour": "#f00" } }));
        assert_eq!(form.answer(&[None, words(&["3"]), None, None, None]), json!({ "action": "cancel" }));
    }

    #[test]
    fn a_form_without_fields_asks_whether_one_agrees() {
        let (form, questions) = Form::of("Really?", &json!({}));
        assert_eq!(questions.len(), 1);
        for (word, action) in [("Yes", "accept"), ("no", "decline")] {
            assert_eq!(form.answer(&[Some(vec![word.to_owned()])])["action"], action);
        }
        assert_eq!(form.answer(&[None])["action"], "cancel");
    }
}
