//! Posts that an event causes, as typed notices.
//!
//! A command's effect is posted in the agent's channel on every network, because each of them mirrors the same agent.
//! The notice is the same value as the reply, so that one of them can be left out where both would be posted.

mod checkout;

use super::Context;
use super::agent::{Agent, Breaker, Phase};
use super::ask::{About, Ask, DecidedBy};
use super::breaker;
use super::dealings::Onward;
use super::decide::{answered, excerpt};
use super::detail::{Detail, Own};
use super::event::{Event, PauseReason, StopReason, WaitReason};
use super::id::{AgentName, WorkId};
use super::notice::{Audience, Notice};
use super::outcome::{Category, Outcome};
use super::restart::process_backoff;
use super::spec::Relay;
use super::time::Timestamp;
use super::usage::{self, Cap, Window};
use super::verdict::Lapse;
use super::watch::{Escalation, Judgement, LAPSES_SAID_AT};
use super::whisper::{Tone, Whisper};
use super::work::{Actor, TaskEnd, Work, WorkKind};

/// A post that an event causes, for an audience.
#[derive(Debug, Clone, PartialEq)]
pub struct Owed {
    /// The kind of channel that gets the post.
    pub audience: Audience,
    /// Content of the post.
    pub body: OwedBody,
}

/// Content of a post.
#[derive(Debug, Clone, PartialEq)]
pub enum OwedBody {
    /// A notice, which herder words itself.
    Notice(Notice),
    /// The agent's own words.
    Words(String),
}

/// Returns the posts of one event, given the agent right after that event was applied.
#[must_use]
pub fn posts(agent: &Agent, event: &Event, context: &Context<'_>) -> Vec<Owed> {
    let Some(name) = agent.name().cloned() else { return Vec::new() };
    match event {
        Event::SessionStarted { work, .. } => session_started(agent, name, work),
        Event::WorkspaceSeen { workspace, .. } if workspace.is_dirty() => {
            said(Notice::WorkspaceSeen { agent: name, workspace: workspace.clone() })
        }
        Event::Checkout(event) => checkout::posts(agent, name, event),
        Event::ConversationLost { why, .. } if !why.is_empty() => {
            said(Notice::ConversationLost { agent: name, why: why.clone() })
        }
        Event::ClockRanOut { clock, evidence, .. } => {
            said(Notice::ClockRanOut { agent: name, clock: *clock, evidence: evidence.clone() })
        }
        Event::StopRequested { reason, by: Some(_), .. } if *reason != StopReason::Restart => {
            said(Notice::Stopping { agent: name, reason: *reason })
        }
        Event::PermissionDenied { what, .. } => {
            said(Notice::PermissionDenied { agent: name, what: what.clone() })
        }
        Event::CapNear { cap, limit, used, percent, .. } => {
            let notice =
                Notice::CapNear { agent: name, cap: *cap, limit: *limit, used: *used, percent: *percent };
            // The warning at half of the cap is for people who follow the agent; a higher one is an alert.
            if *percent > 50 { alerted(notice) } else { said(notice) }
        }
        Event::CapWaived { cap, limit, .. } => {
            said(Notice::CapWaived { agent: name, cap: *cap, limit: *limit })
        }
        Event::Spiked { unit, used, usual, .. } => {
            alerted(Notice::Spiked { agent: name, unit: *unit, used: *used, usual: *usual })
        }
        Event::PriceUnknown { model, assumed } => {
            said(Notice::PriceUnknown { agent: name, model: model.clone(), assumed: *assumed })
        }
        Event::Asked { ask } => {
            let plan = match &ask.about {
                About::Plan { text } => Some(text.clone()),
                About::Permission { .. } | About::Question { .. } => None,
            };
            let plan = plan.map(|text| Owed { audience: Audience::Agent, body: OwedBody::Words(text) });
            plan.into_iter().chain(said(asked(name, ask))).collect()
        }
        Event::AskReminded { ask, .. } => {
            let open = agent.open_ask(*ask).map(|ask| still_open(name, ask, context.now));
            open.map(alerted).unwrap_or_default()
        }
        Event::Answered { ask, answer, by } => said(answered(name, *ask, answer, by)),
        Event::AskExpired { ask } => {
            let question = agent.settled_ask(*ask).is_some_and(|settled| settled.ask.about.is_question());
            said(Notice::AskExpired { agent: name, ask: *ask, question })
        }
        Event::PermissionDecided { by: DecidedBy::TooMany, command, .. } => {
            said(Notice::PermissionDenied { agent: name, what: excerpt(command) })
        }
        Event::Evaluated { judgement, .. } => lapsed(agent, name, judgement, context),
        Event::Whispered { whisper } => spiraling(agent, name, whisper),
        Event::Escalated { escalation } => alerted(call(name, escalation)),
        Event::EscalationReminded { id, .. } => {
            let standing = agent.watch.escalation.iter().filter(|call| call.id == *id);
            standing.flat_map(|standing| alerted(call(name.clone(), standing))).collect()
        }
        Event::EscalationAcked { id, by } => {
            alerted(Notice::EscalationAcked { agent: name, id: *id, by: by.name.clone() })
        }
        Event::EscalationAnswered { id, answer, by } => vec![to(
            Audience::Alerts,
            Notice::EscalationAnswered { agent: name, id: *id, answer: *answer, by: by.name.clone() },
        )],
        Event::SessionEnded { outcome, survivors, .. } => session_ended(agent, name, outcome, survivors),
        Event::Requeued { work } => requeued(agent, *work),
        // The post about the removal states the number of tasks for people.
        Event::TaskEnded { work, .. } if agent.phase == Phase::Removed => {
            vec![work_line(format!("TASK {work} cancelled"))]
        }
        Event::TaskEnded { work, end, note } => task_ended(name, *work, *end, note),
        Event::Parked { work, parts, .. } => {
            let parts: Vec<String> = parts.iter().map(WorkId::to_string).collect();
            vec![work_line(format!("TASK {work} waits {}", parts.join(" ")))]
        }
        Event::PartsReported { work, .. } => vec![work_line(format!("TASK {work} resumed"))],
        Event::Waiting { until, reason } => waiting(agent, name, *until, *reason, context),
        Event::PausePending { .. } => said(Notice::Pausing { agent: name }),
        Event::Paused { reason: PauseReason::Cap(cap) } => capped(agent, name, *cap, context.now),
        Event::Paused { reason } => paused(agent, name, reason),
        Event::Resumed { .. } | Event::AccountOpened { .. } => {
            said(Notice::Resuming { agent: name, trial: agent.breaker == Breaker::HalfOpen })
        }
        Event::Reset { .. } => said(Notice::Restarting { agent: name }),
        Event::BreakerOpened { failures, trial } => {
            let window = context.policy.breaker.window;
            let (failures, trial, detail) = (*failures, *trial, last_detail(agent));
            alerted(Notice::NeedsIntervention { agent: name, failures, window, trial, detail })
        }
        Event::BreakerClosed => said(Notice::BreakerClosed { agent: name }),
        Event::Degraded { crashes } => {
            let window = context.policy.degraded.window;
            alerted(Notice::Degraded { agent: name, crashes: *crashes, window })
        }
        Event::SupervisorPanicked { .. } => supervisor_panicked(agent, name, context),
        Event::Removed { .. } => said(Notice::AgentRemoved { agent: name, works: agent.works() }),
        Event::TaskTaken { work, .. } => task_taken(name, work),
        Event::TaskHandedBack { work, onward, by } => handed_back(name, *work, onward, by),
        Event::SplitBegun { work, .. } => said(Notice::TaskSplitting { agent: name, task: *work }),
        // No person has asked for it.
        Event::StopRequested { reason: reason @ StopReason::Configured, by: None, .. } => {
            said(Notice::Stopping { agent: name, reason: *reason })
        }
        // Replied to the person who asked, or only logged.
        Event::StopRequested { .. }
        | Event::AskedAgain { .. }
        | Event::AskDropped { .. }
        | Event::PermissionDecided { .. }
        | Event::RuleAdded { .. }
        | Event::RuleRemoved { .. }
        | Event::Added { .. }
        | Event::Edited { .. }
        | Event::Queued { .. }
        | Event::BoardHeard { .. }
        | Event::SplitEnded { .. }
        | Event::Cleared { .. }
        | Event::Reworded { .. }
        | Event::Withdrawn { .. }
        | Event::Discarded { .. }
        | Event::Steered { .. }
        | Event::TaskReported { .. }
        | Event::PartsAwaited { .. }
        | Event::TurnObserved { .. }
        | Event::EvaluationBegun { .. }
        | Event::DetectorStoodIn { .. }
        | Event::WhisperMarked { .. }
        // For the agent alone.
        | Event::WhispersDelivered { .. }
        | Event::WhispersDropped { .. }
        | Event::WorkspaceSeen { .. }
        | Event::ProcessStarted { .. }
        | Event::ProcessWarm { .. }
        | Event::Ready { .. }
        | Event::ConversationNamed { .. }
        | Event::ConversationLost { .. }
        | Event::TurnEnded { .. }
        | Event::UsageRecorded { .. }
        // Posted once for all agents.
        | Event::ClockSet { .. }
        | Event::WaitOver => Vec::new(),
    }
}

/// Returns the notice that puts an agent's request to people.
fn asked(agent: AgentName, ask: &Ask) -> Notice {
    let within = ask.until.since(ask.at);
    match &ask.about {
        About::Permission { tool, command, cut, vague, secret, danger } => Notice::PermissionAsked {
            agent,
            ask: ask.id,
            tool: tool.clone(),
            command: command.clone(),
            cut: *cut,
            vague: *vague,
            secret: *secret,
            danger: danger.clone(),
            within,
        },
        About::Question { text, options, several } => Notice::QuestionAsked {
            agent,
            ask: ask.id,
            text: text.clone(),
            within,
            options: options.clone(),
            several: *several,
        },
        About::Plan { .. } => Notice::PlanAsked { agent, ask: ask.id, within },
    }
}

/// Returns the notice that reminds people of an open request.
fn still_open(agent: AgentName, ask: &Ask, now: Timestamp) -> Notice {
    let (text, question) = (excerpt(ask.about.words()), ask.about.is_question());
    Notice::AskOpen { agent, ask: ask.id, text, question, within: ask.until.since(now) }
}

fn to(audience: Audience, notice: Notice) -> Owed {
    Owed { audience, body: OwedBody::Notice(notice) }
}

fn said(notice: Notice) -> Vec<Owed> {
    vec![to(Audience::Agent, notice)]
}

fn alerted(notice: Notice) -> Vec<Owed> {
    vec![to(Audience::Agent, notice.clone()), to(Audience::Alerts, notice)]
}

fn work_line(line: String) -> Owed {
    to(Audience::Work, Notice::WorkLine { line })
}

fn session_started(agent: &Agent, name: AgentName, work: &Work) -> Vec<Owed> {
    // A session after the turn limit continues the same work: nothing new has started.
    let goes_on = agent.unfinished.as_ref().is_some_and(|unfinished| unfinished.tries > 0)
        && agent.last_outcome.as_ref().is_some_and(|outcome| outcome.category == Category::MaxTurns);
    if goes_on { Vec::new() } else { said(Notice::Started { agent: name, work: excerpt(&work.text) }) }
}

fn session_ended(agent: &Agent, name: AgentName, outcome: &Outcome, survivors: &[u32]) -> Vec<Owed> {
    let mut owed = Vec::new();
    if outcome.category == Category::Success {
        let relayed = agent.spec.as_ref().is_some_and(|spec| match spec.relay {
            Relay::Final => true,
            // With `all` the driver has posted it already.
            Relay::All | Relay::None => false,
        });
        let text = outcome.text.as_ref().filter(|text| relayed && !text.trim().is_empty());
        owed.extend(text.map(|text| Owed { audience: Audience::Agent, body: OwedBody::Words(text.clone()) }));
        owed.push(to(
            Audience::Agent,
            Notice::Completed {
                agent: name.clone(),
                duration: outcome.duration,
                turns: outcome.turns,
                cost_usd: outcome.usage.cost_usd,
            },
        ));
    }
    // An agent that has left the account continues at once; the account's own alert tells people of the limit.
    if outcome.category == Category::Quota && agent.session_account() == agent.account() {
        owed.extend(said(Notice::QuotaReached { agent: name.clone(), account: agent.account() }));
    }
    if outcome.category == Category::Interrupted && outcome.detail.is(&Own::Restarted) {
        owed.extend(said(Notice::Interrupted { agent: name.clone() }));
    }
    if outcome.category == Category::Interrupted && outcome.ended > 0 {
        let left = u32::try_from(survivors.len()).unwrap_or(u32::MAX);
        owed.extend(said(Notice::Ended { agent: name.clone(), ended: outcome.ended, left }));
    }
    if !survivors.is_empty() {
        owed.extend(alerted(Notice::Survivors { agent: name, pids: survivors.to_vec() }));
    }
    owed
}

/// Returns the machine-readable line for `#work` about a task that is back in the queue after a failure which would
/// only repeat itself; empty for other failures.
fn requeued(agent: &Agent, work: WorkId) -> Vec<Owed> {
    let line = match last_category(agent) {
        Some(Category::TaskTimeout) => format!("FAIL {work} timeout"),
        Some(Category::OutOfMemory) => format!("FAIL {work} out-of-memory"),
        Some(Category::ContextOverflow) => format!("FAIL {work} context-overflow"),
        Some(Category::SandboxDenial) => format!("BLOCKED {work} sandbox-denied"),
        _ => return Vec::new(),
    };
    let task = agent
        .queue
        .iter()
        .chain(&agent.current)
        .any(|queued| queued.id == work && queued.kind == WorkKind::Task);
    if task { vec![work_line(line)] } else { Vec::new() }
}

fn task_ended(name: AgentName, task: WorkId, end: TaskEnd, note: &Detail) -> Vec<Owed> {
    match end {
        TaskEnd::Done => vec![work_line(format!("DONE {task}"))],
        // The agent's words are for people; machines get a word that the agent cannot choose.
        TaskEnd::Failed => {
            let mut owed = vec![work_line(format!("FAIL {task} reported"))];
            owed.extend(alerted(Notice::TaskFailed { agent: name, task, detail: note.clone() }));
            owed
        }
        TaskEnd::Blocked => {
            let mut owed = vec![work_line(format!("BLOCKED {task} reported"))];
            owed.extend(alerted(Notice::TaskBlocked { agent: name, task, detail: note.clone() }));
            owed
        }
        TaskEnd::Cancelled => {
            let line = work_line(format!("TASK {task} cancelled"));
            vec![line, to(Audience::Agent, Notice::TaskEnded { agent: name, task, end })]
        }
    }
}

fn task_taken(agent: AgentName, work: &Work) -> Vec<Owed> {
    let task = work.id;
    let line = work_line(format!("TASK {task} assigned {agent}"));
    vec![line, to(Audience::Agent, Notice::TaskTaken { agent, task, work: excerpt(&work.text) })]
}

fn handed_back(agent: AgentName, task: WorkId, onward: &Onward, by: &Actor) -> Vec<Owed> {
    match onward {
        Onward::Broader(permissions) => {
            said(Notice::TaskNeedsMore { agent, task, permissions: *permissions })
        }
        Onward::To(None) if by.is_herder() => said(Notice::TaskReleased { agent, task }),
        Onward::To(to) => said(Notice::TaskMoved { task, from: Some(agent), to: to.clone() }),
        Onward::Split(cuts) => {
            said(Notice::TaskSplit { task, parts: cuts.iter().map(|cut| cut.id).collect() })
        }
    }
}

fn waiting(
    agent: &Agent,
    name: AgentName,
    until: Timestamp,
    reason: WaitReason,
    context: &Context<'_>,
) -> Vec<Owed> {
    let restart_in = until.since(context.now);
    match reason {
        // The split was posted already.
        WaitReason::Rest | WaitReason::Split => Vec::new(),
        WaitReason::RateLimit => said(Notice::RateLimited { agent: name, resume_in: restart_in }),
        // The wait after a panic is part of the notice about the panic.
        WaitReason::Backoff(category) if last_category(agent) != Some(category) => Vec::new(),
        WaitReason::Backoff(category) => match category {
            Category::ContextOverflow => {
                said(Notice::Overflowed { agent: name, detail: last_detail(agent), restart_in })
            }
            Category::Permanent | Category::SandboxDenial => {
                said(Notice::Permanent { agent: name, detail: last_detail(agent), restart_in })
            }
            Category::OutOfMemory => {
                said(Notice::OutOfMemory { agent: name, detail: last_detail(agent), restart_in })
            }
            Category::TaskTimeout => {
                let own = agent.spec.as_ref().and_then(|spec| spec.max_task_duration);
                let limit = own.unwrap_or(context.policy.max_task_duration);
                said(Notice::TimedOut { agent: name, limit, restart_in })
            }
            Category::Transient
            | Category::Hung
            | Category::Crash
            | Category::Success
            | Category::RateLimit
            | Category::Quota
            | Category::MaxTurns
            | Category::Billing
            | Category::Auth
            | Category::Budget
            | Category::DoNotRestart
            | Category::Interrupted => {
                said(Notice::Crashed { agent: name, detail: last_detail(agent), restart_in })
            }
        },
    }
}

fn paused(agent: &Agent, name: AgentName, reason: &PauseReason) -> Vec<Owed> {
    match reason {
        PauseReason::Person(_) | PauseReason::StopAll(_) => said(Notice::Paused { agent: name }),
        PauseReason::Failure(Category::Billing) => {
            said(Notice::Billing { agent: name, account: agent.session_account() })
        }
        PauseReason::Failure(Category::Auth) => said(Notice::Auth { agent: name }),
        PauseReason::Failure(Category::Budget) => said(Notice::Budget { agent: name }),
        PauseReason::Failure(_) => said(Notice::DoNotRestart { agent: name, detail: last_detail(agent) }),
        PauseReason::Account(category) => {
            said(Notice::PausedWithAccount { agent: name, account: agent.account(), category: *category })
        }
        // Posted with their numbers elsewhere: when the session ended, and below.
        PauseReason::Survivors | PauseReason::Cap(_) | PauseReason::Escalation => Vec::new(),
    }
}

/// Returns the alert that one of the agent's own caps is reached, with the amount used.
fn capped(agent: &Agent, name: AgentName, cap: Cap, now: Timestamp) -> Vec<Owed> {
    let set = agent.spec.iter().flat_map(usage::caps_of).find(|(known, _)| *known == cap);
    let set = set.map_or(0.0, |(_, limit)| limit);
    let limit = usage::limit(&agent.waived, cap, set, now);
    let used = match cap.window {
        Window::Session => agent.meter,
        Window::Hour | Window::Day => agent.books.within(cap.window, now, None),
    };
    alerted(Notice::CapReached { agent: name, cap, limit, used: usage::amount(cap.unit, used) })
}

/// Returns the notice for webhooks that the evaluator found something. The words of the finding are for the agent
/// alone, and no channel gets them.
fn spiraling(agent: &Agent, name: AgentName, whisper: &Whisper) -> Vec<Owed> {
    match whisper.tone {
        Tone::Correction | Tone::ThinkDeeper => {
            let work = agent.current.as_ref().map(|work| excerpt(&work.text)).unwrap_or_default();
            let notice = Notice::Spiraling { agent: name, work, times: agent.watch.findings.max(1) };
            vec![to(Audience::Hooks, notice)]
        }
        Tone::Person | Tone::Escalation => Vec::new(),
    }
}

/// Returns the notice that calls a person to an agent, or reminds of that call.
fn call(name: AgentName, call: &Escalation) -> Notice {
    Notice::Escalated {
        agent: name,
        id: call.id,
        work: call.text.clone(),
        why: call.why.clone(),
        times: call.times,
        reminder: call.reminded,
        untold: call.untold,
    }
}

/// Returns the alert that evaluations of the agent failed several times in a row; it is posted once per series.
fn lapsed(agent: &Agent, name: AgentName, judgement: &Judgement, context: &Context<'_>) -> Vec<Owed> {
    let counted = agent.watch.judged.as_ref().is_some_and(|judged| judged.at == context.now);
    match judgement {
        // An overtaken evaluation is no failure.
        Judgement::Lapse(Lapse::Overtaken) => Vec::new(),
        Judgement::Lapse(lapse) if counted && agent.watch.lapses == LAPSES_SAID_AT => {
            alerted(Notice::EvaluatorLapsed { agent: name, times: LAPSES_SAID_AT, lapse: lapse.hushed() })
        }
        Judgement::Lapse(_) | Judgement::Verdict(_) => Vec::new(),
    }
}

fn supervisor_panicked(agent: &Agent, name: AgentName, context: &Context<'_>) -> Vec<Owed> {
    let waits = matches!(agent.phase, Phase::Idle | Phase::Waiting { .. })
        && !agent.queue.is_empty()
        && breaker::opens(agent, context.policy, context.now).is_none();
    let wait = process_backoff(context.policy, agent.crashes);
    let wait = wait.saturating_add(context.jitter.min(wait));
    let restart_in = if waits { wait } else { std::time::Duration::ZERO };
    alerted(Notice::SupervisorPanicked { agent: name, restart_in })
}

fn last_category(agent: &Agent) -> Option<Category> {
    agent.last_outcome.as_ref().map(|outcome| outcome.category)
}

fn last_detail(agent: &Agent) -> Detail {
    agent.last_outcome.as_ref().map(|outcome| outcome.detail.clone()).unwrap_or_default()
}
