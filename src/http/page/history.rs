//! Events of one agent or of all, and who did what: searched, filtered, from and to.

use std::ops::ControlFlow;

use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::Page;
use super::{Asked, View, Voice};
use crate::clock;
use crate::commands::{Verb, audit_line, command, hide_whisper, history_line, is_told};
use crate::core::id::AgentName;
use crate::core::role::Role;
use crate::core::time::Timestamp;
use crate::http::screen::{Kind, Look};
use crate::http::{App, Shared};
use crate::journal::{Entry, Piece, Reach, ReadError, Recorded, Stream};
use crate::l10n::Locale;

/// Entries of a page.
const SHOWN: usize = 100;

/// Limits of one page: a search that finds nothing does not read for minutes, and goes on with the next page.
const REACH: Reach = Reach { entries: 20_000, files: 4 };

/// The longest search, in characters.
const TEXT_MAX: usize = 100;

/// Query of the view.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Wanted {
    agent: String,
    /// `audit`, or events.
    kind: String,
    text: String,
    from: String,
    to: String,
    /// Entries before this place of the journal.
    before: String,
}

/// An entry that was found.
#[derive(Debug)]
struct Found {
    at: Timestamp,
    agent: Option<AgentName>,
    line: String,
}

/// Entries that were found.
#[derive(Debug, Default)]
struct Entries {
    found: Vec<Found>,
    /// Time of the oldest entry that was looked at, whether it was shown or not.
    back_to: Option<Timestamp>,
    /// True if all entries since the wanted day were looked at.
    is_all: bool,
}

/// The beginning of a day, in the zone of this machine.
fn day(text: &str, next: bool) -> Option<Timestamp> {
    let mut date: jiff::civil::Date = text.parse().ok()?;
    if next {
        date = date.tomorrow().ok()?;
    }
    let moment = date.to_zoned(jiff::tz::TimeZone::system()).ok()?;
    Some(Timestamp::from_millis(moment.timestamp().as_millisecond()))
}

pub(in super::super) async fn history(
    State(app): State<Shared>,
    Asked(wanted): Asked<Wanted>,
    parts: Parts,
) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let locale = app.language(&parts);
    let shown = app.shown(&Kind { look: Look::Still, role: caller.role, language: locale.name() }).await;
    let view = app.view(caller.role, locale);
    let wants_audit = wanted.kind == "audit";
    let verb = if wants_audit { Verb::Audit } else { Verb::History };
    let body = if caller.role >= command(verb).role {
        let found = look(&app, locale, caller.role, wanted.clone()).await;
        body(&view, &wanted, found.as_ref().ok())
    } else {
        let role = command(verb).role;
        let needs = view.voice.text("page-needs-role", &[("role", view.role(role).into())]);
        html! { (finder(&view, &wanted)) p.quiet { (needs) } }
    };
    let title = view.text("page-title-history");
    let body = html! { h1 { (title) } (body) };
    Page { title: &title, at: Some("/history"), live: None }.show(&view, (&caller, &parts), &shown, &body)
}

async fn look(app: &App, locale: &Locale, role: Role, wanted: Wanted) -> Result<Piece<Entries>, ReadError> {
    let agent = AgentName::new(&wanted.agent).ok();
    let wants_audit = wanted.kind == "audit";
    let (from, to) = (day(&wanted.from, false), day(&wanted.to, true));
    let before: u64 = wanted.before.parse().unwrap_or(u64::MAX);
    let text = wanted.text.trim().chars().take(TEXT_MAX).collect::<String>().to_lowercase();
    let (locale, redactor, now) = (locale.clone(), app.setup.redactor.clone(), clock::now());
    let of = agent.clone();
    // Rendered where it is read: what is searched is what is shown, and only that is kept.
    let take = move |page: &mut Entries, mut recorded: Recorded| {
        if from.is_some_and(|from| recorded.at < from) {
            page.is_all = true;
            return ControlFlow::Break(());
        }
        page.back_to = Some(recorded.at);
        if to.is_some_and(|to| recorded.at >= to) {
            return ControlFlow::Continue(());
        }
        let voice = Voice { locale: &locale, now, redactor: &redactor };
        let (agent, line) = match (&recorded.entry, &recorded.stream) {
            (Entry::Audit(audit), _) if wants_audit => {
                if of.is_some() && audit.agent != of {
                    return ControlFlow::Continue(());
                }
                (audit.agent.clone(), audit_line(voice, audit))
            }
            (Entry::Audit(_), _) => return ControlFlow::Continue(()),
            (_, stream) => {
                if wants_audit || !is_told(&recorded) {
                    return ControlFlow::Continue(());
                }
                let agent = match stream {
                    Stream::Agent(agent) => Some(agent.clone()),
                    Stream::Fleet | Stream::Audit => None,
                };
                if role < Role::Operator {
                    hide_whisper(&mut recorded);
                }
                (agent, history_line(voice, &recorded))
            }
        };
        let has = |words: &str| words.to_lowercase().contains(&text);
        if text.is_empty() || has(&line) || agent.as_ref().is_some_and(|agent| has(agent.as_str())) {
            page.found.push(Found { at: recorded.at, agent, line });
        }
        if page.found.len() < SHOWN { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let stream = match (wants_audit, agent) {
        (true, _) => Some(Stream::Audit),
        (false, agent) => agent.map(Stream::Agent),
    };
    app.setup.journal.look_back_from((stream, before), REACH, Entries::default(), take).await
}

fn finder(view: &View<'_>, wanted: &Wanted) -> Markup {
    let agents = view.app.setup.fleet.agents();
    html! {
        form.finder role="search" method="get" action="/history" {
            input type="search" name="text" value=(wanted.text) maxlength=(TEXT_MAX) aria-label=(view.text("page-search")) placeholder=(view.text("page-search"));
            select name="kind" aria-label=(view.text("page-history-kind")) {
                option value="" { (view.text("page-events")) }
                option value="audit" selected[wanted.kind == "audit"] { (view.text("page-audit")) }
            }
            select name="agent" aria-label=(view.text("page-agent")) {
                option value="" { (view.text("page-all-agents")) }
                @for seen in &agents {
                    option value=(seen.name) selected[seen.name.as_str() == wanted.agent] { (seen.name) }
                }
            }
            label { (view.text("page-from")) " " input type="date" name="from" value=(wanted.from); }
            label { (view.text("page-to")) " " input type="date" name="to" value=(wanted.to); }
            button { (view.text("page-find")) }
        }
    }
}

fn body(view: &View<'_>, wanted: &Wanted, piece: Option<&Piece<Entries>>) -> Markup {
    html! {
        (finder(view, wanted))
        @match piece {
            None => { p.quiet { (view.text("cmd-history-failed")) } }
            Some(piece) => {
                @let is_over = piece.next.is_none() || piece.gathered.is_all;
                @if piece.gathered.found.is_empty() && is_over { p.quiet { (view.text("page-history-nothing")) } }
                ul.events {
                    @for found in &piece.gathered.found {
                        li {
                            time { (view.voice.locale.time(found.at)) } " "
                            @if let Some(agent) = &found.agent { a href={ "/agents/" (agent) } { (agent) } " " }
                            (found.line)
                        }
                    }
                }
                (end(view, wanted, piece))
            }
        }
    }
}

/// The end of the page, and the way to older entries.
fn end(view: &View<'_>, wanted: &Wanted, piece: &Piece<Entries>) -> Markup {
    let next = piece.next.filter(|_| !piece.gathered.is_all).and_then(|before| {
        let before = before.to_string();
        let pairs = [
            ("agent", &wanted.agent),
            ("kind", &wanted.kind),
            ("text", &wanted.text),
            ("from", &wanted.from),
            ("to", &wanted.to),
            ("before", &before),
        ];
        serde_urlencoded::to_string(pairs).ok()
    });
    let text = |id, time| view.voice.text(id, &[("time", view.voice.locale.time(time).into())]);
    html! {
        @if piece.unreadable > 0 {
            p.quiet { (view.voice.text("page-history-unreadable", &[("count", piece.unreadable.into())])) }
        }
        @match (next, piece.gathered.back_to) {
            (Some(next), back_to) => {
                p {
                    @if let Some(time) = back_to { span.quiet { (text("page-history-back-to", time)) } " " }
                    a href={ "/history?" (next) } { (view.text("page-older")) }
                }
            }
            (None, _) => { p.quiet { (view.text(if piece.gathered.is_all { "page-history-from" } else { "page-history-begins" })) } }
        }
    }
}
