//! `mark`: marks a whisper of the evaluator as right or wrong, which shows how far the evaluator can be trusted.

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::id::WorkId;
use crate::core::input::Control;
use crate::core::role::Role;
use crate::core::watch::Mark;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Mark,
    name: "mark",
    aliases: &[],
    args: &[Arg::Told, Arg::OneOf { name: "as", words: &["right", "wrong"] }],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-mark",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let id = WorkId(call.ask.unwrap_or_default().0);
    let mark = if call.choice == Some("wrong") { Mark::Wrong } else { Mark::Right };
    let agent = desk.one_of(id, desk.fleet.agents(), |watch| watch.told.iter().any(|told| told.id == id))?;
    let notice = desk.ask(&agent, Control::Mark { id, mark }, desk.asked_for(&agent)).await?;
    Ok(desk.accepted(&notice))
}
