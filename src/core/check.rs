//! Checks: the command that has to succeed before a task is done.
//!
//! ```text
//!   a session ended well ──► Checking ──► the command runs in the task's clone, as the agent's processes do
//!                                              │ Checked
//!        green, or nothing was changed ◄───────┼───────► red: its output goes back to the agent, at most `tries` times
//!        the work is done                      └───────► red again: a person is called
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checkout::WHY_MAX;
use super::cut;
use super::detail::{Detail, GitReason, Own};
use super::id::WorkId;

/// Maximum number of lines of a check's output that are kept: those that an agent is told.
pub const LINES_MAX: usize = 100;

/// Maximum length of the output of a check that is kept, in bytes.
pub const OUTPUT_MAX: usize = 16 * 1024;

/// Number of lines of a check's output that a person is told in chat.
const LINES_TOLD: usize = 5;

/// Length of the shown part of a commit's name.
pub(super) const COMMIT_SHOWN: usize = 10;

/// Maximum length of the output that a person is told in chat, in bytes.
const TOLD_MAX: usize = 600;

/// Maximum length of the output of a setup that a person is told in chat, in bytes: within what is kept of the reason of a
/// failed act, so that its end is not cut off, also if it begins with half of a character.
const SETUP_TOLD_MAX: usize = WHY_MAX - 3;

/// The command that has to succeed before an agent's task is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// A command line for `sh`.
    pub command: String,
    /// Maximum duration of the command.
    pub timeout: Duration,
    /// Number of times that a failure goes back to the agent before a person is called.
    pub tries: u32,
}

impl Check {
    /// Maximum duration, unless the configuration sets one (contract, `check_timeout`).
    pub const TIMEOUT: Duration = Duration::from_secs(20 * 60);

    /// Number of failures that go back to the agent, unless the configuration sets one (contract, `check_tries`).
    pub const TRIES: u32 = 2;
}

/// Reason why the result of a check counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Void {
    /// The clone has another commit checked out than the last one of the task's branch, so that nothing was run.
    OffBranch {
        /// Name of the branch.
        branch: String,
    },
    /// The branch moved during each run.
    Moved,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The command.
    pub command: String,
    /// Its exit code; `None` if a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it; `None` if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Its duration.
    pub took: Duration,
    /// True if it took longer than it may, and was ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The commit that it ran on.
    pub commit: String,
    /// Name of the tree of the clone's files after the run; that of the commit if there was nothing beside it.
    pub tree: String,
    /// Number of changed and new files beside that commit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncommitted: u32,
    /// The reason why the result counts for nothing; `None` if it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<Void>,
    /// End of its output, of bounded length; empty if it succeeded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Evidence {
    /// Returns true if the check succeeded.
    #[must_use]
    pub fn is_green(&self) -> bool {
        self.code == Some(0) && !self.late && self.void.is_none()
    }

    /// Returns how it failed, with the last lines of its output.
    #[must_use]
    pub fn why(&self) -> Detail {
        let own = match (&self.void, self.code, self.signal) {
            (Some(Void::OffBranch { branch }), ..) => {
                return GitReason::OffBranch { branch: branch.clone() }.into();
            }
            (Some(Void::Moved), ..) => return GitReason::Moved.into(),
            (None, ..) if self.late => GitReason::Late { command: self.command.clone() }.into(),
            (None, Some(code), _) => Own::ExitCode { code },
            (None, None, Some(signal)) => Own::Signal { signal },
            (None, None, None) => Own::NotWaitedFor,
        };
        own.with(self.told(TOLD_MAX))
    }

    /// Returns why the command, which ran as the setup of a clone, has not set it up, with the last lines of its output;
    /// `None` if it has.
    #[must_use]
    pub fn why_not_set_up(&self) -> Option<Detail> {
        let command = self.command.clone();
        let own = match (self.code, self.signal) {
            _ if self.late => GitReason::SetupLate { command }.into(),
            (Some(0), _) => return None,
            (Some(code), _) => GitReason::SetupFailed { command, code }.into(),
            (None, Some(signal)) => GitReason::SetupKilled { command, signal }.into(),
            (None, None) => Own::NotWaitedFor,
        };
        Some(own.with(self.told(SETUP_TOLD_MAX)))
    }

    /// Returns the beginning of the commit's name that it ran on.
    #[must_use]
    pub fn short_commit(&self) -> String {
        self.commit.chars().take(COMMIT_SHOWN).collect()
    }

    /// Returns the last lines of the output, for a person, in at most this many bytes.
    fn told(&self, max: usize) -> String {
        let lines: Vec<&str> = self.output.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(LINES_TOLD)..).unwrap_or_default();
        let told = last.join(" | ");
        told[cut::floor(&told, told.len().saturating_sub(max))..].to_owned()
    }

    /// Returns what the agent is told about a check that failed, before its task's text.
    #[must_use]
    pub(super) fn words(&self) -> String {
        let command = &self.command;
        match &self.void {
            Some(Void::OffBranch { branch }) => {
                return format!(
                    "Your work on this is not done: `{command}` was not run, as the last commit of the branch {branch} is \
                     not checked out. Check it out, with all that belongs to this work on it."
                );
            }
            Some(Void::Moved) => {
                return format!(
                    "Your work on this is not done: while `{command}` ran, the branch moved each time. Let nothing commit \
                     once you are done."
                );
            }
            None => {}
        }
        let how = match (self.late, self.code) {
            (true, _) => {
                format!("was ended after {} s, which is longer than it may take", self.took.as_secs())
            }
            (false, Some(code)) => format!("failed with exit code {code}"),
            (false, None) => "was ended by a signal".to_owned(),
        };
        let commit = self.short_commit();
        format!(
            "Your work on this is not done: `{command}` {how}, on commit {commit} with {} uncommitted files. The end of \
             its output:\n\n{}\n\nMend the cause, and not the check. It runs again when you are done.",
            self.uncommitted, self.output
        )
    }
}

/// Progress of the check of work that its agent has called done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// The check runs, or begins once the agent is not paused.
    Checking,
    /// The work goes back to its agent: the next session mends what was found.
    Refused,
    /// The check could not be run: it is tried again instead of the next session.
    NotRun,
}

/// Work that its agent has called done and that is not done yet. It waits at the head of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Number of the work: the task, or a message about it.
    pub work: WorkId,
    /// The agent's last words about it.
    pub note: Detail,
    /// Progress of its check.
    pub progress: Progress,
    /// Number of the check, counted for each clone: an earlier one's result is ignored.
    pub number: u32,
    /// Number of times that the check has failed for this work.
    #[serde(default)]
    pub failed: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(output: &str) -> Evidence {
        Evidence {
            command: "make test".to_owned(),
            code: Some(2),
            signal: None,
            took: Duration::from_secs(7),
            late: false,
            commit: "0123456789abcdef".to_owned(),
            tree: "fedcba9876543210".to_owned(),
            uncommitted: 1,
            void: None,
            output: output.to_owned(),
        }
    }

    #[test]
    fn a_check_is_green_if_it_exits_with_0_in_time() {
        let red = evidence("");
        assert!(!red.is_green());
        assert!(Evidence { code: Some(0), ..red.clone() }.is_green());
        assert!(!Evidence { code: Some(0), late: true, ..red.clone() }.is_green());
        assert!(!Evidence { code: None, ..red.clone() }.is_green());
        assert!(!Evidence { code: Some(0), void: Some(Void::Moved), ..red }.is_green());
    }

    #[test]
    fn people_are_told_the_last_lines() {
        assert_eq!(evidence("a\nb\n\nc\nd\ne\nf\n").told(TOLD_MAX), "b | c | d | e | f");
        let long = evidence(&"ä".repeat(1000)).told(TOLD_MAX);
        assert!(long.len() <= TOLD_MAX + 1, "{}", long.len());
    }

    #[test]
    fn people_are_told_why_a_clone_is_not_set_up() {
        let command = || "make test".to_owned();
        let red = evidence("a\nb\n");
        for (ended, why) in [
            (red.clone(), GitReason::SetupFailed { command: command(), code: 2 }),
            (
                Evidence { code: None, signal: Some(9), ..red.clone() },
                GitReason::SetupKilled { command: command(), signal: 9 },
            ),
            // One that is told to end may exit with 0.
            (
                Evidence { code: Some(0), late: true, ..red.clone() },
                GitReason::SetupLate { command: command() },
            ),
        ] {
            assert_eq!(ended.why_not_set_up(), Some(why.with("a | b")));
        }
        assert_eq!(Evidence { code: Some(0), ..red }.why_not_set_up(), None);
        // The last words are whole where the reason of a failure is cut.
        let why = evidence(&format!("{}the end", "ä".repeat(1000))).why_not_set_up().expect("it failed");
        let why = why.bounded(WHY_MAX);
        assert!(why.said.ends_with("the end"), "{why}");
    }

    #[test]
    fn the_agent_is_told_how_it_failed_and_what_was_printed() {
        let words = evidence("1 failed").words();
        assert_eq!(
            words,
            "Your work on this is not done: `make test` failed with exit code 2, on commit 0123456789 with 1 uncommitted \
             files. The end of its output:\n\n1 failed\n\nMend the cause, and not the check. It runs again when you are \
             done."
        );
        let late = Evidence { late: true, ..evidence("") };
        assert!(late.words().contains("`make test` was ended after 7 s, which is longer than it may take"));
    }
}
