//! Where a network keeps what was said: lines that are read late, and lines that people change or take back.

use std::time::Duration;

use super::dispatch::Dispatcher;
use super::parse::Heard;
use super::say::Voice;
use super::words::repeat;
use super::{Effect, Verb};
use crate::chat::Inbound;
use crate::clock;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::supervisor::View;

/// A command that is older than this when it is read may not be meant any more.
const LATE: Duration = Duration::from_secs(5 * 60);

/// The question whether a command that was read late is still meant: nothing is done until it is said again. Work is taken
/// however old it is, and what only looks does no harm.
pub(super) fn still(voice: Voice<'_>, inbound: &Inbound, heard: &Heard) -> Option<String> {
    // A line without an id is heard when it is said, or never.
    inbound.message.as_ref()?;
    let age = voice.now.since(inbound.at);
    let Heard::Command(call) = heard else { return None };
    if age <= LATE || call.command.effect == Effect::Looks {
        return None;
    }
    let line = ("line", repeat(inbound.spelled_out(inbound.text.trim()).as_str()).into());
    Some(voice.text("cmd-late", &[line, ("age", age.into())]))
}

/// What a changed line asks of the agent that has it as work.
fn words_for<'a>(heard: &'a Heard, agent: &AgentName) -> Option<&'a str> {
    match heard {
        Heard::Work { agent: of, text } if of == agent => Some(text),
        Heard::Command(call) if call.command.verb == Verb::TaskAdd && call.agent.as_ref() == Some(agent) => {
            Some(&call.text)
        }
        Heard::Work { .. } | Heard::Command(_) | Heard::Problem(_) | Heard::Nothing => None,
    }
}

impl Dispatcher {
    /// Whether what is attached to a line goes with it: it is work for an agent.
    #[must_use]
    pub fn is_work(&self, inbound: &Inbound) -> bool {
        match self.inner().read(inbound).0 {
            Heard::Work { .. } => true,
            Heard::Command(call) => call.command.verb == Verb::TaskAdd,
            Heard::Problem(_) | Heard::Nothing => false,
        }
    }

    /// A line that became `work` of `agent` was changed: the work is, if it still waits. Answers whether it has other words
    /// now.
    ///
    /// # Errors
    /// What is said where it was changed; it may be nothing.
    pub async fn reword(
        &self,
        inbound: Inbound,
        agent: &AgentName,
        work: WorkId,
    ) -> Result<bool, Vec<String>> {
        let inner = self.inner();
        let voice = inner.voice(inner.default_locale(), clock::now());
        let (heard, room) = inner.read(&inbound);
        let standing = match inner.admit(&inbound.author, &heard, voice) {
            Ok(standing) => standing,
            Err(refused) => return Err(refused.unwrap_or_default()),
        };
        let Some(text) = words_for(&heard, agent) else {
            return Err(vec![voice.text("cmd-edit-no-work", &[("agent", agent.into())])]);
        };
        // What was fetched may have been changed before it was queued.
        let view = inner.fleet.view(agent);
        let is_same = |view: &View| {
            let mut works = view.agent.queue.iter().chain(&view.agent.current);
            works.any(|it| it.id == work && it.text == text)
        };
        if view.is_some_and(|view| is_same(&view)) {
            return Ok(false);
        }
        let mut asked = inner.asked(&inbound, &heard, &room, &standing);
        "edit".clone_into(&mut asked.audit.verb);
        let control = Control::Reword { id: work, text: text.to_owned() };
        match inner.fleet.control(agent, control, asked).await {
            Ok(_) => Ok(true),
            Err(refusal) => Err(vec![voice.locale.refusal(&refusal)]),
        }
    }

    /// A line that became `work` of `agent` was deleted: the work is taken back, if it still waits. A deleted line cannot
    /// be answered, so a refusal is for the caller alone.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn withdraw(&self, inbound: Inbound, agent: &AgentName, work: WorkId) -> Result<(), Refusal> {
        let inner = self.inner();
        let gone = || Refusal::WorkOver { agent: agent.clone() };
        let view = inner.fleet.view(agent).ok_or_else(gone)?;
        let waiting = view.agent.queue.iter().find(|waiting| waiting.id == work).ok_or_else(gone)?;
        let heard = Heard::Work { agent: agent.clone(), text: waiting.text.clone() };
        let inbound = Inbound { text: waiting.text.clone(), message: None, ..inbound };
        let (standing, room) = (
            inner.admit(&inbound.author, &heard, inner.voice(inner.default_locale(), clock::now())),
            inner.room(&inbound),
        );
        // Whoever could not take it back cannot have given it either: their role was taken from them since.
        let standing = standing.map_err(|_| gone())?;
        let mut asked = inner.asked(&inbound, &heard, &room, &standing);
        "delete".clone_into(&mut asked.audit.verb);
        inner.fleet.control(agent, Control::Withdraw(work), asked).await.map(drop)
    }
}
