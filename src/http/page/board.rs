//! The task board in columns, each card with its moves as buttons.

use maud::{Markup, html};

use super::View;
use super::needs::{ago, fields, verdicts};
use super::pauses;
use crate::commands::listed::{Listed, all_of};
use crate::commands::say::{WORK_MAX, task};
use crate::core::card::Priority;
use crate::core::usage::day;
use crate::core::work::{FinishedTask, TaskEnd};
use crate::http::screen::Shown;
use crate::supervisor::View as Seen;

/// Cards of a column that are shown; how many more there are is said.
const CARDS_MAX: usize = 50;

/// A column of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Queued,
    Working,
    Checking,
    Review,
    Blocked,
    Over,
}

impl Column {
    const ALL: [(Self, &str); 6] = [
        (Self::Queued, "page-column-queued"),
        (Self::Working, "page-column-working"),
        (Self::Checking, "page-column-checking"),
        (Self::Review, "page-column-review"),
        (Self::Blocked, "page-column-blocked"),
        (Self::Over, "page-column-over"),
    ];

    /// Column of a task; `None`: it ended before today.
    fn of(view: &View<'_>, listed: &Listed<'_>) -> Option<Self> {
        match listed.over() {
            Some(over) if over.end == TaskEnd::Blocked => Some(Self::Blocked),
            Some(over) => (day(over.at) == day(view.voice.now)).then_some(Self::Over),
            None => Some(match listed.key() {
                "running" | "waiting" | "merging" => Self::Working,
                "checking" => Self::Checking,
                "review" | "proposed" => Self::Review,
                "blocked" => Self::Blocked,
                _ => Self::Queued,
            }),
        }
    }
}

pub(super) fn body(view: &View<'_>, shown: &Shown) -> Markup {
    let agents = view.app.setup.fleet.agents();
    html! {
        h1 { (view.text("page-title-board")) }
        @if view.may_steer() {
            form.act.add method="post" action="/do" {
                (fields(view, "", "/board"))
                input name="text" required maxlength="16000" aria-label=(view.text("page-new-task")) placeholder=(view.text("page-new-task"));
                (agent_choice(view, &agents, "agent"))
                select name="priority" aria-label=(view.text("page-priority")) {
                    @for priority in [Priority::Normal, Priority::High, Priority::Low] {
                        option value=(priority.word()) { (view.text(priority_id(priority))) }
                    }
                }
                button.yes name="command" value="task add" { (view.text("page-add-task")) }
            }
        }
        (shown.piece("board"))
    }
}

pub(super) fn priority_id(priority: Priority) -> &'static str {
    match priority {
        Priority::High => "page-priority-high",
        Priority::Normal => "page-priority-normal",
        Priority::Low => "page-priority-low",
    }
}

/// A choice of agents, the next one that suffices first.
pub(super) fn agent_choice(view: &View<'_>, agents: &[Seen], field: &str) -> Markup {
    html! {
        select name=(field) aria-label=(view.text("page-agent")) {
            option value="auto" { (view.text("page-any-agent")) }
            @for seen in agents { option value=(seen.name) { (seen.name) } }
        }
    }
}

pub(super) fn board(view: &View<'_>, agents: &[Seen]) -> Markup {
    let board = view.app.setup.fleet.board();
    let all = all_of(agents, Some(&board));
    html! {
        div #board.board hx-swap-oob="true" {
            @for (column, title) in Column::ALL {
                @let those: Vec<&Listed<'_>> = all.iter().filter(|one| Column::of(view, one) == Some(column)).collect();
                section.column aria-label=(view.text(title)) {
                    h2 { (view.text(title)) " " span.number { (those.len()) } }
                    @if those.is_empty() { p.quiet { (view.text("page-column-empty")) } }
                    @for one in those.iter().take(CARDS_MAX) { (card(view, one, agents)) }
                    @if those.len() > CARDS_MAX {
                        p.quiet { (view.voice.text("cmd-more", &[("count", (those.len() - CARDS_MAX).into())])) }
                    }
                }
            }
        }
    }
}

fn card(view: &View<'_>, listed: &Listed<'_>, agents: &[Seen]) -> Markup {
    let (voice, work) = (view.voice, listed.work());
    let holder = listed.agent().filter(|_| listed.over().is_none());
    let cause = holder
        .and_then(|name| agents.iter().find(|seen| seen.name == *name))
        .and_then(|seen| pauses::now(seen, voice.now));
    let spent = work.card().spent;
    html! {
        article.card aria-label=(task(work.id)) {
            p {
                a href={ "/tasks/" (work.id) } { (task(work.id)) } " "
                @match work.card().priority {
                    Priority::High => { span.priority { (view.text("page-priority-high")) } " " }
                    Priority::Low => { span.priority { (view.text("page-priority-low")) } " " }
                    Priority::Normal => {}
                }
                (voice.short(&work.text, WORK_MAX))
            }
            p.quiet {
                @if let Some(agent) = listed.agent() { a href={ "/agents/" (agent) } { (agent) } " · " }
                (listed.state(voice)) " · " (ago(view, listed.over().map_or(work.at, |over| over.at)))
                @if !spent.is_none() { " · " (voice.locale.money(spent.dollars())) }
                @if let Some(cause) = cause { " · " span.cause { (view.text(cause.word_id())) } }
            }
            (moves(view, listed, "/board"))
        }
    }
}

/// Buttons of a task.
pub(super) fn moves(view: &View<'_>, listed: &Listed<'_>, back: &str) -> Markup {
    let id = listed.work().id;
    let over = listed.over();
    let is_queued = listed.key() == "queued";
    html! {
        @if listed.key() == "review" { (verdicts(view, id, back)) }
        @if view.may_steer() && over.is_none_or(FinishedTask::can_be_assigned) {
            div.acts {
                @if is_queued || over.is_some() || listed.key() == "blocked" {
                    form.act method="post" action="/do" {
                        (fields(view, "", back))
                        (agent_choice(view, &view.app.setup.fleet.agents(), "to"))
                        button name="command" value={ "task assign|" (id) } { (view.text("page-assign")) }
                    }
                }
                @if is_queued && listed.work().card().review.is_none() {
                    form.act method="post" action="/do" {
                        (fields(view, "", back))
                        input name="text" required maxlength="4000" aria-label=(view.text("page-split-parts")) placeholder=(view.text("page-split-parts"));
                        button name="command" value={ "task split|" (id) } { (view.text("page-split")) }
                    }
                }
                @if over.is_none() {
                    form.act method="post" action="/do" {
                        (fields(view, "", back))
                        button name="command" value={ "task cancel|" (id) } { (view.text("page-cancel-task")) }
                    }
                }
            }
        }
    }
}
