//! Texts of tasks, and views of the world for assertions.

use super::*;

impl World {
    /// Replaces the text of a task on the board.
    pub(in crate::board::tests) fn reword(&mut self, task: u64, text: &str) -> Result<Notice, Refusal> {
        self.wish(&Wish::Reword { task: WorkId(task), text: text.to_owned() })
    }

    fn agent(&self, name: &str) -> &Agent {
        &self.agents[&AgentName::new(name).expect("a good name")]
    }

    pub(in crate::board::tests) fn current(&self, name: &str) -> Option<u64> {
        self.agent(name).current.as_ref().map(|work| work.id.0)
    }

    pub(in crate::board::tests) fn queue(&self, name: &str) -> Vec<u64> {
        self.agent(name).queue.iter().map(|work| work.id.0).collect()
    }

    /// Returns the texts of the tasks in an agent's queue.
    pub(in crate::board::tests) fn texts(&self, name: &str) -> Vec<&str> {
        self.agent(name).queue.iter().map(|work| work.text.as_str()).collect()
    }

    /// Returns the board's own lines for `#work`.
    pub(in crate::board::tests) fn said(&self) -> Vec<String> {
        self.lines.clone()
    }
}
