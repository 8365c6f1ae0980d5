//! Decisions, in memory alone: the core decides, and its events are applied and collected.

use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, error};

use super::Request;
use super::pending::Pending;
use super::supervisor::{Risen, Supervisor};
use crate::core::checkout::CheckoutEvent;
use crate::core::event::Event;
use crate::core::id::WorkId;
use crate::core::input::{Control, Input};
use crate::core::notice::{Notice, Refusal};
use crate::core::post::Target;
use crate::core::promotion::Hold;
use crate::core::time::Timestamp;
use crate::core::work::Work;
use crate::core::{self, Context};
use crate::journal::LogContext;
use crate::supervisor::root::account_of;
use crate::supervisor::{accounts, owing, posting};

impl Supervisor<'_> {
    /// Decides a person's command; the reply is sent when the decision is on disk.
    pub(super) fn request(&mut self, request: Request, pending: &mut Pending) {
        let Request { control, asked, audited, noted, ticket } = request;
        // The line's message id stands for the work from now on. A rewording does not change that: the work may be
        // with another agent by now, and the line still belongs to the one that it was given to.
        let work = match &control {
            Control::Give { id, .. } | Control::Begin { id, .. } => Some(*id),
            _ => None,
        };
        let is_changed = matches!(control, Control::Reword { .. });
        let said = posting::said(&control, &asked);
        // Whispers are not mirrored.
        let private = matches!(control, Control::Whisper { .. });
        let input = Input::Control { by: asked.audit.by.clone(), control };
        match self.decide(&input, pending.at()) {
            Ok(decision) => {
                let reply = decision.reply.unwrap_or_else(|| {
                    // The core's invariant "every accepted command is answered" forbids this; a person still gets a
                    // reply.
                    error!(agent = %self.name, ?input, "an accepted command had no answer");
                    Notice::Resuming { agent: self.name.clone(), trial: false }
                });
                let first = pending.posts.len();
                self.absorb(decision.events, pending);
                if !is_changed {
                    pending.memos.extend(asked.heard(Some(self.name.clone()), work));
                }
                pending.memos.extend(noted);
                let at = pending.at();
                pending.memos.extend(owing::replied(&asked, &reply, at));
                // These come before the posts of the decision: first the command and its reply, then its
                // consequences.
                let mut ahead = Vec::new();
                if audited {
                    let to = Target::Agent(self.name.clone());
                    let answer = posting::owes_answer(&reply, &pending.posts[first..]).then_some(&reply);
                    if !private {
                        ahead = self.shared.posting.mirrored(&asked, said, &to, answer, at);
                    }
                    pending.audits.push(asked.audit);
                }
                if let Some(answer) = asked.answer {
                    posting::leave_out_echo(&mut pending.posts, first, &answer, self.name, &reply);
                    if answer.posted {
                        ahead.push(posting::answer(&answer, asked.message, reply.clone(), at));
                    }
                    pending.memos.extend(owing::memo(&answer, &reply, &pending.posts[first..], at));
                }
                pending.posts.splice(first..first, ahead);
                pending.answers.push((ticket, Ok(reply)));
            }
            Err(refusal) => pending.answers.push((ticket, Err(refusal))),
        }
    }

    /// Decides an input for which no person waits; refusals are ignored.
    pub(super) fn take(&mut self, input: Input, pending: &mut Pending) {
        match self.decide(&input, pending.at()) {
            Ok(decision) => self.absorb(decision.events, pending),
            Err(refusal) => debug!(agent = %self.name, ?input, ?refusal, "an input was refused"),
        }
    }

    /// Returns the core's decision on an input, given the present limits and the state of the account.
    pub(super) fn decide(&mut self, input: &Input, now: Timestamp) -> Result<core::Decision, Refusal> {
        self.shared.fault.before(self.name, input);
        let looping = self.agent.spec.as_ref().is_some_and(|spec| spec.looping);
        let called = super::watching::may_be_numbered(input, &self.agent) || self.agent.splitting.is_some();
        if looping || called || super::questions::may_be_asked(input) {
            self.fresh.get_or_insert_with(|| self.shared.journal.fresh_work_id());
        }
        let (jitter, fresh) = (self.shared.jitter(), self.fresh.unwrap_or_default());
        let broader = self.broader(input);
        let parts = self.untold_parts(input);
        let parts = parts.as_slice();
        let handed = self.session.as_ref().map(|session| &session.offered);
        let closed = if *input == Input::Tick { self.closed_since() } else { None };
        let decide = |hold: Option<&Hold>| {
            let context =
                Context { now, policy: &self.policy, jitter, hold, closed, broader, handed, parts, fresh };
            core::decide(&self.agent, input, &context)
        };
        // A person may let an agent of a closed account try.
        let resumes =
            matches!(input, Input::Control { control: Control::Resume | Control::Press { .. }, .. });
        let account = account_of(&self.agent);
        let closed = if resumes { self.shared.turns.closed(self.name, &account, now) } else { None };
        let decision = decide(closed.as_ref())?;
        if !decision.events.iter().any(|event| matches!(event, Event::SessionStarted { .. })) {
            return Ok(decision);
        }
        if self.risen == Risen::Ahead {
            return decide(Some(&Hold::Turn { active: 0, max: 0 }));
        }
        // Usually there is a place, and the session starts with this decision. If not, the agent waits.
        let account = match input {
            Input::Control { control: Control::Edit { spec, .. } | Control::Configure(spec), .. } => {
                spec.account.clone()
            }
            _ => account,
        };
        let since = self.agent.wants().unwrap_or(now);
        let keeps = *input == Input::Started;
        match self.shared.turns.begin(self.name, &account, since, keeps, now) {
            None => Ok(decision),
            Some(hold) => decide(Some(&hold)),
        }
    }

    /// Returns the task in review that an event is about.
    fn reviewed(&self, event: &Event) -> Option<Work> {
        let Event::Checkout(
            CheckoutEvent::InReview { task, .. }
            | CheckoutEvent::LeftToPerson { task, .. }
            | CheckoutEvent::Accepted { task, .. }
            | CheckoutEvent::Returned { task, .. }
            | CheckoutEvent::Landed { task, .. },
        ) = event
        else {
            return None;
        };
        self.agent.checkouts.review(*task).map(|review| review.work.clone())
    }

    /// Applies events in memory and collects their posts and effects; nothing is visible outside before the commit.
    pub(super) fn absorb(&mut self, events: Vec<Event>, pending: &mut Pending) {
        let now = pending.at();
        for event in events {
            if let Event::Queued { work } | Event::SessionStarted { work, .. } = &event
                && Some(work.id) == self.fresh
            {
                self.fresh = None;
            }
            if let Event::Asked { ask } = &event
                && self.fresh.is_some_and(|fresh| fresh.0 == ask.id.0)
            {
                self.fresh = None;
            }
            if super::watching::numbered(&event) == self.fresh {
                self.fresh = None;
            }
            pending.about.get_or_insert_with(|| LogContext::of(&self.agent));
            let before = self.agent.current.clone();
            let reviewed = self.reviewed(&event);
            core::apply(Arc::make_mut(&mut self.agent), &event, now);
            let reviewed = reviewed.or_else(|| self.reviewed(&event));
            let context = Context {
                now,
                policy: &self.policy,
                jitter: Duration::ZERO,
                hold: None,
                closed: None,
                broader: false,
                handed: None,
                parts: &[],
                fresh: WorkId::default(),
            };
            let owed = core::posts(&self.agent, &event, &context);
            if !owed.is_empty() {
                // The task in review, the current work, the work until this event, or the next work.
                let current = self.agent.current.as_ref().or(before.as_ref());
                let work = reviewed.as_ref().or(current).or(self.agent.queue.front());
                pending.posts.extend(self.shared.posting.owed(self.name, work, owed, now));
            }
            let effects = core::react(&self.agent, &event);
            pending.memos.extend(effects.iter().filter_map(|effect| accounts::noted(self.name, effect)));
            pending.effects.extend(effects);
            pending.events.push(event);
        }
    }
}
