//! All agents: what needs a person first, then a row for each.

use std::sync::Arc;

use maud::{Markup, html};

use super::View;
use crate::commands::say::{DOT, WORK_MAX, count, task};
use crate::core::agent::Phase;
use crate::core::ask::{About, Ask};
use crate::core::event::PauseReason;
use crate::core::watch::Escalation;
use crate::outbox::clean::visible;
use crate::supervisor::View as Seen;

/// The most of somebody's words in one line.
const LINE_MAX: usize = 200;

/// What a colour and a sign mean, everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Needs,
    Works,
    Waits,
    Rests,
    Failed,
}

impl Mood {
    pub(super) fn of(seen: &Seen) -> Self {
        let agent = &*seen.agent;
        if agent.watch.escalation.is_some() || !agent.asks.is_empty() {
            return Self::Needs;
        }
        match &agent.phase {
            Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => Self::Works,
            Phase::Waiting { .. } => Self::Waits,
            Phase::NeedsIntervention | Phase::Degraded => Self::Failed,
            Phase::Paused { reason } => match reason {
                PauseReason::Person(_) | PauseReason::StopAll(_) => Self::Rests,
                PauseReason::Failure(_)
                | PauseReason::Account(_)
                | PauseReason::Survivors
                | PauseReason::Cap(_)
                | PauseReason::Escalation => Self::Failed,
            },
            Phase::Idle if seen.hold.is_some() && agent.wants().is_some() => Self::Waits,
            Phase::Idle | Phase::Removed => Self::Rests,
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Works => "works",
            Self::Waits => "waits",
            Self::Rests => "rests",
            Self::Failed => "failed",
        }
    }

    /// The colour is never the only sign.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Needs => "▲",
            Self::Works => "●",
            Self::Waits => "◐",
            Self::Rests => "○",
            Self::Failed => "✖",
        }
    }
}

pub(super) fn body(view: &View<'_>) -> Markup {
    let agents = view.app.setup.fleet.agents();
    html! {
        (needs(view))
        @if agents.is_empty() {
            p.empty { (view.text("page-no-agents")) }
        } @else {
            table.fleet {
                caption { (view.text("page-title-fleet")) }
                thead {
                    tr {
                        th scope="col" { (view.text("page-agent")) }
                        th scope="col" { (view.text("page-phase")) }
                        th scope="col" { (view.text("page-tool")) }
                        th.number scope="col" { (view.text("page-turns")) }
                        th.number scope="col" { (view.text("page-tokens")) }
                        th.number scope="col" { (view.text("page-cost")) }
                        th.number scope="col" { (view.text("page-queue")) }
                    }
                }
                tbody #agents { @for seen in &agents { (row(view, seen, false)) } }
            }
        }
    }
}

/// The line at the top: how many there are and work, the networks, today's money.
pub(in super::super) fn summary(view: &View<'_>) -> Markup {
    let fleet = &view.app.setup.fleet;
    let agents = fleet.agents();
    let busy = agents.iter().filter(|seen| seen.agent.session().is_some()).count();
    let voice = view.voice;
    let today: f64 = agents.iter().map(|seen| seen.agent.books.today(voice.now, None).cost_usd).sum();
    let text = voice.text("page-summary", &[("agents", agents.len().into()), ("busy", busy.into())]);
    let money = voice.text("page-today", &[("money", voice.locale.money(today).into())]);
    html! {
        div.summary #summary hx-swap-oob="true" {
            span { (text) }
            @for link in fleet.links() { span { (voice.link(&link)) } }
            span { (money) }
        }
    }
}

/// One agent's row. `oob`: it takes the place of the one that is shown.
pub(in super::super) fn row(view: &View<'_>, seen: &Seen, oob: bool) -> Markup {
    let (agent, voice) = (&*seen.agent, view.voice);
    let mood = Mood::of(seen);
    let today = agent.books.today(voice.now, None);
    let cap = agent.spec.as_ref().map(|spec| spec.caps.usd_per_day).filter(|cap| *cap > 0.0);
    let works = agent.session().is_some();
    html! {
        tr id={ "agent-" (seen.name) } class=(mood.class()) hx-swap-oob=[oob.then_some("true")] {
            th scope="row" {
                span.sign aria-hidden="true" { (mood.sign()) } " "
                a href={ "/agents/" (seen.name) } { (seen.name) }
            }
            td.phase { (voice.phase(agent, seen.hold.as_ref())) }
            td.tool { @if works { (tool(view, seen)) } }
            td.number { @if works { (seen.live.turns) } }
            td.number { @if today.tokens() > 0 { (count(today.tokens())) } }
            td.number {
                @if today.cost_usd > 0.0 || cap.is_some() { (voice.locale.money(today.cost_usd)) }
                @if let Some(cap) = cap {
                    " " meter min="0" max=(cap) value=(today.cost_usd) title=(voice.locale.money(cap)) {}
                }
            }
            td.number { @if !agent.queue.is_empty() { (agent.queue.len()) } }
        }
    }
}

fn tool(view: &View<'_>, seen: &Seen) -> String {
    let voice = view.voice;
    let tool = seen.live.tool.as_deref().map(|tool| voice.short(tool, WORK_MAX));
    let idle = seen
        .live
        .last_event
        .map(|last| voice.text("cmd-status-idle", &[("idle", voice.now.since(last).into())]));
    tool.into_iter().chain(idle).collect::<Vec<_>>().join(DOT)
}

/// What needs a person, with its buttons.
pub(in super::super) fn needs(view: &View<'_>) -> Markup {
    let agents = view.app.setup.fleet.agents();
    let all: Vec<Markup> = agents.iter().flat_map(|seen| needs_of(view, seen, "/")).collect();
    html! {
        section #needs.needs-you hx-swap-oob="true" aria-live="polite" {
            h2 { (view.text("page-needs-you")) @if !all.is_empty() { " " span.count { (all.len()) } } }
            @if all.is_empty() { p.nobody { (view.text("page-needs-nobody")) } }
            @for need in &all { (need) }
        }
    }
}

/// What one agent needs of a person.
pub(super) fn needs_of(view: &View<'_>, seen: &Seen, back: &str) -> Vec<Markup> {
    let agent = &*seen.agent;
    let mut all = Vec::new();
    if let Some(call) = &agent.watch.escalation {
        all.push(called(view, seen, call, back));
    }
    all.extend(
        agent.asks.iter().filter(|ask| ask.until > view.voice.now).map(|ask| asked(view, seen, ask, back)),
    );
    if all.is_empty() && Mood::of(seen) == Mood::Failed {
        let last = agent.last_outcome.as_ref().map(|outcome| view.voice.locale.detail(&outcome.detail));
        let last = view.voice.short(&last.unwrap_or_default(), LINE_MAX);
        all.push(need(
            view,
            seen,
            "🧯",
            &view.voice.phase(agent, None),
            &last,
            &buttons(view, seen, &[RESUME], back),
        ));
    }
    all
}

/// A button: the sentence on it, and the command that it gives.
type Button = (&'static str, &'static str);

pub(super) const PAUSE: Button = ("page-pause", "pause");
pub(super) const PAUSE_NOW: Button = ("page-pause-now", "pause|now");
pub(super) const RESUME: Button = ("page-resume", "resume");
pub(super) const ABORT: Button = ("page-abort", "abort");
pub(super) const RESTART: Button = ("page-restart", "restart");

/// The hidden fields of every form.
pub(super) fn fields(view: &View<'_>, agent: &str, back: &str) -> Markup {
    html! {
        input type="hidden" name="form" value=(view.caller.form);
        input type="hidden" name="agent" value=(agent);
        input type="hidden" name="back" value=(back);
    }
}

pub(super) fn buttons(view: &View<'_>, seen: &Seen, all: &[Button], back: &str) -> Markup {
    html! {
        @if view.may_steer() {
            form.act method="post" action="/do" {
                (fields(view, seen.name.as_str(), back))
                @for (text, command) in all {
                    button name="command" value=(command) { (view.text(text)) }
                }
            }
        }
    }
}

fn need(view: &View<'_>, seen: &Seen, sign: &str, what: &str, more: &str, act: &Markup) -> Markup {
    let since = view.voice.now.since(seen.agent.since);
    html! {
        article.need {
            p {
                span.sign aria-hidden="true" { (sign) } " "
                a href={ "/agents/" (seen.name) } { (seen.name) } " "
                span.what { (what) }
                span.since { (view.voice.locale.duration(since)) }
            }
            @if !more.is_empty() { pre { (more) } }
            (act)
        }
    }
}

fn called(view: &View<'_>, seen: &Seen, call: &Escalation, back: &str) -> Markup {
    let voice = view.voice;
    let why = voice.short(&voice.locale.why(&call.why), LINE_MAX);
    let text = voice.short(&call.text, LINE_MAX);
    let what = if text.is_empty() { task(call.id) } else { format!("“{text}”") };
    let act = html! {
        (buttons(view, seen, &[RESUME, ABORT], back))
        @if view.may_steer() && call.acked.is_none() {
            form.act method="post" action="/do" {
                (fields(view, "", back))
                button name="command" value={ "ack|" (call.id) } { (view.text("page-ack")) }
            }
        }
    };
    need(view, seen, "🚨", &what, &why, &act)
}

fn asked(view: &View<'_>, seen: &Seen, ask: &Ask, back: &str) -> Markup {
    let words = view.app.setup.redactor.redact(&visible(ask.about.words())).into_owned();
    let (sign, what, act) = match &ask.about {
        About::Permission { tool, danger, .. } => {
            let what = view.voice.short(danger.as_deref().unwrap_or(tool), LINE_MAX);
            ("⚙️", what, decisions(view, ask, ask.about.is_exact(), back))
        }
        About::Plan { .. } => ("📋", String::new(), decisions(view, ask, false, back)),
        About::Question { options, .. } => {
            let offers: Vec<String> =
                options.iter().map(|offer| view.voice.short(&offer.label, WORK_MAX)).collect();
            ("❓", String::new(), answers(view, ask, &offers, back))
        }
    };
    need(view, seen, sign, &what, &words, &act)
}

fn decisions(view: &View<'_>, ask: &Ask, can_be_always: bool, back: &str) -> Markup {
    html! {
        @if view.may_steer() {
            form.act method="post" action="/do" {
                (fields(view, "", back))
                button.yes name="command" value={ "approve|" (ask.id) } { (view.text("page-approve")) }
                button name="command" value={ "deny|" (ask.id) } { (view.text("page-deny")) }
                @if can_be_always {
                    button name="command" value={ "approve|" (ask.id) "|always" } { (view.text("page-always")) }
                }
            }
        }
    }
}

fn answers(view: &View<'_>, ask: &Ask, offers: &[String], back: &str) -> Markup {
    html! {
        @if view.may_steer() {
            form.act method="post" action="/do" {
                (fields(view, "", back))
                @for (at, offer) in offers.iter().enumerate() {
                    button name="command" value={ "answer|" (ask.id) "|" (at + 1) } { (offer) }
                }
            }
            form.act method="post" action="/do" {
                (fields(view, "", back))
                input id={ "answer-" (ask.id) } hx-preserve="true" name="text" required maxlength="4000" aria-label=(view.text("page-other-answer")) placeholder=(view.text("page-other-answer"));
                button name="command" value={ "answer|" (ask.id) } { (view.text("page-answer")) }
            }
        }
    }
}

/// Whether an agent looks otherwise than it did.
pub(in super::super) fn changed(before: &Seen, now: &Seen) -> bool {
    !Arc::ptr_eq(&before.agent, &now.agent) || before.live != now.live || before.hold != now.hold
}
