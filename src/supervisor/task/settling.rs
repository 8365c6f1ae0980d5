//! Commits decisions, then publishes them and performs their effects.

use std::sync::Arc;

use tracing::{debug, warn};

use super::pending::Pending;
use super::supervisor::{Risen, Supervisor};
use crate::clock;
use crate::core::effect::Effect;
use crate::core::id::SessionId;
use crate::core::input::Input;
use crate::core::outcome::Category;
use crate::core::time::Timestamp;
use crate::journal::{Batch, CommitError, Entry, Memo, Stream, Write};
use crate::runner::wire::SessionKey;
use crate::runtime::Order;
use crate::supervisor::adopting::{Decided, note_answers};
use crate::supervisor::board::Stand;
use crate::supervisor::root::account_of;
use crate::supervisor::session::{Before, Session, Staying};
use crate::supervisor::{ToRoot, View};

impl Supervisor<'_> {
    /// Commits the pending decisions, publishes the new state, sends the replies and performs the effects. Returns true
    /// if the agent is retired.
    pub(super) async fn settle(&mut self, pending: &mut Pending) -> Result<bool, CommitError> {
        let mut pending = std::mem::take(pending);
        let at = pending.at();
        // It is stored with the decisions, and the runner keeps the reports until then.
        if let Some(decided) = &mut pending.decided
            && let Some(session) = self.session.as_deref_mut()
        {
            note_answers(&mut session.answers, &pending.effects);
            decided.answers.clone_from(&session.answers);
        }
        pending.memos.extend(pending.decided.as_deref().map(Decided::memo));
        pending.memos.extend(self.begins(&pending.effects));
        let owes = !(pending.posts.is_empty() && pending.memos.is_empty());
        if !pending.events.is_empty() || !pending.audits.is_empty() || owes {
            self.commit(at, &mut pending).await?;
            if let Some(decided) = pending.decided {
                self.shared.places.of(decided.runner.as_ref()).heard(&decided.of, decided.up_to);
            }
            // This comes before the view without the session is published, after which its processes are counted.
            self.end_overtaken();
            self.let_go().await;
            self.publish();
        }
        let shown = self.gates(&pending.effects);
        let agent = &*self.agent;
        let runner = agent.spec.as_ref().and_then(|spec| spec.runner.as_ref());
        let needs = (agent.needs(), runner);
        self.shared.stands(self.name, &account_of(agent), agent.standing(), needs);
        for told in shown {
            self.shared.tell_root(told);
        }
        // This is needed even if nothing was decided: a countdown continues after a start, and one that ended early
        // is set again.
        let release = self.agent.release_at(&self.policy, self.closed_since());
        let due = self.agent.deadline().into_iter().chain(release).chain(self.agent.uncapped_at(at));
        self.shared.timers.arm(self.name, due.min());
        let stand = Stand::of(&self.agent, at);
        if stand != self.stand {
            self.stand = stand;
            self.shared.tell_root(ToRoot::Look { agent: self.name.clone() });
        }
        for (ticket, answer) in pending.answers {
            // The caller may be gone; the decision stands.
            drop(ticket.send(answer));
        }
        for (ticket, answer) in pending.reported {
            drop(ticket.send(answer));
        }
        for (ticket, answer) in pending.questions {
            // The caller may be gone; the question stands.
            drop(ticket.send(answer));
        }
        let mut retired = false;
        for effect in pending.effects {
            retired |= self.perform(effect).await;
        }
        self.begin_due();
        self.follow();
        Ok(retired)
    }

    /// Ends the process that stays, unless it is kept for the next session.
    async fn let_go(&mut self) {
        let begins = self.agent.session().is_some() && self.agent.warm.is_some();
        if let Some(staying) = self.staying.take_if(|_| !begins && !self.agent.keeps_warm()) {
            self.end_staying(*staying).await;
        }
    }

    async fn end_staying(&self, staying: Staying) {
        let left = staying.end(self.shared).await;
        if !left.is_empty() {
            warn!(agent = %self.name, processes = ?left, "a process that stayed could not be ended");
            self.shared.input(self.name, Input::SurvivorsFound);
        }
    }

    /// Returns the time since which the agent's account has been closed, if the agent has work that is to go elsewhere
    /// because of that; else `None`.
    pub(super) fn closed_since(&self) -> Option<Timestamp> {
        let waits = self.agent.wants().is_some() && !self.policy.reassign_after.is_zero();
        if waits { self.shared.turns.closed_since(&account_of(&self.agent)) } else { None }
    }

    /// Closes accounts at once for what a session has shown about them, before its place is given away. Returns the
    /// messages about that for the root.
    fn gates(&self, effects: &[Effect]) -> Vec<ToRoot> {
        let turns = &self.shared.turns;
        let mut told = Vec::new();
        for effect in effects {
            match effect {
                Effect::Exhausted { account, resets_at } => {
                    let probed = turns.close(self.name, account, Category::Quota);
                    let (agent, account, resets_at) = (self.name.clone(), account.clone(), *resets_at);
                    told.push(ToRoot::Exhausted { agent, account, resets_at, probed });
                }
                Effect::BlockAccount { account, category } => {
                    turns.close(self.name, account, *category);
                }
                Effect::Proved { account } if turns.probes(self.name, account) => {
                    told.push(ToRoot::Proved { agent: self.name.clone(), account: account.clone() });
                }
                _ => {}
            }
        }
        told
    }

    /// Returns the record of a session that begins on a runner: it is on disk before the runner is asked.
    fn begins(&self, effects: &[Effect]) -> Option<Memo> {
        let place = self.place();
        let session = effects.iter().find_map(|effect| match effect {
            Effect::Spawn { session, .. } => Some(*session),
            _ => None,
        })?;
        let of = SessionKey { agent: self.name.clone(), session };
        let begun =
            Decided { runner: place.runner().cloned(), of, up_to: 0, over: false, answers: Vec::new() };
        place.is_remote().then(|| begun.memo())
    }

    /// Commits decisions to the journal in one transaction; their effects and replies stay.
    pub(super) async fn commit(&mut self, at: Timestamp, pending: &mut Pending) -> Result<(), CommitError> {
        let (events, audits) = (std::mem::take(&mut pending.events), std::mem::take(&mut pending.audits));
        let (posts, memos) = (std::mem::take(&mut pending.posts), std::mem::take(&mut pending.memos));
        let about = pending.about.take();
        let mut writes = Vec::with_capacity(2);
        let added = events.len() as u64;
        if !events.is_empty() {
            writes.push(Write {
                stream: Stream::Agent(self.name.clone()),
                expected_rev: Some(self.rev),
                entries: events.into_iter().map(Entry::Agent).collect(),
            });
        }
        if !audits.is_empty() {
            let entries = audits.into_iter().map(Entry::Audit).collect();
            writes.push(Write { stream: Stream::Audit, expected_rev: None, entries });
        }
        let batch = Batch { at, writes, posts, memos, about, ..Batch::default() };
        let receipt = self.shared.journal.commit(batch).await?;
        self.rev += added;
        if receipt.snapshot_due {
            self.snapshot().await?;
        }
        Ok(())
    }

    async fn snapshot(&self) -> Result<(), CommitError> {
        let stream = Stream::Agent(self.name.clone());
        self.shared.snapshot(stream, self.rev, &*self.agent).await
    }

    /// Publishes the agent's state, as it is on disk, for other parts of herder.
    pub(super) fn publish(&self) {
        let live = self.session.as_deref().map(Session::live).unwrap_or_default();
        let (name, agent) = (self.name.clone(), Arc::clone(&self.agent));
        let runner = match &self.session {
            Some(session) => session.place().runner(),
            None => agent.spec.as_ref().and_then(|spec| spec.runner.as_ref()),
        };
        let runner = runner.cloned();
        self.view.send_replace(View { name, agent, live, hold: None, closed: false, runner });
        self.shared.journal.seen(self.name, Some(self.rev));
        self.shared.changed.send_replace(());
    }

    /// Performs an effect of a committed event. Returns true if the agent is retired.
    async fn perform(&mut self, effect: Effect) -> bool {
        match effect {
            Effect::Spawn { session, work, conversation, past, recap, whispers } => {
                let Some(spec) = self.agent.spec.clone() else { return false };
                let mut spec = self.seated(spec);
                // A runtime that enforces its own budget is told what its caps leave of it.
                spec.max_budget_usd = self.agent.allowance(clock::now());
                let conversed = self.agent.conversed;
                // The workspace is inspected after a failure, and once after herder's own start.
                let look =
                    recap.is_some() || std::mem::replace(&mut self.risen, Risen::Looked) != Risen::Looked;
                let mut staying = self.staying.take();
                if let Some(other) = staying.take_if(|staying| !staying.holds(conversation.as_deref())) {
                    self.end_staying(*other).await;
                }
                let staying = staying.map(|staying| *staying);
                let task = self.agent.checkout().map(|checkout| checkout.plan.task);
                let before = Before { conversation, past, conversed, recap, whispers, look, task };
                let started = Session::start(self.shared, spec, session, &work, before, staying);
                *self.session = Some(Box::new(started));
            }
            Effect::Keep { context } => self.keep(context),
            Effect::Checkout { act, plan, read } => self.act(act, plan, read),
            Effect::Whisper { session, whisper, text } => self.offer(session, whisper, text).await,
            Effect::Go { session } => self.order(session, Order::Go).await,
            Effect::Steer { session, work, .. } => self.steer(session, work).await,
            Effect::Answer { session, key, told } => {
                self.order(session, Order::Answer { key, told }).await;
            }
            Effect::Stop { session } => {
                self.order(session, Order::Stop).await;
                if let Some(running) = self.session.as_mut() {
                    running.expect_end(self.shared);
                }
            }
            Effect::BlockAccount { account, category } => {
                self.shared.tell_root(ToRoot::AccountBlocked { agent: self.name.clone(), account, category });
            }
            Effect::OpenAccount { account, by } => {
                self.shared.tell_root(ToRoot::AccountOpened { agent: self.name.clone(), account, by });
            }
            Effect::LookAtAccount => {
                self.shared.tell_root(ToRoot::Moved { agent: self.name.clone() });
            }
            Effect::Spent { account } => {
                self.shared.tell_root(ToRoot::Spent { agent: self.name.clone(), account });
            }
            // They were performed before the others.
            Effect::Exhausted { .. } | Effect::Proved { .. } => {}
            Effect::Evaluate { number } => self.evaluate(number),
            Effect::Split { number } => self.split(number),
            Effect::Retire => return true,
        }
        false
    }

    /// Sends an order to the driver, if the session is the running one.
    pub(super) async fn order(&mut self, session: SessionId, order: Order) {
        match self.session.as_mut() {
            Some(running) if running.id() == session => running.order(order).await,
            Some(_) | None => {
                debug!(agent = %self.name, %session, ?order, "an order for a session that is gone")
            }
        }
    }
}
