//! Spending: by hour and day as stacked bars, by task and by month, and as comma-separated values.

use axum::extract::State;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::layout::Page;
use super::{Asked, View};
use crate::chart::Chart;
use crate::chart::spending::{By, Spending, csv, months};
use crate::commands::listed::{Listed, all_of};
use crate::commands::say::{WORK_MAX, count, task};
use crate::core::id::{AccountName, AgentName};
use crate::core::usage::{Books, Standing, Unit, Window};
use crate::http::Shared;
use crate::http::screen::{Kind, Look};

/// Tasks that are listed: those that cost most.
const TASKS_MAX: usize = 20;

/// Unit, owners and window of the charts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Wanted {
    by: String,
    unit: String,
    window: String,
}

impl Wanted {
    fn by(&self) -> By {
        if self.by == "account" { By::Account } else { By::Agent }
    }

    fn unit(&self) -> Unit {
        if self.unit == "tokens" { Unit::Tokens } else { Unit::Usd }
    }

    fn window(&self) -> Window {
        if self.window == "day" { Window::Day } else { Window::Hour }
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
    let locale = app.language(&parts);
    let shown = app.shown(&Kind { look: Look::Still, role: caller.role, language: locale.name() }).await;
    let view = app.view(caller.role, locale);
    let body = body(&view, &wanted);
    let title = view.text("page-title-money");
    Page { title: &title, at: Some("/money"), live: None }.show(&view, (&caller, &parts), &shown, &body)
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

/// The caps of the whole fleet, and those of each account where bars are divided by account, each with its words.
fn caps(view: &View<'_>, by: By) -> Vec<(Standing, String)> {
    let together = view.app.setup.fleet.usage();
    let shown = together.into_iter().filter(|shared| shared.scope.is_none() || by == By::Account);
    let words = |account: Option<&AccountName>, cap: &Standing| {
        let limit = ("limit", view.voice.locale.amount(cap.cap.unit, cap.limit).into());
        match account {
            Some(account) => {
                let account = view.voice.short(account.as_str(), WORK_MAX);
                view.voice.text("page-cap-of", &[("account", account.into()), limit])
            }
            None => view.voice.text("page-cap-line", &[limit]),
        }
    };
    shown
        .flat_map(|shared| shared.caps.into_iter().map(move |cap| (shared.scope.clone(), cap)))
        .map(|(account, cap)| (cap, words(account.as_ref(), &cap)))
        .collect()
}

fn chart(view: &View<'_>, books: &[(AgentName, Books)], wanted: &Wanted, window: Window) -> Chart {
    let spending = Spending { window, unit: wanted.unit(), by: wanted.by() };
    let id = if window == Window::Day { "page-money-days" } else { "page-money-hours" };
    let others = view.text("page-others");
    spending.chart(books, (view.text(id), &others), &caps(view, wanted.by()), view.voice.now)
}

fn body(view: &View<'_>, wanted: &Wanted) -> Markup {
    let books = view.app.setup.fleet.books();
    let link = |by: By, unit: Unit| {
        let by = if by == By::Account { "account" } else { "agent" };
        let unit = if unit == Unit::Tokens { "tokens" } else { "usd" };
        format!("/money?by={by}&unit={unit}")
    };
    let current = |is_current: bool| is_current.then_some("true");
    let (by, unit) = (wanted.by(), wanted.unit());
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
            @for (window, title, file) in [(Window::Hour, "page-money-hours", "hour"), (Window::Day, "page-money-days", "day")] {
                section.money {
                    h2 { (view.text(title)) }
                    (picture(view, &chart(view, &books, wanted, window), unit))
                    p { a href={ "/money.csv?window=" (file) } { (view.text("page-csv")) } }
                }
            }
            section { (by_task(view)) }
            section { (by_month(view, &books)) }
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
    html! {
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
    }
}

fn by_task(view: &View<'_>) -> Markup {
    let (agents, board) = (view.app.setup.fleet.agents(), view.app.setup.fleet.board());
    let mut all: Vec<Listed<'_>> = all_of(&agents, Some(&board));
    all.retain(|one| !one.work().card().spent.is_none());
    all.sort_by_key(|one| {
        let spent = one.work().card().spent;
        std::cmp::Reverse((spent.microdollars, spent.tokens))
    });
    html! {
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
    }
}
