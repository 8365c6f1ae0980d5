//! Meanings of colours and signs, the same everywhere on the page.

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
            let is_asked = agent.watch.escalation.is_some() || agent.asks.iter().any(|ask| ask.until > now);
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
