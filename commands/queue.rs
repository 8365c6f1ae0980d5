//! `queue`: lists the work that waits for an agent, in order.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Queue,
    name: "queue",
    aliases: &[],
    args: &[Arg::Agent],
    role: Role::Viewer,
    scope: Scope::Agent,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-queue",
};

pub(super) fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let view = desk.view(call)?;
    let (voice, agent) = (desk.voice(), &view.agent);
    let mut lines = Vec::new();
    if let Some(current) = &agent.current {
        lines.push(voice.text("cmd-queue-current", &[("work", voice.work(current).into())]));
    }
    let waiting = agent.queue.iter().enumerate().map(|(index, work)| {
        let line = format!("{}. {}", index + 1, voice.work(work));
        if work.attempts == 0 {
            return line;
        }
        let attempts = voice.text("cmd-attempts", &[("count", work.attempts.into())]);
        format!("{line} ({attempts})")
    });
    lines.extend(desk.first(waiting));
    if agent.queue.is_empty() {
        lines.push(voice.text("cmd-queue-empty", &[("agent", view.name.as_str().into())]));
    }
    let data = json!({ "agent": view.name, "current": agent.current, "queue": agent.queue });
    Ok(Answer::lines(lines).with(data))
}
