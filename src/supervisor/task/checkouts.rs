//! Work on the clones of the agent's tasks, in the background: one act after the other, checks and merges beside
//! them; each with its result as an input.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

use super::supervisor::Supervisor;
use crate::core::checkout::{Act, Acted, Plan};
use crate::core::clean::clean;
use crate::core::cut;
use crate::core::id::WorkId;
use crate::core::input::Input;
use crate::core::pull::Forge;
use crate::core::review::{Merged, OnAccept};
use crate::core::spec::AgentSpec;
use crate::core::work::Work;
use crate::runner::{JobKind, Place};
use crate::runtime::check::Run;
use crate::runtime::forge::Proposal;
use crate::runtime::git::merge::Order;
use crate::runtime::{Launch, merge, setup};
use crate::supervisor::Shared;
use crate::supervisor::session::Session;

/// Maximum length of the name of the person who gave a task, in bytes.
const GIVER_MAX: usize = 60;

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
        let (before, place) = (self.acting.take(), self.place());
        let (task, setup) = (plan.task, self.setup_of(act, plan.task));
        let (login, described) = (self.login(&plan), self.described(plan.task));
        // Its processes are ended by their marker: git beside it, in a look at the clone, is not one of them.
        let marker = match &setup {
            Some(run) => run.launch.marker.clone(),
            None => self.shared.marker_of_checkout(self.name, task),
        };
        self.acting = Some(self.shared.services.spawn(async move {
            if let Some(before) = before {
                // Its result has been sent.
                drop(before.await);
            }
            let plan = Box::new(plan);
            let work = match act {
                Act::Make => JobKind::Make { plan, setup, login, described },
                Act::Read => JobKind::Read { plan, number: read },
                Act::Remove => JobKind::Remove { plan },
                // They run beside the acts, see `begin_due`.
                Act::Check | Act::Merge => return,
            };
            // The next start does it again.
            let Some(acted) = place.act(marker, work, shared.draining.child_token()).await else {
                return;
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
            let work = self.check_of(task, marker.clone()).map(|(launch, run)| JobKind::Check {
                number,
                launch,
                run,
            });
            // Without one, it was taken out of the settings, or there is only a review.
            self.checking = Some(self.run_beside(of, marker, work, Acted::Checked(number, Ok(None))));
        }
        if self.merging.is_none()
            && let Some(of @ (task, number)) = self.agent.merges_due().next()
        {
            let marker = self.marker_beside("merge", of);
            let work = self.proposal_of(task, number).or_else(|| {
                let (launch, run) = self.merge_of(task, marker.clone())?;
                Some(JobKind::Merge { number, launch, run })
            });
            self.merging = Some(self.run_beside(of, marker, work, Acted::Merged(number, Ok(Merged::Kept))));
        }
    }

    /// Returns the marker of the processes of a run, which no other run has: one that is being ended takes none along.
    fn marker_beside(&self, what: &str, (task, number): (WorkId, u32)) -> String {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        format!("{}/{what}-{number}.{run}", self.shared.marker_of_checkout(self.name, task))
    }

    /// Runs something beside the agent's sessions until it ends, or is told to stop because it is not due any more.
    /// `without`: the result if there is nothing to run.
    fn run_beside(
        &self,
        of: (WorkId, u32),
        marker: String,
        work: Option<JobKind>,
        without: Acted,
    ) -> Box<Beside> {
        let stop = self.shared.draining.child_token();
        let guard = stop.clone().drop_guard();
        let (shared, agent, task) = (Arc::clone(self.shared), self.name.clone(), of.0);
        let place = self.place();
        drop(self.shared.services.spawn(async move {
            let acted = match work {
                Some(work) => place.act(marker, work, stop).await,
                None => Some(without),
            };
            // It runs again if it is still due.
            if let Some(acted) = acted {
                shared.input(&agent, Input::Checkout { task, acted });
            }
        }));
        Box::new(Beside { of, _guard: guard })
    }

    /// Returns the setup of a clone that is made, as the settings have it now. A clone for a review has none: nothing is
    /// to be changed there.
    fn setup_of(&self, act: Act, task: WorkId) -> Option<Box<setup::Run>> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let is_review = |work: &Work| work.id == task && work.card().review.is_some();
        if act != Act::Make || self.agent.all_works().any(is_review) {
            return None;
        }
        let mut spec = AgentSpec::clone(self.agent.spec.as_ref()?);
        let setup = spec.repository.as_ref()?.setup.as_deref()?.clone();
        spec.workspace = self.shared.checkout_folder(task);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{}/setup.{run}", self.shared.marker_of_checkout(self.name, task));
        let of = Some(task);
        let launch =
            Launch { marker, task: of, ..Session::aside(self.shared, spec, self.agent.last_session) };
        Some(Box::new(setup::Run { launch, setup }))
    }

    /// Returns the merge of a task, as the settings have it now.
    fn merge_of(&self, task: WorkId, marker: String) -> Option<(Box<Launch>, Box<merge::Run>)> {
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
            co_author: self.policy.people.author(&review.work.by).map(str::to_owned),
        };
        let (setup, check) = (repository.setup.as_deref().cloned(), checkout.plan.check_by(repository));
        let (evidence, login) = (checkout.evidence.clone(), self.login(&checkout.plan));
        let launch = Launch { marker, ..Session::aside(self.shared, spec, self.agent.last_session) };
        Some((Box::new(launch), Box::new(merge::Run { order, setup, check, evidence, login })))
    }

    /// Returns the description of a task's branch, which names the person who gave the task; empty if that is not known.
    fn described(&self, task: WorkId) -> String {
        let work = self.agent.all_works().find(|work| work.id == task);
        work.filter(|work| !work.by.is_herder()).map_or_else(String::new, |work| {
            let name = cut::one_line(&clean(&work.by.name), GIVER_MAX);
            format!("Task {task}, given by {name} ({})", work.by.network)
        })
    }

    /// Returns the login at the remote of a repository that an address names; `None` for a person's.
    fn login(&self, plan: &Plan) -> Option<Box<Forge>> {
        if plan.repository.url.is_empty() {
            return None;
        }
        let repository = self.agent.spec.as_ref().and_then(|spec| spec.repository.as_ref());
        Some(repository.and_then(|repository| repository.forge.clone()).unwrap_or_default())
    }

    /// Returns the pull request that is to be opened for a task, as the settings have it now.
    fn proposal_of(&self, task: WorkId, number: u32) -> Option<JobKind> {
        let checkout = self.agent.checkouts.all.get(&task)?;
        let review = checkout.review.as_ref()?;
        let repository = self.agent.spec.as_ref()?.repository.as_ref()?;
        let OnAccept::Pull { .. } = repository.landing.on_accept else { return None };
        let proposal = Proposal {
            plan: checkout.plan.clone(),
            head: review.accepted.as_ref()?.head.clone(),
            pull: checkout.pull.clone(),
            text: review.work.text.clone(),
            note: review.note.to_string(),
            co_author: self.policy.people.author(&review.work.by).map(str::to_owned),
        };
        let forge = repository.forge.clone().unwrap_or_default();
        Some(JobKind::Propose { number, forge, proposal: Box::new(proposal) })
    }

    /// Returns the check of a task, as the settings have it now.
    fn check_of(&self, task: WorkId, marker: String) -> Option<(Box<Launch>, Box<Run>)> {
        let checkout = self.agent.checkouts.all.get(&task)?.clone();
        let mut spec = AgentSpec::clone(self.agent.spec.as_ref()?);
        let check = checkout.plan.check_by(spec.repository.as_ref()?)?;
        spec.workspace = self.shared.checkout_folder(task);
        let of = Some(task);
        let launch =
            Launch { marker, task: of, ..Session::aside(self.shared, spec, self.agent.last_session) };
        Some((Box::new(launch), Box::new(Run { check, checkout })))
    }

    /// Returns the place where the agent's sessions run.
    pub(super) fn place(&self) -> Arc<Place> {
        self.shared.places.of(self.agent.spec.as_ref().and_then(|spec| spec.runner.as_ref()))
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
        format!("{}/task-{task}", self.marker(agent))
    }
}
