//! Mapping of every notice and refusal to its message and variables: one exhaustive match each.
//!
//! The id is `notice-` or `refusal-` and the variant's name. Free text from people, agents and networks is reduced to
//! one line and bounded here, because a sentence is built around it.

mod board;
mod clones;
mod machines;
mod plain;
mod refusal;
mod reloaded;
mod stopping;

use super::{Locale, Value, watching};
use crate::core::detail::{Detail, LinkReason};
use crate::core::id::{AccountName, AgentName};
use crate::core::notice::{Halt, Notice};
use crate::core::outcome::Category;
use crate::core::quota::JITTER_MAX;
use crate::core::time::Timestamp;
use crate::core::unseen::hides;
use crate::core::usage::Cap;
use crate::core::work::{TaskEnd, WorkKind};
use plain::bare_name;
pub(super) use plain::{one_line, sentence};
pub(super) use refusal::refusal;
use reloaded::{not_reloaded, reloaded};
use stopping::stopping;

/// Maximum length of a reason inside a sentence, in graphemes: about one IRC line.
pub(super) const DETAIL_MAX: usize = 280;
/// Maximum length of a task's text inside a sentence, in graphemes.
pub(super) const WORK_MAX: usize = 120;
/// Maximum length, inside a sentence, of a text that somebody wrote on another network, in graphemes.
const TEXT_MAX: usize = 400;
/// Maximum length of a person's or channel's name inside a sentence, in graphemes.
pub(super) const NAME_MAX: usize = 40;

/// A sentence to be formatted: the id of its Fluent message, and the values of its variables.
pub(super) struct Message<'a> {
    /// The id of the Fluent message.
    pub(super) id: &'static str,
    /// The values of the message's variables, by name.
    pub(super) args: Vec<(&'static str, Value<'a>)>,
}

pub(super) fn say<'a, const N: usize>(id: &'static str, args: [(&'static str, Value<'a>); N]) -> Message<'a> {
    Message { id, args: args.into() }
}
pub(super) fn of(agent: &AgentName) -> (&'static str, Value<'_>) {
    ("agent", agent.into())
}

/// Selects the Fluent message and the variables for a notice.
pub(super) fn notice<'a>(locale: &Locale, notice: &'a Notice) -> Message<'a> {
    use Notice as N;
    let sentence = |text: &str| ("detail", Value::from(sentence(locale, text)));
    let reason = |detail: &Detail| ("detail", Value::from(self::sentence(locale, &locale.detail(detail))));
    let category = |category: Category| ("category", Value::from(locale.category(category)));
    match notice {
        N::Started { agent, work } => {
            say("notice-started", [of(agent), ("work", one_line(work, WORK_MAX).into())])
        }
        N::WorkspaceSeen { agent, workspace } => {
            say("notice-workspace-seen", [of(agent), ("workspace", locale.workspace(workspace).into())])
        }
        N::Completed { agent, duration, turns, cost_usd } => {
            let priced = if *cost_usd > 0.0 { "yes" } else { "no" };
            let cost = Value::Money(*cost_usd);
            say(
                "notice-completed",
                [
                    of(agent),
                    ("duration", (*duration).into()),
                    ("turns", (*turns).into()),
                    ("priced", priced.into()),
                    ("cost", cost),
                ],
            )
        }
        N::Crashed { agent, detail, restart_in } => {
            say("notice-crashed", [of(agent), reason(detail), ("countdown", (*restart_in).into())])
        }
        N::RateLimited { agent, resume_in } => {
            say("notice-rate-limited", [of(agent), ("countdown", (*resume_in).into())])
        }
        N::Permanent { agent, detail, restart_in } => {
            say("notice-permanent", [of(agent), reason(detail), ("countdown", (*restart_in).into())])
        }
        N::Overflowed { agent, detail, restart_in } => {
            say("notice-overflowed", [of(agent), reason(detail), ("countdown", (*restart_in).into())])
        }
        N::Billing { agent, account } => {
            say("notice-billing", [of(agent), ("account", account.as_str().into())])
        }
        N::Auth { agent } => say("notice-auth", [of(agent)]),
        N::Budget { agent } => say("notice-budget", [of(agent)]),
        N::CapReached { agent, cap, limit, used } => {
            say("notice-cap-reached", capped(locale, agent, *cap, *limit, *used))
        }
        N::CapNear { agent, cap, limit, used, percent } => {
            let [agent, per, limit, used] = capped(locale, agent, *cap, *limit, *used);
            say("notice-cap-near", [agent, per, limit, used, ("percent", u32::from(*percent).into())])
        }
        N::CapWaived { agent, cap, limit } => {
            let limit = ("limit", locale.amount(cap.unit, *limit).into());
            say("notice-cap-waived", [of(agent), ("cap", locale.cap(*cap).into()), limit])
        }
        N::Spiked { agent, unit, used, usual } => {
            let used = ("used", locale.amount(*unit, *used).into());
            say("notice-spiked", [of(agent), used, ("usual", locale.amount(*unit, *usual).into())])
        }
        N::PriceUnknown { agent, model, assumed } => {
            let model = one_line(model, WORK_MAX);
            let named = ("named", if model.is_empty() { "no" } else { "yes" }.into());
            let model = if model.is_empty() { locale.text("model-unnamed", &[]) } else { model };
            let assumed = ("assumed", if *assumed { "yes" } else { "no" }.into());
            say("notice-price-unknown", [of(agent), ("model", model.into()), assumed, named])
        }
        N::SharedCapReached { account, cap, limit, used } => {
            say("notice-shared-cap-reached", shared(locale, account.as_ref(), *cap, *limit, *used))
        }
        N::SharedCapNear { account, cap, limit, used, percent } => {
            let [scope, account, per, limit, used] = shared(locale, account.as_ref(), *cap, *limit, *used);
            let percent = ("percent", u32::from(*percent).into());
            say("notice-shared-cap-near", [scope, account, per, limit, used, percent])
        }
        N::SharedCapWaived { account, cap, limit } => {
            let [scope, account, per, limit, _] = shared(locale, account.as_ref(), *cap, *limit, 0.0);
            say("notice-shared-cap-waived", [scope, account, per, limit])
        }
        N::DoNotRestart { agent, detail } => say("notice-do-not-restart", [of(agent), reason(detail)]),
        N::PausedWithAccount { agent, account, category: why } => {
            let account = ("account", account.as_str().into());
            say(
                "notice-paused-with-account",
                [("emoji", emoji(*why).into()), of(agent), account, category(*why)],
            )
        }
        N::AccountBlocked { account, category: why, agent } => {
            say("notice-account-blocked", [("account", account.as_str().into()), category(*why), of(agent)])
        }
        N::AccountOpened { account, by } => {
            say("notice-account-opened", [("account", account.as_str().into()), ("by", by.into())])
        }
        N::QuotaReached { agent, account } => {
            say("notice-quota-reached", [of(agent), ("account", account.as_str().into())])
        }
        N::AccountExhausted { account, agent, resets_at, probe_at, ask_at } => {
            // Selects the event that people wait for, if one comes by itself. In quiet hours the limit ends before
            // the next attempt.
            let later = |at: &Timestamp| resets_at.is_some_and(|reset| at.since(reset) > JITTER_MAX);
            let (how, at) = match (probe_at, ask_at) {
                (Some(at), _) if later(at) => ("later", Some(*at)),
                (Some(at), _) if resets_at.is_some() => ("reset", Some(*at)),
                (Some(at), _) => ("probe", Some(*at)),
                (None, Some(at)) => ("ask", Some(*at)),
                (None, None) => ("never", None),
            };
            let time = |at: Option<Timestamp>| Value::from(at.map(|at| locale.time(at)).unwrap_or_default());
            let (account, how) = (("account", account.as_str().into()), ("how", how.into()));
            let (reset, at) = (("reset", time(*resets_at)), ("at", time(at)));
            say("notice-account-exhausted", [account, of(agent), how, reset, at])
        }
        N::AccountAsked { account, agent } => {
            say("notice-account-asked", [("account", account.as_str().into()), of(agent)])
        }
        N::AccountTried { account, agent, by } => {
            say("notice-account-tried", [("account", account.as_str().into()), of(agent), ("by", by.into())])
        }
        N::AccountWorks { account, agent } => {
            say("notice-account-works", [("account", account.as_str().into()), of(agent)])
        }
        N::TimedOut { agent, limit, restart_in } => {
            let countdown = ("countdown", (*restart_in).into());
            say("notice-timed-out", [of(agent), ("limit", (*limit).into()), countdown])
        }
        N::OutOfMemory { agent, detail, restart_in } => {
            let countdown = ("countdown", (*restart_in).into());
            say("notice-out-of-memory", [of(agent), reason(detail), countdown])
        }
        N::TaskBlocked { agent, task, detail } => {
            say("notice-task-blocked", [of(agent), ("task", task.to_string().into()), reason(detail)])
        }
        N::Escalated { agent, id, work, why, times, reminder, untold } => {
            watching::escalated(locale, agent, *id, (work, why, *untold), (*times, *reminder))
        }
        N::EscalationAnswered { agent, id, answer, by } => watching::answered(agent, *id, *answer, by),
        N::EscalationAcked { agent, id, by } => watching::acked(agent, *id, by),
        N::WhisperMarked { agent, id, mark } => watching::marked(agent, *id, *mark),
        N::Spiraling { agent, work, times } => say(
            "notice-spiraling",
            [of(agent), ("work", one_line(work, WORK_MAX).into()), ("times", (*times).into())],
        ),
        N::EvaluatorLapsed { agent, times, lapse } => watching::lapsed(locale, agent, *times, lapse),
        N::Whispered { agent } => say("notice-whispered", [of(agent)]),
        N::Notified { agent, detail } => say("notice-notified", [of(agent), reason(detail)]),
        N::TaskFailed { agent, task, detail } => {
            say("notice-task-failed", [of(agent), ("task", task.to_string().into()), reason(detail)])
        }
        N::ClockRanOut { agent, clock, evidence } => {
            let clock = ("clock", locale.clock(*clock).into());
            say("notice-clock-ran-out", [of(agent), clock, reason(evidence)])
        }
        N::PermissionDenied { agent, what } => {
            say("notice-permission-denied", [of(agent), ("what", one_line(what, WORK_MAX).into())])
        }
        N::PermissionAsked { agent, ask, tool, command, cut, vague, secret, danger, within } => {
            let (number, within) = (("ask", ask.to_string().into()), ("within", (*within).into()));
            let tool = ("tool", bare_name(tool).into());
            match danger {
                _ if *cut => say("notice-permission-asked-cut", [of(agent), number, tool, within]),
                _ if *vague => say("notice-permission-asked-vague", [of(agent), number, tool, within]),
                _ if hides(command) => {
                    say("notice-permission-asked-hidden", [of(agent), number, tool, within])
                }
                _ if *secret => say("notice-permission-asked-secret", [of(agent), number, tool, within]),
                Some(danger) => {
                    let danger = ("danger", one_line(danger, WORK_MAX).into());
                    say("notice-permission-asked-always", [of(agent), number, tool, danger, within])
                }
                None => say("notice-permission-asked", [of(agent), number, tool, within]),
            }
        }
        N::QuestionAsked { agent, ask, within, options, several, .. } => {
            let id = match (options.is_empty(), several) {
                (true, _) => "notice-question-asked",
                (false, false) => "notice-question-asked-one",
                (false, true) => "notice-question-asked-several",
            };
            say(id, [of(agent), ("ask", ask.to_string().into()), ("within", (*within).into())])
        }
        N::PlanAsked { agent, ask, within } => say(
            "notice-plan-asked",
            [of(agent), ("ask", ask.to_string().into()), ("within", (*within).into())],
        ),
        N::AskOpen { agent, ask, text, question, within } => {
            let id = if *question { "notice-question-open" } else { "notice-permission-open" };
            let text = ("text", one_line(text, WORK_MAX).into());
            say(id, [of(agent), ("ask", ask.to_string().into()), text, ("within", (*within).into())])
        }
        N::PermissionAnswered { agent, ask, allowed, always, by, network } => {
            let id = match (allowed, always) {
                (true, false) => "notice-permission-approved",
                (true, true) => "notice-permission-approved-always",
                (false, _) => "notice-permission-refused",
            };
            let (by, network) = (("by", bare_name(by).into()), ("network", network.as_str().into()));
            say(id, [of(agent), ("ask", ask.to_string().into()), by, network])
        }
        N::QuestionAnswered { agent, ask, text, by, network } => {
            let (by, network) = (("by", bare_name(by).into()), ("network", network.as_str().into()));
            let text = ("text", one_line(text, WORK_MAX).into());
            say("notice-question-answered", [of(agent), ("ask", ask.to_string().into()), by, network, text])
        }
        N::AskExpired { agent, ask, question } => {
            let id = if *question { "notice-question-expired" } else { "notice-permission-expired" };
            say(id, [of(agent), ("ask", ask.to_string().into())])
        }
        N::Linked { name, user, account, network } => {
            let (name, user) = (("name", bare_name(name).into()), ("user", user.as_str().into()));
            let (account, network) = (bare_name(account).into(), network.as_str().into());
            say("notice-linked", [name, user, ("account", account), ("network", network)])
        }
        N::Unlinked { count } => say("notice-unlinked", [("count", (*count).into())]),
        N::AnswerTooLong => say("notice-answer-too-long", []),
        N::RuleRemoved { agent, rule, command } => {
            let command = ("command", one_line(command, WORK_MAX).into());
            say("notice-rule-removed", [of(agent), ("rule", rule.to_string().into()), command])
        }
        N::NeedsIntervention { agent, trial: true, detail, .. } => {
            say("notice-trial-failed", [of(agent), reason(detail)])
        }
        N::NeedsIntervention { agent, failures, window, trial: false, detail } => {
            let (failures, window) = (("failures", (*failures).into()), ("window", (*window).into()));
            say("notice-needs-intervention", [of(agent), failures, window, reason(detail)])
        }
        N::ClockSet { ahead, by } => {
            let way = if *ahead { "ahead" } else { "back" };
            say("notice-clock-set", [("way", way.into()), ("by", (*by).into())])
        }
        N::BreakerClosed { agent } => say("notice-breaker-closed", [of(agent)]),
        N::Degraded { agent, crashes, window } => {
            say("notice-degraded", [of(agent), ("crashes", (*crashes).into()), ("window", (*window).into())])
        }
        N::Survivors { agent, pids } => {
            let list = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            say("notice-survivors", [of(agent), ("count", pids.len().into()), ("pids", list.into())])
        }
        N::SupervisorPanicked { agent, restart_in } => {
            say("notice-supervisor-panicked", [of(agent), ("countdown", (*restart_in).into())])
        }
        N::SupervisorGaveUp { agent, reason } => {
            say("notice-supervisor-gave-up", [of(agent), sentence(reason)])
        }
        N::Paused { agent } => say("notice-paused", [of(agent)]),
        N::ConversationLost { agent, why } => say("notice-conversation-lost", [of(agent), reason(why)]),
        N::Interrupted { agent } => say("notice-interrupted", [of(agent)]),
        N::WorkLine { line } => say("notice-work-line", [("line", one_line(line, DETAIL_MAX).into())]),
        N::Pausing { agent } => say("notice-pausing", [of(agent)]),
        N::HandedOff { agent, conversation, line, since } => {
            stopping::handed_off(agent, conversation, line, *since)
        }
        N::Resuming { agent, trial } => {
            say(if *trial { "notice-resuming-trial" } else { "notice-resuming" }, [of(agent)])
        }
        N::Stopping { agent, reason } => stopping(locale, agent, *reason),
        N::Ended { agent, ended, left } => {
            say("notice-ended", [of(agent), ("ended", (*ended).into()), ("left", (*left).into())])
        }
        N::Restarting { agent } => say("notice-restarting", [of(agent)]),
        N::Aborted { agent, work } => {
            say("notice-aborted", [of(agent), ("work", one_line(work, WORK_MAX).into())])
        }
        N::Accepted { agent, work, kind } => {
            say("notice-accepted", [of(agent), ("work", work.to_string().into()), ("kind", kind_key(*kind))])
        }
        N::Queued { agent, work, kind, position } => {
            let (work, kind) = (("work", work.to_string().into()), ("kind", kind_key(*kind)));
            say("notice-queued", [of(agent), work, kind, ("position", (*position).into())])
        }
        N::QueuedWhilePaused { agent, work, kind, position, why } => {
            let (work, kind) = (("work", work.to_string().into()), ("kind", kind_key(*kind)));
            // A countdown can be skipped; the other halts need a person to resume the agent.
            let id = match why {
                Halt::Waiting(_) => "notice-queued-while-waiting",
                Halt::Held(_) => "notice-queued-held",
                Halt::Paused(_) | Halt::NeedsIntervention | Halt::Degraded => "notice-queued-while-paused",
            };
            let why = ("why", locale.halt(why).into());
            say(id, [of(agent), work, kind, ("position", (*position).into()), why])
        }
        N::Steering { agent, work } => say("notice-steering", [of(agent), ("work", work.to_string().into())]),
        N::Reworded { agent, work } => {
            say("notice-reworded", [of(agent), ("work", one_line(work, WORK_MAX).into())])
        }
        N::Withdrawn { agent, work } => {
            say("notice-withdrawn", [of(agent), ("work", one_line(work, WORK_MAX).into())])
        }
        N::Cleared { agent, count } => say("notice-cleared", [of(agent), ("count", (*count).into())]),
        N::TaskEnded { agent, task, end } => {
            let end = ("end", locale.task_end(*end).into());
            say("notice-task-ended", [of(agent), ("task", task.to_string().into()), end])
        }
        N::Boarded { task, fits } => {
            let fits = ("fits", if *fits { "yes" } else { "no" }.into());
            say("notice-boarded", [("task", task.to_string().into()), fits])
        }
        N::TaskMoved { task, from, to } => board::moved(*task, from.as_ref(), to.as_ref()),
        N::TaskSplit { task, parts } => board::split(*task, parts),
        N::BoardCancelled { task, parts } => {
            say("notice-board-cancelled", [("task", task.to_string().into()), ("parts", (*parts).into())])
        }
        N::BoardReworded { task, work } => {
            let work = ("work", one_line(work, WORK_MAX).into());
            say("notice-board-reworded", [("task", task.to_string().into()), work])
        }
        N::TaskTaken { agent, task, work } => {
            let work = ("work", one_line(work, WORK_MAX).into());
            say("notice-task-taken", [of(agent), ("task", task.to_string().into()), work])
        }
        N::TaskReleased { agent, task } => clones::plain("notice-task-released", (agent, *task)),
        N::CheckoutFailed { agent, task, act, why } => clones::failed(locale, (agent, *task), *act, why),
        N::CheckPassed { agent, task, command, took, commit } => {
            clones::passed((agent, *task), command, *took, commit)
        }
        N::CheckFailed { agent, task, command, took, why, again } => {
            clones::refused(locale, (agent, *task), command, *took, (why, *again))
        }
        N::TaskInReview { agent, task, change, checked, cost_usd, onto, reviewer } => {
            clones::in_review((agent, *task), *change, (checked, onto, reviewer), *cost_usd)
        }
        N::ReviewLeft { agent, task, why } => clones::left(locale, (agent, *task), why),
        N::TaskAccepted { agent, task, by, merges, proposes } => {
            clones::accepted((agent, *task), by, (*merges, *proposes))
        }
        N::TaskProposed { agent, task, link } => clones::proposed((agent, *task), link),
        N::TaskRejected { agent, task, by } => clones::rejected((agent, *task), by),
        N::TaskLanded { agent, task, branch, commit } => clones::landed((agent, *task), branch, commit),
        N::TaskReturned { agent, task, why } => clones::returned(locale, (agent, *task), why),
        N::TaskOpened { agent, task } => clones::plain("notice-task-opened", (agent, *task)),
        N::TaskDropping { agent, task } => clones::plain("notice-task-dropping", (agent, *task)),
        N::TaskSplitting { agent, task } => clones::plain("notice-task-splitting", (agent, *task)),
        N::TaskNeedsMore { agent, task, permissions } => {
            let permissions = ("permissions", permissions.word().into());
            say("notice-task-needs-more", [of(agent), ("task", task.to_string().into()), permissions])
        }
        N::PartFailed { task, part, end } => {
            let (task, part) = (("task", task.to_string().into()), ("part", part.to_string().into()));
            say("notice-part-failed", [task, part, ("end", locale.task_end(*end).into())])
        }
        N::AwaitedNotDone { task, awaited, end } => {
            let (task, awaited) =
                (("task", task.to_string().into()), ("awaited", awaited.to_string().into()));
            let anew = ("anew", if *end == TaskEnd::Cancelled { "no" } else { "yes" }.into());
            say("notice-awaited-not-done", [task, awaited, ("end", locale.task_end(*end).into()), anew])
        }
        N::TaskWaits { task, after, to, fits } => board::waits(*task, after, to.as_ref(), *fits),
        N::NobodySuffices { task, needs } => {
            let needs = ("needs", one_line(needs, WORK_MAX).into());
            say("notice-nobody-suffices", [("task", task.to_string().into()), needs])
        }
        N::AgentAdded { agent, runtime } => {
            say("notice-agent-added", [of(agent), ("runtime", locale.runtime(*runtime).into())])
        }
        N::AgentEdited { agent, anew } => {
            say("notice-agent-edited", [of(agent), ("anew", if *anew { "yes" } else { "no" }.into())])
        }
        N::AgentRemoved { agent, works } => {
            say("notice-agent-removed", [of(agent), ("works", (*works).into())])
        }
        N::Reloaded { .. } => reloaded(locale, notice),
        N::NotReloaded { problems, count } => not_reloaded(problems, *count),
        N::StoppedAll { agents, processes } => machines::stopped(*agents, *processes, &[]),
        N::StoppedAllHeard { agents, processes, unheard } => machines::stopped(*agents, *processes, unheard),
        N::Away { from, to } => {
            let gap = ("duration", to.since(*from).into());
            say("notice-away", [("from", (*from).into()), ("to", (*to).into()), gap])
        }
        N::WentOn { away, sessions } => {
            say("notice-went-on", [("duration", (*away).into()), ("sessions", (*sessions).into())])
        }
        N::RunnerAway => say("notice-runner-away", []),
        N::RunnerBack { away } => say("notice-runner-back", [("duration", (*away).into())]),
        N::Machine { runner, news } => machines::message(runner, news),
        N::TooEarly { nicks } => say("notice-too-early", [("nicks", nicks.join(", ").into())]),
        N::Collapsed { agent: Some(agent), count } => {
            say("notice-collapsed", [of(agent), ("count", (*count).into())])
        }
        N::Collapsed { agent: None, count } => {
            say("notice-collapsed-elsewhere", [("count", (*count).into())])
        }
        N::NetworkDown { network, attempts, reason: why } => {
            let (id, name) = match network.webhook() {
                Some(webhook) => ("notice-webhook-down", webhook),
                None => ("notice-network-down", network.as_str()),
            };
            say(id, [("network", name.into()), ("attempts", (*attempts).into()), reason(why)])
        }
        N::NetworkUp { network, down_for } => {
            let (id, name) = match network.webhook() {
                Some(webhook) => ("notice-webhook-up", webhook),
                None => ("notice-network-up", network.as_str()),
            };
            say(id, [("network", name.into()), ("duration", (*down_for).into())])
        }
        N::NetworkRefused { network, reason: why } => {
            let (id, name) = match network.webhook() {
                Some(webhook) => ("notice-webhook-gone", webhook),
                None => ("notice-network-refused", network.as_str()),
            };
            say(id, [("network", name.into()), reason(why)])
        }
        N::NickservRefused { network, reason: why } => {
            let network = ("network", network.as_str().into());
            if why.is(&LinkReason::NoServices.into()) {
                return say("notice-nickserv-untrusted", [network]);
            }
            say("notice-nickserv-refused", [network, reason(why)])
        }
        N::WebhookDropped { webhook, attempts, reason: why } => {
            let name = webhook.webhook().unwrap_or(webhook.as_str());
            let attempts = ("attempts", (*attempts).into());
            say("notice-webhook-dropped", [("network", name.into()), attempts, reason(why)])
        }
        N::ChannelUnavailable { network, channel, reason: why } => {
            let network = ("network", network.as_str().into());
            say("notice-channel-unavailable", [network, ("channel", channel.into()), reason(why)])
        }
        N::TopicDenied { network, channel } => {
            let channel = ("channel", one_line(channel, NAME_MAX).into());
            say("notice-topic-denied", [("network", network.as_str().into()), channel])
        }
        N::Mirrored { by, network, text } => {
            let network = ("network", network.as_str().into());
            say(
                "notice-mirrored",
                [("by", bare_name(by).into()), network, ("text", one_line(text, TEXT_MAX).into())],
            )
        }
        N::PermissionMissing { network, permission, channel } => {
            let named = Value::from(locale.text("permission-name", &[("permission", permission.into())]));
            let args = [("network", network.as_str().into()), ("permission", named)];
            match channel {
                None => say("notice-permission-missing", args),
                Some(channel) => {
                    let [network, permission] = args;
                    let channel = ("channel", one_line(channel, NAME_MAX).into());
                    say("notice-permission-missing-in", [network, permission, channel])
                }
            }
        }
        N::CommandsRefused { network, invite } => {
            let invite = ("invite", one_line(invite, TEXT_MAX).into());
            say("notice-commands-refused", [("network", network.as_str().into()), invite])
        }
        N::NotInvited { network, invite } => {
            let invite = ("invite", one_line(invite, TEXT_MAX).into());
            say("notice-not-invited", [("network", network.as_str().into()), invite])
        }
        N::ChannelsFull { network, missing, max } => {
            let missing = ("missing", (*missing).into());
            say(
                "notice-channels-full",
                [("network", network.as_str().into()), missing, ("max", (*max).into())],
            )
        }
        N::Netsplit { nick, count } => {
            say("notice-netsplit", [("nick", nick.into()), ("count", (*count).into())])
        }
        N::NobodyConfigured => say("notice-nobody-configured", []),
        N::StorageFailed { reason } => say("notice-storage-failed", [sentence(reason)]),
        N::DiskLow { free_bytes } => say("notice-disk-low", [("free", locale.bytes(*free_bytes).into())]),
        N::UpkeepLeftOut { needed_bytes, free_bytes } => {
            let missing = ("missing", locale.bytes(needed_bytes.saturating_sub(*free_bytes)).into());
            say("notice-upkeep-left-out", [missing, ("free", locale.bytes(*free_bytes).into())])
        }
        N::UpkeepFailed { reason } => say("notice-upkeep-failed", [sentence(reason)]),
        N::RevisionsMissing { stream, expected, found } => {
            let expected = ("expected", (*expected).into());
            say("notice-revisions-missing", [("stream", stream.into()), expected, ("found", (*found).into())])
        }
        N::ArchivesAside { folder, first, last, ends } => {
            let events = [("first", (*first).into()), ("last", (*last).into()), ("ends", (*ends).into())];
            let [first, last, ends] = events;
            say("notice-archives-aside", [("folder", one_line(folder, TEXT_MAX).into()), first, last, ends])
        }
        N::EventsMissing { events } => say("notice-events-missing", [("events", events.into())]),
        N::EntriesUnreadable { events, posts, version } => {
            let newer = ("newer", u64::from(version.is_some()).into());
            let version = ("version", version.as_deref().unwrap_or_default().into());
            let counts = [("events", (*events).into()), ("posts", (*posts).into())];
            let [events, posts] = counts;
            say("notice-entries-unreadable", [events, posts, newer, version])
        }
        N::ShuttingDown => say("notice-shutting-down", []),
    }
}

/// Returns the variables of a message about an agent that has reached a cap.
fn capped<'a>(
    locale: &Locale,
    agent: &'a AgentName,
    cap: Cap,
    limit: f64,
    used: f64,
) -> [(&'static str, Value<'a>); 4] {
    let amount = |amount| Value::from(locale.amount(cap.unit, amount));
    [of(agent), ("per", locale.per(cap.window).into()), ("limit", amount(limit)), ("used", amount(used))]
}

/// Returns the variables of a message about a cap that the agents of an account, or all agents, share.
fn shared<'a>(
    locale: &Locale,
    account: Option<&'a AccountName>,
    cap: Cap,
    limit: f64,
    used: f64,
) -> [(&'static str, Value<'a>); 5] {
    let amount = |amount| Value::from(locale.amount(cap.unit, amount));
    [
        ("scope", if account.is_some() { "account" } else { "fleet" }.into()),
        ("account", account.map_or("", AccountName::as_str).into()),
        ("per", locale.per(cap.window).into()),
        ("limit", amount(limit)),
        ("used", amount(used)),
    ]
}

/// Returns the emoji before the notice that an agent is paused because a session ended in this category.
fn emoji(category: Category) -> &'static str {
    match category {
        Category::Billing => "💳",
        Category::Auth => "🔐",
        Category::Budget => "💰",
        Category::Success
        | Category::Transient
        | Category::RateLimit
        | Category::Permanent
        | Category::MaxTurns
        | Category::Quota
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::Crash
        | Category::DoNotRestart
        | Category::Interrupted
        | Category::OutOfMemory => "⏸️",
    }
}

/// Returns the value of the variable `$kind`, by which a Fluent message chooses its wording: `task` or `message`.
fn kind_key(kind: WorkKind) -> Value<'static> {
    Value::from(match kind {
        WorkKind::Message => "message",
        WorkKind::Task => "task",
        WorkKind::Round => "round",
    })
}
