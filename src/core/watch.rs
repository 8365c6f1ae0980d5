//! The evaluator's state for one agent: turns, evaluations, and the position on the ladder.
//!
//! ```text
//!   nothing found ──finding──► told once ──finding──► told twice ──finding──► a person is called, the agent is paused
//!        ▲                        │                       │
//!        └────────── OK ──────────┴───────────────────────┘        (also: other work, a pause, a person who resumes it)
//! ```
//!
//! A finding is never a person's whisper, and a first one only leads to a whisper, whatever the verdict says. A
//! finding is no step either while the agent's last whisper is undelivered: that step waits. After [`UNHEARD_MAX`]
//! such findings a person is called, and told so.
//!
//! A person is also called if a session ended in a way that another try does not help ([`Why::Ended`]).

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

/// Maximum number of turns that are kept, whatever is configured. The text shown to one evaluation is bounded in
/// bytes as well.
pub const WINDOW_MAX: usize = 100;

/// Number of the evaluator's whispers that are kept, to be marked right or wrong and shown to the next evaluation.
pub const TOLD_KEPT: usize = 20;

/// Number of people's messages that are kept, to be shown to the next evaluation.
pub const SAID_KEPT: usize = 20;

/// Maximum length of such a message, in bytes: far more than is shown, so that a secret that is cut here is not shown
/// at all.
pub const SAID_TEXT_MAX: usize = 2 * 1024;

/// Number of lapses in a row after which people are told (contract of the evaluator: a lapse is never taken for OK in
/// silence).
pub const LAPSES_SAID_AT: u32 = 5;

/// Maximum number of overtaken evaluations whose end is awaited for their cost; one ends soon after it was overtaken.
const OVERTAKEN_MAX: usize = 16;

/// Number of findings in a row with an undelivered whisper after which a person is called. They are an interval of
/// turns apart, within which a whisper is delivered if it can be.
pub const UNHEARD_MAX: u32 = 2;

/// The evaluator's state for this agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// The last turns, oldest first.
    pub window: VecDeque<Arc<Turn>>,
    /// Number of turns since the last evaluation started.
    pub since: u32,
    /// Number of findings in a row of which the agent was told.
    pub findings: u32,
    /// Number of findings in a row since then during which a whisper was undelivered.
    pub unheard: u32,
    /// The running evaluation.
    pub open: Option<Open>,
    /// Numbers of overtaken evaluations that have not ended; their cost counts all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overtaken: Vec<u32>,
    /// Number of the last evaluation.
    pub last: u32,
    /// True if the last evaluation was started by a finding of the built-in detector. Such findings do not start
    /// another one as long as the evaluator sees no problem.
    pub hinted: bool,
    /// Number of lapses in a row.
    pub lapses: u32,
    /// Counts of evaluations by result.
    pub counts: Counts,
    /// Result of the last evaluation.
    pub judged: Option<Judged>,
    /// Its last whispers, oldest first.
    pub told: VecDeque<Told>,
    /// Messages of people that reached the agent at work, oldest first.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub said: VecDeque<Said>,
    /// The open call for a person.
    pub escalation: Option<Escalation>,
    /// The last call that was answered.
    pub answered: Option<Answered>,
}

/// A running evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Its number.
    pub number: u32,
    /// Finding of the built-in detector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// True if the agent's last whisper was undelivered when it started, so that the judged turns do not show whether
    /// the whisper helped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
}

/// The result of an evaluation, with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Time of the result.
    pub at: Timestamp,
    /// The result.
    pub what: Judgement,
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The turns were examined.
    Verdict(Verdict),
    /// The turns could not be examined.
    Lapse(Lapse),
}

/// A whisper of the evaluator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Its number.
    pub id: WorkId,
    /// Time at which it was sent.
    pub at: Timestamp,
    /// Its text.
    pub text: String,
    /// Time of its delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Timestamp>,
    /// True if the next evaluation after its delivery found nothing, false if it found something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<bool>,
    /// An operator's mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// A person's message or whisper that reached the agent at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The agent's work at that time; `None`: a round of its loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Time of its delivery.
    pub at: Timestamp,
    /// The words, at most [`SAID_TEXT_MAX`] bytes.
    pub text: String,
}

/// An operator's mark on a whisper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The whisper was justified.
    Right,
    /// It was not.
    Wrong,
}

/// Reason for calling a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// A finding of the built-in detector.
    Found(Finding),
    /// The evaluator's own words.
    Said(String),
    /// The session ended with this category, and another try would not help.
    Ended {
        /// The category.
        category: Category,
        /// The reason, and what was tried.
        detail: Detail,
    },
}

/// A call for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escalation {
    /// Its number, from the same sequence as works.
    pub id: WorkId,
    /// Time of the call.
    pub at: Timestamp,
    /// The work it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Excerpt of that work's text, on one line.
    pub text: String,
    /// The reason.
    pub why: Why,
    /// Number of calls for the same work, including this one.
    pub times: u32,
    /// True if the agent's last whisper was not delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
    /// Number of reminders so far.
    #[serde(default)]
    pub reminded: u32,
    /// Time of the next reminder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<Timestamp>,
    /// The person who acknowledged it and has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked: Option<Actor>,
}

/// A person's answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The agent continues with the same work.
    Resume,
    /// Its work is given up.
    Abort,
    /// The agent is removed.
    Remove,
    /// Its task goes to another agent, or is split.
    Moved,
}

/// A call that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The call.
    pub escalation: Escalation,
    /// The answer.
    pub answer: Answer,
    /// The person.
    pub by: Actor,
    /// Time of the answer.
    pub at: Timestamp,
}

/// Relation of a finding to the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// The agent is at work and is told of it: a step.
    Yes,
    /// The agent's last whisper is undelivered.
    NotYet,
    /// The last whisper was delivered, but only after the judged turns.
    Since,
    /// The agent is not at work.
    Nobody,
}

impl Watch {
    /// Returns true if nothing was ever recorded.
    #[must_use]
    pub fn is_new(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a turn; at most `keep` are kept.
    pub(super) fn see(&mut self, turn: Arc<Turn>, keep: usize) {
        self.since = self.since.saturating_add(1);
        self.window.push_back(turn);
        while self.window.len() > keep.min(WINDOW_MAX) {
            self.window.pop_front();
        }
    }

    /// Drops the turns and the position on the ladder, because what follows is judged by itself. Counters, whispers
    /// and calls stay.
    pub(super) fn start_afresh(&mut self) {
        self.window.clear();
        self.since = 0;
        self.all_is_well();
        self.overtake();
        self.hinted = false;
    }

    /// Marks the running evaluation as overtaken: its verdict is ignored.
    fn overtake(&mut self) {
        let Some(open) = self.open.take() else { return };
        if self.overtaken.len() >= OVERTAKEN_MAX {
            self.overtaken.remove(0);
        }
        self.overtaken.push(open.number);
    }

    /// Starts an evaluation.
    pub(super) fn begin(&mut self, open: Open) {
        self.overtake();
        self.since = 0;
        self.last = self.last.max(open.number);
        self.hinted = open.finding.is_some();
        self.open = Some(open);
    }

    /// Records that a number is in use.
    pub(super) fn number(&mut self, number: u32) {
        self.last = self.last.max(number);
    }

    /// Counts an evaluation whose cost is unknown in part or whole.
    pub(super) fn count_unmetered(&mut self, unmetered: bool) {
        self.counts.unmetered = self.counts.unmetered.saturating_add(u64::from(unmetered));
    }

    /// Returns the state that an agent added again under the same name keeps: numbers are never used twice, and sums
    /// continue.
    pub(super) fn added_again(&self) -> Self {
        Self { last: self.last, counts: self.counts, ..Self::default() }
    }

    /// Yields the numbers of evaluations that have not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        self.overtaken.iter().copied().chain(self.open.as_ref().map(|open| open.number))
    }

    /// Resets the ladder.
    fn all_is_well(&mut self) {
        (self.findings, self.unheard) = (0, 0);
    }

    /// Records a finding.
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

    /// Records whether delivered whispers were followed, once the turns after them were judged.
    fn followed(&mut self, followed: bool) {
        let Some(since) = self.window.front().map(|turn| turn.at) else { return };
        for told in self.told.iter_mut().filter(|told| told.heard.is_some_and(|heard| heard >= since)) {
            told.followed.get_or_insert(followed);
        }
    }

    /// Ends an evaluation.
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

    /// Ends an overtaken evaluation. It counts as a lapse, whatever its verdict is.
    fn close_overtaken(&mut self, number: u32) {
        if let Some(index) = self.overtaken.iter().position(|overtaken| *overtaken == number) {
            self.overtaken.remove(index);
            self.counts.lapse(&Lapse::Overtaken);
        }
    }

    /// Records the delivery of whispers. The agent is judged by the turns after that.
    pub(super) fn heard(&mut self, whispers: &[WorkId], at: Timestamp) {
        for told in self.told.iter_mut().filter(|told| whispers.contains(&told.id)) {
            told.heard = Some(at);
            self.since = 0;
        }
    }

    /// Records a whisper of the evaluator.
    pub(super) fn tell(&mut self, told: Told) {
        self.told.push_back(told);
        while self.told.len() > TOLD_KEPT {
            self.told.pop_front();
        }
    }

    /// Records a person's message.
    pub(super) fn hear_people(&mut self, said: Said) {
        self.said.push_back(said);
        while self.said.len() > SAID_KEPT {
            self.said.pop_front();
        }
    }

    /// Records an operator's mark on a whisper; a later mark replaces an earlier one.
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

    /// Returns the time of the next reminder of the open call.
    #[must_use]
    pub fn remind_at(&self) -> Option<Timestamp> {
        self.escalation.as_ref().filter(|call| call.acked.is_none())?.remind_at
    }
}

impl Agent {
    /// Returns true if it can be told of a finding, now or in its next session: it is neither paused nor without
    /// work.
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

    /// Yields people's messages about the current work; for a loop, those since the oldest turn that is kept.
    pub fn said(&self) -> impl Iterator<Item = &str> {
        let work = self.current.as_ref().or_else(|| self.held()).and_then(subject);
        let since = self.watch.window.front().map(|turn| turn.at);
        let said = self.watch.said.iter().filter(move |said| said.work == work);
        let said = said.filter(move |said| work.is_some() || since.is_some_and(|since| said.at >= since));
        said.map(|said| said.text.as_str())
    }

    /// Returns true if a whisper about a finding is undelivered.
    pub(super) fn is_untold(&self) -> bool {
        self.whispers.iter().any(|whisper| whisper.tone.is_finding())
    }
}
