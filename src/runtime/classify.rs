//! What the runtimes' tables of failures have in common: the first row that fits decides, and a process that left without a
//! result may still have said on standard error what a table knows.

use super::command::died;
use super::text::{Tail, bounded};
use crate::core::detail::Own;
use crate::core::outcome::{Category, Exit, Outcome};

/// A row of a table: where it looks, what stands there, and what that means.
pub type Row<F> = (F, &'static str, Category);

/// The class of a failure, if a row knows it; `holds` says whether a field of it holds a value.
pub fn category<F: Copy>(table: &[Row<F>], holds: impl Fn(F, &str) -> bool) -> Option<Category> {
    table.iter().find(|(field, value, _)| holds(*field, value)).map(|(_, _, category)| *category)
}

/// As much of a failure's text as is looked at: a line may have megabytes, and an API's words are among the first of them.
pub const LOOKED_AT: usize = 64 * 1024;

/// A text as the rows look at it: in small letters, like their words.
#[must_use]
pub fn small(text: &str) -> String {
    bounded(text, LOOKED_AT).to_lowercase()
}

/// What an agent can wait for in silence, trying again and again: that it passes, or that somebody pays.
#[must_use]
pub const fn is_limit(category: Category) -> bool {
    matches!(category, Category::RateLimit | Category::Quota | Category::Billing)
}

/// What APIs and CLIs say of a history that they refuse: a call without its result, a result without its call, thinking that
/// was changed, a picture that is too large.
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

/// What an API calls the messages of a conversation when it names one of them by its number.
const MESSAGES: [&str; 4] = ["messages.", "messages[", "input[", "contents["];

/// Whether a refusal is one of what was said before, and not of how it was asked: the same would be refused again.
#[must_use]
pub fn refuses_history(said: &str) -> bool {
    let said = small(said);
    let numbered = MESSAGES.iter().any(|name| {
        said.match_indices(name)
            .any(|(at, _)| said[at + name.len()..].starts_with(|c: char| c.is_ascii_digit()))
    });
    numbered || HISTORY_REFUSED.iter().any(|known| said.contains(known))
}

/// The last line whose class is known, of standard error, else of the plain words on standard output.
pub fn last_known(tail: &Tail, category: impl Fn(&str) -> Option<Category>) -> Option<Outcome> {
    last_of(tail.iter(), &category).or_else(|| last_of(tail.printed(), &category))
}

/// The last of these lines whose class is known.
pub fn last_of<'a>(
    lines: impl DoubleEndedIterator<Item = &'a str>,
    category: impl Fn(&str) -> Option<Category>,
) -> Option<Outcome> {
    lines.rev().find_map(|line| category(line).map(|category| Outcome::new(category, line)))
}

/// The outcome of a process that left without a result; `known`: what its last words mean, where they count.
#[must_use]
pub fn left(exit: Option<Exit>, known: Option<Outcome>, stderr: &Tail) -> Outcome {
    match (known, exit) {
        (Some(outcome), _) => outcome,
        (None, Some(Exit::Code(0))) => Outcome::new(Category::Crash, Own::NoResult.with(stderr.reason())),
        (None, exit) => died(exit, stderr),
    }
}
