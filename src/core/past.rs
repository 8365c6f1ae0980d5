//! The last exchanges between people and an agent, for a conversation that starts from scratch: the one before is gone, or
//! its runtime cannot open it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::cut::both_ends;
use super::recap::{bounded, one_line};

/// Maximum number of exchanges that are kept for an agent: those that people still refer to.
const EXCHANGES_MAX: usize = 4;

/// Maximum length of an exchange's request, in bytes: a paragraph.
const ASKED_MAX: usize = 300;

/// Maximum length of an exchange's answer, in bytes: the beginning and the end of a long one.
const ANSWERED_MAX: usize = 600;

/// Finished work and the agent's final text about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The work's text, at most [`ASKED_MAX`] bytes.
    pub asked: String,
    /// The answer, at most [`ANSWERED_MAX`] bytes.
    pub answered: String,
}

/// Appends an exchange, and drops the oldest ones if there are too many.
pub(super) fn remember(exchanges: &mut VecDeque<Exchange>, asked: &str, answered: &str) {
    while exchanges.len() >= EXCHANGES_MAX {
        exchanges.pop_front();
    }
    let asked = bounded(one_line(asked).trim(), ASKED_MAX);
    exchanges.push_back(Exchange { asked, answered: both_ends(answered.trim(), ANSWERED_MAX) });
}

/// Returns the exchanges as text for the head of a prompt; `None` if there are none.
#[must_use]
pub(super) fn past(exchanges: &VecDeque<Exchange>) -> Option<String> {
    let said = exchanges.iter().map(|Exchange { asked, answered }| {
        let answered = if answered.is_empty() { "(without words)" } else { answered };
        format!("You were told: {asked}\nYou answered: {answered}")
    });
    let said: Vec<String> = said.collect();
    let head = "This is a new conversation. What was said in the one before it, the latest last:";
    (!said.is_empty()).then(|| format!("{head}\n\n{}", said.join("\n\n")))
}
