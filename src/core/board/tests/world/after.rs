//! Tasks that come after others.

use super::*;
use crate::card::Before;

impl World {
    /// Adds a task that comes after another one, unless that does not exist or ended without being done.
    pub(in crate::board::tests) fn add_after(&mut self, task: WorkId, to: Option<usize>) {
        let end = self.end_of(task);
        if self.ids >= 20 || !self.given.contains(&task) || end.is_some_and(|end| end != TaskEnd::Done) {
            return;
        }
        let (id, to) = (self.fresh(), to.map(|index| self.name(index)));
        self.given.insert(id);
        let card = Some(Box::new(Card { after: vec![Before { task, end }], ..Card::default() }));
        self.wish(&Wish::Add { id, text: "do it".to_owned(), card, to, fits: true }).expect("there is room");
        // The root looks at all agents: the task may have ended while the command was on its way.
        for name in self.names() {
            self.look(&name);
        }
    }

    /// Returns how a task ended, wherever that was.
    pub(super) fn end_of(&self, task: WorkId) -> Option<TaskEnd> {
        let mut over = self.agents.values().flat_map(|agent| &agent.finished).chain(&self.board.finished);
        over.find(|over| over.work.id == task).map(|over| over.end)
    }
}
