//! The recap for a new session about the one before it, and helpers that bound texts.

use super::agent::Agent;
use super::context::{FILE, FOLDER};
use super::cut::both_ends;
use super::outcome::{Category, Outcome};
use super::work::Work;

/// Maximum length of the work's own text in the recap, in bytes; the whole text follows the recap in the prompt.
const WORK_MAX: usize = 300;

/// Maximum length of the agent's last words, in bytes.
pub(super) const PROGRESS_MAX: usize = 2000;

/// Maximum length of all messages together that were steered into the lost session, in bytes; of its whispers as well.
/// It holds the longest whisper.
const STEERED_MAX: usize = 5000;

/// Maximum length of the summary of earlier turns, in bytes.
const DONE_MAX: usize = 2000;

/// Returns the recap for a session that continues unfinished work: what earlier sessions did and how they ended. `None`
/// for new work.
#[must_use]
pub(super) fn recap(agent: &Agent, work: &Work) -> Option<String> {
    let unfinished = agent.unfinished.as_ref().filter(|unfinished| unfinished.work == work.id)?;
    let mut parts: Vec<String> = agent.board.results_for(work.id).into_iter().collect();
    let checkout = agent.checkouts.all.get(&work.task());
    if let Some(words) = checkout.and_then(|checkout| checkout.sent_back(work.id)) {
        parts.push(words);
    } else if unfinished.tries > 0 {
        let last = agent.last_outcome.as_ref();
        parts.push(format!(
            "You were working on this before, in a session that did not finish it: \"{}\".{}",
            bounded(one_line(&work.text).trim(), WORK_MAX),
            last.map(ended).unwrap_or_default()
        ));
        if !unfinished.done.is_empty() {
            let done: Vec<String> = unfinished.done.iter().map(|line| format!("- {line}")).collect();
            let done = both_ends(&done.join("\n"), DONE_MAX);
            parts.push(format!("What was done so far, the latest last:\n{done}"));
        }
        if !unfinished.progress.is_empty() {
            parts.push(format!(
                "The last thing you said about it:\n{}",
                bounded(&unfinished.progress, PROGRESS_MAX)
            ));
        }
        if let Some(name) = agent.name() {
            parts.push(format!(
                "herder keeps this in {FOLDER}/{name}/{FILE}, if the workspace can be written to."
            ));
        }
        parts.push(
            "Look at what is already there in the workspace before you go on; do not start from nothing."
                .to_owned(),
        );
        // A try that was cut by something else still counts as the focused one.
        let timed_out = (agent.timed_out == Some(work.id)).then_some(Category::TaskTimeout);
        let starved = (agent.starved == Some(work.id)).then_some(Category::OutOfMemory);
        let category = timed_out.or(starved).or(last.map(|outcome| outcome.category));
        parts.extend(category.and_then(advice).map(str::to_owned));
    }
    if !unfinished.steered.is_empty() {
        let messages = unfinished.steered.iter().map(|text| format!("- {text}")).collect();
        parts.push(format!(
            "While you worked on it these messages came in:\n{}",
            newest(messages, STEERED_MAX)
        ));
    }
    if !unfinished.whispered.is_empty() {
        let whispers = unfinished.whispered.iter().map(|told| format!("- {}", told.words())).collect();
        parts.push(format!(
            "While you worked on it you, and you alone, were told:\n{}",
            newest(whispers, STEERED_MAX)
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Returns the reason why a session ended, as a sentence with a space before it.
pub(super) fn ended(outcome: &Outcome) -> String {
    let why = reason(outcome.category);
    if outcome.detail.is_empty() {
        format!(" It ended because {why}.")
    } else {
        format!(" It ended because {why}: {}", outcome.detail)
    }
}

/// Returns advice for a session that follows one that ended with this category, if there is any.
fn advice(category: Category) -> Option<&'static str> {
    match category {
        Category::TaskTimeout => Some(
            "This time be focused: choose the smallest step that brings the work to a result that can be used, take it, and \
             stop there. Do not repeat what is named above. Let no single command run for long. If it cannot be done in the \
             time, say what is done and what is missing.",
        ),
        Category::ContextOverflow => Some(
            "The context window was full. Read files in parts, let no command print more than you need, and write down in the \
             workspace what you find out.",
        ),
        Category::OutOfMemory => Some(
            "It took more memory than it may, and everything it had started was ended with it. This time use less: one build or \
             test at a time, fewer parallel jobs, smaller inputs, nothing large kept in memory. If it cannot be done with less, \
             say how much it needs.",
        ),
        Category::SandboxDenial => Some(
            "Do not try again what was denied. Find a way within what you may do; if there is none, say exactly what you need.",
        ),
        Category::Success
        | Category::Transient
        | Category::RateLimit
        | Category::Quota
        | Category::Permanent
        | Category::MaxTurns
        | Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::Hung
        | Category::Crash
        | Category::DoNotRestart
        | Category::Interrupted => None,
    }
}

fn reason(category: Category) -> &'static str {
    match category {
        Category::Success => "it was done",
        Category::Transient => "of a passing error",
        Category::RateLimit | Category::Quota => "of a usage limit",
        Category::Permanent => "its request was refused",
        Category::MaxTurns => "it reached its limit of turns",
        Category::Billing => "the account could not be billed",
        Category::Auth => "the credentials were refused",
        Category::Budget => "its budget was used up",
        Category::ContextOverflow => "the context window was full",
        Category::TaskTimeout => "it took longer than it may",
        Category::SandboxDenial => "a tool it needed was denied",
        Category::Hung => "it hung",
        Category::Crash => "its process died",
        Category::DoNotRestart => "its runtime asked not to be restarted",
        Category::Interrupted => "it was interrupted from outside",
        Category::OutOfMemory => "it ran out of memory",
    }
}

/// Returns the newest of `items`, the latest last, as far as they fit into `max` bytes, with a line for those left out.
/// The newest is always there, cut only if it does not fit by itself.
fn newest(mut items: Vec<String>, max: usize) -> String {
    let mut kept = Vec::new();
    let mut left = max;
    while let Some(item) = items.pop() {
        let item = if kept.is_empty() { both_ends(&item, max) } else { item };
        let Some(rest) = left.checked_sub(item.len() + 1).or(kept.is_empty().then_some(0)) else {
            items.push(item);
            break;
        };
        left = rest;
        kept.push(item);
    }
    if !items.is_empty() {
        kept.push(format!("({} earlier ones are left out)", items.len()));
    }
    kept.reverse();
    kept.join("\n")
}

/// Returns `text` on one line.
#[must_use]
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `text` cut to at most `max` bytes at a character boundary, with an ellipsis in place of the rest.
#[must_use]
pub(super) fn bounded(text: &str, max: usize) -> String {
    const ELLIPSIS: char = '…';
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max.saturating_sub(ELLIPSIS.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut cut = text[..end].to_owned();
    cut.push(ELLIPSIS);
    cut
}
