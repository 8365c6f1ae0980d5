//! Work on the clones of the agent's tasks, in the background: one act after the other, checks and merges beside
//! them; each with its result as an input.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::supervisor::Supervisor;
use crate::core::checkout::{Act, Acted, Plan};
use crate::core::detail::Own;
use crate::core::id::WorkId;
use crate::core::input::Input;
use crate::core::review::{Merged, OnAccept};
use crate::core::spec::AgentSpec;
use crate::runtime::Launch;
use crate::runtime::check::Run;
use crate::runtime::git::checkout::Checkouts;
use crate::runtime::git::merge::Order;
use crate::runtime::merge;
use crate::runtime::process::Tree;
use crate::supervisor::Shared;
use crate::supervisor::session::Session;

/// Time between SIGTERM and SIGKILL for a run that is not due any more: git removes its locks.
const GRACE: Duration = Duration::from_secs(2);

/// The last act that was begun, if one was.
pub(super) type Acting = Option<JoinHandle<()>>;

/// A check or a merge that runs.
pub(super) struct Beside {
    /// Numbers of the task, and of the check or merge.
    pub(super) of: (WorkId, u32),
    /// Ends it when it is dropped.
    _guard: DropGuard,
}

impl Supervisor<'_> {
    /// Begins an act on the clone of a task, after those that were begun before.
    pub(super) fn act(&mut self, act: Act, plan: Plan, read: u32) {
        let (shared, agent) = (Arc::clone(self.shared), self.name.clone());
        let before = self.acting.take();
        self.acting = Some(self.shared.services.spawn(async move {
            if let Some(before) = before {
                // Its result has been sent.
                drop(before.await);
            }
            let (task, draining) = (plan.task, shared.draining.clone());
            let marker = shared.marker_of_checkout(&agent, task);
            let acted = match shared.place.checkouts(marker.clone()) {
                Some(checkouts) => {
                    let acted = Box::pin(perform(&checkouts, act, &plan, read));
                    match draining.run_until_cancelled(acted).await {
                        Some(acted) => acted,
                        // The next start does it again.
                        None => return drop(shared.trees.end(&Tree::marked(marker), Duration::ZERO).await),
                    }
                }
                None if act == Act::Read => Acted::Read(read, Err(Own::DriverGone.into())),
                None => Acted::Failed(act, Own::DriverGone.into()),
            };
            shared.input(&agent, Input::Checkout { task, acted });
        }));
    }

    /// Begins the check and the merge that are due, unless they run.
    pub(super) fn begin_due(&mut self) {
        if let Some(of @ (task, number)) = self.agent.check_due()
            && self.checking.as_ref().is_none_or(|check| check.of != of)
        {
            let marker = self.marker_beside("check", of);
            let run = self.check_of(task, marker.clone());
            let shared = Arc::clone(self.shared);
            self.checking = Some(self.run_beside(of, marker, |stop| async move {
                // Without one, it was taken out of the settings, or there is only a review.
                let Some((launch, run)) = run else { return Some(Acted::Checked(number, Ok(None))) };
                let checked = Box::pin(shared.place.check(launch, run));
                let evidence = stop.run_until_cancelled(checked).await?;
                Some(Acted::Checked(number, evidence.map(|evidence| evidence.map(Box::new))))
            }));
        }
        if self.merging.is_none()
            && let Some(of @ (task, number)) = self.agent.merges_due().next()
        {
            let marker = self.marker_beside("merge", of);
            let run = self.merge_of(task, marker.clone());
            let shared = Arc::clone(self.shared);
            self.merging = Some(self.run_beside(of, marker, |stop| async move {
                let result = match run {
                    // The step of the base is not cut short.
                    Some((launch, run)) => Box::pin(shared.place.merge(launch, run, stop)).await?,
                    None => Ok(Merged::Kept),
                };
                Some(Acted::Merged(number, result))
            }));
        }
    }

    /// Returns the marker of the processes of a run, which no other run has: one that is being ended takes none along.
    fn marker_beside(&self, what: &str, (task, number): (WorkId, u32)) -> String {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        format!("{}/{what}-{number}.{run}", self.shared.marker_of_checkout(self.name, task))
    }

    /// Runs something beside the agent's sessions until it ends, or is told to stop because it is not due any more.
    fn run_beside<F: Future<Output = Option<Acted>> + Send + 'static>(
        &self,
        of: (WorkId, u32),
        marker: String,
        work: impl FnOnce(CancellationToken) -> F,
    ) -> Box<Beside> {
        let stop = self.shared.draining.child_token();
        let work = work(stop.clone());
        let (shared, agent, task) = (Arc::clone(self.shared), self.name.clone(), of.0);
        drop(self.shared.services.spawn(async move {
            match work.await {
                Some(acted) => shared.input(&agent, Input::Checkout { task, acted }),
                // It runs again if it is still due.
                None => drop(shared.trees.end(&Tree::marked(marker), GRACE).await),
            }
        }));
        Box::new(Beside { of, _guard: stop.drop_guard() })
    }

    /// Returns the merge of a task, as the settings have it now.
    fn merge_of(&self, task: WorkId, marker: String) -> Option<(Launch, merge::Run)> {
        let checkout = self.agent.checkouts.all.get(&task)?;
        let review = checkout.review.as_ref()?;
        let spec = AgentSpec::clone(self.agent.spec.as_ref()?);
        let repository = spec.repository.as_ref()?;
        let OnAccept::Merge(method) = repository.landing.on_accept else { return None };
        let order = Order {
            plan: checkout.plan.clone(),
            head: review.accepted.as_ref()?.head.clone(),
            method,
            text: review.work.text.clone(),
        };
        let check = repository.check.as_deref().cloned();
        let evidence = checkout.evidence.clone();
        let launch = Launch { marker, ..Session::aside(self.shared, spec, self.agent.last_session) };
        Some((launch, merge::Run { order, check, evidence }))
    }

    /// Returns the check of a task, as the settings have it now.
    fn check_of(&self, task: WorkId, marker: String) -> Option<(Launch, Run)> {
        let checkout = self.agent.checkouts.all.get(&task)?.clone();
        let mut spec = AgentSpec::clone(self.agent.spec.as_ref()?);
        let check = spec.repository.as_ref()?.check.as_deref()?.clone();
        spec.workspace = self.shared.checkout_folder(task);
        let launch = Launch { marker, ..Session::aside(self.shared, spec, self.agent.last_session) };
        Some((launch, Run { check, checkout }))
    }

    /// Returns the agent's settings for a session: its folder is the clone of the task, if the task has one.
    pub(super) fn seated(&self, mut spec: AgentSpec) -> AgentSpec {
        if let Some(folder) = self.checkout_folder() {
            spec.workspace = folder;
        }
        spec
    }

    /// Returns the folder in which the agent's last session worked; `None` if that is not a clone.
    pub(super) fn checkout_folder(&self) -> Option<PathBuf> {
        self.agent.checkout().map(|checkout| self.shared.checkout_folder(checkout.plan.task))
    }

    /// Returns the folder that the agent works in; `None` if it has none until its next task.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        let spec = self.agent.spec.as_ref()?;
        self.checkout_folder().or_else(|| spec.repository.is_none().then(|| spec.workspace.clone()))
    }
}

async fn perform(checkouts: &Checkouts, act: Act, plan: &Plan, read: u32) -> Acted {
    let done = match act {
        Act::Make => checkouts.make(plan).await.map(Acted::Made),
        Act::Read => Ok(Acted::Read(read, checkouts.fetch(plan).await)),
        Act::Remove => checkouts.remove(plan).await.map(|()| Acted::Removed),
        // They run beside the acts, see `begin_due`.
        Act::Check | Act::Merge => Err(Own::DriverGone.into()),
    };
    done.unwrap_or_else(|why| Acted::Failed(act, why))
}

impl Shared {
    /// Returns the path of the clone of a task.
    pub(in crate::supervisor) fn checkout_folder(&self, task: WorkId) -> PathBuf {
        let folder = self.journal.data_dir().join(crate::core::checkout::FOLDER).join(task.to_string());
        // A relative path means another folder in the agent's working directory.
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// Returns the marker of the processes that work on the clone of a task.
    pub(in crate::supervisor) fn marker_of_checkout(
        &self,
        agent: &crate::core::id::AgentName,
        task: WorkId,
    ) -> String {
        format!("{}{agent}/task-{task}", self.place.prefix(self.journal.id()))
    }
}
