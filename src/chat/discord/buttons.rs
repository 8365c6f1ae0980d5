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
use crate::core::post::Body;
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::supervisor::View;
pub(super) use following::{PROMPTS_CAPACITY, Prompt, answers, keep, posted};
pub(super) use pressing::{Pressed, pressed};
pub(super) use rows::{attributed, calling, confirming, cut, rows};

/// The command by which a person has answered a post, here or on another network.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    /// Name of the command that was given.
    command: &'static str,
    by: Actor,
}

/// Returns the agent for which a post calls a person; `None` if the post calls nobody.
fn calls_for(body: &Body) -> Option<&AgentName> {
    let Body::Notice(notice) = body else { return None };
    notice.calls_for()
}

/// Returns the agent for which the reply to a command calls a person, because it says that the agent is stopped; else
/// `None`.
pub(super) fn called_for(answered: &Answered) -> Option<AgentName> {
    let told = answered.data.as_ref().filter(|_| !answered.refused)?;
    Notice::deserialize(told).ok()?.calls_for().cloned()
}

/// Returns true if a post calls a person because an account is closed: it does so until the account is open, whether or
/// not the agent has work.
fn is_of_account(body: &Body) -> bool {
    matches!(body, Body::Notice(Notice::AccountExhausted { .. } | Notice::AccountAsked { .. }))
}

/// Returns true if a post that was made at time `at` still calls for a person, given the agent's present state.
fn is_open(view: &View, at: Timestamp) -> bool {
    view.agent.calls_for_somebody(at, view.closed)
}
