//! Configuration of the demo: its agents and short timeouts.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::chat::embedded_ircd::home::Home;
use crate::config::{Cluster, Config, DRAIN_TIMEOUT, Evaluator, History, Http, Networks, Runners, Tools};
use crate::core::checkout::Repository;
use crate::core::id::{AccountName, AgentName};
use crate::core::policy::{Exponential, Policy};
use crate::core::spec::{AgentSpec, Runtime};
use crate::files::FileRules;
use crate::redact::Redactor;

/// Names of the demo's agents. A word in the task of an agent selects what it does, see [`super::agent`]; the last one
/// works on branches of a repository.
pub(super) const AGENTS: [&str; 4] = ["spark", "nova", "ember", LANDS];

/// Name of the agent that works on branches of a repository.
pub(super) const LANDS: &str = "clay";

/// Duration of an ordinary task of a scripted agent, in seconds: long enough to ask for the status and to write a
/// message meanwhile.
const WORK_SECONDS: &str = "3";

/// Time after which the rate limit of a scripted agent ends, in seconds.
const RESET_SECONDS: &str = "12";

/// Returns the names of the agents of a demo with or without a repository.
pub(super) fn agents(has_repository: bool) -> &'static [&'static str] {
    if has_repository { &AGENTS } else { &AGENTS[..AGENTS.len() - 1] }
}

/// Builds the configuration of a demo in `data_dir`, whose agents run the program `herder`; without a repository there
/// is no agent that works on one.
///
/// # Errors
/// A folder cannot be created.
pub(super) fn config(
    home: &Home,
    data_dir: &Path,
    herder: &Path,
    repository: Option<Repository>,
) -> io::Result<Config> {
    let names = agents(repository.is_some()).iter();
    let mut agents = names.map(|name| agent(name, data_dir, herder)).collect::<io::Result<Vec<_>>>()?;
    if let (Some(repository), Some(agent)) = (repository, agents.last_mut()) {
        agent.workspace.clone_from(&repository.path);
        agent.repository = Some(Box::new(repository));
        agent.command.truncate(1);
        agent.command.extend(["demo-agent", "claude-mend"].map(str::to_owned));
    }
    Ok(Config {
        name: home.network.nick.clone(),
        data_dir: data_dir.to_owned(),
        locale: "en-US".to_owned(),
        discord: None,
        irc: vec![home.network.clone()],
        access: home.access(),
        policy: policy(),
        history: History { daily_export: false, warn_free: 0, ..History::default() },
        drain_timeout: DRAIN_TIMEOUT,
        networks: Networks::default(),
        files: FileRules::default(),
        tools: Tools::default(),
        runners: Runners::default(),
        cluster: Cluster::default(),
        // Without account and cost: the built-in detector, which needs no model.
        evaluator: Evaluator::builtin(),
        webhooks: Vec::new(),
        deadman: None,
        http: Some(Http::on_loopback()),
        telemetry: None,
        agents,
        redactor: Redactor::default(),
        secrets: home.accounts().iter().filter_map(|(_, password)| password.clone()).collect(),
        secret_variables: BTreeSet::new(),
        embedded: false,
        folders: Vec::new(),
        warnings: Vec::new(),
    })
}

fn agent(name: &str, data_dir: &Path, herder: &Path) -> io::Result<AgentSpec> {
    let workspace: PathBuf = data_dir.join("workspaces").join(name);
    std::fs::create_dir_all(&workspace)?;
    let program = herder.to_string_lossy().into_owned();
    let script = [
        "demo-agent",
        "claude-obey",
        "--once",
        "yes",
        "--seconds",
        WORK_SECONDS,
        "--reset-in",
        RESET_SECONDS,
    ];
    let checked = AgentName::new(name).map_err(io::Error::other)?;
    Ok(AgentSpec {
        command: std::iter::once(program).chain(script.map(str::to_owned)).collect(),
        // Each agent has an account of its own, so that a failed login does not pause the others.
        account: AccountName::from(name),
        ..AgentSpec::new(checked, Runtime::Claude, workspace)
    })
}

/// Returns the demo's limits on restarts and timeouts: the defaults with shorter times, because nobody watches a demo
/// for five minutes to see a hang end.
fn policy() -> Policy {
    let seconds = Duration::from_secs;
    Policy {
        backoff: [5, 10, 20, 40, 80].map(seconds).to_vec(),
        process_backoff: Exponential { base: seconds(5), cap: seconds(80) },
        startup_timeout: seconds(10),
        silence_timeout: seconds(8),
        tool_timeout: seconds(120),
        max_task_duration: seconds(300),
        stop_grace: seconds(2),
        evaluator: Evaluator::builtin().rules(),
        ..Policy::default()
    }
}
