//! Another session of a process that has stayed: its conversation is open, and the state of the session before is dropped.

use std::sync::Arc;

use super::asking::Asking;
use super::calls::Calls;
use super::known::Announced;
use super::telling::Telling;
use super::{Acp, Asked};
use crate::core::outcome::Usage;
use crate::runtime::Launch;

impl Acp {
    /// Takes the parameters of another session. Its first requests wait in `steps`.
    pub(super) fn takes_up(&mut self, launch: &Launch) {
        self.spec = Arc::clone(&launch.spec);
        launch.prompt.clone_into(&mut self.prompt);
        self.pictures.are_of_prompt();
        self.asking = Asking::of(launch);
        self.calls = Calls::default();
        self.announced = Announced::default();
        self.telling = Telling::default();
        self.past = None;
        (self.prompted, self.cancelled, self.acted) = (false, false, false);
        (self.circles, self.broken) = (false, false);
        for text in [&mut self.words, &mut self.message, &mut self.last_piece] {
            text.clear();
        }
        (self.last_words, self.plan, self.result) = (None, None, None);
        (self.in_a_row, self.summaries, self.turns) = (0, 0, 0);
        // The agent reports the total of its conversation, which goes on.
        self.spent_before += self.usage.cost_usd;
        (self.usage, self.turn, self.counts_calls) = (Usage::default(), Usage::default(), false);
        self.steps.clear();
        if let Some((method, parameters)) = self.planning.begins_anew() {
            self.steps.push_back((Asked::Mode, method, parameters));
        }
    }
}
