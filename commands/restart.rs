//! `restart`: a clean session with its counters reset; skips a countdown.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::input::Control;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Restart,
    name: "restart",
    aliases: &[],
    args: &[Arg::Agent],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Never,
    about: "cmd-about-restart",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    desk.control(call, Control::Restart).await
}
