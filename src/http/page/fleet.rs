//! All agents: what needs a person first, then a row for each that passes the filter.

use std::sync::Arc;

use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::View;
use super::mood::{Mood, Need};
use crate::commands::say::{WORK_MAX, count, task};
use crate::core::link::LinkState;
use crate::core::strip::HourState;
use crate::core::usage::{Unit, Window, hour};
use crate::core::work::WorkKind;
use crate::http::screen::Shown;
use crate::supervisor::View as Seen;

/// The longest part of a filter, in characters.
const FILTER_MAX: usize = 60;

/// The most tags that are offered.
const TAGS_MAX: usize = 100;

/// Which agents are shown; empty parts let everybody pass.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Filter {
    phase: String,
    tag: String,
    text: String,
}

impl Filter {
    /// The same, as short as a person types.
    pub(in super::super) fn bounded(&self) -> Self {
        let cut = |text: &str| text.trim().chars().take(FILTER_MAX).collect::<String>();
        Self { phase: cut(&self.phase), tag: cut(&self.tag), text: cut(&self.text).to_lowercase() }
    }

    /// Whether all agents pass.
    pub(in super::super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Words that are looked for.
    pub(in super::super) fn text(&self) -> &str {
        &self.text
    }

    fn query(&self) -> String {
        let pairs = [("phase", &self.phase), ("tag", &self.tag), ("text", &self.text)];
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        serde_urlencoded::to_string(pairs.collect::<Vec<_>>()).unwrap_or_default()
    }

    /// The page that shows these.
    pub(super) fn path(&self) -> String {
        if self.is_none() { "/".to_owned() } else { format!("/?{}", self.query()) }
    }

    /// Whether the phase of an agent passes.
    pub(in super::super) fn is_phase(&self, view: &View<'_>, seen: &Seen) -> bool {
        let wanted = Mood::ALL.into_iter().find(|mood| self.phase == mood.class());
        self.phase.is_empty() || wanted.is_some_and(|mood| mood.includes(seen, view.voice.now))
    }

    /// Agents that pass, whatever their phase: those that are counted, and the rows are some of them.
    pub(in super::super) fn fitting<'a>(&self, view: &View<'_>, agents: &'a [Seen]) -> Vec<&'a Seen> {
        agents.iter().filter(|seen| self.fits_but_for_phase(view, seen)).collect()
    }

    /// Text is looked for in what the row shows, so that it finds no secret that the row hides.
    fn fits_but_for_phase(&self, view: &View<'_>, seen: &Seen) -> bool {
        let spec = seen.agent.spec.as_ref();
        if !self.tag.is_empty() && !spec.is_some_and(|spec| spec.tags.contains(&self.tag)) {
            return false;
        }
        let has = |text: &str| text.to_lowercase().contains(&self.text);
        self.text.is_empty()
            || has(seen.name.as_str())
            || spec.is_some_and(|spec| spec.tags.iter().any(|tag| has(tag)) || has(spec.account.as_str()))
            || work(view, seen).is_some_and(|(_, text)| has(&text))
            || needs(view, seen).iter().any(|need| has(need))
            || has(&phase(view, seen))
    }
}

pub(super) fn body(view: &View<'_>, shown: &Shown, filter: &Filter) -> Markup {
    let agents = view.app.setup.fleet.agents();
    let mut live = format!("/live?at={}", shown.id);
    if !filter.is_none() {
        live = format!("{live}&{}", filter.query());
    }
    html! {
        h1.unseen { (view.text("page-title-fleet")) }
        (shown.piece("needs"))
        (finder(view, &agents, filter))
        div #fleet {
            div.above { (shown.piece("counts")) (shown.piece("spend")) }
            @if agents.is_empty() {
                p.empty { (view.text("page-no-agents")) }
            }
            table.fleet {
                caption.unseen { (view.text("page-title-fleet")) }
                thead {
                    tr {
                        th scope="col" { (view.text("page-agent")) }
                        th scope="col" { (view.text("page-phase")) }
                        th.wide scope="col" { (view.text("page-work")) }
                        th scope="col" { (view.text("page-tool")) }
                        th.number scope="col" { (view.text("page-turns")) }
                        th.number scope="col" { (view.text("page-tokens")) }
                        th.number scope="col" { (view.text("page-cost")) }
                        th.number scope="col" { (view.text("page-crashes")) }
                        th.number scope="col" { (view.text("page-queue")) }
                        th scope="col" { (view.text("page-day")) }
                    }
                }
                tbody #agents { (PreEscaped(&shown.rows)) }
            }
            div hx-sse:connect=(live) hx-swap="none" {}
        }
    }
}

/// The rows, in the element that holds them.
pub(in super::super) fn table_body(rows: &str) -> Markup {
    html! { tbody #agents hx-swap-oob="true" { (PreEscaped(rows)) } }
}

/// The form that filters: with JavaScript while one types, without by its button.
fn finder(view: &View<'_>, agents: &[Seen], filter: &Filter) -> Markup {
    let mut tags: Vec<&String> =
        agents.iter().filter_map(|seen| seen.agent.spec.as_ref()).flat_map(|spec| &spec.tags).collect();
    tags.sort_unstable();
    tags.dedup();
    tags.truncate(TAGS_MAX);
    html! {
        form.finder role="search" method="get" action="/" hx-get="/" hx-trigger="input" hx-target="#fleet" hx-select="#fleet" hx-swap="outerHTML" hx-sync="this:replace" {
            input type="search" name="text" value=(filter.text) maxlength=(FILTER_MAX) aria-label=(view.text("page-filter")) placeholder=(view.text("page-filter"));
            select name="phase" aria-label=(view.text("page-phase")) {
                option value="" { (view.text("page-any-phase")) }
                @for mood in Mood::ALL {
                    option value=(mood.class()) selected[filter.phase == mood.class()] { (view.text(mood.word_id())) }
                }
            }
            @if !tags.is_empty() {
                select name="tag" aria-label=(view.text("page-tag")) {
                    option value="" { (view.text("page-any-tag")) }
                    @for tag in tags { option value=(tag) selected[*tag == filter.tag] { (tag) } }
                }
            }
            button { (view.text("page-find")) }
        }
    }
}

/// Number of agents by mood, as links that filter.
pub(super) fn counts(view: &View<'_>, fitting: &[&Seen], filter: &Filter) -> Markup {
    let link = |phase: &str| Filter { phase: phase.to_owned(), ..filter.clone() }.path();
    let current = |is_current: bool| is_current.then_some("true");
    html! {
        nav #counts.counts hx-swap-oob="true" aria-label=(view.text("page-phase")) {
            a href=(link("")) aria-current=[current(filter.phase.is_empty())] {
                (view.voice.text("page-count-all", &[("count", fitting.len().into())]))
            }
            @for mood in Mood::ALL {
                @let of = fitting.iter().filter(|seen| mood.includes(seen, view.voice.now)).count();
                @if of > 0 {
                    a.(mood.class()) href=(link(mood.class())) aria-current=[current(filter.phase == mood.class())] {
                        span.sign aria-hidden="true" { (mood.sign()) } " "
                        (view.voice.text(mood.count_id(), &[("count", of.into())]))
                    }
                }
            }
        }
    }
}

/// The line at the top: how many there are and work, the networks, today's money.
pub(super) fn summary(view: &View<'_>, agents: &[Seen]) -> Markup {
    let fleet = &view.app.setup.fleet;
    let busy = agents.iter().filter(|seen| seen.agent.session().is_some()).count();
    let voice = view.voice;
    let text = voice.text("page-summary", &[("agents", agents.len().into()), ("busy", busy.into())]);
    let together = fleet.usage();
    let all = together.iter().find(|shared| shared.scope.is_none());
    let today = all.map(|all| all.today.cost_usd).unwrap_or_default();
    let caps = all.into_iter().flat_map(|all| &all.caps);
    let cap = caps.into_iter().find(|one| (one.cap.window, one.cap.unit) == (Window::Day, Unit::Usd));
    let money = voice.text("page-today", &[("money", voice.locale.money(today).into())]);
    html! {
        div.summary #summary hx-swap-oob="true" {
            span { (text) }
            @for link in fleet.links() {
                @let is_up = matches!(link.state, LinkState::Up { .. });
                span.(if is_up { "works" } else { "failed" }) {
                    span.sign aria-hidden="true" { (if is_up { "●" } else { "✖" }) } " " (voice.link(&link))
                }
            }
            span { (money) @if let Some(cap) = cap { " " (bar(view, Unit::Usd, today, cap.limit)) } }
        }
    }
}

/// Part of a limit that is used, as a bar whose text says the same.
pub(super) fn bar(view: &View<'_>, unit: Unit, used: f64, limit: f64) -> Markup {
    let part = if limit > 0.0 { (used / limit).clamp(0.0, 1.0) * 100.0 } else { 0.0 };
    let class = if part >= 100.0 {
        "over"
    } else if part >= 80.0 {
        "near"
    } else {
        "fine"
    };
    let amount = |amount: f64| view.voice.locale.amount(unit, amount).into();
    let said = view.voice.text("page-of-cap", &[("used", amount(used)), ("limit", amount(limit))]);
    html! {
        svg.bar role="img" aria-label=(said) viewBox="0 0 100 12" preserveAspectRatio="none" {
            title { (said) }
            rect.track width="100" height="12" {}
            rect.(class) width=(format!("{part:.0}")) height="12" {}
        }
    }
}

/// Spending of the fleet in each of the last 24 hours.
pub(super) fn spend(view: &View<'_>, agents: &[Seen]) -> Markup {
    let this = hour(view.voice.now);
    let mut hours = [0.0_f64; 24];
    for page in agents.iter().flat_map(|seen| &seen.agent.books.hours) {
        let back = this.saturating_sub(page.at);
        if let Some(sum) =
            usize::try_from(back).ok().and_then(|back| hours.get_mut(23_usize.checked_sub(back)?))
        {
            *sum += page.usage.cost_usd;
        }
    }
    let sum: f64 = hours.iter().sum();
    let most = hours.iter().copied().fold(0.0, f64::max);
    let said = view.voice.text("page-spend", &[("money", view.voice.locale.money(sum).into())]);
    let bars: String = hours
        .iter()
        .enumerate()
        .filter(|(_, spent)| **spent > 0.0)
        .map(|(at, spent)| format!("M{} 24v-{:.1}", at * 5 + 2, (spent / most * 22.0).max(1.0)))
        .collect();
    html! {
        div #spend.spend hx-swap-oob="true" {
            @if sum > 0.0 {
                svg role="img" aria-label=(said) viewBox="0 0 120 24" { title { (said) } path d=(bars) {} }
                span { (said) }
            }
        }
    }
}

/// The phase of an agent in words, without its work.
fn phase(view: &View<'_>, seen: &Seen) -> String {
    let agent = &*seen.agent;
    let hold = seen.hold.as_ref().filter(|_| agent.wants().is_some());
    hold.map_or_else(|| view.voice.locale.state(agent, view.voice.now), |hold| view.voice.locale.hold(hold))
}

/// The needs of an agent that a person is to see, in words.
fn needs(view: &View<'_>, seen: &Seen) -> Vec<String> {
    Need::of(seen, view.voice.now).into_iter().map(|need| need.words(view)).collect()
}

/// Current or next work: the number of a task and the text.
fn work(view: &View<'_>, seen: &Seen) -> Option<(Option<String>, String)> {
    let agent = &*seen.agent;
    let work = agent.current.as_ref().or_else(|| agent.queue.front())?;
    let number = (work.kind == WorkKind::Task).then(|| task(work.id));
    let text = match work.kind {
        WorkKind::Round => view.voice.locale.work_kind(work.kind),
        WorkKind::Task | WorkKind::Message => view.voice.short(&work.text, WORK_MAX),
    };
    Some((number, text))
}

/// One agent's row.
pub(in super::super) fn row(view: &View<'_>, seen: &Seen) -> Markup {
    let (agent, voice) = (&*seen.agent, view.voice);
    let mood = Mood::of(seen, voice.now);
    let today = agent.books.today(voice.now, None);
    let cap = agent.caps(voice.now).find(|one| (one.cap.window, one.cap.unit) == (Window::Day, Unit::Usd));
    let works = agent.session().is_some();
    // A telephone shows a row as a card, without the table's head.
    let label = |id, is_shown: bool| is_shown.then(|| view.text(id));
    html! {
        tr id={ "agent-" (seen.name) } class=(mood.class()) {
            th scope="row" {
                span.sign aria-hidden="true" { (mood.sign()) } " "
                a href={ "/agents/" (seen.name) } { (seen.name) }
            }
            td.phase {
                (phase(view, seen))
                @for need in needs(view, seen) { " · " span.asked { (need) } }
            }
            td.work {
                @if let Some((number, text)) = work(view, seen) {
                    @if let Some(number) = number {
                        a href={ "/tasks/" (number.trim_start_matches('#')) } { (number) } " "
                    }
                    (text)
                }
            }
            td.tool { @if works { (tool(view, seen)) } }
            td.number data-label=[label("page-turns", works)] { @if works { (seen.live.turns) } }
            td.number data-label=[label("page-tokens", today.tokens() > 0)] { @if today.tokens() > 0 { (count(today.tokens())) } }
            td.number.cost {
                // An agent that has spent nothing is quiet, whatever its cap.
                @if today.cost_usd > 0.0 {
                    (voice.locale.money(today.cost_usd))
                    @if let Some(cap) = cap { " " (bar(view, Unit::Usd, cap.used, cap.limit)) }
                }
            }
            td.number data-label=[label("page-crashes", agent.totals.crashes > 0)] { @if agent.totals.crashes > 0 { (agent.totals.crashes) } }
            td.number data-label=[label("page-queue", !agent.queue.is_empty())] { @if !agent.queue.is_empty() { (agent.queue.len()) } }
            (day(view, seen))
        }
    }
}

pub(super) fn tool(view: &View<'_>, seen: &Seen) -> Markup {
    let voice = view.voice;
    let tool = seen.live.tool.as_deref().map(|tool| voice.short(tool, WORK_MAX));
    html! {
        @if let Some(tool) = &tool { (tool) }
        @if let Some(last) = seen.live.last_event {
            @if tool.is_some() { " · " }
            span title=(voice.locale.time(last)) { (voice.locale.duration(voice.now.since(last))) }
        }
    }
}

/// The agent's last day: a letter an hour, flat if idle, half if sessions ran in it and full if one failed.
///
/// It is text, since a picture in each of 1,000 rows doubles the time in which a browser replaces them.
fn day(view: &View<'_>, seen: &Seen) -> Markup {
    let agent = &*seen.agent;
    let running = agent.session().map(|_| agent.since);
    let hours = agent.strip.hours(view.voice.now, running);
    let of = |wanted: HourState| hours.iter().filter(|state| **state == wanted).count();
    let (ran, failed) = (of(HourState::Ran), of(HourState::Failed));
    if ran + failed == 0 {
        return html! { td.day {} };
    }
    let strip: String = hours
        .iter()
        .map(|state| match state {
            HourState::Idle => '▁',
            HourState::Ran => '▄',
            HourState::Failed => '█',
        })
        .collect();
    let said =
        view.voice.text("page-day-said", &[("busy", (ran + failed).into()), ("failed", failed.into())]);
    html! { td.day.bad[failed > 0] aria-label=(said) title=(said) { (strip) } }
}

/// Whether an agent looks otherwise than it did.
pub(in super::super) fn changed(before: &Seen, now: &Seen) -> bool {
    !Arc::ptr_eq(&before.agent, &now.agent) || before.live != now.live || before.hold != now.hold
}
