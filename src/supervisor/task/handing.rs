//! Requests of a session's tool server, and the delivery of whispers while the session runs.

use super::pending::Pending;
use super::supervisor::Supervisor;
use crate::clock;
use crate::core::agent::Phase;
use crate::core::id::{SessionId, WorkId};
use crate::core::input::Input;
use crate::core::spec::Runtime;
use crate::runtime::Order;
use crate::supervisor::Offered;
use crate::supervisor::session::files_for;
use crate::supervisor::whispers::FromTools;

impl Supervisor<'_> {
    pub(super) async fn tools(&mut self, told: FromTools, pending: &mut Pending) {
        match told {
            FromTools::Collect { session, ticket } => {
                let offered = self.collect(session);
                if let Err(offered) = ticket.send(offered) {
                    let whispers: Vec<WorkId> = offered.iter().map(|offered| offered.whisper).collect();
                    self.returned(session, &whispers).await;
                }
            }
            FromTools::Taken { session, whispers } => {
                self.take(Input::WhispersTaken { session, whispers }, pending);
            }
            FromTools::Returned { session, whispers } => self.returned(session, &whispers).await,
            FromTools::Await { session, parts, ticket } => {
                let input = Input::AwaitsParts { session, parts };
                let decided = self.decide(&input, pending.at());
                let answer = decided.map(|decision| self.absorb(decision.events, pending));
                pending.reported.push((ticket, answer));
            }
            FromTools::Report { session, report, ticket } => {
                let input = Input::Reported { session, report };
                let decided = self.decide(&input, pending.at());
                let answer = decided.map(|decision| self.absorb(decision.events, pending));
                pending.reported.push((ticket, answer));
            }
        }
    }

    /// Returns every whisper that waits and is not on its way, to be delivered with the result of a tool call.
    fn collect(&mut self, session: SessionId) -> Vec<Offered> {
        let Some(running) = self.session.as_mut().filter(|running| running.id() == session) else {
            return Vec::new();
        };
        // A whisper in a prompt that the session does not have yet is delivered with that prompt.
        let waiting = self.agent.whispers.iter().filter(|whisper| whisper.prompted != Some(session));
        waiting
            .filter(|whisper| running.offered.insert(whisper.id))
            .map(|whisper| Offered { whisper: whisper.id, text: whisper.words() })
            .collect()
    }

    /// Delivers whispers in another way, because the tool call that should have delivered them failed.
    async fn returned(&mut self, session: SessionId, whispers: &[WorkId]) {
        let Some(running) = self.session.as_mut().filter(|running| running.id() == session) else { return };
        running.offered.retain(|offered| !whispers.contains(offered));
        let waiting = self.agent.whispers.iter().filter(|whisper| whisper.prompted != Some(session));
        let again: Vec<Offered> =
            waiting.map(|whisper| Offered { whisper: whisper.id, text: whisper.words() }).collect();
        for Offered { whisper, text } in again {
            self.offer(session, whisper, text).await;
        }
    }

    /// Asks the driver, at the end of a turn, to cut the turn short for whispers that are overdue.
    pub(super) async fn insist(&mut self, session: SessionId) {
        let overdue = self.agent.overdue(clock::now()).into_iter();
        let overdue: Vec<(WorkId, String)> = overdue.map(|whisper| (whisper.id, whisper.words())).collect();
        for (work, text) in overdue {
            let Some(current) = self.session.as_mut().filter(|current| current.id() == session) else {
                return;
            };
            if !current.call_is_open() && current.offered.insert(work) {
                self.order(session, Order::Insist { work, text, files: Vec::new() }).await;
            }
        }
    }

    /// Records that the runtime did not take a message, so that it can be delivered in another way.
    pub(super) fn not_taken(&mut self, session: SessionId, work: WorkId) {
        if let Some(current) = self.session.as_mut().filter(|current| current.id() == session) {
            current.offered.remove(&work);
        }
    }

    /// Sends a queued message with its present text to the driver, to be written into the turn. A message that was
    /// dropped meanwhile is not sent.
    pub(super) async fn steer(&mut self, session: SessionId, work: WorkId) {
        let queued = self.agent.queue.iter().find(|queued| queued.id == work);
        let queued = queued.map(|queued| (queued.text.clone(), files_for(&self.place(), queued)));
        let (Some((text, (files, missing))), Some(current)) = (queued, self.session.as_mut()) else { return };
        let text = text + &missing;
        if current.id() == session {
            current.offered.insert(work);
            current.order(Order::Steer { work, text, files }).await;
        }
    }

    /// Delivers a whisper while the session runs: with the result of an open tool call, else into the turn if the
    /// runtime can, else with the next tool call.
    pub(super) async fn offer(&mut self, session: SessionId, whisper: WorkId, text: String) {
        let running = matches!(self.agent.phase, Phase::Running { session: current } if current == session);
        let steers = self.agent.spec.as_ref().is_some_and(|spec| match spec.runtime {
            Runtime::Claude | Runtime::Codex => true,
            Runtime::Acp | Runtime::Command => false,
        });
        let Some(current) = self.session.as_mut().filter(|current| current.id() == session && running) else {
            return;
        };
        if current.call_is_open() || !steers || !current.offered.insert(whisper) {
            return;
        }
        self.order(session, Order::Steer { work: whisper, text, files: Vec::new() }).await;
    }
}
