//! From the journal to running supervisors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::posting::Posting;
use super::root::Root;
use super::shared::Shared;
use super::task::Request;
use super::timers::Timers;
use super::{Asked, FaultInjection, Fleet, Handle};
use crate::access::Ties;
use crate::core::agent::{Agent, Phase};
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::{Control, Input};
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;
use crate::core::work::Actor;
use crate::journal::{AuditEntry, CommitError, FleetEvent, FleetState, Journal, ReadError, Stream};
use crate::runtime::ProcessTrees;
use crate::runtime::orphans::{self, Bereft};
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
    /// The process-tree service.
    pub trees: ProcessTrees,
    /// Agents written in the configuration.
    pub agents: Vec<AgentSpec>,
    /// Variables of the environment that no agent gets, whatever its spec asks for: herder's own secrets.
    pub withheld: BTreeSet<String>,
    /// The right to herder's tools, where they are served: every session is given it.
    pub tools: Option<Grants>,
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
}

/// What the journal says of the fleet.
struct Recalled {
    fleet: FleetState,
    rev: u64,
    agents: BTreeMap<AgentName, (Agent, u64)>,
}

/// Reads the journal, ends what an earlier herder left running, starts a supervisor for every agent.
///
/// # Errors
/// If the journal cannot be read or written.
pub async fn start(settings: Settings) -> Result<Fleet, StartError> {
    let Settings { journal, policy, networks, trees, agents, withheld, tools, fault } = settings;
    let reading = journal.clone();
    let recalled = tokio::task::spawn_blocking(move || recall(&reading)).await??;
    let (root_tx, root_rx) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        journal,
        policy,
        posting: Posting::new(networks),
        trees,
        withheld,
        tools,
        timers: Timers::default(),
        fault,
        changed: watch::Sender::new(()),
        tasks: TaskTracker::new(),
        services: TaskTracker::new(),
        ended: CancellationToken::new(),
        root: root_tx,
        handles: RwLock::default(),
        ties: Ties::default(),
        ledger: RwLock::new(recalled.fleet.ledger.clone()),
        links: RwLock::default(),
        lives: RwLock::default(),
    });
    let mut survivors = end_orphans(&shared, &recalled).await;

    let Recalled { fleet, rev, agents: known } = recalled;
    shared.ties.set(fleet.ties.clone());
    let mut root = Root::new(Arc::clone(&shared), fleet, rev);
    for (name, (agent, rev)) in known {
        if agent.phase == Phase::Removed {
            // herder ended between the removal and its mention on the roster.
            root.strike(name, agent.books).await?;
            continue;
        }
        let left = survivors.remove(&name).unwrap_or_default();
        if !left.is_empty() && agent.session().is_none() {
            // The end of a session that is still open says so itself.
            root.alert_survivors(&name, &left).await?;
        }
        root.start(name, agent, rev, left);
    }
    root.reconcile_accounts().await?;
    configure(&mut root, &shared, agents).await?;
    root.look_at_the_books().await?;

    let ringing = Arc::clone(&shared);
    shared.services.spawn(async move {
        let due = |agent: &AgentName| ringing.input(agent, Input::Tick);
        ringing.ended.run_until_cancelled(ringing.timers.run(due)).await;
    });
    let ended = shared.ended.clone();
    shared.services.spawn(async move { ended.run_until_cancelled(root.run(root_rx)).await });
    Ok(Fleet { shared })
}

fn recall(journal: &Journal) -> Result<Recalled, ReadError> {
    let loaded = journal.load::<FleetState>(&Stream::Fleet)?;
    let mut agents = BTreeMap::new();
    for name in &loaded.state.roster {
        let agent = journal.load::<Agent>(&Stream::Agent(name.clone()))?;
        agents.insert(name.clone(), (agent.state, agent.rev));
    }
    Ok(Recalled { fleet: loaded.state, rev: loaded.rev, agents })
}

/// Ends what a killed herder left, before anything starts in those workspaces. Answers what could not be ended, by agent.
async fn end_orphans(shared: &Arc<Shared>, recalled: &Recalled) -> BTreeMap<AgentName, Vec<u32>> {
    // The first start of all has nothing to look for.
    if recalled.agents.is_empty() {
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
    let ended = orphans::end(&shared.trees, &prefix, &bereft, shared.policy.stop_grace).await;
    if !ended.ended.is_empty() {
        info!(processes = ?ended.ended, "ended what an earlier herder left running");
    }
    if !ended.survivors.is_empty() {
        warn!(processes = ?ended.survivors, "processes of an earlier herder could not be ended");
    }
    ended.beside
}

/// Brings agents of the configuration in: new ones are added, and of the known ones those whose section has changed since
/// it was last read are edited. What a person changed by command stays otherwise, and removed ones stay removed.
async fn configure(root: &mut Root, shared: &Arc<Shared>, agents: Vec<AgentSpec>) -> Result<(), StartError> {
    let mut read = vec![FleetEvent::Started { version: env!("CARGO_PKG_VERSION").to_owned() }];
    for agent in root.left_out(&agents) {
        info!(%agent, "is not in the configuration any more and lives on as it was; `agent remove` ends it");
    }
    for spec in agents {
        if root.is_removed(&spec.name) {
            warn!(agent = %spec.name, "is in the configuration but was removed by command; `agent add` brings it back");
            continue;
        }
        if root.configured(&spec.name) == Some(&spec) {
            continue;
        }
        let known = shared.handle(&spec.name);
        let taken = match known {
            None => {
                root.create(spec.clone(), bot_toml(), Vec::new(), Vec::new()).await?;
                true
            }
            Some(handle) if handle.view.borrow().agent.spec.as_ref() == Some(&spec) => true,
            Some(handle) => edit(&handle, spec.clone()).await,
        };
        // An edit that is not on disk must be tried again by the next start.
        if taken {
            read.push(FleetEvent::Configured { spec: Box::new(spec) });
        }
    }
    Ok(root.record(read, Vec::new()).await?)
}

fn bot_toml() -> Actor {
    Actor { network: NetworkName::from("herder"), name: "bot.toml".to_owned(), identity: None }
}

/// Edits an agent for the file. Whether that is on disk.
async fn edit(handle: &Handle, spec: AgentSpec) -> bool {
    let name = spec.name.clone();
    let audit = AuditEntry {
        by: bot_toml(),
        place: "bot.toml".to_owned(),
        agent: Some(name.clone()),
        verb: "agent edit".to_owned(),
        text: String::new(),
    };
    let (ticket, answer) = oneshot::channel();
    let control = Control::Edit(Box::new(spec));
    let request =
        Request { control, asked: Asked { audit, answer: None, message: None }, audited: true, ticket };
    let sent = handle.requests.send(Box::new(request)).await.is_ok();
    let taken = sent && matches!(answer.await, Ok(Ok(_)));
    if !taken {
        warn!(agent = %name, "what the configuration says of it could not be recorded; the next start tries again");
    }
    taken
}
