//! The only writer of an agent's state. It is total: it accepts every event in every state, so that every journal can
//! be replayed, also one written by another version.

mod asks;
mod board;
mod checkouts;
pub(super) mod counters;
mod lead;
mod split;
mod watch;

use std::collections::VecDeque;
use std::sync::Arc;

use super::agent::{Agent, Breaker, FINISHED_MAX, Phase, ProcessRecord, Unfinished, Warm};
use super::ask::{AskEnd, Asker};
use super::card::Attempt;
use super::context::{DONE_KEPT, brief};
use super::cut::both_ends;
use super::detail::Detail;
use super::event::{Event, PauseReason, StopReason};
use super::id::{SessionId, WorkId};
use super::outcome::{Category, Outcome, Usage};
use super::past;
use super::recap::{PROGRESS_MAX, bounded};
use super::spec::{AgentSpec, Runtime};
use super::time::Timestamp;
use super::usage::{Waived, Warned};
use super::watch::{Open, Told};
use super::whisper::{Tone, Whisper};
use super::work::{Actor, FinishedTask, TaskEnd, Work, WorkKind};

/// Maximum number of steered messages kept for a recap.
const STEERED_KEPT: usize = 50;

/// Applies one event that was recorded at `at`.
pub fn apply(agent: &mut Agent, event: &Event, at: Timestamp) {
    match event {
        Event::Added { spec, .. } => added(agent, spec, at),
        Event::Edited { spec, .. } => edited(agent, spec),
        Event::Removed { by } => removed(agent, by, at),
        Event::Queued { work } => queued(agent, work),
        Event::TaskTaken { number, work } => board::taken(agent, *number, work, at),
        Event::TaskHandedBack { work, onward, by } => board::handed_back(agent, *work, onward, by),
        Event::SplitBegun { work, number, until } => split::begun(agent, *work, *number, *until),
        Event::SplitEnded { number, usage, unmetered, .. } => {
            agent.watch.count_unmetered(*unmetered);
            split::ended(agent, *number, *usage, at);
        }
        Event::BoardHeard { up_to } => agent.board.heard(*up_to),
        Event::Checkout(event) => checkouts::apply(agent, event, at),
        Event::Cleared { works, .. } => cleared(agent, works),
        Event::Steered { work, .. } => steered(agent, *work, at),
        Event::TaskEnded { work, end, note } => task_ended(agent, *work, *end, note, at),
        Event::Whispered { whisper } => whispered(agent, whisper),
        Event::WhispersDelivered { whispers, .. } => delivered(agent, whispers, at),
        Event::WhispersDropped { whispers, .. } => {
            agent.whispers.retain(|waiting| !whispers.contains(&waiting.id));
        }
        Event::TaskReported { work, report, .. } => {
            if let Some(unfinished) = agent.unfinished.as_mut().filter(|unfinished| unfinished.work == *work)
            {
                unfinished.report = Some(Box::new(report.clone()));
            }
            agent.board.wait_no_more(*work);
        }
        Event::PartsAwaited { session, work, parts } => lead::awaited(agent, *session, *work, parts),
        Event::Parked { session, work, parts } => lead::parked(agent, *session, *work, parts),
        Event::PartsReported { session, work, results } => lead::told(agent, *session, *work, results),
        Event::Reworded { work, text, .. } => {
            if let Some(queued) = agent.queue.iter_mut().find(|queued| queued.id == *work) {
                queued.text.clone_from(text);
            }
        }
        Event::UsageRecorded { session, usage, turn } => {
            if agent.session() == Some(*session) {
                counters::spend(agent, *usage, at);
                if !turn.is_none() {
                    agent.turn = turn.sane();
                }
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
                // A process that had stayed is this one, or is gone.
                agent.warm = None;
            }
        }
        Event::ProcessWarm { session, process, until } => {
            let until = *until;
            agent.warm = process.map(|process| Box::new(Warm { process, session: *session, until }));
        }
        Event::Ready { session, .. } => ready(agent, *session, at),
        Event::WorkspaceSeen { workspace, .. } => agent.workspace = Some(workspace.clone()),
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
                // A process that stayed before was not taken up, and is gone.
                agent.warm.take_if(|warm| warm.session != *session);
            }
            session_ended(agent, *session, outcome, at);
        }
        Event::Requeued { work } => requeued(agent, *work, at),
        Event::Waiting { until, reason } => {
            enter(agent, Phase::Waiting { until: *until, reason: *reason }, at)
        }
        Event::WaitOver => {
            if matches!(agent.phase, Phase::Waiting { .. }) {
                enter(agent, Phase::Idle, at);
            }
        }
        Event::PausePending { by, all } => {
            agent.pause_pending = Some(by.clone());
            agent.pause_of_all = *all;
        }
        Event::TurnObserved { turn, keep } => agent.watch.see(Arc::clone(turn), *keep),
        Event::EvaluationBegun { number, finding } => {
            let untold = agent.is_untold();
            agent.watch.begin(Open { number: *number, finding: finding.clone(), untold });
        }
        Event::Evaluated { number, judgement, usage, unmetered } => {
            agent.watch.count_unmetered(*unmetered);
            watch::evaluated(agent, *number, judgement, *usage, at);
        }
        Event::DetectorStoodIn { .. } => watch::stood_in(agent),
        Event::Escalated { escalation } => watch::escalated(agent, escalation),
        Event::EscalationReminded { id, next } => watch::reminded(agent, *id, *next),
        Event::EscalationAcked { id, by } => watch::acked(agent, *id, by),
        Event::EscalationAnswered { id, answer, by } => watch::answered(agent, *id, *answer, by, at),
        Event::WhisperMarked { id, mark, .. } => agent.watch.mark(*id, *mark),
        Event::ClockSet { by } => agent.clock_set(*by),
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
        Event::Asked { ask } => asks::asked(agent, ask),
        Event::AskedAgain { ask, session, key, call } => {
            asks::asked_again(agent, *ask, Asker { session: *session, key: *key, call: *call });
        }
        Event::Answered { ask, answer, by } => {
            let end = AskEnd::Answered { answer: answer.clone(), by: by.clone() };
            asks::over(agent, *ask, end, at);
        }
        Event::PermissionDecided { session, allowed, by, .. } => {
            asks::decided(agent, *session, *allowed, *by);
        }
        Event::AskReminded { ask, next } => asks::reminded(agent, *ask, *next),
        Event::AskExpired { ask } => asks::over(agent, *ask, AskEnd::Expired, at),
        Event::AskDropped { ask } => asks::over(agent, *ask, AskEnd::Dropped, at),
        Event::RuleAdded { rule } => asks::rule_added(agent, rule),
        Event::RuleRemoved { rule, .. } => agent.rules.retain(|known| known.id != *rule),
        // These are in the log only; their consequences are recorded by the events after them.
        Event::ClockRanOut { .. } | Event::PermissionDenied { .. } => {}
    }
}

fn enter(agent: &mut Agent, phase: Phase, at: Timestamp) {
    agent.phase = phase;
    agent.since = at;
}

/// Enters a phase that only a person ends. A pending pause is thereby fulfilled, and evaluation starts afresh.
fn halt(agent: &mut Agent, phase: Phase, at: Timestamp) {
    agent.warm = None;
    agent.watch.start_afresh();
    agent.pause_pending = None;
    agent.pause_of_all = false;
    enter(agent, phase, at);
}

fn added(agent: &mut Agent, spec: &AgentSpec, at: Timestamp) {
    if agent.phase == Phase::Removed {
        // An agent added again keeps its session numbers, which are in process markers and in the history, its
        // finished tasks, and its usage, so that nobody gets past a cap by adding it again. An answer to an evaluation
        // of before must not match one of now.
        *agent = Agent {
            last_session: agent.last_session,
            finished: std::mem::take(&mut agent.finished),
            books: std::mem::take(&mut agent.books),
            waived: std::mem::take(&mut agent.waived),
            watch: agent.watch.added_again(),
            // Numbers agreed with the board must not be used twice.
            board: std::mem::take(&mut agent.board),
            checkouts: std::mem::take(&mut agent.checkouts),
            ..Agent::default()
        };
    }
    agent.spec = Some(spec.clone());
    agent.since = at;
}

fn edited(agent: &mut Agent, spec: &AgentSpec) {
    if let Some(old) = agent.spec.as_ref().filter(|old| !spec.goes_on_with(old)) {
        if old.runtime != spec.runtime || old.workspace != spec.workspace {
            agent.workspace = None;
            agent.exchanges.clear();
        }
        agent.conversation = None;
        agent.forget_conversations();
        // A conversation id that the running session still reports must be ignored.
        agent.forgotten = agent.session();
    }
    if agent.spec.as_ref().is_some_and(|old| old.account != spec.account) {
        // The limit was that of the old account.
        agent.exhausted = None;
        // So was the failure that paused the agent.
        let failed =
            matches!(agent.phase, Phase::Paused { reason: PauseReason::Failure(why) } if why.is_of_account());
        if (agent.session().is_some() || failed) && agent.began_on.is_none() {
            agent.began_on = Some(agent.account());
        }
    }
    let runs_on = |old: &AgentSpec| {
        spec.runs_as(old)
            && (spec.keep_warm, &spec.account, spec.share, spec.leads)
                == (old.keep_warm, &old.account, old.share, old.leads)
    };
    if !agent.spec.as_ref().is_some_and(runs_on) {
        agent.warm = None;
    }
    agent.spec = Some(spec.clone());
}

fn removed(agent: &mut Agent, by: &Actor, at: Timestamp) {
    agent.process = None;
    agent.stopped_by = Some(by.clone());
    halt(agent, Phase::Removed, at);
}

fn queued(agent: &mut Agent, work: &Work) {
    let known = agent.current.as_ref().is_some_and(|current| current.id == work.id)
        || agent.queue.iter().any(|queued| queued.id == work.id);
    if !known {
        board::enqueue(agent, work.clone());
    }
}

fn whispered(agent: &mut Agent, whisper: &Whisper) {
    if agent.whispers.iter().any(|known| known.id == whisper.id) {
        return;
    }
    agent.whispers.push_back(whisper.clone());
    if whisper.tone != Tone::Person {
        let Whisper { id, at, text, .. } = whisper.clone();
        agent.watch.tell(Told { id, at, text, heard: None, followed: None, mark: None });
    }
}

fn delivered(agent: &mut Agent, whispers: &[WorkId], at: Timestamp) {
    agent.watch.heard(whispers, at);
    let (got, waiting): (VecDeque<Whisper>, VecDeque<Whisper>) =
        std::mem::take(&mut agent.whispers).into_iter().partition(|whisper| whispers.contains(&whisper.id));
    agent.whispers = waiting;
    for whisper in got.iter().filter(|whisper| whisper.tone == Tone::Person) {
        watch::said(agent, &whisper.text, at);
    }
    if let Some(unfinished) = &mut agent.unfinished {
        unfinished.whispered.extend(got);
        while unfinished.whispered.len() > STEERED_KEPT {
            unfinished.whispered.pop_front();
        }
    }
}

fn cleared(agent: &mut Agent, works: &[WorkId]) {
    for work in works {
        take(agent, *work);
    }
}

/// Removes the work `id` from the agent, queued, current or in review, with the state that was kept about it; `None` if
/// the agent does not have it.
fn take(agent: &mut Agent, id: WorkId) -> Option<Work> {
    agent.note_gone(id);
    if agent.unfinished.as_ref().is_some_and(|unfinished| unfinished.work == id) {
        agent.unfinished = None;
    }
    if agent.timed_out == Some(id) {
        agent.timed_out = None;
    }
    if agent.starved == Some(id) {
        agent.starved = None;
    }
    agent.splitting.take_if(|split| split.work == id);
    if agent.current.as_ref().is_some_and(|work| work.id == id) {
        return agent.current.take();
    }
    match agent.queue.iter().position(|work| work.id == id) {
        Some(index) => agent.queue.remove(index),
        None => lead::take(agent, id).or_else(|| agent.checkouts.take_reviewed(id)),
    }
}

fn steered(agent: &mut Agent, id: WorkId, at: Timestamp) {
    let Some(work) = take(agent, id) else { return };
    watch::said(agent, &work.text, at);
    if let Some(current) =
        agent.current.as_mut().filter(|current| current.card().thread != work.card().thread)
    {
        // The agent answers whoever spoke last.
        current.card_mut().thread = work.card().thread.clone();
    }
    if let Some(unfinished) = &mut agent.unfinished {
        while unfinished.steered.len() >= STEERED_KEPT {
            unfinished.steered.pop_front();
        }
        unfinished.steered.push_back(bounded(&work.text, PROGRESS_MAX));
    }
}

fn task_ended(agent: &mut Agent, id: WorkId, end: TaskEnd, note: &Detail, at: Timestamp) {
    let proof = agent.checkouts.all.get(&id).map(|checkout| Box::new(checkout.proof()));
    let said = agent.unfinished.as_ref().filter(|said| said.work == id && end == TaskEnd::Done);
    let opinion = said.and_then(|said| said.report.as_ref()?.opinion.clone());
    let Some(work) = take(agent, id) else { return };
    agent.board.leads.remove(&id);
    board::part_over(agent, &work, end, note);
    board::review_over(agent, &work, opinion);
    agent.note_end(id, end);
    while agent.finished.len() >= FINISHED_MAX {
        agent.finished.pop_front();
    }
    agent.finished.push_back(FinishedTask { work, end, at, note: note.clone(), proof });
}

/// Returns the id by which turns are grouped for the evaluator: that of their work, or `None` for all rounds of a loop.
pub(super) fn subject(work: &Work) -> Option<WorkId> {
    (work.kind != WorkKind::Round).then_some(work.id)
}

fn session_started(agent: &mut Agent, session: SessionId, work: &Work, at: Timestamp) {
    // Other work is evaluated by itself; the rounds of a loop count as the same work.
    if agent.watch.window.back().is_some_and(|turn| turn.work != subject(work)) {
        agent.watch.start_afresh();
    }
    agent.queue.retain(|queued| queued.id != work.id);
    agent.splitting.take_if(|split| split.work == work.id);
    agent.current = Some(work.clone());
    agent.take_seat(work);
    for whisper in &mut agent.whispers {
        whisper.prompted = Some(session);
    }
    let known = agent.unfinished.as_ref().is_some_and(|unfinished| unfinished.work == work.id);
    if !known {
        agent.unfinished = Some(Unfinished {
            work: work.id,
            tries: 0,
            progress: String::new(),
            done: Default::default(),
            steered: Default::default(),
            whispered: Default::default(),
            report: None,
            denied: None,
        });
    }
    if let Some(unfinished) = &mut agent.unfinished {
        // The report of the session before took effect, and this session's denials are not known yet.
        (unfinished.report, unfinished.denied) = (None, None);
    }
    agent.process = None;
    agent.survivor = None;
    agent.stopped_by = None;
    agent.began_on = None;
    (agent.meter, agent.turn) = (Usage::default(), Usage::default());
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
    asks::session_ended(agent, session);
    if agent.session() != Some(session) {
        return;
    }
    agent.process = None;
    agent.note_unread();
    agent.stopped_by = None;
    counters::count(agent, outcome, at);
    let failed = counters::failed(outcome.category) || outcome.category.is_of_account();
    agent.strip.enter(at, outcome.duration, failed);
    agent.totals.turns = agent.totals.turns.saturating_add(outcome.turns.into());
    counters::spend(agent, outcome.usage, at);
    let (meter, current) = (agent.meter, agent.current.as_mut());
    if let Some(task) = current.filter(|work| work.kind == WorkKind::Task && !meter.is_none()) {
        task.card_mut().spent.add(meter);
    }
    if outcome.turns == 1 {
        // The session's only turn used all of it.
        agent.turn = agent.meter;
    }
    if let Some(unfinished) = &mut agent.unfinished {
        unfinished.tries = unfinished.tries.saturating_add(1);
        let turns = agent.watch.window.iter().filter(|turn| turn.session == session);
        unfinished.done.extend(turns.filter_map(|turn| brief(turn)));
        while unfinished.done.len() > DONE_KEPT {
            unfinished.done.pop_front();
        }
        if let Some(text) = outcome.text.as_ref().filter(|text| !text.trim().is_empty()) {
            unfinished.progress = both_ends(text, PROGRESS_MAX);
        }
    }
    if outcome.category == Category::Success {
        // A task is ended by its own event, which follows; a message that is checked stays until then.
        exchanged(agent, outcome);
        lead::succeeded(agent);
        let over =
            agent.current.as_ref().filter(|work| work.kind != WorkKind::Task && !agent.is_checked(work));
        let over = over.map(|work| work.id);
        if let Some(id) = over {
            take(agent, id);
        }
    }
    // The whole text is in the journal; the state keeps its beginning.
    let text = outcome.text.as_ref().map(|text| bounded(text, PROGRESS_MAX));
    agent.last_outcome = Some(Outcome { text, ..outcome.clone() });
    enter(agent, Phase::Idle, at);
}

/// Keeps the text of the current work and of the session's answer as an exchange, for a conversation that has to start
/// from scratch. Rounds of a loop are left out: no person wrote their prompts.
fn exchanged(agent: &mut Agent, outcome: &Outcome) {
    let converses = agent.spec.as_ref().is_some_and(|spec| spec.runtime != Runtime::Command);
    let Some(work) = agent.current.as_ref().filter(|work| converses && work.kind != WorkKind::Round) else {
        return;
    };
    past::remember(&mut agent.exchanges, &work.text, outcome.text.as_deref().unwrap_or_default());
}

fn requeued(agent: &mut Agent, id: WorkId, at: Timestamp) {
    if agent.current.as_ref().is_none_or(|work| work.id != id) {
        return;
    }
    let Some(mut work) = agent.current.take() else { return };
    if let Some(outcome) = agent.last_outcome.as_ref().filter(|outcome| counters::failed(outcome.category)) {
        work.attempts = work.attempts.saturating_add(1);
        if let Some(name) = agent.name().cloned().filter(|_| work.kind == WorkKind::Task) {
            let (session, category, detail) = (agent.last_session, outcome.category, outcome.detail.clone());
            work.card_mut().tried(Attempt { agent: name, session, category, detail, at });
        }
    }
    agent.queue.push_front(work);
}

fn resumed(agent: &mut Agent, at: Timestamp) {
    agent.pause_pending = None;
    agent.pause_of_all = false;
    agent.watch.start_afresh();
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
            reason:
                StopReason::Pause
                | StopReason::StopAll
                | StopReason::Account(_)
                | StopReason::Cap(_)
                | StopReason::Escalation,
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
    counters::clear_counters(agent);
    agent.failure_times.clear();
    agent.crash_times.clear();
    agent.conversation = None;
    agent.exchanges.clear();
    agent.timed_out = None;
    agent.starved = None;
    agent.watch.start_afresh();
    // The whole task is tried once more.
    agent.splitting = None;
    if let Some(unfinished) = &mut agent.unfinished {
        // A clean session is told nothing of the one before, except people's whispers.
        unfinished.tries = 0;
        unfinished.whispered.retain(|whisper| whisper.tone == Tone::Person);
        unfinished.progress.clear();
        unfinished.done.clear();
    }
    if let Phase::Stopping { session, reason: StopReason::Hung } = agent.phase {
        agent.phase = Phase::Stopping { session, reason: StopReason::Restart };
    }
}

fn supervisor_panicked(agent: &mut Agent, message: &str, at: Timestamp) {
    agent.warm = None;
    counters::count_crash(agent, at);
    agent.last_outcome = Some(Outcome::new(Category::Interrupted, message));
}
