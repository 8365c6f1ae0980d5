//! `history`: what happened to an agent or to the fleet, from the journal and its archives.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{Voice, person, task};
use super::words::bounded;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;
use crate::core::event::Event;
use crate::core::id::AccountName;
use crate::core::usage::Cap;
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

/// Events shown when no number is given.
const EVENTS: usize = 10;

/// The most of somebody's or an agent's words in one line.
const DETAIL_MAX: usize = 160;

/// The most of a line but for its detail; names and numbers are far below it.
const LINE_MAX: usize = 300;

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let wanted = desk.wanted(call, EVENTS);
    let stream = call.agent.clone().map_or(Stream::Fleet, Stream::Agent);
    let mut entries = desk.history(stream, wanted, |_| true).await?;
    // Private words are shown to those who may give them, where nobody else reads the answer.
    if desk.role < Role::Operator || !desk.private {
        entries.iter_mut().for_each(hide_whisper);
    }
    let mut lines: Vec<String> = entries
        .iter()
        .map(|recorded| format!("{} {}", voice.locale.time(recorded.at), line(voice, recorded)))
        .collect();
    if lines.is_empty() {
        lines.push(voice.text("cmd-history-empty", &[]));
    }
    Ok(Answer::lines(lines).with(json!(entries)))
}

fn hide_whisper(recorded: &mut Recorded) {
    if let Entry::Agent(Event::Whispered { whisper }) = &mut recorded.entry {
        "…".clone_into(&mut whisper.text);
    }
}

fn line(voice: Voice<'_>, recorded: &Recorded) -> String {
    match &recorded.entry {
        Entry::Agent(event) => of_agent(voice, event),
        Entry::Fleet(event) => of_fleet(voice, event),
        Entry::Audit(audit) => voice.short(&audit.text, DETAIL_MAX),
    }
}

/// `what` happened, by whom, and the detail; the pieces that an event lacks are empty.
fn say(voice: Voice<'_>, what: &str, subject: String, by: Option<&Actor>, detail: &str) -> String {
    // An event without a subject leaves a gap where it would stand.
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

/// A cap that agents share.
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
        Event::Cleared { works, by } => say(voice, "cleared", works.len().to_string(), Some(by), ""),
        Event::Reworded { work, text, by } => say(voice, "reworded", task(*work), Some(by), text),
        Event::Withdrawn { work, by } => say(voice, "withdrawn", task(*work), Some(by), ""),
        Event::Steered { work, .. } => say(voice, "steered", task(*work), None, ""),
        Event::TaskEnded { work, end, note } => {
            say(voice, "task-ended", format!("{} {}", task(*work), locale.task_end(*end)), None, note)
        }
        Event::Whispered { whisper } => {
            say(voice, "whispered", task(whisper.id), Some(&whisper.by), &whisper.text)
        }
        Event::WhispersDelivered { whispers, way, .. } => {
            let ids: Vec<String> = whispers.iter().map(|id| task(*id)).collect();
            let how = match way {
                Way::Tool => "whispers-tool",
                Way::Turn => "whispers-turn",
                Way::Prompt => "whispers-prompt",
            };
            say(voice, how, ids.join(", "), None, "")
        }
        Event::TaskReported { work, report, .. } => {
            let what = format!("{} {}", task(*work), locale.task_end(report.end));
            say(voice, "task-reported", what, None, &report.note)
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
        Event::PermissionDenied { what, .. } => say(voice, "permission-denied", none(), None, what),
        Event::UsageRecorded { session, usage } => {
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
        Event::BreakerOpened { failures, .. } => say(voice, "breaker-opened", failures.to_string(), None, ""),
        Event::BreakerClosed => say(voice, "breaker-closed", none(), None, ""),
        Event::Degraded { crashes } => say(voice, "degraded", crashes.to_string(), None, ""),
        Event::SupervisorPanicked { message } => say(voice, "panicked", none(), None, message),
    }
}

fn of_fleet(voice: Voice<'_>, event: &FleetEvent) -> String {
    match event {
        FleetEvent::AgentAdded { agent } => say(voice, "added", agent.to_string(), None, ""),
        FleetEvent::AgentRemoved { agent } => say(voice, "removed", agent.to_string(), None, ""),
        FleetEvent::Configured { spec } => say(voice, "configured", spec.name.to_string(), None, ""),
        FleetEvent::AccountBlocked { account, category, agent } => {
            let detail = format!("{agent}, {}", voice.locale.category(*category));
            say(voice, "account-blocked", voice.short(account.as_str(), 40), None, &detail)
        }
        FleetEvent::AccountOpened { account, by } => {
            say(voice, "account-opened", voice.short(account.as_str(), 40), Some(by), "")
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
        FleetEvent::CapWaived { account, waived } => {
            let limit = voice.locale.amount(waived.cap.unit, waived.limit);
            say(voice, "cap-waived", scope(voice, account.as_ref(), waived.cap), None, &limit)
        }
        FleetEvent::Stopped => say(voice, "stopped", String::new(), None, ""),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::event::{PauseReason, StopReason, WaitReason};
    use crate::core::id::{AccountName, AgentName, NetworkName, SessionId, WorkId};
    use crate::core::input::Clock;
    use crate::core::outcome::{Category, Outcome, Usage};
    use crate::core::spec::{AgentSpec, Runtime};
    use crate::core::time::Timestamp;
    use crate::core::usage::{Cap, Unit, Waived, Warned, Window};
    use crate::core::whisper::Whisper;
    use crate::core::work::{TaskEnd, TaskReport, Work, WorkKind};
    use crate::journal::Tie;
    use crate::l10n::Locale;
    use crate::outbox::Redactor;

    fn agent_events() -> Vec<Event> {
        let name = AgentName::new("spark").expect("a name");
        let spec = Box::new(AgentSpec::new(name, Runtime::Claude, PathBuf::from("/srv")));
        let by = Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None };
        let (session, work) = (SessionId(4), WorkId(7));
        let whole = Work {
            id: work,
            kind: WorkKind::Task,
            text: "fix the tests".to_owned(),
            by: by.clone(),
            at: Timestamp::default(),
            attempts: 0,
        };
        let text = || "so it is".to_owned();
        vec![
            Event::Added { spec: spec.clone(), by: by.clone() },
            Event::Edited { spec, by: by.clone() },
            Event::Removed { by: by.clone() },
            Event::Queued { work: whole.clone() },
            Event::Cleared { works: vec![work], by: by.clone() },
            Event::Reworded { work, text: text(), by: by.clone() },
            Event::Withdrawn { work, by: by.clone() },
            Event::Steered { session, work },
            Event::TaskEnded { work, end: TaskEnd::Done, note: text() },
            Event::Whispered {
                whisper: Box::new(Whisper {
                    id: work,
                    text: text(),
                    by: by.clone(),
                    at: Timestamp::default(),
                    prompted: None,
                }),
            },
            Event::WhispersDelivered { session, whispers: vec![work], way: Way::Turn },
            Event::TaskReported { session, work, report: TaskReport { end: TaskEnd::Blocked, note: text() } },
            Event::Discarded { work, by: by.clone() },
            Event::SessionStarted { session, work: whole, trial: false },
            Event::ProcessStarted { session, pid: 4711, started: 1 },
            Event::Ready { session },
            Event::ConversationNamed { session, conversation: text() },
            Event::TurnEnded { session, text: text(), tools: Vec::new() },
            Event::ClockRanOut { session, clock: Clock::Silence, evidence: text() },
            Event::PermissionDenied { session, what: text() },
            Event::UsageRecorded {
                session,
                usage: Usage { input_tokens: 1200, output_tokens: 30, cost_usd: 0.5, ..Usage::default() },
            },
            Event::CapNear { cap: CAP, at: 0, limit: 5.0, used: 4.0, percent: 80 },
            Event::CapWaived { cap: CAP, at: 0, limit: 10.0, by: by.clone() },
            Event::Spiked { hour: 0, unit: Unit::Tokens, used: 4000.0, usual: 1000.0 },
            Event::PriceUnknown { model: "gpt-5.4".to_owned(), assumed: true },
            Event::StopRequested { session, reason: StopReason::Abort, by: Some(by.clone()) },
            Event::SessionEnded {
                session,
                outcome: Box::new(Outcome::new(Category::Crash, "exit code 101")),
                survivors: Vec::new(),
            },
            Event::Requeued { work },
            Event::Waiting { until: Timestamp::default(), reason: WaitReason::RateLimit },
            Event::WaitOver,
            Event::PausePending { by: by.clone() },
            Event::Paused { reason: PauseReason::Person(by.clone()) },
            Event::Resumed { by: by.clone() },
            Event::AccountOpened { by: by.clone() },
            Event::Reset { by },
            Event::BreakerOpened { failures: 6, trial: false },
            Event::BreakerClosed,
            Event::Degraded { crashes: 6 },
            Event::SupervisorPanicked { message: text() },
        ]
    }

    const CAP: Cap = Cap { window: Window::Day, unit: Unit::Usd };

    fn fleet_events() -> Vec<FleetEvent> {
        let agent = || AgentName::new("spark").expect("a name");
        let account = || AccountName::from("team");
        let by = Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None };
        let tie = Tie {
            user: "112233445566778899".to_owned(),
            network: NetworkName::from("libera"),
            account: "alice".to_owned(),
        };
        vec![
            FleetEvent::AgentAdded { agent: agent() },
            FleetEvent::AgentRemoved { agent: agent() },
            FleetEvent::Configured {
                spec: Box::new(AgentSpec::new(agent(), Runtime::Claude, PathBuf::from("/srv"))),
            },
            FleetEvent::AccountBlocked { account: account(), category: Category::Auth, agent: agent() },
            FleetEvent::AccountOpened { account: account(), by: by.clone() },
            FleetEvent::Linked { tie: tie.clone(), name: "Ann".to_owned(), by: by.clone() },
            FleetEvent::Unlinked { tie, by },
            FleetEvent::SupervisorPanicked { agent: agent(), message: "so it is".to_owned() },
            FleetEvent::Started { version: "0.1.0".to_owned() },
            FleetEvent::BooksKept { agent: agent(), books: Box::default() },
            FleetEvent::CapNear {
                account: Some(account()),
                warned: Warned { cap: CAP, at: 0, limit: 5.0, percent: 80 },
            },
            FleetEvent::CapWaived { account: None, waived: Waived { cap: CAP, at: 0, limit: 10.0 } },
            FleetEvent::Stopped,
        ]
    }

    fn told(locale: &str) -> Vec<String> {
        let locale = Locale::load_in_zone(locale, jiff::tz::TimeZone::UTC).expect("a locale");
        let redactor = Redactor::default();
        let voice = Voice { locale: &locale, now: Timestamp::default(), redactor: &redactor };
        let agent = agent_events().into_iter().map(|event| of_agent(voice, &event));
        agent.chain(fleet_events().iter().map(|event| of_fleet(voice, event))).collect()
    }

    #[test]
    fn every_event_has_its_words() {
        insta::assert_snapshot!(told("en-US").join("\n"), @r##"
            added claude by alice
            changed by alice
            removed by alice
            queued #7 by alice: fix the tests
            dropped 1 from the queue by alice
            #7 reworded by alice: so it is
            #7 taken back by alice
            #7 put into the running turn
            task #7 done: so it is
            whisper #7 by alice: so it is
            whisper #7 put into the running turn
            said of task #7 blocked: so it is
            #7 discarded by alice
            session 4 started: #7 fix the tests (alice)
            process 4711 started
            session 4 ready
            conversation named: so it is
            turn: so it is
            clock ran out: has been silent for too long: so it is
            permission denied: so it is
            session 4 has used: 1.2k in, 30 out · $0.50
            cap dollars per day nearly used up: 80 %
            cap dollars per day waived by alice: $10.00
            unusual hour: 4,000 tokens / 1,000 tokens
            price unknown: gpt-5.4
            stopping (abort) by alice
            session 4 crash: exit code 101
            #7 back at the head of the queue
            waits until 1970-01-01 00:00:00: rate limited
            wait over
            pause after the session asked for by alice
            paused: by alice
            resumed by alice
            account opened by alice
            counters reset by alice
            breaker opened after 6 failures
            breaker closed
            degraded after 6 process crashes
            supervisor rebuilt: so it is
            added spark
            removed spark
            spark read from bot.toml
            account team blocked: spark, authentication failed
            account team opened by alice
            linked Ann by alice: libera alice
            unlinked alice by alice
            supervisor rebuilt spark: so it is
            herder 0.1.0 started
            books of spark kept
            cap team dollars per day nearly used up: 80 %
            cap dollars per day waived: $10.00
            herder stopped
        "##);
    }

    #[test]
    fn no_locale_falls_back_to_the_name_of_an_event() {
        // A name that the message does not know would stand in the text as it is.
        for locale in ["en-US", "de", "ja"] {
            for line in told(locale) {
                let first = line.split([' ', ':']).next().unwrap_or_default();
                assert!(!first.contains('-'), "{locale}: {line}");
            }
        }
    }
}
