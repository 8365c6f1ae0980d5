//! What the root, the supervisors and the [`super::Fleet`] handle share: services and the directory, never state of an
//! agent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, warn};

use super::owing::Ungiven;
use super::posting::Posting;
use super::root::{ToRoot, account_of};
use super::task::{Note, Request};
use super::timers::Timers;
use super::turns::Turns;
use super::{FaultInjection, View};
use crate::access::Ties;
use crate::chat::LinkReport;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::board::Board;
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::Input;
use crate::core::ledger::Ledger;
use crate::core::policy::Policy;
use crate::core::promotion::Hold;
use crate::evaluator::Evaluator;
use crate::journal::{Batch, CommitError, Journal, Snapshot, Stream};
use crate::outbox::redact::Redactor;
use crate::runtime::{Live, ProcessTrees};
use crate::tools::Grants;

/// From so many agents on, countdowns get some jitter: below it one sees exactly the configured schedule.
const JITTER_FROM_AGENTS: usize = 20;

/// The most jitter: enough to spread process starts, too little for a person to mind.
const JITTER_MAX_MILLIS: u64 = 1000;

/// The way to one supervisor.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    pub(super) requests: mpsc::Sender<Box<Request>>,
    pub(super) notes: mpsc::Sender<Note>,
    pub(super) view: watch::Receiver<View>,
}

/// An agent's state as it is on disk.
pub(super) struct Published {
    pub(super) name: AgentName,
    pub(super) agent: Arc<Agent>,
    /// Its supervisor is given up: that is how it was then, and nobody takes anything in for it.
    pub(super) deserted: bool,
}

/// See the module.
pub(super) struct Shared {
    pub(super) journal: Journal,
    /// Swapped as a whole when the configuration is read again; see [`Shared::policy`].
    pub(super) policy: RwLock<Arc<Policy>>,
    pub(super) posting: Posting,
    pub(super) trees: ProcessTrees,
    /// Takes secrets out of what is written into workspaces, and is told of those that are read while herder runs.
    pub(super) redactor: Redactor,
    /// Grows when the configuration names more secrets.
    pub(super) withheld: RwLock<BTreeSet<String>>,
    /// The right to herder's tools, where they are served.
    pub(super) tools: Option<Grants>,
    /// Who judges, where a program is asked.
    pub(super) evaluator: Option<Evaluator>,
    pub(super) timers: Timers,
    /// Whose turn it is.
    pub(super) turns: Turns,
    pub(super) fault: FaultInjection,
    /// Rings after every published view and change of the board, for topics and pages.
    pub(super) changed: watch::Sender<()>,
    /// The supervisors.
    pub(super) tasks: TaskTracker,
    /// The root and the timer, which outlive the supervisors.
    pub(super) services: TaskTracker,
    /// herder goes down: what is cut short by that says nothing.
    pub(super) draining: CancellationToken,
    /// Ends the services.
    pub(super) ended: CancellationToken,
    /// Unbounded, because a supervisor must never wait for the root, which waits for the journal. What goes through it follows
    /// a commit of an agent, or one of the commands of people, of which few are under way at a time.
    pub(super) root: mpsc::UnboundedSender<ToRoot>,
    pub(super) handles: RwLock<BTreeMap<AgentName, Handle>>,
    /// Agents whose supervisors are given up until herder is started again.
    pub(super) deserted: RwLock<BTreeSet<AgentName>>,
    /// Who is who on Discord and elsewhere.
    pub(super) ties: Ties,
    /// Answers of which a network is asked whether an earlier herder gave them.
    pub(super) ungiven: Mutex<Vec<Ungiven>>,
    /// What the root knows of what agents use together, beside their own books.
    pub(super) ledger: RwLock<Ledger>,
    /// The task board, as it is on disk.
    pub(super) board: RwLock<Arc<Board>>,
    pub(super) links: RwLock<BTreeMap<NetworkName, LinkReport>>,
    /// Held by whoever brings in what the configuration says of agents: one after the other.
    pub(super) configuring: tokio::sync::Mutex<()>,
    /// What can be seen of each agent's last session between two decisions.
    pub(super) lives: RwLock<BTreeMap<AgentName, watch::Receiver<Live>>>,
}

impl Shared {
    /// The limits as they are now. Whoever decides something takes them once for all of it.
    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_policy(&self, policy: Policy) {
        self.limit_turns(&policy);
        let mut known = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let released = policy.reassign_after != known.reassign_after;
        *known = Arc::new(policy);
        drop(known);
        // Those that stand still already count by it from now on, too.
        if released {
            for (agent, _) in self.all_handles() {
                self.input(&agent, Input::Tick);
            }
        }
    }

    /// Variables of herder's environment that no agent gets.
    pub(super) fn withheld(&self) -> BTreeSet<String> {
        self.withheld.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn withhold(&self, more: &BTreeSet<String>) {
        self.withheld.write().unwrap_or_else(PoisonError::into_inner).extend(more.iter().cloned());
    }

    pub(super) fn handle(&self, agent: &AgentName) -> Option<Handle> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
    }

    pub(super) fn remember(&self, agent: AgentName, handle: Handle) {
        self.deserted.write().unwrap_or_else(PoisonError::into_inner).remove(&agent);
        self.handles.write().unwrap_or_else(PoisonError::into_inner).insert(agent, handle);
    }

    /// The supervisor of an agent is given up.
    pub(super) fn desert(&self, agent: &AgentName) {
        self.deserted.write().unwrap_or_else(PoisonError::into_inner).insert(agent.clone());
    }

    pub(super) fn is_deserted(&self, agent: &AgentName) -> bool {
        self.deserted.read().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    /// Those of them that were never there to be seen.
    pub(super) fn unseen(&self) -> Vec<AgentName> {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        let deserted = self.deserted.read().unwrap_or_else(PoisonError::into_inner);
        deserted.iter().filter(|agent| !handles.contains_key(*agent)).cloned().collect()
    }

    pub(super) fn forget(&self, agent: &AgentName) {
        self.handles.write().unwrap_or_else(PoisonError::into_inner).remove(agent);
        self.lives.write().unwrap_or_else(PoisonError::into_inner).remove(agent);
        self.changed.send_replace(());
    }

    /// Something that can be seen of the fleet is another now.
    pub(super) fn rings(&self) {
        self.changed.send_replace(());
    }

    pub(super) fn all_handles(&self) -> Vec<(AgentName, Handle)> {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        handles.iter().map(|(name, handle)| (name.clone(), handle.clone())).collect()
    }

    /// The states of all agents as they were published. What else can be seen of them costs more to find out.
    pub(super) fn published(&self) -> Vec<Published> {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        let deserted = self.deserted.read().unwrap_or_else(PoisonError::into_inner);
        let state = |(name, handle): (&AgentName, &Handle)| Published {
            name: name.clone(),
            agent: Arc::clone(&handle.view.borrow().agent),
            deserted: deserted.contains(name),
        };
        handles.iter().map(state).collect()
    }

    pub(super) fn views(&self) -> Vec<View> {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        handles.values().map(|handle| self.seen_now(&handle.view)).collect()
    }

    /// From now on `live` is what can be seen of the agent's session.
    pub(super) fn watch_live(&self, agent: AgentName, live: watch::Receiver<Live>) {
        self.lives.write().unwrap_or_else(PoisonError::into_inner).insert(agent, live);
    }

    /// The state as it was published, with the running session as it is at this moment: a tool that was opened since the
    /// last decision is shown too.
    pub(super) fn seen_now(&self, view: &watch::Receiver<View>) -> View {
        let mut view = view.borrow().clone();
        let lives = self.lives.read().unwrap_or_else(PoisonError::into_inner);
        if view.agent.session().is_some()
            && let Some(live) = lives.get(&view.name)
        {
            view.live = live.borrow().clone();
        }
        view.hold = self.turns.hold(&view.name);
        let closed = self.turns.closed(&view.name, &account_of(&view.agent), clock::now());
        view.closed = matches!(closed, Some(Hold::Closed { .. }));
        view
    }

    /// Tells a supervisor something for its core.
    pub(super) fn input(&self, agent: &AgentName, input: Input) {
        self.note(agent, Note::Input(Box::new(input)));
    }

    /// Puts a note into a supervisor's mailbox. A full one is waited for beside, because the caller must not wait.
    pub(super) fn note(&self, agent: &AgentName, note: Note) {
        let Some(handle) = self.handle(agent) else { return };
        match handle.notes.try_send(note) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(note)) => {
                warn!(%agent, "a supervisor's mailbox is full");
                self.tasks.spawn(async move {
                    if handle.notes.send(note).await.is_err() {
                        debug!("the supervisor went away first");
                    }
                });
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {
                debug!(%agent, "a note for a supervisor that is gone")
            }
        }
    }

    pub(super) fn tell_root(&self, told: ToRoot) {
        if self.root.send(told).is_err() {
            debug!("the root supervisor is gone");
        }
    }

    /// Stores a state to start from next time.
    pub(super) async fn snapshot<S: Serialize>(
        &self,
        stream: Stream,
        rev: u64,
        state: &S,
    ) -> Result<(), CommitError> {
        let state = match serde_json::to_vec(state) {
            Ok(state) => state,
            Err(reason) => {
                // The state is read from its events instead, which only takes longer.
                error!(%stream, %reason, "a snapshot could not be encoded");
                return Ok(());
            }
        };
        let snapshots = vec![Snapshot { stream, rev, state }];
        let batch = Batch { at: clock::now(), snapshots, ..Batch::default() };
        match self.journal.commit(batch).await {
            // Too large: the state is read from its events instead.
            Err(CommitError::Invalid(reason)) => {
                warn!(reason, "a snapshot was not taken");
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Ends what is left of an agent's sessions while it has none. Answers which processes could not be ended.
    pub(super) async fn end_left(&self, agent: &AgentName) -> Vec<u32> {
        match &self.fault.simulated {
            Some(simulated) => (simulated.end_processes)(agent),
            None => self.trees.end_marked(&format!("{}/{agent}/", self.journal.id()), Duration::ZERO).await,
        }
    }

    pub(super) fn set_link(&self, report: LinkReport) {
        let mut links = self.links.write().unwrap_or_else(PoisonError::into_inner);
        links.insert(report.network.clone(), report);
        drop(links);
        self.changed.send_replace(());
    }

    /// Random, and only for a fleet: see [`JITTER_FROM_AGENTS`].
    pub(super) fn jitter(&self) -> Duration {
        let agents = self.handles.read().unwrap_or_else(PoisonError::into_inner).len();
        if agents < JITTER_FROM_AGENTS {
            return Duration::ZERO;
        }
        Duration::from_millis(self.random() % (JITTER_MAX_MILLIS + 1))
    }

    pub(super) fn random(&self) -> u64 {
        match &self.fault.simulated {
            Some(simulated) => (simulated.random)(),
            None => getrandom::u64().unwrap_or_default(),
        }
    }
}
