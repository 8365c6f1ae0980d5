//! Decides which events follow from an input: a pure function of the state, the input and the context.
//!
//! A decision is drafted: each event is applied to a copy of the state as it is recorded, so that later steps see its
//! effect. The copy is made at the first event; most signals of a busy session need none.
//!
//! - `control`: commands of people.
//! - `queue`: work given, cancelled, dropped.
//! - `session`: reports of a driver, and the end of a session.
//! - `spending`: usage of a session, and the agent's own caps.
//! - `whisper`: words for the agent alone, and their delivery.
//! - `watch`: evaluations, and the ladder that ends with a call for a person.
//! - `account`: the gate that the agents of one account share.
//! - `recovery`: tasks that their agent cannot do as they are.
//! - `board`: tasks that come from the board or go back to it.
//! - `asks`: questions of an agent to people, and their answers.
//! - `report`: an agent's own reports on its task and its parts.
//! - `checkout`: clones of tasks.
//! - `review`: work that is called done, until it is accepted and merged.
//! - `warm`: processes that stay between two sessions.

mod account;
mod asks;
mod board;
mod checkout;
mod control;
mod queue;
mod recovery;
mod report;
mod review;
mod session;
mod spending;
mod warm;
mod watch;
mod whisper;

pub(super) use asks::answered;
pub(super) use control::excerpt;

use std::borrow::Cow;
use std::time::Duration;

use super::agent::{Agent, Breaker, Phase};
use super::event::{Event, PauseReason, WaitReason};
use super::id::{AgentName, SessionId};
use super::input::Input;
use super::notice::{Notice, Refusal};
use super::work::{Work, WorkKind};
use super::{Context, Decision, apply};

/// Prompt of a loop's round; the standing instructions come before it.
const ROUND_TEXT: &str = "Go on with your standing instructions.";

/// Decides which events follow from an input.
///
/// # Errors
/// A refusal in the user's terms: nothing is stored. Only [`Input::Control`], [`Input::Question`] and an agent's
/// requests by its tools can be refused.
pub fn decide(agent: &Agent, input: &Input, context: &Context<'_>) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(agent, context);
    match input {
        Input::Started => {
            clock_behind(&mut draft);
            warm::gone(&mut draft);
            // The time that herder was away does not count as time for an answer: the countdown starts again with the
            // question.
            let open = draft.agent().session().is_some();
            checkout::started(&mut draft);
            if !open {
                recovery::started(&mut draft);
            }
            session::started(&mut draft);
            watch::started(&mut draft);
            if open {
                recovery::started(&mut draft);
            }
            Ok(draft.done())
        }
        Input::Adopted { session } => {
            if draft.agent().session() == Some(*session) {
                clock_behind(&mut draft);
                watch::started(&mut draft);
                recovery::started(&mut draft);
            }
            Ok(draft.done())
        }
        Input::SurvivorsFound => {
            session::survivors_found(&mut draft);
            Ok(draft.done())
        }
        Input::Tick => {
            tick(&mut draft);
            Ok(draft.done())
        }
        Input::ClockSet { by } => {
            draft.clock_set(*by);
            Ok(draft.done())
        }
        Input::Promoted => {
            draft.begin();
            Ok(draft.done())
        }
        Input::Control { by, control } => {
            let reply = control::control(&mut draft, by, control)?;
            Ok(draft.answered(reply))
        }
        Input::AccountBlocked { category } => {
            account::blocked(&mut draft, *category);
            Ok(draft.done())
        }
        Input::LeftAccountBlocked { account } => {
            account::left_blocked(&mut draft, account);
            Ok(draft.done())
        }
        Input::AccountOpened { by } => {
            account::opened(&mut draft, by);
            Ok(draft.done())
        }
        Input::HandedOver { number, work } => {
            board::handed_over(&mut draft, *number, work);
            Ok(draft.done())
        }
        Input::BoardHeard { up_to } => {
            board::heard(&mut draft, *up_to);
            Ok(draft.done())
        }
        Input::Driver { session, signal } => {
            session::signal(&mut draft, *session, signal);
            Ok(draft.done())
        }
        Input::Kept { session, process } => {
            warm::kept(&mut draft, *session, *process);
            Ok(draft.done())
        }
        Input::EndedAtShutdown { session, outcome, survivors } => {
            draft.begins = false;
            session::ended(&mut draft, *session, outcome, survivors);
            Ok(draft.done())
        }
        Input::DriverSilent { session, silent } => {
            session::driver_silent(&mut draft, *session, *silent);
            Ok(draft.done())
        }
        Input::Reported { session, report } => {
            report::reported(&mut draft, *session, report)?;
            Ok(draft.done())
        }
        Input::AwaitsParts { session, parts } => {
            report::awaits(&mut draft, *session, parts)?;
            Ok(draft.done())
        }
        Input::PartsOver { task, session, results } => {
            report::parts_over(&mut draft, *task, *session, results);
            Ok(draft.done())
        }
        Input::WhispersTaken { session, whispers } => {
            whisper::taken(&mut draft, *session, whispers);
            Ok(draft.done())
        }
        Input::Question { session, call, inquiry } => {
            asks::question(&mut draft, (*session, *call), inquiry)?;
            Ok(draft.done())
        }
        Input::Evaluated { number, judgement, usage } => {
            watch::evaluated(&mut draft, *number, judgement, *usage);
            Ok(draft.done())
        }
        Input::Divided { number, answer, usage } => {
            recovery::divided(&mut draft, *number, answer, *usage);
            Ok(draft.done())
        }
        Input::Followed { task, number, head, look } => {
            review::followed(&mut draft, *task, (*number, head), look);
            Ok(draft.done())
        }
        Input::Checkout { task, acted } => {
            checkout::acted(&mut draft, *task, acted);
            Ok(draft.done())
        }
        Input::Reviewed { task, number, by, opinion } => {
            review::decided(&mut draft, *task, *number, by, opinion.as_ref());
            Ok(draft.done())
        }
        Input::Panicked { message } => {
            clock_behind(&mut draft);
            session::panicked(&mut draft, message);
            watch::started(&mut draft);
            Ok(draft.done())
        }
    }
}

/// Moves the agent's recorded times after the wall clock was set back while herder was down, so that no wait lasts
/// longer than planned.
fn clock_behind(draft: &mut Draft<'_>) {
    if let Some(by) = draft.agent().clock_behind(draft.context.now) {
        draft.clock_set(by);
    }
}

fn tick(draft: &mut Draft<'_>) {
    warm::overdue(draft);
    asks::expire(draft);
    asks::remind(draft);
    recovery::overdue(draft);
    if draft.agent().countdown().is_some_and(|until| until <= draft.context.now) {
        draft.record(Event::WaitOver);
        draft.begin();
    }
    watch::remind(draft);
    board::overdue(draft);
}

/// A decision in the making: the events so far, and the agent's state after them.
struct Draft<'a> {
    agent: Cow<'a, Agent>,
    context: &'a Context<'a>,
    events: Vec<Event>,
    /// True if a session may be started. It is false while herder goes down, as a session would be cut before it did
    /// anything.
    begins: bool,
}

impl<'a> Draft<'a> {
    fn new(agent: &'a Agent, context: &'a Context<'a>) -> Self {
        Self { agent: Cow::Borrowed(agent), context, events: Vec::new(), begins: true }
    }

    fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns the agent's name; a refusal if the agent was never added.
    fn name(&self) -> Result<AgentName, Refusal> {
        self.agent.name().cloned().ok_or(Refusal::NoSuchAgent { agent: String::new(), nearest: None })
    }

    fn record(&mut self, event: Event) {
        apply(self.agent.to_mut(), &event, self.context.now);
        self.events.push(event);
    }

    fn clock_set(&mut self, by: i64) {
        if self.agent.spec.is_some() && self.agent.phase != Phase::Removed {
            self.record(Event::ClockSet { by });
        }
    }

    fn done(mut self) -> Decision {
        asks::drop_idle(&mut self);
        Decision { events: self.events, reply: None }
    }

    fn answered(self, reply: Notice) -> Decision {
        Decision { reply: Some(reply), ..self.done() }
    }

    /// Starts the next session if there is work, no cap is reached and nothing holds the agent back; a looping agent
    /// gives itself a round. A held agent waits, idle, with its work.
    fn begin(&mut self) {
        let agent = &self.agent;
        if !self.begins || agent.phase != Phase::Idle || agent.spec.is_none() {
            return;
        }
        let Some(work) = agent.queue.front().cloned().or_else(|| self.round()) else { return };
        if let Some(until) = agent.split_until() {
            return self.record(Event::Waiting { until, reason: WaitReason::Split });
        }
        // The call was made while the agent was paused for another reason, which is over.
        if agent.watch.escalation.is_some() {
            return self.pause(PauseReason::Escalation);
        }
        if let Some(standing) = agent.capped(self.context.now) {
            return self.pause(PauseReason::Cap(standing.cap));
        }
        if !checkout::is_ready(self, &work) || self.context.hold.is_some() {
            return;
        }
        let session = SessionId(self.agent.last_session.0.saturating_add(1));
        let trial = self.agent.breaker == Breaker::HalfOpen;
        self.record(Event::SessionStarted { session, work, trial });
    }

    /// Continues after a session: with the next work, or with the rest before the next round.
    fn proceed(&mut self) {
        let rest = self.agent.spec.as_ref().filter(|spec| spec.looping).map(|spec| spec.rest);
        match rest {
            Some(rest) if self.agent.queue.is_empty() && !rest.is_zero() => {
                self.record(Event::Waiting { until: self.context.now.after(rest), reason: WaitReason::Rest });
            }
            Some(_) | None => self.begin(),
        }
    }

    /// Waits before the next session. The jitter, at most as long as the wait, keeps agents with the same fault
    /// apart; a wait of zero starts the session with this decision.
    fn back_off(&mut self, wait: Duration, reason: WaitReason) {
        let until = self.context.now.after(wait).after(self.context.jitter.min(wait));
        self.record(Event::Waiting { until, reason });
        if wait.is_zero() {
            self.record(Event::WaitOver);
            self.begin();
        }
    }

    fn pause(&mut self, reason: PauseReason) {
        self.record(Event::Paused { reason });
    }

    fn round(&self) -> Option<Work> {
        let looping = self.agent.spec.as_ref().is_some_and(|spec| spec.looping);
        looping.then(|| Work {
            id: self.context.fresh,
            kind: WorkKind::Round,
            text: ROUND_TEXT.to_owned(),
            by: super::work::Actor::herder(),
            at: self.context.now,
            attempts: 0,
            card: None,
        })
    }
}
