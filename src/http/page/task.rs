//! One task: its text, tries, parts, what it came to and what it cost.

use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use maud::{Markup, html};

use super::board::{moves, priority_id};
use super::layout::Page;
use super::needs::{ago, change};
use super::{At, View};
use crate::commands::listed::{Families, Listed, all_of};
use crate::commands::record::Record;
use crate::commands::say::{count, task as number};
use crate::core::board::Board;
use crate::core::card::Needs;
use crate::core::clean::visible;
use crate::core::id::WorkId;
use crate::http::Shared;
use crate::http::screen::{Kind, Look};
use crate::supervisor::View as Seen;

pub(in super::super) async fn task(State(app): State<Shared>, At(id): At<u64>, parts: Parts) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let locale = app.language(&parts.headers);
    let kind = Kind { look: Look::Task(WorkId(id)), role: caller.role, language: locale.name() };
    let shown = app.shown(&kind).await;
    let view = app.view(caller.role, locale);
    let title = number(WorkId(id));
    let piece = shown.piece("task");
    let live = (!piece.0.is_empty()).then(|| format!("/live?task={id}&at={}", shown.id));
    let body = if live.is_some() {
        html! { (piece) }
    } else {
        // A removed agent's, or one that is long over.
        let lines = match app.lines(&caller, locale, "task show", &[id.to_string()]).await {
            Ok(lines) => lines,
            Err(reason) => return app.missing_as(&parts, &reason),
        };
        html! {
            h1 { (title) }
            pre.log.whole tabindex="0" { @for line in &lines { (line) "\n" } }
        }
    };
    let body = html! {
        (body)
        p.back { a href="/board" { "← " (view.text("page-title-board")) } }
    };
    let page = Page { title: &title, at: None, live: live.as_deref() };
    page.show(&view, (&caller, &parts), &shown, &body)
}

/// The task as it stands; `None` if neither the board nor an agent keeps it.
pub(super) fn piece(view: &View<'_>, agents: &[Seen], id: WorkId) -> Option<Markup> {
    let tasks = view.app.setup.fleet.board();
    let all = all_of(agents, Some(&tasks));
    let listed = all.iter().find(|one| one.work().id == id)?;
    Some(html! { div #task hx-swap-oob="true" { (body(view, (listed, agents), &all, &tasks)) } })
}

fn body<'a>(
    view: &View<'_>,
    (listed, agents): (&Listed<'a>, &'a [Seen]),
    all: &[Listed<'_>],
    board: &Board,
) -> Markup {
    let (voice, work) = (view.voice, listed.work());
    let card = work.card();
    let text = view.app.setup.redactor.redact(&visible(&work.text)).into_owned();
    let parts = Families::of(agents, board).parts(work.id);
    html! {
        h1 { (number(work.id)) }
        p.phase {
            @if let Some(agent) = listed.agent() { a href={ "/agents/" (agent) } { (agent) } " · " }
            (listed.state(voice))
        }
        pre.log.whole tabindex="0" { (text) }
        dl.facts {
            div { dt { (view.text("page-given-by")) } dd { (voice.short(&work.by.name, 32)) " " (ago(view, work.at)) } }
            div { dt { (view.text("page-priority")) } dd { (view.text(priority_id(card.priority))) } }
            @if !card.needs.is_none() { div { dt { (view.text("page-needs")) } dd { (needs(view, &card.needs)) } } }
            @if let Some(parent) = card.parent { div { dt { (view.text("page-part-of")) } dd { a href={ "/tasks/" (parent) } { (number(parent)) } } } }
            div { dt { (view.text("page-tokens")) } dd { (count(card.spent.tokens)) } }
            div { dt { (view.text("page-spent")) } dd { (voice.locale.money(card.spent.dollars())) } }
        }
        (evidence(view, &Record::of(listed, agents)))
        (moves(view, listed, &format!("/tasks/{}", work.id)))
        @if !parts.is_empty() {
            h2 { (view.text("page-parts")) }
            ul.events {
                @for part in &parts {
                    @let known = all.iter().find(|one| one.work().id == part.id);
                    li {
                        a href={ "/tasks/" (part.id) } { (number(part.id)) } " "
                        @match known {
                            Some(known) => { (known.state(voice)) " · " (voice.short(&known.work().text, 200)) }
                            None => { @if let Some(end) = part.end { (voice.locale.task_end(end)) } }
                        }
                    }
                }
            }
        }
        @if !card.attempts.is_empty() {
            h2 { (view.text("page-tries")) }
            table.sessions {
                thead { tr {
                    th scope="col" { (view.text("page-session")) }
                    th scope="col" { (view.text("page-outcome")) }
                    th scope="col" { (view.text("page-ended")) }
                    th scope="col" { (view.text("page-why")) }
                } }
                tbody {
                    @for attempt in &card.attempts {
                        tr {
                            th scope="row" { a href={ "/agents/" (attempt.agent) "/sessions/" (attempt.session) } { (attempt.agent) " " (attempt.session) } }
                            td { (voice.locale.category(attempt.category)) }
                            td { (ago(view, attempt.at)) }
                            td { (voice.short(&voice.locale.detail(&attempt.detail), 400)) }
                        }
                    }
                }
            }
        }
        @if let Some(over) = listed.over() {
            h2 { (view.text("page-came-to")) }
            pre.log.whole tabindex="0" { (voice.short(&voice.locale.detail(&over.note), 16_000)) }
        }
    }
}

/// Maximum length of the reason why a review is left to a person, in bytes.
const WHY_SHOWN: usize = 2000;

/// The branch of a task, the extent of its work, its check, its review and its merge.
fn evidence(view: &View<'_>, record: &Record<'_>) -> Markup {
    let voice = view.voice;
    let branch = record.branch().map(|branch| voice.text("cmd-task-branch", &[("branch", branch.into())]));
    let change = record.held().map(|held| change(view, held));
    let lines = record.lines(voice);
    let review = record.review();
    html! {
        @if branch.is_some() || !lines.is_empty() {
            h2 { (view.text("page-evidence")) }
            ul.events {
                @for line in branch.iter().chain(&change).chain(&lines) { li { (line) } }
                @if let Some(review) = review {
                    li {
                        (view.text("page-in-review")) " " (ago(view, review.since))
                        @if let Some(asked) = review.asked() { " · " (asked.agent) }
                    }
                    @if let Some(why) = &review.left { li { (voice.short(&voice.locale.detail(why), WHY_SHOWN)) } }
                }
            }
        }
    }
}

/// The needs of a task in words: the least permissions, then the tags.
fn needs(view: &View<'_>, needs: &Needs) -> String {
    let permissions = needs
        .permissions
        .map(|least| view.voice.text("page-permissions", &[("permissions", least.word().into())]));
    permissions.into_iter().chain(needs.tags.iter().cloned()).collect::<Vec<_>>().join(", ")
}
