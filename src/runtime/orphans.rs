//! Orphans: processes left by a killed herder are ended before anything is started in the same workspaces.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use super::process::stop::Meant;
use super::process::{Identity, ProcessTrees, look, table};
use crate::core::agent::ProcessRecord;
use crate::core::id::AgentName;

/// An agent of an earlier, killed herder, with what is known of its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bereft {
    /// Name of the agent.
    pub agent: AgentName,
    /// The processes that the journal records for it.
    pub recorded: Vec<ProcessRecord>,
    /// Path of its workspace.
    pub workspace: PathBuf,
}

/// The result of ending the processes that an earlier herder left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// Ids of the processes that were found and are gone.
    pub ended: Vec<u32>,
    /// Ids of the processes that could not be ended.
    pub survivors: Vec<u32>,
    /// The result by agent, for the agents that had any such process.
    pub by_agent: BTreeMap<AgentName, Remains>,
}

/// The result for one agent's processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remains {
    /// Number of the agent's processes that are gone.
    pub ended: u32,
    /// Ids of the processes that could not be ended and prevent a start of the agent.
    pub survivors: Vec<u32>,
}

/// A process that could not be ended, with the properties that show its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Survivor {
    pid: u32,
    started: Option<u64>,
    marker: Option<String>,
    folder: Option<PathBuf>,
}

/// Ends the recorded processes, those that an earlier herder had adopted, their descendants, and every process whose
/// `HERDER_SESSION` begins with `prefix` (the journal's id and a slash, so that other herders on the machine are not
/// affected; none if it is empty).
///
/// A recorded pid may belong to another process by now: only one with the same start time is ended.
pub async fn end(trees: &ProcessTrees, prefix: &str, agents: &[Bereft], grace: Duration) -> Ended {
    let seen: HashSet<Identity> = agents
        .iter()
        .flat_map(|agent| &agent.recorded)
        .map(|record| Identity { pid: record.pid, started: record.started })
        .chain(trees.inherited())
        .collect();
    let prefixes: Vec<&str> = Some(prefix).filter(|prefix| !prefix.is_empty()).into_iter().collect();
    let owned = owned(trees, prefix, agents).await;
    let (found, survivors) = trees.end_all(Meant::Marked(&prefixes), seen, grace).await;
    let mut ended: Vec<u32> =
        found.into_iter().map(|process| process.pid).filter(|pid| !survivors.contains(pid)).collect();
    ended.sort_unstable();
    let looked = survivors.iter().map(|pid| Survivor {
        pid: *pid,
        started: look(*pid).map(|entry| entry.identity.started),
        marker: trees.marker(*pid),
        folder: table::workspace(*pid),
    });
    let mut by_agent: BTreeMap<AgentName, Remains> = BTreeMap::new();
    for (agent, members) in owned {
        let gone = members.iter().filter(|member| ended.binary_search(&member.pid).is_ok()).count();
        by_agent.entry(agent).or_default().ended = u32::try_from(gone).unwrap_or(u32::MAX);
    }
    for (agent, survivors) in beside(&looked.collect::<Vec<_>>(), prefix, agents) {
        by_agent.entry(agent).or_default().survivors = survivors;
    }
    Ended { ended, survivors, by_agent }
}

/// Returns the living processes of each agent. It is called before they are ended, since afterwards nothing tells to
/// whom they belonged.
async fn owned(trees: &ProcessTrees, prefix: &str, agents: &[Bereft]) -> BTreeMap<AgentName, Vec<Identity>> {
    let mut owned = BTreeMap::new();
    if agents.iter().all(|agent| agent.recorded.is_empty()) {
        return owned;
    }
    let table = trees.table().await;
    for Bereft { agent, recorded, .. } in agents {
        let roots = recorded.iter().map(|record| Identity { pid: record.pid, started: record.started });
        let own = format!("{prefix}{agent}/");
        let members =
            table.members(&roots.collect(), |marker| !prefix.is_empty() && marker.starts_with(&own));
        if !members.is_empty() {
            owned.insert(agent.clone(), members);
        }
    }
    owned
}

/// Assigns survivors to the agents that they obstruct: those with the agent's marker, recorded as its own, or working
/// in its workspace.
fn beside(survivors: &[Survivor], prefix: &str, agents: &[Bereft]) -> BTreeMap<AgentName, Vec<u32>> {
    let mut beside: BTreeMap<AgentName, Vec<u32>> = BTreeMap::new();
    for survivor in survivors {
        let marked = survivor.marker.as_deref().and_then(|marker| marker.strip_prefix(prefix));
        let named = marked.and_then(|rest| rest.split_once('/')).map(|(agent, _)| agent);
        for Bereft { agent, recorded, workspace } in agents {
            let own = named == Some(agent.as_str());
            let known = recorded
                .iter()
                .any(|record| record.pid == survivor.pid && Some(record.started) == survivor.started);
            // Every path begins with an empty one.
            let here = !workspace.as_os_str().is_empty()
                && survivor.folder.as_ref().is_some_and(|folder| folder.starts_with(workspace));
            if own || known || here {
                beside.entry(agent.clone()).or_default().push(survivor.pid);
            }
        }
    }
    beside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, recorded: &[(u32, u64)]) -> Bereft {
        let recorded = recorded.iter().map(|(pid, started)| ProcessRecord { pid: *pid, started: *started });
        Bereft {
            agent: AgentName::new(name).expect("a good name"),
            recorded: recorded.collect(),
            workspace: PathBuf::from("/srv").join(name),
        }
    }

    fn survivor(pid: u32, marker: Option<&str>, folder: &str) -> Survivor {
        let marker = marker.map(str::to_owned);
        Survivor { pid, started: Some(100), marker, folder: Some(folder.into()) }
    }

    #[test]
    fn a_survivor_is_in_the_way_of_the_agent_it_was_recorded_for_marked_for_or_works_beside() {
        let agents =
            [agent("spark", &[(1, 100), (2, 99)]), agent("spark-two", &[]), agent("flint", &[(9, 100)])];
        let survivors = [
            survivor(1, None, "/"),
            // Its pid was given to another process since.
            survivor(2, None, "/"),
            survivor(3, Some("j/spark/7"), "/"),
            survivor(4, Some("j/spark-two/1"), "/srv/spark/src"),
            survivor(5, Some("j/removed/1"), "/srv/flint"),
            survivor(6, Some("other/spark/1"), "/tmp"),
        ];
        let told: Vec<String> = beside(&survivors, "j/", &agents)
            .into_iter()
            .map(|(agent, pids)| format!("{agent}: {pids:?}"))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        flint: [5]
        spark: [1, 3, 4]
        spark-two: [4]
        ");
    }
}
