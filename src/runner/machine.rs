//! The machine on which sessions run: it adds to a launch what belongs to it, and starts the driver.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::job::{Job, JobKind, JobResult};
use super::prefix;
use crate::clock::running::Running;
use crate::core::check::Evidence;
use crate::core::checkout::{self, Act, Acted, Base, Plan};
use crate::core::detail::Detail;
use crate::core::id::{AgentName, RunnerName, WorkId};
use crate::core::pull::{Forge, Look, PullRequest};
use crate::core::review::Merged;
use crate::files::{FileSource, FileStore, WantedFiles};
use crate::redact::Redactor;
use crate::runtime::check::{self, Run};
use crate::runtime::forge::{Answers, Proposal, Reached, login};
use crate::runtime::git::Git;
use crate::runtime::git::checkout::Checkouts;
use crate::runtime::grants::{Grants, Pass};
use crate::runtime::process::Tree;
use crate::runtime::{
    self, Driver, Launch, Local, ProcessTrees, Stay, context, environment, isolation, merge, outbox, setup,
};

/// Time between SIGTERM and SIGKILL for a check or a merge that was stopped: git removes its locks.
const GRACE: Duration = Duration::from_secs(2);

/// Time for which the folder of a merge waits for the agent's next one.
const KEPT: Duration = Duration::from_secs(10);

/// Lets changes of one repository be made one after the other.
#[derive(Debug)]
struct Turn {
    /// Held while one is made.
    lock: Arc<AsyncMutex<()>>,
    /// Number of the turn on this machine, for the name of the folder of its merges.
    number: usize,
    /// Number of merges that have left that folder to the next one.
    uses: AtomicU64,
}

/// The parts of a machine.
#[derive(Debug)]
pub struct Setup {
    /// The data folder, in which the agents' folders are.
    pub data_dir: PathBuf,
    /// Service for process trees.
    pub trees: ProcessTrees,
    /// Removes secrets from reports, and learns those that are read for a session.
    pub redactor: Redactor,
    /// Environment variables of herder that no agent gets, whatever its settings say.
    pub withheld: BTreeSet<String>,
    /// The right to herder's tools, given to every session, if they are served.
    pub tools: Option<Grants>,
}

/// Starts a session whose process is simulated.
pub type Starts = Box<dyn Fn(Launch) -> Driver + Send + Sync>;

struct Simulated(Starts);

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulated")
    }
}

/// The machine of this process.
#[derive(Debug)]
pub struct Machine {
    simulated: Option<Simulated>,
    /// Name of the runner, if it is not the one beside the bot.
    name: Option<RunnerName>,
    agents: PathBuf,
    clones: PathBuf,
    trees: ProcessTrees,
    redactor: Redactor,
    /// The set grows when the configuration names more secrets.
    withheld: RwLock<BTreeSet<String>>,
    tools: Option<Grants>,
    /// The place from which sessions get files.
    files: FileSource,
    /// Turns of merges, by the repository's folder, and of fetches into herder's own copy, by `fetch` in it. They stay.
    turns: Mutex<BTreeMap<PathBuf, Arc<Turn>>>,
    /// Folders of merges that are to be removed.
    tasks: TaskTracker,
    /// Answers of forges.
    answers: Answers,
}

impl Machine {
    /// Returns the machine of this process.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let Setup { data_dir, trees, redactor, withheld, tools } = setup;
        Self {
            simulated: None,
            name: None,
            agents: data_dir.join(isolation::FOLDER),
            clones: data_dir.join(checkout::FOLDER),
            trees,
            redactor,
            withheld: RwLock::new(withheld),
            tools,
            files: FileSource::Store(FileStore::new(&data_dir)),
            turns: Mutex::default(),
            tasks: TaskTracker::new(),
            answers: Answers::default(),
        }
    }

    /// Gives the machine the name of its runner; without one it is that beside the bot.
    #[must_use]
    pub fn named(self, name: Option<RunnerName>) -> Self {
        Self { name, ..self }
    }

    /// Returns the beginning of the markers of its processes.
    pub(super) fn prefix(&self, journal: &str) -> String {
        prefix(journal, self.name.as_ref())
    }

    /// Returns a machine whose sessions are simulated.
    #[must_use]
    pub fn simulated(starts: Starts) -> Self {
        let (data_dir, trees) = (PathBuf::new(), ProcessTrees::none());
        let (redactor, withheld) = (Redactor::default(), BTreeSet::new());
        let machine = Self::new(Setup { data_dir, trees, redactor, withheld, tools: None });
        Self { simulated: Some(Simulated(starts)), ..machine }
    }

    /// Lets sessions get files from the bot, to which this machine is connected; returns the files that are wanted.
    pub(super) fn ask_for_files(&mut self) -> WantedFiles {
        let wanted = WantedFiles::default();
        self.files = FileSource::Bot(wanted.clone());
        wanted
    }

    /// Returns the clock that stands still with this process.
    pub(super) fn running(&self) -> &Running {
        self.trees.running()
    }

    /// Starts a session. Its right to use herder's tools ends when the pass is dropped.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn launch(&self, launch: Launch) -> (Driver, Option<Pass>) {
        if let Some(Simulated(starts)) = &self.simulated {
            return (starts(launch), None);
        }
        self.withhold(&launch.withheld);
        let launch = self.seated(launch);
        let pass = self.pass(&launch);
        let local = self.local(&launch, pass.as_ref());
        (runtime::launch(launch, local, self.trees.clone()), pass)
    }

    /// Gives a process that has stayed another session, or starts one if its driver is gone.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn go_on(&self, stay: Stay, launch: Launch) -> (Driver, Option<Pass>) {
        let launch = self.seated(launch);
        let pass = self.pass(&launch);
        let local = self.local(&launch, pass.as_ref());
        let driver = stay.go_on(launch, local).unwrap_or_else(|given| {
            let (launch, local) = *given;
            runtime::launch(launch, local, self.trees.clone())
        });
        (driver, pass)
    }

    /// Puts in the folder of a task's clone on this machine, which the bot's machine may have elsewhere.
    fn seated(&self, mut launch: Launch) -> Launch {
        if let Some(task) = launch.task {
            Arc::make_mut(&mut launch.spec).workspace = self.folder(task);
        }
        launch
    }

    /// Returns the folder of a task's clone.
    fn folder(&self, task: WorkId) -> PathBuf {
        let folder = self.clones.join(task.to_string());
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// Returns the part of the session's parameters that belongs to this machine.
    #[must_use]
    pub fn local(&self, launch: &Launch, pass: Option<&Pass>) -> Local {
        let withheld = self.withheld.read().unwrap_or_else(PoisonError::into_inner);
        Local {
            environment: environment::own_for(&launch.spec.inherit_env, &withheld),
            // A relative path means another folder in the agent's working directory.
            state: std::path::absolute(self.agents.join(launch.agent.as_str())).ok(),
            tools: pass.and_then(Pass::access),
            redactor: self.redactor.clone(),
            files: Some(self.files.clone()),
            pictures: Vec::new(),
        }
    }

    /// Does a job; `None` if it was stopped before it was done, and its processes are ended.
    pub(crate) async fn perform(
        &self,
        Job { marker, kind }: Job,
        stop: CancellationToken,
    ) -> Option<JobResult> {
        let checkouts = self.checkouts(marker.clone());
        // git that makes or reads a clone begins anew.
        let grace = match &kind {
            JobKind::Check { .. } | JobKind::Merge { .. } => GRACE,
            _ => Duration::ZERO,
        };
        let done = match kind {
            JobKind::Make { plan, setup, login, described } => {
                let checkouts = checkouts.described(described);
                let made = Box::pin(self.make(checkouts, &plan, setup, login.as_deref()));
                let made = stop.run_until_cancelled(made).await;
                made.map(|made| {
                    JobResult::Acted(made.map_or_else(|why| Acted::Failed(Act::Make, why), Acted::Made))
                })
            }
            JobKind::Read { plan, number } => {
                let read = stop.run_until_cancelled(Box::pin(checkouts.fetch(&plan))).await;
                read.map(|read| JobResult::Acted(Acted::Read(number, read)))
            }
            JobKind::Remove { plan } => {
                let removed = stop.run_until_cancelled(Box::pin(checkouts.remove(&plan))).await;
                let failed = |why| Acted::Failed(Act::Remove, why);
                removed.map(|removed| JobResult::Acted(removed.map_or_else(failed, |()| Acted::Removed)))
            }
            JobKind::Look { plan } => {
                stop.run_until_cancelled(Box::pin(checkouts.look(&plan))).await.map(JobResult::Looked)
            }
            JobKind::Compare { plan, selection } => {
                let compared = Box::pin(checkouts.diff(&plan, &selection));
                stop.run_until_cancelled(compared).await.map(JobResult::Compared)
            }
            JobKind::Take { workspace, task, path, max } => {
                let workspace = task.map_or(workspace, |task| self.folder(task));
                let taken = Box::pin(outbox::take(self.trees.running(), &workspace, path, max));
                stop.run_until_cancelled(taken).await.map(JobResult::Taken)
            }
            JobKind::Check { number, launch, run } => {
                let checked = stop.run_until_cancelled(Box::pin(self.check(*launch, *run))).await;
                let boxed = |evidence: Option<Evidence>| evidence.map(Box::new);
                checked.map(|checked| JobResult::Acted(Acted::Checked(number, checked.map(boxed))))
            }
            JobKind::Propose { number, forge, proposal } => {
                let opened = self.propose(checkouts, &forge, *proposal);
                let opened = stop.run_until_cancelled(opened).await;
                opened.map(|opened| JobResult::Acted(Acted::Merged(number, opened)))
            }
            JobKind::Follow { forge, plan, pull } => {
                let look = self.follow(checkouts, &forge, &plan, &pull);
                stop.run_until_cancelled(look).await.map(JobResult::Followed)
            }
            JobKind::Keep { mut context } => {
                if let Some(task) = context.task {
                    context.workspace = self.folder(task);
                }
                // A write is not cut short.
                Some(JobResult::Kept(context::keep(context).await))
            }
            JobKind::End => Some(JobResult::Left(self.trees.end_marked(&marker, Duration::ZERO).await)),
            JobKind::Count { but } => {
                let count = self.trees.count_marked_but(&marker, || but).await;
                Some(JobResult::Counted(Ok(u32::try_from(count).unwrap_or(u32::MAX))))
            }
            // The step of the base is not cut short.
            JobKind::Merge { number, launch, run } => {
                let merged = Box::pin(self.merge(*launch, *run, stop)).await;
                merged.map(|merged| JobResult::Acted(Acted::Merged(number, merged)))
            }
        };
        if done.is_none() {
            drop(self.trees.end(&Tree::marked(marker), grace).await);
        }
        done
    }

    /// Removes the secrets that this machine knows from the texts of a result.
    pub(super) fn redacted(&self, done: JobResult) -> JobResult {
        let of = |why: &Detail| self.redactor.of(why).into_owned();
        match done {
            JobResult::Taken(taken) => {
                JobResult::Taken(taken.map(|bytes| outbox::redacted(&bytes, &self.redactor)))
            }
            JobResult::Followed(look) => JobResult::Followed(match look {
                Ok(look) => Ok(look.each_text(|text| self.redactor.redact(text).into_owned())),
                Err(why) => Err(of(&why)),
            }),
            JobResult::Kept(kept) => JobResult::Kept(kept.map_err(|why| of(&why))),
            left @ (JobResult::Left(_) | JobResult::Counted(_)) => left,
            JobResult::Looked(looked) => JobResult::Looked(looked.map_err(|why| of(&why))),
            JobResult::Compared(compared) => JobResult::Compared(match compared {
                Ok(diff) => Ok(diff.each_text(|text| self.redactor.redact(text).into_owned())),
                Err(why) => Err(of(&why)),
            }),
            JobResult::Acted(acted) => JobResult::Acted(match acted {
                Acted::Read(number, read) => Acted::Read(number, read.map_err(|why| of(&why))),
                Acted::Checked(number, checked) => Acted::Checked(number, checked.map_err(|why| of(&why))),
                Acted::Merged(number, merged) => Acted::Merged(number, merged.map_err(|why| of(&why))),
                Acted::Failed(act, why) => Acted::Failed(act, of(&why)),
                acted @ (Acted::Made(_) | Acted::Removed) => acted,
            }),
        }
    }

    /// Removes what a killed herder has left of its looks at repositories, and of its merges. Its processes must be gone.
    pub(crate) async fn sweep(&self) {
        if let Err(reason) = self.checkouts(String::new()).sweep().await {
            warn!(%reason, "what a killed herder has left of its looks at repositories, and of its merges, stays");
        }
    }

    /// Returns the clones of tasks on this machine, for one act. `marker`: by which its processes are found.
    fn checkouts(&self, marker: String) -> Checkouts {
        let folder = std::path::absolute(&self.clones).unwrap_or_else(|_| self.clones.clone());
        let path = environment::own_without(&BTreeSet::new()).remove("PATH");
        Checkouts::new(Git::new(self.trees.clone(), marker, path), folder)
    }

    /// Makes a clone, and sets it up.
    async fn make(
        &self,
        checkouts: Checkouts,
        plan: &Plan,
        setup: Option<Box<setup::Run>>,
        login: Option<&Forge>,
    ) -> Result<Base, Detail> {
        let checkouts = self.with_login(checkouts, (plan, login))?;
        Box::pin(checkouts.freshen(plan, false)).await?;
        let setup = setup.map(|run| {
            self.withhold(&run.launch.withheld);
            let local = self.local(&run.launch, None);
            ((self.seated(run.launch), local), run.setup)
        });
        Box::pin(setup::make(&checkouts, &self.trees, plan, setup)).await
    }

    /// Runs the check of a task in its clone.
    ///
    /// # Errors
    /// The clone cannot be read, or the command cannot be started.
    async fn check(&self, launch: Launch, run: Run) -> Result<Option<Evidence>, Detail> {
        self.withhold(&launch.withheld);
        let (checkouts, local) = (self.checkouts(launch.marker.clone()), self.local(&launch, None));
        let with = (self.seated(launch), local);
        Box::pin(check::run(&checkouts, &self.trees, with, run)).await
    }

    /// Merges the accepted work of a task into the base, one at a time for each repository; `None` if it was stopped before
    /// the base moved.
    ///
    /// # Errors
    /// The base cannot be moved, or git or the check cannot be run.
    async fn merge(
        &self,
        launch: Launch,
        mut run: merge::Run,
        stop: CancellationToken,
    ) -> Option<Result<Merged, Detail>> {
        self.withhold(&launch.withheld);
        let (checkouts, local) = (self.checkouts(launch.marker.clone()), self.local(&launch, None));
        let checkouts = match self.with_login(checkouts, (&run.order.plan, run.login.as_deref())) {
            Ok(checkouts) => checkouts,
            Err(why) => return Some(Err(why)),
        };
        run.order.text = local.redactor.redact(&run.order.text).into_owned();
        let plan = &run.order.plan;
        let shared = match plan.repository.url.is_empty() {
            true => stop.run_until_cancelled(checkouts.shared_folder(plan)).await?,
            false => Ok(checkouts.place(plan)),
        };
        let turn = match shared {
            Ok(shared) => self.turn(shared),
            Err(why) => return Some(Err(why)),
        };
        let _turn = stop.run_until_cancelled(turn.lock.lock()).await?;
        let (folder, marker) = (checkouts.scratch(turn.number), launch.marker.clone());
        let with = (launch, local);
        let merged = Box::pin(merge::run(&checkouts, &self.trees, with, run, (&folder, stop))).await;
        if matches!(merged, Some(Ok(_))) {
            self.clear_later(checkouts, &turn, folder);
            return merged;
        }
        // A check that was stopped may be at work in the folder until it is ended.
        drop(self.trees.end(&Tree::marked(marker), GRACE).await);
        // The next merge removes the rest.
        drop(checkouts.clear(&folder).await);
        merged
    }

    /// Removes the folder of a merge, unless another merge has it within [`KEPT`].
    fn clear_later(&self, checkouts: Checkouts, turn: &Arc<Turn>, folder: PathBuf) {
        let uses = turn.uses.fetch_add(1, Ordering::Relaxed) + 1;
        let turn = Arc::clone(turn);
        self.tasks.spawn(async move {
            tokio::time::sleep(KEPT).await;
            if let Ok(_turn) = turn.lock.try_lock()
                && turn.uses.load(Ordering::Relaxed) == uses
            {
                drop(checkouts.clear(&folder).await);
            }
        });
    }

    /// Pushes the branch of accepted work, and opens a pull request for it.
    ///
    /// # Errors
    /// The remote or the forge cannot be reached, or refuses.
    fn propose<'a>(
        &'a self,
        checkouts: Checkouts,
        forge: &'a Forge,
        mut proposal: Proposal,
    ) -> BoxFuture<'a, Result<Merged, Detail>> {
        for text in [&mut proposal.text, &mut proposal.note] {
            *text = self.redactor.redact(text).into_owned();
        }
        Box::pin(async move {
            let checkouts = self.with_login(checkouts, (&proposal.plan, Some(forge)))?;
            self.reached(&checkouts, forge).open(&proposal).await
        })
    }

    /// Looks at a pull request.
    ///
    /// # Errors
    /// The forge cannot be reached, or refuses.
    fn follow<'a>(
        &'a self,
        checkouts: Checkouts,
        forge: &'a Forge,
        plan: &'a Plan,
        pull: &'a PullRequest,
    ) -> BoxFuture<'a, Result<Look, Detail>> {
        Box::pin(async move {
            let checkouts = self.with_login(checkouts, (plan, Some(forge)))?;
            self.reached(&checkouts, forge).look(plan, pull).await
        })
    }

    fn reached<'a>(&'a self, checkouts: &'a Checkouts, forge: &'a Forge) -> Reached<'a> {
        Reached { forge, checkouts, answers: &self.answers, redactor: &self.redactor }
    }

    /// Returns the clones with the login at the remote of a repository that an address names.
    fn with_login(
        &self,
        checkouts: Checkouts,
        (plan, forge): (&Plan, Option<&Forge>),
    ) -> Result<Checkouts, Detail> {
        let Some(forge) = forge else { return Ok(checkouts) };
        let turn = self.turn(checkouts.place(plan).join("fetch"));
        Ok(checkouts.with_login(login(forge, &self.redactor)?).with_turn(Arc::clone(&turn.lock)))
    }

    /// Returns the turn for this kind of change.
    fn turn(&self, of: PathBuf) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let number = turns.len();
        Arc::clone(
            turns.entry(of).or_insert_with(|| {
                Arc::new(Turn { lock: Arc::default(), number, uses: AtomicU64::default() })
            }),
        )
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        self.withheld.write().unwrap_or_else(PoisonError::into_inner).extend(more.iter().cloned());
    }

    /// Returns the number of open tool calls of an agent's session.
    #[must_use]
    pub fn calls(&self, agent: &AgentName) -> usize {
        self.tools.as_ref().map_or(0, |tools| tools.calls(agent))
    }

    fn pass(&self, launch: &Launch) -> Option<Pass> {
        match self.tools.as_ref()?.issue(
            &launch.agent,
            launch.session,
            launch.reviews,
            launch.spec.leads && !launch.reviews,
        ) {
            Ok(pass) => Some(pass),
            Err(reason) => {
                warn!(agent = %launch.agent, %reason, "the session has to do without herder's tools");
                None
            }
        }
    }
}
