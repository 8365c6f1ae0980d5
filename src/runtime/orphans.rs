//! What a killed herder left is ended before anything is started in the same workspaces.

use std::collections::HashSet;
use std::time::Duration;

use super::process::stop::Meant;
use super::process::{Identity, ProcessTrees};
use crate::core::agent::ProcessRecord;
use crate::core::id::AgentName;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// Processes that were found and are gone.
    pub ended: Vec<u32>,
    /// Processes that could not be ended.
    pub survivors: Vec<u32>,
}

/// Ends the recorded processes, their descendants, and every process whose `HERDER_SESSION` begins with one of the prefixes
/// (the journal's own id, so that another herder on the same machine is left alone).
///
/// A record alone may name a number that was given to another process since: only one with the same start time is meant.
pub async fn end(
    trees: &ProcessTrees,
    recorded: &[(AgentName, String, Option<ProcessRecord>)],
    grace: Duration,
) -> Ended {
    let seen: HashSet<Identity> = recorded
        .iter()
        .filter_map(|(_, _, record)| *record)
        .map(|record| Identity { pid: record.pid, started: record.started })
        .collect();
    let prefixes: Vec<&str> =
        recorded.iter().map(|(_, prefix, _)| prefix.as_str()).filter(|prefix| !prefix.is_empty()).collect();
    let (found, survivors) = trees.end_all(Meant::Marked(&prefixes), seen, grace).await;
    let mut ended: Vec<u32> =
        found.into_iter().map(|process| process.pid).filter(|pid| !survivors.contains(pid)).collect();
    ended.sort_unstable();
    Ended { ended, survivors }
}
