//! Texts of herder's own reasons: one exhaustive match, as for notices.

mod git;
mod link;

use super::message::{Message, one_line, say};
use super::{Locale, Value};
use crate::core::detail::{Detail, Own};
use crate::core::machine::size;

/// Maximum length of a name or path inside a reason, in graphemes.
const NAME_MAX: usize = 120;

impl Locale {
    /// Returns the text of a reason: herder's own words in this language, then the words of others, unchanged.
    #[must_use]
    pub fn detail(&self, detail: &Detail) -> String {
        let Some(own) = &detail.own else { return detail.said.clone() };
        let message = own_reason(own);
        let own = self.text(message.id, &message.args);
        if detail.said.trim().is_empty() {
            return own;
        }
        self.text("own-with-said", &[("own", own.into()), ("said", detail.said.as_str().into())])
    }
}

fn text(name: &'static str, text: &str) -> (&'static str, Value<'static>) {
    (name, Value::from(one_line(text, NAME_MAX)))
}

fn own_reason(own: &Own) -> Message<'_> {
    use Own as O;
    match own {
        O::ExitCode { code } => say("own-exit-code", [("code", code.to_string().into())]),
        O::Signal { signal } => say("own-signal", [("signal", signal.to_string().into())]),
        O::NotWaitedFor => say("own-not-waited-for", []),
        O::NoResult => say("own-no-result", []),
        O::WorkspaceMissing { path } => say("own-workspace-missing", [text("path", path)]),
        O::WorkspaceNoFolder { path } => say("own-workspace-no-folder", [text("path", path)]),
        O::WorkspaceLocked { path } => say("own-workspace-locked", [text("path", path)]),
        O::WorkspaceSilent { path } => say("own-workspace-silent", [text("path", path)]),
        O::StartSilent { path } => say("own-start-silent", [text("path", path)]),
        O::NoCommand => say("own-no-command", []),
        O::EmptyCommand => say("own-empty-command", []),
        O::ProgramMissing { path } => say("own-program-missing", [text("path", path)]),
        O::NotInstalled { program, path } => {
            say("own-not-installed", [text("program", program), text("path", path)])
        }
        O::ArgumentsTooLong { program } => say("own-arguments-too-long", [text("program", program)]),
        O::NotStarted { program } => say("own-not-started", [text("program", program)]),
        O::StateFolder { path } => say("own-state-folder", [text("path", path)]),
        O::CredentialMissing { path } => say("own-credential-missing", [text("path", path)]),
        O::VariableUnreadable { path } => say("own-variable-unreadable", [text("path", path)]),
        O::OnlyCpu { silent } => say("own-only-cpu", [("silent", (*silent).into())]),
        O::Silent { silent, cpu: None } => say("own-silent", [("silent", (*silent).into())]),
        O::Silent { silent, cpu: Some(cpu) } => {
            say("own-silent-since", [("silent", (*silent).into()), ("cpu", (*cpu).into())])
        }
        O::NothingYet { waited } => say("own-nothing-yet", [("waited", (*waited).into())]),
        O::ToolOpen { tool, open } => say("own-tool-open", [text("tool", tool), ("open", (*open).into())]),
        O::TakesLong { takes, silent } => {
            say("own-takes-long", [("takes", (*takes).into()), ("silent", (*silent).into())])
        }
        O::TakesLongWithTool { takes, tool, open } => {
            let open = ("open", (*open).into());
            say("own-takes-long-with-tool", [("takes", (*takes).into()), text("tool", tool), open])
        }
        O::NoHeartbeat { silent } => say("own-no-heartbeat", [("silent", (*silent).into())]),
        O::NoSignOfLife => say("own-no-sign-of-life", []),
        O::DriverGone => say("own-driver-gone", []),
        O::OldRunner => say("own-old-runner", []),
        O::RunnerAway => say("own-runner-away", []),
        O::DriverFailed => say("own-driver-failed", []),
        O::DriverOverdue => say("own-driver-overdue", []),
        O::NotEnded => say("own-not-ended", []),
        O::Restarted => say("own-restarted", []),
        O::SupervisorPanicked => say("own-supervisor-panicked", []),
        O::TimeLimit => say("own-time-limit", []),
        O::SplitByNobody => say("own-split-by-nobody", []),
        O::SplitTooDeep => say("own-split-too-deep", []),
        O::SplitNoList => say("own-split-no-list", []),
        O::SplitTimedOut => say("own-split-timed-out", []),
        O::SplitFailed => say("own-split-failed", []),
        O::LimitsNotSet => say("own-limits-not-set", []),
        O::NobodyBroader => say("own-nobody-broader", []),
        O::CheckFailed { command, times } => {
            say("own-check-failed", [text("command", command), ("times", (*times).into())])
        }
        O::By { name } => say("own-by", [text("name", name)]),
        O::OutOfMemory { used, limit, program } => {
            let (used, limit) = (("used", size(*used).into()), ("limit", size(*limit).into()));
            if program.is_empty() {
                say("own-out-of-memory", [used, limit])
            } else {
                say("own-out-of-memory-by", [used, limit, text("program", program)])
            }
        }
        O::TurnLimit { turns } => say("own-turn-limit", [("turns", (*turns).into())]),
        O::AgentsTurnLimit => say("own-agents-turn-limit", []),
        O::TurnInterrupted => say("own-turn-interrupted", []),
        O::TurnCancelled => say("own-turn-cancelled", []),
        O::AnswerTooLong => say("own-answer-too-long", []),
        O::AnswerBrokenOff => say("own-answer-broken-off", []),
        O::NothingSaid => say("own-nothing-said", []),
        O::ModelRefused => say("own-model-refused", []),
        O::TurnEndedAs { status } => say("own-turn-ended-as", [text("status", status)]),
        O::ConversationGone => say("own-conversation-gone", []),
        O::HistoryRefused => say("own-history-refused", []),
        O::ConversationFull => say("own-conversation-full", []),
        O::NoConversation => say("own-no-conversation", []),
        O::OtherProtocol { spoken: None, ours } => {
            say("own-no-protocol", [("ours", ours.to_string().into())])
        }
        O::OtherProtocol { spoken: Some(spoken), ours } => say(
            "own-other-protocol",
            [("spoken", spoken.to_string().into()), ("ours", ours.to_string().into())],
        ),
        O::ModelNotSet { model } => say("own-model-not-set", [text("model", model)]),
        O::NoPlanMode => say("own-no-plan-mode", []),
        O::Link(reason) => link::link(reason),
        O::Discord(reason) => link::discord(reason),
        O::Git(reason) => git::git(reason),
    }
}
