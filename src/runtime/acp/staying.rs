//! Another session of a process that has stayed: the conversation is open already, and what the last session was is forgotten.

use std::sync::Arc;

use super::asking::Asking;
use super::calls::Calls;
use super::known::Announced;
use super::telling::Telling;
use super::{Acp, Asked};
use crate::core::outcome::Usage;
use crate::runtime::Launch;

impl Acp {
    pub(super) fn takes_up(&mut self, launch: &Launch) {
        self.spec = Arc::clone(&launch.spec);
        launch.prompt.clone_into(&mut self.prompt);
        self.asking = Asking::of(launch);
        (self.calls, self.announced, self.telling) =
            (Calls::default(), Announced::default(), Telling::default());
        self.past = None;
        (self.prompted, self.cancelled, self.acted, self.circles, self.broken) =
            (false, false, false, false, false);
        for text in [&mut self.words, &mut self.message, &mut self.last_piece] {
            text.clear();
        }
        (self.last_words, self.plan, self.result) = (None, None, None);
        (self.in_a_row, self.summaries, self.turns) = (0, 0, 0);
        // The agent's own sum goes on with the conversation.
        let conversed = launch.conversed.cost_usd - launch.conversed.estimated_usd;
        self.spent_before = self.spent_before.max(conversed);
        (self.usage, self.turn) = (Usage::default(), Usage::default());
        self.steps.clear();
        if let Some(mode) = self.planning.begins_anew() {
            self.steps.push_back((Asked::Mode, mode.0, mode.1));
        }
    }
}
