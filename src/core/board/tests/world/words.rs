//! What tasks say, and what can be seen of all of it.

use super::*;

impl World {
    /// Gives a task of the board other words.
    pub(in crate::core::board::tests) fn reword(&mut self, task: u64, text: &str) -> Result<Notice, Refusal> {
        self.wish(&Wish::Reword { task: WorkId(task), text: text.to_owned() })
    }

    fn agent(&self, name: &str) -> &Agent {
        &self.agents[&AgentName::new(name).expect("a good name")]
    }

    pub(in crate::core::board::tests) fn current(&self, name: &str) -> Option<u64> {
        self.agent(name).current.as_ref().map(|work| work.id.0)
    }

    pub(in crate::core::board::tests) fn queue(&self, name: &str) -> Vec<u64> {
        self.agent(name).queue.iter().map(|work| work.id.0).collect()
    }

    /// What waits for an agent, in its words.
    pub(in crate::core::board::tests) fn texts(&self, name: &str) -> Vec<&str> {
        self.agent(name).queue.iter().map(|work| work.text.as_str()).collect()
    }

    /// The lines for `#work` of the board's own.
    pub(in crate::core::board::tests) fn said(&self) -> Vec<String> {
        self.lines.clone()
    }
}
