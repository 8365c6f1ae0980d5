//! Cards of things that need a person, with their buttons.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;

use maud::{Markup, html};

use super::View;
use super::story::LastWords;
use crate::commands::log_line;
use crate::commands::say::{WORK_MAX, task};
use crate::core::agent::Phase;
use crate::core::ask::{About, Ask};
use crate::core::checkout::Held;
use crate::core::clean::visible;
use crate::core::event::{Event, PauseReason};
use crate::core::id::{AccountName, WorkId};
use crate::core::promotion::Hold;
use crate::core::review::Review;
use crate::core::time::Timestamp;
use crate::core::watch::Escalation;
use crate::journal::{Entry, Recorded};
use crate::supervisor::View as Seen;

/// The most of somebody's words in one line.
const LINE_MAX: usize = 200;

/// Cards that are shown at one time, and how many more there are is said: a fleet that stops as one is no reason for a page that
/// nobody can scroll through.
const CARDS_MAX: usize = 30;

/// The most agents that a card names beside its first.
const NAMES_MAX: usize = 8;

/// All needs, the oldest first. Agents that stand still for one closed account are one need.
fn all<'a>(view: &View<'_>, agents: &'a [Seen]) -> Vec<Need<'a>> {
    let (mut all, mut closed) = (Vec::new(), BTreeMap::<AccountName, Need<'a>>::new());
    for need in agents.iter().flat_map(|seen| of(view, seen)) {
        let account = need.seen.agent.closed_account().filter(|_| matches!(need.what, What::Halt(_)));
        let Some((account, _)) = account else {
            all.push(need);
            continue;
        };
        match closed.entry(account) {
            MapEntry::Vacant(entry) => {
                entry.insert(need);
            }
            MapEntry::Occupied(mut entry) => entry.get_mut().joined(need),
        }
    }
    all.extend(closed.into_values());
    all.sort_by_key(|need| need.since);
    all
}

/// The agents whose needs are shown.
pub(super) fn first<'a>(view: &View<'_>, agents: &'a [Seen]) -> Vec<&'a Seen> {
    all(view, agents).iter().take(CARDS_MAX).map(|need| need.seen).collect()
}

/// All agents' needs. `back` is the page that a button leads back to.
pub(super) fn needs(view: &View<'_>, agents: &[Seen], back: &str, words: &LastWords) -> Markup {
    let all = all(view, agents);
    let more = all.len().saturating_sub(CARDS_MAX);
    html! {
        section #needs.needs-you hx-swap-oob="true" aria-labelledby="needs-title" {
            h2 #needs-title aria-live="polite" { (view.text("page-needs-you")) @if !all.is_empty() { " " span.count { (all.len()) } } }
            @if all.is_empty() { p.nobody { (view.text("page-needs-nobody")) } }
            div.cards { @for need in all.iter().take(CARDS_MAX) { (need.card(view, back, words.of(&need.seen.name))) } }
            @if more > 0 { p.nobody { (view.voice.text("cmd-more", &[("count", more.into())])) } }
        }
    }
}

/// One agent's needs, on its own page, which has its last words below.
pub(super) fn cards(view: &View<'_>, seen: &Seen, back: &str) -> Markup {
    html! { @for need in of(view, seen) { (need.card(view, back, &[])) } }
}

/// Something that waits for a person.
struct Need<'a> {
    seen: &'a Seen,
    since: Timestamp,
    what: What<'a>,
}

enum What<'a> {
    Call(&'a Escalation),
    Ask(&'a Ask),
    /// A task waits for a person who looks at it.
    Review(&'a Review),
    /// The agent stands still, and these others for the same closed account.
    Halt(Vec<&'a Seen>),
}

fn of<'a>(view: &View<'_>, seen: &'a Seen) -> Vec<Need<'a>> {
    let agent = &*seen.agent;
    let call = agent.watch.escalation.iter().map(|call| (call.at, What::Call(call)));
    let asks = agent.asks.iter().filter(|ask| ask.until > view.voice.now);
    let asks = asks.map(|ask| (ask.at, What::Ask(ask)));
    let mut all: Vec<Need<'a>> = call.chain(asks).map(|(since, what)| Need { seen, since, what }).collect();
    let reviews = agent.checkouts.waiting_reviews();
    let halted = all.is_empty() && agent.stands_still_by_itself();
    all.extend(reviews.map(|review| Need { seen, since: review.since, what: What::Review(review) }));
    if halted {
        all.push(Need { seen, since: agent.since, what: What::Halt(Vec::new()) });
    }
    all
}

impl Need<'_> {
    /// Takes in another agent that waits for the same account. The one whose failure closed it comes first.
    fn joined(&mut self, other: Self) {
        let failed =
            |seen: &Seen| matches!(seen.agent.phase, Phase::Paused { reason: PauseReason::Failure(_) });
        let What::Halt(others) = &mut self.what else { return };
        others.push(if failed(other.seen) && !failed(self.seen) {
            std::mem::replace(&mut self.seen, other.seen)
        } else {
            other.seen
        });
        self.since = self.since.min(other.since);
    }

    fn card(&self, view: &View<'_>, back: &str, words: &[Recorded]) -> Markup {
        let voice = view.voice;
        // The end of the session is the card's own sentence where that end is the matter.
        let is_told = |turn: &Recorded| {
            matches!(self.what, What::Halt(_))
                && matches!(turn.entry, Entry::Agent(Event::SessionEnded { .. }))
        };
        let words = words.iter().filter(|turn| !is_told(turn));
        let words: Vec<String> = words.filter_map(|turn| log_line(voice, turn)).collect();
        let (sign, what, more, act) = match &self.what {
            What::Call(call) => {
                let why = voice.short(&voice.locale.why(&call.why), LINE_MAX);
                let text = voice.short(&call.text, LINE_MAX);
                let what = if text.is_empty() { task(call.id) } else { format!("“{text}”") };
                ("🚨", what, why, self.call_buttons(view, call, back))
            }
            What::Ask(ask) => {
                let words = view.app.setup.redactor.redact(&visible(ask.about.words())).into_owned();
                let (sign, what, act) = match &ask.about {
                    About::Permission { tool, danger, .. } => {
                        let what = voice.short(danger.as_deref().unwrap_or(tool), LINE_MAX);
                        ("⚙️", what, decisions(view, ask, ask.about.is_exact(), back))
                    }
                    About::Plan { .. } => ("📋", String::new(), decisions(view, ask, false, back)),
                    About::Question { options, several, .. } => {
                        let offers: Vec<String> =
                            options.iter().map(|offer| voice.short(&offer.label, WORK_MAX)).collect();
                        ("❓", String::new(), answers(view, ask, (&offers, *several), back))
                    }
                };
                (sign, what, words, act)
            }
            What::Review(review) => {
                let id = review.work.id;
                let what = format!("{} {}", task(id), voice.short(&review.work.text, LINE_MAX));
                let checkout = self.seen.agent.checkouts.all.get(&id);
                let held = checkout.and_then(|checkout| checkout.held.as_ref());
                let change = held.map(|held| change(view, held)).unwrap_or_default();
                ("👀", what, change, verdicts(view, id, back))
            }
            What::Halt(_) => {
                let agent = &*self.seen.agent;
                let last = agent.last_outcome.as_ref().map(|outcome| voice.locale.detail(&outcome.detail));
                let last = voice.short(&last.unwrap_or_default(), LINE_MAX);
                let act = buttons(view, self.seen, &[RESUME], back);
                let closed = agent.closed_account();
                let closed =
                    closed.map(|(account, category)| Hold::Closed { account, category, until: None });
                let what = closed.map_or_else(|| voice.phase(agent, None), |hold| voice.locale.hold(&hold));
                ("🧯", what, last, act)
            }
        };
        let name = &self.seen.name;
        let others: &[&Seen] = if let What::Halt(others) = &self.what { others } else { &[] };
        html! {
            article.need aria-label=(name) {
                p {
                    span.sign aria-hidden="true" { (sign) } " "
                    a href={ "/agents/" (name) } { (name) } " "
                    @for other in others.iter().take(NAMES_MAX) { a href={ "/agents/" (other.name) } { (other.name) } " " }
                    @if others.len() > NAMES_MAX { span { (voice.text("cmd-more", &[("count", (others.len() - NAMES_MAX).into())])) } " " }
                    span.what { (what) }
                    (ago(view, self.since))
                }
                div.beside {
                    div {
                        @if !more.is_empty() { pre { (more) } }
                        (act)
                    }
                    @if !words.is_empty() {
                        pre.words tabindex="0" aria-label=(view.voice.text("page-said-by", &[("agent", name.into())])) role="region" {
                            @for line in &words { (line) "\n" }
                        }
                    }
                }
            }
        }
    }

    fn call_buttons(&self, view: &View<'_>, call: &Escalation, back: &str) -> Markup {
        let session = self.seen.agent.last_session;
        html! {
            div.acts {
                (buttons(view, self.seen, &[RESUME, ABORT], back))
                @if view.may_steer() && call.acked.is_none() {
                    form.act method="post" action="/do" {
                        (fields(view, "", back))
                        button name="command" value={ "ack|" (call.id) } { (view.text("page-ack")) }
                    }
                }
                a.button href={ "/agents/" (self.seen.name) "/sessions/" (session) } { (view.text("page-transcript")) }
            }
        }
    }
}

/// The extent of a task's work, in one line.
pub(super) fn change(view: &View<'_>, held: &Held) -> String {
    let counts = [
        ("commits", held.commits.into()),
        ("files", held.files.into()),
        ("added", held.added.into()),
        ("removed", held.removed.into()),
    ];
    view.voice.text("page-review-change", &counts)
}

/// Time since a moment, with the moment on hover.
pub(super) fn ago(view: &View<'_>, at: Timestamp) -> Markup {
    let since = view.voice.locale.duration(view.voice.now.since(at));
    html! { time.since title=(view.voice.locale.time(at)) { (since) } }
}

/// A button: the sentence on it, and the command that it gives.
type Button = (&'static str, &'static str);

pub(super) const PAUSE: Button = ("page-pause", "pause");
pub(super) const PAUSE_NOW: Button = ("page-pause-now", "pause|now");
pub(super) const RESUME: Button = ("page-resume", "resume");
pub(super) const ABORT: Button = ("page-abort", "abort");
pub(super) const RESTART: Button = ("page-restart", "restart");

/// The hidden fields of every form. What proves the form is put in for each session when the page is sent.
pub(super) fn fields(view: &View<'_>, agent: &str, back: &str) -> Markup {
    html! {
        input type="hidden" name="form" value=(view.app.form_mark);
        @if !agent.is_empty() { input type="hidden" name="agent" value=(agent); }
        input type="hidden" name="back" value=(back);
    }
}

pub(super) fn buttons(view: &View<'_>, seen: &Seen, all: &[Button], back: &str) -> Markup {
    html! {
        @if view.may_steer() {
            form.act method="post" action="/do" {
                (fields(view, seen.name.as_str(), back))
                @for (text, command) in all {
                    button name="command" value=(command) { (view.text(text)) }
                }
            }
        }
    }
}

fn decisions(view: &View<'_>, ask: &Ask, can_be_always: bool, back: &str) -> Markup {
    html! {
        @if view.may_steer() {
            form.act method="post" action="/do" {
                (fields(view, "", back))
                button.yes name="command" value={ "approve|" (ask.id) } { (view.text("page-approve")) }
                button name="command" value={ "deny|" (ask.id) } { (view.text("page-deny")) }
                @if can_be_always {
                    button name="command" value={ "approve|" (ask.id) "|always" } { (view.text("page-always")) }
                }
            }
        }
    }
}

/// The answers to the review of a task.
pub(super) fn verdicts(view: &View<'_>, id: WorkId, back: &str) -> Markup {
    let why = view.text("page-reject-why");
    html! {
        @if view.may_steer() {
            div.acts {
                form.act method="post" action="/do" {
                    (fields(view, "", back))
                    button.yes name="command" value={ "accept|" (id) } { (view.text("page-accept")) }
                }
                form.act method="post" action="/do" {
                    (fields(view, "", back))
                    input id={ "reject-" (id) } hx-preserve="true" name="text" required maxlength="4000" aria-label=(why) placeholder=(why);
                    button name="command" value={ "reject|" (id) } { (view.text("page-reject")) }
                }
                a.button href={ "/tasks/" (id) } { (task(id)) }
            }
        }
    }
}

fn answers(view: &View<'_>, ask: &Ask, (offers, several): (&[String], bool), back: &str) -> Markup {
    let other = view.text("page-other-answer");
    html! {
        @if view.may_steer() {
            @if several && !offers.is_empty() {
                form.act method="post" action="/do" {
                    (fields(view, "", back))
                    @for (at, offer) in offers.iter().enumerate() {
                        label {
                            input id={ "choice-" (ask.id) "-" (at + 1) } hx-preserve="true" type="checkbox" name="choice" value=(at + 1);
                            " " (offer)
                        }
                    }
                    button name="command" value={ "answer|" (ask.id) } { (view.text("page-answer")) }
                }
            } @else if !offers.is_empty() {
                form.act method="post" action="/do" {
                    (fields(view, "", back))
                    @for (at, offer) in offers.iter().enumerate() {
                        button name="command" value={ "answer|" (ask.id) "|" (at + 1) } { (offer) }
                    }
                }
            }
            form.act method="post" action="/do" {
                (fields(view, "", back))
                input id={ "answer-" (ask.id) } hx-preserve="true" name="text" required maxlength="4000" aria-label=(other) placeholder=(other);
                button name="command" value={ "answer|" (ask.id) } { (view.text("page-answer")) }
            }
        }
    }
}
