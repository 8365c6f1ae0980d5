//! The only writer of an agent's state: total, so that every journal can be replayed, also one from a state that this
//! version would not have reached.

use super::agent::{Agent, Breaker, FINISHED_MAX, Phase, ProcessRecord, Unfinished};
use super::breaker::remember;
use super::cut::both_ends;
use super::event::{Event, PauseReason, StopReason};
use super::id::{SessionId, WorkId};
use super::outcome::{Category, Outcome, Usage};
use super::recap::{PROGRESS_MAX, bounded};
use super::spec::AgentSpec;
use super::time::Timestamp;
use super::usage::{PROVISIONAL, Waived, Warned};
use super::whisper::Whisper;
use super::work::{Actor, FinishedTask, TaskEnd, Work, WorkKind};

/// The most steered messages that are kept for a recap; a turn that took more has long seen the first.
const STEERED_KEPT: usize = 50;

/// Applies one event that was recorded at `at`.
pub fn apply(agent: &mut Agent, event: &Event, at: Timestamp) {
    match event {
        Event::Added { spec, .. } => added(agent, spec, at),
        Event::Edited { spec, .. } => edited(agent, spec),
        Event::Removed { .. } => removed(agent, at),
        Event::Queued { work } => queued(agent, work),
        Event::Cleared { works, .. } => cleared(agent, works),
        Event::Steered { work, .. } => steered(agent, *work),
        Event::TaskEnded { work, end, note } => task_ended(agent, *work, *end, note, at),
        Event::Whispered { whisper } => whispered(agent, whisper),
        Event::WhispersDelivered { whispers, .. } => {
            agent.whispers.retain(|waiting| !whispers.contains(&waiting.id));
        }
        Event::TaskReported { work, report, .. } => {
            if let Some(unfinished) = agent.unfinished.as_mut().filter(|unfinished| unfinished.work == *work)
            {
                unfinished.report = Some(report.clone());
            }
        }
        Event::Reworded { work, text, .. } => {
            if let Some(queued) = agent.queue.iter_mut().find(|queued| queued.id == *work) {
                queued.text.clone_from(text);
            }
        }
        Event::UsageRecorded { session, usage } => {
            if agent.session() == Some(*session) {
                spend(agent, *usage, at);
            }
        }
        Event::CapNear { cap, at, limit, percent, .. } => {
            agent.warned.retain(|warned| warned.cap != *cap);
            agent.warned.push(Warned { cap: *cap, at: *at, limit: *limit, percent: *percent });
        }
        Event::CapWaived { cap, at, limit, .. } => {
            agent.waived.retain(|waived| waived.cap != *cap);
            agent.waived.push(Waived { cap: *cap, at: *at, limit: *limit });
        }
        Event::Spiked { hour, .. } => agent.spiked = Some(*hour),
        Event::PriceUnknown { model, .. } => agent.unpriced = Some(model.clone()),
        Event::Discarded { work, .. } | Event::Withdrawn { work, .. } => {
            take(agent, *work);
        }
        Event::SessionStarted { session, work, .. } => session_started(agent, *session, work, at),
        Event::ProcessStarted { session, pid, started } => {
            if agent.session() == Some(*session) {
                agent.process = Some(ProcessRecord { pid: *pid, started: *started });
            }
        }
        Event::Ready { session } => ready(agent, *session, at),
        Event::ConversationNamed { conversation, .. } => {
            agent.conversation = Some(conversation.clone());
            agent.conversed = agent.meter;
        }
        Event::ConversationLost { .. } => agent.conversation = None,
        Event::TurnEnded { text, .. } => turn_ended(agent, text),
        Event::StopRequested { session, reason, by } => stop_requested(agent, *session, *reason, by, at),
        Event::SessionEnded { session, outcome, survivors } => {
            if agent.session() == Some(*session) {
                agent.survivor = agent.process.filter(|process| survivors.contains(&process.pid));
            }
            session_ended(agent, *session, outcome, at);
        }
        Event::Requeued { work } => requeued(agent, *work),
        Event::Waiting { until, reason } => {
            enter(agent, Phase::Waiting { until: *until, reason: *reason }, at)
        }
        Event::WaitOver => {
            if matches!(agent.phase, Phase::Waiting { .. }) {
                enter(agent, Phase::Idle, at);
            }
        }
        Event::PausePending { by } => agent.pause_pending = Some(by.clone()),
        Event::Paused { reason } => halt(agent, Phase::Paused { reason: reason.clone() }, at),
        Event::Resumed { .. } => resumed(agent, at),
        Event::AccountOpened { .. } => account_opened(agent, at),
        Event::Reset { .. } => reset(agent),
        Event::BreakerOpened { .. } => {
            agent.breaker = Breaker::Open;
            halt(agent, Phase::NeedsIntervention, at);
        }
        Event::BreakerClosed => {
            agent.breaker = Breaker::Closed;
            agent.failure_times.clear();
        }
        Event::Degraded { .. } => halt(agent, Phase::Degraded, at),
        Event::SupervisorPanicked { message } => supervisor_panicked(agent, message, at),
        // For the log alone; what follows from it is recorded by the events after it.
        Event::ClockRanOut { .. } | Event::PermissionDenied { .. } => {}
    }
}

fn enter(agent: &mut Agent, phase: Phase, at: Timestamp) {
    agent.phase = phase;
    agent.since = at;
}

/// A phase that only a person leaves; whoever wanted a pause has it.
fn halt(agent: &mut Agent, phase: Phase, at: Timestamp) {
    agent.pause_pending = None;
    enter(agent, phase, at);
}

fn added(agent: &mut Agent, spec: &AgentSpec, at: Timestamp) {
    if agent.phase == Phase::Removed {
        // The numbers of its sessions go on: they are in the markers of processes and in the history. So do its tasks,
        // whose numbers people know, and what it used: nobody gets past a cap by adding an agent anew.
        *agent = Agent {
            last_session: agent.last_session,
            finished: std::mem::take(&mut agent.finished),
            books: std::mem::take(&mut agent.books),
            waived: std::mem::take(&mut agent.waived),
            ..Agent::default()
        };
    }
    agent.spec = Some(spec.clone());
    agent.since = at;
}

fn edited(agent: &mut Agent, spec: &AgentSpec) {
    let elsewhere =
        agent.spec.as_ref().is_some_and(|old| old.runtime != spec.runtime || old.workspace != spec.workspace);
    if elsewhere {
        // A conversation belongs to its runtime and its folder.
        agent.conversation = None;
    }
    agent.spec = Some(spec.clone());
}

fn removed(agent: &mut Agent, at: Timestamp) {
    agent.process = None;
    halt(agent, Phase::Removed, at);
}

fn queued(agent: &mut Agent, work: &Work) {
    let known = agent.current.as_ref().is_some_and(|current| current.id == work.id)
        || agent.queue.iter().any(|queued| queued.id == work.id);
    if !known {
        agent.queue.push_back(work.clone());
    }
}

fn whispered(agent: &mut Agent, whisper: &Whisper) {
    if !agent.whispers.iter().any(|known| known.id == whisper.id) {
        agent.whispers.push_back(whisper.clone());
    }
}

fn cleared(agent: &mut Agent, works: &[WorkId]) {
    for work in works {
        take(agent, *work);
    }
}

/// Takes work out of the queue or the session, wherever it is, and forgets what was known of it.
fn take(agent: &mut Agent, id: WorkId) -> Option<Work> {
    if agent.unfinished.as_ref().is_some_and(|unfinished| unfinished.work == id) {
        agent.unfinished = None;
    }
    if agent.timed_out == Some(id) {
        agent.timed_out = None;
    }
    if agent.current.as_ref().is_some_and(|work| work.id == id) {
        return agent.current.take();
    }
    let index = agent.queue.iter().position(|work| work.id == id)?;
    agent.queue.remove(index)
}

fn steered(agent: &mut Agent, id: WorkId) {
    let Some(work) = take(agent, id) else { return };
    if let Some(unfinished) = &mut agent.unfinished {
        while unfinished.steered.len() >= STEERED_KEPT {
            unfinished.steered.pop_front();
        }
        unfinished.steered.push_back(bounded(&work.text, PROGRESS_MAX));
    }
}

fn task_ended(agent: &mut Agent, id: WorkId, end: TaskEnd, note: &str, at: Timestamp) {
    let Some(work) = take(agent, id) else { return };
    while agent.finished.len() >= FINISHED_MAX {
        agent.finished.pop_front();
    }
    agent.finished.push_back(FinishedTask { work, end, at, note: note.to_owned() });
}

fn session_started(agent: &mut Agent, session: SessionId, work: &Work, at: Timestamp) {
    agent.queue.retain(|queued| queued.id != work.id);
    agent.current = Some(work.clone());
    for whisper in &mut agent.whispers {
        whisper.prompted = Some(session);
    }
    let known = agent.unfinished.as_ref().is_some_and(|unfinished| unfinished.work == work.id);
    if !known {
        agent.unfinished = Some(Unfinished {
            work: work.id,
            tries: 0,
            progress: String::new(),
            steered: Default::default(),
            report: None,
        });
    }
    agent.process = None;
    agent.survivor = None;
    agent.stopped_by = None;
    agent.meter = Usage::default();
    agent.last_session = agent.last_session.max(session);
    agent.totals.sessions = agent.totals.sessions.saturating_add(1);
    enter(agent, Phase::Starting { session }, at);
}

fn ready(agent: &mut Agent, session: SessionId, at: Timestamp) {
    if agent.phase == (Phase::Starting { session }) {
        enter(agent, Phase::Running { session }, at);
    }
}

fn turn_ended(agent: &mut Agent, text: &str) {
    if let Some(unfinished) = agent.unfinished.as_mut().filter(|_| !text.trim().is_empty()) {
        unfinished.progress = both_ends(text, PROGRESS_MAX);
    }
}

fn stop_requested(
    agent: &mut Agent,
    session: SessionId,
    reason: StopReason,
    by: &Option<Actor>,
    at: Timestamp,
) {
    if agent.session() == Some(session) {
        agent.stopped_by.clone_from(by);
        enter(agent, Phase::Stopping { session, reason }, at);
    }
}

fn session_ended(agent: &mut Agent, session: SessionId, outcome: &Outcome, at: Timestamp) {
    if agent.session() != Some(session) {
        return;
    }
    agent.process = None;
    agent.stopped_by = None;
    count(agent, outcome, at);
    agent.totals.turns = agent.totals.turns.saturating_add(outcome.turns.into());
    spend(agent, outcome.usage, at);
    if let Some(unfinished) = &mut agent.unfinished {
        unfinished.tries = unfinished.tries.saturating_add(1);
        if let Some(text) = outcome.text.as_ref().filter(|text| !text.trim().is_empty()) {
            unfinished.progress = both_ends(text, PROGRESS_MAX);
        }
    }
    if outcome.category == Category::Success {
        // A task is over by its own event, which follows.
        let over = agent.current.as_ref().filter(|work| work.kind != WorkKind::Task).map(|work| work.id);
        if let Some(id) = over {
            take(agent, id);
        }
    }
    // The whole text is in the journal: what is told of it later is its beginning.
    let text = outcome.text.as_ref().map(|text| bounded(text, PROGRESS_MAX));
    agent.last_outcome = Some(Outcome { text, ..outcome.clone() });
    enter(agent, Phase::Idle, at);
}

/// Takes in what the session has used by now. Less than before is no reading of the same meter, and counts nothing.
fn spend(agent: &mut Agent, usage: Usage, at: Timestamp) {
    let usage = usage.sane();
    if usage.tokens() < agent.meter.tokens() || usage == agent.meter {
        return;
    }
    let account = agent.spec.as_ref().map(|spec| spec.account.clone()).unwrap_or_default();
    let step = usage.since(agent.meter);
    agent.meter = usage;
    agent.totals.usage.add(step);
    agent.conversed.add(step);
    agent.books.enter(&account, step, at);
    let provisional = PROVISIONAL.of(usage);
    if usage.cost_usd > 0.0 && usage.estimated_usd == 0.0 && provisional > 0.0 {
        agent.rate = Some((usage.cost_usd / provisional).clamp(0.01, 10.0));
    }
}

/// What a session's end does to the counters.
fn count(agent: &mut Agent, outcome: &Outcome, at: Timestamp) {
    match outcome.category {
        Category::Success => {
            agent.totals.successes = agent.totals.successes.saturating_add(1);
            clear_counters(agent);
        }
        Category::MaxTurns => clear_counters(agent),
        Category::RateLimit | Category::Quota => count_limit(agent, outcome, at),
        Category::Transient | Category::TaskTimeout => count_failure(agent, at),
        Category::Permanent | Category::ContextOverflow | Category::SandboxDenial | Category::Hung => {
            // The next session starts clean: what was refused or hung would only be resumed.
            agent.conversation = None;
            count_failure(agent, at);
        }
        Category::Crash => count_crash(agent, at),
        // Nobody's fault, the account's, or the runtime's own wish: no restart follows from them.
        Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::DoNotRestart
        | Category::Interrupted => {}
    }
    let same_again = agent.current.as_ref().filter(|_| outcome.category == Category::TaskTimeout);
    if let Some(work) = same_again {
        agent.timed_out = Some(work.id);
    }
}

fn clear_counters(agent: &mut Agent) {
    agent.failures = 0;
    agent.crashes = 0;
    agent.past_resets = 0;
}

fn count_failure(agent: &mut Agent, at: Timestamp) {
    agent.past_resets = 0;
    agent.failures = agent.failures.saturating_add(1);
    agent.totals.failures = agent.totals.failures.saturating_add(1);
    remember(&mut agent.failure_times, at);
}

fn count_crash(agent: &mut Agent, at: Timestamp) {
    agent.past_resets = 0;
    agent.crashes = agent.crashes.saturating_add(1);
    agent.totals.failures = agent.totals.failures.saturating_add(1);
    agent.totals.crashes = agent.totals.crashes.saturating_add(1);
    remember(&mut agent.failure_times, at);
    remember(&mut agent.crash_times, at);
}

/// Consecutive limits whose reset was already past that are believed; from the next one on the schedule is used.
pub(super) const PAST_RESETS_BELIEVED: u32 = 2;

fn count_limit(agent: &mut Agent, outcome: &Outcome, at: Timestamp) {
    match outcome.resets_at {
        Some(reset) if reset > at => agent.past_resets = 0,
        Some(_) => {
            let past = agent.past_resets.saturating_add(1);
            if past > PAST_RESETS_BELIEVED {
                count_failure(agent, at);
            }
            agent.past_resets = past;
        }
        None => count_failure(agent, at),
    }
}

fn requeued(agent: &mut Agent, id: WorkId) {
    if agent.current.as_ref().is_none_or(|work| work.id != id) {
        return;
    }
    let Some(mut work) = agent.current.take() else { return };
    if agent.last_outcome.as_ref().is_some_and(|outcome| failed(outcome.category)) {
        work.attempts = work.attempts.saturating_add(1);
    }
    agent.queue.push_front(work);
}

/// Whether a session that ended so has tried its work and failed.
fn failed(category: Category) -> bool {
    match category {
        Category::Transient
        | Category::RateLimit
        | Category::Quota
        | Category::Permanent
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::Crash
        | Category::DoNotRestart => true,
        Category::Success
        | Category::MaxTurns
        | Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::Interrupted => false,
    }
}

fn resumed(agent: &mut Agent, at: Timestamp) {
    agent.pause_pending = None;
    if agent.breaker == Breaker::Open {
        agent.breaker = Breaker::HalfOpen;
    }
    match agent.phase {
        Phase::Degraded => {
            agent.crash_times.clear();
            enter(agent, Phase::Idle, at);
        }
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Waiting { .. } => {
            enter(agent, Phase::Idle, at)
        }
        Phase::Stopping {
            session,
            reason: StopReason::Pause | StopReason::StopAll | StopReason::Account(_) | StopReason::Cap(_),
        } => {
            agent.phase = Phase::Stopping { session, reason: StopReason::Restart };
        }
        Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Removed => {}
    }
}

fn account_opened(agent: &mut Agent, at: Timestamp) {
    match agent.phase {
        Phase::Paused { reason: PauseReason::Account(_) } => enter(agent, Phase::Idle, at),
        Phase::Paused { reason: PauseReason::Failure(category) } if category.is_of_account() => {
            enter(agent, Phase::Idle, at);
        }
        Phase::Stopping { session, reason: StopReason::Account(_) } => {
            agent.phase = Phase::Stopping { session, reason: StopReason::Restart };
        }
        Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

fn reset(agent: &mut Agent) {
    clear_counters(agent);
    agent.failure_times.clear();
    agent.crash_times.clear();
    agent.conversation = None;
    agent.timed_out = None;
    if let Some(unfinished) = &mut agent.unfinished {
        // A clean session is told nothing of the one before, but for what people said meanwhile.
        unfinished.tries = 0;
        unfinished.progress.clear();
    }
    if let Phase::Stopping { session, reason: StopReason::Hung } = agent.phase {
        agent.phase = Phase::Stopping { session, reason: StopReason::Restart };
    }
}

fn supervisor_panicked(agent: &mut Agent, message: &str, at: Timestamp) {
    count_crash(agent, at);
    agent.last_outcome = Some(Outcome::new(Category::Interrupted, message));
}
