//! Buttons: Resume, Abort and Transcript under what calls for somebody, ✅ and ❌ under what has to be confirmed; what stands
//! under what an agent asks is in [`super::asks`].
//!
//! A button's id says all that is needed to act on it ([`super::custom_id`]), so that it works for as long as its message
//! is there, also after a restart. Whether it still means something follows from the agent: a post calls for somebody
//! while the agent stands still since then. The first answer wins, from wherever it comes: messages with buttons are
//! remembered ([`Prompt`]), and when their agent goes on, whoever made it go on takes the place of the buttons.

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

/// What somebody did about a post, where it was not done on Discord too.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    /// The command.
    command: &'static str,
    by: Actor,
}

/// The agent that a post calls somebody for.
fn calls_for(body: &Body) -> Option<&AgentName> {
    let Body::Notice(notice) = body else { return None };
    notice.calls_for()
}

/// The agent that an answer calls somebody for: it says that the agent stands still.
pub(super) fn called_for(answered: &Answered) -> Option<AgentName> {
    let told = answered.data.as_ref().filter(|_| !answered.refused)?;
    Notice::deserialize(told).ok()?.calls_for().cloned()
}

/// Whether a post calls somebody for an account: it does for as long as that is closed, whether the agent has work or not.
fn is_of_account(body: &Body) -> bool {
    matches!(body, Body::Notice(Notice::AccountExhausted { .. } | Notice::AccountAsked { .. }))
}

/// Whether a post of `at` still calls for somebody.
fn is_open(view: &View, at: Timestamp) -> bool {
    view.agent.calls_for_somebody(at, view.closed)
}
