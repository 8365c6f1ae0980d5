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

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::detail::Detail;
use super::detector::Finding;
use super::id::WorkId;
use super::outcome::Category;
use super::time::Timestamp;
use super::turn::Turn;
use super::verdict::{Lapse, Verdict};
use super::work::Actor;

/// The most turns that are kept, whatever is configured: what one evaluation is shown is bounded in bytes as well.
pub const WINDOW_MAX: usize = 100;

/// Whispers of the evaluator that are remembered, to be marked right or wrong and to be shown to the next evaluation.
pub const TOLD_KEPT: usize = 20;

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
}

/// Sums over all evaluations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// With a verdict.
    pub judged: u64,
    /// Of those, with a finding.
    pub findings: u64,
    /// Without one, for whatever reason.
    pub lapses: u64,
    /// Of those, how many of each kind; what was counted before kinds were told apart is in none of them.
    #[serde(skip_serializing_if = "Lapses::is_empty")]
    pub kinds: Lapses,
    /// Those whose cost nobody can say.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmetered: u64,
    /// Calls for a person.
    pub escalations: u64,
    /// Whispers that an operator called right.
    pub right: u64,
    /// Whispers that an operator called wrong.
    pub wrong: u64,
}

/// How many evaluations there were without a verdict, by [`Lapse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the kind of lapse of its name")]
pub struct Lapses {
    pub timed_out: u64,
    pub busy: u64,
    pub missing: u64,
    pub logged_out: u64,
    pub limited: u64,
    pub failed: u64,
    pub unparsable: u64,
    pub overtaken: u64,
}

impl Lapses {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, lapse: &Lapse) {
        let kind = match lapse {
            Lapse::TimedOut { .. } => &mut self.timed_out,
            Lapse::Busy => &mut self.busy,
            Lapse::Missing { .. } => &mut self.missing,
            Lapse::LoggedOut { .. } => &mut self.logged_out,
            Lapse::Limited { .. } => &mut self.limited,
            Lapse::Failed { .. } => &mut self.failed,
            Lapse::Unparsable { .. } => &mut self.unparsable,
            Lapse::Overtaken => &mut self.overtaken,
        };
        *kind = kind.saturating_add(1);
    }

    /// Those that there were, by [`Lapse::name`].
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("timed-out", self.timed_out),
            ("busy", self.busy),
            ("missing", self.missing),
            ("logged-out", self.logged_out),
            ("limited", self.limited),
            ("failed", self.failed),
            ("unparsable", self.unparsable),
            ("overtaken", self.overtaken),
        ];
        all.into_iter().filter(|(_, count)| *count > 0)
    }
}

impl Counts {
    fn lapse(&mut self, lapse: &Lapse) {
        self.lapses = self.lapses.saturating_add(1);
        self.kinds.count(lapse);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// What an operator says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
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
                self.findings = self.findings.saturating_add(1);
                self.unheard = 0;
            }
            Heard::NotYet => self.unheard = self.unheard.saturating_add(1),
            Heard::Nobody => {}
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

    /// A whisper of the evaluator is on its way.
    pub(super) fn tell(&mut self, told: Told) {
        self.told.push_back(told);
        while self.told.len() > TOLD_KEPT {
            self.told.pop_front();
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
