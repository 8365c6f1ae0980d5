//! The invariants of every history. Each invariant is one function, and its name states it.

mod restarts;
mod spending;

use std::collections::{BTreeMap, BTreeSet};

use herder::core::Decision;
use herder::core::agent::{Agent, Phase};
use herder::core::ask::AskKey;
use herder::core::event::{Event, PauseReason, WaitReason};
use herder::core::id::{AskId, SessionId, WorkId};
use herder::core::input::{Control, Input};
use herder::core::outcome::Category;
use herder::core::promotion::Hold;
use herder::core::time::Timestamp;
use herder::core::verdict::Lapse;
use herder::core::watch::{Judgement, Why};
use herder::core::whisper::Tone;
use herder::core::work::WorkKind;

pub(super) use restarts::Limits;
pub(super) use spending::{
    Spending, a_session_over_its_cap_is_stopped, everything_spent_is_counted_once,
    no_session_starts_while_a_cap_is_reached_unless_a_person_resumed_it,
};

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
        Input::Control { control: Control::Resume | Control::LetOn | Control::Restart, .. }
            | Input::AccountOpened { .. }
    );
    // Giving the work up that a person was called for is an answer too, in whatever way.
    let gives_up = |control: &Control| {
        matches!(
            control,
            Control::Abort
                | Control::AbortAnyway { .. }
                | Control::Press { .. }
                | Control::CancelTask(_)
                | Control::Withdraw(_)
                | Control::HandBack { .. }
                | Control::Clear
        )
    };
    let answers = *origin == Phase::Paused { reason: PauseReason::Escalation }
        && matches!(input, Input::Control { control, .. } if gives_up(control));
    let by_a_person = by_a_person || answers;
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

pub(super) fn whoever_is_held_back_starts_nothing(hold: Option<&Hold>, event: &Event) {
    let starts = matches!(event, Event::SessionStarted { .. });
    assert!(!starts || hold.is_none(), "a session started beside {hold:?}");
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

/// A task that is being split is no one's work until the parts are there, and is not lost meanwhile.
pub(super) fn what_is_split_waits_at_the_head_of_the_queue(agent: &Agent) {
    if let Some(split) = &agent.splitting {
        assert_eq!(agent.queue.front().map(|work| work.id), Some(split.work));
        assert_eq!(agent.current, None, "it works beside that");
    }
}

fn held(agent: &Agent) -> BTreeSet<WorkId> {
    agent.queue.iter().chain(&agent.current).map(|work| work.id).collect()
}

pub(super) fn work_leaves_only_by_an_event_that_names_it(before: &Agent, event: &Event, after: &Agent) {
    let gone: Vec<WorkId> = held(before).difference(&held(after)).copied().collect();
    let named: Vec<WorkId> = match event {
        Event::Cleared { works, .. } => works.clone(),
        // The work of the session itself cannot reach it a second time.
        Event::Steered { work, .. } if before.queue.iter().any(|queued| queued.id == *work) => vec![*work],
        Event::TaskEnded { work, .. }
        | Event::TaskHandedBack { work, .. }
        | Event::Discarded { work, .. }
        | Event::Withdrawn { work, .. } => vec![*work],
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

/// People's commands and the promised results.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// True if the last accepted command about it was a pause.
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
            Control::Give { id, .. } | Control::Begin { id, .. } => {
                self.accepted.insert(*id);
            }
            Control::Whisper { id, .. } => {
                self.whispers.insert(*id, false);
            }
            Control::Pause { .. } | Control::HandOff { .. } | Control::Stop => self.asked_to_pause = true,
            Control::Resume | Control::LetOn | Control::Restart => self.asked_to_pause = false,
            Control::Abort
            | Control::AbortAnyway { .. }
            | Control::Press { .. }
            | Control::Accept(_)
            | Control::Reject { .. }
            | Control::CancelTask(_)
            | Control::HandBack { .. }
            | Control::Reword { .. }
            | Control::Withdraw(_)
            | Control::Clear
            | Control::OpenTask(_)
            | Control::DropCheckout(_)
            | Control::Ack(_)
            | Control::Mark { .. }
            | Control::Answer { .. }
            | Control::RemoveRule(_)
            | Control::Edit { .. }
            | Control::Configure(_)
            | Control::Remove => {}
        }
    }

    /// Called before the decision about `input` is recorded, for a command that was accepted.
    pub(super) fn after_a_pause_nothing_starts_until_somebody_resumes(&self, input: &Input, event: &Event) {
        let lets_on =
            |control: &Control| matches!(control, Control::Resume | Control::LetOn | Control::Restart);
        let resumes = matches!(input, Input::Control { control, .. } if lets_on(control));
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
            Event::TaskHandedBack { work, .. } => end(*work, "handed back"),
            Event::Whispered { whisper } if whisper.tone != Tone::Person => {
                self.whispers.insert(whisper.id, false);
            }
            // Whispers about work that is given up are taken back.
            Event::WhispersDropped { whispers, .. } => {
                let findings = before.whispers.iter().filter(|whisper| whisper.tone != Tone::Person);
                assert!(findings.map(|whisper| whisper.id).eq(whispers.iter().copied()), "{whispers:?}");
                self.whispers.extend(whispers.iter().map(|whisper| (*whisper, true)));
            }
            // A call for a person before the agent was told says so.
            Event::Escalated { escalation } if !matches!(escalation.why, Why::Ended { .. }) => {
                let waits = before.whispers.iter().any(|whisper| whisper.tone.is_finding());
                assert_eq!(waits, escalation.untold, "{escalation:?}");
            }
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

/// A question is for work that its answer can still serve, and no one is asked past its deadline.
pub(super) fn what_is_asked_belongs_to_work_at_hand(agent: &Agent, now: Timestamp) {
    let held = held(agent);
    for ask in &agent.asks {
        assert!(held.contains(&ask.work), "{ask:?} is asked for work that is over");
        assert!(
            ask.asker.is_none_or(|asker| agent.session() == Some(asker.session)),
            "{ask:?} waits for nobody"
        );
        let due = agent.deadline().is_some_and(|deadline| deadline <= ask.until);
        assert!(due || ask.until > now, "nobody notices when {ask:?} runs out");
    }
}

pub(super) fn only_so_much_is_asked_at_once(agent: &Agent) {
    assert!(agent.asks.len() <= herder::core::ask::OPEN_MAX);
    assert!(agent.settled.len() <= herder::core::ask::SETTLED_MAX);
}

/// The questions of agents, seen from outside.
#[derive(Debug, Default)]
pub(super) struct Asked {
    open: BTreeSet<AskId>,
    over: BTreeSet<AskId>,
    /// Commands that a person allowed for good, by the rule's number.
    rules: BTreeMap<AskId, String>,
    answered: BTreeSet<(SessionId, AskKey)>,
}

impl Asked {
    pub(super) fn an_ask_is_open_once_and_over_once(&mut self, event: &Event) {
        match event {
            Event::Asked { ask } => {
                assert!(self.open.insert(ask.id) && !self.over.contains(&ask.id), "{ask:?} is asked twice");
            }
            Event::Answered { ask, .. } | Event::AskExpired { ask } | Event::AskDropped { ask } => {
                assert!(self.open.remove(ask), "{ask} ended without being open");
                assert!(self.over.insert(*ask), "{ask} ended twice");
            }
            Event::RuleAdded { rule } => {
                self.rules.insert(rule.id, rule.command.clone());
            }
            Event::RuleRemoved { rule, .. } => {
                assert!(self.rules.remove(rule).is_some(), "a rule that nobody made was removed");
            }
            _ => {}
        }
    }

    pub(super) fn a_dangerous_command_is_decided_by_people_alone(&self, before: &Agent, event: &Event) {
        if let Event::PermissionDecided { command, allowed: true, .. } = event {
            let by_rule = self.rules.values().any(|allowed| allowed == command);
            let harmless = !command.contains("push") && !command.contains("sudo");
            assert!(by_rule || harmless, "{command} was allowed by itself: {before:?}");
        }
    }

    pub(super) fn a_request_is_answered_once(&mut self, session: SessionId, key: AskKey) {
        assert!(
            self.answered.insert((session, key)),
            "request {key:?} of session {session} was answered twice"
        );
    }
}

/// The ladder, as the contract tells it.
#[derive(Debug, Default)]
pub(super) struct Climb {
    /// Findings since the last OK.
    findings: u32,
    /// True if a person is called and the call is unanswered.
    called: bool,
}

impl Climb {
    pub(super) fn a_person_is_called_after_two_findings_and_answers_once(&mut self, event: &Event) {
        match event {
            Event::Evaluated { judgement, .. } => match judgement.as_ref() {
                Judgement::Verdict(verdict) if verdict.is_finding() => self.findings += 1,
                Judgement::Verdict(_) | Judgement::Lapse(Lapse::Unparsable { .. }) => self.findings = 0,
                Judgement::Lapse(_) => {}
            },
            Event::DetectorStoodIn { .. } => self.findings += 1,
            Event::Escalated { escalation } => {
                let ended = matches!(escalation.why, Why::Ended { .. });
                assert!(ended || self.findings >= 3, "called after {} findings", self.findings);
                assert!(!self.called, "called twice before anybody answered");
                self.called = true;
            }
            Event::EscalationAnswered { .. } => {
                assert!(self.called, "answered without a call");
                self.called = false;
            }
            _ => {}
        }
    }

    pub(super) fn while_a_person_is_called_nothing_starts(&self, event: &Event) {
        let starts = matches!(event, Event::SessionStarted { .. });
        assert!(!(self.called && starts), "a session started while a person is called");
    }
}

pub(super) fn a_halted_agent_is_judged_by_nobody(agent: &Agent) {
    let halted = matches!(
        agent.phase,
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded | Phase::Removed
    );
    if halted {
        assert!(agent.watch.window.is_empty() && agent.watch.open.is_none(), "{:?}", agent.phase);
    }
}
