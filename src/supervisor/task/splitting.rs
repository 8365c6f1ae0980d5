//! Tasks that their agent cannot do as they are: the request to split them, and the search for an agent with more
//! permissions.

use std::sync::{Arc, PoisonError};

use super::supervisor::Supervisor;
use crate::core;
use crate::core::agent::Agent;
use crate::core::board::Board;
use crate::core::dealings::Cut;
use crate::core::id::WorkId;
use crate::core::input::{Input, Signal};
use crate::core::outcome::{Category, Usage};
use crate::core::verdict::Lapse;
use crate::evaluator::Whole;

impl Supervisor<'_> {
    /// Asks the evaluator's program in the background to split the task that was too large; the answer comes back as an
    /// input. An answer that herder's end cuts short is ignored, and requested again at the next start.
    pub(super) fn split(&mut self, number: u32) {
        let open = self.agent.splitting.as_ref().is_some_and(|split| split.number == number);
        let Some(spec) = self.agent.spec.as_ref().filter(|_| open) else { return };
        let Some(judges) = self.shared.judges() else {
            let (answer, usage) = (Err(Lapse::missing("evaluator")), Some(Usage::default()));
            return self.shared.input(self.name, Input::Divided { number, answer, usage });
        };
        let (asked, overtaken) = self.asked(spec, number, whole(&self.agent));
        self.split = Some(Box::new((number, overtaken)));
        let (shared, agent) = (Arc::clone(self.shared), self.name.clone());
        self.shared.services.spawn(async move {
            let draining = shared.draining.clone();
            let Some(divided) = draining.run_until_cancelled(judges.split(asked)).await else {
                return;
            };
            let cut = |text| Cut { id: shared.journal.fresh_work_id(), text };
            let answer = divided.parts.map(|parts| parts.into_iter().map(cut).collect());
            shared.input(&agent, Input::Divided { number, answer, usage: divided.usage });
        });
    }

    /// Returns the parts of the current task that are open, or whose results its agent was not told. They are only looked for
    /// if the decision on the input depends on them.
    pub(super) fn untold_parts(&self, input: &Input) -> Vec<WorkId> {
        let ends = matches!(
            input,
            Input::Driver { signal: Signal::Ended { .. }, .. } | Input::EndedAtShutdown { .. }
        );
        let Some(work) = self.agent.current.as_ref().filter(|_| ends) else { return Vec::new() };
        let board = self.shared.board.read().unwrap_or_else(PoisonError::into_inner);
        let led = board.leads.get(&work.id);
        led.map(|led| led.untold(&self.agent, work.id)).unwrap_or_default()
    }

    /// Returns true if another agent has more permissions and is able to do the current task. It is only looked for if
    /// the decision on the input depends on that.
    pub(super) fn broader(&self, input: &Input) -> bool {
        let (Input::Driver { signal: Signal::Ended { outcome, .. }, .. }
        | Input::EndedAtShutdown { outcome, .. }) = input
        else {
            return false;
        };
        let (Some(work), Some(spec)) = (&self.agent.current, &self.agent.spec) else { return false };
        let denied = outcome.category == Category::SandboxDenial || self.agent.says_denied().is_some();
        denied
            && self.shared.published().iter().any(|other| {
                !other.deserted
                    && other.name != *self.name
                    && Board::would_do_more(&other.agent, work, spec.permissions)
            })
    }
}

/// Returns the description of the task that is to be split.
fn whole(agent: &Agent) -> Whole {
    let task = agent.held().map(|work| work.text.clone()).unwrap_or_default();
    Whole { task, context: core::context::context(agent).unwrap_or_default() }
}
