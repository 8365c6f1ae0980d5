//! Rules of Discord beyond its published contract.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::refusal::{Problem, Refusal};
use super::state::components;

/// The longest content of a bot's message, in characters.
const CONTENT_MAX: usize = 2000;
/// The longest all embeds of a message may be together.
const EMBEDS_MAX: usize = 6000;
/// The largest total length of the texts of one command, in characters.
const COMMAND_MAX: usize = 8000;

/// The allowed form of the name of a command or of an option.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[-_'\p{L}\p{N}\p{Deva}\p{Thai}]{1,32}$").expect("a pattern"));

const LOCALES: [&str; 33] = [
    "id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu", "nl", "no", "pl",
    "pt-BR", "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru", "uk", "hi", "th", "zh-CN", "ja",
    "zh-TW", "ko", "ar",
];

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the problems of the body of a message, for any target. `at` is its place in the request.
pub(crate) fn message(body: &Value, at: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let content = body["content"].as_str().unwrap_or_default();
    if content.chars().count() > CONTENT_MAX {
        let text = format!("Must be {CONTENT_MAX} or fewer in length; it is {}", content.chars().count());
        problems.push(Problem::new(format!("{at}/content"), text));
    }
    if body["nonce"].as_str().is_some_and(|nonce| nonce.chars().count() > 25) {
        problems.push(Problem::new(format!("{at}/nonce"), "Must be 25 or fewer in length"));
    }
    let total: usize = array(&body["embeds"]).iter().map(embed_length).sum();
    if total > EMBEDS_MAX {
        problems.push(Problem::new(format!("{at}/embeds"), "Embed size exceeds maximum size of 6000"));
    }
    problems.extend(mentions(&body["allowed_mentions"], at));
    problems.extend(message_components(array(&body["components"]), at));
    problems
}

/// Returns problems with previews: Discord would accept them, but herder must not send them, because Discord would
/// fetch every address that an agent names.
pub(crate) fn previews(body: &Value, at: &str) -> Vec<Problem> {
    const SUPPRESS_EMBEDS: u64 = 1 << 2;
    let shows = body["flags"].as_u64().unwrap_or_default() & SUPPRESS_EMBEDS == 0;
    let problem = || Problem::new(format!("{at}/flags"), "addresses in it would be shown with previews");
    shows.then(problem).into_iter().collect()
}

fn embed_length(embed: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let fields = array(&embed["fields"]).iter().map(|field| length(&field["name"]) + length(&field["value"]));
    length(&embed["title"])
        + length(&embed["description"])
        + length(&embed["footer"]["text"])
        + length(&embed["author"]["name"])
        + fields.sum::<usize>()
}

/// Refuses a list that names single targets and all targets of the same kind at once.
fn mentions(allowed: &Value, at: &str) -> Vec<Problem> {
    let parsed: Vec<&str> = array(&allowed["parse"]).iter().filter_map(Value::as_str).collect();
    ["users", "roles"]
        .into_iter()
        .filter(|kind| parsed.contains(kind) && !array(&allowed[*kind]).is_empty())
        .map(|kind| {
            let text = format!("parse:[\"{kind}\"] and {kind}: [ids...] are mutually exclusive.");
            Problem::new(format!("{at}/allowed_mentions"), text)
        })
        .collect()
}

fn message_components(list: &[Value], at: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let at = format!("{at}/components");
    let mut seen = BTreeSet::new();
    if list.iter().filter(|component| component["type"] == 1).count() > 5 {
        problems.push(Problem::new(&at, "Must be 5 or fewer in length."));
    }
    for component in components(list) {
        if let Some(custom_id) = component["custom_id"].as_str() {
            if custom_id.is_empty() || custom_id.chars().count() > 100 {
                problems.push(Problem::new(&at, "custom_id: Must be between 1 and 100 in length."));
            }
            if !seen.insert(custom_id) {
                problems.push(Problem::new(&at, "Component custom id cannot be duplicated"));
            }
        }
        if component["type"] == 2 {
            problems.extend(button(component, &at));
        }
    }
    for row in list.iter().filter(|component| component["type"] == 1) {
        let inner = array(&row["components"]);
        let selects = inner.iter().filter(|component| component["type"] != 2).count();
        if selects > 1 || (selects == 1 && inner.len() > 1) {
            problems.push(Problem::new(&at, "The specified component exceeds the maximum width"));
        }
    }
    problems
}

fn button(button: &Value, at: &str) -> Option<Problem> {
    let is_link = button["style"] == 5;
    if is_link && (button["url"].is_null() || !button["custom_id"].is_null()) {
        return Some(Problem::new(at, "A url button must have a url and cannot have a custom id"));
    }
    if !is_link && button["style"] != 6 && (button["custom_id"].is_null() || !button["url"].is_null()) {
        return Some(Problem::new(at, "A custom id is required, and a url is not allowed"));
    }
    let is_bare = button["label"].as_str().is_none_or(str::is_empty) && button["emoji"].is_null();
    is_bare.then(|| Problem::new(at, "A button must have a label or an emoji"))
}

/// Returns true if a message has nothing in it.
pub(crate) fn is_empty(body: &Value, files: usize) -> bool {
    let has = |name: &str| !array(&body[name]).is_empty();
    body["content"].as_str().is_none_or(|content| content.trim().is_empty())
        && !has("embeds")
        && !has("components")
        && !has("sticker_ids")
        && body["poll"].is_null()
        && files == 0
}

/// Returns the problems of the data of a modal.
pub(crate) fn modal(data: &Value) -> Vec<Problem> {
    let list = array(&data["components"]);
    let mut problems = message_components(list, "/data");
    if list.len() > 5 {
        problems.push(Problem::new("/data/components", "Must be between 1 and 5 in length."));
    }
    for input in components(list).into_iter().filter(|component| component["type"] == 4) {
        let longest = input["max_length"].as_u64().unwrap_or(4000);
        let value = input["value"].as_str().unwrap_or_default().chars().count() as u64;
        if value > longest || input["min_length"].as_u64().is_some_and(|least| value > 0 && value < least) {
            problems.push(Problem::new("/data/components", "value: does not fit min_length and max_length"));
        }
    }
    problems
}

/// Returns the problems of all commands of one place, as they are after the request.
pub(crate) fn commands(list: &[Value]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let kind = |command: &Value| command["type"].as_u64().unwrap_or(1);
    for (wanted, most) in [(1, 100), (2, 15), (3, 15)] {
        if list.iter().filter(|command| kind(command) == wanted).count() > most {
            problems
                .push(Problem::new("", format!("Maximum number of application commands reached ({most})")));
        }
    }
    for (index, command) in list.iter().enumerate() {
        let at = format!("/{index}");
        if !seen.insert((kind(command), command["name"].as_str().unwrap_or_default())) {
            problems.push(Problem::new(format!("{at}/name"), "Application command names must be unique"));
        }
        problems.extend(self::command(command, &at));
    }
    problems
}

/// Returns the problems of one command.
pub(crate) fn command(command: &Value, at: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if command["type"].as_u64().unwrap_or(1) == 1 {
        named(command, at, &mut problems);
        options(array(&command["options"]), at, 0, &mut problems);
    } else if command["description"].as_str().is_some_and(|text| !text.is_empty()) {
        problems
            .push(Problem::new(format!("{at}/description"), "Context menu commands cannot have description"));
    }
    if length(command) > COMMAND_MAX {
        problems.push(Problem::new(at, "Command exceeds maximum size (8000)"));
    }
    problems
}

/// Returns the size of a command in characters: names, descriptions and values, of each text the longest locale.
fn length(item: &Value) -> usize {
    let count = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let longest = |name: &str, localizations: &str| {
        let localized = item[localizations].as_object().into_iter().flat_map(Map::values).map(count).max();
        count(&item[name]).max(localized.unwrap_or(0))
    };
    let inner = array(&item["options"]).iter().chain(array(&item["choices"])).map(length).sum::<usize>();
    longest("name", "name_localizations")
        + longest("description", "description_localizations")
        + count(&item["value"])
        + inner
}

/// Checks a name and a description, in all languages.
fn named(item: &Value, at: &str, problems: &mut Vec<Problem>) {
    let fits = |name: &str| NAME.is_match(name) && name == name.to_lowercase();
    if !fits(item["name"].as_str().unwrap_or_default()) {
        problems.push(Problem::new(format!("{at}/name"), "Command name is invalid"));
    }
    let described = item["description"].as_str().unwrap_or_default().chars().count();
    if !(1..=100).contains(&described) {
        problems.push(Problem::new(format!("{at}/description"), "Must be between 1 and 100 in length."));
    }
    for kind in ["name_localizations", "description_localizations"] {
        for (locale, text) in item[kind].as_object().into_iter().flatten() {
            if !LOCALES.contains(&locale.as_str()) {
                problems
                    .push(Problem::new(format!("{at}/{kind}/{locale}"), "Value must be one of the locales"));
            }
            if kind == "name_localizations" && !fits(text.as_str().unwrap_or_default()) {
                problems.push(Problem::new(format!("{at}/{kind}/{locale}"), "Command name is invalid"));
            }
        }
    }
}

fn options(list: &[Value], at: &str, depth: usize, problems: &mut Vec<Problem>) {
    if list.len() > 25 {
        problems.push(Problem::new(format!("{at}/options"), "Must be 25 or fewer in length."));
    }
    let is_sub = |option: &Value| matches!(option["type"].as_u64(), Some(1 | 2));
    if list.iter().any(is_sub) && !list.iter().all(is_sub) {
        let text = "Sub-command and sub-command group option types are mutually exclusive to all other types";
        problems.push(Problem::new(format!("{at}/options"), text));
    }
    let (mut seen, mut optional) = (BTreeSet::new(), false);
    for (index, option) in list.iter().enumerate() {
        let at = format!("{at}/options/{index}");
        named(option, &at, problems);
        if !seen.insert(option["name"].as_str().unwrap_or_default()) {
            problems.push(Problem::new(format!("{at}/name"), "Option names must be unique"));
        }
        if option["required"] == true && optional {
            let text = "Required options must be placed before non-required options";
            problems.push(Problem::new(format!("{at}/required"), text));
        }
        optional |= option["required"] != true && !is_sub(option);
        if (option["type"] == 2 && depth > 0) || (option["type"] == 1 && depth > 1) {
            problems.push(Problem::new(format!("{at}/type"), "Sub-commands are nested too deeply"));
        }
        problems.extend(choices(option, &at));
        let inner = array(&option["options"]);
        if is_sub(option) {
            options(inner, &at, depth + 1, problems);
        } else if !inner.is_empty() {
            problems.push(Problem::new(format!("{at}/options"), "Only sub-commands have options"));
        }
    }
}

fn choices(option: &Value, at: &str) -> Vec<Problem> {
    let list = array(&option["choices"]);
    let mut problems = self::choice_list(list, at);
    let names: BTreeSet<Option<&str>> = list.iter().map(|choice| choice["name"].as_str()).collect();
    if names.len() < list.len() {
        problems.push(Problem::new(format!("{at}/choices"), "Option choice names must be unique"));
    }
    if option["autocomplete"] == true && !list.is_empty() {
        problems.push(Problem::new(at, "Autocomplete options cannot have choices"));
    }
    problems
}

/// Checks a list of choices, of an option or of autocompletion.
pub(crate) fn choice_list(list: &[Value], at: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if list.len() > 25 {
        problems.push(Problem::new(format!("{at}/choices"), "Must be 25 or fewer in length."));
    }
    for (index, choice) in list.iter().enumerate() {
        let name = choice["name"].as_str().unwrap_or_default();
        if !(1..=100).contains(&name.chars().count()) {
            problems.push(Problem::new(
                format!("{at}/choices/{index}/name"),
                "Must be between 1 and 100 in length.",
            ));
        }
        if choice["value"].as_str().is_some_and(|value| value.chars().count() > 100) {
            problems
                .push(Problem::new(format!("{at}/choices/{index}/value"), "Must be 100 or fewer in length."));
        }
    }
    problems
}

/// Returns the refusal for these problems, if there are any.
pub(crate) fn refused(problems: Vec<Problem>) -> Result<(), Refusal> {
    if problems.is_empty() { Ok(()) } else { Err(Refusal::invalid(problems)) }
}
