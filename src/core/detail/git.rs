//! Reasons why a task's clone cannot be made, read or removed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Detail, Own};

/// A reason of herder's own git. Every variant has a message `git-…` of the same name in `locales/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]
pub enum GitReason {
    /// The folder is no git repository.
    NoRepository { path: String },
    /// The repository has no commit yet, or no such branch.
    NoBase { base: String },
    /// The command failed.
    Failed { command: String },
    /// The command was not done in time.
    Late { command: String },
    /// The command had more output than is read.
    TooMuch { command: String },
    /// The repository has not all files of the commit, as is so in a partial clone.
    Partial { base: String },
    /// The setup of a new clone exited with this code.
    SetupFailed { command: String, code: i32 },
    /// This signal ended the setup of a new clone.
    SetupKilled { command: String, signal: i32 },
    /// The setup of a new clone was not done in time.
    SetupLate { command: String },
    /// The clone of the task is not there.
    NoClone { path: String },
    /// The repository has a branch of another herder under this name.
    Taken { path: String, name: String },
    /// The last commit of the task's branch is not checked out in its clone.
    OffBranch { branch: String },
    /// The task's branch moves while it is checked.
    Moved,
    /// Files are changed and not committed.
    Uncommitted { files: u32 },
    /// The base is a tag or a commit, which nothing can be merged into.
    NoBranch { base: String },
    /// The branch lacks the commit that the task began from.
    Behind { branch: String },
    /// The work conflicts with what is on the branch by now, in these files.
    Conflict { branch: String, files: String },
    /// The check fails together with what is on the branch by now.
    Red { command: String, branch: String },
    /// The reviewing agent has worked on it itself, or has given it as a part of its own task.
    OwnWork { reviewer: String },
    /// The work has changed since the reviewing agent was asked.
    ChangedSince,
    /// The reviewing agent has given no verdict.
    NoVerdict { reviewer: String },
    /// The reviewing agent has rejected the work this often.
    RejectedOften { reviewer: String, times: u32 },
    /// A person has stopped everything.
    Stopped { name: String },
    /// The branch moved during each merge.
    BaseMoved { branch: String },
    /// The branch is checked out in a folder that herder leaves alone; the line moves it.
    CheckedOut { branch: String, line: String },
    /// Checks of the forge have failed, or people have remarks there.
    Outside { link: String, names: String },
    /// The pull request has gone back to the agent this often.
    FollowedOften { link: String, times: u32, names: String },
    /// The pull request was closed without a merge.
    PullClosed { link: String },
    /// The pull request cannot be looked at.
    NotFollowed { link: String },
    /// The repository has no remote `origin`, or its address names no repository at a forge.
    NoRemote { path: String },
    /// The repository is at another host than the one that has the login.
    OtherHost { host: String, known: String },
    /// The settings open no pull requests any more.
    NoForge,
    /// Somebody else has pushed to the task's branch.
    BranchMoved { branch: String },
    /// The forge cannot be asked, or refuses.
    Forge { command: String },
    /// The clone's `.git` is not the folder that herder made.
    Replaced { path: String },
    /// A folder or file cannot be written, copied or removed.
    File { path: String },
}

impl GitReason {
    /// Returns a detail with this reason, followed by text of another program.
    #[must_use]
    pub fn with(self, said: impl Into<String>) -> Detail {
        Own::from(self).with(said)
    }

    /// Returns the text fields of the reason, which are bounded and redacted.
    pub(super) fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::NoRepository { path: text }
            | Self::NoBase { base: text }
            | Self::Partial { base: text }
            | Self::Failed { command: text }
            | Self::Late { command: text }
            | Self::TooMuch { command: text }
            | Self::SetupFailed { command: text, .. }
            | Self::SetupKilled { command: text, .. }
            | Self::SetupLate { command: text }
            | Self::NoClone { path: text }
            | Self::OffBranch { branch: text }
            | Self::Replaced { path: text }
            | Self::File { path: text } => vec![text],
            Self::Taken { path, name } => vec![path, name],
            Self::NoBranch { base: text }
            | Self::Behind { branch: text }
            | Self::BaseMoved { branch: text }
            | Self::OwnWork { reviewer: text }
            | Self::NoVerdict { reviewer: text }
            | Self::RejectedOften { reviewer: text, .. }
            | Self::Stopped { name: text } => {
                vec![text]
            }
            Self::Conflict { branch, files: text }
            | Self::Red { command: text, branch }
            | Self::CheckedOut { branch, line: text } => vec![branch, text],
            Self::OtherHost { host, known } => vec![host, known],
            Self::Outside { link, names } | Self::FollowedOften { link, names, .. } => vec![link, names],
            Self::PullClosed { link: text }
            | Self::NotFollowed { link: text }
            | Self::NoRemote { path: text }
            | Self::BranchMoved { branch: text }
            | Self::Forge { command: text } => vec![text],
            Self::NoForge | Self::Moved | Self::ChangedSince | Self::Uncommitted { .. } => Vec::new(),
        }
    }
}

impl From<GitReason> for Own {
    fn from(reason: GitReason) -> Self {
        Self::Git(reason)
    }
}

impl From<GitReason> for Detail {
    fn from(reason: GitReason) -> Self {
        Own::from(reason).into()
    }
}

/// English, for agents, logs and records that no locale is applied to.
impl fmt::Display for GitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository { path } => write!(f, "{path} is no git repository"),
            Self::NoBase { base } => write!(f, "the repository has no commit `{base}` to begin from"),
            Self::Failed { command } => write!(f, "`{command}` failed"),
            Self::Late { command } => write!(f, "`{command}` was not done in time"),
            Self::TooMuch { command } => write!(f, "`{command}` had more output than is read"),
            Self::Partial { base } => write!(
                f,
                "the repository lacks files of the commit `{base}`, as a partial clone does; get them there: git fetch \
                 --refetch --no-filter"
            ),
            Self::SetupFailed { command, code } => {
                write!(f, "the setup `{command}` failed with exit code {code}")
            }
            Self::SetupKilled { command, signal } => {
                write!(f, "the setup `{command}` was ended by signal {signal}")
            }
            Self::SetupLate { command } => write!(f, "the setup `{command}` was not done in time"),
            Self::NoClone { path } => write!(f, "the task's clone {path} is not there"),
            Self::OffBranch { branch } => {
                write!(f, "the last commit of its branch `{branch}` is not checked out there")
            }
            Self::Moved => f.write_str("its branch moved while the check ran"),
            Self::Taken { path, name } => write!(
                f,
                "{path} has `{name}` of another herder; if that herder is gone: git update-ref -d {name}"
            ),
            Self::Uncommitted { files: 1 } => f.write_str("one changed file is not committed"),
            Self::Uncommitted { files } => write!(f, "{files} changed files are not committed"),
            Self::NoBranch { base } => {
                write!(f, "`{base}` is no branch of the repository; name one as its base")
            }
            Self::Behind { branch } => {
                write!(f, "`{branch}` lacks the commit that the task began from; bring it up to date first")
            }
            Self::Conflict { branch, files } => {
                write!(f, "it conflicts with what is on `{branch}` by now, in {files}")
            }
            Self::Red { command, branch } => {
                write!(f, "`{command}` fails together with what is on `{branch}` by now")
            }
            Self::OwnWork { reviewer } => {
                write!(f, "{reviewer} has worked on it itself, or has given it as a part")
            }
            Self::ChangedSince => f.write_str("it has changed since its review began"),
            Self::NoVerdict { reviewer } => write!(f, "{reviewer} has given no verdict"),
            Self::RejectedOften { reviewer, times: 1 } => write!(f, "{reviewer} has rejected it once"),
            Self::RejectedOften { reviewer, times } => write!(f, "{reviewer} has rejected it {times} times"),
            Self::Stopped { name } => write!(f, "{name} has stopped everything"),
            Self::BaseMoved { branch } => write!(f, "`{branch}` moved during each merge"),
            Self::CheckedOut { branch, line } => write!(
                f,
                "`{branch}` is checked out where something is changed or under way; once that is settled, type: `{line}`"
            ),
            Self::Outside { link, names } => write!(f, "there is news in {link}, from {names}"),
            Self::FollowedOften { link, times, names } => {
                write!(f, "there is news in {link}, from {names}, and it has gone back ")?;
                match times {
                    0 => f.write_str("as often as it may"),
                    1 => f.write_str("once already"),
                    times => write!(f, "{times} times already"),
                }
            }
            Self::PullClosed { link } => write!(f, "{link} was closed without a merge"),
            Self::NotFollowed { link } => write!(f, "{link} cannot be looked at"),
            Self::NoRemote { path } => write!(f, "{path} names no repository at a forge"),
            Self::OtherHost { host, known } => {
                write!(f, "the repository is at {host}, and the login is for {known}: [forge] host names it")
            }
            Self::NoForge => f.write_str("the settings open no pull requests any more"),
            Self::BranchMoved { branch } => write!(
                f,
                "somebody else has pushed to `{branch}`: bring their commits into the task, or remove that branch there"
            ),
            Self::Forge { command } => write!(f, "`{command}` failed"),
            Self::Replaced { path } => {
                write!(f, "{path} is not the folder that was made for the task: its contents are not read")
            }
            Self::File { path } => write!(f, "{path} cannot be written, copied or removed"),
        }
    }
}
