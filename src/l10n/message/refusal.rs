//! Mapping of refusals to messages.

use super::{Message, WORK_MAX, bare_name, of, one_line, say, sentence};
use crate::core::ask::{AskAnswer, AskEnd};
use crate::core::id::AskId;
use crate::core::notice::Refusal;
use crate::core::time::Timestamp;
use crate::l10n::{Locale, Value, watching};

/// Selects the Fluent message and the variables for a refusal.
pub(in crate::l10n) fn refusal<'a>(locale: &Locale, refusal: &'a Refusal) -> Message<'a> {
    use Refusal as R;
    match refusal {
        R::AlreadyPaused { agent, why: None } => say("refusal-already-paused", [of(agent)]),
        R::AlreadyPaused { agent, why: Some(why) } => {
            say("refusal-already-halted", [of(agent), ("why", locale.halt(why).into())])
        }
        R::EscalationAnswered { agent, id, answer, by, at } => watching::late(agent, *id, *answer, by, *at),
        R::LateAbort { agent, id, answer, by } => watching::late_abort(agent, *id, *answer, by),
        R::AlreadyAcked { agent, id, by } => {
            say("refusal-already-acked", [of(agent), ("id", id.to_string().into()), ("by", by.into())])
        }
        R::NoSuchNumber { id } => say("refusal-no-such-number", [("id", id.to_string().into())]),
        R::NoEscalation { agent } => say("refusal-no-escalation", [of(agent)]),
        R::NoSuchWhisper { agent, id } => {
            say("refusal-no-such-whisper", [of(agent), ("id", id.to_string().into())])
        }
        R::NoConversation { agent } => say("refusal-no-conversation", [of(agent)]),
        R::NoLine { agent, conversation: None } => say("refusal-no-line-ever", [of(agent)]),
        R::NoLine { agent, conversation: Some(conversation) } => {
            say("refusal-no-line", [of(agent), ("conversation", bare_name(conversation).into())])
        }
        R::NotPaused { agent } => say("refusal-not-paused", [of(agent)]),
        R::NothingRunning { agent } => say("refusal-nothing-running", [of(agent)]),
        R::AlreadyStopping { agent } => say("refusal-already-stopping", [of(agent)]),
        R::NoRunner { runner } => say("refusal-no-runner", [("runner", runner.as_str().into())]),
        R::NoSuchTask { task } => say("refusal-no-such-task", [("task", task.to_string().into())]),
        R::TaskOver { task, end } => {
            let end = ("end", locale.task_end(*end).into());
            say("refusal-task-over", [("task", task.to_string().into()), end])
        }
        R::TaskRunning { agent, task } => {
            say("refusal-task-running", [of(agent), ("task", task.to_string().into())])
        }
        R::NoCheckout { task } => say("refusal-no-checkout", [("task", task.to_string().into())]),
        R::InReview { agent, task } => {
            say("refusal-in-review", [of(agent), ("task", task.to_string().into())])
        }
        R::IsReview { task } => say("refusal-is-review", [("task", task.to_string().into())]),
        R::NotInReview { task } => say("refusal-not-in-review", [("task", task.to_string().into())]),
        R::WorkedOn { agent, task } => {
            say("refusal-worked-on", [of(agent), ("task", task.to_string().into())])
        }
        R::NotAsReviewed { agent, task } => {
            say("refusal-not-as-reviewed", [of(agent), ("task", task.to_string().into())])
        }
        R::BeingMerged { task, by } => {
            say("refusal-being-merged", [("task", task.to_string().into()), ("by", bare_name(by).into())])
        }
        R::PullOpen { task, link } => {
            say("refusal-pull-open", [("task", task.to_string().into()), ("link", link.as_str().into())])
        }
        R::TaskMoving { task } => say("refusal-task-moving", [("task", task.to_string().into())]),
        R::Deserted { agent } => say("refusal-deserted", [of(agent)]),
        R::AwaitsParts { agent, task } => {
            say("refusal-awaits-parts", [of(agent), ("task", task.to_string().into())])
        }
        R::NothingToCheck { agent } => say("refusal-nothing-to-check", [of(agent)]),
        R::TaskKept { agent, task } => {
            say("refusal-task-kept", [of(agent), ("task", task.to_string().into())])
        }
        R::TaskIsSplit { task } => say("refusal-task-is-split", [("task", task.to_string().into())]),
        R::SplitParts { task, parts, max } => {
            let task = ("task", task.to_string().into());
            say("refusal-split-parts", [task, ("parts", (*parts).into()), ("max", (*max).into())])
        }
        R::SplitTooDeep { task, max } => {
            say("refusal-split-too-deep", [("task", task.to_string().into()), ("max", (*max).into())])
        }
        R::BoardFull { max } => say("refusal-board-full", [("max", (*max).into())]),
        R::WorkRunning { agent } => say("refusal-work-running", [of(agent)]),
        R::WorkOver { agent } => say("refusal-work-over", [of(agent)]),
        R::WhispersFull { agent, max } => say("refusal-whispers-full", [of(agent), ("max", (*max).into())]),
        R::NoTask { agent } => say("refusal-no-task", [of(agent)]),
        R::QueueFull { agent, max } => say("refusal-queue-full", [of(agent), ("max", (*max).into())]),
        R::QueueEmpty { agent } => say("refusal-queue-empty", [of(agent)]),
        R::EmptyWork { agent } => say("refusal-empty-work", [of(agent)]),
        R::Removed { agent } => say("refusal-removed", [of(agent)]),
        R::AgentExists { agent } => say("refusal-agent-exists", [of(agent)]),
        R::NoSuchAgent { agent, nearest: None } => {
            say("refusal-no-such-agent", [("agent", one_line(agent, WORK_MAX).into())])
        }
        R::NoSuchAgent { agent, nearest: Some(nearest) } => {
            let agent = ("agent", one_line(agent, WORK_MAX).into());
            say("refusal-no-such-agent-but", [agent, ("nearest", nearest.into())])
        }
        R::Fault { agent } => say("refusal-fault", [of(agent)]),
        R::NoSuchAsk { ask } => say("refusal-no-such-ask", [("ask", ask.to_string().into())]),
        R::AskOver { ask, end, at } => ask_over(*ask, end, *at),
        R::WrongAnswer { agent, ask, question } => {
            let id = if *question { "refusal-wants-words" } else { "refusal-wants-yes-or-no" };
            say(id, [of(agent), ("ask", ask.to_string().into())])
        }
        R::NothingAsked { agent: Some(agent) } => say("refusal-nothing-asked-by", [of(agent)]),
        R::NothingAsked { agent: None } => say("refusal-nothing-asked", []),
        R::SeveralAsked { asks } => {
            let asks = asks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            say("refusal-several-asked", [("asks", asks.into())])
        }
        R::NoSuchOffer { agent, ask, offers, several } => {
            let id = if *several { "refusal-no-such-offers" } else { "refusal-no-such-offer" };
            say(id, [of(agent), ("ask", ask.to_string().into()), ("offers", (*offers).into())])
        }
        R::NoRule { agent, ask, cut, vague, hidden, secret } => {
            let id = match (cut, vague, hidden) {
                (true, _, _) => "refusal-no-rule-for-cut",
                (false, true, _) => "refusal-no-rule-for-vague",
                (false, false, true) => "refusal-no-rule-for-hidden",
                (false, false, false) if *secret => "refusal-no-rule-for-secret",
                (false, false, false) => "refusal-too-many-rules",
            };
            say(id, [of(agent), ("ask", ask.to_string().into())])
        }
        R::NoSuchRule { rule } => say("refusal-no-such-rule", [("rule", rule.to_string().into())]),
        R::TooManyAsks { agent, max } => say("refusal-too-many-asks", [of(agent), ("max", (*max).into())]),
        R::NoSession { agent } => say("refusal-no-session", [of(agent)]),
        R::WorkTooLong { bytes, max } => say(
            "refusal-work-too-long",
            [("bytes", bytes.to_string().into()), ("max", max.to_string().into())],
        ),
        R::WhisperTooLong { bytes, max } => say(
            "refusal-whisper-too-long",
            [("bytes", bytes.to_string().into()), ("max", max.to_string().into())],
        ),
        R::NameKept { agent, name } => say("refusal-name-kept", [of(agent), ("name", name.into())]),
        R::EditedMeanwhile { agent } => say("refusal-edited-meanwhile", [of(agent)]),
        R::HistoryUnreadable { agent, said } => {
            say("refusal-history-unreadable", [of(agent), ("detail", sentence(locale, said).into())])
        }
        R::NotRecorded { said } => say("refusal-not-recorded", [("detail", sentence(locale, said).into())]),
        R::NotReloaded { problems, count } => super::not_reloaded(problems, *count),
        R::NoConfiguration => say("refusal-no-configuration", []),
        R::GoingDown => say("refusal-going-down", []),
        R::Closing => say("refusal-closing", []),
        R::Invalid { what, why } => {
            let what = ("what", one_line(what, WORK_MAX).into());
            say("refusal-invalid", [what, ("why", sentence(locale, why).into())])
        }
    }
}

/// Selects the Fluent message for an answer to a request that is closed already; it names how the request ended.
fn ask_over<'a>(ask: AskId, end: &'a AskEnd, at: Timestamp) -> Message<'a> {
    let (ask, at) = (("ask", Value::from(ask.to_string())), ("at", Value::from(at)));
    match end {
        AskEnd::Answered { answer, by } => {
            let id = match answer {
                AskAnswer::Allow { .. } => "refusal-ask-approved",
                AskAnswer::Deny => "refusal-ask-refused",
                AskAnswer::Text { .. } | AskAnswer::Chosen { .. } => "refusal-ask-answered",
            };
            say(id, [ask, ("by", bare_name(&by.name).into()), ("network", by.network.as_str().into()), at])
        }
        AskEnd::Expired => say("refusal-ask-expired", [ask, at]),
        AskEnd::Dropped => say("refusal-ask-dropped", [ask, at]),
    }
}
