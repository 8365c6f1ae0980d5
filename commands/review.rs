//! `accept · reject`: a person's answer to the work of a task in review.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::task::{self, Holder};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::core::role::Role;

pub(super) const ACCEPT: Command = Command {
    verb: Verb::Accept,
    name: "accept",
    aliases: &[],
    args: &[Arg::Task],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-accept",
};

pub(super) const REJECT: Command = Command {
    verb: Verb::Reject,
    name: "reject",
    aliases: &[],
    args: &[Arg::Task, Arg::Text],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-reject",
};

pub(super) async fn accept(desk: &Desk<'_>, call: &Call) -> Done {
    let task = call.task.unwrap_or_default();
    let agent = holder(desk, task)?;
    let notice = desk.ask(&agent, Control::Accept(task), desk.asked_for(&agent)).await?;
    Ok(desk.accepted(&notice))
}

pub(super) async fn reject(desk: &Desk<'_>, call: &Call) -> Done {
    let task = call.task.unwrap_or_default();
    let agent = holder(desk, task)?;
    let why = call.text.trim().to_owned();
    let notice = desk.ask(&agent, Control::Reject { task, why }, desk.asked_for(&agent)).await?;
    Ok(desk.accepted(&notice))
}

/// Returns the agent that has a task; the board has none in review.
fn holder(desk: &Desk<'_>, task: WorkId) -> Result<AgentName, Refusal> {
    match task::holder(desk, task)? {
        Holder::Agent(agent) => Ok(agent),
        Holder::Board => Err(Refusal::NotInReview { task }),
    }
}
