//! `resume`: lets an agent continue, from any pause, the open breaker or degraded.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::input::{Button, Control};
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Resume,
    name: "resume",
    aliases: &[],
    args: &[Arg::Agent],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Never,
    about: "cmd-about-resume",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let control = match desk.under {
        Some(at) => Control::Press { at, button: Button::Resume },
        None => Control::Resume,
    };
    desk.control(call, control).await
}
