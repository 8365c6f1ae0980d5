//! `stop-all`: ends every session now and says how many processes are left.

use tracing::error;

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
/// meanwhile is not kept waiting for it.
pub(super) async fn run(desk: &Desk<'_>) -> Done {
    if !desk.posted() {
        let notice = desk.fleet.stop_all(desk.asked.clone()).await?;
        return Ok(desk.accepted(&notice));
    }
    let (fleet, asked) = (desk.fleet.clone(), desk.asked.clone());
    desk.spawn(async move {
        if let Err(refusal) = fleet.stop_all(asked).await {
            error!(?refusal, "stop-all could not be carried out");
        }
    });
    let agents = desk.fleet.agents().len();
    Ok(Answer::lines(vec![desk.voice().text("cmd-stopping-all", &[("agents", agents.into())])]))
}
