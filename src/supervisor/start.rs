//! The start of a fleet: reads the journal, ends processes that an earlier herder left, and starts the supervisors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::adopting::{self, Leaving};
use super::configure::{self, Configured, Plan, bot_toml};
use super::owing;
use super::posting::{Listener, Posting};
use super::root::{Root, ToRoot};
use super::runners::Runners;
use super::session::Session;
use super::shared::Shared;
use super::stopping::{self, Unfinished};
use super::task;
use super::timers::Timers;
use super::turns::Turns;
use super::{FaultInjection, Fleet};
use crate::access::Ties;
use crate::clock;
use crate::core::agent::{Agent, Phase};
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::Input;
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;
use crate::evaluator::Evaluator;
use crate::files::FileStore;
use crate::journal::{CommitError, FleetEvent, FleetState, Journal, ReadError, Stream};
use crate::redact::Redactor;
use crate::runner::link::{Bot, Link, LinkError};
use crate::runner::{self, Finds, Machine, Place, Places};
use crate::runtime::ProcessTrees;
use crate::runtime::grants::Grants;
use crate::runtime::orphans::{self, Bereft, Remains};

/// The settings with which a fleet is started.
#[derive(Debug)]
pub struct Settings {
    /// The opened journal that the fleet is read from and writes to.
    pub journal: Journal,
    /// The configured limits.
    pub policy: Policy,
    /// Names of the networks that posts go to.
    pub networks: Vec<NetworkName>,
    /// The webhooks that events go to.
    pub listeners: Vec<Listener>,
    /// The service that starts and ends process trees.
    pub trees: ProcessTrees,
    /// The agents in the configuration file.
    pub agents: Vec<AgentSpec>,
    /// Environment variables that no agent gets, whatever its configuration says: herder's own secrets.
    pub withheld: BTreeSet<String>,
    /// The grants for herder's tools, which every session gets; `None` if they are not served.
    pub tools: Option<Grants>,
    /// The connection to the process that runs the agents; `None` if it is this one.
    pub runner: Option<Link>,
    /// Runners on other machines, and the maker of their places; `None` if no servers are configured.
    pub elsewhere: Option<(Runners, Finds)>,
    /// Redactor for files written to workspaces; it learns secrets that are read while herder runs.
    pub redactor: Redactor,
    /// The evaluator; `None` if no program is asked.
    pub evaluator: Option<Evaluator>,
    /// Number of consecutive failed attempts to connect after which the other networks are told of a network that stays
    /// down.
    pub attempts: u32,
    /// Hooks for tests; none in normal operation.
    pub fault: FaultInjection,
}

/// Reason why a fleet could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal cannot be read.
    #[error("the journal cannot be read: {0}")]
    Read(#[from] ReadError),
    /// The journal cannot be written.
    #[error("the journal cannot be written: {0}")]
    Commit(#[from] CommitError),
    /// The task that reads the journal died.
    #[error("reading the journal was cut short: {0}")]
    Join(#[from] tokio::task::JoinError),
    /// The process that runs the agents cannot be used.
    #[error(transparent)]
    Runner(#[from] LinkError),
    /// Agents would run on the machine of a bot that others can succeed, and twice after that.
    #[error(
        "with [cluster] standby no agent runs on the bot's own machine, and these have no runner: {0}. Start herder without \
         standby, give each a runner (agent edit <name> runner=box4) or remove it, and start with standby again"
    )]
    Here(String),
    /// herder was asked to end before the start was complete.
    #[error("the start was cut short, with {left} processes of an earlier herder left")]
    CutShort {
        /// Number of processes of an earlier herder that could not be ended.
        left: usize,
    },
}

/// The state of the fleet and of its agents, as read from the journal.
struct Recalled {
    fleet: FleetState,
    rev: u64,
    agents: BTreeMap<AgentName, (Arc<Agent>, u64)>,
    /// Agents whose stream cannot be read, each with the reason.
    unreadable: BTreeMap<AgentName, String>,
    /// Orders to stop all agents that an earlier herder did not complete.
    stops: Vec<Unfinished>,
    /// Replies that an earlier herder did not give, by the keys of their memos.
    ungiven: Vec<(String, Option<owing::Owing>)>,
}

/// Signals by which a start can be ended early.
#[derive(Debug, Clone, Default)]
pub struct CutShort {
    /// Cancelled when herder is to end.
    pub asked: CancellationToken,
    /// Time after `asked` was cancelled, after which processes of an earlier herder that are being ended are killed.
    pub patience: Duration,
    /// Cancelled by the start itself when it begins to check `asked` at safe places and must not be dropped any more.
    pub begun: CancellationToken,
}

impl CutShort {
    async fn over(&self) {
        self.asked.cancelled().await;
        tokio::time::sleep(self.patience).await;
    }
}

/// Runs [`start_unless`] without a way to end it early.
///
/// # Errors
/// If the journal cannot be read or written.
pub async fn start(settings: Settings) -> Result<Fleet, StartError> {
    start_unless(settings, &CutShort::default()).await
}

/// Reads the journal, ends processes that an earlier herder left, and starts a supervisor for every agent, unless it
/// is ended before that last step.
///
/// # Errors
/// If the journal cannot be read or written, or the start was ended early: then no agent has started anything.
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
        runner,
        elsewhere,
        redactor,
        evaluator,
        attempts,
        fault,
    } = settings;
    let recalled = journal.reading(recall).await??;
    if elsewhere.as_ref().is_some_and(|(runners, _)| runners.are_needed()) {
        refuse_agents_here(&recalled)?;
    }
    let place = if let Some(link) = runner {
        link.give_files(FileStore::new(journal.data_dir()));
        Place::Remote(link, tools, None)
    } else {
        Place::Embedded(Machine::new(runner::Setup {
            data_dir: journal.data_dir().to_owned(),
            trees: trees.clone(),
            redactor: redactor.clone(),
            withheld: withheld.clone(),
            tools,
        }))
    };
    let (runners, finds) = match elsewhere {
        Some((runners, finds)) => (Some(runners), finds),
        // Whatever an earlier configuration has put elsewhere is out of reach.
        None => (None, Finds::nowhere(Bot { journal: journal.id().to_owned(), epoch: 0 })),
    };
    let (root_tx, root_rx) = mpsc::unbounded_channel();
    let turns = Turns::new(&policy, fault.simulates());
    let shared = Arc::new(Shared {
        journal,
        policy: RwLock::new(Arc::new(policy)),
        posting: Posting::new(networks, listeners),
        places: Places::new(place, finds, withheld),
        runners,
        trees,
        redactor,
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
        joined: Mutex::new((false, clock::now())),
        configuring: tokio::sync::Mutex::default(),
        catching_up: tokio::sync::Mutex::default(),
        lives: RwLock::default(),
    });
    cut.begun.cancel();
    let mut adopted = adopting::adopt(&shared, &recalled.agents).await?;
    let went_on = adopted.len();
    // Dropped before the sessions: a start that fails ends none of them.
    let leaving = Leaving::of(&shared);
    let mut remains = end_orphans(&shared, &recalled, &adopted, cut).await;
    if cut.asked.is_cancelled() {
        let left = shared.trees.count_marked(&format!("{}/", shared.journal.id())).await;
        return Err(StartError::CutShort { left });
    }
    if let Some(evaluator) = &shared.evaluator {
        // This waits until processes that may still use the files are ended.
        evaluator.sweep().await;
    }
    if !shared.fault.simulates() {
        shared.places.here().sweep().await;
    }

    let Recalled { fleet, rev, agents: known, mut unreadable, mut stops, ungiven } = recalled;
    // They come before the agents' next posts.
    owing::make_up_for(&shared, ungiven).await?;
    bury_losses(&shared, &known).await?;
    shared.ties.set(fleet.ties.clone());
    let mut root = Root::new(Arc::clone(&shared), fleet, rev, attempts);
    // herder ended between their removal and its record on the roster.
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
    // Before any agent starts: places taken, waiting agents, and closed gates.
    known.iter().for_each(|(name, (agent, _))| shared.turns.enter(name, agent));
    root.recall_exhausted(known.iter().map(|(name, (agent, _))| (name, agent))).await?;
    for (name, (agent, rev)) in known {
        let left = remains.remove(&name).unwrap_or_default();
        if !left.survivors.is_empty() && agent.session().is_none() {
            // If its session is still open, that session's end posts it.
            root.alert_survivors(&name, &left.survivors).await?;
        }
        // They come before the configuration's change, which may start a session.
        let mut ahead: Vec<_> = stops.iter_mut().filter_map(|stop| stop.request(&name)).collect();
        if let Some(step) = steps.remove(&name) {
            let (request, step) = step.request(&name);
            ahead.push(*request);
            under_way.push(step);
        }
        stopped.push(name.clone());
        let session = adopted.remove(&name);
        root.start(name, (agent, rev), (left, session), ahead);
    }
    root.open_noted(None).await?;
    // No agent may continue past a reached cap.
    root.look_at_the_books().await?;
    root.reconcile_accounts().await?;
    for spec in added {
        let agent = spec.name.clone();
        match root.create((spec, true), bot_toml(), Vec::new(), Vec::new(), Vec::new()).await {
            Ok(()) => configured.add(agent),
            // Its old stream cannot be continued, which does not concern the others.
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
        // It is known to commands and channels before the first of them asks.
        shared.desert(&agent);
        shared.tell_root(ToRoot::GaveUp { agent, reason });
    }
    read.push(FleetEvent::Started { version: env!("CARGO_PKG_VERSION").to_owned() });
    configured.settle(under_way, &mut read).await;
    root.record(read, Vec::new()).await?;
    // With the configuration's caps.
    root.look_at_the_books().await?;
    root.look_at_the_board(unread).await?;

    let ringing = Arc::clone(&shared);
    shared.services.spawn(async move {
        let due = |agent: &AgentName| ringing.input(agent, Input::Tick);
        let set = || {
            // A supervisor that is woken checks the clock first.
            ringing.published().iter().for_each(|agent| due(&agent.name));
            ringing.tell_root(ToRoot::LookAtTheClock);
        };
        ringing.ended.run_until_cancelled(ringing.timers.run(due, set)).await;
    });
    let ended = shared.ended.clone();
    shared.services.spawn(async move { ended.run_until_cancelled(Box::pin(root.run(root_rx))).await });
    leaving.stay();
    let fleet = Fleet { shared, went_on };
    // Agents that were added now did not exist when the order was given.
    stops.into_iter().for_each(|stop| fleet.finish(stop, stopped.clone()));
    Ok(fleet)
}

/// Refuses agents of the bot's own machine.
fn refuse_agents_here(recalled: &Recalled) -> Result<(), StartError> {
    let is_here = |agent: &Agent| {
        agent.phase != Phase::Removed && agent.spec.as_ref().is_some_and(|spec| spec.runner.is_none())
    };
    let here = recalled.agents.iter().filter(|(_, (agent, _))| is_here(agent));
    let here: Vec<&str> = here.map(|(name, _)| name.as_str()).collect();
    if here.is_empty() { Ok(()) } else { Err(StartError::Here(here.join(", "))) }
}

fn recall(journal: &Journal) -> Result<Recalled, ReadError> {
    let loaded = journal.load_fleet()?;
    let (mut agents, mut unreadable) = (BTreeMap::new(), BTreeMap::new());
    for name in &loaded.state.roster {
        match journal.load_whole::<Agent>(&Stream::Agent(name.clone())) {
            Ok(agent) => drop(agents.insert(name.clone(), (Arc::new(agent.state), agent.rev))),
            // A damaged agent stream does not concern the rest of the journal.
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

/// Lets agents whose last entries the disk has lost continue without them. A snapshot is stored after the lost entries,
/// so that the next start does not report them again, also for removed agents that may be added again.
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

/// Ends processes that a killed herder left, before anything starts in the agents' workspaces. Returns the result by
/// agent.
async fn end_orphans(
    shared: &Arc<Shared>,
    recalled: &Recalled,
    adopted: &BTreeMap<AgentName, Box<Session>>,
    cut: &CutShort,
) -> BTreeMap<AgentName, Remains> {
    // The very first start has nothing to look for. An evaluation may have outlived the last agent.
    let littered = shared.evaluator.as_ref().is_some_and(Evaluator::is_littered);
    let inherited = !shared.trees.inherited().is_empty();
    if recalled.agents.is_empty() && recalled.unreadable.is_empty() && !littered && !inherited {
        return BTreeMap::new();
    }
    let is_here = |agent: &Agent| agent.spec.as_ref().is_none_or(|spec| spec.runner.is_none());
    let bereft: Vec<Bereft> = recalled
        .agents
        .iter()
        .filter(|(name, _)| !adopted.contains_key(*name))
        .map(|(name, (agent, _))| Bereft {
            agent: name.clone(),
            // Those of another machine are ended there.
            recorded: match is_here(agent) {
                true => agent
                    .process
                    .into_iter()
                    .chain(agent.survivor)
                    .chain(agent.warm.as_ref().map(|warm| warm.process))
                    .collect(),
                false => Vec::new(),
            },
            workspace: match agent.checkout() {
                _ if !is_here(agent) => std::path::PathBuf::new(),
                Some(checkout) => shared.checkout_folder(checkout.plan.task),
                None => agent
                    .spec
                    .as_ref()
                    .filter(|spec| spec.repository.is_none())
                    .map(|spec| spec.workspace.clone())
                    .unwrap_or_default(),
            },
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
