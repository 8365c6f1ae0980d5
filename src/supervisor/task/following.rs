//! Looks at the open pull requests of an agent's tasks, one after the other, as long as one is open.

use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::supervisor::Supervisor;
use crate::core::checkout::Plan;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Input;
use crate::core::pull::{Forge, PullRequest, PullState};
use crate::core::review::OnAccept;
use crate::runner::JobKind;
use crate::supervisor::Shared;

/// Number of looks that fail one after the other before a person is called.
const FAILURES_TOLD: u32 = 10;

/// An open pull request.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    task: WorkId,
    plan: Plan,
    pull: PullRequest,
}

/// The open pull requests that are looked at.
pub(super) struct Following {
    open: Vec<Open>,
    forge: Forge,
    /// Ends the looks when it is dropped.
    _guard: DropGuard,
}

impl Supervisor<'_> {
    /// Begins to look at the open pull requests, and ends it where none is open any more.
    pub(super) fn follow(&mut self) {
        let checkouts = &self.agent.checkouts.all;
        let open: Vec<Open> = self
            .agent
            .open_pulls()
            .filter_map(|(task, pull)| {
                Some(Open { task, plan: checkouts.get(&task)?.plan.clone(), pull: pull.clone() })
            })
            .collect();
        let follows = matches!(self.agent.on_accept(), OnAccept::Pull { .. }) && !open.is_empty();
        let repository = self.agent.spec.as_ref().and_then(|spec| spec.repository.as_ref());
        let forge = repository.filter(|_| follows).map(|of| of.forge.as_deref().cloned().unwrap_or_default());
        let Some(forge) = forge else {
            self.following = None;
            return;
        };
        if self.following.as_ref().is_some_and(|now| now.open == open && now.forge == forge) {
            return;
        }
        let stop = self.shared.draining.child_token();
        let looks =
            looks(Arc::clone(self.shared), self.name.clone(), (forge.clone(), open.clone()), stop.clone());
        drop(self.shared.services.spawn(looks));
        self.following = Some(Box::new(Following { open, forge, _guard: stop.drop_guard() }));
    }
}

/// Looks at pull requests until it is stopped, and tells the agent's supervisor what is new.
async fn looks(
    shared: Arc<Shared>,
    agent: AgentName,
    (forge, open): (Forge, Vec<Open>),
    stop: CancellationToken,
) {
    let mut failures = vec![0_u32; open.len()];
    while stop.run_until_cancelled(tokio::time::sleep(forge.every)).await.is_some() {
        for (Open { task, plan, pull }, failures) in open.iter().zip(&mut failures) {
            let marker = format!("{}/pull", shared.marker_of_checkout(&agent, *task));
            let kind = JobKind::Follow {
                forge: Box::new(forge.clone()),
                plan: Box::new(plan.clone()),
                pull: Box::new(pull.clone()),
            };
            let Some(look) = shared.place.follow(marker, kind, stop.clone()).await else { return };
            let is_told = match &look {
                Ok(look) => {
                    if std::mem::take(failures) > 0 {
                        info!(%agent, %task, link = pull.opened.link, "the pull request can be looked at again");
                    }
                    look.state != PullState::Open || pull.news(look).is_some()
                }
                Err(why) => {
                    *failures = failures.saturating_add(1);
                    if *failures == 1 {
                        warn!(%agent, %task, link = pull.opened.link, reason = %why, "the pull request cannot be looked at");
                    }
                    *failures == FAILURES_TOLD
                }
            };
            if is_told {
                shared.input(&agent, Input::Followed { task: *task, number: pull.opened.number, look });
            }
        }
    }
}
