//! Looks at the open pull requests of an agent's tasks, one after the other, as long as one is open.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::supervisor::Supervisor;
use crate::core::checkout::Plan;
use crate::core::detail::{Detail, GitReason};
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Input;
use crate::core::pull::{Forge, Look, PullRequest, PullState};
use crate::core::review::OnAccept;
use crate::runner::JobKind;
use crate::supervisor::Shared;

/// Number of looks that fail one after the other before a person is called.
const FAILURES_TOLD: u32 = 10;

/// Maximum time to the first look, e.g. after a start.
const FIRST_WITHIN: Duration = Duration::from_secs(5);

/// An open pull request.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    task: WorkId,
    plan: Plan,
    pull: PullRequest,
}

/// The forge, `None` if the settings open no pull requests any more, and the open pull requests.
type Followed = (Option<Forge>, Vec<Open>);

/// The open pull requests that are looked at.
pub(super) struct Following {
    open: watch::Sender<Followed>,
    /// Ends the looks when it is dropped.
    _guard: DropGuard,
}

impl Supervisor<'_> {
    /// Has the open pull requests looked at, and ends that where none is open any more.
    pub(super) fn follow(&mut self) {
        if self.agent.open_pulls().next().is_none() {
            self.following = None;
            return;
        }
        let repository = self.agent.spec.as_ref().and_then(|spec| spec.repository.as_deref());
        let pulls = matches!(self.agent.on_accept(), OnAccept::Pull { .. });
        let forge = repository.filter(|_| pulls).map(|of| of.forge.as_deref().cloned().unwrap_or_default());
        let checkouts = &self.agent.checkouts.all;
        let open = self.agent.open_pulls().filter_map(|(task, pull)| {
            Some(Open { task, plan: checkouts.get(&task)?.plan.clone(), pull: pull.clone() })
        });
        let new = (forge, open.collect());
        if let Some(following) = &self.following {
            following.open.send_if_modified(|now| {
                let differs = *now != new;
                *now = new;
                differs
            });
            return;
        }
        let stop = self.shared.draining.child_token();
        let (sender, list) = watch::channel(new);
        let looks = looks(Arc::clone(self.shared), self.name.clone(), list, stop.clone());
        drop(self.shared.services.spawn(looks));
        self.following = Some(Box::new(Following { open: sender, _guard: stop.drop_guard() }));
    }
}

/// Returns what a supervisor is told of a look.
fn followed(task: WorkId, pull: &PullRequest, look: Result<Look, Detail>) -> Input {
    let (number, head) = (pull.opened.number, pull.opened.head.clone());
    Input::Followed { task, number, head, look }
}

/// Looks at pull requests until it is stopped, and tells the agent's supervisor what is new.
async fn looks(
    shared: Arc<Shared>,
    agent: AgentName,
    list: watch::Receiver<Followed>,
    stop: CancellationToken,
) {
    let mut failures: HashMap<WorkId, u32> = HashMap::new();
    let every = |forge: &Option<Forge>| forge.as_ref().map_or(Forge::EVERY, |forge| forge.every);
    let mut wait = every(&list.borrow().0).min(FIRST_WITHIN);
    while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        let (forge, open) = list.borrow().clone();
        wait = every(&forge);
        failures.retain(|task, _| open.iter().any(|open| open.task == *task));
        for Open { task, plan, pull } in open {
            let Some(forge) = &forge else {
                // A person decides.
                shared.input(&agent, followed(task, &pull, Err(GitReason::NoForge.into())));
                continue;
            };
            let marker = format!("{}/pull", shared.marker_of_checkout(&agent, task));
            let kind = JobKind::Follow {
                forge: Box::new(forge.clone()),
                plan: Box::new(plan),
                pull: Box::new(pull.clone()),
            };
            let Some(look) = shared.place(&agent).follow(marker, kind, stop.clone()).await else { return };
            let failed = failures.entry(task).or_default();
            let is_told = match &look {
                Ok(look) => {
                    if std::mem::take(failed) > 0 {
                        info!(%agent, %task, link = pull.opened.link, "the pull request can be looked at again");
                    }
                    look.state != PullState::Open || pull.news(look).is_some()
                }
                Err(why) => {
                    *failed = failed.saturating_add(1);
                    if *failed == 1 {
                        warn!(%agent, %task, link = pull.opened.link, reason = %why, "the pull request cannot be looked at");
                    }
                    *failed >= FAILURES_TOLD
                }
            };
            if is_told {
                shared.input(&agent, followed(task, &pull, look));
            }
        }
    }
}
