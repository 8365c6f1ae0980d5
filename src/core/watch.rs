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

/// Maximum number of turns that are kept for the evaluator, whatever is configured. The text shown to one evaluation is
/// bounded in bytes as well.
pub const WINDOW_MAX: usize = 100;

/// Number of the evaluator's whispers that are kept, to be marked right or wrong and shown to the next evaluation.
pub const TOLD_KEPT: usize = 20;

/// Number of people's messages that are kept, to be shown to the next evaluation.
pub const SAID_KEPT: usize = 20;

/// Maximum length of a person's message that is kept for the evaluator, in bytes: far more than is shown, so that a
/// secret that is cut here is not shown at all.
pub const SAID_TEXT_MAX: usize = 2 * 1024;

/// Number of evaluations in a row without a verdict after which people are told, as such a lapse must never pass for an
/// OK in silence.
pub const LAPSES_SAID_AT: u32 = 5;

/// Maximum number of overtaken evaluations whose end is awaited, so that their cost is known.
const OVERTAKEN_MAX: usize = 16;

/// Number of findings in a row during which a whisper stays undelivered, after which a person is called.
pub const UNHEARD_MAX: u32 = 2;

/// The evaluator's state for one agent: turns, the running evaluation, findings in a row, whispers, and the call for a
/// person.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// The last turns of the agent, oldest first.
    pub window: VecDeque<Arc<Turn>>,
    /// Number of turns since the last evaluation started.
    pub since: u32,
    /// Number of findings in a row that the agent was told of: the position on the ladder from whisper to call.
    pub findings: u32,
    /// Number of findings in a row since then that the agent was not told of, because a whisper was undelivered.
    pub unheard: u32,
    /// The running evaluation; `None` if there is none.
    pub open: Option<Open>,
    /// Numbers of overtaken evaluations that have not ended; their cost counts all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overtaken: Vec<u32>,
    /// Number of the last evaluation.
    pub last: u32,
    /// True if the last evaluation was started by a finding of the built-in detector. Such findings do not start
    /// another one as long as the evaluator sees no problem.
    pub hinted: bool,
    /// Number of evaluations in a row without a verdict.
    pub lapses: u32,
    /// Counts of all evaluations by result.
    pub counts: Counts,
    /// Result of the last evaluation.
    pub judged: Option<Judged>,
    /// The evaluator's last whispers, oldest first, at most [`TOLD_KEPT`].
    pub told: VecDeque<Told>,
    /// Messages of people that reached the agent during its work, oldest first, at most [`SAID_KEPT`].
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub said: VecDeque<Said>,
    /// The call for a person, while it is open.
    pub escalation: Option<Escalation>,
    /// The last call for a person that was answered.
    pub answered: Option<Answered>,
}

/// A running evaluation of an agent, whose result has not arrived yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Number of the evaluation.
    pub number: u32,
    /// Finding of the built-in detector before the evaluation began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// True if the agent's last whisper was undelivered when the evaluation began, so that the judged turns do not show
    /// whether the whisper helped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
}

/// The result of the last evaluation, with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Time at which the evaluation ended.
    pub at: Timestamp,
    /// The verdict, or the reason why there is none.
    pub what: Judgement,
}

/// The result of an evaluation: a verdict, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The turns were examined, with this verdict.
    Verdict(Verdict),
    /// The turns could not be examined, for this reason.
    Lapse(Lapse),
}

/// A whisper of the evaluator, kept after its delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Number of the whisper.
    pub id: WorkId,
    /// Time at which the whisper was sent.
    pub at: Timestamp,
    /// Text of the whisper.
    pub text: String,
    /// Time of its delivery; `None` if it is undelivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Timestamp>,
    /// True if the next evaluation after the whisper's delivery found nothing, false if it found something; `None` as
    /// long as that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<bool>,
    /// An operator's mark on the whisper, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// A person's message or whisper that reached the agent at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Number of the agent's work at that time; `None`: a round of its loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Time at which the message was delivered.
    pub at: Timestamp,
    /// Text of the message, at most [`SAID_TEXT_MAX`] bytes.
    pub text: String,
}

/// An operator's mark on a whisper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The whisper was justified.
    Right,
    /// The whisper was not justified.
    Wrong,
}

/// Reason for calling a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The built-in detector's finding.
    Found(Finding),
    /// The evaluator's finding, in its own words.
    Said(String),
    /// The session ended with this category, and another try would not help.
    Ended {
        /// Category of the session's outcome.
        category: Category,
        /// The reason for the outcome, and what was tried.
        detail: Detail,
    },
}

/// A call for a person to an agent that makes no progress: it is open until a person answers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escalation {
    /// Number of the call, from the same sequence as works.
    pub id: WorkId,
    /// Time at which the person was called.
    pub at: Timestamp,
    /// Number of the work that the call is about; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Excerpt of the text of the work that the call is about, on one line.
    pub text: String,
    /// Reason for the call.
    pub why: Why,
    /// Number of calls for the same work, including this one.
    pub times: u32,
    /// True if the agent was not told first, as its last whisper was not delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
    /// Number of reminders posted so far.
    #[serde(default)]
    pub reminded: u32,
    /// Time of the next reminder; `None` if no more follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<Timestamp>,
    /// The person who acknowledged the call and has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked: Option<Actor>,
}

/// A person's answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The agent resumes the same work.
    Resume,
    /// The agent's work is given up.
    Abort,
    /// The agent is removed from the fleet.
    Remove,
    /// The agent's task goes to another agent, or is split.
    Moved,
}

/// A call for a person that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The call that was answered.
    pub escalation: Escalation,
    /// The person's answer.
    pub answer: Answer,
    /// The person who answered.
    pub by: Actor,
    /// Time at which the person answered.
    pub at: Timestamp,
}

/// Whether a finding counts as a step on the ladder from whisper to call, by whether the agent can be told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// The agent is at work and is told of the finding: a step.
    Yes,
    /// The agent's last whisper is undelivered, so that this one waits.
    NotYet,
    /// The last whisper was delivered, but only after the judged turns: no step.
    Since,
    /// The agent is not at work: no step.
    Nobody,
}

impl Watch {
    /// Returns true if no turn or evaluation was ever recorded.
    #[must_use]
    pub fn is_new(&self) -> bool {
        *self == Self::default()
    }

    /// Appends a turn of the model; at most `keep` turns are kept.
    pub(super) fn see(&mut self, turn: Arc<Turn>, keep: usize) {
        self.since = self.since.saturating_add(1);
        self.window.push_back(turn);
        while self.window.len() > keep.min(WINDOW_MAX) {
            self.window.pop_front();
        }
    }

    /// Drops the kept turns and the findings in a row, because the work that follows is judged by itself. Counters,
    /// whispers and calls stay.
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

    /// Records that an evaluation began; one that still ran is overtaken.
    pub(super) fn begin(&mut self, open: Open) {
        self.overtake();
        self.since = 0;
        self.last = self.last.max(open.number);
        self.hinted = open.finding.is_some();
        self.open = Some(open);
    }

    /// Records that the number of an evaluation or of a split is in use, so that it is not used again.
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

    /// Yields the numbers of evaluations that have not ended: overtaken ones and the running one.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        self.overtaken.iter().copied().chain(self.open.as_ref().map(|open| open.number))
    }

    /// Sets the numbers of findings in a row to zero.
    fn all_is_well(&mut self) {
        (self.findings, self.unheard) = (0, 0);
    }

    /// Counts a finding, by whether the agent is told of it.
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

    /// Records for the whispers delivered before the judged turns whether the agent followed them.
    fn followed(&mut self, followed: bool) {
        let Some(since) = self.window.front().map(|turn| turn.at) else { return };
        for told in self.told.iter_mut().filter(|told| told.heard.is_some_and(|heard| heard >= since)) {
            told.followed.get_or_insert(followed);
        }
    }

    /// Records the end of an evaluation, with its verdict or lapse.
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

    /// Records the end of an overtaken evaluation. It counts as a lapse, whatever its verdict is.
    fn close_overtaken(&mut self, number: u32) {
        if let Some(index) = self.overtaken.iter().position(|overtaken| *overtaken == number) {
            self.overtaken.remove(index);
            self.counts.lapse(&Lapse::Overtaken);
        }
    }

    /// Records that whispers were delivered. The next evaluation judges the turns after that.
    pub(super) fn heard(&mut self, whispers: &[WorkId], at: Timestamp) {
        for told in self.told.iter_mut().filter(|told| whispers.contains(&told.id)) {
            told.heard = Some(at);
            self.since = 0;
        }
    }

    /// Keeps a whisper that the evaluator has sent; the oldest one makes room.
    pub(super) fn tell(&mut self, told: Told) {
        self.told.push_back(told);
        while self.told.len() > TOLD_KEPT {
            self.told.pop_front();
        }
    }

    /// Keeps a person's message for the evaluator; the oldest one makes room.
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

    /// Returns the time of the next reminder of the open call; `None` if there is no call, a person has acknowledged
    /// it, or no more reminders follow.
    #[must_use]
    pub fn remind_at(&self) -> Option<Timestamp> {
        self.escalation.as_ref().filter(|call| call.acked.is_none())?.remind_at
    }
}

impl Agent {
    /// Returns true if the agent can be told of a finding, now or in its next session: it is neither paused nor without
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

    /// Returns true if a whisper about a finding is undelivered, so that the agent does not know of it.
    pub(super) fn is_untold(&self) -> bool {
        self.whispers.iter().any(|whisper| whisper.tone.is_finding())
    }
}
