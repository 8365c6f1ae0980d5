//! Commands of people to an agent. Every accepted command is answered; a refusal stores nothing.

use super::session::discard;
use super::{Draft, asks, board, checkout, queue, recovery, review, spending, watch, whisper};
use crate::agent::{Agent, Breaker, Phase};
use crate::cut;
use crate::detail::Detail;
use crate::event::{Event, PauseReason, StopReason, WaitReason};
use crate::handoff::{self, Places, Since};
use crate::id::{AgentName, SessionId, WorkId};
use crate::input::{Button, Control};
use crate::notice::{Halt, Notice, Refusal};
use crate::promotion::Hold;
use crate::spec::AgentSpec;
use crate::time::Timestamp;
use crate::watch::Answer;
use crate::work::{Actor, TaskEnd, Work, WorkKind};

/// Maximum length of the excerpt of a work's text in an answer or a status post, in bytes: more than is shown, because
/// the text is redacted before it is cut for display.
pub(crate) const EXCERPT_MAX: usize = 1024;

pub(super) fn control(draft: &mut Draft<'_>, by: &Actor, control: &Control) -> Result<Notice, Refusal> {
    let name = draft.name()?;
    match draft.agent().phase {
        Phase::Removed => return Err(Refusal::Removed { agent: name }),
        Phase::Stopping { reason: StopReason::Remove, .. } => {
            return match control {
                // `stop-all` is fulfilled already by the removal.
                Control::Stop => Ok(Notice::Stopping { agent: name, reason: StopReason::Remove }),
                Control::Pause { .. }
                | Control::HandOff { .. }
                | Control::Resume
                | Control::LetOn
                | Control::Abort
                | Control::AbortAnyway { .. }
                | Control::Press { .. }
                | Control::Restart
                | Control::Give { .. }
                | Control::Begin { .. }
                | Control::OpenTask(_)
                | Control::DropCheckout(_)
                | Control::Accept(_)
                | Control::Reject { .. }
                | Control::Reword { .. }
                | Control::Withdraw(_)
                | Control::Whisper { .. }
                | Control::Ack(_)
                | Control::Mark { .. }
                | Control::CancelTask(_)
                | Control::HandBack { .. }
                | Control::Clear
                | Control::Answer { .. }
                | Control::RemoveRule(_)
                | Control::Edit { .. }
                | Control::Configure(_)
                | Control::Remove => Err(Refusal::Removed { agent: name }),
            };
        }
        Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded => {}
    }
    match control {
        Control::Pause { now } => pause(draft, name, by, *now),
        Control::HandOff { now, places } => hand_off(draft, name, by, *now, places),
        Control::Resume => resume(draft, name, by),
        Control::LetOn if draft.agent().is_stopped_with_all() => resume(draft, name, by),
        Control::LetOn => Err(Refusal::NotPaused { agent: name }),
        Control::Abort => abort(draft, name, by, None),
        Control::AbortAnyway { call } => abort(draft, name, by, Some(*call)),
        Control::Press { at, button } => press(draft, name, by, *at, *button),
        Control::Restart => restart(draft, name, by),
        Control::Stop => Ok(stop(draft, name, by)),
        Control::Give { id, kind, text, card } => {
            let new = queue::New { id: *id, kind: *kind, text, card: card.clone() };
            queue::give(draft, name, by, new)
        }
        Control::Begin { id, text, card } => {
            let new = queue::New { id: *id, kind: WorkKind::Task, text, card: card.clone() };
            checkout::begin(draft, name, by, new)
        }
        Control::OpenTask(task) => checkout::open(draft, name, by, *task),
        Control::DropCheckout(task) => checkout::remove(draft, name, by, *task),
        Control::Accept(task) => review::accept(draft, name, by, *task),
        Control::Reject { task, why } => review::reject(draft, name, by, *task, why),
        Control::Reword { id, text } => queue::reword(draft, name, by, *id, text),
        Control::Withdraw(id) => queue::withdraw(draft, name, by, *id),
        Control::Whisper { id, text } => whisper::whisper(draft, name, by, *id, text),
        Control::Ack(id) => watch::ack(draft, name, by, *id),
        Control::Mark { id, mark } => watch::mark(draft, name, by, *id, *mark),
        Control::CancelTask(task) => queue::cancel_task(draft, name, by, *task),
        Control::HandBack { task, onward } => board::hand_back(draft, name, by, *task, onward),
        Control::Clear => queue::clear(draft, name, by),
        Control::Answer { ask, answer } => asks::answer(draft, name, by, *ask, answer),
        Control::RemoveRule(rule) => asks::remove_rule(draft, name, by, *rule),
        Control::Edit { base: Some(base), .. } if draft.agent().spec.as_ref() != Some(&**base) => {
            Err(Refusal::EditedMeanwhile { agent: name })
        }
        Control::Edit { spec, .. } => edit(draft, name, by, spec),
        Control::Configure(spec) => configure(draft, name, by, spec),
        Control::Remove => Ok(remove(draft, name, by)),
    }
}

/// Records a person's request to stop the session, which starts the stop ladder.
pub(super) fn request_stop(draft: &mut Draft<'_>, session: SessionId, reason: StopReason, by: &Actor) {
    draft.record(Event::StopRequested { session, reason, by: Some(by.clone()) });
}

fn pause(draft: &mut Draft<'_>, agent: AgentName, by: &Actor, now: bool) -> Result<Notice, Refusal> {
    match &draft.agent().phase {
        Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { reason: PauseReason::Account(_) | PauseReason::StopAll(_) } => {
            draft.pause(PauseReason::Person(by.clone()));
            Ok(Notice::Paused { agent })
        }
        &(Phase::Starting { session } | Phase::Running { session }) if now => {
            request_stop(draft, session, StopReason::Pause, by);
            Ok(Notice::Stopping { agent, reason: StopReason::Pause })
        }
        Phase::Stopping { reason: StopReason::Pause | StopReason::StopAll, .. } if now => {
            Err(Refusal::AlreadyStopping { agent })
        }
        Phase::Stopping { reason: StopReason::Pause | StopReason::StopAll, .. } => {
            Err(Refusal::AlreadyPaused { agent, why: None })
        }
        Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => {
            if draft.agent().pause_pending.is_some() && !draft.agent().pause_of_all {
                return Err(Refusal::AlreadyPaused { agent, why: None });
            }
            draft.record(Event::PausePending { by: by.clone(), all: false });
            Ok(Notice::Pausing { agent })
        }
        Phase::Paused { reason: PauseReason::Person(_) } | Phase::Removed => {
            Err(Refusal::AlreadyPaused { agent, why: None })
        }
        Phase::Paused { reason } => {
            let why = Some(Halt::Paused(reason.clone()));
            Err(Refusal::AlreadyPaused { agent, why })
        }
        Phase::NeedsIntervention => Err(Refusal::AlreadyPaused { agent, why: Some(Halt::NeedsIntervention) }),
        Phase::Degraded => Err(Refusal::AlreadyPaused { agent, why: Some(Halt::Degraded) }),
    }
}

/// Pauses the agent so that a person can take its conversation up in a terminal, where no session of herder's may be in
/// the same conversation.
fn hand_off(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    now: bool,
    places: &Places,
) -> Result<Notice, Refusal> {
    let (conversation, line) = handoff::of(draft.agent(), &agent, places)?;
    let since = match &draft.agent().phase {
        Phase::Paused { reason } if opens_by_itself(reason) => {
            // Somebody else's command would start the agent beside the person's terminal.
            draft.pause(PauseReason::Person(by.clone()));
            Since::Now
        }
        Phase::Paused { reason: PauseReason::StopAll(_) | PauseReason::Survivors } => {
            pause(draft, agent.clone(), by, now)?;
            Since::Now
        }
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded => Since::Before,
        Phase::Idle | Phase::Waiting { .. } => {
            pause(draft, agent.clone(), by, now)?;
            Since::Now
        }
        Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } | Phase::Removed => {
            match pause(draft, agent.clone(), by, now) {
                Ok(Notice::Stopping { .. }) | Err(Refusal::AlreadyStopping { .. }) => Since::Stopping,
                Ok(_) => Since::Pausing,
                Err(Refusal::AlreadyPaused { why: None, .. }) => {
                    let stopping = matches!(draft.agent().phase, Phase::Stopping { .. });
                    if stopping { Since::Stopping } else { Since::Pausing }
                }
                Err(refusal) => return Err(refusal),
            }
        }
    };
    Ok(Notice::HandedOff { agent, conversation, line, since })
}

/// Returns true if the agent is in a halt that `resume` can end, or about to enter one.
fn halted(draft: &Draft<'_>) -> bool {
    match &draft.agent().phase {
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded => true,
        Phase::Stopping {
            reason:
                StopReason::Pause
                | StopReason::StopAll
                | StopReason::Account(_)
                | StopReason::Cap(_)
                | StopReason::Escalation,
            ..
        } => true,
        Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => {
            draft.agent().pause_pending.is_some()
        }
        Phase::Idle | Phase::Waiting { .. } | Phase::Removed => false,
    }
}

fn resume(draft: &mut Draft<'_>, agent: AgentName, by: &Actor) -> Result<Notice, Refusal> {
    let waiting = matches!(draft.agent().phase, Phase::Waiting { .. });
    // A person may let it try even though its account is closed.
    let closed =
        draft.agent().phase == Phase::Idle && matches!(draft.context.hold, Some(Hold::Closed { .. }));
    if !waiting && !closed && !halted(draft) {
        // If another person answered the call meanwhile, the refusal says so.
        return Err(watch::late(draft, &agent).unwrap_or(Refusal::NotPaused { agent }));
    }
    watch::answer(draft, Answer::Resume, by);
    draft.record(Event::Resumed { by: by.clone() });
    spending::waive(draft, by);
    let trial = draft.agent().breaker == Breaker::HalfOpen;
    draft.begin();
    Ok(Notice::Resuming { agent, trial })
}

/// Handles a button below a post. A press is refused if the post's call was answered meanwhile, because it no longer
/// describes the agent's state.
fn press(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    at: Timestamp,
    button: Button,
) -> Result<Notice, Refusal> {
    let closed = matches!(draft.context.hold, Some(Hold::Closed { .. }));
    if !draft.agent().calls_for_somebody(at, closed) {
        return Err(watch::late(draft, &agent).unwrap_or(Refusal::NoEscalation { agent }));
    }
    match button {
        Button::Resume => resume(draft, agent, by),
        // Only a halted agent's work is given up.
        Button::Abort => {
            abort(draft, agent, by, draft.agent().watch.answered.as_ref().map(|last| last.escalation.id))
        }
    }
}

/// Handles `abort`: gives up the current work. `knows`: the answered call for a person of which this person has been
/// told already.
fn abort(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    knows: Option<WorkId>,
) -> Result<Notice, Refusal> {
    let stops =
        matches!(draft.agent().phase, Phase::Stopping { reason: StopReason::Abort | StopReason::Cancel, .. });
    let at_hand = draft.agent().current.is_some() || draft.agent().held().is_some();
    if at_hand
        && !stops
        && let Some(late) = watch::late_abort(draft, &agent, by, knows)
    {
        return Err(late);
    }
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => {
            request_stop(draft, session, StopReason::Abort, by);
            Ok(Notice::Stopping { agent, reason: StopReason::Abort })
        }
        Phase::Stopping { reason: StopReason::Abort | StopReason::Cancel, .. } => {
            Err(Refusal::AlreadyStopping { agent })
        }
        // The session ends for another reason; only its work is given up.
        Phase::Stopping { .. } => {
            let Some(work) = draft.agent().current.clone() else {
                return answer_alone(draft, &agent, by).ok_or(Refusal::AlreadyStopping { agent });
            };
            discard(draft, &work, by);
            answer_for_good(draft, Answer::Abort, by);
            Ok(Notice::Aborted { agent, work: excerpt(&work.text) })
        }
        Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded => {
            let Some(work) = draft.agent().held().cloned() else {
                // The work that a call was about may be given up already.
                return answer_alone(draft, &agent, by)
                    .ok_or_else(|| watch::late(draft, &agent).unwrap_or(Refusal::NothingRunning { agent }));
            };
            discard(draft, &work, by);
            answer_for_good(draft, Answer::Abort, by);
            skip_back_off(draft);
            Ok(Notice::Aborted { agent, work: excerpt(&work.text) })
        }
        Phase::Removed => Err(Refusal::NothingRunning { agent }),
    }
}

/// Answers a call for a person whose work leaves the agent, and lets the agent continue with its next work.
pub(super) fn answer_for_good(draft: &mut Draft<'_>, answer: Answer, by: &Actor) {
    if draft.agent().watch.escalation.is_none() {
        return;
    }
    watch::answer(draft, answer, by);
    let waits_for_it = matches!(
        draft.agent().phase,
        Phase::Paused { reason: PauseReason::Escalation }
            | Phase::Stopping { reason: StopReason::Escalation, .. }
    );
    // A pause requested meanwhile takes effect.
    if waits_for_it && draft.agent().pause_pending.is_none() {
        draft.record(Event::Resumed { by: by.clone() });
        draft.begin();
    }
}

/// Answers a call for a person by `abort` if there is no work to give up: a loop between two rounds, or a task that
/// ended meanwhile. `None` if no call is open.
fn answer_alone(draft: &mut Draft<'_>, agent: &AgentName, by: &Actor) -> Option<Notice> {
    let id = draft.agent().watch.escalation.as_ref()?.id;
    answer_for_good(draft, Answer::Abort, by);
    Some(Notice::EscalationAnswered { agent: agent.clone(), id, answer: Answer::Abort, by: by.name.clone() })
}

/// Ends a countdown (backoff or split) for work that is given up. The countdown for a rate limit stays.
pub(super) fn skip_back_off(draft: &mut Draft<'_>) {
    let waits_for_it = matches!(
        draft.agent().phase,
        Phase::Waiting { reason: WaitReason::Backoff(_) | WaitReason::Split, .. }
    );
    if waits_for_it {
        draft.record(Event::WaitOver);
        draft.proceed();
    }
}

fn restart(draft: &mut Draft<'_>, agent: AgentName, by: &Actor) -> Result<Notice, Refusal> {
    let already = matches!(draft.agent().phase, Phase::Stopping { reason: StopReason::Restart, .. });
    if !already {
        watch::answer(draft, Answer::Resume, by);
        spending::waive(draft, by);
    }
    let reset = Event::Reset { by: by.clone() };
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => {
            request_stop(draft, session, StopReason::Restart, by);
            draft.record(reset);
            if halted(draft) {
                draft.record(Event::Resumed { by: by.clone() });
            }
        }
        Phase::Stopping { reason: StopReason::Restart, .. } if !halted(draft) => {
            return Err(Refusal::AlreadyStopping { agent });
        }
        Phase::Stopping { .. } => {
            draft.record(reset);
            if halted(draft) {
                draft.record(Event::Resumed { by: by.clone() });
            }
        }
        Phase::Waiting { .. } => {
            draft.record(reset);
            draft.record(Event::WaitOver);
            draft.begin();
        }
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded => {
            draft.record(reset);
            draft.record(Event::Resumed { by: by.clone() });
            draft.begin();
        }
        Phase::Idle => {
            draft.record(reset);
            draft.begin();
        }
        Phase::Removed => return Err(Refusal::Removed { agent }),
    }
    Ok(Notice::Restarting { agent })
}

/// Applies `stop-all` to one agent. It is never refused, because afterwards the agent must not run for any reason.
fn stop(draft: &mut Draft<'_>, agent: AgentName, by: &Actor) -> Notice {
    review::stopped(draft, by);
    match &draft.agent().phase {
        &(Phase::Starting { session } | Phase::Running { session }) => {
            request_stop(draft, session, StopReason::StopAll, by);
            Notice::Stopping { agent, reason: StopReason::StopAll }
        }
        Phase::Stopping { reason, .. } => {
            let follows_anyway =
                matches!(reason, StopReason::Pause | StopReason::StopAll | StopReason::Remove);
            if !follows_anyway && draft.agent().pause_pending.is_none() {
                draft.record(Event::PausePending { by: by.clone(), all: true });
            }
            Notice::Stopping { agent, reason: StopReason::StopAll }
        }
        Phase::Idle | Phase::Waiting { .. } => {
            draft.pause(PauseReason::StopAll(by.clone()));
            Notice::Paused { agent }
        }
        Phase::Paused { reason } => {
            // A `resume` of another agent must not start this one after `stop-all`.
            if opens_by_itself(reason) {
                // It was halted before, so `resume-all` does not apply to it.
                draft.pause(PauseReason::Person(by.clone()));
            }
            Notice::Paused { agent }
        }
        Phase::NeedsIntervention | Phase::Degraded | Phase::Removed => Notice::Paused { agent },
    }
}

/// Returns true if something else than a `resume` of the agent itself can end the pause.
fn opens_by_itself(reason: &PauseReason) -> bool {
    match reason {
        // The answer to a call may let the agent continue with other work.
        PauseReason::Account(_) | PauseReason::Escalation => true,
        PauseReason::Failure(category) => category.is_of_account(),
        PauseReason::Person(_) | PauseReason::StopAll(_) | PauseReason::Survivors | PauseReason::Cap(_) => {
            false
        }
    }
}

fn edit(draft: &mut Draft<'_>, agent: AgentName, by: &Actor, spec: &AgentSpec) -> Result<Notice, Refusal> {
    if spec.name != agent {
        return Err(Refusal::NameKept { agent, name: spec.name.clone() });
    }
    let known = draft.agent().conversation.is_some();
    let anew = known && draft.agent().spec.as_ref().is_some_and(|old| !spec.goes_on_with(old));
    draft.record(Event::Edited { spec: Box::new(spec.clone()), by: by.clone() });
    // The agent may be a looping one from now on.
    draft.begin();
    Ok(Notice::AgentEdited { agent, anew })
}

/// Applies an agent's changed entry in the configuration file: like an edit, but it also restarts a session whose
/// command line or environment is now outdated.
fn configure(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    spec: &AgentSpec,
) -> Result<Notice, Refusal> {
    let outdated = draft.agent().spec.as_ref().is_some_and(|old| !old.runs_as(spec));
    let running = match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => Some(session),
        Phase::Idle
        | Phase::Stopping { .. }
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => None,
    };
    let answer = edit(draft, agent.clone(), by, spec)?;
    let Some(session) = running.filter(|_| outdated) else { return Ok(answer) };
    request_stop(draft, session, StopReason::Configured, by);
    Ok(Notice::Stopping { agent, reason: StopReason::Configured })
}

fn remove(draft: &mut Draft<'_>, agent: AgentName, by: &Actor) -> Notice {
    match draft.agent().session() {
        Some(session) => {
            if let Some((work, by)) = being_given_up(draft.agent()) {
                discard(draft, &work, &by);
            }
            request_stop(draft, session, StopReason::Remove, by);
            Notice::Stopping { agent, reason: StopReason::Remove }
        }
        None => Notice::AgentRemoved { agent, works: removed(draft, by) },
    }
}

/// Returns the work that a person has given up and whose session is being stopped for that, with the person. No other
/// agent may get it.
fn being_given_up(agent: &Agent) -> Option<(Work, Actor)> {
    match agent.phase {
        Phase::Stopping { reason: StopReason::Abort | StopReason::Cancel, .. } => {
            Some((agent.current.clone()?, agent.stopped_by.clone().unwrap_or_else(Actor::herder)))
        }
        Phase::Stopping { .. }
        | Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => None,
    }
}

/// Removes the agent: its tasks from the board go back there, and its other unfinished work is given up, each on
/// record. Returns the number of works given up.
pub(super) fn removed(draft: &mut Draft<'_>, by: &Actor) -> u32 {
    watch::answer(draft, Answer::Remove, by);
    drop(recovery::given_up(draft));
    board::left(draft, by);
    let count = draft.agent().works();
    draft.record(Event::Removed { by: by.clone() });
    watch::given_up(draft);
    let works: Vec<Work> = draft.agent().all_works().cloned().collect();
    let (tasks, others): (Vec<Work>, Vec<Work>) =
        works.into_iter().partition(|work| work.kind == WorkKind::Task);
    if !others.is_empty() {
        let works = others.iter().map(|work| work.id).collect();
        draft.record(Event::Cleared { works, by: by.clone() });
    }
    for task in tasks {
        draft.record(Event::TaskEnded { work: task.id, end: TaskEnd::Cancelled, note: Detail::default() });
    }
    count
}

/// Returns the beginning of a work's text on one line, for an answer.
pub(crate) fn excerpt(text: &str) -> String {
    cut::excerpt(text, EXCERPT_MAX)
}
