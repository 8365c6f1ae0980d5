//! `[cluster]`: a bot with another one that waits to succeed it.

use std::time::Duration;

use super::Runners;
use super::section::Section;
use crate::core::spec::AgentSpec;

/// Settings of a bot that others can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// True if the bots of the same keys share a log, and one of them decides at a time.
    pub standby: bool,
    /// Time for which a bot is in office after a record that the log has accepted.
    pub office: Duration,
}

impl Default for Cluster {
    fn default() -> Self {
        Self { standby: false, office: OFFICE }
    }
}

/// Default of `office`: a server that leads the log and dies is replaced in 3 to 9 s, during which nothing is decided
/// anyway.
const OFFICE: Duration = Duration::from_secs(3);

/// Bounds of `office`: below, a short stop of the machine already costs the office; above, people wait for long.
const OFFICE_MIN: Duration = Duration::from_secs(1);
const OFFICE_MAX: Duration = Duration::from_secs(60);

/// Parses `[cluster]`.
pub(super) fn cluster(top: &Section<'_>, runners: &Runners) -> Cluster {
    let default = Cluster::default();
    let Some(section) = top.table("cluster") else { return default };
    let standby = section.flag("standby").unwrap_or(default.standby);
    let office = section.duration("office", OFFICE_MIN).unwrap_or(default.office);
    if office > OFFICE_MAX {
        section.problem("office", "it is more than 60 s; people would wait as long for a successor");
    }
    if standby && runners.servers.is_empty() {
        section.problem(
            "standby",
            "the bots share a log on NATS servers; write servers under [runners] as well",
        );
    }
    section.finish();
    Cluster { standby, office }
}

/// Refuses agents on the machine of a bot that others can succeed: they would stay behind.
pub(super) fn check(cluster: &Cluster, top: &Section<'_>, agents: &[AgentSpec]) {
    let here: Vec<&str> =
        agents.iter().filter(|agent| agent.runner.is_none()).map(|agent| agent.name.as_str()).collect();
    if cluster.standby && !here.is_empty() {
        let why = format!(
            "with standby = true no agent runs on the bot's own machine: give each a runner, which may be one beside the bot \
             ({})",
            here.join(", ")
        );
        top.problem("cluster", why);
    }
}
