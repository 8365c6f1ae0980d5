//! `abort`: ends the session and discards its work; the next follows.

use std::time::Duration;

use super::desk::{Desk, Done, Failure};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::id::{AgentName, WorkId};
use crate::core::input::{Button, Control};
use crate::core::notice::Refusal;
use crate::core::role::Role;

/// Time in which a second `abort` by a person is carried out after the first was refused, because another person had
/// just answered the call.
const SAID_AGAIN_WITHIN: Duration = Duration::from_secs(60);

/// Maximum number of people whose refused `abort` is remembered. That of a further person is not, and works only once
/// the call is older.
const LATE_MAX: usize = 64;

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
    let agent = desk.agent(call)?;
    let control = match (desk.under, desk.late_abort(agent)) {
        (Some(at), _) => Control::Press { at, button: Button::Abort },
        (None, Some(call)) => Control::AbortAnyway { call },
        (None, None) => Control::Abort,
    };
    let done = desk.control(call, control).await;
    if let Err(Failure::Refusal(Refusal::LateAbort { id, .. })) = &done {
        desk.abort_was_late(agent, *id);
    }
    done
}

impl Desk<'_> {
    /// Returns the call that another person answered a moment ago and that the author of this `abort` has read about;
    /// `None` if there is none.
    fn late_abort(&self, agent: &AgentName) -> Option<WorkId> {
        let key = (self.who.clone(), agent.clone());
        let (call, at) = self.inner.memory().late_aborts.remove(&key)?;
        (self.now.since(at) < SAID_AGAIN_WITHIN).then_some(call)
    }

    fn abort_was_late(&self, agent: &AgentName, call: WorkId) {
        let mut memory = self.inner.memory();
        let late = &mut memory.late_aborts;
        late.retain(|_, (_, at)| self.now.since(*at) < SAID_AGAIN_WITHIN);
        if late.len() < LATE_MAX {
            late.insert((self.who.clone(), agent.clone()), (call, self.now));
        }
    }
}
