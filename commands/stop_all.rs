//! `stop-all`: ends every session now and says how many processes are left.

use super::dispatch::{Desk, Done};
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

pub(super) async fn run(desk: &Desk<'_>) -> Done {
    let notice = desk.fleet.stop_all(desk.asked.clone()).await?;
    Ok(desk.accepted(&notice))
}
