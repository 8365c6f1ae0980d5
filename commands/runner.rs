//! `runner list · drain · open · remove`: machines that run agents for the bot.

use serde_json::json;

use super::desk::{Answer, Desk, Done, Failure};
use super::grammar::Call;
use super::say::{DOT, Voice};
use super::words::repeat;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::id::RunnerName;
use crate::core::machine::size;
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::supervisor::RunnerView;

pub(super) const LIST: Command = Command {
    verb: Verb::RunnerList,
    name: "runner list",
    aliases: &["runners"],
    args: &[],
    role: Role::Viewer,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-runner-list",
};

pub(super) const DRAIN: Command = Command {
    verb: Verb::RunnerDrain,
    name: "runner drain",
    aliases: &[],
    args: &[Arg::Word { name: "machine" }],
    role: Role::Admin,
    scope: Scope::WholeFleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-runner-drain",
};

pub(super) const OPEN: Command = Command {
    verb: Verb::RunnerOpen,
    name: "runner open",
    aliases: &[],
    args: &[Arg::Word { name: "machine" }],
    role: Role::Admin,
    scope: Scope::WholeFleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-runner-open",
};

pub(super) const REMOVE: Command = Command {
    verb: Verb::RunnerRemove,
    name: "runner remove",
    aliases: &[],
    args: &[Arg::Word { name: "machine" }],
    role: Role::Admin,
    scope: Scope::WholeFleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-runner-remove",
};

pub(super) fn list(desk: &Desk<'_>) -> Done {
    let voice = desk.voice();
    let Some(runners) = desk.fleet.runners() else {
        return Ok(Answer::lines(vec![voice.text("cmd-runner-off", &[])]).with(json!([])));
    };
    let mut lines = desk.first(runners.iter().map(|runner| line(voice, runner)));
    if runners.is_empty() {
        lines.push(voice.text("cmd-runner-none", &[]));
    }
    let data = runners.iter().map(|runner| {
        let seen = runner.seen.as_ref();
        json!({
            "name": runner.name,
            "here": seen.is_some_and(|seen| seen.here),
            "drained": runner.drained,
            "sessions": seen.map(|seen| seen.sessions),
            "load": seen.and_then(|seen| seen.load),
            "free_disk": seen.and_then(|seen| seen.free_disk),
            "agents": runner.agents,
        })
    });
    let data: Vec<_> = data.collect();
    Ok(Answer::lines(lines).with(json!(data)))
}

pub(super) async fn drain(desk: &Desk<'_>, call: &Call, drained: bool) -> Done {
    let notice = desk.fleet.drain_runner(&named(desk, call)?, drained, &desk.asked).await?;
    Ok(desk.accepted(&notice))
}

pub(super) async fn remove(desk: &Desk<'_>, call: &Call) -> Done {
    let notice = desk.fleet.remove_runner(&named(desk, call)?, &desk.asked).await?;
    Ok(desk.accepted(&notice))
}

/// Returns the machine that a command names.
fn named(desk: &Desk<'_>, call: &Call) -> Result<RunnerName, Failure> {
    let word = call.word.as_deref().unwrap_or_default();
    let known = desk.fleet.runners().unwrap_or_default();
    let found = RunnerName::new(word).ok().filter(|name| known.iter().any(|runner| runner.name == *name));
    found.ok_or_else(|| Refusal::NoRunner { runner: repeat(word) }.into())
}

/// Describes a machine: whether it answers, what it does, and the agents that are pinned to it.
fn line(voice: Voice<'_>, runner: &RunnerView) -> String {
    let mut parts = Vec::new();
    match &runner.seen {
        Some(seen) if seen.here => {
            parts.push(voice.text("cmd-runner-here", &[("sessions", seen.sessions.into())]));
            if let Some(load) = seen.load {
                parts.push(voice.text("cmd-runner-load", &[("load", format!("{load:.1}").into())]));
            }
            if let Some(free) = seen.free_disk {
                parts.push(voice.text("cmd-runner-disk", &[("free", size(free).into())]));
            }
        }
        Some(seen) => {
            parts.push(voice.text("cmd-runner-away", &[("away", seen.at.elapsed().into())]));
        }
        None => parts.push(voice.text("cmd-runner-unheard", &[])),
    }
    if runner.drained {
        parts.push(voice.text("cmd-runner-drained", &[]));
    }
    if !runner.agents.is_empty() {
        let agents: Vec<&str> = runner.agents.iter().map(crate::core::id::AgentName::as_str).collect();
        parts.push(agents.join(", "));
    }
    format!("**{}**: {}", runner.name, parts.join(DOT))
}
