//! Meanings of colours and signs, the same everywhere on the page.

use super::View;
use crate::core::agent::Phase;
use crate::core::time::Timestamp;
use crate::supervisor::View as Seen;

/// State of an agent in the five ways that a person tells apart at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Needs,
    Works,
    Waits,
    Rests,
    Failed,
}

impl Mood {
    /// All of them: what needs a person first.
    pub(super) const ALL: [Self; 5] = [Self::Needs, Self::Failed, Self::Works, Self::Waits, Self::Rests];

    pub(super) fn of(seen: &Seen, now: Timestamp) -> Self {
        let agent = &*seen.agent;
        if agent.needs_a_person(now) {
            let is_asked = !Need::of(seen, now).is_empty();
            return if is_asked { Self::Needs } else { Self::Failed };
        }
        match &agent.phase {
            Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => Self::Works,
            Phase::Waiting { .. } => Self::Waits,
            Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded => Self::Rests,
            Phase::Idle if seen.hold.is_some() && agent.wants().is_some() => Self::Waits,
            Phase::Idle | Phase::Removed => Self::Rests,
        }
    }

    /// Whether an agent is one of these, as counted and filtered: those that have failed need a person, too.
    pub(super) fn includes(self, seen: &Seen, now: Timestamp) -> bool {
        match self {
            Self::Needs => seen.agent.needs_a_person(now),
            Self::Works | Self::Waits | Self::Rests | Self::Failed => Self::of(seen, now) == self,
        }
    }

    /// Its class in the stylesheet, and its word in addresses.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Works => "works",
            Self::Waits => "waits",
            Self::Rests => "rests",
            Self::Failed => "failed",
        }
    }

    /// The word for it.
    pub(super) fn word_id(self) -> &'static str {
        match self {
            Self::Needs => "page-mood-needs",
            Self::Works => "page-mood-works",
            Self::Waits => "page-mood-waits",
            Self::Rests => "page-mood-rests",
            Self::Failed => "page-mood-failed",
        }
    }

    /// The sentence for how many there are.
    pub(super) fn count_id(self) -> &'static str {
        match self {
            Self::Needs => "page-count-needs",
            Self::Works => "page-count-works",
            Self::Waits => "page-count-waits",
            Self::Rests => "page-count-rests",
            Self::Failed => "page-count-failed",
        }
    }

    /// The colour is never the only sign.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Needs => "▲",
            Self::Works => "●",
            Self::Waits => "◐",
            Self::Rests => "○",
            Self::Failed => "✖",
        }
    }
}

/// The reason for which an agent that does not stand still needs a person, with how often it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Call,
    Answers(usize),
    Reviews(usize),
}

impl Need {
    /// The reasons that hold for an agent.
    pub(super) fn of(seen: &Seen, now: Timestamp) -> Vec<Self> {
        let agent = &*seen.agent;
        let call = agent.watch.escalation.is_some().then_some(Self::Call);
        let asks = agent.asks.iter().filter(|ask| ask.until > now).count();
        let reviews = agent.checkouts.waiting_reviews().count();
        let counted = [Self::Answers(asks), Self::Reviews(reviews)];
        call.into_iter().chain(counted.into_iter().filter(|need| need.count() > 0)).collect()
    }

    fn count(self) -> usize {
        match self {
            Self::Call => 1,
            Self::Answers(count) | Self::Reviews(count) => count,
        }
    }

    /// The words for it, read after the agent's name.
    pub(super) fn words(self, view: &View<'_>) -> String {
        let id = match self {
            Self::Call => "page-row-called",
            Self::Answers(_) => "page-row-asks",
            Self::Reviews(_) => "page-row-review",
        };
        view.voice.text(id, &[("count", self.count().into())])
    }
}
