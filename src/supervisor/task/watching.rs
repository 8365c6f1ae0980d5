//! Evaluations: the turns to be judged, and the way of the verdict back to the core.

use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::supervisor::Supervisor;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::ask::AskEnd;
use crate::core::event::Event;
use crate::core::id::WorkId;
use crate::core::input::{Input, Signal};
use crate::core::outcome::{Category, Usage};
use crate::core::policy::Judge;
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::core::usage::{Unit, caps_of};
use crate::core::verdict::Lapse;
use crate::core::watch::{Judgement, Told};
use crate::evaluator::{Asked, Brief, Whispered};

/// Returns true if deciding this input may need a number for a whisper or a call for a person.
pub(super) fn may_be_numbered(input: &Input, agent: &Agent) -> bool {
    match input {
        // A running evaluation is started again, and the built-in detector judges at once.
        Input::Started | Input::Adopted { .. } | Input::Panicked { .. } => agent.watch.open.is_some(),
        Input::Evaluated { .. }
        | Input::Divided { .. }
        | Input::Driver { signal: Signal::Observed { .. }, .. } => true,
        Input::Driver { signal: Signal::Ended { outcome, .. }, .. }
        | Input::EndedAtShutdown { outcome, .. } => {
            let calls = matches!(
                outcome.category,
                Category::TaskTimeout
                    | Category::Permanent
                    | Category::ContextOverflow
                    | Category::SandboxDenial
                    | Category::OutOfMemory
            );
            // An agent that reported a denial was denied what it needs, however well its session ends.
            calls || agent.says_denied().is_some()
        }
        _ => false,
    }
}

/// Returns the number of the whisper or of the call for a person that an event contains.
pub(super) fn numbered(event: &Event) -> Option<WorkId> {
    match event {
        Event::Whispered { whisper } => Some(whisper.id),
        Event::Escalated { escalation } => Some(escalation.id),
        _ => None,
    }
}

impl Supervisor<'_> {
    /// Cancels a running evaluation or split whose result is not needed any more, as it would be about other work. Its
    /// cost comes back as an input.
    pub(super) fn end_overtaken(&mut self) {
        let open = self.agent.watch.open.as_ref().map(|open| open.number);
        // Dropping its guard ends it.
        drop(self.evaluation.take_if(|asked| open != Some(asked.0)));
        let open = self.agent.splitting.as_ref().map(|split| split.number);
        drop(self.split.take_if(|asked| open != Some(asked.0)));
        let due = self.agent.check_due();
        drop(self.checking.take_if(|check| due != Some(check.of)));
        let agent = &self.agent;
        drop(self.merging.take_if(|merge| !agent.merges_due().any(|due| due == merge.of)));
    }

    /// Returns a request to the evaluator's program under this number, and the guard that cancels it when dropped.
    pub(super) fn asked<B>(&self, spec: &AgentSpec, number: u32, brief: B) -> (Asked<B>, DropGuard) {
        let overtaken = CancellationToken::new();
        let in_dollars = caps_of(spec).any(|(cap, _)| cap.unit == Unit::Usd);
        let asked = Asked {
            marker: format!("{}/{}/evaluation-{number}", self.shared.journal.id(), self.name),
            brief,
            capped: in_dollars || self.policy.caps.in_dollars(&spec.account),
            overtaken: overtaken.clone(),
        };
        (asked, overtaken.drop_guard())
    }

    /// Requests an evaluation of the last turns in the background; the verdict comes back as an input. One that
    /// herder's end cuts short is ignored, and requested again at the next start.
    pub(super) fn evaluate(&mut self, number: u32) {
        let asked = self.policy.evaluator.judge == Judge::Asked;
        // It may have been overtaken by the same batch, or judged by the detector alone.
        let open = self.agent.watch.open.as_ref().is_some_and(|open| open.number == number);
        let Some(spec) = self.agent.spec.as_ref().filter(|_| asked) else { return };
        let Some(judges) = self.shared.judges().filter(|_| open) else {
            let lapse = if open { Lapse::missing("evaluator") } else { Lapse::Overtaken };
            let (judgement, usage) = (Judgement::Lapse(lapse), Some(Usage::default()));
            return self.shared.input(self.name, Input::Evaluated { number, judgement, usage });
        };
        let (asked, overtaken) = self.asked(spec, number, brief(&self.agent, clock::now()));
        self.evaluation = Some(Box::new((number, overtaken)));
        let (shared, agent) = (Arc::clone(self.shared), self.name.clone());
        self.shared.services.spawn(async move {
            let draining = shared.draining.clone();
            let Some(evaluated) = draining.run_until_cancelled(judges.evaluate(asked)).await else {
                return;
            };
            let judgement = evaluated.verdict.map_or_else(Judgement::Lapse, Judgement::Verdict);
            shared.input(&agent, Input::Evaluated { number, judgement, usage: evaluated.usage });
        });
    }
}

/// Returns the agent's turns and their context, as the evaluator judges them.
fn brief(agent: &Agent, now: Timestamp) -> Brief {
    let watch = &agent.watch;
    let work = agent.current.as_ref().or_else(|| agent.held());
    let instructions = agent.spec.as_ref().map(|spec| spec.instructions.as_str()).unwrap_or_default();
    let task = [instructions, work.map(|work| work.text.as_str()).unwrap_or_default()];
    let since = watch.window.front().map(|turn| turn.at);
    let whispers = watch.told.iter().filter(|told| since.is_some_and(|since| told.at >= since));
    let whispered =
        |told: &Told| Whispered { text: told.text.clone(), heard: told.heard, followed: told.followed };
    Brief {
        task: task.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n"),
        said: work.map(|work| said(agent, work.id)).unwrap_or_default(),
        turns: watch.window.iter().cloned().collect(),
        whispers: whispers.map(whispered).collect(),
        finding: watch.open.as_ref().and_then(|open| open.finding.as_ref()).map(|finding| finding.sentence()),
        now,
    }
}

/// Returns what people have said about the current work: answers to questions, messages and whispers.
fn said(agent: &Agent, work: WorkId) -> Vec<String> {
    let answers = agent.settled.iter().filter(|settled| settled.ask.work == work);
    let answers = answers.filter_map(|settled| match &settled.end {
        AskEnd::Answered { answer, .. } => answer.words(),
        AskEnd::Expired | AskEnd::Dropped => None,
    });
    answers.chain(agent.said().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::apply;
    use crate::core::id::SessionId;
    use crate::core::outcome::Outcome;
    use crate::core::watch::Said;
    use crate::core::work::{Actor, TaskEnd, TaskReport, Work, WorkKind};

    #[test]
    fn a_call_for_a_person_over_what_an_agent_says_it_is_denied_has_a_number() {
        let (session, at) = (SessionId(1), Timestamp::default());
        let work = Work {
            id: WorkId(1),
            kind: WorkKind::Task,
            text: "benchmark nemotron".to_owned(),
            by: Actor::herder(),
            at,
            attempts: 0,
            card: None,
        };
        let mut agent = Agent::default();
        apply(&mut agent, &Event::SessionStarted { session, work, trial: false }, at);
        let outcome = Box::new(Outcome::new(Category::Success, ""));
        let ended = Input::Driver { session, signal: Signal::Ended { outcome, survivors: Vec::new() } };
        assert!(!may_be_numbered(&ended, &agent));
        let report = TaskReport {
            end: TaskEnd::Blocked,
            note: "no network".to_owned(),
            denied: Some(true),
            opinion: None,
        };
        apply(&mut agent, &Event::TaskReported { session, work: WorkId(1), report }, at);
        assert!(may_be_numbered(&ended, &agent), "however well it ends");
    }

    #[test]
    fn the_judge_is_told_what_people_said_of_the_work_at_hand() {
        let work = Work {
            id: WorkId(1),
            kind: WorkKind::Task,
            text: "benchmark nemotron".to_owned(),
            by: Actor::herder(),
            at: Timestamp::default(),
            attempts: 0,
            card: None,
        };
        let said = |work, text: &str| Said {
            work: Some(WorkId(work)),
            at: Timestamp::default(),
            text: text.to_owned(),
        };
        let mut agent = Agent { current: Some(work), ..Agent::default() };
        agent.watch.said = [said(2, "of other work"), said(1, "the tests first")].into();
        let brief = brief(&agent, Timestamp::default());
        assert_eq!(
            (brief.task.as_str(), brief.said),
            ("benchmark nemotron", vec!["the tests first".to_owned()])
        );
    }
}
