//! `stop-all`: ends every session now and reports the number of processes left.

use super::desk::{Answer, Desk, Done};
use super::{Command, Effect, Scope, Strictness, Verb};
use crate::core::role::Role;

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

/// Stops all agents. In a chat the final reply comes when every process is gone, which takes as long as the slowest
/// agent, so that other people need not wait; a first reply confirms that the order is on disk.
pub(super) async fn run(desk: &Desk<'_>) -> Done {
    let stopping = desk.fleet.stop_all(desk.asked.clone()).await?;
    if !desk.posted() {
        let notice = stopping.done().await?;
        return Ok(desk.accepted(&notice));
    }
    let agents = ("agents", stopping.agents.into());
    Ok(Answer::lines(vec![desk.voice().text("cmd-stopping-all", &[agents])]))
}
