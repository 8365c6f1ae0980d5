//! The record of a task's work: its branch, its check, its review and its merge.

use serde_json::{Value, json};

use super::listed::{Listed, checked, proved};
use crate::commands::say::{Voice, WORK_MAX};
use crate::core::check::Evidence;
use crate::core::checkout::{Checkout, Held};
use crate::core::id::AgentName;
use crate::core::review::{Landed, Proof, Review};
use crate::core::work::Actor;
use crate::supervisor::View;

/// Evidence of a task's work. Every part is missing for a task without a repository.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    checkout: Option<&'a Checkout>,
    review: Option<&'a Review>,
    /// Kept of a task that has ended.
    proof: Option<&'a Proof>,
}

impl<'a> Record<'a> {
    pub(crate) fn of(listed: &Listed<'a>, views: &'a [View]) -> Self {
        let checkout: Option<(&AgentName, &Checkout)> = super::checkout(views, listed.work().id);
        Self {
            checkout: checkout.map(|(_, checkout)| checkout),
            review: listed.review(),
            proof: listed.over().and_then(|over| over.proof.as_deref()),
        }
    }

    /// Returns the name of the task's branch.
    pub(crate) fn branch(&self) -> Option<&'a str> {
        let branch = self.checkout.map(|checkout| checkout.plan.branch.as_str());
        branch.or_else(|| self.proof.map(|proof| proof.branch.as_str())).filter(|branch| !branch.is_empty())
    }

    /// Returns the extent of the work, as the clone was last read.
    pub(crate) fn held(&self) -> Option<&'a Held> {
        self.checkout?.held.as_ref()
    }

    fn check(&self) -> Option<&'a Evidence> {
        let check = self.checkout.and_then(|checkout| checkout.evidence.as_deref());
        check.or_else(|| self.proof?.check.as_ref())
    }

    /// Returns the review that goes on here; `None` while the work is being merged, or others look at it at a forge.
    pub(crate) fn review(&self) -> Option<&'a Review> {
        self.review.filter(|review| review.asked().is_some() || review.waits_for_person())
    }

    fn accepted(&self) -> Option<&'a Actor> {
        let merging = self.review.filter(|review| review.is_being_merged() || review.is_outside());
        let by = merging.and_then(|review| review.accepted.as_ref()).map(|accepted| &accepted.by);
        by.or_else(|| self.proof?.accepted.as_ref()).filter(|by| !by.is_herder())
    }

    /// Returns the address of the pull request.
    fn link(&self) -> Option<&'a str> {
        let pull = self.checkout.and_then(|checkout| checkout.pull.as_deref());
        let link = pull.map(|pull| pull.opened.link.as_str());
        link.or_else(|| Some(self.landed()?.link.as_str())).filter(|link| !link.is_empty())
    }

    /// Returns the sentence about the pull request.
    pub(super) fn pull(&self, voice: Voice<'_>) -> Option<String> {
        Some(voice.text("cmd-task-pull", &[("link", self.link()?.into())]))
    }

    fn landed(&self) -> Option<&'a Landed> {
        self.proof?.landed.as_ref()
    }

    /// Returns the check, the acceptance and the merge in the sentences of `task show`.
    pub(crate) fn lines(&self, voice: Voice<'_>) -> Vec<String> {
        let check = self.check().map(|check| checked(voice, check, WORK_MAX.saturating_mul(8)));
        let pull = self.pull(voice);
        check.into_iter().chain(pull).chain(proved(voice, self.accepted(), self.landed())).collect()
    }

    /// Returns the same for programs; null if there is nothing.
    pub(super) fn data(&self) -> Value {
        if self.branch().is_none() && self.check().is_none() {
            return Value::Null;
        }
        let change = self.held().map(|held| {
            json!({
                "commits": held.commits, "files": held.files, "added": held.added, "removed": held.removed,
                "uncommitted": held.uncommitted,
            })
        });
        let check = self.check().map(|check| {
            let why = (!check.is_green()).then(|| check.why().to_string());
            let took = u64::try_from(check.took.as_millis()).unwrap_or(u64::MAX);
            json!({
                "command": check.command, "passed": check.is_green(), "why": why, "took_ms": took,
                "commit": check.commit,
            })
        });
        let landed = self.landed().map(|landed| json!({ "branch": landed.branch, "commit": landed.commit }));
        json!({
            "branch": self.branch(),
            "change": change,
            "check": check,
            "in_review_since": self.review().map(|review| review.since),
            "reviewer": self.review().and_then(Review::asked).map(|asked| &asked.agent),
            "accepted_by": self.accepted(),
            "pull_request": self.link(),
            "merged": landed,
        })
    }
}
