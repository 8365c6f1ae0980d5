//! Messages about a session that is being stopped.

use super::{Message, of, say};
use crate::core::event::StopReason;
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
