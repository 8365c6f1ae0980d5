//! Common parts of the runtimes' tables of failures: the first matching row decides, and a process that exits without
//! a result may have printed a known message on standard error.

use super::command::died;
use super::text::{RAW_MAX, Tail, bounded};
use crate::core::detail::Own;
use crate::core::outcome::{Category, Exit, Outcome};

/// A row of a table that classifies failures: a field, a value in it, and the category.
pub type Row<F> = (F, &'static str, Category);

/// Returns the category of a failure by the first matching row of the table; `holds` returns true if a field contains a
/// value.
pub fn category<F: Copy>(table: &[Row<F>], holds: impl Fn(F, &str) -> bool) -> Option<Category> {
    table.iter().find(|(field, value, _)| holds(*field, value)).map(|(_, _, category)| *category)
}

/// Maximum length of a failure's text that is examined, in bytes: a line may have megabytes, and an API's message is
/// at its beginning.
pub const LOOKED_AT: usize = 64 * 1024;

/// Length of a field in bytes beyond which it is put last, as no API's own word is so long.
const FIELD_MAX: usize = 100;

/// Returns a text in the form that rows of the tables are compared with: bounded and in lower case.
#[must_use]
pub fn small(text: &str) -> String {
    bounded(text, LOOKED_AT).to_lowercase()
}

/// Returns the fields of a failure that are not empty, with their names, followed by the text: for a maintainer who
/// adds a row. Long fields come last, so that a cut hits none of the others.
#[must_use]
pub fn whole(fields: &[(&str, &String)], text: &str) -> String {
    let mut fields: Vec<&(&str, &String)> = fields.iter().filter(|(_, value)| !value.is_empty()).collect();
    fields.sort_by_key(|(_, value)| value.len() > FIELD_MAX);
    let said: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name} {}", bounded(value, RAW_MAX))).collect();
    if said.is_empty() { text.to_owned() } else { format!("{}: {text}", said.join(", ")) }
}

/// Returns true for categories that an agent may wait out in silence with retries: rate limits, usage limits and
/// billing.
#[must_use]
pub const fn is_limit(category: Category) -> bool {
    matches!(category, Category::RateLimit | Category::Quota | Category::Billing)
}

/// Messages of APIs and CLIs that reject the conversation's history: a tool call without its result, a result without
/// its call, altered thinking, an image that is too large.
const HISTORY_REFUSED: [&str; 11] = [
    "ids were found without",
    "unexpected `tool_use_id`",
    "tool use concurrency issues",
    "no tool output found for function call",
    "no tool call found for function call",
    "without its required following item",
    "must be followed by tool messages",
    "must be a response to a preceding message",
    "function call turn comes immediately after",
    "number of function response parts",
    "invalid_encrypted_content",
];

/// Prefixes with which an API names a message of the conversation by its number.
const MESSAGES: [&str; 4] = ["messages.", "messages[", "input[", "contents["];

/// Returns true if a message rejects the conversation's history rather than the request: the same history would be
/// rejected again.
#[must_use]
pub fn refuses_history(said: &str) -> bool {
    let said = small(said);
    let numbered = MESSAGES.iter().any(|name| {
        said.match_indices(name)
            .any(|(at, _)| said[at + name.len()..].starts_with(|c: char| c.is_ascii_digit()))
    });
    numbered || HISTORY_REFUSED.iter().any(|known| said.contains(known))
}

/// Words for a conversation that is not there.
const GONE: [&str; 9] = [
    "session not found",
    "conversation not found",
    "thread not found",
    "no rollout found",
    "no conversation found",
    "no previous sessions found",
    "no such session",
    "unknown session",
    "session does not exist",
];

/// Words of a refusal whose reason is the machine, the network or the settings, without a row in any table.
const ELSEWHERE: [&str; 23] = [
    "econnrefused",
    "econnreset",
    "etimedout",
    "getaddrinfo",
    "enetunreach",
    "ehostunreach",
    "fetch failed",
    "socket hang up",
    "connection refused",
    "connection reset",
    "connection error",
    "network error",
    "timed out",
    "overloaded",
    "temporarily unavailable",
    "service unavailable",
    "configuration",
    "config.toml",
    "configinvaliderror",
    "configjsonerror",
    "no space left on device",
    "too many open files",
    "database is locked",
];

/// True if the words of a refusal to resume a conversation say that it is not there; `words` is the category of the
/// words alone, without any code beside them. A login or a limit that is "not found" is none.
#[must_use]
pub fn is_gone(said: &str, words: Option<Category>) -> bool {
    let other = matches!(
        words,
        Some(Category::Auth | Category::Billing | Category::RateLimit | Category::Quota | Category::Budget)
    );
    let said = small(said);
    !other && GONE.iter().any(|known| said.contains(known))
}

/// True if a refusal to resume a conversation is about that conversation: it is too long, or nothing else is known that
/// would explain the refusal. `said` is everything that the refusal says.
#[must_use]
pub fn is_about_the_conversation(said: &str, category: Option<Category>) -> bool {
    let said = small(said);
    match category {
        Some(Category::ContextOverflow) => true,
        Some(_) => false,
        None => !ELSEWHERE.iter().any(|known| said.contains(known)),
    }
}

/// Returns the outcome by the last line that tells a category, on standard error, else in plain text on standard
/// output.
pub fn last_known(tail: &Tail, category: impl Fn(&str) -> Option<Category>) -> Option<Outcome> {
    last_of(tail.iter(), &category).or_else(|| last_of(tail.printed(), &category))
}

/// Returns the outcome by the last of these lines that tells a category.
pub fn last_of<'a>(
    lines: impl DoubleEndedIterator<Item = &'a str>,
    category: impl Fn(&str) -> Option<Category>,
) -> Option<Outcome> {
    lines.rev().find_map(|line| category(line).map(|category| Outcome::new(category, line)))
}

/// Returns the outcome of a process that exited without a result. `known`: the outcome that its last words tell, if
/// they count.
#[must_use]
pub fn left(exit: Option<Exit>, known: Option<Outcome>, stderr: &Tail) -> Outcome {
    match (known, exit) {
        (Some(outcome), _) => outcome,
        (None, Some(Exit::Code(0))) => Outcome::new(Category::Crash, Own::NoResult.with(stderr.reason())),
        (None, exit) => died(exit, stderr),
    }
}
