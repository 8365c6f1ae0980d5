//! Pauses of an agent, told apart by their cause: a person, a limit, money, a question, a failure.

use std::collections::VecDeque;

use maud::{Markup, html};

use super::View;
use crate::core::agent::Phase;
use crate::core::event::{Event, PauseReason, WaitReason};
use crate::core::id::AskId;
use crate::core::outcome::Category;
use crate::core::time::Timestamp;
use crate::supervisor::View as Seen;

/// Pauses that are kept for the timeline.
const KEPT_MAX: usize = 500;

/// The cause of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Person,
    Limit,
    Money,
    Question,
    Failure,
}

impl Cause {
    pub(super) const ALL: [Self; 5] = [Self::Person, Self::Limit, Self::Money, Self::Question, Self::Failure];

    fn of_category(category: Category) -> Self {
        match category {
            Category::RateLimit | Category::Quota => Self::Limit,
            Category::Billing | Category::Budget => Self::Money,
            Category::Success
            | Category::Transient
            | Category::Permanent
            | Category::MaxTurns
            | Category::Auth
            | Category::ContextOverflow
            | Category::TaskTimeout
            | Category::SandboxDenial
            | Category::Hung
            | Category::OutOfMemory
            | Category::Crash
            | Category::DoNotRestart
            | Category::Interrupted => Self::Failure,
        }
    }

    fn of_reason(reason: &PauseReason) -> Self {
        match reason {
            PauseReason::Person(_) | PauseReason::StopAll(_) => Self::Person,
            PauseReason::Failure(category) | PauseReason::Account(category) => Self::of_category(*category),
            PauseReason::Cap(_) => Self::Money,
            PauseReason::Escalation => Self::Question,
            PauseReason::Survivors => Self::Failure,
        }
    }

    /// Its class in the stylesheet, and its height in the picture: no two look the same without colours.
    fn look(self) -> (&'static str, u8) {
        match self {
            Self::Person => ("cut", 3),
            Self::Limit => ("held", 5),
            Self::Money => ("asks", 7),
            Self::Question => ("asks", 9),
            Self::Failure => ("bad", 11),
        }
    }

    /// The words for it.
    pub(super) fn word_id(self) -> &'static str {
        match self {
            Self::Person => "page-pause-person",
            Self::Limit => "page-pause-limit",
            Self::Money => "page-pause-money",
            Self::Question => "page-pause-question",
            Self::Failure => "page-pause-failure",
        }
    }
}

/// The cause for which an agent stands still now; `None` if it does not, or only for a moment.
pub(super) fn now(seen: &Seen, now: Timestamp) -> Option<Cause> {
    let agent = &*seen.agent;
    if agent.asks.iter().any(|ask| ask.until > now) {
        return Some(Cause::Question);
    }
    match &agent.phase {
        Phase::Paused { reason } => Some(Cause::of_reason(reason)),
        Phase::NeedsIntervention | Phase::Degraded => Some(Cause::Failure),
        Phase::Waiting { reason: WaitReason::RateLimit, .. } => Some(Cause::Limit),
        Phase::Waiting { .. }
        | Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Removed => None,
    }
}

/// One pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) cause: Cause,
    pub(super) begun: Timestamp,
    /// `None`: it goes on.
    pub(super) ended: Option<Timestamp>,
    /// The question that the agent waits for; its session goes on.
    ask: Option<AskId>,
}

/// The last pauses of an agent, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Pauses(VecDeque<Pause>);

impl Pauses {
    /// Takes in what happened at a time.
    pub(super) fn take(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::Paused { reason } => self.begin(Cause::of_reason(reason), at, None),
            Event::BreakerOpened { .. } | Event::Degraded { .. } => self.begin(Cause::Failure, at, None),
            Event::Waiting { reason: WaitReason::RateLimit, .. } => self.begin(Cause::Limit, at, None),
            Event::Asked { ask } => self.begin(Cause::Question, at, Some(ask.id)),
            Event::Answered { ask, .. } | Event::AskExpired { ask } | Event::AskDropped { ask } => {
                self.end(at, Some(*ask));
            }
            Event::Waiting { .. }
            | Event::WaitOver
            | Event::Resumed { .. }
            | Event::AccountOpened { .. }
            | Event::Reset { .. }
            | Event::SessionStarted { .. }
            | Event::Removed { .. } => self.end(at, None),
            _ => {}
        }
    }

    fn begin(&mut self, cause: Cause, begun: Timestamp, ask: Option<AskId>) {
        // One pause follows another; questions stand beside it.
        if ask.is_none() {
            self.end(begun, None);
        }
        self.0.push_back(Pause { cause, begun, ended: None, ask });
        while self.0.len() > KEPT_MAX {
            self.0.pop_front();
        }
    }

    fn end(&mut self, at: Timestamp, ask: Option<AskId>) {
        for pause in self.0.iter_mut().filter(|pause| pause.ended.is_none() && pause.ask == ask) {
            pause.ended = Some(at);
        }
    }

    /// Returns the pauses that were not over at a time.
    pub(super) fn since(&self, oldest: Timestamp) -> impl DoubleEndedIterator<Item = &Pause> {
        self.0.iter().filter(move |pause| pause.ended.is_none_or(|ended| ended > oldest))
    }
}

/// A pause in the picture, between two places from the left.
pub(super) fn bar(view: &View<'_>, pause: &Pause, (from, to): (f64, f64)) -> Markup {
    let (class, height) = pause.cause.look();
    let (x, width) = (format!("{from:.1}"), format!("{:.1}", (to - from).max(2.0)));
    html! {
        rect.pause.(class) x=(x) y="1" width=(width) height=(height) {
            title { (view.text(pause.cause.word_id())) " · " (took(view, pause)) " · " (view.voice.locale.clock_time(pause.begun)) }
        }
    }
}

/// Its duration until it ended, or until now.
fn took(view: &View<'_>, pause: &Pause) -> String {
    view.voice.locale.duration(pause.ended.unwrap_or(view.voice.now).since(pause.begun))
}

/// The causes of these pauses in words, with how often and how long each was.
pub(super) fn legend(view: &View<'_>, pauses: &[&Pause]) -> Markup {
    let of = |cause: Cause| {
        let those: Vec<&&Pause> = pauses.iter().filter(|pause| pause.cause == cause).collect();
        let total = those.iter().map(|pause| pause.ended.unwrap_or(view.voice.now).since(pause.begun)).sum();
        (those.len(), view.voice.locale.duration(total))
    };
    html! {
        @if !pauses.is_empty() {
            ul.legend.pauses {
                @for (cause, (count, total)) in Cause::ALL.map(|cause| (cause, of(cause))) {
                    @if count > 0 {
                        li {
                            svg.key aria-hidden="true" viewBox="0 0 10 11" { rect.(cause.look().0) width="10" height=(cause.look().1) {} }
                            (view.text(cause.word_id())) " "
                            span.number { (count) " · " (total) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::core::work::Actor;

    #[test]
    fn each_cause_begins_and_ends_with_its_events() {
        let mut pauses = Pauses::default();
        let at = |minute: u64| Timestamp::from_seconds(1_772_360_400).after(Duration::from_secs(60 * minute));
        let by = Actor::herder;
        let paused = |reason| Event::Paused { reason };
        pauses.take(&paused(PauseReason::Person(by())), at(0));
        pauses.take(&Event::Resumed { by: by() }, at(1));
        pauses.take(&Event::Waiting { until: at(9), reason: WaitReason::RateLimit }, at(2));
        pauses.take(&Event::WaitOver, at(3));
        pauses.take(&paused(PauseReason::Account(Category::Billing)), at(4));
        pauses.take(&Event::AccountOpened { by: by() }, at(5));
        pauses.take(&paused(PauseReason::Account(Category::Quota)), at(6));
        // Another cause takes its place.
        pauses.take(&paused(PauseReason::Escalation), at(7));
        pauses.take(&Event::Waiting { until: at(9), reason: WaitReason::Rest }, at(8));
        pauses.take(&Event::Degraded { crashes: 3 }, at(9));
        let seen: Vec<(Cause, u64, Option<u64>)> = pauses
            .since(at(0))
            .map(|pause| {
                let minute = |time: Timestamp| time.since(at(0)).as_secs() / 60;
                (pause.cause, minute(pause.begun), pause.ended.map(minute))
            })
            .collect();
        let wanted = [
            (Cause::Person, 0, Some(1)),
            (Cause::Limit, 2, Some(3)),
            (Cause::Money, 4, Some(5)),
            (Cause::Limit, 6, Some(7)),
            (Cause::Question, 7, Some(8)),
            (Cause::Failure, 9, None),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(pauses.since(at(8)).count(), 1, "those of before are over");
    }
}
