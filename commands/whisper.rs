//! `whisper`: sends words to an agent alone. They are accepted in private only, and repeated nowhere.

use super::desk::{Desk, Done, Failure};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::input::Control;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Whisper,
    name: "whisper",
    aliases: &[],
    args: &[Arg::Agent, Arg::Text],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-whisper",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let agent = desk.agent(call)?;
    if !desk.private {
        let text = desk.voice().text("cmd-whisper-private", &[("agent", agent.into())]);
        return Err(Failure::Lines(vec![text]));
    }
    let mut asked = desk.asked_for(agent);
    // Its text is in the agent's own history, for people who may read it there.
    asked.audit.text = format!("whisper {agent} …");
    let id = desk.fleet.journal().fresh_work_id();
    let whisper = Control::Whisper { id, text: call.text.trim().to_owned() };
    let notice = desk.ask(agent, whisper, asked).await?;
    Ok(desk.accepted(&notice))
}
