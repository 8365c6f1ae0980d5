//! From the journal to running supervisors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::configure::{self, Configured, Plan, bot_toml};
use super::owing;
use super::posting::{Listener, Posting};
use super::root::{Root, ToRoot};
use super::shared::Shared;
use super::stopping::{self, Unfinished};
use super::task;
use super::timers::Timers;
use super::turns::Turns;
use super::{FaultInjection, Fleet};
use crate::access::Ties;
use crate::core::agent::{Agent, Phase};
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::Input;
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;
use crate::evaluator::Evaluator;
use crate::journal::{CommitError, FleetEvent, FleetState, Journal, ReadError, Stream};
use crate::outbox::redact::Redactor;
use crate::runtime::ProcessTrees;
use crate::runtime::orphans::{self, Bereft, Remains};
use crate::tools::Grants;

/// What a fleet is started with.
#[derive(Debug)]
pub struct Settings {
    /// The journal.
    pub journal: Journal,
    /// The limits.
    pub policy: Policy,
    /// The networks that posts go to.
    pub networks: Vec<NetworkName>,
    /// Programs outside that are told of events.
    pub listeners: Vec<Listener>,
    /// The process-tree service.
    pub trees: ProcessTrees,
    /// Agents written in the configuration.
    pub agents: Vec<AgentSpec>,
    /// Variables of the environment that no agent gets, whatever its spec asks for: herder's own secrets.
    pub withheld: BTreeSet<String>,
    /// The right to herder's tools, where they are served: every session is given it.
    pub tools: Option<Grants>,
    /// Takes secrets out of what is written into workspaces, and is told of those that are read while herder runs.
    pub redactor: Redactor,
    /// Who judges the agents' turns, where a program is asked.
    pub evaluator: Option<Evaluator>,
    /// Failed attempts in a row after which the networks that are up are told of one that stays away.
    pub attempts: u32,
    /// A seam for tests.
    pub fault: FaultInjection,
}

/// Why a fleet could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal cannot be read.
    #[error("the journal cannot be read: {0}")]
    Read(#[from] ReadError),
    /// The journal cannot be written.
    #[error("the journal cannot be written: {0}")]
    Commit(#[from] CommitError),
    /// The reading task died.
    #[error("reading the journal was cut short: {0}")]
    Join(#[from] tokio::task::JoinError),
    /// herder is to end.
    #[error("the start was cut short, with {left} processes of an earlier herder left")]
    CutShort {
        /// Processes of an earlier herder that could not be ended.
        left: usize,
    },
}

/// What the journal says of the fleet.
struct Recalled {
    fleet: FleetState,
    rev: u64,
    agents: BTreeMap<AgentName, (Arc<Agent>, u64)>,
    /// Agents whose stream cannot be read, and why.
    unreadable: BTreeMap<AgentName, String>,
    /// Orders to stop all agents that were not carried out to their end.
    stops: Vec<Unfinished>,
    /// Answers that were not given, by what they are noted as.
    ungiven: Vec<(String, Option<owing::Owing>)>,
}

/// When a start is to be left off.
#[derive(Debug, Clone, Default)]
pub struct CutShort {
    /// Cancelled when herder is to end.
    pub asked: CancellationToken,
    /// How long processes of an earlier herder that are being ended may take from then on, before they are killed.
    pub patience: Duration,
    /// Cancelled by the start itself, once it looks for that at safe places and must not be dropped any more.
    pub begun: CancellationToken,
}

impl CutShort {
    async fn over(&self) {
        self.asked.cancelled().await;
        tokio::time::sleep(self.patience).await;
    }
}

/// [`start_unless`] that goes through with it.
///
/// # Errors
/// If the journal cannot be read or written.
pub async fn start(settings: Settings) -> Result<Fleet, StartError> {
    start_unless(settings, &CutShort::default()).await
}

/// Reads the journal, ends what an earlier herder left running, starts a supervisor for every agent, unless it is cut short
/// before the last of these.
///
/// # Errors
/// If the journal cannot be read or written, or the start was cut short: then no agent has begun anything.
pub async fn start_unless(settings: Settings, cut: &CutShort) -> Result<Fleet, StartError> {
    let Settings {
        journal,
        policy,
        networks,
        listeners,
        trees,
        agents,
        withheld,
        tools,
        redactor,
        evaluator,
        attempts,
        fault,
    } = settings;
    let recalled = journal.reading(recall).await??;
    let (root_tx, root_rx) = mpsc::unbounded_channel();
    let turns = Turns::new(&policy);
    let shared = Arc::new(Shared {
        journal,
        policy: RwLock::new(Arc::new(policy)),
        posting: Posting::new(networks, listeners),
        trees,
        redactor,
        withheld: RwLock::new(withheld),
        tools,
        evaluator,
        timers: Timers::default(),
        turns,
        fault,
        changed: watch::Sender::new(()),
        tasks: TaskTracker::new(),
        services: TaskTracker::new(),
        draining: CancellationToken::new(),
        ended: CancellationToken::new(),
        root: root_tx,
        handles: RwLock::default(),
        deserted: RwLock::default(),
        ties: Ties::default(),
        ungiven: Mutex::default(),
        ledger: RwLock::new(recalled.fleet.ledger.clone()),
        board: RwLock::new(Arc::clone(&recalled.fleet.board)),
        links: RwLock::default(),
        configuring: tokio::sync::Mutex::default(),
        lives: RwLock::default(),
    });
    cut.begun.cancel();
    let mut remains = end_orphans(&shared, &recalled, cut).await;
    if cut.asked.is_cancelled() {
        let left = shared.trees.count_marked(&format!("{}/", shared.journal.id())).await;
        return Err(StartError::CutShort { left });
    }
    if let Some(evaluator) = &shared.evaluator {
        // Not before whoever may still have worked in them is ended.
        evaluator.sweep().await;
    }

    let Recalled { fleet, rev, agents: known, mut unreadable, mut stops, ungiven } = recalled;
    // Ahead of what the agents have to say from now on.
    owing::make_up_for(&shared, ungiven).await?;
    bury_losses(&shared, &known).await?;
    shared.ties.set(fleet.ties.clone());
    let mut root = Root::new(Arc::clone(&shared), fleet, rev, attempts);
    // herder ended between their removal and its mention on the roster.
    let (gone, known): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|(_, (agent, _))| agent.phase == Phase::Removed);
    for (name, (agent, _)) in gone {
        root.look_at(&name, &agent).await?;
        root.strike(name, Some(&agent)).await?;
    }
    let specs: BTreeMap<&AgentName, &AgentSpec> =
        known.iter().filter_map(|(name, (agent, _))| Some((name, agent.spec.as_ref()?))).collect();
    let plan = configure::plan(&root.fleet, |agent| specs.get(agent).copied(), agents);
    let Plan { added, mut steps, mut read, stayed } = plan;
    let mut configured = Configured::default();
    configured.stay(stayed);
    let (mut under_way, mut stopped) = (Vec::new(), Vec::new());
    // Before anybody begins: who was at work, who waits, and what nobody gets past.
    known.iter().for_each(|(name, (agent, _))| shared.turns.enter(name, agent));
    root.recall_exhausted(known.iter().map(|(name, (agent, _))| (name, agent))).await?;
    for (name, (agent, rev)) in known {
        let left = remains.remove(&name).unwrap_or_default();
        if !left.survivors.is_empty() && agent.session().is_none() {
            // The end of a session that is still open says so itself.
            root.alert_survivors(&name, &left.survivors).await?;
        }
        // Before what the configuration asks for, which may be that it begins.
        let mut ahead: Vec<_> = stops.iter_mut().filter_map(|stop| stop.request(&name)).collect();
        if let Some(step) = steps.remove(&name) {
            let (request, step) = step.request(&name);
            ahead.push(*request);
            under_way.push(step);
        }
        stopped.push(name.clone());
        root.start(name, (agent, rev), left, ahead);
    }
    root.open_noted(None).await?;
    // Nobody goes on past a cap that was reached.
    root.look_at_the_books().await?;
    root.reconcile_accounts().await?;
    for spec in added {
        let agent = spec.name.clone();
        match root.create((spec, true), bot_toml(), Vec::new(), Vec::new(), Vec::new()).await {
            Ok(()) => configured.add(agent),
            // It cannot go on in its old stream, which keeps none of the others.
            Err(CommitError::Invalid(reason)) => {
                configured.fail(agent.clone());
                unreadable.entry(agent).or_insert(reason);
            }
            Err(reason) => return Err(reason.into()),
        }
    }
    let unread: BTreeSet<AgentName> = unreadable.keys().cloned().collect();
    stopped.extend(unread.iter().cloned());
    for (agent, reason) in unreadable {
        // It is there, for whoever asks for it and for its channels, before the first of them looks.
        shared.desert(&agent);
        shared.tell_root(ToRoot::GaveUp { agent, reason });
    }
    read.push(FleetEvent::Started { version: env!("CARGO_PKG_VERSION").to_owned() });
    configured.settle(under_way, &mut read).await;
    root.record(read, Vec::new()).await?;
    // With what the configuration says.
    root.look_at_the_books().await?;
    root.look_at_the_board(unread).await?;

    let ringing = Arc::clone(&shared);
    shared.services.spawn(async move {
        let due = |agent: &AgentName| ringing.input(agent, Input::Tick);
        let set = || {
            // Whoever is woken looks at the clock first.
            ringing.published().iter().for_each(|agent| due(&agent.name));
            ringing.tell_root(ToRoot::LookAtTheClock);
        };
        ringing.ended.run_until_cancelled(ringing.timers.run(due, set)).await;
    });
    let ended = shared.ended.clone();
    shared.services.spawn(async move { ended.run_until_cancelled(Box::pin(root.run(root_rx))).await });
    let fleet = Fleet { shared };
    // Those that are new were not there when it was asked for.
    stops.into_iter().for_each(|stop| fleet.finish(stop, stopped.clone()));
    Ok(fleet)
}

fn recall(journal: &Journal) -> Result<Recalled, ReadError> {
    let loaded = journal.load_fleet()?;
    let (mut agents, mut unreadable) = (BTreeMap::new(), BTreeMap::new());
    for name in &loaded.state.roster {
        match journal.load_whole::<Agent>(&Stream::Agent(name.clone())) {
            Ok(agent) => drop(agents.insert(name.clone(), (Arc::new(agent.state), agent.rev))),
            // What is wrong with one of them says nothing of the journal: the others go on.
            Err(
                reason
                @ (ReadError::Decode { .. } | ReadError::Archive { .. } | ReadError::Incomplete { .. }),
            ) => {
                unreadable.insert(name.clone(), reason.to_string());
            }
            Err(reason) => return Err(reason),
        }
    }
    let (stops, ungiven) = (stopping::unfinished(journal)?, owing::ungiven(journal)?);
    Ok(Recalled { fleet: loaded.state, rev: loaded.rev, agents, unreadable, stops, ungiven })
}

/// Agents whose last entries the disk has lost go on without them, and people are told. From now on they begin behind those:
/// the next start does not miss them again, also of those that are removed and may be added again.
async fn bury_losses(
    shared: &Arc<Shared>,
    known: &BTreeMap<AgentName, (Arc<Agent>, u64)>,
) -> Result<(), CommitError> {
    for lost in shared.journal.missing() {
        let Stream::Agent(name) = &lost.stream else { continue };
        let (agent, rev) = match known.get(name) {
            Some(known) => known.clone(),
            None => match task::reload(name, shared).await {
                Ok(removed) => removed,
                Err(reason) => {
                    warn!(agent = %name, reason, "what is left of an agent that has lost entries cannot be read");
                    continue;
                }
            },
        };
        shared.snapshot(lost.stream.clone(), rev, &*agent).await?;
    }
    Ok(())
}

/// Ends what a killed herder left, before anything starts in those workspaces. Answers what came of it, by agent.
async fn end_orphans(
    shared: &Arc<Shared>,
    recalled: &Recalled,
    cut: &CutShort,
) -> BTreeMap<AgentName, Remains> {
    // The first start of all has nothing to look for. An evaluation may have outlived the last agent.
    let littered = shared.evaluator.as_ref().is_some_and(Evaluator::is_littered);
    let adopted = !shared.trees.inherited().is_empty();
    if recalled.agents.is_empty() && recalled.unreadable.is_empty() && !littered && !adopted {
        return BTreeMap::new();
    }
    let bereft: Vec<Bereft> = recalled
        .agents
        .iter()
        .map(|(name, (agent, _))| Bereft {
            agent: name.clone(),
            recorded: agent.process.into_iter().chain(agent.survivor).collect(),
            workspace: agent.spec.as_ref().map(|spec| spec.workspace.clone()).unwrap_or_default(),
        })
        .collect();
    let prefix = format!("{}/", shared.journal.id());
    let ended = match &shared.fault.simulated {
        Some(simulated) => (simulated.end_orphans)(&bereft),
        None => {
            let grace = shared.policy().stop_grace;
            tokio::select! {
                ended = orphans::end(&shared.trees, &prefix, &bereft, grace) => ended,
                () = cut.over() => orphans::end(&shared.trees, &prefix, &bereft, Duration::ZERO).await,
            }
        }
    };
    if !ended.ended.is_empty() {
        info!(processes = ?ended.ended, "ended what an earlier herder left running");
    }
    if !ended.survivors.is_empty() {
        warn!(processes = ?ended.survivors, "processes of an earlier herder could not be ended");
    }
    ended.by_agent
}
