//! One agent: what it does, its buttons, its sessions, what waits, what it said, what happened.

use maud::{Markup, html};

use super::View;
use super::fleet::tool;
use super::mood::Mood;
use super::needs::{ABORT, PAUSE, PAUSE_NOW, RESTART, RESUME, ago, buttons, cards, fields};
use super::story::Story;
use crate::commands::say::count;
use crate::commands::{history_line, log_line};
use crate::core::id::AgentName;
use crate::core::role::Role;
use crate::core::work::WorkKind;
use crate::http::screen::Shown;
use crate::supervisor::View as Seen;

/// Works of the queue that are shown.
const QUEUE_MAX: usize = 20;

pub(super) fn body(view: &View<'_>, seen: &Seen, shown: &Shown, settings: &[String]) -> Markup {
    let back = format!("/agents/{}", seen.name);
    let label = |id| view.voice.text(id, &[("agent", (&seen.name).into())]);
    html! {
        (shown.piece("head"))
        @if view.may_steer() {
            div.speak {
                @for (command, said, text) in [("task add", "page-give-label", "page-give"), ("whisper", "page-whisper-label", "page-whisper")] {
                    form.act method="post" action="/do" {
                        (fields(view, seen.name.as_str(), &back))
                        input name="text" required maxlength="16000" aria-label=(label(said)) placeholder=(label(said));
                        button name="command" value=(command) { (view.text(text)) }
                    }
                }
            }
        }
        (shown.piece("timeline"))
        (shown.piece("tail"))
        details.settings {
            summary { (view.text("page-settings")) }
            pre.log tabindex="0" { @for line in settings { (line) "\n" } }
        }
        p.back { a href="/" { "← " (view.text("page-back")) } }
    }
}

/// Its state, its figures and its buttons.
pub(super) fn head(view: &View<'_>, seen: &Seen) -> Markup {
    let (agent, voice) = (&*seen.agent, view.voice);
    let mood = Mood::of(seen, voice.now);
    let back = format!("/agents/{}", seen.name);
    let today = agent.books.today(voice.now, None);
    let works = agent.session().is_some();
    let totals = &agent.totals;
    html! {
        section #head.agent.(mood.class()) hx-swap-oob="true" {
            h1 { span.sign aria-hidden="true" { (mood.sign()) } " " (seen.name) }
            p.phase { (voice.phase(agent, seen.hold.as_ref())) " " (ago(view, agent.since)) }
            dl.facts {
                @if works {
                    div { dt { (view.text("page-tool")) } dd { (tool(view, seen)) } }
                    div { dt { (view.text("page-turns")) } dd { (seen.live.turns) } }
                    @if let Some(memory) = seen.live.memory {
                        div { dt { (view.text("page-memory")) } dd { (voice.locale.taken(memory)) } }
                    }
                }
                div { dt { (view.text("page-tokens")) } dd { (count(today.tokens())) } }
                div { dt { (view.text("page-cost")) } dd { (voice.locale.money(today.cost_usd)) } }
                div { dt { (view.text("page-sessions")) } dd { (voice.locale.number(totals.sessions)) } }
                div { dt { (view.text("page-crashes")) } dd { (voice.locale.number(totals.crashes)) } }
                div { dt { (view.text("page-queue")) } dd { (agent.queue.len()) } }
            }
            (buttons(view, seen, &[PAUSE, PAUSE_NOW, RESUME, ABORT, RESTART], &back))
            (cards(view, seen, &back))
        }
    }
}

/// Its last words, its queue and its last events.
pub(super) fn tail(view: &View<'_>, seen: &Seen, story: &Story) -> Markup {
    let (agent, voice) = (&*seen.agent, view.voice);
    let said: Vec<String> = story.said.iter().filter_map(|turn| log_line(voice, turn)).collect();
    html! {
        div #tail.pair hx-swap-oob="outerMorph" {
            section {
                h2 { (view.text("page-said")) }
                @if said.is_empty() { p.quiet { (view.text("page-said-nothing")) } } @else {
                    // The newest line stands where the eye is: at the bottom, as in a terminal.
                    pre.log.live tabindex="0" { @for line in &said { (line) "\n" } }
                }
            }
            section {
                @if !agent.queue.is_empty() {
                    h2 { (view.text("page-waiting")) }
                    ol.queue { @for work in agent.queue.iter().take(QUEUE_MAX) {
                        li {
                            @if work.kind == WorkKind::Task { a href={ "/tasks/" (work.id) } { (voice.work(work)) } } @else { (voice.work(work)) }
                        }
                    } }
                }
                h2 { (view.text("page-happened")) }
                ul.events {
                    @for recorded in story.happened(view.role >= Role::Operator) {
                        li { (ago(view, recorded.at)) " " (history_line(voice, &recorded)) }
                    }
                }
                p { a href={ "/history?agent=" (seen.name) } { (view.text("page-all-events")) } }
            }
        }
    }
}

/// All that was said in one session.
pub(super) fn transcript(view: &View<'_>, name: &AgentName, session: u64, lines: &[String]) -> Markup {
    let title = view.voice.text("page-transcript-of", &[("agent", name.into()), ("session", session.into())]);
    html! {
        h1 { (title) }
        pre.log.whole tabindex="0" { @for line in lines { (line) "\n" } }
        p.back { a href={ "/agents/" (name) } { "← " (name) } }
    }
}
