//! `ack`: a person takes care of a call, so that no more reminders are posted.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::id::WorkId;
use crate::core::input::Control;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Ack,
    name: "ack",
    aliases: &[],
    args: &[Arg::Call],
    role: Role::Operator,
    scope: Scope::Either,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-ack",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.ask.map(|id| WorkId(id.0));
    let agent = match id {
        Some(id) => desk.one_of(id, desk.fleet.agents(), |watch| {
            let standing = watch.escalation.as_ref().map(|call| call.id);
            let answered = watch.answered.as_ref().map(|answered| answered.escalation.id);
            [standing, answered].contains(&Some(id))
        })?,
        None => desk.agent(call)?.clone(),
    };
    let notice = desk.ask(&agent, Control::Ack(id), desk.asked_for(&agent)).await?;
    Ok(desk.accepted(&notice))
}
