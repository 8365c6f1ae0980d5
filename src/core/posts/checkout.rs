//! Posts about the clones of tasks: checks, reviews and merges.

use super::{Owed, alerted, said, work_line};
use crate::agent::Agent;
use crate::check::{COMMIT_SHOWN, Evidence};
use crate::checkout::CheckoutEvent;
use crate::id::{AgentName, WorkId};
use crate::notice::Notice;
use crate::review::{Back, Change, Landed, Reviewer};

/// Returns the posts of an event about the clone of a task.
pub(super) fn posts(agent: &Agent, name: AgentName, event: &CheckoutEvent) -> Vec<Owed> {
    match event {
        CheckoutEvent::Failed { task, act, why } => {
            alerted(Notice::CheckoutFailed { agent: name, task: *task, act: *act, why: why.clone() })
        }
        CheckoutEvent::Checked { task, evidence: Some(evidence) } => checked(agent, name, *task, evidence),
        CheckoutEvent::InReview { task, .. } => in_review(agent, name, *task),
        CheckoutEvent::LeftToPerson { task, why } => {
            alerted(Notice::ReviewLeft { agent: name, task: *task, why: why.clone() })
        }
        CheckoutEvent::Accepted { task, by } if !by.is_herder() => {
            let (merges, proposes) = agent.after_acceptance();
            said(Notice::TaskAccepted { agent: name, task: *task, by: by.name.clone(), merges, proposes })
        }
        CheckoutEvent::SentBack { task, back } => {
            said(Notice::TaskReturned { agent: name, task: *task, why: back.why() })
        }
        CheckoutEvent::Returned { task, back } => {
            let line = work_line(format!("REJECTED {task}"));
            let notice = match back {
                Back::Rejected { by, .. } => {
                    Notice::TaskRejected { agent: name, task: *task, by: by.name.clone() }
                }
                other => Notice::TaskReturned { agent: name, task: *task, why: other.why() },
            };
            [line].into_iter().chain(said(notice)).collect()
        }
        CheckoutEvent::Proposed { task, pull } => {
            said(Notice::TaskProposed { agent: name, task: *task, link: pull.link.clone() })
        }
        CheckoutEvent::Landed { task, landed: Landed { branch, commit, .. } } => {
            let commit = commit.chars().take(COMMIT_SHOWN).collect();
            said(Notice::TaskLanded { agent: name, task: *task, branch: branch.clone(), commit })
        }
        CheckoutEvent::Planned { .. }
        | CheckoutEvent::Made { .. }
        | CheckoutEvent::Reading { .. }
        | CheckoutEvent::Read { .. }
        | CheckoutEvent::Removing { .. }
        | CheckoutEvent::Removed { .. }
        | CheckoutEvent::Checking { .. }
        | CheckoutEvent::Checked { evidence: None, .. }
        | CheckoutEvent::Accepted { .. }
        | CheckoutEvent::Heard { .. }
        | CheckoutEvent::Opened { .. } => Vec::new(),
    }
}

fn checked(agent: &Agent, name: AgentName, task: WorkId, evidence: &Evidence) -> Vec<Owed> {
    let (command, took) = (evidence.command.clone(), evidence.took);
    if evidence.is_green() {
        let commit = evidence.short_commit();
        return said(Notice::CheckPassed { agent: name, task, command, took, commit });
    }
    let (why, again) = (evidence.why(), agent.is_tried_again(task));
    said(Notice::CheckFailed { agent: name, task, command, took, why, again })
}

fn in_review(agent: &Agent, name: AgentName, task: WorkId) -> Vec<Owed> {
    let Some(checkout) = agent.checkouts.all.get(&task) else { return Vec::new() };
    // Without a reviewer it is accepted at once.
    let reviewed = agent.landing().review != Reviewer::None;
    let Some(review) = checkout.review.as_ref().filter(|_| reviewed) else { return Vec::new() };
    let change = checkout.held.as_ref().map(Change::from).unwrap_or_default();
    let passed = checkout.evidence.as_ref().filter(|evidence| evidence.is_green());
    let checked = passed.map(|evidence| evidence.command.clone());
    let cost_usd = review.work.card().spent.dollars();
    let onto = checkout.plan.onto.clone().filter(|onto| agent.after_acceptance().0 && !onto.is_empty());
    let reviewer = review.asked().map(|asked| asked.agent.clone());
    let notice = Notice::TaskInReview { agent: name, task, change, checked, cost_usd, onto, reviewer };
    [work_line(format!("REVIEW {task}"))].into_iter().chain(said(notice)).collect()
}
