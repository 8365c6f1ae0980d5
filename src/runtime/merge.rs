//! Merges the accepted work of a task into the base, and checks the result before.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::git::checkout::Checkouts;
use super::git::merge::{Move, Order, Prepared, Step};
use super::{Launch, Local, ProcessTrees, check, setup};
use crate::core::check::{Check, Evidence};
use crate::core::checkout::CloneSetup;
use crate::core::detail::{Detail, GitReason};
use crate::core::pull::Forge;
use crate::core::review::{Back, Merged};

/// Maximum number of merges while others move the base.
const TRIES: u32 = 5;

/// Work that is to be merged, and checked before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The work.
    pub(crate) order: Order,
    /// The setup of the folder in which the result is checked; `None` if it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) setup: Option<CloneSetup>,
    /// The check of the result; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<Check>,
    /// The last check of the work by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) evidence: Option<Box<Evidence>>,
    /// The login at the remote of a repository that an address names; `None` for a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) login: Option<Box<Forge>>,
}

/// Merges the work into the base; `None` if it was stopped before. The result is checked in `folder`, which stays; no other
/// merge into the repository may run meanwhile.
///
/// # Errors
/// The base cannot be moved, or git or the check cannot be run.
pub(crate) async fn run(
    checkouts: &Checkouts,
    trees: &ProcessTrees,
    with: (Launch, Local),
    run: Run,
    (folder, stop): (&Path, CancellationToken),
) -> Option<Result<Merged, Detail>> {
    let order = &run.order;
    let mut branch = String::new();
    for _ in 0..TRIES {
        let ready = Box::pin(ready(checkouts, trees, with.clone(), (&run, folder)));
        let step = match stop.run_until_cancelled(ready).await? {
            Ok(Ok(step)) => step,
            Ok(Err(merged)) => return Some(Ok(merged)),
            Err(why) => return Some(Err(why)),
        };
        // A checkout of the base would be left with half of the files.
        match checkouts.advance(&order.plan, &step).await {
            Ok(Move::Done) => return Some(Ok(Merged::Landed(order.landed(step.branch, &step.to)))),
            Ok(Move::Overtaken) => branch = step.branch,
            Err(why) => return Some(Err(why)),
        }
    }
    Some(Err(GitReason::BaseMoved { branch }.into()))
}

/// Makes the merged commit, and checks it. `Err`: there is nothing to move, or it goes back.
async fn ready(
    checkouts: &Checkouts,
    trees: &ProcessTrees,
    with: (Launch, Local),
    (Run { order, setup, check, evidence, .. }, folder): (&Run, &Path),
) -> Result<Result<Step, Merged>, Detail> {
    checkouts.freshen(&order.plan, true).await?;
    let step = match checkouts.prepare(order).await? {
        Prepared::Landed(landed) => return Ok(Err(Merged::Landed(landed))),
        Prepared::Conflict { branch, files } => {
            return Ok(Err(Merged::Back(Back::Conflict { branch, files })));
        }
        Prepared::Ready(step) => step,
    };
    // The same files need no second check.
    let passed = |check: &&Check| {
        let same =
            |evidence: &Evidence| evidence.command == check::shown(check) && evidence.tree == step.tree;
        evidence.as_deref().is_some_and(|evidence| evidence.is_green() && same(evidence))
    };
    if let Some(check) = check.as_ref().filter(|check| !passed(check)) {
        checkouts.lay_out(&order.plan, &step, folder).await?;
        let evidence = checked(trees, with, (&step, folder), (setup.as_ref(), check)).await?;
        if !evidence.is_green() {
            let (branch, evidence) = (step.branch, Box::new(evidence));
            return Ok(Err(Merged::Back(Back::Red { branch, evidence })));
        }
    }
    Ok(Ok(step))
}

async fn checked(
    trees: &ProcessTrees,
    (launch, local): (Launch, Local),
    (step, folder): (&Step, &Path),
    (setup, check): (Option<&CloneSetup>, &Check),
) -> Result<Evidence, Detail> {
    let mut spec = (*launch.spec).clone();
    spec.workspace = folder.to_owned();
    let with = (Launch { spec: Arc::new(spec), ..launch }, local);
    if let Some(setup) = setup {
        let evidence = Box::pin(setup::run(trees, with.clone(), setup)).await?;
        evidence.why_not_set_up().map_or(Ok(()), Err)?;
    }
    Box::pin(check::on(trees, with, check, (&step.to, &step.tree))).await
}
