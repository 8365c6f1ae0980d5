//! Derives effects from events that are on disk and applied. It never runs in a replay.

use super::agent::{Agent, Phase};
use super::ask::{Asker, Told};
use super::checkout;
use super::context::context;
use super::effect::Effect;
use super::event::{Event, PauseReason, StopReason};
use super::id::{AccountName, AskId};
use super::outcome::{Category, Outcome, Usage};
use super::past::past;
use super::recap::recap;
use super::spec::Runtime;
use super::whisper::Whisper;
use super::work::{Work, WorkKind};

/// Returns the effects of one event, given the agent right after that event was applied.
#[must_use]
pub fn react(agent: &Agent, event: &Event) -> Vec<Effect> {
    let mut effects = followed(agent, event);
    effects.extend(checkout::owes(agent, event).map(|(act, plan, read)| Effect::Checkout {
        act,
        plan,
        read,
    }));
    effects
}

fn followed(agent: &Agent, event: &Event) -> Vec<Effect> {
    match event {
        Event::SessionStarted { session, work, .. } => {
            let recap = recap(agent, work);
            // The context of other work is of no use, but that of a whole task is of use for its parts.
            let stale = recap.is_none() && work.card().parent.is_none();
            let stale = stale.then_some(Effect::Keep { context: None });
            let spawn = Effect::Spawn {
                session: *session,
                work: work.clone(),
                conversation: agent.conversation.clone(),
                recap,
                past: past(&agent.exchanges),
                whispers: agent.whispers.iter().map(Whisper::words).collect(),
            };
            stale.into_iter().chain([spawn]).collect()
        }
        Event::Whispered { whisper } => hand_over(agent, whisper).into_iter().collect(),
        // Whispers and messages that arrived during the start are in no prompt.
        Event::Ready { session, late } => {
            let said = agent.queue.iter().filter(|work| late.contains(&work.id));
            let said = said.filter_map(|work| steer(agent, work));
            let whispered = agent.whispers.iter().filter(|whisper| whisper.prompted != Some(*session));
            said.chain(whispered.filter_map(|whisper| hand_over(agent, whisper))).collect()
        }
        Event::ProcessStarted { session, .. } if matches!(agent.phase, Phase::Starting { .. }) => {
            vec![Effect::Go { session: *session }]
        }
        Event::Queued { work } => steer(agent, work).into_iter().collect(),
        Event::StopRequested { session, .. } => vec![Effect::Stop { session: *session }],
        Event::Paused { reason: PauseReason::Failure(category) } if category.is_of_account() => {
            vec![Effect::BlockAccount { account: agent.session_account(), category: *category }]
        }
        Event::Edited { .. } => {
            waits_for_account(agent).then_some(Effect::LookAtAccount).into_iter().collect()
        }
        Event::PermissionDecided { session, key, allowed, .. } => {
            let told = if *allowed { Told::Yes } else { Told::No };
            vec![Effect::Answer { session: *session, key: *key, told }]
        }
        // The question may have been answered while no session waited.
        Event::AskedAgain { ask, .. }
        | Event::Answered { ask, .. }
        | Event::AskExpired { ask }
        | Event::AskDropped { ask } => answer(agent, *ask).into_iter().collect(),
        Event::Resumed { by } => {
            let open = |account| Effect::OpenAccount { account, by: by.clone() };
            [agent.account()].into_iter().chain(left_in_need(agent)).map(open).collect()
        }
        Event::EvaluationBegun { number, .. } => vec![Effect::Evaluate { number: *number }],
        Event::SplitBegun { number, .. } => vec![Effect::Split { number: *number }],
        Event::SplitEnded { usage, .. } | Event::Evaluated { usage, .. } if *usage != Usage::default() => {
            vec![Effect::Spent { account: agent.account() }]
        }
        Event::Removed { .. } => vec![Effect::Retire],
        // A model call costs tokens; a runtime's own message about a limit does not.
        Event::UsageRecorded { usage, .. } => {
            let spent = Effect::Spent { account: agent.session_account() };
            let proved = || Effect::Proved { account: agent.session_account() };
            [spent].into_iter().chain((usage.tokens() > 0).then(proved)).collect()
        }
        Event::SessionEnded { outcome, .. } => ended(agent, outcome),
        Event::ProcessStarted { .. }
        | Event::ProcessWarm { .. }
        | Event::Paused { .. }
        | Event::Added { .. }
        | Event::TaskTaken { .. }
        | Event::Checkout(_)
        | Event::TaskHandedBack { .. }
        | Event::BoardHeard { .. }
        | Event::Cleared { .. }
        | Event::Reworded { .. }
        | Event::Withdrawn { .. }
        | Event::Steered { .. }
        | Event::TaskEnded { .. }
        | Event::TaskReported { .. }
        | Event::PartsAwaited { .. }
        | Event::Parked { .. }
        | Event::PartsReported { .. }
        | Event::Discarded { .. }
        | Event::WhispersDelivered { .. }
        | Event::WhispersDropped { .. }
        | Event::ConversationNamed { .. }
        | Event::ConversationLost { .. }
        | Event::TurnEnded { .. }
        | Event::ClockRanOut { .. }
        | Event::PermissionDenied { .. }
        | Event::TurnObserved { .. }
        | Event::Evaluated { .. }
        | Event::SplitEnded { .. }
        | Event::DetectorStoodIn { .. }
        | Event::Escalated { .. }
        | Event::EscalationReminded { .. }
        | Event::EscalationAcked { .. }
        | Event::EscalationAnswered { .. }
        | Event::WhisperMarked { .. }
        | Event::Asked { .. }
        | Event::AskReminded { .. }
        | Event::CapNear { .. }
        | Event::CapWaived { .. }
        | Event::Spiked { .. }
        | Event::PriceUnknown { .. }
        | Event::RuleAdded { .. }
        | Event::RuleRemoved { .. }
        | Event::WorkspaceSeen { .. }
        | Event::Requeued { .. }
        | Event::Waiting { .. }
        | Event::WaitOver
        | Event::PausePending { .. }
        | Event::AccountOpened { .. }
        | Event::Reset { .. }
        | Event::BreakerOpened { .. }
        | Event::BreakerClosed
        | Event::ClockSet { .. }
        | Event::Degraded { .. }
        | Event::SupervisorPanicked { .. } => Vec::new(),
    }
}

/// Returns the orders that the open session may lack because herder ended after a decision and before its effects were
/// performed. The session takes each of them once, so that those it has already do no harm.
#[must_use]
pub fn owed(agent: &Agent) -> Vec<Effect> {
    let Some(session) = agent.session() else { return Vec::new() };
    let go = matches!(agent.phase, Phase::Starting { .. }) && agent.process.is_some();
    let stop = matches!(agent.phase, Phase::Stopping { .. });
    let answers = agent.settled.iter().filter_map(|settled| answer(agent, settled.ask.id));
    let messages = agent.queue.iter().filter_map(|work| steer(agent, work));
    let whispers = agent.whispers.iter().filter(|whisper| whisper.prompted != Some(session));
    go.then_some(Effect::Go { session })
        .into_iter()
        .chain(answers)
        .chain(messages)
        .chain(whispers.filter_map(|whisper| hand_over(agent, whisper)))
        .chain(stop.then_some(Effect::Stop { session }))
        .collect()
}

/// Returns true if the agent is paused for its account, and continues as soon as the account is open.
fn waits_for_account(agent: &Agent) -> bool {
    matches!(
        agent.phase,
        Phase::Paused { reason: PauseReason::Account(_) }
            | Phase::Stopping { reason: StopReason::Account(_), .. }
    )
}

/// Returns the account on which the agent's last session failed, if the agent has been moved to another one since:
/// people were told to fix that account and to resume this agent.
fn left_in_need(agent: &Agent) -> Option<AccountName> {
    let failed = agent.last_outcome.as_ref().is_some_and(|outcome| outcome.category.is_of_account());
    let left = agent.began_on.clone().filter(|began_on| *began_on != agent.account());
    left.filter(|_| failed && agent.session().is_none())
}

fn ended(agent: &Agent, outcome: &Outcome) -> Vec<Effect> {
    let mut effects = Vec::new();
    let account = || agent.session_account();
    match outcome.category {
        Category::Quota => {
            effects.push(Effect::Exhausted { account: account(), resets_at: outcome.resets_at })
        }
        Category::Success | Category::MaxTurns => effects.push(Effect::Proved { account: account() }),
        Category::Transient
        | Category::RateLimit
        | Category::Permanent
        | Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::Crash
        | Category::DoNotRestart
        | Category::Interrupted
        | Category::OutOfMemory => {}
    }
    if outcome.usage != Usage::default() {
        effects.push(Effect::Spent { account: account() });
    }
    let context = context(agent).filter(|_| outcome.category != Category::Success);
    // The context of the whole task stays for the parts that follow.
    let part = agent.current.as_ref().is_some_and(|work| work.card().parent.is_some());
    if context.is_some() || !part {
        effects.push(Effect::Keep { context });
    }
    effects
}

fn hand_over(agent: &Agent, whisper: &Whisper) -> Option<Effect> {
    let Phase::Running { session } = agent.phase else { return None };
    Some(Effect::Whisper { session, whisper: whisper.id, text: whisper.words() })
}

/// Returns the effect that gives an answer to the session that asked; `None` if that session does not wait any more, or
/// polls for the answer itself.
fn answer(agent: &Agent, id: AskId) -> Option<Effect> {
    let settled = agent.settled_ask(id).filter(|_| agent.open_ask(id).is_none())?;
    // A session that does not need the answer any more gets none.
    let Some(Asker { session, key: Some(key), .. }) = settled.ask.asker else { return None };
    let told = settled.end.told().filter(|_| agent.session() == Some(session))?;
    Some(Effect::Answer { session, key, told })
}

/// Returns true if a message that arrives now is written into the running turn.
#[must_use]
pub(super) fn steers(agent: &Agent, kind: WorkKind) -> bool {
    offered(agent, kind) && matches!(agent.phase, Phase::Running { .. })
}

/// Returns true if the runtime can take such work during a turn: only messages, and only with Claude and Codex.
#[must_use]
pub(super) fn offered(agent: &Agent, kind: WorkKind) -> bool {
    let can = agent.spec.as_ref().is_some_and(|spec| match spec.runtime {
        Runtime::Claude | Runtime::Codex => true,
        Runtime::Acp | Runtime::Command => false,
    });
    can && kind == WorkKind::Message
}

fn steer(agent: &Agent, work: &Work) -> Option<Effect> {
    let session = agent.session().filter(|_| steers(agent, work.kind) && agent.is_of_current(work))?;
    Some(Effect::Steer { session, work: work.id, text: work.text.clone() })
}
