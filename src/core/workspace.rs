//! State of an agent's workspace, as `git` reports it.

use serde::{Deserialize, Serialize};

use super::recap::{bounded, one_line};

/// Maximum length of a branch's name, in bytes.
const BRANCH_MAX: usize = 100;

/// Maximum number of changed files that are counted; a count of this size means "at least".
pub const CHANGED_MAX: u32 = 10_000;

/// A `git` operation in the workspace that was begun and not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// An unfinished `git merge`.
    Merge,
    /// An unfinished `git rebase`.
    Rebase,
    /// An unfinished `git cherry-pick`.
    CherryPick,
    /// An unfinished `git revert`.
    Revert,
    /// An unfinished `git bisect`.
    Bisect,
}

impl Unfinished {
    /// Returns the name of the operation's `git` subcommand.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
        }
    }
}

/// State of an agent's workspace before a session, as `git` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Name of the checked-out branch; `None` if none is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Number of files that are changed, new or in conflict, at most [`CHANGED_MAX`].
    pub changed: u32,
    /// The `git` operation under way; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

impl Workspace {
    /// Returns the state with the branch's name and the count cut to their maximum.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.branch = self.branch.map(|branch| bounded(&one_line(&branch), BRANCH_MAX));
        self.changed = self.changed.min(CHANGED_MAX);
        self
    }

    /// Returns true if files are changed or a `git` operation is unfinished, so that people are told of it.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.changed > 0 || self.unfinished.is_some()
    }

    /// Returns the state as text for the head of the agent's prompt.
    #[must_use]
    pub fn words(&self) -> String {
        let branch = self.branch.as_ref().map_or_else(
            || "no branch is checked out".to_owned(),
            |branch| format!("the branch is \"{branch}\""),
        );
        let changed = match self.changed {
            0 => "nothing is changed that is not committed".to_owned(),
            1 => "1 file is changed and not committed".to_owned(),
            count => format!("{count} files are changed and not committed"),
        };
        let under_way = self.unfinished.map_or_else(String::new, |unfinished| {
            let word = unfinished.word();
            format!(" A git {word} is under way: finish it or abort it before you do anything else.")
        });
        format!("How the workspace stands: {branch}, {changed}.{under_way}")
    }
}
