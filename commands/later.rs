//! Lines on networks that store messages, such as Discord: herder may read them late, and people may edit or delete
//! them.

use std::time::Duration;

use super::Verb;
use super::dispatch::Dispatcher;
use super::parse::Heard;
use super::say::Voice;
use super::words::repeat;
use crate::clock;
use crate::core::board::Wish;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::core::speech::Inbound;
use crate::supervisor::{Asked, Holder, View};

/// Age from which a command asks back before it is carried out, because it may not be meant any more.
const LATE: Duration = Duration::from_secs(5 * 60);

/// Returns a question to the author if the line is a command that was read more than `LATE` after it was said; it is
/// carried out only when repeated. Work, and commands that only read, are never asked about.
pub(super) fn still(voice: Voice<'_>, inbound: &Inbound, heard: &Heard) -> Option<String> {
    // A line without an id is read when it is said, or never.
    inbound.message.as_ref()?;
    let age = voice.now.since(inbound.at);
    if age <= LATE || heard.only_looks() || matches!(heard, Heard::Work { .. }) {
        return None;
    }
    let line = ("line", repeat(inbound.spelled_out(inbound.text.trim()).as_str()).into());
    Some(voice.text("cmd-late", &[line, ("age", age.into())]))
}

/// Returns the work's text in an edited line if the line is still work for `agent`, where `None` stands for the board.
fn words_for<'a>(heard: &'a Heard, agent: Option<&AgentName>) -> Option<&'a str> {
    match heard {
        Heard::Work { agent: of, text } if Some(of) == agent => Some(text),
        Heard::Command(call) if call.command.verb == Verb::TaskAdd && call.agent.as_ref() == agent => {
            Some(&call.text)
        }
        Heard::Work { .. } | Heard::Command(_) | Heard::Problem(_) | Heard::Nothing => None,
    }
}

/// Marks the record of a line for the audit trail as an edit.
fn changed(mut asked: Asked) -> Asked {
    "edit".clone_into(&mut asked.audit.verb);
    asked
}

impl Dispatcher {
    /// Returns true if a line is work for an agent or the board, so that its attachments are part of it.
    #[must_use]
    pub fn is_work(&self, inbound: &Inbound) -> bool {
        match self.inner().read(inbound).0 {
            Heard::Work { .. } => true,
            Heard::Command(call) => call.command.verb.takes_files(),
            Heard::Problem(_) | Heard::Nothing => false,
        }
    }

    /// Changes the text of work after the line that gave it was edited, if no agent has begun it. `agent` is the agent
    /// that the line gave it to, `None` the board. Returns true if the text changed.
    ///
    /// # Errors
    /// The reply in the place of the edit, which may be empty.
    pub async fn reword(
        &self,
        inbound: Inbound,
        agent: Option<&AgentName>,
        work: WorkId,
    ) -> Result<bool, Vec<String>> {
        let inner = self.inner();
        let voice = inner.voice(inner.locale_on(&inbound.author.network), clock::now());
        let (heard, room) = inner.read(&inbound);
        let standing = match inner.admit(&inbound.author, &heard, voice) {
            Ok(standing) => standing,
            Err(refused) => return Err(refused.unwrap_or_default()),
        };
        let Some(text) = words_for(&heard, agent) else {
            return Err(vec![match agent {
                Some(agent) => voice.text("cmd-edit-no-work", &[("agent", agent.into())]),
                None => voice.text("cmd-edit-no-task", &[("task", work.to_string().into())]),
            }]);
        };
        let holder = match (inner.fleet.holder(work), agent) {
            (Some(Holder::Agent(holder)), _) => holder,
            // The agent's refusal tells what became of it.
            (Some(Holder::Over(_)) | None, Some(agent)) => agent.clone(),
            (Some(Holder::Over(end)), None) => {
                return Err(vec![voice.locale.refusal(&Refusal::TaskOver { task: work, end })]);
            }
            (None, None) => return Err(vec![voice.locale.refusal(&Refusal::NoSuchTask { task: work })]),
            (Some(Holder::Nobody), _) => {
                return Err(vec![voice.locale.refusal(&Refusal::TaskMoving { task: work })]);
            }
            (Some(Holder::Board), _)
                if inner.fleet.board().tasks.get(&work).is_some_and(|it| it.work.text == text) =>
            {
                return Ok(false);
            }
            (Some(Holder::Board), _) => {
                let asked = changed(inner.asked(&inbound, &heard, &room, &standing));
                let wish = Wish::Reword { task: work, text: text.to_owned() };
                let reworded = inner.fleet.wish(wish, asked).await;
                return reworded.map(|_| true).map_err(|refusal| vec![voice.locale.refusal(&refusal)]);
            }
        };
        // A line may have been edited between its retrieval and its queueing.
        let view = inner.fleet.view(&holder);
        let is_same = |view: &View| {
            let mut works = view.agent.queue.iter().chain(&view.agent.current);
            works.any(|it| it.id == work && it.text == text)
        };
        if view.is_some_and(|view| is_same(&view)) {
            return Ok(false);
        }
        let mut asked = changed(inner.asked(&inbound, &heard, &room, &standing));
        asked.audit.agent = Some(holder.clone());
        let control = Control::Reword { id: work, text: text.to_owned() };
        drop(inner.turn(&holder).await);
        match inner.fleet.control(&holder, control, asked).await {
            Ok(_) => Ok(true),
            Err(refusal) => Err(vec![voice.locale.refusal(&refusal)]),
        }
    }

    /// Cancels work after the line that gave it was deleted, if no agent has begun it. The author is not told of a
    /// refusal, because a deleted line cannot be answered.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn withdraw(&self, inbound: Inbound, work: WorkId) -> Result<(), Refusal> {
        let inner = self.inner();
        let gone = || Refusal::NoSuchTask { task: work };
        let (holder, waiting) = inner.fleet.holder(work).zip(inner.fleet.waiting(work)).ok_or_else(gone)?;
        let agent = if let Holder::Agent(agent) = holder { Some(agent) } else { None };
        let inbound = Inbound { text: waiting.text.clone(), message: None, ..inbound };
        let voice = inner.voice(inner.locale_on(&inbound.author.network), clock::now());
        let heard = agent.clone().map_or(Heard::Nothing, |agent| Heard::Work { agent, text: waiting.text });
        // A person without the role to take it back has lost that role since giving it.
        let standing = inner.admit(&inbound.author, &heard, voice).ok();
        let standing = standing.filter(|standing| standing.role >= Role::Operator).ok_or_else(gone)?;
        let mut asked = inner.asked(&inbound, &heard, &inner.room(&inbound), &standing);
        "delete".clone_into(&mut asked.audit.verb);
        match agent {
            Some(agent) => {
                drop(inner.turn(&agent).await);
                inner.fleet.control(&agent, Control::Withdraw(work), asked).await.map(drop)
            }
            None => inner.fleet.wish(Wish::Cancel(work), asked).await.map(drop),
        }
    }
}
