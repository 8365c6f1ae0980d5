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
use crate::http::who::cookie;
use crate::http::{App, Shared};
use crate::journal::{Entry, ReadError, Recorded, Stream};
use crate::l10n::Locale;

/// Entries of a page.
const SHOWN: usize = 100;

/// Entries that are looked at for one page: a search that finds nothing does not read for minutes.
const SCAN_MAX: usize = 50_000;

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

/// Entries that were found, and whether there may be more.
#[derive(Debug, Default)]
struct Entries {
    found: Vec<Found>,
    looked: usize,
    /// The last entry that was looked at: the next page goes on behind it, whether it was shown or not.
    last: u64,
    more: bool,
}

impl Entries {
    /// Whether the entry with this number is one of this page's; a break if the page is full.
    fn reach(&mut self, seq: u64, before: u64) -> ControlFlow<(), bool> {
        if seq >= before {
            return ControlFlow::Continue(false);
        }
        if self.looked >= SCAN_MAX || self.found.len() >= SHOWN {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.looked += 1;
        self.last = seq;
        ControlFlow::Continue(true)
    }
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
        let needs = view.voice.text("page-needs-role", &[("role", role.to_string().into())]);
        html! { (finder(&view, &wanted)) p.quiet { (needs) } }
    };
    let title = view.text("page-title-history");
    let body = html! { h1 { (title) } (body) };
    Page { title: &title, at: Some("/history"), live: None }.show(
        &view,
        (&caller, cookie(&parts)),
        &shown,
        &body,
    )
}

async fn look(app: &App, locale: &Locale, role: Role, wanted: Wanted) -> Result<Entries, ReadError> {
    let agent = AgentName::new(&wanted.agent).ok();
    let wants_audit = wanted.kind == "audit";
    let (from, to) = (day(&wanted.from, false), day(&wanted.to, true));
    let before: u64 = wanted.before.parse().unwrap_or(u64::MAX);
    let text = wanted.text.trim().chars().take(TEXT_MAX).collect::<String>().to_lowercase();
    let (locale, redactor, now) = (locale.clone(), app.setup.redactor.clone(), clock::now());
    let of = agent.clone();
    // Rendered where it is read: what is searched is what is shown, and only that is kept.
    let take = move |page: &mut Entries, mut recorded: Recorded| {
        let is_before_all = from.is_some_and(|from| recorded.at < from);
        if is_before_all {
            return ControlFlow::Break(());
        }
        if !page.reach(recorded.seq, before)? || to.is_some_and(|to| recorded.at >= to) {
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
        ControlFlow::Continue(())
    };
    let journal = &app.setup.journal;
    let stream = match (wants_audit, agent) {
        (true, _) => Stream::Audit,
        (false, Some(agent)) => Stream::Agent(agent),
        (false, None) => return journal.look_back_over_all(before, Entries::default(), take).await,
    };
    Ok(journal.look_back(stream, Entries::default(), take).await?.gathered)
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

fn body(view: &View<'_>, wanted: &Wanted, page: Option<&Entries>) -> Markup {
    let next = |page: &Entries| {
        let before = page.more.then(|| page.last.to_string())?;
        let pairs = [
            ("agent", &wanted.agent),
            ("kind", &wanted.kind),
            ("text", &wanted.text),
            ("from", &wanted.from),
            ("to", &wanted.to),
            ("before", &before),
        ];
        serde_urlencoded::to_string(pairs).ok()
    };
    html! {
        (finder(view, wanted))
        @match page {
            None => { p.quiet { (view.text("cmd-history-failed")) } }
            Some(page) => {
                @if page.found.is_empty() { p.quiet { (view.text("page-history-nothing")) } }
                ul.events {
                    @for found in &page.found {
                        li {
                            time { (view.voice.locale.time(found.at)) } " "
                            @if let Some(agent) = &found.agent { a href={ "/agents/" (agent) } { (agent) } " " }
                            (found.line)
                        }
                    }
                }
                @if let Some(next) = next(page) { p { a href={ "/history?" (next) } { (view.text("page-older")) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_search_that_finds_little_show_each_entry_once() {
        let all = 1..=u64::try_from(SCAN_MAX * 2 + 7).expect("a number");
        let fits = |seq: &u64| seq.is_multiple_of(20_011) || *seq < 150;
        let (mut shown, mut before, mut pages) = (Vec::new(), u64::MAX, 0);
        loop {
            let mut page = Entries::default();
            for seq in all.clone().rev() {
                match page.reach(seq, before) {
                    ControlFlow::Continue(true) if fits(&seq) => {
                        let line = seq.to_string();
                        page.found.push(Found { at: Timestamp::default(), agent: None, line });
                    }
                    ControlFlow::Continue(_) => {}
                    ControlFlow::Break(()) => break,
                }
            }
            shown.extend(page.found.into_iter().map(|found| found.line));
            pages += 1;
            if !page.more {
                break;
            }
            before = page.last;
        }
        let wanted: Vec<String> = all.rev().filter(fits).map(|seq| seq.to_string()).collect();
        assert_eq!((shown, pages), (wanted, 3));
    }
}
