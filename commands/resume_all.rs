//! `resume-all`: resumes the agents that `stop-all` stopped.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::{Command, Effect, Scope, Strictness, Verb};
use crate::core::role::Role;
use crate::supervisor::Resumed;

pub(super) const COMMAND: Command = Command {
    verb: Verb::ResumeAll,
    name: "resume-all",
    aliases: &["resumeall", "resume all"],
    args: &[],
    role: Role::Operator,
    scope: Scope::WholeFleet,
    effect: Effect::Changes,
    strictness: Strictness::Never,
    about: "cmd-about-resume-all",
};

/// Resumes all agents that `stop-all` paused; agents that were paused by a person, a failure or a cap stay paused.
pub(super) async fn run(desk: &Desk<'_>) -> Done {
    let Resumed { agents, others } = desk.fleet.resume_all(desk.asked.clone()).await?;
    let voice = desk.voice();
    let names = agents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut lines = vec![match agents.len() {
        0 => voice.text("cmd-resumed-none", &[]),
        count => voice.text("cmd-resumed-all", &[("count", count.into()), ("agents", names.into())]),
    }];
    lines.extend(desk.first(others.iter().map(|(agent, halt)| {
        let why = voice.locale.halt(halt).into();
        voice.text("cmd-resumed-not", &[("agent", agent.to_string().into()), ("why", why)])
    })));
    let stay: Vec<_> = others.iter().map(|(agent, _)| agent).collect();
    Ok(Answer::lines(lines).with(json!({ "resumed": agents, "stay": stay })))
}
