//! Reports of a session's driver, and the consequences of a session's end.

use std::time::Duration;

use super::control::removed;
use super::{Draft, asks, checkout, recovery, report, review, spending, watch, whisper};
use crate::agent::{Agent, Breaker, Phase, ProcessRecord};
use crate::apply::counters::{PAST_RESETS_BELIEVED, STALLS_BELIEVED};
use crate::ask::Denial;
use crate::breaker;
use crate::cut::both_ends;
use crate::detail::{Detail, Own};
use crate::event::{Event, PauseReason, StopReason, WaitReason};
use crate::id::{SessionId, WorkId};
use crate::input::{Clock, Signal};
use crate::outcome::{Category, Outcome};
use crate::react::offered;
use crate::recap::{bounded, one_line};
use crate::restart::{process_backoff, session_backoff};
use crate::time::Timestamp;
use crate::usage::Window;
use crate::watch::Answer;
use crate::work::{Actor, TaskEnd, TaskReport, Work, WorkKind};

/// Maximum length of an outcome's reason and of the note on a finished task, in bytes: one line for people.
pub(super) const DETAIL_MAX: usize = 500;

/// Maximum length of the reason of a failure that matches no row of the runtime's classification table, in bytes. It is
/// shown whole, so that the table can be extended.
const UNKNOWN_MAX: usize = 4 * 1024;

/// Maximum length of the text of a turn and of a session's final text, in bytes. Drivers keep less; this bounds the
/// journal's entries.
const TEXT_MAX: usize = 320 * 1024;

/// Ends a session that was open when the supervisor started: its process is gone.
pub(super) fn started(draft: &mut Draft<'_>) {
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => {
            over(draft, session, &Outcome::new(Category::Interrupted, Own::Restarted), &[]);
        }
        Phase::Stopping { session, .. } => {
            over(draft, session, &Outcome::new(Category::Interrupted, ""), &[]);
        }
        Phase::Waiting { .. } => super::tick(draft),
        Phase::Idle => draft.begin(),
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded | Phase::Removed => {}
    }
    // This comes after the end of the session that asked, so that no session waits for them.
    asks::expire(draft);
}

/// Pauses the agent because processes of earlier sessions cannot be ended: no session starts beside them until a
/// person allows it.
pub(super) fn survivors_found(draft: &mut Draft<'_>) {
    match &draft.agent().phase {
        Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { reason: PauseReason::Failure(_) | PauseReason::Account(_) } => {
            draft.pause(PauseReason::Survivors);
        }
        // An open session ends by itself; the other phases end only by a person.
        Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Paused {
            reason:
                PauseReason::Person(_)
                | PauseReason::StopAll(_)
                | PauseReason::Survivors
                | PauseReason::Cap(_)
                | PauseReason::Escalation,
        }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

/// Handles a driver's report; one of an earlier session is ignored.
pub(super) fn signal(draft: &mut Draft<'_>, session: SessionId, signal: &Signal) {
    if draft.agent().session() != Some(session) {
        return;
    }
    match signal {
        Signal::Spawned { pid, started } => {
            // A driver whose conversation turned out to be gone starts a second process for the same session, after
            // the first one has ended.
            if draft.agent().process != Some(ProcessRecord { pid: *pid, started: *started }) {
                draft.record(Event::ProcessStarted { session, pid: *pid, started: *started });
            }
        }
        Signal::Workspace { seen } => {
            draft.record(Event::WorkspaceSeen { session, workspace: seen.clone().bounded() });
        }
        Signal::ConversationLost { why } => lost(draft, session, Own::ConversationGone.with(why.as_str())),
        Signal::Ready { conversation } => ready(draft, session, conversation.as_deref()),
        Signal::Steered { work } => {
            if whisper::steered(draft, session, *work) {
                // It was a whisper and is recorded.
            } else if draft.agent().queue.iter().any(|queued| queued.id == *work) {
                draft.record(Event::Steered { session, work: *work });
            }
        }
        Signal::Turn { text, tools } => {
            draft.record(Event::TurnEnded { session, text: both_ends(text, TEXT_MAX), tools: tools.clone() });
        }
        Signal::Observed { turn } => watch::observed(draft, session, turn),
        Signal::ClockRanOut { clock, evidence } => {
            let evidence = Detail::from(evidence.clone()).bounded(DETAIL_MAX);
            draft.record(Event::ClockRanOut { session, clock: *clock, evidence });
        }
        Signal::Asked { key, tool, command, redacted, shell, vague } => {
            let redacted = redacted.as_deref();
            let wish = asks::Wish { key: *key, tool, command, redacted, shell: *shell, vague: *vague };
            asks::permission(draft, session, &wish);
        }
        Signal::Inquired { key, inquiry, part } => asks::inquired(draft, (session, *key), inquiry, *part),
        Signal::Usage { reading } => spending::read(draft, session, reading),
        Signal::AskWithdrawn { key } => asks::withdrawn(draft, session, *key),
        Signal::Ended { outcome, survivors } => over(draft, session, outcome, survivors),
    }
}

/// Ends the session; a report of an earlier session is ignored.
pub(super) fn ended(draft: &mut Draft<'_>, session: SessionId, outcome: &Outcome, survivors: &[u32]) {
    if draft.agent().session() == Some(session) {
        over(draft, session, outcome, survivors);
    }
}

fn ready(draft: &mut Draft<'_>, session: SessionId, conversation: Option<&str>) {
    if matches!(draft.agent().phase, Phase::Starting { .. }) {
        let agent = draft.agent();
        let arrived = |work: &&Work| offered(agent, work.kind) && work.at >= agent.since;
        let late = agent.queue.iter().filter(arrived).map(|work| work.id).collect();
        draft.record(Event::Ready { session, late });
        whisper::prompted(draft, session);
    }
    // A session that is being stopped may have been asked to forget its conversation.
    let stopping = matches!(draft.agent().phase, Phase::Stopping { .. });
    let stale = stopping || draft.agent().forgotten == Some(session);
    match (draft.agent().conversation.as_deref(), conversation) {
        (known, Some(name)) if known != Some(name) && !stale => {
            draft.record(Event::ConversationNamed { session, conversation: name.to_owned() });
        }
        (Some(_), None) => lost(draft, session, Own::ConversationGone.into()),
        (Some(_) | None, Some(_)) | (None, None) => {}
    }
}

/// Records that the agent's conversation cannot be resumed, and why. The next one starts with the last exchanges.
fn lost(draft: &mut Draft<'_>, session: SessionId, why: Detail) {
    if draft.agent().conversation.is_some() {
        draft.record(Event::ConversationLost { session, why: why.bounded(DETAIL_MAX) });
    }
}

/// Stops a session whose driver sends no heartbeat; its work is tried again in a new process.
pub(super) fn driver_silent(draft: &mut Draft<'_>, session: SessionId, silent: Duration) {
    match draft.agent().phase {
        Phase::Starting { session: current } | Phase::Running { session: current } if current == session => {
            let evidence = Own::NoHeartbeat { silent }.into();
            draft.record(Event::ClockRanOut { session, clock: Clock::Heartbeat, evidence });
            draft.record(Event::StopRequested { session, reason: StopReason::Hung, by: None });
        }
        Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

/// Records that the agent's supervisor panicked and was rebuilt, which ends its session and counts as a process crash.
pub(super) fn panicked(draft: &mut Draft<'_>, message: &str) {
    if draft.agent().spec.is_none() || draft.agent().phase == Phase::Removed {
        return;
    }
    let message = bounded(&one_line(message), DETAIL_MAX);
    let stop = Stop::of(draft.agent());
    if let Some(session) = draft.agent().session() {
        let outcome = Outcome::new(Category::Interrupted, Own::SupervisorPanicked);
        draft.record(Event::SessionEnded { session, outcome: Box::new(outcome), survivors: Vec::new() });
        settle_work(draft, &stop, Category::Interrupted);
    }
    draft.record(Event::SupervisorPanicked { message });
    let halted = matches!(draft.agent().phase, Phase::NeedsIntervention | Phase::Degraded);
    // A pause that ends by itself (the account's) must not replace a halt that only a person may end.
    if stop.reason != Some(StopReason::Remove) && !halted && trips(draft, true) {
        return;
    }
    if stop_follows(draft, &stop) {
        return;
    }
    match draft.agent().phase {
        Phase::Idle => {
            if !draft.agent().queue.is_empty() || draft.round().is_some() {
                crash_back_off(draft);
            }
        }
        Phase::Waiting { until, .. } => {
            let wait = process_backoff(draft.context.policy, draft.agent().crashes);
            if until < draft.context.now.after(wait) {
                crash_back_off(draft);
            }
        }
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded | Phase::Removed => {}
        Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => {
            unreachable!("the session was just recorded as ended")
        }
    }
}

/// The requested stop or pause that was under way when the session ended; it decides what follows.
struct Stop {
    reason: Option<StopReason>,
    by: Actor,
    pause: Option<Actor>,
    of_all: bool,
}

impl Stop {
    fn of(agent: &Agent) -> Self {
        let reason = match agent.phase {
            Phase::Stopping { reason, .. } => Some(reason),
            Phase::Idle
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Waiting { .. }
            | Phase::Paused { .. }
            | Phase::NeedsIntervention
            | Phase::Degraded
            | Phase::Removed => None,
        };
        let by = agent.stopped_by.clone().unwrap_or_else(Actor::herder);
        Self { reason, by, pause: agent.pause_pending.clone(), of_all: agent.pause_of_all }
    }
}

/// Ends a session: its work is settled first, then the next step is decided.
fn over(draft: &mut Draft<'_>, session: SessionId, outcome: &Outcome, survivors: &[u32]) {
    let stop = Stop::of(draft.agent());
    let mut outcome = recorded(outcome, stop.reason);
    let undisturbed = stop.reason.is_none() && stop.pause.is_none() && survivors.is_empty();
    if outcome.category == Category::Success && undisturbed {
        recovery::named(draft.agent(), &mut outcome);
    }
    outcome.usage = spending::settled(draft, outcome.usage);
    let category = outcome.category;
    let resets_at = outcome.resets_at;
    let refused = match category {
        Category::ContextOverflow => Some(Own::ConversationFull.into()),
        _ if outcome.history_refused => Some(Own::HistoryRefused.with(outcome.detail.said.clone())),
        _ => None,
    };
    let timed_out_again = category == Category::TaskTimeout
        && draft.agent().timed_out.is_some()
        && draft.agent().timed_out == draft.agent().current.as_ref().map(|work| work.id);
    let starved_again = category == Category::OutOfMemory
        && draft.agent().starved.is_some()
        && draft.agent().starved == draft.agent().current.as_ref().map(|work| work.id);
    draft.record(Event::SessionEnded { session, outcome: Box::new(outcome), survivors: survivors.to_vec() });
    if let Some(why) = refused {
        lost(draft, session, why);
    }
    let settled = settle_work(draft, &stop, category);
    if category == Category::Success && draft.agent().breaker == Breaker::HalfOpen {
        draft.record(Event::BreakerClosed);
    }
    if stop.reason != Some(StopReason::Remove) && !survivors.is_empty() {
        report_account_failure(draft, category);
        return draft.pause(PauseReason::Survivors);
    }
    // A failure that counts can open the breaker, which takes precedence over a pause.
    if counts(draft.agent(), category) && stop.reason != Some(StopReason::Remove) {
        if trips(draft, category == Category::Crash) {
            return;
        }
    } else {
        report_account_failure_unless_stopped(draft, category, &stop);
    }
    if stop_follows(draft, &stop) || spending::follows(draft, category) {
        return;
    }
    match settled {
        // The cause concerned this task alone.
        Settled::ByItsWord if category.is_of_work() => draft.proceed(),
        Settled::ByItsWord | Settled::ByHowItEnded => {
            follow(draft, category, resets_at, timed_out_again || starved_again);
        }
    }
}

/// Returns the outcome as it is recorded: texts are bounded; it is `Interrupted` or `Hung` if herder ended the session.
fn recorded(outcome: &Outcome, reason: Option<StopReason>) -> Outcome {
    let mut outcome = outcome.clone();
    let finished = matches!(outcome.category, Category::Success | Category::MaxTurns);
    match reason {
        Some(StopReason::Hung) if !finished => {
            outcome.category = Category::Hung;
            if outcome.detail.is_empty() {
                outcome.detail = Own::NoSignOfLife.into();
            }
        }
        Some(_) if !finished => outcome.category = Category::Interrupted,
        Some(_) | None => {}
    }
    outcome.detail = outcome.detail.bounded(if outcome.unknown { UNKNOWN_MAX } else { DETAIL_MAX });
    outcome.text = outcome.text.map(|text| both_ends(&text, TEXT_MAX));
    outcome
}

/// The authority that decided how the work of a session ended.
enum Settled {
    /// The agent decided, by its own report on its task.
    ByItsWord,
    /// The way in which the session ended decided, or a person.
    ByHowItEnded,
}

/// Settles the session's work: it is done, given up by a person, or back at the head of the queue.
fn settle_work(draft: &mut Draft<'_>, stop: &Stop, category: Category) -> Settled {
    let Some(work) = draft.agent().current.clone() else { return Settled::ByHowItEnded };
    // The agent's own report ends its task, however its process ended; a person's stop takes precedence.
    let given_up = matches!(stop.reason, Some(StopReason::Abort | StopReason::Cancel));
    let said = draft.agent().unfinished.as_ref().filter(|unfinished| unfinished.work == work.id && !given_up);
    // A sandbox denial is more specific than a blocked task, unless a person denied it.
    let kept = said.is_some_and(|unfinished| unfinished.denied == Some(Denial::Kept));
    let denied = category == Category::SandboxDenial && !kept;
    let report = said.and_then(|unfinished| unfinished.report.as_deref().cloned());
    if let Some(TaskReport { end, note, .. }) =
        report.filter(|report| !denied || report.end != TaskEnd::Blocked)
    {
        let note = note.into();
        if end != TaskEnd::Done || !checkout::claimed(draft, &work, &note) {
            draft.record(Event::TaskEnded { work: work.id, end, note });
        }
        return Settled::ByItsWord;
    }
    if !given_up && report::parks(draft, &work, category) {
        return Settled::ByItsWord;
    }
    match stop.reason {
        // Work that a person gave up is not checked.
        _ if category == Category::Success && !(given_up && draft.agent().is_checked(&work)) => {
            let note = draft.agent().last_outcome.as_ref().and_then(|outcome| outcome.text.clone());
            let note = Detail::from(note.unwrap_or_default()).bounded(DETAIL_MAX);
            if !checkout::claimed(draft, &work, &note) {
                draft.record(Event::TaskEnded { work: work.id, end: TaskEnd::Done, note });
            }
        }
        Some(StopReason::Abort) => discard(draft, &work, &stop.by),
        Some(StopReason::Cancel) => cancel(draft, work.id, &stop.by),
        Some(
            StopReason::Pause
            | StopReason::Restart
            | StopReason::Configured
            | StopReason::StopAll
            | StopReason::Remove
            | StopReason::Account(_)
            | StopReason::Cap(_)
            | StopReason::Escalation
            | StopReason::Hung,
        )
        | None => draft.record(Event::Requeued { work: work.id }),
    }
    Settled::ByHowItEnded
}

/// Gives up the work of a session that is being aborted or cancelled, before the session has ended, because another
/// stop replaces that one.
pub(super) fn give_up_stopped_work(draft: &mut Draft<'_>) {
    let stop = Stop::of(draft.agent());
    let gives_up = matches!(stop.reason, Some(StopReason::Abort | StopReason::Cancel));
    if let Some(work) = draft.agent().current.clone().filter(|_| gives_up) {
        discard(draft, &work, &stop.by);
    }
}

/// Ends work that a person gave up; a task is kept among the finished ones.
pub(super) fn discard(draft: &mut Draft<'_>, work: &Work, by: &Actor) {
    match work.kind {
        WorkKind::Task => cancel(draft, work.id, by),
        WorkKind::Message | WorkKind::Round => {
            draft.record(Event::Discarded { work: work.id, by: by.clone() });
            watch::left(draft, work.id, Answer::Abort, by);
        }
    }
}

pub(super) fn cancel(draft: &mut Draft<'_>, work: WorkId, by: &Actor) {
    let at_hand = draft.agent().has_at_hand(work);
    let note = Detail::from(Own::By { name: by.name.clone() }).bounded(DETAIL_MAX);
    draft.record(Event::TaskEnded { work, end: TaskEnd::Cancelled, note });
    review::spare(draft, work);
    if at_hand {
        watch::left(draft, work, Answer::Abort, by);
    }
}

/// Returns true if the outcome counts as a failure for the breaker. Call it after the outcome was recorded.
fn counts(agent: &Agent, category: Category) -> bool {
    match category {
        Category::Transient
        | Category::Permanent
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::OutOfMemory
        | Category::Crash => true,
        Category::RateLimit => limit_counts(agent),
        Category::MaxTurns => agent.stalls > STALLS_BELIEVED,
        Category::Success
        | Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::Quota
        | Category::DoNotRestart
        | Category::Interrupted => false,
    }
}

/// Returns true if a rate limit counts as a failure: no reset was named, or too many in a row were past already.
fn limit_counts(agent: &Agent) -> bool {
    let named = agent.last_outcome.as_ref().and_then(|outcome| outcome.resets_at);
    named.is_none() || agent.past_resets > PAST_RESETS_BELIEVED
}

/// Opens the breaker or degrades the agent if the failure just recorded was one too many; the breaker takes
/// precedence.
fn trips(draft: &mut Draft<'_>, crash: bool) -> bool {
    let (policy, now) = (draft.context.policy, draft.context.now);
    if let Some(failures) = breaker::opens(draft.agent(), policy, now) {
        let trial = draft.agent().breaker == Breaker::HalfOpen;
        draft.record(Event::BreakerOpened { failures, trial });
        return true;
    }
    match breaker::degrades(draft.agent(), policy, now).filter(|_| crash) {
        Some(crashes) => {
            draft.record(Event::Degraded { crashes });
            true
        }
        None => false,
    }
}

/// Pauses the agent if its account failed (billing, login or budget), which closes the account for all its agents.
fn report_account_failure(draft: &mut Draft<'_>, category: Category) {
    if category.is_of_account() {
        draft.pause(PauseReason::Failure(category));
    }
}

fn report_account_failure_unless_stopped(draft: &mut Draft<'_>, category: Category, stop: &Stop) {
    if stop.pause.is_some() {
        report_account_failure(draft, category);
    }
}

/// Applies a stop or a pending pause; returns `false` if there is none and the outcome decides.
fn stop_follows(draft: &mut Draft<'_>, stop: &Stop) -> bool {
    if stop.reason == Some(StopReason::Remove) {
        let _ = removed(draft, &stop.by);
        return true;
    }
    if let Some(by) = &stop.pause {
        let by = by.clone();
        draft.pause(if stop.of_all { PauseReason::StopAll(by) } else { PauseReason::Person(by) });
        return true;
    }
    match stop.reason {
        Some(StopReason::Pause) => {
            draft.pause(PauseReason::Person(stop.by.clone()));
            true
        }
        Some(StopReason::StopAll) => {
            draft.pause(PauseReason::StopAll(stop.by.clone()));
            true
        }
        Some(StopReason::Account(category)) => {
            draft.pause(PauseReason::Account(category));
            true
        }
        Some(StopReason::Escalation) => {
            draft.pause(PauseReason::Escalation);
            true
        }
        // The final usage may be lower than the estimate.
        Some(StopReason::Cap(cap))
            if cap.window == Window::Session || draft.agent().capped(draft.context.now).is_some() =>
        {
            draft.pause(PauseReason::Cap(cap));
            true
        }
        Some(
            StopReason::Abort
            | StopReason::Cap(_)
            | StopReason::Restart
            | StopReason::Configured
            | StopReason::Cancel
            | StopReason::Remove
            | StopReason::Hung,
        )
        | None => false,
    }
}

/// Decides the next step by the outcome's category: next work, another try after a wait, a pause, or a call.
fn follow(draft: &mut Draft<'_>, category: Category, resets_at: Option<Timestamp>, again: bool) {
    match category {
        Category::Success | Category::Interrupted => draft.proceed(),
        Category::MaxTurns => draft.begin(),
        // It was tried twice, the second time with a more focused prompt.
        Category::TaskTimeout if again => watch::gave_up(draft, category, Own::TimeLimit.into()),
        Category::OutOfMemory if again => {
            let detail = draft.agent().last_outcome.as_ref().map(|outcome| outcome.detail.clone());
            watch::gave_up(draft, category, detail.unwrap_or_default());
        }
        // Another try would fail as well until a person has looked at the workspace.
        Category::Permanent if of_workspace(draft.agent()) => {
            let detail = draft.agent().last_outcome.as_ref().map(|outcome| outcome.detail.clone());
            watch::gave_up(draft, category, detail.unwrap_or_default());
        }
        Category::ContextOverflow => recovery::overflowed(draft),
        Category::SandboxDenial => recovery::denied(draft),
        Category::Transient
        | Category::Permanent
        | Category::Hung
        | Category::TaskTimeout
        | Category::OutOfMemory => {
            back_off(draft, category);
        }
        Category::RateLimit => limited(draft, resets_at),
        // It waits, idle: the account's gate is closed.
        Category::Quota => {}
        Category::Billing | Category::Auth | Category::Budget | Category::DoNotRestart => {
            draft.pause(PauseReason::Failure(category));
        }
        Category::Crash => crash_back_off(draft),
    }
}

/// Lets the agent wait before it tries the same work again, the longer the more failures there were in a row.
pub(super) fn back_off(draft: &mut Draft<'_>, category: Category) {
    let wait = session_backoff(draft.context.policy, draft.agent().failures);
    draft.back_off(wait, WaitReason::Backoff(category));
}

/// Returns true if the session could not start because its workspace cannot be used.
fn of_workspace(agent: &Agent) -> bool {
    let own = agent.last_outcome.as_ref().and_then(|outcome| outcome.detail.own.as_ref());
    own.is_some_and(Own::is_of_workspace)
}

fn limited(draft: &mut Draft<'_>, resets_at: Option<Timestamp>) {
    let now = draft.context.now;
    match resets_at {
        // The reset is exact to the second, so no jitter is added.
        Some(until) if until > now => draft.record(Event::Waiting { until, reason: WaitReason::RateLimit }),
        Some(_) if !limit_counts(draft.agent()) => {
            draft.record(Event::Waiting { until: now, reason: WaitReason::RateLimit });
            draft.record(Event::WaitOver);
            draft.begin();
        }
        Some(_) | None => {
            let wait = session_backoff(draft.context.policy, draft.agent().failures);
            draft.back_off(wait, WaitReason::RateLimit);
        }
    }
}

fn crash_back_off(draft: &mut Draft<'_>) {
    let wait = process_backoff(draft.context.policy, draft.agent().crashes);
    draft.back_off(wait, WaitReason::Backoff(Category::Crash));
}
