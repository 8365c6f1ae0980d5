//! What holds in every history. One function each; its name is the sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use herder::core::Decision;
use herder::core::agent::{Agent, Phase};
use herder::core::event::{Event, WaitReason};
use herder::core::id::{SessionId, WorkId};
use herder::core::input::{Control, Input};
use herder::core::outcome::Category;
use herder::core::time::Timestamp;
use herder::core::usage::Caps;
use herder::core::work::WorkKind;

pub(super) fn at_most_one_process_per_agent(alive: Option<SessionId>, spawned: SessionId) {
    assert_eq!(alive, None, "session {spawned} was spawned while another process lives");
}

pub(super) fn nothing_is_spawned_while_stopping(phase: &Phase) {
    assert!(matches!(phase, Phase::Starting { .. }), "spawned in {phase:?}");
}

pub(super) fn a_session_starts_only_from_rest(before: &Agent, event: &Event) {
    if let Event::SessionStarted { .. } = event {
        assert_eq!(before.phase, Phase::Idle, "a session started from {:?}", before.phase);
    }
}

/// A pause, the open breaker and degraded are left by a person alone: `resume`, `restart`, or the account's opening.
pub(super) fn a_paused_agent_starts_nothing_by_itself(origin: &Phase, input: &Input, decision: &Decision) {
    let halted =
        matches!(origin, Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded | Phase::Removed);
    let by_a_person = matches!(
        input,
        Input::Control { control: Control::Resume | Control::Restart, .. } | Input::AccountOpened { .. }
    );
    let starts = decision.events.iter().any(|event| matches!(event, Event::SessionStarted { .. }));
    assert!(!(halted && starts && !by_a_person), "{origin:?} was left by {input:?}");
}

pub(super) fn every_accepted_command_is_answered(input: &Input, decision: &Decision) {
    let asked = matches!(input, Input::Control { .. });
    assert_eq!(asked, decision.reply.is_some(), "{input:?} -> {decision:?}");
}

pub(super) fn session_numbers_strictly_grow(last: SessionId, event: &Event) {
    if let Event::SessionStarted { session, .. } = event {
        assert!(*session > last, "{session} after {last}");
    }
}

pub(super) fn the_state_after_a_replay_equals_the_state_before(before: &Agent, replayed: &Agent) {
    assert_eq!(before, replayed);
}

pub(super) fn billing_auth_and_budget_never_increment_a_counter(
    category: Category,
    before: &Agent,
    after: &Agent,
) {
    if category.is_of_account() {
        let counters = |agent: &Agent| {
            let times = (agent.failure_times.clone(), agent.crash_times.clone());
            (agent.failures, agent.crashes, agent.past_resets, agent.totals.failures, times)
        };
        // A stop that ran for a hang is a hang, whatever the driver says of it.
        let hung =
            matches!(before.phase, Phase::Stopping { reason: herder::core::event::StopReason::Hung, .. });
        assert!(hung || counters(before) == counters(after), "{category:?} was counted");
    }
}

pub(super) fn work_is_taken_from_the_head_of_the_queue(before: &Agent, event: &Event) {
    if let Event::SessionStarted { work, .. } = event {
        match before.queue.front() {
            Some(head) => assert_eq!(head.id, work.id),
            None => assert_eq!(work.kind, WorkKind::Round, "work out of nowhere"),
        }
    }
}

pub(super) fn nothing_lies_idle(agent: &Agent) {
    if agent.phase == Phase::Idle {
        let looping = agent.spec.as_ref().is_some_and(|spec| spec.looping);
        assert!(agent.queue.is_empty() && !looping, "idle beside {} pieces of work", agent.queue.len());
    }
    let working = agent.session().is_some();
    assert!(working || agent.current.is_none(), "work without a session in {:?}", agent.phase);
}

/// Work whose session did not finish it is the next to be tried, before whatever came in meanwhile.
pub(super) fn unfinished_work_comes_first(event: &Event, after: &Agent) {
    if let Event::Requeued { work } = event {
        assert_eq!(after.queue.front().map(|work| work.id), Some(*work));
    }
}

fn held(agent: &Agent) -> BTreeSet<WorkId> {
    agent.queue.iter().chain(&agent.current).map(|work| work.id).collect()
}

pub(super) fn work_leaves_only_by_an_event_that_names_it(before: &Agent, event: &Event, after: &Agent) {
    let gone: Vec<WorkId> = held(before).difference(&held(after)).copied().collect();
    let named: Vec<WorkId> = match event {
        Event::Cleared { works, .. } => works.clone(),
        // What the session itself works on cannot reach it a second time.
        Event::Steered { work, .. } if before.queue.iter().any(|queued| queued.id == *work) => vec![*work],
        Event::TaskEnded { work, .. } | Event::Discarded { work, .. } | Event::Withdrawn { work, .. } => {
            vec![*work]
        }
        Event::SessionEnded { outcome, .. } if outcome.category == Category::Success => {
            before.current.iter().filter(|work| work.kind != WorkKind::Task).map(|work| work.id).collect()
        }
        _ => Vec::new(),
    };
    assert!(gone.iter().all(|work| named.contains(work)), "{gone:?} left by {event:?}");
    let len = |agent: &Agent| agent.queue.len() + usize::from(agent.current.is_some());
    assert_eq!(len(after), held(after).len(), "the same work twice after {event:?}");
}

pub(super) fn a_limit_is_waited_for_to_the_millisecond(before: &Agent, event: &Event) {
    if let Event::Waiting { until, reason: WaitReason::RateLimit } = event
        && let Some(reset) = before.last_outcome.as_ref().and_then(|outcome| outcome.resets_at)
        && reset > before.since
    {
        assert_eq!(*until, reset);
    }
}

/// What people asked and were told they would get.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Whether the last accepted word about it was that it should pause.
    asked_to_pause: bool,
    /// Every piece of work that was accepted, and how it ended.
    accepted: BTreeSet<WorkId>,
    over: BTreeMap<WorkId, &'static str>,
    /// Every whisper that was accepted, and whether it was handed over.
    whispers: BTreeMap<WorkId, bool>,
}

impl Ledger {
    pub(super) fn accepted(&mut self, control: &Control) {
        match control {
            Control::Give { id, .. } => {
                self.accepted.insert(*id);
            }
            Control::Whisper { id, .. } => {
                self.whispers.insert(*id, false);
            }
            Control::Pause { .. } | Control::Stop => self.asked_to_pause = true,
            Control::Resume | Control::Restart => self.asked_to_pause = false,
            Control::Abort
            | Control::CancelTask(_)
            | Control::Reword { .. }
            | Control::Withdraw(_)
            | Control::Clear
            | Control::Edit(_)
            | Control::Remove => {}
        }
    }

    /// Asked before the decision about `input` is recorded, for a command that was accepted.
    pub(super) fn after_a_pause_nothing_starts_until_somebody_resumes(&self, input: &Input, event: &Event) {
        let resumes = matches!(input, Input::Control { control: Control::Resume | Control::Restart, .. });
        let starts = matches!(event, Event::SessionStarted { .. });
        assert!(!(self.asked_to_pause && starts && !resumes), "it was to pause, and {input:?} started it");
    }

    pub(super) fn saw(&mut self, before: &Agent, event: &Event) {
        let mut end = |work: WorkId, how| {
            let earlier = self.over.insert(work, how);
            assert_eq!(earlier, None, "work {work} ended twice: {earlier:?}, {how}");
        };
        match event {
            Event::Cleared { works, .. } => works.iter().for_each(|work| end(*work, "cleared")),
            Event::Steered { work, .. } => end(*work, "steered"),
            Event::TaskEnded { work, .. } => end(*work, "ended"),
            Event::WhispersDelivered { whispers, .. } => {
                for whisper in whispers {
                    assert_eq!(
                        self.whispers.insert(*whisper, true),
                        Some(false),
                        "handed over twice: {whisper}"
                    );
                }
            }
            Event::Discarded { work, .. } => end(*work, "discarded"),
            Event::Withdrawn { work, .. } => end(*work, "withdrawn"),
            Event::SessionEnded { outcome, .. } if outcome.category == Category::Success => {
                let current = before.current.as_ref().filter(|work| work.kind != WorkKind::Task);
                current.into_iter().for_each(|work| end(work.id, "succeeded"));
            }
            _ => {}
        }
    }
}

pub(super) fn accepted_work_is_somewhere(ledger: &Ledger, agent: &Agent) {
    let held = held(agent);
    for work in &ledger.accepted {
        assert_ne!(
            held.contains(work),
            ledger.over.contains_key(work),
            "work {work} is lost, or both over and still there"
        );
    }
}

pub(super) fn a_whisper_waits_until_it_is_handed_over_once(ledger: &Ledger, agent: &Agent) {
    for (whisper, handed_over) in &ledger.whispers {
        let waits = agent.whispers.iter().any(|waiting| waiting.id == *whisper);
        assert_ne!(waits, *handed_over, "whisper {whisper} is lost, or handed over and still there");
    }
}

/// The limits of restarts, counted beside the core from what was seen.
#[derive(Debug)]
pub(super) struct Limits {
    /// Whether the limit of crashes in half an hour is in force; without it the breaker has to do alone.
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
}

impl Limits {
    pub(super) fn new(degrades: bool) -> Self {
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
        }
    }

    /// A command that may skip a countdown was given.
    pub(super) fn person_may_skip_the_wait(&mut self) {
        self.not_before = None;
    }

    pub(super) fn person_intervened(&mut self) {
        self.person_may_skip_the_wait();
    }

    pub(super) fn saw(&mut self, before: &Agent, event: &Event, now: Timestamp) {
        match event {
            Event::SessionEnded { outcome, .. } => {
                let again = before.timed_out.is_some()
                    && before.timed_out == before.current.as_ref().map(|work| work.id);
                self.ended(outcome.category, outcome.resets_at, again, now);
            }
            Event::SupervisorPanicked { .. } => self.crashed(now),
            // A person let it go on: the breaker is half-open or closed, and counts anew from here.
            Event::Resumed { .. } | Event::Reset { .. } => {
                self.trial |= before.phase == Phase::NeedsIntervention;
                self.forget(event);
            }
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

    fn ended(&mut self, category: Category, resets_at: Option<Timestamp>, gave_up: bool, now: Timestamp) {
        match category {
            Category::Success | Category::MaxTurns => {
                (self.session_failures, self.process_crashes, self.past_resets) = (0, 0, 0);
            }
            Category::RateLimit | Category::Quota => self.limited(resets_at, now),
            Category::Crash => self.crashed(now),
            Category::Transient
            | Category::Permanent
            | Category::ContextOverflow
            | Category::TaskTimeout
            | Category::SandboxDenial
            | Category::Hung => {
                let work_was_given_up = category == Category::TaskTimeout && gave_up;
                self.failed(now);
                if work_was_given_up {
                    self.not_before = None;
                }
            }
            Category::Billing
            | Category::Auth
            | Category::Budget
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

/// What was spent, hour by hour and day by day, and how far a person let it go.
#[derive(Debug)]
pub(super) struct Spending {
    caps: Caps,
    total: f64,
    hours: BTreeMap<i64, f64>,
    days: BTreeMap<i64, f64>,
    hour_allowed: BTreeMap<i64, f64>,
    day_allowed: BTreeMap<i64, f64>,
}

fn hour_and_day(now: Timestamp) -> (i64, i64) {
    (now.as_millis() / 3_600_000, now.as_millis() / 86_400_000)
}

impl Spending {
    pub(super) fn new(caps: Caps) -> Self {
        let nothing = BTreeMap::new;
        Self {
            caps,
            total: 0.0,
            hours: nothing(),
            days: nothing(),
            hour_allowed: nothing(),
            day_allowed: nothing(),
        }
    }

    pub(super) fn spent(&mut self, dollars: f64, now: Timestamp) {
        let (hour, day) = hour_and_day(now);
        self.total += dollars;
        *self.hours.entry(hour).or_default() += dollars;
        *self.days.entry(day).or_default() += dollars;
    }

    /// One more cap's worth, from where it is.
    pub(super) fn person_resumes(&mut self, now: Timestamp) {
        let (hour, day) = hour_and_day(now);
        for (spent, allowed, window, cap) in [
            (&self.hours, &mut self.hour_allowed, hour, self.caps.usd_per_hour),
            (&self.days, &mut self.day_allowed, day, self.caps.usd_per_day),
        ] {
            let mut limit = cap;
            while cap > 0.0 && limit <= spent.get(&window).copied().unwrap_or_default() {
                limit += cap;
            }
            let before = allowed.get(&window).copied().unwrap_or(cap);
            allowed.insert(window, before.max(limit));
        }
    }

    fn is_over(&self, now: Timestamp) -> bool {
        let (hour, day) = hour_and_day(now);
        [
            (&self.hours, &self.hour_allowed, hour, self.caps.usd_per_hour),
            (&self.days, &self.day_allowed, day, self.caps.usd_per_day),
        ]
        .into_iter()
        .any(|(spent, allowed, window, cap)| {
            let limit = allowed.get(&window).copied().unwrap_or(cap);
            cap > 0.0 && spent.get(&window).copied().unwrap_or_default() >= limit
        })
    }
}

pub(super) fn no_session_starts_while_a_cap_is_reached_unless_a_person_resumed_it(
    spending: &Spending,
    now: Timestamp,
) {
    assert!(!spending.is_over(now), "a session started at {now:?} although {spending:?}");
}

pub(super) fn a_session_over_its_cap_is_stopped(spending: &Spending, agent: &Agent, now: Timestamp) {
    let works = matches!(agent.phase, Phase::Starting { .. } | Phase::Running { .. });
    assert!(!(works && spending.is_over(now)), "it works on although {spending:?}");
}

pub(super) fn everything_spent_is_counted_once(spending: &Spending, agent: &Agent) {
    assert_eq!(agent.totals.usage.cost_usd, spending.total);
}
