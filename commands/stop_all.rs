//! `stop-all`: ends every session now and says how many processes are left.

use super::desk::{Answer, Desk, Done};
use super::{Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::StopAll,
    name: "stop-all",
    aliases: &["stopall", "stop all"],
    args: &[],
    role: Role::Operator,
    scope: Scope::WholeFleet,
    effect: Effect::Changes,
    strictness: Strictness::Never,
    about: "cmd-about-stop-all",
};

/// In a chat the answer comes when every process is gone, which takes as long as the slowest agent; whoever speaks
/// meanwhile is not kept waiting for it. That it is on its way is said when nothing can keep it from being done.
pub(super) async fn run(desk: &Desk<'_>) -> Done {
    let stopping = desk.fleet.stop_all(desk.asked.clone()).await?;
    if !desk.posted() {
        let notice = stopping.done().await?;
        return Ok(desk.accepted(&notice));
    }
    let agents = ("agents", stopping.agents.into());
    Ok(Answer::lines(vec![desk.voice().text("cmd-stopping-all", &[agents])]))
}
