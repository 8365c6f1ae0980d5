//! Runs the check of a task in its clone, as the agent's own processes run there: with the agent's user, environment,
//! sandbox and limits.
//!
//! The command and whatever it has started are ended with it, so that nothing of it works on beside the agent.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::git::checkout::Checkouts;
use super::git::diff::Files;
use super::process::{Allowance, Owned, Tree, spawn};
use super::protocol::{GO, Invocation, furnished};
use super::{Launch, Local, ProcessTrees, isolation};
use crate::core::check::{Check, Evidence, LINES_MAX, OUTPUT_MAX, Void};
use crate::core::checkout::Checkout;
use crate::core::clean::clean;
use crate::core::cut;
use crate::core::detail::{Detail, Own};
use crate::core::machine::Enforcement;
use crate::redact::addresses;

/// Amount of output that is kept while the command runs, in bytes: several times what is shown, so that a secret is
/// whole when it is looked for.
const KEPT_MAX: usize = 4 * OUTPUT_MAX;

/// Maximum wait for the rest of the output once all processes are gone.
const REST_WITHIN: Duration = Duration::from_secs(5);

/// Maximum number of runs if the branch moves during each.
const RUNS_MAX: u32 = 3;

/// Maximum length of the shown command, in bytes.
const COMMAND_MAX: usize = 200;

/// A check that is to be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The command with its limits.
    pub(crate) check: Check,
    /// The task's clone as it is known.
    pub(crate) checkout: Checkout,
}

/// Runs a check on what the agent left in the task's clone; `None` if nothing was changed since the task began, or
/// since the check succeeded.
///
/// # Errors
/// The clone cannot be read, the command cannot be started, or a process that it has left cannot be ended.
pub(crate) async fn run(
    checkouts: &Checkouts,
    trees: &ProcessTrees,
    (launch, local): (Launch, Local),
    Run { check, checkout }: Run,
) -> Result<Option<Evidence>, Detail> {
    let plan = &checkout.plan;
    let mut files = checkouts.files(plan).await?;
    if is_unchanged(&checkout, &check, &files) {
        return Ok(None);
    }
    local.redactor.learn(&addresses::in_text(&check.command));
    let mut runs = 0;
    loop {
        if !files.is_checked_out {
            let void = Void::OffBranch { branch: plan.branch.clone() };
            return Ok(Some(evidence(&check, files, Exit::default(), (&local, Some(void)))));
        }
        runs += 1;
        let exit = Box::pin(once(trees, (launch.clone(), local.clone()), &check)).await?;
        let after = checkouts.files(plan).await?;
        let moved = after.commit != files.commit || !after.is_checked_out;
        if !moved || runs == RUNS_MAX {
            // Files that the check itself has written count as seen.
            return Ok(Some(evidence(&check, after, exit, (&local, moved.then_some(Void::Moved)))));
        }
        files = after;
    }
}

/// Runs a check on a folder with the files of a commit, and nothing beside them.
///
/// # Errors
/// The command cannot be started, or a process that it has left cannot be ended.
pub(super) async fn on(
    trees: &ProcessTrees,
    (launch, local): (Launch, Local),
    check: &Check,
    (commit, tree): (&str, &str),
) -> Result<Evidence, Detail> {
    let exit = Box::pin(once(trees, (launch, local.clone()), check)).await?;
    let (commit, tree) = (commit.to_owned(), tree.to_owned());
    let files = Files { commit, tree, is_checked_out: true, uncommitted: 0 };
    Ok(evidence(check, files, exit, (&local, None)))
}

/// Returns true if the clone is as it was when the task began, or when this check succeeded.
fn is_unchanged(checkout: &Checkout, check: &Check, files: &Files) -> bool {
    let base = checkout.held.as_ref().map(|held| held.base.as_str());
    let green = checkout.evidence.as_ref().filter(|evidence| evidence.is_green());
    let green =
        green.filter(|evidence| evidence.command == shown(check)).map(|evidence| evidence.tree.as_str());
    files.is_checked_out && [base, green].contains(&Some(files.tree.as_str()))
}

pub(super) fn shown(check: &Check) -> String {
    cut::one_line(&clean(&check.command), COMMAND_MAX)
}

/// The end of a command.
#[derive(Debug, Default)]
struct Exit {
    code: Option<i32>,
    signal: Option<i32>,
    late: bool,
    took: Duration,
    output: Vec<u8>,
}

async fn once(trees: &ProcessTrees, (launch, local): (Launch, Local), check: &Check) -> Result<Exit, Detail> {
    let running = trees.running().clone();
    let (marker, grace, folder) = (launch.marker.clone(), launch.clocks.grace, launch.spec.workspace.clone());
    let (command, startup) = (check.command.clone(), launch.clocks.startup);
    let began = running.now();
    let begin = spawn::begin(trees, &folder, &marker, startup, move |trees, folder| {
        Ok((start(trees, (&launch, &local), &command, folder)?, ()))
    });
    let (mut owned, ()) = begin.await?;
    // One that has ended already reads nothing.
    if let Some(mut stdin) = owned.child.stdin.take() {
        let _ = stdin.write_all(GO).await;
    }
    let (stdout, stderr, identity) = (owned.child.stdout.take(), owned.child.stderr.take(), owned.identity);
    let kept = Mutex::new(Kept::default());
    // A sandbox complains on its own standard error.
    let reading = async { tokio::join!(fill(&kept, stdout), fill(&kept, stderr)) };
    tokio::pin!(reading);
    let mut read = false;
    let status = {
        let exit = running.within(check.timeout, owned.wait());
        tokio::pin!(exit);
        loop {
            tokio::select! {
                status = &mut exit => break status,
                _ = &mut reading, if !read => read = true,
            }
        }
    };
    let took = running.now().saturating_duration_since(began);
    let tree = Tree { root: Some(identity), marker: marker.clone(), workspace: folder };
    let survivors = trees.end(&tree, grace).await;
    trees.unlimit(&marker);
    if !survivors.is_empty() {
        return Err(Own::NotEnded.into());
    }
    if !read {
        running.within(REST_WITHIN, reading).await;
    }
    let output = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner)).lines();
    let ended = status.as_ref().and_then(|status| status.as_ref().ok());
    let (code, signal) = (ended.and_then(ExitStatus::code), ended.and_then(ExitStatusExt::signal));
    Ok(Exit { code, signal, late: status.is_none(), took, output })
}

/// Starts the command with the limits of the agent. Blocks, see [`spawn::begin`].
fn start(
    trees: &ProcessTrees,
    (launch, local): (&Launch, &Local),
    command: &str,
    folder: &Path,
) -> Result<Owned, Detail> {
    let mut invocation = Invocation {
        program: "sh".to_owned(),
        // Both outputs are one, in the order in which they were written.
        arguments: vec!["-c".to_owned(), format!("exec 2>&1\n{command}")],
        environment: furnished(launch, local)?,
        waits: true,
    };
    isolation::enclose(launch, local, &mut invocation);
    let allowance = Allowance { own: launch.spec.share, together: launch.together };
    if !allowance.is_none()
        && let Err(why) = trees.limit(&launch.marker, &allowance)
    {
        if launch.limits == Enforcement::Require {
            return Err(Own::LimitsNotSet.with(why));
        }
        tracing::debug!(agent = %launch.agent, %why, "the kernel does not hold the limits of a check");
    }
    let started = spawn::spawn(trees, &invocation, folder, &launch.marker);
    started.inspect_err(|_| trees.unlimit(&launch.marker))
}

fn evidence(check: &Check, files: Files, exit: Exit, (local, void): (&Local, Option<Void>)) -> Evidence {
    let Files { commit, tree, uncommitted, .. } = files;
    let Exit { code, signal, late, took, output } = exit;
    let output = clean(&String::from_utf8_lossy(&output));
    let output = last_lines(&local.redactor.redact(&output));
    let command = local.redactor.redact(&shown(check)).into_owned();
    let evidence = Evidence { command, code, signal, took, late, commit, tree, uncommitted, void, output };
    match evidence.is_green() {
        true => Evidence { output: String::new(), ..evidence },
        false => evidence,
    }
}

/// The last part of what was read.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// True if there was more.
    cut: bool,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT_MAX {
            self.bytes.drain(..self.bytes.len() - KEPT_MAX);
            self.cut = true;
        }
    }

    /// Returns what is kept, from the first whole line on.
    fn lines(mut self) -> Vec<u8> {
        if self.cut
            && let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n')
        {
            self.bytes.drain(..=end);
        }
        self.bytes
    }
}

/// Reads to the end, and keeps the last part.
async fn fill(kept: &Mutex<Kept>, reader: Option<impl AsyncRead + Unpin>) {
    let Some(mut reader) = reader else { return };
    let mut piece = vec![0_u8; 16 * 1024];
    while let Ok(count @ 1..) = reader.read(&mut piece).await {
        let bytes = piece.get(..count).unwrap_or_default();
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

/// Returns the last lines of a text as they are shown.
fn last_lines(text: &str) -> String {
    let mut lines: VecDeque<&str> = VecDeque::new();
    let mut room = OUTPUT_MAX;
    for line in text.trim_end().lines().rev().take(LINES_MAX) {
        if line.len() >= room {
            // One line alone is longer than all that is kept.
            if lines.is_empty() {
                lines.push_front(&line[cut::floor(line, line.len() - room)..]);
            }
            break;
        }
        room -= line.len() + 1;
        lines.push_front(line);
    }
    Vec::from(lines).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_within_their_bounds() {
        let many: String = (0..500).map(|n| format!("line {n}\n")).collect();
        let kept = last_lines(&many);
        assert_eq!((kept.lines().count(), kept.lines().next()), (LINES_MAX, Some("line 400")));
        let long = "ä".repeat(OUTPUT_MAX);
        assert!(last_lines(&long).len() <= OUTPUT_MAX);
        let wide: String = (0..50).map(|_| format!("{}\n", "x".repeat(1000))).collect();
        let kept = last_lines(&wide);
        assert!(kept.len() <= OUTPUT_MAX && kept.len() > OUTPUT_MAX - 1002, "{}", kept.len());
        assert_eq!(last_lines("red\n\n"), "red");
        assert_eq!(last_lines(""), "");
    }
}
