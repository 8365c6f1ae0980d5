//! The clone and the branch of a task.

mod event;
mod repository;
mod seat;
mod setup;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::agent::Phase;
use super::check::{Check, Claim, Evidence, Progress};
use super::detail::{GitReason, Own};
use super::event::Event;
use super::id::{AgentName, WorkId};
use super::outcome::Usage;
use super::pull::PullRequest;
use super::review::{Back, Landed, Landing, Review, ReviewOf};
use super::work::{TaskEnd, Work, WorkKind};

pub use event::{Act, Acted, Base, CheckoutEvent};
pub use repository::{Repository, address_parts};
pub use seat::Conversation;
pub use setup::CloneSetup;

/// Name of the folder below the data folder in which the clones of tasks are.
pub const FOLDER: &str = "tasks";

/// Maximum length of the part of a branch's name that comes from the task's text, in bytes.
const SLUG_MAX: usize = 40;

/// Maximum length of the reason of a failed act, in bytes.
pub(super) const WHY_MAX: usize = 500;

/// The clone of a task as it is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Number of the task.
    pub task: WorkId,
    /// The repository, as the agent's settings named it when the task began.
    pub repository: Repository,
    /// Name of the task's branch in the clone.
    pub branch: String,
    /// True if the clone was made once: the task's refs in the repository are this herder's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
    /// Name of the branch that the task's work gets into, as it was when the task began; empty if its base was a tag or a
    /// commit, `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// The agents that have had a session there: none of them reviews the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worked: Vec<AgentName>,
    /// Command that must succeed before the task is done, in place of the check that the agent's settings name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<str>>,
    /// The pull request that was opened while the task was another agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Box<PullRequest>>,
}

impl Plan {
    /// Returns the plan for the clone of a task that begins with this work.
    #[must_use]
    pub fn new(repository: &Repository, work: &Work) -> Self {
        let (task, slug) = (work.task(), slug(&work.text));
        let repository = Repository {
            setup: None,
            check: None,
            landing: Landing::default(),
            forge: None,
            ..repository.clone()
        };
        Self {
            task,
            repository,
            branch: format!("herder/{task}-{slug}"),
            begun: false,
            onto: None,
            worked: Vec::new(),
            check: work.card().check.clone(),
            pull: None,
        }
    }

    /// Returns the check of the task, with the limits of the agent's settings; `None` if neither names one.
    #[must_use]
    pub fn check_by(&self, settings: &Repository) -> Option<Check> {
        let set = settings.check.as_deref();
        let Some(command) = self.check.as_deref() else { return set.cloned() };
        let (timeout, tries) = set.map_or((Check::TIMEOUT, Check::TRIES), |set| (set.timeout, set.tries));
        Some(Check { command: command.to_owned(), timeout, tries })
    }

    /// Returns the plan for the clone in which another agent's task is reviewed: it begins from what is reviewed.
    #[must_use]
    pub fn review(of: &ReviewOf, work: &Work) -> Self {
        let (path, url, base) = (of.path.clone(), of.url.clone(), of.head.clone());
        let repository = Repository { path, url, base, ..Repository::default() };
        Self::new(&repository, work)
    }
}

/// The state of a task's clone and branch after a look at them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Held {
    /// The commit that the task began from.
    pub base: String,
    /// The last commit of the task.
    pub head: String,
    /// Number of commits since the base.
    pub commits: u32,
    /// Number of files that differ between the base and the last commit.
    #[serde(skip_serializing_if = "is_zero")]
    pub files: u32,
    /// Number of added lines in those files.
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Number of removed lines in those files.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// Number of changed and new files that are not committed.
    pub uncommitted: u32,
    /// Number of commits on other branches of the clone.
    pub aside: u32,
    /// Number of commits, on any branch of the clone, that no branch or tag of the repository has.
    #[serde(skip_serializing_if = "is_zero")]
    pub nowhere: u32,
    /// Size of the clone on the disk, in bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub size: u64,
    /// True if the clone has more files than were measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub larger: bool,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl Held {
    /// Returns true if all that the clone holds is in the repository without it.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        (self.nowhere, self.uncommitted) == (0, 0)
    }
}

/// Progress of the clone of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It is being made.
    #[default]
    Planned,
    /// It could not be made, and is tried again with the next session.
    NotMade,
    /// It is there.
    Made,
    /// It is being removed.
    Removing,
}

/// The clone of a task with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkout {
    /// The clone as it was planned.
    pub plan: Plan,
    /// Progress of the clone.
    #[serde(default)]
    pub stage: Stage,
    /// Its state when it was last read.
    #[serde(default)]
    pub held: Option<Held>,
    /// True if it is being read, or is to be read again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
    /// Number of the last read of it: an earlier one's result is ignored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads: u32,
    /// The conversation about the task, while the agent works on another one.
    #[serde(default)]
    pub conversation: Conversation,
    /// The work that its agent calls done and that is not done yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The work that was sent back to its agent, and is not called done again yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Box<(WorkId, Back)>>,
    /// The result of the last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Evidence>>,
    /// Number of the last check.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks: u32,
    /// The task, while it is in review or being merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<Review>>,
    /// Number of the last merge.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub merges: u32,
    /// The last commit when the task was done; empty before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub done_at: String,
    /// The place of the work in the base, once it was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Landed>,
    /// The pull request for the work, once one was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Box<PullRequest>>,
    /// Number of merges that went back to the agent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conflicts: u32,
    /// Number of reviews that have begun.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reviews: u32,
    /// Number of rejections by a reviewing agent since a person's last one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejections: u32,
}

impl Checkout {
    fn new(mut plan: Plan, stage: Stage) -> Self {
        let pull = plan.pull.take();
        Self {
            plan,
            stage,
            held: None,
            unread: false,
            reads: 0,
            conversation: Conversation::default(),
            claim: None,
            back: None,
            evidence: None,
            checks: 0,
            review: None,
            merges: 0,
            done_at: String::new(),
            landed: None,
            pull,
            conflicts: 0,
            reviews: 0,
            rejections: 0,
        }
    }

    /// Returns true if the check of the task runs, or is to be run.
    #[must_use]
    pub fn is_being_checked(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.progress != Progress::Refused)
    }

    /// Notes that the clone is to be read.
    fn note_unread(&mut self) {
        self.unread = true;
        self.reads = self.reads.saturating_add(1);
    }

    /// Returns the plan as it is carried out.
    fn plan(&self) -> Plan {
        Plan { begun: self.plan.begun || self.held.is_some(), ..self.plan.clone() }
    }
}

/// The clones of an agent's tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkouts {
    /// The clones, by task.
    pub all: BTreeMap<WorkId, Checkout>,
    /// The task that what is said in the agent's channel belongs to; `None`: the next message begins one.
    pub open: Option<WorkId>,
    /// The task whose conversation the agent has open.
    pub seated: Option<WorkId>,
}

impl Checkouts {
    /// Returns true if the agent never had a clone.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the clone of a task is there.
    #[must_use]
    pub fn is_made(&self, task: WorkId) -> bool {
        self.all.get(&task).is_some_and(|checkout| checkout.stage == Stage::Made)
    }

    /// Returns true if the clone of a task is being made.
    #[must_use]
    pub fn is_being_made(&self, task: WorkId) -> bool {
        self.all.get(&task).is_some_and(|checkout| checkout.stage == Stage::Planned)
    }

    /// Returns true if the check of a task runs.
    #[must_use]
    pub fn is_being_checked(&self, task: WorkId) -> bool {
        self.all.get(&task).is_some_and(Checkout::is_being_checked)
    }

    fn apply(&mut self, event: &CheckoutEvent) {
        let (task, change): (_, &dyn Fn(&mut Checkout)) = match event {
            CheckoutEvent::Planned { plan } => {
                let new = || Checkout::new(plan.clone(), Stage::Planned);
                self.all.entry(plan.task).or_insert_with(new).stage = Stage::Planned;
                return;
            }
            CheckoutEvent::Opened { task, .. } => {
                self.open = Some(*task);
                return;
            }
            CheckoutEvent::Removed { task } => {
                self.all.remove(task);
                self.open.take_if(|open| open == task);
                return;
            }
            CheckoutEvent::Made { task, base, onto } => (*task, &|checkout| {
                checkout.stage = Stage::Made;
                if checkout.plan.onto.is_none() {
                    checkout.plan.onto.clone_from(onto);
                }
                checkout.held.get_or_insert_default().base.clone_from(base);
            }),
            CheckoutEvent::Reading { task } => (*task, &|checkout| checkout.note_unread()),
            CheckoutEvent::Read { task, held } => (*task, &|checkout| {
                checkout.unread = false;
                checkout.held = Some(held.clone());
            }),
            CheckoutEvent::Removing { task, .. } => {
                // Messages belong to another task from now on.
                self.open.take_if(|open| open == task);
                (*task, &|checkout| checkout.stage = Stage::Removing)
            }
            CheckoutEvent::Checking { task, work, note } => (*task, &|checkout| {
                let before = checkout.claim.take().filter(|claim| claim.work == *work);
                let failed = before.map_or(0, |claim| claim.failed);
                checkout.checks = checkout.checks.saturating_add(1);
                let (note, number, progress) = (note.clone(), checkout.checks, Progress::Checking);
                checkout.claim = Some(Claim { work: *work, note, progress, number, failed });
                checkout.back.take_if(|back| back.0 == *work);
            }),
            CheckoutEvent::Checked { task, evidence } => (*task, &|checkout| {
                let red = evidence.as_ref().is_some_and(|evidence| !evidence.is_green());
                if let Some(claim) = checkout.claim.as_mut().filter(|_| red) {
                    (claim.progress, claim.failed) = (Progress::Refused, claim.failed.saturating_add(1));
                }
                if evidence.is_some() {
                    checkout.evidence.clone_from(evidence);
                }
            }),
            CheckoutEvent::SentBack { task, back } => (*task, &|checkout| {
                if let Some(claim) = &mut checkout.claim {
                    (claim.progress, claim.failed) = (Progress::Refused, claim.failed.saturating_add(1));
                    checkout.back = Some(Box::new((claim.work, back.clone())));
                }
            }),
            CheckoutEvent::Accepted { task, by } => (*task, &|checkout| checkout.accept(by)),
            CheckoutEvent::LeftToPerson { task, why } => (*task, &|checkout| checkout.leave_to_person(why)),
            CheckoutEvent::Proposed { task, pull } => (*task, &|checkout| checkout.propose(pull)),
            CheckoutEvent::Heard { task, news } => (*task, &|checkout| checkout.note_news(news)),
            CheckoutEvent::Landed { task, landed } => {
                // Messages begin another task from now on.
                self.open.take_if(|open| open == task);
                (*task, &|checkout| checkout.landed = Some(landed.clone()))
            }
            // These move the task itself, see `apply`.
            CheckoutEvent::InReview { .. } | CheckoutEvent::Returned { .. } => return,
            CheckoutEvent::Failed { task, act, why } => (*task, &|checkout| match act {
                Act::Make => checkout.stage = Stage::NotMade,
                Act::Read => {
                    checkout.unread = false;
                    if let Some(claim) =
                        checkout.claim.as_mut().filter(|claim| claim.progress == Progress::Checking)
                    {
                        claim.progress = Progress::NotRun;
                    }
                    if matches!(why.own, Some(Own::Git(GitReason::NoClone { .. }))) {
                        // It was lost: the next session has it made again, from what was fetched.
                        checkout.stage = Stage::NotMade;
                    }
                }
                Act::Remove => checkout.stage = Stage::Made,
                Act::Merge => checkout.fail_merge(),
                Act::Check => {
                    if let Some(claim) = &mut checkout.claim {
                        claim.progress = Progress::NotRun;
                    }
                }
            }),
        };
        if let Some(checkout) = self.all.get_mut(&task) {
            change(checkout);
        }
    }
}

impl Agent {
    /// Returns true if each task of the agent has a clone of its own.
    #[must_use]
    pub fn has_repository(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.repository.is_some())
    }

    /// Returns true if the next session waits for the clone of its task, or for the check of what was done there.
    #[must_use]
    pub fn waits_for_checkout(&self) -> bool {
        let (next, all) = (self.queue.front().filter(|_| self.has_repository()), &self.checkouts);
        next.is_some_and(|work| all.is_being_made(work.task()) || all.is_being_checked(work.task()))
    }

    /// Returns true if work that its check has refused goes back to the agent, and not yet to a person.
    #[must_use]
    pub fn is_tried_again(&self, task: WorkId) -> bool {
        let failed = self.checkouts.all.get(&task).and_then(|checkout| Some(checkout.claim.as_ref()?.failed));
        let check = self.spec.as_ref().and_then(|spec| spec.repository.as_ref()?.check.as_ref());
        failed.unwrap_or_default() <= check.map_or(Check::TRIES, |check| check.tries)
    }

    /// Returns true if a message belongs to the task that is being worked on, so that it may be written into the turn.
    #[must_use]
    pub fn is_of_current(&self, work: &Work) -> bool {
        let current = self.current.as_ref().map(Work::task);
        !self.has_repository() || current == Some(work.task())
    }

    /// Returns the task in whose clone the agent's last session worked.
    #[must_use]
    pub fn checkout(&self) -> Option<&Checkout> {
        self.checkouts.all.get(&self.checkouts.seated?)
    }

    /// Returns the task whose check is to run now, and the number of that check. It waits until the clone is read, and
    /// while the agent is paused.
    #[must_use]
    pub fn check_due(&self) -> Option<(WorkId, u32)> {
        if !matches!(self.phase, Phase::Idle | Phase::Waiting { .. }) {
            return None;
        }
        let due = |claim: &&Claim| claim.progress == Progress::Checking;
        let read = |checkout: &Checkout| checkout.stage == Stage::Made && !checkout.unread;
        let made = self.checkouts.all.iter().filter(|(_, checkout)| read(checkout));
        made.filter_map(|(task, checkout)| Some((*task, checkout.claim.as_ref().filter(due)?.number))).next()
    }

    /// Returns true if this work is called done, and its check is not over.
    #[must_use]
    pub fn is_claimed(&self, work: WorkId) -> bool {
        let of = |checkout: &Checkout| checkout.claim.as_ref().is_some_and(|claim| claim.work == work);
        self.checkouts.all.values().any(|checkout| of(checkout) && checkout.is_being_checked())
    }

    /// Notes that work is not the agent's any more: nobody waits for its check.
    pub(super) fn note_gone(&mut self, work: WorkId) {
        for checkout in self.checkouts.all.values_mut() {
            checkout.claim.take_if(|claim| claim.work == work);
            checkout.back.take_if(|back| back.0 == work);
        }
    }

    /// Returns true if what the agent has done is checked or reviewed before it counts as done.
    #[must_use]
    pub fn is_checked(&self, work: &Work) -> bool {
        let repository = self.spec.as_ref().and_then(|spec| spec.repository.as_ref());
        let checkout = self.checkouts.all.get(&work.task()).filter(|checkout| checkout.stage == Stage::Made);
        let is_looked_at = |checkout: &Checkout, settings: &Repository| {
            checkout.plan.check_by(settings).is_some() || !settings.landing.is_none()
        };
        let is_own = work.card().review.is_none();
        is_own
            && checkout.zip(repository).is_some_and(|(checkout, settings)| is_looked_at(checkout, settings))
    }

    /// Applies an event about a clone, and returns the message that is done with it; the end of a task is an event of
    /// its own.
    pub(super) fn apply_checkout(&mut self, event: &CheckoutEvent) -> Option<WorkId> {
        self.checkouts.apply(event);
        let CheckoutEvent::Checked { task, evidence } = event else { return None };
        let done = evidence.as_ref().is_none_or(|evidence| evidence.is_green());
        let work = self.checkouts.all.get(task)?.claim.as_ref().filter(|_| done)?.work;
        let is_message = |queued: &&Work| queued.id == work && queued.kind != WorkKind::Task;
        self.queue.iter().find(is_message).map(|message| message.id)
    }

    /// Notes that a session is over: its task's clone is to be read.
    pub(super) fn note_unread(&mut self) {
        let Some(seated) = self.checkouts.seated else { return };
        if let Some(checkout) = self.checkouts.all.get_mut(&seated) {
            checkout.note_unread();
        }
    }

    /// Takes the clone of a task that goes to another agent, with which it goes.
    pub(super) fn give_up_checkout(&mut self, task: WorkId) -> Option<Box<Plan>> {
        self.checkouts.open.take_if(|open| *open == task);
        if self.checkouts.seated == Some(task) {
            self.checkouts.seated = None;
            (self.conversation, self.conversed) = (None, Usage::default());
            self.exchanges.clear();
        }
        // Messages about it that still wait begin tasks of their own.
        for work in &mut self.queue {
            if let Some(card) = work.card.as_mut().filter(|card| card.of == Some(task)) {
                card.of = None;
            }
        }
        let mut checkout = self.checkouts.all.remove(&task)?;
        let pull = checkout.pull.take();
        Some(Box::new(Plan { pull, ..checkout.plan() }))
    }

    /// Takes over the clone of a task that comes from another agent.
    pub(super) fn take_over_checkout(&mut self, work: &mut Work) {
        if self.has_repository()
            && let Some(plan) = work.card.as_mut().and_then(|card| card.checkout.take())
        {
            self.checkouts.all.entry(plan.task).or_insert_with(|| Checkout::new(*plan, Stage::NotMade));
        }
    }

    /// Notes that a task has ended: what is said after it was cancelled belongs to another one, and what is changed after it
    /// was done is reviewed anew.
    pub(super) fn note_end(&mut self, task: WorkId, end: TaskEnd) {
        if end == TaskEnd::Cancelled {
            self.checkouts.open.take_if(|open| *open == task);
        }
        if let Some(checkout) = self.checkouts.all.get_mut(&task).filter(|_| end == TaskEnd::Done) {
            checkout.done_at = checkout.held.as_ref().map(|held| held.head.clone()).unwrap_or_default();
        }
    }
}

/// Returns the act that an event about a clone is followed by, with the plan of the clone and the number of the last
/// read.
#[must_use]
pub fn owes(agent: &Agent, event: &Event) -> Option<(Act, Plan, u32)> {
    let (task, act) = match event {
        Event::Checkout(CheckoutEvent::Planned { plan }) => (plan.task, Act::Make),
        Event::Checkout(CheckoutEvent::Reading { task }) => (*task, Act::Read),
        Event::Checkout(CheckoutEvent::Removing { task, .. }) => (*task, Act::Remove),
        Event::SessionEnded { .. } => (agent.checkouts.seated?, Act::Read),
        _ => return None,
    };
    agent.checkouts.all.get(&task).map(|checkout| (act, checkout.plan(), checkout.reads))
}

/// Returns the first words of a text as part of a branch's name: lower-case ASCII letters, digits and hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let room = SLUG_MAX.saturating_sub(slug.len() + 1);
        if word.len() > room && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(SLUG_MAX).map(|c| c.to_ascii_lowercase()));
    }
    if slug.is_empty() { "task".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_the_first_words_of_its_task() {
        for (text, expected) in [
            ("Port the build!", "port-the-build"),
            ("", "task"),
            ("修正", "task"),
            ("../../etc; rm -rf ~", "etc-rm-rf"),
            ("a.lock", "a-lock"),
            (
                "write a parser for the configuration file of the program",
                "write-a-parser-for-the-configuration",
            ),
        ] {
            assert_eq!(slug(text), expected);
        }
        assert_eq!(slug(&"x".repeat(100)).len(), SLUG_MAX);
    }
}
