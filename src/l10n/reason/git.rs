//! The messages for reasons of herder's own git.

use crate::core::detail::GitReason;
use crate::l10n::message::{Message, say};

use super::text;

/// Returns the message for a reason.
pub(super) fn git(reason: &GitReason) -> Message<'_> {
    use GitReason as G;
    match reason {
        G::NoRepository { path } => say("git-no-repository", [text("path", path)]),
        G::NoBase { base } => say("git-no-base", [text("base", base)]),
        G::Failed { command } => say("git-failed", [text("command", command)]),
        G::Late { command } => say("git-late", [text("command", command)]),
        G::TooMuch { command } => say("git-too-much", [text("command", command)]),
        G::Partial { base } => say("git-partial", [text("base", base)]),
        G::SetupFailed { command, code } => {
            say("git-setup-failed", [text("command", command), ("code", code.to_string().into())])
        }
        G::SetupKilled { command, signal } => {
            say("git-setup-killed", [text("command", command), ("signal", signal.to_string().into())])
        }
        G::SetupLate { command } => say("git-setup-late", [text("command", command)]),
        G::NoClone { path } => say("git-no-clone", [text("path", path)]),
        G::OffBranch { branch } => say("git-off-branch", [text("branch", branch)]),
        G::Moved => say("git-moved", []),
        G::Uncommitted { files } => say("git-uncommitted", [("files", (*files).into())]),
        G::NoBranch { base } => say("git-no-branch", [text("base", base)]),
        G::Behind { branch } => say("git-behind", [text("branch", branch)]),
        G::Conflict { branch, files } => say("git-conflict", [text("branch", branch), text("files", files)]),
        G::Red { command, branch } => say("git-red", [text("command", command), text("branch", branch)]),
        G::OwnWork { reviewer } => say("git-own-work", [text("reviewer", reviewer)]),
        G::ChangedSince => say("git-changed-since", []),
        G::NoVerdict { reviewer } => say("git-no-verdict", [text("reviewer", reviewer)]),
        G::RejectedOften { reviewer, times } => {
            say("git-rejected-often", [text("reviewer", reviewer), ("times", (*times).into())])
        }
        G::Stopped { name } => say("git-stopped", [text("name", name)]),
        G::BaseMoved { branch } => say("git-base-moved", [text("branch", branch)]),
        G::CheckedOut { branch, line } => {
            say("git-checked-out", [text("branch", branch), text("line", line)])
        }
        G::Outside { link, names } => say("git-outside", [text("link", link), text("names", names)]),
        G::FollowedOften { link, times, names } => {
            let news = [text("link", link), ("times", (*times).into()), text("names", names)];
            say("git-followed-often", news)
        }
        G::PullClosed { link } => say("git-pull-closed", [text("link", link)]),
        G::NotFollowed { link } => say("git-not-followed", [text("link", link)]),
        G::NoRemote { path } => say("git-no-remote", [text("path", path)]),
        G::OtherHost { host, known } => say("git-other-host", [text("host", host), text("known", known)]),
        G::NoForge => say("git-no-forge", []),
        G::BranchMoved { branch } => say("git-branch-moved", [text("branch", branch)]),
        G::Forge { command } => say("git-forge", [text("command", command)]),
        G::Taken { path, name } => say("git-taken", [text("path", path), text("name", name)]),
        G::Replaced { path } => say("git-replaced", [text("path", path)]),
        G::File { path } => say("git-file", [text("path", path)]),
    }
}
