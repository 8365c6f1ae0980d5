//! The place where an agent's sessions run, as its supervisor sees it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio_util::sync::CancellationToken;

use super::job::{Job, JobKind, JobResult};
use super::link::Link;
use super::wire::SessionKey;
use super::{Machine, prefix};
use crate::core::checkout::{Acted, Held, Plan};
use crate::core::detail::{Detail, Own};
use crate::core::id::{AgentName, RunnerName, SessionId, WorkId};
use crate::core::pull::Look;
use crate::runtime::context::{self, Context};
use crate::runtime::git::diff::{Diff, Selection};
use crate::runtime::grants::{Grants, Pass};
use crate::runtime::{Driver, Launch, Stay};

/// The place where sessions run.
#[derive(Debug)]
pub enum Place {
    /// This process: orders and reports are two channels.
    Embedded(Machine),
    /// A process of its own, which outlives this one; with the calls of herder's tools that it passes on, if they are
    /// served, and the name of its machine, if it is not this one.
    Remote(Link, Option<Grants>, Option<RunnerName>),
}

impl Place {
    /// Starts a session there, with its right to use herder's tools, if they are served.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn launch(&self, launch: Launch) -> (Driver, Option<Pass>) {
        match self {
            Self::Embedded(machine) => machine.launch(launch),
            Self::Remote(link, ..) => {
                let pass = self.pass(&launch.agent, launch.session);
                (link.launch(launch), pass)
            }
        }
    }

    /// Gives a session that goes on in another process its right to use herder's tools, if they are served.
    #[must_use]
    pub fn pass(&self, agent: &AgentName, session: SessionId) -> Option<Pass> {
        match self {
            Self::Embedded(_) => None,
            // There is no file that could fail.
            Self::Remote(_, tools, _) => tools.as_ref()?.issue(agent, session, false, false).ok(),
        }
    }

    /// Gives a process that has stayed another session, with its right to use herder's tools.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn go_on(&self, stay: Stay, launch: Launch) -> (Driver, Option<Pass>) {
        match self {
            Self::Embedded(machine) => machine.go_on(stay, launch),
            // No process stays there.
            Self::Remote(..) => self.launch(launch),
        }
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        match self {
            Self::Embedded(machine) => machine.withhold(more),
            // The runner has read an earlier configuration: each launch names them.
            Self::Remote(link, ..) => link.withhold(more),
        }
    }

    /// Returns the number of open tool calls of an agent's session.
    #[must_use]
    pub fn calls(&self, agent: &AgentName) -> usize {
        match self {
            Self::Embedded(machine) => machine.calls(agent),
            Self::Remote(_, tools, _) => tools.as_ref().map_or(0, |tools| tools.calls(agent)),
        }
    }

    /// Does a job there; `None` if it was stopped before it was done.
    async fn perform(&self, job: Job, stop: CancellationToken) -> Option<JobResult> {
        match self {
            Self::Embedded(machine) => Box::pin(machine.perform(job, stop)).await,
            Self::Remote(link, ..) => match Box::pin(link.perform(job.clone(), stop)).await {
                Ok(done) => done,
                Err(why) => Some(job.failed(why)),
            },
        }
    }

    /// Does a job that a person waits for.
    async fn perform_soon(&self, job: Job) -> Option<JobResult> {
        match self {
            Self::Embedded(machine) => Box::pin(machine.perform(job, CancellationToken::new())).await,
            Self::Remote(link, ..) => match Box::pin(link.perform_soon(job.clone())).await {
                Ok(done) => done,
                Err(why) => Some(job.failed(why)),
            },
        }
    }

    /// Changes a task's clone, checks it or merges it there; `None` if that was stopped before it was done.
    pub(crate) async fn act(&self, marker: String, kind: JobKind, stop: CancellationToken) -> Option<Acted> {
        let job = Job { marker, kind };
        let failed = job.failed(Own::DriverGone.into());
        let done = self.perform(job, stop).await?;
        match (done, failed) {
            (JobResult::Acted(acted), JobResult::Acted(failed)) => {
                let fits = acted.act() == failed.act();
                Some(if fits { acted } else { failed })
            }
            _ => None,
        }
    }

    /// Looks at a task's clone there.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(crate) async fn look(&self, marker: String, plan: &Plan) -> Result<Held, Detail> {
        let job = Job { marker, kind: JobKind::Look { plan: Box::new(plan.clone()) } };
        match self.perform_soon(job).await {
            Some(JobResult::Looked(looked)) => looked,
            _ => Err(Own::Restarted.into()),
        }
    }

    /// Looks at a pull request from there; `None` if it was stopped.
    pub(crate) async fn follow(
        &self,
        marker: String,
        kind: JobKind,
        stop: CancellationToken,
    ) -> Option<Result<Look, Detail>> {
        match self.perform(Job { marker, kind }, stop).await? {
            JobResult::Followed(look) => Some(look),
            _ => Some(Err(Own::DriverGone.into())),
        }
    }

    /// Compares a task's clone there with the commit that the task began from, with the text of the selected files.
    ///
    /// # Errors
    /// It cannot be compared.
    pub(crate) async fn compare(
        &self,
        marker: String,
        plan: &Plan,
        selection: Selection,
    ) -> Result<Diff, Detail> {
        let job = Job { marker, kind: JobKind::Compare { plan: Box::new(plan.clone()), selection } };
        match self.perform_soon(job).await {
            Some(JobResult::Compared(compared)) => compared,
            _ => Err(Own::Restarted.into()),
        }
    }

    /// Reads a file of a workspace there, for people. `path` is the agent's.
    ///
    /// # Errors
    /// The reason why there is none, for the model.
    pub(crate) async fn take_file(
        &self,
        marker: String,
        (workspace, task): (PathBuf, Option<WorkId>),
        path: String,
        max: u64,
    ) -> Result<Vec<u8>, String> {
        let job = Job { marker, kind: JobKind::Take { workspace, task, path, max } };
        let unread = || "It cannot be read at the moment.".to_owned();
        match self.perform_soon(job).await {
            Some(JobResult::Taken(taken)) => STANDARD.decode(taken?).map_err(|_| unread()),
            _ => Err(unread()),
        }
    }

    /// Returns the runner's name, if it is on another machine.
    #[must_use]
    pub const fn runner(&self) -> Option<&RunnerName> {
        match self {
            Self::Embedded(_) => None,
            Self::Remote(_, _, runner) => runner.as_ref(),
        }
    }

    /// Gives up the sessions there, because its machine was taken out.
    pub fn give_up(&self) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link, ..) => link.give_up(),
        }
    }

    /// Returns true if it is on another machine, and does not answer.
    #[must_use]
    pub fn is_out_of_reach(&self) -> bool {
        match self {
            Self::Remote(link, _, Some(_)) => !link.is_connected(),
            Self::Embedded(_) | Self::Remote(..) => false,
        }
    }

    /// Kills all processes there whose markers begin so; returns the ids of those that could not be ended. It waits for a
    /// runner that is away, unless its machine is given up: nobody knows then what is left.
    pub(crate) async fn end(&self, prefix: String) -> Vec<u32> {
        let job = Job { marker: prefix, kind: JobKind::End };
        match self.perform(job, CancellationToken::new()).await {
            Some(JobResult::Left(left)) => left,
            _ => Vec::new(),
        }
    }

    /// Returns the number of processes there whose markers begin with `prefix` and with none of `but`; `None` if it does
    /// not say.
    pub(crate) async fn count(&self, prefix: String, but: Vec<String>) -> Option<usize> {
        if self.is_out_of_reach() {
            return None;
        }
        match self.perform_soon(Job { marker: prefix, kind: JobKind::Count { but } }).await {
            Some(JobResult::Counted(Ok(count))) => usize::try_from(count).ok(),
            _ => None,
        }
    }

    /// Writes `context.md` of an agent there with this text, or removes it.
    ///
    /// # Errors
    /// It cannot be written or removed.
    pub(crate) async fn keep(&self, marker: String, context: Context) -> Result<(), Detail> {
        // A runner on this machine may be older than such jobs.
        if self.runner().is_none() {
            return context::keep(context).await;
        }
        let job = Job { marker, kind: JobKind::Keep { context } };
        match self.perform(job, CancellationToken::new()).await {
            Some(JobResult::Kept(kept)) => kept,
            _ => Err(Own::Restarted.into()),
        }
    }

    /// Removes what a killed herder has left of its looks at repositories. Its processes must be gone.
    pub(crate) async fn sweep(&self) {
        match self {
            Self::Embedded(machine) => machine.sweep().await,
            // It does that itself before it listens.
            Self::Remote(..) => {}
        }
    }

    /// Returns false if it is a runner that was started by an earlier herder, whose sessions get no files.
    #[must_use]
    pub fn takes_files(&self) -> bool {
        match self {
            Self::Embedded(_) => true,
            Self::Remote(link, ..) => link.takes_files(),
        }
    }

    /// Leaves it: sessions in another process go on.
    pub async fn leave(&self) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link, ..) => link.close().await,
        }
    }

    /// Returns true if it is another process, which keeps reports until they are heard.
    #[must_use]
    pub const fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(..))
    }

    /// Acknowledges the reports of a session up to this number: their consequences are on disk.
    pub fn heard(&self, of: &SessionKey, up_to: u64) {
        match self {
            Self::Embedded(_) => {}
            Self::Remote(link, ..) => link.heard(of, up_to),
        }
    }

    /// Returns the beginnings of the markers of all agents' processes on this machine.
    #[must_use]
    pub fn prefixes(&self, journal: &str) -> Vec<String> {
        match self {
            Self::Embedded(_) => vec![format!("{journal}/")],
            // Others may have been started before a runner was configured.
            Self::Remote(_, _, runner) => vec![format!("{journal}/"), prefix(journal, runner.as_ref())],
        }
    }

    /// Returns the beginning of the markers of its processes.
    #[must_use]
    pub fn prefix(&self, journal: &str) -> String {
        match self {
            Self::Embedded(_) => format!("{journal}/"),
            Self::Remote(_, _, runner) => prefix(journal, runner.as_ref()),
        }
    }
}
