//! Restarts and their limits, counted beside the core.

use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::event::Event;
use herder::core::outcome::Category;
use herder::core::time::Timestamp;

/// The limits of restarts, counted beside the core from what was seen.
#[derive(Debug)]
pub(in crate::core_sim) struct Limits {
    /// True if the limit of crashes in half an hour is in force; without it the breaker alone limits restarts.
    degrades: bool,
    /// The next failure of a trial session, or one too many, forbids every start until a person says so.
    trial: bool,
    tripped: bool,
    /// Failures and crashes since a person last let the agent go on.
    failures: Vec<Timestamp>,
    crashes: Vec<Timestamp>,
    session_failures: usize,
    process_crashes: u32,
    past_resets: u32,
    /// No session may start before; none after a person's command that skips it.
    not_before: Option<Timestamp>,
    /// The same before a session that was kept from its work ended, until the next event but a lost conversation.
    before_the_end: Option<Option<Timestamp>>,
}

impl Limits {
    pub(in crate::core_sim) fn new(degrades: bool) -> Self {
        Self {
            degrades,
            trial: false,
            tripped: false,
            failures: Vec::new(),
            crashes: Vec::new(),
            session_failures: 0,
            process_crashes: 0,
            past_resets: 0,
            not_before: None,
            before_the_end: None,
        }
    }

    /// Records a command that may skip a countdown.
    pub(in crate::core_sim) fn person_may_skip_the_wait(&mut self) {
        self.not_before = None;
    }

    pub(in crate::core_sim) fn person_intervened(&mut self) {
        self.person_may_skip_the_wait();
    }

    pub(in crate::core_sim) fn saw(&mut self, before: &Agent, event: &Event, now: Timestamp) {
        // A lost conversation is recorded between the end of a session and that of its task.
        if matches!(event, Event::ConversationLost { .. }) {
            return;
        }
        let before_the_end = self.before_the_end.take();
        match event {
            Event::SessionEnded { outcome, .. } => {
                let of_work = matches!(
                    outcome.category,
                    Category::ContextOverflow
                        | Category::TaskTimeout
                        | Category::SandboxDenial
                        | Category::OutOfMemory
                );
                self.before_the_end = of_work.then_some(self.not_before);
                self.ended(outcome.category, outcome.resets_at, now);
            }
            // It is over by its agent's word: what kept the agent from this task keeps it from no other.
            Event::TaskEnded { .. } if before_the_end.is_some() => self.not_before = before_the_end.flatten(),
            Event::SupervisorPanicked { .. } => self.crashed(now),
            // A person resumed it: the breaker is half-open or closed, and counts from zero.
            Event::Resumed { .. } | Event::Reset { .. } => {
                self.trial |= before.phase == Phase::NeedsIntervention;
                self.forget(event);
            }
            // The wait was for this task, which is no longer the agent's.
            Event::TaskHandedBack { .. } => self.not_before = None,
            Event::BreakerClosed => self.trial = false,
            Event::SessionStarted { .. } => self.never_more_restarts_than_the_limits_allow(now),
            _ => {}
        }
    }

    fn forget(&mut self, event: &Event) {
        self.tripped = false;
        self.failures.clear();
        self.crashes.clear();
        self.not_before = None;
        if let Event::Reset { .. } = event {
            (self.session_failures, self.process_crashes, self.past_resets) = (0, 0, 0);
        }
    }

    fn ended(&mut self, category: Category, resets_at: Option<Timestamp>, now: Timestamp) {
        match category {
            Category::Success | Category::MaxTurns => {
                (self.session_failures, self.process_crashes, self.past_resets) = (0, 0, 0);
            }
            Category::RateLimit => self.limited(resets_at, now),
            Category::Crash => self.crashed(now),
            Category::Transient
            | Category::Permanent
            | Category::ContextOverflow
            | Category::TaskTimeout
            | Category::SandboxDenial
            | Category::OutOfMemory
            | Category::Hung => self.failed(now),
            Category::Billing
            | Category::Auth
            | Category::Budget
            | Category::Quota
            | Category::DoNotRestart
            | Category::Interrupted => {}
        }
    }

    fn failed(&mut self, now: Timestamp) {
        const SCHEDULE: [u64; 5] = [10, 20, 40, 80, 300];
        let wait = SCHEDULE[self.session_failures.min(4)];
        self.session_failures += 1;
        self.past_resets = 0;
        self.count(now);
        self.wait(wait, now);
    }

    fn count(&mut self, now: Timestamp) {
        self.failures.push(now);
        self.tripped |= self.trial || within(&self.failures, 60, now) > 5;
    }

    fn crashed(&mut self, now: Timestamp) {
        let wait = 2u64.saturating_pow(self.process_crashes).min(300);
        self.process_crashes += 1;
        self.past_resets = 0;
        self.crashes.push(now);
        self.count(now);
        self.tripped |= self.degrades && within(&self.crashes, 30 * 60, now) > 5;
        self.wait(wait, now);
    }

    fn limited(&mut self, resets_at: Option<Timestamp>, now: Timestamp) {
        match resets_at {
            Some(reset) if reset > now => {
                self.past_resets = 0;
                self.not_before = self.not_before.max(Some(reset));
            }
            Some(_) if self.past_resets < 2 => self.past_resets += 1,
            Some(_) => {
                let past = self.past_resets + 1;
                self.failed(now);
                self.past_resets = past;
            }
            None => self.failed(now),
        }
    }

    fn wait(&mut self, seconds: u64, now: Timestamp) {
        self.not_before = self.not_before.max(Some(now.after(Duration::from_secs(seconds))));
    }

    fn never_more_restarts_than_the_limits_allow(&self, now: Timestamp) {
        if let Some(not_before) = self.not_before {
            assert!(now >= not_before, "started at {now:?}, before {not_before:?}");
        }
        assert!(!self.tripped, "started although only a person may start it: {self:?}");
    }
}

fn within(times: &[Timestamp], seconds: u64, now: Timestamp) -> usize {
    times.iter().filter(|at| now.since(**at) < Duration::from_secs(seconds)).count()
}
