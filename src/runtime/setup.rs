//! Makes the clone of a task ready: a new one gets its files, and then the agent's setup runs there as a check does.
//!
//! The clone has its final name by then, because many tools write the path of their folder into it. It is not handed to
//! the agent before the setup has succeeded, and one that was cut short runs again.

use serde::{Deserialize, Serialize};

use super::git::checkout::Checkouts;
use super::{Launch, Local, ProcessTrees, check};
use crate::core::check::{Check, Evidence};
use crate::core::checkout::{Base, CloneSetup, Plan};
use crate::core::detail::Detail;
use crate::redact::addresses;

/// A setup that is to be run in a new clone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Settings, limits and clocks of its processes.
    pub(crate) launch: Launch,
    /// The command.
    pub(crate) setup: CloneSetup,
}

/// Makes the clone of a task, unless it is there, and sets it up, unless that was done. Returns what the task began from.
///
/// # Errors
/// The clone cannot be made, or its setup fails or cannot be run.
pub(crate) async fn make(
    checkouts: &Checkouts,
    trees: &ProcessTrees,
    plan: &Plan,
    with: Option<((Launch, Local), CloneSetup)>,
) -> Result<Base, Detail> {
    let task = plan.task;
    if with.is_some() {
        checkouts.await_setup(task).await?;
    }
    let base = checkouts.make(plan).await?;
    if !checkouts.awaits_setup(task).await? {
        return Ok(base);
    }
    if let Some((with, setup)) = with {
        let evidence = Box::pin(run(trees, with, &setup)).await?;
        if let Some(why) = evidence.why_not_set_up() {
            checkouts.keep_output(task, evidence.output).await?;
            return Err(why);
        }
    }
    checkouts.end_setup(task).await?;
    Ok(base)
}

/// Runs a setup in the folder of the launch, and returns how it ended.
///
/// # Errors
/// The command cannot be started, or a process that it has left cannot be ended.
pub(super) async fn run(
    trees: &ProcessTrees,
    (launch, local): (Launch, Local),
    CloneSetup { command, timeout }: &CloneSetup,
) -> Result<Evidence, Detail> {
    local.redactor.learn(&addresses::in_text(command));
    // It is run as a check is; no commit counts as checked by it.
    let check = Check { command: command.clone(), timeout: *timeout, tries: 0 };
    Box::pin(check::on(trees, (launch, local), &check, ("", ""))).await
}
