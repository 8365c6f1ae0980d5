//! `abort`: ends the session and discards its work; the next follows.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;
use crate::core::input::Control;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Abort,
    name: "abort",
    aliases: &[],
    args: &[Arg::Agent],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Never,
    about: "cmd-about-abort",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    desk.control(call, Control::Abort).await
}
