//! Merges the accepted work of a task into the base, and checks the result before.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::check;
use super::git::checkout::Checkouts;
use super::git::merge::{Move, Order, Prepared, Step};
use super::{Launch, Local, ProcessTrees};
use crate::core::check::{Check, Evidence};
use crate::core::detail::{Detail, GitReason};
use crate::core::review::{Back, Merged};

/// Maximum number of merges while others move the base.
const TRIES: u32 = 5;

/// Work that is to be merged, and checked before.
#[derive(Debug)]
pub(crate) struct Landing {
    /// The work.
    pub(crate) order: Order,
    /// The check of the result; `None` if there is none.
    pub(crate) check: Option<Check>,
    /// The last check of the work by itself.
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// Merges the work into the base. `turn`: held while another task of the same repository is merged.
///
/// # Errors
/// The base cannot be moved, or git or the check cannot be run.
pub(crate) async fn run(
    checkouts: &Checkouts,
    trees: &ProcessTrees,
    (launch, local): (Launch, Local),
    Landing { order, check, evidence }: Landing,
    turn: Arc<Mutex<()>>,
) -> Result<Merged, Detail> {
    let _turn = turn.lock().await;
    let mut branch = String::new();
    for _ in 0..TRIES {
        let step = match checkouts.prepare(&order).await? {
            Prepared::Landed(landed) => return Ok(Merged::Landed(landed)),
            Prepared::Conflict { branch, files } => {
                return Ok(Merged::Back(Back::Conflict { branch, files }));
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
            let with = (launch.clone(), local.clone());
            let evidence = checked(checkouts, trees, with, (&order, &step), check).await?;
            if !evidence.is_green() {
                let (branch, evidence) = (step.branch, Box::new(evidence));
                return Ok(Merged::Back(Back::Red { branch, evidence }));
            }
        }
        if checkouts.advance(&order.plan, &step).await? == Move::Done {
            return Ok(Merged::Landed(order.landed(step.branch, &step.to)));
        }
        branch = step.branch;
    }
    Err(GitReason::BaseMoved { branch }.into())
}

async fn checked(
    checkouts: &Checkouts,
    trees: &ProcessTrees,
    (launch, local): (Launch, Local),
    (order, step): (&Order, &Step),
    check: &Check,
) -> Result<Evidence, Detail> {
    let folder = checkouts.lay_out(&order.plan, step).await?;
    let mut spec = (*launch.spec).clone();
    spec.workspace.clone_from(&folder);
    let launch = Launch { spec: Arc::new(spec), ..launch };
    let evidence = Box::pin(check::on(trees, (launch, local), check, (&step.to, &step.tree))).await;
    // The next check removes the rest.
    drop(checkouts.clear(&folder).await);
    evidence
}
