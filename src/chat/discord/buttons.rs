//! Buttons: Resume, Abort and Transcript under a post that calls for a person, ✅ and ❌ under a question for
//! confirmation; [`super::asks`] has those under an agent's request.
//!
//! A button's id holds everything needed to act on it ([`super::custom_id`]), so that it works as long as its message
//! exists, also after a restart. Its validity follows from the agent: a post calls for a person while the agent has
//! been stopped since then. The first answer wins, from whichever network: messages with buttons are remembered
//! ([`Prompt`]), and when their agent continues, the name of the person who made it continue replaces the buttons.

mod following;
mod pressing;
mod rows;

use serde::Deserialize as _;

use crate::commands::interact::Answered;
use crate::core::id::AgentName;
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::outbox::Body;
use crate::supervisor::View;
pub(super) use following::{PROMPTS_CAPACITY, Prompt, answers, keep, posted};
pub(super) use pressing::{Pressed, pressed};
pub(super) use rows::{attributed, calling, confirming, cut, rows};

/// An action in response to a post, possibly on another network.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    /// The command's name.
    command: &'static str,
    by: Actor,
}

/// Returns the agent for which a post calls a person.
fn calls_for(body: &Body) -> Option<&AgentName> {
    let Body::Notice(notice) = body else { return None };
    notice.calls_for()
}

/// Returns the agent for which an answer calls a person, because it says that the agent is stopped.
pub(super) fn called_for(answered: &Answered) -> Option<AgentName> {
    let told = answered.data.as_ref().filter(|_| !answered.refused)?;
    Notice::deserialize(told).ok()?.calls_for().cloned()
}

/// Returns true if a post calls a person for an account: it does while the account is closed, whether the agent has
/// work or not.
fn is_of_account(body: &Body) -> bool {
    matches!(body, Body::Notice(Notice::AccountExhausted { .. } | Notice::AccountAsked { .. }))
}

/// Returns true if a post of time `at` still calls for a person.
fn is_open(view: &View, at: Timestamp) -> bool {
    view.agent.calls_for_somebody(at, view.closed)
}
