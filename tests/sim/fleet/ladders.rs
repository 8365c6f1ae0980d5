//! The steps that follow the evaluator's findings: each evaluation ends once, each whisper is handed over once, and
//! no person is called at a first observation.

use std::collections::{BTreeSet, HashMap};

use herder::core::agent::{Agent, Phase};
use herder::core::event::Event;
use herder::core::id::{AgentName, WorkId};
use herder::core::verdict::{Lapse, Verdict};
use herder::core::watch::{Judgement, Why};
use herder::core::work::{Work, WorkKind};

use super::world::Tally;

/// The step on the ladder that an agent has reached.
#[derive(Debug, Default)]
struct Ladder {
    /// The number of findings in a row that it was told of.
    told: u32,
    /// The last number of an evaluation or of a split.
    last: u32,
    /// Evaluations and splits that are not over.
    open: BTreeSet<u32>,
    /// Whispers that it has not got.
    waiting: BTreeSet<WorkId>,
    /// Evaluations and splits that no one waits for any longer, by number.
    given_up: BTreeSet<u32>,
    /// The last work that it was busy with.
    subject: Option<WorkId>,
    /// True if a finding must still be passed on to the agent, or to a person.
    owes: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ladders(HashMap<AgentName, Ladder>);

/// The finding that calls a person.
const THRESHOLD: u32 = 3;

fn subject(work: &Work) -> Option<WorkId> {
    (work.kind != WorkKind::Round).then_some(work.id)
}

impl Ladders {
    /// Records an agent's event; `agent` is its state before.
    pub(crate) fn heard(
        &mut self,
        name: &AgentName,
        event: &Event,
        agent: &Agent,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let ladder = self.0.entry(name.clone()).or_default();
        match event {
            Event::Added { .. } => {
                ladder.waiting.clear();
                ladder.told = 0;
            }
            Event::SessionStarted { work, .. } => {
                // Other work is judged by itself.
                if ladder.subject != subject(work) {
                    ladder.told = 0;
                }
                ladder.subject = subject(work);
            }
            Event::EvaluationBegun { number, .. } | Event::SplitBegun { number, .. } => {
                if *number <= ladder.last {
                    return Err(format!("{name} is judged as number {number} after {}", ladder.last));
                }
                ladder.last = *number;
                ladder.open.insert(*number);
            }
            // A verdict that came too late still says what it has cost.
            Event::Evaluated { number, unmetered: false, .. } if ladder.given_up.remove(number) => {}
            Event::Evaluated { number, judgement, unmetered, .. } => {
                ladder.is_over(name, *number)?;
                if *unmetered {
                    ladder.given_up.insert(*number);
                }
                tally.judged += 1;
                let open = agent.watch.open.as_ref().filter(|open| open.number == *number);
                let counts = open.is_some();
                let found = matches!(&**judgement, Judgement::Verdict(verdict) if verdict.is_finding());
                let works = matches!(agent.phase, Phase::Starting { .. } | Phase::Running { .. });
                // An earlier whisper has to reach it first.
                let told = !agent.whispers.iter().any(|whisper| whisper.tone.is_finding());
                ladder.owes = found && works && told && open.is_some_and(|open| !open.untold);
                if counts && **judgement == Judgement::Verdict(Verdict::Ok) {
                    ladder.told = 0;
                }
            }
            // An answer that was not waited for any longer may still say what it has cost.
            Event::SplitEnded { number, .. } if ladder.given_up.remove(number) => {}
            Event::SplitEnded { number, lapse, .. } => {
                ladder.is_over(name, *number)?;
                if matches!(lapse, Some(Lapse::TimedOut { .. } | Lapse::Overtaken)) {
                    ladder.given_up.insert(*number);
                }
            }
            Event::Whispered { whisper } => {
                if !ladder.waiting.insert(whisper.id) {
                    return Err(format!("{name} is told {} twice", whisper.id));
                }
                ladder.told += u32::from(whisper.tone.is_finding());
                ladder.owes &= !whisper.tone.is_finding();
            }
            Event::WhispersDelivered { whispers, .. } | Event::WhispersDropped { whispers, .. } => {
                for whisper in whispers {
                    if !ladder.waiting.remove(whisper) {
                        return Err(format!("{name} has got {whisper} already, or never was to"));
                    }
                }
            }
            Event::Escalated { escalation } if !matches!(escalation.why, Why::Ended { .. }) => {
                tally.stuck += 1;
                if ladder.told == 0 || ladder.told + 1 < THRESHOLD && !escalation.untold {
                    return Err(format!("a person is called for {name}, who was told {} times", ladder.told));
                }
                (ladder.told, ladder.owes) = (0, false);
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that a finding is passed on in the same decision.
    pub(crate) fn what_is_found_is_told(&self, name: &AgentName) -> Result<(), String> {
        match self.0.get(name) {
            Some(ladder) if ladder.owes => Err(format!("something was found of {name}, and nobody is told")),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks, after some days without faults, that no evaluation is open.
    pub(crate) fn every_evaluation_is_over(&self, agents: &HashMap<AgentName, Agent>) -> Result<(), String> {
        for (name, ladder) in &self.0 {
            let agent = agents.get(name);
            let runs = agent.and_then(|agent| agent.watch.open.as_ref()).map(|open| open.number);
            let splits = agent.and_then(|agent| agent.splitting.as_ref()).map(|split| split.number);
            if let Some(number) = ladder.open.iter().find(|open| ![runs, splits].contains(&Some(**open))) {
                return Err(format!("number {number} of {name} never was over"));
            }
        }
        Ok(())
    }

    /// Checks that no whisper is lost.
    pub(crate) fn what_waits_is_what_it_has(&self, name: &AgentName, agent: &Agent) -> Result<(), String> {
        let has: BTreeSet<WorkId> = agent.whispers.iter().map(|whisper| whisper.id).collect();
        let none = BTreeSet::new();
        let known = self.0.get(name).map_or(&none, |ladder| &ladder.waiting);
        if has == *known { Ok(()) } else { Err(format!("{name} waits for {has:?}, and was told {known:?}")) }
    }
}

impl Ladder {
    fn is_over(&mut self, name: &AgentName, number: u32) -> Result<(), String> {
        if self.open.remove(&number) {
            Ok(())
        } else {
            Err(format!("number {number} of {name} is over, and was before or never began"))
        }
    }
}
