//! `audit`: lists accepted commands with author and place.

use serde_json::json;

use super::answers::Found;
use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{Voice, person};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::role::Role;
use crate::journal::{AuditEntry, Entry, Recorded, Stream};

pub(super) const COMMAND: Command = Command {
    verb: Verb::Audit,
    name: "audit",
    aliases: &[],
    args: &[Arg::PastAgentOrAll, Arg::Count { name: "n" }],
    role: Role::Operator,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-audit",
};

/// Number of entries that `audit` lists if none is given.
const ENTRIES: usize = 10;

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let wanted = desk.wanted(call, ENTRIES);
    let agent = call.agent.clone();
    let fits = move |recorded: &Recorded| {
        entry(recorded).is_some_and(|audit| agent.is_none() || audit.agent == agent)
    };
    let found = desk.history(Stream::Audit, wanted, fits).await?;
    let remarks = found.remarks(voice);
    let Found { entries, .. } = found;
    let mut lines: Vec<String> = entries
        .iter()
        .filter_map(|recorded| {
            Some(format!("{} {}", voice.locale.time(recorded.at), line(voice, entry(recorded)?)))
        })
        .collect();
    if lines.is_empty() && remarks.is_empty() {
        lines.push(voice.text("cmd-audit-empty", &[]));
    }
    lines.splice(0..0, remarks);
    Ok(Answer::lines(lines).with(json!(entries)))
}

fn entry(recorded: &Recorded) -> Option<&AuditEntry> {
    match &recorded.entry {
        Entry::Audit(audit) => Some(audit),
        Entry::Agent(_) | Entry::Fleet(_) => None,
    }
}

/// Formats an entry of the audit trail: `alice (account:alice, libera #spark): pause spark now`.
pub(crate) fn line(voice: Voice<'_>, audit: &AuditEntry) -> String {
    let identity =
        audit.by.identity.as_deref().map_or_else(|| "–".to_owned(), |identity| voice.short(identity, 100));
    voice.text(
        "cmd-audit-line",
        &[
            ("name", person(&audit.by).into()),
            ("identity", identity.into()),
            ("network", voice.short(audit.by.network.as_str(), 40).into()),
            ("place", voice.short(&audit.place, 60).into()),
            ("text", voice.short(&audit.text, 200).into()),
        ],
    )
}
