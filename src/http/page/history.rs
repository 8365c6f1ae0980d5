//! Events of one agent or of all, and who did what: searched, filtered, from and to.

use std::ops::ControlFlow;

use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::Page;
use super::needs::ago;
use super::{Asked, View, Voice};
use crate::commands::{Verb, audit_line, command, hide_whisper, history_line, is_told};
use crate::core::id::AgentName;
use crate::core::role::Role;
use crate::core::time::Timestamp;
use crate::http::Shared;
use crate::http::screen::{Kind, Look};
use crate::journal::{Entry, Piece, Reach, ReadError, Recorded, Stream};

/// Entries of a page.
const SHOWN: usize = 100;

/// Limits of one page: a search that finds nothing does not read for minutes, and goes on with the next page.
const REACH: Reach = Reach { entries: 20_000, files: 4 };

/// The longest search, in characters.
const TEXT_MAX: usize = 100;

/// Query of the view.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
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

impl Wanted {
    /// The newest entries of an agent or of all, in which the text occurs.
    pub(in super::super) fn newest(agent: Option<&AgentName>, kind: &str, text: &str) -> Self {
        Self {
            agent: agent.map(ToString::to_string).unwrap_or_default(),
            kind: if kind == "audit" { kind.to_owned() } else { String::new() },
            text: text.trim().chars().take(TEXT_MAX).collect(),
            ..Self::default()
        }
    }

    /// The same query without a bound; `None` if it has one, so that nothing can be added to what it found.
    fn unbounded(&self) -> Option<Self> {
        let is_bounded = day(&self.from, false).or(day(&self.to, true)).is_some();
        let agent = AgentName::new(&self.agent).ok();
        let is_newest = !is_bounded && self.before.parse::<u64>().is_err();
        is_newest.then(|| Self::newest(agent.as_ref(), &self.kind, &self.text))
    }

    fn wants_audit(&self) -> bool {
        self.kind == "audit"
    }

    /// Address of the stream of its changes.
    fn live(&self, at: &str) -> String {
        let pairs = [("agent", &self.agent), ("kind", &self.kind), ("text", &self.text)];
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
        format!("/live?view=history&{query}&at={at}")
    }
}

/// An entry that was found.
#[derive(Debug)]
struct Found {
    /// Place in the journal.
    seq: u64,
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
    /// Place of the newest entry that was looked at.
    upto: u64,
    /// True if the entries that are known already were met.
    is_met: bool,
}

/// The newest entries, read back once, and from then on only what is new.
#[derive(Debug, Default)]
pub(in super::super) struct Newest(Option<Piece<Entries>>);

impl Newest {
    /// Reads what is new, for those who may see it.
    pub(super) async fn go_on(&mut self, view: &View<'_>, wanted: &Wanted) {
        if refused(view, wanted).is_some() {
            return;
        }
        let after = self.0.as_ref().map_or(0, |known| known.gathered.upto);
        self.0 = match look(view, wanted, after).await {
            Ok(new) => Some(joined(self.0.take(), new)),
            Err(reason) => {
                tracing::error!(%reason, "history could not be read");
                None
            }
        };
    }

    /// Shows the entries to those who may see them.
    pub(super) fn shown(&self, view: &View<'_>, wanted: &Wanted) -> Markup {
        match refused(view, wanted) {
            Some(refused) => html! { div #history { (refused) } },
            None => {
                html! { div #history hx-swap-oob="outerMorph" { (events(view, wanted, self.0.as_ref())) } }
            }
        }
    }
}

/// Puts new entries before those that are known, unless there may be others between them.
fn joined(known: Option<Piece<Entries>>, mut new: Piece<Entries>) -> Piece<Entries> {
    let Some(mut known) = known.filter(|_| new.gathered.is_met) else { return new };
    // Those that cannot be read are met again at each look.
    known.unreadable = known.unreadable.max(new.unreadable);
    known.gathered.upto = known.gathered.upto.max(new.gathered.upto);
    new.gathered.found.append(&mut known.gathered.found);
    known.gathered.found = new.gathered.found;
    if known.gathered.found.len() > SHOWN {
        known.gathered.found.truncate(SHOWN);
        let last = known.gathered.found.last();
        (known.next, known.gathered.back_to) = (last.map(|last| last.seq), last.map(|last| last.at));
    }
    known
}

/// Words for those who may not see what they want.
fn refused(view: &View<'_>, wanted: &Wanted) -> Option<Markup> {
    let role = command(if wanted.wants_audit() { Verb::Audit } else { Verb::History }).role;
    let needs = || view.voice.text("page-needs-role", &[("role", view.role(role).into())]);
    (view.role < role).then(|| html! { p.quiet { (needs()) } })
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
    let locale = app.language(&parts.headers);
    let newest = wanted.unbounded();
    let look_at = newest.clone().map_or(Look::Still, Look::History);
    let shown = app.shown(&Kind { look: look_at, role: caller.role, language: locale.name() }).await;
    let view = app.view(caller.role, locale);
    let title = view.text("page-title-history");
    let found = match (&newest, refused(&view, &wanted)) {
        (Some(_), _) => html! { (shown.piece("history")) },
        (None, Some(refused)) => refused,
        (None, None) => events(&view, &wanted, look(&view, &wanted, 0).await.as_ref().ok()),
    };
    let body = html! { h1 { (title) } (finder(&view, &wanted)) (found) };
    let live = newest.map(|newest| newest.live(&shown.id));
    Page { title: &title, at: Some("/history"), live: live.as_deref() }.show(
        &view,
        (&caller, &parts),
        &shown,
        &body,
    )
}

/// Looks for entries from the newest one on, down to the place `after`.
async fn look(view: &View<'_>, wanted: &Wanted, after: u64) -> Result<Piece<Entries>, ReadError> {
    let (app, role) = (view.app, view.role);
    let (agent, wants_audit) = (AgentName::new(&wanted.agent).ok(), wanted.wants_audit());
    let (from, to) = (day(&wanted.from, false), day(&wanted.to, true));
    let before: u64 = wanted.before.parse().unwrap_or(u64::MAX);
    let text = wanted.text.trim().chars().take(TEXT_MAX).collect::<String>().to_lowercase();
    let (locale, redactor, now) = (view.voice.locale.clone(), app.setup.redactor.clone(), view.voice.now);
    let of = agent.clone();
    // Rendered where it is read: what is searched is what is shown, and only that is kept.
    let take = move |page: &mut Entries, mut recorded: Recorded| {
        if recorded.seq <= after {
            page.is_met = true;
            return ControlFlow::Break(());
        }
        page.upto = page.upto.max(recorded.seq);
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
            page.found.push(Found { seq: recorded.seq, at: recorded.at, agent, line });
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

fn events(view: &View<'_>, wanted: &Wanted, piece: Option<&Piece<Entries>>) -> Markup {
    let Some(piece) = piece else { return html! { p.quiet { (view.text("cmd-history-failed")) } } };
    let is_over = piece.next.is_none() || piece.gathered.is_all;
    html! {
        @if piece.gathered.found.is_empty() && is_over { p.quiet { (view.text("page-history-nothing")) } }
        ul.events {
            @for found in &piece.gathered.found {
                li id={ "event-" (found.seq) } {
                    (ago(view, found.at)) " "
                    @if let Some(agent) = &found.agent { a href={ "/agents/" (agent) } { (agent) } " " }
                    (found.line)
                }
            }
        }
        (end(view, wanted, piece))
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
