//! `history`: lists the events of an agent or of the fleet, from the journal and its archives.

use std::time::Duration;

use serde_json::json;

use super::answers::Found;
use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{Voice, person, task};
use super::words::bounded;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::ask::AskAnswer;
use crate::core::checkout::{Act, CheckoutEvent};
use crate::core::detail::Own;
use crate::core::event::Event;
use crate::core::id::{AccountName, WorkId};
use crate::core::review::Back;
use crate::core::role::Role;
use crate::core::usage::Cap;
use crate::core::verdict::{Lapse, Verdict};
use crate::core::watch::{self, Judgement, Mark};
use crate::core::whisper::Way;
use crate::core::work::Actor;
use crate::journal::{Entry, FleetEvent, Recorded, Stream};
use crate::l10n::Value;

pub(super) const COMMAND: Command = Command {
    verb: Verb::History,
    name: "history",
    aliases: &["events"],
    args: &[Arg::PastAgentOrAll, Arg::Count { name: "n" }],
    role: Role::Viewer,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-history",
};

/// Number of events that `history` lists if none is given.
const EVENTS: usize = 10;

/// Maximum length of a person's or an agent's words in one line of `history`, in characters.
const DETAIL_MAX: usize = 160;

/// Maximum length of a line of `history` without those words, in characters; names and numbers are far below it.
const LINE_MAX: usize = 300;

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let wanted = desk.wanted(call, EVENTS);
    let stream = call.agent.clone().map_or(Stream::Fleet, Stream::Agent);
    let found = desk.history(stream, wanted, is_told).await?;
    let remarks = found.remarks(voice);
    let Found { mut entries, .. } = found;
    // Whispers are shown to people who may send them, if no one else reads the reply.
    if desk.role < Role::Operator || !desk.private {
        entries.iter_mut().for_each(hide_whisper);
    }
    let mut lines: Vec<String> = entries
        .iter()
        .map(|recorded| format!("{} {}", voice.locale.time(recorded.at), line(voice, recorded)))
        .collect();
    if lines.is_empty() && remarks.is_empty() {
        lines.push(voice.text("cmd-history-empty", &[]));
    }
    lines.splice(0..0, remarks);
    Ok(Answer::lines(lines).with(json!(entries)))
}

/// Returns a journal entry as somebody with `role` may see it, without whispers for viewers; `None` if that role may
/// not see it.
pub(super) fn seen_by(role: Role, mut recorded: Recorded) -> Option<Recorded> {
    if role < Role::Operator {
        if recorded.stream == Stream::Audit {
            return None;
        }
        hide_whisper(&mut recorded);
    }
    Some(recorded)
}

/// Replaces words that only the agent and operators may read in an entry by `…`: those of whispers and verdicts.
pub(crate) fn hide_whisper(recorded: &mut Recorded) {
    match &mut recorded.entry {
        Entry::Agent(Event::Whispered { whisper }) => "…".clone_into(&mut whisper.text),
        Entry::Agent(Event::Evaluated { judgement, .. }) => {
            if let Judgement::Verdict(
                Verdict::Correction(said) | Verdict::ThinkDeeper(said) | Verdict::Escalation(said),
            ) = judgement.as_mut()
            {
                "…".clone_into(said);
            }
            // An unreadable answer may contain words for the agent alone.
            if let Judgement::Lapse(lapse) = judgement.as_mut() {
                *lapse = lapse.hushed();
            }
        }
        _ => {}
    }
}

/// Returns true if `history` lists an entry; turns are left to `log`.
pub(crate) fn is_told(recorded: &Recorded) -> bool {
    !matches!(recorded.entry, Entry::Agent(Event::TurnObserved { .. }))
}

/// Formats a journal entry as one line of `history`, without its time.
pub(crate) fn line(voice: Voice<'_>, recorded: &Recorded) -> String {
    match &recorded.entry {
        Entry::Agent(event) => of_agent(voice, event),
        Entry::Fleet(event) => of_fleet(voice, event),
        Entry::Audit(audit) => voice.short(&audit.text, DETAIL_MAX),
    }
}

/// Formats an event as a line: its kind `what`, its subject, author and detail, of which parts may be empty.
fn say(voice: Voice<'_>, what: &str, subject: String, by: Option<&Actor>, detail: &str) -> String {
    // An event without a subject would leave a double blank.
    let mut text =
        bounded(&voice.text("cmd-event", &[("what", what.into()), ("subject", subject.into())]), LINE_MAX);
    if let Some(by) = by {
        text.push(' ');
        text.push_str(&voice.text("cmd-event-by", &[("name", person(by).into())]));
    }
    let detail = voice.short(detail, DETAIL_MAX);
    if !detail.is_empty() {
        text.push_str(": ");
        text.push_str(&detail);
    }
    text
}

/// Describes a cap that an account's agents, or all agents, share.
fn scope(voice: Voice<'_>, account: Option<&AccountName>, cap: Cap) -> String {
    let cap = voice.locale.cap(cap);
    account.map_or_else(|| cap.clone(), |account| format!("{account} {cap}"))
}

fn of_agent(voice: Voice<'_>, event: &Event) -> String {
    let none = String::new;
    let locale = voice.locale;
    let duration = |until: Value<'_>| voice.text("cmd-until", &[("until", until)]);
    match event {
        Event::Added { spec, by } => {
            say(voice, "added", locale.runtime(spec.runtime).to_owned(), Some(by), "")
        }
        Event::Edited { by, .. } => say(voice, "edited", none(), Some(by), ""),
        Event::Removed { by } => say(voice, "removed", none(), Some(by), ""),
        Event::Queued { work } => say(voice, "queued", task(work.id), Some(&work.by), &work.text),
        Event::TaskTaken { work, .. } => say(voice, "taken", task(work.id), Some(&work.by), &work.text),
        Event::TaskHandedBack { work, by, .. } => say(voice, "handed-back", task(*work), Some(by), ""),
        Event::SplitBegun { work, .. } => say(voice, "split-begun", task(*work), None, ""),
        Event::SplitEnded { number, lapse, .. } => match lapse {
            Some(Lapse::Unparsable { .. }) => {
                say(voice, "split-lapsed", number.to_string(), None, &locale.detail(&Own::SplitNoList.into()))
            }
            Some(lapse) => say(voice, "split-lapsed", number.to_string(), None, &locale.lapse(lapse)),
            None => say(voice, "split-ended", number.to_string(), None, ""),
        },
        Event::BoardHeard { .. } => say(voice, "board-heard", none(), None, ""),
        Event::Checkout(event) => checkout(voice, event),
        Event::Cleared { works, by } => say(voice, "cleared", works.len().to_string(), Some(by), ""),
        Event::Reworded { work, text, by } => say(voice, "reworded", task(*work), Some(by), text),
        Event::Withdrawn { work, by } => say(voice, "withdrawn", task(*work), Some(by), ""),
        Event::Steered { work, .. } => say(voice, "steered", task(*work), None, ""),
        Event::TaskEnded { work, end, note } => say(
            voice,
            "task-ended",
            format!("{} {}", task(*work), locale.task_end(*end)),
            None,
            &locale.detail(note),
        ),
        Event::Whispered { whisper } => {
            say(voice, "whispered", task(whisper.id), Some(&whisper.by), &whisper.text)
        }
        Event::WhispersDelivered { whispers, way, .. } => {
            let ids: Vec<String> = whispers.iter().map(|id| task(*id)).collect();
            let how = match way {
                Way::Tool => "whispers-tool",
                Way::Turn => "whispers-turn",
                Way::Prompt => "whispers-prompt",
                Way::Anew => "whispers-anew",
            };
            say(voice, how, ids.join(", "), None, "")
        }
        Event::WhispersDropped { whispers, by } => {
            let ids: Vec<String> = whispers.iter().map(|id| task(*id)).collect();
            say(voice, "whispers-dropped", ids.join(", "), Some(by), "")
        }
        Event::TaskReported { work, report, .. } => {
            let what = format!("{} {}", task(*work), locale.task_end(report.end));
            say(voice, "task-reported", what, None, &report.note)
        }
        Event::PartsAwaited { work, parts, .. } => {
            say(voice, "parts-awaited", task(*work), None, &numbers(parts))
        }
        Event::Parked { work, parts, .. } => say(voice, "parked", task(*work), None, &numbers(parts)),
        Event::PartsReported { work, results, .. } => {
            let ends =
                results.iter().map(|result| format!("{} {}", task(result.part), locale.task_end(result.end)));
            say(voice, "parts-reported", task(*work), None, &ends.collect::<Vec<_>>().join(", "))
        }
        Event::TurnObserved { turn, .. } => say(voice, "turn-observed", none(), None, &turn.words),
        Event::EvaluationBegun { number, finding } => {
            let finding = finding.as_ref().map(|finding| locale.finding(finding)).unwrap_or_default();
            say(voice, "evaluation-begun", number.to_string(), None, &finding)
        }
        Event::Evaluated { number, judgement, .. } => {
            let (what, detail) = judged(voice, judgement);
            say(voice, what, number.to_string(), None, &detail)
        }
        Event::DetectorStoodIn { number } => say(voice, "stood-in", number.to_string(), None, ""),
        Event::Escalated { escalation } => {
            say(voice, "escalated", task(escalation.id), None, &escalation.text)
        }
        Event::EscalationReminded { id, .. } => say(voice, "reminded", task(*id), None, ""),
        Event::EscalationAcked { id, by } => say(voice, "acked", task(*id), Some(by), ""),
        Event::EscalationAnswered { id, answer, by } => {
            let what = match answer {
                watch::Answer::Resume => "answered-resume",
                watch::Answer::Abort | watch::Answer::Remove => "answered-abort",
                watch::Answer::Moved => "answered-moved",
            };
            say(voice, what, task(*id), Some(by), "")
        }
        Event::WhisperMarked { id, mark, by } => {
            let what = match mark {
                Mark::Right => "marked-right",
                Mark::Wrong => "marked-wrong",
            };
            say(voice, what, task(*id), Some(by), "")
        }
        Event::Discarded { work, by } => say(voice, "discarded", task(*work), Some(by), ""),
        Event::SessionStarted { session, work, .. } => {
            say(voice, "session-started", session.to_string(), None, &voice.work(work))
        }
        Event::WorkspaceSeen { workspace, .. } => {
            say(voice, "workspace", locale.workspace(workspace), None, "")
        }
        Event::ProcessWarm { process: Some(process), .. } => {
            say(voice, "process-warm", process.pid.to_string(), None, "")
        }
        Event::ProcessWarm { process: None, .. } => say(voice, "process-cool", none(), None, ""),
        Event::ProcessStarted { pid, .. } => say(voice, "process-started", pid.to_string(), None, ""),
        Event::Ready { session, .. } => say(voice, "ready", session.to_string(), None, ""),
        Event::ConversationNamed { conversation, .. } => {
            say(voice, "conversation", none(), None, conversation)
        }
        Event::ConversationLost { why, .. } => {
            say(voice, "conversation-lost", none(), None, &locale.detail(why))
        }
        Event::TurnEnded { text, .. } => say(voice, "turn", none(), None, text),
        Event::ClockRanOut { clock, evidence, .. } => {
            say(voice, "clock", locale.clock(*clock), None, &locale.detail(evidence))
        }
        Event::PermissionDenied { what, .. } => say(voice, "permission-denied", none(), None, what),
        Event::UsageRecorded { session, usage, .. } => {
            say(voice, "usage", session.to_string(), None, &voice.usage(*usage))
        }
        Event::CapNear { cap, percent, .. } => {
            say(voice, "cap-near", locale.cap(*cap), None, &format!("{percent} %"))
        }
        Event::CapWaived { cap, limit, by, .. } => {
            say(voice, "cap-waived", locale.cap(*cap), Some(by), &locale.amount(cap.unit, *limit))
        }
        Event::Spiked { unit, used, usual, .. } => {
            let amounts = format!("{} / {}", locale.amount(*unit, *used), locale.amount(*unit, *usual));
            say(voice, "spiked", none(), None, &amounts)
        }
        Event::PriceUnknown { model, .. } => say(voice, "price-unknown", none(), None, model),
        Event::Asked { ask } => say(voice, "asked", ask.id.to_string(), None, ask.about.words()),
        Event::AskReminded { ask, .. } => say(voice, "ask-reminded", ask.to_string(), None, ""),
        Event::AskedAgain { ask, .. } => say(voice, "asked-again", ask.to_string(), None, ""),
        Event::Answered { ask, answer, by } => {
            let (what, detail) = match answer {
                AskAnswer::Allow { .. } => ("approved", String::new()),
                AskAnswer::Deny => ("denied", String::new()),
                AskAnswer::Text { .. } | AskAnswer::Chosen { .. } => {
                    ("answered", answer.words().unwrap_or_default())
                }
            };
            say(voice, what, ask.to_string(), Some(by), &detail)
        }
        Event::AskExpired { ask } => say(voice, "ask-expired", ask.to_string(), None, ""),
        Event::AskDropped { ask } => say(voice, "ask-dropped", ask.to_string(), None, ""),
        Event::PermissionDecided { allowed, command, .. } => {
            say(voice, if *allowed { "permission-given" } else { "permission-denied" }, none(), None, command)
        }
        Event::RuleAdded { rule } => {
            say(voice, "rule-added", rule.id.to_string(), Some(&rule.by), &rule.command)
        }
        Event::RuleRemoved { rule, by } => say(voice, "rule-removed", rule.to_string(), Some(by), ""),
        Event::StopRequested { reason, by, .. } => {
            say(voice, "stop", locale.stop_reason(*reason), by.as_ref(), "")
        }
        Event::SessionEnded { session, outcome, .. } => {
            let how = format!("{session} {}", locale.category(outcome.category));
            say(voice, "session-ended", how, None, &locale.detail(&outcome.detail))
        }
        Event::Requeued { work } => say(voice, "requeued", task(*work), None, ""),
        Event::Waiting { until, reason } => {
            say(voice, "waiting", duration((*until).into()), None, &locale.wait_reason(*reason))
        }
        Event::WaitOver => say(voice, "wait-over", none(), None, ""),
        Event::PausePending { by, .. } => say(voice, "pause-pending", none(), Some(by), ""),
        Event::Paused { reason } => say(voice, "paused", none(), None, &locale.pause_reason(reason)),
        Event::Resumed { by } => say(voice, "resumed", none(), Some(by), ""),
        Event::AccountOpened { by } => say(voice, "account-opened", none(), Some(by), ""),
        Event::Reset { by } => say(voice, "reset", none(), Some(by), ""),
        Event::BreakerOpened { failures, .. } => say(voice, "breaker-opened", failures.to_string(), None, ""),
        Event::ClockSet { by } => clock_set(voice, *by),
        Event::BreakerClosed => say(voice, "breaker-closed", none(), None, ""),
        Event::Degraded { crashes } => say(voice, "degraded", crashes.to_string(), None, ""),
        Event::SupervisorPanicked { message } => say(voice, "panicked", none(), None, message),
    }
}

/// Formats the amount by which the clock was set, with its sign.
fn clock_set(voice: Voice<'_>, by: i64) -> String {
    let sign = if by < 0 { '−' } else { '+' };
    let length = voice.locale.duration(Duration::from_millis(by.unsigned_abs()));
    say(voice, "clock-set", format!("{sign}{length}"), None, "")
}

/// Returns the numbers of tasks as one text.
fn numbers(tasks: &[WorkId]) -> String {
    tasks.iter().map(|id| task(*id)).collect::<Vec<_>>().join(", ")
}

/// Returns the key of the text for an evaluation's result, and the detail in it.
fn judged(voice: Voice<'_>, judgement: &Judgement) -> (&'static str, String) {
    match judgement {
        Judgement::Verdict(Verdict::Ok) => ("judged-ok", String::new()),
        Judgement::Verdict(verdict) => {
            ("judged", format!("{} {}", verdict.word(), verdict.message().unwrap_or_default()))
        }
        Judgement::Lapse(lapse) => ("not-judged", voice.locale.lapse(lapse)),
    }
}

fn of_fleet(voice: Voice<'_>, event: &FleetEvent) -> String {
    match event {
        FleetEvent::AgentAdded { agent } => say(voice, "added", agent.to_string(), None, ""),
        FleetEvent::AgentRemoved { agent } => say(voice, "removed", agent.to_string(), None, ""),
        FleetEvent::Configured { spec } => say(voice, "configured", spec.name.to_string(), None, ""),
        FleetEvent::LeftOut { agent } => say(voice, "left-out", agent.to_string(), None, ""),
        FleetEvent::Board { event } => board::event(voice, event),
        FleetEvent::AccountBlocked { account, category, agent } => {
            let detail = format!("{agent}, {}", voice.locale.category(*category));
            say(voice, "account-blocked", voice.short(account.as_str(), 40), None, &detail)
        }
        FleetEvent::AccountOpened { account, by } => {
            say(voice, "account-opened", voice.short(account.as_str(), 40), Some(by), "")
        }
        FleetEvent::AccountExhausted { account, agent, .. } => {
            say(voice, "account-exhausted", voice.short(account.as_str(), 40), None, agent.as_str())
        }
        FleetEvent::AccountAsked { account } => {
            say(voice, "account-asked", voice.short(account.as_str(), 40), None, "")
        }
        FleetEvent::AccountTried { account, agent, by, .. } => {
            say(voice, "account-tried", voice.short(account.as_str(), 40), Some(by), agent.as_str())
        }
        FleetEvent::AccountProved { account, agent } => {
            say(voice, "account-proved", voice.short(account.as_str(), 40), None, agent.as_str())
        }
        FleetEvent::SupervisorPanicked { agent, message } => {
            say(voice, "panicked", agent.to_string(), None, message)
        }
        FleetEvent::Linked { tie, name, by } => {
            say(voice, "linked", voice.short(name, 40), Some(by), &format!("{} {}", tie.network, tie.account))
        }
        FleetEvent::Unlinked { tie, by } => {
            say(voice, "unlinked", voice.short(&tie.account, 40), Some(by), "")
        }
        FleetEvent::Started { version } => say(voice, "started", voice.short(version, 40), None, ""),
        FleetEvent::BooksKept { agent, .. } => say(voice, "books-kept", agent.to_string(), None, ""),
        FleetEvent::CapNear { account, warned } => {
            let percent = format!("{} %", warned.percent);
            say(voice, "cap-near", scope(voice, account.as_ref(), warned.cap), None, &percent)
        }
        FleetEvent::CapWaived { account, waived, .. } => {
            let limit = voice.locale.amount(waived.cap.unit, waived.limit);
            say(voice, "cap-waived", scope(voice, account.as_ref(), waived.cap), None, &limit)
        }
        FleetEvent::ClockSet { by } => clock_set(voice, *by),
        FleetEvent::Stopped => say(voice, "stopped", String::new(), None, ""),
    }
}

mod board;
#[cfg(test)]
mod tests;

/// Formats an event about the clone of a task.
fn checkout(voice: Voice<'_>, event: &CheckoutEvent) -> String {
    let short = |commit: &str| commit.chars().take(10).collect::<String>();
    match event {
        CheckoutEvent::Planned { plan } => {
            say(voice, "checkout-planned", task(plan.task), None, &plan.branch)
        }
        CheckoutEvent::Made { task: id, base, .. } => {
            say(voice, "checkout-made", task(*id), None, &short(base))
        }
        CheckoutEvent::Reading { task: id } => say(voice, "checkout-reading", task(*id), None, ""),
        CheckoutEvent::Read { task: id, held } => {
            say(voice, "checkout-read", task(*id), None, &short(&held.head))
        }
        CheckoutEvent::Removing { task: id, by } => say(voice, "checkout-removing", task(*id), Some(by), ""),
        CheckoutEvent::Removed { task: id } => say(voice, "checkout-removed", task(*id), None, ""),
        CheckoutEvent::Checking { task: id, .. } => say(voice, "checkout-checking", task(*id), None, ""),
        CheckoutEvent::Checked { task: id, evidence } => {
            let evidence = evidence
                .as_ref()
                .map_or_else(String::new, |evidence| super::task::listed::how(voice, evidence));
            say(voice, "checkout-checked", task(*id), None, &evidence)
        }
        CheckoutEvent::Failed { task: id, act, why } => {
            let what = match act {
                Act::Make => "failed-make",
                Act::Read => "failed-read",
                Act::Remove => "failed-remove",
                Act::Check => "failed-check",
                Act::Merge => "failed-merge",
            };
            say(voice, what, task(*id), None, &voice.locale.detail(why))
        }
        CheckoutEvent::SentBack { task: id, back } | CheckoutEvent::Returned { task: id, back } => {
            let by = match back {
                Back::Rejected { by, .. } => Some(by),
                Back::Uncommitted { .. }
                | Back::Conflict { .. }
                | Back::Red { .. }
                | Back::Outside { .. } => None,
            };
            say(voice, "task-returned", task(*id), by, &voice.locale.detail(&back.why()))
        }
        CheckoutEvent::InReview { task: id, asked, .. } => {
            let asked = asked.as_ref().map(|asked| asked.as_str()).unwrap_or_default();
            say(voice, "task-in-review", task(*id), None, asked)
        }
        CheckoutEvent::LeftToPerson { task: id, why } => {
            say(voice, "task-left", task(*id), None, &voice.locale.detail(why))
        }
        CheckoutEvent::Accepted { task: id, by } => say(voice, "task-accepted", task(*id), Some(by), ""),
        CheckoutEvent::Proposed { task: id, pull } => {
            say(voice, "task-proposed", task(*id), None, &pull.link)
        }
        CheckoutEvent::Heard { task: id, news } => say(voice, "task-heard", task(*id), None, &news.from()),
        CheckoutEvent::Landed { task: id, landed } => {
            let said = format!("{} {}", landed.branch, short(&landed.commit));
            say(voice, "task-landed", task(*id), None, &said)
        }
        CheckoutEvent::Opened { task: id, by } => say(voice, "task-opened", task(*id), Some(by), ""),
    }
}
