//! `pause`: pauses an agent after its session, or at once.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::input::Control;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Pause,
    name: "pause",
    aliases: &[],
    args: &[Arg::Agent, Arg::Flag("now")],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Never,
    about: "cmd-about-pause",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    desk.control(call, Control::Pause { now: call.now }).await
}
