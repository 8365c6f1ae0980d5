//! Messages about the clones of tasks, and about their checks.

use std::time::Duration;

use super::plain::bare_name;
use super::{Message, WORK_MAX, of, one_line, say, sentence};
use crate::core::checkout::Act;
use crate::core::detail::Detail;
use crate::core::id::{AgentName, WorkId};
use crate::core::review::Change;
use crate::l10n::{Locale, Value};

/// An agent and its task.
type Of<'a> = (&'a AgentName, WorkId);

/// Selects the message about a clone that could not be made, read, checked, merged or removed.
pub(super) fn failed<'a>(locale: &Locale, (agent, task): Of<'a>, act: Act, why: &Detail) -> Message<'a> {
    let (task, why) = (("task", task.to_string().into()), locale.detail(why));
    if act == Act::Merge {
        return say("notice-merge-failed", [of(agent), task, ("why", sentence(locale, &why).into())]);
    }
    let why = ("why", why.into());
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

/// Selects a message about an agent's task alone.
pub(super) fn plain<'a>(id: &'static str, (agent, task): Of<'a>) -> Message<'a> {
    say(id, [of(agent), ("task", task.to_string().into())])
}

/// Selects the message about a task in review.
pub(super) fn in_review<'a>(
    (agent, task): Of<'a>,
    change: Change,
    (checked, onto, reviewer): (&Option<String>, &Option<String>, &Option<AgentName>),
    cost_usd: f64,
) -> Message<'a> {
    say(
        "notice-task-in-review",
        [
            of(agent),
            ("task", task.to_string().into()),
            ("commits", change.commits.into()),
            ("files", change.files.into()),
            ("added", change.added.into()),
            ("removed", change.removed.into()),
            ("uncommitted", change.uncommitted.into()),
            ("checked", if checked.is_some() { "yes" } else { "no" }.into()),
            ("command", one_line(checked.as_deref().unwrap_or_default(), WORK_MAX).into()),
            ("merges", if onto.is_some() { "yes" } else { "no" }.into()),
            ("branch", one_line(onto.as_deref().unwrap_or_default(), WORK_MAX).into()),
            ("paid", if cost_usd > 0.0 { "yes" } else { "no" }.into()),
            ("cost", Value::Money(cost_usd)),
            ("asked", if reviewer.is_some() { "yes" } else { "no" }.into()),
            ("reviewer", reviewer.as_ref().map(AgentName::to_string).unwrap_or_default().into()),
        ],
    )
}

/// Selects the message about a task whose work is accepted.
pub(super) fn accepted<'a>(
    (agent, task): Of<'a>,
    by: &'a str,
    (merges, proposes): (bool, bool),
) -> Message<'a> {
    let merges = if proposes {
        "pull"
    } else if merges {
        "yes"
    } else {
        "no"
    };
    let merges = ("merges", merges.into());
    say(
        "notice-task-accepted",
        [of(agent), ("task", task.to_string().into()), ("by", bare_name(by).into()), merges],
    )
}

/// Selects the message about a task whose work a person has rejected.
pub(super) fn rejected<'a>((agent, task): Of<'a>, by: &'a str) -> Message<'a> {
    say("notice-task-rejected", [of(agent), ("task", task.to_string().into()), ("by", bare_name(by).into())])
}

/// Selects the message about a task whose pull request is open.
pub(super) fn proposed<'a>((agent, task): Of<'a>, link: &'a str) -> Message<'a> {
    say("notice-task-proposed", [of(agent), ("task", task.to_string().into()), ("link", link.into())])
}

/// Selects the message about a task whose work is in the base.
pub(super) fn landed<'a>((agent, task): Of<'a>, branch: &str, commit: &'a str) -> Message<'a> {
    let branch = ("branch", one_line(branch, WORK_MAX).into());
    say(
        "notice-task-landed",
        [of(agent), ("task", task.to_string().into()), branch, ("commit", commit.into())],
    )
}

/// Selects the message about a task whose work goes back to its agent.
pub(super) fn returned<'a>(locale: &Locale, (agent, task): Of<'a>, why: &Detail) -> Message<'a> {
    let why = ("why", sentence(locale, &locale.detail(why)).into());
    say("notice-task-returned", [of(agent), ("task", task.to_string().into()), why])
}

/// Selects the message about a task that is left to a person by its reviewing agent.
pub(super) fn left<'a>(locale: &Locale, (agent, task): Of<'a>, why: &Detail) -> Message<'a> {
    let why = ("why", sentence(locale, &one_line(&locale.detail(why), WORK_MAX)).into());
    say("notice-review-left", [of(agent), ("task", task.to_string().into()), why])
}
