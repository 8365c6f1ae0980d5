//! Messages about the clones of tasks, and about their checks.

use std::time::Duration;

use super::{Message, WORK_MAX, of, one_line, say, sentence};
use crate::core::checkout::Act;
use crate::core::detail::Detail;
use crate::core::id::{AgentName, WorkId};
use crate::l10n::Locale;

/// An agent and its task.
type Of<'a> = (&'a AgentName, WorkId);

/// Selects the message about a clone that could not be made, read, checked or removed.
pub(super) fn failed<'a>(locale: &Locale, (agent, task): Of<'a>, act: Act, why: &Detail) -> Message<'a> {
    let (task, why) = (("task", task.to_string().into()), ("why", locale.detail(why).into()));
    say("notice-checkout-failed", [of(agent), task, ("act", act.word().into()), why])
}

/// Selects the message about a check that has succeeded on a commit.
pub(super) fn passed<'a>(
    (agent, task): Of<'a>,
    command: &str,
    took: Duration,
    commit: &'a str,
) -> Message<'a> {
    let (task, command) =
        (("task", task.to_string().into()), ("command", one_line(command, WORK_MAX).into()));
    say("notice-check-passed", [of(agent), task, command, ("took", took.into()), ("commit", commit.into())])
}

/// Selects the message about a check that has failed; `again`: it goes back to the agent.
pub(super) fn refused<'a>(
    locale: &Locale,
    (agent, task): Of<'a>,
    command: &str,
    took: Duration,
    (why, again): (&Detail, bool),
) -> Message<'a> {
    say(
        "notice-check-failed",
        [
            of(agent),
            ("task", task.to_string().into()),
            ("command", one_line(command, WORK_MAX).into()),
            ("took", took.into()),
            ("why", sentence(locale, &locale.detail(why)).into()),
            ("again", if again { "yes" } else { "no" }.into()),
        ],
    )
}
