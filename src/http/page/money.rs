//! Spending: by hour and day as stacked bars, by task and by month, and as comma-separated values.

use axum::extract::State;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::fleet::bar;
use super::layout::Page;
use super::{Asked, Piece, View};
use crate::chart::Chart;
use crate::chart::spending::{By, Spending, csv, months};
use crate::commands::cap_used;
use crate::commands::listed::{Listed, all_of};
use crate::commands::say::{WORK_MAX, count, task};
use crate::core::id::{AccountName, AgentName};
use crate::core::ledger::Shared as Together;
use crate::core::time::Timestamp;
use crate::core::usage::{Books, Standing, Unit, Window, hour};
use crate::http::Shared;
use crate::http::screen::{Kind, Look, Shown};
use crate::supervisor::View as Seen;

/// Tasks that are listed: those that cost most.
const TASKS_MAX: usize = 20;

/// Unit, owners and window of the charts, as an address has them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Wanted {
    by: String,
    unit: String,
    window: String,
}

impl Wanted {
    /// The charts that are wanted; the usual ones for words that are no choice.
    pub(in super::super) fn charts(&self) -> Charts {
        Charts {
            by: if self.by == "account" { By::Account } else { By::Agent },
            unit: if self.unit == "tokens" { Unit::Tokens } else { Unit::Usd },
        }
    }

    fn window(&self) -> Window {
        if self.window == "day" { Window::Day } else { Window::Hour }
    }
}

/// Unit and owners of the charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) struct Charts {
    by: By,
    unit: Unit,
}

impl Charts {
    fn query(self) -> String {
        let by = if self.by == By::Account { "account" } else { "agent" };
        let unit = if self.unit == Unit::Tokens { "tokens" } else { "usd" };
        format!("by={by}&unit={unit}")
    }
}

/// The usage that the charts were last drawn of.
#[derive(Debug, Default)]
pub(in super::super) struct Booked {
    drawn: Option<(i64, Vec<AgentName>, Vec<Together>)>,
}

impl Booked {
    /// Returns whether the charts look otherwise by now: most of what agents do costs nothing at that moment.
    fn has_changed(&mut self, usage: &[Together], agents: &[Seen], now: Timestamp) -> bool {
        let is_drawn = self.drawn.as_ref().is_some_and(|(at, names, drawn)| {
            *at == hour(now) && drawn == usage && names.iter().eq(agents.iter().map(|seen| &seen.name))
        });
        if !is_drawn {
            self.drawn =
                Some((hour(now), agents.iter().map(|seen| seen.name.clone()).collect(), usage.to_vec()));
        }
        !is_drawn
    }
}

pub(in super::super) async fn money(
    State(app): State<Shared>,
    Asked(wanted): Asked<Wanted>,
    parts: Parts,
) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let (locale, charts) = (app.language(&parts.headers), wanted.charts());
    let kind = Kind { look: Look::Money(charts), role: caller.role, language: locale.name() };
    let shown = app.shown(&kind).await;
    let view = app.view(caller.role, locale);
    let body = body(&view, charts, &shown);
    let title = view.text("page-title-money");
    let live = format!("/live?view=money&{}&at={}", charts.query(), shown.id);
    Page { title: &title, at: Some("/money"), live: Some(&live) }.show(
        &view,
        (&caller, &parts),
        &shown,
        &body,
    )
}

/// The books as a file for a spreadsheet.
pub(in super::super) async fn money_csv(
    State(app): State<Shared>,
    Asked(wanted): Asked<Wanted>,
    parts: Parts,
) -> Response {
    if let Err(unknown) = app.caller(&parts).await {
        return app.locked(&parts, unknown);
    }
    let window = wanted.window();
    let name = if window == Window::Day { "herder-days.csv" } else { "herder-hours.csv" };
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, csv(&app.setup.fleet.books(), window)).into_response()
}

/// The caps of the whole fleet with their words: bars are of all agents together, which no other cap is for.
fn lines(view: &View<'_>, usage: &[Together]) -> Vec<(Standing, String)> {
    let words = |cap: &Standing| {
        let limit = ("limit", view.voice.locale.amount(cap.cap.unit, cap.limit).into());
        view.voice.text("page-cap-line", &[limit])
    };
    let fleet = usage.iter().filter(|shared| shared.scope.is_none());
    fleet.flat_map(|shared| &shared.caps).map(|cap| (*cap, words(cap))).collect()
}

/// Each cap that agents share, beside the usage that counts for it.
fn caps(view: &View<'_>, usage: &[Together]) -> Markup {
    let voice = view.voice;
    let name = |scope: Option<&AccountName>| match scope {
        None => voice.text("cmd-spent-fleet", &[]),
        Some(account) => {
            let account = voice.short(account.as_str(), WORK_MAX);
            voice.text("cmd-spent-account", &[("account", account.into())])
        }
    };
    let all: Vec<(Option<&AccountName>, &Standing)> = usage
        .iter()
        .flat_map(|shared| shared.caps.iter().map(|standing| (shared.scope.as_ref(), standing)))
        .collect();
    html! { section #money-caps hx-swap-oob="true" {
        @if !all.is_empty() {
            h2 { (view.text("page-caps")) }
            table.sums {
                tbody {
                    @for (scope, standing) in all {
                        tr {
                            th scope="row" { (name(scope)) }
                            td aria-hidden="true" { (bar(view, standing.cap.unit, standing.used, standing.limit)) }
                            td { (cap_used(voice, *standing)) }
                        }
                    }
                }
            }
        }
    } }
}

/// The pieces of the view: the charts only where usage has changed.
pub(super) fn pieces<'a>(
    view: &View<'_>,
    charts: Charts,
    agents: &[Seen],
    booked: &mut Booked,
) -> Vec<Piece<'a>> {
    let mut pieces = vec![Piece::plain("money-tasks", by_task(view, agents))];
    let usage = view.app.setup.fleet.usage();
    if booked.has_changed(&usage, agents, view.voice.now) {
        let books = view.app.setup.fleet.books();
        let hours = ("money-hours", "page-money-hours", "hour");
        let days = ("money-days", "page-money-days", "day");
        for (window, names) in [(Window::Hour, hours), (Window::Day, days)] {
            pieces.push(Piece::plain(names.0, chart(view, (&books, &usage), charts, (window, names))));
        }
        pieces.push(Piece::plain("money-months", by_month(view, &books)));
        pieces.push(Piece::plain("money-caps", caps(view, &usage)));
    }
    pieces
}

/// A chart below its heading, with the file of the same figures.
fn chart(
    view: &View<'_>,
    (books, usage): (&[(AgentName, Books)], &[Together]),
    charts: Charts,
    (window, (id, title, file)): (Window, (&str, &str, &str)),
) -> Markup {
    let spending = Spending { window, unit: charts.unit, by: charts.by };
    let others = view.text("page-others");
    let chart = spending.chart(books, (view.text(title), &others), &lines(view, usage), view.voice.now);
    html! {
        section.money id=(id) hx-swap-oob="true" {
            h2 { (view.text(title)) }
            (picture(view, &chart, charts.unit))
            p { a href={ "/money.csv?window=" (file) } { (view.text("page-csv")) } }
        }
    }
}

fn body(view: &View<'_>, charts: Charts, shown: &Shown) -> Markup {
    let link = |by: By, unit: Unit| format!("/money?{}", Charts { by, unit }.query());
    let current = |is_current: bool| is_current.then_some("true");
    let Charts { by, unit } = charts;
    html! {
        h1 { (view.text("page-title-money")) }
        nav.counts aria-label=(view.text("page-money-show")) {
            @for (one, text) in [(By::Agent, "page-by-agent"), (By::Account, "page-by-account")] {
                a href=(link(one, unit)) aria-current=[current(one == by)] { (view.text(text)) }
            }
            span.gap {}
            @for (one, text) in [(Unit::Usd, "page-in-dollars"), (Unit::Tokens, "page-in-tokens")] {
                a href=(link(by, one)) aria-current=[current(one == unit)] { (view.text(text)) }
            }
        }
        div.pair {
            @for id in ["money-hours", "money-days"] { (shown.piece(id)) }
        }
        (shown.piece("money-caps"))
        div.pair {
            @for id in ["money-tasks", "money-months"] { (shown.piece(id)) }
        }
    }
}

/// A chart with its legend.
fn picture(view: &View<'_>, chart: &Chart, unit: Unit) -> Markup {
    if chart.is_empty() {
        return html! { p.quiet { (view.text("page-money-nothing")) } };
    }
    html! {
        (PreEscaped(chart.svg(|amount| view.voice.locale.amount(unit, amount))))
        ul.legend {
            @for (index, name) in chart.series.iter().enumerate() {
                @let sum: f64 = chart.bars.iter().filter_map(|bar| bar.parts.get(index)).sum();
                li {
                    svg.key aria-hidden="true" viewBox="0 0 10 10" { rect.{ "s" (index) } width="10" height="10" {} }
                    (name) " " span.number { (view.voice.locale.amount(unit, sum)) }
                }
            }
            @for limit in &chart.limits {
                li { svg.key aria-hidden="true" viewBox="0 0 10 10" { path.cap d="M0 5h10" {} } (limit.label) }
            }
        }
    }
}

fn by_month(view: &View<'_>, books: &[(AgentName, Books)]) -> Markup {
    let months = months(books);
    html! { section #money-months hx-swap-oob="true" {
        h2 { (view.text("page-by-month")) }
        @if months.is_empty() { p.quiet { (view.text("page-money-nothing")) } } @else {
            table.sums {
                thead { tr {
                    th scope="col" { (view.text("page-month")) }
                    th.number scope="col" { (view.text("page-tokens")) }
                    th.number scope="col" { (view.text("page-spent")) }
                } }
                tbody {
                    @for (month, tokens, dollars) in &months {
                        tr {
                            th scope="row" { (month) }
                            td.number { (count(*tokens)) }
                            td.number { (view.voice.locale.money(*dollars)) }
                        }
                    }
                }
            }
            p.quiet { (view.text("page-months-kept")) }
        }
    } }
}

fn by_task(view: &View<'_>, agents: &[Seen]) -> Markup {
    let board = view.app.setup.fleet.board();
    let mut all: Vec<Listed<'_>> = all_of(agents, Some(&board));
    all.retain(|one| !one.work().card().spent.is_none());
    all.sort_by_key(|one| {
        let spent = one.work().card().spent;
        std::cmp::Reverse((spent.microdollars, spent.tokens))
    });
    html! { section #money-tasks hx-swap-oob="true" {
        h2 { (view.text("page-by-task")) }
        @if all.is_empty() { p.quiet { (view.text("page-money-nothing")) } } @else {
            table.sums {
                thead { tr {
                    th scope="col" { (view.text("page-task")) }
                    th scope="col" { (view.text("page-agent")) }
                    th.number scope="col" { (view.text("page-tokens")) }
                    th.number scope="col" { (view.text("page-spent")) }
                } }
                tbody {
                    @for one in all.iter().take(TASKS_MAX) {
                        @let work = one.work();
                        tr {
                            th scope="row" { a href={ "/tasks/" (work.id) } { (task(work.id)) } " " (view.voice.short(&work.text, WORK_MAX)) }
                            td { @if let Some(agent) = one.agent() { a href={ "/agents/" (agent) } { (agent) } } }
                            td.number { (count(work.card().spent.tokens)) }
                            td.number { (view.voice.locale.money(work.card().spent.dollars())) }
                        }
                    }
                }
            }
        }
    } }
}
