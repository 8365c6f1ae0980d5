//! How an agent's workspace stands, as far as `git` knows.

use serde::{Deserialize, Serialize};

use super::recap::{bounded, one_line};

/// The longest name of a branch that is kept.
const BRANCH_MAX: usize = 100;

/// The most changed files that are counted; more are "at least so many".
pub const CHANGED_MAX: u32 = 10_000;

/// Something that `git` was asked for and that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl Unfinished {
    /// As it is spelled after `git`.
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

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// The branch; `None`: none is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Files that are changed, new or in conflict, at most [`CHANGED_MAX`].
    pub changed: u32,
    /// What is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

impl Workspace {
    /// With a name that fits on a line.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.branch = self.branch.map(|branch| bounded(&one_line(&branch), BRANCH_MAX));
        self.changed = self.changed.min(CHANGED_MAX);
        self
    }

    /// Whether people who follow the agent are told.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.changed > 0 || self.unfinished.is_some()
    }

    /// For the agent, at the head of its prompt.
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
