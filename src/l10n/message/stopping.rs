//! Messages about a session that is being stopped.

use super::{Message, bare_name, of, say};
use crate::core::event::StopReason;
use crate::core::handoff::Since;
use crate::core::id::AgentName;
use crate::l10n::Locale;

/// Selects the Fluent message about a session that is being stopped. Each reason has a sentence of its own, because the
/// consequences differ.
pub(super) fn stopping<'a>(locale: &Locale, agent: &'a AgentName, reason: StopReason) -> Message<'a> {
    match reason {
        StopReason::Pause => say("notice-stopping-pause", [of(agent)]),
        StopReason::Abort => say("notice-stopping-abort", [of(agent)]),
        StopReason::Restart => say("notice-stopping-restart", [of(agent)]),
        StopReason::StopAll => say("notice-stopping-stop-all", [of(agent)]),
        StopReason::Cancel => say("notice-stopping-cancel", [of(agent)]),
        StopReason::Remove => say("notice-stopping-remove", [of(agent)]),
        StopReason::Account(why) => {
            say("notice-stopping-account", [of(agent), ("category", locale.category(why).into())])
        }
        StopReason::Hung => say("notice-stopping-hung", [of(agent)]),
        StopReason::Escalation => say("notice-stopping-escalation", [of(agent)]),
        StopReason::Configured => say("notice-stopping-configured", [of(agent)]),
        StopReason::Cap(cap) => say("notice-stopping-cap", [of(agent), ("cap", locale.cap(cap).into())]),
    }
}

/// Selects the Fluent message and the variables for a conversation that a person takes up in a terminal.
pub(super) fn handed_off<'a>(
    agent: &'a AgentName,
    conversation: &str,
    line: &'a str,
    since: Since,
) -> Message<'a> {
    let id = match since {
        Since::Now => "notice-handed-off-now",
        Since::Before => "notice-handed-off-before",
        Since::Pausing => "notice-handed-off-pausing",
        Since::Stopping => "notice-handed-off-stopping",
    };
    say(id, [of(agent), ("conversation", bare_name(conversation).into()), ("line", line.into())])
}
