//! `history`: what happened to an agent or to the fleet, from the journal and its archives.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{Voice, person, task};
use super::words::bounded;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;
use crate::core::event::Event;
use crate::core::work::Actor;
use crate::journal::{Entry, FleetEvent, Recorded, Stream};
use crate::l10n::Value;

pub(super) const COMMAND: Command = Command {
    verb: Verb::History,
    name: "history",
    aliases: &["events"],
    args: &[Arg::AgentOrAll, Arg::Count { name: "n" }],
    role: Role::Viewer,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-history",
};

/// Events shown when no number is given.
const EVENTS: usize = 10;

/// The most of somebody's or an agent's words in one line.
const DETAIL_MAX: usize = 160;

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let wanted = desk.wanted(call, EVENTS);
    let stream = call.agent.clone().map_or(Stream::Fleet, Stream::Agent);
    let entries = desk.history(stream, wanted, |_| true).await?;
    let mut lines: Vec<String> = entries
        .iter()
        .map(|recorded| format!("{} {}", voice.locale.time(recorded.at), line(voice, recorded)))
        .collect();
    if lines.is_empty() {
        lines.push(voice.text("cmd-history-empty", &[]));
    }
    Ok(Answer::lines(lines).with(json!(entries)))
}

fn line(voice: Voice<'_>, recorded: &Recorded) -> String {
    match &recorded.entry {
        Entry::Agent(event) => of_agent(voice, event),
        Entry::Fleet(event) => of_fleet(voice, event),
        Entry::Audit(audit) => bounded(&audit.text, DETAIL_MAX),
    }
}

/// `what` happened, by whom, and the detail; the pieces that an event lacks are empty.
fn say(voice: Voice<'_>, what: &str, subject: String, by: Option<&Actor>, detail: &str) -> String {
    let mut text = voice.text("cmd-event", &[("what", what.into()), ("subject", subject.into())]);
    if let Some(by) = by {
        text.push(' ');
        text.push_str(&voice.text("cmd-event-by", &[("name", person(by).into())]));
    }
    let detail = bounded(detail, DETAIL_MAX);
    if !detail.is_empty() {
        text.push_str(": ");
        text.push_str(&detail);
    }
    text
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
        Event::Cleared { works, by } => say(voice, "cleared", works.len().to_string(), Some(by), ""),
        Event::Steered { work, .. } => say(voice, "steered", task(*work), None, ""),
        Event::TaskEnded { work, end, note } => {
            say(voice, "task-ended", format!("{} {}", task(*work), locale.task_end(*end)), None, note)
        }
        Event::Discarded { work, by } => say(voice, "discarded", task(*work), Some(by), ""),
        Event::SessionStarted { session, work, .. } => {
            say(voice, "session-started", session.to_string(), None, &voice.work(work))
        }
        Event::ProcessStarted { pid, .. } => say(voice, "process-started", pid.to_string(), None, ""),
        Event::Ready { session } => say(voice, "ready", session.to_string(), None, ""),
        Event::ConversationNamed { conversation, .. } => {
            say(voice, "conversation", none(), None, conversation)
        }
        Event::ConversationLost { .. } => say(voice, "conversation-lost", none(), None, ""),
        Event::TurnEnded { text, .. } => say(voice, "turn", none(), None, text),
        Event::ClockRanOut { clock, evidence, .. } => {
            say(voice, "clock", locale.clock(*clock), None, evidence)
        }
        Event::StopRequested { reason, by, .. } => {
            say(voice, "stop", locale.stop_reason(*reason), by.as_ref(), "")
        }
        Event::SessionEnded { session, outcome, .. } => {
            let how = format!("{session} {}", locale.category(outcome.category));
            say(voice, "session-ended", how, None, &outcome.detail)
        }
        Event::Requeued { work } => say(voice, "requeued", task(*work), None, ""),
        Event::Waiting { until, reason } => {
            say(voice, "waiting", duration((*until).into()), None, &locale.wait_reason(*reason))
        }
        Event::WaitOver => say(voice, "wait-over", none(), None, ""),
        Event::PausePending { by } => say(voice, "pause-pending", none(), Some(by), ""),
        Event::Paused { reason } => say(voice, "paused", none(), None, &locale.pause_reason(reason)),
        Event::Resumed { by } => say(voice, "resumed", none(), Some(by), ""),
        Event::AccountOpened { by } => say(voice, "account-opened", none(), Some(by), ""),
        Event::Reset { by } => say(voice, "reset", none(), Some(by), ""),
        Event::BreakerOpened { failures } => say(voice, "breaker-opened", failures.to_string(), None, ""),
        Event::BreakerClosed => say(voice, "breaker-closed", none(), None, ""),
        Event::Degraded { crashes } => say(voice, "degraded", crashes.to_string(), None, ""),
        Event::SupervisorPanicked { message } => say(voice, "panicked", none(), None, message),
    }
}

fn of_fleet(voice: Voice<'_>, event: &FleetEvent) -> String {
    match event {
        FleetEvent::AgentAdded { agent } => say(voice, "added", agent.to_string(), None, ""),
        FleetEvent::AgentRemoved { agent } => say(voice, "removed", agent.to_string(), None, ""),
        FleetEvent::AccountBlocked { account, category, agent } => {
            let detail = format!("{agent}, {}", voice.locale.category(*category));
            say(voice, "account-blocked", bounded(account.as_str(), 40), None, &detail)
        }
        FleetEvent::AccountOpened { account, by } => {
            say(voice, "account-opened", bounded(account.as_str(), 40), Some(by), "")
        }
        FleetEvent::SupervisorPanicked { agent, message } => {
            say(voice, "panicked", agent.to_string(), None, message)
        }
        FleetEvent::Started { version } => say(voice, "started", bounded(version, 40), None, ""),
        FleetEvent::Stopped => say(voice, "stopped", String::new(), None, ""),
    }
}
