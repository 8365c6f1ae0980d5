//! `clear`: drops the messages that wait; tasks stay.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::input::Control;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Clear,
    name: "clear",
    aliases: &[],
    args: &[Arg::Agent],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-clear",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    desk.control(call, Control::Clear).await
}
