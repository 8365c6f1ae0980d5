//! An agent's last day as a picture: a bar for each session, coloured by how it ended, pauses by their cause above them,
//! marks for restarts and whispers below.

use std::time::Duration;

use maud::{Markup, html};

use super::View;
use super::needs::ago;
use super::pauses::{self, Pause};
use super::story::{Mark, PastSession, SPAN, Story};
use crate::core::outcome::Category;
use crate::core::time::Timestamp;
use crate::supervisor::View as Seen;

/// The picture's width, in its own units: a day.
const WIDTH: f64 = 960.0;

/// Sessions that are listed below the picture.
const LISTED_MAX: usize = 10;

/// The class of an outcome in the stylesheet; its height in the picture differs as well.
fn class(category: Category) -> (&'static str, u8) {
    match category {
        Category::Success | Category::MaxTurns => ("ran", 14),
        Category::Interrupted => ("cut", 8),
        Category::RateLimit | Category::Quota | Category::Budget => ("held", 20),
        Category::Transient
        | Category::Permanent
        | Category::Billing
        | Category::Auth
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::Crash
        | Category::OutOfMemory
        | Category::DoNotRestart => ("bad", 26),
    }
}

/// The time that a picture shows: an hour, or six or a day where sessions are as old.
#[derive(Clone, Copy)]
struct Axis {
    now: Timestamp,
    span: Duration,
}

impl Axis {
    fn of(oldest: Timestamp, now: Timestamp) -> Self {
        let spans = [1, 6].map(|hours| Duration::from_secs(hours * 3600));
        let span = spans.into_iter().find(|span| now.since(oldest) <= *span).unwrap_or(SPAN);
        Self { now, span }
    }

    /// Place of a moment, from the left.
    fn place(self, at: Timestamp) -> f64 {
        let back = self.now.since(at).min(self.span).as_secs_f64();
        WIDTH * (1.0 - back / self.span.as_secs_f64())
    }
}

pub(super) fn timeline(view: &View<'_>, seen: &Seen, story: &Story) -> Markup {
    let (voice, now) = (view.voice, view.voice.now);
    let yesterday = now.before(SPAN);
    let begun = story.sessions.iter().map(|one| one.begun).filter(|begun| *begun > yesterday);
    let pauses: Vec<&Pause> = story.pauses.since(yesterday).collect();
    let begun = begun.chain(pauses.iter().map(|pause| pause.begun.max(yesterday)));
    let oldest = begun.min().or_else(|| story.sessions.back().map(|_| yesterday)).unwrap_or(now);
    let axis = Axis::of(oldest, now);
    let sessions: Vec<&PastSession> = story.sessions.iter().filter(|one| one.ended > yesterday).collect();
    let marks: Vec<(Timestamp, Mark)> =
        story.marks.iter().copied().filter(|(at, _)| *at > yesterday).collect();
    let running = seen.agent.session().map(|_| seen.agent.since);
    let failed = sessions.iter().filter(|one| class(one.category).0 == "bad").count();
    let of = |wanted: Mark| marks.iter().filter(|(_, mark)| *mark == wanted).count();
    let said = voice.text(
        "page-timeline-said",
        &[
            ("span", axis.span.into()),
            ("sessions", sessions.len().into()),
            ("failed", failed.into()),
            ("restarts", of(Mark::Restart).into()),
            ("whispers", of(Mark::Whisper).into()),
        ],
    );
    html! {
        section #timeline hx-swap-oob="true" {
            h2 { (view.text("page-sessions")) }
            @if story.sessions.is_empty() && running.is_none() && pauses.is_empty() {
                p.quiet { (view.text("page-no-sessions")) }
            } @else {
                svg.timeline role="img" aria-label=(said) viewBox="0 0 960 54" preserveAspectRatio="none" {
                    @for quarter in 1_u32..4 { path.grid d={ "M" (quarter * 240) " 0v40" } {} }
                    path.axis d="M0 40h960" {}
                    @for pause in &pauses {
                        (pauses::bar(view, pause, (axis.place(pause.begun), axis.place(pause.ended.unwrap_or(now)))))
                    }
                    @for one in &sessions { (bar(view, one, axis)) }
                    @if let Some(begun) = running {
                        @let from = axis.place(begun);
                        rect.now x=(units(from)) y="26" width=(units((WIDTH - from).max(2.0))) height="14" {
                            title { (view.text("page-running")) }
                        }
                    }
                    @for (at, mark) in &marks {
                        @let x = units(axis.place(*at));
                        @match mark {
                            Mark::Restart => { path.restart d={ "M" (x) " 43l4 8h-8z" } { title { (view.text("page-restart-mark")) " " (voice.locale.clock_time(*at)) } } }
                            Mark::Whisper => { path.whisper d={ "M" (x) " 42l4 5l-4 5l-4-5z" } { title { (view.text("page-whisper-mark")) " " (voice.locale.clock_time(*at)) } } }
                        }
                    }
                }
                p.legend { (said) }
                (pauses::legend(view, &pauses))
            }
            @if !story.sessions.is_empty() { (list(view, seen, story)) }
        }
    }
}

fn units(value: f64) -> String {
    format!("{value:.1}")
}

fn bar(view: &View<'_>, one: &PastSession, axis: Axis) -> Markup {
    let (from, to) = (axis.place(one.begun), axis.place(one.ended));
    let (class, height) = class(one.category);
    let how = view.voice.locale.category(one.category);
    let took = view.voice.locale.duration(one.ended.since(one.begun));
    html! {
        rect.(class) x=(units(from)) y=(40 - height) width=(units((to - from).max(2.0))) height=(height) {
            title { (one.session) " · " (how) " · " (took) " · " (view.voice.locale.clock_time(one.ended)) }
        }
    }
}

/// The last sessions in words: what the picture shows to those who do not see it, and the way to each transcript.
fn list(view: &View<'_>, seen: &Seen, story: &Story) -> Markup {
    let voice = view.voice;
    html! {
        table.sessions {
            thead {
                tr {
                    th scope="col" { (view.text("page-session")) }
                    th scope="col" { (view.text("page-outcome")) }
                    th scope="col" { (view.text("page-ended")) }
                    th.number scope="col" { (view.text("page-took")) }
                    th.number scope="col" { (view.text("page-turns")) }
                    th.number scope="col" { (view.text("page-spent")) }
                }
            }
            tbody {
                @for one in story.sessions.iter().rev().take(LISTED_MAX) {
                    @let took: Duration = one.ended.since(one.begun);
                    tr.(class(one.category).0) {
                        th scope="row" { a href={ "/agents/" (seen.name) "/sessions/" (one.session) } { (one.session) } }
                        td { (voice.locale.category(one.category)) }
                        td { (ago(view, one.ended)) }
                        td.number { (voice.locale.duration(took)) }
                        td.number { (one.turns) }
                        td.number { (voice.usage(one.usage)) }
                    }
                }
            }
        }
    }
}
