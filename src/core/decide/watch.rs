//! Evaluations, their verdicts, and the ladder that ends with a call for a person.

use std::sync::Arc;
use std::time::Duration;

use super::control::excerpt;
use super::{Draft, spending};
use crate::agent::{Agent, Phase};
use crate::apply::subject;
use crate::detail::Detail;
use crate::detector::{self, Finding};
use crate::event::{Event, PauseReason, StopReason};
use crate::id::{AgentName, SessionId, WorkId};
use crate::notice::{Notice, Refusal};
use crate::outcome::{Category, Usage};
use crate::policy::Judge;
use crate::turn::Turn;
use crate::verdict::{Lapse, Verdict};
use crate::watch::{Answer, Escalation, Judgement, Mark, Open, UNHEARD_MAX, Why};
use crate::whisper::{OVERDUE_TURNS, Tone, Whisper};
use crate::work::Actor;

/// Time for which an answered call still counts as the target of late answers. A later answer would be by someone who
/// sees the first one.
const LATE: Duration = Duration::from_secs(60 * 60);

/// Time after a call was answered in which another person's `abort` may have been meant for that call; it must not
/// end work that started since.
const CROSSED: Duration = Duration::from_secs(60);

/// Number of turns within which an agent should receive a whisper: one more than those after which it is overdue.
const TOLD_WITHIN: u32 = OVERDUE_TURNS + 1;

/// Minimum number of turns before a finding of the built-in detector brings an evaluation forward.
const HASTENED_AFTER: u32 = 3;

/// Records a turn of the model and starts an evaluation if one is due.
pub(super) fn observed(draft: &mut Draft<'_>, session: SessionId, turn: &Turn) {
    let rules = draft.context.policy.evaluator;
    let is_judged = rules.judge != Judge::Off;
    if !is_judged && !rules.traced {
        return;
    }
    let work = draft.agent().current.as_ref().and_then(subject);
    let keep = if is_judged { rules.window } else { 0 };
    draft.record(Event::TurnObserved { turn: Arc::new(Turn { session, work, ..turn.clone() }), keep });
    if is_judged {
        consider(draft);
    }
}

/// Starts an evaluation again that was running when herder stopped. The cost of the lost one stays unknown.
pub(super) fn started(draft: &mut Draft<'_>) {
    let open = draft.agent().watch.open.clone();
    given_up(draft);
    if let Some(open) = open.filter(|_| draft.context.policy.evaluator.judge != Judge::Off) {
        begin(draft, open.finding);
    }
}

/// Ends all open evaluations without a result, as their results cannot arrive any more.
pub(super) fn given_up(draft: &mut Draft<'_>) {
    let unfinished: Vec<u32> = draft.agent().watch.unfinished().collect();
    for number in unfinished {
        let judgement = Box::new(Judgement::Lapse(Lapse::Overtaken));
        draft.record(Event::Evaluated { number, judgement, usage: Usage::default(), unmetered: true });
    }
}

fn consider(draft: &mut Draft<'_>) {
    let rules = &draft.context.policy.evaluator;
    let watch = &draft.agent().watch;
    if watch.open.is_some() || !draft.agent().is_at_work() {
        return;
    }
    // A whisper must reach the agent before its effect can be judged.
    let interval = if draft.agent().is_untold() { rules.interval.max(TOLD_WITHIN) } else { rules.interval };
    let due = watch.since >= interval;
    // After a whisper the agent gets its turns to follow it.
    let may_hasten = watch.findings == 0 && !watch.hinted && watch.since >= HASTENED_AFTER;
    if !due && !may_hasten {
        return;
    }
    let finding = detector::find(watch.window.iter().map(Arc::as_ref));
    if due || finding.is_some() {
        begin(draft, finding);
    }
}

fn begin(draft: &mut Draft<'_>, finding: Option<Finding>) {
    let number = draft.agent().watch.last.saturating_add(1);
    draft.record(Event::EvaluationBegun { number, finding: finding.clone() });
    match draft.context.policy.evaluator.judge {
        Judge::Builtin => {
            let verdict = finding.map_or(Verdict::Ok, |finding| Verdict::correction(&finding.correction()));
            evaluated(draft, number, &Judgement::Verdict(verdict), Some(Usage::default()));
        }
        // An effect follows; its result comes back as an input.
        Judge::Asked | Judge::Off => {}
    }
}

/// Handles the result of an evaluation. Its cost is booked in any case, and compared with the caps at once; its verdict
/// counts only if the evaluation was not overtaken.
pub(super) fn evaluated(draft: &mut Draft<'_>, number: u32, judgement: &Judgement, usage: Option<Usage>) {
    let open = draft.agent().watch.open.clone().filter(|open| open.number == number);
    let unmetered = usage.is_none();
    let usage = usage.unwrap_or_default();
    draft.record(Event::Evaluated { number, judgement: Box::new(judgement.clone()), usage, unmetered });
    if let Some(open) = open {
        heard(draft, number, judgement, open);
    }
    // This comes last, so that a person who is called learns of the call first.
    if usage != Usage::default() {
        spending::held_against_caps(draft);
    }
}

/// Applies the verdict of the running evaluation. If there is none, for whatever reason, the built-in detector stands
/// in.
fn heard(draft: &mut Draft<'_>, number: u32, judgement: &Judgement, open: Open) {
    // The whisper arrived only after the turns that were judged: the next ones show whether it helps.
    if open.untold && !draft.agent().is_untold() {
        return;
    }
    let finding = open.finding;
    let verdict = match judgement {
        Judgement::Verdict(verdict) => verdict.clone(),
        // The evaluator ran, and its unreadable answer counts as an OK.
        Judgement::Lapse(Lapse::Unparsable { .. }) => return,
        Judgement::Lapse(_) => match finding.as_ref().filter(|_| draft.agent().is_at_work()) {
            Some(finding) => {
                draft.record(Event::DetectorStoodIn { number });
                Verdict::correction(&finding.correction())
            }
            None => return,
        },
    };
    let by_detector = match judgement {
        Judgement::Verdict(_) => draft.context.policy.evaluator.judge == Judge::Builtin,
        Judgement::Lapse(_) => true,
    };
    if verdict.is_finding() && draft.agent().is_at_work() {
        climb(draft, &verdict, finding, by_detector);
    }
}

/// Responds to a finding: with a first or second whisper, or by calling a person when whispers did not help. The
/// finding has been counted already.
fn climb(draft: &mut Draft<'_>, verdict: &Verdict, finding: Option<Finding>, by_detector: bool) {
    let said = verdict.message().unwrap_or_default();
    let watch = &draft.agent().watch;
    let (findings, unheard) = (watch.findings, watch.unheard);
    let threshold = draft.context.policy.evaluator.threshold.max(2);
    // An undelivered whisper must arrive before the next step, but is not waited for forever.
    let waits = unheard > 0;
    let untold = unheard >= UNHEARD_MAX && findings.saturating_add(unheard) >= threshold;
    if untold || (!waits && findings >= threshold) {
        let why = finding.map_or_else(|| Why::Said(said.to_owned()), Why::Found);
        return escalate(draft, why, said, untold);
    }
    if waits {
        return;
    }
    // A call for a person on a first observation becomes a correction.
    let tone = match verdict {
        Verdict::ThinkDeeper(_) => Tone::ThinkDeeper,
        Verdict::Correction(_) | Verdict::Escalation(_) | Verdict::Ok => Tone::Correction,
    };
    let text = match (findings, &finding) {
        (1, _) => said.to_owned(),
        (_, Some(finding)) if by_detector => finding.stronger(),
        (_, Some(_) | None) => format!(
            "You were told, and it goes on. {} Stop what you are doing, say in one sentence why it does not work, and \
             take another way. If this goes on, you are paused and a person is called.",
            sentence(said)
        ),
    };
    whisper(draft, tone, text);
}

/// Returns `said` with a full stop, if it has no end of its own.
fn sentence(said: &str) -> String {
    let said = said.trim_end();
    let ended = said.ends_with(['.', '!', '?', '…', ':', '。', '！', '？']);
    if ended { said.to_owned() } else { format!("{said}.") }
}

fn whisper(draft: &mut Draft<'_>, tone: Tone, text: String) {
    let whisper = Whisper {
        id: draft.context.fresh,
        text,
        by: Actor::herder(),
        at: draft.context.now,
        prompted: None,
        tone,
    };
    draft.record(Event::Whispered { whisper: Box::new(whisper) });
}

/// Calls a person, because two whispers did not help or could not be delivered.
fn escalate(draft: &mut Draft<'_>, why: Why, said: &str, untold: bool) {
    call(draft, why, untold);
    // The agent reads this first when a person resumes it.
    let text = if untold {
        format!("You were paused, because you could not be told in time: {said}")
    } else {
        format!("You were paused, because nothing had changed: {said}")
    };
    whisper(draft, Tone::Escalation, text);
}

/// Calls a person, because the session ended so that another try would not help.
pub(super) fn gave_up(draft: &mut Draft<'_>, category: Category, detail: Detail) {
    call(draft, Why::Ended { category, detail }, false);
}

/// Calls a person, unless one is called already, and pauses the agent with its queue kept.
fn call(draft: &mut Draft<'_>, why: Why, untold: bool) {
    if draft.agent().watch.escalation.is_none() {
        record_call(draft, why, untold);
    }
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => {
            draft.record(Event::StopRequested { session, reason: StopReason::Escalation, by: None });
        }
        Phase::Idle | Phase::Waiting { .. } => draft.pause(PauseReason::Escalation),
        // It is stopped or being stopped, and a person decides what follows.
        Phase::Stopping { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

fn record_call(draft: &mut Draft<'_>, why: Why, untold: bool) {
    let now = draft.context.now;
    let rules = &draft.context.policy.escalation;
    let agent = draft.agent();
    let work = agent.current.as_ref().or_else(|| agent.held());
    let before = agent.watch.answered.as_ref().map(|answered| &answered.escalation);
    let same = before.filter(|before| before.work.is_some() && before.work == work.map(|work| work.id));
    let escalation = Escalation {
        id: draft.context.fresh,
        at: now,
        work: work.map(|work| work.id),
        text: work.map(|work| excerpt(&work.text)).unwrap_or_default(),
        why,
        times: same.map_or(1, |before| before.times.saturating_add(1)),
        untold,
        reminded: 0,
        remind_at: (rules.times > 0).then(|| now.after(rules.after)),
        acked: None,
    };
    draft.record(Event::Escalated { escalation: Box::new(escalation) });
}

/// Handles current work that leaves the agent for good: findings about it are dropped, since they would confuse the
/// agent at its next work, and a call about it is answered.
pub(super) fn left(draft: &mut Draft<'_>, work: WorkId, answer: Answer, by: &Actor) {
    super::whisper::drop_findings(draft, by);
    if draft.agent().watch.escalation.as_ref().is_some_and(|call| call.work == Some(work)) {
        super::control::answer_for_good(draft, answer, by);
    }
}

/// Records a person's answer to the open call, if there is one. The first answer wins, as there is no call afterwards.
pub(super) fn answer(draft: &mut Draft<'_>, answer: Answer, by: &Actor) {
    if let Some(call) = &draft.agent().watch.escalation {
        let id = call.id;
        match answer {
            Answer::Resume => {}
            Answer::Abort | Answer::Remove | Answer::Moved => super::whisper::drop_findings(draft, by),
        }
        draft.record(Event::EscalationAnswered { id, answer, by: by.clone() });
    }
}

/// Records that a person takes care of the call: no more reminders are posted.
pub(super) fn ack(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: Option<WorkId>,
) -> Result<Notice, Refusal> {
    let watch = &draft.agent().watch;
    let standing = watch.escalation.as_ref().filter(|call| id.is_none_or(|id| call.id == id));
    let Some(call) = standing else { return Err(no_call(draft.agent(), agent, id)) };
    let id = call.id;
    if let Some(first) = &call.acked {
        return Err(Refusal::AlreadyAcked { agent, id, by: first.name.clone() });
    }
    draft.record(Event::EscalationAcked { id, by: by.clone() });
    Ok(Notice::EscalationAcked { agent, id, by: by.name.clone() })
}

/// Returns the refusal for an answer although no such call is open: another person has answered it, or there is none.
pub(super) fn no_call(agent: &Agent, name: AgentName, id: Option<WorkId>) -> Refusal {
    let answered = agent.watch.answered.as_ref();
    match answered.filter(|answered| id.is_none_or(|id| answered.escalation.id == id)) {
        Some(answered) => Refusal::EscalationAnswered {
            agent: name,
            id: answered.escalation.id,
            answer: answered.answer,
            by: answered.by.name.clone(),
            at: answered.at,
        },
        None => Refusal::NoEscalation { agent: name },
    }
}

/// Returns the refusal for a late answer to the last call, if that was answered recently.
pub(super) fn late(draft: &Draft<'_>, name: &AgentName) -> Option<Refusal> {
    let answered = draft.agent().watch.answered.as_ref()?;
    let lately = draft.context.now.since(answered.at) < LATE;
    lately.then(|| no_call(draft.agent(), name.clone(), None))
}

/// Returns the refusal for an `abort` that would end work started after another person's answer. `knows`: the call
/// that this person has been told of already; then the `abort` is meant.
pub(super) fn late_abort(
    draft: &Draft<'_>,
    name: &AgentName,
    by: &Actor,
    knows: Option<WorkId>,
) -> Option<Refusal> {
    let watch = &draft.agent().watch;
    let answered = watch.answered.as_ref().filter(|_| watch.escalation.is_none())?;
    let call = answered.escalation.id;
    let crossed = draft.context.now.since(answered.at) < CROSSED && answered.by != *by;
    (crossed && knows != Some(call)).then(|| Refusal::LateAbort {
        agent: name.clone(),
        id: call,
        answer: answered.answer,
        by: answered.by.name.clone(),
    })
}

/// Reminds people of a call that is still open.
pub(super) fn remind(draft: &mut Draft<'_>) {
    let due = draft.agent().watch.remind_at().is_some_and(|at| at <= draft.context.now);
    let Some(call) = draft.agent().watch.escalation.as_ref().filter(|_| due) else { return };
    let rules = &draft.context.policy.escalation;
    let more = call.reminded.saturating_add(1) < rules.times;
    let next = more.then(|| draft.context.now.after(rules.after));
    let id = call.id;
    draft.record(Event::EscalationReminded { id, next });
}

/// Records an operator's mark on a whisper: justified or not.
pub(super) fn mark(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: WorkId,
    mark: Mark,
) -> Result<Notice, Refusal> {
    let told = draft.agent().watch.told.iter().find(|told| told.id == id);
    let Some(told) = told else { return Err(Refusal::NoSuchWhisper { agent, id }) };
    if told.mark != Some(mark) {
        draft.record(Event::WhisperMarked { id, mark, by: by.clone() });
    }
    Ok(Notice::WhisperMarked { agent, id, mark })
}
