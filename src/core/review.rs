//! Review: how a task's work gets from its clone into the repository's base.
//!
//! ```text
//!   done, its check passed ──► in review ──► accepted ──► kept: done
//!            ▲                     │             ├──────► a pull request, see `pull`
//!            │                     │             └──────► being merged ──► in the base: done
//!            └──── rejected ◄──────┘                            │
//!            └──── a conflict, or a failed check of the result ◄┘
//! ```

mod request;

use serde::{Deserialize, Serialize};

use super::agent::{Agent, Phase};
use super::check::{Claim, Evidence, Progress};
use super::checkout::{Checkout, Checkouts, Held, Stage};
use super::cut;
use super::detail::{Detail, GitReason};
use super::id::{AgentName, WorkId};
use super::pull::{News, Opened};
use super::time::Timestamp;
use super::work::{Actor, Work};

pub use request::{Opinion, ReviewOf};

/// Maximum length of the words of a rejection, in bytes.
pub const WHY_MAX: usize = 8 * 1024;

/// Maximum number of files with conflicts that are named.
pub const FILES_MAX: usize = 20;

/// Number of conflicts from which a person is called instead of the agent.
pub const CONFLICTS_MAX: u32 = 2;

/// Number of rejections by a reviewing agent after which a person is called, by default.
pub const ROUNDS: u32 = 3;

/// The person or agent who looks at a task's work before it counts as done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reviewer {
    /// No review: a task is done once its check has passed.
    #[default]
    None,
    /// A person.
    Person,
    /// Another agent; a person can overrule it.
    Agent {
        /// Name of the agent.
        name: AgentName,
        /// Number of its rejections after which a person is called.
        rounds: u32,
    },
}

/// The form in which a task's commits get into the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// One commit with all changes.
    #[default]
    Squash,
    /// The task's commits, made anew on top of the base.
    Rebase,
    /// The task's commits as they are, and a merge commit.
    Merge,
}

impl Method {
    /// Names of the methods, as in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("squash", Self::Squash), ("rebase", Self::Rebase), ("merge", Self::Merge)];
}

/// The effect of accepting a task's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnAccept {
    /// The work stays on the task's branch.
    #[default]
    Keep,
    /// The work is merged into the base.
    Merge(Method),
    /// The branch is pushed, and a pull request opened for it.
    Pull {
        /// Number of times that failed checks and remarks go back to the agent before a person is called.
        follow_ups: u32,
    },
}

/// The settings by which a task's work gets into the base.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Landing {
    /// The one who looks at it.
    pub review: Reviewer,
    /// The effect of accepting it.
    pub on_accept: OnAccept,
}

impl Landing {
    /// Returns true if a task is done without a review and without a merge.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Progress of the merge of an accepted task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merging {
    /// The merge runs, or is to be run.
    Due,
    /// The merge has failed: it is tried again once a person accepts the task again.
    Failed,
    /// A pull request is open.
    Open,
}

/// The acceptance of a task whose work is not in the base yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// The person or agent that accepted it, or herder if nobody reviews it.
    pub by: Actor,
    /// Number of the merge, counted for each clone: an earlier one's result is ignored.
    pub number: u32,
    /// The accepted commit.
    pub head: String,
    /// Progress of the merge.
    pub merging: Merging,
}

/// A task whose work waits for a person, or for its merge. It is in no queue meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The task itself.
    pub work: Work,
    /// The agent's last words about it.
    pub note: Detail,
    /// The reviewed commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// Time at which the review began.
    pub since: Timestamp,
    /// The agent that is asked for a verdict; `None` if the task waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// The reason why a person is to decide instead of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Detail>,
    /// Its acceptance; `None` before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Acceptance>,
}

/// The agent that is asked for a verdict on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Name of the agent.
    pub agent: AgentName,
    /// Number of the review, counted for each clone: a verdict on an earlier one is ignored.
    pub number: u32,
}

impl Review {
    /// Returns the agent that is asked for a verdict, if nobody has given one yet.
    #[must_use]
    pub fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref().filter(|_| self.accepted.is_none())
    }

    /// Returns true if a person is to decide: not an agent, not the merge, and nobody at a forge.
    #[must_use]
    pub fn waits_for_person(&self) -> bool {
        !self.is_being_merged() && self.asked().is_none() && !self.is_outside()
    }

    /// Returns true if the work is accepted, and its merge runs or is to be run.
    #[must_use]
    pub fn is_being_merged(&self) -> bool {
        self.accepted.as_ref().is_some_and(|accepted| accepted.merging == Merging::Due)
    }
}

/// Reason why work goes back to its agent, beside a check that has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Back {
    /// Files are changed and not committed, so that they would not be merged.
    Uncommitted {
        /// Number of the files.
        files: u32,
    },
    /// A person or a reviewing agent has rejected it.
    Rejected {
        /// The person or agent.
        by: Actor,
        /// The words of the person or agent.
        why: String,
    },
    /// It conflicts with what is in the base by now.
    Conflict {
        /// Name of the base's branch.
        branch: String,
        /// Names of the files, at most [`FILES_MAX`].
        files: Vec<String>,
    },
    /// Checks of the forge have failed, or people have remarks there.
    Outside {
        /// Address of the pull request.
        link: String,
        /// The checks and remarks.
        news: Box<News>,
    },
    /// The check has failed on the merged files.
    Red {
        /// Name of the base's branch.
        branch: String,
        /// The result of the check.
        evidence: Box<Evidence>,
    },
}

impl Back {
    /// Returns what the agent is told, before its task's text.
    #[must_use]
    pub(super) fn words(&self) -> String {
        let update = |branch: &str| {
            format!(
                "Run `git fetch origin`, merge `origin/{branch}` into your branch or rebase onto it, and commit. It is \
                 looked at again when you are done."
            )
        };
        match self {
            Self::Uncommitted { files } => format!(
                "Your work on this is not done: {files} changed files are not committed. Commit what belongs to it on \
                 your branch, and remove the rest or have git ignore it."
            ),
            Self::Outside { link, news } => news.words(link),
            Self::Rejected { by, why } => format!(
                "{} has looked at your work on this and sends it back:\n\n{why}\n\nGo on from what is there, and commit.",
                by.name
            ),
            Self::Conflict { branch, files } => format!(
                "Your work on this was accepted, but conflicts with what is on {branch} by now, in: {}. {}",
                files.join(", "),
                update(branch)
            ),
            Self::Red { branch, evidence } => format!(
                "Your work on this was accepted, but together with what is on {branch} by now `{}` fails. The end of its \
                 output:\n\n{}\n\n{}",
                evidence.command,
                evidence.output,
                update(branch)
            ),
        }
    }

    /// Returns the reason for people.
    #[must_use]
    pub fn why(&self) -> Detail {
        match self {
            Self::Uncommitted { files } => GitReason::Uncommitted { files: *files }.into(),
            Self::Conflict { branch, files } => {
                GitReason::Conflict { branch: branch.clone(), files: files.join(", ") }.into()
            }
            Self::Red { branch, evidence } => {
                let own = GitReason::Red { command: evidence.command.clone(), branch: branch.clone() };
                own.with(evidence.why().to_string())
            }
            Self::Outside { link, news } => {
                GitReason::Outside { link: link.clone(), names: news.from() }.into()
            }
            Self::Rejected { why, .. } => Detail::from(why.clone()),
        }
    }

    /// Returns the reason with texts of bounded length.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Rejected { by, why } => Self::Rejected { by, why: cut::both_ends(why.trim(), WHY_MAX) },
            other => other,
        }
    }
}

/// The place of a task's work in the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    /// Name of the base's branch.
    pub branch: String,
    /// The base's last commit after the merge.
    pub commit: String,
    /// The accepted commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// Address of the pull request that was merged; empty if herder merged it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
}

/// The evidence that is kept about a task that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// Name of the task's branch.
    pub branch: String,
    /// The last check, without its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Evidence>,
    /// The person or agent that accepted the work, or herder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Actor>,
    /// The place of the work in the base, if it was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landed>,
}

/// The extent of a task's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Change {
    /// Number of commits since the base.
    pub commits: u32,
    /// Number of files that differ from the base.
    pub files: u32,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// Number of changed and new files that are not committed.
    #[serde(default)]
    pub uncommitted: u32,
}

impl From<&Held> for Change {
    fn from(held: &Held) -> Self {
        let Held { commits, files, added, removed, uncommitted, .. } = *held;
        Self { commits, files, added, removed, uncommitted }
    }
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merged {
    /// The work is in the base.
    Landed(Landed),
    /// The settings do not merge any more: it stays on its branch.
    Kept,
    /// The branch is pushed, and its pull request is open.
    Proposed(Opened),
    /// It goes back to the agent.
    Back(Back),
}

impl Checkout {
    /// Returns what the agent is told before it works on this again; `None` if the work was not sent back.
    #[must_use]
    pub fn sent_back(&self, work: WorkId) -> Option<String> {
        if let Some(back) = self.back.as_deref().filter(|back| back.0 == work) {
            return Some(back.1.words());
        }
        let refused = |claim: &&Claim| claim.work == work && claim.progress == Progress::Refused;
        self.claim.as_ref().filter(refused)?;
        self.evidence.as_ref().map(|evidence| evidence.words())
    }

    /// Returns the evidence that is kept once the task has ended.
    pub(super) fn proof(&self) -> Proof {
        let check =
            self.evidence.as_deref().map(|evidence| Evidence { output: String::new(), ..evidence.clone() });
        let accepted = self.review.as_ref().and_then(|review| Some(review.accepted.as_ref()?.by.clone()));
        Proof { branch: self.plan.branch.clone(), check, accepted, landed: self.landed.clone() }
    }

    /// Returns the number of the merge that is to run.
    fn merge_due(&self) -> Option<u32> {
        let accepted = self.review.as_ref()?.accepted.as_ref()?;
        (accepted.merging == Merging::Due).then_some(accepted.number)
    }

    /// Returns true if what is in review is all that the clone holds.
    pub(super) fn is_as_reviewed(&self) -> bool {
        let same = |held: &Held| {
            self.review.as_ref().is_some_and(|review| held.head == review.head) && held.uncommitted == 0
        };
        self.held.as_ref().is_some_and(same)
    }

    /// Returns true if what was merged is all that the clone holds.
    pub(super) fn is_landed(&self) -> bool {
        let all = |held: &Held| {
            self.landed.as_ref().is_some_and(|landed| landed.head == held.head)
                && (held.uncommitted, held.aside) == (0, 0)
        };
        self.stage == Stage::Made && self.held.as_ref().is_some_and(all)
    }

    /// Begins the review of a task that its agent calls done.
    pub(super) fn begin_review(
        &mut self,
        work: Work,
        note: &Detail,
        asked: Option<AgentName>,
        at: Timestamp,
    ) {
        let head = self.held.as_ref().map(|held| held.head.clone()).unwrap_or_default();
        self.landed = None;
        self.reviews = self.reviews.saturating_add(1);
        let asked = asked.map(|agent| Asked { agent, number: self.reviews });
        let note = note.clone();
        self.review =
            Some(Box::new(Review { work, note, head, since: at, asked, left: None, accepted: None }));
    }

    /// Notes that the task waits for a person instead of an agent.
    pub(super) fn leave_to_person(&mut self, why: &Detail) {
        self.rejections = 0;
        if let Some(review) = &mut self.review {
            (review.asked, review.left) = (None, Some(why.clone()));
        }
    }

    /// Notes that a person, or herder, accepts the work.
    pub(super) fn accept(&mut self, by: &Actor) {
        let Some(review) = &mut self.review else { return };
        self.merges = self.merges.saturating_add(1);
        let (by, number, merging) = (by.clone(), self.merges, Merging::Due);
        let head = review.head.clone();
        // A person was called, and lets it go on.
        let goes_on = review.left.is_some() && !by.is_agent();
        if let Some(pull) = self.pull.as_mut().filter(|_| goes_on) {
            pull.follow_ups = 0;
        }
        review.accepted = Some(Acceptance { by, number, head, merging });
    }

    /// Notes that the merge has failed.
    pub(super) fn fail_merge(&mut self) {
        if let Some(accepted) = self.review.as_mut().and_then(|review| review.accepted.as_mut()) {
            accepted.merging = Merging::Failed;
        }
    }

    /// Ends the review and returns the task, which goes back to its agent.
    pub(super) fn end_review(&mut self, back: &Back) -> Option<Work> {
        let Review { work, .. } = *self.review.take()?;
        if let Back::Conflict { .. } | Back::Red { .. } = back {
            self.conflicts = self.conflicts.saturating_add(1);
        }
        if let Back::Rejected { by, .. } = back {
            self.rejections = if by.is_agent() { self.rejections.saturating_add(1) } else { 0 };
        }
        if let Some(pull) = &mut self.pull {
            match back {
                Back::Outside { .. } => pull.follow_ups = pull.follow_ups.saturating_add(1),
                Back::Rejected { by, .. } if !by.is_agent() => pull.follow_ups = 0,
                _ => {}
            }
        }
        self.back = Some(Box::new((work.id, back.clone())));
        Some(work)
    }
}

impl Agent {
    /// Returns the settings by which the work of its tasks gets into the base.
    #[must_use]
    pub fn landing(&self) -> Landing {
        let repository = self.spec.as_ref().and_then(|spec| spec.repository.as_ref());
        repository.map(|repository| repository.landing.clone()).unwrap_or_default()
    }

    /// Returns the effect of accepting a task's work.
    #[must_use]
    pub fn on_accept(&self) -> OnAccept {
        self.landing().on_accept
    }

    /// Returns true if accepted work is merged, and true if a pull request is opened for it.
    pub(super) fn after_acceptance(&self) -> (bool, bool) {
        match self.on_accept() {
            OnAccept::Keep => (false, false),
            OnAccept::Merge(_) => (true, false),
            OnAccept::Pull { .. } => (false, true),
        }
    }

    /// Returns the tasks whose merges are to run, each with the number of that merge.
    pub fn merges_due(&self) -> impl Iterator<Item = (WorkId, u32)> {
        let all = self.checkouts.all.iter().filter(|_| self.phase != Phase::Removed);
        all.filter_map(|(task, checkout)| Some((*task, checkout.merge_due()?)))
    }

    /// Returns all its work: at hand, queued, in review, and waiting for parts.
    pub fn all_works(&self) -> impl Iterator<Item = &Work> {
        let parked = self.board.parked().map(|parked| &parked.work);
        self.current.iter().chain(&self.queue).chain(self.checkouts.in_review()).chain(parked)
    }
}

impl Checkouts {
    /// Returns the reviews, merges included.
    pub fn reviews(&self) -> impl Iterator<Item = &Review> {
        self.all.values().filter_map(|checkout| checkout.review.as_deref())
    }

    /// Returns the reviews that wait for a person.
    pub fn waiting_reviews(&self) -> impl Iterator<Item = &Review> {
        self.reviews().filter(|review| review.waits_for_person())
    }

    /// Returns true if a review waits for a person.
    #[must_use]
    pub fn is_reviewed(&self) -> bool {
        self.waiting_reviews().next().is_some()
    }

    /// Returns the tasks in review, merges included.
    pub fn in_review(&self) -> impl Iterator<Item = &Work> {
        self.reviews().map(|review| &review.work)
    }

    /// Returns true if the work of a task is accepted, and its merge runs or is to be run.
    #[must_use]
    pub fn is_being_merged(&self, task: WorkId) -> bool {
        self.review(task).is_some_and(Review::is_being_merged)
    }

    /// Returns the review of a task.
    #[must_use]
    pub fn review(&self, task: WorkId) -> Option<&Review> {
        self.all.get(&task)?.review.as_deref()
    }

    /// Ends the review of a task that is not its agent's any more, or is done.
    pub(super) fn take_reviewed(&mut self, task: WorkId) -> Option<Work> {
        Some(self.all.get_mut(&task)?.review.take()?.work)
    }
}
