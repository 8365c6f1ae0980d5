//! State shared by the root, the supervisors and the [`super::Fleet`] handle: services and the directory, never the
//! state of an agent.

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
use super::runners::Runners;
use super::task::{Note, Request};
use super::timers::Timers;
use super::turns::Turns;
use super::{FaultInjection, View};
use crate::access::Ties;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::board::Board;
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::Input;
use crate::core::ledger::Ledger;
use crate::core::link::{LinkReport, LinkState};
use crate::core::policy::Policy;
use crate::core::promotion::Hold;
use crate::core::time::Timestamp;
use crate::evaluator::Evaluator;
use crate::journal::{Batch, CommitError, Journal, Snapshot, Stream};
use crate::redact::Redactor;
use crate::runner::{Place, Places};
use crate::runtime::{Live, ProcessTrees};

/// Number of agents from which countdowns get a random addition; with fewer they follow the configured schedule
/// exactly.
const JITTER_FROM_AGENTS: usize = 20;

/// Maximum random addition to a countdown, in milliseconds: enough to spread process starts, too little for a person to
/// mind.
const JITTER_MAX_MILLIS: u64 = 1000;

/// The channels to one agent's supervisor.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    pub(super) requests: mpsc::Sender<Box<Request>>,
    pub(super) notes: mpsc::Sender<Note>,
    pub(super) view: watch::Receiver<View>,
}

/// An agent's state as its supervisor published it, which is as on disk.
pub(super) struct Published {
    pub(super) name: AgentName,
    pub(super) agent: Arc<Agent>,
    /// True if the agent's supervisor is given up: this is the last state, and no input reaches the agent.
    pub(super) deserted: bool,
}

/// The services that all supervisors share, and the directory of supervisors.
pub(super) struct Shared {
    pub(super) journal: Journal,
    /// The configured limits; replaced as a whole when the configuration is read again, see [`Shared::policy`].
    pub(super) policy: RwLock<Arc<Policy>>,
    pub(super) posting: Posting,
    pub(super) trees: ProcessTrees,
    /// Redactor for files written to workspaces; it learns secrets that are read while herder runs.
    pub(super) redactor: Redactor,
    /// The places where sessions run, with their grants for herder's tools.
    pub(super) places: Places,
    /// Runners on other machines; `None` if no servers are configured.
    pub(super) runners: Option<Runners>,
    /// The evaluator; `None` if no program is asked.
    pub(super) evaluator: Option<Evaluator>,
    pub(super) timers: Timers,
    /// The assignment of places to agents, and the closed accounts.
    pub(super) turns: Turns,
    pub(super) fault: FaultInjection,
    /// Notified after every published view and change of the board, for topics and pages.
    pub(super) changed: watch::Sender<()>,
    /// The tasks of all supervisors.
    pub(super) tasks: TaskTracker,
    /// The tasks of the root and the timer, which end after the supervisors.
    pub(super) services: TaskTracker,
    /// Cancelled when herder goes down; results that this cuts short are ignored.
    pub(super) draining: CancellationToken,
    /// Cancelled after the supervisors have ended, to end the services.
    pub(super) ended: CancellationToken,
    /// Channel to the root. It is unbounded, because a supervisor must never wait for the root, which waits for the
    /// journal; its messages follow a commit of an agent, or one of the few commands under way.
    pub(super) root: mpsc::UnboundedSender<ToRoot>,
    pub(super) handles: RwLock<BTreeMap<AgentName, Handle>>,
    /// Agents whose supervisors are given up until herder is restarted.
    pub(super) deserted: RwLock<BTreeSet<AgentName>>,
    /// Links between Discord users and services accounts.
    pub(super) ties: Ties,
    /// Replies of an earlier herder that a network must be asked about.
    pub(super) ungiven: Mutex<Vec<Ungiven>>,
    /// Usage of removed agents and state of the shared caps, beside the agents' own usage.
    pub(super) ledger: RwLock<Ledger>,
    /// The task board as it is on disk.
    pub(super) board: RwLock<Arc<Board>>,
    pub(super) links: RwLock<BTreeMap<NetworkName, LinkReport>>,
    /// Whether a chat network is joined, and since when that is so.
    pub(super) joined: Mutex<(bool, Timestamp)>,
    /// Lock held while the agents of a configuration file are applied, so that this happens one at a time.
    pub(super) configuring: tokio::sync::Mutex<()>,
    /// Lock held by the one caller that waits for views; the others wait for it, first come, first served.
    pub(super) catching_up: tokio::sync::Mutex<()>,
    /// State of each agent's last session as its driver reports it.
    pub(super) lives: RwLock<BTreeMap<AgentName, watch::Receiver<Live>>>,
}

impl Shared {
    /// Returns the present limits. A decision takes them once, so that they do not change while it is made.
    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_policy(&self, policy: Policy) {
        self.limit_turns(&policy);
        let mut known = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let released = policy.reassign_after != known.reassign_after;
        *known = Arc::new(policy);
        drop(known);
        // Agents that are halted already count by the new limit as well.
        if released {
            for (agent, _) in self.all_handles() {
                self.input(&agent, Input::Tick);
            }
        }
    }

    pub(super) fn handle(&self, agent: &AgentName) -> Option<Handle> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
    }

    pub(super) fn remember(&self, agent: AgentName, handle: Handle) {
        self.deserted.write().unwrap_or_else(PoisonError::into_inner).remove(&agent);
        self.handles.write().unwrap_or_else(PoisonError::into_inner).insert(agent, handle);
    }

    /// Records that the supervisor of an agent is given up, so that the agent takes no input any more.
    pub(super) fn desert(&self, agent: &AgentName) {
        self.deserted.write().unwrap_or_else(PoisonError::into_inner).insert(agent.clone());
    }

    pub(super) fn is_deserted(&self, agent: &AgentName) -> bool {
        self.deserted.read().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    /// Returns the agents whose entries could not be read, so that they never had a supervisor.
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

    /// Notifies followers, such as the page, that the fleet has changed.
    pub(super) fn rings(&self) {
        self.changed.send_replace(());
    }

    pub(super) fn all_handles(&self) -> Vec<(AgentName, Handle)> {
        let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
        handles.iter().map(|(name, handle)| (name.clone(), handle.clone())).collect()
    }

    /// Returns the published states of all agents, without the parts of a view that cost more to find out.
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

    /// Sets the receiver from which the state of the agent's session is read.
    pub(super) fn watch_live(&self, agent: AgentName, live: watch::Receiver<Live>) {
        self.lives.write().unwrap_or_else(PoisonError::into_inner).insert(agent, live);
    }

    /// Returns the published view with the present state of the session and of the account, so that a tool call opened
    /// since the last decision is shown too.
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

    /// Sends an input to an agent's supervisor, without waiting.
    pub(super) fn input(&self, agent: &AgentName, input: Input) {
        self.note(agent, Note::Input(Box::new(input)));
    }

    /// Puts a message into a supervisor's mailbox. If it is full, a separate task waits, because the caller must not.
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

    /// Stores a state as a snapshot, from which the next start replays.
    pub(super) async fn snapshot<S: Serialize>(
        &self,
        stream: Stream,
        rev: u64,
        state: &S,
    ) -> Result<(), CommitError> {
        let state = match serde_json::to_vec(state) {
            Ok(state) => state,
            Err(reason) => {
                // The state is then read from its events, which only takes longer.
                error!(%stream, %reason, "a snapshot could not be encoded");
                return Ok(());
            }
        };
        let snapshots = vec![Snapshot { stream, rev, state }];
        let batch = Batch { at: clock::now(), snapshots, ..Batch::default() };
        match self.journal.commit(batch).await {
            // It is too large: the state is read from its events instead.
            Err(CommitError::Invalid(reason)) => {
                warn!(reason, "a snapshot was not taken");
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Kills the processes of an agent that has no session; returns the ids of those that could not be ended.
    pub(super) async fn end_left(&self, agent: &AgentName) -> Vec<u32> {
        match &self.fault.simulated {
            Some(simulated) => (simulated.end_processes)(agent),
            None => self.end_marked(agent).await,
        }
    }

    /// Kills all processes with a marker of the agent; returns the ids of those that could not be ended.
    pub(super) async fn end_marked(&self, agent: &AgentName) -> Vec<u32> {
        let place = self.place(agent);
        let mut left = match place.runner() {
            Some(_) => place.end(format!("{}/", self.marker(agent))).await,
            None => Vec::new(),
        };
        for prefix in self.prefixes() {
            left.extend(self.trees.end_marked(&format!("{prefix}{agent}/"), Duration::ZERO).await);
        }
        left
    }

    /// Returns the beginnings of the markers of all agents' processes on this machine.
    pub(super) fn prefixes(&self) -> Vec<String> {
        self.places.here().prefixes(self.journal.id())
    }

    /// Returns the place of an agent's open session, or else of its next one.
    pub(super) fn place(&self, agent: &AgentName) -> Arc<Place> {
        let runner = self.handle(agent).and_then(|handle| handle.view.borrow().runner.clone());
        self.places.of(runner.as_ref())
    }

    /// Returns the beginning of the markers of an agent's processes.
    pub(super) fn marker(&self, agent: &AgentName) -> String {
        format!("{}{agent}", self.place(agent).prefix(self.journal.id()))
    }

    pub(super) fn set_link(&self, report: LinkReport) {
        let mut links = self.links.write().unwrap_or_else(PoisonError::into_inner);
        let is_up = |report: &LinkReport| matches!(report.state, LinkState::Up { .. });
        if is_up(&report) && !links.get(&report.network).is_some_and(is_up) {
            let reconnects = &self.journal.numbers().reconnects;
            let again = reconnects.read().iter().any(|(network, _)| *network == report.network);
            reconnects.add(&report.network, u64::from(again));
        }
        links.insert(report.network.clone(), report);
        let is_joined = links.values().any(|link| is_up(link) && self.posting.has(&link.network));
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if joined.0 != is_joined {
            *joined = (is_joined, clock::now());
        }
        drop(joined);
        drop(links);
        self.changed.send_replace(());
    }

    /// Returns a random addition to countdowns; zero for a small fleet, see [`JITTER_FROM_AGENTS`].
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
