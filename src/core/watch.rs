//! What the evaluator has seen of one agent, and how far it has gone up the ladder.
//!
//! ```text
//!   nothing found ──finding──► told once ──finding──► told twice ──finding──► a person is called, the agent is paused
//!        ▲                        │                       │
//!        └────────── OK ──────────┴───────────────────────┘        (also: other work, a pause, a person who resumes it)
//! ```
//!
//! A finding is never a person's whisper, and nothing happens on a first one but a whisper, whatever the verdict says. Nor
//! is one a step while the agent has not got what it was told before: that step waits. An agent that cannot be told goes on
//! unnoticed no longer for it: after [`UNHEARD_MAX`] such findings a person is called, and told so.
//!
//! A person is called as well where a session ended in a way that trying again does not mend ([`Why::Ended`]).

mod counts;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::agent::{Agent, Phase};
use super::apply::subject;
use super::detail::Detail;
use super::detector::Finding;
use super::id::WorkId;
use super::outcome::Category;
use super::time::Timestamp;
use super::turn::Turn;
use super::verdict::{Lapse, Verdict};
use super::work::Actor;
pub use counts::{Counts, Lapses};

/// The most turns that are kept, whatever is configured: what one evaluation is shown is bounded in bytes as well.
pub const WINDOW_MAX: usize = 100;

/// Whispers of the evaluator that are remembered, to be marked right or wrong and to be shown to the next evaluation.
pub const TOLD_KEPT: usize = 20;

/// Words of people that are remembered, to be shown to the next evaluation.
pub const SAID_KEPT: usize = 20;

/// The most of them, in bytes: far more than is shown, so that a secret which is cut here is not shown at all.
pub const SAID_TEXT_MAX: usize = 2 * 1024;

/// Lapses in a row after which people are told (contract of the evaluator: never taken for OK in silence).
pub const LAPSES_SAID_AT: u32 = 5;

/// Evaluations whose end is waited for though nobody listens to it: one ends a moment after it was overtaken.
const OVERTAKEN_MAX: usize = 16;

/// Findings in a row while a whisper waits, with which a person is called: each is an interval of turns apart, and whatever
/// can be told is told within one.
pub const UNHEARD_MAX: u32 = 2;

/// The evaluator as this agent knows it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// The last turns, oldest first.
    pub window: VecDeque<Arc<Turn>>,
    /// Turns since the last evaluation began.
    pub since: u32,
    /// Findings in a row, each of which the agent was told of.
    pub findings: u32,
    /// Findings in a row, since the last of those, while what it was told had not reached it.
    pub unheard: u32,
    /// The evaluation that runs.
    pub open: Option<Open>,
    /// Those that were overtaken and are not over yet: what they cost counts all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overtaken: Vec<u32>,
    /// The number of the last one.
    pub last: u32,
    /// Whether the last one was begun because of a finding of the built-in detector: it is not begun for one again and
    /// again while another evaluator says that all is well.
    pub hinted: bool,
    /// Lapses in a row.
    pub lapses: u32,
    /// What became of evaluations.
    pub counts: Counts,
    /// What came of the last one.
    pub judged: Option<Judged>,
    /// Its last whispers, oldest first.
    pub told: VecDeque<Told>,
    /// What people have said to it at its work, oldest first.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub said: VecDeque<Said>,
    /// The call for a person that stands.
    pub escalation: Option<Escalation>,
    /// The last one that was answered.
    pub answered: Option<Answered>,
}

/// An evaluation that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Its number.
    pub number: u32,
    /// What the built-in detector has found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// What the agent was told before had not reached it when this began: the turns that are judged say nothing of whether it
    /// helped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
}

/// What came of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Judgement,
}

/// What an evaluation comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Somebody looked.
    Verdict(Verdict),
    /// Nobody could.
    Lapse(Lapse),
}

/// A whisper of the evaluator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Its id.
    pub id: WorkId,
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub text: String,
    /// When the agent has got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Timestamp>,
    /// Whether all was well when its turns were judged after that, or something was found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<bool>,
    /// What an operator says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// Words of a person that have reached the agent while it worked: a message or a whisper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The work that it had; none: a round of its loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// When.
    pub at: Timestamp,
    /// The words, at most [`SAID_TEXT_MAX`] bytes.
    pub text: String,
}

/// Whether a whisper was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// It was.
    Right,
    /// It was not.
    Wrong,
}

/// Why a person is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// What the built-in detector has found.
    Found(Finding),
    /// In the evaluator's own words.
    Said(String),
    /// Its session ended so, and the same again would not help.
    Ended {
        /// How.
        category: Category,
        /// Why, and what was tried.
        detail: Detail,
    },
}

/// A call for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escalation {
    /// Its id, of the same numbers as works'.
    pub id: WorkId,
    /// When.
    pub at: Timestamp,
    /// The work it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// That work, in a line.
    pub text: String,
    /// Why.
    pub why: Why,
    /// How often a person was called for the same work, this time included.
    pub times: u32,
    /// What the agent was told has not reached it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
    /// How often it was repeated because nobody answered.
    #[serde(default)]
    pub reminded: u32,
    /// When that is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<Timestamp>,
    /// Who has seen to it and not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked: Option<Actor>,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The agent goes on with the same work.
    Resume,
    /// Its work is given up.
    Abort,
    /// The agent is gone.
    Remove,
    /// Its task goes to somebody else, or is done in parts.
    Moved,
}

/// A call that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The call.
    pub escalation: Escalation,
    /// What was answered.
    pub answer: Answer,
    /// By whom.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// Whether a finding is a step up the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// The agent is there to be told of it.
    Yes,
    /// It has not got what it was told before.
    NotYet,
    /// It has got that by now, but not before what was judged.
    Since,
    /// Nobody is there to be told.
    Nobody,
}

impl Watch {
    /// Whether nothing was ever seen or said.
    #[must_use]
    pub fn is_new(&self) -> bool {
        *self == Self::default()
    }

    /// A turn was seen; as many as `keep` are kept.
    pub(super) fn see(&mut self, turn: Arc<Turn>, keep: usize) {
        self.since = self.since.saturating_add(1);
        self.window.push_back(turn);
        while self.window.len() > keep.min(WINDOW_MAX) {
            self.window.pop_front();
        }
    }

    /// What was seen so far says nothing of what comes. Counters, whispers and calls stay.
    pub(super) fn start_afresh(&mut self) {
        self.window.clear();
        self.since = 0;
        self.all_is_well();
        self.overtake();
        self.hinted = false;
    }

    /// Nobody listens any more to the evaluation that runs.
    fn overtake(&mut self) {
        let Some(open) = self.open.take() else { return };
        if self.overtaken.len() >= OVERTAKEN_MAX {
            self.overtaken.remove(0);
        }
        self.overtaken.push(open.number);
    }

    /// An evaluation begins.
    pub(super) fn begin(&mut self, open: Open) {
        self.overtake();
        self.since = 0;
        self.last = self.last.max(open.number);
        self.hinted = open.finding.is_some();
        self.open = Some(open);
    }

    /// A number is given.
    pub(super) fn number(&mut self, number: u32) {
        self.last = self.last.max(number);
    }

    /// Nobody can say what an evaluation has cost, or what more.
    pub(super) fn count_unmetered(&mut self, unmetered: bool) {
        self.counts.unmetered = self.counts.unmetered.saturating_add(u64::from(unmetered));
    }

    /// What stays of it when an agent of the same name is added again: numbers are never given twice, and sums go on.
    pub(super) fn added_again(&self) -> Self {
        Self { last: self.last, counts: self.counts, ..Self::default() }
    }

    /// Evaluations that are not over, by their numbers.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        self.overtaken.iter().copied().chain(self.open.as_ref().map(|open| open.number))
    }

    /// The ladder begins anew.
    fn all_is_well(&mut self) {
        (self.findings, self.unheard) = (0, 0);
    }

    /// Something was found.
    pub(super) fn found(&mut self, heard: Heard) {
        match heard {
            Heard::Yes => {
                self.followed(false);
                self.findings = self.findings.saturating_add(1);
                self.unheard = 0;
            }
            Heard::NotYet => self.unheard = self.unheard.saturating_add(1),
            Heard::Since | Heard::Nobody => {}
        }
    }

    /// The turns since it was told were judged.
    fn followed(&mut self, followed: bool) {
        let Some(since) = self.window.front().map(|turn| turn.at) else { return };
        for told in self.told.iter_mut().filter(|told| told.heard.is_some_and(|heard| heard >= since)) {
            told.followed.get_or_insert(followed);
        }
    }

    /// An evaluation is over.
    pub(super) fn close(&mut self, number: u32, judgement: &Judgement, heard: Heard, at: Timestamp) {
        let Some(open) = self.open.take_if(|open| open.number == number) else {
            return self.close_overtaken(number);
        };
        if let Judgement::Lapse(lapse @ Lapse::Overtaken) = judgement {
            return self.counts.lapse(lapse);
        }
        self.judged = Some(Judged { at, what: judgement.clone() });
        match judgement {
            Judgement::Verdict(verdict) => {
                self.lapses = 0;
                self.counts.judged = self.counts.judged.saturating_add(1);
                if verdict.is_finding() {
                    self.counts.findings = self.counts.findings.saturating_add(1);
                    self.found(heard);
                } else {
                    if !open.untold {
                        self.followed(true);
                    }
                    self.all_is_well();
                }
            }
            Judgement::Lapse(lapse) => {
                self.lapses = self.lapses.saturating_add(1);
                self.counts.lapse(lapse);
                if lapse.is_ok(open.finding.is_none(), self.lapses) {
                    self.all_is_well();
                }
            }
        }
    }

    /// An evaluation that nobody listens to is over: whatever it says, nobody has judged.
    fn close_overtaken(&mut self, number: u32) {
        if let Some(index) = self.overtaken.iter().position(|overtaken| *overtaken == number) {
            self.overtaken.remove(index);
            self.counts.lapse(&Lapse::Overtaken);
        }
    }

    /// The agent has got whispers. It is judged by the turns after that.
    pub(super) fn heard(&mut self, whispers: &[WorkId], at: Timestamp) {
        for told in self.told.iter_mut().filter(|told| whispers.contains(&told.id)) {
            told.heard = Some(at);
            self.since = 0;
        }
    }

    /// A whisper of the evaluator is on its way.
    pub(super) fn tell(&mut self, told: Told) {
        self.told.push_back(told);
        while self.told.len() > TOLD_KEPT {
            self.told.pop_front();
        }
    }

    /// A person has said something.
    pub(super) fn hear_people(&mut self, said: Said) {
        self.said.push_back(said);
        while self.said.len() > SAID_KEPT {
            self.said.pop_front();
        }
    }

    /// An operator says whether a whisper was called for; another word counts instead of the one before.
    pub(super) fn mark(&mut self, id: WorkId, mark: Mark) {
        let Some(told) = self.told.iter_mut().find(|told| told.id == id) else { return };
        let before = told.mark.replace(mark);
        let counts = &mut self.counts;
        match before {
            Some(Mark::Right) => counts.right = counts.right.saturating_sub(1),
            Some(Mark::Wrong) => counts.wrong = counts.wrong.saturating_sub(1),
            None => {}
        }
        match mark {
            Mark::Right => counts.right = counts.right.saturating_add(1),
            Mark::Wrong => counts.wrong = counts.wrong.saturating_add(1),
        }
    }

    /// When people are reminded of the call that stands.
    #[must_use]
    pub fn remind_at(&self) -> Option<Timestamp> {
        self.escalation.as_ref().filter(|call| call.acked.is_none())?.remind_at
    }
}

impl Agent {
    /// Whether it is there to be told of what is found, now or with its next session: one that is paused or has nothing to do
    /// is not.
    pub(super) fn is_at_work(&self) -> bool {
        let loops = || self.spec.as_ref().is_some_and(|spec| spec.looping);
        match self.phase {
            Phase::Starting { .. } | Phase::Running { .. } => true,
            Phase::Idle | Phase::Waiting { .. } => self.held().is_some() || loops(),
            Phase::Stopping { .. }
            | Phase::Paused { .. }
            | Phase::NeedsIntervention
            | Phase::Degraded
            | Phase::Removed => false,
        }
    }

    /// What people have said to it about the work at hand; of its loop, since the turns that are remembered.
    pub fn said(&self) -> impl Iterator<Item = &str> {
        let work = self.current.as_ref().or_else(|| self.held()).and_then(subject);
        let since = self.watch.window.front().map(|turn| turn.at);
        let said = self.watch.said.iter().filter(move |said| said.work == work);
        let said = said.filter(move |said| work.is_some() || since.is_some_and(|since| said.at >= since));
        said.map(|said| said.text.as_str())
    }

    /// Whether something that was found waits to be told.
    pub(super) fn is_untold(&self) -> bool {
        self.whispers.iter().any(|whisper| whisper.tone.is_finding())
    }
}
